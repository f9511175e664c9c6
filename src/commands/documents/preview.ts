/** Previews of an attachment template: the file itself, and which paths of the template stayed empty. */
import { causeOf, type Caller } from '../core/caller.js';
import { attachmentCacheKey, attachmentContentAt, attachmentTemplates } from '../templates/attachment-templates.js';
import { documentWithBlocks, openIncludes, pinBlocks, refuseIncludes } from '../templates/blocks.js';
import {
  checkedAsFarAsPossible,
  checkName,
  collectUnsavedFaults,
  contentFields,
  withoutRequired,
} from '../templates/unsaved.js';
import type { PreviewUnsavedAttachmentRequest, UnsavedDocumentPreview } from '../../api/templates/unsaved.js';
import { expandDocument } from '../../domain/rendering/blocks.js';
import { checkDocumentIncludes } from '../../domain/rendering/check/includes.js';
import { STAND_IN } from '../../domain/rendering/check/mend.js';
import { requireLanguage } from '../templates/language.js';
import { generatedTitle } from './attachments.js';
import type { DocumentNeeds } from './needs.js';
import { makeDocument } from './documents.js';
import { lossesIn, lossWarnings } from '../templates/preview.js';
import { pathsOfLosses } from '../../domain/rendering/paths/losses.js';
import type { AttachmentTemplateContent, OutputFormat } from '../../domain/rendering/content.js';
import { attachmentTemplateRules } from '../../domain/templates/attachment-template.js';
import { findVersion } from '../../domain/templates/decider.js';
import type { MadeDocument } from '../../domain/ports/generator.js';
import { openBudget } from '../../domain/rendering/budget.js';
import { invalidAt } from '../../domain/core/errors.js';
import { teamStream } from '../../domain/core/ids.js';
import type { JsonObject } from '../../domain/core/json.js';
import { checkAttachmentTemplate, shownWarnings } from '../../domain/rendering/check/document.js';
import { documentInLanguage, textInLanguage } from '../../domain/rendering/languages.js';
import { previewVariables } from '../../domain/rendering/fill/variables.js';
import { companyOf } from '../../domain/teams/state.js';

/**
 * Without a format the first one of the template, without a version the draft; default values stand in for variables
 * that are not given.
 */
export type DocumentPreviewRequest = Readonly<{
  variables: JsonObject;
  format?: OutputFormat;
  version?: string | number;
  locale?: string;
  timeZone?: string;
}>;
/**
 * `name` is that of the template, filled from the variables, without an extension. `emptyPaths`: what is shown and has
 * no value; `replaced`: characters that no font has; `warnings`: what its author should know.
 */
export type DocumentPreview = MadeDocument &
  Readonly<{ format: OutputFormat; name: string; emptyPaths: readonly string[] }>;

/**
 * Rejects with what the generator rejects with, IMAGE_NOT_AVAILABLE, TEMPLATE_VERSION_NOT_FOUND,
 * TEMPLATE_NOT_PUBLISHED.
 */
export const previewAttachmentTemplate = async (
  deps: DocumentNeeds,
  caller: Caller,
  reference: string,
  { variables, format, version, ...spoken }: DocumentPreviewRequest,
  signal: AbortSignal,
): Promise<DocumentPreview> => {
  const { id, template } = await attachmentTemplates.mustFind(deps, caller, reference);
  const { revision, shown } = findVersion(attachmentTemplateRules, template, version ?? 'draft');
  // A preview shows what there is, and lists what is missing.
  const { strictVariables: _, ...inLanguages } = await attachmentContentAt(deps, id, revision);
  const language = requireLanguage(spoken);
  const blocks = await pinBlocks(deps, caller.teamId, shown.blocks);
  const content = await documentWithBlocks(deps, documentInLanguage(inLanguages, language), blocks);
  return documentPreviewOf(deps, caller, {
    content,
    name: textInLanguage(shown.name, inLanguages, language),
    cacheKey: `${attachmentCacheKey({ id, revision, blocks }, language)}:preview`,
    variables,
    format,
    signal,
  });
};

/**
 * A checked template with its blocks in the language of its document. `name`: that of the template. `cacheKey`:
 * undefined where it is not saved.
 */
type PreviewedDocument = Readonly<{
  content: AttachmentTemplateContent;
  name: string;
  cacheKey: string | undefined;
  variables: JsonObject;
  format: OutputFormat | undefined;
  signal: AbortSignal;
}>;

/** The preview of a document. Rejects as `previewAttachmentTemplate` does, but for what finds the template. */
export const documentPreviewOf = async (
  deps: DocumentNeeds,
  caller: Caller,
  { content, name, cacheKey, variables, format, signal }: PreviewedDocument,
): Promise<DocumentPreview> => {
  const wanted = format ?? content.schema.outputFormats[0]!;
  if (!content.schema.outputFormats.includes(wanted)) {
    throw invalidAt('format', `must be one of the template's formats: ${content.schema.outputFormats.join(', ')}`);
  }
  const company = companyOf((await deps.team(teamStream(caller.teamId))).state);
  const given = previewVariables(content.variables, variables);
  const environment = { at: causeOf(deps, caller).at, company };
  const { limits } = deps;
  const title = generatedTitle(name, 'name', content, {
    variables: given,
    environment,
    budget: openBudget(limits),
    limits,
  });
  const { bytes, replaced, warnings } = await makeDocument(deps, {
    teamId: caller.teamId,
    content,
    cacheKey,
    variables: given,
    environment,
    format: wanted,
    title,
    signal,
  });
  const losses = lossesIn(content, limits)(given, environment);
  return {
    bytes,
    format: wanted,
    name: title,
    replaced,
    emptyPaths: pathsOfLosses(losses),
    warnings: [
      ...lossWarnings(losses),
      ...shownWarnings(content, limits),
      ...deps.renderer.dropped(content),
      ...warnings,
    ],
  };
};

const FIELDS = ['name', 'variables', 'schema', 'locale', 'timeZone', 'strictVariables', 'translations'];

type Shown = Omit<UnsavedDocumentPreview, 'errors'>;

/**
 * In: an attachment template as it is written. Out: its document, and `errors`: what a save would refuse. Nothing is
 * stored. Rejects with VALIDATION_ERROR for the language that the call asks for, and with what the generator rejects
 * with.
 */
export const previewUnsavedAttachment = async (
  deps: DocumentNeeds,
  caller: Caller,
  { template, variables, format, ...spoken }: PreviewUnsavedAttachmentRequest,
  signal: AbortSignal,
): Promise<UnsavedDocumentPreview> => {
  const language = requireLanguage(spoken);
  const { limits } = deps;
  const faults = collectUnsavedFaults();
  const written = template as JsonObject;
  checkName(written, faults);
  const includes = openIncludes(deps, caller.teamId);
  const find = includes.find;
  const made = async ({ name, ...one }: JsonObject): Promise<Shown> => {
    const title = typeof name === 'string' ? name : STAND_IN;
    const { content: checked } = checkAttachmentTemplate(one, limits, title);
    await includes.load({ schema: checked.schema });
    refuseIncludes(checkDocumentIncludes(checked, { find, limits }).faults, 'the attachment template');
    // A preview shows what there is, and lists what is missing.
    const { strictVariables: _, ...lenient } = checked;
    const inLanguages = { ...lenient, variables: withoutRequired(lenient.variables) };
    const { bytes, ...document } = await documentPreviewOf(deps, caller, {
      content: expandDocument(documentInLanguage(inLanguages, language), { find, limits }),
      name: textInLanguage(title, inLanguages, language),
      cacheKey: undefined,
      variables: (variables ?? {}) as JsonObject,
      format,
      signal,
    });
    const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return {
      format: document.format,
      name: document.name,
      content: file.toString('base64'),
      emptyPaths: [...document.emptyPaths],
      replaced: [...document.replaced],
      warnings: [...document.warnings],
    };
  };
  const shown = await checkedAsFarAsPossible(contentFields(written, FIELDS), {
    kind: 'attachment',
    check: made,
    faults,
    signal,
  });
  return { ...(shown ?? { ...NOTHING, format: format ?? null }), errors: [...faults.list()] };
};

const NOTHING: Shown = { format: null, name: null, content: null, emptyPaths: [], replaced: [], warnings: [] };

/** Previews of an attachment template: the file itself, and which paths of the template stayed empty. */
import { causeOf, type Caller } from '../core/caller.js';
import { attachmentCacheKey, attachmentContentAt, attachmentTemplates } from '../templates/attachment-templates.js';
import { documentWithBlocks, pinBlocks } from '../templates/blocks.js';
import { requireLanguage } from '../templates/language.js';
import { generatedTitle } from './attachments.js';
import type { DocumentNeeds } from './needs.js';
import { makeDocument } from './documents.js';
import { lossesIn, lossWarnings } from '../templates/preview.js';
import { pathsOfLosses } from '../../domain/rendering/paths/losses.js';
import type { OutputFormat } from '../../domain/rendering/content.js';
import { attachmentTemplateRules } from '../../domain/templates/attachment-template.js';
import { findVersion } from '../../domain/templates/decider.js';
import type { MadeDocument } from '../../domain/ports/generator.js';
import { openBudget } from '../../domain/rendering/budget.js';
import { invalidAt } from '../../domain/core/errors.js';
import { teamStream } from '../../domain/core/ids.js';
import type { JsonObject } from '../../domain/core/json.js';
import { shownWarnings } from '../../domain/rendering/check/document.js';
import { documentInLanguage, textInLanguage } from '../../domain/rendering/languages.js';
import { previewVariables } from '../../domain/rendering/fill/variables.js';
import { emptyCompany } from '../../domain/teams/state.js';

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
  const wanted = format ?? content.schema.outputFormats[0]!;
  if (!content.schema.outputFormats.includes(wanted)) {
    throw invalidAt('format', `must be one of the template's formats: ${content.schema.outputFormats.join(', ')}`);
  }
  const company = (await deps.team(teamStream(caller.teamId))).state?.settings.company ?? emptyCompany;
  const given = previewVariables(content.variables, variables);
  const environment = { at: causeOf(deps, caller).at, company };
  const { limits } = deps;
  const title = generatedTitle(textInLanguage(shown.name, inLanguages, language), 'name', content, {
    variables: given,
    environment,
    budget: openBudget(limits),
    limits,
  });
  const { bytes, replaced, warnings } = await makeDocument(deps, {
    teamId: caller.teamId,
    content,
    cacheKey: `${attachmentCacheKey({ id, revision, blocks }, language)}:preview`,
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

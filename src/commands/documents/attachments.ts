/** Attachments of a send call: made, fetched or decoded, measured, sealed under the email's key and put into files; and back. */
import type { Caller } from '../core/caller.js';
import { loadAsset } from '../templates/assets.js';
import { attachmentCacheKey, attachmentContentAt, findAttachmentTemplate } from '../templates/attachment-templates.js';
import type { CommandDeps } from '../core/deps.js';
import { checkDocument, makeDocument, type KnownCharacters } from './documents.js';
import { temporaryUntil } from './storage.js';
import { withoutSvg } from '../templates/drawings.js';
import { documentTypes, generatedName, generatedTitle } from './names.js';
import { inContext } from './nested-faults.js';
import { supplied } from './supplied-attachments.js';
import { attachmentTooLarge, invalidAttachments, type Given, type PinnedDocument } from './request.js';
import type { OutputFormat } from '../../domain/rendering/document-content.js';
import type { Budget } from '../../domain/rendering/budget.js';
import type { EmailContent } from '../../domain/email/events.js';
import { DomainError, FileDamaged } from '../../domain/core/errors.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { Files } from '../../domain/ports/files.js';
import type { SealingKey } from '../../domain/ports/keys.js';
import { assetContentId } from '../../domain/ports/renderer.js';
import type { RenderEnvironment } from '../../domain/rendering/scope/environment.js';
import { documentInLanguage, textInLanguage } from '../../domain/rendering/languages.js';
import type { CallLanguage } from '../../domain/rendering/translations.js';
import { resolveAttachmentVersion } from '../../domain/templates/attachment-template.js';

export type ReadyAttachment = Readonly<{ filename: string; contentType: string; contentId: string | undefined; bytes: Buffer }>;

/** `temporary`: kept only for some days. `ofTemplate`: the template shows it. */
type Prepared = ReadyAttachment & Readonly<{ temporary?: true; ofTemplate?: true }>;

/** What the attachments of one call share. */
export type AttachmentCall = Readonly<{
  variables: JsonObject;
  /** Of the call, in place of that of each template. */
  language: CallLanguage | undefined;
  environment: RenderEnvironment;
  /** Of the call; the names of its files are filled from it. */
  budget: Budget;
  /** Where it is there, documents are not made, only checked as far as that goes without drawing them; then they are no files. */
  onlyChecked?: KnownCharacters | undefined;
  /** Pictures of the gallery that the email's template shows; they are kept with the email, whatever becomes of the gallery. */
  assetIds: readonly string[];
}>;

export type PreparedAttachments = Readonly<{
  files: readonly Prepared[];
  generated: Readonly<Record<OutputFormat, number>> | undefined;
  /** What the email goes without, for it could not be made. */
  omitted: NonNullable<EmailContent['omitted']>;
  /** Characters of documents that no font has; absent where there is none. */
  replaced?: NonNullable<EmailContent['replaced']>;
}>;

export const noAttachments: PreparedAttachments = { files: [], generated: undefined, omitted: [] };

/**
 * Makes ready what was given, one after the other, and stops where one fails or all together are too large.
 * Throws VALIDATION_ERROR, ERR_ATTACH_001 (no such template), ERR_ATTACH_002 (too large), ASSET_NOT_FOUND,
 * ATTACHMENT_NOT_AVAILABLE (an address that gives nothing), and what the generator throws.
 */
export const prepareAttachments = async (
  deps: CommandDeps,
  caller: Pick<Caller, 'teamId'>,
  given: readonly Given[],
  call: AttachmentCall,
): Promise<PreparedAttachments> => {
  const files: Prepared[] = [];
  const generated = { pdf: 0, excel: 0 };
  const omitted: { name: string; reason: string }[] = [];
  const replaced: { name: string; characters: string[] }[] = [];
  let totalSizeBytes = 0;
  const add = (file: Prepared): void => {
    totalSizeBytes += file.bytes.byteLength;
    const max = deps.limits.attachmentsTotalSizeBytesMax;
    if (totalSizeBytes > max) throw attachmentTooLarge('The attachments have together at least', totalSizeBytes, max);
    files.push(file);
  };
  for (const attachment of given) {
    if (attachment.kind === 'generated') {
      for (const { file, name, format, characters } of await unlessOmitted(attachment, omitted, () =>
        generate(deps, caller, attachment, call),
      )) {
        if (characters.length > 0) replaced.push({ name, characters: [...characters] });
        if (file === undefined) continue;
        add(file);
        generated[format] += 1;
      }
    } else {
      add(await supplied(deps, caller, attachment, call));
    }
  }
  for (const assetId of call.assetIds) add(await shown(deps, caller, assetId));
  return {
    files,
    generated: generated.pdf + generated.excel === 0 ? undefined : generated,
    omitted,
    ...(replaced.length === 0 ? {} : { replaced }),
  };
};

/** Nothing of a document that may be left out where it cannot be made, which is noted; what may be made later is no reason to leave it out. */
const unlessOmitted = async <T>(
  { isOptional, pinned, reference }: Generated,
  omitted: { name: string; reason: string }[],
  make: () => Promise<readonly T[]>,
): Promise<readonly T[]> => {
  if (isOptional !== true) return make();
  try {
    return await make();
  } catch (fault) {
    if (!(fault instanceof DomainError) || fault.code === 'GENERATOR_BUSY') throw fault;
    omitted.push({ name: pinned?.name ?? reference, reason: fault.message });
    return [];
  }
};

type Generated = Extract<Given, { kind: 'generated' }>;

/** `characters`: those that no font has; `file`: undefined where the document was only checked. */
type Generation = Readonly<{ file: Prepared | undefined; name: string; format: OutputFormat; characters: readonly string[] }>;

const generate = async (
  deps: CommandDeps,
  caller: Pick<Caller, 'teamId'>,
  { field, reference, filename, outputFormats, variables, pinned }: Generated,
  call: AttachmentCall,
): Promise<readonly Generation[]> => {
  const { id, revision, name } = pinned ?? (await publishedDocument(deps, caller, reference, field));
  const inLanguages = await attachmentContentAt(deps, id, revision);
  const content = documentInLanguage(inLanguages, call.language);
  const cacheKey = attachmentCacheKey(id, revision, call.language);
  const formats = outputFormats ?? content.schema.outputFormats;
  for (const format of formats) {
    if (content.schema.outputFormats.includes(format)) continue;
    throw invalidAttachments([
      {
        field: `${field}.outputFormats`,
        message: `asks for ${format}; the template "${name}" gives ${content.schema.outputFormats.join(' and ')}`,
      },
    ]);
  }
  const input = { variables: { ...call.variables, ...variables }, environment: call.environment };
  const title = inContext(field, `"${name}"`, () =>
    generatedTitle(filename ?? textInLanguage(name, inLanguages, call.language), `${field}.filename`, content, {
      ...input,
      budget: call.budget,
      limits: deps.limits,
    }),
  );
  const made: Generation[] = [];
  for (const format of formats) {
    const filename = generatedName(title, format, deps.limits.filenameCharsMax);
    const { onlyChecked } = call;
    if (onlyChecked !== undefined) {
      const order = { teamId: caller.teamId, content, cacheKey, ...input, format, signal: new AbortController().signal };
      const characters = await inContext(field, `"${name}", ${format}`, () => checkDocument(deps, order, onlyChecked));
      made.push({ file: undefined, name: filename, format, characters });
      continue;
    }
    const { bytes, replaced: characters } = await inContext(field, `"${name}", ${format}`, () =>
      makeDocument(deps, {
        teamId: caller.teamId,
        content,
        cacheKey,
        ...input,
        format,
        title,
        signal: new AbortController().signal,
      }),
    );
    const file = {
      filename,
      contentType: documentTypes[format],
      contentId: undefined,
      bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      temporary: true as const,
    };
    made.push({ file, name: filename, format, characters });
  }
  return made;
};

/** The revision of an attachment template that is published. Rejects with ERR_ATTACH_001; `field`: where the request names it. */
export const publishedDocument = async (
  deps: CommandDeps,
  caller: Pick<Caller, 'teamId'>,
  reference: string,
  field: string,
): Promise<PinnedDocument> => {
  const known = await findAttachmentTemplate(deps, caller.teamId, reference);
  if (known === undefined) {
    throw new DomainError(
      'ERR_ATTACH_001',
      `${field}: there is no attachment template ${JSON.stringify(reference)}. GET /api/templates/attachment lists yours.`,
      {
        relatedInfo: { attachmentTemplateId: reference },
      },
    );
  }
  const { revision, name } = resolveAttachmentVersion(known.template, 'published');
  return { id: known.id, name, revision };
};

const shown = async (deps: CommandDeps, caller: Pick<Caller, 'teamId'>, assetId: string): Promise<Prepared> => {
  const found = await loadAsset(deps, caller.teamId, assetId);
  if (found === undefined)
    throw new DomainError(
      'ASSET_NOT_FOUND',
      `The template shows the asset ${assetId}, which is not in the gallery. GET /api/assets lists what is.`,
    );
  const { filename, contentType, bytes } = await withoutSvg(deps, caller.teamId, found);
  return { filename, contentType, contentId: assetContentId(assetId), bytes, ofTemplate: true };
};

/** What the sealed bytes of the attachment at that index are bound to. */
export const attachmentContext = (index: number): string => `attachment:${index}`;

/** Puts the sealed bytes; they are durable when it resolves. `dueAtMs`: when the email leaves, from which the days of generated files count. */
export const storeAttachments = async (
  { files, limits }: Pick<CommandDeps, 'files' | 'limits'>,
  key: SealingKey,
  attachments: readonly Prepared[],
  dueAtMs: number,
): Promise<EmailContent['attachments']> => {
  const expiresAt = temporaryUntil(dueAtMs, limits);
  return Promise.all(
    attachments.map(async ({ filename, contentType, contentId, bytes, temporary, ofTemplate }, index) => ({
      filename,
      contentType,
      sizeBytes: bytes.byteLength,
      ...(contentId === undefined ? {} : { contentId }),
      ...(ofTemplate === undefined ? {} : { ofTemplate }),
      file: await files.put(key.seal(bytes, attachmentContext(index)), temporary ? { expiresAt } : {}),
    })),
  );
};

const opened = (key: SealingKey, file: string, sealed: Buffer, index: number): Buffer => {
  try {
    return key.open(sealed, attachmentContext(index));
  } catch (fault) {
    throw new FileDamaged(file, 'the key of its email does not open it', fault);
  }
};

/** The bytes of an email's attachments, opened; undefined where one is gone. Rejects with FileDamaged. */
export const loadAttachments = async (
  files: Files,
  key: SealingKey,
  attachments: EmailContent['attachments'],
): Promise<readonly ReadyAttachment[] | undefined> => {
  const loaded = await Promise.all(
    attachments.map(async ({ filename, contentType, contentId, file }, index) => {
      const sealed = await files.get(file);
      return sealed === undefined ? undefined : { filename, contentType, contentId, bytes: opened(key, file, sealed, index) };
    }),
  );
  return loaded.every((attachment) => attachment !== undefined) ? loaded : undefined;
};

/**
 * Attachments of a send call: made, fetched or decoded, named, measured, sealed under the email's key and put into
 * files; and loaded back.
 */
import {
  invalidAttachments,
  readAttachments,
  type RequestedAttachment,
  attachmentTooLarge,
  type PinnedDocument,
} from './request.js';
import {
  type AttachmentTemplateContent,
  type OutputFormat,
  DEFAULT_LOCALE,
  DEFAULT_TIME_ZONE,
} from '../../domain/rendering/content.js';
import type { Budget } from '../../domain/rendering/budget.js';
import { parseMediaType, safeFilename } from '../../domain/mime/attachment.js';
import type { GivenAttachment } from '../../api/email.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { Limits } from '../../domain/core/limits.js';
import { type RenderEnvironment, constantsOf } from '../../domain/rendering/scope/constants.js';
import { compilePreparation, fillText } from '../../domain/rendering/fill/compile.js';
import { hasPlaceholder } from '../../domain/rendering/fill/templated-text.js';
import type { Loss } from '../../domain/rendering/paths/losses.js';
import type { CallLanguage } from '../../domain/rendering/translations.js';
import type { Language } from '../../domain/rendering/scope/formats.js';
import { firstChars } from '../../shared/text.js';
import { DomainError, type ErrorDetails, FileDamaged, wholeText } from '../../domain/core/errors.js';
import type { Caller } from '../core/caller.js';
import { loadAsset } from '../templates/assets.js';
import type { DocumentNeeds } from './needs.js';
import { OutboundFault } from '../../domain/ports/outbound-http.js';
import { documentWithBlocks, pinBlocks } from '../templates/blocks.js';
import { attachmentCacheKey, attachmentContentAt, attachmentTemplates } from '../templates/attachment-templates.js';
import { checkDocument, makeDocument, type KnownCharacters } from './documents.js';
import { temporaryUntil } from './storage.js';
import { withoutSvg } from '../templates/svg.js';
import type { EmailContent } from '../../domain/email/events.js';
import type { Files } from '../../domain/ports/files.js';
import type { SealingKey } from '../../domain/ports/keys.js';
import { assetContentId } from '../../domain/ports/renderer.js';
import { documentInLanguage, textInLanguage } from '../../domain/rendering/languages.js';
import { attachmentTemplateRules } from '../../domain/templates/attachment-template.js';
import { findVersion } from '../../domain/templates/decider.js';

export type ReadyAttachment = Readonly<{
  filename: string;
  contentType: string;
  contentId: string | undefined;
  bytes: Buffer;
}>;

/** `temporary`: kept only for some days. `ofTemplate`: the template shows it. `ofMessage`: the body of a message. */
type Prepared = ReadyAttachment & Readonly<{ temporary?: true; ofTemplate?: true; ofMessage?: true }>;

/** Context that the attachments of one call share. */
type AttachmentCall = Readonly<{
  variables: JsonObject;
  /** Language of the call, in place of that of each template. */
  language: CallLanguage | undefined;
  environment: RenderEnvironment;
  /** Budget of the call; filling the names of its files takes from it. */
  budget: Budget;
  /** Present: documents are only checked, as far as that is possible without drawing them, and give no files. */
  onlyChecked?: KnownCharacters | undefined;
  /**
   * Pictures of the gallery that the email's template shows; they are kept with the email, whatever becomes of the
   * gallery.
   */
  assetIds: readonly string[];
}>;

type Omitted = NonNullable<EmailContent['omitted']>[number] & Readonly<{ documents: number }>;

export type PreparedAttachments = Readonly<{
  files: readonly Prepared[];
  /** Documents that were made or, where they are only checked, would be. */
  generated: Readonly<Record<OutputFormat, number>> | undefined;
  /** Attachments that could not be made, so that the email goes without them; `documents`: how many of each. */
  omitted: readonly Omitted[];
  /** Characters of documents that no font has; absent where there is none. */
  replaced?: NonNullable<EmailContent['replaced']>;
  /** Losses of the documents, the field with the place of the document in the call. */
  losses?: readonly Loss[];
}>;

export const noAttachments: PreparedAttachments = { files: [], generated: undefined, omitted: [] };

/**
 * Makes ready the attachments of a call, one after the other, and stops where one fails or all together are too large.
 * Throws VALIDATION_ERROR, ERR_ATTACH_001 (no such template), ERR_ATTACH_002 (too large), ASSET_NOT_FOUND,
 * ATTACHMENT_NOT_AVAILABLE (an address that gives nothing), and what the generator throws.
 */
export const prepareAttachments = async (
  deps: DocumentNeeds,
  caller: Pick<Caller, 'teamId'>,
  given: readonly RequestedAttachment[],
  call: AttachmentCall,
): Promise<PreparedAttachments> => {
  const files: Prepared[] = [];
  const generated = { pdf: 0, excel: 0 };
  const omitted: Omitted[] = [];
  const replaced: { name: string; characters: string[] }[] = [];
  const lost: Loss[] = [];
  let totalSizeBytes = 0;
  const add = (file: Prepared): void => {
    totalSizeBytes += file.bytes.byteLength;
    const max = deps.limits.attachmentsTotalSizeBytesMax;
    if (totalSizeBytes > max) throw attachmentTooLarge('The attachments have together at least', totalSizeBytes, max);
    files.push(file);
  };
  for (const attachment of given) {
    if (attachment.kind === 'generated') {
      for (const { file, name, format, characters, losses = [] } of await unlessOmitted(attachment, omitted, () =>
        generate(deps, caller, attachment, call),
      )) {
        if (characters.length > 0) replaced.push({ name, characters: [...characters] });
        for (const loss of losses) lost.push({ ...loss, field: `${attachment.field}: ${loss.field}` });
        if (file !== undefined) add(file);
        generated[format] += 1;
      }
    } else {
      add(await loadSupplied(deps, caller, attachment, call));
    }
  }
  for (const assetId of call.assetIds) add(await loadShownAsset(deps, caller, assetId));
  return {
    files,
    generated: generated.pdf + generated.excel === 0 ? undefined : generated,
    omitted,
    ...(replaced.length === 0 ? {} : { replaced }),
    ...(lost.length === 0 ? {} : { losses: lost }),
  };
};

/**
 * Leaves out a document that is optional and cannot be made, and notes why. A document that could be made later is no
 * reason to leave it out.
 */
const unlessOmitted = async <T>(
  { isOptional, pinned, reference, outputFormats }: Generated,
  omitted: Omitted[],
  make: () => Promise<readonly T[]>,
): Promise<readonly T[]> => {
  if (isOptional !== true) return make();
  try {
    return await make();
  } catch (fault) {
    if (!(fault instanceof DomainError) || fault.code === 'GENERATOR_BUSY') throw fault;
    omitted.push({ name: pinned?.name ?? reference, reason: wholeText(fault), documents: outputFormats?.length ?? 0 });
    return [];
  }
};

type Generated = Extract<RequestedAttachment, { kind: 'generated' }>;

/** `characters`: those that no font has; `file`: undefined where the document was only checked. */
type Generation = Readonly<{
  file: Prepared | undefined;
  name: string;
  format: OutputFormat;
  characters: readonly string[];
  losses?: readonly Loss[] | undefined;
}>;

const generate = async (
  deps: DocumentNeeds,
  caller: Pick<Caller, 'teamId'>,
  { field, reference, filename, outputFormats, variables, pinned }: Generated,
  call: AttachmentCall,
): Promise<readonly Generation[]> => {
  const document = pinned ?? (await publishedDocument(deps, caller, reference, field));
  const { id, revision, name, blocks } = document;
  const inLanguages = await attachmentContentAt(deps, id, revision);
  const content = await documentWithBlocks(deps, documentInLanguage(inLanguages, call.language), blocks);
  const cacheKey = attachmentCacheKey(document, call.language);
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
  const title = await inContext(field, `"${name}"`, () =>
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
      const order = {
        teamId: caller.teamId,
        content,
        cacheKey,
        ...input,
        format,
        signal: new AbortController().signal,
      };
      const characters = await inContext(field, `"${name}", ${format}`, () => checkDocument(deps, order, onlyChecked));
      made.push({ file: undefined, name: filename, format, characters });
      continue;
    }
    const {
      bytes,
      replaced: characters,
      losses,
    } = await inContext(field, `"${name}", ${format}`, () =>
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
    // The formats of a document lose the same.
    made.push({ file, name: filename, format, characters, losses: made.length === 0 ? losses : undefined });
  }
  return made;
};

/**
 * The revision of an attachment template that is published. Rejects with ERR_ATTACH_001; `field`: where the request
 * names it.
 */
export const publishedDocument = async (
  deps: DocumentNeeds,
  caller: Pick<Caller, 'teamId'>,
  reference: string,
  field: string,
): Promise<PinnedDocument> => {
  const known = await attachmentTemplates.find(deps, caller.teamId, reference);
  if (known === undefined) {
    throw new DomainError(
      'ERR_ATTACH_001',
      `${field}: there is no attachment template ${JSON.stringify(reference)}. GET /api/templates/attachment lists yours.`,
      {
        relatedInfo: { attachmentTemplateId: reference },
      },
    );
  }
  const { revision, shown } = findVersion(attachmentTemplateRules, known.template, 'published');
  const blocks = shown.blocks && (await pinBlocks(deps, caller.teamId, shown.blocks));
  return { id: known.id, name: shown.name, revision, ...(blocks && { blocks }) };
};

/** Loads a picture of the gallery that the template shows. */
const loadShownAsset = async (
  deps: DocumentNeeds,
  caller: Pick<Caller, 'teamId'>,
  assetId: string,
): Promise<Prepared> => {
  const found = await loadAsset(deps, caller.teamId, assetId);
  if (found === undefined)
    throw new DomainError(
      'ASSET_NOT_FOUND',
      `The template shows the asset ${assetId}, which is not in the gallery. GET /api/assets lists what is.`,
    );
  const { filename, contentType, bytes } = await withoutSvg(deps, caller.teamId, found);
  return { filename, contentType, contentId: assetContentId(assetId), bytes, ofTemplate: true };
};

/** The sealed bytes of the attachment at that index are bound to this context. */
const attachmentContext = (index: number): string => `attachment:${index}`;

/**
 * Puts the sealed bytes; they are durable when it resolves. `dueAtMs`: when the email leaves, from which the days of
 * generated files count.
 */
export const storeAttachments = async (
  { files, limits }: Pick<DocumentNeeds, 'files' | 'limits'>,
  key: SealingKey,
  attachments: readonly Prepared[],
  dueAtMs: number,
): Promise<EmailContent['attachments']> => {
  const expiresAt = temporaryUntil(dueAtMs, limits);
  return Promise.all(
    attachments.map(async ({ filename, contentType, contentId, bytes, temporary, ofTemplate, ofMessage }, index) => ({
      filename,
      contentType,
      sizeBytes: bytes.byteLength,
      ...(contentId === undefined ? {} : { contentId }),
      ...(ofTemplate === undefined ? {} : { ofTemplate }),
      ...(ofMessage === undefined ? {} : { ofMessage }),
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

/** The attachment at that index of an email, opened; undefined if its file is gone. Rejects with FileDamaged. */
export const loadAttachment = async (
  files: Files,
  key: SealingKey,
  { filename, contentType, contentId, file }: EmailContent['attachments'][number],
  index: number,
): Promise<ReadyAttachment | undefined> => {
  const sealed = await files.get(file);
  return sealed === undefined
    ? undefined
    : { filename, contentType, contentId, bytes: opened(key, file, sealed, index) };
};

/** The bytes of an email's attachments, opened; undefined where one is gone. Rejects with FileDamaged. */
export const loadAttachments = async (
  files: Files,
  key: SealingKey,
  attachments: EmailContent['attachments'],
): Promise<readonly ReadyAttachment[] | undefined> => {
  const loaded = await Promise.all(
    attachments.map((attachment, index) => loadAttachment(files, key, attachment, index)),
  );
  return loaded.every((attachment) => attachment !== undefined) ? loaded : undefined;
};

/** Values for the names of supplied files. */
type Naming = Omit<Parameters<typeof suppliedName>[2], 'limits'>;

type Supplied = Exclude<RequestedAttachment, { kind: 'generated' }>;

/**
 * Loads an attachment that the call brings itself: its bytes, from an address, or from the gallery. Rejects with
 * ASSET_NOT_FOUND, ATTACHMENT_NOT_AVAILABLE, ERR_ATTACH_002, and what a name is refused with.
 */
const loadSupplied = async (
  deps: DocumentNeeds,
  caller: Pick<Caller, 'teamId'>,
  given: Supplied,
  call: Naming,
): Promise<ReadyAttachment> => {
  switch (given.kind) {
    case 'content':
      return {
        filename: suppliedName(given.filename, given.field, { ...call, limits: deps.limits }),
        contentType: given.contentType,
        contentId: given.contentId,
        bytes: given.bytes,
      };
    case 'url': {
      const filename = suppliedName(given.filename, given.field, { ...call, limits: deps.limits });
      const { bytes, contentType } = await fetchAttachment(deps, caller, given.url, given.field);
      return {
        filename,
        contentType: given.contentType ?? contentType ?? 'application/octet-stream',
        contentId: given.contentId,
        bytes,
      };
    }
    case 'asset': {
      const asset = await loadAsset(deps, caller.teamId, given.assetId);
      if (asset === undefined)
        throw new DomainError(
          'ASSET_NOT_FOUND',
          `${given.field}.assetId: there is no asset ${given.assetId}. GET /api/assets lists yours.`,
        );
      return {
        filename: suppliedName(given.filename ?? asset.filename, given.field, { ...call, limits: deps.limits }),
        contentType: asset.contentType,
        contentId: given.contentId,
        bytes: asset.bytes,
      };
    }
  }
};

/**
 * The attachments of a call with the bytes of those files that it names by their addresses: from then on the same files
 * are attached, whatever the addresses give. Rejects with the faults of their form, ATTACHMENT_NOT_AVAILABLE and
 * ERR_ATTACH_002 where all together are larger than a call may be.
 */
export const withFetchedFiles = async (
  deps: DocumentNeeds,
  caller: Pick<Caller, 'teamId'>,
  attachments: readonly GivenAttachment[],
): Promise<readonly GivenAttachment[]> => {
  const max = deps.limits.bodySizeBytesMax;
  const read = readAttachments(attachments, deps.limits);
  const fetched: GivenAttachment[] = [];
  let sizeBytes = 0;
  for (const [place, attachment] of attachments.entries()) {
    const { url, ...rest } = attachment;
    if (url === undefined) {
      fetched.push(attachment);
      continue;
    }
    const { bytes, contentType = '' } = await fetchAttachment(deps, caller, url, assertRead(read, place).field);
    sizeBytes += bytes.byteLength;
    if (sizeBytes > max) throw attachmentTooLarge('The files of addresses have together at least', sizeBytes, max);
    const type = rest.contentType ?? (parseMediaType(contentType) === undefined ? OCTETS : contentType);
    fetched.push({ ...rest, contentType: type, content: bytes.toString('base64') });
  }
  return fetched;
};

const assertRead = (read: readonly RequestedAttachment[], place: number): RequestedAttachment => {
  const attachment = read[place];
  if (attachment === undefined) throw new Error('an attachment that was read is missing');
  return attachment;
};

const OCTETS = 'application/octet-stream';

const fetchAttachment = async (
  deps: DocumentNeeds,
  caller: Pick<Caller, 'teamId'>,
  url: string,
  field: string,
): Promise<Readonly<{ bytes: Buffer; contentType: string | undefined }>> => {
  const { limits } = deps;
  try {
    const { bytes, contentType } = await deps.outbound.get(url, {
      teamId: caller.teamId,
      sizeBytesMax: Math.min(limits.outboundSizeBytesMax, limits.attachmentSizeBytesMax),
      timeoutMs: limits.outboundTimeoutMs,
      redirectsMax: limits.outboundRedirectsMax,
      signal: new AbortController().signal,
    });
    return { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), contentType };
  } catch (fault) {
    if (!(fault instanceof OutboundFault)) throw fault;
    if (fault.fault === 'too-large')
      throw new DomainError('ERR_ATTACH_002', `${field}.url: ${fault.message}`, {
        relatedInfo: { maxSizeBytes: limits.attachmentSizeBytesMax },
      });
    throw new DomainError('ATTACHMENT_NOT_AVAILABLE', `${field}.url: ${fault.message}`, {
      errors: [{ field: `${field}.url`, message: fault.message }],
    });
  }
};

/** The media types of made documents. */
const documentTypes: Readonly<Record<OutputFormat, string>> = {
  pdf: 'application/pdf',
  excel: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

/** Values for file names. */
type Filling = Readonly<{
  variables: JsonObject;
  /** Language of the call. */
  language?: CallLanguage | undefined;
  environment: RenderEnvironment;
  budget: Budget;
  limits: Limits;
}>;

const extensions: Readonly<Record<OutputFormat, string>> = { pdf: '.pdf', excel: '.xlsx' };

/**
 * The title of a document, which is its name too: filled with the formats and the calculated variables of its template.
 */
export const generatedTitle = (
  template: string,
  field: string,
  content: AttachmentTemplateContent,
  { variables, environment, budget, limits }: Filling,
): string => {
  if (!hasPlaceholder(template)) return template;
  const language: Language = { locale: content.locale ?? 'en-US', timeZone: content.timeZone ?? 'UTC' };
  const prepared = compilePreparation(content.variables, language, limits)(variables, environment, budget);
  return fillText(template, field, { definitions: content.variables, language, limits, budget }, prepared);
};

/**
 * Makes the title safe and short enough, and ends it with the extension of its format. A slash, as numbers have it, is
 * no path here.
 */
const generatedName = (title: string, format: OutputFormat, charsMax: number): string => {
  const extension = extensions[format];
  const safe = safeFilename(title.replace(/\.(?:pdf|xlsx)$/i, '').replace(/[/\\]/g, '-'));
  const stem = firstChars(safe, charsMax - extension.length).trimEnd();
  return `${stem === '' ? 'document' : stem}${extension}`;
};

/** Names of supplied files are filled from the variables of the call as they came: no template describes them. */
const suppliedName = (
  given: string,
  field: string,
  { variables, language: spoken, environment, budget, limits }: Filling,
): string => {
  const language: Language = {
    locale: spoken?.locale ?? DEFAULT_LOCALE,
    timeZone: spoken?.timeZone ?? DEFAULT_TIME_ZONE,
  };
  const filled = hasPlaceholder(given)
    ? fillText(
        given,
        `${field}.filename`,
        { definitions: [], language, limits, budget },
        { values: variables, constants: constantsOf(language)(environment) },
      )
    : given;
  const name = firstChars(safeFilename(filled), limits.filenameCharsMax);
  if (name === '') throw invalidAttachments([{ field: `${field}.filename`, message: 'has no visible character' }]);
  return name;
};

/**
 * The faults of a nested thing with their whole paths: `variables.t` of the second attachment is
 * `attachments[1].variables.t`.
 */
const detailsIn = (parent: string, details: ErrorDetails): ErrorDetails =>
  details.errors === undefined
    ? details
    : {
        ...details,
        errors: details.errors.map(({ field, message }) => ({
          field: field === '' || field.startsWith(parent) ? field || parent : `${parent}.${field}`,
          message,
        })),
      };

/**
 * Adds to a fault which attachment it belongs to. `field`: the path of the attachment.
 */
export const inContext = async <T>(field: string, what: string, work: () => T | Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    throw new DomainError(fault.code, `${field} (${what}): ${fault.message}`, detailsIn(field, fault.details));
  }
};

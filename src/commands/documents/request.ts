/** Reads `attachments` of a send call: which of the four shapes each is, and every fault of their form. */
import { attachmentSources, type AttachmentSource, type GivenAttachment } from '../../api/email.js';
import { DomainError, type FieldError } from '../../domain/core/errors.js';
import type { Limits } from '../../domain/core/limits.js';
import type { OutputFormat } from '../../domain/rendering/content.js';
import { decodeBase64, NO_BASE64, type JsonObject } from '../../domain/core/json.js';
import { NO_NAME_LEFT, safeFilename, mediaTypeText, parseMediaType } from '../../domain/mime/attachment.js';
import type { PinnedAttachment } from '../templates/attachment-templates.js';
import { nameFault } from '../../shared/text.js';
import { hasPlaceholder } from '../../domain/rendering/fill/templated-text.js';

/** One revision of an attachment template. */
export type PinnedDocument = PinnedAttachment & Readonly<{ name: string }>;

/** One attachment of a call. `filename` as it was given; `field` is its path in the request. */
export type RequestedAttachment = Readonly<{ field: string }> &
  (
    | Readonly<{
        kind: 'generated';
        reference: string;
        filename: string | undefined;
        outputFormats: readonly OutputFormat[] | undefined;
        variables: JsonObject;
        /** The revision of the template to use, whatever is published by now. */
        pinned?: PinnedDocument;
        /** If the document cannot be made, the email is sent without it. */
        isOptional?: boolean;
      }>
    | Readonly<{ kind: 'content'; filename: string; contentType: string; contentId: string | undefined; bytes: Buffer }>
    | Readonly<{
        kind: 'url';
        url: string;
        filename: string;
        contentType: string | undefined;
        contentId: string | undefined;
      }>
    | Readonly<{ kind: 'asset'; assetId: string; filename: string | undefined; contentId: string | undefined }>
  );

const NOTHING = Buffer.alloc(0);

type Field = Exclude<keyof GivenAttachment, AttachmentSource>;

/** Fields that may stand beside the one that makes the shape. */
const beside: Readonly<Record<AttachmentSource, Readonly<{ required: readonly Field[]; optional: readonly Field[] }>>> =
  {
    attachmentTemplateId: { required: [], optional: ['filename', 'outputFormats', 'variables'] },
    content: { required: ['filename', 'contentType'], optional: ['contentId'] },
    url: { required: ['filename'], optional: ['contentType', 'contentId'] },
    assetId: { required: [], optional: ['filename', 'contentId'] },
  };

/** Throws VALIDATION_ERROR with every fault, ERR_ATTACH_002 where base64 content is too large. */
export const readAttachments = (given: readonly GivenAttachment[], limits: Limits): readonly RequestedAttachment[] => {
  if (given.length === 0) return [];
  if (given.length > limits.attachmentsMax) {
    throw invalidAttachments([
      {
        field: 'attachments',
        message: `holds ${given.length} attachments; at most ${limits.attachmentsMax} are allowed`,
      },
    ]);
  }
  const faults: FieldError[] = [];
  const read = given.map((attachment, index) => readOne(attachment, `attachments[${index}]`, faults, limits));
  checkContentIds(read, faults);
  if (faults.length > 0) throw invalidAttachments(faults);
  return read.filter((attachment) => attachment !== undefined);
};

export const invalidAttachments = (errors: readonly FieldError[]): DomainError =>
  new DomainError(
    'VALIDATION_ERROR',
    errors.length === 1
      ? `${errors[0]!.field} ${errors[0]!.message}.`
      : 'The attachments are not valid; `errors` names each field and what would be right.',
    { errors },
  );

const readOne = (
  attachment: GivenAttachment,
  field: string,
  faults: FieldError[],
  limits: Limits,
): RequestedAttachment | undefined => {
  const sources = attachmentSources.filter((source) => attachment[source] !== undefined);
  const [source] = sources;
  if (source === undefined || sources.length > 1) {
    faults.push({
      field,
      message: `needs exactly one of ${attachmentSources.join(', ')}; it has ${sources.length === 0 ? 'none' : sources.join(' and ')}`,
    });
    return undefined;
  }
  const before = faults.length;
  checkFields(attachment, source, field, faults);
  checkFilename(attachment.filename, field, faults);
  const mediaType = attachment.contentType === undefined ? undefined : parseMediaType(attachment.contentType);
  if (attachment.contentType !== undefined && mediaType === undefined) {
    faults.push({
      field: `${field}.contentType`,
      message:
        'must be a MIME type such as application/pdf or text/calendar; method=REQUEST (its name stands in `filename`)',
    });
  }
  const { filename, contentId } = attachment;
  const contentType = mediaType === undefined ? undefined : mediaTypeText(mediaType);
  const shape = ((): RequestedAttachment => {
    switch (source) {
      case 'attachmentTemplateId':
        return {
          kind: 'generated',
          field,
          reference: attachment[source]!,
          filename,
          outputFormats: attachment.outputFormats,
          variables: (attachment.variables ?? {}) as JsonObject,
        };
      case 'content':
        return {
          kind: 'content',
          field,
          filename: filename ?? '',
          contentType: contentType ?? '',
          contentId,
          bytes: decode(attachment[source]!, field, faults, limits),
        };
      case 'url':
        return {
          kind: 'url',
          field,
          url: attachment[source]!,
          filename: filename ?? '',
          contentType,
          contentId,
        };
      case 'assetId':
        return { kind: 'asset', field, assetId: attachment[source]!, filename, contentId };
    }
  })();
  return faults.length === before ? shape : undefined;
};

const checkFilename = (filename: string | undefined, field: string, faults: FieldError[]): void => {
  if (filename === undefined) return;
  const fault =
    nameFault(filename) ?? (!hasPlaceholder(filename) && safeFilename(filename) === '' ? NO_NAME_LEFT : undefined);
  if (fault !== undefined) faults.push({ field: `${field}.filename`, message: fault });
};

const checkFields = (
  attachment: GivenAttachment,
  source: AttachmentSource,
  field: string,
  faults: FieldError[],
): void => {
  const { required, optional } = beside[source];
  for (const name of required)
    if (attachment[name] === undefined)
      faults.push({ field: `${field}.${name}`, message: `is required beside ${source}` });
  const allowed: readonly string[] = [source, ...required, ...optional];
  for (const name of Object.keys(attachment)) {
    if (!allowed.includes(name))
      faults.push({
        field: `${field}.${name}`,
        message: `does not go with ${source}; beside it may stand ${[...required, ...optional].join(', ')}`,
      });
  }
};

const decode = (content: string, field: string, faults: FieldError[], { attachmentSizeBytesMax }: Limits): Buffer => {
  const bytes = decodeBase64(content);
  if (bytes === undefined) {
    faults.push({ field: `${field}.content`, message: NO_BASE64 });
    return NOTHING;
  }
  if (bytes.byteLength > attachmentSizeBytesMax)
    throw attachmentTooLarge(`${field} has`, bytes.byteLength, attachmentSizeBytesMax);
  return bytes;
};

const checkContentIds = (read: readonly (RequestedAttachment | undefined)[], faults: FieldError[]): void => {
  const seen = new Map<string, string>();
  for (const attachment of read) {
    if (attachment === undefined || attachment.kind === 'generated' || attachment.contentId === undefined) continue;
    const first = seen.get(attachment.contentId);
    if (first === undefined) seen.set(attachment.contentId, attachment.field);
    else faults.push({ field: `${attachment.field}.contentId`, message: `is already that of ${first}` });
  }
};

export const attachmentTooLarge = (what: string, actual: number, max: number): DomainError =>
  new DomainError('ERR_ATTACH_002', `${what} ${actual} bytes; at most ${max} are allowed.`, {
    relatedInfo: { actualSizeBytes: actual, maxSizeBytes: max },
  });

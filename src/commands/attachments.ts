/** Attachments of a send call: decoded, measured, sealed under the email's key and put into files. */
import type { SendEmailRequest } from '../domain/email/request.js';
import type { EmailContent } from '../domain/email/events.js';
import { DomainError, type FieldError } from '../domain/errors.js';
import type { Limits } from '../domain/limits.js';
import type { Files } from '../domain/ports/files.js';
import type { SealingKey } from '../domain/ports/keys.js';

export type DecodedAttachment = Readonly<{ filename: string; contentType: string; bytes: Buffer }>;

/** What the sealed bytes of the attachment at that index are bound to. */
export const attachmentContext = (index: number): string => `attachment:${index}`;

const MEDIA_TYPE = /^[A-Za-z0-9!#$&^_.+-]+\/[A-Za-z0-9!#$&^_.+-]+$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Throws VALIDATION_ERROR naming each fault, ERR_ATTACH_002 where one or all together are too large. */
export const decodeAttachments = (given: SendEmailRequest['attachments'], limits: Limits): readonly DecodedAttachment[] => {
  if (given === undefined || given.length === 0) return [];
  if (given.length > limits.attachmentsMax) {
    throw invalid([{ field: 'attachments', message: `holds ${given.length} attachments; at most ${limits.attachmentsMax} are allowed` }]);
  }
  const faults: FieldError[] = [];
  const decoded = given.map(({ filename, content, contentType }, index) => {
    const field = `attachments[${index}]`;
    const name = safeFilename(filename);
    if (name === '') faults.push({ field: `${field}.filename`, message: 'has no visible character' });
    if (!MEDIA_TYPE.test(contentType)) {
      faults.push({ field: `${field}.contentType`, message: 'must be a MIME type such as application/pdf, without parameters' });
    }
    const compact = content.replace(/[\r\n]/g, '');
    if (compact.length % 4 !== 0 || !BASE64.test(compact)) {
      faults.push({ field: `${field}.content`, message: 'must be base64 (RFC 4648, section 4) with its padding' });
    }
    return { filename: name, contentType: contentType.toLowerCase(), bytes: Buffer.from(compact, 'base64') };
  });
  if (faults.length > 0) throw invalid(faults);
  checkSizes(decoded, limits);
  return decoded;
};

const invalid = (errors: readonly FieldError[]): DomainError =>
  new DomainError('VALIDATION_ERROR', 'The attachments are not valid; `errors` names each field and what would be right.', { errors });

const checkSizes = (attachments: readonly DecodedAttachment[], limits: Limits): void => {
  attachments.forEach(({ bytes }, index) => {
    if (bytes.byteLength > limits.attachmentSizeBytesMax) {
      throw tooLarge(`attachments[${index}] has`, bytes.byteLength, limits.attachmentSizeBytesMax);
    }
  });
  const total = attachments.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  if (total > limits.attachmentsTotalSizeBytesMax) {
    throw tooLarge('The attachments have together', total, limits.attachmentsTotalSizeBytesMax);
  }
};

const tooLarge = (what: string, actual: number, max: number): DomainError =>
  new DomainError('ERR_ATTACH_002', `${what} ${actual} bytes; at most ${max} are allowed.`, {
    relatedInfo: { actualSizeBytes: actual, maxSizeBytes: max },
  });

/** A file name without paths, control characters, and the marks that turn text round or hide an extension. */
export const safeFilename = (name: string): string =>
  (name.split(/[/\\]/).at(-1) ?? '')
    .replace(/[\x00-\x1f\x7f<>:"|?*\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, '')
    .replace(/^[.\s]+|[.\s]+$/g, '');

/** Puts the sealed bytes; they are durable when it resolves. */
export const storeAttachments = async (
  files: Files,
  key: SealingKey,
  attachments: readonly DecodedAttachment[],
): Promise<EmailContent['attachments']> =>
  Promise.all(
    attachments.map(async ({ filename, contentType, bytes }, index) => ({
      filename,
      contentType,
      sizeBytes: bytes.byteLength,
      file: await files.put(key.seal(bytes, attachmentContext(index))),
    })),
  );

/** The bytes of an email's attachments, opened; undefined where one is gone. */
export const loadAttachments = async (
  files: Files,
  key: SealingKey,
  attachments: EmailContent['attachments'],
): Promise<readonly DecodedAttachment[] | undefined> => {
  const loaded = await Promise.all(
    attachments.map(async ({ filename, contentType, file }, index) => {
      const sealed = await files.get(file);
      return sealed === undefined ? undefined : { filename, contentType, bytes: key.open(sealed, attachmentContext(index)) };
    }),
  );
  return loaded.every((attachment) => attachment !== undefined) ? loaded : undefined;
};

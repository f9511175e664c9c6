/** What is asked of a worker thread and what it answers, as plain data. */
import type { OutputFormat } from '../../../domain/attachment-template/schema.js';
import { DomainError, type ErrorCode, type ErrorDetails } from '../../../domain/errors.js';
import type { Limits } from '../../../domain/limits.js';
import type { DocumentInput, DocumentMetadata, LoadedImage } from '../../../domain/ports/generator.js';

/** What a thread is started with. */
export type WorkerSettings = Readonly<{ limits: Limits; /** More fonts than those that are shipped. */ fontsDir: string | undefined }>;

/** An image whose bytes are all of their buffer, so that they can be moved to the thread. */
export type OwnImage = LoadedImage & Readonly<{ bytes: Uint8Array<ArrayBuffer> }>;

export type DocumentJob = Readonly<{ input: DocumentInput; format: OutputFormat }> &
  (Readonly<{ kind: 'image-sources' }> | Readonly<{ kind: 'make'; images: ReadonlyMap<string, OwnImage>; metadata: DocumentMetadata }>);

/** A DomainError, which does not cross threads as one. */
export type Refused = Readonly<{ kind: 'refused'; code: ErrorCode; message: string; details: ErrorDetails }>;
export type DocumentAnswer =
  | Readonly<{ kind: 'image-sources'; sources: readonly string[] }>
  /** The file is all of its buffer, so that it can be moved. */
  | Readonly<{ kind: 'made'; file: Uint8Array<ArrayBuffer> }>
  | Refused;

export const refused = ({ code, message, details }: DomainError): Refused => ({ kind: 'refused', code, message, details });

export const errorOf = ({ code, message, details }: Refused): DomainError => new DomainError(code, message, details);

/** The bytes in a buffer of their own, copied where they are part of a larger one. */
export const alone = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength
    ? new Uint8Array(bytes.buffer)
    : new Uint8Array(bytes);

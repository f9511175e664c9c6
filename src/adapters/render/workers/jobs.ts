/** What is asked of a document process and what it answers, as plain data. */
import type { OutputFormat } from '../../../domain/rendering/document-content.js';
import { DomainError, type ErrorCode, type ErrorDetails } from '../../../domain/core/errors.js';
import type { Limits } from '../../../domain/core/limits.js';
import type { ApartEmail, DocumentInput, DocumentMetadata, FontInput, LoadedImage, SvgInput } from '../../../domain/ports/generator.js';
import type { RenderedEmail } from '../../../domain/ports/renderer.js';

/** What a process is started with. */
export type WorkerSettings = Readonly<{ limits: Limits; /** More fonts than those that are shipped. */ fontsDir: string | undefined }>;

export type DocumentJob = Readonly<{ input: DocumentInput; format: OutputFormat }> &
  (
    | Readonly<{ kind: 'image-sources' }>
    | Readonly<{ kind: 'check'; images: ReadonlyMap<string, LoadedImage> }>
    | Readonly<{ kind: 'make'; images: ReadonlyMap<string, LoadedImage>; metadata: DocumentMetadata }>
  );
export type EmailJob = Readonly<{ kind: 'email'; input: ApartEmail }>;
export type SvgJob = Readonly<{ kind: 'svg'; input: SvgInput }>;
export type FontJob = Readonly<{ kind: 'font'; input: FontInput }>;
export type TeamJob = DocumentJob | EmailJob | SvgJob | FontJob;
/** `prepare`: loads what documents need, for no team. */
export type Job = TeamJob | Readonly<{ kind: 'prepare' }>;

/** A DomainError, which does not cross processes as one. */
export type Refused = Readonly<{ kind: 'refused'; code: ErrorCode; message: string; details: ErrorDetails }>;
export type Answer =
  | Readonly<{ kind: 'image-sources'; sources: readonly string[] }>
  | Readonly<{ kind: 'checked'; lacking: readonly string[] }>
  | Readonly<{ kind: 'made'; file: Uint8Array; replaced: readonly string[] }>
  | Readonly<{ kind: 'rendered'; email: RenderedEmail }>
  | Readonly<{ kind: 'prepared' }>
  | Readonly<{ kind: 'font-checked' }>
  | Readonly<{ kind: 'drawn'; png: Uint8Array | undefined }>
  | Refused;

export const refused = ({ code, message, details }: DomainError): Refused => ({ kind: 'refused', code, message, details });

export const errorOf = ({ code, message, details }: Refused): DomainError => new DomainError(code, message, details);

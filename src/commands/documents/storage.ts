/** What the attachments of emails take, and how much of it a team may have stored. */
import type { AttachmentBytes } from '../../domain/email/events.js';
import { DomainError } from '../../domain/core/errors.js';
import type { Limits } from '../../domain/core/limits.js';
import { isoTime } from '../../domain/core/iso-time.js';
import { DAY_MS } from '../../domain/core/time.js';

type Sized = Readonly<{ bytes: Uint8Array; temporary?: true }>;

export const sizeOf = (files: readonly Sized[]): number => files.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);

/** When generated files of an email go that is due at that moment. */
export const temporaryUntil = (dueAtMs: number, { generatedFileDays }: Pick<Limits, 'generatedFileDays'>): string =>
  isoTime(dueAtMs + generatedFileDays * DAY_MS);

export const keptBytes = (files: readonly Sized[], dueAtMs: number, limits: Limits): AttachmentBytes => ({
  lasting: sizeOf(files.filter(({ temporary }) => temporary !== true)),
  temporary: sizeOf(files.filter(({ temporary }) => temporary === true)),
  temporaryUntil: temporaryUntil(dueAtMs, limits),
});

const written = new Intl.NumberFormat('en-US');
/** Room comes by itself where generated files grow old or emails are archived. */
const RETRY_AFTER_S = 3_600;

/** In: what the team has stored, and what comes to it (0: none yet). Throws ATTACHMENT_STORAGE_EXCEEDED. */
export const checkStorage = (storedBytes: number, addedBytes: number, { teamAttachmentBytesMax: max }: Limits): void => {
  const bytes = storedBytes + Math.max(addedBytes, 1);
  if (bytes <= max) return;
  throw new DomainError(
    'ATTACHMENT_STORAGE_EXCEEDED',
    `With this email the attachments of the team would take ${written.format(storedBytes + addedBytes)} bytes, the maximum is ${written.format(max)}. Delete emails, wait until some are archived, or send links instead of files.`,
    { relatedInfo: { actualSizeBytes: storedBytes + addedBytes, maxSizeBytes: max }, retryAfterS: RETRY_AFTER_S },
  );
};

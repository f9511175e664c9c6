/** The timer of an email: what is to be done next, and when. */
import { isoTime } from '../core/time.js';
import type { EmailSummary } from './status.js';

/**
 * `deliver`: at once. `held`: as soon as the host takes sessions again, at the latest when the mail fails. All others
 * at a moment: `processing` in case the attempt is interrupted, `removal` of an archived email's record.
 */
export const emailTimerKinds = [
  'deliver',
  'scheduled',
  'deferred',
  'held',
  'processing',
  'archive',
  'removal',
] as const;
export type EmailTimerKind = (typeof emailTimerKinds)[number];

/** A second timer of an email: addresses are to be put on the suppression list. */
export const BOUNCED_TIMER = 'bounced';
/** The collection of these timers; all others of an email are in its own document. */
export const BOUNCED_TIMERS = 'bouncedTimers';

export type EmailTimer = Readonly<{ kind: EmailTimerKind; dueAt: string }>;

/**
 * Retention counts from acceptance, the scheduled time or the cancellation: a schedule weeks ahead does not shorten it.
 */
export const archiveDueAt = (email: EmailSummary, retentionMs: number): string =>
  isoTime(Date.parse(email.cancelledAt ?? email.scheduledAt ?? email.createdAt) + retentionMs);

/** The record of an archived email is kept for `archiveMs`. */
export const removalDueAt = (archivedAt: string, archiveMs: number): string =>
  isoTime(Date.parse(archivedAt) + archiveMs);

/** How long an email is kept, and its record after it is archived. */
export type Periods = Readonly<{ retentionMs: number; archiveMs: number }>;

/** undefined: the record of the email is removed, and nothing is due any more. */
export const emailTimerKind = (email: EmailSummary): EmailTimerKind | undefined => {
  if (email.archivedAt !== null) return email.deletedAt === null ? 'removal' : undefined;
  if (email.deletedAt !== null) return 'archive';
  switch (email.status) {
    case 'scheduled':
      return 'scheduled';
    case 'queued':
      if (email.heldUntil !== undefined && !waitsForMoment(email)) return 'held';
      return email.nextAttemptAt === null ? 'deliver' : 'deferred';
    case 'processing':
      return 'processing';
    case 'sent':
    case 'delivered':
    case 'failed':
    case 'bounced':
    case 'complained':
    case 'cancelled':
      return 'archive';
  }
};

/** Whether a mail that waits for its relays waits for a moment, because none of them takes more before. */
const waitsForMoment = ({ nextAttemptAt, updatedAt }: EmailSummary): boolean =>
  nextAttemptAt !== null && nextAttemptAt > updatedAt;

/** A deleted email is archived at once. */
export const mayBeArchived = (email: EmailSummary, at: string, retentionMs: number): boolean =>
  emailTimerKind(email) === 'archive' && (email.deletedAt !== null || archiveDueAt(email, retentionMs) <= at);

/** A deleted email has no record to remove. */
export const mayBeRemoved = (email: EmailSummary, at: string, archiveMs: number): boolean =>
  emailTimerKind(email) === 'removal' && email.archivedAt !== null && removalDueAt(email.archivedAt, archiveMs) <= at;

/** undefined as in `emailTimerKind`. */
export const emailTimer = (email: EmailSummary, periods: Periods): EmailTimer | undefined => {
  const kind = emailTimerKind(email);
  return kind && { kind, dueAt: dueAtOf(kind, email, periods) };
};

const dueAtOf = (kind: EmailTimerKind, email: EmailSummary, { retentionMs, archiveMs }: Periods): string => {
  switch (kind) {
    case 'scheduled':
      return email.scheduledAt ?? email.createdAt;
    case 'deliver':
      return email.queuedAt ?? email.createdAt;
    case 'deferred':
      return email.nextAttemptAt ?? email.updatedAt;
    case 'held':
      return email.heldUntil ?? email.updatedAt;
    case 'processing':
      return email.dialogueDeadlineAt ?? email.updatedAt;
    case 'archive':
      return email.deletedAt ?? archiveDueAt(email, retentionMs);
    case 'removal':
      return removalDueAt(email.archivedAt ?? email.updatedAt, archiveMs);
  }
};

/** The reason why an open email waits; undefined: it has ended. */
export const waitOf = (summary: EmailSummary): 'scheduled' | 'deferred' | 'held' | 'ready' | undefined => {
  const kind = emailTimerKind(summary);
  switch (kind) {
    case 'scheduled':
    case 'deferred':
    case 'held':
      return kind;
    case 'deliver':
    case 'processing':
      return 'ready';
    case 'archive':
    case 'removal':
    case undefined:
      return undefined;
  }
};

/** What is still to be done for an email, and when: the content of its timer. */
import { isoTime } from '../core/time.js';
import type { EmailSummary } from './status.js';

/**
 * `deliver`: at once; `scheduled`, `deferred`, `processing` (should its dialogue be cut off), `archive`, `removal` (of an archived one) and `retirement`
 * (of the events of one whose record is gone): at a moment; `held`: as soon as
 * the host takes sessions again, at the latest at its moment, when the mail fails.
 */
export const emailTimerKinds = ['deliver', 'scheduled', 'deferred', 'held', 'processing', 'archive', 'removal', 'retirement'] as const;
export type EmailTimerKind = (typeof emailTimerKinds)[number];

/** The events of emails and bulk sends leave the log together: so many days after the first of them may. */
export const RETIRED_WITHIN_DAYS = 30;

/** A timer beside that: addresses of the email are to be given to the suppression list. */
export const BOUNCED_TIMER = 'bounced';

export type EmailTimer = Readonly<{ kind: EmailTimerKind; dueAt: string }>;

/** Retention counts from the day an email left, should have left, or was cancelled: a schedule weeks ahead does not shorten it. */
export const archiveDueAt = (email: EmailSummary, retentionMs: number): string =>
  isoTime(Date.parse(email.cancelledAt ?? email.scheduledAt ?? email.createdAt) + retentionMs);

/** What is left of an archived email is kept for that long. */
export const removalDueAt = (archivedAt: string, archiveMs: number): string => isoTime(Date.parse(archivedAt) + archiveMs);

/** How long an email is kept, and how long what is left of it once it is archived. */
export type Periods = Readonly<{ retentionMs: number; archiveMs: number }>;

export const emailTimerKind = (email: EmailSummary): EmailTimerKind => {
  if (email.archivedAt !== null) return email.deletedAt === null ? 'removal' : 'retirement';
  if (email.deletedAt !== null) return 'archive';
  switch (email.status) {
    case 'scheduled':
      return 'scheduled';
    case 'queued':
      if (email.heldUntil !== undefined) return 'held';
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

/** One that is deleted is not kept for its time. */
export const mayBeArchived = (email: EmailSummary, at: string, retentionMs: number): boolean =>
  emailTimerKind(email) === 'archive' && (email.deletedAt !== null || archiveDueAt(email, retentionMs) <= at);

/** One that is deleted is gone already. */
export const mayBeRemoved = (email: EmailSummary, at: string, archiveMs: number): boolean =>
  emailTimerKind(email) === 'removal' && email.archivedAt !== null && removalDueAt(email.archivedAt, archiveMs) <= at;

/** Whether the events of an email may leave the log, which nothing shows any more. */
export const mayBeRetired = (email: EmailSummary, at: string, archiveMs: number): boolean =>
  emailTimerKind(email) === 'retirement' && email.archivedAt !== null && removalDueAt(email.archivedAt, archiveMs) <= at;

export const emailTimer = (email: EmailSummary, periods: Periods): EmailTimer => {
  const kind = emailTimerKind(email);
  return { kind, dueAt: dueAtOf(kind, email, periods) };
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
    case 'retirement':
      return removalDueAt(email.archivedAt ?? email.updatedAt, archiveMs);
  }
};

/** What is still to be done for an email, and when: the content of its timer. */
import { isoTime } from '../ports/clock.js';
import type { EmailSummary } from './summary.js';

/** `deliver`: at once; `scheduled`, `deferred`, `processing` (should its dialogue be cut off) and `archive`: at a moment. */
export const emailTimerKinds = ['deliver', 'scheduled', 'deferred', 'processing', 'archive'] as const;
export type EmailTimerKind = (typeof emailTimerKinds)[number];

export type EmailTimer = Readonly<{ kind: EmailTimerKind; dueAt: string }>;

/** Retention counts from the day an email left, or should have: a schedule weeks ahead does not shorten it. */
export const archiveDueAt = (email: EmailSummary, retentionMs: number): string =>
  isoTime(Date.parse(email.scheduledAt ?? email.createdAt) + retentionMs);

/** undefined once nothing is left to do: the email is archived. */
export const emailTimer = (email: EmailSummary, retentionMs: number): EmailTimer | undefined => {
  if (email.archivedAt !== null) return undefined;
  if (email.deletedAt !== null) return { kind: 'archive', dueAt: email.deletedAt };
  switch (email.status) {
    case 'scheduled':
      return { kind: 'scheduled', dueAt: email.scheduledAt ?? email.createdAt };
    case 'queued':
      return email.nextAttemptAt === null
        ? { kind: 'deliver', dueAt: email.queuedAt ?? email.createdAt }
        : { kind: 'deferred', dueAt: email.nextAttemptAt };
    case 'processing':
      return { kind: 'processing', dueAt: email.dialogueDeadlineAt ?? email.updatedAt };
    case 'sent':
    case 'delivered':
    case 'failed':
    case 'bounced':
    case 'complained':
    case 'cancelled':
      return { kind: 'archive', dueAt: archiveDueAt(email, retentionMs) };
  }
};

/** What is still to be done for an email, and when: the ground of timers and of the search for open work. */
import type { EmailSummary } from './summary.js';

/** `deliver`: at once; `scheduled`, `deferred`, `processing` (should its dialogue be cut off) and `archive`: at a moment. */
export const workPhases = ['deliver', 'scheduled', 'deferred', 'processing', 'archive'] as const;
export type WorkPhase = (typeof workPhases)[number];

export type OpenWork = Readonly<{ phase: WorkPhase; dueAt: string }>;

const isoPlus = (iso: string, ms: number): string => new Date(Date.parse(iso) + ms).toISOString();

/** Retention counts from the day an email left, or should have: a schedule weeks ahead does not shorten it. */
export const archiveDueAt = (email: EmailSummary, retentionMs: number): string =>
  isoPlus(email.scheduledAt ?? email.createdAt, retentionMs);

/** undefined once nothing is left to do: the email is archived. */
export const openWork = (email: EmailSummary, retentionMs: number): OpenWork | undefined => {
  if (email.archivedAt !== null) return undefined;
  if (email.deletedAt !== null) return { phase: 'archive', dueAt: email.deletedAt };
  switch (email.status) {
    case 'scheduled':
      return { phase: 'scheduled', dueAt: email.scheduledAt ?? email.createdAt };
    case 'queued':
      return email.nextAttemptAt === null
        ? { phase: 'deliver', dueAt: email.queuedAt ?? email.createdAt }
        : { phase: 'deferred', dueAt: email.nextAttemptAt };
    case 'processing':
      return { phase: 'processing', dueAt: email.dialogueDeadlineAt ?? email.updatedAt };
    case 'sent':
    case 'delivered':
    case 'failed':
    case 'bounced':
    case 'complained':
    case 'cancelled':
      return { phase: 'archive', dueAt: archiveDueAt(email, retentionMs) };
  }
};

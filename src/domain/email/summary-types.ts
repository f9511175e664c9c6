/** The shape of where an email stands, and of what brings it on. */
import type { EmailAccepted, EmailEvent } from './events.js';
import type { EmailStatus, RecipientStatus } from './email-status.js';

export type EmailSummary = Readonly<{
  status: EmailStatus;
  /** One for each recipient, in the order of the accepted roles. */
  recipientStatuses: readonly RecipientStatus[];
  scheduledAt: string | null;
  /** When a deferred mail is due again. */
  nextAttemptAt: string | null;
  /** While the mail waits for a host that takes no session: when it fails. It counts from the first time, whatever is tried meanwhile. */
  heldUntil?: string;
  /** While a dialogue may be under way: when it cannot be any more. */
  dialogueDeadlineAt: string | null;
  createdAt: string;
  updatedAt: string;
  /** When it last entered the queue; null while it is scheduled. */
  queuedAt: string | null;
  processingAt: string | null;
  sentAt: string | null;
  deliveredAt: string | null;
  archivedAt: string | null;
  /** When somebody deleted it, or its record was removed because of its age: callers are told of neither. */
  deletedAt: string | null;
  /** Absent from an email that nobody has cancelled. */
  cancelledAt?: string;
  /** Absent from an email that nobody has complained of. */
  complainedAt?: string;
  /** Absent where opens, or clicks, are not recorded. */
  tracksOpens?: true;
  tracksClicks?: true;
  /** When a person first did; absent before. */
  openedAt?: string;
  clickedAt?: string;
  /** The recipients, by their place, whose personal data is destroyed or going; absent for none. */
  erased?: readonly number[];
}>;

/** Everything that happens to an email after its acceptance, until its events leave the log. */
export type EmailProgress = Exclude<EmailEvent, EmailAccepted | { type: 'EmailSummarised' | 'EmailRetired' }>;

/** A state that its owner is still making. */
export type Draft<State> = { -readonly [Field in keyof State]: State[Field] };

import type { EmailId } from '../../domain/core/ids.js';
import type { EmailStatus, RecipientStatus } from '../../domain/email/email-status.js';

export type EmailFilter = Readonly<{
  status?: EmailStatus;
  templateId?: string;
  /** Created at or after, ISO time. */
  startDate?: string;
  /** Created at or before, ISO time. */
  endDate?: string;
  /** Substring of a recipient's address or name, or of the subject; two characters at least, or one that is ideographic. */
  search?: string;
  /** The address of a recipient, in the form in which emails have it. */
  recipient?: string;
  tag?: string;
  /** A key of the metadata. */
  metadataKey?: string;
  /** Keys of the metadata with their values as texts. */
  metadata?: Readonly<Record<string, string>>;
  /** A recipient has this status. */
  recipientStatus?: RecipientStatus;
  /** Sent with a test key, or not. */
  test?: boolean;
}>;

/** Which emails are to be pushed on by hand: those that wait, or those that have failed. */
export type RetryFilter = Pick<EmailFilter, 'templateId' | 'startDate' | 'endDate' | 'test'> & Readonly<{ status: 'queued' | 'failed' }>;

/** Of one page of a team's emails: those that wait for a time or have failed, and those that wait for the relay. */
export type ToRetry = Readonly<{ ids: readonly EmailId[]; held: readonly EmailId[]; nextCursor: string | null }>;

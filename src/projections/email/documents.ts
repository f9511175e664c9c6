/** The documents of emails and of their counts, as queries find them. */
import type { AttachmentBytes } from '../../domain/email/events.js';
import type { EndedBefore } from '../../domain/email/milestones.js';
import type { EmailStatus } from '../../domain/email/email-status.js';
import type { EmailSummary } from '../../domain/email/status.js';
import type { Document } from '../../domain/ports/read-models.js';
import type { RecipientText } from './search.js';
import { backlogsOf, timersOf } from '../../domain/core/timers.js';

export const EMAILS = 'emails';
export const EMAIL_COUNTS = 'emailCounts';
export const EMAIL_TIMERS = timersOf('email');
export const EMAIL_BACKLOGS = backlogsOf('email');

/** `team` is absent from a deleted email, so no list finds it. */
export type EmailDocument = Document &
  Readonly<{
    team?: string;
    owner: string;
    /** Of the last event that is folded into it. */
    revision: number;
    /** 1: its record is removed, or it was deleted, and no more is kept than what its last events need. Absent before. */
    gone?: 1;
    /** Who sent it, or had it tried again; absent once nothing waits for its turn. */
    sender?: string;
    stream: string;
    status: EmailStatus;
    templateId: string;
    templateName: string;
    priority: string;
    createdAt: string;
    subject?: string;
    /** 1 where its recipients have other statuses than its own lets expect; these are then named, each once. */
    mixed: 0 | 1;
    recipientStatuses?: string;
    summary: EmailSummary;
    /** 1: sent with a test key. */
    test: 0 | 1;
    /** 1: a mail of the service itself, which counts in lists alone; absent from all others. */
    confidential?: 1;
    /** The id of the bulk send that it belongs to; absent where it was sent by itself. */
    batch?: string;
    /** What its attachments take, as long as they are kept with it; absent where it has none. */
    attachmentBytes?: AttachmentBytes;
    /** How many documents were made for it; absent for none. */
    documents?: number;
    /** Each once; absent where it has none, and once archived or deleted. They are not personal, so a rebuild has them whatever became of its key. */
    tags?: readonly string[];
    /** How it had ended before it was retried; absent where it was not. */
    endedBefore?: EndedBefore;
    /** Subject, addresses and names, folded for searches, line by line; absent once archived. */
    text?: string;
    /** Its recipients, tags and metadata as terms; absent once archived. */
    terms?: string[];
    /** Of an email with several recipients: what of the text is whose; absent once archived. */
    recipientTexts?: RecipientText[];
  }>;

/** One day of one team: how many emails there are, by `status|templateId`, of test keys by `status|templateId|test`; the `seq` of each of its emails lies from `first` to `last`. */
export type EmailCountsDocument = Document &
  Readonly<{
    team: string;
    day: string;
    first: number;
    last: number;
    cells: Readonly<Record<string, number>>;
    /** Emails that were accepted and not cancelled, without those of test keys and of the service itself, whatever became of them since, and the documents that were made for them. */
    emails: number;
    documents: number;
  }>;

/** Where an email counts: under its status of now and its template, as long as lists show it. */
export const cellOf = ({ team, status, templateId, test }: EmailDocument): string | undefined =>
  team === undefined ? undefined : test === 1 ? `${status}|${templateId}|test` : `${status}|${templateId}`;

/** What stays of an email that nothing shows any more, until its events leave the log. */
export const stubOf = ({ id, seq, position, owner, revision, stream, summary }: EmailDocument): EmailDocument => ({
  id,
  seq,
  position,
  owner,
  revision,
  gone: 1,
  stream,
  status: 'cancelled',
  templateId: '',
  templateName: '',
  priority: '',
  createdAt: '',
  mixed: 0,
  test: 0,
  summary: { ...nothing, archivedAt: summary.archivedAt, deletedAt: summary.deletedAt },
});

const nothing: EmailSummary = {
  status: 'cancelled',
  recipientStatuses: [],
  scheduledAt: null,
  nextAttemptAt: null,
  dialogueDeadlineAt: null,
  createdAt: '',
  updatedAt: '',
  queuedAt: null,
  processingAt: null,
  sentAt: null,
  deliveredAt: null,
  archivedAt: null,
  deletedAt: null,
};

/** What lists show of an email. */
export type EmailListing = {
  id: string;
  status: EmailStatus;
  archived: boolean;
  emailTemplateName: string;
  templateId: string;
  subject: string | null;
  recipientCount: number;
  failedRecipients: number;
  createdAt: string;
  sentAt: string | null;
  deliveredAt: string | null;
  test: boolean;
};

export const countsId = (team: string, day: string): string => `${team}:${day}`;

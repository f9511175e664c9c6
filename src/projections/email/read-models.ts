/**
 * The documents of emails and of their daily counts: their fields, the search text and terms, and what is erased of
 * them.
 */
import { domainToASCII, domainToUnicode } from 'node:url';
import type { EmailEnvelope, AttachmentBytes } from '../../domain/email/events.js';
import { defaultLimits as limits } from '../../domain/core/limits.js';
import type { Recipient } from '../../domain/mime/address.js';
import { foldForSearch } from '../../domain/core/search-text.js';
import {
  emailStatuses,
  recipientStatuses,
  type EmailStatus,
  type RecipientStatus,
  type EmailSummary,
  type Draft,
} from '../../domain/email/status.js';
import type { Query, Document } from '../../domain/ports/read-models.js';
import type { EndedBefore } from '../../domain/email/milestones.js';
import { backlogsOf, type TimerDocument } from '../../domain/ports/timers.js';
import { boundedCache } from '../../shared/cache.js';
import { dayOfTeamId } from '../core/projection.js';

export const EMAILS = 'emails';
export const EMAIL_COUNTS = 'emailCounts';
export const EMAIL_BACKLOGS = backlogsOf('email');

/** The part of a recipient in the text: its lines, and the characters of the address in the first line. */
type RecipientText = readonly [lines: number, addressChars: number];

/**
 * `team` is absent from a deleted email, so no list finds it. It is a timer while work on it is due: `kind` and `dueAt`
 * are absent otherwise.
 */
export type EmailDocument = Document &
  Partial<Pick<TimerDocument, 'kind' | 'dueAt' | 'senderDueAt'>> &
  Readonly<{
    team?: string;
    owner: string;
    /** 1: removed or deleted; only what its last events need is kept. Absent before. */
    gone?: 1;
    /** The actor who sent or retried it; absent once it does not wait for a turn any more. */
    sender?: string;
    /** Its stream. */
    key: string;
    status: EmailStatus;
    templateId: string;
    templateName: string;
    priority: string;
    createdAt: string;
    /** When its bulk send was called, if that was before `createdAt`. */
    calledAt?: string;
    subject?: string;
    /** The address and the name of the first recipient; absent once archived or erased. */
    to?: string;
    toName?: string;
    /** The number of its attachments; absent: none. */
    attachments?: number;
    /** Why it failed; absent: it has not. */
    reason?: string;
    /**
     * 1 if a recipient has another status than the email's own implies; `recipientStatuses` then has each status once.
     */
    mixed: 0 | 1;
    recipientStatuses?: string;
    summary: EmailSummary;
    /** 1: sent with a test key. */
    test: 0 | 1;
    /** 1: a mail of the service itself, which only lists count; absent from all others. */
    confidential?: 1;
    /** The id of its bulk send; absent: it was sent by itself. */
    batch?: string;
    /** The bytes of its attachments while they are stored; absent: none. */
    attachmentBytes?: AttachmentBytes;
    /** The number of documents generated for it; absent: none. */
    documents?: number;
    /**
     * Each once; absent if it has none, and once archived or deleted. Not personal, so a rebuild has them even without
     * the key.
     */
    tags?: readonly string[];
    /** The provider of each recipient, and the verified domain of the sender, for figures by domain; absent: none. */
    domains?: readonly (string | null)[];
    senderDomain?: string;
    /** The relay of the last attempt that named one; absent: none did. */
    relay?: string;
    /** The ends before a retry; absent: it was not retried. */
    endedBefore?: EndedBefore;
    /** Search text: subject, addresses and names, folded; absent once archived. */
    text?: string;
    /** Search terms: recipients, tags and metadata; absent once archived. */
    terms?: string[];
    /** The part of each recipient in the text, if there are several; absent once archived. */
    recipientTexts?: RecipientText[];
  }>;

/**
 * The emails of a team's day. `cells`: counts by `status|templateId`, for test keys by `status|templateId|test`;
 * `first`, `last`: the range of their `seq`.
 */
export type EmailCountsDocument = Document &
  Readonly<{
    team: string;
    day: string;
    first: number;
    last: number;
    cells: Readonly<Record<string, number>>;
    /**
     * Emails called for on that day and not cancelled, even if deleted since, and the documents generated for them.
     * Emails of a bulk send count from the call on, with the documents that they are to have. Without test keys and
     * mails of the service.
     */
    emails: number;
    documents: number;
  }>;

/** An email in a list. */
export type EmailListing = {
  id: string;
  status: EmailStatus;
  archived: boolean;
  emailTemplateName: string;
  templateId: string;
  subject: string | null;
  to: { email: string; name: string | null } | null;
  recipientCount: number;
  failedRecipients: number;
  attachmentCount: number;
  tags: string[];
  batchId: string | null;
  failureReason: string | null;
  relay: string | null;
  createdAt: string;
  sentAt: string | null;
  deliveredAt: string | null;
  test: boolean;
};

export const countsId = dayOfTeamId;

/** The cell in which an email counts while lists show it. */
export const cellOf = ({ team, status, templateId, test }: EmailDocument): string | undefined => {
  if (team === undefined) return undefined;
  const cells = cellsOf.getOrMake(templateId, () => ({}));
  return test === 1
    ? (cells[`${status}|test`] ??= `${status}|${templateId}|test`)
    : (cells[status] ??= `${status}|${templateId}`);
};

/** The cells of a template by status. A text that is made anew is hashed anew when it becomes the key of a count. */
const cellsOf = boundedCache<string, Partial<Record<EmailStatus | `${EmailStatus}|test`, string>>>({ entriesMax: 256 });

type CountsDraft = Draft<EmailCountsDocument> & { cells: Record<string, number> };

/** `cell`: the cell of the email that has this `seq`, before and after; absent: only the usage of the day changes. */
export type CountsChange = Readonly<{
  team: string;
  day: string;
  seq: number;
  position: number;
  cell?: Readonly<{ at: number; from: string | undefined; to: string | undefined }>;
  emails: number;
  documents: number;
}>;

/** In: the document before, which is changed in place. Out: the document after. */
export const countEmails = (document: Document | undefined, change: CountsChange): EmailCountsDocument => {
  const { cell, emails, documents } = change;
  const counts = (document as CountsDraft | undefined) ?? emptyCounts(change);
  if (cell !== undefined) {
    counts.first = Math.min(counts.first, cell.at);
    counts.last = Math.max(counts.last, cell.at);
    if (cell.from !== undefined) add(counts.cells, cell.from, -1);
    if (cell.to !== undefined) add(counts.cells, cell.to, 1);
  }
  counts.emails += emails;
  counts.documents += documents;
  return counts;
};

const emptyCounts = ({ team, day, seq, position }: CountsChange): CountsDraft => ({
  id: countsId(team, day),
  seq,
  position,
  team,
  day,
  first: Number.MAX_SAFE_INTEGER,
  last: 0,
  cells: {},
  emails: 0,
  documents: 0,
});

/** A cell with a count of 0 is left out. */
const add = (cells: Record<string, number>, cell: string, by: number): void => {
  const sum = (cells[cell] ?? 0) + by;
  if (sum === 0) delete cells[cell];
  else cells[cell] = sum;
};

/** The document of an email that is no longer shown: later events change nothing. */
export const stubOf = ({ id, seq, position, owner, key, summary }: EmailDocument): EmailDocument => ({
  id,
  seq,
  position,
  owner,
  gone: 1,
  key,
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

type SearchedDraft = Draft<Pick<EmailDocument, 'text' | 'terms' | 'recipientTexts' | 'to' | 'toName'>>;

/** Filters find an email by this, beside its recipients and metadata. `actor`: who sent it. */
type FoundBy = Readonly<{ tags: readonly string[]; actor: string; batch: string | undefined }>;

export const setSearched = (email: SearchedDraft, envelope: EmailEnvelope, by: FoundBy): void => {
  email.text = emailText(envelope);
  setTerms(email, emailTerms(envelope, by));
  if (envelope.recipients.length > 1) email.recipientTexts = recipientTexts(envelope);
};

/** An empty list of terms is left out. */
const setTerms = (email: SearchedDraft, terms: readonly string[]): void => {
  if (terms.length > 0) email.terms = [...terms];
  else delete email.terms;
};

/** Removes erased recipients from the search fields, and the first one from the list. */
export const eraseRecipients = (email: SearchedDraft, erased: readonly number[]): void => {
  if (erased.includes(0)) {
    delete email.to;
    delete email.toName;
  }
  const { text, terms = [], recipientTexts: texts } = email;
  if (text === undefined || texts === undefined) return;
  const left = withoutRecipients({ text, terms, texts }, erased);
  email.text = left.text;
  email.recipientTexts = [...left.texts];
  setTerms(email, left.terms);
};

/** Removes the personal fields, and those that are no longer kept. */
export const removeErased = (
  email: Draft<EmailDocument>,
  by: 'EmailDeleted' | 'EmailArchived' | 'EmailRemoved',
): void => {
  delete email.subject;
  delete email.to;
  delete email.toName;
  delete email.text;
  delete email.terms;
  delete email.recipientTexts;
  delete email.attachmentBytes;
  delete email.tags;
  if (by !== 'EmailArchived') delete email.team;
};

/**
 * The text for searches: subject, addresses and names, folded, line by line. An internationalised domain has both its
 * forms.
 */
const emailText = ({ subject, recipients }: EmailEnvelope): string => {
  let text = foldForSearch(subject);
  for (const recipient of recipients) if (recipient !== null) text += `\n${linesOf(recipient)}`;
  return text;
};

/** The first line begins with the address in the form that terms have. */
const linesOf = ({ email, name }: Recipient): string => {
  const address = foldForSearch(email);
  const line = name === undefined ? address : `${address} ${foldForSearch(name)}`;
  const other = inOtherForm(email);
  return other === undefined ? line : `${line}\n${foldForSearch(other)}`;
};

const NOTHING: RecipientText = [0, 0];

const recipientTexts = ({ recipients }: EmailEnvelope): RecipientText[] =>
  recipients.map((recipient) =>
    recipient === null
      ? NOTHING
      : [inOtherForm(recipient.email) === undefined ? 1 : 2, foldForSearch(recipient.email).length],
  );

type Searched = Readonly<{ text: string; terms: readonly string[]; texts: readonly RecipientText[] }>;

/** The search fields without those recipients, as if they had never had an address. */
const withoutRecipients = ({ text, terms, texts }: Searched, erased: readonly number[]): Searched => {
  const [subject = '', ...lines] = text.split('\n');
  const before = new Set<string>();
  const kept = new Set<string>();
  const left = [subject];
  let from = 0;
  for (const [index, [count, addressChars]] of texts.entries()) {
    const own = lines.slice(from, (from += count));
    if (own[0] === undefined) continue;
    const term = recipientTerm(own[0].slice(0, addressChars));
    before.add(term);
    if (erased.includes(index)) continue;
    kept.add(term);
    left.push(...own);
  }
  return {
    text: left.join('\n'),
    terms: [...kept, ...terms.slice(before.size)],
    texts: texts.map((one, index) => (erased.includes(index) ? NOTHING : one)),
  };
};

/** The text with another subject. */
export const withSubject = (text: string, before: string, after: string): string =>
  foldForSearch(after) + text.slice(foldForSearch(before).length);

const ASCII = /^[\x00-\x7f]*$/;

/** The address with its domain converted between ASCII and Unicode; undefined if both are equal. */
const inOtherForm = (email: string): string | undefined => {
  const at = email.lastIndexOf('@') + 1;
  const domain = email.slice(at);
  const other = ASCII.test(domain)
    ? domain.includes('xn--')
      ? domainToUnicode(domain)
      : domain
    : domainToASCII(domain);
  return other === '' || other === domain ? undefined : email.slice(0, at) + other;
};

/**
 * Terms for exact filters: recipients, tags, the sender's domain, who sent it, its bulk send, and the first metadata
 * keys, alone and with their value if it is a scalar.
 */
const emailTerms = ({ from, recipients, metadata = {} }: EmailEnvelope, { tags, actor, batch }: FoundBy): string[] => {
  const terms = new Set<string>();
  for (const recipient of recipients) if (recipient !== null) terms.add(recipientTerm(recipient.email));
  for (const tag of tags) terms.add(tagTerm(tag));
  terms.add(senderDomainTerm(from.email.slice(from.email.lastIndexOf('@') + 1)));
  terms.add(actorTerm(actor));
  if (batch !== undefined) terms.add(batchTerm(batch));
  let keys = 0;
  for (const [key, value] of Object.entries(metadata)) {
    if (key.length > limits.metadataKeyFoundCharsMax) continue;
    if ((keys += 1) > limits.metadataKeysFoundMax) break;
    terms.add(metadataTerm(key));
    const text = typeof value === 'object' ? undefined : String(value);
    if (text !== undefined && text.length <= limits.metadataValueFoundCharsMax) terms.add(metadataTerm(key, text));
  }
  return [...terms];
};

/** In: an address in the form in which emails have it. Letter case does not count. */
export const recipientTerm = (address: string): string => `recipient:${foldForSearch(address)}`;
/** In: a domain as `parseDomain` gives it. */
export const senderDomainTerm = (domain: string): string => `from:${foldForSearch(domain)}`;
export const actorTerm = (actor: string): string => `by:${actor}`;
export const batchTerm = (id: string): string => `batch:${id}`;
export const tagTerm = (tag: string): string => `tag:${tag}`;
/** In: a result of `tagTerm`. */
export const tagOfTerm = (term: string): string => term.slice('tag:'.length);
/** As JSON, so that a key cannot run into its value. */
export const metadataTerm = (key: string, value?: string): string =>
  value === undefined ? `key:${JSON.stringify(key)}` : `value:${JSON.stringify([key, value])}`;

/** The status that all recipients of an email usually have while it has this one. */
const usual: Readonly<Record<EmailStatus, RecipientStatus>> = {
  queued: 'queued',
  scheduled: 'queued',
  processing: 'queued',
  sent: 'sent',
  delivered: 'delivered',
  failed: 'failed',
  bounced: 'bounced',
  complained: 'complained',
  cancelled: 'cancelled',
};

/** `mixed` is 1 if a recipient has another status than usual; `recipientStatuses` then has each status once. */
type RecipientStatuses = Readonly<{ mixed: 0 | 1; recipientStatuses?: string }>;

export const recipientStatusesOf = (status: EmailStatus, statuses: readonly RecipientStatus[]): RecipientStatuses =>
  statuses.every((one) => one === usual[status])
    ? { mixed: 0 }
    : { mixed: 1, recipientStatuses: recipientStatuses.filter((one) => statuses.includes(one)).join() };

/** Every set of statuses that contains this one. */
const setsWith = (status: RecipientStatus): readonly string[] =>
  Array.from({ length: 2 ** recipientStatuses.length }, (_, bits) =>
    recipientStatuses.filter((_status, at) => (bits & (1 << at)) !== 0),
  )
    .filter((set) => set.includes(status))
    .map((set) => set.join());

/** `statuses`: the email has one of them; default: any. */
type Narrowing = Readonly<{ statuses?: readonly EmailStatus[] | undefined; templateId?: string | undefined }>;

/**
 * The query for emails with a recipient of that status: emails whose own status implies it, and among the few mixed
 * ones those that list it. Each is found by an index; the further conditions are tested.
 */
export const withRecipientStatus = (
  wanted: RecipientStatus,
  { statuses, templateId }: Narrowing,
): NonNullable<Query['anyOf']> => {
  const usually = emailStatuses.filter((one) => usual[one] === wanted && statuses?.includes(one) !== false);
  const template = templateId === undefined ? {} : { templateId: { eq: templateId } };
  return [
    ...usually.map((one) => ({ status: { eq: one }, ...template, mixed: { in: [0] } })),
    {
      mixed: { eq: 1 },
      recipientStatuses: { in: setsWith(wanted) },
      ...(statuses === undefined ? {} : { status: { in: statuses } }),
      ...(templateId === undefined ? {} : { templateId: { in: [templateId] } }),
    },
  ];
};

/** The documents of emails and of their counts, as queries find them. */
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
import { backlogsOf, timersOf } from '../../domain/core/timers.js';

/* What of an email is searched: a text of its subject, addresses and names, and terms of what it is filtered by exactly. */

/** Folded, line by line. An international domain stands there in both its forms. */
const emailText = ({ subject, recipients }: EmailEnvelope): string => {
  let text = foldForSearch(subject);
  for (const recipient of recipients) if (recipient !== null) text += `\n${linesOf(recipient)}`;
  return text;
};

/** In the form in which terms have it, the address begins the first line. */
const linesOf = ({ email, name }: Recipient): string => {
  const address = foldForSearch(email);
  const line = name === undefined ? address : `${address} ${foldForSearch(name)}`;
  const other = inOtherForm(email);
  return other === undefined ? line : `${line}\n${foldForSearch(other)}`;
};

/** What of the text belongs to a recipient: how many lines, and how many characters of the first are the address. */
type RecipientText = readonly [lines: number, addressChars: number];

const NOTHING: RecipientText = [0, 0];

const recipientTexts = ({ recipients }: EmailEnvelope): RecipientText[] =>
  recipients.map((recipient) =>
    recipient === null ? NOTHING : [inOtherForm(recipient.email) === undefined ? 1 : 2, foldForSearch(recipient.email).length],
  );

type Searched = Readonly<{ text: string; terms: readonly string[]; texts: readonly RecipientText[] }>;

/** What is left of it without those recipients: what it would be if they had no address from the beginning. */
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

/** The same text where the email has another subject. */
export const withSubject = (text: string, before: string, after: string): string =>
  foldForSearch(after) + text.slice(foldForSearch(before).length);

const ASCII = /^[\x00-\x7f]*$/;

/** The address with its domain in Unicode where it is in ASCII, and the other way round; undefined where both are the same. */
const inOtherForm = (email: string): string | undefined => {
  const at = email.lastIndexOf('@') + 1;
  const domain = email.slice(at);
  const other = ASCII.test(domain) ? (domain.includes('xn--') ? domainToUnicode(domain) : domain) : domainToASCII(domain);
  return other === '' || other === domain ? undefined : email.slice(0, at) + other;
};

/** Of the metadata the first keys are found, each by itself and with its value where that is a text, a number or a truth value. */
const emailTerms = ({ recipients, metadata = {} }: EmailEnvelope, tags: readonly string[]): string[] => {
  const terms = new Set<string>();
  for (const recipient of recipients) if (recipient !== null) terms.add(recipientTerm(recipient.email));
  for (const tag of tags) terms.add(tagTerm(tag));
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
export const tagTerm = (tag: string): string => `tag:${tag}`;
/** In: what `tagTerm` has made. */
export const tagOfTerm = (term: string): string => term.slice('tag:'.length);
/** As JSON, which has no control characters; so a key never runs into its value. */
export const metadataTerm = (key: string, value?: string): string =>
  value === undefined ? `key:${JSON.stringify(key)}` : `value:${JSON.stringify([key, value])}`;

/* How the statuses of the recipients of an email are kept, so that lists filter by that of one of them. */

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

/** `mixed` is 1 where a recipient has another status than usual; then `recipientStatuses` has each that occurs, once. */
type RecipientStatuses = Readonly<{ mixed: 0 | 1; recipientStatuses?: string }>;

export const recipientStatusesOf = (status: EmailStatus, statuses: readonly RecipientStatus[]): RecipientStatuses =>
  statuses.every((one) => one === usual[status])
    ? { mixed: 0 }
    : { mixed: 1, recipientStatuses: recipientStatuses.filter((one) => statuses.includes(one)).join() };

/** Every set of statuses that has this one. */
const setsWith = (status: RecipientStatus): readonly string[] =>
  Array.from({ length: 2 ** recipientStatuses.length }, (_, bits) => recipientStatuses.filter((_status, at) => (bits & (1 << at)) !== 0))
    .filter((set) => set.includes(status))
    .map((set) => set.join());

type Narrowing = Readonly<{ status?: EmailStatus; templateId?: string }>;

/**
 * The emails of which a recipient has that status: those whose own status says so, and among the mixed ones, which are few, those that
 * name it. Each is found by its index, and what narrows them further is tested.
 */
export const withRecipientStatus = (wanted: RecipientStatus, { status, templateId }: Narrowing): NonNullable<Query['anyOf']> => {
  const usually = emailStatuses.filter((one) => usual[one] === wanted && (status === undefined || one === status));
  const template = templateId === undefined ? {} : { templateId: { eq: templateId } };
  return [
    ...usually.map((one) => ({ status: { eq: one }, ...template, mixed: { in: [0] } })),
    {
      mixed: { eq: 1 },
      recipientStatuses: { in: setsWith(wanted) },
      ...(status === undefined ? {} : { status: { in: [status] } }),
      ...(templateId === undefined ? {} : { templateId: { in: [templateId] } }),
    },
  ];
};

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

/* What is personal of the document of an email, from its acceptance until it is erased, as a whole or for some of its recipients. */

type SearchedDraft = Draft<Pick<EmailDocument, 'text' | 'terms' | 'recipientTexts'>>;

export const setSearched = (email: SearchedDraft, envelope: EmailEnvelope, tags: readonly string[]): void => {
  email.text = emailText(envelope);
  setTerms(email, emailTerms(envelope, tags));
  if (envelope.recipients.length > 1) email.recipientTexts = recipientTexts(envelope);
};

/** There is no empty list of terms. */
const setTerms = (email: SearchedDraft, terms: readonly string[]): void => {
  if (terms.length > 0) email.terms = [...terms];
  else delete email.terms;
};

/** They are found no more, and nothing of them is kept. */
export const eraseRecipients = (email: SearchedDraft, erased: readonly number[]): void => {
  const { text, terms = [], recipientTexts: texts } = email;
  if (text === undefined || texts === undefined) return;
  const left = withoutRecipients({ text, terms, texts }, erased);
  email.text = left.text;
  email.recipientTexts = [...left.texts];
  setTerms(email, left.terms);
};

/** Takes out what is personal, and what is not kept any more. */
export const removeErased = (email: Draft<EmailDocument>, by: 'EmailDeleted' | 'EmailArchived' | 'EmailRemoved'): void => {
  delete email.subject;
  delete email.text;
  delete email.terms;
  delete email.recipientTexts;
  delete email.attachmentBytes;
  delete email.tags;
  if (by !== 'EmailArchived') delete email.team;
};

/** What the events of one email add up to: where it stands, what was accepted, and what was tried. */
import type { EmailEngaged, EmailEvent, DeliveryOutcomeEvent, EmailAccepted, EmailContent } from './events.js';
import type { RecipientOutcome } from '../ports/mailer.js';
import {
  ATTACHMENT_DAMAGED,
  type BounceType,
  advanceSummary,
  beginSummary,
  isAllSuppressed,
  type Draft,
  type EmailProgress,
  type EmailSummary,
} from './status.js';

/* What a reader of an email did, as its events tell it. */

/** A recipient has asked for the picture, or for a link. */
export type Engagement = Readonly<{
  type: 'opened' | 'clicked';
  at: string;
  recipient: number;
  /** How often since the one before for the same thing. */
  times: number;
  /** By which rule no person did it; null where none says so. */
  machine: string | null;
  /** Its place among the tracked links of the mail; undefined for the picture. */
  link: number | undefined;
  /** null once the key is destroyed, as the two that follow. */
  url: string | null;
  userAgent: string | null;
  ipAddress: string | null;
}>;

const engagementOf = (event: EmailEngaged): Engagement => {
  const { at, recipient, times = 1, machine, rule } = event.data;
  const isClick = event.type === 'EmailClicked';
  return {
    type: isClick ? 'clicked' : 'opened',
    at,
    recipient,
    times,
    machine: machine ? (rule ?? '') : null,
    link: isClick ? event.data.link : undefined,
    url: isClick ? (event.sealed?.url ?? null) : null,
    userAgent: event.sealed?.userAgent ?? null,
    ipAddress: event.sealed?.ipAddress ?? null,
  };
};

/* What a host says to one recipient is kept without the addresses of the others, which would outlive their erasure, and without links that let somebody in. */

const OMITTED = '…';

/** A link, what it carries, or anything as long as that. */
const SECRETS = /(?:https?:\/\/|token=)\S+|[\w-]{43,}/gi;

/** `recipient`: to whom the text belongs, by the place in the email. */
export const withoutOthers = ({ accepted, content }: Pick<Email, 'accepted' | 'content'>, recipient: number, said: string): string => {
  // Filters of hosts name the link for which they refuse a mail.
  const text = accepted.confidential === true ? said.replaceAll(SECRETS, OMITTED) : said;
  if (content === undefined || content.recipients.length < 2 || !text.includes('@')) return text;
  const own = content.recipients[recipient]?.email.toLowerCase();
  let left = text;
  for (const other of content.recipients) {
    const address = other?.email.toLowerCase();
    if (address !== undefined && address !== own) left = left.replaceAll(quoted(address), OMITTED);
  }
  return left;
};

/** The address as it stands by itself, not as a part of a longer one. */
const quoted = (address: string): RegExp =>
  new RegExp(`(?<![\\w.+-])${address.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}(?![\\w-]|\\.\\w)`, 'gi');

/* Emails that leave as one copy for each recipient: what is known of copies while the attempt that sends them is under way. */

/** What became of one recipient, by its place in the email. */
export type PlacedOutcome = RecipientOutcome & Readonly<{ recipient: number; /** No host was asked. */ simulated?: true }>;

/** Whether what one recipient gets differs from what another gets. */
export const leavesAsCopies = ({ accepted }: Pick<Email, 'accepted'>): boolean =>
  accepted.unsubscribeList !== undefined || accepted.tracking !== undefined;

/** The recipients that still wait for a host to take the mail, by their place in the email. */
export const pendingRecipients = ({ recipientStatuses, copies }: Pick<Email, 'recipientStatuses' | 'copies'>): readonly number[] =>
  recipientStatuses.flatMap((status, index) =>
    status === 'queued' && copies?.some(({ recipient }) => recipient === index) !== true ? [index] : [],
  );

/** With the answers to copies that no event has said yet which ends an attempt, in the order of the recipients; these answers stand. */
export const withCopies = ({ copies }: Pick<Email, 'copies'>, outcomes: readonly PlacedOutcome[]): readonly PlacedOutcome[] => {
  if (copies === undefined) return outcomes;
  const others = outcomes.filter(({ recipient }) => !copies.some((copy) => copy.recipient === recipient));
  return [...copies, ...others].sort((one, other) => one.recipient - other.recipient);
};

type Answer = Readonly<{ attempt: number; at: string; host: string; durationMs: number; outcomes: readonly PlacedOutcome[] }>;

/** The data and the sealed part of an event that tells of outcomes. */
export const toldOutcomes = ({ attempt, at, host, durationMs, outcomes }: Answer, email: Pick<Email, 'accepted' | 'content'>) => ({
  data: {
    attempt,
    at,
    host,
    durationMs,
    outcomes: outcomes.map(({ recipient, result, replyCode, enhancedCode, rule, simulated }) => {
      const outcome = { recipient, result, replyCode, enhancedCode, rule };
      return simulated === undefined ? outcome : { ...outcome, simulated };
    }),
  },
  sealed: { replies: outcomes.map(({ recipient, text }) => withoutOthers(email, recipient, text)) },
});

/** A copy that is deferred is tried again in any case, so nothing is said of it before the attempt ends. */
export const answerCopy = (answer: Answer, email: Email): readonly EmailEvent[] => {
  const pending = pendingRecipients(email);
  const outcomes = answer.outcomes.filter(({ recipient, result }) => result !== 'deferred' && pending.includes(recipient));
  return outcomes.length === 0 ? [] : [{ type: 'CopyAnswered', ...toldOutcomes({ ...answer, outcomes }, email) }];
};

/** The copies that have an answer, after that event. */
const copiesAfter = (
  { copies = [] }: Pick<Email, 'copies'>,
  { data, sealed }: Extract<EmailEvent, { type: 'CopyAnswered' }>,
): readonly PlacedOutcome[] => [...copies, ...data.outcomes.map((outcome, index) => ({ ...outcome, text: sealed?.replies[index] ?? '' }))];

/* What is left of an email whose events have left the log: nothing can happen to it, and nobody is shown anything of it. */

const retiredEmail = (at: string): Email => ({
  status: 'cancelled',
  recipientStatuses: [],
  scheduledAt: null,
  nextAttemptAt: null,
  dialogueDeadlineAt: null,
  createdAt: at,
  updatedAt: at,
  queuedAt: null,
  processingAt: null,
  sentAt: null,
  deliveredAt: null,
  archivedAt: at,
  deletedAt: at,
  accepted: {
    at,
    messageId: '',
    templateId: '',
    templateName: '',
    templateRevision: 0,
    templateVersion: null,
    priority: 'normal',
    tags: [],
    roles: [],
    attachmentCount: 0,
    company: {},
  },
  content: undefined,
  replies: [],
  attempts: [],
  deferrals: 0,
  retries: [],
  failureReason: null,
});

/** The last reply for a recipient. */
export type RecipientReply = Readonly<{
  replyCode: number | null;
  enhancedCode: string | null;
  rule: string | null;
  reply: string | null;
  /** What a report has told of it later; absent where there was none. */
  bounceType?: BounceType;
  bounceSubType?: string;
  /** When the last report of it came, a bounce or a complaint. */
  reportedAt?: string;
  /** No host was asked. */
  simulated?: true;
}>;

type AttemptState = Readonly<{
  attempt: number;
  startedAt: string;
  host: string;
  worker: string;
  deadlineAt: string;
  /** null while the dialogue may be under way. */
  ended: Readonly<{
    at: string;
    /** null where the program did not live to see the end. */
    durationMs: number | null;
    outcome: 'sent' | 'deferred' | 'bounced' | 'failed' | 'interrupted';
    replyCode: number | null;
    reply: string | null;
    /** The recipient whose reply that is; absent where there is none. */
    replyOf?: number;
    nextAttemptAt: string | null;
  }> | null;
}>;

type RetryState = Readonly<{ retryCount: number; at: string; idempotencyKey: string | undefined; fingerprint: string | undefined }>;

type CancellationState = Readonly<{ at: string; idempotencyKey: string | undefined; fingerprint: string | undefined }>;

export type Email = EmailSummary &
  Readonly<{
    /** The data of the first event. */
    accepted: EmailAccepted['data'];
    /** undefined once the key is destroyed. */
    content: EmailContent | undefined;
    /** One for each recipient, in the order of the accepted roles. */
    replies: readonly RecipientReply[];
    attempts: readonly AttemptState[];
    /** Deferred attempts since acceptance or the last retry, without those that found the host away and those that were pushed by hand. */
    deferrals: number;
    retries: readonly RetryState[];
    failureReason: string | null;
    cancellation?: CancellationState;
    /** Until when its temporary attachments are kept, where it was given another time. */
    temporaryUntil?: string;
    /** When its next attempt was due before it was pushed by hand; there until that attempt has ended. */
    pushedFrom?: string;
    /** Answers to copies that no event has said yet which ends an attempt; absent for none. */
    copies?: readonly PlacedOutcome[];
    /** The recipients whose addresses were given to the suppression list; absent for none. */
    bouncesNoted?: readonly number[];
    /** What the first who complained called it. */
    feedbackType?: string;
    /** What its readers did, the oldest first; absent for nothing. */
    engagements?: readonly Engagement[];
  }>;

/** undefined: no event yet. */
export type EmailState = Email | undefined;

/** The attempt whose dialogue may be under way. */
export const openAttempt = (email: Email): AttemptState | undefined => {
  const last = email.attempts.at(-1);
  return last !== undefined && last.ended === null ? last : undefined;
};

/** The same, of an email that says so itself: another status means that the attempt has ended in whatever way. */
export const attemptUnderWay = (email: Email): AttemptState | undefined => (email.status === 'processing' ? openAttempt(email) : undefined);

/** Pure and total: events that need a first one are ignored where there is none. */
export const evolveEmail = (state: EmailState, event: EmailEvent): EmailState => {
  if (event.type === 'EmailQueued' || event.type === 'EmailScheduled') return begin(event);
  if (event.type === 'EmailSummarised' || event.type === 'EmailRetired') return state ?? retiredEmail(event.data.at);
  if (state === undefined) return undefined;
  const next: Draft<Email> = { ...state };
  return advanceDetails(advanceSummary(next, event), event);
};

const begin = (event: EmailAccepted): Email =>
  Object.assign(beginSummary(event), {
    accepted: event.data,
    content: event.sealed,
    replies: event.data.roles.map(() => ({ replyCode: null, enhancedCode: null, rule: null, reply: null })),
    attempts: [],
    deferrals: 0,
    retries: [],
    failureReason: null,
  });

/** The fields beside the summary that an event changes, in a copy that the caller owns. */
const advanceDetails = (email: Draft<Email>, event: EmailProgress): Email => {
  switch (event.type) {
    case 'DeliveryAttempted':
      email.attempts = attempted(email, event.data);
      return email;
    case 'CopyAnswered':
      email.copies = copiesAfter(email, event);
      return email;
    case 'EmailSent':
      return endAttempt(email, event, 'sent');
    case 'EmailDeferred':
      if (event.data.heldUntil === undefined && event.data.nextAttemptAt !== email.pushedFrom) email.deferrals += 1;
      return endAttempt(email, event, 'deferred');
    case 'EmailBounced':
      email.failureReason = 'bounced';
      return endAttempt(email, event, 'bounced');
    case 'EmailFailed':
      email.failureReason = event.data.outcomes.some(({ rule }) => rule === ATTACHMENT_DAMAGED) ? ATTACHMENT_DAMAGED : event.data.reason;
      return endAttempt(email, event, 'failed');
    case 'EmailRetried': {
      const { retryCount, at, idempotencyKey, fingerprint } = event.data;
      email.deferrals = 0;
      email.failureReason = null;
      email.retries = [...email.retries, { retryCount, at, idempotencyKey, fingerprint }];
      return email;
    }
    case 'EmailArchived':
      return dropPersonal(email);
    case 'EmailReleased':
      if (event.data.pushedFrom !== undefined) email.pushedFrom = event.data.pushedFrom;
      return email;
    case 'EmailRescheduled':
      return reschedule(email, event);
    case 'EmailCancelled': {
      const { at, idempotencyKey, fingerprint } = event.data;
      email.cancellation = { at, idempotencyKey, fingerprint };
      return email;
    }
    case 'RecipientsSuppressed':
      return suppress(email, event.data.at);
    case 'RecipientsErased':
      return eraseRecipients(email, event.data.recipients);
    case 'EmailBouncesNoted':
      email.bouncesNoted = [...(email.bouncesNoted ?? []), ...event.data.recipients];
      return email;
    case 'EmailBounceReported':
      return reportBounces(email, event);
    case 'EmailComplained':
      return complain(email, event);
    case 'EmailOpened':
    case 'EmailClicked':
      email.engagements = [...(email.engagements ?? []), engagementOf(event)];
      return email;
    case 'EmailDelivered':
    case 'EmailDeleted':
    case 'EmailRemoved':
      return email;
  }
};

/** The report says more than the reply of the host that had taken the mail. */
const reportBounces = (email: Draft<Email>, { data, sealed }: Extract<EmailEvent, { type: 'EmailBounceReported' }>): Email => {
  const replies = [...email.replies];
  data.bounces.forEach(({ recipient, bounceType, bounceSubType, enhancedCode }, index) => {
    const before = replies[recipient];
    if (before === undefined) return;
    const reply = sealed?.replies[index] ?? null;
    const after = { replyCode: null, enhancedCode, rule: bounceSubType, reply, bounceType, bounceSubType, reportedAt: data.at };
    replies[recipient] = before.simulated === undefined ? after : { ...after, simulated: before.simulated };
  });
  email.replies = replies;
  if (email.status === 'bounced') email.failureReason = 'bounced';
  if (email.status === 'failed') email.failureReason ??= 'refused';
  return email;
};

const complain = (email: Draft<Email>, { data }: Extract<EmailEvent, { type: 'EmailComplained' }>): Email => {
  email.feedbackType ??= data.feedbackType;
  email.replies = email.replies.map((reply, index) => (data.recipients.includes(index) ? { ...reply, reportedAt: data.at } : reply));
  return email;
};

const reschedule = (email: Draft<Email>, { data, sealed }: Extract<EmailEvent, { type: 'EmailRescheduled' }>): Email => {
  if (data.temporaryUntil !== undefined) email.temporaryUntil = data.temporaryUntil;
  if (email.content !== undefined && sealed !== undefined) email.content = { ...email.content, subject: sealed.subject };
  return email;
};

/** Where it has ended by that, a dialogue of before that did not is not gone on with. */
const suppress = (email: Draft<Email>, at: string): Email => {
  const { status, recipientStatuses } = email;
  if (recipientStatuses.includes('queued')) return email;
  email.attempts = cutOff(email, at);
  if (status === 'bounced') email.failureReason = 'bounced';
  if (status === 'failed') email.failureReason = isAllSuppressed(recipientStatuses) ? 'suppressed' : 'refused';
  return email;
};

const attempted = (email: Email, data: Extract<EmailEvent, { type: 'DeliveryAttempted' }>['data']): readonly AttemptState[] => {
  const { attempt, at, host, worker, deadlineAt } = data;
  return [...cutOff(email, at), { attempt, startedAt: at, host, worker, deadlineAt, ended: null }];
};

const cutOff = ({ attempts }: Email, at: string): readonly AttemptState[] => {
  const ended = { at, durationMs: null, outcome: 'interrupted' as const, replyCode: null, reply: null, nextAttemptAt: null };
  return attempts.map((earlier) => (earlier.ended === null ? { ...earlier, ended } : earlier));
};

const endAttempt = (email: Draft<Email>, event: DeliveryOutcomeEvent, outcome: 'sent' | 'deferred' | 'bounced' | 'failed'): Email => {
  const { attempt: number, at, durationMs, outcomes } = event.data;
  const replies = [...email.replies];
  outcomes.forEach(({ recipient, replyCode, enhancedCode, rule, simulated }, index) => {
    if (replies[recipient] === undefined) return;
    const reply = { replyCode, enhancedCode, rule, reply: event.sealed?.replies[index] ?? null };
    replies[recipient] = simulated === undefined ? reply : { ...reply, simulated };
  });
  // Of several replies the attempt shows the first that was not good.
  const shown = Math.max(
    0,
    outcomes.findIndex(({ result }) => result !== 'accepted'),
  );
  const ended = {
    at,
    durationMs,
    outcome,
    replyCode: outcomes[shown]?.replyCode ?? null,
    reply: event.sealed?.replies[shown] ?? null,
    ...(outcomes[shown] === undefined ? {} : { replyOf: outcomes[shown].recipient }),
    nextAttemptAt: event.type === 'EmailDeferred' ? event.data.nextAttemptAt : null,
  };
  delete email.pushedFrom;
  delete email.copies;
  email.replies = replies;
  email.attempts = email.attempts.map((attempt) => (attempt.attempt === number ? { ...attempt, ended } : attempt));
  return email;
};

/** What an archived email keeps is the same whether its key was there during the fold or not. */
const dropPersonal = (email: Draft<Email>): Email => {
  email.content = undefined;
  return dropOf(email, () => true);
};

/** The same of these recipients alone. Where nobody waits any more for that, the email has ended. */
const eraseRecipients = (email: Draft<Email>, recipients: readonly number[]): Email => {
  const isOne = (recipient: number): boolean => recipients.includes(recipient);
  if (email.content !== undefined) {
    const kept = email.content.recipients.map((recipient, index) => (isOne(index) ? null : recipient));
    email.content = { ...email.content, recipients: kept };
  }
  email.failureReason ??= reasonOf(email);
  return dropOf(email, isOne);
};

/** Why it has failed that has ended because those who still waited are erased. */
const reasonOf = ({ status }: Email): string | null => (status === 'failed' ? 'refused' : status === 'bounced' ? 'bounced' : null);

const dropOf = (email: Draft<Email>, isOne: (recipient: number) => boolean): Email => {
  if (email.engagements !== undefined)
    email.engagements = email.engagements.map((engagement) =>
      isOne(engagement.recipient) ? { ...engagement, url: null, userAgent: null, ipAddress: null } : engagement,
    );
  email.replies = email.replies.map((reply, index) => (isOne(index) ? { ...reply, reply: null } : reply));
  if (email.copies !== undefined) email.copies = email.copies.map((copy) => (isOne(copy.recipient) ? { ...copy, text: '' } : copy));
  email.attempts = email.attempts.map((attempt) => {
    const { ended } = attempt;
    return ended?.replyOf === undefined || !isOne(ended.replyOf) ? attempt : { ...attempt, ended: { ...ended, reply: null } };
  });
  return email;
};

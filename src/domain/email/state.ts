/**
 * The state of one email, folded from its events: its summary, the accepted content, attempts, replies, copies, opens
 * and clicks.
 */
import type { EmailEngaged, EmailEvent, DeliveryOutcomeEvent, EmailAccepted, EmailContent } from './events.js';
import type { Recipient } from '../mime/address.js';
import type { RecipientOutcome } from '../ports/mailer.js';
import {
  type BounceType,
  advanceSummary,
  beginSummary,
  failureReasonAfter,
  type Draft,
  type EmailProgress,
  type EmailSummary,
  type RecipientRole,
} from './status.js';

/** A recipient opened the email, or followed a link. */
export type Engagement = Readonly<{
  type: 'opened' | 'clicked';
  at: string;
  recipient: number;
  /** Requests since the event before for the same pixel or link. */
  times: number;
  /** The rule by which a machine did it; null: a person. */
  machine: string | null;
  /** The place among the tracked links of the mail; undefined for an open. */
  link: number | undefined;
  /** `url`, `userAgent` and `ipAddress` are null once the key is destroyed. */
  url: string | null;
  userAgent: string | null;
  ipAddress: string | null;
}>;

/** The last reply for a recipient. */
export type RecipientReply = Readonly<{
  replyCode: number | null;
  enhancedCode: string | null;
  rule: string | null;
  reply: string | null;
  /** From a later report; absent if there was none. */
  bounceType?: BounceType;
  bounceSubType?: string;
  /** The time of the last report, a bounce or a complaint. */
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
  /** Absent: the one relay that is set by its URL alone, or none. */
  relay?: string;
  /** null while the dialogue may be under way. */
  ended: Readonly<{
    at: string;
    /** null if the program died during the attempt. */
    durationMs: number | null;
    outcome: 'sent' | 'deferred' | 'bounced' | 'failed' | 'interrupted';
    replyCode: number | null;
    reply: string | null;
    /** The recipient of that reply; absent: there is none. */
    replyOf?: number;
    nextAttemptAt: string | null;
    /** The relay failed before it got any content, so another was tried at once. */
    failedOver?: true;
    /** The relay got content and answered nothing for it. */
    mayHaveIt?: true;
  }> | null;
}>;

type RetryState = Readonly<{
  retryCount: number;
  at: string;
  idempotencyKey: string | undefined;
  fingerprint: string | undefined;
}>;

type CancellationState = Readonly<{ at: string; idempotencyKey: string | undefined; fingerprint: string | undefined }>;

/** The result for one recipient, by its place in the email. */
export type PlacedOutcome = RecipientOutcome &
  Readonly<{ recipient: number; /** No host was asked. */ simulated?: true }>;

export type Email = EmailSummary &
  Readonly<{
    /** The data of the first event. */
    accepted: EmailAccepted['data'];
    /** undefined once the key is destroyed. */
    content: EmailContent | undefined;
    /** One for each recipient, in the order of the accepted roles. */
    replies: readonly RecipientReply[];
    attempts: readonly AttemptState[];
    /**
     * Deferred attempts since acceptance or the last retry, not counting those that found the host unavailable or were
     * pushed by hand.
     */
    deferrals: number;
    retries: readonly RetryState[];
    failureReason: string | null;
    cancellation?: CancellationState;
    /** Until when its temporary attachments are kept, if it was rescheduled. */
    temporaryUntil?: string;
    /** When its next attempt was due before it was pushed by hand; removed when that attempt ends. */
    pushedFrom?: string;
    /**
     * Since when it waits for the host, and until when it would wait if the service ran all the time. Present while
     * `heldUntil` is.
     */
    held?: Readonly<{ since: string; until: string }>;
    /** Answers to copies, recorded by CopyAnswered while the attempt is under way; absent for none. */
    copies?: readonly PlacedOutcome[];
    /** The recipients whose addresses were put on the suppression list; absent for none. */
    bouncesNoted?: readonly number[];
    /** The feedback type of the first complaint. */
    feedbackType?: string;
    /** HMACs of the events of a provider that were recorded; absent for none. */
    toldBy?: readonly string[];
    /** How many events of a provider are kept that were not understood; absent for none. */
    eventsKept?: number;
    /** Opens and clicks, oldest first; absent for none. */
    engagements?: readonly Engagement[];
  }>;

/** undefined: no event yet. */
export type EmailState = Email | undefined;

/** Pure and total: events without a first one are ignored. */
export const evolveEmail = (state: EmailState, event: EmailEvent): EmailState => {
  if (event.type === 'EmailQueued' || event.type === 'EmailScheduled') return begin(event);
  if (state === undefined) return undefined;
  const next: Draft<Email> = { ...state };
  return noteHold(advanceDetails(advanceSummary(next, event), event), event.data.at);
};

const noteHold = (email: Draft<Email>, at: string): Email => {
  if (email.heldUntil !== undefined) email.held ??= { since: at, until: email.heldUntil };
  else if (email.held !== undefined) delete email.held;
  return email;
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

/** Applies an event to the fields beside the summary, in a copy that the caller owns. */
const advanceDetails = (email: Draft<Email>, event: EmailProgress): Email => {
  email.failureReason = failureReasonAfter(email.failureReason, event, email);
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
      if (usesAttempt(event.data, email)) email.deferrals += 1;
      return endAttempt(email, event, 'deferred');
    case 'EmailBounced':
      return endAttempt(email, event, 'bounced');
    case 'EmailFailed':
      return endAttempt(email, event, 'failed');
    case 'EmailRetried': {
      const { retryCount, at, idempotencyKey, fingerprint } = event.data;
      email.deferrals = 0;
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
      return reportBounces(noteTold(email, event.data), event);
    case 'EmailComplained':
      return complain(noteTold(email, event.data), event);
    case 'EmailDelivered':
      return noteTold(email, event.data);
    case 'ProviderEventKept':
      email.eventsKept = (email.eventsKept ?? 0) + 1;
      return noteTold(email, event.data);
    case 'EmailOpened':
    case 'EmailClicked':
      email.engagements = [...(email.engagements ?? []), engagementOf(event)];
      return email;
    case 'EmailDeleted':
    case 'EmailRemoved':
      return email;
  }
};

const noteTold = (email: Draft<Email>, { toldBy }: Readonly<{ toldBy?: string }>): Draft<Email> => {
  if (toldBy !== undefined) email.toldBy = [...(email.toldBy ?? []), toldBy];
  return email;
};

/** A report replaces the reply of the host that took the mail. */
const reportBounces = (
  email: Draft<Email>,
  { data, sealed }: Extract<EmailEvent, { type: 'EmailBounceReported' }>,
): Email => {
  const replies = [...email.replies];
  data.bounces.forEach(({ recipient, bounceType, bounceSubType, enhancedCode }, index) => {
    const before = replies[recipient];
    if (before === undefined) return;
    const reply = sealed?.replies[index] ?? null;
    const after = {
      replyCode: null,
      enhancedCode,
      rule: bounceSubType,
      reply,
      bounceType,
      bounceSubType,
      reportedAt: data.at,
    };
    replies[recipient] = before.simulated === undefined ? after : { ...after, simulated: before.simulated };
  });
  email.replies = replies;
  return email;
};

const complain = (email: Draft<Email>, { data }: Extract<EmailEvent, { type: 'EmailComplained' }>): Email => {
  email.feedbackType ??= data.feedbackType;
  email.replies = email.replies.map((reply, index) =>
    data.recipients.includes(index) ? { ...reply, reportedAt: data.at } : reply,
  );
  return email;
};

const reschedule = (
  email: Draft<Email>,
  { data, sealed }: Extract<EmailEvent, { type: 'EmailRescheduled' }>,
): Email => {
  if (data.temporaryUntil !== undefined) email.temporaryUntil = data.temporaryUntil;
  if (email.content !== undefined && sealed !== undefined)
    email.content = { ...email.content, subject: sealed.subject };
  return email;
};

/** If the email ends with the suppression, an attempt without outcome counts as interrupted. */
const suppress = (email: Draft<Email>, at: string): Email => {
  if (email.recipientStatuses.includes('queued')) return email;
  email.attempts = cutOff(email, at);
  return email;
};

const attempted = (
  email: Email,
  data: Extract<EmailEvent, { type: 'DeliveryAttempted' }>['data'],
): readonly AttemptState[] => {
  const { attempt, at, host, worker, deadlineAt, relay } = data;
  const begun = { attempt, startedAt: at, host, worker, deadlineAt, ended: null };
  return [...cutOff(email, at), relay === undefined ? begun : { ...begun, relay }];
};

const cutOff = ({ attempts }: Email, at: string): readonly AttemptState[] => {
  const ended = {
    at,
    durationMs: null,
    outcome: 'interrupted' as const,
    replyCode: null,
    reply: null,
    nextAttemptAt: null,
  };
  return attempts.map((earlier) => (earlier.ended === null ? { ...earlier, ended } : earlier));
};

/** Whether a deferral counts as one of the attempts of the schedule. */
const usesAttempt = (
  { heldUntil, failedOver, nextAttemptAt }: Extract<EmailEvent, { type: 'EmailDeferred' }>['data'],
  { pushedFrom }: Pick<Email, 'pushedFrom'>,
): boolean => heldUntil === undefined && failedOver === undefined && nextAttemptAt !== pushedFrom;

const endAttempt = (
  email: Draft<Email>,
  event: DeliveryOutcomeEvent,
  outcome: 'sent' | 'deferred' | 'bounced' | 'failed',
): Email => {
  const { attempt: number, at, durationMs, outcomes } = event.data;
  const replies = [...email.replies];
  outcomes.forEach(({ recipient, replyCode, enhancedCode, rule, simulated }, index) => {
    if (replies[recipient] === undefined) return;
    const reply = { replyCode, enhancedCode, rule, reply: event.sealed?.replies[index] ?? null };
    replies[recipient] = simulated === undefined ? reply : { ...reply, simulated };
  });
  // The attempt shows the first reply that was not `accepted`, or else the first.
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
    ...(event.type === 'EmailDeferred' && event.data.failedOver === true ? { failedOver: true as const } : {}),
    ...(event.type === 'EmailDeferred' && event.data.mayHaveIt === true ? { mayHaveIt: true as const } : {}),
  };
  if (!('failedOver' in ended)) delete email.pushedFrom;
  delete email.copies;
  email.replies = replies;
  email.attempts = email.attempts.map((attempt) => (attempt.attempt === number ? { ...attempt, ended } : attempt));
  return email;
};

/** Drops personal data, so that an archived email folds to the same state with its key and without. */
const dropPersonal = (email: Draft<Email>): Email => {
  email.content = undefined;
  return dropOf(email, () => true);
};

/** Drops the personal data of these recipients. If no recipient waits any more, the email has ended. */
const eraseRecipients = (email: Draft<Email>, recipients: readonly number[]): Email => {
  const isOne = (recipient: number): boolean => recipients.includes(recipient);
  if (email.content !== undefined) {
    const kept = email.content.recipients.map((recipient, index) => (isOne(index) ? null : recipient));
    email.content = { ...email.content, recipients: kept };
  }
  return dropOf(email, isOne);
};

const dropOf = (email: Draft<Email>, isOne: (recipient: number) => boolean): Email => {
  if (email.engagements !== undefined)
    email.engagements = email.engagements.map((engagement) =>
      isOne(engagement.recipient) ? { ...engagement, url: null, userAgent: null, ipAddress: null } : engagement,
    );
  email.replies = email.replies.map((reply, index) => (isOne(index) ? { ...reply, reply: null } : reply));
  if (email.copies !== undefined)
    email.copies = email.copies.map((copy) => (isOne(copy.recipient) ? { ...copy, text: '' } : copy));
  email.attempts = email.attempts.map((attempt) => {
    const { ended } = attempt;
    return ended?.replyOf === undefined || !isOne(ended.replyOf)
      ? attempt
      : { ...attempt, ended: { ...ended, reply: null } };
  });
  return email;
};

/** The attempt whose dialogue may be under way. */
export const openAttempt = (email: Email): AttemptState | undefined => {
  const last = email.attempts.at(-1);
  return last !== undefined && last.ended === null ? last : undefined;
};

/** The open attempt of an email with status `processing`; with any other status the attempt has ended in some way. */
export const attemptUnderWay = (email: Email): AttemptState | undefined =>
  email.status === 'processing' ? openAttempt(email) : undefined;

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

/** The recipients that a field of the mail names, in the order of the call; those erased are missing. */
export const addressedIn = (
  { accepted, content }: Pick<Email, 'accepted' | 'content'>,
  role: RecipientRole,
): readonly Recipient[] => {
  const named: Recipient[] = [];
  const repeated: Readonly<{ place: number; recipient: Recipient }>[] = [];
  content?.recipients.forEach((one, index) => {
    if (one === null) return;
    const { also, written: _, ...recipient } = one;
    if (accepted.roles[index] === role) named.push(recipient);
    for (const { role: other, place, ...again } of also ?? [])
      if (other === role) repeated.push({ place, recipient: again });
  });
  // By rising place, so that all before it in the field are already there.
  for (const { place, recipient } of repeated.sort((one, other) => one.place - other.place))
    named.splice(place, 0, recipient);
  return named;
};

const OMITTED = '…';

/** Links, tokens, and words as long as a token. */
const SECRETS = /(?:https?:\/\/|token=)\S+|[\w-]{43,}/gi;

/**
 * A host's reply about one recipient, without the addresses of the others (they would outlive their erasure) and
 * without secret links.
 */
export const withoutOthers = (
  { accepted, content }: Pick<Email, 'accepted' | 'content'>,
  recipient: number,
  said: string,
): string => {
  // Spam filters quote the link for which they refuse a mail.
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

/** Matches the address as a whole, not as a part of a longer one. */
const quoted = (address: string): RegExp =>
  new RegExp(`(?<![\\w.+-])${address.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}(?![\\w-]|\\.\\w)`, 'gi');

/** The Message-ID that recipients see: that of a message that came by SMTP, as long as it can be read, or our own. */
export const messageIdOf = ({ data, sealed }: EmailAccepted): string => sealed?.message?.messageId ?? data.messageId;

/** Whether each recipient gets a separate copy, because its links differ. */
export const leavesAsCopies = ({ accepted }: Pick<Email, 'accepted'>): boolean =>
  accepted.unsubscribeList !== undefined || accepted.tracking !== undefined;

/**
 * The recipients who wait for an attempt, by their place in the email; a copy with a recorded answer no longer waits.
 */
export const pendingRecipients = ({
  recipientStatuses,
  copies,
}: Pick<Email, 'recipientStatuses' | 'copies'>): readonly number[] =>
  recipientStatuses.flatMap((status, index) =>
    status === 'queued' && copies?.some(({ recipient }) => recipient === index) !== true ? [index] : [],
  );

/** Adds the recorded answers to copies, which win over `outcomes`; in the order of the recipients. */
export const withCopies = (
  { copies }: Pick<Email, 'copies'>,
  outcomes: readonly PlacedOutcome[],
): readonly PlacedOutcome[] => {
  if (copies === undefined) return outcomes;
  const others = outcomes.filter(({ recipient }) => !copies.some((copy) => copy.recipient === recipient));
  return [...copies, ...others].sort((one, other) => one.recipient - other.recipient);
};

type Answer = Readonly<{
  attempt: number;
  at: string;
  host: string;
  relay?: string;
  durationMs: number;
  outcomes: readonly PlacedOutcome[];
}>;

/** The data and the sealed part of an event with outcomes. */
export const toldOutcomes = (
  { attempt, at, host, relay, durationMs, outcomes }: Answer,
  email: Pick<Email, 'accepted' | 'content'>,
) => ({
  data: {
    attempt,
    at,
    host,
    ...(relay === undefined ? {} : { relay }),
    durationMs,
    outcomes: outcomes.map(({ recipient, result, replyCode, enhancedCode, rule, simulated }) => {
      const outcome = { recipient, result, replyCode, enhancedCode, rule };
      return simulated === undefined ? outcome : { ...outcome, simulated };
    }),
  },
  sealed: { replies: outcomes.map(({ recipient, text }) => withoutOthers(email, recipient, text)) },
});

/** Deferred copies are not recorded before the attempt ends: they are tried again in any case. */
export const answerCopy = (answer: Answer, email: Email): readonly EmailEvent[] => {
  const pending = pendingRecipients(email);
  const outcomes = answer.outcomes.filter(
    ({ recipient, result }) => result !== 'deferred' && pending.includes(recipient),
  );
  return outcomes.length === 0 ? [] : [{ type: 'CopyAnswered', ...toldOutcomes({ ...answer, outcomes }, email) }];
};

/** The recorded answers to copies after that event. */
const copiesAfter = (
  { copies = [] }: Pick<Email, 'copies'>,
  { data, sealed }: Extract<EmailEvent, { type: 'CopyAnswered' }>,
): readonly PlacedOutcome[] => [
  ...copies,
  ...data.outcomes.map((outcome, index) => ({ ...outcome, text: sealed?.replies[index] ?? '' })),
];

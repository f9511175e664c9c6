/**
 * The decider of an email: acceptance, attempts and outcomes, reports, and what callers ask (reschedule, cancel, retry,
 * delete, erase).
 */
import { DomainError } from '../core/errors.js';
import type { EmailEvent, EmailAccepted, EmailContent } from './events.js';
import {
  type Email,
  evolveEmail,
  answerCopy,
  pendingRecipients,
  toldOutcomes,
  withCopies,
  type PlacedOutcome,
  attemptUnderWay,
  openAttempt,
  type EmailState,
} from './state.js';
import { hasIt, isErased, isWaiting, type ATTACHMENT_DAMAGED } from './status.js';
import type { Decider } from '../core/decider.js';
import type { RecipientOutcome } from '../ports/mailer.js';
import { isoTime } from '../core/time.js';
import { recordEngagement, type EngagementCommand } from './engagement.js';
import {
  keepProviderEvent,
  noteBounces,
  recordComplaint,
  recordReport,
  type ReportCommand,
  suppressRecipients,
} from './feedback.js';
import { simulatedReports } from './simulator.js';
import { mayBeArchived, mayBeRemoved } from './timers.js';

/** The pause after the first, second, … deferred attempt; after the last one the email fails. */
export type RetrySchedule = Readonly<{ delaysMs: readonly number[] }>;

export type EmailCommand =
  | Readonly<{
      type: 'AcceptEmail';
      accepted: EmailAccepted['data'];
      scheduledAt: string | undefined;
      content: EmailContent;
    }>
  /** `subject`: rendered for that time. `temporaryUntil`: until when that time needs the temporary attachments. */
  | Readonly<{ type: 'RescheduleEmail'; at: string; scheduledAt: string; subject: string; temporaryUntil: string }>
  | Readonly<{ type: 'ReleaseEmail'; at: string }>
  /** The email cannot be rendered; no attempt was made. */
  | Readonly<{ type: 'RefuseEmail'; at: string; text: string }>
  /**
   * The bulk send was cancelled at `cancelledAt`, or the team deleted: an email that was not sent yet is cancelled.
   * `endsBrokenOff`: an attempt with unknown outcome is not repeated either.
   */
  | Readonly<{ type: 'WithdrawEmail'; at: string; cancelledAt: string; endsBrokenOff?: true }>
  | Readonly<{
      type: 'AttemptDelivery';
      at: string;
      host: string;
      worker: string;
      deadlineAt: string;
      /** The worker of the attempt under way has ended without an outcome. */
      workerGone: boolean;
      /** Present if relays have names. */
      relay?: string;
      passedRelays?: readonly PassedRelay[];
    }>
  | Readonly<{
      type: 'RecordOutcome';
      attempt: number;
      at: string;
      host: string;
      relay?: string;
      durationMs: number;
      /** The attempted recipients, by their place in the email, with their results. */
      outcomes: readonly PlacedOutcome[];
      /** The host is the final one: accepted is delivered. */
      final: boolean;
      schedule: RetrySchedule;
      /** Present if the host took no session: how long the mail may wait for it. */
      waitForHostMs?: number;
      /** For how long, since the mail waits for the host, nobody tried: that time does not count. */
      unwatchedMs?: number;
      /** The relay failed before it got any content: the next relay is tried at once. */
      failedOver?: true;
      /** The relay got content and answered nothing for it. */
      mayHaveIt?: true;
      /** If the mail waits for its relays: when it is tried at the earliest. */
      waitsUntil?: string;
    }>
  /** Some copies of an attempt have their answer, and others are still to be sent. */
  | Readonly<{
      type: 'RecordCopy';
      attempt: number;
      at: string;
      host: string;
      relay?: string;
      durationMs: number;
      outcomes: readonly PlacedOutcome[];
    }>
  /**
   * Instead of an attempt, while the host takes no sessions; `fault`: the reason, if this mail has found it out.
   * `unwatchedMs`: as in `RecordOutcome`. `waitsUntil`: no relay of the mail takes more before that moment.
   */
  | Readonly<{
      type: 'HoldEmail';
      at: string;
      host: string;
      relay?: string;
      waitsUntil?: string;
      waitForHostMs: number;
      unwatchedMs?: number;
      fault?: RecipientOutcome;
    }>
  | Readonly<{
      type: 'GiveUp';
      attempt: number;
      at: string;
      reason: 'rendering' | 'content-lost';
      rule?: typeof ATTACHMENT_DAMAGED;
      text: string;
    }>
  /** The content cannot be read any more, and an operator gives it up. */
  | Readonly<{ type: 'LoseContent'; at: string; text: string }>
  | ReportCommand
  | Readonly<{ type: 'RetryEmail'; at: string; idempotencyKey: string | undefined; fingerprint: string | undefined }>
  /** These recipients, by their place in the email, are suppressed. `final`: as in `RecordOutcome`. */
  | Readonly<{ type: 'SuppressRecipients'; at: string; recipients: readonly number[]; final?: boolean }>
  /** These recipients are now on the suppression list. */
  | Readonly<{ type: 'NoteBounces'; at: string; recipients: readonly number[] }>
  /** A recipient opened the email, or followed a link. */
  | EngagementCommand
  /** By hand: an email that waits for its next attempt, or for the host, is due now. */
  | Readonly<{ type: 'PushEmail'; at: string }>
  | Readonly<{ type: 'CancelEmail'; at: string; idempotencyKey: string | undefined; fingerprint: string | undefined }>
  | Readonly<{ type: 'DeleteEmail'; at: string }>
  /**
   * Personal data is destroyed before its time; an email that was not sent yet is cancelled. Does nothing while a
   * dialogue is under way.
   */
  | Readonly<{ type: 'EraseEmail'; at: string }>
  /** Erases these recipients only, by their place in the email. */
  | Readonly<{ type: 'EraseRecipients'; at: string; recipients: readonly number[] }>
  | Readonly<{ type: 'ArchiveEmail'; at: string; retentionMs: number }>
  /** The rest of an archived email is no longer kept. */
  | Readonly<{ type: 'RemoveEmail'; at: string; archiveMs: number }>;

/** A relay that got no attempt, and the rule why. */
export type PassedRelay = Readonly<{ relay: string; rule: string; replyCode?: number | null }>;

/** An attempt during which the program died is repeated this often; then the mail itself is taken for the cause. */
const INTERRUPTIONS_MAX = 10;

const none: readonly EmailEvent[] = [];

export const emailNotFound = (): DomainError =>
  new DomainError('EMAIL_NOT_FOUND', 'There is no email with this id. Ids are answered by POST /api/emails/send.');

type CommandOf<Type extends EmailCommand['type']> = Extract<EmailCommand, { type: Type }>;

const decide = (command: EmailCommand, email: EmailState): readonly EmailEvent[] => {
  if (command.type === 'AcceptEmail') return email === undefined ? accept(command) : none;
  if (email === undefined) throw emailNotFound();
  switch (command.type) {
    case 'ReleaseEmail':
      return email.status === 'scheduled' && email.scheduledAt !== null && email.scheduledAt <= command.at
        ? [{ type: 'EmailReleased', data: { at: command.at, priority: email.accepted.priority } }]
        : none;
    case 'RefuseEmail':
      return email.status === 'queued' && email.attempts.length === 0
        ? giveUp({ ...command, attempt: 0, reason: 'rendering' }, email)
        : none;
    case 'WithdrawEmail':
      return withdraw(command, email);
    case 'AttemptDelivery':
      return attempt(command, email);
    case 'RecordOutcome':
      return openAttempt(email)?.attempt === command.attempt ? record(command, email) : none;
    case 'RecordCopy':
      return openAttempt(email)?.attempt === command.attempt ? answerCopy(command, email) : none;
    case 'HoldEmail':
      return hold(command, email);
    case 'GiveUp':
      return openAttempt(email)?.attempt === command.attempt ? giveUp(command, email) : none;
    case 'LoseContent':
      return isOpen(email)
        ? giveUp({ ...command, attempt: email.attempts.length, reason: 'content-lost' }, email)
        : none;
    case 'RecordReport':
      return recordReport(command, email);
    case 'RecordComplaint':
      return recordComplaint(command, email);
    case 'KeepProviderEvent':
      return keepProviderEvent(command, email);
    case 'RetryEmail':
      return retry(command, email);
    case 'SuppressRecipients':
      return isOpen(email) ? suppress(command, email) : none;
    case 'NoteBounces':
      return noteBounces(command, email);
    case 'RecordEngagement':
      return recordEngagement(command, email);
    case 'PushEmail':
      return push(command, email);
    case 'RescheduleEmail':
      return reschedule(command, email);
    case 'CancelEmail':
      return cancel(command, email);
    case 'DeleteEmail':
      return remove(command, email);
    case 'EraseEmail':
      return erase(command, email);
    case 'EraseRecipients':
      return eraseRecipients(command, email);
    case 'ArchiveEmail':
      return mayBeArchived(email, command.at, command.retentionMs)
        ? [{ type: 'EmailArchived', data: { at: command.at } }]
        : none;
    case 'RemoveEmail':
      return mayBeRemoved(email, command.at, command.archiveMs)
        ? [{ type: 'EmailRemoved', data: { at: command.at } }]
        : none;
  }
};

export const emailDecider: Decider<EmailCommand, EmailEvent, EmailState> = {
  decide,
  evolve: evolveEmail,
  initialState: undefined,
};

const accept = ({ accepted, scheduledAt, content }: CommandOf<'AcceptEmail'>): readonly EmailEvent[] =>
  scheduledAt === undefined
    ? [{ type: 'EmailQueued', data: accepted, sealed: content }]
    : [{ type: 'EmailScheduled', data: { ...accepted, scheduledAt }, sealed: content }];

const attempt = (command: CommandOf<'AttemptDelivery'>, email: Email): readonly EmailEvent[] => {
  const open = openAttempt(email);
  const due = email.status === 'queued' && (email.nextAttemptAt === null || email.nextAttemptAt <= command.at);
  const cutOff =
    email.status === 'processing' && open !== undefined && (open.deadlineAt <= command.at || command.workerGone);
  if (!due && !cutOff) return none;
  const since = email.retries.at(-1)?.at ?? email.createdAt;
  const interruptions = email.attempts.filter(
    ({ ended, startedAt }) => ended?.outcome === 'interrupted' && startedAt >= since,
  ).length;
  if (cutOff && interruptions >= INTERRUPTIONS_MAX) {
    return giveUp(
      { attempt: open.attempt, at: command.at, reason: 'attempts-spent', text: 'the delivery was cut off too often' },
      email,
    );
  }
  const { at, host, worker, deadlineAt, relay, passedRelays } = command;
  const data = { attempt: email.attempts.length + 1, at, host, worker, deadlineAt };
  if (relay === undefined) return [{ type: 'DeliveryAttempted', data }];
  const passed = passedRelays === undefined ? {} : { passedRelays: [...passedRelays] };
  return [{ type: 'DeliveryAttempted', data: { ...data, relay, ...passed } }];
};

/** An email that was retried by hand after `cancelledAt` goes on. */
const withdraw = (
  { at, cancelledAt, endsBrokenOff }: CommandOf<'WithdrawEmail'>,
  email: Email,
): readonly EmailEvent[] => {
  const isRetried = email.retries.some((retry) => retry.at > cancelledAt);
  if (isRetried || email.deletedAt !== null || someGotThrough(email)) return none;
  if (email.status === 'queued' || email.status === 'scheduled') return [{ type: 'EmailCancelled', data: { at } }];
  const open = attemptUnderWay(email);
  // Past the deadline the dialogue has certainly ended.
  const isBrokenOff = open !== undefined && open.deadlineAt <= at;
  if (endsBrokenOff !== true || !isBrokenOff) return none;
  return giveUp(
    { attempt: open.attempt, at, reason: 'attempts-spent', text: 'the delivery was cut off, and is not tried again' },
    email,
  );
};

const push = ({ at }: CommandOf<'PushEmail'>, email: Email): readonly EmailEvent[] => {
  const { status, nextAttemptAt, heldUntil, accepted } = email;
  if (status !== 'queued' || (nextAttemptAt === null && heldUntil === undefined)) return none;
  // An email that is held, or due already, gets its regular attempt.
  const isEarly = heldUntil === undefined && nextAttemptAt !== null && nextAttemptAt > at;
  return [
    {
      type: 'EmailReleased',
      data: { at, priority: accepted.priority, ...(isEarly ? { pushedFrom: nextAttemptAt } : {}) },
    },
  ];
};

/**
 * When an attempt that is deferred at that moment is repeated; undefined: no attempt is left. An attempt pushed by hand
 * uses none.
 */
export const nextAttemptAfter = (
  { pushedFrom, deferrals }: Email,
  at: string,
  { delaysMs }: RetrySchedule,
): string | undefined => {
  if (pushedFrom !== undefined && pushedFrom > at) return pushedFrom;
  const delayMs = delaysMs[deferrals];
  return delayMs === undefined ? undefined : isoTime(Date.parse(at) + delayMs);
};

const someGotThrough = (email: Email): boolean => email.recipientStatuses.some(hasIt);

/** Records the first hold and, when the wait is over, the failure; the holds in between are not recorded. */
const hold = (
  { at, host, relay, waitsUntil, waitForHostMs, unwatchedMs = 0, fault = hostAway }: CommandOf<'HoldEmail'>,
  email: Email,
): readonly EmailEvent[] => {
  const isOver = email.heldUntil !== undefined && email.heldUntil <= at;
  const open = email.status === 'processing' ? openAttempt(email) : undefined;
  if (email.status !== 'queued' && open === undefined) return none;
  const isNews = waitsUntil !== undefined && waitsUntil !== email.nextAttemptAt;
  if (open === undefined && email.heldUntil !== undefined && !isOver && !isNews) return none;
  const outcomes = pendingRecipients(email).map((recipient) => ({ ...fault, result: 'deferred' as const, recipient }));
  const schedule = { delaysMs: [] };
  return record(
    {
      type: 'RecordOutcome',
      attempt: open?.attempt ?? 0,
      at,
      host,
      ...(relay === undefined ? {} : { relay }),
      ...(waitsUntil === undefined ? {} : { waitsUntil }),
      // An attempt that was cut off may have brought its relay the content.
      ...(open?.relay === undefined ? {} : { relay: open.relay, mayHaveIt: true }),
      durationMs: 0,
      outcomes,
      final: false,
      schedule,
      waitForHostMs,
      unwatchedMs,
    },
    email,
  );
};

const hostAway = {
  result: 'deferred',
  replyCode: null,
  enhancedCode: null,
  rule: 'host-away',
  text: 'the relay takes no sessions now; the mail waits for it',
} as const;

/** If no recipient is left to be sent to, the recorded answers to copies end the interrupted attempt. */
const suppress = (command: CommandOf<'SuppressRecipients'>, email: Email): readonly EmailEvent[] => {
  const suppressed = suppressRecipients(command, email);
  const after = suppressed.reduce<EmailState>(evolveEmail, email);
  if (after === undefined || after.copies === undefined || pendingRecipients(after).length > 0) return suppressed;
  const { attempt: number, host, relay } = after.attempts.at(-1)!;
  const { at, final = false } = command;
  const named = relay === undefined ? {} : { relay };
  const ending = {
    attempt: number,
    at,
    host,
    ...named,
    durationMs: 0,
    outcomes: [],
    final,
    schedule: { delaysMs: [] },
  };
  return [...suppressed, ...record({ type: 'RecordOutcome', ...ending }, after)];
};

const heldUntilOf = (
  { at, waitForHostMs, unwatchedMs = 0 }: CommandOf<'RecordOutcome'>,
  { held }: Email,
): string | undefined => {
  if (waitForHostMs === undefined) return undefined;
  return held === undefined ? isoTime(Date.parse(at) + waitForHostMs) : isoTime(Date.parse(held.until) + unwatchedMs);
};

const record = (command: CommandOf<'RecordOutcome'>, email: Email): readonly EmailEvent[] => {
  const { at, final, schedule } = command;
  const outcomes = withCopies(email, command.outcomes);
  const { data, sealed } = toldOutcomes({ ...command, outcomes }, email);
  const taken = outcomes.filter(({ result, simulated }) => result === 'accepted' && simulated === undefined);
  const arrived: readonly EmailEvent[] = [
    ...(final && taken.length > 0
      ? [{ type: 'EmailDelivered' as const, data: { at, recipients: taken.map(({ recipient }) => recipient) } }]
      : []),
    ...simulatedReports(email, outcomes, at),
  ];

  const { failedOver, waitsUntil = at } = command;
  const isDeferred = outcomes.some(({ result }) => result === 'deferred');
  if (failedOver === true && isDeferred)
    return [{ type: 'EmailDeferred', data: { ...data, nextAttemptAt: at, failedOver }, sealed }, ...arrived];
  const mayHaveIt = command.mayHaveIt === undefined ? {} : { mayHaveIt: command.mayHaveIt };
  const heldUntil = heldUntilOf(command, email);
  if (heldUntil !== undefined && at < heldUntil) {
    const nextAttemptAt = waitsUntil < heldUntil ? waitsUntil : heldUntil;
    return [{ type: 'EmailDeferred', data: { ...data, nextAttemptAt, heldUntil, ...mayHaveIt }, sealed }, ...arrived];
  }
  const nextAttemptAt = heldUntil === undefined ? nextAttemptAfter(email, at, schedule) : undefined;
  if (nextAttemptAt !== undefined && isDeferred) {
    return [{ type: 'EmailDeferred', data: { ...data, nextAttemptAt, ...mayHaveIt }, sealed }, ...arrived];
  }
  if (outcomes.some(({ result }) => result === 'accepted') || someGotThrough(email))
    return [{ type: 'EmailSent', data, sealed }, ...arrived];
  // A recipient that failed for our reasons can be retried, so `failed` outweighs `bounced`.
  const failedBefore = email.recipientStatuses.includes('failed');
  if (!failedBefore && outcomes.every(({ result }) => result === 'bounced')) {
    return [{ type: 'EmailBounced', data: { ...data, bounceType: 'hard' }, sealed }];
  }
  return [{ type: 'EmailFailed', data: { ...data, reason: reasonOf(outcomes, failedBefore) }, sealed }];
};

const reasonOf = (
  outcomes: readonly PlacedOutcome[],
  failedBefore: boolean,
): 'blocked' | 'refused' | 'attempts-spent' => {
  if (outcomes.some(({ result }) => result === 'blocked')) return 'blocked';
  return failedBefore || outcomes.some(({ result }) => result === 'refused') ? 'refused' : 'attempts-spent';
};

const giveUp = (
  {
    attempt: number,
    at,
    reason,
    rule = reason,
    text,
  }: Readonly<{
    attempt: number;
    at: string;
    reason: 'rendering' | 'content-lost' | 'attempts-spent';
    rule?: string;
    text: string;
  }>,
  email: Email,
): readonly EmailEvent[] => {
  const refused = { result: 'refused', replyCode: null, enhancedCode: null, rule, text } as const;
  const outcomes = withCopies(
    email,
    pendingRecipients(email).map((recipient) => ({ ...refused, recipient })),
  );
  const { host = '', relay } = openAttempt(email) ?? {};
  const named = relay === undefined ? {} : { relay };
  const { data, sealed } = toldOutcomes({ attempt: number, at, host, ...named, durationMs: 0, outcomes }, email);
  // An email has failed only if no recipient got it.
  return someGotThrough(email) || outcomes.some(({ result }) => result === 'accepted')
    ? [{ type: 'EmailSent', data, sealed }, ...simulatedReports(email, outcomes, at)]
    : [{ type: 'EmailFailed', data: { ...data, reason }, sealed }];
};

const isOpen = ({ status }: Email): boolean => status === 'queued' || status === 'scheduled' || status === 'processing';

/**
 * Repeating the same time changes nothing. Files are only ever kept longer, because concurrent calls have each
 * prolonged them before.
 */
const reschedule = (
  { at, scheduledAt, subject, temporaryUntil: wanted }: CommandOf<'RescheduleEmail'>,
  email: Email,
): readonly EmailEvent[] => {
  if (email.deletedAt !== null) throw emailNotFound();
  if (email.status !== 'scheduled') {
    throw new DomainError(
      'EMAIL_NOT_SCHEDULED',
      `Only an email that is scheduled can be given another time; this one is ${email.status}.`,
      {
        relatedInfo: { status: email.status },
      },
    );
  }
  if (email.scheduledAt === scheduledAt) return [];
  const kept = keptUntil(email);
  const until = kept === undefined ? {} : { temporaryUntil: kept > wanted ? kept : wanted };
  return [{ type: 'EmailRescheduled', data: { at, scheduledAt, ...until }, sealed: { subject } }];
};

/** Until when the generated files of an email are kept; undefined: it has none. */
export const keptUntil = ({ accepted: { attachmentBytes }, temporaryUntil }: Email): string | undefined =>
  attachmentBytes === undefined || attachmentBytes.temporary === 0
    ? undefined
    : (temporaryUntil ?? attachmentBytes.temporaryUntil);

/** An email cannot be cancelled once a recipient has it, or while it is being delivered. */
const cancel = ({ at, idempotencyKey, fingerprint }: CommandOf<'CancelEmail'>, email: Email): readonly EmailEvent[] => {
  if (email.deletedAt !== null) throw emailNotFound();
  const reason = whyNotCancellable(email);
  if (reason !== undefined)
    throw new DomainError('EMAIL_NOT_CANCELLABLE', reason, { relatedInfo: { status: email.status } });
  return [
    {
      type: 'EmailCancelled',
      data: {
        at,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        ...(fingerprint === undefined ? {} : { fingerprint }),
      },
    },
  ];
};

const whyNotCancellable = ({ status, recipientStatuses }: Email): string | undefined => {
  switch (status) {
    case 'scheduled':
    case 'queued': {
      const reached = recipientStatuses.filter(hasIt).length;
      if (reached === 0) return undefined;
      return `${reached} of the ${recipientStatuses.length} recipients of this email have it already, so it cannot be cancelled.`;
    }
    case 'processing':
      return 'This email is being delivered right now, so it cannot be cancelled; where this attempt is deferred it can be, before the next.';
    case 'cancelled':
      return 'This email is cancelled already.';
    case 'sent':
    case 'delivered':
    case 'failed':
    case 'bounced':
    case 'complained':
      return `Only an email that is scheduled or queued can be cancelled; this one is ${status}.`;
  }
};

const retry = ({ at, idempotencyKey, fingerprint }: CommandOf<'RetryEmail'>, email: Email): readonly EmailEvent[] => {
  if (email.deletedAt !== null) throw emailNotFound();
  if (email.archivedAt !== null) {
    throw new DomainError(
      'EMAIL_ARCHIVED',
      'This email is archived: its recipients and content are destroyed, so it cannot be sent again.',
    );
  }
  if (email.failureReason === 'content-lost' && email.content === undefined) {
    throw new DomainError(
      'EMAIL_NOT_RETRYABLE',
      'The content of this email is lost, so it cannot be sent again; send it anew.',
      {
        relatedInfo: { status: email.status },
      },
    );
  }
  if (!isRetryable(email)) {
    throw new DomainError(
      'EMAIL_NOT_RETRYABLE',
      `Only an email that has failed for a recipient can be retried, when its delivery has ended; this one is ${email.status}.`,
      { relatedInfo: { status: email.status } },
    );
  }
  return [
    {
      type: 'EmailRetried',
      data: {
        at,
        retryCount: email.retries.length + 1,
        priority: email.accepted.priority,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        ...(fingerprint === undefined ? {} : { fingerprint }),
      },
    },
  ];
};

/**
 * A retry goes only to recipients with status `failed`: nobody gets the email twice, and bounced or suppressed
 * addresses stay so.
 */
const isRetryable = (email: Email): boolean => {
  const { status, recipientStatuses } = email;
  const hasFailed = recipientStatuses.some((recipient, place) => recipient === 'failed' && !isErased(email, place));
  return hasFailed && (status === 'failed' || status === 'sent' || status === 'delivered');
};

const remove = ({ at }: CommandOf<'DeleteEmail'>, email: Email): readonly EmailEvent[] => {
  if (email.deletedAt !== null) throw emailNotFound();
  switch (email.status) {
    case 'processing':
      throw new DomainError(
        'EMAIL_IN_PROGRESS',
        'This email is being delivered right now; delete it when the delivery has ended.',
      );
    case 'queued':
    case 'scheduled':
      return [
        { type: 'EmailCancelled', data: { at } },
        { type: 'EmailDeleted', data: { at } },
      ];
    case 'sent':
    case 'delivered':
    case 'failed':
    case 'bounced':
    case 'complained':
    case 'cancelled':
      return [{ type: 'EmailDeleted', data: { at } }];
  }
};

/** Archives the email before its time; if it was not sent yet, cancels it first. */
const erase = ({ at }: CommandOf<'EraseEmail'>, { status, archivedAt }: Email): readonly EmailEvent[] => {
  if (archivedAt !== null) return [];
  switch (status) {
    case 'processing':
      return [];
    case 'queued':
    case 'scheduled':
      return [
        { type: 'EmailCancelled', data: { at } },
        { type: 'EmailArchived', data: { at } },
      ];
    case 'sent':
    case 'delivered':
    case 'failed':
    case 'bounced':
    case 'complained':
    case 'cancelled':
      return [{ type: 'EmailArchived', data: { at } }];
  }
};

/**
 * Erases some recipients; the email goes on for the others. Does nothing while an SMTP dialogue is under way. If no
 * other recipient is left, the whole email is erased; if none of the others was or will be attempted, it is cancelled.
 */
const eraseRecipients = (
  { at, recipients }: Readonly<{ at: string; recipients: readonly number[] }>,
  email: Email,
): readonly EmailEvent[] => {
  const { accepted, status, archivedAt, deletedAt } = email;
  if (archivedAt !== null || status === 'processing') return [];
  const places = accepted.roles.map((_, place) => place);
  const known = places.filter((place) => !isErased(email, place));
  const news = known.filter((place) => recipients.includes(place));
  if (deletedAt !== null || news.length === known.length) return erase({ type: 'EraseEmail', at }, email);
  if (news.length === 0) return [];
  const erased: EmailEvent = { type: 'RecipientsErased', data: { at, recipients: news, priority: accepted.priority } };
  const after = evolveEmail(email, erased);
  const waitsForNobody = after !== undefined && isWaiting(after) && !after.recipientStatuses.includes('queued');
  return waitsForNobody ? [erased, { type: 'EmailCancelled', data: { at } }] : [erased];
};

/** The processor that delivers emails by SMTP: one dialogue for all recipients of an email, or one for each copy. */
import {
  leavesAsCopies,
  type Email,
  pendingRecipients,
  type PlacedOutcome,
  openAttempt,
  attemptUnderWay,
  type EmailState,
} from '../../domain/email/state.js';
import { pendingParts, SIMULATOR_DOMAIN, simulatedOutcome } from '../../domain/email/simulator.js';
import type {
  DeliveryOutcome,
  Lent,
  Mailer,
  OutgoingMessage,
  RecipientOutcome,
  SendMessage,
} from '../../domain/ports/mailer.js';
import { nextAttemptAfter, type EmailCommand, type RetrySchedule, emailDecider } from '../../domain/email/decider.js';
import { ATTACHMENT_DAMAGED } from '../../domain/email/status.js';
import { type FileDamaged, KeyMissing } from '../../domain/core/errors.js';
import type { Clock } from '../../domain/ports/clock.js';
import { isoTime, HOUR_MS } from '../../domain/core/time.js';
import type { LogLine, AttemptContext, Made, Processor, StartedBy } from '../core/declaration.js';
import { type Damaged, type Impossible, envelopeOf, type Message, prepareMessage } from './message.js';
import type { EmailNeeds } from '../../commands/email/needs.js';
import { assertDefined, type StreamName } from '../../domain/core/ids.js';
import type { Priority } from '../../domain/ports/bus.js';
import type { Logger } from '../../domain/ports/logger.js';
import { type TrackingTokens, openTrackingTokens } from '../../domain/recipients/tracking.js';
import { type DomainKeys, openDomainKeys } from '../domains/sender-domains.js';
import { type HostBreaker, withdrawalOf, openHostBreaker, suppressionOf } from './conditions.js';
import { linkBaseOf } from '../../commands/recipients/unsubscribe.js';
import { makeProcessor } from '../core/processor.js';

export type DeliveryDeps = EmailNeeds &
  Readonly<{
    logger: Logger;
    mailer: Mailer;
    schedule: RetrySchedule;
    /** For how long since that moment the service did not run. */
    unwatchedMs: (sinceMs: number) => number;
    /**
     * Awaited before a message is composed, so that composing (a millisecond or more each) does not block the event
     * loop.
     */
    turnFor: (priority: Priority) => Promise<void>;
    /** Called with the time that composing a message took. */
    composed?: (seconds: number) => void;
  }>;

type Delivering = DeliveryDeps &
  Readonly<{
    breaker: HostBreaker;
    waiting: (email: Email) => WaitForHost;
    domainKeys: DomainKeys;
    trackingTokens: TrackingTokens;
  }>;

type Context = AttemptContext<Email, EmailCommand>;

/** How long an email may wait for the host, and for how long of its wait nobody tried. */
type WaitForHost = Readonly<{ waitForHostMs: number; unwatchedMs: number }>;

/** One dialogue of an attempt. `recipients`: by their place in the email, either all simulated or all real. */
type Part = Readonly<{ recipients: readonly number[]; isSimulated: boolean }>;

type Composed = Message | Impossible | Damaged;

/** Makes the message of a part. */
type Compose = (part: Part) => Composed;

/**
 * An attempt that has begun. `atMs`: when, by the monotonic clock. `ended`: the outcomes of the first parts, in their
 * order.
 */
type Attempt = Readonly<{
  attempt: number;
  email: Email;
  parts: readonly Part[];
  compose: Compose;
  atMs: number;
  signal: AbortSignal;
  ended: DeliveryOutcome[];
}>;

export const DELIVER_EMAIL = 'deliver-email';

const startedBy: StartedBy<'email'> = {
  EmailQueued: ({ data }) => data.priority,
  EmailReleased: ({ data }) => data.priority,
  EmailRetried: ({ data }) => data.priority,
  // The email goes on for the other recipients.
  RecipientsSuppressed: ({ data }) => data.priority,
  // An attempt that was being prepared is prepared again without them.
  RecipientsErased: ({ data }) => data.priority,
};

const PUT_BACK_MS = 1_000;
const PUT_BACK_MAX_MS = 30_000;

export const deliverEmail = (deps: DeliveryDeps): Processor => {
  const { clock, logger, mailer, limits } = deps;
  const breaker = openHostBreaker({ clock, logger, host: mailer.host, probe: (signal) => mailer.probe({ signal }) });
  const waiting = ({ held }: Email): WaitForHost => ({
    waitForHostMs: limits.hostAwayHoursMax * HOUR_MS,
    unwatchedMs: held === undefined ? 0 : deps.unwatchedMs(Date.parse(held.since)),
  });
  const domainKeys = openDomainKeys(deps);
  const trackingTokens = openTrackingTokens(deps.keys);
  return makeProcessor<'email', EmailState, EmailCommand>({
    name: DELIVER_EMAIL,
    kind: 'email',
    decider: emailDecider,
    startedBy,
    timers: [
      { kind: 'deliver', read: 'started', inTurns: true },
      { kind: 'deferred', read: 'due', inTurns: true },
      { kind: 'held', read: 'held', inTurns: true },
      { kind: 'processing', read: 'under-way' },
    ],
    deadlineMs: deps.limits.deliveryDeadlineMs,
    attempts: {
      underWay: (email) => attemptUnderWay(email)?.worker,
      assertPossible: (stream, email) => {
        const { content, accepted } = email;
        const isAddressed = (recipient: number): boolean => (content?.recipients[recipient] ?? null) !== null;
        if (content === undefined || !pendingRecipients(email).every(isAddressed)) throw new KeyMissing(stream);
        if (accepted.unsubscribeList !== undefined) linkBaseOf(deps);
      },
      begin: (attempt, email) => ({ type: 'AttemptDelivery', host: hostFor(mailer, email), ...attempt }),
      passesGate: needsNoHost,
      hold: ({ at }, email) => ({ type: 'HoldEmail', at, host: mailer.host, ...waiting(email) }),
      make: (context) => deliver({ ...deps, breaker, waiting, domainKeys, trackingTokens }, context),
    },
    gate: breaker,
  });
};

/** Connects, records that the attempt begins, sends, and records the outcome; then the other parts. */
const deliver = async (deps: Delivering, context: Context): Promise<Made<EmailCommand>> => {
  const { clock, mailer } = deps;
  const { state: email, teamId, signal } = context;
  const { priority } = email.accepted;
  const askedMs = clock.monotonic();
  const parts = partsOf(email);
  const lent = await senderOf(mailer, email, parts[0]!).lend(
    { priority, signal },
    async (send): Promise<Made<EmailCommand> | Attempt> => {
      await deps.turnFor(priority);
      const instead = (await withdrawalOf(deps, teamId, email)) ?? (await suppressionOf(deps, teamId, email));
      if (instead !== undefined) return { kind: 'hold', command: instead };
      const [begun, { compose, first }] = await bothDone(context.begin(), firstMessage(deps, context, parts[0]!));
      if (begun === undefined) return { kind: 'done' };
      const { attempt } = assertDefined(openAttempt(begun.state), 'attempt');
      const made = {
        attempt,
        email: begun.state,
        parts,
        compose,
        atMs: clock.monotonic(),
        signal: begun.signal,
        ended: [],
      };
      return sendPart(deps, context, made, first, send);
    },
  );
  if (lent.kind === 'given-up') return { kind: 'put-back', atMs: clock.now() };
  if (lent.kind === 'host-away') return waitForHost(deps, context, askedMs, lent.fault);
  return 'kind' in lent.result ? lent.result : sendOtherParts(deps, context, lent.result);
};

/** No session could be opened, so the attempt has not begun. */
const waitForHost = (
  deps: Delivering,
  context: Context,
  askedMs: number,
  fault: RecipientOutcome,
): Made<EmailCommand> => {
  const { clock, breaker, mailer, waiting } = deps;
  const line = {
    level: 'info' as const,
    fields: { rule: fault.rule, reply: withoutAddresses(fault.text) },
    message: 'no session could be opened',
  };
  if (!breaker.away(askedMs))
    return { kind: 'put-back', atMs: clock.now() + pauseBeforeNext(context.deliveries), line };
  const command = {
    type: 'HoldEmail' as const,
    at: isoTime(clock.now()),
    host: mailer.host,
    ...waiting(context.state),
    fault,
  };
  return { kind: 'hold', command, line };
};

const REPLY_CHARS_LOGGED = 200;

/** The words of the host for the log, which holds no address. */
const withoutAddresses = (reply: string): string =>
  reply.slice(0, REPLY_CHARS_LOGGED).replaceAll(/[^\s<>"']*@[^\s<>"']*/g, '…');

/** The host refused this session but serves others of ours: retry soon. */
const pauseBeforeNext = (deliveries: number): number =>
  Math.min(PUT_BACK_MS * 2 ** Math.min(deliveries - 1, 20), PUT_BACK_MAX_MS);

const firstMessage = async (
  deps: Delivering,
  context: Context,
  part: Part,
): Promise<Readonly<{ compose: Compose; first: Composed }>> => {
  const { state: email } = context;
  const prepared = await prepareMessage(deps, context, email);
  const compose: Compose = ({ recipients }) =>
    'message' in prepared ? prepared.message(leavesAsCopies(email) ? recipients[0] : undefined) : prepared;
  return { compose, first: compose(part) };
};

/** If one rejects, the other is still awaited, so that nothing is left running. */
const bothDone = async <First, Second>(
  first: Promise<First>,
  second: Promise<Second>,
): Promise<readonly [First, Second]> => {
  try {
    return await Promise.all([first, second]);
  } catch (fault) {
    await Promise.allSettled([first, second]);
    throw fault;
  }
};

/**
 * Sends the next part and records its outcome before the connection serves another mail. Out: the attempt while it has
 * more parts.
 */
const sendPart = async (
  deps: Delivering,
  context: Context,
  attempt: Attempt,
  composed: Composed,
  send: SendMessage,
): Promise<Made<EmailCommand> | Attempt> => {
  if (!('raw' in composed)) {
    const { command, line } = outcomeOfUnsendable(deps, attempt, composed);
    await context.end(command);
    return { kind: 'done', line };
  }
  const { email, parts, ended, signal } = attempt;
  const part = parts[ended.length]!;
  const outcome = await send(outgoing(deps, context.stream, email, part.recipients, composed), signal);
  if (outcome.hostAway === undefined && !part.isSimulated) deps.breaker.answered();
  ended.push(outcome);
  if (ended.length === parts.length) return endAttempt(deps, context, attempt);
  const command = copyCommand(deps, attempt, outcome, part);
  if (command !== undefined) await context.note(command);
  return attempt;
};

/**
 * Sends the other parts one after the other, each after the outcome of the one before is recorded; a part waits for a
 * connection as long as the attempt may last. If the host becomes unavailable, the rest waits for the next attempt.
 */
const sendOtherParts = async (deps: Delivering, context: Context, attempt: Attempt): Promise<Made<EmailCommand>> => {
  const { email, parts, compose, ended, signal } = attempt;
  const { priority } = email.accepted;
  while (ended.length < parts.length && ended.at(-1)!.hostAway === undefined) {
    const part = parts[ended.length]!;
    const lent = await senderOf(deps.mailer, email, part).lend({ priority, signal }, async (send) => {
      await deps.turnFor(priority);
      return sendPart(deps, context, attempt, compose(part), send);
    });
    if (lent.kind !== 'used') ended.push(leftOutcome(deps.mailer.host, lent, part));
    else if ('kind' in lent.result) return lent.result;
  }
  return endAttempt(deps, context, attempt);
};

/** Records one outcome for all parts; those that were not sent share that of the last one that was. */
const endAttempt = async (deps: Delivering, context: Context, begun: Attempt): Promise<Made<EmailCommand>> => {
  const { attempt, email, parts, ended, atMs } = begun;
  const { host, hostAway, recipients } = ended.at(-1)!;
  const left = parts.slice(ended.length).flatMap((part) => part.recipients.map(() => recipients[0]!));
  const outcome = {
    host,
    durationMs: ended.reduce((sum, { durationMs }) => sum + durationMs, 0),
    recipients: [...ended.flatMap((one) => one.recipients), ...left],
  };
  const pending = parts.flatMap((part) => part.recipients);
  const command = outcomeCommand(deps, attempt, pending, outcome);
  const isHeld = hostAway === true && deps.breaker.away(atMs);
  await context.end(isHeld ? { ...command, ...deps.waiting(email) } : command);
  return { kind: 'done', line: outcomeLine(attempt, pending, outcome) };
};

const outgoing = (
  deps: Delivering,
  stream: StreamName,
  email: Email,
  recipients: readonly number[],
  { from, raw, is8Bit, signWith }: Message,
): OutgoingMessage => ({
  envelope: envelopeOf(
    deps,
    stream,
    from,
    recipients.map((index) => email.content!.recipients[index]!.email),
  ),
  messageId: email.accepted.messageId,
  raw,
  ...(is8Bit === true && { is8Bit }),
  ...(signWith === undefined ? {} : { signWith }),
});

/** In the order of sending: real parts come first, so that an email waits for its host before the attempt begins. */
const partsOf = (email: Email): readonly Part[] => {
  const { real, simulated } = pendingParts(email);
  const split = (recipients: readonly number[], isSimulated: boolean): readonly Part[] => {
    if (recipients.length === 0) return [];
    return leavesAsCopies(email)
      ? recipients.map((one) => ({ recipients: [one], isSimulated }))
      : [{ recipients, isSimulated }];
  };
  const parts = [...split(real, false), ...split(simulated, true)];
  // An empty part ends the attempt if every recipient has an answer or is suppressed.
  return parts.length > 0 ? parts : [{ recipients: [], isSimulated: false }];
};

/** Whether all waiting recipients are simulated. */
const needsNoHost = (email: Email): boolean => {
  const { real, simulated } = pendingParts(email);
  return real.length === 0 && simulated.length > 0;
};

/** The host that the record of an attempt names. */
const hostFor = (mailer: Pick<Mailer, 'host'>, email: Email): string =>
  needsNoHost(email) ? SIMULATOR_DOMAIN : mailer.host;

type Sender = Pick<Mailer, 'lend'>;

/**
 * The mailer, or the simulator, for which a message is composed as for a host and then discarded. `email`: its state
 * before the part is sent.
 */
const senderOf = (mailer: Sender, email: Email, { recipients, isSimulated }: Part): Sender => {
  const simulated = async (): Promise<DeliveryOutcome> => ({
    host: SIMULATOR_DOMAIN,
    durationMs: 0,
    recipients: recipients.map((one) => simulatedOutcome(email, one)),
  });
  return isSimulated
    ? {
        lend: async ({ signal }, use) =>
          signal.aborted ? { kind: 'given-up' } : { kind: 'used', result: await use(async () => simulated()) },
      }
    : mailer;
};

type OutcomeDeps = Readonly<{
  clock: Pick<Clock, 'now'>;
  mailer: Pick<Mailer, 'host' | 'final'>;
  schedule: RetrySchedule;
}>;

type Unsendable = Readonly<{ command: EmailCommand; line: LogLine }>;

const outcomeOfUnsendable = (
  deps: OutcomeDeps,
  begun: Pick<Attempt, 'attempt' | 'email'>,
  prepared: Impossible | Damaged,
): Unsendable => {
  const { attempt, email } = begun;
  if ('damaged' in prepared) return damagedOutcome(deps, attempt, email, prepared.damaged);
  return {
    command: { type: 'GiveUp', attempt, at: isoTime(deps.clock.now()), ...prepared },
    line: { level: 'warn', fields: { attempt, reason: prepared.reason }, message: 'email failed' },
  };
};

const outcomeLine = (attempt: number, pending: readonly number[], { recipients, durationMs }: DeliveryOutcome) => ({
  level: 'info' as const,
  fields: {
    attempt,
    recipients: pending.length,
    accepted: recipients.filter(({ result }) => result === 'accepted').length,
    rule: recipients.find(({ result }) => result !== 'accepted')?.rule,
    durationMs: Math.round(durationMs),
  },
  message: 'delivery attempt',
});

const outcomeCommand = (deps: OutcomeDeps, attempt: number, pending: readonly number[], outcome: DeliveryOutcome) => ({
  type: 'RecordOutcome' as const,
  attempt,
  at: isoTime(deps.clock.now()),
  host: outcome.host,
  durationMs: outcome.durationMs,
  outcomes: outcome.recipients.map((result, index) => ({ ...result, recipient: pending[index]! })),
  final: deps.mailer.final,
  schedule: deps.schedule,
});

/** undefined: there is nothing to record before the attempt ends. */
const copyCommand = (
  deps: OutcomeDeps,
  { attempt }: Pick<Attempt, 'attempt'>,
  { host, durationMs, recipients }: DeliveryOutcome,
  part: Pick<Part, 'recipients'>,
): EmailCommand | undefined => {
  const outcomes: PlacedOutcome[] = recipients.map((result, index) => ({
    ...result,
    recipient: part.recipients[index]!,
  }));
  if (outcomes.every(({ result }) => result === 'deferred')) return undefined;
  return { type: 'RecordCopy', attempt, at: isoTime(deps.clock.now()), host, durationMs, outcomes };
};

const aborted = {
  result: 'deferred',
  replyCode: null,
  enhancedCode: null,
  rule: 'aborted',
  text: 'the attempt was ended before this copy was sent',
} as const;

/** The outcome of a part for which no dialogue began. */
const leftOutcome = (
  host: string,
  lent: Exclude<Lent<never>, { kind: 'used' }>,
  { recipients }: Pick<Part, 'recipients'>,
): DeliveryOutcome =>
  lent.kind === 'given-up'
    ? { host, durationMs: 0, recipients: recipients.map(() => aborted) }
    : { host, durationMs: 0, recipients: recipients.map(() => lent.fault), hostAway: true };

/** The file may be restored from a backup, so the mail is deferred; it fails after its last attempt. */
const damagedOutcome = (deps: OutcomeDeps, attempt: number, email: Email, damaged: FileDamaged): Unsendable => {
  const text = 'the file of an attachment is damaged';
  const isLast = nextAttemptAfter(email, isoTime(deps.clock.now()), deps.schedule) === undefined;
  const deferred = { result: 'deferred' as const, replyCode: null, enhancedCode: null, rule: ATTACHMENT_DAMAGED, text };
  const recipients = pendingRecipients(email).map(() => deferred);
  const command: EmailCommand = isLast
    ? { type: 'GiveUp', attempt, at: isoTime(deps.clock.now()), reason: 'content-lost', rule: ATTACHMENT_DAMAGED, text }
    : outcomeCommand(deps, attempt, pendingRecipients(email), { host: deps.mailer.host, durationMs: 0, recipients });
  return {
    command,
    line: { level: 'warn', fields: { attempt, isLast, err: damaged }, message: 'the file of an attachment is damaged' },
  };
};

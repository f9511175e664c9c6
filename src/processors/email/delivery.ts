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
import type { Delivered, Delivery, Mailer, RecipientOutcome, DeliveryOutcome, OutgoingMessage } from '../../domain/ports/mailer.js';
import { nextAttemptAfter, type EmailCommand, type RetrySchedule, emailDecider } from '../../domain/email/decider.js';
import { ATTACHMENT_DAMAGED } from '../../domain/email/status.js';
import { type FileDamaged, KeyMissing } from '../../domain/core/errors.js';
import type { Clock } from '../../domain/ports/clock.js';
import { isoTime, HOUR_MS } from '../../domain/core/time.js';
import type { LogLine, AttemptContext, Made, Processor, StartedBy } from '../core/declaration.js';
import { type Damaged, type Impossible, envelopeOf, type Message, type Prepared, prepareMessage } from './message.js';
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
    /** Awaited before a message is composed, so that composing (a millisecond or more each) does not block the event loop. */
    turnFor: (priority: Priority) => Promise<void>;
    /** Called with the time that composing a message took. */
    composed?: (seconds: number) => void;
  }>;

type Delivering = DeliveryDeps &
  Readonly<{ breaker: HostBreaker; waiting: (email: Email) => WaitForHost; domainKeys: DomainKeys; trackingTokens: TrackingTokens }>;

type Context = AttemptContext<Email, EmailCommand>;

/** How long an email may wait for the host, and for how long of its wait nobody tried. */
type WaitForHost = Readonly<{ waitForHostMs: number; unwatchedMs: number }>;

/** The changing state of one attempt. */
type Attempt = { begun: BegunAttempt | undefined; line: LogLine | undefined; suppressing: EmailCommand | undefined };

/** One dialogue of an attempt. `recipients`: by their place in the email, either all simulated or all real. */
type Part = Readonly<{ recipients: readonly number[]; isSimulated: boolean }>;

/**
 * `atMs`: when it began, by the monotonic clock. `pending`: the recipients of all parts, in their order. `progress`: present if there are
 * several parts.
 */
type BegunAttempt = Readonly<{
  attempt: number;
  email: Email;
  parts: readonly Part[];
  pending: readonly number[];
  atMs: number;
  signal: AbortSignal;
  progress: PartsProgress | undefined;
}>;

/** `ended`: the outcomes of the parts that were sent, in their order. */
type PartsProgress = Readonly<{ prepared: Prepared; ended: DeliveryOutcome[] }>;

type AttemptInParts = BegunAttempt & Readonly<{ progress: PartsProgress }>;

export const DELIVER_EMAIL = 'deliver-email';

const startedBy: StartedBy<'email'> = {
  EmailQueued: ({ data }) => data.priority,
  EmailReleased: ({ data }) => data.priority,
  EmailRetried: ({ data }) => data.priority,
  EmailScheduled: null,
  EmailRescheduled: null,
  DeliveryAttempted: null,
  CopyAnswered: null,
  EmailSent: null,
  EmailDeferred: null,
  EmailBounced: null,
  EmailFailed: null,
  EmailDelivered: null,
  EmailBounceReported: null,
  EmailComplained: null,
  EmailCancelled: null,
  // The email goes on for the other recipients.
  RecipientsSuppressed: ({ data }) => data.priority,
  // An attempt that was being prepared is prepared again without them.
  RecipientsErased: ({ data }) => data.priority,
  EmailBouncesNoted: null,
  EmailOpened: null,
  EmailClicked: null,
  EmailDeleted: null,
  EmailArchived: null,
  EmailRemoved: null,
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

/** The attempt is recorded once the mailer has a connection for it. */
const deliver = async (deps: Delivering, context: Context): Promise<Made<EmailCommand>> => {
  const { clock, breaker, mailer, waiting } = deps;
  const { state: email, deliveries, signal } = context;
  const askedMs = clock.monotonic();
  const attempt: Attempt = { begun: undefined, line: undefined, suppressing: undefined };
  const parts = partsOf(email);
  const [first] = parts;
  // Recipients not in `parts` are suppressed, or their answer is already recorded by CopyAnswered.
  const sender = first === undefined ? mailer : senderOf(mailer, email, first);
  const delivered = await sender.send({
    priority: email.accepted.priority,
    signal,
    begin: () => begin(deps, context, attempt, parts),
    end: (outcome) => endOrGoOn(deps, context, attempt, outcome),
  });
  switch (delivered.kind) {
    case 'ended':
    case 'not-wanted': {
      const { suppressing, begun } = attempt;
      if (suppressing !== undefined) return { kind: 'hold', command: suppressing };
      if (begun?.progress !== undefined) await sendOtherParts(deps, context, attempt, { ...begun, progress: begun.progress });
      return { kind: 'done', ...(attempt.line === undefined ? {} : { line: attempt.line }) };
    }
    case 'given-up':
      return { kind: 'put-back', atMs: clock.now() };
    case 'host-away': {
      const { fault } = delivered;
      const line = {
        level: 'info' as const,
        fields: { rule: fault.rule, reply: withoutAddresses(fault.text) },
        message: 'no session could be opened',
      };
      if (!breaker.away(askedMs)) return { kind: 'put-back', atMs: clock.now() + pauseBeforeNext(deliveries), line };
      const command = { type: 'HoldEmail' as const, at: isoTime(clock.now()), host: mailer.host, ...waiting(email), fault };
      return { kind: 'hold', command, line };
    }
  }
};

const REPLY_CHARS_LOGGED = 200;

/** The words of the host for the log, which holds no address. */
const withoutAddresses = (reply: string): string => reply.slice(0, REPLY_CHARS_LOGGED).replaceAll(/[^\s<>"']*@[^\s<>"']*/g, '…');

/** The host refused this session but serves others of ours: retry soon. */
const pauseBeforeNext = (deliveries: number): number => Math.min(PUT_BACK_MS * 2 ** Math.min(deliveries - 1, 20), PUT_BACK_MAX_MS);

const begin = async (deps: Delivering, context: Context, attempt: Attempt, parts: readonly Part[]) => {
  const { state: email, teamId } = context;
  await deps.turnFor(email.accepted.priority);
  attempt.suppressing = await withdrawalOf(deps, teamId, email);
  if (attempt.suppressing !== undefined) return undefined;
  attempt.suppressing = await suppressionOf(deps, teamId, email);
  if (attempt.suppressing !== undefined) return undefined;
  const [recorded, made] = await bothDone(context.begin(), firstMessage(deps, context, parts));
  if (recorded === undefined) return undefined;
  const begun = begunOf(deps.clock, recorded.state, recorded.signal, parts);
  attempt.begun = begun;
  if (!('raw' in made)) {
    const unsendable = outcomeOfUnsendable(deps, begun, made);
    attempt.line = unsendable.line;
    await context.end(unsendable.command);
    return undefined;
  }
  const others = parts.length > 1;
  if (others) attempt.begun = { ...begun, progress: { prepared: made.prepared, ended: [] } };
  return {
    message: outgoing(deps, context.stream, begun.email, parts[0]?.recipients ?? [], made),
    signal: begun.signal,
  };
};

const firstMessage = async (
  deps: Delivering,
  context: Context,
  parts: readonly Part[],
): Promise<(Message & Readonly<{ prepared: Prepared }>) | Impossible | Damaged> => {
  const { state: email } = context;
  const prepared = await prepareMessage(deps, context, email);
  if (!('message' in prepared)) return prepared;
  const made = prepared.message(leavesAsCopies(email) ? parts[0]?.recipients[0] : undefined);
  return 'raw' in made ? { ...made, prepared } : made;
};

/** If one rejects, the other is still awaited, so that nothing is left running. */
const bothDone = async <First, Second>(first: Promise<First>, second: Promise<Second>): Promise<readonly [First, Second]> => {
  try {
    return await Promise.all([first, second]);
  } catch (fault) {
    await Promise.allSettled([first, second]);
    throw fault;
  }
};

const begunOf = (clock: Clock, email: Email, signal: AbortSignal, parts: readonly Part[]): BegunAttempt => ({
  attempt: assertDefined(openAttempt(email), 'attempt').attempt,
  email,
  parts,
  pending: parts.flatMap(({ recipients }) => recipients),
  atMs: clock.monotonic(),
  signal,
  progress: undefined,
});

/** With one part this ends the attempt; with several, the outcome is recorded before the next part is sent. */
const endOrGoOn = async (deps: Delivering, context: Context, attempt: Attempt, outcome: DeliveryOutcome): Promise<void> => {
  const begun = assertDefined(attempt.begun, 'attempt');
  const part = begun.parts[begun.progress?.ended.length ?? 0];
  if (outcome.hostAway === undefined && part?.isSimulated !== true) deps.breaker.answered();
  if (begun.progress === undefined) return endAttempt(deps, context, attempt, begun, outcome);
  begun.progress.ended.push(outcome);
  const command = copyCommand(deps, begun, outcome, assertDefined(part, 'part'));
  if (command !== undefined) await context.note(command);
};

const endAttempt = async (
  deps: Delivering,
  context: Context,
  attempt: Attempt,
  begun: BegunAttempt,
  outcome: DeliveryOutcome,
): Promise<void> => {
  attempt.line = outcomeLine(begun.attempt, begun.pending, outcome);
  const command = outcomeCommand(deps, begun.attempt, begun.pending, outcome);
  const isHeld = outcome.hostAway === true && deps.breaker.away(begun.atMs);
  await context.end(isHeld ? { ...command, ...deps.waiting(begun.email) } : command);
};

/**
 * Sends the other parts one after the other, each after the outcome of the one before is recorded. If the host becomes unavailable, the
 * rest waits for the next attempt.
 */
const sendOtherParts = async (deps: Delivering, context: Context, attempt: Attempt, begun: AttemptInParts): Promise<void> => {
  const { parts, progress } = begun;
  const finish = (outcomes: readonly DeliveryOutcome[]): Promise<void> =>
    endAttempt(deps, context, attempt, begun, joinedOutcomes(deps.mailer.host, outcomes));
  while (progress.ended.length < parts.length && progress.ended.at(-1)!.hostAway === undefined) {
    const part = parts[progress.ended.length]!;
    const isLast = progress.ended.length === parts.length - 1;
    const delivered = await sendPart(deps, context, attempt, begun, (outcome) =>
      isLast ? finish([...progress.ended, outcome]) : endOrGoOn(deps, context, attempt, outcome),
    );
    if (delivered.kind === 'not-wanted' || (delivered.kind === 'ended' && isLast)) return;
    if (delivered.kind !== 'ended') progress.ended.push(leftOutcome(deps.mailer.host, delivered, part));
  }
  const last = progress.ended.at(-1)!;
  const rest = parts.slice(progress.ended.length).map(({ recipients }) => recipients.map(() => last.recipients[0]!));
  await finish([...progress.ended, ...rest.map((recipients) => ({ ...last, durationMs: 0, recipients }))]);
};

/** Waits for a connection as long as the attempt may last. `not-wanted`: the message could not be composed, which has ended the attempt. */
const sendPart = (
  deps: Delivering,
  context: Context,
  attempt: Attempt,
  begun: AttemptInParts,
  end: (outcome: DeliveryOutcome) => Promise<void>,
): Promise<Delivered> => {
  const { email, parts, progress, signal } = begun;
  const { priority } = email.accepted;
  const part = parts[progress.ended.length]!;
  return senderOf(deps.mailer, email, part).send({
    priority,
    signal,
    begin: async () => {
      await deps.turnFor(priority);
      const made = progress.prepared.message(leavesAsCopies(email) ? part.recipients[0] : undefined);
      if ('raw' in made) return { message: outgoing(deps, context.stream, email, part.recipients, made), signal };
      const { command, line } = outcomeOfUnsendable(deps, begun, made);
      attempt.line = line;
      await context.end(command);
      return undefined;
    },
    end,
  });
};

const outgoing = (
  deps: Delivering,
  stream: StreamName,
  email: Email,
  recipients: readonly number[],
  { from, raw, signWith }: Message,
): OutgoingMessage => ({
  envelope: envelopeOf(
    deps,
    stream,
    from,
    recipients.map((index) => email.content!.recipients[index]!.email),
  ),
  messageId: email.accepted.messageId,
  raw,
  ...(signWith === undefined ? {} : { signWith }),
});

/** In the order of sending: real parts come first, so that an email waits for its host before the attempt begins. */
const partsOf = (email: Email): readonly Part[] => {
  const { real, simulated } = pendingParts(email);
  const split = (recipients: readonly number[], isSimulated: boolean): readonly Part[] => {
    if (recipients.length === 0) return [];
    return leavesAsCopies(email) ? recipients.map((one) => ({ recipients: [one], isSimulated })) : [{ recipients, isSimulated }];
  };
  return [...split(real, false), ...split(simulated, true)];
};

/** Whether all waiting recipients are simulated. */
const needsNoHost = (email: Email): boolean => {
  const { real, simulated } = pendingParts(email);
  return real.length === 0 && simulated.length > 0;
};

/** The host that the record of an attempt names. */
const hostFor = (mailer: Pick<Mailer, 'host'>, email: Email): string => (needsNoHost(email) ? SIMULATOR_DOMAIN : mailer.host);

type Sender = Pick<Mailer, 'send' | 'host'>;

/** The mailer, or the simulator. `email`: its state before the part is sent. */
const senderOf = (mailer: Sender, email: Email, { recipients, isSimulated }: Part): Sender =>
  isSimulated
    ? { host: SIMULATOR_DOMAIN, send: (delivery) => simulate(delivery, () => recipients.map((one) => simulatedOutcome(email, one))) }
    : mailer;

/** Composes the message as for a host, then discards it. */
const simulate = async ({ begin, end, signal }: Delivery, outcomes: () => readonly RecipientOutcome[]): Promise<Delivered> => {
  if (signal.aborted) return { kind: 'given-up' };
  if ((await begin()) === undefined) return { kind: 'not-wanted' };
  await end({ host: SIMULATOR_DOMAIN, durationMs: 0, recipients: outcomes() });
  return { kind: 'ended' };
};

type OutcomeDeps = Readonly<{ clock: Pick<Clock, 'now'>; mailer: Pick<Mailer, 'host' | 'final'>; schedule: RetrySchedule }>;

type Unsendable = Readonly<{ command: EmailCommand; line: LogLine }>;

const outcomeOfUnsendable = (
  deps: OutcomeDeps,
  begun: Pick<BegunAttempt, 'attempt' | 'email'>,
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
  { attempt }: Pick<BegunAttempt, 'attempt'>,
  { host, durationMs, recipients }: DeliveryOutcome,
  part: Pick<Part, 'recipients'>,
): EmailCommand | undefined => {
  const outcomes: PlacedOutcome[] = recipients.map((result, index) => ({ ...result, recipient: part.recipients[index]! }));
  if (outcomes.every(({ result }) => result === 'deferred')) return undefined;
  return { type: 'RecordCopy', attempt, at: isoTime(deps.clock.now()), host, durationMs, outcomes };
};

/** One outcome of all parts of an attempt, in their order. */
const joinedOutcomes = (host: string, outcomes: readonly DeliveryOutcome[]): DeliveryOutcome => {
  const last = outcomes.at(-1);
  return {
    host: last?.host ?? host,
    durationMs: outcomes.reduce((sum, { durationMs }) => sum + durationMs, 0),
    recipients: outcomes.flatMap(({ recipients }) => recipients),
    ...(last?.hostAway === true ? { hostAway: true } : {}),
  };
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
  delivered: Extract<Delivered, { kind: 'host-away' | 'given-up' }>,
  { recipients }: Pick<Part, 'recipients'>,
): DeliveryOutcome =>
  delivered.kind === 'given-up'
    ? { host, durationMs: 0, recipients: recipients.map(() => aborted) }
    : { host, durationMs: 0, recipients: recipients.map(() => delivered.fault), hostAway: true };

/** The file may be restored from a backup, so the mail is deferred; it fails after its last attempt. */
const damagedOutcome = (deps: OutcomeDeps, attempt: number, email: Email, damaged: FileDamaged): Unsendable => {
  const text = 'the file of an attachment is damaged';
  const isLast = nextAttemptAfter(email, isoTime(deps.clock.now()), deps.schedule) === undefined;
  const deferred = { result: 'deferred' as const, replyCode: null, enhancedCode: null, rule: ATTACHMENT_DAMAGED, text };
  const recipients = pendingRecipients(email).map(() => deferred);
  const command: EmailCommand = isLast
    ? { type: 'GiveUp', attempt, at: isoTime(deps.clock.now()), reason: 'content-lost', rule: ATTACHMENT_DAMAGED, text }
    : outcomeCommand(deps, attempt, pendingRecipients(email), { host: deps.mailer.host, durationMs: 0, recipients });
  return { command, line: { level: 'warn', fields: { attempt, isLast, err: damaged }, message: 'the file of an attachment is damaged' } };
};

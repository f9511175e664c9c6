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
import type { LogLine, AttemptContext, BegunAttempt, Made, Processor, StartedBy } from '../core/declaration.js';
import { type Damaged, type Impossible, envelopeOf, type Message, prepareMessage } from './message.js';
import type { EmailNeeds } from '../../commands/email/needs.js';
import { assertDefined, type StreamName } from '../../domain/core/ids.js';
import type { Priority } from '../../domain/ports/bus.js';
import type { Logger } from '../../domain/ports/logger.js';
import { type TrackingTokens, openTrackingTokens } from '../../domain/recipients/tracking.js';
import { type DomainKeys, openDomainKeys } from '../domains/sender-domains.js';
import { withdrawalOf, suppressionOf } from './conditions.js';
import { nextDay, openRoutes, type Relays, type Route, type Routes } from './routes.js';
import { linkBaseOf } from '../../commands/recipients/unsubscribe.js';
import { makeProcessor } from '../core/processor.js';

export type DeliveryDeps = EmailNeeds &
  Readonly<{
    logger: Logger;
    /** The relay of all mails, if `relays` is absent. */
    mailer: Mailer;
    relays?: Relays;
    /** The relays, if others look at them too. */
    routes?: Routes;
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

type DeliveringByAny = DeliveryDeps &
  Readonly<{
    routes: Routes;
    waiting: (email: Email) => WaitForHost;
    domainKeys: DomainKeys;
    trackingTokens: TrackingTokens;
  }>;

/** `mailer`: that of the relay of `route`. */
type Delivering = DeliveringByAny & Readonly<{ route: Route }>;

/** A relay by which no attempt has begun, and why. `isAway`: it gets no mail until it takes a session again. */
type Passed = Readonly<{ relay: string; host: string; fault: RecipientOutcome; isAway: boolean }>;

type Passing = Readonly<{ kind: 'passed'; passed: Passed }>;

type Context = AttemptContext<Email, EmailCommand>;

/** How long an email may wait for the host, and for how long of its wait nobody tried. */
type WaitForHost = Readonly<{ waitForHostMs: number; unwatchedMs: number }>;

/** One dialogue of an attempt. `recipients`: by their place in the email, either all simulated or all real. */
type Part = Readonly<{ recipients: readonly number[]; isSimulated: boolean }>;

type Composed = Message | Impossible | Damaged;

/** Makes the message of a part. */
type Compose = (part: Part) => Composed;

/**
 * An attempt that has begun. `atMs`: when, by the monotonic clock. `signal`, `cut`, `isOurs`: as of `BegunAttempt`.
 * `ended`: the outcomes of the first parts, in their order.
 */
type Attempt = Readonly<{
  attempt: number;
  email: Email;
  parts: readonly Part[];
  compose: Compose;
  atMs: number;
  signal: AbortSignal;
  cut: AbortSignal;
  isOurs: BegunAttempt<Email>['isOurs'];
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

/**
 * A content is sent only while the lease holds for this long, so that no other process takes the mail over before most
 * relays have answered.
 */
const REPLY_MS = 3_000;

export const deliverEmail = (deps: DeliveryDeps): Processor => {
  const { limits } = deps;
  const routes = deps.routes ?? openRoutes(deps);
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
      begin: (attempt, email) => ({ type: 'AttemptDelivery', host: hostFor(deps.mailer, email), ...attempt }),
      passesGate: needsNoHost,
      hold: ({ at }, email) => ({ type: 'HoldEmail', at, host: deps.mailer.host, ...waiting(email) }),
      make: (context) => deliver({ ...deps, routes, waiting, domainKeys, trackingTokens }, context),
    },
    gate: routes.gate,
  });
};

/** Tries the relays of the mail in their order, until an attempt has begun by one of them or the mail waits. */
const deliver = async (deps: DeliveringByAny, context: Context): Promise<Made<EmailCommand>> => {
  const parts = partsOf(context.state);
  const passed: Passed[] = [];
  for (const route of deps.routes.of(context.teamId, context.state)) {
    const made = await deliverBy({ ...deps, route, mailer: route.mailer }, context, parts, passed);
    if (made.kind !== 'passed') return made;
    passed.push(made.passed);
  }
  return waitForRelays(deps, context, passed);
};

/** Connects, records that the attempt begins, sends, and records the outcome; then the other parts. */
const deliverBy = async (
  deps: Delivering,
  context: Context,
  parts: readonly Part[],
  passed: readonly Passed[],
): Promise<Made<EmailCommand> | Passing> => {
  const { clock, mailer, route } = deps;
  const { state: email, teamId, signal } = context;
  const { priority } = email.accepted;
  const relay = parts[0]!.isSimulated ? undefined : route.name;
  if (relay !== undefined) {
    if (!route.breaker.isOpen()) return passing(relay, mailer, relayAway, true);
    if (route.days?.isFull() === true) return passing(relay, mailer, dayFull, false);
    const againInMs = (await route.pace?.take(priority, signal)) ?? 0;
    if (againInMs > 0) return { kind: 'put-back', atMs: clock.now() + againInMs };
  }
  const askedMs = clock.monotonic();
  const lent = await senderOf(mailer, email, parts[0]!).lend(
    { priority, signal },
    async (send): Promise<Made<EmailCommand> | Passing | Attempt> => {
      await deps.turnFor(priority);
      const instead = (await withdrawalOf(deps, teamId, email)) ?? (await suppressionOf(deps, teamId, email));
      if (instead !== undefined) return { kind: 'hold', command: instead };
      if (relay !== undefined && (await route.days?.take()) === false) return passing(relay, mailer, dayFull, false);
      const [begun, { compose, first }] = await bothDone(
        context.begin(relay === undefined ? undefined : (command) => byRelay(command, relay, mailer, passed)),
        firstMessage(deps, context, parts[0]!),
      );
      if (begun === undefined) return { kind: 'done' };
      const { attempt } = assertDefined(openAttempt(begun.state), 'attempt');
      const made = {
        attempt,
        email: begun.state,
        parts,
        compose,
        atMs: clock.monotonic(),
        signal: begun.signal,
        cut: begun.cut,
        isOurs: begun.isOurs,
        ended: [],
      };
      return sendPart(deps, context, made, first, send);
    },
  );
  if (lent.kind === 'given-up') return { kind: 'put-back', atMs: clock.now() };
  if (lent.kind === 'host-away') {
    if (relay === undefined) return waitForHost(deps, context, askedMs, lent.fault);
    deps.logger.info(
      { stream: context.stream, relay, ...wordsOf(lent.fault) },
      'no session could be opened; the next relay is tried',
    );
    return passing(relay, mailer, lent.fault, route.breaker.away(askedMs));
  }
  return 'kind' in lent.result ? lent.result : sendOtherParts(deps, context, lent.result);
};

const passing = (relay: string, { host }: Pick<Mailer, 'host'>, fault: RecipientOutcome, isAway: boolean): Passing => ({
  kind: 'passed',
  passed: { relay, host, fault, isAway },
});

const noReply = { result: 'deferred', replyCode: null, enhancedCode: null } as const;

const relayAway: RecipientOutcome = {
  ...noReply,
  rule: 'relay-away',
  text: 'the relay takes no sessions now',
};

const dayFull: RecipientOutcome = {
  ...noReply,
  rule: 'relay-day-full',
  text: 'the relay gets no more mails today, because it is new; its next day begins at midnight UTC',
};

const byRelay = (
  command: EmailCommand,
  relay: string,
  { host }: Pick<Mailer, 'host'>,
  passed: readonly Passed[],
): EmailCommand => {
  if (command.type !== 'AttemptDelivery') return command;
  if (passed.length === 0) return { ...command, host, relay };
  const passedRelays = passed.map(({ relay: name, fault: { rule, replyCode } }) => ({ relay: name, rule, replyCode }));
  return { ...command, host, relay, passedRelays };
};

/**
 * No relay has begun an attempt. If one of them is away, the mail is held until a relay takes sessions again. If all
 * have got as many mails as they may get today, it waits for the next day.
 */
const waitForRelays = (
  { clock, waiting }: DeliveringByAny,
  { state: email, deliveries }: Context,
  passed: readonly Passed[],
): Made<EmailCommand> => {
  const away = passed.filter(({ isAway }) => isAway);
  const isDayFull = ({ fault }: Passed): boolean => fault === dayFull;
  if (away.length === 0 && !passed.every(isDayFull))
    return { kind: 'put-back', atMs: clock.now() + pauseBeforeNext(deliveries) };
  const { relay, host, fault } = away.find((one) => one.fault !== relayAway) ?? away[0] ?? passed[0]!;
  const waitsUntil = away.length === 0 ? { waitsUntil: nextDay(clock.now()) } : {};
  const at = isoTime(clock.now());
  return {
    kind: 'hold',
    command: { type: 'HoldEmail', at, host, relay, ...waitsUntil, ...waiting(email), fault },
    line: { level: 'info', fields: { relay, ...wordsOf(fault) }, message: 'no relay takes the mail now' },
  };
};

const wordsOf = ({ rule, text }: RecipientOutcome) => ({ rule, reply: withoutAddresses(text) });

/** No session could be opened, so the attempt has not begun. */
const waitForHost = (
  deps: Delivering,
  context: Context,
  askedMs: number,
  fault: RecipientOutcome,
): Made<EmailCommand> => {
  const { clock, route, mailer, waiting } = deps;
  const line = { level: 'info' as const, fields: wordsOf(fault), message: 'no session could be opened' };
  if (!route.breaker.away(askedMs))
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
  const { email, parts, ended, signal, cut, isOurs } = attempt;
  const part = parts[ended.length]!;
  const mayGoOn = (): boolean => isOurs(REPLY_MS);
  const outcome = await send(outgoing(deps, context.stream, email, part.recipients, composed), signal, mayGoOn, cut);
  // A dialogue that ends because the lease is lost says nothing of the relay.
  if (!part.isSimulated && mayGoOn()) deps.route.noted(outcome);
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
  const { mailer, route } = deps;
  while (ended.length < parts.length && !endsAttempt(deps, ended.at(-1)!)) {
    const part = parts[ended.length]!;
    if (!part.isSimulated) await route.pace?.wait(signal);
    const lent = await senderOf(mailer, email, part).lend({ priority, signal }, async (send) => {
      if (!part.isSimulated && (await route.days?.take()) === false) return 'day-full';
      await deps.turnFor(priority);
      return sendPart(deps, context, attempt, compose(part), send);
    });
    if (lent.kind !== 'used') ended.push(leftOutcome(mailer.host, lent, part));
    else if (lent.result === 'day-full')
      ended.push({ host: mailer.host, durationMs: 0, recipients: [dayFull], content: 'none' });
    else if ('kind' in lent.result) return lent.result;
  }
  return endAttempt(deps, context, attempt);
};

/** The relay takes nothing more now, so that the other parts wait or go to another relay. */
const endsAttempt = ({ route }: Delivering, { hostAway, content }: DeliveryOutcome): boolean =>
  hostAway === true || (route.name !== undefined && content === 'none');

/**
 * Records one outcome for all parts; those that were not sent share that of the last one that was. If the relay failed
 * before it got any content, the mail goes to the next relay at once, as an attempt of its own.
 */
const endAttempt = async (deps: Delivering, context: Context, begun: Attempt): Promise<Made<EmailCommand>> => {
  const { attempt, email, parts, ended, atMs } = begun;
  const { route, routes } = deps;
  const { host, hostAway, content, recipients } = ended.at(-1)!;
  const left = parts.slice(ended.length).flatMap((part) => part.recipients.map(() => recipients[0]!));
  const outcome = {
    host,
    durationMs: ended.reduce((sum, { durationMs }) => sum + durationMs, 0),
    recipients: [...ended.flatMap((one) => one.recipients), ...left],
  };
  const pending = parts.flatMap((part) => part.recipients);
  const command = outcomeCommand(deps, attempt, pending, outcome, relayOf(deps, email));
  const line = outcomeLine(attempt, pending, outcome, relayOf(deps, email));
  if (route.name !== undefined && ended.some((one) => one.content === 'some')) {
    await context.end({ ...command, mayHaveIt: true });
    return { kind: 'done', line };
  }
  const hasNotBegun = hostAway === true || content === 'none';
  if (route.name !== undefined && hasNotBegun && routes.hasOther(context.teamId, email, route.name)) {
    if (hostAway === true) route.breaker.away(atMs);
    await context.end({ ...command, failedOver: true });
    return {
      kind: 'put-back',
      atMs: deps.clock.now(),
      line: { ...line, message: 'the relay failed before it got the mail; the next one is tried' },
    };
  }
  const isHeld = hostAway === true && route.breaker.away(atMs);
  await context.end(isHeld ? { ...command, ...deps.waiting(email) } : command);
  return { kind: 'done', line };
};

/** The name of the relay in the events of an attempt; undefined: it has none, or the attempt needs none. */
const relayOf = ({ route }: Pick<OutcomeDeps, 'route'>, email: Email): string | undefined =>
  needsNoHost(email) ? undefined : route.name;

const outgoing = (
  deps: Delivering,
  stream: StreamName,
  email: Email,
  recipients: readonly number[],
  { from, raw, is8Bit, signWith }: Message,
): OutgoingMessage => ({
  envelope: envelopeOf(deps, stream, {
    from,
    to: recipients.map((index) => email.content!.recipients[index]!.email),
    returnPath: deps.route.returnPath,
  }),
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
  route: Pick<Route, 'name'>;
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

const outcomeLine = (
  attempt: number,
  pending: readonly number[],
  { recipients, durationMs }: DeliveryOutcome,
  relay: string | undefined,
) => ({
  level: 'info' as const,
  fields: {
    attempt,
    ...(relay === undefined ? {} : { relay }),
    recipients: pending.length,
    accepted: recipients.filter(({ result }) => result === 'accepted').length,
    rule: recipients.find(({ result }) => result !== 'accepted')?.rule,
    durationMs: Math.round(durationMs),
  },
  message: 'delivery attempt',
});

const outcomeCommand = (
  deps: OutcomeDeps,
  attempt: number,
  pending: readonly number[],
  outcome: DeliveryOutcome,
  relay: string | undefined,
) => ({
  type: 'RecordOutcome' as const,
  attempt,
  at: isoTime(deps.clock.now()),
  host: outcome.host,
  ...(relay === undefined ? {} : { relay }),
  durationMs: outcome.durationMs,
  outcomes: outcome.recipients.map((result, index) => ({ ...result, recipient: pending[index]! })),
  final: deps.mailer.final,
  schedule: deps.schedule,
});

/** undefined: there is nothing to record before the attempt ends. */
const copyCommand = (
  deps: OutcomeDeps,
  { attempt, email }: Pick<Attempt, 'attempt' | 'email'>,
  { host, durationMs, recipients }: DeliveryOutcome,
  part: Pick<Part, 'recipients'>,
): EmailCommand | undefined => {
  const outcomes: PlacedOutcome[] = recipients.map((result, index) => ({
    ...result,
    recipient: part.recipients[index]!,
  }));
  if (outcomes.every(({ result }) => result === 'deferred')) return undefined;
  const relay = relayOf(deps, email);
  const named = relay === undefined ? {} : { relay };
  return { type: 'RecordCopy', attempt, at: isoTime(deps.clock.now()), host, ...named, durationMs, outcomes };
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
    ? { host, durationMs: 0, recipients: recipients.map(() => aborted), content: 'none' }
    : { host, durationMs: 0, recipients: recipients.map(() => lent.fault), hostAway: true };

/** The file may be restored from a backup, so the mail is deferred; it fails after its last attempt. */
const damagedOutcome = (deps: OutcomeDeps, attempt: number, email: Email, damaged: FileDamaged): Unsendable => {
  const text = 'the file of an attachment is damaged';
  const isLast = nextAttemptAfter(email, isoTime(deps.clock.now()), deps.schedule) === undefined;
  const deferred = { result: 'deferred' as const, replyCode: null, enhancedCode: null, rule: ATTACHMENT_DAMAGED, text };
  const recipients = pendingRecipients(email).map(() => deferred);
  const command: EmailCommand = isLast
    ? { type: 'GiveUp', attempt, at: isoTime(deps.clock.now()), reason: 'content-lost', rule: ATTACHMENT_DAMAGED, text }
    : outcomeCommand(
        deps,
        attempt,
        pendingRecipients(email),
        { host: deps.mailer.host, durationMs: 0, recipients },
        deps.route.name,
      );
  return {
    command,
    line: { level: 'warn', fields: { attempt, isLast, err: damaged }, message: 'the file of an attachment is damaged' },
  };
};

/** Delivers an email by SMTP; its state says what is to be sent and to whom. */
import type { CommandDeps } from '../commands/deps.js';
import { linkBaseOf } from '../commands/unsubscribe-links.js';
import { leavesAsCopies, pendingRecipients } from '../domain/email/copies.js';
import { emailDecider, type EmailCommand, type RetrySchedule } from '../domain/email/decider.js';
import { attemptUnderWay, openAttempt, type Email, type EmailState } from '../domain/email/state.js';
import { KeyMissing } from '../domain/errors.js';
import { assertDefined, type StreamName } from '../domain/ids.js';
import type { Priority } from '../domain/ports/bus.js';
import { isoTime, type Clock } from '../domain/ports/clock.js';
import type { Logger } from '../domain/ports/logger.js';
import { openTrackingTokens, type TrackingTokens } from '../domain/tracking/tokens.js';
import type { Delivered, DeliveryOutcome, Mailer, OutgoingMessage } from '../domain/ports/mailer.js';
import { HOUR_MS } from '../domain/time.js';
import type { AttemptContext, LogLine, Made, Processor } from './declaration.js';
import { copyCommand, joinedOutcomes, leftOutcome, outcomeCommand, outcomeLine, outcomeOfUnsendable } from './delivery-outcomes.js';
import { openDomainKeys, type DomainKeys } from './domain-keys.js';
import { envelopeOf } from './envelope.js';
import { prepareMessage, type Damaged, type Impossible, type Message, type Prepared } from './email-message.js';
import { openHostBreaker, type HostBreaker } from './host-breaker.js';
import { makeProcessor } from './processor.js';
import { suppressionOf } from './suppressed-recipients.js';

export const DELIVER_EMAIL = 'deliver-email';

export type DeliveryDeps = CommandDeps &
  Readonly<{
    logger: Logger;
    mailer: Mailer;
    schedule: RetrySchedule;
    /** Awaited before a message is made: many are ready at once, and each takes a millisecond or more of the event loop. */
    turnFor: (priority: Priority) => Promise<void>;
    /** Told how long the composing of a message took. */
    composed?: (seconds: number) => void;
  }>;

export const deliverEmail = (deps: DeliveryDeps): Processor => {
  const { clock, logger, mailer, limits } = deps;
  const breaker = openHostBreaker({ clock, logger, host: mailer.host, probe: (signal) => mailer.probe({ signal }) });
  const waitForHostMs = limits.hostAwayHoursMax * HOUR_MS;
  const domainKeys = openDomainKeys(deps);
  const trackingTokens = openTrackingTokens(deps.keys);
  return makeProcessor<'email', EmailState, EmailCommand>({
    name: DELIVER_EMAIL,
    kind: 'email',
    decider: emailDecider,
    startedBy: {
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
      // It goes on for the others.
      RecipientsSuppressed: ({ data }) => data.priority,
      EmailBouncesNoted: null,
      EmailOpened: null,
      EmailClicked: null,
      EmailDeleted: null,
      EmailArchived: null,
    },
    timers: [
      { kind: 'deliver', read: 'started', inTurns: true },
      { kind: 'deferred', read: 'due', inTurns: true },
      { kind: 'held', read: 'held', inTurns: true },
      { kind: 'processing', read: 'under-way' },
    ],
    deadlineMs: deps.limits.deliveryDeadlineMs,
    attempts: {
      underWay: (email) => attemptUnderWay(email)?.worker,
      assertPossible: (stream, { content, accepted }) => {
        if (content === undefined) throw new KeyMissing(stream);
        if (accepted.unsubscribeList !== undefined) linkBaseOf(deps);
      },
      begin: (attempt) => ({ type: 'AttemptDelivery', host: mailer.host, ...attempt }),
      hold: ({ at }) => ({ type: 'HoldEmail', at, host: mailer.host, waitForHostMs }),
      make: (context) => deliver({ ...deps, breaker, waitForHostMs, domainKeys, trackingTokens }, context),
    },
    gate: breaker,
  });
};

type Delivering = DeliveryDeps &
  Readonly<{ breaker: HostBreaker; waitForHostMs: number; domainKeys: DomainKeys; trackingTokens: TrackingTokens }>;
type Context = AttemptContext<Email, EmailCommand>;

const PUT_BACK_MS = 1_000;
const PUT_BACK_MAX_MS = 30_000;

/** The attempt is recorded once the mailer has a connection for it. */
const deliver = async (deps: Delivering, context: Context): Promise<Made<EmailCommand>> => {
  const { clock, breaker, mailer, waitForHostMs } = deps;
  const { state: email, deliveries, signal } = context;
  const askedMs = clock.monotonic();
  const attempt: Attempt = { begun: undefined, line: undefined, suppressing: undefined };
  const delivered = await mailer.send({
    priority: email.accepted.priority,
    signal,
    begin: () => begin(deps, context, attempt),
    end: (outcome) => endOrGoOn(deps, context, attempt, outcome),
  });
  switch (delivered.kind) {
    case 'ended':
    case 'not-wanted': {
      const { suppressing, begun } = attempt;
      if (suppressing !== undefined) return { kind: 'hold', command: suppressing };
      if (begun?.copies !== undefined) await sendOtherCopies(deps, context, attempt, { ...begun, copies: begun.copies });
      return { kind: 'done', ...(attempt.line === undefined ? {} : { line: attempt.line }) };
    }
    case 'given-up':
      return { kind: 'put-back', atMs: clock.now() };
    case 'host-away': {
      const { fault } = delivered;
      const said = { level: 'info' as const, fields: { rule: fault.rule }, message: 'no session could be opened' };
      if (!breaker.away(askedMs)) return { kind: 'put-back', atMs: clock.now() + pauseBeforeNext(deliveries), line: said };
      const command = { type: 'HoldEmail' as const, at: isoTime(clock.now()), host: mailer.host, waitForHostMs, fault };
      return { kind: 'hold', command, line: said };
    }
  }
};

/** A host that has others of our sessions may take one more soon. */
const pauseBeforeNext = (deliveries: number): number => Math.min(PUT_BACK_MS * 2 ** Math.min(deliveries - 1, 20), PUT_BACK_MAX_MS);

/** What is known while it is made. */
type Attempt = { begun: Begun | undefined; line: LogLine | undefined; suppressing: EmailCommand | undefined };

/** `atMs`: when it has begun, by the monotonic clock. `copies`: there while copies for others are to be sent after the first. */
type Begun = Readonly<{
  attempt: number;
  email: Email;
  pending: readonly number[];
  atMs: number;
  signal: AbortSignal;
  copies: Copies | undefined;
}>;

/** `ended`: of the copies that were sent, in the order of `pending`. */
type Copies = Readonly<{ prepared: Prepared; ended: DeliveryOutcome[] }>;

const begunOf = (clock: Clock, email: Email, signal: AbortSignal): Begun => ({
  attempt: assertDefined(openAttempt(email), 'attempt').attempt,
  email,
  pending: pendingRecipients(email),
  atMs: clock.monotonic(),
  signal,
  copies: undefined,
});

const begin = async (deps: Delivering, context: Context, attempt: Attempt) => {
  const { state: email, teamId } = context;
  await deps.turnFor(email.accepted.priority);
  const suppression = suppressionOf(deps, teamId, email);
  attempt.suppressing = suppression instanceof Promise ? await suppression : suppression;
  if (attempt.suppressing !== undefined) return undefined;
  const isCopies = leavesAsCopies(email);
  const [recorded, made] = await bothDone(context.begin(), firstMessage(deps, context, isCopies));
  if (recorded === undefined) return undefined;
  const begun = begunOf(deps.clock, recorded.state, recorded.signal);
  attempt.begun = begun;
  if (!('raw' in made)) {
    const unsendable = outcomeOfUnsendable(deps, begun, made);
    attempt.line = unsendable.line;
    await context.end(unsendable.command);
    return undefined;
  }
  const others = isCopies && begun.pending.length > 1;
  if (others) attempt.begun = { ...begun, copies: { prepared: made.prepared, ended: [] } };
  return {
    message: outgoing(deps, context.stream, begun.email, others ? begun.pending.slice(0, 1) : begun.pending, made),
    signal: begun.signal,
  };
};

const firstMessage = async (
  deps: Delivering,
  context: Context,
  isCopies: boolean,
): Promise<(Message & Readonly<{ prepared: Prepared }>) | Impossible | Damaged> => {
  const { state: email } = context;
  const prepared = await prepareMessage(deps, context, email);
  if (!('message' in prepared)) return prepared;
  const made = prepared.message(isCopies ? pendingRecipients(email)[0] : undefined);
  return 'raw' in made ? { ...made, prepared } : made;
};

/** Of the mail for all it is the end of the attempt; of the first of several copies it is noted before the next leaves. */
const endOrGoOn = async (deps: Delivering, context: Context, attempt: Attempt, outcome: DeliveryOutcome): Promise<void> => {
  const begun = assertDefined(attempt.begun, 'attempt');
  if (outcome.hostAway === undefined) deps.breaker.answered();
  if (begun.copies === undefined) return endAttempt(deps, context, attempt, begun, outcome);
  begun.copies.ended.push(outcome);
  const command = copyCommand(deps, begun, outcome, begun.copies.ended.length - 1);
  if (command !== undefined) await context.note(command);
};

const endAttempt = async (deps: Delivering, context: Context, attempt: Attempt, begun: Begun, outcome: DeliveryOutcome): Promise<void> => {
  attempt.line = outcomeLine(begun.attempt, begun.pending, outcome);
  const command = outcomeCommand(deps, begun.attempt, begun.pending, outcome);
  const isHeld = outcome.hostAway === true && deps.breaker.away(begun.atMs);
  await context.end(isHeld ? { ...command, waitForHostMs: deps.waitForHostMs } : command);
};

/** One after the other, each when the answer to the one before it is recorded; where the host is away the others wait with it for the next attempt. */
const sendOtherCopies = async (
  deps: Delivering,
  context: Context,
  attempt: Attempt,
  begun: Begun & Readonly<{ copies: Copies }>,
): Promise<void> => {
  const { pending, copies } = begun;
  const finish = (outcomes: readonly DeliveryOutcome[]): Promise<void> =>
    endAttempt(deps, context, attempt, begun, joinedOutcomes(deps.mailer.host, outcomes));
  while (copies.ended.length < pending.length && copies.ended.at(-1)!.hostAway === undefined) {
    const isLast = copies.ended.length === pending.length - 1;
    const delivered = await sendCopy(deps, context, attempt, begun, (outcome) =>
      isLast ? finish([...copies.ended, outcome]) : endOrGoOn(deps, context, attempt, outcome),
    );
    if (delivered.kind === 'not-wanted' || (delivered.kind === 'ended' && isLast)) return;
    if (delivered.kind !== 'ended') copies.ended.push(leftOutcome(deps.mailer.host, delivered));
  }
  const last = copies.ended.at(-1)!;
  await finish([...copies.ended, ...pending.slice(copies.ended.length).map(() => ({ ...last, durationMs: 0 }))]);
};

/** Waits for a connection as long as the attempt may last. `not-wanted`: the copy could not be made, and the attempt has ended with that. */
const sendCopy = (
  deps: Delivering,
  context: Context,
  attempt: Attempt,
  begun: Begun & Readonly<{ copies: Copies }>,
  end: (outcome: DeliveryOutcome) => Promise<void>,
): Promise<Delivered> => {
  const { email, pending, copies, signal } = begun;
  const { priority } = email.accepted;
  const recipient = pending[copies.ended.length]!;
  return deps.mailer.send({
    priority,
    signal,
    begin: async () => {
      await deps.turnFor(priority);
      const made = copies.prepared.message(recipient);
      if ('raw' in made) return { message: outgoing(deps, context.stream, email, [recipient], made), signal };
      const { command, line } = outcomeOfUnsendable(deps, begun, made);
      attempt.line = line;
      await context.end(command);
      return undefined;
    },
    end,
  });
};

/** Where one rejects the other is awaited all the same: nothing is under way when this has ended. */
const bothDone = async <First, Second>(first: Promise<First>, second: Promise<Second>): Promise<readonly [First, Second]> => {
  try {
    return await Promise.all([first, second]);
  } catch (fault) {
    await Promise.allSettled([first, second]);
    throw fault;
  }
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

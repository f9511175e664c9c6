/** The dialogues of one attempt: one for all its recipients, or one for each part of them, and what is recorded between them and at the end. */
import type { CommandDeps } from '../../commands/core/deps.js';
import { leavesAsCopies } from '../../domain/email/copies.js';
import type { EmailCommand, RetrySchedule } from '../../domain/email/decider.js';
import { openAttempt, type Email } from '../../domain/email/state.js';
import { assertDefined, type StreamName } from '../../domain/core/ids.js';
import type { Priority } from '../../domain/ports/bus.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Delivered, DeliveryOutcome, Mailer, OutgoingMessage } from '../../domain/ports/mailer.js';
import type { TrackingTokens } from '../../domain/recipients/tracking.js';
import type { AttemptContext, LogLine } from '../core/declaration.js';
import { copyCommand, joinedOutcomes, leftOutcome, outcomeCommand, outcomeLine, outcomeOfUnsendable } from './delivery-outcomes.js';
import { senderOf, type Part } from './delivery-parts.js';
import type { DomainKeys } from '../domains/domain-keys.js';
import { envelopeOf } from './envelope.js';
import type { Message, Prepared } from './message.js';
import type { HostBreaker } from './host-breaker.js';

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

export type Delivering = DeliveryDeps &
  Readonly<{ breaker: HostBreaker; waitForHostMs: number; domainKeys: DomainKeys; trackingTokens: TrackingTokens }>;
export type Context = AttemptContext<Email, EmailCommand>;

/** What is known while it is made. */
export type Attempt = { begun: Begun | undefined; line: LogLine | undefined; suppressing: EmailCommand | undefined };

/**
 * `atMs`: when it has begun, by the monotonic clock. `pending`: the recipients of all parts, in their order. `apart`: there while other parts
 * are to be sent after the first.
 */
type Begun = Readonly<{
  attempt: number;
  email: Email;
  parts: readonly Part[];
  pending: readonly number[];
  atMs: number;
  signal: AbortSignal;
  apart: Apart | undefined;
}>;

/** `ended`: of the parts that were sent, in their order. */
type Apart = Readonly<{ prepared: Prepared; ended: DeliveryOutcome[] }>;

type BegunApart = Begun & Readonly<{ apart: Apart }>;

export const begunOf = (clock: Clock, email: Email, signal: AbortSignal, parts: readonly Part[]): Begun => ({
  attempt: assertDefined(openAttempt(email), 'attempt').attempt,
  email,
  parts,
  pending: parts.flatMap(({ recipients }) => recipients),
  atMs: clock.monotonic(),
  signal,
  apart: undefined,
});

/** Of the mail for all it is the end of the attempt; of the first of several parts it is noted before the next leaves. */
export const endOrGoOn = async (deps: Delivering, context: Context, attempt: Attempt, outcome: DeliveryOutcome): Promise<void> => {
  const begun = assertDefined(attempt.begun, 'attempt');
  const part = begun.parts[begun.apart?.ended.length ?? 0];
  if (outcome.hostAway === undefined && part?.isSimulated !== true) deps.breaker.answered();
  if (begun.apart === undefined) return endAttempt(deps, context, attempt, begun, outcome);
  begun.apart.ended.push(outcome);
  const command = copyCommand(deps, begun, outcome, assertDefined(part, 'part'));
  if (command !== undefined) await context.note(command);
};

const endAttempt = async (deps: Delivering, context: Context, attempt: Attempt, begun: Begun, outcome: DeliveryOutcome): Promise<void> => {
  attempt.line = outcomeLine(begun.attempt, begun.pending, outcome);
  const command = outcomeCommand(deps, begun.attempt, begun.pending, outcome);
  const isHeld = outcome.hostAway === true && deps.breaker.away(begun.atMs);
  await context.end(isHeld ? { ...command, waitForHostMs: deps.waitForHostMs } : command);
};

/** One after the other, each when the answer to the one before it is recorded; where the host is away the others wait with it for the next attempt. */
export const sendOtherParts = async (deps: Delivering, context: Context, attempt: Attempt, begun: BegunApart): Promise<void> => {
  const { parts, apart } = begun;
  const finish = (outcomes: readonly DeliveryOutcome[]): Promise<void> =>
    endAttempt(deps, context, attempt, begun, joinedOutcomes(deps.mailer.host, outcomes));
  while (apart.ended.length < parts.length && apart.ended.at(-1)!.hostAway === undefined) {
    const part = parts[apart.ended.length]!;
    const isLast = apart.ended.length === parts.length - 1;
    const delivered = await sendPart(deps, context, attempt, begun, (outcome) =>
      isLast ? finish([...apart.ended, outcome]) : endOrGoOn(deps, context, attempt, outcome),
    );
    if (delivered.kind === 'not-wanted' || (delivered.kind === 'ended' && isLast)) return;
    if (delivered.kind !== 'ended') apart.ended.push(leftOutcome(deps.mailer.host, delivered, part));
  }
  const last = apart.ended.at(-1)!;
  const rest = parts.slice(apart.ended.length).map(({ recipients }) => recipients.map(() => last.recipients[0]!));
  await finish([...apart.ended, ...rest.map((recipients) => ({ ...last, durationMs: 0, recipients }))]);
};

/** Waits for a connection as long as the attempt may last. `not-wanted`: the part could not be made, and the attempt has ended with that. */
const sendPart = (
  deps: Delivering,
  context: Context,
  attempt: Attempt,
  begun: BegunApart,
  end: (outcome: DeliveryOutcome) => Promise<void>,
): Promise<Delivered> => {
  const { email, parts, apart, signal } = begun;
  const { priority } = email.accepted;
  const part = parts[apart.ended.length]!;
  return senderOf(deps.mailer, email, part).send({
    priority,
    signal,
    begin: async () => {
      await deps.turnFor(priority);
      const made = apart.prepared.message(leavesAsCopies(email) ? part.recipients[0] : undefined);
      if ('raw' in made) return { message: outgoing(deps, context.stream, email, part.recipients, made), signal };
      const { command, line } = outcomeOfUnsendable(deps, begun, made);
      attempt.line = line;
      await context.end(command);
      return undefined;
    },
    end,
  });
};

export const outgoing = (
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

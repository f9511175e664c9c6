/** Delivers an email by SMTP; its state says what is to be sent and to whom. */
import { linkBaseOf } from '../../commands/recipients/links.js';
import { leavesAsCopies, pendingRecipients } from '../../domain/email/copies.js';
import { emailDecider, type EmailCommand } from '../../domain/email/decider.js';
import { attemptUnderWay, type EmailState } from '../../domain/email/state.js';
import { KeyMissing } from '../../domain/core/errors.js';
import { isoTime } from '../../domain/core/iso-time.js';
import { openTrackingTokens } from '../../domain/recipients/tracking.js';
import { HOUR_MS } from '../../domain/core/time.js';
import { withdrawalOf } from './deleted-team.js';
import type { Made, Processor, StartedBy } from '../core/declaration.js';
import { outcomeOfUnsendable } from './delivery-outcomes.js';
import { hostFor, needsNoHost, partsOf, senderOf, type Part } from './delivery-parts.js';
import { openDomainKeys } from '../domains/domain-keys.js';
import { prepareMessage, type Damaged, type Impossible, type Message, type Prepared } from './message.js';
import { openHostBreaker } from './host-breaker.js';
import { makeProcessor } from '../core/processor.js';
import { begunOf, endOrGoOn, outgoing, sendOtherParts, type Attempt, type Context, type Delivering, type DeliveryDeps } from './sending.js';
import { suppressionOf } from './conditions.js';

export type { DeliveryDeps } from './sending.js';

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
  // It goes on for the others.
  RecipientsSuppressed: ({ data }) => data.priority,
  // One that was being made is made anew without them.
  RecipientsErased: ({ data }) => data.priority,
  EmailBouncesNoted: null,
  EmailOpened: null,
  EmailClicked: null,
  EmailDeleted: null,
  EmailArchived: null,
  EmailRemoved: null,
  EmailSummarised: null,
  EmailRetired: null,
};

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
      hold: ({ at }) => ({ type: 'HoldEmail', at, host: mailer.host, waitForHostMs }),
      make: (context) => deliver({ ...deps, breaker, waitForHostMs, domainKeys, trackingTokens }, context),
    },
    gate: breaker,
  });
};

const PUT_BACK_MS = 1_000;
const PUT_BACK_MAX_MS = 30_000;

/** The attempt is recorded once the mailer has a connection for it. */
const deliver = async (deps: Delivering, context: Context): Promise<Made<EmailCommand>> => {
  const { clock, breaker, mailer, waitForHostMs } = deps;
  const { state: email, deliveries, signal } = context;
  const askedMs = clock.monotonic();
  const attempt: Attempt = { begun: undefined, line: undefined, suppressing: undefined };
  const parts = partsOf(email);
  const [first] = parts;
  // Whoever was left is suppressed, or has an answer that no event has said yet which ends an attempt.
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
      if (begun?.apart !== undefined) await sendOtherParts(deps, context, attempt, { ...begun, apart: begun.apart });
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

const begin = async (deps: Delivering, context: Context, attempt: Attempt, parts: readonly Part[]) => {
  const { state: email, teamId } = context;
  await deps.turnFor(email.accepted.priority);
  const withdrawal = withdrawalOf(deps, teamId, email);
  attempt.suppressing = withdrawal instanceof Promise ? await withdrawal : withdrawal;
  if (attempt.suppressing !== undefined) return undefined;
  const suppression = suppressionOf(deps, teamId, email);
  attempt.suppressing = suppression instanceof Promise ? await suppression : suppression;
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
  if (others) attempt.begun = { ...begun, apart: { prepared: made.prepared, ended: [] } };
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

/** Where one rejects the other is awaited all the same: nothing is under way when this has ended. */
const bothDone = async <First, Second>(first: Promise<First>, second: Promise<Second>): Promise<readonly [First, Second]> => {
  try {
    return await Promise.all([first, second]);
  } catch (fault) {
    await Promise.allSettled([first, second]);
    throw fault;
  }
};

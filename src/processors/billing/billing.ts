/**
 * Background work on billing: checks reservations of credits, disables unused accounts, returns the credits of emails
 * that were not sent.
 */
import { type CreditsAccounts, freedAt, findFreedCredits } from '../../commands/billing/credits.js';
import type { Decider } from '../../domain/core/decider.js';
import type { CreditsEvent } from '../../domain/billing/events.js';
import { assertDefined, parseTeamId, splitStream, teamStream, type StreamName } from '../../domain/core/ids.js';
import { type Processor, type Context, type Outcome, type ProcessorDeps, causeOfWork } from '../core/declaration.js';
import { makeProcessor } from '../core/processor.js';
import type { BillingNeeds } from '../../commands/billing/credits.js';
import { teamUseDecider, type TeamUse, type TeamUseCommand, type TeamUseState } from '../../domain/billing/team-use.js';
import { isoTime } from '../../domain/core/time.js';
import { EventUnknown, EventUnreadable } from '../../domain/core/errors.js';
import type { Recorded } from '../../domain/events.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import type { Worker } from '../../domain/ports/worker.js';
import type { EventLog } from '../../event-log/event-log.js';
import { underLease, type LeaseDeps } from '../core/lease.js';

/** No state is folded: `credits.settle` reads what it needs. */
const decider: Decider<never, CreditsEvent, true | undefined> = {
  decide: () => [],
  evolve: () => true,
  initialState: undefined,
};

/** Some time after a reservation of credits, checks whether the email or batch was created. */
export const settleCredits = ({ credits }: Readonly<{ credits: CreditsAccounts }>): Processor =>
  makeProcessor({
    name: 'settle-credits',
    kind: 'credits',
    decider,
    timers: [{ kind: 'settle', read: 'due' }],
    deadlineMs: 60_000,
    // Reads the last event only: the stream may have millions.
    foldsFrom: async ({ eventLog }, stream) => (await eventLog.last(stream))?.revision ?? 0,
    act: async ({ stream, cause: { fence: _fence, ...cause } }) => {
      await credits.settle(assertDefined(parseTeamId(splitStream(stream).id), 'team id'), cause);
      return {};
    },
  });

type EndInactiveDeps = Pick<BillingNeeds, 'clock' | 'team' | 'credits'> & Pick<ProcessorDeps, 'mayDestroy'>;

/**
 * Disables the account of a metered team after a year without use, then removes its credits. Disabled first: after a
 * crash the rest is still due.
 */
export const endInactive = (deps: EndInactiveDeps): Processor =>
  makeProcessor<'activity', TeamUseState, TeamUseCommand>({
    name: 'end-inactive',
    kind: 'activity',
    decider: teamUseDecider,
    timers: [{ kind: 'inactive', read: 'due', destroys: true, seldom: true }],
    deadlineMs: 60_000,
    act: (context) => act(deps, context),
  });

const act = async (
  { clock, team, credits, mayDestroy }: EndInactiveDeps,
  { stream, state: use, cause }: Context<TeamUse>,
): Promise<Outcome<TeamUseCommand>> => {
  if (!mayDestroy()) return {};
  const at = isoTime(clock.now());
  const teamId = assertDefined(parseTeamId(splitStream(stream).id), 'team id');
  const isMetered = ((await team(teamStream(teamId))).state?.billing ?? 'unmetered') !== 'unmetered';
  if (!isMetered) return { command: { type: 'Uncount', at } };
  if (use.isSettled) return { command: { type: 'Disable', at } };
  const { fence: _fence, ...resetCause } = cause;
  // If it is repeated after a crash, the balance is 0 and nothing is appended.
  await credits.change(teamId, { type: 'Reset', at }, resetCause);
  return { command: { type: 'Settle', at } };
};

const NAME = 'return-credits';
const LOOK_EVERY_MS = 2_000;

type ReturnCreditsDeps = LeaseDeps &
  Readonly<{
    eventLog: EventLog;
    readModels: Pick<ReadModels, 'find'>;
    credits: CreditsAccounts;
    /** The last cancelled email whose credits were returned, from the read models. */
    returnedUpTo: (
      readModels: Pick<ReadModels, 'find'>,
    ) => Promise<Readonly<{ lastFact: string | null; first: number }> | undefined>;
  }>;

/**
 * Returns the credits of emails that were sent to nobody: cancelled, or all recipients suppressed. It follows the log
 * in order, one email after the other, so the last returned email tells on every engine how far it has come.
 */
export const returnCreditsWorker = (deps: ReturnCreditsDeps): Worker => ({
  name: NAME,
  run: (stop) =>
    underLease(deps, NAME, stop, async ({ signal }) => {
      let position: number | undefined;
      while (!signal.aborted) {
        position ??= await beginning(deps);
        if (position !== undefined) position = await returnAfter(deps, position, signal);
        await deps.clock.sleep(LOOK_EVERY_MS, signal);
      }
    }),
});

/**
 * The position to start after. Emails that were returned already are skipped by `returnCancelled`. undefined: no team
 * is metered.
 */
const beginning = async ({ eventLog, readModels, returnedUpTo }: ReturnCreditsDeps): Promise<number | undefined> => {
  const known = await returnedUpTo(readModels);
  if (known === undefined) return undefined;
  return known.lastFact === null ? known.first : freedAt(eventLog, known.lastFact as StreamName);
};

/** Out: the position up to which the log was read. */
const returnAfter = async (deps: ReturnCreditsDeps, after: number, signal: AbortSignal): Promise<number> => {
  let reached = after;
  const options = {
    kinds: ['email'],
    types: ['EmailCancelled' as const, 'RecipientsSuppressed' as const],
    decrypt: [],
    signal,
  };
  for await (const { events, position } of deps.eventLog.readAll(after, options)) {
    for (const cancelled of events) {
      if (signal.aborted) return reached;
      await returnOne(deps, cancelled);
      reached = cancelled.position;
    }
    reached = position;
  }
  return reached;
};

const returnOne = async (deps: ReturnCreditsDeps, recorded: Recorded): Promise<void> => {
  const { stream, position, metadata } = recorded;
  const charged = await chargedOf(deps, recorded);
  if (charged === undefined) return;
  const from = { teamId: metadata.teamId, correlationId: metadata.correlationId, causationId: metadata.eventId };
  const cause = causeOfWork(deps, NAME, from);
  const cancellation = { part: splitStream(stream).id, fact: stream as StreamName, position };
  await deps.credits.returnCancelled(
    assertDefined(parseTeamId(metadata.teamId), 'team id'),
    charged,
    cancellation,
    cause,
  );
};

/** An email whose events cannot be read is logged and skipped, so that the others go on. */
const chargedOf = async ({ eventLog, logger }: ReturnCreditsDeps, { stream, position }: Recorded) => {
  try {
    const freed = await findFreedCredits(eventLog, await eventLog.load(stream as StreamName));
    return freed?.position === position ? freed.charged : undefined;
  } catch (fault) {
    if (!(fault instanceof EventUnreadable) && !(fault instanceof EventUnknown)) throw fault;
    logger.error(
      { stream, err: fault },
      'the credits of an email that nobody was sent are not returned, for its events cannot be read',
    );
    return undefined;
  }
};

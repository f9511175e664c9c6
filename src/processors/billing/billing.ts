/**
 * Gives the credits of emails back that nobody was sent: cancelled ones, and those to suppressed addresses alone. It follows what ended
 * them in the order of the log, one after the other, so that the last one returned says how far it has come, on whatever engine.
 */
import { type CreditsAccounts, freedAt, whatIsFreed } from '../../commands/billing/credits.js';
import type { Decider } from '../../domain/core/decider.js';
import type { CreditsEvent } from '../../domain/billing/events.js';
import { assertDefined, parseTeamId, splitStream, teamStream, type StreamName } from '../../domain/core/ids.js';
import { type Processor, type StartedBy, type Context, type Outcome, type ProcessorDeps, causeOfWork } from '../core/declaration.js';
import { makeProcessor } from '../core/processor.js';
import type { CommandDeps } from '../../commands/core/deps.js';
import { activityDecider, type Activity, type ActivityCommand, type ActivityState } from '../../domain/billing/inactivity.js';
import { isoTime } from '../../domain/core/time.js';
import { EventUnknown, EventUnreadable } from '../../domain/core/errors.js';
import type { Recorded } from '../../domain/events.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import type { Worker } from '../../domain/ports/worker.js';
import type { EventLog } from '../../event-log/event-log.js';
import { underLease, type LeaseDeps } from '../core/lease.js';

/* Looks, some time after a reservation of credits, whether what it was made for came to be. */

/** The command loads what it needs of the state. */
const decider: Decider<never, CreditsEvent, true | undefined> = { decide: () => [], evolve: () => true, initialState: undefined };

const byTimeOnly: StartedBy<'credits'> = {
  CreditsGranted: null,
  CreditsBought: null,
  CreditsReserved: null,
  CreditsReturned: null,
  CreditsReset: null,
  QuotaMonthBegan: null,
  QuotaThresholdReached: null,
  ReservationsSettled: null,
  CreditsCarried: null,
};

export const settleCredits = ({ credits }: Readonly<{ credits: CreditsAccounts }>): Processor =>
  makeProcessor({
    name: 'settle-credits',
    kind: 'credits',
    decider,
    startedBy: byTimeOnly,
    timers: [{ kind: 'settle', read: 'due' }],
    deadlineMs: 60_000,
    // A stream of millions is not read for this.
    foldsFrom: async ({ eventLog }, stream) => (await eventLog.last(stream))?.revision ?? 0,
    act: async ({ stream, cause: { fence: _fence, ...cause } }) => {
      await credits.settle(assertDefined(parseTeamId(splitStream(stream).id), 'team id'), cause);
      return {};
    },
  });

/* Disables the account of a metered team that nobody has used for a year, and then takes its credits: the fact first, so that a crash in between leaves the rest to do. */

type EndInactiveDeps = Pick<CommandDeps, 'clock' | 'team' | 'credits'> & Pick<ProcessorDeps, 'mayDestroy'>;

export const endInactive = (deps: EndInactiveDeps): Processor =>
  makeProcessor<'activity', ActivityState, ActivityCommand>({
    name: 'end-inactive',
    kind: 'activity',
    decider: activityDecider,
    startedBy: {
      AccountUsed: null,
      AccountDisabled: null,
      AccountSettled: null,
      AccountReactivated: null,
      AccountUncounted: null,
    },
    timers: [{ kind: 'inactive', read: 'due', destroys: true, seldom: true }],
    deadlineMs: 60_000,
    act: (context) => act(deps, context),
  });

const act = async (
  { clock, team, credits, mayDestroy }: EndInactiveDeps,
  { stream, state: activity, cause }: Context<Activity>,
): Promise<Outcome<ActivityCommand>> => {
  if (!mayDestroy()) return {};
  const at = isoTime(clock.now());
  const teamId = assertDefined(parseTeamId(splitStream(stream).id), 'team id');
  const isMetered = ((await team(teamStream(teamId))).state?.billing ?? 'unmetered') !== 'unmetered';
  if (!isMetered) return { command: { type: 'Uncount', at } };
  if (activity.isSettled) return { command: { type: 'Disable', at } };
  const { fence: _fence, ...of } = cause;
  // Done again after a crash it finds nothing to take.
  await credits.change(teamId, { type: 'Reset', at }, of);
  return { command: { type: 'Settle', at } };
};

const NAME = 'return-credits';
const LOOK_EVERY_MS = 2_000;

type ReturnCreditsDeps = LeaseDeps &
  Readonly<{
    eventLog: EventLog;
    readModels: Pick<ReadModels, 'find'>;
    credits: CreditsAccounts;
    /** Where the read models know that cancelled emails are returned up to. */
    returnedUpTo: (readModels: Pick<ReadModels, 'find'>) => Promise<Readonly<{ lastFact: string | null; first: number }> | undefined>;
  }>;

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

/** What was returned already is told again and does nothing. undefined: no team is metered. */
const beginning = async ({ eventLog, readModels, returnedUpTo }: ReturnCreditsDeps): Promise<number | undefined> => {
  const known = await returnedUpTo(readModels);
  if (known === undefined) return undefined;
  return known.lastFact === null ? known.first : freedAt(eventLog, known.lastFact as StreamName);
};

/** Out: up to where the log has been looked at. */
const returnAfter = async (deps: ReturnCreditsDeps, after: number, signal: AbortSignal): Promise<number> => {
  let reached = after;
  const options = { kinds: ['email'], types: ['EmailCancelled' as const, 'RecipientsSuppressed' as const], decrypt: [], signal };
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
  await deps.credits.returnCancelled(assertDefined(parseTeamId(metadata.teamId), 'team id'), charged, cancellation, cause);
};

/** Where the email is damaged nobody knows what it was charged; all others go on. */
const chargedOf = async ({ eventLog, logger }: ReturnCreditsDeps, { stream, position }: Recorded) => {
  try {
    const freed = whatIsFreed(await eventLog.load(stream as StreamName));
    return freed?.position === position ? freed.charged : undefined;
  } catch (fault) {
    if (!(fault instanceof EventUnreadable) && !(fault instanceof EventUnknown)) throw fault;
    logger.error({ stream, err: fault }, 'the credits of an email that nobody was sent are not returned, for its events cannot be read');
    return undefined;
  }
};

/**
 * Read models of metered teams: timers of open reservations and of unused accounts, and the last cancelled email whose
 * credits were returned.
 */
import type { TeamUseEvent, CreditsEvent } from '../../domain/billing/events.js';
import { evolveTeamUse, lookAt, type TeamUse } from '../../domain/billing/team-use.js';
import { splitStream } from '../../domain/core/ids.js';
import type { Document, ReadModels } from '../../domain/ports/read-models.js';
import { timersOf, type TimerDocument } from '../../domain/ports/timers.js';
import { declareProjection, type Handler, timersSpec, type Step } from '../core/projection.js';
import { lookAtMs } from '../../domain/billing/decider.js';
import type { Recorded } from '../../domain/events.js';
import { isoTime } from '../../domain/core/time.js';

const ACTIVITY = 'activity';
const ACTIVITY_TIMERS = timersOf('activity');

/** The id is that of the team. */
type ActivityDocument = Document & Readonly<{ activity: TeamUse }>;

const activityStep: Handler<TeamUseEvent> = ({ event, stream, position, metadata }, document) => {
  const { id } = splitStream(stream);
  const before = document as ActivityDocument | undefined;
  const activity = evolveTeamUse(before?.activity, event);
  if (activity === undefined) return [];
  const seq = before?.seq ?? position;
  const dueAt = lookAt(activity);
  const timer: TimerDocument | undefined =
    dueAt === undefined
      ? undefined
      : { id, seq: position, position, kind: 'inactive', key: stream, dueAt, priority: 'low', team: metadata.teamId };
  return [
    { collection: ACTIVITY_TIMERS, id, document: timer },
    { collection: ACTIVITY, id, document: { id, seq, position, activity } },
  ];
};

export const activityProjection = declareProjection({
  name: 'activity',
  collections: [timersSpec(ACTIVITY_TIMERS), { name: ACTIVITY, version: 1, fields: [], indexes: [] }],
  main: ACTIVITY,
  kinds: ['activity'],
  decrypts: [],
  on: {
    AccountUsed: activityStep,
    AccountDisabled: activityStep,
    AccountSettled: activityStep,
    AccountReactivated: activityStep,
    AccountUncounted: activityStep,
  },
});

const CREDITS = 'credits';
const CREDITS_TIMERS = timersOf('credits');

/**
 * `returned`: the position of the last CreditsReturned for a cancelled email, `lastFact`: that email's stream; 0 and
 * null before the first.
 */
type CreditsDocument = Document & Readonly<{ returned: number; lastFact: string | null }>;

const accountStep = ({ stream, position, event }: Recorded<CreditsEvent>): Step => {
  const { id } = splitStream(stream);
  const fact = event.type === 'CreditsReturned' ? event.data.fact : undefined;
  const next = (document: Document | undefined): CreditsDocument => {
    const before = (document as CreditsDocument | undefined) ?? {
      id,
      seq: position,
      position,
      returned: 0,
      lastFact: null,
    };
    return fact === undefined ? before : { ...before, returned: position, lastFact: fact };
  };
  return { collection: CREDITS, id, next };
};

const noted: Handler<CreditsEvent> = (recorded) => [accountStep(recorded)];

/** A team has one timer, due when the first of its open reservations is checked. */
const reserved: Handler<Extract<CreditsEvent, { type: 'CreditsReserved' }>> = (recorded) => {
  const { reference, at } = recorded.event.data;
  const dueAt = isoTime(lookAtMs(reference, at));
  const next = (document: Document | undefined): TimerDocument => {
    const before = document as TimerDocument | undefined;
    return before !== undefined && before.dueAt <= dueAt ? before : timerOf(recorded, dueAt);
  };
  return [{ collection: CREDITS_TIMERS, id: splitStream(recorded.stream).id, next }, accountStep(recorded)];
};

const settled: Handler<Extract<CreditsEvent, { type: 'ReservationsSettled' }>> = (recorded) => {
  const { nextAt } = recorded.event.data;
  const document = nextAt === null ? undefined : timerOf(recorded, nextAt);
  return [{ collection: CREDITS_TIMERS, id: splitStream(recorded.stream).id, document }, accountStep(recorded)];
};

const timerOf = ({ stream, position, metadata }: Recorded<CreditsEvent>, dueAt: string): TimerDocument => ({
  id: splitStream(stream).id,
  seq: position,
  position,
  kind: 'settle',
  key: stream,
  dueAt,
  priority: 'low',
  team: metadata.teamId,
});

export const creditsProjection = declareProjection({
  name: 'credits',
  collections: [
    timersSpec(CREDITS_TIMERS),
    { name: CREDITS, version: 1, fields: ['returned'], indexes: [['returned']] },
  ],
  main: CREDITS,
  kinds: ['credits'],
  decrypts: [],
  related: ({ event, stream }) =>
    event.type === 'CreditsReserved' ? [{ collection: CREDITS_TIMERS, id: splitStream(stream).id }] : [],
  on: {
    CreditsGranted: noted,
    CreditsBought: noted,
    CreditsReserved: reserved,
    CreditsReturned: noted,
    CreditsReset: noted,
    QuotaMonthBegan: noted,
    UnmeteredUseCounted: noted,
    QuotaThresholdReached: noted,
    ReservationsSettled: settled,
    CreditsCarried: noted,
  },
});

/**
 * The last cancelled email of all teams whose credits were returned (`lastFact`, null: none yet), and the position of
 * the first event of credits; undefined: no team is metered. It may lag.
 */
export const returnedUpTo = async (
  readModels: Pick<ReadModels, 'find'>,
): Promise<Readonly<{ lastFact: string | null; first: number }> | undefined> => {
  const by = async (field: 'returned' | undefined, direction: 'asc' | 'desc') => {
    const sort = { field: field ?? 'seq', direction };
    return (await readModels.find(CREDITS, { where: {}, sort, limit: 1 }))[0] as CreditsDocument | undefined;
  };
  const [last, first] = [await by('returned', 'desc'), await by(undefined, 'asc')];
  return last === undefined || first === undefined ? undefined : { lastFact: last.lastFact, first: first.seq };
};

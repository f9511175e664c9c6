/**
 * Enforces the limits of a team's plan. A command that creates a thing first takes a place for it in a stream of the
 * team, appended at an expected revision, so that concurrent calls cannot exceed the limit together. When the places
 * are used up, the next call drops those whose thing is gone; commands that delete things do nothing about places.
 */
import { causeOf, type Caller } from '../core/caller.js';
import type { BillingNeeds } from './credits.js';
import { planLimitExceeded, planLimitOf, type PlanLimit, type PlanResource } from '../../domain/billing/plans.js';
import { AppendUnknown, DomainError, WrongExpectedRevision } from '../../domain/core/errors.js';
import type { EventType, StreamKind } from '../../domain/events.js';
import { planUseStream, splitStream, teamStream, type StreamName, type TeamId } from '../../domain/core/ids.js';
import type { Held, PlanUseEvent } from '../../domain/billing/events.js';
import type { Team } from '../../domain/teams/state.js';
import { startOf, versionOf, type Cause, type EventLog, type StreamVersion } from '../../event-log/event-log.js';

/** `living`: the thing exists and counts. `absent`: it was not created, or not yet. */
export type Standing = 'living' | 'gone' | 'absent';

export type Place = Readonly<{
  resource: Exclude<PlanResource, 'storageBytes'>;
  /** The id of the thing to be created. */
  key: string;
  /** The current standing of the thing with that id, read from the log. */
  standingOf: (key: string) => Promise<Standing>;
  /**
   * The ids of all things of the team that may count; read if no place was taken since the team's current billing
   * began.
   */
  all: () => Promise<readonly string[]>;
  /** A limit for every team, whatever its plan. */
  cap?: Bound;
}>;

/** `refused` gets the number that it would be. */
export type Bound = Readonly<{ maximum: number; refused: (actual: number) => DomainError }>;

/** A place whose thing does not exist after this time is free again. */
const MADE_WITHIN_MS = 5 * 60_000;
/** Concurrent calls that may take a place before one is refused with CONFLICT. */
const CONFLICTS_MAX = 64;
/** Ids whose standing is read at a time. */
const AT_ONCE = 32;

type Deps = Pick<BillingNeeds, 'eventLog' | 'team' | 'clock'>;

/** The ids of the team's streams of a kind, oldest first; `begunBy`: the type of their first event. */
export const idsOfKind =
  ({ eventLog }: Pick<BillingNeeds, 'eventLog'>, teamId: TeamId, kind: StreamKind, begunBy: EventType) =>
  async (): Promise<readonly string[]> => {
    const ids: string[] = [];
    for await (const { events } of eventLog.readAll(0, { kinds: [kind], types: [begunBy], decrypt: [] }))
      for (const { stream, metadata } of events) if (metadata.teamId === teamId) ids.push(splitStream(stream).id);
    return ids;
  };

/**
 * Calls `make` if the team's plan has a place for the thing. Rejects with PLAN_LIMIT_EXCEEDED and CONFLICT, and as
 * `make` does.
 */
export const withPlace = async <Made>(
  deps: Deps,
  caller: Caller,
  place: Place,
  make: () => Promise<Made>,
): Promise<Made> => {
  const team = await teamOf(deps, caller.teamId);
  const bound = boundOf(planLimitOf(team, place.resource), place.cap);
  if (bound === undefined) return make();
  return inPlace(openPlaces(deps, caller, place.resource, sinceOf(team)), place, bound, make);
};

/** The lower of the two; if they are equal, that of the plan. */
export const boundOf = (limit: PlanLimit | undefined, cap: Bound | undefined): Bound | undefined =>
  limit === undefined || (cap !== undefined && cap.maximum < limit.maximum)
    ? cap
    : { maximum: limit.maximum, refused: (actual) => planLimitExceeded(limit, actual) };

/** Takes a place, then calls `make`. */
export const inPlace = async <Made>(
  ledger: Places,
  place: Taking,
  bound: Bound,
  make: () => Promise<Made>,
): Promise<Made> => {
  await takePlace(ledger, place, bound);
  try {
    return await make();
  } catch (fault) {
    // If the append is uncertain, the thing may exist: its place stays until a later call checks it.
    if (!(fault instanceof AppendUnknown) && (await place.standingOf(place.key)) === 'absent')
      await giveUp(ledger, place.key);
    throw fault;
  }
};

/** `isAllAsked`: reads `all` each time, because things without a place may count too. */
export type Taking = Omit<Place, 'resource' | 'cap'> & Readonly<{ isAllAsked?: true }>;

const teamOf = async ({ team }: Pick<Deps, 'team'>, teamId: TeamId): Promise<Team> => {
  const { state } = await team(teamStream(teamId));
  if (state === undefined) throw new Error(`team ${teamId} does not exist`);
  return state;
};

const sinceOf = ({ billedSince, createdAt }: Team): string => billedSince ?? createdAt;

type StoredPlaces = Readonly<{ held: readonly Held[] | undefined; version: StreamVersion }>;

export type Places = Readonly<{
  nowMs: number;
  cause: Cause;
  /** `held`: undefined if no place was taken since the team's current billing began. */
  read: () => Promise<StoredPlaces>;
  /** Out: false if another call has appended meanwhile. */
  keep: (version: StreamVersion, held: readonly Held[]) => Promise<boolean>;
}>;

export const openPlaces = (deps: Deps, caller: Caller, resource: string, since: string): Places => {
  const stream = planUseStream(caller.teamId, resource);
  const cause = causeOf(deps, caller);
  return {
    nowMs: deps.clock.now(),
    cause,
    read: () => readPlaces(deps.eventLog, stream, since),
    keep: async (version, held) => {
      try {
        // Not by `handle`: what is held is counted over other streams, again after a conflict.
        await deps.eventLog.append(
          stream,
          version,
          [{ type: 'PlacesTaken', data: { at: cause.at, since, held: [...held] } }],
          cause,
        );
        return true;
      } catch (fault) {
        if (fault instanceof WrongExpectedRevision) return false;
        throw fault;
      }
    },
  };
};

const readPlaces = async (eventLog: EventLog, stream: StreamName, since: string): Promise<StoredPlaces> => {
  const last = await eventLog.last(stream);
  const [recorded] = last === undefined ? [] : await eventLog.load(stream, last.revision);
  if (recorded === undefined) return { held: undefined, version: startOf(stream) };
  const { data } = recorded.event as PlanUseEvent;
  return { held: data.since === since ? data.held : undefined, version: versionOf(recorded) };
};

/** Repeats `decide` until its append succeeds. */
const decidePlaces = async (decide: () => Promise<boolean>): Promise<void> => {
  for (let conflicts = 0; conflicts <= CONFLICTS_MAX; conflicts += 1) if (await decide()) return;
  throw new DomainError(
    'CONFLICT',
    'Others make the same kind of thing at the same time, and each time they were faster. Try again.',
  );
};

const takePlace = (places: Places, place: Taking, bound: Bound): Promise<void> =>
  decidePlaces(async () => {
    const { held, version } = await places.read();
    const own: Held = { key: place.key, amount: 1, at: places.cause.at };
    const isAllAsked = held === undefined || place.isAllAsked === true;
    if (!isAllAsked && held.some(({ key }) => key === place.key)) return true;
    if (!isAllAsked && held.length < bound.maximum) return places.keep(version, [...held, own]);
    const known = isAllAsked ? await withAll(places, held ?? [], place) : held;
    const others = known.filter(({ key }) => key !== place.key);
    const standing = await livingOf(places, others, place.standingOf);
    if (standing.length >= bound.maximum) throw bound.refused(standing.length + 1);
    return places.keep(version, [...standing, own]);
  });

const withAll = async ({ cause }: Places, held: readonly Held[], place: Taking): Promise<readonly Held[]> => {
  const known = new Set(held.map(({ key }) => key));
  return [
    ...held,
    ...(await place.all()).filter((key) => !known.has(key)).map((key) => ({ key, amount: 1, at: cause.at })),
  ];
};

/** The places whose thing exists or may still be created. */
const livingOf = async (
  { nowMs }: Places,
  held: readonly Held[],
  standingOf: Place['standingOf'],
): Promise<readonly Held[]> => {
  const living: Held[] = [];
  for (let from = 0; from < held.length; from += AT_ONCE) {
    const part = held.slice(from, from + AT_ONCE);
    const standings = await Promise.all(part.map(({ key }) => standingOf(key)));
    living.push(...part.filter(({ at }, index) => counts(standings[index]!, at, nowMs)));
  }
  return living;
};

const counts = (standing: Standing, at: string, nowMs: number): boolean =>
  standing === 'living' || (standing === 'absent' && Date.parse(at) > nowMs - MADE_WITHIN_MS);

/** Frees a place whose thing was not created. */
const giveUp = (places: Places, key: string): Promise<void> =>
  decidePlaces(async () => {
    const { held = [], version } = await places.read();
    return held.some((one) => one.key === key)
      ? places.keep(
          version,
          held.filter((one) => one.key !== key),
        )
      : true;
  });

export type Upload = Readonly<{
  id: string;
  sizeBytes: number;
  /** Bytes that the team has stored up to that position of the log. */
  stored: Readonly<{ sizeBytes: number; position: number }>;
  /** The position of the file with that id in the log; undefined: it is not there. */
  positionOf: (id: string) => Promise<number | undefined>;
}>;

/**
 * Calls `make` if the plan has room for the file. The read model counts stored bytes; the stream of places holds files
 * it may not have counted yet.
 */
export const withStorage = async <Made>(
  deps: Deps,
  caller: Caller,
  upload: Upload,
  make: () => Promise<Made>,
): Promise<Made> => {
  const team = await teamOf(deps, caller.teamId);
  const file = planLimitOf(team, 'fileSizeBytes');
  if (file !== undefined && upload.sizeBytes > file.maximum) throw planLimitExceeded(file, upload.sizeBytes);
  const limit = planLimitOf(team, 'storageBytes');
  if (limit === undefined) return make();
  const places = openPlaces(deps, caller, 'storageBytes', sinceOf(team));
  await takeStorage(places, upload, limit);
  return make();
};

const takeStorage = (places: Places, { id, sizeBytes, stored, positionOf }: Upload, limit: PlanLimit): Promise<void> =>
  decidePlaces(async () => {
    const { held = [], version } = await places.read();
    const positions = await Promise.all(held.map(({ key }) => positionOf(key)));
    const open = held.filter(({ at }, index) => {
      const position = positions[index];
      return position === undefined ? counts('absent', at, places.nowMs) : position > stored.position;
    });
    const actual = stored.sizeBytes + open.reduce((sum, { amount }) => sum + amount, 0) + sizeBytes;
    if (actual > limit.maximum) throw planLimitExceeded(limit, actual);
    return places.keep(version, [...open, { key: id, amount: sizeBytes, at: places.cause.at }]);
  });

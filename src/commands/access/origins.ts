/**
 * Stores the origins of calls: each network address and user agent of a person, or of the keys of a team, once a month,
 * sealed under the key of that month.
 */
import { hash as digestOf } from 'node:crypto';
import { auditActorOf } from '../../domain/audit/entry.js';
import type { AuditOriginEvent } from '../../domain/audit/events.js';
import {
  monthOf,
  monthsUpTo,
  readOrigin,
  streamOfOrigin,
  writeOrigin,
  type CallOrigin,
} from '../../domain/access/origins.js';
import { WrongExpectedRevision } from '../../domain/core/errors.js';
import { type DomainEvent, eventDefinitions, type Recorded } from '../../domain/events.js';
import { NO_TEAM, parseTeamId, type StreamName } from '../../domain/core/ids.js';
import { startOf, versionOf, type Cause, type EventLog, type StreamVersion } from '../../event-log/event-log.js';
import { boundedCache } from '../../shared/cache.js';

type Log = Pick<EventLog, 'load' | 'append' | 'destroyKey' | 'last'>;

export type CallOrigins = Readonly<{
  /**
   * Stores the origin of a call. Out: the reference for the metadata of events; undefined if the month is full or
   * forgotten, or the person erased.
   */
  keep: (cause: Cause, from: CallOrigin) => Promise<string | undefined>;
  /** The stored origins of these references; forgotten ones are missing. */
  read: (names: readonly string[]) => Promise<ReadonlyMap<string, CallOrigin>>;
}>;

/**
 * Origins of one month that are stored with their user agent. Further ones are stored without it, up to ORIGINS_MAX.
 */
const PAIRS_MAX = 500;
const ORIGINS_MAX = 2_000;
const STREAMS_MAX = 500;
const CONFLICTS_MAX = 8;

/** `places`: the revision of each origin, by a digest, so that no personal data stays in memory. */
type KnownOrigins = { version: StreamVersion; isForgotten: boolean; readonly places: Map<string, number> };

const digest = ({ ipAddress, userAgent }: CallOrigin): string =>
  digestOf('sha256', `${ipAddress}\n${userAgent}`, 'base64url');

/** The stream of an origin: that of the person, or for keys and apps that of the team. */
export const originScopeOf = ({ actor, teamId }: Pick<Cause, 'actor' | 'teamId'>): string | undefined => {
  const { type, id } = auditActorOf(actor);
  if (type === 'user' && id !== null) return id;
  return teamId === NO_TEAM ? undefined : parseTeamId(teamId);
};

export const openCallOrigins = (eventLog: Log): CallOrigins => {
  const streams = boundedCache<StreamName, KnownOrigins>({ entriesMax: STREAMS_MAX });

  const load = async (stream: StreamName): Promise<KnownOrigins> => {
    const known: KnownOrigins = { version: startOf(stream), isForgotten: false, places: new Map() };
    for (const recorded of await eventLog.load(stream)) evolve(known, recorded);
    streams.set(stream, known);
    return known;
  };

  const place = async (stream: StreamName, from: CallOrigin, cause: Cause): Promise<number | undefined> => {
    for (let conflicts = 0; ; conflicts += 1) {
      const known = (conflicts === 0 ? streams.get(stream) : undefined) ?? (await load(stream));
      if (known.isForgotten) return undefined;
      const found = known.places.get(digest(from));
      if (found !== undefined) return found;
      const kept = known.places.size < PAIRS_MAX ? from : { ...from, userAgent: '' };
      const again = known.places.get(digest(kept));
      if (again !== undefined || known.places.size >= ORIGINS_MAX) return again;
      const event: AuditOriginEvent = { type: 'CallOriginSeen', data: { at: cause.at }, sealed: kept };
      const { calledFrom: _calledFrom, fence: _fence, ...others } = cause;
      // The origin of a person belongs to no team, so that it is not removed with a team.
      const plain = auditActorOf(cause.actor).type === 'user' ? { ...others, teamId: NO_TEAM } : others;
      try {
        // Not by `handle`: the event notes where a call came from, and nothing about it is decided.
        const version = await eventLog.append(stream, known.version, [event], plain);
        known.places.set(digest(kept), version.revision);
        known.version = version;
        return version.revision;
      } catch (fault) {
        streams.delete(stream);
        if (!(fault instanceof WrongExpectedRevision) || conflicts >= CONFLICTS_MAX) throw fault;
      }
    }
  };

  return {
    keep: async (cause, from) => {
      const scope = originScopeOf(cause);
      if (scope === undefined) return undefined;
      const month = monthOf(cause.at);
      const revision = await place(streamOfOrigin({ scope, month }), from, cause);
      return revision === undefined ? undefined : writeOrigin({ scope, month, revision });
    },
    read: (names) => readOrigins(eventLog, names),
  };
};

const evolve = (known: KnownOrigins, recorded: Recorded): void => {
  known.version = versionOf(recorded);
  const event = recorded.event as AuditOriginEvent;
  switch (event.type) {
    case 'CallOriginSeen':
      if (event.sealed !== undefined) known.places.set(digest(event.sealed), recorded.revision);
      // The key of the stream is lost or destroyed: what were appended now could be read by nobody.
      else known.isForgotten = true;
      return;
    case 'CallOriginsForgotten':
      known.isForgotten = true;
      return;
  }
};

const isForgetting = ({ type }: DomainEvent): boolean => type === 'CallOriginsForgotten';

/** Reads origins. Forgotten streams are not read, even while their key exists. */
const readOrigins = async (
  eventLog: Pick<EventLog, 'load'>,
  names: readonly string[],
): Promise<ReadonlyMap<string, CallOrigin>> => {
  const found = new Map<string, CallOrigin>();
  const byStream = new Map<StreamName, [string, number][]>();
  for (const name of new Set(names)) {
    const read = readOrigin(name);
    if (read === undefined) continue;
    const stream = streamOfOrigin(read);
    byStream.set(stream, [...(byStream.get(stream) ?? []), [name, read.revision]]);
  }
  for (const [stream, wanted] of byStream) {
    const events = (await eventLog.load(stream)).map(({ event }) => event as AuditOriginEvent);
    if (events.some(isForgetting)) continue;
    for (const [name, revision] of wanted) {
      const event = events[revision];
      if (event?.type === 'CallOriginSeen' && event.sealed !== undefined) found.set(name, { ...event.sealed });
    }
  }
  return found;
};

/**
 * An `append` that stores the origin of calls whose events are audited. Other events do not ask for the origin, so that
 * frequent calls cost no more.
 */
export const keepingOrigins = (eventLog: EventLog, origins: CallOrigins): EventLog['append'] => {
  const keepThenAppend = async (
    ...[stream, version, events, cause]: [StreamName, StreamVersion, readonly DomainEvent[], Cause]
  ) => {
    const origin = await origins.keep(cause, cause.calledFrom!());
    return eventLog.append(stream, version, events, origin === undefined ? cause : { ...cause, origin });
  };
  return (stream, version, events, cause) =>
    'calledFrom' in cause &&
    cause.calledFrom !== undefined &&
    cause.origin === undefined &&
    events.some(({ type }) => eventDefinitions[type].audit !== undefined)
      ? keepThenAppend(stream, version, events, cause)
      : eventLog.append(stream, version, events, cause);
};

/** Forgets the origins of one month: appends the fact, then destroys the key. Safe to repeat. */
export const forgetOrigins = async (eventLog: Log, stream: StreamName, cause: Cause): Promise<void> => {
  for (let conflicts = 0; ; conflicts += 1) {
    const events = await eventLog.load(stream, 0, []);
    const last = events.at(-1);
    if (last === undefined) return;
    if (events.some(({ event }) => isForgetting(event))) break;
    try {
      // Not by `handle`: the event notes that the month is over, and nothing about it is decided.
      await eventLog.append(stream, versionOf(last), [{ type: 'CallOriginsForgotten', data: { at: cause.at } }], cause);
      break;
    } catch (fault) {
      if (!(fault instanceof WrongExpectedRevision) || conflicts >= CONFLICTS_MAX) throw fault;
    }
  }
  await eventLog.destroyKey(stream);
};

/**
 * Forgets all origins of an erased person or removed team, in every month that can have any. `keptDays`: how long
 * origins are kept.
 */
export const forgetAllOrigins = async (eventLog: Log, scope: string, keptDays: number, cause: Cause): Promise<void> => {
  for (const month of monthsUpTo(cause.at, keptDays)) {
    const stream = streamOfOrigin({ scope, month });
    if ((await eventLog.last(stream)) !== undefined) await forgetOrigins(eventLog, stream, cause);
  }
};

/**
 * Events that have left the log. The last events of their streams keep their hashes and ordinals in the log, so that chains and seals over them
 * are checked as if they were there, on every engine. Also finds streams whose time is over and whose events are still in the log.
 */
import { decodeEvent, namesOf } from './codec.js';
import type { DomainEvent, EventType, StreamKind } from '../domain/events.js';
import type { EventStore, Position, StoredEvent } from '../domain/ports/event-store.js';
import type { Keys } from '../domain/ports/keys.js';
import type { Limits } from '../domain/core/limits.js';
import { type StreamName, splitStream } from '../domain/core/ids.js';
import type { EventLog } from './event-log.js';
import { auditOverAt, teamOverAt } from '../domain/access/origins.js';
import { DAY_MS } from '../domain/core/time.js';
import { plainHash } from './hash-chain.js';

export type RetiredEvent = Readonly<{ stream: string; revision: number; hash: string }>;

/** What stands next in the log: an event, or one that has left it. `isLeaving`: it is said to have left, and is still there. */
type LogItem = Readonly<{ event: StoredEvent; isLeaving?: true }> | Readonly<{ retired: RetiredEvent }>;

export type RetiringStore = Pick<EventStore, 'readAll'> & Partial<Pick<EventStore, 'types'>>;

/** The last events of a stream whose others leave the log, by their stored names. */
const retiring = namesOf(['EmailRetired', 'BatchRetired', 'StreamRetired']);
/** So many places of the log are held at once. */
const WINDOW_EVENTS = 200_000;
/** So many events that say what leaves are told apart by the places that they name. */
const ZONE_EVENTS = 500;

/**
 * Events of a stream, from revision `from` on, that leave the log. `first`: the revision of the first that stays; undefined where another
 * event is yet to say of the rest that it leaves, before which nothing does.
 */
type Retirement = Readonly<{
  stream: string;
  from: number;
  ordinals: readonly number[];
  hashes: readonly string[];
  first: number | undefined;
  /** Where the event stands that says so. */
  position: Position;
}>;

/** What leaves the log, in the order in which that was said after a position. */
export async function* retirements(store: RetiringStore, after: Position = 0): AsyncGenerator<Retirement> {
  const known = await store.types?.();
  if (known !== undefined && ![...retiring].some((type) => known.has(type))) return;
  for await (const { events } of store.readAll(after, { types: [...retiring] }))
    for (const event of events) {
      const retirement = retirementIn(event);
      if (retirement !== undefined) yield retirement;
    }
}

/** undefined where the event says nothing of that kind, or cannot be read. */
const retirementIn = ({ type, data, stream, position }: StoredEvent): Retirement | undefined => {
  const said = saidIn(type, data);
  return said && { ...said, stream, position, first: said.from + said.hashes.length === said.first ? said.first : undefined };
};

/** What an event says that leaves: of the first `first` events of its stream those from revision `from` on. */
type Leaving = Readonly<{ first: number; from: number; ordinals: readonly number[]; hashes: readonly string[] }>;

const saidIn = (type: string, data: string): (Leaving & Readonly<{ mark: string }>) | undefined => {
  if (!retiring.has(type)) return undefined;
  const decoded = readable(type, data);
  if (decoded?.type === 'EmailRetired' || decoded?.type === 'BatchRetired')
    return { ...decoded.data, from: 0, first: decoded.data.hashes.length };
  return decoded?.type === 'StreamRetired' ? decoded.data : undefined;
};

const readable = (type: string, data: string): DomainEvent | undefined => {
  try {
    return decodeEvent(type, data, undefined);
  } catch {
    return undefined;
  }
};

/** What makes it known that the service has said that these events of the stream leave the log. */
export const retirementMark = (
  { fingerprint }: Pick<Keys, 'fingerprint'>,
  stream: string,
  { first, from, ordinals, hashes }: Leaving,
): string => fingerprint('retirement', JSON.stringify([stream, first, from, ordinals, hashes]));

/** Whether an event says that events leave the log, and the service did not say so, or it cannot be read. */
export const isForeignRetirement = (keys: Pick<Keys, 'fingerprint'>, { type, data, stream }: StoredEvent): boolean => {
  if (!retiring.has(type)) return false;
  const said = saidIn(type, data);
  return said === undefined || said.mark !== retirementMark(keys, stream, said);
};

/** Whether that was the last of the events that say of a stream what leaves. */
const isWhole = ({ data: { from, first, hashes } }: Extract<DomainEvent, { type: 'StreamRetired' }>): boolean =>
  from + hashes.length === first;

/** Truncates a stream whose first events the service has said to leave the log, where they are still there. Safe to repeat. */
export const truncateRetired = async (
  store: Pick<EventStore, 'readStream' | 'truncate'>,
  keys: Pick<Keys, 'fingerprint'>,
  stream: string,
): Promise<void> => {
  const events = await store.readStream(stream);
  if (events.some((event) => isForeignRetirement(keys, event))) return;
  const first = events.map(retirementIn).find((one) => one?.first !== undefined)?.first;
  if (first !== undefined && events[0]!.revision < first) await store.truncate(stream, first);
};

export const countRetirements = async (store: RetiringStore): Promise<number> => {
  let count = 0;
  for await (const _one of retirements(store)) count += 1;
  return count;
};

/**
 * Puts what has left the log where it stood, among events in the order of the log. `after`: so many events, those that have left it among
 * them, stand before the first of these. What is said to leave the log and is still there is yielded as the event that it is.
 */
export async function* withRetired(
  store: RetiringStore,
  batches: AsyncIterable<Readonly<{ events: readonly StoredEvent[] }>>,
  after = 0,
  windowEvents = WINDOW_EVENTS,
): AsyncGenerator<readonly LogItem[]> {
  const zones = await zonesOf(store);
  let window = new Map<number, RetiredEvent>();
  let loadedTo = after;
  let ordinal = after;
  for await (const { events } of batches) {
    const items: LogItem[] = [];
    for (const event of events) {
      let isLeaving: boolean;
      for (;;) {
        if (ordinal >= loadedTo) {
          window = await retiredBetween(store, zones, loadedTo, loadedTo + windowEvents);
          loadedTo += windowEvents;
        }
        const retired = window.get(ordinal + 1);
        isLeaving = retired?.hash === plainHash(event.hash);
        if (retired === undefined || isLeaving) break;
        ordinal += 1;
        items.push({ retired });
      }
      ordinal += 1;
      items.push(isLeaving ? { event, isLeaving } : { event });
    }
    yield items;
  }
}

/** Some of those that say what leaves, after one position up to another, and between which places all stands that they name. */
type Zone = { readonly after: Position; upTo: Position; least: number; most: number; count: number };

const zonesOf = async (store: RetiringStore): Promise<readonly Zone[]> => {
  const zones: Zone[] = [];
  let reached: Position = 0;
  for await (const { position, ordinals } of retirements(store)) {
    let zone = zones.at(-1);
    if (zone === undefined || zone.count >= ZONE_EVENTS) {
      zone = { after: reached, upTo: position, least: Infinity, most: 0, count: 0 };
      zones.push(zone);
    }
    zone.upTo = reached = position;
    zone.count += 1;
    for (const ordinal of ordinals) {
      if (ordinal < zone.least) zone.least = ordinal;
      if (ordinal > zone.most) zone.most = ordinal;
    }
  }
  return zones;
};

const retiredBetween = async (
  store: RetiringStore,
  zones: readonly Zone[],
  after: number,
  upTo: number,
): Promise<Map<number, RetiredEvent>> => {
  const found = new Map<number, RetiredEvent>();
  for (const zone of zones) {
    if (zone.least > upTo || zone.most <= after) continue;
    for await (const { stream, position, from, ordinals, hashes } of retirements(store, zone.after)) {
      if (position > zone.upTo) break;
      for (const [at, ordinal] of ordinals.entries())
        if (ordinal > after && ordinal <= upTo) found.set(ordinal, { stream, revision: from + at, hash: hashes[at]! });
    }
  }
  return found;
};

type OldStreamsDeps = Readonly<{ eventLog: Pick<EventLog, 'readAll' | 'last' | 'load'>; limits: Pick<Limits, 'auditDays'> }>;

/** `overMs`: when its time was over. */
type OldStream = Readonly<{ stream: StreamName; overMs: number }>;

/** In the order of the log. `nextMs`: when the time of the next stream is over. */
type OldStreams = Readonly<{ over: readonly OldStream[]; nextMs: number | undefined }>;

type LookForOld = Readonly<{ limit: number; signal?: AbortSignal }>;

const retired = namesOf(['StreamRetired']);

/** True if the log says that all events of the stream leave it. */
const isRetired = async ({ eventLog }: Pick<OldStreamsDeps, 'eventLog'>, stream: StreamName): Promise<boolean> => {
  const last = await eventLog.last(stream);
  if (last === undefined || !retired.has(last.storedType)) return false;
  const [recorded] = await eventLog.load(stream, last.revision, []);
  return recorded?.event.type === 'StreamRetired' && isWhole(recorded.event);
};

/** Streams of the audit log whose month is kept no longer, at most `limit`. Reads the log up to the first audit event that is still kept. */
export const oldAuditStreams = async (deps: OldStreamsDeps, nowMs: number, { limit, signal }: LookForOld): Promise<OldStreams> => {
  const { eventLog, limits } = deps;
  const over: OldStream[] = [];
  const seen = new Set<string>();
  let nextMs: number | undefined;
  const options = { kinds: ['audit', 'auditOrigins'], decrypt: [], unknown: 'listed', ...(signal && { signal }) } as const;
  for await (const { events } of eventLog.readAll(0, options)) {
    for (const { event, stream, metadata } of events) {
      if (seen.has(stream) || event.type === 'StreamRetired') continue;
      seen.add(stream);
      const overMs = auditOverAt(stream, limits.auditDays);
      if (overMs > nowMs) nextMs = Math.min(overMs, nextMs ?? overMs);
      else if (!(await isRetired(deps, stream as StreamName))) over.push({ stream: stream as StreamName, overMs });
      if (over.length >= limit || Date.parse(metadata.occurredAt) > nowMs - limits.auditDays * DAY_MS) return { over, nextMs };
    }
  }
  return { over, nextMs };
};

/** The kinds of stream, beside that of the team itself, that hold names and texts of a team in clear. */
export const teamKinds = [
  'template',
  'attachmentTemplate',
  'apiKey',
  'senderDomains',
  'oauthClient',
] as const satisfies readonly StreamKind[];

/** The first events of these streams. */
const begunBy: readonly EventType[] = ['TemplateCreated', 'ApiKeyCreated', 'SenderDomainAdded', 'OAuthAppRegistered'];

/**
 * Streams of removed teams that the audit log tells nothing of any more, at most `limit`. The stream of the team itself comes last, because the others
 * are found by it.
 */
export const oldTeamStreams = async (deps: OldStreamsDeps, nowMs: number, look: LookForOld): Promise<OldStreams> => {
  const { teams, nextMs } = await oldTeams(deps, nowMs, look);
  if (teams.size === 0) return { over: [], nextMs };
  const over: OldStream[] = [];
  const seen = new Set<string>();
  const others = new Set<string>();
  const signal = look.signal && { signal: look.signal };
  for await (const { events } of deps.eventLog.readAll(0, { kinds: teamKinds, types: begunBy, decrypt: [], ...signal })) {
    for (const { stream, metadata } of events) {
      const overMs = teams.get(metadata.teamId);
      if (overMs === undefined || seen.has(stream)) continue;
      seen.add(stream);
      if (await isRetired(deps, stream as StreamName)) continue;
      others.add(metadata.teamId);
      over.push({ stream: stream as StreamName, overMs });
      if (over.length >= look.limit) return { over, nextMs };
    }
  }
  for (const [id, overMs] of teams) if (!others.has(id)) over.push({ stream: `team-${id}` as StreamName, overMs });
  return { over: over.slice(0, look.limit), nextMs };
};

/** When the time of each removed team was over, by its id. */
const oldTeams = async (
  deps: OldStreamsDeps,
  nowMs: number,
  { signal }: LookForOld,
): Promise<Readonly<{ teams: ReadonlyMap<string, number>; nextMs: number | undefined }>> => {
  const teams = new Map<string, number>();
  let nextMs: number | undefined;
  const options = { kinds: ['team'], types: ['TeamErased'], decrypt: [], ...(signal && { signal }) } as const;
  for await (const { events } of deps.eventLog.readAll(0, options)) {
    for (const { event, stream } of events) {
      if (event.type !== 'TeamErased') continue;
      const overMs = teamOverAt(event.data.at, deps.limits.auditDays);
      if (overMs > nowMs) nextMs = Math.min(overMs, nextMs ?? overMs);
      else if (!(await isRetired(deps, stream as StreamName))) teams.set(splitStream(stream).id, overMs);
    }
  }
  return { teams, nextMs };
};

/** Reads of one stream or of the log up to its head, and the requests for them. */
import {
  commitOf,
  isBeforeEvent,
  positionOf,
  toStoredEvent,
  kindMatcher,
  NOTHING,
  renamed,
  typeMatcher,
  type StreamNames,
} from './records.js';
import type { Position, EventBatch, ReadLogOptions, StoredEvent } from '../../../domain/ports/event-store.js';
import type { Clock } from '../../../domain/ports/clock.js';
import { EventStoreAway, isTransient, shared, streams, type Connection, type ReadReq } from './connection.js';

type ReadingDeps = Readonly<{
  connection: Pick<Connection, 'read' | 'shown'>;
  names: StreamNames;
  clock: Clock;
  /** How long a short read may take, and a long one may stand still. */
  shortMs: number;
  stillMs: number;
  /** The position up to which the log is known to go. */
  known: () => Position;
}>;

/** The position and stream of the newest known event of the log; position 0 for an empty log. */
export type Head = Readonly<{ position: Position; stream: string }>;

export type Reads = Readonly<{
  stream: (atServer: string, from: number | 'end', countMax?: number) => Promise<readonly StoredEvent[]>;
  /** `isCertain`: if the server finds nothing, the whole log is read backwards. */
  head: (isCertain?: boolean) => Promise<Head>;
  /** The event just after a position between events; undefined if the position is none of these. */
  justAfter: (place: Position) => Promise<StoredEvent | undefined>;
  /** Whether it is certain that there is no event of these kinds after `after` up to that head. */
  isClear: (after: Position, kinds: readonly string[], upTo: Head) => Promise<boolean>;
  all: (after: Position, options: ReadLogOptions) => AsyncGenerator<EventBatch>;
}>;

type ReadRange = Readonly<{
  /** Only streams whose names begin with one of these. The server filters by streams or by types, not by both. */
  prefixes?: readonly string[];
  /** Only events whose stored names begin with one of these. */
  types?: readonly string[];
  /** The first position; 'end' reads backwards. */
  from: Position | 'end';
  countMax?: number;
  /** Whether the server goes on sending events as they are appended. */
  live?: boolean;
}>;

type Stretch = Readonly<{ after: Position; upTo: Head; isFiltered: boolean }>;

const BATCH_SIZE = 1_000;
const PAUSE_MS = 50;
/** A short read survives a broken connection or a change of the leader, not an outage. */
const RETRY_FOR_MS = 1_000;

/** The server tells a filtered subscription how far it is after so many events. */
const SEARCH_WINDOW = 64;
const never = new AbortController().signal;

export const openReads = (deps: ReadingDeps): Reads => {
  const { connection, names, clock, shortMs, known } = deps;

  /** The whole answer. Connects again after a broken connection while there is time. */
  const short = async (
    request: ReadReq,
    shown: (stream: string) => string | undefined,
    isEnough: (event: StoredEvent) => boolean = () => false,
  ): Promise<readonly StoredEvent[]> => {
    const begunMs = clock.monotonic();
    const untilMs = begunMs + shortMs;
    for (;;) {
      try {
        const events: StoredEvent[] = [];
        const timeoutMs = Math.max(1, untilMs - clock.monotonic());
        for await (const { event: recorded } of connection.read(request, { timeoutMs })) {
          const stream = recorded && shown(recorded.stream);
          if (recorded === undefined || stream === undefined) continue;
          events.push(toStoredEvent({ ...recorded, stream }));
          if (isEnough(events.at(-1)!)) break;
        }
        return events;
      } catch (error) {
        if (!isTransient(error)) throw error;
        if (clock.monotonic() - begunMs > RETRY_FOR_MS) throw awayAfter(error, connection.shown);
        await clock.sleep(PAUSE_MS, never);
      }
    }
  };

  const head: Reads['head'] = async (isCertain = false) => {
    const filtered = readAllRequest({ prefixes: names.prefixes(undefined), from: 'end', countMax: 1 });
    const [found] = await short(filtered, names.ours);
    // A server that finds less than is known has not looked far enough.
    const isDoubtful = (found?.position ?? 0) < known() || (found === undefined && isCertain);
    const [last] = isDoubtful ? await short(readAllRequest({ from: 'end' }), names.ours, () => true) : [found];
    return last ?? { position: 0, stream: '' };
  };

  return {
    head,
    stream: (atServer, from, countMax) =>
      short(readStreamRequest(atServer, from, countMax), (name) => names.ours(name) ?? name),
    justAfter: async (place) => {
      const [event] = await short(
        readAllRequest({ prefixes: names.prefixes(undefined), from: place, countMax: 1 }),
        names.ours,
      );
      return event !== undefined && isBeforeEvent(place) && commitOf(place) === commitOf(event.position)
        ? event
        : undefined;
    },
    isClear: async (after, kinds, upTo) => {
      const matches = kindMatcher(kinds);
      // The stream of the head is asked for, too: its event shows that the server has looked so far.
      const request = readAllRequest({
        prefixes: [...names.prefixes(kinds), names.atServer(upTo.stream)],
        from: after,
      });
      const isWanted = ({ position, stream }: StoredEvent): boolean => position > after && matches(stream);
      const last = (await short(request, names.ours, (event) => event.position >= upTo.position || isWanted(event))).at(
        -1,
      );
      return last !== undefined && last.position >= upTo.position && !isWanted(last);
    },
    all: (after, options) => readAll(deps, head, after, options),
  };
};

/** Begins anew after the last event if the connection breaks off. Rejects if nothing comes for too long. */
async function* readAll(
  deps: ReadingDeps,
  head: Reads['head'],
  after: Position,
  options: ReadLogOptions,
): AsyncGenerator<EventBatch> {
  const { clock, stillMs } = deps;
  const upTo = await head();
  let cursor = after;
  let movedMs = clock.monotonic();
  let isFiltered = true;
  while (cursor < upTo.position && options.signal?.aborted !== true) {
    const from = cursor;
    try {
      for await (const batch of stretch(deps, { after: cursor, upTo, isFiltered }, options)) {
        cursor = batch.position;
        yield batch;
        movedMs = clock.monotonic();
      }
      // Without an error a stretch ends early only because the reader has stopped.
      return;
    } catch (error) {
      if (isFiltered && cursor === from && (error instanceof EndedEarly || isInvalid(error))) {
        isFiltered = false;
        continue;
      }
      if (!isTransient(error)) throw error;
      if (clock.monotonic() - movedMs > stillMs) throw awayAfter(error, deps.connection.shown);
      await clock.sleep(PAUSE_MS, options.signal ?? never);
    }
  }
}

async function* stretch(
  { connection, names }: ReadingDeps,
  { after, upTo, isFiltered }: Stretch,
  { kinds, types, batchSize = BATCH_SIZE, signal }: ReadLogOptions,
): AsyncGenerator<EventBatch> {
  const isWantedKind = kindMatcher(kinds);
  const isWantedType = typeMatcher(types);
  let events: StoredEvent[] = [];
  let reached = after;
  let isWhole = !isFiltered || types !== undefined;
  const request = readAllRequest({ ...(isFiltered ? filterOf(names, kinds, types, upTo) : {}), from: after });
  for await (const { event: recorded } of connection.read(request, signal === undefined ? {} : { signal })) {
    const ours = recorded && renamed(names, recorded);
    if (ours === undefined || positionOf(ours.commit) <= after) continue;
    if (positionOf(ours.commit) <= upTo.position && isWantedKind(ours.stream) && isWantedType(ours.type))
      events.push(toStoredEvent(ours));
    isWhole ||= positionOf(ours.commit) >= upTo.position;
    if (positionOf(ours.commit) >= upTo.position) break;
    if (events.length < batchSize) continue;
    reached = events.at(-1)!.position;
    yield { events, position: reached };
    if (signal?.aborted === true) return;
    events = [];
  }
  if (signal?.aborted === true) return;
  if (events.length > 0) yield { events, position: isWhole ? upTo.position : events.at(-1)!.position };
  else if (isWhole && reached < upTo.position) yield { events, position: upTo.position };
  if (!isWhole) throw new EndedEarly('the event store ended a reading before the head of the log');
}

/**
 * The server filters by streams or by types. With kinds, the stream of the head is asked for too: its event shows that
 * the server has looked so far.
 */
const filterOf = (
  names: StreamNames,
  kinds: readonly string[] | undefined,
  types: readonly string[] | undefined,
  upTo: Head,
) =>
  types === undefined
    ? { prefixes: [...names.prefixes(kinds), names.atServer(upTo.stream)] }
    : { types: types.length === 0 ? [NOTHING] : types };

/** The error of a reader that has waited too long for the server. */
const awayAfter = (error: unknown, shown: string): EventStoreAway =>
  error instanceof EventStoreAway
    ? error
    : new EventStoreAway(`SEALPOST_EVENT_STORE_URL: the event store at ${shown} does not answer`, { cause: error });

export const readAllRequest = ({ prefixes, types, from, countMax, live = false }: ReadRange): ReadReq => {
  const all = new streams.ReadReq.Options.AllOptions();
  if (from === 'end') all.setEnd(new shared.Empty());
  else if (from < 1) all.setStart(new shared.Empty());
  else {
    const position = new streams.ReadReq.Options.Position();
    const commit = String(commitOf(from));
    position.setCommitPosition(commit);
    position.setPreparePosition(commit);
    all.setPosition(position);
  }
  const options = optionsOf(from === 'end' && !live, countMax, live);
  options.setAll(all);
  const filter = filterMessage(prefixes, types);
  if (filter === undefined) options.setNoFilter(new shared.Empty());
  else options.setFilter(filter);
  return requestOf(options);
};

const filterMessage = (
  prefixes: readonly string[] | undefined,
  types: readonly string[] | undefined,
): ReadReq.Options.FilterOptions | undefined => {
  const wanted = types ?? prefixes;
  if (wanted === undefined) return undefined;
  const names = new streams.ReadReq.Options.FilterOptions.Expression();
  names.setPrefixList([...wanted]);
  const filter = new streams.ReadReq.Options.FilterOptions();
  if (types === undefined) filter.setStreamIdentifier(names);
  else filter.setEventType(names);
  filter.setMax(SEARCH_WINDOW);
  filter.setCheckpointintervalmultiplier(1);
  return filter;
};

const readStreamRequest = (stream: string, from: number | 'end', countMax?: number): ReadReq => {
  const of = new streams.ReadReq.Options.StreamOptions();
  of.setStreamIdentifier(identifierOf(stream));
  if (from === 'end') of.setEnd(new shared.Empty());
  else of.setRevision(String(from));
  const options = optionsOf(from === 'end', countMax, false);
  options.setStream(of);
  options.setNoFilter(new shared.Empty());
  return requestOf(options);
};

const optionsOf = (isBackwards: boolean, countMax: number | undefined, live: boolean): ReadReq.Options => {
  const options = new streams.ReadReq.Options();
  const ids = new streams.ReadReq.Options.UUIDOption();
  ids.setString(new shared.Empty());
  options.setUuidOption(ids);
  options.setResolveLinks(false);
  options.setReadDirection(isBackwards ? 1 : 0);
  if (live) options.setSubscription(new streams.ReadReq.Options.SubscriptionOptions());
  else options.setCount(String(countMax ?? Number.MAX_SAFE_INTEGER));
  return options;
};

const requestOf = (options: ReadReq.Options): ReadReq => {
  const request = new streams.ReadReq();
  request.setOptions(options);
  return request;
};

const identifierOf = (stream: string) => {
  const identifier = new shared.StreamIdentifier();
  identifier.setStreamName(Buffer.from(stream));
  return identifier;
};

/** Has the code of an ended connection (UNAVAILABLE). */
class EndedEarly extends Error {
  readonly code = 14;
}

/** INVALID_ARGUMENT and UNIMPLEMENTED: the server cannot filter reads. */
const isInvalid = (error: unknown): boolean => [3, 12].includes((error as Readonly<{ code?: number }>).code ?? -1);

/** Reads of one stream or of the log, each of which comes to its end. */
import type { EventBatch, Position, ReadLogOptions, StoredEvent } from '../../../domain/ports/event-store.js';
import type { Clock } from '../../../domain/ports/clock.js';
import type { ReadReq } from '@eventstore/db-client/generated/streams_pb.js';
import { isPassing, type Connection } from './connection.js';
import { commitOf, isBeforeEvent, positionOf, toStoredEvent } from './records.js';
import { readAllRequest, readStreamRequest, recordedIn } from './requests.js';
import { kindMatcher, NOTHING, renamed, typeMatcher, type StreamNames } from './streams.js';

export type ReadingDeps = Readonly<{
  connection: Pick<Connection, 'read'>;
  names: StreamNames;
  clock: Clock;
  /** How long a short read may take, and a long one may stand still. */
  shortMs: number;
  stillMs: number;
}>;

export type Reading = Readonly<{
  stream: (atServer: string, from: number | 'end', countMax?: number) => Promise<readonly StoredEvent[]>;
  /** The events after `after`, at most `countMax`. */
  some: (after: Position, kinds: readonly string[] | undefined, countMax: number) => Promise<readonly StoredEvent[]>;
  head: () => Promise<Position>;
  all: (after: Position, options: ReadLogOptions) => AsyncGenerator<EventBatch>;
}>;

const BATCH_SIZE = 1_000;
const PAUSE_MS = 50;
/** A short read outlives a connection that breaks off, or another leader, not an outage. */
const RETRY_FOR_MS = 1_000;
const never = new AbortController().signal;

export const openReading = (deps: ReadingDeps): Reading => {
  const { connection, names, clock, shortMs } = deps;

  /** The whole answer; a connection that breaks off is made again while there is time. */
  const short = async (request: ReadReq, shown: (stream: string) => string | undefined): Promise<readonly StoredEvent[]> => {
    const begunMs = clock.monotonic();
    const untilMs = begunMs + shortMs;
    for (;;) {
      try {
        const events: StoredEvent[] = [];
        const timeoutMs = Math.max(1, untilMs - clock.monotonic());
        for await (const response of connection.read(request, { timeoutMs })) {
          const recorded = recordedIn(response);
          const stream = recorded && shown(recorded.stream);
          if (recorded !== undefined && stream !== undefined) events.push(toStoredEvent({ ...recorded, stream }));
        }
        return events;
      } catch (error) {
        if (!isPassing(error) || clock.monotonic() - begunMs > RETRY_FOR_MS) throw error;
        await clock.sleep(PAUSE_MS, never);
      }
    }
  };

  const head = async (): Promise<Position> => {
    const [last] = await short(readAllRequest({ prefixes: names.prefixes(undefined), from: 'end', countMax: 1 }), names.ours);
    return last?.position ?? 0;
  };

  return {
    head,
    stream: (atServer, from, countMax) => short(readStreamRequest(atServer, from, countMax), (name) => names.ours(name) ?? name),
    some: async (after, kinds, countMax) => {
      const matches = kindMatcher(kinds);
      // One more, for the server begins with the event at the position itself.
      const request = readAllRequest({ prefixes: names.prefixes(kinds), from: after, countMax: countMax + 1 });
      const read = await short(request, names.ours);
      return read.filter(({ stream, position }) => position > after && matches(stream)).slice(0, countMax);
    },
    all: (after, options) => readAll(deps, head, after, options),
  };
};

/** Begins anew after the last event where the connection breaks off; ends with the error where nothing comes for too long. */
async function* readAll(
  deps: ReadingDeps,
  head: () => Promise<Position>,
  after: Position,
  options: ReadLogOptions,
): AsyncGenerator<EventBatch> {
  const { clock, stillMs } = deps;
  const upTo = await head();
  let cursor = after;
  let movedMs = clock.monotonic();
  while (cursor < upTo && options.signal?.aborted !== true) {
    try {
      for await (const batch of stretch(deps, cursor, upTo, options)) {
        cursor = batch.position;
        yield batch;
        movedMs = clock.monotonic();
      }
      // The stretch ends before its end only where the reader does.
      return;
    } catch (error) {
      if (!isPassing(error) || clock.monotonic() - movedMs > stillMs) throw error;
      await clock.sleep(PAUSE_MS, options.signal ?? never);
    }
  }
}

async function* stretch(
  { connection, names }: ReadingDeps,
  after: Position,
  upTo: Position,
  { kinds, types, batchSize = BATCH_SIZE, signal }: ReadLogOptions,
): AsyncGenerator<EventBatch> {
  const isWantedKind = kindMatcher(kinds);
  const isWantedType = typeMatcher(types);
  let events: StoredEvent[] = [];
  let reached = after;
  const wantedTypes = types?.length === 0 ? [NOTHING] : types;
  const request = readAllRequest({ prefixes: names.prefixes(kinds), types: wantedTypes, from: after });
  for await (const response of connection.read(request, signal === undefined ? {} : { signal })) {
    const recorded = recordedIn(response);
    const ours = recorded && renamed(names, recorded);
    if (ours === undefined || positionOf(ours.commit) <= after) continue;
    if (positionOf(ours.commit) > upTo) break;
    if (!isWantedKind(ours.stream) || !isWantedType(ours.type)) continue;
    events.push(toStoredEvent(ours));
    if (events.length < batchSize) continue;
    reached = events.at(-1)!.position;
    yield { events, position: reached };
    if (signal?.aborted === true) return;
    events = [];
  }
  if (signal?.aborted !== true && reached < upTo) yield { events, position: upTo };
}

/** Whether a place between two events is that just before the event at this commit position. */
export const standsBefore = (place: Position, event: StoredEvent): boolean =>
  isBeforeEvent(place) && commitOf(place) === commitOf(event.position);

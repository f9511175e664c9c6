/**
 * The log of events on an EventStoreDB or KurrentDB server (22.6 and newer), which several processes and hosts share.
 */
import type { Clock } from '../../domain/ports/clock.js';
import type { AppendOutcome, EventBatch, EventStore, EventToStore, Position } from '../../domain/ports/event-store.js';
import type { Logger } from '../../domain/ports/logger.js';
import { sizeOf, openAppends, type Appends, AppendRefused } from './eventstoredb/appends.js';
import { openConnection, parseEventStoreDbUrl } from './eventstoredb/connection.js';
import { openHeadWatch, type HeadWatch, subscribeAll } from './eventstoredb/subscription.js';
import { openReads, type Reads } from './eventstoredb/reads.js';
import { positionOf, toServerEvent, streamNames, type StreamNames, serverIdOf } from './eventstoredb/records.js';

export { EventStoreAway, EventStoreDenied } from './eventstoredb/connection.js';
export { AppendRefused } from './eventstoredb/appends.js';

export type EventStoreDbTimes = Readonly<{
  /** Within which a connection must stand. */
  connectMs: number;
  /** After which an append without an answer is unknown. */
  appendMs: number;
  /** Within which a short read must have come. */
  readMs: number;
  /** For how long a read of the whole log waits for a server that is away. */
  stillMs: number;
}>;

type AppendDeps = Readonly<{
  appends: Pick<Appends, 'append'>;
  reading: Pick<Reads, 'stream'>;
  names: StreamNames;
  watch: HeadWatch;
  types: Pick<TypeNotes, 'note'>;
}>;

const timesDefault: EventStoreDbTimes = { connectMs: 3_000, appendMs: 5_000, readMs: 5_000, stillMs: 60_000 };
/** More than any server can be set to take in one append. */
const APPEND_BYTES_MAX = 16 * 1024 * 1024;

export type EventStoreDbOptions = Readonly<{
  /**
   * esdb://, esdb+discover://, kurrentdb:// or kurrentdb+discover://; the option `prefix` is ours and tells logs on one
   * server apart.
   */
  url: string;
  clock: Clock;
  logger: Logger;
  times?: Partial<EventStoreDbTimes>;
}>;

/**
 * Rejects with RangeError where the URL is none, with EventStoreAway where the server cannot be reached, with
 * EventStoreDenied where it refuses the user.
 */
export const openEventStoreDb = async ({ url, clock, logger, times }: EventStoreDbOptions): Promise<EventStore> => {
  const { connectMs, appendMs, readMs, stillMs } = { ...timesDefault, ...times };
  const parsed = parseEventStoreDbUrl(url);
  const names = streamNames(parsed.prefix);
  const connection = openConnection({ url: parsed, clock, connectMs });
  const appends = openAppends({ connection, clock, timeoutMs: appendMs });
  const reading = openReads({
    connection,
    names,
    clock,
    shortMs: readMs,
    stillMs,
    known: () => watch.head().position,
  });
  const closed = new AbortController();
  const watch: HeadWatch = openHeadWatch(() => reading.head(), clock, closed.signal);
  const types = openTypeNotes({ appends, reading, names });
  const append = appender({ appends, reading, names, watch, types });
  try {
    watch.note(await reading.head(true));
    await types.all();
  } catch (fault) {
    await connection.close();
    throw fault;
  }
  return {
    positions: 'sparse',
    append: (stream, expectedRevision, events) =>
      closed.signal.aborted
        ? Promise.reject(new Error('the event store is closed'))
        : append(stream, expectedRevision, events),
    readStream: (stream, fromRevision = 0) => reading.stream(names.atServer(stream), fromRevision),
    readLast: async (stream) => (await reading.stream(names.atServer(stream), 'end', 1))[0],
    readAll: (after, options = {}) => reading.all(after, options),
    subscribeAll: (after, options) =>
      untilEither(options.signal, closed.signal, (signal) =>
        subscribeAll({ connection, reading, names, watch, clock, logger }, after, { ...options, signal }),
      ),
    head: async () => {
      const head = await reading.head();
      watch.note(head);
      return head.position;
    },
    types: types.all,
    close: async () => {
      closed.abort();
      await appends.settled();
      appends.close();
      await connection.close();
    },
  };
};

const appender = ({ appends, reading, names, watch, types }: AppendDeps): EventStore['append'] => {
  /**
   * The revision and position of these very events in the stream, found by their ids; undefined if they are not there.
   */
  const standing = async (
    stream: string,
    expectedRevision: number,
    events: readonly EventToStore[],
  ): Promise<AppendOutcome | undefined> => {
    const there = await reading.stream(names.atServer(stream), expectedRevision + 1, events.length);
    const last = there[events.length - 1];
    if (last === undefined || events.some(({ eventId }, index) => there[index]!.eventId !== eventId)) return undefined;
    return { kind: 'done', revision: last.revision, position: last.position };
  };

  const done = async (
    stream: string,
    events: readonly EventToStore[],
    revision: number,
    position: Position,
  ): Promise<AppendOutcome> => {
    watch.note({ position, stream });
    await types.note({ stream, types: events.map(({ type }) => type), lastRevision: revision, lastPosition: position });
    return { kind: 'done', revision, position };
  };

  /** If the read after a successful append fails, the outcome is unknown. */
  const orUnknown = (work: Promise<AppendOutcome | undefined>): Promise<AppendOutcome> =>
    work.then(
      (outcome) =>
        outcome ?? { kind: 'unknown', cause: new Error('the event store has taken the events and does not show them') },
      (fault: unknown) => ({
        kind: 'unknown',
        cause: fault instanceof Error ? fault : new Error('the stream cannot be read', { cause: fault }),
      }),
    );

  return async (stream, expectedRevision, events) => {
    if (events.length === 0) throw new RangeError('an append needs at least one event');
    if (!Number.isInteger(expectedRevision) || expectedRevision < -1)
      throw new RangeError('the expected revision is -1 or more');
    const toSend = events.map(toServerEvent);
    const size = toSend.reduce((sum, event) => sum + sizeOf(event), 0);
    if (size > APPEND_BYTES_MAX)
      throw new AppendRefused(
        `the events of one append have ${size} bytes, more than the ${APPEND_BYTES_MAX} that an event store takes`,
      );
    const newestBefore = watch.head().position;
    const answer = await appends.append({ stream: names.atServer(stream), expectedRevision, events: toSend });
    switch (answer.kind) {
      case 'done': {
        const { revision, commit } = answer;
        // Events that were there before keep their position, which the server may not give.
        if (commit === undefined || positionOf(commit) <= newestBefore)
          return orUnknown(standing(stream, expectedRevision, events));
        return done(stream, events, revision, positionOf(commit));
      }
      case 'conflict': {
        const { actualRevision } = answer;
        if (actualRevision < expectedRevision + events.length) return answer;
        return orUnknown(standing(stream, expectedRevision, events).then((outcome) => outcome ?? answer));
      }
      case 'refused':
        throw answer.error;
      case 'unknown':
        return answer;
    }
  };
};

async function* untilEither(
  signal: AbortSignal,
  closed: AbortSignal,
  follow: (either: AbortSignal) => AsyncIterable<EventBatch>,
): AsyncGenerator<EventBatch> {
  if (!signal.aborted && !closed.aborted) yield* follow(AbortSignal.any([signal, closed]));
}

// * The types of event in the log, noted in a stream beside it, because the server can list them only by reading
// everything. A type is noted after its first append through this client. If the process ends in between, the next
// append of that type notes it.

type TypeNotes = Readonly<{
  all: () => Promise<ReadonlyMap<string, Position>>;
  /** Notes new types. Never rejects. */
  note: (appended: Appended) => Promise<void> | undefined;
}>;

/** An append that is done. `lastRevision` and `lastPosition` are those of its last event. */
type Appended = Readonly<{ stream: string; types: readonly string[]; lastRevision: number; lastPosition: Position }>;

type Deps = Readonly<{ appends: Pick<Appends, 'append'>; reading: Pick<Reads, 'stream'>; names: StreamNames }>;

const NOTE_TYPE = 'SealpostTypeNoted';

const openTypeNotes = ({ appends, reading, names }: Deps): TypeNotes => {
  const known = new Set<string>();
  const underWay = new Map<string, Promise<void>>();

  const all = async (): Promise<ReadonlyMap<string, Position>> => {
    const noted = new Map<string, Position>();
    for (const { data } of await reading.stream(names.typeNotes, 0)) {
      const note = noteIn(data);
      if (note !== undefined && !noted.has(note.type)) noted.set(note.type, note.position);
    }
    for (const type of noted.keys()) known.add(type);
    return noted;
  };

  const write = async (type: string, position: Position): Promise<void> => {
    const data = Buffer.from(JSON.stringify({ type, position }));
    // The id is derived from the type: if two processes note a type at once, the server keeps one note.
    const event = {
      id: serverIdOf(`type ${type} of ${names.typeNotes}`),
      type: NOTE_TYPE,
      data,
      metadata: Buffer.from('{}'),
    };
    const answer = await appends.append({ stream: names.typeNotes, expectedRevision: undefined, events: [event] });
    if (answer.kind === 'done') known.add(type);
  };

  const noteOne = async (type: string, { stream, types, lastRevision, lastPosition }: Appended): Promise<void> => {
    const behindLast = types.length - 1 - types.lastIndexOf(type);
    if (behindLast === 0) return write(type, lastPosition);
    const [event] = await reading.stream(names.atServer(stream), lastRevision - behindLast, 1);
    if (event !== undefined) await write(type, event.position);
  };

  return {
    all,
    note: (appended) => {
      if (appended.types.every((type) => known.has(type))) return undefined;
      const noting = [...new Set(appended.types)].filter((type) => !known.has(type));
      return Promise.all(
        noting.map((type) => {
          const begun = underWay.get(type);
          if (begun !== undefined) return begun;
          // A note that fails is made at the next append.
          const note = noteOne(type, appended)
            .catch(() => {})
            .finally(() => underWay.delete(type));
          underWay.set(type, note);
          return note;
        }),
      ).then(() => {});
    },
  };
};

const noteIn = (data: string): Readonly<{ type: string; position: Position }> | undefined => {
  try {
    const { type, position } = JSON.parse(data) as Readonly<{ type: unknown; position: unknown }>;
    return typeof type === 'string' && typeof position === 'number' ? { type, position } : undefined;
  } catch {
    return undefined;
  }
};

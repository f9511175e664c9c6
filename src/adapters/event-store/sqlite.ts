/** The log of events in one SQLite file: the only owner of its table, shared with other processes on the same file. */
import { setImmediate as turn } from 'node:timers/promises';
import type {
  EventBatch,
  StoredEvent,
  AppendOutcome,
  EventStore,
  Position,
  ReadAllOptions,
  ReadLogOptions,
} from '../../domain/ports/event-store.js';
import { type LogTable, openLogTable, type Append } from './log-table.js';
import { openDatabase, type Database, tellingRefusals } from '../sqlite/database.js';
import { groupCommit, type GroupCommit } from '../sqlite/group-commit.js';
import { isLong, longFromEvents, readAhead } from './read-ahead.js';

type SqliteEventStoreOptions = Readonly<{
  /** Reads of more events than this run in a thread. Default `longFromEvents`. */
  longFrom?: number;
}>;

type Matches = (stream: string) => boolean;

/**
 * The newest events that this process committed, so that live subscribers read nothing from the database. Their
 * positions have no gaps; their number and their bytes are bounded.
 */
type RecentEvents = Readonly<{
  /** Takes the event at the next position. After a gap (another process has written) it starts anew. */
  push: (event: StoredEvent) => void;
  /** The events after `after`, at most `limit`; undefined if the next one is not here. */
  after: (after: number, limit: number, matches: Matches | undefined) => EventBatch | undefined;
}>;

/**
 * Tells subscribers that the log has grown: at once if this process wrote, within some milliseconds if another did. One
 * timer serves all subscribers, and runs only while there are any.
 */
type HeadWatch = Readonly<{
  /** The newest position that this process knows of. */
  head: () => number;
  /** This process has committed up to `position`. */
  notify: (position: number) => void;
  /** Reads the head of the log. A fault rejects the waiting subscribers. */
  look: () => void;
  /**
   * Out: true when the head is beyond `position`, false when the signal aborts or the store is closed. Rejects if the
   * log cannot be read.
   */
  beyond: (position: number, signal: AbortSignal) => Promise<boolean>;
  /** Keeps the watch going until the returned function is called. */
  subscribe: () => () => void;
  hasSubscribers: () => boolean;
  closed: () => boolean;
  close: () => void;
}>;

type Waiters = Readonly<{
  /** Resolves when woken or when the signal aborts. Rejects if it is woken with an error. */
  wait: (signal: AbortSignal) => Promise<void>;
  wake: (error?: unknown) => void;
}>;

const batchSizeDefault = 1_000;

const boundsDefault = { countMax: 1_024, bytesMax: 2 * 1024 * 1024 };
/** Memory of an event beside its texts and bytes. */
const eventOverheadBytes = 256;

const pollEveryMs = 15;

/**
 * An accepted email is an event of 2 to 3 KB. In pages of 4 KB it fills one by itself and leaves a third of it unused.
 */
const pageSizeBytes = 8_192;

/** In: the database file, made if there is none. Throws SqliteError if it cannot be opened. */
export const openSqliteEventStore = ({
  file,
  ...options
}: Readonly<{ file: string }> & SqliteEventStoreOptions): EventStore =>
  eventStoreOn(openDatabase({ file, synchronous: 'full', pageSizeBytes }), options);

/** The event store on an open database, which it closes with itself. */
export const eventStoreOn = (
  database: Database,
  { longFrom = longFromEvents }: SqliteEventStoreOptions = {},
): EventStore => {
  const table = openLogTable(database);
  const recent = createRecentEvents();
  const watch = createHeadWatch(table);
  const commits = appendCommits(database, table, recent, watch);
  const append = (asked: Append): Promise<AppendOutcome> => {
    if (asked.events.length === 0) return Promise.reject(new RangeError('an append needs at least one event'));
    if (!Number.isInteger(asked.expectedRevision) || asked.expectedRevision < -1)
      return Promise.reject(new RangeError('the expected revision is -1 or more'));
    return commits.run(asked);
  };
  return tellingRefusals<EventStore>('log', {
    append: (stream, expectedRevision, events) => append({ stream, expectedRevision, events }),
    positions: 'dense',
    readStream: async (stream, fromRevision = 0) => table.stream(stream, fromRevision),
    readLast: async (stream) => table.last(stream),
    head: async () => table.head(),
    types: async () => table.types(),
    readAll: (after, options = {}) => readTo(database, table, after, longFrom, options),
    subscribeAll: (after, options) => subscribed(table, recent, watch, after, options),
    close: async () => {
      commits.close();
      watch.close();
      database.close();
    },
  });
};

/**
 * Appends of one turn of the event loop or a few share a commit. Durable events become recent events and wake the
 * subscribers.
 */
const appendCommits = (
  database: Database,
  table: LogTable,
  recent: RecentEvents,
  watch: HeadWatch,
): GroupCommit<Append, AppendOutcome> => {
  /** Events of the group under way. */
  let written: StoredEvent[] = [];
  let head = 0;
  return groupCommit<Append, AppendOutcome>({
    database,
    weight: ({ events }) => events.length,
    begun: () => {
      written = [];
      head = table.head();
      table.settleTypes(false);
    },
    apply: (append) => {
      const outcome = table.append(append, head, (event) => void written.push(event));
      // Events that stood there already have an older position.
      if (outcome.kind === 'done') head = Math.max(head, outcome.position);
      return outcome;
    },
    committed: () => {
      table.settleTypes(true);
      // Without subscribers in this process, recent events are not cached.
      if (watch.hasSubscribers()) for (const event of written) recent.push(event);
      watch.notify(head);
    },
    unknown: (cause) => {
      watch.look();
      return { kind: 'unknown', cause };
    },
  });
};

const subscribed = async function* (
  table: LogTable,
  recent: RecentEvents,
  watch: HeadWatch,
  after: Position,
  { kinds, batchSize = batchSizeDefault, signal }: ReadAllOptions & Readonly<{ signal: AbortSignal }>,
): AsyncGenerator<EventBatch> {
  const matches = matcher(kinds);
  const unsubscribe = watch.subscribe();
  try {
    for (let cursor = after; !signal.aborted && !watch.closed();) {
      if (watch.head() <= cursor) {
        if (!(await watch.beyond(cursor, signal))) return;
        continue;
      }
      const near = recent.after(cursor, batchSize, matches);
      const page = near ?? table.page({ after: cursor, upTo: watch.head(), limit: batchSize }, { kinds });
      cursor = page.position;
      yield page;
      // A subscriber that catches up reads page after page. Other work gets its turn in between.
      if (near === undefined || page.events.length === batchSize) await turn();
    }
  } finally {
    unsubscribe();
  }
};

const readTo = async function* (
  database: Database,
  table: LogTable,
  after: number,
  longFrom: number,
  options: ReadLogOptions,
): AsyncGenerator<EventBatch> {
  const { kinds, types, batchSize = batchSizeDefault, signal } = options;
  const upTo = table.head();
  if (isLong({ after, upTo }, longFrom) && !database.memory)
    return yield* readAhead({ file: database.name, after, upTo, batchSize, kinds, types }, signal);
  for (let cursor = after; cursor < upTo && signal?.aborted !== true;) {
    const page = table.page({ after: cursor, upTo, limit: batchSize }, { kinds, types });
    cursor = page.position;
    yield page;
    await turn();
  }
};

const matcher = (wanted: readonly string[] | undefined): Matches | undefined => {
  if (wanted === undefined) return undefined;
  const kinds = new Set(wanted);
  return (stream) => {
    const at = stream.indexOf('-');
    return kinds.has(at < 0 ? stream : stream.slice(0, at));
  };
};

const sizeOf = ({ data, metadata, sealed }: StoredEvent): number =>
  eventOverheadBytes + data.length + metadata.length + (sealed?.byteLength ?? 0);

export const createRecentEvents = ({ countMax, bytesMax } = boundsDefault): RecentEvents => {
  /**
   * Entries before `start` are dropped: undefined, so that they can be collected, and cut off in batches, because a cut
   * moves the rest.
   */
  let events: (StoredEvent | undefined)[] = [];
  let start = 0;
  let bytes = 0;

  const clear = (): void => {
    events = [];
    start = 0;
    bytes = 0;
  };

  const dropOldest = (): void => {
    bytes -= sizeOf(events[start]!);
    events[start] = undefined;
    start += 1;
    if (start < countMax) return;
    events = events.slice(start);
    start = 0;
  };

  return {
    push: (event) => {
      const last = events.at(-1);
      if (last !== undefined && last.position + 1 !== event.position) clear();
      events.push(event);
      bytes += sizeOf(event);
      while (events.length - start > countMax || (bytes > bytesMax && events.length - start > 1)) dropOldest();
    },
    after: (after, limit, matches) => {
      const first = events[start];
      if (first === undefined || after + 1 < first.position) return undefined;
      const from = start + after + 1 - first.position;
      if (from >= events.length) return undefined;
      const found: StoredEvent[] = [];
      let index = from;
      for (; index < events.length && found.length < limit; index += 1) {
        const event = events[index]!;
        if (matches === undefined || matches(event.stream)) found.push(event);
      }
      return { events: found, position: events[index - 1]!.position };
    },
  };
};

const createHeadWatch = (table: Pick<LogTable, 'head' | 'foreignCommits'>): HeadWatch => {
  let head = table.head();
  let subscribers = 0;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const waiters = createWaiters();

  const notify = (position: number): void => {
    if (position <= head) return;
    head = position;
    waiters.wake();
  };

  const look = (): void => {
    try {
      notify(table.head());
    } catch (error) {
      waiters.wake(error);
    }
  };

  const poll = foreignCommitPoll(table, look, waiters.wake);
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
  };

  return {
    head: () => head,
    notify,
    look,
    subscribe: () => {
      subscribers += 1;
      if (!closed) notify(table.head());
      if (timer === undefined && !closed) timer = setInterval(poll, pollEveryMs).unref();
      return () => {
        subscribers -= 1;
        if (subscribers === 0) stop();
      };
    },
    beyond: async (position, signal) => {
      if (closed || signal.aborted) return false;
      if (head > position) return true;
      await waiters.wait(signal);
      return !closed && !signal.aborted;
    },
    hasSubscribers: () => subscribers > 0,
    closed: () => closed,
    close: () => {
      closed = true;
      stop();
      waiters.wake();
    },
  };
};

/** Calls `look` if another process has committed since the last call, `fail` if that cannot be read. */
const foreignCommitPoll = (
  table: Pick<LogTable, 'foreignCommits'>,
  look: () => void,
  fail: (error: unknown) => void,
): (() => void) => {
  let version = table.foreignCommits();
  return () => {
    try {
      const now = table.foreignCommits();
      if (now === version) return;
      // The version is kept before the head is read: a commit in between is seen twice, never missed.
      version = now;
      look();
    } catch (error) {
      fail(error);
    }
  };
};

const createWaiters = (): Waiters => {
  const waiting = new Set<(error?: unknown) => void>();
  return {
    wake: (error) => {
      const woken = [...waiting];
      waiting.clear();
      for (const resume of woken) resume(error);
    },
    wait: (signal) =>
      new Promise((resolve, reject) => {
        const resume = (error?: unknown): void => {
          waiting.delete(resume);
          signal.removeEventListener('abort', onAbort);
          if (error === undefined) resolve();
          else reject(error instanceof Error ? error : new Error('the log cannot be read', { cause: error }));
        };
        const onAbort = (): void => resume();
        signal.addEventListener('abort', onAbort, { once: true });
        waiting.add(resume);
      }),
  };
};

/** The log of events in one SQLite file: the only owner of its table, shared with other processes on the same file. */
import { setImmediate as turn } from 'node:timers/promises';
import type {
  AppendOutcome,
  EventBatch,
  EventStore,
  Position,
  ReadAllOptions,
  ReadLogOptions,
  StoredEvent,
} from '../../domain/ports/event-store.js';
import { openDatabase, type Database } from '../sqlite/database.js';
import { groupCommit, type GroupCommit } from '../sqlite/group-commit.js';
import { logTruncation } from '../sqlite/log-truncation.js';
import { createHeadWatch, type HeadWatch } from './head-watch.js';
import { openLogTable, type Append, type LogTable } from './log-table.js';
import { isLong, longFromEvents, readAhead } from './read-ahead.js';
import { createRecentEvents, type Matches, type RecentEvents } from './recent-events.js';

const batchSizeDefault = 1_000;
/** Many streams are truncated one after the other, and the write-ahead log is cut once for them. */
const CUT_WITHIN_MS = 2_000;

export type SqliteEventStoreOptions = Readonly<{
  /** More events than that are read in a thread. Default `longFromEvents`. */
  longFrom?: number;
}>;

/** In: the database file, made where there is none. Throws SqliteError where it cannot be opened. */
export const openSqliteEventStore = ({ file, ...options }: Readonly<{ file: string }> & SqliteEventStoreOptions): EventStore =>
  eventStoreOn(openDatabase({ file, synchronous: 'full' }), options);

/** The event store on an open database, which it closes with itself. */
export const eventStoreOn = (database: Database, { longFrom = longFromEvents }: SqliteEventStoreOptions = {}): EventStore => {
  const table = openLogTable(database);
  const recent = createRecentEvents();
  const watch = createHeadWatch(table);
  const commits = appendCommits(database, table, recent, watch);
  // Until it is cut the write-ahead log has the pages as they were; a disk that refuses is asked again.
  const cut = logTruncation({ database, withinMs: CUT_WITHIN_MS, onFault: () => {} });
  const append = (asked: Append): Promise<AppendOutcome> => {
    if (asked.events.length === 0) return Promise.reject(new RangeError('an append needs at least one event'));
    if (!Number.isInteger(asked.expectedRevision) || asked.expectedRevision < -1)
      return Promise.reject(new RangeError('the expected revision is -1 or more'));
    return commits.run(asked);
  };
  return {
    append: (stream, expectedRevision, events) => append({ stream, expectedRevision, events }),
    begin: (stream, revision, events) => append({ stream, expectedRevision: revision - 1, events, begins: true }),
    truncate: async (stream, before) => {
      table.truncate(stream, before);
      cut.soon();
    },
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
      cut.close();
      database.close();
    },
  };
};

/** Appends of one turn of the event loop or a few share a commit; what is durable becomes a recent event and wakes the subscribers. */
const appendCommits = (database: Database, table: LogTable, recent: RecentEvents, watch: HeadWatch): GroupCommit<Append, AppendOutcome> => {
  /** Of the group under way. */
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
      // Where nothing subscribes in this process, recent events are not cached.
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
      // A subscriber that catches up reads page after page: others get their turn in between.
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

/** The table of events and every statement on it. */
import type { AppendOutcome, EventBatch, EventToStore, StoredEvent } from '../../domain/ports/event-store.js';
import { inTransaction, type Database, type Statement } from '../sqlite/database.js';

export type Append = Readonly<{
  stream: string;
  expectedRevision: number;
  events: readonly EventToStore[];
}>;

export type LogTable = Readonly<{
  head: () => number;
  /** Changes whenever another connection has committed, and not with commits of this one. */
  foreignCommits: () => number;
  /** Inside a transaction: the events take the positions after `head`, and `written` is called for each. */
  append: (append: Append, head: number, written: (event: StoredEvent) => void) => AppendOutcome;
  /** Call it with true when appends are durable, and with false before a group of them begins. */
  settleTypes: (durable: boolean) => void;
  /** The noted types of event, each with the position of the first. */
  types: () => ReadonlyMap<string, number>;
  stream: (stream: string, fromRevision: number) => StoredEvent[];
  last: (stream: string) => StoredEvent | undefined;
  /**
   * At most `limit` events after `after` up to `upTo`. A filtered page looks at a bounded number of rows and may be
   * empty.
   */
  page: (range: Readonly<{ after: number; upTo: number; limit: number }>, filter?: Filter) => EventBatch;
}>;

/** Selects events by kind of stream and by stored type. An absent filter selects all. */
export type Filter = Readonly<{ kinds?: readonly string[] | undefined; types?: readonly string[] | undefined }>;

/** A row of the driver, in the order of `columns`. Arrays cost less than objects. */
type Row = [
  stream: string,
  revision: number,
  position: number,
  type: string,
  data: string,
  metadata: string,
  sealed: Buffer | null,
  hash: string,
  eventId: string | null,
];

type TypeNotes = Readonly<{
  /** Inside a transaction: notes the type if it is new. */
  note: (type: string, position: number) => void;
  /** Call it with true when the transaction is durable, and with false before the next one begins. */
  settle: (durable: boolean) => void;
}>;

const schema = `
  CREATE TABLE IF NOT EXISTS events (
    position INTEGER PRIMARY KEY,
    stream TEXT NOT NULL,
    revision INTEGER NOT NULL,
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    metadata TEXT NOT NULL,
    sealed BLOB,
    hash TEXT NOT NULL,
    event_id TEXT,
    UNIQUE (stream, revision)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS event_types (type TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT`;

/** An append never gives a position below 1. A row there was slipped in, and belongs to no stream. */
const inOrder = 'position >= 1';
const columns = 'stream, revision, position, type, data, metadata, sealed, hash, event_id';
/**
 * Rows that a filtered page looks at for each event it may return. Bounds the time for which it blocks the event loop.
 */
const rowsScannedPerEvent = 8;

const ID_AT = '{"eventId":"';

export const openLogTable = (database: Database): LogTable => {
  prepareSchema(database);
  const selectHead = database.prepare<[], number>('SELECT coalesce(max(position), 0) FROM events').pluck();
  const selectVersion = database.prepare<[], number>('PRAGMA data_version').pluck();
  const selectStream = database
    .prepare<[string, number], Row>(
      `SELECT ${columns} FROM events WHERE stream = ? AND revision >= ? AND ${inOrder} ORDER BY revision`,
    )
    .raw(true);
  const selectLast = database
    .prepare<[string], Row>(
      `SELECT ${columns} FROM events WHERE stream = ? AND ${inOrder} ORDER BY revision DESC LIMIT 1`,
    )
    .raw(true);
  const selectPage = pageStatements(database);
  const typeNotes = openTypeNotes(database);
  const stream = (name: string, fromRevision: number): StoredEvent[] =>
    selectStream.all(name, fromRevision).map(toEvent);

  return {
    head: () => selectHead.get() ?? 0,
    foreignCommits: () => selectVersion.get() ?? 0,
    append: appender(database, stream, typeNotes),
    settleTypes: typeNotes.settle,
    types: () =>
      new Map(database.prepare<[], [string, number]>('SELECT type, position FROM event_types').raw(true).all()),
    stream,
    last: (name) => selectLast.all(name).map(toEvent)[0],
    page: ({ after, upTo, limit }, filter = {}) => {
      const { kinds, types } = filter;
      const isFiltered = kinds !== undefined || types !== undefined;
      const scanTo = isFiltered ? Math.min(upTo, after + limit * rowsScannedPerEvent) : upTo;
      const events = selectPage(filter)
        .all(after, scanTo, ...(kinds ?? []).flatMap(rangeOfKind), ...(types ?? []), limit)
        .map(toEvent);
      return { events, position: events.length < limit ? scanTo : events.at(-1)!.position };
    },
  };
};

const appender = (database: Database, readStream: LogTable['stream'], types: TypeNotes): LogTable['append'] => {
  const selectRevision = database
    .prepare<[string], number>('SELECT revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1')
    .pluck();
  const row = 'position, stream, revision, type, data, metadata, sealed, hash, event_id';
  // The unique constraint is the check: nothing is written if the revision is taken.
  const insert = database.prepare(
    `INSERT INTO events (${row}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (stream, revision) DO NOTHING`,
  );
  // Also inserts no row if the stream ends before the expected revision.
  const goOn = database.prepare(
    `INSERT INTO events (${row}) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM events WHERE stream = ? AND revision = ?)
     ON CONFLICT (stream, revision) DO NOTHING`,
  );
  const actualRevision = (stream: string): number => selectRevision.get(stream) ?? -1;

  /** If the stream has these very events already, by their ids, the append is done; else it is a conflict. */
  const refused = ({ stream, expectedRevision, events }: Append): AppendOutcome => {
    const there = readStream(stream, expectedRevision + 1);
    const last = there[events.length - 1];
    if (last === undefined || events.some(({ eventId }, index) => there[index]!.eventId !== eventId))
      return { kind: 'conflict', actualRevision: actualRevision(stream) };
    return { kind: 'done', revision: last.revision, position: last.position };
  };

  return (append, head, written) => {
    const { stream, expectedRevision, events } = append;
    let revision = expectedRevision;
    let position = head;
    for (const event of events) {
      const { type, data, metadata, sealed, hash } = event;
      revision += 1;
      position += 1;
      const eventId = idIn(metadata) === event.eventId ? null : event.eventId;
      const values = [position, stream, revision, type, data, metadata, sealed ?? null, hash, eventId];
      const mustFollow = revision === expectedRevision + 1 && expectedRevision >= 0;
      const { changes } = mustFollow ? goOn.run(...values, stream, expectedRevision) : insert.run(...values);
      // Only the first can be refused: revisions have no gaps.
      if (changes === 0) return refused(append);
      types.note(type, position);
      written({ ...event, stream, revision, position });
    }
    return { kind: 'done', revision, position };
  };
};

/** Notes each type of event at its first append, so that a start finds unknown types without reading the log. */
const openTypeNotes = (database: Database): TypeNotes => {
  const insert = database.prepare('INSERT OR IGNORE INTO event_types (type, position) VALUES (?, ?)');
  const durable = new Set<string>();
  const pending = new Set<string>();
  return {
    note: (type, position) => {
      if (durable.has(type) || pending.has(type)) return;
      insert.run(type, position);
      pending.add(type);
    },
    settle: (isDurable) => {
      if (pending.size === 0) return;
      if (isDurable) for (const type of pending) durable.add(type);
      pending.clear();
    },
  };
};

/** Makes the table if there is none, and adds the column `event_id` to an older one. */
const prepareSchema = (database: Database): void => {
  database.exec(schema);
  const hasEventId = (): boolean =>
    (database.pragma('table_info(events)') as { name: string }[]).some(({ name }) => name === 'event_id');
  if (hasEventId()) return;
  inTransaction(database, () => {
    // Another process may have been faster.
    if (!hasEventId()) database.exec('ALTER TABLE events ADD COLUMN event_id TEXT');
  });
};

/** The id at the beginning of the metadata. The column is empty for an event whose metadata has it. */
export const idIn = (metadata: string): string | undefined =>
  metadata.startsWith(ID_AT) ? metadata.slice(ID_AT.length, metadata.indexOf('"', ID_AT.length)) : undefined;

const toEvent = ([stream, revision, position, type, data, metadata, sealed, hash, eventId]: Row): StoredEvent => ({
  eventId: eventId ?? idIn(metadata) ?? '',
  stream,
  revision,
  position,
  type,
  data,
  metadata,
  sealed: sealed ?? undefined,
  hash,
});

/** A kind is a stream of that very name, or every name that begins with it and a hyphen ('.' follows '-' in ASCII). */
const rangeOfKind = (kind: string): string[] => [kind, `${kind}-`, `${kind}.`];

/** One statement for each number of kinds and of types. Callers use few. */
const pageStatements = (database: Database): ((filter: Filter) => Statement<(string | number)[], Row>) => {
  const made = new Map<string, Statement<(string | number)[], Row>>();
  return ({ kinds, types }) => {
    const shape = `${kinds?.length} ${types?.length}`;
    const known = made.get(shape);
    if (known !== undefined) return known;
    const anyKind = Array.from({ length: kinds?.length ?? 0 }, () => 'stream = ? OR (stream >= ? AND stream < ?)').join(
      ' OR ',
    );
    const ofKinds = kinds === undefined ? '' : `AND (${anyKind === '' ? 'FALSE' : anyKind})`;
    // The type is near the beginning of a row, so SQLite reads little of a row that does not match.
    const ofTypes = types === undefined ? '' : `AND type IN (${types.map(() => '?').join(', ')})`;
    const statement = database
      .prepare<(string | number)[], Row>(
        `SELECT ${columns} FROM events WHERE position > ? AND position <= ? ${ofKinds} ${ofTypes} ORDER BY position LIMIT ?`,
      )
      .raw(true);
    made.set(shape, statement);
    return statement;
  };
};

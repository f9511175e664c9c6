/** The table of events and every statement on it. */
import { WrongExpectedRevision } from '../../domain/errors.js';
import type { AppendResult, EventFilter, EventToStore, StoredEvent } from '../../domain/ports/event-store.js';
import type { Applied } from '../sqlite/group-commit.js';
import type { Database, Statement } from '../sqlite/database.js';
import type { Page } from './tail.js';

export type Append = Readonly<{ stream: string; expectedRevision: number; events: readonly EventToStore[] }>;

export type LogTable = Readonly<{
  head: () => number;
  /** Rises whenever another connection has committed; our own commits leave it alone. */
  foreignCommits: () => number;
  /** Inside a transaction: the events take the positions after `head`, and `written` is called for each. */
  append: (append: Append, head: number, written: (event: StoredEvent) => void) => Applied<AppendResult>;
  stream: (stream: string, fromRevision: number) => StoredEvent[];
  last: (stream: string) => StoredEvent | undefined;
  /** Throws where there is none. */
  at: (position: number) => StoredEvent;
  /** At most `limit` events after `after` up to `upTo`. A filtered page looks at a bounded number of rows and may be empty. */
  page: (
    range: Readonly<{ after: number; upTo: number; limit: number }>,
    filter: EventFilter | undefined,
    whole?: readonly string[],
  ) => Page;
}>;

/** As it comes from the driver, in the order of `columns`; arrays cost less than objects. */
type Row = [
  stream: string,
  revision: number,
  position: number,
  type: string,
  data: string,
  metadata: string,
  sealed: Buffer | null,
  hash: string,
];

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
    UNIQUE (stream, revision)
  ) STRICT`;
const columns = 'stream, revision, position, type, data, metadata, sealed, hash';
/** Rows a filtered page looks at for each event it may return: bounds the time for which it holds up the event loop. */
const rowsScannedPerEvent = 8;

export const openLogTable = (database: Database): LogTable => {
  database.exec(schema);
  const selectHead = database.prepare<[], number>('SELECT coalesce(max(position), 0) FROM events').pluck();
  const selectVersion = database.prepare<[], number>('PRAGMA data_version').pluck();
  const selectRevision = database
    .prepare<[string], number>('SELECT revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1')
    .pluck();
  // The unique constraint is the check: nothing is written where the revision is taken.
  const insert = database.prepare(
    `INSERT INTO events (position, stream, revision, type, data, metadata, sealed, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (stream, revision) DO NOTHING`,
  );
  const selectStream = database
    .prepare<[string, number], Row>(`SELECT ${columns} FROM events WHERE stream = ? AND revision >= ? ORDER BY revision`)
    .raw(true);
  const selectLast = database
    .prepare<[string], Row>(`SELECT ${columns} FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 1`)
    .raw(true);
  const selectAt = database.prepare<[number], Row>(`SELECT ${columns} FROM events WHERE position = ?`).raw(true);
  const selectPage = pageStatements(database);

  return {
    head: () => selectHead.get() ?? 0,
    foreignCommits: () => selectVersion.get() ?? 0,
    append: ({ stream, expectedRevision, events }, head, written) => {
      if (expectedRevision >= 0) {
        const actual = selectRevision.get(stream) ?? -1;
        if (actual !== expectedRevision) return { refused: new WrongExpectedRevision(stream, expectedRevision, actual) };
      }
      let revision = expectedRevision;
      let position = head;
      for (const { type, data, metadata, sealed, hash } of events) {
        revision += 1;
        position += 1;
        const { changes } = insert.run(position, stream, revision, type, data, metadata, sealed ?? null, hash);
        // Only the first can be taken: revisions have no gaps.
        if (changes === 0) return { refused: new WrongExpectedRevision(stream, expectedRevision, selectRevision.get(stream) ?? -1) };
        written({ stream, revision, position, type, data, metadata, sealed, hash });
      }
      return { result: { revision, position } };
    },
    stream: (stream, fromRevision) => selectStream.all(stream, fromRevision).map(toEvent),
    last: (stream) => selectLast.all(stream).map(toEvent)[0],
    at: (position) => {
      const row = selectAt.get(position);
      if (row === undefined) throw new Error(`the log has no event at position ${position}`);
      return toEvent(row);
    },
    page: ({ after, upTo, limit }, filter, whole) => {
      const kinds = filter?.kinds;
      const scanTo = kinds === undefined ? upTo : Math.min(upTo, after + limit * rowsScannedPerEvent);
      const rows = selectPage(kinds?.length, whole?.length).all(
        ...(whole ?? []),
        after,
        scanTo,
        ...(kinds ?? []).flatMap(rangeOfKind),
        limit,
      );
      const events = rows.map(toEvent);
      return { events, next: events.length < limit ? scanTo : events.at(-1)!.position };
    },
  };
};

const toEvent = ([stream, revision, position, type, data, metadata, sealed, hash]: Row): StoredEvent => ({
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

/** Where `whole` names are bound, events of others have nothing but what every reader needs. */
const selectFrom = (whole: number | undefined): string =>
  whole === undefined
    ? `SELECT ${columns} FROM events`
    : `SELECT stream, revision, position, type, data, iif(whole, metadata, ''), iif(whole, sealed, NULL), iif(whole, hash, '')
       FROM (SELECT *, type IN (${Array.from({ length: whole }, () => '?').join(', ')}) OR data = '{}' AS whole FROM events)`;

/** One statement for each number of kinds and names asked for; callers ask for few. */
const pageStatements = (
  database: Database,
): ((kinds: number | undefined, whole: number | undefined) => Statement<(string | number)[], Row>) => {
  const made = new Map<string, Statement<(string | number)[], Row>>();
  return (kinds, whole) => {
    const key = `${kinds} ${whole}`;
    const known = made.get(key);
    if (known !== undefined) return known;
    const anyKind = Array.from({ length: kinds ?? 0 }, () => 'stream = ? OR (stream >= ? AND stream < ?)').join(' OR ');
    const filter = kinds === undefined ? '' : `AND (${anyKind === '' ? 'FALSE' : anyKind})`;
    const statement = database
      .prepare<(string | number)[], Row>(`${selectFrom(whole)} WHERE position > ? AND position <= ? ${filter} ORDER BY position LIMIT ?`)
      .raw(true);
    made.set(key, statement);
    return statement;
  };
};

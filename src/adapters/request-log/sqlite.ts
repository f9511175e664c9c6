/**
 * The log of calls in a SQLite file of its own. A batch is one statement over a JSON text, so a call costs no statement;
 * rows lie together by team, so that a search reads those of the team alone.
 */
import type { CallFilter, CallPage, LoggedCall, RequestLog } from '../../domain/ports/request-log.js';
import { callIdAt, idRangeOf } from '../../domain/ports/request-log.js';
import { nextTurn } from '../../shared/concurrency.js';
import { inTransaction, openDatabase, tellingRefusals } from '../sqlite/database.js';

type Options = Readonly<{ file: string; callsMax: number }>;

type Row = Readonly<{
  team: string;
  id: string;
  actor_type: LoggedCall['actor']['type'];
  actor: string;
  method: string;
  route: string;
  path: string | null;
  status: number;
  code: string | null;
  request_id: string;
  ms: number;
}>;

const schema = `
  CREATE TABLE IF NOT EXISTS calls (
    team TEXT NOT NULL,
    id TEXT NOT NULL,
    actor_type TEXT NOT NULL,
    actor TEXT NOT NULL,
    method TEXT NOT NULL,
    route TEXT NOT NULL,
    path TEXT,
    status INTEGER NOT NULL,
    code TEXT,
    request_id TEXT NOT NULL,
    ms REAL NOT NULL,
    PRIMARY KEY (team, id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS teams (team TEXT PRIMARY KEY, calls INTEGER NOT NULL) STRICT, WITHOUT ROWID`;

const insertCalls = `
  INSERT OR IGNORE INTO calls (team, id, actor_type, actor, method, route, path, status, code, request_id, ms)
  SELECT value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9,
    CAST(value->>10 AS REAL)
  FROM json_each(?)`;

/** Counts calls that are not in the table yet, so it runs before they are inserted. */
const countCalls = `
  INSERT INTO teams (team, calls)
  SELECT given.value->>0, count(*) FROM json_each(?) AS given
  WHERE NOT EXISTS (SELECT 1 FROM calls WHERE team = given.value->>0 AND id = given.value->>1)
  GROUP BY 1
  ON CONFLICT (team) DO UPDATE SET calls = calls + excluded.calls`;

/** Calls of one transaction: others wait for its end. */
const AT_ONCE = 1_000;

export const openSqliteRequestLog = ({ file, callsMax }: Options): RequestLog => {
  const database = openDatabase({ file, synchronous: 'normal', cacheSizeKiB: 1_024 });
  database.exec(schema);
  const [insert, count] = [database.prepare<[string]>(insertCalls), database.prepare<[string]>(countCalls)];
  const overfull = database.prepare<[number], Readonly<{ team: string; calls: number }>>(
    'SELECT team, calls FROM teams WHERE calls > ?',
  );
  const ofTeams = database.prepare<[], Readonly<{ team: string }>>('SELECT team FROM teams');
  const callsOf = database.prepare<[string], Readonly<{ calls: number }>>('SELECT calls FROM teams WHERE team = ?');
  const remove = database.prepare<[string, string, string, number]>(
    'DELETE FROM calls WHERE team = ? AND id IN (SELECT id FROM calls WHERE team = ? AND id < ? ORDER BY id LIMIT ?)',
  );
  const less = database.prepare<[number, string]>('UPDATE teams SET calls = calls - ? WHERE team = ?');
  const forget = database.prepare<[string]>('DELETE FROM teams WHERE team = ? AND calls <= 0');

  /** Deletes the oldest calls of a team below that id, at most `most`. Out: how many. */
  const removeOldest = (team: string, below: string, most: number): number =>
    inTransaction(database, () => {
      const { changes } = remove.run(team, team, below, most);
      less.run(changes, team);
      forget.run(team);
      return changes;
    });

  const writeSome = (calls: readonly LoggedCall[]): void => {
    const text = JSON.stringify(calls.map(valuesOf));
    inTransaction(database, () => {
      count.run(text);
      insert.run(text);
      for (const { team, calls: kept } of overfull.all(callsMax)) removeOldest(team, END, kept - callsMax);
    });
  };

  return tellingRefusals('log of calls', {
    write: async (calls) => {
      for (let at = 0; at < calls.length; at += AT_ONCE) {
        if (at > 0) await nextTurn();
        writeSome(calls.slice(at, at + AT_ONCE));
      }
    },
    find: async (team, filter, page) => {
      const { where, values } = conditionsOf(team, filter, page);
      const rows = database
        .prepare<unknown[], Row>(`SELECT * FROM calls WHERE ${where} ORDER BY id DESC LIMIT ? OFFSET ?`)
        .all(...values, page.limit, page.skip ?? 0);
      return rows.map(callOf);
    },
    count: async (team, filter, max) => {
      if (Object.keys(filter).length === 0) return Math.min(max, callsOf.get(team)?.calls ?? 0);
      const { where, values } = conditionsOf(team, filter);
      const found = database
        .prepare<unknown[], Readonly<{ count: number }>>(
          `SELECT count(*) AS count FROM (SELECT 1 FROM calls WHERE ${where} LIMIT ?)`,
        )
        .get(...values, max);
      return found?.count ?? 0;
    },
    expire: async (beforeMs) => {
      const below = callIdAt(beforeMs);
      for (const { team } of ofTeams.all()) while (removeOldest(team, below, AT_ONCE) === AT_ONCE) await nextTurn();
    },
    close: async () => void database.close(),
  } satisfies RequestLog);
};

/** Behind every id, whose characters are hexadecimal digits. */
const END = 'g';

const valuesOf = ({ id, team, actor, method, route, path, status, code, requestId, durationMs }: LoggedCall) => [
  ...[team, id, actor.type, actor.id, method, route, path === route ? null : path],
  ...[status, code, requestId, durationMs],
];

const callOf = (row: Row): LoggedCall => ({
  id: row.id,
  team: row.team,
  actor: { type: row.actor_type, id: row.actor },
  method: row.method,
  route: row.route,
  path: row.path ?? row.route,
  status: row.status,
  code: row.code,
  requestId: row.request_id,
  durationMs: row.ms,
});

const conditionsOf = (
  team: string,
  filter: CallFilter,
  { before }: Pick<CallPage, 'before'> = {},
): Readonly<{ where: string; values: readonly unknown[] }> => {
  const { first, end } = idRangeOf(filter, before);
  const { actorId, method, status, code, requestId } = filter;
  const all: readonly (readonly [condition: string, value: unknown])[] = [
    ['team = ?', team],
    ['id >= ?', first],
    ['id < ?', end],
    ['actor = ?', actorId],
    ['method = ?', method],
    ['status >= ?', status?.first],
    ['status <= ?', status?.last],
    ['code = ?', code],
    ['request_id = ?', requestId],
  ];
  const given = all.filter(([, value]) => value !== undefined);
  return { where: given.map(([condition]) => condition).join(' AND '), values: given.map(([, value]) => value) };
};

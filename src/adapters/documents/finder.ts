/** Answers queries on one collection, with or without a search. */
import type { CollectionSpec, Document, Query } from '../../domain/ports/documents.js';
import type { Database, Statement } from '../sqlite/database.js';
import { tableOf } from './names.js';
import { allOf, conditionsOf, orderOf, whereClause } from './query.js';
import { openSearcher } from './searcher.js';

export type Finder = Readonly<{
  find: (query: Query) => Document[];
  count: (query: Pick<Query, 'where' | 'search'>, max: number) => number;
}>;

const statementsKept = 256;

export const openFinder = (database: Database, spec: CollectionSpec): Finder => {
  const table = tableOf(spec.name);
  const prepare = statementCache(database);
  const searcher = spec.search === undefined ? undefined : openSearcher(database, spec, prepare);
  const documents = (sql: string, values: readonly unknown[]): Document[] =>
    (prepare(sql).pluck().all(...values) as string[]).map((doc) => JSON.parse(doc) as Document);

  const search = (query: Pick<Query, 'where' | 'search' | 'after'>, wanted: number): number[] => {
    if (searcher === undefined) throw new RangeError(`${spec.name} has no search`);
    return searcher(query, wanted);
  };

  return {
    find: (query) => {
      const skip = query.skip ?? 0;
      if (query.search !== undefined) {
        const found = search(query, skip + query.limit).slice(skip);
        return found.flatMap((seq) => documents(`SELECT doc FROM ${table} WHERE seq = ?`, [seq]));
      }
      const { order, from } = orderOf(spec, query);
      const where = allOf(conditionsOf(spec, query.where), from);
      return documents(`SELECT d.doc FROM ${table} AS d${whereClause(where)} ORDER BY ${order} LIMIT ? OFFSET ?`, [...where.values, query.limit, skip]);
    },
    count: (query, max) => {
      if (query.search !== undefined) return search(query, max).length;
      const where = conditionsOf(spec, query.where);
      return prepare(`SELECT count(*) FROM (SELECT 1 FROM ${table} AS d${whereClause(where)} LIMIT ?)`).pluck().get(...where.values, max) as number;
    },
  };
};

/** Queries come in few shapes; should they not, the statements are made again now and then. */
const statementCache = (database: Database): ((sql: string) => Statement) => {
  const statements = new Map<string, Statement>();
  return (sql) => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    if (statements.size >= statementsKept) statements.clear();
    const statement = database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
};

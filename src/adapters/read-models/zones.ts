/**
 * What is known of stretches of the search index without looking at its documents: for each block of `seq`, between
 * which values the range field of the indexed documents lies. Where that field rises with `seq`, or nearly so, a search
 * between two values passes over nearly everything else; where it does not, nothing is lost but the speed.
 */
import type { CollectionSpec, Condition } from '../../domain/ports/read-models.js';
import type { Database, Statement } from '../sqlite/database.js';
import { columnOf, tableOf, zoneTableOf } from './names.js';
import { allOf, operatorNames, type Fragment } from './query.js';

type Value = string | number;

/** A block that may hold documents in the range. `seq` is from `first` on and below `end`. */
export type Zone = Readonly<{
  first: number;
  end: number;
  /** The least and the greatest value; undefined where a document of the block has none. */
  bounds: Readonly<{ low: Value; high: Value }> | undefined;
  /** Every document of the block is in the range. */
  isInside: boolean;
}>;

/** Positions in a block: some thousand emails. */
const blockBits = 15;
const blockSize = 2 ** blockBits;

export const createZoneTable = (database: Database, collection: string): void => {
  database.exec(`CREATE TABLE ${zoneTableOf(collection)} (block INTEGER PRIMARY KEY, low, high)`);
};

/** Widens the zones by rows `d` of the collection; `which` is a condition on them. A missing value makes the bounds of its block unknown for good. */
export const wideningOf = (spec: CollectionSpec, which: string): string | undefined => {
  if (spec.searchRange === undefined) return undefined;
  const column = `d.${columnOf(spec.searchRange)}`;
  const unlessMissing = (bound: string): string => `CASE WHEN count(*) = count(${column}) THEN ${bound}(${column}) END`;
  return `INSERT INTO ${zoneTableOf(spec.name)} (block, low, high)
    SELECT d.seq >> ${blockBits}, ${unlessMissing('min')}, ${unlessMissing('max')} FROM ${tableOf(spec.name)} AS d WHERE ${which} GROUP BY 1
    ON CONFLICT (block) DO UPDATE SET low = min(low, excluded.low), high = max(high, excluded.high)`;
};

/** The zones that may hold documents with that condition on the range field, below `before`, newest first. */
export const zonesWithin = (spec: CollectionSpec, prepare: (sql: string) => Statement, range: Condition, before: number): Zone[] => {
  const inside = onBounds(range, insideOf, '1');
  const possible = onBounds(range, possibleOf, '1');
  const rows = prepare(
    `SELECT block, low, high, ${inside.sql} FROM ${zoneTableOf(spec.name)}
     WHERE block <= ? AND (low IS NULL OR (${possible.sql})) ORDER BY block DESC`,
  )
    .raw(true)
    .all(...inside.values, Math.floor(before / blockSize), ...possible.values) as [number, Value | null, Value | null, number | null][];
  return rows.map(([block, low, high, isInside]) => ({
    first: block * blockSize,
    end: (block + 1) * blockSize,
    bounds: low === null || high === null ? undefined : { low, high },
    isInside: isInside === 1,
  }));
};

type OnBounds = Readonly<Record<keyof Condition, readonly string[]>>;
const insideOf: OnBounds = { eq: ['low = ?', 'high = ?'], gte: ['low >= ?'], lt: ['high < ?'], lte: ['high <= ?'] };
const possibleOf: OnBounds = { eq: ['low <= ?', 'high >= ?'], gte: ['high >= ?'], lt: ['low < ?'], lte: ['low <= ?'] };

/** The condition on a field, as one on its bounds: the database compares, for texts it does so otherwise than JavaScript. */
const onBounds = (condition: Condition, sqlOf: OnBounds, ifNone: string): Fragment => {
  const parts = operatorNames.flatMap((name) => {
    const value = condition[name];
    return value === undefined ? [] : sqlOf[name].map((sql) => ({ sql, values: [value] }));
  });
  return parts.length === 0 ? { sql: ifNone, values: [] } : allOf(...parts);
};

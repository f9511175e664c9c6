/**
 * Chooses the index of a query whose conditions fit several. SQLite knows nothing of how often a value stands in a
 * column and may take any of them, and would then walk through a million documents to find the ten of a rare value.
 */
import type { CollectionSpec, Condition, Query } from '../../domain/ports/read-models.js';
import type { Statement } from '../sqlite/database.js';
import { indexOf, tableOf } from './names.js';
import { conditionsOf, whereClause } from './query.js';

/**
 * Out: what follows the name of the table in SQL; an empty text where there is nothing to choose. `readsAll` says that
 * the query reads every entry in its range anyway, so that an index which has all that is asked for is taken at once.
 */
export type IndexChoice = (where: Query['where'], options?: Readonly<{ sortField?: string; readsAll?: boolean }>) => string;

/** Entries of an index that are counted to see whether they are few. */
const fewMax = 1_000;

type Candidate = Readonly<{ sql: string; fields: readonly string[]; fixed: readonly string[]; range: string | undefined }>;

export const openIndexChoice = (spec: CollectionSpec, prepare: (sql: string) => Statement): IndexChoice => {
  /** The indexes that lead to the documents in the order asked for. */
  const candidatesOf = (where: Query['where'], sortField: string | undefined): readonly Candidate[] =>
    spec.indexes.flatMap((fields, number): Candidate[] => {
      const firstFree = fields.findIndex((field) => where[field]?.eq === undefined);
      const fixed = firstFree === -1 ? fields : fields.slice(0, firstFree);
      const next = fields[fixed.length];
      if (fixed.length === 0 || (sortField !== undefined && next !== sortField)) return [];
      return [
        {
          sql: ` INDEXED BY ${indexOf(spec.name, number)}`,
          fields,
          fixed,
          range: next !== undefined && isRange(where[next]) ? next : undefined,
        },
      ];
    });

  const isSmall = ({ sql, fixed, range }: Candidate, where: Query['where']): boolean => {
    const known = [...fixed, ...(range === undefined ? [] : [range])].map((field) => [field, where[field]!] as const);
    const conditions = conditionsOf(spec, Object.fromEntries(known));
    const counted = prepare(
      `SELECT count(*) FROM (SELECT 1 FROM ${tableOf(spec.name)} AS d${sql}${whereClause(conditions)} LIMIT ?)`,
    ).pluck();
    return (counted.get(...conditions.values, fewMax) as number) < fewMax;
  };

  return (where, { sortField, readsAll = false } = {}) => {
    const all = candidatesOf(where, sortField);
    if (all.length < 2) return '';
    const narrowest = Math.max(...all.map(narrowness));
    const candidates = all.filter((candidate) => narrowness(candidate) === narrowest);
    // Where an index has all that is asked for, no document is opened for those that do not pass.
    const wanted = Object.keys(where);
    const covered = ({ fields }: Candidate): number => wanted.filter((field) => fields.includes(field)).length;
    const best = candidates.reduce((one, other) => (covered(other) > covered(one) ? other : one));
    if (readsAll && best.range !== undefined && covered(best) === wanted.length) return best.sql;
    // Those that fix the same fields lead to the same documents.
    const differ = candidates.some(({ fixed }) => fixed.some((field) => !best.fixed.includes(field)));
    return (differ ? (candidates.find((candidate) => isSmall(candidate, where)) ?? best) : best).sql;
  };
};

const narrowness = ({ fixed, range }: Candidate): number => 2 * fixed.length + (range === undefined ? 0 : 1);

const isRange = (condition: Condition | undefined): boolean =>
  condition !== undefined && (condition.gte !== undefined || condition.lt !== undefined || condition.lte !== undefined);

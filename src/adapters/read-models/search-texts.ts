/** Looks for a phrase in the texts of documents themselves: where filters leave few of them, and where the search index has them not yet. */
import type { CollectionSpec } from '../../domain/ports/read-models.js';
import type { Statement } from '../sqlite/database.js';
import { tableOf, waitingTableOf } from './names.js';
import { allOf, whereClause, type Fragment } from './query.js';

export type Contains = (text: string) => boolean;

export type Texts = Readonly<{
  textOf: (seq: number) => string | undefined;
  /** `seq` of those below `before` that pass and hold the phrase, newest first, at most `most`; undefined where too many pass to look through. `index` serves the filters. */
  amongFew: (filters: Fragment, index: string, before: number, contains: Contains, most: number) => number[] | undefined;
  /** The same of all that wait for the search index. */
  amongWaiting: (filters: Fragment, before: number, contains: Contains) => number[];
}>;

/** Where the filters leave at most so many documents, their texts are looked through without the search index. */
const filteredMax = 2_000;

export const openTexts = (spec: CollectionSpec, prepare: (sql: string) => Statement): Texts => {
  const table = tableOf(spec.name);
  const selectText = prepare(`SELECT text FROM ${table} WHERE seq = ?`).pluck() as Statement<[number], string | null>;
  const textOf = (seq: number): string | undefined => selectText.get(seq) ?? undefined;
  const holds = (seq: number, contains: Contains): boolean => {
    const text = textOf(seq);
    return text !== undefined && contains(text);
  };

  return {
    textOf,
    amongFew: (filters, index, before, contains, most) => {
      const where = allOf(filters, { sql: '+d.seq < ?', values: [before] });
      const seqs = prepare(`SELECT d.seq FROM ${table} AS d${index}${whereClause(where)} LIMIT ?`)
        .pluck()
        .all(...where.values, filteredMax + 1) as number[];
      if (seqs.length > filteredMax) return undefined;
      const found: number[] = [];
      for (const seq of seqs.sort((a, b) => b - a)) {
        if (found.length === most) break;
        if (holds(seq, contains)) found.push(seq);
      }
      return found;
    },
    amongWaiting: (filters, before, contains) => {
      const where = allOf({ sql: 'w.seq < ?', values: [before] }, filters);
      const seqs = prepare(
        `SELECT d.seq FROM ${waitingTableOf(spec.name)} AS w CROSS JOIN ${table} AS d ON d.seq = w.seq${whereClause(where)} ORDER BY w.seq DESC`,
      )
        .pluck()
        .all(...where.values) as number[];
      return seqs.filter((seq) => holds(seq, contains));
    },
  };
};

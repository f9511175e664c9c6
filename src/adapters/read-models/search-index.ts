/**
 * The search index of one collection: FTS5, which finds documents by their numbers and holds no text. So an entry is
 * taken out by naming what went in. Small transactions are expensive in FTS5: documents wait in a small table, which a
 * search goes through too, and are put into the index together.
 */
import { randomInt } from 'node:crypto';
import type { CollectionSpec, LookupFault } from '../../domain/ports/read-models.js';
import type { Database } from '../sqlite/database.js';
import { gramsOf, gramsSearched, splitSearched, type Tenant } from './grams.js';
import { columnOf, searchTableOf, tableOf, waitingTableOf } from './names.js';
import { textSql } from './personal.js';

/** The searched part of a document in stored form. Equal entries are indexed alike. */
export type Entry = Readonly<{ text: string; tenant: Tenant }>;

/** All of it inside a transaction. */
type SearchIndex = Readonly<{
  add: (seq: number, entry: Entry) => void;
  remove: (seq: number, entry: Entry) => void;
  /**
   * At the end of a transaction, when the rows are as they shall be: indexes those that wait, where they have become
   * many.
   */
  flush: () => void;
  /** Indexes all that wait. */
  indexAll: () => void;
  /** Called when a transaction was undone, or somebody else may have written. */
  forget: () => void;
}>;

/** A search looks through so many texts in about a millisecond. */
const waitingMax = 1_000;
/**
 * A rebuild keeps texts in memory until there are this many, because FTS5 is quick with many rows in their order and no
 * search waits for them. More would make the last flush long.
 */
const waitingMaxInBulk = 16_000;
const waitingCharsMaxInBulk = 8 * 1024 * 1024;
/** and it collects much in memory before it writes a segment: the more, the fewer merges. */
const memoryBytesInBulk = 32 * 1024 * 1024;
const memoryBytesDefault = 1024 * 1024;

/** More than FTS5's own 4: fewer merges while writing, somewhat more to read in a search. */
const segmentsPerMerge = 8;

/** Sums that are held at once, whatever the number of documents. */
const sumsMax = 1 << 16;
/** Documents that are compared in one turn. */
const comparedMax = 2_000;

/** `secure-delete` takes an entry out of the pages at once, instead of marking it for a later merge. */
export const createSearchTable = (database: Database, { name: collection }: CollectionSpec): void => {
  const table = searchTableOf(collection);
  database.exec(
    `CREATE VIRTUAL TABLE ${table} USING fts5(grams, content='', columnsize=0, detail=none, tokenize='ascii')`,
  );
  database.exec(`INSERT INTO ${table} (${table}, rank) VALUES ('secure-delete', 1)`);
  database.exec(`INSERT INTO ${table} (${table}, rank) VALUES ('automerge', ${segmentsPerMerge})`);
  database.exec(`CREATE TABLE ${waitingTableOf(collection)} (seq INTEGER PRIMARY KEY)`);
};

export const openSearchIndex = (database: Database, spec: CollectionSpec, inBulk = false): SearchIndex | undefined => {
  const { name, search } = spec;
  if (search === undefined) return undefined;
  const table = searchTableOf(name);
  const removeIndexed = database.prepare(`INSERT INTO ${table} (${table}, rowid, grams) VALUES ('delete', ?, ?)`);
  const remove = (seq: number, { tenant, text }: Entry): void =>
    void removeIndexed.run(seq, wordsOf(numbersOf(tenant, text)));
  return inBulk ? openInBulk(database, table, remove) : openLive(database, spec, search.within, remove);
};

const openLive = (
  database: Database,
  spec: CollectionSpec,
  tenantField: string,
  removeIndexed: SearchIndex['remove'],
): SearchIndex => {
  const { name } = spec;
  const waiting = waitingTableOf(name);
  const wait = database.prepare(`INSERT INTO ${waiting} (seq) SELECT value FROM json_each(?)`);
  const stopWaiting = database.prepare(`DELETE FROM ${waiting} WHERE seq = ?`);
  const countWaiting = database.prepare<[], number>(`SELECT count(*) FROM ${waiting}`).pluck();
  defineWords(database);
  // In the order of row ids, for FTS5 begins a segment anew where one is lower than that before.
  const index = database.prepare(
    `INSERT INTO ${searchTableOf(name)} (rowid, grams) SELECT d.seq, words_of(d.${columnOf(tenantField)}, ${textSql(spec)})
     FROM ${waiting} AS w CROSS JOIN ${tableOf(name)} AS d ON d.seq = w.seq ORDER BY w.seq`,
  );
  const clear = database.prepare(`DELETE FROM ${waiting}`);
  /** Those that wait and are not noted in the table yet. */
  const fresh = new Set<number>();
  const writeFresh = (): void => {
    if (fresh.size > 0) wait.run(`[${[...fresh].join()}]`);
    fresh.clear();
  };
  const indexAll = (): void => {
    writeFresh();
    index.run();
    clear.run();
  };
  return {
    add: (seq) => void fresh.add(seq),
    remove: (seq, entry) => {
      if (!fresh.delete(seq) && stopWaiting.run(seq).changes === 0) removeIndexed(seq, entry);
    },
    flush: () => {
      writeFresh();
      if (countWaiting.get()! >= waitingMax) indexAll();
    },
    indexAll,
    forget: () => fresh.clear(),
  };
};

/**
 * Many are put into the index together, and no search needs to be quick meanwhile; inside a transaction, until
 * `indexAll`. Each is put in by a statement of its own: a statement with a SELECT has a savepoint, at which FTS5 writes
 * what it has collected.
 */
const openInBulk = (database: Database, table: string, removeIndexed: SearchIndex['remove']): SearchIndex => {
  const setMemory = (sizeBytes: number): void =>
    void database.exec(`INSERT INTO ${table} (${table}, rank) VALUES ('hashsize', ${sizeBytes})`);
  setMemory(memoryBytesInBulk);
  const index = database.prepare(`INSERT INTO ${table} (rowid, grams) VALUES (?, ?)`);
  const waiting = new Map<number, Entry>();
  let chars = 0;
  const indexWaiting = (): void => {
    // In the order of row ids, for FTS5 begins a segment anew where one is lower than that before.
    for (const seq of Float64Array.from(waiting.keys()).sort()) {
      const { tenant, text } = waiting.get(seq)!;
      // The text as SQLite gives it back.
      index.run(seq, wordsOf(numbersOf(tenant, text.replace(LONE_SURROGATE, '\ufffd'))));
    }
    waiting.clear();
    chars = 0;
  };
  return {
    add: (seq, entry) => {
      waiting.set(seq, entry);
      chars += entry.text.length;
    },
    remove: (seq, entry) => {
      if (!waiting.delete(seq)) removeIndexed(seq, entry);
    },
    flush: () => {
      if (waiting.size >= waitingMaxInBulk || chars >= waitingCharsMaxInBulk) indexWaiting();
    },
    indexAll: () => {
      indexWaiting();
      setMemory(memoryBytesDefault);
    },
    forget: () => {
      waiting.clear();
      chars = 0;
    },
  };
};

const LONE_SURROGATE = /\p{Surrogate}/gu;

/** The numbers of a document, by its searched text as it is stored. */
const numbersOf = (tenant: Tenant, searched: string): readonly number[] => {
  const { text, terms = [] } = splitSearched(searched);
  return gramsOf(tenant, text, terms);
};

/** FTS5 takes runs of digits for words. */
const wordOf = (gram: number): string => String(gram >>> 0);

const HALF_DIGITS = 5;
const HALF = 10 ** HALF_DIGITS;
const WORD_CHARS_MAX = 2 * HALF_DIGITS + 1;
const ZERO = 48;
const SPACE = 32;

/** Reused: many documents are put into words, each in one go. */
let wordBytes = Buffer.alloc(4_096);

/** The words of a document, with a space between two. Far faster than joining texts. */
const wordsOf = (grams: readonly number[]): string => {
  if (wordBytes.length < grams.length * WORD_CHARS_MAX) wordBytes = Buffer.alloc(2 * grams.length * WORD_CHARS_MAX);
  let end = 0;
  for (const gram of grams) {
    const word = gram >>> 0;
    const high = Math.trunc(word / HALF);
    if (high >= HALF / 10) {
      writeHalf(end, high);
      writeHalf(end + HALF_DIGITS, word - high * HALF);
      end += 2 * HALF_DIGITS;
    } else end += wordBytes.write(wordOf(gram), end, 'latin1');
    wordBytes[end] = SPACE;
    end += 1;
  }
  return wordBytes.toString('latin1', 0, Math.max(0, end - 1));
};

/** Writes five digits. */
const writeHalf = (at: number, value: number): void => {
  let left = value;
  for (let digit = at + HALF_DIGITS - 1; digit >= at; digit -= 1) {
    const rest = (left / 10) | 0;
    wordBytes[digit] = ZERO + left - 10 * rest;
    left = rest;
  }
};

/** The words of a document as a function of SQL. */
export const defineWords = (database: Database): void => {
  database.function('words_of', { deterministic: true }, (tenant: unknown, searched: unknown) =>
    wordsOf(numbersOf(tenant as Tenant, String(searched))),
  );
};

/** The candidates of a search in the syntax of FTS5; undefined where the search finds nothing. */
export const matchOf = (tenant: Tenant, phrase: string | undefined, terms: readonly string[]): string | undefined => {
  const grams = gramsSearched(tenant, phrase, terms);
  if (grams === undefined) return undefined;
  const any = grams.any.length === 0 ? [] : [`(${grams.any.map(wordOf).join(' OR ')})`];
  return [...grams.all.map(wordOf), ...any].join(' AND ');
};

/** A number of a document in the index, or one that should be there. */
type Seen = (seq: number, word: number, sign: 1 | -1) => void;

/**
 * Compares the search index of a collection with its documents: each number of a document becomes a value that nobody
 * knows beforehand, and the sums of these are compared, first of many documents together, then of single ones. Yields
 * undefined when other work may have its turn.
 */
export function* searchFaults(database: Database, spec: CollectionSpec): Generator<LookupFault | undefined> {
  const { name, search } = spec;
  if (search === undefined) return;
  const [salt, factor] = [randomInt(0x7fff_ffff), randomInt(0x7fff_ffff) | 1];
  const worth = (word: number): number => {
    const part = Math.imul(word ^ salt, factor);
    return Math.imul(part ^ (part >>> 15), 0x2c1b3c6d);
  };
  const slotOf = (seq: number): number => Math.abs(seq % sumsMax);
  const pass = openPass(database, spec);
  const sums = new Int32Array(sumsMax);
  yield* pass((seq, word, sign) => void (sums[slotOf(seq)]! += sign * worth(word)));
  if (sums.every((sum) => sum === 0)) return;
  const slot = sums.findIndex((sum) => sum !== 0);
  const bySeq = new Map<number, number>();
  yield* pass((seq, word, sign) => {
    if (slotOf(seq) === slot) bySeq.set(seq, ((bySeq.get(seq) ?? 0) + sign * worth(word)) | 0);
  });
  const idOf = database.prepare<[number], string>(`SELECT id FROM ${tableOf(name)} WHERE seq = ?`).pluck();
  for (const [seq, sum] of bySeq)
    if (sum !== 0) {
      const id = idOf.get(seq) ?? `(row ${seq} of the search index)`;
      yield { collection: name, id, field: search.field, in: 'search index' };
    }
}

const openPass = (database: Database, spec: CollectionSpec) => {
  const { name, search } = spec;
  const vocabulary = `temp.audit_${name}`;
  database.exec(`CREATE VIRTUAL TABLE ${vocabulary} USING fts5vocab(main, ${searchTableOf(name)}, instance)`);
  const selectIndexed = database.prepare<[], [word: string, seq: number]>(`SELECT term, doc FROM ${vocabulary}`).raw();
  const selectTexts = database
    .prepare<[number, number], [seq: number, tenant: Tenant | null, text: string | null]>(
      `SELECT d.seq, d.${columnOf(search!.within)}, ${textSql(spec)} FROM ${tableOf(name)} AS d
       WHERE d.seq > ? AND d.seq NOT IN (SELECT seq FROM ${waitingTableOf(name)}) ORDER BY d.seq LIMIT ?`,
    )
    .raw();
  return function* (seen: Seen): Generator<undefined> {
    for (const [word, seq] of selectIndexed.iterate()) seen(seq, Number(word), 1);
    for (let after = Number.MIN_SAFE_INTEGER; ;) {
      yield undefined;
      const page = selectTexts.all(after, comparedMax);
      for (const [seq, tenant, text] of page)
        if (tenant !== null && text !== null) for (const gram of numbersOf(tenant, text)) seen(seq, gram >>> 0, -1);
      if (page.length < comparedMax) return;
      after = page.at(-1)![0];
    }
  };
};

/**
 * The search index of one collection: FTS5 with the trigram tokenizer. It holds no text of its own (the collection has
 * it), so an entry is taken out by naming what went in. Small transactions are expensive in FTS5: documents wait in a
 * small table, whose texts a search looks through, and are put into the index together. Beside the text an entry has
 * marks, by which terms and single ideographic characters are found.
 */
import type { Database } from '../sqlite/database.js';
import { columnOf, searchTableOf, tableOf, waitingTableOf } from './names.js';
import type { CollectionSpec } from '../../domain/ports/read-models.js';
import { textSql } from './personal.js';
import { indexedOf, indexedSql } from './search-tokens.js';

export type Tenant = string | number;

/**
 * One value and one block of positions; `firstRowId` is a bigint, for FTS5 seeks only to what the driver binds as an
 * integer.
 */
export type Partition = Readonly<{ firstRowId: bigint; firstSeq: number }>;

/**
 * Gives row ids of the search index. A search is about one value of the field `within` (the team), so the documents of
 * one value are kept together: the row id is the number of a partition followed by the low 32 bits of `seq`. A
 * partition is one value and one block of 2^32 positions, so that any `seq` up to 2^53 has a row id, even if positions
 * are far apart. A search reads ranges of row ids and never the hits of another value.
 */
type TenantPartitions = Readonly<{
  /** The row id of a document; inside a transaction, for its partition is made where there is none. */
  rowId: (tenant: Tenant, seq: number) => bigint;
  /** The partitions of one value, newest first. */
  ofTenant: (tenant: Tenant) => readonly Partition[];
}>;

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
}>;

const blockBits = 32;
export const blockSize = 2 ** blockBits;

/** A search looks through so many texts in about a millisecond. */
const waitingMax = 1_000;
/**
 * In bulk nobody searches: FTS5 writes a segment after each flush, so flushes are large, yet the last one must not take
 * long when all else is done;
 */
const waitingMaxInBulk = 16_000;
/** and it collects much in memory before it writes a segment: the more, the fewer merges. */
const memoryBytesInBulk = 32 * 1024 * 1024;
const memoryBytesDefault = 1024 * 1024;

/** More than FTS5's own 4: fewer merges while writing, somewhat more to read in a search. */
const segmentsPerMerge = 8;

/** The columns and options of the index. */
export const SEARCH_TABLE_OPTIONS = `text, marks, content='', columnsize=0, tokenize='trigram case_sensitive 1'`;

/** `secure-delete` takes an entry out of the pages at once, instead of marking it for a later merge. */
export const createSearchTable = (database: Database, { name: collection }: CollectionSpec): void => {
  const table = searchTableOf(collection);
  database.exec(`CREATE VIRTUAL TABLE ${table} USING fts5(${SEARCH_TABLE_OPTIONS})`);
  database.exec(`INSERT INTO ${table} (${table}, rank) VALUES ('secure-delete', 1)`);
  database.exec(`INSERT INTO ${table} (${table}, rank) VALUES ('automerge', ${segmentsPerMerge})`);
  createPartitionTable(database, collection);
  database.exec(`CREATE TABLE ${waitingTableOf(collection)} (seq INTEGER PRIMARY KEY)`);
};

/**
 * `inBulk`: many are put into the index together, and no search needs to be quick meanwhile; inside a transaction,
 * until `indexAll`.
 */
export const openSearchIndex = (database: Database, spec: CollectionSpec, inBulk = false): SearchIndex | undefined => {
  const { name, search } = spec;
  if (search === undefined) return undefined;
  const table = searchTableOf(name);
  const setMemory = (sizeBytes: number): void =>
    void database.exec(`INSERT INTO ${table} (${table}, rank) VALUES ('hashsize', ${sizeBytes})`);
  if (inBulk) setMemory(memoryBytesInBulk);
  const waiting = waitingTableOf(name);
  const partitions = openTenantPartitions(database, name);
  const wait = database.prepare(`INSERT INTO ${waiting} (seq) VALUES (?)`);
  const stopWaiting = database.prepare(`DELETE FROM ${waiting} WHERE seq = ?`);
  const remove = database.prepare(`INSERT INTO ${table} (${table}, rowid, text, marks) VALUES ('delete', ?, ?, ?)`);
  const countWaiting = database.prepare<[], number>(`SELECT count(*) FROM ${waiting}`).pluck();
  // In the order of row ids, for FTS5 begins a segment anew where one is lower than that before.
  const indexed = indexedSql(database);
  const index = database.prepare(
    `INSERT INTO ${table} (rowid, text, marks) SELECT row, ${indexed.text('searched')}, ${indexed.marks('searched')}
     FROM (SELECT ${rowIdSql(name, search.within)} AS row, ${textSql(spec)} AS searched FROM ${tableOf(name)} AS d
     WHERE d.seq IN (SELECT seq FROM ${waiting}) ORDER BY row)`,
  );
  const clear = database.prepare(`DELETE FROM ${waiting}`);
  let added = 0;
  const indexWaiting = (): void => {
    index.run();
    clear.run();
    added = 0;
  };
  return {
    add: (seq, { tenant }) => {
      // Makes the partition, whose number the statement above looks up.
      partitions.rowId(tenant, seq);
      wait.run(seq);
      added += 1;
    },
    remove: (seq, { tenant, text }) => {
      if (stopWaiting.run(seq).changes > 0) return;
      const indexed = indexedOf(text);
      remove.run(partitions.rowId(tenant, seq), indexed.text, indexed.marks);
    },
    flush: () => {
      if (inBulk ? added >= waitingMaxInBulk : countWaiting.get()! >= waitingMax) indexWaiting();
    },
    indexAll: () => {
      indexWaiting();
      if (inBulk) setMemory(memoryBytesDefault);
    },
  };
};

const partitionTableOf = (collection: string): string => `t_${collection}`;

const createPartitionTable = (database: Database, collection: string): void => {
  database.exec(
    `CREATE TABLE ${partitionTableOf(collection)} (number INTEGER PRIMARY KEY, tenant NOT NULL, block INTEGER NOT NULL, UNIQUE (tenant, block))`,
  );
};

/** The row id of row `d` of the collection, whose partition has a number, as SQL. */
export const rowIdSql = (collection: string, within: string): string =>
  `((SELECT number FROM ${partitionTableOf(collection)} WHERE tenant = d.${columnOf(within)} AND block = d.seq >> ${blockBits}) << ${blockBits}) + (d.seq & ${blockSize - 1})`;

export const openTenantPartitions = (database: Database, collection: string): TenantPartitions => {
  const table = partitionTableOf(collection);
  const select = database
    .prepare<[Tenant, number], number>(`SELECT number FROM ${table} WHERE tenant = ? AND block = ?`)
    .pluck();
  const insert = database
    .prepare<[Tenant, number], number>(`INSERT INTO ${table} (tenant, block) VALUES (?, ?) RETURNING number`)
    .pluck();
  const selectAll = database
    .prepare<[Tenant], [number, number]>(`SELECT number, block FROM ${table} WHERE tenant = ? ORDER BY block DESC`)
    .raw(true);
  const firstRowId = (number: number): bigint => BigInt(number) << BigInt(blockBits);

  return {
    rowId: (tenant, seq) => {
      const block = Math.floor(seq / blockSize);
      return firstRowId(select.get(tenant, block) ?? insert.get(tenant, block)!) + BigInt(seq % blockSize);
    },
    ofTenant: (tenant) =>
      selectAll.all(tenant).map(([number, block]) => ({ firstRowId: firstRowId(number), firstSeq: block * blockSize })),
  };
};

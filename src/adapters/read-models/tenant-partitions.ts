/**
 * Row ids of the search index. A search is about one value of the field `within` (the team), so the documents of one value stand
 * together: the row id is the number of a partition and after it the low 32 bits of `seq`. A partition is one value and one block of
 * 2^32 positions, so that any `seq` up to 2^53 has a row id, in a log without gaps as in one whose positions are far apart. A search
 * reads ranges of row ids and never goes through the hits of another value.
 */
import type { Database } from '../sqlite/database.js';
import { columnOf } from './names.js';

export type Tenant = string | number;

/** One value and one block of positions; `firstRowId` is a bigint, for FTS5 seeks only to what the driver binds as an integer. */
export type Partition = Readonly<{ firstRowId: bigint; firstSeq: number }>;

export type TenantPartitions = Readonly<{
  /** The row id of a document; inside a transaction, for its partition is made where there is none. */
  rowId: (tenant: Tenant, seq: number) => bigint;
  /** The partitions of one value, newest first. */
  ofTenant: (tenant: Tenant) => readonly Partition[];
}>;

const blockBits = 32;
export const blockSize = 2 ** blockBits;

const partitionTableOf = (collection: string): string => `t_${collection}`;

export const createPartitionTable = (database: Database, collection: string): void => {
  database.exec(
    `CREATE TABLE ${partitionTableOf(collection)} (number INTEGER PRIMARY KEY, tenant NOT NULL, block INTEGER NOT NULL, UNIQUE (tenant, block))`,
  );
};

/** The row id of row `d` of the collection, whose partition has a number, as SQL. */
export const rowIdSql = (collection: string, within: string): string =>
  `((SELECT number FROM ${partitionTableOf(collection)} WHERE tenant = d.${columnOf(within)} AND block = d.seq >> ${blockBits}) << ${blockBits}) + (d.seq & ${blockSize - 1})`;

export const openTenantPartitions = (database: Database, collection: string): TenantPartitions => {
  const table = partitionTableOf(collection);
  const select = database.prepare<[Tenant, number], number>(`SELECT number FROM ${table} WHERE tenant = ? AND block = ?`).pluck();
  const insert = database.prepare<[Tenant, number], number>(`INSERT INTO ${table} (tenant, block) VALUES (?, ?) RETURNING number`).pluck();
  const selectAll = database
    .prepare<[Tenant], [number, number]>(`SELECT number, block FROM ${table} WHERE tenant = ? ORDER BY block DESC`)
    .raw(true);
  const firstRowId = (number: number): bigint => BigInt(number) << BigInt(blockBits);

  return {
    rowId: (tenant, seq) => {
      const block = Math.floor(seq / blockSize);
      return firstRowId(select.get(tenant, block) ?? insert.get(tenant, block)!) + BigInt(seq % blockSize);
    },
    ofTenant: (tenant) => selectAll.all(tenant).map(([number, block]) => ({ firstRowId: firstRowId(number), firstSeq: block * blockSize })),
  };
};

/** Reading rows of wrapped keys from MongoDB: those opened last are kept open, and only their tags are read to see that nothing has changed. */
import { boundedCache } from '../../shared/cache.js';
import type { Collection } from '../mongodb/client.js';
import { openRow, type Wrapping } from './wrapping.js';

/** `_id`: the number of the row. The tag is absent where somebody has removed it. */
export type KeyRow = { _id: number; wrapped: Buffer; tag?: Buffer };
export type StoredRow = Readonly<KeyRow>;

type KeyAt = (index: number) => Buffer | undefined;

export type KeyRows = Readonly<{
  /** What gives the keys of each row that is there and verifies, as it stands at the server now. */
  open: (rows: readonly number[]) => Promise<ReadonlyMap<number, KeyAt>>;
}>;

/** Some 4 KB each. */
const openedRowsMax = 64;
/** So many faulty rows are told of once each. */
const faultsNotedMax = 1_000;
const rowsAtOnce = 250;

export const keyRows = ({
  stored,
  wrapping,
  onFault,
}: Readonly<{ stored: Collection<KeyRow>; wrapping: Wrapping; onFault: (row: number) => void }>): KeyRows => {
  const opened = boundedCache<number, Readonly<{ tag: Buffer; keyAt: KeyAt }>>({ entriesMax: openedRowsMax });
  const faulty = boundedCache<number, true>({ entriesMax: faultsNotedMax });

  const openOne = ({ _id, wrapped, tag = Buffer.alloc(0) }: StoredRow): KeyAt | undefined => {
    const keyAt = openRow(wrapping, _id, { bytes: wrapped, tag });
    // The bytes of the answer are not kept with it.
    if (keyAt !== undefined) opened.set(_id, { tag: Buffer.from(tag), keyAt });
    else if (faulty.get(_id) === undefined) {
      faulty.set(_id, true);
      onFault(_id);
    }
    return keyAt;
  };

  const readWhole = async (rows: readonly number[], into: Map<number, KeyAt>): Promise<void> => {
    if (rows.length === 0) return;
    for await (const row of stored.find({ _id: { $in: [...rows] } })) {
      const keyAt = openOne(row);
      if (keyAt !== undefined) into.set(row._id, keyAt);
    }
  };

  /** Out: the rows that are not as they were when they were opened. */
  const readTags = async (rows: readonly number[], into: Map<number, KeyAt>): Promise<readonly number[]> => {
    if (rows.length === 0) return [];
    const changed: number[] = [];
    for await (const { _id, tag } of stored.find({ _id: { $in: [...rows] } }, { projection: { tag: 1 } })) {
      const known = opened.get(_id);
      if (known !== undefined && tag !== undefined && known.tag.equals(tag)) into.set(_id, known.keyAt);
      else changed.push(_id);
    }
    return changed;
  };

  const openSome = async (rows: readonly number[], into: Map<number, KeyAt>): Promise<void> => {
    const known = rows.filter((row) => opened.get(row) !== undefined);
    const unknown = rows.filter((row) => !known.includes(row));
    const [changed] = await Promise.all([readTags(known, into), readWhole(unknown, into)]);
    await readWhole(changed, into);
  };

  return {
    open: async (rows) => {
      const found = new Map<number, KeyAt>();
      for (let from = 0; from < rows.length; from += rowsAtOnce) await openSome(rows.slice(from, from + rowsAtOnce), found);
      return found;
    },
  };
};

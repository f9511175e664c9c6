/** The ids of keys, which name a row of wrapped keys and an index in it, and a pool of keys made ahead; for every store of keys. */
import type { NewKey } from '../../domain/ports/keys.js';
import { keysPerRow } from './wrapping.js';

/** The row and index of a key. As text: `<row>.<index>`. */
type KeyPlace = Readonly<{ row: number; index: number }>;

export const keyIdOf = ({ row, index }: KeyPlace): string => `${row}.${index}`;

const KEY_ID = /^([1-9]\d{0,15})\.(0|[1-9]\d{0,2})$/;

/** In: any text. Out: undefined if no key of ours can have that id. */
export const parseKeyId = (id: string): KeyPlace | undefined => {
  const match = KEY_ID.exec(id);
  if (match === null) return undefined;
  const index = Number(match[2]);
  return index < keysPerRow ? { row: Number(match[1]), index } : undefined;
};

type NamedKey = Readonly<{ id: string; index: number }>;

/** Leaves out ids that no key of ours can have. */
export const keyPlacesByRow = (ids: readonly string[]): ReadonlyMap<number, readonly NamedKey[]> => {
  const rows = new Map<number, NamedKey[]>();
  for (const id of ids) {
    const place = parseKeyId(id);
    if (place === undefined) continue;
    const known = rows.get(place.row);
    if (known === undefined) rows.set(place.row, [{ id, index: place.index }]);
    else known.push({ id, index: place.index });
  }
  return rows;
};

type KeyPool = Readonly<{
  /** Answers at once if a key is left. Rejects if none is left and none can be made. */
  take: () => Promise<NewKey>;
  /** Forgets the keys that are left. */
  close: () => void;
}>;

/**
 * Durable keys made ahead and given out one by one: many share one commit, and a caller seldom waits for it.
 * In: a function that makes more keys and resolves when they are durable; called when fewer than `low` are left.
 */
export const keyPool = (make: () => Promise<readonly NewKey[]>, low: number): KeyPool => {
  let ready: NewKey[] = [];
  let making: Promise<void> | undefined;
  let closed = false;

  const refill = (): Promise<void> =>
    (making ??= make().then(
      (made) => {
        making = undefined;
        if (!closed) ready = [...made, ...ready];
      },
      (fault: unknown) => {
        making = undefined;
        throw fault;
      },
    ));

  const left = (): NewKey | undefined => {
    const key = ready.pop();
    // No caller waits for these keys, so a fault is ignored: a caller that finds the pool empty tries again and gets the fault.
    if (key !== undefined && ready.length < low) refill().catch(() => {});
    return key;
  };

  return {
    take: async () => {
      for (;;) {
        const key = left();
        if (key !== undefined) return key;
        if (closed) throw new Error('the keys are closed');
        await refill();
      }
    },
    close: () => {
      closed = true;
      ready = [];
    },
  };
};

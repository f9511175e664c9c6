/** The ids of keys: where each stands among the wrapped rows, whatever database holds these. */
import type { MaybePromise } from '../../domain/core/decider.js';
import type { NewKey } from '../../domain/ports/keys.js';
import { keysPerRow } from './wrapping.js';

/* Keys made ahead and durable, to be given out one by one: many share one commit, and whoever needs one seldom waits for it. */

type KeyPool = Readonly<{
  /** At once where one is left. Rejects where none is left and none can be made. */
  take: () => MaybePromise<NewKey>;
  /** Forgets what it holds. */
  close: () => void;
}>;

/** In: makes more keys, durable when it resolves; asked for again when fewer than `low` are left. */
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
    // Made ahead, so its fault is nobody's yet: who finds the pool empty asks again and sees it.
    if (key !== undefined && ready.length < low) refill().catch(() => {});
    return key;
  };

  const takeMade = async (): Promise<NewKey> => {
    for (;;) {
      if (closed) throw new Error('the keys are closed');
      const key = left();
      if (key !== undefined) return key;
      await refill();
    }
  };

  return {
    take: () => left() ?? takeMade(),
    close: () => {
      closed = true;
      ready = [];
    },
  };
};

/** Where a key stands. As text: `<row>.<index>`. */
type KeyPlace = Readonly<{ row: number; index: number }>;

export const keyIdOf = ({ row, index }: KeyPlace): string => `${row}.${index}`;

const KEY_ID = /^([1-9]\d{0,15})\.(0|[1-9]\d{0,2})$/;

/** In: any text. Out: the place, or undefined where no key of ours can have that id. */
export const parseKeyId = (id: string): KeyPlace | undefined => {
  const match = KEY_ID.exec(id);
  if (match === null) return undefined;
  const index = Number(match[2]);
  return index < keysPerRow ? { row: Number(match[1]), index } : undefined;
};

type NamedKey = Readonly<{ id: string; index: number }>;

/** Ids that are none of ours are left out: there is no key of that name. */
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

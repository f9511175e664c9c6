/** The ids of keys: where each stands among the wrapped rows, whatever database holds these. */
import { keysPerRow } from './wrapping.js';

/** Where a key stands. As text: `<row>.<index>`. */
export type KeyPlace = Readonly<{ row: number; index: number }>;

export const keyIdOf = ({ row, index }: KeyPlace): string => `${row}.${index}`;

const KEY_ID = /^([1-9]\d{0,15})\.(0|[1-9]\d{0,2})$/;

/** In: any text. Out: the place, or undefined where no key of ours can have that id. */
export const parseKeyId = (id: string): KeyPlace | undefined => {
  const match = KEY_ID.exec(id);
  if (match === null) return undefined;
  const index = Number(match[2]);
  return index < keysPerRow ? { row: Number(match[1]), index } : undefined;
};

export type NamedKey = Readonly<{ id: string; index: number }>;

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

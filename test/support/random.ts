/** Random numbers that repeat exactly by their seed. */

export type Random = Readonly<{
  /** From 0 (included) to 1 (excluded). */
  next: () => number;
  /** A whole number from `min` to `max`, both included. */
  between: (min: number, max: number) => number;
  /** True in that share of the calls, 0 to 1. */
  chance: (share: number) => boolean;
  pick: <Item>(items: readonly Item[]) => Item;
}>;

/** mulberry32: small, fast, and good enough to choose moments and bodies. */
export const seededRandom = (seed: number): Random => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return { next, between, chance: (share) => next() < share, pick: (items) => items[between(0, items.length - 1)]! };
};

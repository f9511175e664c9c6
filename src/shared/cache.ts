/**
 * Caches in memory: `once` keeps every value that it made; a bounded cache drops the least recently used entry when it
 * is full.
 */
import { LRUCache } from 'lru-cache';

/**
 * Makes the value of each input once and keeps it as long as the function lives. Inputs are compared as the keys of a
 * Map are.
 */
export const once = <In, Out>(make: (input: In) => Out): ((input: In) => Out) => {
  const known = new Map<In, Out>();
  return (input) => {
    if (known.has(input)) return known.get(input) as Out;
    const made = make(input);
    known.set(input, made);
    return made;
  };
};

export type BoundedCache<Key, Value> = Readonly<{
  /** Marks the entry as used. */
  get: (key: Key) => Value | undefined;
  /** A value larger than `size.max` is not kept. */
  set: (key: Key, value: Value) => void;
  /** The value of the key; a missing value is made and kept. */
  getOrMake: (key: Key, make: () => Value) => Value;
  delete: (key: Key) => void;
  clear: () => void;
  entries: () => number;
}>;

type CacheBounds<Key, Value> = Readonly<{
  /** The cache allocates about 25 bytes for each possible entry when it is made. */
  entriesMax: number;
  /** All values together, in the unit of `sizeOf`: positive and whole for each value. */
  size?: Readonly<{ max: number; of: (value: Value, key: Key) => number }>;
}>;

export const boundedCache = <Key extends string | number | object, Value extends NonNullable<unknown>>({
  entriesMax,
  size,
}: CacheBounds<Key, Value>): BoundedCache<Key, Value> => {
  const cache = new LRUCache<Key, Value>({
    max: entriesMax,
    ...(size === undefined ? {} : { maxSize: size.max, sizeCalculation: size.of }),
  });
  return {
    get: (key) => cache.get(key),
    set: (key, value) => void cache.set(key, value),
    getOrMake: (key, make) => {
      const known = cache.get(key);
      if (known !== undefined) return known;
      const made = make();
      cache.set(key, made);
      return made;
    },
    delete: (key) => void cache.delete(key),
    clear: () => cache.clear(),
    entries: () => cache.size,
  };
};

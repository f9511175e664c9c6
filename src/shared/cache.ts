/** Caches with a bound: where one is full, the entry that was not used for longest goes. */
import { LRUCache } from 'lru-cache';

/* Works out a value once for each input, for as long as the function lives. */

/** In: what makes the value; inputs are told apart as the keys of a map are. */
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
  /** The value counts as used. */
  get: (key: Key) => Value | undefined;
  /** A value that alone passes `sizeMax` is not kept. */
  set: (key: Key, value: Value) => void;
  /** The value of the key, made and kept where there was none. */
  getOrMake: (key: Key, make: () => Value) => Value;
  delete: (key: Key) => void;
  clear: () => void;
  entries: () => number;
}>;

type CacheBounds<Key, Value> = Readonly<{
  /** Room for the keys of all of them is taken at once, some 25 bytes for each. */
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

/**
 * How the keys of one row are wrapped: AES-256-CTR (NIST SP 800-38A) under the wrapping key, with a random start of the counter
 * that stands before them. Each key can be overwritten without touching its neighbours, and a row is unwrapped in one stroke.
 * No tag is needed here: what a key has sealed carries its own, so a changed or exchanged key opens nothing.
 */
import { createCipheriv, createDecipheriv, randomBytes, type KeyObject } from 'node:crypto';
import { keySizeBytes } from './sealing.js';

/** As many as one page of the database holds in one row. */
export const keysPerRow = 120;
const counterSizeBytes = 16;
export const wrappedRowSizeBytes = counterSizeBytes + keysPerRow * keySizeBytes;

const DESTROYED = Buffer.alloc(keySizeBytes);
const startOf = (index: number): number => counterSizeBytes + index * keySizeBytes;

/** Fresh keys, and the row that holds them wrapped. */
export const makeKeys = (wrappingKey: KeyObject): Readonly<{ keys: readonly Buffer[]; wrapped: Buffer }> => {
  const counter = randomBytes(counterSizeBytes);
  const plain = randomBytes(keysPerRow * keySizeBytes);
  const wrapped = Buffer.concat([counter, createCipheriv('aes-256-ctr', wrappingKey, counter).update(plain)], wrappedRowSizeBytes);
  return {
    keys: Array.from({ length: keysPerRow }, (_, index) => plain.subarray(index * keySizeBytes, (index + 1) * keySizeBytes)),
    wrapped,
  };
};

/** In: a row. Out: its key at `index` (32 bytes), undefined where that is destroyed. */
export const openRow = (wrappingKey: KeyObject, wrapped: Buffer): ((index: number) => Buffer | undefined) => {
  const plain = createDecipheriv('aes-256-ctr', wrappingKey, wrapped.subarray(0, counterSizeBytes)).update(
    wrapped.subarray(counterSizeBytes),
  );
  return (index) => (isDestroyed(wrapped, index) ? undefined : plain.subarray(index * keySizeBytes, (index + 1) * keySizeBytes));
};

export const isDestroyed = (wrapped: Buffer, index: number): boolean =>
  wrapped.subarray(startOf(index), startOf(index + 1)).equals(DESTROYED);

/** The row without its keys at those indexes. */
export const withoutKeys = (wrapped: Buffer, indexes: readonly number[]): Buffer => {
  const left = Buffer.from(wrapped);
  for (const index of indexes) DESTROYED.copy(left, startOf(index));
  return left;
};

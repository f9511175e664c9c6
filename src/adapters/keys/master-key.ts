/** What is derived from the master key, each under a purpose of its own (HKDF, RFC 5869). */
import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { keySizeBytes } from './sealing.js';
import type { Wrapping } from './wrapping.js';

export type MasterKey = Readonly<{
  /** Wraps the keys of the table. */
  wrapping: Wrapping;
  /** Tells whether a database was made with this master key; says nothing about the key itself. */
  check: Buffer;
  fingerprint: (purpose: string, text: string | Uint8Array) => string;
}>;

/** Purposes are names in the code, so there are few; should they be made at run time, the derived keys are not kept. */
const purposesKept = 64;

/** In: 32 bytes. Throws RangeError for any other length. */
export const deriveFrom = (masterKey: Buffer): MasterKey => {
  if (masterKey.byteLength !== keySizeBytes)
    throw new RangeError(`the master key has ${masterKey.byteLength} bytes, it needs ${keySizeBytes}`);
  const derive = (info: string): Buffer => Buffer.from(hkdfSync('sha256', masterKey, Buffer.alloc(0), info, keySizeBytes));
  const fingerprintKeys = new Map<string, KeyObject>();

  const fingerprintKey = (purpose: string): KeyObject => {
    const known = fingerprintKeys.get(purpose);
    if (known !== undefined) return known;
    const key = createSecretKey(derive(`sealpost fingerprint ${purpose}`));
    if (fingerprintKeys.size < purposesKept) fingerprintKeys.set(purpose, key);
    return key;
  };

  return {
    wrapping: {
      free: createSecretKey(derive('sealpost key wrapping')),
      bound: createSecretKey(derive('sealpost key wrapping bound to the row')),
    },
    check: derive('sealpost master key check'),
    fingerprint: (purpose, text) => createHmac('sha256', fingerprintKey(purpose)).update(text).digest('hex'),
  };
};

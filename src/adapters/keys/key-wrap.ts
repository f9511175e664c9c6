/**
 * The cryptography of sealing keys: the keys derived from the master key, how they wrap the sealing keys of one row,
 * and how a sealing key seals bytes.
 *
 * A row is AES-256-GCM (NIST SP 800-38D) with its tag beside it, and begins with the random nonce. The number of the
 * row and the list of its destroyed keys are authenticated, so a row that was changed or swapped with another is found.
 * A key is destroyed by wrapping the row anew without it.
 */
import {
  randomFillSync,
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  type KeyObject,
  randomBytes,
  createHmac,
  hkdfSync,
} from 'node:crypto';
import type { SealingKey } from '../../domain/ports/keys.js';

/** `tag`: the tag and, behind it, a bit for each destroyed key, readable without the master key. */
export type WrappedRow = Readonly<{ bytes: Buffer; tag: Buffer }>;

/** Keys derived from the master key, each for a purpose of its own (HKDF, RFC 5869). */
type MasterKey = Readonly<{
  /** Wraps the keys of the table. */
  wrapping: KeyObject;
  /** Tells whether a database was made with this master key; says nothing about the key itself. */
  check: Buffer;
  fingerprint: (purpose: string, text: string | Uint8Array) => string;
}>;

const keySizeBytes = 32;
const nonceSizeBytes = 12;
const tagSizeBytes = 16;
/** Encrypted bytes are longer than plain ones by this. */
const sealingOverheadBytes = nonceSizeBytes + tagSizeBytes;

/** As many as one page of the database holds in one row. */
export const keysPerRow = 120;
const rowNonceSizeBytes = 16;
const plainSizeBytes = keysPerRow * keySizeBytes;
export const wrappedRowSizeBytes = rowNonceSizeBytes + plainSizeBytes;

/** A bit for each key of a row, behind the tag. */
const destroyedSizeBytes = keysPerRow / 8;
const NONE_DESTROYED = Buffer.alloc(destroyedSizeBytes);
const NO_PREFIX = new Uint8Array(0);

/** Purposes are names in the code, so there are few. Derived keys beyond this number are not cached. */
const purposesKept = 64;

const poolSizeBytes = 4_096;

/** In: 32 bytes. Throws RangeError for any other length. */
export const deriveFrom = (masterKey: Buffer): MasterKey => {
  if (masterKey.byteLength !== keySizeBytes)
    throw new RangeError(`the master key has ${masterKey.byteLength} bytes, it needs ${keySizeBytes}`);
  const derive = (info: string): Buffer =>
    Buffer.from(hkdfSync('sha256', masterKey, Buffer.alloc(0), info, keySizeBytes));
  const fingerprintKeys = new Map<string, KeyObject>();

  const fingerprintKey = (purpose: string): KeyObject => {
    const known = fingerprintKeys.get(purpose);
    if (known !== undefined) return known;
    const key = createSecretKey(derive(`sealpost fingerprint ${purpose}`));
    if (fingerprintKeys.size < purposesKept) fingerprintKeys.set(purpose, key);
    return key;
  };

  return {
    wrapping: createSecretKey(derive('sealpost key wrapping bound to the row')),
    check: derive('sealpost master key check'),
    fingerprint: (purpose, text) => createHmac('sha256', fingerprintKey(purpose)).update(text).digest('hex'),
  };
};

export const isSameRow = (a: WrappedRow, b: WrappedRow): boolean => a.bytes.equals(b.bytes) && a.tag.equals(b.tag);

const keyAt = (plain: Buffer, index: number): Buffer =>
  plain.subarray(index * keySizeBytes, (index + 1) * keySizeBytes);
const contextOf = (row: number, destroyed: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`sealpost keys of row ${row}\n`), destroyed]);

/** Fresh keys, and a function that wraps them for the row of that number. */
export const makeKeys = (): Readonly<{
  keys: readonly Buffer[];
  wrap: (wrapping: KeyObject, row: number) => WrappedRow;
}> => {
  const plain = randomBytes(plainSizeBytes);
  return {
    keys: Array.from({ length: keysPerRow }, (_, index) => keyAt(plain, index)),
    wrap: (wrapping, row) => wrapRow(wrapping, row, plain),
  };
};

const wrapRow = (wrapping: KeyObject, row: number, plain: Buffer, destroyed: Buffer = NONE_DESTROYED): WrappedRow => {
  const nonce = randomBytes(rowNonceSizeBytes);
  const cipher = createCipheriv('aes-256-gcm', wrapping, nonce);
  cipher.setAAD(contextOf(row, destroyed));
  const bytes = Buffer.concat([nonce, cipher.update(plain)], wrappedRowSizeBytes);
  cipher.final();
  return { bytes, tag: Buffer.concat([cipher.getAuthTag(), destroyed]) };
};

/** Needs no master key. */
export const isDestroyed = ({ tag }: WrappedRow, index: number): boolean =>
  ((tag[tagSizeBytes + (index >> 3)] ?? 0) & (1 << (index & 7))) !== 0;

/** The bits of those keys that are destroyed. */
const destroyedIn = (wrapped: WrappedRow, more: readonly number[] = []): Buffer => {
  const bits = Buffer.alloc(destroyedSizeBytes);
  for (let index = 0; index < keysPerRow; index += 1)
    if (isDestroyed(wrapped, index)) bits[index >> 3]! |= 1 << (index & 7);
  for (const index of more) bits[index >> 3]! |= 1 << (index & 7);
  return bits;
};

/**
 * The plain keys of a row; the bytes of destroyed keys mean nothing. Out: undefined if the row is not what was written
 * under that number.
 */
const unwrap = (wrapping: KeyObject, row: number, { bytes, tag }: WrappedRow): Buffer | undefined => {
  const [nonce, ciphertext] = [bytes.subarray(0, rowNonceSizeBytes), bytes.subarray(rowNonceSizeBytes)];
  try {
    const decipher = createDecipheriv('aes-256-gcm', wrapping, nonce, { authTagLength: tagSizeBytes });
    decipher.setAAD(contextOf(row, tag.subarray(tagSizeBytes)));
    decipher.setAuthTag(tag.subarray(0, tagSizeBytes));
    const plain = decipher.update(ciphertext);
    decipher.final();
    return plain;
  } catch {
    return undefined;
  }
};

/**
 * Out: a function that gives the key at `index` (32 bytes), or undefined if that key is destroyed; undefined for a row
 * that does not verify.
 */
export const openRow = (
  wrapping: KeyObject,
  row: number,
  wrapped: WrappedRow,
): ((index: number) => Buffer | undefined) | undefined => {
  const plain = unwrap(wrapping, row, wrapped);
  return plain && ((index) => (isDestroyed(wrapped, index) ? undefined : keyAt(plain, index)));
};

/**
 * The row without its keys at those indexes. In a row that does not verify their bytes are overwritten, and it still
 * does not verify.
 */
export const withoutKeys = (
  wrapping: KeyObject,
  row: number,
  wrapped: WrappedRow,
  indexes: readonly number[],
): WrappedRow => {
  const plain = unwrap(wrapping, row, wrapped);
  if (plain !== undefined) return wrapRow(wrapping, row, withZeros(plain, indexes), destroyedIn(wrapped, indexes));
  const bytes = Buffer.from(wrapped.bytes);
  withZeros(bytes.subarray(rowNonceSizeBytes), indexes);
  return { ...wrapped, bytes };
};

const withZeros = (keys: Buffer, indexes: readonly number[]): Buffer => {
  for (const index of indexes) keyAt(keys, index).fill(0);
  return keys;
};

/**
 * Nonces from the system's generator, drawn in batches: one draw costs as much as a sealing. A nonce must be used before
 * the next one is drawn. Nonces are public.
 */
const noncePool = (): (() => Buffer) => {
  const pool = Buffer.alloc(poolSizeBytes);
  let used = poolSizeBytes;
  return () => {
    if (used + nonceSizeBytes > poolSizeBytes) {
      randomFillSync(pool);
      used = 0;
    }
    used += nonceSizeBytes;
    return pool.subarray(used - nonceSizeBytes, used);
  };
};

const nextNonce = noncePool();

/**
 * Seals with AES-256-GCM (NIST SP 800-38D): nonce (12 bytes), ciphertext, tag (16 bytes). `key` is 32 bytes. The nonce
 * of each sealing is random, so one key may seal far more than an email ever needs.
 */
export const sealingKey = (key: Buffer): SealingKey => {
  let imported: KeyObject | undefined;
  // Node 24 takes 20 µs for a key given as bytes in each call. Many keys are read and never used, so the key object is
  // made at first use.
  const keyObject = (): KeyObject => (imported ??= createSecretKey(key));
  return { seal: sealWith(keyObject), open: openWith(keyObject) };
};

const options = { authTagLength: tagSizeBytes } as const;

/** The encoding of shorter texts is not looked at: the look costs more than it saves. */
const LOOKED_AT_CHARS_MIN = 2_048;

/** Plain ASCII has the same bytes in both encodings, and Node converts it in half the time as Latin-1. */
const encodingOf = (text: string): 'utf8' | 'latin1' =>
  text.length >= LOOKED_AT_CHARS_MIN && Buffer.byteLength(text) === text.length ? 'latin1' : 'utf8';

const sealWith =
  (key: () => KeyObject): SealingKey['seal'] =>
  (plain, context, prefix = NO_PREFIX) => {
    const nonce = nextNonce();
    const cipher = createCipheriv('aes-256-gcm', key(), nonce, options);
    cipher.setAAD(Buffer.from(context));
    // A text is converted within the call, so no buffer is made of it.
    const ciphertext = typeof plain === 'string' ? cipher.update(plain, encodingOf(plain)) : cipher.update(plain);
    cipher.final();
    const sizeBytes = prefix.byteLength + ciphertext.byteLength + sealingOverheadBytes;
    return Buffer.concat([prefix, nonce, ciphertext, cipher.getAuthTag()], sizeBytes);
  };

const openWith =
  (key: () => KeyObject): SealingKey['open'] =>
  (sealed, context) => {
    if (sealed.byteLength < sealingOverheadBytes) throw new Error('the sealed bytes are too short to be whole');
    const tagAt = sealed.byteLength - tagSizeBytes;
    const nonce = sealed.subarray(0, nonceSizeBytes);
    const decipher = createDecipheriv('aes-256-gcm', key(), nonce, options);
    decipher.setAAD(Buffer.from(context));
    decipher.setAuthTag(sealed.subarray(tagAt));
    const plain = decipher.update(sealed.subarray(nonceSizeBytes, tagAt));
    try {
      decipher.final();
    } catch (cause) {
      throw new Error('the sealed bytes were changed, or belong to another key or context', { cause });
    }
    return plain;
  };

/** AES-256-GCM as sealpost writes it: nonce (12 bytes), ciphertext, tag (16 bytes); NIST SP 800-38D. */
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';
import type { SealingKey } from '../../domain/ports/keys.js';
import { randomPool } from './random-pool.js';

export const keySizeBytes = 32;
const nonceSizeBytes = 12;
const tagSizeBytes = 16;
/** What sealing adds to the plain bytes. */
export const sealingOverheadBytes = nonceSizeBytes + tagSizeBytes;

const nonces = randomPool();
const NO_PREFIX = new Uint8Array(0);

/** `key` is 32 bytes; the nonce of each sealing is random, so one key may seal far more than an email ever needs. */
export const sealingKey = (key: Buffer): SealingKey => {
  let imported: KeyObject | undefined;
  // Node 24 takes 25 µs to tell bytes from a key object in each call; many keys are read and never used.
  const keyObject = (): KeyObject => (imported ??= createSecretKey(key));
  return { seal: sealWith(keyObject), open: openWith(keyObject) };
};

const sealWith =
  (key: () => KeyObject): SealingKey['seal'] =>
  (plain, context, prefix = NO_PREFIX) => {
    const nonce = nonces(nonceSizeBytes);
    const cipher = createCipheriv('aes-256-gcm', key(), nonce, { authTagLength: tagSizeBytes });
    cipher.setAAD(Buffer.from(context));
    // A text becomes bytes in the pool of buffers for less than the cipher takes for it.
    const ciphertext = cipher.update(typeof plain === 'string' ? Buffer.from(plain) : plain);
    cipher.final();
    const sizeBytes = prefix.byteLength + ciphertext.byteLength + sealingOverheadBytes;
    return Buffer.concat([prefix, nonce, ciphertext, cipher.getAuthTag()], sizeBytes);
  };

const openWith =
  (key: () => KeyObject): SealingKey['open'] =>
  (sealed, context) => {
    if (sealed.byteLength < sealingOverheadBytes) throw new Error('the sealed bytes are too short to be whole');
    const tagAt = sealed.byteLength - tagSizeBytes;
    const decipher = createDecipheriv('aes-256-gcm', key(), sealed.subarray(0, nonceSizeBytes), { authTagLength: tagSizeBytes });
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

/**
 * Tokens that stand in mails and come back from their readers: sealed, so that nobody reads what is in them, and authenticated, so that
 * nobody makes or changes one. The same content gives the same token, for a mail that is made again must be the same mail: the tag over
 * the content is the nonce of its encryption (a synthetic initialization vector, as in RFC 5297), which also keeps them short.
 */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { Keys } from '../ports/keys.js';

export type ReaderTokens = Readonly<{
  /** Out: base64url. */
  seal: (plain: Uint8Array) => string;
  /** undefined for whatever was not sealed here. */
  open: (token: string) => Buffer | undefined;
}>;

const TAG_BYTES = 16;
const CIPHER = 'aes-256-ctr';

/** What base64url of whole bytes looks like: a token has one way to be written. */
const isCanonical = (token: string, bytes: Buffer): boolean => bytes.toString('base64url') === token;

/** `purpose`: a token of one is none of another. */
export const openReaderTokens = (keys: Pick<Keys, 'fingerprint'>, purpose: string): ReaderTokens => {
  // Of bytes Node makes a key object in each call, which takes longer than all the rest.
  const keyFor = (use: string): KeyObject =>
    createSecretKey(Buffer.from(keys.fingerprint('reader token', JSON.stringify([purpose, use])), 'hex'));
  const [macKey, cipherKey] = [keyFor('tag'), keyFor('content')];
  const tagOf = (plain: Uint8Array): Buffer => createHmac('sha256', macKey).update(plain).digest().subarray(0, TAG_BYTES);
  return {
    seal: (plain) => {
      const tag = tagOf(plain);
      const cipher = createCipheriv(CIPHER, cipherKey, tag);
      // A stream cipher holds nothing back for an end.
      return Buffer.concat([tag, cipher.update(plain)]).toString('base64url');
    },
    open: (token) => {
      const bytes = Buffer.from(token, 'base64url');
      if (bytes.byteLength < TAG_BYTES || !isCanonical(token, bytes)) return undefined;
      const tag = bytes.subarray(0, TAG_BYTES);
      const decipher = createDecipheriv(CIPHER, cipherKey, tag);
      const plain = decipher.update(bytes.subarray(TAG_BYTES));
      return timingSafeEqual(tagOf(plain), tag) ? plain : undefined;
    },
  };
};

/** The last part of links in mails: bytes that only this service can have made, and that say nothing to anybody else. */
import { timingSafeEqual } from 'node:crypto';
import type { Keys } from './ports/keys.js';

export type LinkTokens = Readonly<{
  /** `purpose` is authenticated with the payload: a token for one thing is none for another. The payload can be read by anybody. */
  seal: (purpose: string, payload: Uint8Array) => string;
  /** The payload; undefined where the token was not made here, for that purpose, as it is. */
  open: (purpose: string, token: string) => Buffer | undefined;
}>;

/** 128 bits of the HMAC. */
const MAC_BYTES = 16;
/** Longer than any that is made here. */
const TOKEN_CHARS_MAX = 400;
const TOKEN = /^[A-Za-z0-9_-]+$/;

export const openLinkTokens = ({ fingerprint }: Pick<Keys, 'fingerprint'>): LinkTokens => {
  const macOf = (purpose: string, payload: Uint8Array): Buffer =>
    Buffer.from(fingerprint(`link ${purpose}`, payload).slice(0, 2 * MAC_BYTES), 'hex');
  return {
    seal: (purpose, payload) => Buffer.concat([payload, macOf(purpose, payload)]).toString('base64url'),
    open: (purpose, token) => {
      if (token.length > TOKEN_CHARS_MAX || !TOKEN.test(token)) return undefined;
      const bytes = Buffer.from(token, 'base64url');
      // One token has one spelling: bits beyond the last byte are refused.
      if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== token) return undefined;
      const payload = bytes.subarray(0, -MAC_BYTES);
      return timingSafeEqual(bytes.subarray(-MAC_BYTES), macOf(purpose, payload)) ? payload : undefined;
    },
  };
};

/** A UUID as its 16 bytes, and back. */
export const uuidBytes = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');
export const uuidOfBytes = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** The envelope sender of a mail: it names the email to whoever has the master key, and can be made up by nobody else. */
import { timingSafeEqual } from 'node:crypto';
import { parseEmailId, type EmailId } from '../core/ids.js';
import type { Keys } from '../ports/keys.js';
import { uuidOfBytes } from '../core/uuid-bytes.js';

export type ReturnPath = Readonly<{
  senderOf: (id: EmailId) => string;
  /** undefined where the address is none of ours: another domain, another instance, cut short or made up. */
  emailOf: (address: string) => EmailId | undefined;
}>;

const PURPOSE = 'return path';
const PREFIX = 'bounce+';
/** 128 bits each: of the id, and of the HMAC of it. In letters that survive a host that changes their case, the local part has 59 octets. */
const MAC_HEX_CHARS = 32;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const TOKEN = /^[a-z2-7]{52}$/;

/** `domain` in lower case. */
export const openReturnPath = (domain: string, keys: Pick<Keys, 'fingerprint'>): ReturnPath => {
  const macOf = (id: string): string => keys.fingerprint(PURPOSE, id).slice(0, MAC_HEX_CHARS);
  const suffix = `@${domain}`;
  const senderOf = (id: EmailId): string => `${PREFIX}${toBase32(Buffer.from(id.replaceAll('-', '') + macOf(id), 'hex'))}@${domain}`;
  return {
    senderOf,
    emailOf: (address) => {
      const given = address.trim().replace(/^<|>$/g, '').toLowerCase();
      if (!given.startsWith(PREFIX) || !given.endsWith(suffix)) return undefined;
      const token = given.slice(PREFIX.length, -suffix.length);
      if (!TOKEN.test(token)) return undefined;
      const id = parseEmailId(uuidOfBytes(fromBase32(token)));
      return id !== undefined && timingSafeEqual(Buffer.from(senderOf(id)), Buffer.from(given)) ? id : undefined;
    },
  };
};

const toBase32 = (bytes: Buffer): string => {
  let text = '';
  let [bits, held] = [0, 0];
  for (const byte of bytes) {
    bits = ((bits << 8) | byte) & 0xfff;
    held += 8;
    for (; held >= 5; held -= 5) text += ALPHABET[(bits >> (held - 5)) & 31];
  }
  return held === 0 ? text : text + ALPHABET[(bits << (5 - held)) & 31];
};

const fromBase32 = (text: string): Buffer => {
  const bytes: number[] = [];
  let [bits, held] = [0, 0];
  for (const letter of text) {
    bits = ((bits << 5) | ALPHABET.indexOf(letter)) & 0xfff;
    held += 5;
    if (held < 8) continue;
    held -= 8;
    bytes.push((bits >> held) & 0xff);
  }
  return Buffer.from(bytes);
};

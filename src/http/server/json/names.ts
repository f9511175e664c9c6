/** Counts the different names of a body's members before JSON.parse keeps each of them, and a shape for each place where one stands. */
import { endOfString } from './scan.js';

const QUOTE = 0x22;
const COLON = 0x3a;

/** In: UTF-8 bytes that may be JSON. Out: whether its members have more than `max` names, told apart as they are written. */
export const hasMoreNames = (bytes: Buffer, max: number): boolean => {
  const names = new Set<string>();
  let start = 0;
  let end = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      start = at + 1;
      end = endOfString(bytes, start);
      at = end;
    } else if (byte === COLON) {
      names.add(bytes.toString('latin1', start, end));
      if (names.size > max) return true;
    }
  }
  return false;
};

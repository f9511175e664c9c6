/** What a parsed JSON value may not hold: keys that reach for prototypes, and text that is no Unicode. */
import type { FieldError } from '../../../domain/core/errors.js';

const PLAIN_KEY = /^[A-Za-z_$][\w$-]*$/;
const KEY_CHARS_MAX = 64;

/** Appends an array index or a key to a path such as `to[2].email`. Keys are shortened: they come from the caller. */
export const childPath = (path: string, key: string | number): string => {
  if (typeof key === 'number') return `${path}[${key}]`;
  const short = key.length > KEY_CHARS_MAX ? `${key.slice(0, KEY_CHARS_MAX)}…` : key;
  if (!PLAIN_KEY.test(key)) return `${path}[${JSON.stringify(short)}]`;
  return path === '' ? short : `${path}.${short}`;
};

const LONE_SURROGATE = /\p{Surrogate}/u;

const hasPrototype = (value: unknown): boolean => typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');

const keyFault = (key: string, value: unknown): string | undefined => {
  if (key === '__proto__') return 'is not allowed as a name, for it could change how programs read the object';
  if (key === 'constructor' && hasPrototype(value)) return 'must not hold `prototype`, for it could change how programs read the object';
  if (LONE_SURROGATE.test(key)) return 'has a name with half of a surrogate pair; write the whole character';
  return undefined;
};

/**
 * In: a value as JSON.parse made it, of bounded depth. Out: the first fault found, or undefined.
 * Only texts in which such a fault can be (see `mayHide`) are worth the walk.
 */
export const inspectJson = (value: unknown, path = ''): FieldError | undefined => {
  if (typeof value === 'string') {
    return LONE_SURROGATE.test(value)
      ? { field: path, message: 'holds half of a surrogate pair (U+D800 to U+DFFF); write the whole character' }
      : undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const found = inspectJson(value[index], childPath(path, index));
      if (found !== undefined) return found;
    }
    return undefined;
  }
  for (const [key, member] of Object.entries(value)) {
    const message = keyFault(key, member);
    if (message !== undefined) return { field: childPath(path, key), message };
    const found = inspectJson(member, childPath(path, key));
    if (found !== undefined) return found;
  }
  return undefined;
};

/**
 * In: a JSON text that was decoded from valid UTF-8. Out: false where no fault of `inspectJson` can be in it: such a text
 * holds lone surrogates only as escapes, and the two keys stand there in plain letters unless escapes are used.
 */
export const mayHide = (text: string): boolean => text.includes('\\u') || text.includes('__proto__') || text.includes('"constructor"');

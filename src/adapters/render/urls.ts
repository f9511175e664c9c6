/** Compiles an address that may hold placeholders: each value is escaped for the part of the address where it stands. */
import { safeImage, safeLink } from '../../domain/rendering/urls.js';
import type { Placeholder, TemplatedText } from '../../domain/rendering/templated-text.js';
import { js, type Term } from './code.js';
import type { Context } from './context.js';
import { escapeHtml, imageAttribute, linkAttribute } from './escape.js';
import { plainOf, stringOf } from './values.js';

/** Terms for `href`. An address whose scheme and host stand in the template needs no judgement when it is rendered. */
export const linkOf = (address: TemplatedText, context: Context): readonly Term[] => compile(address, context, 'LINK', linkAttribute, safeLink);

/** Terms for `src`. */
export const imageOf = (address: TemplatedText, context: Context): readonly Term[] => compile(address, context, 'IMAGE', imageAttribute, safeImage);

const compile = (
  address: TemplatedText,
  context: Context,
  judge: 'LINK' | 'IMAGE',
  now: (text: string) => string,
  safe: (text: string) => string | undefined,
): readonly Term[] => {
  if (address.every((part) => typeof part === 'string')) return [now(address.join(''))];
  const [start] = address;
  const known = typeof start === 'string' ? fixedStart(start.trimStart(), judge) : undefined;
  if (known === undefined || safe(known) === undefined) return [js(`${judge}(${composed(address, context)})`)];
  let before = '';
  return address.map((part, at) => {
    if (typeof part === 'string') {
      const literal = at === 0 ? part.trimStart() : part;
      before += literal;
      return escapeHtml(literal.trim().replaceAll(' ', '%20'));
    }
    return js(`${encoderAt(before)}(${stringOf(part.path, context)})`);
  });
};

/** The beginning where it settles scheme and host, so that no value can change them. */
const fixedStart = (start: string, judge: 'LINK' | 'IMAGE'): string | undefined => {
  if (/^https?:\/\/[A-Za-z0-9.-]+(?::\d+)?[/?#]/i.test(start)) return start;
  return judge === 'LINK' && /^(?:mailto|tel):/i.test(start) ? `${start}1` : undefined;
};

const encoderAt = (before: string): 'COMPONENT' | 'QUERY' | 'PATH' | 'ADDRESS' => {
  if (!/[?#]/.test(before)) return /^(?:mailto|tel):/i.test(before) ? 'ADDRESS' : 'PATH';
  return /[?&#]$/.test(before) && !/^mailto:/i.test(before) ? 'QUERY' : 'COMPONENT';
};

/**
 * Scheme or host come from a value. Values after the first `?` or `#` of the template's own text are components;
 * the others stand as they are, and the judgement looks at the whole.
 */
const composed = (address: TemplatedText, context: Context): string => {
  let before = '';
  const pieces = address.map((part: string | Placeholder, at) => {
    if (typeof part === 'string') {
      before += part;
      return plainOf([part], context);
    }
    const value = stringOf(part.path, context);
    if (!/[?#]/.test(before)) return inHost(before) ? hostPiece(before, value, at === address.length - 1) : value;
    return /[?&#]$/.test(before) ? value : `COMPONENT(${value})`;
  });
  return `""+${pieces.join('+')}`;
};

const inHost = (before: string): boolean => /^\s*https?:\/\/[^/?#]*$/i.test(before);

/** After `https://` and before the next slash a value may be a host or a part of one; after a host it may only go on behind it. */
const hostPiece = (before: string, value: string, isLast: boolean): string => {
  if (before.endsWith('//') && isLast) return value;
  return /[/.-]$/.test(before) ? `HOST(${value})` : `AFTER_HOST(${value})`;
};

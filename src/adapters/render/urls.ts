/** Compiles an address that may hold placeholders: each value is escaped for the part of the address where it stands. */
import { safeImage, safeLink } from '../../domain/rendering/urls.js';
import type { Placeholder, TemplatedText } from '../../domain/rendering/templated-text.js';
import { js, type Term } from './code.js';
import type { Context } from './context.js';
import { escapeHtml, imageAttribute, linkAttribute } from './escape.js';
import { plainOf, stringOf } from './values.js';

/** Terms for `href`. An address whose scheme and host stand in the template needs no judgement when it is rendered. */
export const linkOf = (address: TemplatedText, context: Context): readonly Term[] => compile(address, context, 'LINK').html;

/** Terms for `src`. */
export const imageOf = (address: TemplatedText, context: Context): readonly Term[] => compile(address, context, 'IMAGE').html;

/** The address of a link for the text part: the same one, not escaped, or in `judge` the expression of one that must be judged first. */
export const textLinkOf = (address: TemplatedText, context: Context): Readonly<{ terms: readonly Term[] } | { judge: string }> => compile(address, context, 'LINK').text;

type Compiled = Readonly<{ html: readonly Term[]; text: Readonly<{ terms: readonly Term[] } | { judge: string }> }>;

const judges = { LINK: { safe: safeLink, attribute: linkAttribute }, IMAGE: { safe: safeImage, attribute: imageAttribute } };

const compile = (address: TemplatedText, context: Context, judge: 'LINK' | 'IMAGE'): Compiled => {
  const { safe, attribute } = judges[judge];
  if (address.every((part) => typeof part === 'string')) {
    const literal = address.join('');
    return { html: [attribute(literal)], text: { terms: [safe(literal) ?? ''] } };
  }
  const [start] = address;
  const known = typeof start === 'string' ? fixedStart(start.trimStart(), judge) : undefined;
  if (known === undefined || safe(known) === undefined) {
    const whole = context.code.remember(composed(address, context));
    return { html: [js(`${judge}(${whole})`)], text: { judge: whole } };
  }
  let before = '';
  const terms = address.map((part, at): Term => {
    if (typeof part !== 'string') return js(context.code.remember(`${encoderAt(before)}(${stringOf(part.path, context)})`));
    before += part;
    return (at === 0 ? part.trimStart() : part).replaceAll(' ', '%20');
  });
  const html = terms.map((term): Term => (typeof term === 'string' ? escapeHtml(term) : js(`E(${term.js})`)));
  return { html, text: { terms } };
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

/** Compiles an address that may hold placeholders: each value is escaped for the part of the address where it stands. */
import { isSettled, partAt, type AddressPart } from '../../../domain/rendering/scope/address.js';
import { assetAddress, safeImage, safeLink } from '../../../domain/rendering/urls.js';
import type { Placeholder, TemplatedText } from '../../../domain/rendering/fill/templated-text.js';
import { INLINE, js, quote, type Term } from './code.js';
import type { Context } from './context.js';
import { escapeHtml, imageAttribute, linkAttribute } from './escape.js';
import { plainOf, plainStringOf } from './values.js';

/** Terms for `href`. An address whose scheme and host stand in the template needs no judgement when it is rendered. */
export const linkOf = (address: TemplatedText, context: Context): readonly Term[] => compile(address, context, 'LINK').html;

/** Terms for `src`. */
export const imageOf = (address: TemplatedText, context: Context): readonly Term[] => compile(address, context, 'IMAGE').html;

/** The address of a link for the text part: the same one, not escaped, or in `judge` the expression of one that must be judged first. */
export const textLinkOf = (address: TemplatedText, context: Context): Readonly<{ terms: readonly Term[] } | { judge: string }> =>
  compile(address, context, 'LINK').text;

/** By the names of the runtime. */
const encoders: Readonly<Record<Exclude<AddressPart, 'asIs'>, string>> = {
  component: 'COMPONENT',
  query: 'QUERY',
  path: 'PATH',
  mailbox: 'ADDRESS',
  host: 'HOST',
  afterHost: 'AFTER_HOST',
};

type Compiled = Readonly<{ html: readonly Term[]; text: Readonly<{ terms: readonly Term[] } | { judge: string }> }>;

const judges = { LINK: { safe: safeLink, attribute: linkAttribute }, IMAGE: { safe: safeImage, attribute: imageAttribute } };

const compile = (address: TemplatedText, context: Context, judge: 'LINK' | 'IMAGE'): Compiled => {
  const { safe, attribute } = judges[judge];
  if (address.every((part) => typeof part === 'string')) {
    const literal = address.join('');
    const asset = judge === 'IMAGE' ? assetAddress(literal) : undefined;
    if (asset !== undefined) return { html: [js(`ASSET(${quote(asset)},${INLINE})`)], text: { terms: [''] } };
    return { html: [attribute(literal)], text: { terms: [safe(literal) ?? ''] } };
  }
  const [first] = address;
  const start = typeof first === 'string' ? first : '';
  const kind = judge === 'LINK' ? 'link' : 'image';
  const encoded = (placeholder: Placeholder, before: string, at: number): string => {
    const part = partAt({ start, before, isLast: at === address.length - 1 }, kind);
    const value = plainStringOf(placeholder.path, context);
    return part === 'asIs' ? value : `${encoders[part]}(${value})`;
  };
  let before = '';
  if (!isSettled(start, kind)) {
    const pieces = address.map((part, at) => {
      if (typeof part !== 'string') return encoded(part, before, at);
      before += part;
      return plainOf([part], context);
    });
    const whole = context.code.remember(`""+${pieces.join('+')}`);
    return { html: [js(judge === 'IMAGE' ? `IMAGE(${whole},${INLINE})` : `LINK(${whole})`)], text: { judge: whole } };
  }
  const terms = address.map((part, at): Term => {
    if (typeof part !== 'string') return js(context.code.remember(encoded(part, before, at)));
    before += part;
    return (at === 0 ? part.trimStart() : part).replaceAll(' ', '%20');
  });
  const html = terms.map((term): Term => (typeof term === 'string' ? escapeHtml(term) : js(`E(${term.js})`)));
  return { html, text: { terms } };
};

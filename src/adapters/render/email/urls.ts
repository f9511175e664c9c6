/** Compiles an address that may hold placeholders: each value is escaped for the part of the address where it stands. */
import { isSettled, partAt, type AddressPart, type Place } from '../../../domain/rendering/addresses.js';
import { assetAddress, safeImage, safeLink } from '../../../domain/rendering/urls.js';
import type { Placeholder, TemplatedText } from '../../../domain/rendering/fill/templated-text.js';
import { concat, INLINE, js, quote, type Term } from './code.js';
import type { Context } from './context.js';
import { escapeHtml, imageAttribute, linkAttribute } from './escape.js';
import { sizeAttributes, tellsSize } from './picture-sizes.js';
import { plainOf, plainStringOf } from './values.js';

/** Terms for `href`. An address whose scheme and host stand in the template needs no judgement when it is rendered. */
export const linkOf = (address: TemplatedText, context: Context): readonly Term[] => compile(address, context, 'LINK').html;

/** Terms for `src`. */
export const imageOf = (address: TemplatedText, context: Context): readonly Term[] => compile(address, context, 'IMAGE').html;

/**
 * The attributes of a picture's size: what the template says (as the attributes take it, '' for nothing), and what is left open from the picture
 * itself where its address may tell it.
 */
export const imageSizeOf = (address: TemplatedText, given: Readonly<{ width: Term; height: Term }>, context: Context): readonly Term[] => {
  const { width, height } = given;
  const placePx = Math.round(context.widthPx);
  const said = (name: string, side: Term): readonly Term[] => (side === '' ? [] : [` ${name}="`, side, '"']);
  const known = [...said('width', width), ...said('height', height)];
  if (address.every((part) => typeof part === 'string')) {
    const literal = address.join('');
    if (!tellsSize(literal)) return known;
    const asset = assetAddress(literal);
    if (asset !== undefined) return [js(`SIZES(${quote(asset)},${concat([width])},${concat([height])},${placePx})`)];
    if (typeof width === 'string' && typeof height === 'string') return [sizeAttributes(literal, { width, height, placePx }, 'unknown')];
    return [js(`SIZES(${quote(literal)},${concat([width])},${concat([height])},${placePx})`)];
  }
  const [first] = address;
  if (isSettled(typeof first === 'string' ? first : '', 'image')) return known;
  return [js(`SIZES(${context.code.remember(unsettled(address, context, 'image'))},${concat([width])},${concat([height])},${placePx})`)];
};

/** The expression of an address that is judged as a whole, each value encoded for its place. */
const unsettled = (address: TemplatedText, context: Context, kind: 'link' | 'image'): string => {
  const [first] = address;
  const start = typeof first === 'string' ? first : '';
  let before = '';
  const pieces = address.map((part, at) => {
    if (typeof part !== 'string') return encoded(part, { start, before, isLast: at === address.length - 1 }, kind, context);
    before += part;
    return plainOf([part], context);
  });
  return `""+${pieces.join('+')}`;
};

const encoded = ({ path }: Placeholder, place: Place, kind: 'link' | 'image', context: Context): string => {
  const part = partAt(place, kind);
  const value = plainStringOf(path, context);
  return part === 'asIs' ? value : `${encoders[part]}(${value})`;
};

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
  if (!isSettled(start, kind)) {
    const whole = context.code.remember(unsettled(address, context, kind));
    return { html: [js(judge === 'IMAGE' ? `IMAGE(${whole},${INLINE})` : `LINK(${whole})`)], text: { judge: whole } };
  }
  let before = '';
  const terms = address.map((part, at): Term => {
    if (typeof part !== 'string')
      return js(context.code.remember(encoded(part, { start, before, isLast: at === address.length - 1 }, kind, context)));
    before += part;
    return (at === 0 ? part.trimStart() : part).replaceAll(' ', '%20');
  });
  const html = terms.map((term): Term => (typeof term === 'string' ? escapeHtml(term) : js(`E(${term.js})`)));
  return { html, text: { terms } };
};

/**
 * Addresses of links and pictures in a mail, each value escaped for its part of the address, and the size attributes of
 * pictures.
 */
import { shownSize, type PictureSize } from '../../../domain/rendering/pictures.js';
import {
  completedStart,
  insideImage,
  safeImage,
  isSettled,
  partAt,
  type AddressPart,
  type LinkRules,
  type Place,
  safeLink,
} from '../../../domain/rendering/addresses.js';
import type { Placeholder, TemplatedText } from '../../../domain/rendering/fill/templated-text.js';
import { concat, INLINE, joinedBy, js, quote, type Term } from './code.js';
import { type Context, plainStringOf } from './values.js';
import { escapeHtml, imageAttribute, linkAttribute } from './escape.js';

/**
 * Sizes of pictures inside the mail, by the id of the asset or `cid:` and the `contentId`; `unknown` where they are not
 * looked up yet, and room is kept for them.
 */
export type PictureSizes = ReadonlyMap<string, PictureSize> | 'unknown';

/** The size that the template states: '' for nothing, pixels, or a share of the place. */
type StatedSize = Readonly<{ width: string; height: string; /** Pixels of the place. */ placePx: number }>;

type Compiled = Readonly<{ html: readonly Term[]; text: Readonly<{ terms: readonly Term[] } | { judge: string }> }>;

const DATA = /^data:(image\/(?:png|jpe?g|gif|webp));base64,/i;
/** Before the frame of a JPEG may stand notes of a camera. */
const HEADER_CHARS_MAX = 256 * 1024;

/** A header may say any size; room is kept for so many digits. */
const SIDE_MAX = 99_999;
const ROOM: PictureSize = { width: SIDE_MAX, height: SIDE_MAX };

/** By the names of the runtime. */
const encoders: Readonly<Record<Exclude<AddressPart, 'asIs'>, string>> = {
  component: 'COMPONENT',
  query: 'QUERY',
  path: 'PATH',
  mailbox: 'ADDRESS',
  host: 'HOST',
  afterHost: 'AFTER_HOST',
};

const judges = {
  LINK: { safe: safeLink, attribute: linkAttribute },
  IMAGE: { safe: safeImage, attribute: imageAttribute },
};

/** Terms for `href`. An address whose scheme and host stand in the template needs no judgement when it is rendered. */
export const linkOf = (address: TemplatedText, context: Context): readonly Term[] =>
  compile(address, context, 'LINK').html;

/** Terms for `src`. */
export const imageOf = (address: TemplatedText, context: Context): readonly Term[] =>
  compile(address, context, 'IMAGE').html;

/**
 * The address of a link for the text part: the same one, not escaped, or in `judge` the expression of one that must be
 * judged first.
 */
export const textLinkOf = (
  address: TemplatedText,
  context: Context,
): Readonly<{ terms: readonly Term[] } | { judge: string }> => compile(address, context, 'LINK').text;

/**
 * The attributes of a picture's size: what the template says (as the attributes take it, '' for nothing), and what is
 * left open from the picture itself where its address may tell it.
 */
export const imageSizeOf = (
  written: TemplatedText,
  given: Readonly<{ width: Term; height: Term }>,
  context: Context,
): readonly Term[] => {
  const { width, height } = given;
  const address = addressAtBase(written, context);
  const placePx = Math.round(context.widthPx);
  const said = (name: string, side: Term): readonly Term[] => (side === '' ? [] : [` ${name}="`, side, '"']);
  const known = [...said('width', width), ...said('height', height)];
  if (address.every((part) => typeof part === 'string')) {
    const literal = address.join('');
    const inside = insideImage(literal);
    if (inside === undefined) return known;
    if (!inside.startsWith('data:'))
      return [js(`SIZES(${quote(inside)},${concat([width])},${concat([height])},${placePx})`)];
    if (typeof width === 'string' && typeof height === 'string')
      return [sizeAttributes(literal, { width, height, placePx }, 'unknown')];
    return [js(`SIZES(${quote(literal)},${concat([width])},${concat([height])},${placePx})`)];
  }
  const [first] = address;
  if (isSettled(typeof first === 'string' ? first : '', 'image')) return known;
  return [
    js(
      `SIZES(${context.code.remember(unsettled(address, context, 'image'))},${concat([width])},${concat([height])},${placePx})`,
    ),
  ];
};

/**
 * The size attributes of a picture. A side that the template leaves open comes from the picture itself, so that nothing
 * moves while it loads and Outlook shows it at its own size. Empty where neither knows a size.
 */
export const sizeAttributes = (address: string, given: StatedSize, sizes: PictureSizes): string => {
  const { width, height } = sidesOf(given, sizeOf(address, sizes));
  return (width === '' ? '' : ` width="${width}"`) + (height === '' ? '' : ` height="${height}"`);
};

/** The address at the base of the template, where what the author wrote settles that it is relative. */
export const addressAtBase = (address: TemplatedText, { links }: Pick<Context, 'links'>): TemplatedText => {
  const [first, ...rest] = address;
  if (typeof first !== 'string') return address;
  return rest.length > 0
    ? [completedStart(first, links), ...rest]
    : [safeLink(first) === undefined ? (safeLink(first, links) ?? first) : first];
};

const compile = (written: TemplatedText, context: Context, judge: 'LINK' | 'IMAGE'): Compiled => {
  const { safe, attribute } = judges[judge];
  const { links } = context;
  const address = addressAtBase(written, context);
  if (address.every((part) => typeof part === 'string')) {
    const literal = address.join('');
    const inside = judge === 'IMAGE' ? insideImage(literal) : undefined;
    if (inside !== undefined) return { html: [insideOf(inside, context)], text: { terms: [''] } };
    return { html: [attribute(literal, links)], text: { terms: [safe(literal, links) ?? ''] } };
  }
  const [first] = address;
  const start = typeof first === 'string' ? first : '';
  const kind = judge === 'LINK' ? 'link' : 'image';
  if (!isSettled(start, kind, links)) {
    const whole = context.code.remember(unsettled(address, context, kind));
    return { html: [js(judge === 'IMAGE' ? `IMAGE(${whole},${INLINE})` : `LINK(${whole})`)], text: { judge: whole } };
  }
  let before = '';
  const terms = address.map((part, at): Term => {
    if (typeof part !== 'string')
      return js(
        context.code.remember(encoded(part, { start, before, isLast: at === address.length - 1 }, kind, context)),
      );
    before += part;
    return (at === 0 ? part.trimStart() : part).replaceAll(' ', '%20');
  });
  const html = terms.map((term): Term => (typeof term === 'string' ? escapeHtml(term) : js(`E(${term.js})`)));
  return { html, text: { terms } };
};

/** The address of a picture inside the mail; a data URI is decoded once for the template. */
const insideOf = (address: string, { code }: Context): Term =>
  js(
    address.startsWith('data:')
      ? `EMBEDDED(${code.constant(`EMBED(${quote(address)})`)},${INLINE})`
      : `INSIDE(${quote(address)},${INLINE})`,
  );

const CSS_IMAGE = /^([^()'"]*)url\(\s*(['"]?)([^'"()\\\s]+)\2\s*\)([^()'"]*)$/i;

/** The one picture of a background, and what stands beside it. */
export type CssPicture = Readonly<{ beside: string; image: Term }>;

/**
 * In: the value of `background` or `background-image`. Out: the address of its one picture, and what stands beside it;
 * undefined if there is none that a mail may show.
 */
export const cssPictureIn = (
  value: string,
  links: LinkRules,
): Readonly<{ beside: string; address: string; isInside: boolean }> | undefined => {
  const [, before = '', , written = '', after = ''] = CSS_IMAGE.exec(value.trim()) ?? [];
  const inside = insideImage(written);
  const address = inside ?? safeImage(written, links);
  return address === undefined
    ? undefined
    : { beside: `${before} ${after}`.trim(), address, isInside: inside !== undefined };
};

/** `cssPictureIn` with the picture as terms. */
export const cssImageOf = (value: string, context: Context): CssPicture | undefined => {
  const found = cssPictureIn(value, context.links);
  if (found === undefined) return undefined;
  const { beside, address, isInside } = found;
  return { beside, image: isInside ? insideOf(address, context) : escapeHtml(address) };
};

/** The expression of an address that is judged as a whole, each value encoded for its place. */
const unsettled = (address: TemplatedText, context: Context, kind: 'link' | 'image'): string => {
  const [first] = address;
  const start = typeof first === 'string' ? first : '';
  let before = '';
  const terms = address.map((part, at): Term => {
    if (typeof part !== 'string')
      return js(encoded(part, { start, before, isLast: at === address.length - 1 }, kind, context));
    before += part;
    return part;
  });
  return joinedBy('WHOLE', terms);
};

const encoded = ({ path }: Placeholder, place: Place, kind: 'link' | 'image', context: Context): string => {
  const part = partAt(place, kind, context.links);
  const value = plainStringOf(path, context);
  return part === 'asIs' ? value : `${encoders[part]}(${value})`;
};

const sizeOf = (address: string, sizes: PictureSizes): PictureSize | undefined => {
  const inside = insideImage(address);
  if (inside === undefined) return undefined;
  const [start, type] = DATA.exec(inside) ?? [];
  if (start === undefined || type === undefined)
    return sizes === 'unknown' ? ROOM : sizes.get(inside.replace(/^asset:/, ''));
  const bytes = Buffer.from(inside.slice(start.length, start.length + HEADER_CHARS_MAX), 'base64');
  return shownSize(bytes, type.toLowerCase() === 'image/jpg' ? 'image/jpeg' : type.toLowerCase());
};

/** Both sides in whole pixels where the picture is known, at its own proportions and within its place. */
const sidesOf = (
  { width, height, placePx }: StatedSize,
  natural: PictureSize | undefined,
): Readonly<{ width: string; height: string }> => {
  if (natural === undefined) return { width, height };
  if (natural === ROOM) return { width: String(SIDE_MAX), height: String(SIDE_MAX) };
  const ratio = natural.height / natural.width;
  const wide = pixelsOf(width, placePx);
  const high = pixelsOf(height, undefined);
  const w = wide ?? (high === undefined ? natural.width : high / ratio);
  // Outlook goes by the attributes alone, and lets a picture push the mail apart.
  const scale = Math.min(1, placePx / w);
  return { width: whole(w * scale), height: whole((high ?? w * ratio) * scale) };
};

const whole = (px: number): string => String(Math.min(SIDE_MAX, Math.max(1, Math.round(px))));

const pixelsOf = (text: string, placePx: number | undefined): number | undefined => {
  const [, number, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  if (number === undefined) return undefined;
  return percent === '' ? Number(number) : placePx === undefined ? undefined : (placePx * Number(number)) / 100;
};

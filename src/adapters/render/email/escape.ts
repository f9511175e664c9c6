/**
 * Escaping by the place where a value stands: text and attributes, addresses, CSS values; long words and wide tables on
 * small screens. Harmless text passes untouched and fast.
 */
import { safeImage, safeLink, type LinkRules } from '../../../domain/rendering/addresses.js';

const SPECIAL = /[&<>"'\u0080-\uffff]/;
const LATIN_SHARE = 10;

/**
 * For text between tags and for attributes in double quotes. A single euro sign among Latin letters becomes a
 * reference: with it, a string of 20 KB would take two bytes a character and three times as long to encode. Other
 * scripts stay as they are. It stops where more than `charsMax` characters are written; what it answers is then longer
 * than that and not whole.
 */
export const escapeHtml = (text: string, charsMax = Infinity): string =>
  text.length <= charsMax && SPECIAL.test(text) ? escapeSlowly(text, charsMax) : text;

/**
 * Longer texts are escaped in pieces: a string put together of millions of parts takes more memory than its text, and
 * all of it at once.
 */
const PIECE_CHARS = 4_096;

const escapeSlowly = (text: string, charsMax: number): string => {
  const referenceFrom = isMostlyLatin(text) ? 0x80 : Infinity;
  if (text.length <= PIECE_CHARS) return escapePiece(text, referenceFrom);
  const pieces: string[] = [];
  let chars = 0;
  for (let from = 0; from < text.length && chars <= charsMax;) {
    const end = from + PIECE_CHARS;
    // A pair of surrogates is one character and stays together.
    const to = isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end;
    const piece = escapePiece(text.slice(from, to), referenceFrom);
    pieces.push(piece);
    chars += piece.length;
    from = to;
  }
  return pieces.join('');
};

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code < 0xdc00;

const escapePiece = (text: string, referenceFrom: number): string => {
  let out = '';
  let from = 0;
  let wide = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    wide ||= code > 0xff;
    const entity = code < 63 ? entityOf(code) : code >= referenceFrom ? referenceAt(text, at) : undefined;
    if (entity === undefined) continue;
    out += text.slice(from, at) + entity;
    if (isHighSurrogate(code) && entity !== REPLACEMENT) at += 1;
    from = at + 1;
  }
  out += text.slice(from);
  return wide && referenceFrom !== Infinity ? narrow(out) : out;
};

/**
 * Copies the text into a string of one byte a character. A slice of a two-byte string stays a two-byte string, even if
 * all its characters are narrow, and so does every string that contains it.
 */
const narrow = (text: string): string => {
  if (text.length > SHORT_CHARS) return Buffer.from(text, 'latin1').toString('latin1');
  let out = '';
  for (let at = 0; at < text.length; at += 1) out += String.fromCharCode(text.charCodeAt(at));
  return out;
};
/** Below it, letter by letter costs less than a buffer. */
const SHORT_CHARS = 64;

const entityOf = (code: number): string | undefined => {
  switch (code) {
    case 34:
      return '&quot;';
    case 38:
      return '&amp;';
    case 39:
      return '&#39;';
    case 60:
      return '&lt;';
    case 62:
      return '&gt;';
  }
  return undefined;
};

const REPLACEMENT = '&#65533;';

/** A whole pair of surrogates is one reference; half a pair is no character at all. */
const referenceAt = (text: string, at: number): string => {
  const point = text.codePointAt(at) ?? 0;
  return point >= 0xd800 && point < 0xe000 ? REPLACEMENT : `&#${point};`;
};

const isMostlyLatin = (text: string): boolean => {
  let left = Math.max(2, text.length / LATIN_SHARE);
  for (let at = 0; at < text.length; at += 1) {
    if (text.charCodeAt(at) < 0x80) continue;
    left -= 1;
    if (left < 0) return false;
  }
  return true;
};

/** A longer word may break anywhere and in every client: it is hardly one that people read. */
const LONG_CHARS = 30;

/** True for letters of scripts that break at blanks only. Combining marks and joiners are left to their own script. */
const isLetter = (code: number): boolean =>
  (code > 0x20 && code < 0x7f) ||
  (code > 0xa0 && code < 0x300 && code !== 0xad) ||
  (code > 0x36f && code < 0x590) ||
  (code > 0x1dff && code < 0x2000);

/**
 * How many characters the markup around long words may have in one mail. Further long words are written without markup:
 * no mail is refused for it.
 */
export const BREAKS_CHARS_MAX = 256 * 1024;
export type BreaksLeft = { breaksLeft: number };

/**
 * Lets words break that are wider than a screen: a long link or number would push the whole mail out of it. In: text as
 * it is read, the length from which a word may break on a small screen, and what is left for the markup, which is taken
 * from it. Out: HTML, escaped; longer than `htmlCharsMax` where it is not whole.
 */
export const breakWords = (
  text: string,
  chars: number,
  htmlCharsMax = Infinity,
  left: BreaksLeft = { breaksLeft: Infinity },
): string => {
  if (text.length <= chars || text.length > htmlCharsMax) return escapeHtml(text, htmlCharsMax);
  let html = '';
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const start = at;
    while (at < text.length && isLetter(text.charCodeAt(at))) at += 1;
    const open = at - start > LONG_CHARS ? BREAKS : BREAKS_IF_NARROW;
    const markup = open.length + '</span>'.length;
    if (at - start <= chars || markup > left.breaksLeft || isNumber(text, start, at)) continue;
    left.breaksLeft -= markup;
    html += escapeHtml(text.slice(from, start));
    html += `${open}${escapeHtml(text.slice(start, at), htmlCharsMax)}</span>`;
    from = at;
    if (html.length > htmlCharsMax) return html;
  }
  return from === 0 ? escapeHtml(text, htmlCharsMax) : html + escapeHtml(text.slice(from), htmlCharsMax);
};

/** An amount stays in one piece; a longer number is one of an account or an order. */
const NUMBER_CHARS = 18;
const NUMBER = /^[\d.,'’+%$€£-]+$/;
const isNumber = (text: string, from: number, to: number): boolean =>
  to - from <= NUMBER_CHARS && NUMBER.test(text.slice(from, to));

/** `break-all` is what Outlook knows; the class is one of the rules for small screens. */
const BREAKS = '<span style="word-break:break-all">';
const BREAKS_IF_NARROW = '<span class="w">';

/**
 * `roomPx`: pixels that a table has on a phone. `paddingPx`: of a cell, both sides. `flushPx`: what the outer cells
 * lack of it. `wordChars`: longer words break.
 */
export type NarrowTable = Readonly<{
  roomPx: number;
  fontPx: number;
  paddingPx: number;
  flushPx: number;
  wordChars: number;
  hasFooter: boolean;
}>;

/** From this number of columns on, the class `m` serves whether or not the words need it. */
const MANY_COLUMNS = 5;
/** Length that labels may add to a table, as a multiple of its length. A table with longer labels has no labels. */
const LABELS_SHARE_MAX = 4;
/** Letters and padding that the class `m` gives the cells of a table. */
const SMALL_FONT_PX = 12;
const SMALL_PADDING_PX = 6;

/**
 * In: the rows of a table as HTML. Out: the same, with the class under which the table is no wider than a phone. `m`
 * makes letters and padding smaller; where that is not enough, `k` puts the cells of a row below each other, each
 * behind the head of its column.
 */
export const fitted = (
  html: string,
  table: NarrowTable,
  left: BreaksLeft,
): Readonly<{ name: '' | 'm' | 'k' | 'k q'; html: string }> => {
  const widths = wordWidths(html, table);
  const sum = widths.reduce((all, width) => all + width, 0);
  const usual = sum * table.fontPx + widths.length * table.paddingPx - table.flushPx;
  if (usual <= table.roomPx) return { name: widths.length < MANY_COLUMNS ? '' : 'm', html };
  const small = sum * Math.min(SMALL_FONT_PX, table.fontPx) + widths.length * SMALL_PADDING_PX;
  if (small <= table.roomPx) return { name: 'm', html };
  const labels = labelled(html, table.hasFooter);
  const added = labels.length - html.length;
  if (added > Math.min(left.breaksLeft, LABELS_SHARE_MAX * html.length)) return { name: 'm', html };
  left.breaksLeft -= added;
  return { name: table.flushPx === 0 ? 'k q' : 'k', html: labels };
};

/** Widths of the signs from blank to tilde in hundredths of the size of the letters, as Arial has them. */
const ASCII_WIDTHS =
  '28 28 36 56 56 89 67 19 33 33 39 58 28 33 28 28 56 56 56 56 56 56 56 56 56 56 28 28 58 58 58 56 102 67 67 72 72 67 61 78 72 28 50 67 56 83 72 78 67 78 72 67 61 72 67 94 67 67 61 28 28 28 47 56 33 56 56 50 56 56 28 56 56 22 22 50 22 83 56 56 56 56 33 50 28 56 50 72 50 50 50 33 26 33 58'
    .split(' ')
    .map((width) => Number(width) / 100);
const BOLD = 1.08;
/** Fonts of phones are a little wider than Arial or not. */
const OTHER_FONTS = 1.04;

/** Width of a sign beyond ASCII; negative where a line may break behind it. */
const widthBeyondAscii = (code: number): number => {
  if (code === 0xa0 || code === 0x202f || code === 0x2007) return 0.28;
  if (code === 0xad || code === 0x200b || (code >= 0x2000 && code <= 0x200a)) return -0.01;
  if ((code >= 0x300 && code < 0x370) || (code >= 0x200c && code <= 0x200f) || (code >= 0x202a && code <= 0x206f))
    return 0;
  // Scripts whose lines break between any two signs, or by a dictionary; then pairs of surrogates.
  if ((code >= 0x0e00 && code < 0x0f00) || (code >= 0x1000 && code < 0x10a0) || (code >= 0x1780 && code < 0x1800))
    return -1;
  if (code >= 0x2e80) return code >= 0xfb1d && code <= 0xfefc ? 0.56 : -1;
  return 0.62;
};

const SCRATCH_UNITS = 32 * 1024;
const scratch = new Uint16Array(SCRATCH_UNITS);
const scratchBytes = Buffer.from(scratch.buffer);

/**
 * The UTF-16 units of a text, valid until the next call. A text put together of many pieces is read several times
 * faster from an array.
 */
const unitsOf = (text: string): Uint16Array => {
  if (text.length > SCRATCH_UNITS) {
    const bytes = Buffer.alloc(text.length * 2);
    bytes.write(text, 'utf16le');
    return new Uint16Array(bytes.buffer, bytes.byteOffset, text.length);
  }
  scratchBytes.write(text, 'utf16le');
  return scratch;
};

const [LESS, MORE, SLASH, AMPERSAND, SEMICOLON, NUMBER_SIGN, HYPHEN, ZERO, NINE] = [
  60, 62, 47, 38, 59, 35, 45, 48, 57,
] as const;
const [B, D, H, I, N, R, S, T, W] = [98, 100, 104, 105, 110, 114, 115, 116, 119] as const;

/** In: rows as HTML. Out: the width of the widest word of each column, in sizes of the letters. */
const wordWidths = (html: string, { wordChars, hasFooter }: NarrowTable): readonly number[] => {
  const widths: number[] = [];
  const units = unitsOf(html);
  const { length } = html;
  const broken = wordChars * 0.56;
  const footer = hasFooter ? html.lastIndexOf('<tr') : length;
  let column = -1;
  let weight = 1;
  let word = 0;
  let widest = 0;
  let isBreakable = false;
  for (let at = 0; at < length; at += 1) {
    let code = units[at] ?? 0;
    if (code !== LESS) {
      if (code === AMPERSAND) {
        const start = at;
        while (at < length && units[at] !== SEMICOLON && at - start < REFERENCE_CHARS_MAX) at += 1;
        code = referenceIn(units, start + 1, at);
      }
      const width = code < 0x7f ? (code <= 0x20 ? -0.01 : (ASCII_WIDTHS[code - 0x20] ?? 0)) : widthBeyondAscii(code);
      word += width < 0 ? -width : width;
      // A line may break behind a hyphen, not behind a minus.
      if (width < 0 || (code === HYPHEN && (units[at + 1] ?? 0) > NINE)) {
        if (word > widest) widest = word;
        word = 0;
      }
      continue;
    }
    const open = at;
    const first = units[open + 1];
    const second = units[open + 2];
    const isCell = first === T && (second === D || second === H);
    // The tag of a cell has a style, a long one: the engine finds its end faster than a loop does.
    if (isCell) at = endOfTag(html, at);
    else while (at < length && units[at] !== MORE) at += 1;
    if (isCell || first === I || first === W || (first === B && second === R) || (first === SLASH && second === T)) {
      if (word > widest) widest = word;
      word = 0;
    }
    if (isCell) {
      column += 1;
      weight = second === H || open > footer ? BOLD : 1;
    } else if (first === SLASH && second === T && column >= 0) {
      const width = widest * weight * OTHER_FONTS;
      if (width > (widths[column] ?? -1)) widths[column] = width;
      widest = 0;
    } else if (first === T && second === R) column = -1;
    else if (first === S) isBreakable = html.startsWith(BREAKS_IF_NARROW, open) || html.startsWith(BREAKS, open);
    else if (isBreakable && first === SLASH && second === S) {
      isBreakable = false;
      if (word > broken) word = broken;
    }
  }
  return widths;
};

const endOfTag = (html: string, from: number): number => {
  const end = html.indexOf('>', from);
  return end < 0 ? html.length : end;
};

const REFERENCE_CHARS_MAX = 10;

/** The character that a reference stands for, where its width matters. */
const referenceIn = (units: Uint16Array, from: number, to: number): number => {
  if (units[from] === N) return 0xa0;
  if (units[from] !== NUMBER_SIGN) return 0x26;
  let code = 0;
  for (let at = from + 1; at < to; at += 1) code = code * 10 + (units[at] ?? 0) - ZERO;
  return code;
};

const HEAD_ROW = /<tr[^>]*>(?=\s*<th\b)/;
const CELL = /<(t[dhr])\b[^>]*>/g;

/** Writes the head of its column into each cell that shows something, hidden but on small screens. */
const labelled = (html: string, hasFooter: boolean): string => {
  const heads = [...html.matchAll(/<th\b[^>]*>(.*?)<\/th>/gs)].map(([, inner = '']) => labelOf(inner));
  const footer = hasFooter ? html.lastIndexOf('<tr') : html.length;
  let out = '';
  let from = 0;
  let column = -1;
  let isFirst = true;
  for (const { 0: tag, 1: name, index } of html.matchAll(CELL)) {
    if (name === 'tr') {
      column = -1;
      isFirst = true;
      continue;
    }
    column += 1;
    const start = index + tag.length;
    const head = heads[column] ?? '';
    if (name === 'th' || head === '' || tag.includes('colspan') || !showsSomething(html, start)) continue;
    // The first cell of the last row says what the row is.
    if (index < footer || !isFirst) {
      out += `${html.slice(from, start)}<span class="n" style="display:none;mso-hide:all">${head}</span>`;
      from = start;
    }
    isFirst = false;
  }
  return (out + html.slice(from)).replace(HEAD_ROW, (row) => row.replace('<tr', '<tr class="h"'));
};

const labelOf = (head: string): string => {
  const text = head
    .replaceAll(/<br[^>]*>|\s+/g, ' ')
    .replaceAll(/<[^>]*>/g, '')
    .trim();
  return text === '' ? '' : /[:?\uff1a]$/.test(text) ? `${text} ` : `${text}: `;
};

const showsSomething = (html: string, start: number): boolean => {
  const inner = html.slice(start, html.indexOf('</td>', start));
  return inner.includes('<img') || inner.replaceAll(/<[^>]*>|&nbsp;|&#160;/g, '').trim() !== '';
};

/** The addresses of a link and a picture in the place of those that may not be followed. */
export const NO_LINK = '#';
/** A transparent GIF of one pixel. */
export const NO_IMAGE = 'data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==';

/** An address that was composed, for an attribute: judged as a whole, then escaped. */
export const linkAttribute = (address: string, rules?: LinkRules, charsMax?: number): string =>
  escapeHtml(safeLink(address, rules) ?? NO_LINK, charsMax);
export const imageAttribute = (address: string, rules?: LinkRules, charsMax?: number): string =>
  escapeHtml(safeImage(address, rules) ?? NO_IMAGE, charsMax);

export {
  urlAddress,
  urlAfterHost,
  urlComponent,
  urlHost,
  urlPath,
  urlQuery,
} from '../../../domain/rendering/addresses.js';

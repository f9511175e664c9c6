/** Escaping by the place where a value stands: text and attributes, long words, addresses, CSS values. Harmless text passes untouched and fast. */
import { safeImage, safeLink, type LinkRules } from '../../../domain/rendering/addresses.js';

const SPECIAL = /[&<>"'\u0080-\uffff]/;
const LATIN_SHARE = 10;

/**
 * For text between tags and for attributes in double quotes. A single euro sign among Latin letters becomes a reference:
 * with it, a string of 20 KB would take two bytes a character and three times as long to encode. Other scripts stay as they are.
 * It stops where more than `charsMax` characters are written; what it answers is then longer than that and not whole.
 */
export const escapeHtml = (text: string, charsMax = Infinity): string =>
  text.length <= charsMax && SPECIAL.test(text) ? escapeSlowly(text, charsMax) : text;

/** Longer texts are escaped in pieces: a string put together of millions of parts takes more memory than its text, and all of it at once. */
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
 * What is cut from a string of two bytes a character keeps that form, whatever is left in it, and gives it to all that it
 * becomes a part of. Written and read again, a text without wide characters takes one byte a character.
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

/** How many characters the markup around long words may have in one mail. What is beyond is written without: no mail is refused for it. */
export const BREAKS_CHARS_MAX = 256 * 1024;
export type BreaksLeft = { breaksLeft: number };

/**
 * Lets words break that are wider than a screen: a long link or number would push the whole mail out of it.
 * In: text as it is read, the length from which a word may break on a small screen, and what is left for the markup, which is taken from it.
 * Out: HTML, escaped; longer than `htmlCharsMax` where it is not whole.
 */
export const breakWords = (text: string, chars: number, htmlCharsMax = Infinity, left: BreaksLeft = { breaksLeft: Infinity }): string => {
  if (text.length <= chars || text.length > htmlCharsMax) return escapeHtml(text, htmlCharsMax);
  let html = '';
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const start = at;
    while (at < text.length && isLetter(text.charCodeAt(at))) at += 1;
    const open = at - start > LONG_CHARS ? BREAKS : BREAKS_IF_NARROW;
    const markup = open.length + '</span>'.length;
    if (at - start <= chars || markup > left.breaksLeft) continue;
    left.breaksLeft -= markup;
    html += escapeHtml(text.slice(from, start));
    html += `${open}${escapeHtml(text.slice(start, at), htmlCharsMax)}</span>`;
    from = at;
    if (html.length > htmlCharsMax) return html;
  }
  return from === 0 ? escapeHtml(text, htmlCharsMax) : html + escapeHtml(text.slice(from), htmlCharsMax);
};

/** `break-all` is what Outlook knows; the class is one of the rules for small screens. */
const BREAKS = '<span style="word-break:break-all">';
const BREAKS_IF_NARROW = '<span class="w">';

/** The addresses of a link and a picture in the place of those that may not be followed. */
export const NO_LINK = '#';
/** A transparent GIF of one pixel. */
export const NO_IMAGE = 'data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==';

/** An address that was composed, for an attribute: judged as a whole, then escaped. */
export const linkAttribute = (address: string, rules?: LinkRules, charsMax?: number): string =>
  escapeHtml(safeLink(address, rules) ?? NO_LINK, charsMax);
export const imageAttribute = (address: string, rules?: LinkRules, charsMax?: number): string =>
  escapeHtml(safeImage(address, rules) ?? NO_IMAGE, charsMax);

export { urlAddress, urlAfterHost, urlComponent, urlHost, urlPath, urlQuery } from '../../../domain/rendering/addresses.js';

/** Escaping by the place where a value stands: text and attributes, addresses, CSS values. What is harmless passes untouched and fast. */
import { cssBorder, cssBox, cssColor, cssFontFamily, cssLength, cssLineHeight } from '../../../domain/rendering/css.js';
import { safeImage, safeLink } from '../../../domain/rendering/addresses.js';

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

/** Where a link or a picture has an address that may not be followed. */
export const NO_LINK = '#';
/** A transparent GIF of one pixel. */
export const NO_IMAGE = 'data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==';

/** An address that was composed, for an attribute: judged as a whole, then escaped. */
export const linkAttribute = (address: string, charsMax?: number): string => escapeHtml(safeLink(address) ?? NO_LINK, charsMax);
export const imageAttribute = (address: string, charsMax?: number): string => escapeHtml(safeImage(address) ?? NO_IMAGE, charsMax);

export { urlAddress, urlAfterHost, urlComponent, urlHost, urlPath, urlQuery } from '../../../domain/rendering/addresses.js';

/** CSS values that a variable brings: what is not of the kind falls back to the value that the template has without it. */
export const color = (value: string, fallback: string): string => cssColor(value) ?? fallback;
export const length = (value: string, fallback: string): string => cssLength(value) ?? fallback;
export const box = (value: string, fallback: string): string => cssBox(value) ?? fallback;
export const border = (value: string, fallback: string): string => cssBorder(value) ?? fallback;
export const fontFamily = (value: string, fallback: string): string => cssFontFamily(value) ?? fallback;
export const lineHeight = (value: string, fallback: string): string => cssLineHeight(value) ?? fallback;
export const oneOf = (value: string, values: readonly string[], fallback: string): string =>
  values.includes(value.trim().toLowerCase()) ? value.trim().toLowerCase() : fallback;

const DECLARATION = /^[#\w\s.,%+()'-]{1,200}$/;
const FUNCTION = /([a-z-]*)\s*\(/gi;

/** The value of a declaration in a `style` attribute: plain words, numbers, colours; no url(), no expression(), nothing that ends the declaration. */
export const declaration = (value: string): string | undefined => {
  const css = value.trim();
  if (!DECLARATION.test(css)) return undefined;
  return [...css.matchAll(FUNCTION)].every(([, name]) => /^(?:rgba?|hsla?)$/i.test(name ?? '')) ? css : undefined;
};

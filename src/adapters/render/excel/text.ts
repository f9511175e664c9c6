/**
 * Text as cells and hand-written parts of a workbook take it: the characters of XML, the length that a cell allows, no
 * way to become a formula, and its width.
 */
import { cellTooLong } from '../../../domain/rendering/budget.js';

/** Text without the characters that XML cannot hold. */
export const withoutInvalid = (text: string): string =>
  text.replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]|\p{Surrogate}/gu, '');

/** Text for an element or a quoted attribute of XML, without the characters that XML cannot hold. */
export const escapeXml = (text: string): string =>
  withoutInvalid(text).replace(/[&<>"'\n\r\t]/g, (character) => `&#${character.charCodeAt(0)};`);

export const XML_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

/** Characters that XML cannot hold. */
const FORBIDDEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]|\p{Surrogate}/u;
const ALL_FORBIDDEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]|\p{Surrogate}/gu;
/** Readers take `_x000D_` for the character of that number; an escaped underscore keeps it as it was written. */
const ESCAPE_LIKE = /_(?=x[0-9A-Fa-f]{4}_)/g;

/** The place of a text, for the message of its error: the component in the template, and the cell in the component. */
export type TextPlace = Readonly<{ field: string; where: () => string }>;

/** Text for a cell. Throws DomainError where it is too long. */
export const cellText = (text: string, charsMax: number, { field, where }: TextPlace): string => {
  if (text.length > charsMax) throw cellTooLong(field, where(), text.length, charsMax);
  let safe = text;
  if (safe.includes('\r')) safe = safe.replace(/\r\n?/g, '\n');
  if (FORBIDDEN.test(safe)) safe = safe.replace(ALL_FORBIDDEN, '');
  return safe.includes('_x') ? safe.replace(ESCAPE_LIKE, '_x005F_') : safe;
};

/**
 * The code for text, `@`, where the text begins as a formula or a command does (`=`, `+`, `-`, `@`, tab, line break):
 * as text it stands there anyhow, and so marked it stays text when the reader edits the cell. The package adds the mark
 * of an apostrophe.
 */
export const TEXT_CODE = '@';
export const looksLikeFormula = (text: string): boolean => /^\s*[=+\-@\t\r\n]/.test(text);

/** Wide letters take the room of two. */
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/g;

/** The room of the longest line in characters of the sheet's font. */
export const textWidth = (text: string): number => {
  if (!text.includes('\n')) return lineWidth(text);
  return text.split('\n').reduce((widest, line) => Math.max(widest, lineWidth(line)), 0);
};

const lineWidth = (line: string): number =>
  line.length + (/[\u1100-\uffe6]/.test(line) ? (line.match(WIDE)?.length ?? 0) : 0);

/** Lines that a text takes in a cell of so many characters. */
export const linesIn = (text: string, charsWide: number): number => {
  const room = Math.max(1, Math.floor(charsWide));
  return text.split('\n').reduce((lines, line) => lines + Math.max(1, Math.ceil(lineWidth(line) / room)), 0);
};

/** In: points. Out: characters of the sheet's font (Calibri 11: 7 pixels each and 5 of padding). */
export const charsOf = (points: number): number => Math.max(1, Math.round(((points * 4) / 3 - 5) / 0.07) / 100);
/** In: characters of the sheet's font. Out: points. */
export const pointsOf = (chars: number): number => ((chars * 7 + 5) * 3) / 4;

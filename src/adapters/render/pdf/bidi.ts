/**
 * Text from right to left (UAX #9): embedding levels of a paragraph, mirrored characters, and the order in which the
 * words of a line that pdfmake broke are drawn.
 */
import bidiModule, { type Bidi } from 'bidi-js';
import { isSetInOrder, SOFT_HYPHEN, withoutBreaks } from './scripts.js';

// The package types a default export; at run time the module is the factory itself.
const factory: unknown = bidiModule;
const bidi = (factory as () => Bidi)();

/** Letters and digits of scripts that fontkit draws from right to left whatever their level. */
const DRAWN_RIGHT_TO_LEFT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}]/u;

/**
 * An embedding level for each UTF-16 unit; odd ones run from right to left. The first strong letter sets the direction
 * where none is given.
 */
export const levelsOf = (
  paragraph: string,
  direction?: 'ltr' | 'rtl',
): Readonly<{ levels: Uint8Array; isRightToLeft: boolean }> => {
  const { levels, paragraphs } = bidi.getEmbeddingLevels(paragraph, direction);
  return { levels, isRightToLeft: (paragraphs[0]?.level ?? 0) % 2 === 1 };
};

/**
 * The text of one level as it must be given to the font, which draws letters of right-to-left scripts from the right
 * and all else from the left: brackets mirrored and signs without a script turned round at odd levels, digits of a
 * right-to-left script turned round at even ones.
 */
export const asDrawn = (text: string, level: number): string => {
  const fromRight = DRAWN_RIGHT_TO_LEFT.test(text);
  if (level % 2 === 0) return fromRight ? turned(text) : text;
  const mirrored = [...text].map((character) => bidi.getMirroredCharacter(character) ?? character).join('');
  return fromRight ? mirrored : turned(mirrored);
};

const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });
const turned = (text: string): string =>
  Array.from(segmenter.segment(text), ({ segment }) => segment)
    .reverse()
    .join('');

/** The indices of a line's parts in the order in which they are drawn, from left to right (rule L2). */
export const visualOrder = (levels: readonly number[]): readonly number[] => {
  const order = levels.map((_, index) => index);
  const odd = levels.filter((level) => level % 2 === 1);
  for (let level = Math.max(0, ...levels); level >= Math.min(...odd); level -= 1) {
    for (let start = 0; start < order.length; start += 1) {
      if (levels[start]! < level) continue;
      let end = start;
      while (end + 1 < order.length && levels[end + 1]! >= level) end += 1;
      order.splice(start, end - start + 1, ...order.slice(start, end + 1).reverse());
      start = end;
    }
  }
  return order;
};

/** A word that pdfmake makes of a run, with the fields that are read here. */
export type Inline = {
  text: string;
  x: number;
  width: number;
  alignment?: string;
  leadingCut?: number;
  trailingCut?: number;
  justifyShift?: number;
  /** No line may end between this word and the next. */
  noNewLine?: boolean;
  bidiLevel?: number;
};
export type Line = {
  x?: number;
  maxWidth: number;
  inlines: Inline[];
  leadingCut: number;
  trailingCut: number;
  inlineWidths: number;
};

/** True if the next inline goes on with the word, so that no room stands between them. */
const isWithinWord = ({ noNewLine, text }: Inline): boolean => noNewLine === true || text.endsWith(SOFT_HYPHEN);

const ordered = new WeakSet<Inline[]>();

/**
 * To be called once a line is broken and aligned, before it is drawn; calling it again changes nothing. pdfmake breaks
 * lines in reading order, so which words share a line is right already; here they get their places within it. Justified
 * lines get their room between words only, where pdfmake puts some between all parts of a line.
 */
export const orderLine = (line: Line): void => {
  const { inlines } = line;
  const isRightToLeft = inlines.some((inline) => (inline.bidiLevel ?? 0) > 0);
  const room = inlines.reduce((sum, inline) => sum + (inline.justifyShift ?? 0), 0);
  if (ordered.has(inlines) || !(isRightToLeft || (room > 0 && inlines.some(isWithinWord)))) return;
  ordered.add(inlines);
  trimEnds(line);
  const gaps = gapsOf(inlines, room);
  const order = visualOrder(inlines.map((inline) => inline.bidiLevel ?? 0));
  const drawn = order.map((index) => inlines[index]!);
  let end = isRightToLeft && room === 0 ? startOfLast(line) : 0;
  let after = 0;
  for (const index of order) {
    const inline = inlines[index]!;
    const gap = gaps[index]!;
    // A word's space, and with it its gap, is drawn where the word ends: at the left of it at odd levels.
    const isLeftward = (inline.bidiLevel ?? 0) % 2 === 1;
    const shift = after + (isLeftward ? gap : 0);
    after = isLeftward ? 0 : gap;
    inline.x = end + shift;
    end = inline.x + inline.width;
    if (room > 0) inline.justifyShift = shift;
    inline.text = asDrawn(inline.text, inline.bidiLevel ?? 0);
  }
  inlines.splice(0, inlines.length, ...drawn);
};

/**
 * The text of a line as it is written, for those who hear or copy it, where letters that join or stack do not tell it;
 * to be asked before `orderLine`. Undefined where they do, and for lines that run from the right: readers of PDF turn
 * round what they are told of those.
 */
export const readText = ({ inlines }: Line): string | undefined => {
  const text = withoutBreaks(inlines.map((inline) => inline.text).join(''));
  return isSetInOrder(text) || inlines.some((inline) => (inline.bidiLevel ?? 0) > 0) ? undefined : text;
};

/** The room of a justified line, shared out after each word that another may follow on the next line. */
const gapsOf = (inlines: readonly Inline[], room: number): readonly number[] => {
  const isGap = inlines.map((inline, index) => index < inlines.length - 1 && !isWithinWord(inline));
  const count = isGap.filter(Boolean).length;
  return isGap.map((given) => (given ? room / count : 0));
};

/** The last line of a justified paragraph is not stretched; from right to left it begins at the right. */
const startOfLast = ({ inlines, maxWidth }: Line): number => {
  const isWhollyRightToLeft = inlines.every((inline) => (inline.bidiLevel ?? 0) > 0 || inline.text.trim() === '');
  if (inlines[0]?.alignment !== 'justify' || !isWhollyRightToLeft) return 0;
  return Math.max(0, maxWidth - inlines.reduce((sum, inline) => sum + inline.width, 0));
};

/**
 * The spaces at both ends of a line hang outside of it; on the side where they are drawn they would shift the words.
 */
const trimEnds = (line: Line): void => {
  const first = line.inlines[0];
  const last = line.inlines.at(-1);
  if (first === undefined || last === undefined) return;
  if (line.leadingCut > 0) {
    if (first.text.trim() !== '') first.text = first.text.trimStart();
    first.width = Math.max(0, first.width - line.leadingCut);
  }
  if (line.trailingCut > 0) {
    if (last.text.trim() !== '') last.text = last.text.trimEnd();
    last.width = Math.max(0, last.width - line.trailingCut);
  }
  line.leadingCut = Math.min(0, line.leadingCut);
  line.trailingCut = 0;
  line.inlineWidths = line.inlines.reduce((sum, inline) => sum + inline.width, 0);
};

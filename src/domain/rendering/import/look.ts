/** The look of elements: fonts, colours and sides that their text inherits, and the look of most of a mail. */
import type { JsonObject } from '../../core/json.js';
import { cssColor, cssFontFamily, cssLength, cssLineHeight, pixels } from '../css.js';
import { holdsMark, type Element, type Node, type Styles } from './tree.js';

/** The look that text inherits. Sizes are pixels; `lineHeight` is as CSS writes it. */
export type Look = Readonly<{
  fontFamily: string;
  fontSize: number;
  lineHeight: string;
  color: string;
  align: 'left' | 'center' | 'right';
  /** The side to which tables and other boxes move, as the attribute `align` and `<center>` move them. */
  boxes: 'left' | 'center' | 'right';
  /** Inherited styles of letters that no prop says: weight, slant, capitals, spacing. */
  letters: Styles;
  /** The colour behind; undefined where none is stated. */
  background: string | undefined;
}>;

export const START: Look = {
  fontFamily: 'Arial, Helvetica, sans-serif',
  fontSize: 16,
  lineHeight: 'normal',
  color: '#000000',
  align: 'left',
  boxes: 'left',
  letters: new Map(),
  background: undefined,
};

/** `normal`, which props cannot say. */
export const NORMAL_LINES = '1.2';

const LETTERS = ['font-weight', 'font-style', 'letter-spacing', 'text-transform'] as const;

const PLAIN_LETTERS: ReadonlySet<string> = new Set([
  'normal',
  'none',
  '400',
  'inherit',
  'initial',
  'unset',
  '0',
  '0px',
]);

export const lettersText = (letters: Styles): string =>
  [...letters].map(([name, value]) => `${name}:${value}`).join(';');

/** The styles of letters that the children of an element inherit. */
const lettersIn = ({ styles, tag }: Pick<Element, 'styles' | 'tag'>, outer: Styles): Styles => {
  if (tag !== 'th' && !LETTERS.some((name) => styles.has(name))) return outer;
  const inner = new Map(outer);
  if (tag === 'th') inner.set('font-weight', 'bold');
  for (const name of LETTERS) {
    const value = styles.get(name);
    if (value === undefined || holdsMark(value) || !/^[\w. -]{1,30}$/.test(value)) continue;
    if (PLAIN_LETTERS.has(value)) inner.delete(name);
    else inner.set(name, value);
  }
  return inner;
};

/** The side to which automatic margins move a box. */
export const placeOf = (styles: Styles): Look['align'] | undefined => {
  const [, right = '', , left = right] = (styles.get('margin') ?? '').split(/\s+/).slice(0, 4);
  const isAuto = (side: string, short: string): boolean => (styles.get(`margin-${side}`) ?? short) === 'auto';
  if (isAuto('left', left)) return isAuto('right', right) ? 'center' : 'right';
  return undefined;
};

export const isHidden = ({ styles, attributes }: Element): boolean =>
  styles.get('display') === 'none' ||
  styles.get('mso-hide') === 'all' ||
  styles.get('visibility') === 'hidden' ||
  attributes.has('hidden') ||
  /^0(?:px)?$/.test(styles.get('max-height') ?? '');

export const colorIn = (value: string | undefined): string | undefined => {
  const color = value === undefined ? undefined : cssColor(value);
  return color === undefined || color === 'transparent' ? undefined : color;
};

const WORDS = /[\w-]+\([^)]*\)|[^\s]+/g;

/** The colour of a background; undefined where there is none. */
export const backgroundOf = (styles: Styles): string | undefined =>
  colorIn(styles.get('background-color')) ??
  (styles.get('background')?.slice(0, 300).match(WORDS) ?? []).flatMap((word) => colorIn(word) ?? [])[0];

export const px = (value: string | undefined, fontSize = 16): number => {
  if (value === undefined) return 0;
  const css = cssLength(value.trim());
  if (css === undefined) return 0;
  const found = pixels(css);
  if (found !== undefined) return found;
  const number = parseFloat(css);
  return css.endsWith('em') ? number * (css.endsWith('rem') ? 16 : fontSize) : 0;
};

export const rounded = (value: number): number => Math.round(Math.min(Math.max(value, 0), 2_000) * 100) / 100;

export const isSimpleWidth = (width: string | undefined): width is string =>
  width !== undefined && width.endsWith('px') && parseFloat(width) >= 40;

export const alignOf = (written: string | undefined): Look['align'] | undefined => {
  const text = written?.toLowerCase();
  return text === 'center' || text === 'right' || text === 'left'
    ? text
    : text === 'start'
      ? 'left'
      : text === 'end'
        ? 'right'
        : undefined;
};

const FONT = /(\d+(?:\.\d+)?(?:px|pt|em|rem))(?:\/(\d+(?:\.\d+)?(?:px|pt|em|rem|%)?))?\s+(.+)$/;

/** The look that the children of an element inherit. */
export const lookIn = ({ styles, attributes, tag }: Element, outer: Look): Look => {
  const [, shortSize, shortLines, shortFamily] = FONT.exec(styles.get('font') ?? '') ?? [];
  const size = styles.get('font-size') ?? shortSize;
  const css = size === undefined || holdsMark(size) ? undefined : cssLength(size);
  const fontSize =
    css === undefined
      ? outer.fontSize
      : css.endsWith('%')
        ? (outer.fontSize * parseFloat(css)) / 100
        : px(css, outer.fontSize);
  const lines = styles.get('line-height') ?? shortLines;
  const color = styles.get('color') ?? (tag === 'font' ? attributes.get('color') : undefined);
  const alignText = alignOf(styles.get('text-align'));
  const alignAll =
    tag === 'center' ? 'center' : tag === 'table' || tag === 'img' ? undefined : alignOf(attributes.get('align'));
  // A table takes a centred text over, but starts anew where boxes were centred.
  const isReset = tag === 'table' && outer.boxes !== 'left' && outer.boxes === outer.align;
  return {
    fontFamily:
      usable(styles.get('font-family') ?? shortFamily ?? (tag === 'font' ? attributes.get('face') : undefined)) ??
      outer.fontFamily,
    fontSize: fontSize || outer.fontSize,
    lineHeight: linesOf(lines, fontSize) ?? outer.lineHeight,
    color: (color === undefined ? undefined : cssColor(color)) ?? outer.color,
    align: alignText ?? alignAll ?? (tag === 'th' ? 'center' : isReset ? 'left' : outer.align),
    boxes: alignText !== undefined || tag === 'table' ? 'left' : (alignAll ?? outer.boxes),
    letters: lettersIn({ styles, tag }, outer.letters),
    background: backgroundOf(styles) ?? colorIn(attributes.get('bgcolor')) ?? outer.background,
  };
};

const usable = (family: string | undefined): string | undefined =>
  family === undefined || /^(?:inherit|initial)$/.test(family) ? undefined : cssFontFamily(family);

const linesOf = (lines: string | undefined, fontSize: number): string | undefined => {
  if (lines === undefined || holdsMark(lines) || /^(?:inherit|initial)$/.test(lines)) return undefined;
  if (lines === 'normal') return 'normal';
  const share = /^(\d+(?:\.\d+)?)%$/.exec(lines);
  if (share !== null) return `${Math.round((Number(share[1]) / 100) * 1_000) / 1_000}`;
  if (/^\d*\.?\d+$/.test(lines)) return String(Math.round(Number(lines) * 1_000) / 1_000);
  const size = px(lines, fontSize);
  return size > 0 ? `${rounded(size)}px` : undefined;
};

/** The look of most of the text. */
export const commonLook = (nodes: readonly Node[], start: Look): Look => {
  const weights = new Map<string, { look: Look; weight: number }>();
  const walk = (all: readonly Node[], look: Look): void =>
    all.forEach((node) => {
      if (node.kind === 'element') {
        if (!isHidden(node)) walk(node.children, lookIn(node, look));
      } else if (node.kind === 'block') {
        walk(node.body, look);
        walk(node.other, look);
      } else {
        const weight = node.kind === 'text' ? node.text.trim().length : 10;
        const key = [look.fontFamily, look.fontSize, look.lineHeight, look.color].join('|');
        const known = weights.get(key) ?? { look, weight: 0 };
        weights.set(key, { look: known.look, weight: known.weight + weight });
      }
    });
  walk(nodes, start);
  const [most] = [...weights.values()].sort((a, b) => b.weight - a.weight);
  return most === undefined
    ? start
    : { ...most.look, align: 'left', boxes: 'left', letters: new Map(), background: undefined };
};

export const propsOfLook = (look: Look): JsonObject => {
  const family = cssFontFamily(look.fontFamily);
  const lines = cssLineHeight(look.lineHeight === 'normal' ? NORMAL_LINES : look.lineHeight) ?? NORMAL_LINES;
  return {
    color: cssColor(look.color) ?? '#000000',
    ...(family === undefined ? {} : { fontFamily: family }),
    fontSize: rounded(look.fontSize),
    lineHeight: /^\d(\.\d+)?$/.test(lines) ? Number(lines) : lines,
  };
};

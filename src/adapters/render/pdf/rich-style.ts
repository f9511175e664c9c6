/** How the elements and styles of rich text change the text inside them. */
import { safeLink } from '../../../domain/rendering/addresses.js';
import { textDirections, type TextDirection } from '../../../domain/rendering/direction.js';
import type { HorizontalAlign } from '../../../domain/rendering/expand/expanded.js';
import { treeText, type TreeElement } from '../rich-tree.js';
import { pdfColor } from '../colors.js';
import { boundedSize, colorsOn, inDirection, startOf, type Context } from './context.js';
import type { Run } from './nodes.js';

/** The look of text at one place of the tree. */
export type Inline = Readonly<{
  fontSize: number;
  color: string;
  bold: boolean;
  italic: boolean;
  underline: boolean;
  strike: boolean;
  background: string | undefined;
  link: string | undefined;
  shift: 'sup' | 'sub' | undefined;
  /** White space stays as it is. */
  preserve: boolean;
  transform: 'uppercase' | 'lowercase' | 'capitalize' | undefined;
  letterSpacing: number;
  /** The family that is tried first. */
  family: string | undefined;
}>;

export const inlineOf = ({ fontSize, color, family }: Context): Inline => ({
  fontSize,
  color,
  family,
  bold: false,
  italic: false,
  underline: false,
  strike: false,
  background: undefined,
  link: undefined,
  shift: undefined,
  preserve: false,
  transform: undefined,
  letterSpacing: 0,
});

/** A run with only what differs from the block it stands in. */
export const runOf = (text: string, inline: Inline, context: Context): Run => {
  const { fontSize, color, locale } = context;
  const size = boundedSize(inline.fontSize, context);
  const decoration = [
    ...(inline.underline ? ['underline' as const] : []),
    ...(inline.strike ? ['lineThrough' as const] : []),
  ];
  return {
    text: transformed(text, inline.transform, locale),
    ...(size === fontSize ? {} : { fontSize: size }),
    ...(inline.color === color ? {} : { color: inline.color }),
    ...(inline.bold ? { bold: true } : {}),
    ...(inline.italic ? { italics: true } : {}),
    ...(decoration.length === 0 ? {} : { decoration }),
    ...(inline.background === undefined ? {} : { background: inline.background }),
    ...(inline.link === undefined ? {} : { link: inline.link }),
    ...(inline.shift === undefined ? {} : { [inline.shift]: true }),
    ...(inline.preserve ? { preserveLeadingSpaces: true, preserveTrailingSpaces: true } : {}),
    ...(inline.family === undefined ? {} : { family: inline.family }),
    ...(inline.letterSpacing === 0 ? {} : { characterSpacing: inline.letterSpacing }),
  };
};

const transformed = (text: string, transform: Inline['transform'], locale: string): string => {
  switch (transform) {
    case undefined:
      return text;
    case 'uppercase':
      return text.toLocaleUpperCase(locale);
    case 'lowercase':
      return text.toLocaleLowerCase(locale);
    case 'capitalize':
      return text.replace(
        /(^|\s)(\p{L})/gu,
        (_, before: string, letter: string) => before + letter.toLocaleUpperCase(locale),
      );
  }
};

const MARK_COLOR = '#fef08a';
const CODE_COLOR = '#f3f4f6';

/** In: an element, and the look around it. Out: the look inside it. */
export const inlineStyle = (node: TreeElement, outer: Inline, context: Context): Inline => {
  if (node.attributes['style'] === undefined && !STYLED.has(node.tag)) return outer;
  return declared(node, ofTag(node, outer, context), context);
};

const STYLED = new Set([
  'a',
  'b',
  'strong',
  'i',
  'em',
  'var',
  'address',
  'u',
  'ins',
  's',
  'strike',
  'del',
  'sup',
  'sub',
  'small',
  'mark',
  'code',
  'kbd',
  'th',
  'font',
]);

const ofTag = ({ tag, attributes }: TreeElement, outer: Inline, context: Context): Inline => {
  switch (tag) {
    case 'b':
    case 'strong':
    case 'th':
      return { ...outer, bold: true };
    case 'i':
    case 'em':
    case 'var':
    case 'address':
      return { ...outer, italic: true };
    case 'u':
    case 'ins':
      return { ...outer, underline: true };
    case 's':
    case 'strike':
    case 'del':
      return { ...outer, strike: true };
    case 'sup':
    case 'sub':
      return { ...outer, shift: tag };
    case 'small':
      return { ...outer, fontSize: outer.fontSize * 0.85 };
    case 'mark':
      return onBackground(MARK_COLOR, outer, context);
    case 'code':
    case 'kbd':
      return {
        ...(outer.preserve ? outer : onBackground(CODE_COLOR, outer, context)),
        fontSize: outer.fontSize * 0.92,
      };
    case 'a':
      return linked(attributes['href'], outer, context);
    default:
      return outer;
  }
};

const linked = (href: string | undefined, outer: Inline, context: Context): Inline => {
  const link = documentLink(href, context);
  if (link === undefined) return outer;
  const { linkColor: color } = colorsOn(
    outer.background === undefined ? {} : { backgroundColor: outer.background },
    context,
  );
  return { ...outer, link, underline: true, color };
};

/**
 * A link that a reader of PDF may open: http, https, mailto, tel or sms; or `#` and the name of a place in the
 * document.
 */
export const documentLink = (href: string | undefined, { linked }: Pick<Context, 'linked'>): string | undefined => {
  const safe = href === undefined ? undefined : safeLink(href);
  if (safe?.startsWith('#') === true) linked.add(safe.slice(1));
  // A PDF holds addresses in ASCII (PDF 1.7, 12.6.4.7).
  return safe === undefined || safe.startsWith('#') ? safe : safe.replace(/[^\x21-\x7e]/gu, encodeURIComponent);
};

/** The look on a background, where nobody names a colour on it. */
export const onBackground = (background: string | undefined, inline: Inline, { linkColor }: Context): Inline => {
  if (background === undefined) return { ...inline, background };
  return {
    ...inline,
    background,
    color: colorsOn({ backgroundColor: background }, { color: inline.color, linkColor }).color,
  };
};

/** True where an element says which colour its text has. */
export const namesColor = ({ style }: TreeElement): boolean =>
  pdfColor(style.get('color')?.toLowerCase()) !== undefined;

const declared = (element: TreeElement, outer: Inline, context: Context): Inline => {
  const { style, tag } = element;
  const family = style.get('font-family');
  let inline = family === undefined ? outer : { ...outer, family: context.fonts.familyOf(family) ?? outer.family };
  for (const [property, value] of style) inline = declaration(property, value.toLowerCase(), inline, outer);
  // The marks of a list stand beside the background of its items.
  const isOn = inline.background !== outer.background && tag !== 'ul' && tag !== 'ol' && !namesColor(element);
  return isOn ? onBackground(inline.background, inline, context) : inline;
};

const declaration = (property: string, value: string, inline: Inline, outer: Inline): Inline => {
  switch (property) {
    case 'color':
      return { ...inline, color: pdfColor(value) ?? inline.color };
    case 'background':
    case 'background-color':
      return { ...inline, background: pdfColor(value) };
    case 'font-size':
      return { ...inline, fontSize: fontSizeOf(value, outer.fontSize) ?? inline.fontSize };
    case 'font-weight':
      return {
        ...inline,
        bold: /^(bold|bolder|[6-9]00)$/.test(value)
          ? true
          : /^(normal|lighter|[1-5]00)$/.test(value)
            ? false
            : inline.bold,
      };
    case 'font-style':
      return { ...inline, italic: /^(italic|oblique)/.test(value) ? true : value === 'normal' ? false : inline.italic };
    case 'text-decoration':
    case 'text-decoration-line':
      return value.startsWith('none')
        ? { ...inline, underline: false, strike: false }
        : {
            ...inline,
            underline: inline.underline || value.includes('underline'),
            strike: inline.strike || value.includes('line-through'),
          };
    case 'vertical-align':
      return value === 'super' ? { ...inline, shift: 'sup' } : value === 'sub' ? { ...inline, shift: 'sub' } : inline;
    case 'white-space':
      return { ...inline, preserve: value.startsWith('pre') };
    case 'text-transform':
      return {
        ...inline,
        transform: value === 'uppercase' || value === 'lowercase' || value === 'capitalize' ? value : undefined,
      };
    case 'letter-spacing':
      return {
        ...inline,
        letterSpacing: value === 'normal' ? 0 : Math.min(Math.max(lengthOf(value, inline.fontSize, 0) ?? 0, -2), 20),
      };
    default:
      return inline;
  }
};

const namedSizes: Readonly<Record<string, number>> = {
  'xx-small': 6.75,
  'x-small': 7.5,
  small: 9.75,
  medium: 12,
  large: 13.5,
  'x-large': 18,
  'xx-large': 24,
};
const FONT_SIZE_MIN_PT = 3;
const FONT_SIZE_MAX_PT = 300;

const fontSizeOf = (value: string, around: number): number | undefined => {
  const size = Object.hasOwn(namedSizes, value)
    ? namedSizes[value]
    : value === 'smaller'
      ? around * 0.85
      : value === 'larger'
        ? around * 1.2
        : lengthOf(value, around, around);
  return size === undefined || size <= 0 ? undefined : Math.min(Math.max(size, FONT_SIZE_MIN_PT), FONT_SIZE_MAX_PT);
};

/**
 * In: a length of CSS; a number without a unit is pixels, as in an attribute. Out: points; `whole` is what 100 % are.
 */
export const lengthOf = (value: string | undefined, fontSize: number, whole: number): number | undefined => {
  const match = /^(-?\d{1,5}(?:\.\d{1,4})?|-?\.\d{1,4})(px|pt|em|rem|%|mm|cm|in|ex|ch)?$/.exec(
    value?.trim().toLowerCase() ?? '',
  );
  if (match === null) return undefined;
  const number = Number(match[1]);
  switch (match[2]) {
    case 'pt':
      return number;
    case 'em':
      return number * fontSize;
    case 'rem':
      return number * 12;
    case 'ex':
    case 'ch':
      return number * fontSize * 0.5;
    case '%':
      return (number / 100) * whole;
    case 'mm':
      return (number * 72) / 25.4;
    case 'cm':
      return (number * 720) / 25.4;
    case 'in':
      return number * 72;
    case 'px':
    case undefined:
    default:
      return number * 0.75;
  }
};

/** Editors indent by a margin or a padding where lines begin; never more than half of the room. */
export const indentOf = ({ tag, style }: TreeElement, context: Context): number => {
  if (tag === 'table' || tag === 'img' || tag === 'ul' || tag === 'ol') return 0;
  const { fontSize, width } = context;
  const side = startOf(context);
  const room = ['margin', 'padding'].reduce(
    (sum, kind) => sum + (lengthOf(style.get(`${kind}-${side}`), fontSize, width) ?? 0),
    0,
  );
  return Math.min(Math.max(room, 0), width / 2);
};

const ALIGNMENTS: readonly HorizontalAlign[] = ['start', 'end', 'left', 'center', 'right', 'justify'];

/** How an element aligns its text, where it says so. */
export const alignOf = (element: TreeElement): HorizontalAlign | undefined => {
  const { tag, attributes, style } = element;
  const word = tag === 'center' ? 'center' : (style.get('text-align') ?? attributes['align'])?.toLowerCase();
  if (word === undefined && directionOf(element) !== undefined) return 'start';
  return ALIGNMENTS.find((alignment) => alignment === word);
};

const directionOf = ({ attributes, style }: TreeElement): TextDirection | undefined => {
  const word = (attributes['dir'] ?? style.get('direction'))?.toLowerCase();
  return textDirections.find((direction) => direction === word);
};

/** The context in the direction that an element names for itself. */
export const directedBy = (element: TreeElement, context: Context): Context => {
  const direction = directionOf(element);
  return direction === undefined ? context : inDirection(direction, treeText([element]), context);
};

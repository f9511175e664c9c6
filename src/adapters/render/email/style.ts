/**
 * Turns props into the declarations of `style` attributes: literals are settled when the template is compiled, values
 * are judged when it is rendered.
 */
import type { Json, JsonObject } from '../../../domain/core/json.js';
import { sideOf } from '../../../domain/rendering/direction.js';
import { cssBorder, cssBox, cssColor, cssFontFamily, cssLength, cssLineHeight } from '../../../domain/rendering/css.js';
import { hasPlaceholder } from '../../../domain/rendering/fill/templated-text.js';
import { DARK, js, literalOf, quote, type Code, type Js, type Term } from './code.js';
import { type Context, type Typography, plainOf, templated } from './values.js';
import { escapeHtml } from './escape.js';
import { isTranslucent } from '../colors.js';
import {
  classesOf,
  lineColorOf,
  opaqueOn,
  readableOn,
  stripeOn,
  surfaceOn,
  type ColorRole,
  type Surface,
} from './dark-colors.js';

type CssKind = 'color' | 'length' | 'box' | 'border' | 'fontFamily' | 'lineHeight';

const literals: Readonly<Record<CssKind, (value: unknown) => string | undefined>> = {
  color: cssColor,
  length: cssLength,
  box: cssBox,
  border: cssBorder,
  fontFamily: cssFontFamily,
  lineHeight: cssLineHeight,
};
const helpers: Readonly<Record<CssKind, string>> = {
  color: 'COLOR',
  length: 'LENGTH',
  box: 'BOX',
  border: 'BORDER',
  fontFamily: 'FONT',
  lineHeight: 'LINE',
};

/** The CSS of a prop: a literal, or an expression that gives `fallback` where the value is not of the kind. */
export const css = (kind: CssKind, value: Json | undefined, fallback: Term, context: Context): Term => {
  if (typeof value === 'string' && hasPlaceholder(value)) {
    return js(
      context.code.remember(
        `${helpers[kind]}(${plainOf(templated(value, context), context)},${expressionOf(fallback)})`,
      ),
    );
  }
  return (value === undefined ? undefined : literals[kind](value)) ?? fallback;
};

/** A word out of a few; `fallback` where a value brings another. */
export const word = (value: Json | undefined, words: readonly string[], fallback: string, context: Context): Term => {
  if (typeof value === 'string' && hasPlaceholder(value)) {
    return js(
      context.code.remember(
        `ONE_OF(${plainOf(templated(value, context), context)},${JSON.stringify(words)},${quote(fallback)})`,
      ),
    );
  }
  return typeof value === 'string' && words.includes(value) ? value : fallback;
};

const SIDES = ['left', 'center', 'right'];

/** A word for a side, never start or end: some clients know only left and right. */
export const side = (value: Json | undefined, fallback: string, context: Context): Term => {
  if (value === 'start' || value === 'end') return sideOf(value, context.direction);
  const found = word(value, [...SIDES, 'start', 'end'], fallback, context);
  return typeof found === 'string' ? found : js(context.code.remember(`SIDE(${found.js},${quote(context.direction)})`));
};

export const aligned = (props: JsonObject, fallback: Term, context: Context): Term =>
  props['align'] === undefined ? fallback : side(props['align'], literalOf([fallback]) ?? startOf(context), context);

/** The side where lines begin. */
export const startOf = ({ direction }: Pick<Context, 'direction'>): 'left' | 'right' =>
  direction === 'rtl' ? 'right' : 'left';
export const endOf = ({ direction }: Pick<Context, 'direction'>): 'left' | 'right' =>
  direction === 'rtl' ? 'left' : 'right';

/** `0 0 0 24px`: room on one side only, the start or the end. */
export const boxAt = (where: 'left' | 'right', room: string, below = '0'): string =>
  where === 'right' ? `0 ${room} ${below} 0` : `0 0 ${below} ${room}`;

/** The colours of text and links where the template names none. */
export const TEXT_COLOR = '#1f2937';
export const LINK_COLOR = '#2563eb';
/** For links on tinted backgrounds. */
const LINK_SHADES = ['#1d4ed8', '#1e40af'];
const LEAST_NAMED = 3;

/** A colour of a prop as it is seen on what is behind it, which is opaque. */
export const color = (value: Json | undefined, fallback: Term, context: Context): Term =>
  opaque(css('color', value, fallback, context), context);

/** A colour as it is seen on what is behind it. */
export const opaque = (shown: Term, { surface, code }: Context): Term =>
  typeof shown === 'string' && (!('js' in surface) || !isTranslucent(shown))
    ? 'js' in surface
      ? shown
      : opaqueOn(surface, shown)
    : js(code.remember(`OPAQUE(${surfaceJs(surface, code)},${expressionOf(shown)})`));

const expressionOf = (term: Term): string => (typeof term === 'string' ? quote(term) : term.js);

const surfaceJs = (surface: Surface | Js, code: Code): string =>
  'js' in surface ? surface.js : code.constant(JSON.stringify(surface));

/** The class of a colour's dark twin, '' where the colour stays as it is. */
export const colorClass = (role: ColorRole, shown: Term, { surface, dark, code }: Context): Term =>
  typeof shown === 'string' && !('js' in surface)
    ? dark.classOf(role, shown, surface)
    : js(code.remember(`${DARK}.classOf(${quote(role)},${expressionOf(shown)},${surfaceJs(surface, code)})`));

/** `colorClass` for the lines of a border. */
export const borderClass = (border: Term, context: Context, role: 'line' | 'cells' = 'line'): Term => {
  if (border === 'none') return '';
  return colorClass(role, typeof border === 'string' ? lineColorOf(border) : js(`LINE_COLOR(${border.js})`), context);
};

/** ` class="a b"`, or '' where there is none. */
export const classAttribute = (...names: readonly Term[]): Term => {
  const some = names.filter((name) => name !== '');
  const literals = some.filter((name) => typeof name === 'string');
  if (literals.length === some.length) return classesOf(...literals);
  return js(`CLASS(${some.map(expressionOf).join(',')})`);
};

/** The surface that a background makes of what is behind it. */
export const surfaceOf = (
  background: Term,
  { surface, code }: Context,
  role: 'page' | 'surface' | 'stripe' | 'fixed' = 'surface',
): Surface | Js =>
  typeof background === 'string' && !('js' in surface)
    ? surfaceOn(surface, background, role)
    : js(code.remember(`SURFACE(${surfaceJs(surface, code)},${expressionOf(background)},${quote(role)})`));

/**
 * The first of the colours that can be read in the context, else another that can; the first needs only the contrast
 * `least`.
 */
export const readable = (colors: readonly Term[], { surface, code }: Context, least?: number): Term =>
  !('js' in surface) && colors.every((one) => typeof one === 'string')
    ? readableOn(surface, colors, least)
    : js(
        code.remember(
          `READABLE(${surfaceJs(surface, code)},[${colors.map(expressionOf).join(',')}]${least === undefined ? '' : `,${least}`})`,
        ),
      );

/** The background of every other row of a table with that text. */
export const stripe = (text: Term, { surface, code }: Context): Term =>
  typeof text === 'string' && !('js' in surface)
    ? stripeOn(surface, text)
    : js(code.remember(`STRIPE(${surfaceJs(surface, code)},${expressionOf(text)})`));

/**
 * The context on a background. Text has its own colour; else the colour of the surroundings, if it can be read, else
 * another.
 */
export const onBackground = (
  background: Term,
  own: Json | undefined,
  context: Context,
  leastNamed = LEAST_NAMED,
): Context =>
  withColor(
    own,
    background === 'transparent' ? context : onSurface(surfaceOf(background, context), context, leastNamed),
  );

/** The context on a surface, in colours that can be read there. */
export const onSurface = (surface: Surface | Js, outer: Context, leastNamed = LEAST_NAMED): Context => {
  const context = { ...outer, surface };
  const { color: text, linkColor: link } = outer.type.around;
  const color = readable([text.term], context, text.isNamed ? leastNamed : undefined);
  const linkColor = link.isNamed
    ? readable([link.term, color], context, leastNamed)
    : readable([link.term, ...LINK_SHADES, color], context);
  return { ...context, type: { ...outer.type, color, linkColor } };
};

const withColor = (own: Json | undefined, context: Context): Context =>
  own === undefined ? context : { ...context, type: inColor(color(own, context.type.color, context), context) };

/** The typography with a colour that the template names for text, or for links. */
export const inColor = (color: Term, { type }: Context): Typography => ({
  ...type,
  color,
  around: { ...type.around, color: { term: color, isNamed: true } },
});
export const inLinkColor = (linkColor: Term, { type }: Context): Typography => ({
  ...type,
  linkColor,
  around: { ...type.around, linkColor: { term: linkColor, isNamed: true } },
});

/** The typography of a block: what its props say, else what surrounds it. */
export const typographyOf = (props: JsonObject, context: Context): Typography => {
  const { type } = context;
  const pick = (kind: CssKind, name: string, inherited: Term): Term =>
    props[name] === undefined ? inherited : css(kind, props[name], inherited, context);
  return {
    ...withColor(props['color'], context).type,
    fontFamily: pick('fontFamily', 'fontFamily', type.fontFamily),
    fontSize: pick('length', 'fontSize', type.fontSize),
    lineHeight: pick('lineHeight', 'lineHeight', type.lineHeight),
    align: aligned(props, type.align, context),
  };
};

/**
 * `font-family:…;font-size:…;line-height:…;color:…`, on every cell or every table of data anew: Outlook inherits none
 * of it into tables.
 */
export const textDeclarations = (type: Typography): readonly Term[] => [
  'font-family:',
  type.fontFamily,
  ';font-size:',
  type.fontSize,
  ';line-height:',
  type.lineHeight,
  ';color:',
  type.color,
];

/** Left and right padding in pixels of a box that is a literal; 0 where it is not. */
export const horizontalPx = (padding: Term): number => {
  if (typeof padding !== 'string') return 0;
  const sides = padding.split(' ').map((side) => (/^[\d.]+(?:px)?$/.test(side) ? parseFloat(side) : 0));
  const right = sides[1] ?? sides[0] ?? 0;
  return right + (sides[3] ?? right);
};

/** A CSS length as the number that the `width` and `height` attributes take; undefined where it is not in pixels. */
export const attributePx = (length: Term): Term | undefined => {
  if (typeof length !== 'string') return js(`PX(${length.js})`);
  const match = /^([\d.]+)px$/.exec(length);
  return match === null ? undefined : String(Math.round(Number(match[1])));
};

/** For fonts, whose names hold quotes. */
export const attributeSafe = (term: Term): Term =>
  typeof term === 'string' ? escapeHtml(term).replaceAll('&#39;', "'") : term;

/** ` dir="rtl"` where columns run from the right. */
export const dirAttribute = ({ direction }: Pick<Context, 'direction'>): string =>
  direction === 'rtl' ? ' dir="rtl"' : '';

/** The beginning of a table that holds rows; more attributes may follow. */
export const tableTag = (context: Pick<Context, 'direction'>, width = '100%'): string =>
  `<table role="presentation"${dirAttribute(context)} width="${width}" cellpadding="0" cellspacing="0" border="0"`;

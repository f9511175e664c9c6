/** Turns props into the declarations of `style` attributes: literals are settled when the template is compiled, values are judged when it is rendered. */
import type { Json, JsonObject } from '../../../domain/core/json.js';
import { sideOf } from '../../../domain/rendering/direction.js';
import { cssBorder, cssBox, cssColor, cssFontFamily, cssLength, cssLineHeight } from '../../../domain/rendering/css.js';
import { hasPlaceholder } from '../../../domain/rendering/fill/templated-text.js';
import { js, literalOf, quote, type Term } from './code.js';
import { type Context, type Typography, plainOf, templated } from './values.js';
import { escapeHtml } from './escape.js';
import { isDark } from '../colors.js';
import type { ColorRole } from './dark-colors.js';

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
export const css = (kind: CssKind, value: Json | undefined, fallback: string, context: Context): Term => {
  if (typeof value === 'string' && hasPlaceholder(value)) {
    return js(context.code.remember(`${helpers[kind]}(${plainOf(templated(value, context), context)},${quote(fallback)})`));
  }
  return (value === undefined ? undefined : literals[kind](value)) ?? fallback;
};

/** A word out of a few; `fallback` where a value brings another. */
export const word = (value: Json | undefined, words: readonly string[], fallback: string, context: Context): Term => {
  if (typeof value === 'string' && hasPlaceholder(value)) {
    return js(context.code.remember(`ONE_OF(${plainOf(templated(value, context), context)},${JSON.stringify(words)},${quote(fallback)})`));
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
export const startOf = ({ direction }: Pick<Context, 'direction'>): 'left' | 'right' => (direction === 'rtl' ? 'right' : 'left');
export const endOf = ({ direction }: Pick<Context, 'direction'>): 'left' | 'right' => (direction === 'rtl' ? 'left' : 'right');

/** `0 0 0 24px`: room on one side only, the start or the end. */
export const boxAt = (where: 'left' | 'right', room: string, below = '0'): string =>
  where === 'right' ? `0 ${room} ${below} 0` : `0 0 ${below} ${room}`;

/** A colour with the class of its dark twin; values and surfaces that do not flip have none. */
export const colorClass = (role: ColorRole, color: Term, context: Context): string =>
  typeof color === 'string' && (context.flips || role === 'page') ? context.dark.classOf(role, color) : '';

/** ` class="a b"`, or '' where there is none. */
export const classAttribute = (...names: readonly string[]): string => {
  const some = names.filter((name) => name !== '');
  return some.length === 0 ? '' : ` class="${some.join(' ')}"`;
};

/** The context on a background: text on a dark one is white unless said otherwise, and a background without a dark twin keeps its text in dark mode too. */
export const onBackground = (background: Term, own: Json | undefined, context: Context): Context => {
  if (background === 'transparent') return withColor(own, context);
  const flips = typeof background === 'string' && context.dark.classOf('surface', background) !== '';
  const dark = typeof background === 'string' && isDark(background);
  const inherited = typeof background === 'string' && dark ? '#ffffff' : (literalOf([context.type.color]) ?? '#1f2937');
  const base: Context = dark
    ? { ...context, flips, type: { ...context.type, color: inherited, linkColor: inherited } }
    : { ...context, flips };
  return withColor(own, base);
};

const withColor = (own: Json | undefined, context: Context): Context =>
  own === undefined
    ? context
    : { ...context, type: { ...context.type, color: css('color', own, literalOf([context.type.color]) ?? '#1f2937', context) } };

/** The typography of a block: what its props say, else what surrounds it. */
export const typographyOf = (props: JsonObject, context: Context): Typography => {
  const { type } = context;
  const pick = (kind: CssKind, name: string, inherited: Term): Term =>
    props[name] === undefined ? inherited : css(kind, props[name], literalOf([inherited]) ?? '', context);
  return {
    color: pick('color', 'color', type.color),
    linkColor: type.linkColor,
    fontFamily: pick('fontFamily', 'fontFamily', type.fontFamily),
    fontSize: pick('length', 'fontSize', type.fontSize),
    lineHeight: pick('lineHeight', 'lineHeight', type.lineHeight),
    align: aligned(props, type.align, context),
  };
};

/** `font-family:…;font-size:…;line-height:…;color:…`, on every cell or every table of data anew: Outlook inherits none of it into tables. */
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
export const attributeSafe = (term: Term): Term => (typeof term === 'string' ? escapeHtml(term).replaceAll('&#39;', "'") : term);

/** ` dir="rtl"` where columns run from the right. */
export const dirAttribute = ({ direction }: Pick<Context, 'direction'>): string => (direction === 'rtl' ? ' dir="rtl"' : '');

/** The beginning of a table that holds rows; more attributes may follow. */
export const tableTag = (context: Pick<Context, 'direction'>, width = '100%'): string =>
  `<table role="presentation"${dirAttribute(context)} width="${width}" cellpadding="0" cellspacing="0" border="0"`;

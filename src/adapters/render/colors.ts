/** Colours for every output, read from what `cssColor` has let through. */
import { luminanceOf } from '../../domain/rendering/contrast.js';
import { colorNames, cssColor } from '../../domain/rendering/css.js';

type Triple = readonly [number, number, number];
/** Red, green, blue from 0 to 1. */
export type Rgb = Triple;
/** Hue in degrees, saturation and lightness from 0 to 1. */
export type Hsl = Triple;

/**
 * In: a colour as CSS writes it. Out: `#rrggbb` for a PDF; undefined for a wholly transparent one and what is no
 * colour.
 */
export const pdfColor = (css: string | undefined): string | undefined => {
  const hex = hexOnWhite(css);
  return hex === undefined ? undefined : `#${hex}`;
};

/**
 * In: a colour as CSS writes it. Out: `RRGGBB` for a chart of a workbook; undefined for a wholly transparent one and
 * what is no colour.
 */
export const rgbHex = (css: string | undefined): string | undefined => hexOnWhite(css)?.toUpperCase();

/** `rgbHex` with the opaque alpha that a cell of a workbook wants: `FFRRGGBB`. */
export const argb = (css: string | undefined): string | undefined => {
  const rgb = rgbHex(css);
  return rgb === undefined ? undefined : `FF${rgb}`;
};

/**
 * Matches colours for which a mail has a dark twin: whole channels or HSL, without an alpha. Other colours are the same
 * in dark mode.
 */
const OPAQUE =
  /^(?:#[0-9a-f]{3}(?:[0-9a-f]{3})?|[a-z]+|rgba?\(\s*\d{1,3}\s*[,\s]\s*\d{1,3}\s*[,\s]\s*\d{1,3}\s*\)|hsla?\(\s*[\d.]+(?:deg)?\s*[,\s]\s*[\d.]+%\s*[,\s]\s*[\d.]+%\s*\))$/;

/** In: a colour as `cssColor` gives it. Out: its channels; undefined where it is transparent in part or whole. */
export const rgbOf = (css: string): Rgb | undefined => {
  const rgba = OPAQUE.test(css) ? rgbaOf(css) : undefined;
  return rgba === undefined
    ? undefined
    : [Math.round(rgba[0]) / 255, Math.round(rgba[1]) / 255, Math.round(rgba[2]) / 255];
};

/** True for a background on which dark text cannot be read. */
export const isDark = (css: string): boolean => {
  const rgb = rgbOf(css);
  if (rgb === undefined) return false;
  return luminanceOf(rgb) < 0.36;
};

/** True for a colour of letters that only a dark background can be behind. */
export const isPale = (css: string): boolean => {
  const rgb = rgbOf(css);
  return rgb !== undefined && luminanceOf(rgb) > 0.6;
};

/** Contrast of two opaque colours, 1 to 21 (WCAG 2.2); 1 for what is no colour. */
export const contrastOf = (one: string, other: string): number => {
  const [a, b] = [rgbOf(one), rgbOf(other)];
  if (a === undefined || b === undefined) return 1;
  const [first, second] = [luminanceOf(a) + 0.05, luminanceOf(b) + 0.05];
  return Math.max(first, second) / Math.min(first, second);
};

/**
 * In: a colour as `cssColor` gives it, and the opaque colour behind it. Out: the colour that is seen, `#rrggbb`;
 * undefined where nothing is seen.
 */
export const seenOn = (css: string, behind: string): string | undefined => {
  const [rgba, under] = [rgbaOf(css), rgbaOf(behind)];
  if (rgba === undefined || under === undefined || rgba[3] === 0) return undefined;
  const [red, green, blue, alpha] = rgba;
  const mixed = (over: number, below: number): number => over * alpha + below * (1 - alpha);
  return `#${hexOf([mixed(red, under[0]), mixed(green, under[1]), mixed(blue, under[2])])}`;
};

/** True where what is behind the colour shines through in part. */
export const isTranslucent = (css: string): boolean => {
  const alpha = rgbaOf(css)?.[3] ?? 1;
  return alpha > 0 && alpha < 1;
};

export const hslOf = ([r, g, b]: Rgb): Hsl => {
  const [max, min] = [Math.max(r, g, b), Math.min(r, g, b)];
  const lightness = (max + min) / 2;
  const spread = max - min;
  if (spread === 0) return [0, 0, lightness];
  const saturation = spread / (1 - Math.abs(2 * lightness - 1));
  const hue = max === r ? ((g - b) / spread + 6) % 6 : max === g ? (b - r) / spread + 2 : (r - g) / spread + 4;
  return [hue * 60, saturation, lightness];
};

/** `#rrggbb` */
export const hexOfHsl = (hsl: Hsl): string => `#${hexOf(fromHsl(hsl))}`;

/** Paper and sheets are white and know no transparency: a colour with alpha is drawn as it looks on white. */
const hexOnWhite = (css: string | undefined): string | undefined => {
  const known = css === undefined ? undefined : cssColor(css);
  const rgba = known === undefined ? undefined : rgbaOf(known);
  if (rgba === undefined || rgba[3] === 0) return undefined;
  const [red, green, blue, alpha] = rgba;
  const onWhite = (channel: number): number => channel * alpha + 255 * (1 - alpha);
  return hexOf([onWhite(red), onWhite(green), onWhite(blue)]);
};

/** Channels from 0 to 255, which need not be whole. */
const hexOf = (channels: Triple): string =>
  channels.map((channel) => Math.round(channel).toString(16).padStart(2, '0')).join('');

/** Channels from 0 to 255, alpha from 0 to 1. */
type Rgba = readonly [red: number, green: number, blue: number, alpha: number];

const rgbaOf = (css: string): Rgba | undefined => {
  const digits = colorNames.get(css) ?? (css.startsWith('#') ? css.slice(1) : undefined);
  if (digits !== undefined) return rgbaOfDigits(digits);
  const [a, b, c, opacity] = css.match(/-?[\d.]+(?:%|deg)?/g) ?? [];
  if (a === undefined || b === undefined || c === undefined) return undefined;
  const alpha = opacity === undefined ? 1 : shareOf(opacity, 1);
  if (css.startsWith('rgb')) return [255 * shareOf(a, 255), 255 * shareOf(b, 255), 255 * shareOf(c, 255), alpha];
  return [...fromHsl([parseFloat(a), shareOf(b, 100), shareOf(c, 100)]), alpha];
};

const rgbaOfDigits = (digits: string): Rgba => {
  const long = digits.length <= 4 ? digits.replace(/./g, '$&$&') : digits;
  const [red = 0, green = 0, blue = 0, alpha = 255] = (long.match(/../g) ?? []).map((pair) => parseInt(pair, 16));
  return [red, green, blue, alpha / 255];
};

/** A percentage, or a number out of `most`, between 0 and 1. */
const shareOf = (text: string, most: number): number =>
  Math.min(1, Math.max(0, parseFloat(text) / (text.endsWith('%') ? 100 : most)));

const fromHsl = ([hue, saturation, lightness]: Hsl): Triple => {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const channel = (n: number): number => {
    const k = (((n + hue / 30) % 12) + 12) % 12;
    return 255 * (lightness - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return [channel(0), channel(8), channel(4)];
};

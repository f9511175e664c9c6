/** Colours as a workbook writes them: eight hex digits, opaque. */
import { colorNames } from '../../../domain/rendering/color-names.js';
import { cssColor } from '../../../domain/rendering/css.js';

type Rgba = readonly [red: number, green: number, blue: number, alpha: number];

/**
 * In: a colour as CSS writes it. Out: `FFRRGGBB`; undefined where it is no colour or wholly transparent. A sheet knows no
 * transparency: what shines through is taken for white.
 */
export const argb = (css: string | undefined): string | undefined => {
  const rgb = rgbHex(css);
  return rgb === undefined ? undefined : `FF${rgb}`;
};

/** The same as six hex digits, `RRGGBB`. */
export const rgbHex = (css: string | undefined): string | undefined => {
  const color = cssColor(css);
  const rgba = color === undefined ? undefined : rgbaOf(color);
  if (rgba === undefined || rgba[3] === 0) return undefined;
  const [red, green, blue, alpha] = rgba;
  return [red, green, blue]
    .map((channel) =>
      Math.round(channel * alpha + 255 * (1 - alpha))
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')
    .toUpperCase();
};

const rgbaOf = (color: string): Rgba | undefined => {
  if (color === 'transparent') return undefined;
  const digits = colorNames.get(color) ?? (color.startsWith('#') ? color.slice(1) : undefined);
  if (digits !== undefined) {
    const long = digits.length <= 4 ? digits.replace(/./g, '$&$&') : digits;
    const [red = 0, green = 0, blue = 0, alpha = 255] = (long.match(/../g) ?? []).map((pair) => parseInt(pair, 16));
    return [red, green, blue, alpha / 255];
  }
  const [a = '0', b = '0', c = '0', opacity] = color.match(/-?[\d.]+(?:%|deg)?/g) ?? [];
  const alpha = opacity === undefined ? 1 : share(opacity, 1);
  if (color.startsWith('rgb')) return [share(a, 255) * 255, share(b, 255) * 255, share(c, 255) * 255, alpha];
  return [...fromHsl(parseFloat(a), share(b, 100), share(c, 100)), alpha];
};

/** A percentage or a number out of `whole`, between 0 and 1. */
const share = (text: string, whole: number): number => Math.min(1, Math.max(0, parseFloat(text) / (text.endsWith('%') ? 100 : whole)));

const fromHsl = (hue: number, saturation: number, lightness: number): readonly [number, number, number] => {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const channel = (n: number): number => {
    const k = (((n + hue / 30) % 12) + 12) % 12;
    return 255 * (lightness - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return [channel(0), channel(8), channel(4)];
};

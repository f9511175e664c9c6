/** Colours as a PDF takes them: red, green and blue in hex. */
import { colorNames } from '../../../domain/rendering/color-names.js';
import { cssColor } from '../../../domain/rendering/css.js';

type Rgba = readonly [red: number, green: number, blue: number, alpha: number];

/** In: a colour as CSS writes it. Out: `#rrggbb`, or undefined for no colour, a wholly transparent one and what is none. */
export const pdfColor = (css: string | undefined): string | undefined => {
  const known = css === undefined ? undefined : cssColor(css);
  const rgba = known === undefined ? undefined : rgbaOf(known);
  if (rgba === undefined || rgba[3] === 0) return undefined;
  const alpha = rgba[3];
  // Paper is white; a colour with alpha is drawn as it looks on it, for text and lines of pdfmake have no opacity of their own.
  const channel = (at: 0 | 1 | 2): string =>
    Math.round(rgba[at] * alpha + 255 * (1 - alpha))
      .toString(16)
      .padStart(2, '0');
  return `#${channel(0)}${channel(1)}${channel(2)}`;
};

const rgbaOf = (css: string): Rgba | undefined => {
  if (css === 'transparent') return undefined;
  const digits = colorNames.get(css) ?? (css.startsWith('#') ? css.slice(1) : undefined);
  if (digits !== undefined) {
    const long = digits.length <= 4 ? digits.replace(/./g, '$&$&') : digits;
    const [red, green, blue, alpha = 255] = (long.match(/../g) ?? []).map((pair) => parseInt(pair, 16));
    return red === undefined || green === undefined || blue === undefined ? undefined : [red, green, blue, alpha / 255];
  }
  const parts = css
    .slice(css.indexOf('(') + 1, -1)
    .split(/[\s,/]+/)
    .filter((part) => part !== '');
  const alpha = parts[3] === undefined ? 1 : clamp(share(parts[3], 1));
  return css.startsWith('rgb')
    ? [channelOf(parts[0]), channelOf(parts[1]), channelOf(parts[2]), alpha]
    : [...rgbOfHsl(parseFloat(parts[0] ?? '0'), clamp(share(parts[1] ?? '0', 100)), clamp(share(parts[2] ?? '0', 100))), alpha];
};

const clamp = (value: number): number => Math.min(Math.max(value, 0), 1);
const share = (text: string, whole: number): number => (text.endsWith('%') ? parseFloat(text) / 100 : parseFloat(text) / whole);
const channelOf = (text: string | undefined): number => 255 * clamp(share(text ?? '0', 255));

const rgbOfHsl = (hue: number, saturation: number, lightness: number): readonly [number, number, number] => {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const channel = (n: number): number => {
    const k = (((n + hue / 30) % 12) + 12) % 12;
    return 255 * (lightness - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return [channel(0), channel(8), channel(4)];
};

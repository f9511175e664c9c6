/** Every colour of a template has a twin for dark mode, worked out when the template is compiled: light surfaces become dark ones of the same hue, dark text light. */
import { colorNames } from '../../../domain/rendering/color-names.js';

export type ColorRole = 'page' | 'surface' | 'text' | 'line';

export type DarkColors = Readonly<{
  /** The class that gives the twin, as ` class="…"` wants it, or '' where the colour stays as it is. */
  classOf: (role: ColorRole, css: string) => string;
  /** The rules of all classes that were asked for. */
  rules: () => string;
}>;

const property: Readonly<Record<ColorRole, string>> = {
  page: 'background-color',
  surface: 'background-color',
  text: 'color',
  line: 'border-color',
};

export const createDarkColors = (): DarkColors => {
  const classes = new Map<string, { name: string; rule: string }>();
  return {
    classOf: (role, css) => {
      const twin = twinOf(role, css);
      if (twin === undefined) return '';
      const key = `${property[role]}:${twin}!important`;
      const known = classes.get(key) ?? { name: `${role.charAt(0)}${classes.size}`, rule: key };
      classes.set(key, known);
      return known.name;
    },
    rules: () => [...classes.values()].map(({ name, rule }) => `.${name}{${rule}}`).join(''),
  };
};

/** True for a background on which dark text cannot be read. */
export const isDark = (css: string): boolean => {
  const rgb = rgbOf(css);
  if (rgb === undefined) return false;
  return luminanceOf(rgb) < 0.36;
};

/** Relative luminance, 0 for black to 1 for white (WCAG 2.2). */
export const luminanceOf = (rgb: Rgb): number => {
  const [r, g, b] = rgb.map((channel) => (channel <= 0.03928 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4)) as [
    number,
    number,
    number,
  ];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};

const twinOf = (role: ColorRole, css: string): string | undefined => {
  const rgb = rgbOf(css);
  if (rgb === undefined) return undefined;
  const [hue, saturation, lightness] = hslOf(rgb);
  const dark = 1 - lightness;
  switch (role) {
    case 'page':
      return lightness < 0.8 ? undefined : hex(hue, Math.min(saturation, 0.15), 0.065 + dark * 0.3);
    // White gets a touch of blue: pure greys look brown beside the page.
    case 'surface':
      return lightness < 0.8
        ? undefined
        : hex(saturation === 0 ? 220 : hue, saturation === 0 ? 0.08 : Math.min(saturation, 0.22), 0.12 + dark * 1.3);
    case 'text':
      return lightness > 0.6 ? undefined : hex(hue, saturation * (saturation > 0.5 ? 1 : 0.6), Math.max(0.72, 0.98 - lightness * 0.5));
    case 'line':
      return lightness < 0.6 ? undefined : hex(hue, Math.min(saturation, 0.15), 0.22 + dark * 0.5);
  }
};

type Triple = readonly [number, number, number];
/** Red, green, blue from 0 to 1. */
export type Rgb = Triple;

/** In: a colour as cssColor gives it. Undefined where it is transparent in part or whole. */
export const rgbOf = (css: string): Rgb | undefined => {
  const named = colorNames.get(css);
  const digits = named ?? /^#([0-9a-f]{6})$/.exec(css)?.[1] ?? /^#([0-9a-f]{3})$/.exec(css)?.[1]?.replace(/./g, '$&$&');
  if (digits !== undefined) return [0, 2, 4].map((at) => parseInt(digits.slice(at, at + 2), 16) / 255) as [number, number, number];
  const channels = /^rgba?\(\s*(\d{1,3})\s*[,\s]\s*(\d{1,3})\s*[,\s]\s*(\d{1,3})\s*\)$/.exec(css);
  if (channels !== null) return [Number(channels[1]) / 255, Number(channels[2]) / 255, Number(channels[3]) / 255];
  const parts = /^hsla?\(\s*([\d.]+)(?:deg)?\s*[,\s]\s*([\d.]+)%\s*[,\s]\s*([\d.]+)%\s*\)$/.exec(css);
  return parts === null
    ? undefined
    : rgbOf(hex(Number(parts[1]), Math.min(Number(parts[2]) / 100, 1), Math.min(Number(parts[3]) / 100, 1)));
};

const hslOf = ([r, g, b]: Triple): Triple => {
  const [max, min] = [Math.max(r, g, b), Math.min(r, g, b)];
  const lightness = (max + min) / 2;
  const spread = max - min;
  if (spread === 0) return [0, 0, lightness];
  const saturation = spread / (1 - Math.abs(2 * lightness - 1));
  const hue = max === r ? ((g - b) / spread + 6) % 6 : max === g ? (b - r) / spread + 2 : (r - g) / spread + 4;
  return [hue * 60, saturation, lightness];
};

const hex = (hue: number, saturation: number, lightness: number): string => {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const channel = (n: number): string => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (lightness - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1))))
      .toString(16)
      .padStart(2, '0');
  };
  return `#${channel(0)}${channel(8)}${channel(4)}`;
};

/** Contrast of colours for readers (WCAG 2.2, sections 1.4.3 and 1.4.11). */

/** Red, green, blue from 0 to 1. */
export type Rgb = readonly [number, number, number];

/** Contrast at which letters of any size can be read. */
export const READABLE_CONTRAST = 4.5;

/** Relative luminance, 0 for black to 1 for white. */
export const luminanceOf = ([red, green, blue]: Rgb): number =>
  0.2126 * linearOf(red) + 0.7152 * linearOf(green) + 0.0722 * linearOf(blue);

const linearOf = (channel: number): number =>
  channel <= 0.03928 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;

/** In: two colours as `#rrggbb`. Out: their contrast, 1 to 21. */
export const hexContrast = (one: string, other: string): number => {
  const [a, b] = [luminanceOf(rgbOfHex(one)), luminanceOf(rgbOfHex(other))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
};

/** In: `#rrggbb`. */
export const rgbOfHex = (hex: string): Rgb => {
  const channel = (at: number): number => parseInt(hex.slice(at, at + 2), 16) / 255;
  return [channel(1), channel(3), channel(5)];
};

/** In: two colours as `#rrggbb`. Out: one that has `share` of the second, from 0 to 1. */
export const mixedHex = (one: string, other: string, share: number): string => {
  const [from, to] = [rgbOfHex(one), rgbOfHex(other)];
  const channels = from.map((channel, at) => Math.round(255 * (channel + ((to[at] ?? channel) - channel) * share)));
  return `#${channels.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
};

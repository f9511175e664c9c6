/** Bar codes as pictures: PNG for mails and sheets, at least twice as dense as pixels of CSS; SVG for pages. */
import type { BarLook } from '../../domain/rendering/codes.js';
import {
  barModulesAcross,
  drawBarCode,
  glyphPath,
  glyphPixels,
  layBarCode,
  type BarCode,
  type BarDrawing,
  type BarFault,
} from './render-bar-code.js';
import { writePng, type Rgba } from './png.js';
import { readableColors } from './qr-code.js';

/** Lengths in the unit of the output: pixels of CSS, or points. */
export type BarWish = BarLook<number> &
  Readonly<{
    width: number | undefined;
    /** The width that is there: a code without a size of its own keeps within it while its bars can be told apart. */ room: number;
    color: string;
    background: string;
  }>;
/** What a code measures where nothing is said: a module, the bars, the letters. */
export type BarDefaults = Readonly<{ ean13: number; code128: number; datamatrix: number; height: number; text: number; moduleMin: number }>;

export const pixelDefaults: BarDefaults = { ean13: 1.6, code128: 1.5, datamatrix: 4, height: 64, text: 13, moduleMin: 1 };
/** A module of EAN-13 is 0.33 mm wide and its bars 22.85 mm high (GS1 General Specifications, 5.2.6.6). */
export const pointDefaults: BarDefaults = { ean13: 0.936, code128: 1, datamatrix: 2.4, height: 48, text: 9, moduleMin: 0.55 };

const EAN_BARS_MODULES = 69;
const DENSITY = 2;
const SIDE_MAX = 4_000;

export type LaidBarCode = Readonly<{ code: BarCode; width: number; height: number }>;

/** The code and its size in the unit of the output; a fault where the bars would be too narrow for every camera. */
export const layBarPicture = (text: string, wish: BarWish, defaults: BarDefaults): LaidBarCode | BarFault => {
  const code = layBarCode(text, wish.kind, wish.gs1);
  if ('fault' in code) return code;
  const across = barModulesAcross(code);
  const width = wish.width ?? Math.min(across * defaults[wish.kind], Math.max(wish.room, across * defaults.moduleMin));
  if (width > SIDE_MAX) return { fault: `makes a code ${Math.round(width)} wide, the maximum is ${SIDE_MAX}: give it a smaller size` };
  if (width < across * defaults.moduleMin)
    return {
      fault: `takes ${across} modules across: at a size of ${width} no camera can tell them apart, make it ${Math.ceil(across * defaults.moduleMin)} or more`,
    };
  const { height } = drawn(code, wish, defaults, width / across);
  return { code, width, height };
};

const drawn = (code: BarCode, { kind, height, showText }: BarWish, defaults: BarDefaults, unit: number, density = 1): BarDrawing => {
  const usual = kind === 'ean13' ? EAN_BARS_MODULES * unit : defaults.height * density;
  return drawBarCode(code, {
    unit,
    height: Math.min(SIDE_MAX, height === undefined ? usual : height * density),
    textSize: showText ? defaults.text * density : undefined,
  });
};

/** The same code in the same look gives the same bytes. */
export const barCodePng = ({ code, width }: LaidBarCode, wish: BarWish, defaults: BarDefaults): Buffer => {
  const across = barModulesAcross(code);
  // A bar is a whole number of pixels wide, or readers see bars of different widths.
  const unit = Math.max(1, Math.ceil((width * DENSITY) / across));
  const { rects, glyphs, ...size } = drawn(code, wish, defaults, unit, (unit * across) / width);
  const [widthPx, heightPx] = [Math.round(size.width), Math.ceil(size.height)];
  const pixels = new Uint8Array(widthPx * heightPx);
  for (const rect of rects) {
    for (let y = Math.round(rect.y); y < Math.round(rect.y + rect.height); y += 1)
      pixels.fill(1, y * widthPx + Math.round(rect.x), y * widthPx + Math.round(rect.x + rect.width));
  }
  for (const glyph of glyphs) {
    const { left, top, width: wide, height: high, pixels: cover } = glyphPixels(glyph.character, glyph.size);
    const [x0, y0] = [Math.round(glyph.x) + left, Math.round(glyph.baseline) - top];
    for (let y = 0; y < high; y += 1) {
      for (let x = 0; x < wide; x += 1) {
        const [px, py] = [x0 + x, y0 + y];
        if ((cover[y * wide + x] ?? 0) >= 128 && px >= 0 && py >= 0 && px < widthPx && py < heightPx) pixels[py * widthPx + px] = 1;
      }
    }
  }
  const [foreground, background] = colorsOf(wish);
  const isSet = (x: number, y: number): boolean => pixels[y * widthPx + x] === 1;
  return writePng({ widthPx, heightPx, isSet, repeats: (y) => y > 0 && sameRow(pixels, widthPx, y), foreground, background });
};

const sameRow = (pixels: Uint8Array, width: number, y: number): boolean => {
  for (let x = 0; x < width; x += 1) if (pixels[y * width + x] !== pixels[(y - 1) * width + x]) return false;
  return true;
};

/** Readers of bars look for dark on light, never the other way round. */
const colorsOf = ({ color, background }: BarWish): readonly [front: Rgba, back: Rgba] => {
  const [front, back] = readableColors({ color, background });
  return brightness(front) <= brightness(back) ? [front, back] : [back, front];
};

const brightness = ([red, green, blue]: Rgba): number => red * 0.299 + green * 0.587 + blue * 0.114;

/** A drawing of the same size in points as it says. */
export const barCodeSvg = ({ code, width, height }: LaidBarCode, wish: BarWish, defaults: BarDefaults): string => {
  const { rects, glyphs } = drawn(code, wish, defaults, width / barModulesAcross(code));
  const [front, back] = colorsOf(wish).map(([red, green, blue]) => `rgb(${red},${green},${blue})`);
  const bars = rects.map((rect) => `M${round(rect.x)} ${round(rect.y)}h${round(rect.width)}v${round(rect.height)}h-${round(rect.width)}z`);
  const box = `${round(width)} ${round(height)}`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${box}" width="${round(width)}" height="${round(height)}">` +
    `<rect width="${round(width)}" height="${round(height)}" fill="${back}"/><path fill="${front}" d="${bars.join('')}"/>` +
    `<path fill="${front}" fill-rule="nonzero" d="${glyphs.map(glyphPath).join('')}"/></svg>`
  );
};

const round = (value: number): number => Math.round(value * 10_000) / 10_000;

/** Bar codes as pictures: PNG for mails, at least twice as dense as CSS pixels; SVG for pages. */
import { createRequire } from 'node:module';
import type { BarKind, BarLook } from '../../domain/rendering/codes.js';
import { readableColors, writePng, type Rgba } from './code-picture.js';

type Rect = Readonly<{ x: number; y: number; width: number; height: number }>;
/** A character with its left edge and the line that it stands on. */
type Glyph = Readonly<{ character: string; x: number; baseline: number; size: number }>;
/**
 * A code laid out in rectangles and glyphs: its bars or squares, the quiet zone and the text below, in the unit of the
 * output.
 */
type BarDrawing = Readonly<{ width: number; height: number; rects: readonly Rect[]; glyphs: readonly Glyph[] }>;

/** Modules as the standard lays them, without their quiet zone. */
type BarCode = Readonly<
  | {
      shape: 'bars';
      kind: BarKind;
      /** Modules of bar, space, bar, … */ runs: readonly number[];
      modules: number;
      text: string;
    }
  | { shape: 'matrix'; modules: number; rows: number; isDark: (column: number, row: number) => boolean }
>;
type BarFault = Readonly<{ fault: string }>;

/** Lengths in the unit of the output: pixels of CSS, or points. */
export type BarWish = BarLook<number> &
  Readonly<{
    width: number | undefined;
    /** The width that is there: a code without a size of its own keeps within it while its bars can be told apart. */ room: number;
    color: string;
    background: string;
  }>;
/** Sizes of a bar code without size props: the module, the bars, the letters. */
type BarDefaults = Readonly<{
  ean13: number;
  code128: number;
  datamatrix: number;
  height: number;
  text: number;
  moduleMin: number;
}>;

type LaidBarCode = Readonly<{ code: BarCode; width: number; height: number }>;

export const pixelDefaults: BarDefaults = {
  ean13: 1.6,
  code128: 1.5,
  datamatrix: 4,
  height: 64,
  text: 13,
  moduleMin: 1,
};
/** A module of EAN-13 is 0.33 mm wide and its bars 22.85 mm high (GS1 General Specifications, 5.2.6.6). */
export const pointDefaults: BarDefaults = {
  ean13: 0.936,
  code128: 1,
  datamatrix: 2.4,
  height: 48,
  text: 9,
  moduleMin: 0.55,
};

const EAN_BARS_MODULES = 69;
const DENSITY = 2;
const SIDE_MAX = 4_000;

/** The code and its size in the unit of the output; a fault where the bars would be too narrow for every camera. */
export const layBarPicture = (text: string, wish: BarWish, defaults: BarDefaults): LaidBarCode | BarFault => {
  const code = layBarCode(text, wish.kind, wish.gs1);
  if ('fault' in code) return code;
  const across = barModulesAcross(code);
  const width = wish.width ?? Math.min(across * defaults[wish.kind], Math.max(wish.room, across * defaults.moduleMin));
  if (width > SIDE_MAX)
    return { fault: `makes a code ${Math.round(width)} wide, the maximum is ${SIDE_MAX}: give it a smaller size` };
  if (width < across * defaults.moduleMin)
    return {
      fault: `takes ${across} modules across: at a size of ${width} no camera can tell them apart, make it ${Math.ceil(across * defaults.moduleMin)} or more`,
    };
  const { height } = drawn(code, wish, defaults, width / across);
  return { code, width, height };
};

/** Equal codes in equal looks give equal bytes. */
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
        if ((cover[y * wide + x] ?? 0) >= 128 && px >= 0 && py >= 0 && px < widthPx && py < heightPx)
          pixels[py * widthPx + px] = 1;
      }
    }
  }
  const [foreground, background] = colorsOf(wish);
  const isSet = (x: number, y: number): boolean => pixels[y * widthPx + x] === 1;
  return writePng({
    widthPx,
    heightPx,
    isSet,
    repeats: (y) => y > 0 && sameRow(pixels, widthPx, y),
    foreground,
    background,
  });
};

/** A drawing of the same size in points as it says. */
export const barCodeSvg = ({ code, width, height }: LaidBarCode, wish: BarWish, defaults: BarDefaults): string => {
  const { rects, glyphs } = drawn(code, wish, defaults, width / barModulesAcross(code));
  const [front, back] = colorsOf(wish).map(([red, green, blue]) => `rgb(${red},${green},${blue})`);
  const bars = rects.map(
    (rect) =>
      `M${toTenThousandths(rect.x)} ${toTenThousandths(rect.y)}h${toTenThousandths(rect.width)}v${toTenThousandths(rect.height)}h-${toTenThousandths(rect.width)}z`,
  );
  const box = `${toTenThousandths(width)} ${toTenThousandths(height)}`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${box}" width="${toTenThousandths(width)}" height="${toTenThousandths(height)}">` +
    `<rect width="${toTenThousandths(width)}" height="${toTenThousandths(height)}" fill="${back}"/><path fill="${front}" d="${bars.join('')}"/>` +
    `<path fill="${front}" fill-rule="nonzero" d="${glyphs.map(glyphPath).join('')}"/></svg>`
  );
};

const drawn = (
  code: BarCode,
  { kind, height, showText }: BarWish,
  defaults: BarDefaults,
  unit: number,
  density = 1,
): BarDrawing => {
  const usual = kind === 'ean13' ? EAN_BARS_MODULES * unit : defaults.height * density;
  return drawBarCode(code, {
    unit,
    height: Math.min(SIDE_MAX, height === undefined ? usual : height * density),
    textSize: showText ? defaults.text * density : undefined,
  });
};

const sameRow = (pixels: Uint8Array, width: number, y: number): boolean => {
  for (let x = 0; x < width; x += 1) if (pixels[y * width + x] !== pixels[(y - 1) * width + x]) return false;
  return true;
};

/** Readers of bars look for dark on light, never the other way toTenThousandths. */
const colorsOf = ({ color, background }: BarWish): readonly [front: Rgba, back: Rgba] => {
  const [front, back] = readableColors({ color, background });
  return brightness(front) <= brightness(back) ? [front, back] : [back, front];
};

const brightness = ([red, green, blue]: Rgba): number => red * 0.299 + green * 0.587 + blue * 0.114;

type Laid = Readonly<{ sbs: readonly number[] }> | Readonly<{ pixs: readonly number[]; pixx: number; pixy: number }>;
type Curve =
  | Readonly<{ type: 'M' | 'L'; x: number; y: number }>
  | Readonly<{ type: 'Q'; x: number; y: number; cx: number; cy: number }>
  | Readonly<{ type: 'C'; x: number; y: number; cx1: number; cy1: number; cx2: number; cy2: number }>;

/** The part of bwip-js that is used here; its own types describe a browser script. */
type Bwip = Readonly<{
  raw: (options: Readonly<{ bcid: string; text: string; parsefnc?: boolean }>) => readonly Laid[];
  FontLib: Readonly<{
    lookup: (name: string) => number;
    getglyph: (font: number, character: number, width: number, height: number) => GlyphPixels;
    getpaths: (font: number, character: number, width: number, height: number) => readonly Curve[];
  }>;
}>;
let loaded: Bwip | undefined;
/** The library takes a tenth of a second to load, and most documents have no bar code. */
const library = (): Bwip => (loaded ??= createRequire(import.meta.url)('bwip-js/node') as Bwip);

const symbologies = {
  ean13: { plain: 'ean13', gs1: 'ean13' },
  code128: { plain: 'code128', gs1: 'gs1-128' },
  datamatrix: { plain: 'datamatrix', gs1: 'gs1datamatrix' },
} as const satisfies Record<BarKind, unknown>;

/** In: a text that the domain found right. A fault where a part of GS1 is not right for its identifier. */
const layBarCode = (text: string, kind: BarKind, gs1: boolean): BarCode | BarFault => {
  const symbology = symbologies[kind][gs1 ? 'gs1' : 'plain'];
  const laid = laidOf(symbology, text, gs1);
  if ('fault' in laid) return laid;
  if ('pixs' in laid) {
    const { pixs, pixx, pixy } = laid;
    return { shape: 'matrix', modules: pixx, rows: pixy, isDark: (column, row) => pixs[row * pixx + column] === 1 };
  }
  const runs = laid.sbs;
  return { shape: 'bars', kind, runs, modules: runs.reduce((sum, run) => sum + run, 0), text };
};

const laidOf = (bcid: string, text: string, gs1: boolean): Laid | BarFault => {
  // Letters beyond ASCII say by an ECI that they are UTF-8; the sign that begins such an instruction stands twice where
  // it is text.
  const foreign = !gs1 && /[^\x00-\x7f]/.test(text);
  const data = foreign ? `^ECI000026${text.replaceAll('^', '^^')}` : text;
  try {
    const [laid] = library().raw({ bcid, text: data, ...(foreign ? { parsefnc: true } : {}) });
    if (laid === undefined) throw new Error('the library laid no code');
    return laid;
  } catch (error) {
    const message = error instanceof Error ? /^bwipp\.(?:GS1|gs1)\w*#\d+: (.*)$/s.exec(error.message)?.[1] : undefined;
    if (message === undefined) throw error;
    return { fault: `is no element string of GS1: ${message}` };
  }
};

/**
 * Room that readers need beside the bars, in modules: GS1 General Specifications 5.2.3.4 and ISO/IEC 15417; ISO/IEC
 * 16022 asks for 1.
 */
const quietOf = (code: BarCode): Readonly<{ left: number; right: number; around: number }> => {
  if (code.shape === 'matrix') return { left: 2, right: 2, around: 2 };
  return code.kind === 'ean13' ? { left: 11, right: 7, around: 0 } : { left: 10, right: 10, around: 0 };
};

/** The whole width in modules, quiet zone included. */
const barModulesAcross = (code: BarCode): number => {
  const { left, right } = quietOf(code);
  return left + code.modules + right;
};

/** The white at the left of the bars, as a share of the width; the digit of an EAN-13 stands there. */
export const quietShare = ({ code }: LaidBarCode): number =>
  code.shape === 'bars' && code.kind === 'ean13' ? 0 : quietOf(code).left / barModulesAcross(code);

type BarMeasures = Readonly<{
  /** Width of one module. */ unit: number;
  /** Height of the bars; a matrix is square. */ height: number;
  /** Size of the letters below; undefined: no text. */ textSize: number | undefined;
}>;

const drawBarCode = (code: BarCode, measures: BarMeasures): BarDrawing =>
  code.shape === 'matrix' ? drawMatrix(code, measures) : drawBars(code, measures);

const drawMatrix = (code: Extract<BarCode, { shape: 'matrix' }>, { unit }: BarMeasures): BarDrawing => {
  const { around } = quietOf(code);
  const rects: Rect[] = [];
  for (let row = 0; row < code.rows; row += 1) {
    for (let column = 0; column < code.modules; column += 1) {
      if (!code.isDark(column, row)) continue;
      const start = column;
      while (column + 1 < code.modules && code.isDark(column + 1, row)) column += 1;
      rects.push({
        x: (start + around) * unit,
        y: (row + around) * unit,
        width: (column - start + 1) * unit,
        height: unit,
      });
    }
  }
  return { width: (code.modules + 2 * around) * unit, height: (code.rows + 2 * around) * unit, rects, glyphs: [] };
};

/** Modules that the guards of an EAN-13 reach below the other bars. */
const GUARD_MODULES = 5;
const guardsAt = [0, 1, 14, 15, 28, 29] as const;
/** Height of capitals and width of a letter, as shares of the letter's size. */
const CAPITAL = 0.72;
const ADVANCE = 0.62;

const drawBars = (code: Extract<BarCode, { shape: 'bars' }>, { unit, height, textSize }: BarMeasures): BarDrawing => {
  const { left } = quietOf(code);
  const hasGuards = code.kind === 'ean13' && textSize !== undefined;
  const rects: Rect[] = [];
  let at = left;
  code.runs.forEach((run, index) => {
    const tall = hasGuards && guardsAt.some((guard) => guard === index / 2);
    if (index % 2 === 0)
      rects.push({ x: at * unit, y: 0, width: run * unit, height: height + (tall ? GUARD_MODULES * unit : 0) });
    at += run;
  });
  const width = barModulesAcross(code) * unit;
  if (textSize === undefined) return { width, height, rects, glyphs: [] };
  if (code.kind === 'ean13') return { width, ...eanText(code.text, { unit, height, left }), rects };
  // A long code with narrow bars has small letters: the text is never wider than the bars.
  const size = Math.min(textSize, (code.modules * unit) / (code.text.length * ADVANCE));
  const start = left * unit + (code.modules * unit - code.text.length * size * ADVANCE) / 2;
  const baseline = height + size * (CAPITAL + 0.25);
  const glyphs = [...code.text].map((character, index) => ({
    character,
    x: start + index * size * ADVANCE,
    baseline,
    size,
  }));
  return { width, height: baseline + size * 0.3, rects, glyphs };
};

/** The first digit stands left of the bars, six under each half between the guards. */
const eanText = (
  text: string,
  { unit, height, left }: Readonly<{ unit: number; height: number; left: number }>,
): Pick<BarDrawing, 'height' | 'glyphs'> => {
  const size = 10 * unit;
  const baseline = height + unit + size * CAPITAL;
  const glyphs = [...text].map((character, index) => {
    const cell = index === 0 ? -8.5 : index <= 6 ? 3.4 + (index - 1) * 7 : 50.4 + (index - 7) * 7;
    return { character, x: (left + cell) * unit, baseline, size };
  });
  return { height: baseline + unit, glyphs };
};

/** OCR-B, which machines and people read alike; shipped with the library. */
const FONT = 'OCR-B';

type GlyphPixels = Readonly<{ left: number; top: number; width: number; height: number; pixels: Uint8Array }>;

/** Coverage of each pixel from 0 to 255; `top` is above the line. */
const glyphPixels = (character: string, size: number): GlyphPixels => {
  const { FontLib } = library();
  return FontLib.getglyph(FontLib.lookup(FONT), character.charCodeAt(0), size, size);
};

/** The outline as the path of an SVG, drawn at its place. */
const glyphPath = ({ character, x, baseline, size }: Glyph): string => {
  const { FontLib } = library();
  const drawnAt = 100;
  const scale = size / drawnAt;
  const at = (px: number, py: number): string =>
    `${toThousandths(x + px * scale)} ${toThousandths(baseline - py * scale)}`;
  const path = FontLib.getpaths(FontLib.lookup(FONT), character.charCodeAt(0), drawnAt, drawnAt).map((part) => {
    switch (part.type) {
      case 'M':
      case 'L':
        return part.type + at(part.x, part.y);
      case 'Q':
        return `Q${at(part.cx, part.cy)} ${at(part.x, part.y)}`;
      case 'C':
        return `C${at(part.cx1, part.cy1)} ${at(part.cx2, part.cy2)} ${at(part.x, part.y)}`;
    }
  });
  return path.length === 0 ? '' : `${path.join('')}Z`;
};

const toThousandths = (value: number): number => Math.round(value * 1_000) / 1_000;

const toTenThousandths = (value: number): number => Math.round(value * 10_000) / 10_000;

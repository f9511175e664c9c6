/**
 * Draws an SVG as PNG or as plain paths, in WebAssembly: whatever the drawing holds, it reads no file and reaches no
 * network. The process apart bounds its time and memory.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { crc32 } from 'node:zlib';
import { initWasm, Resvg } from '@resvg/resvg-wasm';
import { drawnNote, type Drawing } from '../../../domain/rendering/pictures.js';

const { resolve } = createRequire(import.meta.url);

let ready: Promise<void> | undefined;
let fonts: readonly Uint8Array[] | undefined;

/** Letters of drawings are those of Roboto, upright and bold. */
const fontsOf = (): readonly Uint8Array[] =>
  (fonts ??= ['Regular', 'Medium'].map((style) => readFileSync(resolve(`pdfmake/fonts/Roboto/Roboto-${style}.ttf`))));

/** To be awaited before `pathsOf`. */
export const openDrawer = (): Promise<void> =>
  (ready ??= initWasm(readFileSync(resolve('@resvg/resvg-wasm/index_bg.wasm'))));

/**
 * In: an SVG, checked to stand alone. Out: a PNG of that size with a note of the drawing's own, or undefined where it
 * is no drawing.
 */
export const drawSvg = async (svg: string, drawing: Drawing): Promise<Uint8Array | undefined> => {
  await openDrawer();
  return withDrawing(inPlainColors(svg), { size: drawing, fonts: fontsOf() }, (resvg) =>
    withNote(pngOf(resvg), drawnNote(drawing)),
  );
};

/**
 * In: an SVG that stands alone, the fonts of its letters, and how large its picture is where it must be one. Out: the
 * same drawing of paths, gradients and clips alone, or a PNG where it has more than that; undefined where it is no
 * drawing.
 */
export const pathsOf = (
  svg: string,
  letters: readonly Uint8Array[],
  size: Readonly<{ width: number; height: number }>,
): Readonly<{ svg: string }> | Readonly<{ png: Uint8Array }> | undefined =>
  withDrawing<Readonly<{ svg: string }> | Readonly<{ png: Uint8Array }>>(svg, { size, fonts: letters }, (resvg) => {
    const paths = resvg.toString();
    return isPlain(paths) ? { svg: paths } : { png: pngOf(resvg) };
  });

type Canvas = Readonly<{ size: Readonly<{ width: number; height: number }>; fonts: readonly Uint8Array[] }>;

const withDrawing = <Out>(
  svg: string,
  { size: { width, height }, fonts: fontBuffers }: Canvas,
  use: (resvg: InstanceType<typeof Resvg>) => Out,
): Out | undefined => {
  try {
    const resvg = new Resvg(svg, {
      fitTo: width >= height ? { mode: 'width', value: width } : { mode: 'height', value: height },
      font: {
        fontBuffers: [...fontBuffers],
        defaultFontFamily: 'Roboto',
        sansSerifFamily: 'Roboto',
        serifFamily: 'Roboto',
        monospaceFamily: 'Roboto',
      },
    });
    try {
      return use(resvg);
    } finally {
      resvg.free();
    }
  } catch (fault) {
    // The library throws a text for a fault of the drawing. A trap of the program is an error, and ends the process.
    if (typeof fault === 'string' || (fault instanceof Error && !(fault instanceof WebAssembly.RuntimeError)))
      return undefined;
    throw fault;
  }
};

const pngOf = (resvg: InstanceType<typeof Resvg>): Buffer => {
  const image = resvg.render();
  try {
    return Buffer.from(image.asPng());
  } finally {
    image.free();
  }
};

/** Elements and attributes that the PDF library draws as a browser does. */
const PLAIN: Readonly<Record<string, ReadonlySet<string>>> = Object.fromEntries(
  Object.entries({
    svg: 'width height viewBox preserveAspectRatio xmlns xmlns:xlink',
    defs: '',
    g: 'id transform opacity clip-path',
    path:
      'id transform d clip-rule fill fill-opacity fill-rule shape-rendering stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin ' +
      'stroke-miterlimit stroke-opacity stroke-width',
    clipPath: 'id transform',
    linearGradient: 'id x1 y1 x2 y2 gradientUnits gradientTransform',
    radialGradient: 'id cx cy r fx fy gradientUnits gradientTransform',
    stop: 'offset stop-color stop-opacity',
  }).map(([name, attributes]) => [name, new Set(attributes.split(' '))]),
);

/** In: what resvg writes, whose attributes hold no `>`. */
const isPlain = (svg: string): boolean =>
  [...svg.matchAll(/<([\w:]+)([^>]*)>/g)].every(([, name = '', attributes = '']) => {
    const plain = PLAIN[name];
    return (
      plain !== undefined &&
      [...attributes.matchAll(/([\w:-]+)="/g)].every(([, attribute = '']) => plain.has(attribute))
    );
  });

/** Signature and header: the chunk of text stands behind them. */
const HEADER_END = 33;

const withNote = (png: Buffer, note: string): Buffer => {
  const chunk = Buffer.alloc(note.length + 12);
  chunk.writeUInt32BE(note.length, 0);
  chunk.write(`tEXt${note}`, 4, 'latin1');
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + note.length)), 8 + note.length);
  return Buffer.concat([png.subarray(0, HEADER_END), chunk, png.subarray(HEADER_END)]);
};

const COLOR = /\b(rgba?|hsla?)\(([^()]*)\)/gi;

/** In: a value or a rule of CSS. Out: the same with its colours as resvg reads them. */
export const plainColors = (css: string): string =>
  css.replace(COLOR, (whole, kind: string, inner: string) => plainColor(kind.toLowerCase(), inner) ?? whole);

/** In tags and styles; words that are shown stay as they are. */
const inPlainColors = (svg: string): string =>
  svg.replace(/(<style\b[^>]*>)([^]*?)(?=<\/)|<[^>]*>/g, (whole) => (whole.includes('(') ? plainColors(whole) : whole));

/** CSS Color 4, with spaces and a slash, as numbers with commas. */
const plainColor = (kind: string, inner: string): string | undefined => {
  const [first = '', second = '', third = '', alpha = '1', ...rest] = inner.trim().split(/\s*[\s,/]\s*/);
  const share = (text: string, whole: number): number =>
    text === 'none' ? 0 : text.endsWith('%') ? (parseFloat(text) / 100) * whole : Number(text);
  const opacity = Math.min(Math.max(share(alpha, 1), 0), 1);
  const channels = kind.startsWith('rgb')
    ? [first, second, third].map((text) => Math.min(Math.max(Math.round(share(text, 255)), 0), 255))
    : rgbOfHsl(degreesOf(first), parseFloat(second) / 100, parseFloat(third) / 100);
  if (rest.length > 0 || [...channels, opacity].some((value) => !Number.isFinite(value))) return undefined;
  return `rgba(${channels.join(',')},${opacity})`;
};

const degreesOf = (text: string): number => {
  const [, number, unit] = /^(-?[\d.]+(?:e-?\d+)?)(deg|rad|turn|grad)?$/i.exec(text) ?? [];
  return Number(number) * ({ rad: 180 / Math.PI, turn: 360, grad: 0.9 }[unit?.toLowerCase() ?? ''] ?? 1);
};

const rgbOfHsl = (hue: number, saturation: number, lightness: number): number[] =>
  [0, 8, 4].map((at) => {
    const step = (((at + hue / 30) % 12) + 12) % 12;
    const swing = saturation * Math.min(lightness, 1 - lightness);
    return Math.round(255 * (lightness - swing * Math.max(-1, Math.min(step - 3, 9 - step, 1))));
  });

/**
 * The picture of a QR code or a bar code: a PNG of two colours that a camera can tell apart (W3C PNG, third edition),
 * the same bytes on every machine.
 */
import { constants, crc32, deflateSync } from 'node:zlib';
import { luminanceOf } from '../../domain/rendering/contrast.js';
import { rgbOf, type Rgb } from './colors.js';

/** Red, green, blue from 0 to 255, and how opaque. */
export type Rgba = readonly [number, number, number, number];

type Bitmap = Readonly<{
  widthPx: number;
  heightPx: number;
  /** True for a pixel of the foreground. */
  isSet: (x: number, y: number) => boolean;
  /** True for a row that is the same as the one above it. */
  repeats: (y: number) => boolean;
  foreground: Rgba;
  background: Rgba;
}>;

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const PALETTE = 3;
/** Each byte less the one above it: a row like the one before is all zeros. */
const FILTER_UP = 2;

const BLACK: Rgb = [0, 0, 0];
const WHITE: Rgb = [1, 1, 1];
/** Below it a camera cannot tell one from the other. */
const CONTRAST_MIN = 3;

/** One bit a pixel. */
export const writePng = (bitmap: Bitmap): Buffer => {
  const { widthPx, heightPx, foreground, background } = bitmap;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(widthPx, 0);
  header.writeUInt32BE(heightPx, 4);
  header.set([1, PALETTE, 0, 0, 0], 8);
  const pixels = deflateSync(scanlines(bitmap), { strategy: constants.Z_RLE });
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from([...background.slice(0, 3), ...foreground.slice(0, 3)])),
    ...(background[3] < 255 || foreground[3] < 255 ? [chunk('tRNS', Buffer.from([background[3], foreground[3]]))] : []),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ]);
};

/**
 * Black on white in the place of colours that no camera could read. Transparency would leave the code to a dark page,
 * so there is none.
 */
export const readableColors = ({
  color,
  background,
}: Readonly<{ color: string; background: string }>): readonly [front: Rgba, back: Rgba] => {
  const [front, back] = [withoutAlpha(color) ?? BLACK, withoutAlpha(background) ?? WHITE];
  const [one, other] = [luminanceOf(front) + 0.05, luminanceOf(back) + 0.05];
  const readable = Math.max(one, other) / Math.min(one, other) >= CONTRAST_MIN;
  return readable ? [opaque(front), opaque(back)] : [opaque(BLACK), opaque(WHITE)];
};

const scanlines = ({ widthPx, heightPx, isSet, repeats }: Bitmap): Buffer => {
  const stride = Math.ceil(widthPx / 8);
  const out = Buffer.alloc((stride + 1) * heightPx);
  let above = Buffer.alloc(stride);
  let row = Buffer.alloc(stride);
  for (let y = 0; y < heightPx; y += 1) {
    const at = y * (stride + 1);
    out[at] = FILTER_UP;
    if (repeats(y)) continue;
    row.fill(0);
    for (let x = 0; x < widthPx; x += 1) if (isSet(x, y)) row[x >> 3] = (row[x >> 3] ?? 0) | (0x80 >> (x & 7));
    for (let byte = 0; byte < stride; byte += 1) out[at + 1 + byte] = ((row[byte] ?? 0) - (above[byte] ?? 0)) & 0xff;
    [above, row] = [row, above];
  }
  return out;
};

const chunk = (type: string, data: Buffer): Buffer => {
  const out = Buffer.alloc(data.length + 12);
  out.writeUInt32BE(data.length, 0);
  out.write(type, 4, 'latin1');
  data.copy(out, 8);
  out.writeUInt32BE(crc32(out.subarray(4, 8 + data.length)), 8 + data.length);
  return out;
};

/** A camera sees no transparency: the colour itself. */
const withoutAlpha = (css: string): Rgb | undefined =>
  rgbOf(
    css
      .replace(/^#([0-9a-f]{3})[0-9a-f]$|^#([0-9a-f]{6})[0-9a-f]{2}$/, '#$1$2')
      .replace(/^(rgb|hsl)a?\(([^,/]+(?:,[^,/]+){2}|[^,/]+)[,/][^,/]+\)$/, '$1($2)'),
  );

const opaque = ([red, green, blue]: Rgb): Rgba => [
  Math.round(red * 255),
  Math.round(green * 255),
  Math.round(blue * 255),
  255,
];

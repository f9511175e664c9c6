/** QR codes (ISO/IEC 18004) as PNG: for a size in CSS pixels at twice the density, with the quiet zone of four modules around. */
import { constants, crc32, deflateSync } from 'node:zlib';
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import type { create, QRCodeSegment } from 'qrcode';
import { pixels } from '../../domain/rendering/css.js';
import { luminanceOf, rgbOf, type Rgb } from './colors.js';

/* Writes a PNG of two colours (W3C PNG, third edition): one bit a pixel, the same bytes on every machine. */

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

type Library = Readonly<{ create: typeof create }>;
let loaded: Library | undefined;
/** Its core: what draws pictures is not used. */
const library = (): Library => (loaded ??= createRequire(import.meta.url)('qrcode/lib/core/qrcode.js') as Library);

export const errorCorrections = ['l', 'm', 'q', 'h'] as const;
type Level = 'L' | 'M' | 'Q' | 'H';

/** As props give it: CSS values and a letter. */
export type QrLook = Readonly<{ size: string; level: string; color: string; background: string }>;

export type QrCode = Readonly<{ modules: number; isDark: (column: number, row: number) => boolean }>;

/** The rest of a sentence that begins with the code. */
type QrFault = Readonly<{ fault: string }>;

const SIZE_PX = 160;
const QUIET_MODULES = 4;
const DENSITY = 2;
/** No mail is wider than this: a code beyond it is drawn at less density. */
const SIDE_PX_MAX = 1_600;
/** So much fits into 85 modules at every level, whatever it is made of. */
const FEW_BYTES = 200;
const FEW_MODULES = 85 + 2 * QUIET_MODULES;

/** CSS pixels of a side; percentages and fonts mean nothing to a picture that is drawn before the page. */
export const qrSizePx = (size: string): number => Math.round(pixels(size) ?? SIZE_PX);

/** What a letter says; what is none stands for the usual one. */
export const qrLevel = (level: string): Level => {
  const upper = level.toUpperCase();
  return upper === 'L' || upper === 'Q' || upper === 'H' ? upper : 'M';
};

const ALT_CHARS_MAX = 100;

/** What stands in the place of a picture that is not shown. */
export const qrAlt = (value: string): string => (value.length <= ALT_CHARS_MAX && !/[\r\n]/.test(value) ? value : 'QR code');

/** True where no module needs to be laid to know that the code can be made. */
export const surelyFitsQr = (value: string, { size }: QrLook): boolean =>
  Buffer.byteLength(value) <= FEW_BYTES && qrSizePx(size) >= FEW_MODULES;

/** What the largest code (version 40) holds. */
const room: Readonly<Record<'numeric' | 'alphanumeric' | 'byte', Readonly<Record<Level, number>>>> = {
  numeric: { L: 7_089, M: 5_596, Q: 3_993, H: 3_057 },
  alphanumeric: { L: 4_296, M: 3_391, Q: 2_420, H: 1_852 },
  byte: { L: 2_953, M: 2_331, Q: 1_663, H: 1_273 },
};
const units: Readonly<Record<keyof typeof room, string>> = { numeric: 'digits', alphanumeric: 'characters', byte: 'bytes' };

/**
 * One segment of the densest mode that holds the whole text: the library's search for the best mixture of modes takes a quarter
 * of a second where a text is made for it.
 */
const segmentOf = (value: string): Readonly<{ mode: keyof typeof room; units: number; segment: QRCodeSegment }> => {
  if (/^\d+$/.test(value)) return { mode: 'numeric', units: value.length, segment: { data: value, mode: 'numeric' } };
  if (/^[0-9A-Z $%*+./:-]+$/.test(value))
    return { mode: 'alphanumeric', units: value.length, segment: { data: value, mode: 'alphanumeric' } };
  const data = Buffer.from(value);
  return { mode: 'byte', units: data.length, segment: { data, mode: 'byte' } };
};

/** Lays the modules; a fault where the text does not fit, or the modules would be smaller than a pixel. */
export const layQrCode = (value: string, { size, level }: QrLook): QrCode | QrFault => {
  const errorCorrectionLevel = qrLevel(level);
  const { mode, units: actual, segment } = segmentOf(value);
  const max = room[mode][errorCorrectionLevel];
  if (actual > max) return { fault: `holds ${actual} ${units[mode]}, the maximum at error correction ${errorCorrectionLevel} is ${max}` };
  const { modules } = library().create([segment], { errorCorrectionLevel });
  const side = modules.size + 2 * QUIET_MODULES;
  const sizePx = qrSizePx(size);
  if (sizePx < side)
    return {
      fault: `holds ${actual} ${units[mode]}, which take ${side} by ${side} modules: at a size of ${sizePx} pixels no camera can tell them apart, make it ${side} or more`,
    };
  return { modules: modules.size, isDark: (column, row) => modules.get(row, column) === 1 };
};

/** The same code and look give the same bytes. Modules are whole pixels; what is left over widens the quiet zone. */
export const drawQrCode = ({ modules, isDark }: QrCode, look: QrLook): Buffer => {
  const sidePx = Math.min(qrSizePx(look.size) * DENSITY, Math.max(SIDE_PX_MAX, modules + 2 * QUIET_MODULES));
  const modulePx = Math.max(1, Math.floor(sidePx / (modules + 2 * QUIET_MODULES)));
  const from = Math.floor((sidePx - modules * modulePx) / 2);
  const [foreground, background] = readableColors(look);
  const place = (px: number): number => Math.floor((px - from) / modulePx);
  const isSet = (x: number, y: number): boolean => {
    const [column, row] = [place(x), place(y)];
    return column >= 0 && row >= 0 && column < modules && row < modules && isDark(column, row);
  };
  const repeats = (y: number): boolean => y > 0 && place(y) === place(y - 1);
  return writePng({ widthPx: sidePx, heightPx: sidePx, isSet, repeats, foreground, background });
};

const BLACK: Rgb = [0, 0, 0];
const WHITE: Rgb = [1, 1, 1];
/** Below it a camera cannot tell one from the other. */
const CONTRAST_MIN = 3;

/** Black on white in the place of colours that no camera could read. Transparency would leave the code to a dark page, so there is none. */
export const readableColors = ({ color, background }: Pick<QrLook, 'color' | 'background'>): readonly [front: Rgba, back: Rgba] => {
  const [front, back] = [withoutAlpha(color) ?? BLACK, withoutAlpha(background) ?? WHITE];
  const [one, other] = [luminanceOf(front) + 0.05, luminanceOf(back) + 0.05];
  const readable = Math.max(one, other) / Math.min(one, other) >= CONTRAST_MIN;
  return readable ? [opaque(front), opaque(back)] : [opaque(BLACK), opaque(WHITE)];
};

/** A camera sees no transparency: the colour itself. */
const withoutAlpha = (css: string): Rgb | undefined =>
  rgbOf(
    css
      .replace(/^#([0-9a-f]{3})[0-9a-f]$|^#([0-9a-f]{6})[0-9a-f]{2}$/, '#$1$2')
      .replace(/^(rgb|hsl)a?\(([^,/]+(?:,[^,/]+){2}|[^,/]+)[,/][^,/]+\)$/, '$1($2)'),
  );

const opaque = ([red, green, blue]: Rgb): Rgba => [Math.round(red * 255), Math.round(green * 255), Math.round(blue * 255), 255];

/** Named by what it shows: the same code in the same look is one picture of the mail. */
export const qrContentId = (value: string, { size, level, color, background }: QrLook): string =>
  `qr-${createHash('sha256')
    .update(JSON.stringify([value, size, level, color, background]))
    .digest('hex')
    .slice(0, 24)}@sealpost`;

/* A QR code as a picture on a page: of a text that is short enough for every camera. */

const look: QrLook = { size: '256px', level: 'm', color: '#000000', background: '#ffffff' };

/** Out: a PNG. Throws where the text does not fit. */
export const qrCodePng = (text: string): Buffer => {
  const code = layQrCode(text, look);
  if ('fault' in code) throw new Error(`the QR code ${code.fault}`);
  return drawQrCode(code, look);
};

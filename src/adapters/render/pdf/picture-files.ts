/**
 * PNG and JPEG files, judged before pdfkit reads them: it fails on a corrupt PNG where nobody can catch it. Some PNG
 * files are written anew.
 */
import { crc32, deflateSync, inflateSync } from 'node:zlib';
import { DomainError } from '../../../domain/core/errors.js';
import type { LoadedImage } from '../../../domain/ports/generator.js';

/** `width` and `height` in pixels. */
export type CheckedPng = Readonly<{ bytes: Buffer; width: number; height: number }>;

type Header = Readonly<{ width: number; height: number; bitDepth: number; colorType: number; isInterlaced: boolean }>;
type Parts = Readonly<{
  header: Header;
  palette: Buffer | undefined;
  transparency: Buffer | undefined;
  /** The exponent that makes light of a sample; undefined where it is that of sRGB. */ gamma: number | undefined;
  packed: Buffer;
}>;

type Pass = Readonly<{
  x: number;
  y: number;
  dx: number;
  dy: number;
  columns: number;
  rows: number;
  /** Bytes of a row without its filter. */ stride: number;
}>;

type From = Readonly<{ pixels: Buffer; from: number; column: number; bits: number }>;
type To = Readonly<{ out: Buffer; to: number; column: number; bits: number }>;

export const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** A picture is unpacked in memory: 25 million pixels are 100 MB. */
export const PIXELS_MAX = 25_000_000;

const INDEXED = 3;
const channelsOf: Readonly<Record<number, number>> = { 0: 1, 2: 3, [INDEXED]: 1, 4: 2, 6: 4 };

/** First column, first row, and the steps of the seven passes of Adam7. */
const adam7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

const ORIENTATION = 0x0112;

/** The error of a picture that cannot be drawn; `what` follows "the picture at …". */
export const unusable = (field: string, what: string): DomainError =>
  new DomainError('GENERATION_FAILED', `the picture at ${field} ${what}`, {
    errors: [{ field, message: `the picture ${what}` }],
    relatedInfo: { field },
  });

export const tooManyPixels = (
  field: string,
  { width, height }: Readonly<{ width: number; height: number }>,
): DomainError =>
  unusable(field, `has ${width} by ${height} pixels, the maximum is ${PIXELS_MAX.toLocaleString('en-US')} pixels`);

/**
 * Out: the file as pdfkit can read it, or undefined where it is cut off, has the wrong number of pixels or is no PNG.
 * Written anew are those that pdfkit draws wrong: interlaced, with a transparent colour or a transparent palette of
 * less than 256 colours, with a palette beside true colours, with samples of another gamma.
 */
export const checkedPng = (bytes: Buffer, field: string): CheckedPng | undefined => {
  const parts = partsOf(bytes);
  if (parts === undefined) return undefined;
  const { header, palette, transparency, gamma, packed } = parts;
  const { width, height, colorType, bitDepth, isInterlaced } = header;
  if (colorType === INDEXED && palette === undefined) return undefined;
  if (width * height > PIXELS_MAX) throw tooManyPixels(field, header);
  const pixels = unpacked(packed, header);
  if (pixels === undefined) return undefined;
  const isIndexed = colorType === INDEXED;
  const mustWiden = isIndexed && bitDepth < 8 && transparency !== undefined;
  const hasStray = !isIndexed && (palette !== undefined || transparency !== undefined);
  if (!isInterlaced && !mustWiden && !hasStray && gamma === undefined) return { bytes, width, height };
  return { bytes: rewritten(parts, pixels, mustWiden ? 8 : bitDepth), width, height };
};

/**
 * The size of a JPEG from its frame header (ITU T.81), turned as its camera was held (Exif 2.3, 4.6.4 A). Out: pixels
 * as they are seen, or undefined for a file that a PDF cannot show: no frame of the baseline, extended or progressive
 * kind, no scan, or cut off.
 */
export const jpegSize = (bytes: Buffer): Readonly<{ width: number; height: number }> | undefined => {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return undefined;
  let size: Readonly<{ width: number; height: number }> | undefined;
  let isTurned = false;
  let at = 2;
  while (at + 4 <= bytes.length) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    const length = bytes.readUInt16BE(at + 2);
    const body = bytes.subarray(at + 4, at + 2 + length);
    if (length < 2 || body.length !== length - 2) return undefined;
    if (marker >= 0xc0 && marker <= 0xc2) size = frameSize(body);
    else if (marker === 0xe1) isTurned = isTurned || orientationOf(body) > 4;
    else if (marker === 0xda) {
      const isWhole = bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) > at;
      return size === undefined || !isWhole ? undefined : isTurned ? { width: size.height, height: size.width } : size;
    }
    at += 2 + length;
  }
  return undefined;
};

const frameSize = (body: Buffer): Readonly<{ width: number; height: number }> | undefined => {
  if (body.length < 6) return undefined;
  const [bits, height, width, channels] = [
    body.readUInt8(0),
    body.readUInt16BE(1),
    body.readUInt16BE(3),
    body.readUInt8(5),
  ];
  return bits === 8 && height > 0 && width > 0 && [1, 3, 4].includes(channels) ? { width, height } : undefined;
};

/** In: the body of a segment or chunk of Exif. Out: 1 to 8; from 5 on width and height change places. */
export const orientationOf = (body: Buffer): number => {
  const tiff = body.toString('latin1', 0, 6) === 'Exif\0\0' ? body.subarray(6) : body;
  const order = tiff.toString('latin1', 0, 2);
  if (tiff.length < 8 || (order !== 'II' && order !== 'MM')) return 1;
  const isLittle = order === 'II';
  const u16 = (at: number): number =>
    at + 2 > tiff.length ? 0 : isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at);
  const directory = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  const count = Math.min(u16(directory), 100);
  for (let entry = 0; entry < count; entry++) {
    const at = directory + 2 + entry * 12;
    if (u16(at) !== ORIENTATION) continue;
    const orientation = u16(at + 8);
    return orientation >= 1 && orientation <= 8 ? orientation : 1;
  }
  return 1;
};

const partsOf = (bytes: Buffer): Parts | undefined => {
  if (!bytes.subarray(0, 8).equals(PNG_SIGNATURE)) return undefined;
  const found = new Map<string, Buffer>();
  const data: Buffer[] = [];
  for (let at = 8; ;) {
    if (at + 12 > bytes.length) return undefined;
    const length = bytes.readUInt32BE(at);
    if (at + 12 + length > bytes.length) return undefined;
    const type = bytes.toString('latin1', at + 4, at + 8);
    const body = bytes.subarray(at + 8, at + 8 + length);
    at += 12 + length;
    if (type === 'IDAT') data.push(body);
    else if (type === 'IEND') break;
    else if (!found.has(type)) found.set(type, body);
  }
  const header = headerOf(found.get('IHDR'));
  const palette = found.get('PLTE');
  if (
    header === undefined ||
    data.length === 0 ||
    (palette !== undefined && (palette.length === 0 || palette.length % 3 !== 0))
  )
    return undefined;
  const transparency = found.get('tRNS');
  // A colour type with an alpha channel has no transparent colour, and a short chunk names none.
  const keyBytes = { 0: 2, 2: 6, [INDEXED]: 1 }[header.colorType] ?? Infinity;
  return {
    header,
    palette,
    transparency: transparency === undefined || transparency.length < keyBytes ? undefined : transparency,
    gamma: gammaOf(found),
    packed: Buffer.concat(data),
  };
};

/** A file whose gamma differs from 1/2.2 by less than a twentieth is shown as it is, as libpng does. */
const gammaOf = (chunks: ReadonlyMap<string, Buffer>): number | undefined => {
  const body = chunks.get('gAMA');
  if (body?.length !== 4 || chunks.has('sRGB') || chunks.has('iCCP')) return undefined;
  const exponent = 100_000 / body.readUInt32BE(0);
  return Number.isFinite(exponent) && Math.abs(exponent / 2.2 - 1) > 0.05 ? exponent : undefined;
};

/** In: a share of the most, and the gamma of its file. Out: the sample of sRGB (IEC 61966-2-1), 0 to 255. */
const shownSample = (share: number, gamma: number | undefined): number => {
  if (gamma === undefined) return Math.round(255 * share);
  const light = share ** gamma;
  return Math.round(255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055));
};

const headerOf = (body: Buffer | undefined): Header | undefined => {
  if (body?.length !== 13) return undefined;
  const [width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)];
  const [bitDepth = 0, colorType = 0, compression, filter, interlace = 0] = body.subarray(8);
  const depths = colorType === 0 ? [1, 2, 4, 8, 16] : colorType === INDEXED ? [1, 2, 4, 8] : [8, 16];
  const isKnown =
    channelsOf[colorType] !== undefined &&
    depths.includes(bitDepth) &&
    compression === 0 &&
    filter === 0 &&
    interlace <= 1;
  return isKnown && width > 0 && height > 0
    ? { width, height, bitDepth, colorType, isInterlaced: interlace === 1 }
    : undefined;
};

const bitsOf = ({ bitDepth, colorType }: Header): number => bitDepth * (channelsOf[colorType] ?? 0);

const passesOf = (header: Header): readonly Pass[] =>
  (header.isInterlaced ? adam7 : [[0, 0, 1, 1] as const]).flatMap(([x, y, dx, dy]) => {
    const [columns, rows] = [Math.ceil((header.width - x) / dx), Math.ceil((header.height - y) / dy)];
    return columns <= 0 || rows <= 0
      ? []
      : [{ x, y, dx, dy, columns, rows, stride: Math.ceil((columns * bitsOf(header)) / 8) }];
  });

/** Filters and rows as they are stored; undefined where they are not all there, or a filter is none of the five. */
const unpacked = (packed: Buffer, header: Header): Buffer | undefined => {
  const passes = passesOf(header);
  const expected = passes.reduce((sum, { rows, stride }) => sum + rows * (stride + 1), 0);
  let pixels: Buffer;
  try {
    pixels = inflateSync(packed, { maxOutputLength: expected + 65_536 });
  } catch {
    return undefined;
  }
  if (pixels.length < expected) return undefined;
  let at = 0;
  for (const { rows, stride } of passes)
    for (let row = 0; row < rows; row++, at += stride + 1) if ((pixels[at] ?? 5) > 4) return undefined;
  return pixels;
};

/**
 * The picture as a PNG without interlacing, each sample in `bitDepth` bits; in 8 bits where its colours or its
 * transparency must change.
 */
const rewritten = (parts: Parts, pixels: Buffer, bitDepth: number): Buffer => {
  const { header, palette, transparency, gamma } = parts;
  const { width, height, colorType } = header;
  const bits = bitsOf(header);
  const isIndexed = colorType === INDEXED;
  const outBits = bitDepth * (channelsOf[colorType] ?? 0);
  const outStride = Math.ceil((width * outBits) / 8) + 1;
  const out = Buffer.alloc(outStride * height);
  let at = 0;
  for (const pass of passesOf(header)) {
    unfilter(pixels.subarray(at, at + pass.rows * (pass.stride + 1)), pass, Math.max(bits >> 3, 1));
    for (let row = 0; row < pass.rows; row++, at += pass.stride + 1) {
      const to = (pass.y + row * pass.dy) * outStride + 1;
      for (let column = 0; column < pass.columns; column++)
        copyPixel(
          { pixels, from: at + 1, column, bits },
          { out, to, column: pass.x + column * pass.dx, bits: outBits },
        );
    }
  }
  if (!isIndexed && (transparency !== undefined || gamma !== undefined)) return recolored(parts, out);
  return pngOf({
    ...header,
    bitDepth,
    rows: out,
    palette: isIndexed ? palette && shownColors(palette, gamma) : undefined,
    transparency: isIndexed ? transparency : undefined,
  });
};

/**
 * In: the samples of each row behind the byte of its filter. Out: 8 bits a sample, with an alpha channel where a colour
 * is transparent.
 */
const recolored = ({ header, transparency, gamma }: Parts, rows: Buffer): Buffer => {
  const { width, height, colorType, bitDepth } = header;
  const channels = channelsOf[colorType] ?? 0;
  const colors = colorType === 0 || colorType === 4 ? 1 : 3;
  const most = 2 ** bitDepth - 1;
  const key = Array.from(
    { length: transparency === undefined ? 0 : colors },
    (_, at) => (transparency?.readUInt16BE(2 * at) ?? 0) & most,
  );
  const shown = Uint8Array.from({ length: most + 1 }, (_, sample) => shownSample(sample / most, gamma));
  const stride = Math.ceil((width * channels * bitDepth) / 8) + 1;
  const outChannels = key.length > 0 ? channels + 1 : channels;
  const out = Buffer.alloc((width * outChannels + 1) * height);
  let to = 0;
  for (let row = 0; row < height; row++) {
    to++;
    for (let column = 0; column < width; column++) {
      let isKey = key.length > 0;
      for (let channel = 0; channel < channels; channel++) {
        const bit = (column * channels + channel) * bitDepth;
        const byte = row * stride + 1 + (bit >> 3);
        const sample =
          bitDepth === 16 ? rows.readUInt16BE(byte) : ((rows[byte] ?? 0) >> (8 - bitDepth - (bit & 7))) & most;
        isKey &&= sample === key[channel];
        out[to++] = channel < colors ? (shown[sample] ?? 0) : Math.round((255 * sample) / most);
      }
      if (key.length > 0) out[to++] = isKey ? 0 : 255;
    }
  }
  return pngOf({ width, height, bitDepth: 8, colorType: key.length > 0 ? colorType | 4 : colorType, rows: out });
};

const shownColors = (palette: Buffer, gamma: number | undefined): Buffer =>
  Buffer.from(palette.map((sample) => shownSample(sample / 255, gamma)));

type PngContent = Pick<Header, 'width' | 'height' | 'bitDepth' | 'colorType'> &
  Readonly<{
    /** Each behind the byte of its filter. */ rows: Buffer;
    palette?: Buffer | undefined;
    transparency?: Buffer | undefined;
  }>;

/** A PNG file without interlacing. */
export const pngOf = ({ width, height, bitDepth, colorType, rows, palette, transparency }: PngContent): Buffer => {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([bitDepth, colorType, 0, 0, 0], 8);
  return Buffer.concat([
    PNG_SIGNATURE,
    chunk('IHDR', head),
    ...(palette === undefined ? [] : [chunk('PLTE', palette)]),
    ...(transparency === undefined ? [] : [chunk('tRNS', transparency)]),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
};

const copyPixel = ({ pixels, from, column, bits }: From, target: To): void => {
  if (bits >= 8) {
    const size = bits >> 3;
    pixels.copy(target.out, target.to + target.column * size, from + column * size, from + (column + 1) * size);
    return;
  }
  const bit = column * bits;
  const sample = ((pixels[from + (bit >> 3)] ?? 0) >> (8 - bits - (bit & 7))) & ((1 << bits) - 1);
  const outBit = target.column * target.bits;
  const byte = target.to + (outBit >> 3);
  target.out[byte] = (target.out[byte] ?? 0) | (sample << (8 - target.bits - (outBit & 7)));
};

/** Section 9: in place, each byte from those to the left, above and above left. */
const unfilter = (rows: Buffer, { rows: count, stride }: Pass, step: number): void => {
  for (let row = 0; row < count; row++) {
    const start = row * (stride + 1);
    const filter = rows[start];
    for (let i = 1; i <= stride; i++) {
      const left = i > step ? (rows[start + i - step] ?? 0) : 0;
      const above = row > 0 ? (rows[start - stride - 1 + i] ?? 0) : 0;
      const corner = row > 0 && i > step ? (rows[start - stride - 1 + i - step] ?? 0) : 0;
      const predicted =
        filter === 1
          ? left
          : filter === 2
            ? above
            : filter === 3
              ? (left + above) >> 1
              : filter === 4
                ? paeth(left, above, corner)
                : 0;
      rows[start + i] = ((rows[start + i] ?? 0) + predicted) & 0xff;
    }
  }
};

const paeth = (left: number, above: number, corner: number): number => {
  const estimate = left + above - corner;
  const [a, b, c] = [Math.abs(estimate - left), Math.abs(estimate - above), Math.abs(estimate - corner)];
  return a <= b && a <= c ? left : b <= c ? above : corner;
};

const chunk = (type: string, body: Buffer): Buffer => {
  const out = Buffer.alloc(12 + body.length);
  out.writeUInt32BE(body.length, 0);
  out.write(type, 4, 'latin1');
  body.copy(out, 8);
  out.writeUInt32BE(crc32(out.subarray(4, 8 + body.length)), 8 + body.length);
  return out;
};

const DATA_URI = /^data:(image\/[a-z+]+)((?:;[a-z0-9=-]+)*?)(;base64)?,/i;

/** The picture of a data URI, of the kind that its bytes have. */
export const dataUriImage = (src: string): LoadedImage | undefined => {
  const head = DATA_URI.exec(src);
  if (head === null) return undefined;
  const data = src.slice(head[0].length);
  const bytes = head[3] === undefined ? Buffer.from(unescaped(data), 'utf8') : Buffer.from(data, 'base64');
  const contentType = typeOf(bytes, head[1]?.toLowerCase() ?? '');
  return contentType === undefined ? undefined : { bytes, contentType };
};

const unescaped = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** From the bytes; only a drawing has no signature of its own. */
const typeOf = (bytes: Buffer, declared: string): LoadedImage['contentType'] | undefined => {
  if (bytes.subarray(0, 8).equals(PNG_SIGNATURE)) return 'image/png';
  if (bytes[0] === 0xff && bytes[1] === 0xd8) return 'image/jpeg';
  const start = bytes.subarray(0, 12).toString('latin1');
  if (start.startsWith('GIF8')) return 'image/gif';
  if (start.startsWith('RIFF') && start.endsWith('WEBP')) return 'image/webp';
  const types: Readonly<Record<string, LoadedImage['contentType']>> = {
    'image/svg+xml': 'image/svg+xml',
    'image/png': 'image/png',
    'image/jpeg': 'image/jpeg',
    'image/jpg': 'image/jpeg',
  };
  return Object.hasOwn(types, declared) ? types[declared] : undefined;
};

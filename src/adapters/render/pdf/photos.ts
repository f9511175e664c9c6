/**
 * Pictures of kinds that a document cannot hold, as PNG or JPEG: WebP and GIF (the first frame of each), and in a
 * workbook drawings and photos that stand as their camera was held. The decoders are WebAssembly: they read no file and
 * reach no network.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { ExpandedDocument } from '../../../domain/rendering/expand/expanded.js';
import { pictureSourcesOf } from '../../../domain/rendering/expand/resources.js';
import type { OutputFormat } from '../../../domain/rendering/content.js';
import { drawingOf, pictureSize, type PictureSize } from '../../../domain/rendering/pictures.js';
import { readSvg } from '../../../domain/templates/svg.js';
import type { LoadedImage } from '../../../domain/ports/generator.js';
import { boundedCache, once } from '../../../shared/cache.js';
import { drawSvg, openDrawer } from '../svg/draw.js';
import { dataUriImage, orientationOf, PIXELS_MAX, pngOf } from './picture-files.js';

type Images = ReadonlyMap<string, LoadedImage>;
/** Red, green, blue and alpha of each pixel. */
type Pixels = Readonly<{ data: Uint8ClampedArray; width: number; height: number }>;

/** A bulk send shows the same picture in each of its documents. */
const CONVERTED_MAX = 50;
const CONVERTED_BYTES_MAX = 16 * 1024 * 1024;
const converted = boundedCache<string, LoadedImage>({
  entriesMax: CONVERTED_MAX,
  size: { max: CONVERTED_BYTES_MAX, of: ({ bytes }) => Math.max(bytes.byteLength, 1) },
});

/** A photo of more has two pixels in a row, and two rows, made one: a sheet of A4 has as many at 300 dots an inch. */
const PHOTO_PIXELS_MAX = 8_700_000;
const JPEG_OPTIONS = { quality: 90, progressive: false, baseline: true, quant_table: 0 };

/**
 * In: a document and its pictures by their addresses. Out: the same with those that the format cannot hold converted,
 * also data URIs. Pictures that cannot be converted stay as they are.
 */
export const heldPictures = async (
  document: ExpandedDocument,
  images: Images,
  format: OutputFormat,
): Promise<Images> => {
  const held = new Map(images);
  for (const source of pictureSourcesOf(document, format)) {
    const image = images.get(source) ?? dataUriImage(source);
    if (image?.contentType === 'image/svg+xml' && format === 'pdf') await openDrawer();
    const convert = image === undefined ? undefined : converterOf(image, format);
    if (image === undefined || convert === undefined) continue;
    const bytes = Buffer.from(image.bytes.buffer, image.bytes.byteOffset, image.bytes.byteLength);
    const key = hash('sha256', bytes);
    const made = converted.get(key) ?? (await convert(bytes));
    if (made === undefined) continue;
    converted.set(key, made);
    held.set(source, made);
  }
  return held;
};

type Convert = (bytes: Buffer) => Promise<LoadedImage | undefined>;

const converterOf = ({ bytes, contentType }: LoadedImage, format: OutputFormat): Convert | undefined => {
  switch (contentType) {
    case 'image/webp':
      return ofWebp;
    case 'image/gif':
      return format === 'pdf' ? ofGif : undefined;
    case 'image/jpeg':
      return format === 'excel' && orientationOfJpeg(bytes) !== 1 ? ofTurnedJpeg : undefined;
    case 'image/svg+xml':
      return format === 'excel' ? ofSvg : undefined;
    case 'image/png':
    case 'font/ttf':
    case 'font/otf':
      return undefined;
  }
};

const isDrawable = (size: PictureSize | undefined): size is PictureSize =>
  size !== undefined && size.width * size.height <= PIXELS_MAX;

const ofSvg: Convert = async (bytes) => {
  const svg = bytes.toString('utf8');
  const found = await readSvg(svg);
  if (found === undefined || 'fault' in found) return undefined;
  const png = await drawSvg(svg, drawingOf(found.size));
  return png === undefined ? undefined : { bytes: png, contentType: 'image/png' };
};

/** GIF89a: the first frame, which may be smaller than the screen that it stands on. */
const ofGif: Convert = async (bytes) => {
  const screen = pictureSize(bytes, 'image/gif');
  const at = isDrawable(screen) ? imageOfGif(bytes) : undefined;
  if (screen === undefined || at === undefined) return undefined;
  const [left, top, width, height] = [1, 3, 5, 7].map((offset) => bytes.readUInt16LE(at + offset)) as [
    number,
    number,
    number,
    number,
  ];
  const frame = Buffer.from(bytes);
  frame.writeUInt16LE(width, 6);
  frame.writeUInt16LE(height, 8);
  const png = await drawSvg(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${screen.width}" height="${screen.height}">` +
      `<image x="${left}" y="${top}" width="${width}" height="${height}" href="data:image/gif;base64,${frame.toString('base64')}"/></svg>`,
    { natural: screen, ...screen },
  );
  return png === undefined ? undefined : { bytes: png, contentType: 'image/png' };
};

const EXTENSION = 0x21;
const IMAGE = 0x2c;

/**
 * The place of the first image descriptor, behind the colour table and the extensions; undefined where the file is cut
 * off.
 */
const imageOfGif = (bytes: Buffer): number | undefined => {
  const flags = bytes[10] ?? 0;
  let at = 13 + (flags & 0x80 ? 3 << ((flags & 7) + 1) : 0);
  while (bytes[at] === EXTENSION) {
    at += 2;
    while ((bytes[at] ?? 0) !== 0) at += 1 + (bytes[at] ?? 0);
    at += 1;
  }
  return bytes[at] === IMAGE && at + 10 < bytes.length && bytes.lastIndexOf(0x3b) > at + 10 ? at : undefined;
};

/** RFC 9649: of an animation the first frame. Photos become JPEG, all else PNG. */
const ofWebp: Convert = async (bytes) => {
  const canvas = pictureSize(bytes, 'image/webp');
  if (!isDrawable(canvas) || bytes.length < 8 + bytes.readUInt32LE(4)) return undefined;
  const chunks = riffChunks(bytes.subarray(12));
  const frame = chunks.find(({ type }) => type === 'ANMF')?.body;
  const shown = frame === undefined ? chunks : riffChunks(frame.subarray(16));
  const isLossy = shown.some(({ type }) => type === 'VP8 ');
  const pixels = await decoded('webp', frame === undefined ? bytes : fileOfFrame(frame));
  if (pixels === undefined) return undefined;
  const placed =
    frame === undefined
      ? pixels
      : onCanvas(pixels, canvas, { left: 2 * frame.readUIntLE(0, 3), top: 2 * frame.readUIntLE(3, 3) });
  const exif = chunks.find(({ type }) => type === 'EXIF')?.body;
  const orientation = exif === undefined ? 1 : orientationOf(exif);
  if (isLossy && isOpaque(placed)) return jpegOf(turnedPixels(smaller(placed), orientation));
  return { bytes: pngOfPixels(turnedPixels(placed, orientation)), contentType: 'image/png' };
};

type RiffChunk = Readonly<{ type: string; body: Buffer; whole: Buffer }>;

const riffChunks = (bytes: Buffer): readonly RiffChunk[] => {
  const chunks: RiffChunk[] = [];
  for (let at = 0; at + 8 <= bytes.length;) {
    const length = bytes.readUInt32LE(at + 4);
    const end = at + 8 + length + (length & 1);
    chunks.push({
      type: bytes.toString('latin1', at, at + 4),
      body: bytes.subarray(at + 8, at + 8 + length),
      whole: bytes.subarray(at, end),
    });
    at = end;
  }
  return chunks;
};

/** A file of its own: the size of the frame, that it may have an alpha channel, and its chunks. */
const fileOfFrame = (frame: Buffer): Buffer => {
  const head = Buffer.alloc(30);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(22 + frame.length - 16, 4);
  head.write('WEBPVP8X', 8, 'latin1');
  head.writeUInt32LE(10, 16);
  head[20] = 0x10;
  frame.copy(head, 24, 6, 12);
  return Buffer.concat([head, frame.subarray(16)]);
};

const onCanvas = (
  frame: Pixels,
  canvas: PictureSize,
  { left, top }: Readonly<{ left: number; top: number }>,
): Pixels => {
  const data = new Uint8ClampedArray(canvas.width * canvas.height * 4);
  const width = Math.min(frame.width, canvas.width - left);
  for (let y = 0; y < Math.min(frame.height, canvas.height - top); y++)
    data.set(
      frame.data.subarray(y * frame.width * 4, (y * frame.width + Math.max(width, 0)) * 4),
      ((top + y) * canvas.width + left) * 4,
    );
  return { data, ...canvas };
};

const orientationOfJpeg = (image: Uint8Array): number => {
  const bytes = Buffer.from(image.buffer, image.byteOffset, image.byteLength);
  for (let at = 2; at + 4 <= bytes.length && bytes[at] === 0xff;) {
    const marker = bytes[at + 1];
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (marker === 0xda) return 1;
    const end = at + 2 + bytes.readUInt16BE(at + 2);
    const orientation = marker === 0xe1 ? orientationOf(bytes.subarray(at + 4, end)) : 1;
    if (orientation !== 1) return orientation;
    at = end;
  }
  return 1;
};

const ofTurnedJpeg: Convert = async (bytes) => {
  const pixels = isDrawable(pictureSize(bytes, 'image/jpeg')) ? await decoded('jpeg', bytes) : undefined;
  return pixels === undefined ? undefined : jpegOf(turnedPixels(smaller(pixels), orientationOfJpeg(bytes)));
};

const smaller = ({ data, width, height }: Pixels): Pixels => {
  if (width * height <= PHOTO_PIXELS_MAX) return { data, width, height };
  const half = { width: width >> 1, height: height >> 1 };
  const out = new Uint8ClampedArray(half.width * half.height * 4);
  for (let y = 0, to = 0; y < half.height; y++)
    for (let from = 2 * y * width * 4, column = 0; column < half.width; column++, from += 8)
      for (let channel = from; channel < from + 4; channel++)
        out[to++] =
          ((data[channel] ?? 0) +
            (data[channel + 4] ?? 0) +
            (data[channel + width * 4] ?? 0) +
            (data[channel + width * 4 + 4] ?? 0)) /
          4;
  return { data: out, ...half };
};

/** Exif 2.3, 4.6.4 A: where the first row and the first column of the stored picture are seen. */
const turnedPixels = ({ data, width, height }: Pixels, orientation: number): Pixels => {
  if (orientation === 1) return { data, width, height };
  const isSwapped = orientation > 4;
  const [toWidth, toHeight] = isSwapped ? [height, width] : [width, height];
  const fromRight = [2, 3, 7, 8].includes(orientation);
  const fromBottom = [3, 4, 6, 7].includes(orientation);
  const from = new Uint32Array(data.buffer, data.byteOffset, width * height);
  const to = new Uint32Array(from.length);
  for (let y = 0; y < toHeight; y++)
    for (let x = 0; x < toWidth; x++) {
      const [column, row] = isSwapped ? [y, x] : [x, y];
      to[y * toWidth + x] =
        from[(fromBottom ? height - 1 - row : row) * width + (fromRight ? width - 1 - column : column)] ?? 0;
    }
  return { data: new Uint8ClampedArray(to.buffer), width: toWidth, height: toHeight };
};

const isOpaque = ({ data }: Pixels): boolean => {
  for (let at = 3; at < data.length; at += 4) if (data[at] !== 255) return false;
  return true;
};

/** Each row as its difference from the one above. */
const pngOfPixels = (pixels: Pixels): Buffer => {
  const { data, width, height } = pixels;
  const channels = isOpaque(pixels) ? 3 : 4;
  const stride = width * channels + 1;
  const rows = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    let to = y * stride;
    rows[to++] = y === 0 ? 0 : 2;
    for (let from = y * width * 4; from < (y + 1) * width * 4; from += 4)
      for (let channel = 0; channel < channels; channel++)
        rows[to++] = (data[from + channel] ?? 0) - (y === 0 ? 0 : (data[from - width * 4 + channel] ?? 0));
  }
  return pngOf({ width, height, bitDepth: 8, colorType: channels === 4 ? 6 : 2, rows });
};

const { resolve } = createRequire(import.meta.url);
const compiled = once((file: string) => new WebAssembly.Module(readFileSync(resolve(file))));

type Codec = Readonly<{ init: (module: WebAssembly.Module) => Promise<void> }>;
type Decoder = Codec & Readonly<{ default: (bytes: Uint8Array) => Promise<Pixels> }>;
type Encoder = Codec & Readonly<{ default: (pixels: Pixels, options: typeof JPEG_OPTIONS) => Promise<ArrayBuffer> }>;

/**
 * Each picture has a decoder of its own: one that met a damaged file is not used again, and its memory is given back.
 */
const decoded = async (kind: 'webp' | 'jpeg', bytes: Buffer): Promise<Pixels | undefined> => {
  const decoder = (await (kind === 'webp'
    ? import('@jsquash/webp/decode.js')
    : import('@jsquash/jpeg/decode.js'))) as object as Decoder;
  await decoder.init(
    compiled(kind === 'webp' ? '@jsquash/webp/codec/dec/webp_dec.wasm' : '@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm'),
  );
  return decoder.default(bytes).catch(() => undefined);
};

const jpegOf = async (pixels: Pixels): Promise<LoadedImage> => {
  const encoder = (await import('@jsquash/jpeg/encode.js')) as object as Encoder;
  await encoder.init(compiled('@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm'));
  return { bytes: new Uint8Array(await encoder.default(pixels, JPEG_OPTIONS)), contentType: 'image/jpeg' };
};

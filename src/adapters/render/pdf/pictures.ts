/** Pictures of a document, judged from their own bytes before a library reads them: a corrupt one is an error that names its place. */
import type { LoadedImage } from '../../../domain/ports/generator.js';
import type { Picture } from './context.js';
import type { Fonts } from './fonts.js';
import { jpegSize } from './jpeg.js';
import { checkedPng, PNG_SIGNATURE, type CheckedPng } from './picture-files.js';
import { cleanSvg } from './svg.js';
import { unusable } from './unusable.js';

export type Pictures = Readonly<{
  picture: (src: string, field: string) => Picture | undefined;
  /** The files that were asked for, by the names that nodes show them under. */
  files: () => ReadonlyMap<string, Uint8Array>;
}>;

export type PictureSource = Readonly<{ images: ReadonlyMap<string, LoadedImage>; fonts: Fonts; locale: string }>;

/** `images` by their addresses; data URIs are read here. Throws GENERATION_FAILED for a picture that cannot be drawn. */
export const openPictures = ({ images, fonts, locale }: PictureSource): Pictures => {
  const known = new Map<string, Picture | undefined>();
  const files = new Map<string, Uint8Array>();
  const open = (src: string, field: string): Picture | undefined => {
    const loaded = images.get(src) ?? ofDataUri(src);
    if (loaded === undefined) return undefined;
    const bytes = Buffer.from(loaded.bytes.buffer, loaded.bytes.byteOffset, loaded.bytes.byteLength);
    switch (loaded.contentType) {
      case 'image/svg+xml':
        return { kind: 'svg', ...cleanSvg(bytes.toString('utf8'), { field, fonts, locale }) };
      case 'image/gif':
      case 'image/webp':
        throw unusable(
          field,
          `is ${loaded.contentType === 'image/gif' ? 'a GIF' : 'a WebP'}, which a PDF cannot hold; it must be a PNG, a JPEG or an SVG`,
        );
      case 'font/ttf':
      case 'font/otf':
        throw unusable(field, 'is a font; it must be a PNG, a JPEG or an SVG');
      case 'image/png':
      case 'image/jpeg': {
        const file = loaded.contentType === 'image/png' ? checkedPng(bytes, field) : checkedJpeg(bytes);
        if (file === undefined)
          throw unusable(field, `is not a whole ${loaded.contentType === 'image/png' ? 'PNG' : 'JPEG'} file; save it anew`);
        const name = `picture${files.size + 1}`;
        files.set(name, file.bytes);
        return { kind: 'file', name, width: file.width * POINTS_PER_PIXEL, height: file.height * POINTS_PER_PIXEL };
      }
    }
  };
  return {
    picture: (src, field) => {
      if (!known.has(src)) known.set(src, open(src, field));
      return known.get(src);
    },
    files: () => files,
  };
};

export const POINTS_PER_PIXEL = 0.75;

const checkedJpeg = (bytes: Buffer): CheckedPng | undefined => {
  const size = jpegSize(bytes);
  return size === undefined ? undefined : { bytes, ...size };
};

const DATA_URI = /^data:(image\/[a-z+]+)((?:;[a-z0-9=-]+)*?)(;base64)?,/i;

const ofDataUri = (src: string): LoadedImage | undefined => {
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

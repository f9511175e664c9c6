/**
 * Sizes of pictures in pixels, read from their headers (PNG, JPEG, GIF, WebP). A PNG that was drawn from an SVG has
 * more dots than the drawing is large, so that it is sharp; a note in the file says how large it is shown.
 */

/** In pixels. */
export type PictureSize = Readonly<{ width: number; height: number }>;

/**
 * In: bytes and the media type that their signature shows. Out: the size, or undefined where the header is damaged or
 * of no such picture.
 */
export const pictureSize = (bytes: Buffer, contentType: string): PictureSize | undefined => {
  const size = readerOf(contentType)?.(bytes);
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
};

const readerOf = (contentType: string): ((bytes: Buffer) => PictureSize | undefined) | undefined => {
  switch (contentType) {
    case 'image/png':
      return pngSize;
    case 'image/jpeg':
      return jpegSize;
    case 'image/gif':
      return gifSize;
    case 'image/webp':
      return webpSize;
  }
  return undefined;
};

/** ISO/IEC 15948, section 11.2.2: the header chunk stands first. */
const pngSize = (bytes: Buffer): PictureSize | undefined =>
  bytes.length >= 24 && bytes.readUInt32BE(0) === 0x89504e47 && bytes.toString('latin1', 12, 16) === 'IHDR'
    ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
    : undefined;

/** GIF89a specification, section 18. */
const gifSize = (bytes: Buffer): PictureSize | undefined =>
  bytes.length >= 10 && /^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6))
    ? { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
    : undefined;

/** ITU-T T.81, annex B: the frame header follows segments that each state their length. */
const jpegSize = (bytes: Buffer): PictureSize | undefined => {
  for (let at = 2; at + 9 <= bytes.length;) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1]!;
    // Any number of fill bytes may stand before a marker.
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (isFrame(marker)) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    const alone = marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);
    if (alone) at += 2;
    else at += 2 + Math.max(2, bytes.readUInt16BE(at + 2));
  }
  return undefined;
};

/** SOF0 to SOF15; among their numbers stand three of other kinds of segment. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

/** RFC 9649, section 2: simple lossy, simple lossless, extended. */
const webpSize = (bytes: Buffer): PictureSize | undefined => {
  if (bytes.length < 30 || bytes.toString('latin1', 8, 12) !== 'WEBP') return undefined;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X':
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  }
  return undefined;
};

/** The size of an SVG that says none. */
const UNSAID: PictureSize = { width: 300, height: 150 };

/** Dots for each pixel of the drawing: sharp on the screens of today. */
const DENSITY = 2;
/** A small drawing may be shown larger than it says it is. */
const LONG_SIDE_MIN = 600;
const LONG_SIDE_MAX = 2_400;

/** A drawing's own size, and the size of its PNG; both sides are at least one dot. */
export type Drawing = Readonly<{ natural: PictureSize; width: number; height: number }>;

/** In: the size that an SVG says it has. */
export const drawingOf = (natural: PictureSize = UNSAID): Drawing => {
  const long = Math.max(natural.width, natural.height);
  const scale = Math.min(Math.max(long * DENSITY, LONG_SIDE_MIN), LONG_SIDE_MAX) / long;
  const dots = (px: number): number => Math.max(1, Math.round(px * scale));
  return { natural, width: dots(natural.width), height: dots(natural.height) };
};

/** The text chunk (W3C PNG, 11.3.3.2) that says so. */
export const drawnNote = ({ natural: { width, height } }: Drawing): string => `Source\0SVG ${width}x${height}`;

/** The chunk stands behind the header, which is as long in every PNG. */
const NOTE_AT = 33;
const NOTE = /^tEXtSource\0SVG ([1-9]\d{0,5})x([1-9]\d{0,5})/;

/**
 * In: the bytes of a picture, of which the beginning is enough, and their type. Out: how large it is shown by itself.
 */
export const shownSize = (bytes: Buffer, contentType: string): PictureSize | undefined => {
  const size = pictureSize(bytes, contentType);
  if (size === undefined || contentType !== 'image/png') return size;
  const [, width, height] = NOTE.exec(bytes.toString('latin1', NOTE_AT + 4, NOTE_AT + 4 + 40)) ?? [];
  return width === undefined || height === undefined ? size : { width: Number(width), height: Number(height) };
};

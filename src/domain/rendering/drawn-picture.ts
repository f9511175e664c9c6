/** PNG pictures that were drawn of an SVG: more dots than the drawing is large, so that it is sharp; the file says how large it is. */
import { pictureSize, type PictureSize } from './pictures.js';

/** The size of an SVG that says none. */
const UNSAID: PictureSize = { width: 300, height: 150 };

/** Dots for each pixel of the drawing: sharp on the screens of today. */
const DENSITY = 2;
/** A small drawing may be shown larger than it says it is. */
const LONG_SIDE_MIN = 600;
const LONG_SIDE_MAX = 2_400;

/** What is to be drawn: the drawing's own size, and that of its PNG; both sides are at least one dot. */
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

/** In: the bytes of a picture, of which the beginning is enough, and their type. Out: how large it is shown by itself. */
export const shownSize = (bytes: Buffer, contentType: string): PictureSize | undefined => {
  const size = pictureSize(bytes, contentType);
  if (size === undefined || contentType !== 'image/png') return size;
  const [, width, height] = NOTE.exec(bytes.toString('latin1', NOTE_AT + 4, NOTE_AT + 4 + 40)) ?? [];
  return width === undefined || height === undefined ? size : { width: Number(width), height: Number(height) };
};

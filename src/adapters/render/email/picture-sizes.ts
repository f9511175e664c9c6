/** Width and height of a picture in a mail: what the template leaves open is taken from the picture itself, so that nothing moves while it loads, and Outlook shows it as large as it is. */
import { shownSize } from '../../../domain/rendering/drawn-picture.js';
import type { PictureSize } from '../../../domain/rendering/pictures.js';
import { assetAddress, safeImage } from '../../../domain/rendering/urls.js';

/** Sizes of pictures of the gallery by the id of the asset; `unknown` where they are not looked up yet, and room is kept for them. */
export type PictureSizes = ReadonlyMap<string, PictureSize> | 'unknown';

const DATA = /^data:(image\/(?:png|jpe?g|gif|webp));base64,/i;
/** Before the frame of a JPEG may stand notes of a camera. */
const HEADER_CHARS_MAX = 256 * 1024;

/** A header may say any size; room is kept for so many digits. */
const SIDE_MAX = 99_999;
const ROOM: PictureSize = { width: SIDE_MAX, height: SIDE_MAX };

const sizeOf = (address: string, sizes: PictureSizes): PictureSize | undefined => {
  const asset = assetAddress(address);
  if (asset !== undefined) return sizes === 'unknown' ? ROOM : sizes.get(asset.slice('asset:'.length));
  const safe = safeImage(address);
  const [start, type] = DATA.exec(safe ?? '') ?? [];
  if (safe === undefined || start === undefined || type === undefined) return undefined;
  const bytes = Buffer.from(safe.slice(start.length, start.length + HEADER_CHARS_MAX), 'base64');
  return shownSize(bytes, type.toLowerCase() === 'image/jpg' ? 'image/jpeg' : type.toLowerCase());
};

/** True where an address tells the size of its picture: those that the reader fetches do not. */
export const tellsSize = (address: string): boolean => assetAddress(address) !== undefined || DATA.test(safeImage(address) ?? '');

/** What the template says: '' for nothing, pixels, or a share of the place. */
export type Given = Readonly<{ width: string; height: string; /** Pixels of the place. */ placePx: number }>;

/** The attributes, as far as there is something to say in them; `address` as written or brought by a value. */
export const sizeAttributes = (address: string, given: Given, sizes: PictureSizes): string => {
  const { width, height } = sidesOf(given, sizeOf(address, sizes));
  return (width === '' ? '' : ` width="${width}"`) + (height === '' ? '' : ` height="${height}"`);
};

/** Both sides in whole pixels where the picture is known, at its own proportions and within its place. */
const sidesOf = ({ width, height, placePx }: Given, natural: PictureSize | undefined): Readonly<{ width: string; height: string }> => {
  if (natural === undefined) return { width, height };
  if (natural === ROOM) return { width: String(SIDE_MAX), height: String(SIDE_MAX) };
  const ratio = natural.height / natural.width;
  const wide = pixelsOf(width, placePx);
  const high = pixelsOf(height, undefined);
  const w = wide ?? (high === undefined ? natural.width : high / ratio);
  // Outlook goes by the attributes alone, and lets a picture push the mail apart.
  const scale = Math.min(1, placePx / w);
  return { width: whole(w * scale), height: whole((high ?? w * ratio) * scale) };
};

const whole = (px: number): string => String(Math.min(SIDE_MAX, Math.max(1, Math.round(px))));

const pixelsOf = (text: string, placePx: number | undefined): number | undefined => {
  const [, number, percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  if (number === undefined) return undefined;
  return percent === '' ? Number(number) : placePx === undefined ? undefined : (placePx * Number(number)) / 100;
};

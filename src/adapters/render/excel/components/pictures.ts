/** Pictures of a sheet, in rows of their own, at one side or in the middle of the columns. */
import { sideOf, type Direction } from '../../../../domain/rendering/direction.js';
import type { HorizontalAlign, ExpandedImage } from '../../../../domain/rendering/expand/expanded.js';
import {
  ROW_POINTS_MAX,
  type Prepared,
  type Drawing,
  type Sheet,
  type ComponentDrawer,
  type ComponentContext,
  LINK_CHARS_MAX,
} from '../sheet.js';
import { pointsOf } from '../text.js';
import { DomainError } from '../../../../domain/core/errors.js';
import { shownSize } from '../../../../domain/rendering/pictures.js';
import { dataUriImage } from '../../pdf/picture-files.js';
import { safeLink } from '../../../../domain/rendering/addresses.js';

type PictureSize = Readonly<{ kind: 'png' | 'jpeg' | 'gif'; /** Pixels. */ width: number; height: number }>;

/** Lengths in points. */
type PictureBlock = Readonly<{
  width: number;
  height: number;
  align: HorizontalAlign | undefined;
  /** Direction of the sheet. */ direction: Direction;
}> &
  Pick<Extract<Drawing, { kind: 'picture' }>, 'bytes' | 'extension' | 'alt' | 'href'>;

const POINTS_AROUND = 3;

const POINTS_PER_PIXEL = 0.75;
const SIDE_POINTS = { min: 1, max: 4_000 } as const;

export const image: ComponentDrawer<'image'> = (component, context) => {
  const bytes = bytesOf(component, context);
  const picture = pictureSize(bytes);
  if (picture === undefined) throw unusablePicture(component, 'is damaged or cut off; save it anew');
  const shown =
    shownSize(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), `image/${picture.kind}`) ?? picture;
  const size = sizeOf(component, shown, context.pageWidth);
  const href = component.href === undefined ? undefined : safeLink(component.href);
  const link = href !== undefined && isFollowed(href) ? href : undefined;
  return pictureBlock({
    bytes,
    extension: picture.kind,
    alt: component.alt,
    href: link,
    align: component.align,
    direction: context.direction,
    ...size,
  });
};

const isFollowed = (href: string): boolean => !href.startsWith('#') && href.length <= LINK_CHARS_MAX;

const bytesOf = (component: ExpandedImage, { images }: ComponentContext): Uint8Array => {
  const loaded = images.get(component.src) ?? dataUriImage(component.src);
  if (loaded === undefined) throw unusablePicture(component, 'was not loaded');
  return known(component, loaded.bytes);
};

/** The bytes say what a picture is, not the label that came with it. */
const known = (component: ExpandedImage, bytes: Uint8Array): Uint8Array => {
  const start = Buffer.from(bytes.subarray(0, 512)).toString('latin1');
  if (/^RIFF....WEBP/s.test(start))
    throw unusablePicture(component, 'is a WebP that cannot be read; save it anew, or as PNG or JPEG');
  if (/^(?:\xef\xbb\xbf)?\s*<(?:\?xml|!DOCTYPE svg|!--|svg)/i.test(start))
    throw unusablePicture(component, 'is an SVG that cannot be drawn; save it as PNG');
  if (!/^(?:\x89PNG|\xff\xd8\xff|GIF8)/.test(start))
    throw unusablePicture(component, 'is of no known kind; a workbook shows PNG, JPEG, GIF, WebP and SVG');
  return bytes;
};

const unusablePicture = ({ field }: ExpandedImage, what: string): DomainError => {
  const at = `${field}.props.src`;
  return new DomainError('GENERATION_FAILED', `the picture at ${at} ${what}`, {
    errors: [{ field: at, message: `the picture ${what}` }],
    relatedInfo: { field: at },
  });
};

/** Sizes that the author leaves open follow from the shape of the picture. Nothing is wider than the page. */
const sizeOf = (
  { width: points, widthPercent, height }: ExpandedImage,
  picture: Pick<PictureSize, 'width' | 'height'>,
  pageWidth: number,
): Readonly<{ width: number; height: number }> => {
  const width = points ?? (widthPercent === undefined ? undefined : (pageWidth * widthPercent) / 100);
  const ratio = picture.height / picture.width;
  const natural = Math.min(picture.width * POINTS_PER_PIXEL, pageWidth);
  const wide = width ?? (height === undefined ? natural : height / ratio);
  return { width: bounded(wide), height: bounded(height ?? wide * ratio) };
};

const bounded = (points: number): number => Math.min(SIDE_POINTS.max, Math.max(SIDE_POINTS.min, points));

const pictureBlock = ({ width, height, align, direction, ...picture }: PictureBlock): Prepared => {
  const rows = Math.ceil((height + 2 * POINTS_AROUND) / ROW_POINTS_MAX);
  return {
    kind: 'block',
    rows,
    widths: [],
    draw: async (sheet) => {
      const place = {
        row: sheet.nextRow(),
        ...cornerOf(sideOf(align ?? 'start', direction) === sideOf('end', direction) ? 'end' : align, width, sheet),
        width,
        height,
      };
      sheet.draw({ kind: 'picture', place, ...picture });
      sheet.skip(rows, (height + 2 * POINTS_AROUND) / rows);
    },
  };
};

/**
 * Measured from the sheet's first column, which stands at the right where the sheet runs from there. An offset never
 * reaches beyond its column: readers cut it there.
 */
const cornerOf = (
  align: HorizontalAlign | undefined,
  width: number,
  sheet: Sheet,
): Readonly<{ column: number; offset: number }> => {
  const columns = sheet.widths.map(pointsOf);
  const room = columns.reduce((sum, points) => sum + points, 0) - width;
  let offset = Math.max(0, align === 'center' ? room / 2 : align === 'end' ? room : 0);
  for (const [column, points] of columns.entries()) {
    if (offset < points) return { column, offset };
    offset -= points;
  }
  return { column: 0, offset: 0 };
};

/**
 * The kind and size of a picture from its first bytes, without decoding it; undefined for other files and for those
 * that are cut off.
 */
const pictureSize = (bytes: Uint8Array): PictureSize | undefined => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = png(view) ?? gif(view) ?? jpeg(view);
  return found === undefined || found.width === 0 || found.height === 0 ? undefined : found;
};

/** All chunks up to IEND must be there; their content is left to the reader's program. */
const png = (view: DataView): PictureSize | undefined => {
  if (
    view.byteLength < 45 ||
    view.getUint32(0) !== 0x89504e47 ||
    view.getUint32(4) !== 0x0d0a1a0a ||
    view.getUint32(12) !== 0x49484452
  )
    return undefined;
  let at = 8;
  while (at + 12 <= view.byteLength) {
    if (view.getUint32(at + 4) === 0x49454e44)
      return { kind: 'png', width: view.getUint32(16), height: view.getUint32(20) };
    at += 12 + view.getUint32(at);
  }
  return undefined;
};

/** The trailer must be there; some programs write zeros after it. */
const gif = (view: DataView): PictureSize | undefined => {
  if (view.byteLength < 14 || view.getUint32(0) !== 0x47494638) return undefined;
  let end = view.byteLength - 1;
  while (end > 13 && view.getUint8(end) === 0) end -= 1;
  return view.getUint8(end) === 0x3b
    ? { kind: 'gif', width: view.getUint16(6, true), height: view.getUint16(8, true) }
    : undefined;
};

/**
 * The frame header (SOF0 to SOF15 without DHT, JPG and DAC) holds the size; the scan after it must come to its end
 * (EOI).
 */
const jpeg = (view: DataView): PictureSize | undefined => {
  if (view.byteLength < 4 || view.getUint16(0) !== 0xffd8) return undefined;
  let size: PictureSize | undefined;
  let at = 2;
  while (at + 9 <= view.byteLength && view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1);
    if (marker === 0xda) return endsScan(view, at) ? size : undefined;
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc) {
      size = { kind: 'jpeg', width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    }
    at += marker === 0xff ? 1 : isBare(marker) ? 2 : 2 + view.getUint16(at + 2);
  }
  return undefined;
};

const isBare = (marker: number): boolean => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);

const endsScan = (view: DataView, from: number): boolean => {
  for (let at = view.byteLength - 2; at > from; at--) if (view.getUint16(at) === 0xffd9) return true;
  return false;
};

/** Pictures: PNG, JPEG and GIF as they are, in a row of their own height. */
import { DomainError } from '../../../../domain/core/errors.js';
import type { ExpandedImage } from '../../../../domain/rendering/expand/expanded.js';
import { safeLink } from '../../../../domain/rendering/urls.js';
import type { ComponentDrawer, Surroundings } from '../component.js';
import { pictureSize, type PictureSize } from './image-size.js';
import { LINK_CHARS_MAX } from '../sheet.js';
import { pictureBlock } from './pictures.js';

const POINTS_PER_PIXEL = 0.75;
const SIDE_POINTS = { min: 1, max: 4_000 } as const;

export const image: ComponentDrawer<'image'> = (component, surroundings) => {
  const bytes = bytesOf(component, surroundings);
  const picture = pictureSize(bytes);
  if (picture === undefined) throw unusable(component, 'is damaged or cut off; save it anew');
  const size = sizeOf(component, picture, surroundings.pageWidth);
  const href = component.href === undefined ? undefined : safeLink(component.href);
  const link = href !== undefined && isFollowed(href) ? href : undefined;
  return pictureBlock({
    bytes,
    extension: picture.kind,
    alt: component.alt,
    href: link,
    align: component.align,
    direction: surroundings.direction,
    ...size,
  });
};

const isFollowed = (href: string): boolean => !href.startsWith('#') && href.length <= LINK_CHARS_MAX;

const bytesOf = (component: ExpandedImage, { images }: Surroundings): Uint8Array => {
  const { src } = component;
  const data = /^data:[^,]*;base64,/i.exec(src);
  if (data !== null) return known(component, Buffer.from(src.slice(data[0].length), 'base64'));
  const loaded = images.get(src);
  if (loaded === undefined) throw unusable(component, 'was not loaded');
  return known(component, loaded.bytes);
};

/** The bytes say what a picture is, not the label that came with it. */
const known = (component: ExpandedImage, bytes: Uint8Array): Uint8Array => {
  const start = Buffer.from(bytes.subarray(0, 512)).toString('latin1');
  if (/^RIFF....WEBP/s.test(start)) throw unusable(component, 'is a WebP; a workbook shows PNG, JPEG and GIF');
  if (/^(?:\xef\xbb\xbf)?\s*<(?:\?xml|!DOCTYPE svg|!--|svg)/i.test(start))
    throw unusable(component, 'is an SVG; a workbook shows PNG, JPEG and GIF');
  if (!/^(?:\x89PNG|\xff\xd8\xff|GIF8)/.test(start)) throw unusable(component, 'is of no known kind; a workbook shows PNG, JPEG and GIF');
  return bytes;
};

const unusable = ({ field }: ExpandedImage, what: string): DomainError => {
  const at = `${field}.props.src`;
  return new DomainError('GENERATION_FAILED', `the picture at ${at} ${what}`, {
    errors: [{ field: at, message: `the picture ${what}` }],
    relatedInfo: { field: at },
  });
};

/** What the author leaves open follows from the picture's own shape; nothing is wider than the page. */
const sizeOf = (
  { width: points, widthPercent, height }: ExpandedImage,
  picture: PictureSize,
  pageWidth: number,
): Readonly<{ width: number; height: number }> => {
  const width = points ?? (widthPercent === undefined ? undefined : (pageWidth * widthPercent) / 100);
  const ratio = picture.height / picture.width;
  const natural = Math.min(picture.width * POINTS_PER_PIXEL, pageWidth);
  const wide = width ?? (height === undefined ? natural : height / ratio);
  return { width: bounded(wide), height: bounded(height ?? wide * ratio) };
};

const bounded = (points: number): number => Math.min(SIDE_POINTS.max, Math.max(SIDE_POINTS.min, points));

/** A picture with its size settled: never larger than the room, for pdfmake drops what fits on no sheet. */
import { LINE_SHARE_MAX, lineFactor, type Context, type Picture } from './context.js';
import { documentLink } from './rich-style.js';
import type { Alignment, ImageNode, LinePicture, Run, SvgNode, Tag } from './nodes.js';

export type PictureWish = Readonly<{
  width: number | undefined;
  height: number | undefined;
  alt: string;
  link: string | undefined;
  align: Alignment;
  radius?: number;
}>;

export const pictureNode = (picture: Picture, wish: PictureWish, context: Context): ImageNode | SvgNode => {
  const { width, height } = fitted(picture, wish, context);
  const link = documentLink(wish.link, context);
  const block = {
    width,
    height,
    alignment: wish.align,
    field: context.field,
    ...(wish.radius === undefined || wish.radius === 0 ? {} : { radius: Math.min(wish.radius, width / 2, height / 2) }),
    ...(link === undefined ? {} : { link }),
    ...(wish.alt === ''
      ? {}
      : {
          tag: {
            type: 'Figure' as const,
            parent: link === undefined ? context.tag : ({ type: 'Link', parent: context.tag } satisfies Tag),
            alt: wish.alt,
          },
        }),
  };
  return picture.kind === 'svg' ? { svg: picture.svg, options: silent, ...block } : { image: picture.name, ...block };
};

/**
 * A drawing that is not quite as its format says is drawn as far as it goes; the library would say so on the console.
 */
export const silent = { warningCallback: () => {} };

/** Letters that have no size, but room between them. */
const ROOM_SIZE_PT = 0.01;
const ROOM = '\u00a0\u00a0';
/** The part below the baseline, as a share of the font size. */
const BELOW = 0.25;

/** The picture as a word of a line, which becomes as high as it needs; `run` is how a word in its place looks. */
export const pictureRun = (picture: LinePicture, run: Run, { fontSize, lineHeight }: Context): Run => ({
  ...run,
  text: ROOM,
  picture,
  fontSize: ROOM_SIZE_PT,
  characterSpacing: picture.width,
  lineHeight: lineFactor((picture.height + fontSize * (BELOW + Math.max(lineHeight - 1.172, 0) / 2)) / ROOM_SIZE_PT),
  preserveLeadingSpaces: true,
  preserveTrailingSpaces: true,
});

/** The picture with its size among words; undefined where it is higher than so many of their lines. */
export const linePictureOf = (
  picture: Picture,
  wish: Omit<PictureWish, 'align'>,
  { linesMax, ...context }: Context & Readonly<{ linesMax: number }>,
): LinePicture | undefined => {
  const { width, height } = fitted(picture, wish, context);
  if (height > Math.min(linesMax * context.fontSize * context.lineHeight, context.height * LINE_SHARE_MAX))
    return undefined;
  const common = { width, height, alt: wish.alt, field: context.field };
  return picture.kind === 'svg'
    ? { ...common, kind: 'svg', svg: picture.svg }
    : { ...common, kind: 'file', name: picture.name };
};

const fitted = (
  picture: Picture,
  wish: Omit<PictureWish, 'align'>,
  context: Pick<Context, 'width' | 'height'>,
): Readonly<{ width: number; height: number }> => {
  const ratio = picture.width / picture.height;
  const width = wish.width ?? (wish.height === undefined ? picture.width : wish.height * ratio);
  const height = wish.height ?? width / ratio;
  const factor = Math.min(1, context.width / width, context.height / height);
  return { width: Math.max(width * factor, 0.1), height: Math.max(height * factor, 0.1) };
};

/** A picture with its size settled: never larger than the room, for pdfmake drops what fits on no sheet. */
import type { Context, Picture } from './context.js';
import { documentLink } from './rich-style.js';
import type { Alignment, ImageNode, SvgNode, Tag } from './nodes.js';

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
  const link = documentLink(wish.link);
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

/** A drawing that is not quite as its format says is drawn as far as it goes; the library would say so on the console. */
const silent = { warningCallback: () => {} };

const fitted = (picture: Picture, wish: PictureWish, context: Context): Readonly<{ width: number; height: number }> => {
  const ratio = picture.width / picture.height;
  const width = wish.width ?? (wish.height === undefined ? picture.width : wish.height * ratio);
  const height = wish.height ?? width / ratio;
  const factor = Math.min(1, context.width / width, context.height / height);
  return { width: Math.max(width * factor, 0.1), height: Math.max(height * factor, 0.1) };
};

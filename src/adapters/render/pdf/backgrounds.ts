/** What is drawn on a sheet before its text: a colour, a picture, a watermark. */
import type { ExpandedPage } from '../../../domain/rendering/expand/expanded.js';
import { WATERMARK_CHARS_MAX } from '../../../domain/rendering/document-content.js';
import { firstChars } from '../../../shared/text.js';
import { pdfColor } from '../colors.js';
import { chartText, textElement } from './chart-text.js';
import type { Context, Picture } from './context.js';
import type { Node, StackNode } from './nodes.js';
import { silent } from './picture-node.js';
import { unusable } from './unusable.js';

type Size = Readonly<{ width: number; height: number }>;

/** The nodes of a sheet; everything is opened at once, so that a picture that cannot be drawn is said before any sheet. */
export const openBackground = (page: ExpandedPage, size: Size, context: Context): ((isFirst: boolean) => StackNode | null) => {
  const color = pdfColor(page.backgroundColor);
  const { backgroundImage } = page;
  const picture = backgroundImage === undefined ? undefined : context.picture(backgroundImage.src, backgroundImage.field);
  if (backgroundImage !== undefined && picture === undefined) throw unusable(backgroundImage.field, 'was not loaded');
  const watermark = watermarkOf(page, size, context);
  return (isFirst) => {
    const nodes: Node[] = [];
    if (color !== undefined && color !== '#ffffff')
      nodes.push({ canvas: [{ type: 'rect', x: 0, y: 0, w: size.width, h: size.height, color }], absolutePosition: { x: 0, y: 0 } });
    if (backgroundImage !== undefined && picture !== undefined && (isFirst || backgroundImage.sheets === 'all'))
      nodes.push(placed(picture, backgroundImage, size));
    if (watermark !== undefined) nodes.push(placed(watermark, { fit: 'contain', field: page.watermark?.field ?? '' }, size));
    return nodes.length === 0 ? null : { stack: nodes };
  };
};

type Placing = Readonly<{ fit: 'cover' | 'contain'; field: string }>;

/** In the middle of the sheet, as large as it covers all of it or is seen as a whole. */
const placed = (picture: Picture, { fit, field }: Placing, sheet: Size): Node => {
  const [across, down] = [sheet.width / picture.width, sheet.height / picture.height];
  const factor = fit === 'cover' ? Math.max(across, down) : Math.min(across, down);
  const [width, height] = [picture.width * factor, picture.height * factor];
  const block = { width, height, field, absolutePosition: { x: (sheet.width - width) / 2, y: (sheet.height - height) / 2 } };
  return picture.kind === 'svg' ? { svg: picture.svg, options: silent, ...block } : { image: picture.name, ...block };
};

/** Of the diagonal of the sheet, and of its shorter side. */
const LENGTH_SHARE = 0.75;
const SIZE_SHARE = 0.22;

/** From the lower left to the upper right. */
const watermarkOf = ({ watermark }: ExpandedPage, { width, height }: Size, context: Context): Picture | undefined => {
  if (watermark === undefined) return undefined;
  const texts = chartText({ ...context, direction: 'ltr' }, watermark.field);
  const text = firstChars(watermark.text.replace(/\s+/g, ' '), WATERMARK_CHARS_MAX);
  const size = Math.min(
    (Math.hypot(width, height) * LENGTH_SHARE) / texts.line(text, true).widthAt(1),
    Math.min(width, height) * SIZE_SHARE,
  );
  const rotate = (Math.atan2(height, width) * -180) / Math.PI;
  // The capitals, seven tenths of the size, stand in the middle.
  const drawn = textElement(
    text,
    width / 2 + Math.sin((-rotate * Math.PI) / 180) * size * 0.35,
    height / 2 + Math.cos((-rotate * Math.PI) / 180) * size * 0.35,
    { size, color: pdfColor(watermark.color) ?? '#e5e7eb', anchor: 'middle', bold: true, rotate },
    texts,
  );
  return {
    kind: 'svg',
    svg: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">${drawn}</svg>`,
    width,
    height,
  };
};

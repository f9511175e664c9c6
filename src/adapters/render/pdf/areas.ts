/** Where a block came to lie that is drawn behind its content: one area for each sheet that it reaches. */
import type { Area } from './nodes.js';

/** A part of a block lower than this at the foot of a sheet holds no text, only its padding. */
const SLIVER_PT = 12;

export type Start = Readonly<{ page: number; x: number; y: number; width: number }>;
type PageArea = Area & Readonly<{ page: number }>;

export const areasOf = (
  start: Start,
  endPage: number,
  endY: number,
  sheet: (page: number) => { top: number; bottom: number },
): readonly PageArea[] => {
  const areas: { page: number; y: number; height: number }[] = [];
  for (let page = start.page; page <= endPage; page++) {
    const { top, bottom } = sheet(page);
    const y = page === start.page ? start.y : top;
    const height = (page === endPage ? endY : bottom) - y;
    if (height > 0 && (page === endPage || page !== start.page || height > SLIVER_PT)) areas.push({ page, y, height });
  }
  return areas.map((area, at) => ({ ...area, x: start.x, width: start.width, isFirst: at === 0, isLast: at === areas.length - 1 }));
};

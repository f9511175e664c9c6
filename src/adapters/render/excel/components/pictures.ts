/** A picture in rows of its own, at the left, in the middle or at the right of the sheet's columns. */
import { sideOf, type Direction } from '../../../../domain/rendering/direction.js';
import type { HorizontalAlign } from '../../../../domain/rendering/expand/expanded.js';
import type { Prepared } from '../component.js';
import type { Drawing, Sheet } from '../sheet.js';
import { pointsOf } from '../text.js';

/** Excel knows no higher row. */
const ROW_POINTS_MAX = 409;
const POINTS_AROUND = 3;

/** Lengths in points. */
export type PictureBlock = Readonly<{
  width: number;
  height: number;
  align: HorizontalAlign | undefined;
  /** Of the sheet. */ direction: Direction;
}> &
  Pick<Extract<Drawing, { kind: 'picture' }>, 'bytes' | 'extension' | 'alt' | 'href'>;

export const pictureBlock = ({ width, height, align, direction, ...picture }: PictureBlock): Prepared => {
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

/** Measured from the sheet's first column, which stands at the right where the sheet runs from there. An offset never reaches beyond its column: readers cut it there. */
const cornerOf = (align: HorizontalAlign | undefined, width: number, sheet: Sheet): Readonly<{ column: number; offset: number }> => {
  const columns = sheet.widths.map(pointsOf);
  const room = columns.reduce((sum, points) => sum + points, 0) - width;
  let offset = Math.max(0, align === 'center' ? room / 2 : align === 'end' ? room : 0);
  for (const [column, points] of columns.entries()) {
    if (offset < points) return { column, offset };
    offset -= points;
  }
  return { column: 0, offset: 0 };
};

/** Components that hold others: container and columns. */
import type { Expanded, ExpandedColumns, ExpandedContainer } from '../../../../domain/rendering/expand/expanded.js';
import type { Width } from '../../../../domain/rendering/boxes.js';
import { pdfColor } from '../../colors.js';
import { blockSide, colorsOn, dashOf, startOf, type Context } from '../context.js';
import type { Area, Margin, Node, Vector } from '../nodes.js';
import { pointsOf } from './blocks.js';

type DrawAll = (components: readonly Expanded[], context: Context) => readonly Node[];

export const container = (component: ExpandedContainer, outer: Context, drawAll: DrawAll): readonly Node[] => {
  const { children, padding, align, border } = component;
  const line = border === undefined || border.style === 'none' ? 0 : border.width;
  const width = pointsOf(component.width, outer.width);
  const context: Context = {
    ...outer,
    width: Math.max(width - padding.left - padding.right - 2 * line, 1),
    ...colorsOn(component, outer),
    align: align === 'start' ? outer.align : align,
  };
  const inner: Node = {
    stack: drawAll(children, context),
    margin: [padding.left + line, padding.top + line, padding.right + line, padding.bottom + line],
  };
  const behind = frameOf(component, line);
  return [
    {
      stack: [inner],
      ...(behind === undefined ? {} : { behind }),
      margin: besides(outer.width - width, blockSide(align, outer)),
    },
  ];
};

const besides = (free: number, align: 'left' | 'center' | 'right'): Margin => {
  switch (align) {
    case 'left':
      return [0, 0, free, 0];
    case 'center':
      return [free / 2, 0, free / 2, 0];
    case 'right':
      return [free, 0, 0, 0];
  }
};

const BROKEN_PADDING_PT = 8;

/** Background and border; over several sheets each part has its own frame. The line lies inside the area. */
const frameOf = (
  { backgroundColor, border, borderRadius = 0, padding }: ExpandedContainer,
  line: number,
): ((area: Area) => readonly Vector[]) | undefined => {
  const color = pdfColor(backgroundColor);
  const lineColor = line > 0 ? pdfColor(border?.color) : undefined;
  if (color === undefined && lineColor === undefined) return undefined;
  const dash = border === undefined ? undefined : dashOf(border);
  return ({ x, y: from, width, height: reach, isFirst, isLast }) => {
    // Where it goes on, a sheet's text begins and ends at its margin; the frame keeps a little away from it.
    const y = isFirst ? from : from - Math.min(padding.top, BROKEN_PADDING_PT);
    const height = from + reach - y + (isLast ? 0 : Math.min(padding.bottom, BROKEN_PADDING_PT));
    const rect = (inset: number): Readonly<{ type: 'rect'; x: number; y: number; w: number; h: number; r?: number }> => {
      const w = Math.max(width - 2 * inset, 0.1);
      const h = Math.max(height - 2 * inset, 0.1);
      const r = Math.min(Math.max(borderRadius - inset, 0), w / 2, h / 2);
      return { type: 'rect', x: x + inset, y: y + inset, w, h, ...(r > 0 ? { r } : {}) };
    };
    return [
      ...(color === undefined ? [] : [{ ...rect(lineColor === undefined ? 0 : line / 2), color }]),
      ...(lineColor === undefined ? [] : [{ ...rect(line / 2), lineColor, lineWidth: line, ...(dash === undefined ? {} : { dash }) }]),
    ];
  };
};

export const columns = ({ children, widths, gap, verticalAlign }: ExpandedColumns, context: Context, drawAll: DrawAll): readonly Node[] => {
  if (children.length === 0) return [];
  const rooms = roomsOf(
    children.map((_, at) => widths[at] ?? 'rest'),
    gap,
    context.width,
  );
  const made = children.map((child, at): Node => {
    const width = rooms[at] ?? 1;
    return {
      stack: drawAll([child], { ...context, width }),
      width,
      ...(verticalAlign === 'top' ? {} : { verticalAlignment: verticalAlign }),
    };
  });
  return [{ columns: startOf(context) === 'left' ? made : made.toReversed(), columnGap: gap }];
};

const COLUMN_MIN_PT = 12;

/** Points of each column; the gaps come out of the room, and columns that ask for too much shrink in proportion. */
export const roomsOf = (widths: readonly Width[], gap: number, width: number): readonly number[] => {
  const room = Math.max(width - gap * (widths.length - 1), COLUMN_MIN_PT * widths.length);
  const wanted = widths.map((wish) =>
    typeof wish === 'string' ? undefined : 'points' in wish ? wish.points : (room * wish.percent) / 100,
  );
  const sum = wanted.reduce<number>((total, points) => total + (points ?? 0), 0);
  const open = wanted.filter((points) => points === undefined).length;
  const factor = sum > room - open * COLUMN_MIN_PT ? Math.max(room - open * COLUMN_MIN_PT, 0) / sum : 1;
  const rest = open === 0 ? 0 : (room - sum * factor) / open;
  return wanted.map((points) => (points === undefined ? rest : points * factor));
};

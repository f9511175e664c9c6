/**
 * Components of text and room (rich text, list, timeline, divider, spacer) and those that hold others (container,
 * columns).
 */
import {
  type ExpandedTimeline,
  type TimelineItem,
  progressOf,
  type Progress,
  type ExpandedDivider,
  type ExpandedList,
  type ExpandedRichText,
  type ExpandedSpacer,
  type Expanded,
  type ExpandedColumns,
  type ExpandedContainer,
} from '../../../../domain/rendering/expand/expanded.js';
import { pdfColor } from '../../colors.js';
import {
  indented,
  LINE_COLOR,
  mutedColor,
  NO_PAPER,
  narrower,
  startOf,
  type ComponentRenderer,
  type Context,
  dashOf,
  inDirection,
  lookOf,
  withStyle,
  blockSide,
  colorsOn,
} from '../context.js';
import type { Area, Node, Tag, Vector, Margin } from '../nodes.js';
import { plainNodes, listNodes, richNodes, LIST_INDENT_PT, markersOf } from '../rich.js';
import type { Box, Width } from '../../../../domain/rendering/lengths.js';

type Rail = Readonly<{
  side: 'left' | 'right';
  color: string;
  progress: Progress;
  isLastItem: boolean;
  /** Middle of the first line, from its top. */ middle: number;
}>;

type DrawAll = (components: readonly Expanded[], context: Context) => readonly Node[];

const RAIL_PT = 18;
const DOT_PT = 3.5;

const BROKEN_PADDING_PT = 8;

const COLUMN_MIN_PT = 12;

export const richText: ComponentRenderer<ExpandedRichText> = ({ html, style, padding }, outer) => {
  const context = inDirection(style.direction, html, withStyle(style, narrower(padding.left + padding.right, outer)));
  return padded(richNodes(html, context), padding, pdfColor(style.backgroundColor));
};

/** Blocks with room around them, and a background where there is one. */
export const padded = (
  nodes: readonly Node[],
  { top, right, bottom, left }: Box,
  background: string | undefined,
): readonly Node[] => {
  if (nodes.length === 0) return [];
  if (top + right + bottom + left === 0 && background === undefined) return nodes;
  const inner: Node = { stack: nodes, margin: [left, top, right, bottom] };
  return background === undefined
    ? [inner]
    : [
        {
          stack: [inner],
          behind: ({ x, y, width, height }) => [{ type: 'rect', x, y, w: width, h: height, color: background }],
        },
      ];
};

export const list: ComponentRenderer<ExpandedList> = ({ items, html, ordered, style, padding }, outer) => {
  const text = items?.join(' ') ?? html ?? '';
  const context = inDirection(style.direction, text, withStyle(style, narrower(padding.left + padding.right, outer)));
  const nodes = items === undefined ? listNodes(html ?? '', ordered, context) : [listOf(items, ordered, context)];
  return padded(nodes, padding, pdfColor(style.backgroundColor));
};

const listOf = (items: readonly string[], ordered: boolean, context: Context): Node => {
  const listTag: Tag = { type: 'L', parent: context.tag };
  const nodes = items.map((item): Node => {
    const tag: Tag = { type: 'LBody', parent: { type: 'LI', parent: listTag } };
    const inner = richNodes(item, { ...narrower(LIST_INDENT_PT, context), tag });
    return { stack: inner.length === 0 ? [{ text: '' }] : inner, margin: [0, 0, 0, context.fontSize * 0.2] };
  });
  const look = { ...lookOf(context), ...markersOf(context) };
  return ordered ? { ol: nodes, ...look } : { ul: nodes, ...look };
};

export const timeline: ComponentRenderer<ExpandedTimeline> = ({ items, color }, context) => {
  const list: Tag = { type: 'L', parent: context.tag };
  const dot = pdfColor(color) ?? context.color;
  return items.map((item, at): Node => {
    const isLast = at === items.length - 1;
    const tag: Tag = { type: 'LBody', parent: { type: 'LI', parent: list } };
    const inner = { ...narrower(RAIL_PT, context), tag };
    return {
      stack: [{ stack: itemNodes(item, inner), margin: indented(RAIL_PT, context, [0, isLast ? 0 : 10]) }],
      behind: (area) =>
        rail(area, {
          color: dot,
          side: startOf(context),
          progress: progressOf(item.status),
          isLastItem: isLast,
          middle: (context.fontSize * context.lineHeight) / 2,
        }),
    };
  });
};

/**
 * The dot stands beside the first line of the title: full where the step is done, a ring around it where it is under
 * way, hollow where it is to come.
 */
const rail = (
  { x, y, width, height, isFirst, isLast: endsHere }: Area,
  { side, color, progress, isLastItem, middle }: Rail,
): readonly Vector[] => {
  const centre = side === 'left' ? x + DOT_PT + 1 : x + width - DOT_PT - 1;
  const top = isFirst ? y + middle + DOT_PT + 2 : y;
  const bottom = endsHere ? y + height + middle - DOT_PT - 2 : y + height;
  const line: readonly Vector[] =
    isLastItem || bottom <= top
      ? []
      : [{ type: 'line', x1: centre, y1: top, x2: centre, y2: bottom, lineWidth: 1, lineColor: LINE_COLOR }];
  if (!isFirst) return line;
  const dot = { type: 'ellipse' as const, x: centre, y: y + middle };
  const isHollow = progress === 'pending';
  return [
    ...line,
    ...(progress === 'current'
      ? [{ ...dot, r1: DOT_PT + 1.7, r2: DOT_PT + 1.7, lineColor: color, lineWidth: 0.8 }]
      : []),
    {
      ...dot,
      r1: isHollow ? DOT_PT - 0.5 : DOT_PT,
      r2: isHollow ? DOT_PT - 0.5 : DOT_PT,
      ...(isHollow ? { color: '#ffffff', lineColor: color, lineWidth: 1 } : { color }),
    },
  ];
};

/** A status is left out if a dot shows it. */
const itemNodes = ({ title, description, date, status }: TimelineItem, context: Context): readonly Node[] => {
  const small: Context = { ...context, fontSize: context.fontSize * 0.85, color: mutedColor(context) };
  const about = [date, progressOf(status) === 'other' ? status : ''].filter((text) => text.trim() !== '').join(' · ');
  return [
    ...plainNodes(title, context, { bold: true }),
    ...plainNodes(about, small),
    ...plainNodes(description, { ...context, fontSize: context.fontSize * 0.95 }),
  ];
};

export const divider: ComponentRenderer<ExpandedDivider> = ({ color, thickness, style, width, margin }, context) => {
  const room = Math.max(context.width - margin.left - margin.right, 0);
  const length = pointsOf(width, room);
  const dash = dashOf({ style, width: thickness });
  return [
    {
      canvas: [
        {
          type: 'line',
          x1: 0,
          y1: thickness / 2,
          x2: length,
          y2: thickness / 2,
          lineWidth: thickness,
          lineColor: pdfColor(color) ?? LINE_COLOR,
          ...(dash === undefined ? {} : { dash }),
        },
      ],
      alignment: 'center',
      margin: [margin.left, margin.top, margin.right, margin.bottom + thickness / 2],
    },
  ];
};

/** Room ends at the foot of a sheet: the rest is not taken to the next one. */
export const spacer: ComponentRenderer<ExpandedSpacer> = ({ height }, context) => [
  { stack: [], margin: [0, 0, 0, Math.min(height, context.height)] },
];

export const container = (component: ExpandedContainer, outer: Context, drawAll: DrawAll): readonly Node[] => {
  const { children, padding, align, border } = component;
  const line = border === undefined || border.style === 'none' ? 0 : border.width;
  const width = pointsOf(component.width, outer.width);
  const context: Context = {
    ...outer,
    width: Math.max(width - padding.left - padding.right - 2 * line, 1),
    ...colorsOn(component, outer),
    align: align === 'start' ? outer.align : align,
    paperAt: component.backgroundColor === undefined && line === 0 ? outer.paperAt : NO_PAPER,
  };
  const inner: Node = {
    stack: drawAll(children, context),
    ...(component.minHeight === undefined ? {} : { minHeight: Math.min(component.minHeight, outer.height) }),
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
    // On the sheets where the block goes on, its text begins and ends at the margin; the frame keeps a little away from
    // it.
    const y = isFirst ? from : from - Math.min(padding.top, BROKEN_PADDING_PT);
    const height = from + reach - y + (isLast ? 0 : Math.min(padding.bottom, BROKEN_PADDING_PT));
    const rect = (
      inset: number,
    ): Readonly<{ type: 'rect'; x: number; y: number; w: number; h: number; r?: number }> => {
      const w = Math.max(width - 2 * inset, 0.1);
      const h = Math.max(height - 2 * inset, 0.1);
      const r = Math.min(Math.max(borderRadius - inset, 0), w / 2, h / 2);
      return { type: 'rect', x: x + inset, y: y + inset, w, h, ...(r > 0 ? { r } : {}) };
    };
    return [
      ...(color === undefined ? [] : [{ ...rect(lineColor === undefined ? 0 : line / 2), color }]),
      ...(lineColor === undefined
        ? []
        : [{ ...rect(line / 2), lineColor, lineWidth: line, ...(dash === undefined ? {} : { dash }) }]),
    ];
  };
};

export const columns = (
  { children, widths, gap, verticalAlign }: ExpandedColumns,
  context: Context,
  drawAll: DrawAll,
): readonly Node[] => {
  if (children.length === 0) return [];
  const rooms = roomsOf(
    children.map((_, at) => widths[at] ?? 'rest'),
    gap,
    context.width,
  );
  const made = children.map((child, at): Node => {
    const width = rooms[at] ?? 1;
    const [first, last] = startOf(context) === 'left' ? [0, children.length - 1] : [children.length - 1, 0];
    const paperAt = { left: context.paperAt.left && at === first, right: context.paperAt.right && at === last };
    return {
      stack: drawAll([child], { ...context, width, paperAt }),
      width,
      ...(verticalAlign === 'top' ? {} : { verticalAlignment: verticalAlign }),
    };
  });
  return [{ columns: startOf(context) === 'left' ? made : made.toReversed(), columnGap: gap }];
};

/** Points of each column; the gaps come out of the room, and columns that ask for too much shrink in proportion. */
const roomsOf = (widths: readonly Width[], gap: number, width: number): readonly number[] => {
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

/** Points of a width; what is left of the room where it is not said. */
const pointsOf = (width: Width | undefined, room: number): number => {
  if (width === undefined || typeof width === 'string') return room;
  return Math.min('points' in width ? width.points : (room * width.percent) / 100, room);
};

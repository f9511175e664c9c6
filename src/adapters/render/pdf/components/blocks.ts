/** Components of text and of room: rich text, list, divider, spacer. */
import type { ExpandedDivider, ExpandedList, ExpandedRichText, ExpandedSpacer } from '../../../../domain/rendering/expand/expanded.js';
import type { Box, Width } from '../../../../domain/rendering/boxes.js';
import { pdfColor } from '../../colors.js';
import { dashOf, inDirection, LINE_COLOR, lookOf, narrower, withStyle, type ComponentRenderer, type Context } from '../context.js';
import { listNodes, richNodes } from '../rich.js';
import { LIST_INDENT_PT, markersOf } from '../rich-lists.js';
import type { Node, Tag } from '../nodes.js';

export const richText: ComponentRenderer<ExpandedRichText> = ({ html, style, padding }, outer) => {
  const context = inDirection(style.direction, html, withStyle(style, narrower(padding.left + padding.right, outer)));
  return padded(richNodes(html, context), padding, pdfColor(style.backgroundColor));
};

/** Blocks with room around them, and a background where there is one. */
export const padded = (nodes: readonly Node[], { top, right, bottom, left }: Box, background: string | undefined): readonly Node[] => {
  if (nodes.length === 0) return [];
  if (top + right + bottom + left === 0 && background === undefined) return nodes;
  const inner: Node = { stack: nodes, margin: [left, top, right, bottom] };
  return background === undefined
    ? [inner]
    : [{ stack: [inner], behind: ({ x, y, width, height }) => [{ type: 'rect', x, y, w: width, h: height, color: background }] }];
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

/** Points of a width; what is left of the room where it is not said. */
export const pointsOf = (width: Width | undefined, room: number): number => {
  if (width === undefined || typeof width === 'string') return room;
  return Math.min('points' in width ? width.points : (room * width.percent) / 100, room);
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

/** Room that would reach over the foot of a sheet ends there, so it is never taken to the next one. */
export const spacer: ComponentRenderer<ExpandedSpacer> = ({ height }, context) => [
  { stack: [], margin: [0, 0, 0, Math.min(height, context.height)] },
];

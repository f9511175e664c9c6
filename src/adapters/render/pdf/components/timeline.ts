/** A timeline: one event below the other, a dot and a line beside them. */
import type { ExpandedTimeline, TimelineItem } from '../../../../domain/rendering/expand/expanded.js';
import { progressOf, type Progress } from '../../../../domain/rendering/expand/timeline-progress.js';
import { pdfColor } from '../../colors.js';
import { indented, LINE_COLOR, mutedColor, narrower, startOf, type ComponentRenderer, type Context } from '../context.js';
import type { Area, Node, Tag, Vector } from '../nodes.js';
import { plainNodes } from '../rich.js';

const RAIL_PT = 18;
const DOT_PT = 3.5;

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

type Rail = Readonly<{
  side: 'left' | 'right';
  color: string;
  progress: Progress;
  isLastItem: boolean;
  /** Of the first line, from its top. */ middle: number;
}>;

/** The dot stands beside the first line of the title: full where the step is done, a ring around it where it is under way, hollow where it is to come. */
const rail = (
  { x, y, width, height, isFirst, isLast: endsHere }: Area,
  { side, color, progress, isLastItem, middle }: Rail,
): readonly Vector[] => {
  const centre = side === 'left' ? x + DOT_PT + 1 : x + width - DOT_PT - 1;
  const top = isFirst ? y + middle + DOT_PT + 2 : y;
  const bottom = endsHere ? y + height + middle - DOT_PT - 2 : y + height;
  const line: readonly Vector[] =
    isLastItem || bottom <= top ? [] : [{ type: 'line', x1: centre, y1: top, x2: centre, y2: bottom, lineWidth: 1, lineColor: LINE_COLOR }];
  if (!isFirst) return line;
  const dot = { type: 'ellipse' as const, x: centre, y: y + middle };
  const isHollow = progress === 'pending';
  return [
    ...line,
    ...(progress === 'current' ? [{ ...dot, r1: DOT_PT + 1.7, r2: DOT_PT + 1.7, lineColor: color, lineWidth: 0.8 }] : []),
    {
      ...dot,
      r1: isHollow ? DOT_PT - 0.5 : DOT_PT,
      r2: isHollow ? DOT_PT - 0.5 : DOT_PT,
      ...(isHollow ? { color: '#ffffff', lineColor: color, lineWidth: 1 } : { color }),
    },
  ];
};

/** A status that a dot stands for is not said again. */
const itemNodes = ({ title, description, date, status }: TimelineItem, context: Context): readonly Node[] => {
  const small: Context = { ...context, fontSize: context.fontSize * 0.85, color: mutedColor(context) };
  const about = [date, progressOf(status) === 'other' ? status : ''].filter((text) => text.trim() !== '').join(' · ');
  return [
    ...plainNodes(title, context, true),
    ...plainNodes(about, small),
    ...plainNodes(description, { ...context, fontSize: context.fontSize * 0.95 }),
  ];
};

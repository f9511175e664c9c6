/** The context in which a component renderer draws: room, direction, look of the text, fonts and pictures. */
import {
  directionOfText,
  sideOf,
  type Direction,
  type Side,
  type TextDirection,
} from '../../../domain/rendering/direction.js';
import type { HorizontalAlign, Html, TextStyle } from '../../../domain/rendering/expand/expanded.js';
import type { Border } from '../../../domain/rendering/lengths.js';
import { isDark, isPale, pdfColor } from '../colors.js';
import type { Fonts, Refuses } from './fonts.js';
import type { Dash, Margin, Node, Tag } from './nodes.js';

/** A picture as it can be drawn: an embedded file by its name, or a cleaned drawing. Natural size in points. */
export type Picture = Readonly<
  { width: number; height: number } & ({ kind: 'file'; name: string } | { kind: 'svg'; svg: string })
>;

export type Context = Readonly<{
  fontSize: number;
  /** As in CSS: of the font size. */
  lineHeight: number;
  color: string;
  linkColor: string;
  align: HorizontalAlign;
  /** Direction of blocks: list marks, columns and bars stand at its start. */
  direction: Direction;
  /** Direction of paragraphs; `auto`: each follows its own first letter. */
  textDirection: TextDirection;
  /** Room for a block, in points: what is left of the sheet's width, and the height that a whole sheet has. */
  width: number;
  height: number;
  /** The element that the blocks are part of. */
  tag: Tag | undefined;
  /**
   * Undefined for an address that the caller did not load. `field` names the place in messages. Throws
   * GENERATION_FAILED for a corrupt picture.
   */
  picture: (src: string, field: string) => Picture | undefined;
  /** The sides of the room beside which nothing but paper is, so that the white around a code may hang out of it. */
  paperAt: Readonly<{ left: boolean; right: boolean }>;
  /** The names of anchors that links of the document lead to. */
  linked: Set<string>;
  /** The place in the template, for messages. */
  field: string;
  fonts: Fonts;
  /** The family that is tried first. */
  family: string | undefined;
  /** True if a character that no font has is refused. */
  refuses: Refuses;
  /** BCP 47 */
  locale: string;
}>;

/** Beside what stands on a colour or in a frame is no paper. */
export const NO_PAPER: Context['paperAt'] = { left: false, right: false };

export type ComponentRenderer<Component> = (component: Component, context: Context) => readonly Node[];

/** Below a component, unless it is the last one. */
export const GAP_PT = 10;
export const LINE_COLOR = '#d1d5db';
const MUTED_COLOR = '#6b7280';
const MUTED_LIGHT_COLOR = '#d1d5db';
/** Colour of side notes: grey, and light grey where the text is light, because that stands on something dark. */
export const mutedColor = ({ color }: Pick<Context, 'color'>): string =>
  isPale(color) ? MUTED_LIGHT_COLOR : MUTED_COLOR;

/** A line must fit on a sheet beside the header of a table; one that does not would be dropped. */
export const LINE_SHARE_MAX = 0.3;
/** Share of a sheet that a cell may take: its content must fit below the header, which is repeated on each sheet. */
export const CELL_SHARE_MAX = 0.6;

/** Never so large that a line fills the sheet. */
export const boundedSize = (fontSize: number, { height, lineHeight }: Pick<Context, 'height' | 'lineHeight'>): number =>
  Math.min(fontSize, (height * LINE_SHARE_MAX) / Math.max(lineHeight, 1));

/** Roboto's line is 1.172 of its size; pdfmake takes a factor of that, templates one of the size. */
export const lineFactor = (lineHeight: number): number => lineHeight / 1.172;

/** The context of what stands inside a component with a style of its own. */
export const withStyle = (style: TextStyle, context: Context): Context => ({
  ...context,
  fontSize: boundedSize(style.fontSize ?? context.fontSize, {
    ...context,
    lineHeight: Math.min(style.lineHeight ?? context.lineHeight, 2),
  }),
  lineHeight: style.lineHeight ?? context.lineHeight,
  ...colorsOn(style, context),
  align: style.align ?? context.align,
  family: (style.fontFamily === undefined ? undefined : context.fonts.familyOf(style.fontFamily)) ?? context.family,
});

export const TEXT_COLOR = '#1f2937';
export const LINK_COLOR = '#1d4ed8';
const WHITE = '#ffffff';

/**
 * In: what an author says of a box, and what stands around it. Out: the colours in it: readable on its background where
 * no colour is named.
 */
export const colorsOn = (
  { color, backgroundColor }: Readonly<{ color?: string; backgroundColor?: string }>,
  { color: around, linkColor }: Pick<Context, 'color' | 'linkColor'>,
): Pick<Context, 'color' | 'linkColor'> => {
  const given = pdfColor(color);
  if (given !== undefined) return { color: given, linkColor };
  const behind = pdfColor(backgroundColor);
  if (behind === undefined) return { color: around, linkColor };
  if (isDark(behind)) return { color: WHITE, linkColor: WHITE };
  return around === WHITE ? { color: TEXT_COLOR, linkColor: LINK_COLOR } : { color: around, linkColor };
};

/** The side on which lines begin. */
export const startOf = ({ direction }: Context): 'left' | 'right' => sideOf('start', direction);

/** The side at which a picture or a line stands in its room. */
export const blockAlign = (context: Context): 'left' | 'center' | 'right' => blockSide(context.align, context);

/** The alignment of a component, else that of the text around. */
export const alignIn = (context: Context, align: HorizontalAlign | undefined): 'left' | 'center' | 'right' =>
  blockSide(align ?? context.align, context);

export const blockSide = (align: HorizontalAlign, context: Context): 'left' | 'center' | 'right' =>
  align === 'justify' ? startOf(context) : sideOf(align, context.direction);

/** A margin with room at the start of lines and nothing elsewhere. */
export const indented = (room: number, context: Context, [top, bottom]: readonly [number, number] = [0, 0]): Margin =>
  startOf(context) === 'left' ? [room, top, 0, bottom] : [0, top, room, bottom];

/** Paragraphs run as their page does; those of a page from the left each as its own first letter. */
export const directed = (direction: Direction): Readonly<{ direction: Direction; textDirection: TextDirection }> => ({
  direction,
  textDirection: direction === 'rtl' ? 'rtl' : 'auto',
});

/** The context in the direction that a style names; `auto` is settled by what stands in the block. */
export const inDirection = (direction: TextDirection | undefined, html: Html, context: Context): Context => {
  if (direction === undefined) return context;
  if (direction !== 'auto') return { ...context, direction, textDirection: direction };
  const own = directionOfText(html.replace(/<[^>]*>|&[a-z0-9#]{1,8};/gi, ''));
  return { ...context, direction: own ?? context.direction, textDirection: 'auto' };
};

/** The context of a block that is narrower than its surroundings by `points`. */
export const narrower = (points: number, context: Context): Context => ({
  ...context,
  width: Math.max(context.width - points, 1),
});

/** Inline styles that hold for all text of a block. */
export const lookOf = ({
  fontSize,
  lineHeight,
  color,
  align,
  direction,
  height,
}: Context): Readonly<{ fontSize: number; lineHeight: number; color: string; alignment: Side }> => ({
  fontSize,
  lineHeight: lineFactor(Math.max(Math.min(lineHeight, (height * LINE_SHARE_MAX) / fontSize), 0.5)),
  color,
  alignment: sideOf(align, direction),
});

export const dashOf = ({ style, width }: Pick<Border, 'style' | 'width'>): Dash | undefined => {
  switch (style) {
    case 'dashed':
      return { length: Math.max(width * 3, 2), space: Math.max(width * 2, 2) };
    case 'dotted':
      return { length: Math.max(width, 0.5), space: Math.max(width * 1.5, 1) };
    case 'solid':
    case 'none':
      return undefined;
  }
};

/** The node with room below it, beside its own margin. */
export const spaced = <N extends Node>(node: N, below: number): N => {
  if (below === 0) return node;
  const [left, top, right, bottom] = node.margin ?? [0, 0, 0, 0];
  const margin: Margin = [left, top, right, bottom + below];
  return { ...node, margin };
};

/** Headers and footers: on each sheet with its numbers, on the first one of their own where the template has them. */
import type { ExpandedMargin, ExpandedPage, ExpandedQrCode } from '../../../domain/rendering/expand/expanded.js';
import { qrCode } from './components/media.js';
import { alignIn, type Context } from './context.js';
import type { Node, SectionNode, StackNode, Tag } from './nodes.js';
import { richNodes } from './rich.js';

/** Share of a sheet that a header or a footer may take at most, or no room would be left for the text. */
export const BAND_SHARE_MAX = 0.35;

const FONT_SIZE_PT = 9;
const LINE_HEIGHT = 1.3;
const COLOR = '#6b7280';

/** Screen readers skip headers and footers: they would read them in the middle of a sentence. */
const unread: Tag = { type: 'Artifact', parent: undefined };

export type Bands = Readonly<{
  /** To be called with the number of each sheet when it is begun; answers whether it is the first. */
  begin: (sheet: number) => boolean;
  sample: SectionNode['bands'];
  header: SectionNode['header'];
  footer: SectionNode['footer'];
}>;

type Sides = Readonly<{ left: number; right: number }>;
type MakeBand = (sheet: number, sheets: number) => StackNode;

/** Every picture in them is asked for here: what is asked for while sheets are drawn comes too late. */
export const openBands = (page: ExpandedPage, context: Context, sides: Sides): Bands => {
  const make = (margin: ExpandedMargin | undefined, edge: 'top' | 'bottom'): MakeBand | undefined =>
    margin === undefined ? undefined : bandOf(margin, edge, context, sides);
  const usual = [make(page.header, 'top'), make(page.footer, 'bottom')] as const;
  const first = [make(page.firstHeader, 'top') ?? usual[0], make(page.firstFooter, 'bottom') ?? usual[1]] as const;
  const samples = [usual, first].map(([header, footer]) => [header?.(1, 1), footer?.(1, 1)] as const);
  let firstSheet: number | undefined;
  const drawn = (at: 0 | 1): SectionNode['header'] =>
    usual[at] === undefined && first[at] === undefined
      ? null
      : (sheet, sheets) => (sheet === firstSheet ? first : usual)[at]?.(sheet, sheets) ?? null;
  return {
    begin: (sheet) => (firstSheet ??= sheet) === sheet,
    sample: (isFirst) => samples[isFirst ? 1 : 0] ?? [undefined, undefined],
    header: drawn(0),
    footer: drawn(1),
  };
};

const CODE_GAP_PT = 12;
const CODE_SHARE_MAX = 0.5;

const bandOf = (
  { html, height, align, code }: ExpandedMargin,
  edge: 'top' | 'bottom',
  context: Context,
  { left, right }: Sides,
): MakeBand => {
  const inner: Context = {
    ...context,
    fontSize: FONT_SIZE_PT,
    lineHeight: LINE_HEIGHT,
    color: COLOR,
    align,
    tag: unread,
  };
  const around = code === undefined ? (text: Text) => text(inner) : besideCode(code, inner);
  return (sheet, sheets) => {
    const numbered = html
      .replace(/\{\{\s*pageNumber\s*\}\}/g, String(sheet))
      .replace(/\{\{\s*totalPages\s*\}\}/g, String(sheets));
    return { stack: around((room) => richNodes(numbered, room)), margin: [left, 0, right, 0], band: { height, edge } };
  };
};

type Text = (context: Context) => readonly Node[];

/**
 * A code stands at the end of the line, or at the start where it says so; in the middle it stands below the text. Drawn
 * anew for each sheet.
 */
const besideCode =
  (code: ExpandedQrCode, context: Context) =>
  (text: Text): readonly Node[] => {
    const side = alignIn(context, code.align ?? 'end');
    const drawn = qrCode({ ...code, align: side }, { ...context, width: context.width * CODE_SHARE_MAX });
    if (side === 'center') return [...text(context), ...drawn];
    const width = widthOf(drawn);
    const words = {
      stack: text({ ...context, width: Math.max(context.width - width - CODE_GAP_PT, 1) }),
      width: '*' as const,
      verticalAlignment: 'middle' as const,
    };
    const picture = { stack: drawn, width, verticalAlignment: 'middle' as const };
    return [{ columns: side === 'left' ? [picture, words] : [words, picture], columnGap: CODE_GAP_PT }];
  };

const widthOf = (nodes: readonly Node[]): number =>
  Math.max(0, ...nodes.map((node) => (typeof node.width === 'number' ? node.width : 0)));

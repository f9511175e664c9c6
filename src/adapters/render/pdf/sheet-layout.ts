/** The layout of pdfmake with margins that grow to their headers and footers, and heights that are told before anything is laid out. */
import { BAND_SHARE_MAX } from './bands.js';
import { openHeights, type LinesOf } from './heights.js';
import { showNextInlines } from './next-inlines.js';
import type { Node, SectionNode, StackNode } from './nodes.js';
import {
  LayoutBuilder,
  SvgMeasure,
  tableLayouts,
  type BrokenLine,
  type LaidPage,
  type Measured,
  type MeasuredList,
} from './pdfmake-internals.js';

/** Sums of points differ in their last digits. */
export const TOLERANCE_PT = 0.01;
/** Printers leave 4 to 5 mm of the paper white. */
const EDGE_PT = (5 * 72) / 25.4;
/** Between a header or a footer that needs more than its margin and the text. */
const BAND_GAP_PT = 4;

export class SheetLayout extends LayoutBuilder<Node> {
  protected readonly heights = openHeights((node, width, most) => this.linesOf(node, width, most));
  private readonly showNext = showNextInlines();
  /** The margins of the first sheet of a section, until its text begins. */
  private firstSheet: LaidPage['pageMargins'] | undefined;

  constructor() {
    super({ width: 1, height: 1 }, { left: 0, top: 0, right: 0, bottom: 0 }, new SvgMeasure());
    this.registerTableLayouts(tableLayouts);
  }

  /** Margins grow to what stands in them; where the first sheet has more there, it has less room for the text. */
  override processSection(section: SectionNode): void {
    const [header, footer] = this.bandHeights(section, false);
    const [firstHeader, firstFooter] = this.bandHeights(section, true);
    const { pageMargins } = section;
    const margins = { ...pageMargins, top: Math.max(pageMargins.top, header), bottom: Math.max(pageMargins.bottom, footer) };
    this.firstSheet = { ...margins, top: Math.max(margins.top, firstHeader), bottom: Math.max(margins.bottom, firstFooter) };
    super.processSection({ ...section, pageMargins: margins });
  }

  private bandHeights({ bands, pageSize }: SectionNode, isFirst: boolean): readonly [header: number, footer: number] {
    const [header, footer] = bands(isFirst).map((band) => {
      if (band === undefined) return 0;
      const measured = this.docMeasure.measureBlock(this.docPreprocessor.preprocessBlock({ ...band }));
      const content = this.heights.heightOf(measured, pageSize.width);
      const height = content === 0 ? 0 : content + EDGE_PT + BAND_GAP_PT + TOLERANCE_PT;
      return Math.min(Math.max(height, band.band?.height ?? 0), pageSize.height * BAND_SHARE_MAX);
    });
    return [header ?? 0, footer ?? 0];
  }

  protected centre(band: Measured & { _margin?: readonly number[] | null; band?: StackNode['band'] }): void {
    const { availableHeight, availableWidth } = this.writer.context();
    const [left = 0, , right = 0] = band._margin ?? [];
    const content = this.heights.heightOf({ ...band, _margin: [left, 0, right, 0] }, availableWidth);
    const room = Math.max(availableHeight - content, 0);
    const fromEdge = Math.max(room / 2, Math.min(EDGE_PT, room));
    band._margin = [left, band.band?.edge === 'bottom' ? room - fromEdge : fromEdge, right, 0];
  }

  protected takeFirstSheet(): void {
    const context = this.writer.context();
    const page = context.getCurrentPage();
    const { firstSheet } = this;
    this.firstSheet = undefined;
    if (firstSheet === undefined || page === null) return;
    context.moveDown(firstSheet.top - context.pageMargins.top);
    context.availableHeight -= firstSheet.bottom - context.pageMargins.bottom;
    page.pageMargins = firstSheet;
  }

  /** pdfmake leaves its room for the marks of a list at the left and places each by its `_minWidth`; here both are moved to the right. */
  protected processFromRight(node: MeasuredList, process: () => void): void {
    const room = node._gapSize.width;
    const context = this.writer.context();
    for (const { listMarker } of node.ul ?? node.ol ?? []) {
      if (listMarker === undefined) continue;
      const [dot] = listMarker.canvas ?? [];
      const [number] = listMarker._inlines ?? [];
      // It would be aligned in the line of its item, which it does not share.
      if (number !== undefined) number.alignment = 'left';
      const width = dot === undefined ? (number?.width ?? 0) - (number?.trailingCut ?? 0) : (dot.w ?? 2 * (dot.r1 ?? 0));
      listMarker._minWidth = width - context.availableWidth;
    }
    context.addMargin(-room, room);
    process();
    this.writer.context().addMargin(room, -room);
  }

  /** Breaks a copy of the text, for breaking takes its words away. */
  private readonly linesOf: LinesOf = (node, width, most) => {
    const inlines = node._inlines ?? [];
    const highest = inlines.reduce((height, inline) => Math.max(height, inline.height), 0);
    const isOneLine = inlines.reduce((sum, inline) => sum + inline.width, 0) <= width && inlines.every(({ lineEnd }) => lineEnd !== true);
    if (isOneLine) return inlines.length === 0 ? [] : [highest];
    const copy = { ...node, _inlines: inlines.map((inline) => ({ ...inline })) } as object as Node;
    const context = this.writer.context();
    const { availableWidth } = context;
    context.availableWidth = width;
    const lines: number[] = [];
    for (let line = this.nextLine(copy); line !== null && lines.length < most; line = this.nextLine(copy)) lines.push(line.getHeight());
    context.availableWidth = availableWidth;
    return lines;
  };

  override buildNextLine(node: Node): BrokenLine | null {
    return this.nextLine(node);
  }

  private nextLine(node: Node): BrokenLine | null {
    this.showNext(node, this.writer.context().availableWidth);
    return super.buildNextLine(node);
  }
}

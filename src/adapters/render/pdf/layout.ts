/**
 * The layout of pdfmake with additions: areas drawn behind blocks, margins that grow to headers and footers, page
 * breaks where a reader expects them, tags on lines, and long texts broken without copying all of their words.
 */
import type { Area, Node, Place, SectionNode, StackNode, Vector } from './nodes.js';
import { SOFT_HYPHEN } from './scripts.js';
import { BAND_SHARE_MAX } from './bands.js';
import {
  openHeights,
  type LinesOf,
  beginsKept,
  breaksBefore,
  isDecoration,
  isKeptWithNext,
  settleWidths,
  ROWS_MIN,
} from './heights.js';
import {
  LayoutBuilder,
  SvgMeasure,
  tableLayouts,
  type BrokenLine,
  type LaidPage,
  type Measured,
  type MeasuredList,
  TableProcessor,
  type MeasuredTable,
} from './pdfmake-internals.js';

type Start = Readonly<{ page: number; x: number; y: number; width: number }>;
/** The area of a block on one of the sheets that it reaches. */
type PageArea = Area & Readonly<{ page: number }>;

type Inline = Readonly<{ width: number; leadingCut?: number; noNewLine?: boolean }>;
type Text = { _inlines?: Inline[] };
type Follows = (isKept: boolean) => number;

/** A part of a block lower than this at the foot of a sheet holds no text, only its padding. */
const SLIVER_PT = 12;

/** A shorter text is left to pdfmake as it is. */
const LONG_FROM = 200;
/** Lines of words that a text must have ready, so that pdfmake ends a line where it would with all words. */
const LINES_AHEAD = 2;

/** Sums of points differ in their last digits. */
const TOLERANCE_PT = 0.01;
/** Printers leave 4 to 5 mm of the paper white. */
const EDGE_PT = (5 * 72) / 25.4;
/** Between a header or a footer that needs more than its margin and the text. */
const BAND_GAP_PT = 4;

class SheetLayout extends LayoutBuilder<Node> {
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
    const margins = {
      ...pageMargins,
      top: Math.max(pageMargins.top, header),
      bottom: Math.max(pageMargins.bottom, footer),
    };
    this.firstSheet = {
      ...margins,
      top: Math.max(margins.top, firstHeader),
      bottom: Math.max(margins.bottom, firstFooter),
    };
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

  /**
   * pdfmake leaves its room for the marks of a list at the left and places each by its `_minWidth`; here both are moved
   * to the right.
   */
  protected processFromRight(node: MeasuredList, process: () => void): void {
    const room = node._gapSize.width;
    const context = this.writer.context();
    for (const { listMarker } of node.ul ?? node.ol ?? []) {
      if (listMarker === undefined) continue;
      const [dot] = listMarker.canvas ?? [];
      const [number] = listMarker._inlines ?? [];
      // It would be aligned in the line of its item, which it does not share.
      if (number !== undefined) number.alignment = 'left';
      const width =
        dot === undefined ? (number?.width ?? 0) - (number?.trailingCut ?? 0) : (dot.w ?? 2 * (dot.r1 ?? 0));
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
    const isOneLine =
      inlines.reduce((sum, inline) => sum + inline.width, 0) <= width &&
      inlines.every(({ lineEnd }) => lineEnd !== true);
    if (isOneLine) return inlines.length === 0 ? [] : [highest];
    const copy = { ...node, _inlines: inlines.map((inline) => ({ ...inline })) } as object as Node;
    const context = this.writer.context();
    const { availableWidth } = context;
    context.availableWidth = width;
    const lines: number[] = [];
    for (let line = this.nextLine(copy); line !== null && lines.length < most; line = this.nextLine(copy))
      lines.push(line.getHeight());
    context.availableWidth = availableWidth;
    return lines;
  };

  override buildNextLine(node: Node): BrokenLine | null {
    return this.nextLine(node);
  }

  private nextLine(node: Node): BrokenLine | null {
    this.showNext(node, this.writer.context().availableWidth);
    makeRoomForHyphens(node);
    const line = super.buildNextLine(node);
    if (line !== null) endAtHyphen(line);
    return line;
  }
}

type Hyphenated = {
  text: string;
  width: number;
  fontSize: number;
  trailingCut?: number;
  font: { widthOfString: (text: string, size: number) => number };
};

const HYPHEN = '-';
const hyphenWidth = ({ font, fontSize }: Hyphenated): number => font.widthOfString(HYPHEN, fontSize);

/**
 * A part of a word that ends with a soft hyphen is wider where the line ends with it: the contrary of the spaces that
 * pdfmake cuts off there.
 */
const makeRoomForHyphens = (node: object): void => {
  for (const inline of ((node as Text)._inlines ?? []) as unknown as Hyphenated[])
    if (inline.text.endsWith(SOFT_HYPHEN) && inline.trailingCut === 0) inline.trailingCut = -hyphenWidth(inline);
};

/** Shows the hyphen of a line that ends within a word. */
const endAtHyphen = (line: BrokenLine): void => {
  const last = line.inlines.at(-1) as Hyphenated | undefined;
  if (last === undefined || (last.trailingCut ?? 0) >= 0) return;
  if (last.text.endsWith(SOFT_HYPHEN) && !line.lastLineInParagraph) {
    last.text = last.text.slice(0, -1) + HYPHEN;
    last.width -= last.trailingCut ?? 0;
    line.inlineWidths -= last.trailingCut ?? 0;
  }
  last.trailingCut = line.trailingCut = 0;
};

/**
 * Shares of a sheet that repeated header rows, and the row kept with them, may take: the rest must hold the highest
 * line or picture of a cell.
 */
const HEADER_SHARE_MAX = 0.3;
const KEPT_SHARE_MAX = 0.8;
/**
 * Share of a sheet up to which rows, or rows that belong together, are kept whole: higher ones break, or they would
 * leave half of a sheet empty.
 */
const ROWS_SHARE_MAX = 0.4;

export class DocumentLayout extends SheetLayout {
  readonly anchors = new Map<string, Place>();
  private aligned = 0;
  private tables = 0;
  /** True if the node above is kept with the next one: both were checked for room together. */
  private isKeptAbove = false;
  private breaksNext = false;
  /** How much of a sheet the nodes after the stack that is being laid out need to begin. */
  private after: Follows = () => 0;
  /** `after` for the table that is about to be laid out. Its cells are followed by nothing. */
  private afterTable: Follows = () => 0;

  override processNode(node: Node, isVerticalAlignmentAllowed?: boolean): void {
    // One for each table and list around; pdfmake's default warns of the eleventh on the console.
    this.writer.setMaxListeners(0);
    const aligned = isVerticalAlignmentAllowed === true && node.verticalAlignment !== undefined;
    if (aligned) this.aligned++;
    if ('ul' in node) lowerMarkers(node);
    if ('band' in node && node.band !== undefined) this.centre(node as StackNode & Measured);
    const { after } = this;
    // The last node of a column or a cell has nothing after it.
    if ('table' in node) this.afterTable = after;
    if ('columns' in node || 'table' in node) this.after = () => 0;
    if (('ul' in node || 'ol' in node) && node.fromRight === true)
      this.processFromRight(node as object as MeasuredList, () => super.processNode(node, isVerticalAlignmentAllowed));
    else super.processNode(node, isVerticalAlignmentAllowed);
    this.after = after;
    if (aligned) this.aligned--;
    if (node.anchors !== undefined && this.writer.transactionLevel === 0) this.noteAnchors(node.anchors, node);
  }

  /** The first node with a name has it. */
  private noteAnchors(names: readonly string[], node: Node): void {
    const { page, y } = this.writer.context();
    const [first] = (node as Node & { positions: readonly { pageNumber: number; top: number }[] }).positions;
    const place = { page: first?.pageNumber ?? page + 1, top: first?.top ?? y };
    for (const name of names) if (!this.anchors.has(name)) this.anchors.set(name, place);
  }

  override processSection(section: SectionNode): void {
    this.isKeptAbove = false;
    this.breaksNext = false;
    super.processSection(section);
  }

  override processVerticalContainer(node: Node): void {
    if (!('stack' in node)) return super.processVerticalContainer(node);
    if (this.writer.transactionLevel === 0) this.takeFirstSheet();
    const context = this.writer.context();
    const start = {
      page: context.page,
      x: context.x,
      y: context.y,
      width: context.availableWidth,
      items: context.getCurrentPage()?.items.length ?? 0,
    };
    this.processStack(node);
    const { minHeight = 0 } = node;
    if (context.page === start.page && context.y - start.y < minHeight)
      context.moveDown(Math.min(start.y + minHeight - context.y, Math.max(context.availableHeight, 0)));
    if (node.behind !== undefined) this.drawBehind(node, start);
  }

  private processStack(node: StackNode): void {
    const { stack, _margin, positions } = node as StackNode &
      Measured & { stack: readonly Node[]; positions: unknown[] };
    const width = this.writer.context().availableWidth;
    const around = this.after;
    const after = (isKept: boolean): number => (_margin?.[3] ?? 0) + around(isKept);
    stack.forEach((item, at) => {
      this.endSheetBefore(stack as readonly Measured[], at, width, after);
      this.after = (isKept) =>
        this.heights.headFrom(stack as readonly Measured[], at + 1, width, { isKept, after: () => after(isKept) });
      this.processNode(item);
      this.after = around;
      for (const position of (item as Node & { positions: unknown[] }).positions) positions.push(position);
      // A header or a background says nothing of the text.
      if (this.writer.transactionLevel > 0) return;
      if (item.flow?.pageBreak === 'after' && this.writer.context().snapshots.length === 0) this.breaksNext = true;
      if (isKeptWithNext(item as Measured)) this.isKeptAbove = true;
      else if (!isDecoration(item as Measured) && !('stack' in item)) this.isKeptAbove = false;
    });
  }

  /** A new sheet where the author wants one, and where what begins here would be parted from what belongs to it. */
  private endSheetBefore(
    stack: readonly Measured[],
    at: number,
    width: number,
    after: (isKept: boolean) => number,
  ): void {
    const context = this.writer.context();
    const item = stack[at];
    if (item === undefined || 'section' in item || this.tables > 0 || this.writer.transactionLevel > 0) return;
    if (context.snapshots.length === 0 && (this.breaksNext || breaksBefore(item))) {
      this.breaksNext = false;
      this.isKeptAbove = false;
      if (!this.isBlank()) this.writer.moveToNextPage();
      return;
    }
    const room = this.sheetRoom();
    if (!beginsKept(item) || this.isKeptAbove || this.isBlank() || context.availableHeight > room - TOLERANCE_PT)
      return;
    const needOf = (isKept: boolean): number =>
      this.heights.headFrom(stack, at, width, { isKept, after: () => after(isKept) }) - TOLERANCE_PT;
    const whole = needOf(true);
    // A block that is kept together with the heading above it may be higher than a sheet: then only its first part
    // stays with the heading.
    const need = whole > room ? needOf(false) : whole;
    if (need > context.availableHeight && need <= room) this.writer.moveToNextPage();
  }

  /** True before anything of the text stands on the sheet. */
  private isBlank(): boolean {
    const context = this.writer.context();
    return (context.getCurrentPage()?.items.length ?? 0) <= (context.backgroundLength[context.page] ?? 0);
  }

  /** The room of a sheet that holds only the repeated header rows of tables around. */
  private sheetRoom(): number {
    const { pageMargins, pages, page } = this.writer.context();
    const repeated = this.writer.repeatables.reduce((sum, { height }) => sum + height, 0);
    return (pages[page]?.pageSize.height ?? 0) - pageMargins.top - pageMargins.bottom - repeated;
  }

  private drawBehind(node: StackNode, start: Start & Readonly<{ items: number }>): void {
    const context = this.writer.context();
    const areas = areasOf(start, context.page, context.y, (page) => ({
      top: context.pageMargins.top,
      bottom: (context.pages[page]?.pageSize.height ?? 0) - (context.pages[page]?.pageMargins.bottom ?? 0),
    }));
    for (const { page, ...area } of areas) {
      const vectors = node.behind?.(area) ?? [];
      // Beneath what is already drawn; inside a block that is moved as a whole afterwards, it must move with its block.
      const index = this.aligned > 0 && page === start.page ? start.items : context.backgroundLength[page];
      vectors
        .toReversed()
        .forEach((vector: Vector) =>
          this.writer.addVector(
            { ...vector, _isFillColorFromUnbreakable: this.writer.transactionLevel > 0 },
            true,
            true,
            index,
            page,
          ),
        );
    }
  }

  /** As pdfmake's own, with sheets that end between rows where the next ones belong together. */
  override processTable(tableNode: Node): void {
    const node = tableNode as Node & MeasuredTable & { positions: unknown[] };
    const { afterTable } = this;
    const next: Follows =
      node.lastRowsStay === true ? (isKept) => (node._margin?.[3] ?? 0) + afterTable(isKept) : () => 0;
    settleWidths(node, this.writer.context().availableWidth);
    const free = 'fromRight' in node && node.fromRight === true ? this.roomBeside(node) : 0;
    this.writer.context().addMargin(free);
    this.releaseRows(node);
    this.tables++;
    this.nestedLevel++;
    const processor = new TableProcessor(node);
    processor.beginTable(this.writer);
    node.table.body.forEach((cells, row) => {
      if (row > 0 && this.endsSheetBeforeRow(node, row, processor, next)) {
        this.writer.moveToNextPage();
        if (processor.headerRows === 0) processor.drawHorizontalLine(row, this.writer);
      }
      this.processTableRow(node, row, cells, processor);
    });
    processor.endTable(this.writer);
    this.writer.context().addMargin(-free);
    this.nestedLevel--;
    if (this.nestedLevel === 0) this.writer.context().resetMarginXTopParent();
    this.tables--;
  }

  /** A table from the right that is narrower than its room stands at the right of it. */
  private roomBeside({ table: { widths }, _offsets }: MeasuredTable): number {
    const available = this.writer.context().availableWidth - _offsets.total;
    return Math.max(available - widths.reduce((sum, { _calcWidth = 0 }) => sum + _calcWidth, 0), 0);
  }

  private processTableRow(
    node: MeasuredTable & { positions: unknown[] },
    row: number,
    cells: MeasuredTable['table']['body'][number],
    processor: TableProcessor,
  ): void {
    processor.beginRow(row, this.writer);
    const { page } = this.writer.context();
    const { positions, pageBreaks } = this.processRow({
      marginX: node._margin === null || node._margin === undefined ? [0, 0] : [node._margin[0], node._margin[2]],
      rowsWithoutPageBreak: processor.rowsWithoutPageBreak,
      cells,
      widths: node.table.widths,
      gaps: node._offsets.offsets,
      tableBody: node.table.body,
      tableNode: node,
      rowIndex: row,
    });
    for (const position of positions) node.positions.push(position);
    if (pageBreaks.length === 0) {
      const spanned = this._findSameRowPageBreakByRowSpanData(node._breaksBySpan ?? null, page, row);
      if (spanned) pageBreaks.push(this._getPageBreakListBySpan(node, spanned.prevPage, row));
    }
    processor.endRow(row, this.writer, pageBreaks);
  }

  /**
   * A row goes to the next sheet as a whole, and rows that a cell spans go together, as do the head and the foot of a
   * group with the item next to them. So do the last ones, with the totals below them, in the table or right after it.
   * A row that is higher than a sheet is split.
   */
  private endsSheetBeforeRow(
    node: MeasuredTable,
    row: number,
    { rowSpanData }: TableProcessor,
    next: Follows,
  ): boolean {
    if (this.tables > 1 || this.writer.transactionLevel > 0 || rowSpanData.some(({ rowSpan }) => rowSpan > 0))
      return false;
    const { availableHeight } = this.writer.context();
    const room = this.sheetRoom();
    const heightOf = (end: number): number => {
      let height = 0;
      for (let at = row; at < end; at++) height += this.heights.rowHeight(node, at);
      return height - TOLERANCE_PT;
    };
    const spannedTo = endOfSpans(node.table.body, row);
    const spanned = spannedTo > row + 1 ? heightOf(spannedTo) : 0;
    if (spanned > 0 && spanned <= room) return spanned > availableHeight;
    const most = room * ROWS_SHARE_MAX;
    if (availableHeight >= most) return false;
    const rows = node.table.body.length;
    const isKept = (at: number): boolean => node.keptRows?.[at] === true;
    let lastOnes = Math.max(rows - (node.footerRows ?? 0) - ROWS_MIN, (node.table.headerRows ?? 0) + 1);
    while (isKept(lastOnes - 1)) lastOnes--;
    const together = row === lastOnes ? heightOf(rows) + next(true) : 0;
    let end = row + 1;
    while (end < rows && isKept(end - 1)) end++;
    const kept = heightOf(end);
    const least = kept <= most ? kept : heightOf(row + 1);
    const need = together > 0 && together <= most ? together : least;
    return need > availableHeight && need <= most;
  }

  /**
   * The rows that come again on each sheet, and the one that is kept with them, must fit on a sheet with room to spare.
   */
  private releaseRows(node: MeasuredTable): void {
    const { table, _layout } = node;
    const headerRows = table.headerRows ?? 0;
    if (headerRows === 0) return;
    const heightOf = (rows: number): number =>
      table.body
        .slice(0, rows)
        .reduce((sum, _, row) => sum + this.heights.rowHeight(node, row), _layout.hLineWidth(0, node));
    const context = this.writer.context();
    const sheet =
      (context.getCurrentPage()?.pageSize.height ?? 0) - context.pageMargins.top - context.pageMargins.bottom;
    if (heightOf(headerRows) > sheet * HEADER_SHARE_MAX) table.headerRows = table.keepWithHeaderRows = 0;
    else if (heightOf(headerRows + (table.keepWithHeaderRows ?? 0)) > sheet * KEPT_SHARE_MAX)
      table.keepWithHeaderRows = 0;
  }

  override buildNextLine(node: Node): BrokenLine | null {
    const line = super.buildNextLine(node);
    if (line !== null) line.tag = node.tag;
    return line;
  }
}

/** The row after the last one that a cell of the row spans, or a cell of those that it spans. */
const endOfSpans = (body: MeasuredTable['table']['body'], row: number): number => {
  let end = row + 1;
  for (let at = row; at < end; at += 1)
    for (const { rowSpan = 1 } of body[at] ?? []) end = Math.min(Math.max(end, at + rowSpan), body.length);
  return end;
};

/** Letters stand in the middle of their line (see print.ts), and so do the dots beside them. */
const lowerMarkers = (node: Node): void => {
  const {
    ul,
    _gapSize: { height, lineHeight },
  } = node as object as MeasuredList;
  for (const { listMarker } of ul ?? [])
    for (const dot of listMarker?.canvas ?? []) dot.y += (height - height / lineHeight) / 2;
};

const areasOf = (
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
  return areas.map((area, at) => ({
    ...area,
    x: start.x,
    width: start.width,
    isFirst: at === 0,
    isLast: at === areas.length - 1,
  }));
};

/**
 * pdfmake copies all words that are left for each word that it sets. The function is called before each line of a text,
 * with the width of the line: it leaves on the text as many of its next words as the line can take and a few more, and
 * none only where no word is left.
 */
export const showNextInlines = (): ((node: object, width: number) => void) => {
  const waiting = new WeakMap<Text, { inlines: readonly Inline[]; next: number }>();
  return (node, width) => {
    const text: Text = node;
    let rest = waiting.get(text);
    if (rest === undefined) {
      if ((text._inlines?.length ?? 0) <= LONG_FROM) return;
      rest = { inlines: text._inlines ?? [], next: 0 };
      waiting.set(text, rest);
      text._inlines = [];
    }
    const shown = text._inlines ?? [];
    let reached = 0;
    let isEnough = false;
    // Words that may not be parted are counted together; behind those that fill the line stands one more, so that it is
    // not the last line.
    for (let at = 0; !isEnough; at += 1) {
      isEnough = reached > LINES_AHEAD * width && shown[at - 1]?.noNewLine !== true;
      if (at === shown.length) {
        const inline = rest.inlines[rest.next];
        if (inline === undefined) return;
        shown.push(inline);
        rest.next += 1;
      }
      const { width: added = 0, leadingCut = 0 } = shown[at] ?? {};
      reached += at === 0 ? added - leadingCut : added;
    }
  };
};

/** The layout of pdfmake with what it lacks: areas drawn behind blocks, tables that stay on the sheet, text that knows what it is. */
import { heightBound } from './heights.js';
import type { Area, Node, StackNode, Vector } from './nodes.js';
import {
  buildColumnWidths,
  LayoutBuilder,
  SvgMeasure,
  tableLayouts,
  type BrokenLine,
  type Measured,
  type MeasuredList,
  type MeasuredTable,
} from './pdfmake-internals.js';

/** A part of a block lower than this at the foot of a sheet holds no text, only its padding. */
const SLIVER_PT = 12;

export class DocumentLayout extends LayoutBuilder<Node> {
  private aligned = 0;

  constructor() {
    super({ width: 1, height: 1 }, { left: 0, top: 0, right: 0, bottom: 0 }, new SvgMeasure());
    this.registerTableLayouts(tableLayouts);
  }

  override processNode(node: Node, isVerticalAlignmentAllowed?: boolean): void {
    // One for each table and list around; pdfmake's default warns of the eleventh on the console.
    this.writer.setMaxListeners(0);
    const aligned = isVerticalAlignmentAllowed === true && node.verticalAlignment !== undefined;
    if (aligned) this.aligned++;
    if ('ul' in node) lowerMarkers(node);
    super.processNode(node, isVerticalAlignmentAllowed);
    if (aligned) this.aligned--;
  }

  override processVerticalContainer(node: Node): void {
    if (!('stack' in node) || node.behind === undefined) {
      super.processVerticalContainer(node);
      return;
    }
    const context = this.writer.context();
    const start = {
      page: context.page,
      x: context.x,
      y: context.y,
      width: context.availableWidth,
      items: context.getCurrentPage()?.items.length ?? 0,
    };
    super.processVerticalContainer(node);
    this.drawBehind(node, start);
  }

  private drawBehind(node: StackNode, start: Readonly<{ page: number; x: number; y: number; width: number; items: number }>): void {
    const context = this.writer.context();
    const areas = areasOf(start, context.page, context.y, (page) => ({
      top: context.pageMargins.top,
      bottom: (context.pages[page]?.pageSize.height ?? 0) - context.pageMargins.bottom,
    }));
    for (const { page, ...area } of areas) {
      const vectors = node.behind?.(area) ?? [];
      // Beneath what is already drawn; inside a block that is moved as a whole afterwards, it must move with its block.
      const index = this.aligned > 0 && page === start.page ? start.items : context.backgroundLength[page];
      vectors
        .toReversed()
        .forEach((vector: Vector) =>
          this.writer.addVector({ ...vector, _isFillColorFromUnbreakable: this.writer.transactionLevel > 0 }, true, true, index, page),
        );
    }
  }

  /** Words that are wider than their column would push a table over the edge of the sheet; here columns shrink and such words break. */
  override processTable(node: Node & MeasuredTable): void {
    const available = this.writer.context().availableWidth - node._offsets.total;
    const { widths } = node.table;
    if ('fillsWidth' in node && node.fillsWidth === true) fill(widths, available);
    const fixed = widths.reduce((sum, { width }) => sum + (typeof width === 'number' ? width : 0), 0);
    const fluid = widths.filter(({ width }) => typeof width !== 'number');
    const needed = fluid.reduce((sum, { _minWidth }) => sum + _minWidth, 0);
    if (fluid.length > 0 && needed > 0 && fixed + needed > available) {
      const left = Math.max(available - fixed, MIN_COLUMN_PT * fluid.length);
      // Narrow columns keep what they need; the wide ones share the rest.
      const fair = left / fluid.length;
      const kept = fluid.filter(({ _minWidth }) => _minWidth <= fair);
      const rest = left - kept.reduce((sum, { _minWidth }) => sum + _minWidth, 0);
      const wide = fluid.filter(({ _minWidth }) => _minWidth > fair);
      const wideNeed = wide.reduce((sum, { _minWidth }) => sum + _minWidth, 0);
      for (const column of fluid) column.width = column._minWidth <= fair ? column._minWidth : (column._minWidth / wideNeed) * rest;
    }
    this.releaseRows(node, available);
    super.processTable(node);
  }

  /** The rows that come again on each sheet, and the one that is kept with them, must fit on a sheet with room to spare. */
  private releaseRows(node: Node & MeasuredTable, available: number): void {
    const { table, _offsets, _layout } = node;
    const headerRows = table.headerRows ?? 0;
    if (headerRows === 0) return;
    const context = this.writer.context();
    buildColumnWidths(table.widths, available, _offsets.total);
    const heightOf = (rows: number): number =>
      table.body
        .slice(0, rows)
        .reduce(
          (sum, row, at) =>
            sum +
            this.rowBound(row, table.widths) +
            _layout.paddingTop(at, node) +
            _layout.paddingBottom(at, node) +
            _layout.hLineWidth(at, node),
          0,
        );
    const sheet = (context.getCurrentPage()?.pageSize.height ?? 0) - context.pageMargins.top - context.pageMargins.bottom;
    if (heightOf(headerRows) > sheet * HEADER_SHARE_MAX) table.headerRows = table.keepWithHeaderRows = 0;
    else if (heightOf(headerRows + (table.keepWithHeaderRows ?? 0)) > sheet * KEPT_SHARE_MAX) table.keepWithHeaderRows = 0;
  }

  private rowBound(row: readonly (Measured & Readonly<{ colSpan?: number }>)[], widths: MeasuredTable['table']['widths']): number {
    // A cell over several columns is as high as in its first one, or lower.
    return row.reduce((most, cell, at) => Math.max(most, '_span' in cell ? 0 : heightBound(cell, widths[at]?._calcWidth ?? 1)), 0);
  }

  override buildNextLine(node: Node): BrokenLine | null {
    const line = super.buildNextLine(node);
    if (line !== null) line.tag = node.tag;
    return line;
  }
}

/** Letters stand in the middle of their line (see print.ts), and so do the dots beside them. */
const lowerMarkers = (node: Node): void => {
  const {
    ul,
    _gapSize: { height, lineHeight },
  } = node as object as MeasuredList;
  for (const { listMarker } of ul) for (const dot of listMarker?.canvas ?? []) dot.y += (height - height / lineHeight) / 2;
};

const MIN_COLUMN_PT = 8;
/** Of a sheet: what is left must hold the highest line or picture that a cell can have. */
const HEADER_SHARE_MAX = 0.3;
const KEPT_SHARE_MAX = 0.8;

/** Shares what is left among the columns that are as wide as their text, in proportion to it; nothing where a column takes the rest anyway. */
const fill = (widths: MeasuredTable['table']['widths'], available: number): void => {
  const auto = widths.filter(({ width }) => width === 'auto');
  if (auto.length === 0 || widths.some(({ width }) => width === '*')) return;
  const wanted = auto.reduce((sum, { _maxWidth }) => sum + _maxWidth, 0);
  const left = widths.reduce((sum, { width }) => sum - (typeof width === 'number' ? width : 0), available);
  if (wanted > 0 && wanted < left) for (const column of auto) column.width = (column._maxWidth / wanted) * left;
};

type Start = Readonly<{ page: number; x: number; y: number; width: number }>;
type PageArea = Area & Readonly<{ page: number }>;

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
  return areas.map((area, at) => ({ ...area, x: start.x, width: start.width, isFirst: at === 0, isLast: at === areas.length - 1 }));
};

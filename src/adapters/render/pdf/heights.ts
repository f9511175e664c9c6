/**
 * Heights of measured nodes before they are laid out, and which nodes a sheet must not part: pdfmake drops a block that
 * is kept together and fits on no sheet.
 */
import { buildColumnWidths, type Measured, type MeasuredTable } from './pdfmake-internals.js';

/** The heights of the lines that a text breaks into at a width; no more than `most` need be told. */
export type LinesOf = (node: Measured, width: number, most: number) => readonly number[];

type Heights = Readonly<{
  /** With its margins, in points. */
  heightOf: (node: Measured, width: number) => number;
  /**
   * How much of a sheet the nodes from a place on need to begin well: headings with what follows them, tables with
   * their first rows, texts with two lines. `after` tells what follows the last of them; `isKept`: blocks that are kept
   * together count as a whole.
   */
  headFrom: (nodes: readonly Measured[], at: number, width: number, options: HeadOptions) => number;
  rowHeight: (node: MeasuredTable, row: number) => number;
}>;
type HeadOptions = Readonly<{ after: () => number; isKept: boolean }>;

type Whole = Omit<Heights, 'headFrom'> & Readonly<{ contentHeight: (node: Measured, width: number) => number }>;

const HEADING = /^H[1-6]$/;

const MIN_COLUMN_PT = 8;

/** Fewer lines of a paragraph than this do not stand alone below a heading. */
const LINES_MIN = 2;
/** Rows of a table that do not stand alone: the first ones below the header, the last ones on a sheet of their own. */
export const ROWS_MIN = 2;

const NO_MARGIN = [0, 0, 0, 0] as const;

export const openHeights = (linesOf: LinesOf): Heights => {
  const whole = wholeHeights(linesOf);
  return { ...whole, headFrom: heads(whole, linesOf) };
};

const wholeHeights = (linesOf: LinesOf): Whole => {
  const heightOf = (node: Measured, width: number): number => {
    if ('_span' in node) return 0;
    const [left, top, right, bottom] = node._margin ?? NO_MARGIN;
    return top + bottom + contentHeight(node, Math.max(width - left - right, 1));
  };

  const contentHeight = (node: Measured, width: number): number => {
    if (node.stack !== undefined)
      return Math.max(node.minHeight ?? 0, sum(node.stack.map((item) => heightOf(item, width))));
    if (node.columns !== undefined) return highestColumn(node, width, heightOf);
    const items = node.ul ?? node.ol;
    if (items !== undefined) return sum(items.map((item) => heightOf(item, width - (node._gapSize?.width ?? 0))));
    if (node.table !== undefined) return tableHeight(node as MeasuredTable, width);
    if (node.image !== undefined || node.svg !== undefined) return node._height ?? 0;
    if (node.canvas !== undefined) return node._minHeight ?? 0;
    return node._inlines === undefined ? 0 : sum(linesOf(node, width, Infinity));
  };

  const tableHeight = (node: MeasuredTable, width: number): number => {
    settleWidths(node, width);
    return node._layout.hLineWidth(0, node) + sum(node.table.body.map((_, row) => rowHeight(node, row)));
  };

  /** Its padding and the line below it included. */
  const rowHeight = (node: MeasuredTable, row: number): number => {
    const { table, _layout, _offsets } = node;
    // A cell over several rows counts for its first one: they are never parted.
    const cells = (table.body[row] ?? []).map((cell, column) =>
      heightOf(cell, cellWidth(table.widths, _offsets.offsets, column, cell.colSpan ?? 1)),
    );
    return (
      Math.max(0, ...cells) +
      _layout.paddingTop(row, node) +
      _layout.paddingBottom(row, node) +
      _layout.hLineWidth(row + 1, node)
    );
  };

  return { heightOf, rowHeight, contentHeight };
};

const heads = ({ heightOf, rowHeight, contentHeight }: Whole, linesOf: LinesOf): Heights['headFrom'] => {
  const headFrom: Heights['headFrom'] = (nodes, at, width, options) => {
    const node = nodes[at];
    if (node === undefined) return options.after();
    if (node.flow?.pageBreak === 'before') return 0;
    const rest = (): number => (node.flow?.pageBreak === 'after' ? 0 : headFrom(nodes, at + 1, width, options));
    if ((options.isKept && node.flow?.keepTogether === true) || isDecoration(node) || isKeptWithNext(node)) {
      return heightOf(node, width) + (isDecoration(node) || isKeptWithNext(node) ? rest() : 0);
    }
    const [left, top, right, bottom] = node._margin ?? NO_MARGIN;
    const inner = Math.max(width - left - right, 1);
    if (node.stack !== undefined)
      return top + headFrom(node.stack, 0, inner, { ...options, after: () => bottom + rest() });
    const head = top + contentHead(node, inner, options);
    return node.table !== undefined && staysWhole(node as MeasuredTable) ? head + bottom + rest() : head;
  };

  const contentHead = (node: Measured, width: number, options: HeadOptions): number => {
    const { isKept } = options;
    const headOf = (child: Measured, room: number): number => headFrom([child], 0, room, { isKept, after: () => 0 });
    if (node.columns !== undefined) return highestColumn(node, width, headOf);
    const [item] = node.ul ?? node.ol ?? [];
    if (item !== undefined) return headOf(item, width - (node._gapSize?.width ?? 0));
    if (node.table !== undefined) return tableHead(node as MeasuredTable, width);
    if (node._inlines === undefined) return contentHeight(node, width);
    const lines = linesOf(node, width, LINES_MIN + 2);
    return sum(lines.length <= LINES_MIN + 1 ? lines : lines.slice(0, LINES_MIN));
  };

  const tableHead = (node: MeasuredTable, width: number): number => {
    settleWidths(node, width);
    const last = headRows(node);
    return node._layout.hLineWidth(0, node) + sum(Array.from({ length: last }, (_, row) => rowHeight(node, row)));
  };

  return headFrom;
};

/** How many rows the beginning of a table has. */
const headRows = ({ table, footerRows = 0 }: MeasuredTable): number => {
  const rows = (table.headerRows ?? 0) + ROWS_MIN;
  // A table that is hardly longer would leave a row alone on the next sheet.
  return rows + 1 + footerRows >= table.body.length ? table.body.length : rows;
};

/** The beginning of the table is all of it, and stands with what follows. */
const staysWhole = (node: MeasuredTable): boolean =>
  node.lastRowsStay === true && headRows(node) === node.table.body.length;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

const highestColumn = (node: Measured, width: number, heightOf: (column: Measured, room: number) => number): number => {
  const { columns = [], _gap: gap = 0 } = node;
  buildColumnWidths([...columns], width - gap * Math.max(columns.length - 1, 0));
  return columns.reduce((most, column) => Math.max(most, heightOf(column, column._calcWidth ?? width)), 0);
};

const cellWidth = (
  widths: MeasuredTable['table']['widths'],
  offsets: readonly number[],
  column: number,
  span: number,
): number => {
  let width = widths[column]?._calcWidth ?? 1;
  for (let next = column + 1; next < column + span; next++)
    width += (widths[next]?._calcWidth ?? 0) + (offsets[next] ?? 0);
  return width;
};

/** A heading, or a component that its author keeps with the next one. */
export const isKeptWithNext = ({ flow, tag }: Measured): boolean =>
  flow?.keepWithNext === true || (tag !== undefined && HEADING.test(tag.type));

/** A line or room, which belongs to the node that follows. */
export const isDecoration = ({ canvas, stack }: Measured): boolean => canvas !== undefined || stack?.length === 0;

/**
 * True for a node that must not begin at the foot of a sheet without room for its beginning; lines of text are moved by
 * themselves.
 */
export const beginsKept = (node: Measured): boolean => {
  if (node.flow?.keepTogether === true || isKeptWithNext(node) || node.table !== undefined) return true;
  if (node.columns !== undefined) return node.columns.some(beginsKept);
  const [first] = node.stack ?? [];
  return first !== undefined && (node.behind !== undefined || beginsKept(first));
};

/** True where the node, or what it begins with, begins a sheet. */
export const breaksBefore = ({ flow, stack }: Measured): boolean => {
  const [first] = stack ?? [];
  return flow?.pageBreak === 'before' || (first !== undefined && breaksBefore(first));
};

/**
 * Words that are wider than their column would push a table over the edge of the sheet; here columns shrink and such
 * words break.
 */
export const settleWidths = (node: MeasuredTable, room: number): void => {
  const available = room - node._offsets.total;
  const { widths } = node.table;
  if (node.fillsWidth === true) fill(widths, available);
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
    for (const column of fluid)
      column.width = column._minWidth <= fair ? column._minWidth : (column._minWidth / wideNeed) * rest;
  }
  buildColumnWidths(widths, available, node._offsets.total);
};

/**
 * Shares what is left among the columns that are as wide as their text, in proportion to it; nothing where a column
 * takes the rest anyway.
 */
const fill = (widths: MeasuredTable['table']['widths'], available: number): void => {
  const auto = widths.filter(({ width }) => width === 'auto');
  if (auto.length === 0 || widths.some(({ width }) => width === '*')) return;
  const wanted = auto.reduce((sum, { _maxWidth }) => sum + _maxWidth, 0);
  const left = widths.reduce((sum, { width }) => sum - (typeof width === 'number' ? width : 0), available);
  if (wanted > 0 && wanted < left) for (const column of auto) column.width = (column._maxWidth / wanted) * left;
};

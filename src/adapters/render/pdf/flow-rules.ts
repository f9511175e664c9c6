/** What sheets may not part: which nodes begin something, which belong to what follows them, and how wide the columns of a table are. */
import { buildColumnWidths, type Measured, type MeasuredTable } from './pdfmake-internals.js';

const HEADING = /^H[1-6]$/;

/** A heading, or what its author keeps with the next component. */
export const isKeptWithNext = ({ flow, tag }: Measured): boolean =>
  flow?.keepWithNext === true || (tag !== undefined && HEADING.test(tag.type));

/** A line or room: it belongs to what follows. */
export const isDecoration = ({ canvas, stack }: Measured): boolean => canvas !== undefined || stack?.length === 0;

/** True for what must not begin at the foot of a sheet where it has no room for its beginning; lines of text are moved by themselves. */
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

const MIN_COLUMN_PT = 8;

/** Words that are wider than their column would push a table over the edge of the sheet; here columns shrink and such words break. */
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
    for (const column of fluid) column.width = column._minWidth <= fair ? column._minWidth : (column._minWidth / wideNeed) * rest;
  }
  buildColumnWidths(widths, available, node._offsets.total);
};

/** Shares what is left among the columns that are as wide as their text, in proportion to it; nothing where a column takes the rest anyway. */
const fill = (widths: MeasuredTable['table']['widths'], available: number): void => {
  const auto = widths.filter(({ width }) => width === 'auto');
  if (auto.length === 0 || widths.some(({ width }) => width === '*')) return;
  const wanted = auto.reduce((sum, { _maxWidth }) => sum + _maxWidth, 0);
  const left = widths.reduce((sum, { width }) => sum - (typeof width === 'number' ? width : 0), available);
  if (wanted > 0 && wanted < left) for (const column of auto) column.width = (column._maxWidth / wanted) * left;
};

/** The cells of a table as formulas see them: the same values that are written, found when a formula asks. */
import type { Cell, ExpandedTable, Html } from '../../../../domain/rendering/expand/expanded.js';
import { parseRichTree, treeText } from '../../rich-tree.js';
import type { Typed } from '../cell-values.js';
import { isAsItIs } from './column-width.js';
import type { BlockCells, CellContent } from '../formula/book.js';
import { compileFormula, type Compiled } from '../formula/compile.js';
import type { Scalar } from '../formula/values.js';
import { formulaAt, type FormulaRows } from '../formula/formulas.js';

/** Where the parts of a table stand, in rows of it from 0. */
export type TableRows = Readonly<{ hasHeader: boolean; bodyRows: number; hasFooter: boolean }>;

/** `typed` gives the value of a cell, `footerTyped` that of the footer of a column. */
export const tableCells = (
  { columns, rows }: ExpandedTable,
  { hasHeader, bodyRows }: TableRows,
  typed: Typed,
  footerTyped: (column: number) => Scalar | undefined,
): BlockCells => {
  const first = hasHeader ? 1 : 0;
  const compiled = new Map<string, Compiled | undefined>();
  const compile = (formula: string): Compiled | undefined => {
    if (!compiled.has(formula)) compiled.set(formula, compileFormula(formula));
    return compiled.get(formula);
  };
  const formulaCell = (formula: string, at: FormulaRows): CellContent | undefined =>
    formulaAt(formula, at) === undefined ? undefined : { formula: compile(formula), rows: at };
  return (row, column, start) => {
    const described = columns[column - 1];
    if (described === undefined) return null;
    const at: FormulaRows = { row: start + row, first: start + first, last: start + first + rows.length - 1 };
    if (row < first) return textOf(described.header ?? '');
    if (row < first + bodyRows) {
      const cell = rows[row - first]?.[column - 1];
      if (cell === undefined) return null;
      if (cell.formula !== undefined) {
        const found = formulaCell(cell.formula, at);
        if (found !== undefined) return found;
      }
      return valueOf(cell, typed);
    }
    const { footer, footerFormula } = described;
    if (footerFormula !== undefined) return formulaCell(footerFormula, at) ?? null;
    return footerTyped(column - 1) ?? textOf(footer ?? '');
  };
};

const EPOCH_MS = Date.UTC(1899, 11, 30);
const DAY_MS = 86_400_000;

export const scalarOfTyped = (value: number | Date | boolean): Scalar =>
  value instanceof Date ? (value.getTime() - EPOCH_MS) / DAY_MS : value;

const valueOf = (cell: Cell, typed: Typed): Scalar => {
  const found = typed(cell);
  if (found !== undefined) return scalarOfTyped(found.value);
  if (typeof cell.value === 'string' && isAsItIs(cell.value, cell.showing)) return cell.value === '' ? null : cell.value;
  return textOf(cell.html);
};

const textOf = (html: Html): Scalar => {
  if (html === '') return null;
  const text = /[<&]/.test(html) ? treeText(parseRichTree(html, 'block')).trim() : html;
  return text === '' ? null : text;
};

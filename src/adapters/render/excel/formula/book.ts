/**
 * The cells of a workbook before it is written, for formulas to read: nothing is copied, a cell is looked up when a
 * formula asks for it.
 */
import type { Compiled } from './compile.js';
import { type FormulaRows, isArea, NOT_COMPUTED, scalarOf, type Scalar } from './values.js';

/** `isSubtotal`: other subtotals leave the cell out. */
export type FormulaCell = Readonly<{ formula: Compiled | undefined; rows: FormulaRows; isSubtotal?: boolean }>;
/** The content of a cell; undefined if only the written sheet has it. */
export type CellContent = Scalar | FormulaCell | undefined;

/**
 * Cells of a component, its first row being 0 and the first column 1; `start` is the row of the sheet that it begins
 * in.
 */
export type BlockCells = (row: number, column: number, start: number) => CellContent;
export type PlacedBlock = Readonly<{ start: number; rows: number; cells: BlockCells | undefined }>;
export type BookSheet = Readonly<{ name: string; blocks: readonly PlacedBlock[] }>;

export type Book = Readonly<{
  /** The result of the formula in that cell; undefined if the reader's program computes it. */
  resultAt: (sheet: string, row: number, column: number) => Scalar | undefined;
  /** True once a formula was left to the reader's program. */
  isOpen: () => boolean;
}>;

/** Reads of all formulas of a workbook together: a sum over each row above costs the square of the rows. */
const READS_MAX = 1_000_000;
const DEPTH_MAX = 100;
const COLUMNS = 16_384;

export const openBook = (sheets: readonly BookSheet[]): Book => {
  const byName = new Map(sheets.map((sheet) => [sheet.name.toLowerCase(), openSheetCells(sheet)] as const));
  let reads = 0;
  let depth = 0;
  let left = false;
  const read = (name: string, row: number, column: number, skipsSubtotals = false): Scalar => {
    reads += 1;
    const sheet = byName.get(name.toLowerCase());
    if (sheet === undefined || reads > READS_MAX || depth > DEPTH_MAX) throw NOT_COMPUTED;
    const content = sheet.contentAt(row, column);
    if (content === undefined) throw NOT_COMPUTED;
    if (!isFormula(content)) return content;
    if (skipsSubtotals && content.isSubtotal === true) return null;
    const key = row * COLUMNS + column;
    const known = sheet.results.get(key);
    if (known !== undefined) return known;
    if (sheet.results.has(key)) throw NOT_COMPUTED;
    // A formula that leads back to itself finds this.
    sheet.results.set(key, undefined);
    depth += 1;
    try {
      const result = compute(content, name);
      sheet.results.set(key, result);
      return result;
    } finally {
      depth -= 1;
    }
  };
  const compute = ({ formula, rows }: FormulaCell, own: string): Scalar => {
    if (formula === undefined) throw NOT_COMPUTED;
    const value = formula({ rows, read: (sheet, ...place) => read(sheet ?? own, ...place) });
    // A formula that gives a blank cell shows 0.
    return (isArea(value) ? scalarOf(value) : value) ?? 0;
  };
  return {
    resultAt: (sheet, row, column) => {
      try {
        return read(sheet, row, column);
      } catch (error) {
        if (error !== NOT_COMPUTED) throw error;
        left = true;
        return undefined;
      }
    },
    isOpen: () => left,
  };
};

const isFormula = (content: Scalar | FormulaCell): content is FormulaCell =>
  typeof content === 'object' && content !== null && 'formula' in content;

const openSheetCells = ({ blocks }: BookSheet) => {
  let last: PlacedBlock | undefined;
  const blockAt = (row: number): PlacedBlock | undefined => {
    if (last === undefined || row < last.start || row >= last.start + last.rows)
      last = blocks.find(({ start, rows }) => row >= start && row < start + rows);
    return last;
  };
  return {
    results: new Map<number, Scalar | undefined>(),
    contentAt: (row: number, column: number): CellContent => {
      const block = blockAt(row);
      if (block === undefined) return null;
      return block.cells?.(row - block.start, column, block.start);
    },
  };
};

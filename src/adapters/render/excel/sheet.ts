/** A sheet while it is written: rows go in from top to bottom and leave memory at once; links and drawings are gathered for the end. */
import type { CellValue, Style, Worksheet } from 'exceljs';
import type { ColumnRule } from '../../../domain/rendering/column-rules.js';
import { conditionalFormats, type DataBar } from './conditional-formats.js';
import type { ExpandedTable } from '../../../domain/rendering/expand/expanded.js';
import type { Scalar } from './formula/values.js';

export type CellStyle = Partial<Style>;
export type DrawnCell = Readonly<{ value: CellValue; style: CellStyle }>;

/** Where a picture or a chart stands: its upper left corner in a row (from 1) and a column (from 0), `offset` right of the column's edge; lengths in points. */
export type Place = Readonly<{ row: number; column: number; offset: number; width: number; height: number }>;
export type Drawing =
  | Readonly<{ kind: 'picture'; place: Place; bytes: Uint8Array; extension: 'png' | 'jpeg' | 'gif'; alt: string; href: string | undefined }>
  | Readonly<{ kind: 'chart'; place: Place; title: string; /** The part of the package, a whole document. */ xml: string }>;

/** Rows of its data in its sheet, and the code of the format of a column, which counts from 0. */
export type PlacedData = Readonly<{ sheetName: string; first: number; codeOf: (column: number) => string | undefined }>;

export type Link = Readonly<{ address: string; href: string }>;

export type Sheet = Readonly<{
  name: string;
  /** Columns of the widest table: titles and paragraphs are merged over as many. */
  columns: number;
  /** Of each column, in characters of the sheet's font. */
  widths: readonly number[];
  /** The row that the next one written will be, from 1. */
  nextRow: () => number;
  /** Writes a row; `height` in points, undefined: by its content. Cells that are undefined stay empty. */
  writeRow: (cells: readonly (DrawnCell | undefined)[], height?: number) => void;
  /** A row that is there for charts and formulas, and not seen. */
  writeHidden: (cells: readonly DrawnCell[]) => void;
  /** A row of one cell that reaches over all columns, or over the first ones. */
  writeMerged: (cell: DrawnCell, height: number, columns?: number) => void;
  /** Leaves rows empty; with a height in points each. */
  skip: (rows: number, height?: number) => void;
  /** What the formula of that cell gives; undefined where it is not computed here. Columns from 1. */
  resultOf: (row: number, column: number) => Scalar | undefined;
  /** Where a table of the workbook stands. */
  dataOf: (table: ExpandedTable) => PlacedData | undefined;
  link: (row: number, column: number, href: string) => void;
  draw: (drawing: Drawing) => void;
  filter: (range: string) => void;
  formatByRules: (range: string, rules: readonly ColumnRule[]) => void;
  /** Lets the package take what was written; rejects where it has grown too large. */
  flush: () => Promise<void>;
}>;

export type OpenSheet = Sheet & Readonly<{ links: readonly Link[]; drawings: readonly Drawing[]; dataBars: readonly DataBar[] }>;

const DEFAULT_ROW_POINTS = 15;
/** Excel follows no more links than these in one sheet. */
const LINKS_MAX = 65_530;
/** A longer address makes Excel call the whole file damaged. */
export const LINK_CHARS_MAX = 2_079;

/** In: a worksheet of the streaming writer; `flush` as the sheet passes it on. */
export const openSheet = (
  worksheet: Worksheet,
  { name, widths, resultOf, dataOf, flush }: Readonly<Pick<Sheet, 'name' | 'widths' | 'resultOf' | 'dataOf' | 'flush'>>,
): OpenSheet => {
  const links: Link[] = [];
  const drawings: Drawing[] = [];
  const columns = Math.max(1, widths.length);
  let next = 1;
  type Look = Readonly<{ height?: number | undefined; /** Columns that the first cell reaches over. */ merged?: number; hidden?: true }>;
  const write = (cells: readonly (DrawnCell | undefined)[], { height, merged, hidden }: Look): void => {
    const row = worksheet.getRow(next);
    let isEmpty = true;
    for (let at = 0; at < cells.length; at++) {
      const drawn = cells[at];
      if (drawn === undefined) continue;
      const cell = row.getCell(at + 1);
      cell.value = drawn.value;
      // The same object for the same look: the writer knows by it that it has written the style already.
      cell.style = drawn.style;
      if (drawn.value !== null) isEmpty = false;
    }
    // The cells of a merged range take their look from the first one.
    if (merged !== undefined && merged > 1) worksheet.mergeCells(next, 1, next, merged);
    // The writer leaves out rows without values and without a height, and with them their borders and colours.
    if (height !== undefined || (isEmpty && cells.length > 0)) row.height = height ?? DEFAULT_ROW_POINTS;
    if (hidden === true) row.hidden = true;
    row.commit();
    next += 1;
  };
  return {
    name,
    columns,
    widths,
    links,
    drawings,
    ...rulesOn(worksheet),
    nextRow: () => next,
    writeRow: (cells, height) => write(cells, { height }),
    writeHidden: (cells) => write(cells, { hidden: true }),
    writeMerged: (cell, height, over = columns) => write([cell], { height, merged: over }),
    skip: (rows, height) => {
      for (let count = 0; count < rows; count++) {
        if (height === undefined) next += 1;
        else write([], { height });
      }
    },
    resultOf,
    dataOf,
    link: (row, column, href) => {
      if (links.length < LINKS_MAX && href.length <= LINK_CHARS_MAX) links.push({ address: `${columnLetters(column)}${row}`, href });
    },
    draw: (drawing) => {
      drawings.push(drawing);
    },
    filter: (range) => {
      worksheet.autoFilter = range;
    },
    flush,
  };
};

/** Adds rules to a sheet; their order is counted over all its tables. */
const rulesOn = (worksheet: Worksheet): Pick<OpenSheet, 'dataBars' | 'formatByRules'> => {
  const dataBars: DataBar[] = [];
  let priority = 1;
  return {
    dataBars,
    formatByRules: (range, rules) => {
      const formats = conditionalFormats(rules, { range, priority, sheet: worksheet.id });
      worksheet.addConditionalFormatting({ ref: range, rules: formats.rules });
      dataBars.push(...formats.dataBars);
      priority += rules.length;
    },
  };
};

/** In: a column from 1. Out: A, B, … Z, AA. */
export const columnLetters = (column: number): string =>
  column <= 26 ? String.fromCharCode(64 + column) : columnLetters(Math.floor((column - 1) / 26)) + columnLetters(((column - 1) % 26) + 1);

/** The name of a sheet as a reference writes it. */
export const quotedName = (sheetName: string): string => `'${sheetName.replaceAll("'", "''")}'`;

/**
 * Tables of a sheet as real cells: typed values with their formats, header, footer, filter, column rules, and the
 * author's formulas.
 */
import type { CellFormulaValue } from 'exceljs';
import type { Cell, Html, ExpandedTable, ExpandedColumn } from '../../../../domain/rendering/expand/expanded.js';
import type { Json } from '../../../../domain/core/json.js';
import {
  meaningOf,
  PLAIN_NUMBER,
  type DisplayFormat,
  formatOfResult,
} from '../../../../domain/rendering/scope/display-format.js';
import { textWidth, charsOf, linesIn } from '../text.js';
import { parseRichTree, treeText } from '../../rich-tree.js';
import { type Typed, resultCodes, typedCells } from '../cell-values.js';
import type { BlockCells, CellContent } from '../formula/book.js';
import { compileFormula, type Compiled } from '../formula/compile.js';
import {
  type Scalar,
  formulaAt,
  withRanges,
  spelledInFile,
  type FormulaRows,
  type RangeOf,
} from '../formula/values.js';
import { assertDefined } from '../../../../domain/core/ids.js';
import { sideOf } from '../../../../domain/rendering/direction.js';
import type { ValueFormat } from '../../../../domain/rendering/scope/definitions.js';
import { tooManyColumns } from '../../../../domain/rendering/budget.js';
import {
  cutCell,
  lowEnough,
  type ComponentDrawer,
  type ComponentContext,
  columnLetters,
  type DrawnCell,
  type Sheet,
} from '../sheet.js';
import { textCell, type Content, type TextSpot } from '../rich-cells.js';
import { createLooks, type Looks } from '../looks.js';

/** The parts of a table, in rows from 0. */
type TableRows = Readonly<{ hasHeader: boolean; bodyRows: number; hasFooter: boolean; rangeOf: RangeOf }>;

type Frame = Readonly<{
  sheet: Sheet;
  context: ComponentContext;
  hasHeader: boolean;
  hasFooter: boolean;
  typed: Typed;
}>;
type Body = Readonly<{
  component: ExpandedTable;
  frame: Frame;
  looks: Looks;
  typed: Typed;
  resultCode: (format: ValueFormat | undefined) => string;
  first: number;
  last: number;
}>;

/** Widths that content alone gives, in characters. */
const AUTO_CHARS = { min: 8, max: 60 } as const;
/** Room for what a formula gives. */
const FORMULA_CHARS = 12;
/** Rows after which the package takes what was written. */
const FLUSH_EVERY_ROWS = 1_000;
const EMPTY_ROW_POINTS = 20;
const HEADER_POINTS = 19;

const LINE_POINTS_PER_FONT_POINT = 1.36;
/** Values that are written out to see how wide their format makes them: words for months differ in length. */
const SAMPLES = 40;
const TRUTH_CHARS = 5;

const EPOCH_MS = Date.UTC(1899, 11, 30);
const DAY_MS = 86_400_000;

export const table: ComponentDrawer<'table'> = (component, context) => {
  const { columns, rows, showHeader, emptyText } = component;
  const { excelColumnsMax } = context.limits;
  if (columns.length > excelColumnsMax) throw tooManyColumns(columns.length, excelColumnsMax);
  const hasHeader = showHeader && columns.some(({ header }) => header !== undefined && header !== '');
  const hasFooter = columns.some(({ footer, footerFormula }) => footer !== undefined || footerFormula !== undefined);
  const bodyRows = rows.length === 0 && emptyText !== undefined ? 1 : rows.length;
  const typed = typedCells(context.language);
  const footerTyped = (at: number): Scalar | undefined => {
    const { footerValue, footerDisplayFormat } = assertDefined(columns[at], 'column');
    const found = typed({ value: footerValue, displayFormat: footerDisplayFormat });
    return found === undefined ? undefined : scalarOfTyped(found.value);
  };
  const cells = tableCells(component, { hasHeader, bodyRows, hasFooter, rangeOf: context.rangeOf }, typed, footerTyped);
  return {
    kind: 'block',
    rows: (hasHeader ? 1 : 0) + bodyRows + (hasFooter ? 1 : 0),
    cells,
    data: { table: component, first: hasHeader ? 1 : 0, codeOf: (at) => codeOfColumn(rows, at, typed) },
    hidden: columns.map(({ hidden }) => hidden === true),
    widths: columns.map((column, at) => widthOf(column, at, component, context)),
    ...(hasHeader ? { header: { row: 1, freeze: component.freezeHeader } } : {}),
    draw: (sheet) => draw(component, { sheet, context, hasHeader, hasFooter, typed }),
  };
};

const widthOf = (
  { width, header, footer, footerFormula, align }: ExpandedColumn,
  at: number,
  table: ExpandedTable,
  { pageWidth, style, direction }: ComponentContext,
): number => {
  if (width !== 'auto' && width !== 'rest')
    return charsOf('points' in width ? width.points : (pageWidth * width.percent) / 100);
  // Bold letters are wider, and the arrow of a filter stands beside the text.
  const titles =
    Math.max(
      htmlWidth(header ?? '') + (table.autoFilter ? 2 : 0),
      footerFormula === undefined ? htmlWidth(footer ?? '') : FORMULA_CHARS,
    ) * 1.1;
  const chars =
    (Math.max(titles, contentWidth(cellsOf(table.rows, at))) * (table.fontSize ?? style.fontSize ?? 11)) / 11;
  return Math.min(
    AUTO_CHARS.max,
    Math.max(AUTO_CHARS.min, Math.ceil(chars + (sideOf(align, direction) === sideOf('end', direction) ? 3 : 2))),
  );
};

const draw = async (component: ExpandedTable, frame: Frame): Promise<void> => {
  const { sheet, context, hasHeader, hasFooter } = frame;
  const { columns, rows, emptyText } = component;
  const looks = createLooks(component, context.style, context.direction);
  const tellCut =
    (where: string) =>
    (column: number): void =>
      context.tell(cutCell(component.field, `${where}, column ${column + 1}`));
  const headerRow = sheet.nextRow();
  if (hasHeader) {
    const cells = columns.map(({ header, headerAlign }, at) => {
      const spot = spotOf(component, frame, { where: 'the header', row: headerRow, at, font: looks.headerFont });
      return textCell({ html: header ?? '' }, spot, () => looks.header(headerAlign));
    });
    sheet.writeRow(
      cells,
      heightOf(cells, looks, sheet.widths, tellCut('the header')) ?? (HEADER_POINTS * (looks.font.size ?? 11)) / 11,
    );
  }
  const first = sheet.nextRow();
  const body: Body = {
    component,
    frame,
    looks,
    typed: frame.typed,
    resultCode: resultCodes(context.language),
    first,
    last: first + rows.length - 1,
  };
  if (rows.length === 0 && emptyText !== undefined) {
    const cell = textCell(
      { html: emptyText },
      spotOf(component, frame, { where: 'emptyText', row: first, at: 0, font: looks.font }),
      () => looks.empty,
    );
    const chars = sheet.widths.slice(0, columns.length).reduce((sum, width) => sum + width, 0);
    const height = heightOf([cell], looks, [chars], tellCut('emptyText'));
    sheet.writeMerged(cell, Math.max(EMPTY_ROW_POINTS, height ?? 0), columns.length);
  }
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at] ?? [];
    const group = component.groupRows?.[at];
    const cells = columns.map((column, index) =>
      group === undefined
        ? bodyCell(row[index], column, index, body)
        : totalCell(row[index] ?? { html: '', value: undefined, displayFormat: undefined }, column, index, {
            ...body,
            first: first + group.first,
            last: first + group.last,
            where: `the cell in row ${at + 1}`,
          }),
    );
    sheet.writeRow(
      cells,
      heightOf(cells, looks, sheet.widths, (column) => tellCut(`the cell in row ${at + 1}`)(column)),
    );
    if (at % FLUSH_EVERY_ROWS === FLUSH_EVERY_ROWS - 1) await sheet.flush();
  }
  if (hasFooter) {
    const cells = columns.map((column, at) =>
      totalCell(footerOf(column), column, at, { ...body, where: 'the footer' }),
    );
    sheet.writeRow(cells, heightOf(cells, looks, sheet.widths, tellCut('the footer')));
  }
  for (const [at, { rules }] of columns.entries()) {
    const letters = columnLetters(at + 1);
    if (rules !== undefined && rows.length > 0)
      sheet.formatByRules(
        runsOf(component)
          .map(([from, to]) => `${letters}${first + from}:${letters}${first + to}`)
          .join(' '),
        rules,
      );
  }
  if (component.autoFilter && hasHeader && rows.length > 0) {
    sheet.filter(`A${headerRow}:${columnLetters(columns.length)}${body.last}`);
  }
  await sheet.flush();
};

/** The rows of items without those of groups between them, each run by its first and its last row. */
const runsOf = ({ rows, groupRows = [] }: ExpandedTable): readonly (readonly [first: number, last: number])[] => {
  const runs = new Map(groupRows.flatMap((group) => (group === undefined ? [] : [[group.first, group.last] as const])));
  return runs.size === 0 ? [[0, rows.length - 1]] : [...runs];
};

/**
 * The height of a row, because not every reader works it out; undefined for a row of one line. `tellCut` is called with
 * the column of a text that no row is high enough for.
 */
const heightOf = (
  cells: readonly DrawnCell[],
  { font: { size = 11 } }: Looks,
  widths: readonly number[],
  tellCut: (column: number) => void,
): number | undefined => {
  let lines = 1;
  let highest = 0;
  for (const [at, { value, style }] of cells.entries()) {
    if (style.alignment?.wrapText !== true) continue;
    const own = linesIn(plainText(value), ((widths[at] ?? 0) * 11) / size);
    if (own <= lines) continue;
    lines = own;
    highest = at;
  }
  return lines === 1
    ? undefined
    : lowEnough(Math.ceil(lines * size * LINE_POINTS_PER_FONT_POINT) + 1, () => tellCut(highest));
};

const plainText = (value: DrawnCell['value']): string => {
  if (typeof value === 'string') return value;
  return value !== null && typeof value === 'object' && 'richText' in value
    ? value.richText.map(({ text }) => text).join('')
    : '';
};

function* cellsOf(rows: readonly (readonly Cell[])[], column: number): Iterable<Cell> {
  for (const row of rows) {
    const cell = row[column];
    if (cell !== undefined) yield cell;
  }
}

const spotOf = (
  { field }: ExpandedTable,
  { sheet, context }: Frame,
  { where, row, at, font }: Readonly<{ where: string; row: number; at: number; font: Looks['font'] }>,
): TextSpot => ({
  sheet,
  charsMax: context.limits.excelCellCharsMax,
  field,
  row,
  column: at + 1,
  font,
  where: () => `${where}, column ${at + 1}`,
});

const bodyCell = (
  cell: Cell | undefined,
  { align, format }: ExpandedColumn,
  at: number,
  { component, frame, looks, typed: typedOf, resultCode, first, last }: Body,
): DrawnCell => {
  const { sheet } = frame;
  const row = sheet.nextRow();
  const striped = component.striped && (row - first) % 2 === 1;
  if (cell === undefined) return { value: null, style: looks.body(align, striped, '', false) };
  const formula =
    cell.formula === undefined ? undefined : formulaAt(cell.formula, { row, first, last }, frame.context.rangeOf);
  if (formula !== undefined)
    return {
      value: formulaValue(formula, sheet, row, at),
      style: looks.body(
        align,
        striped,
        resultCode(cell.displayFormat === undefined ? format : formatOfResult(cell.displayFormat)),
        false,
      ),
    };
  const typed = typedOf(cell);
  if (typed !== undefined) return { value: typed.value, style: looks.body(align, striped, typed.code ?? '', false) };
  const spot = spotOf(component, frame, { where: `the cell in row ${row - first + 1}`, row, at, font: looks.font });
  const room = sheet.widths[at] ?? 0;
  return textCell(cellContent(cell), spot, (text, code) =>
    looks.body(align, striped, code, text.includes('\n') || (text.length * 2 > room && textWidth(text) > room)),
  );
};

/** The content of a cell: text as it is if the value is a text, else HTML. */
const cellContent = (cell: Cell): Content =>
  typeof cell.value === 'string' && isAsItIs(cell.value, cell.displayFormat)
    ? { text: cell.value }
    : { html: cell.html };

/** A cell in a row of totals. Without `displayFormat` the cell formats its value as its column does. */
type Total = Readonly<{
  html: Html;
  value: Json | undefined;
  displayFormat: DisplayFormat | undefined;
  formula?: string | undefined;
}>;

const footerOf = ({ footer = '', footerValue, footerDisplayFormat, footerFormula }: ExpandedColumn): Total => ({
  html: footer,
  value: footerValue,
  displayFormat: footerDisplayFormat,
  formula: footerFormula,
});

/** A cell of the footer, or of the head or foot of a group. `first` and `last` are the rows that it stands for. */
const totalCell = (
  { html, value, displayFormat, formula: written }: Total,
  { align, format }: ExpandedColumn,
  at: number,
  { component, frame, looks, typed: typedOf, resultCode, first, last, where }: Body & Readonly<{ where: string }>,
): DrawnCell => {
  const { sheet } = frame;
  const row = sheet.nextRow();
  const formula = written === undefined ? undefined : formulaAt(written, { row, first, last }, frame.context.rangeOf);
  if (formula !== undefined) {
    // Below dates may stand how many they are.
    const shown = displayFormat === undefined || displayFormat.type === 'date' ? format : formatOfResult(displayFormat);
    return { value: formulaValue(formula, sheet, row, at), style: looks.footer(align, resultCode(shown), false) };
  }
  // A total says what it is by its value: words such as "Total" stand under numbers too.
  const typed = typedOf({ value, displayFormat });
  if (typed !== undefined) return { value: typed.value, style: looks.footer(align, typed.code ?? '', false) };
  return textCell(
    { html: written === undefined ? html : '' },
    spotOf(component, frame, { where, row, at, font: looks.footerFont }),
    (_, code) => looks.footer(align, code, true),
  );
};

/** A formula with its result where that is known, because not every reader works formulas out. */
const formulaValue = (formula: string, sheet: Sheet, row: number, at: number): DrawnCell['value'] => {
  const result = sheet.resultOf(row, at + 1);
  const spelled = spelledInFile(formula);
  if (result === undefined || result === null) return { formula: spelled };
  return { formula: spelled, result: result as CellFormulaValue['result'] & {} };
};

/** The format code of the first typed value of a column. */
const codeOfColumn = (rows: ExpandedTable['rows'], at: number, typed: Typed): string | undefined => {
  for (const cell of cellsOf(rows, at)) {
    const found = typed(cell);
    if (found !== undefined) return found.code;
  }
  return undefined;
};

/**
 * The cells of a table as formulas see them: a value is looked up when a formula asks. `typed` gives the value of a
 * cell, `footerTyped` that of the footer of a column.
 */
const tableCells = (
  { columns, rows, groupRows }: ExpandedTable,
  { hasHeader, bodyRows, rangeOf }: TableRows,
  typed: Typed,
  footerTyped: (column: number) => Scalar | undefined,
): BlockCells => {
  const first = hasHeader ? 1 : 0;
  const compiled = new Map<string, Compiled | undefined>();
  const compile = (formula: string): Compiled | undefined => {
    if (!compiled.has(formula)) compiled.set(formula, compileFormula(withRanges(formula, rangeOf) ?? ''));
    return compiled.get(formula);
  };
  const formulaCell = (formula: string, at: FormulaRows): CellContent | undefined =>
    formulaAt(formula, at, rangeOf) === undefined
      ? undefined
      : { formula: compile(formula), rows: at, isSubtotal: /\bSUBTOTAL\s*\(/i.test(formula) };
  return (row, column, start) => {
    const described = columns[column - 1];
    if (described === undefined) return null;
    const at: FormulaRows = { row: start + row, first: start + first, last: start + first + rows.length - 1 };
    if (row < first) return htmlText(described.header ?? '');
    if (row < first + bodyRows) {
      const cell = rows[row - first]?.[column - 1];
      if (cell === undefined) return null;
      if (cell.formula !== undefined) {
        const group = groupRows?.[row - first];
        const own =
          group === undefined ? at : { ...at, first: start + first + group.first, last: start + first + group.last };
        const found = formulaCell(cell.formula, own);
        if (found !== undefined) return found;
      }
      return valueOf(cell, typed);
    }
    const { footer, footerFormula } = described;
    if (footerFormula !== undefined) return formulaCell(footerFormula, at) ?? null;
    return footerTyped(column - 1) ?? htmlText(footer ?? '');
  };
};

const valueOf = (cell: Cell, typed: Typed): Scalar => {
  const found = typed(cell);
  if (found !== undefined) return scalarOfTyped(found.value);
  if (typeof cell.value === 'string' && isAsItIs(cell.value, cell.displayFormat))
    return cell.value === '' ? null : cell.value;
  return htmlText(cell.html);
};

const scalarOfTyped = (value: number | Date | boolean): Scalar =>
  value instanceof Date ? (value.getTime() - EPOCH_MS) / DAY_MS : value;

const htmlText = (html: Html): Scalar => {
  if (html === '') return null;
  const text = /[<&]/.test(html) ? treeText(parseRichTree(html, 'block')).trim() : html;
  return text === '' ? null : text;
};

/**
 * The width of a column, in characters of its longest line. Most values are not written out, because that costs more
 * than all else of a cell.
 */
const contentWidth = (cells: Iterable<Cell>): number => {
  let chars = 0;
  let samples = 0;
  let largest: Cell | undefined;
  let longest: Cell | undefined;
  for (const cell of cells) {
    const { value, displayFormat } = cell;
    if (typeof value === 'boolean') chars = Math.max(chars, TRUTH_CHARS);
    else if (value === undefined || value === null || typeof value === 'object')
      chars = Math.max(chars, htmlWidth(cell.html));
    else if (isAsItIs(value, displayFormat))
      chars = Math.max(chars, typeof value === 'string' ? textWidth(value) : String(value).length);
    else if (samples++ < SAMPLES) chars = Math.max(chars, htmlWidth(cell.html));
    else {
      if (largest === undefined || magnitude(cell) > magnitude(largest)) largest = cell;
      if (longest === undefined || String(value).length > String(longest.value).length) longest = cell;
    }
  }
  return Math.max(chars, htmlWidth(largest?.html ?? ''), htmlWidth(longest?.html ?? ''));
};

/** True for what is written without a format of its own. */
const isAsItIs = (value: Json, displayFormat: DisplayFormat | undefined): boolean => {
  if (displayFormat === undefined) return true;
  const meaning = meaningOf(value, displayFormat);
  return meaning.kind === 'number'
    ? meaning.format === PLAIN_NUMBER
    : meaning.kind === 'text' && meaning.format === undefined;
};

const magnitude = ({ value }: Cell): number =>
  typeof value === 'number' ? Math.abs(value) + (value < 0 ? 0.5 : 0) : 0;

/** The approximate width of HTML: tags take no room, and each entity takes that of one letter. */
const htmlWidth = (html: Html): number =>
  textWidth(
    /[<&]/.test(html)
      ? html
          .replace(/<br\s*\/?>/gi, '\n')
          .replace(/<[^>]*>/g, '')
          .replace(/&[#\w]+;/g, 'x')
      : html,
  );

/**
 * A sheet while it is written: rows go in from top to bottom and leave memory at once; links, drawings and rules are
 * collected for the end. And the contract by which a component is drawn on it.
 */
import type { ConditionalFormattingRule, CellValue, Style, Worksheet } from 'exceljs';
import type { ColumnRule, RuleOperator } from '../../../domain/rendering/column-rules.js';
import { argb } from '../colors.js';
import { withoutInvalid } from './text.js';
import type { ExpandedTable, Expanded, ExpandedPage, TextStyle } from '../../../domain/rendering/expand/expanded.js';
import type { RangeOf, Scalar } from './formula/values.js';
import type { Direction } from '../../../domain/rendering/direction.js';
import type { Language } from '../../../domain/rendering/scope/formats.js';
import type { FieldError } from '../../../domain/core/errors.js';
import type { Limits } from '../../../domain/core/limits.js';
import type { LoadedImage } from '../../../domain/ports/generator.js';
import type { ComponentsOf } from '../../../domain/rendering/components.js';
import type { BlockCells } from './formula/book.js';

export type CellStyle = Partial<Style>;
export type DrawnCell = Readonly<{ value: CellValue; style: CellStyle }>;

/**
 * The place of a picture or a chart: its upper left corner in a row (from 1) and a column (from 0), `offset` right of
 * the column's edge; lengths in points.
 */
export type Place = Readonly<{ row: number; column: number; offset: number; width: number; height: number }>;
export type Drawing =
  | Readonly<{
      kind: 'picture';
      place: Place;
      bytes: Uint8Array;
      extension: 'png' | 'jpeg' | 'gif';
      alt: string;
      href: string | undefined;
    }>
  | Readonly<{
      kind: 'chart';
      place: Place;
      title: string;
      /** The part of the package, a whole document. */ xml: string;
    }>;

/** Rows of its data in its sheet, and the code of the format of a column, which counts from 0. */
export type PlacedData = Readonly<{ sheetName: string; first: number; codeOf: (column: number) => string | undefined }>;

export type Link = Readonly<{ address: string; href: string }>;

/**
 * A data bar that the end of the sheet says more about: what Excel 2010 added to bars stands there, under the same id.
 */
export type DataBar = Readonly<{ id: string; range: string }>;

export type Sheet = Readonly<{
  name: string;
  /** Columns of the widest table: titles and paragraphs are merged over as many. */
  columns: number;
  /** Widths of the columns, in characters of the sheet's font. */
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
  /** The result of the formula of that cell; undefined if it is not computed here. Columns from 1. */
  resultOf: (row: number, column: number) => Scalar | undefined;
  /** The place of a table of the workbook. */
  dataOf: (table: ExpandedTable) => PlacedData | undefined;
  link: (row: number, column: number, href: string) => void;
  draw: (drawing: Drawing) => void;
  filter: (range: string) => void;
  formatByRules: (range: string, rules: readonly ColumnRule[]) => void;
  /** Lets the package take what was written; rejects where it has grown too large. */
  flush: () => Promise<void>;
}>;

type OpenSheet = Sheet &
  Readonly<{ links: readonly Link[]; drawings: readonly Drawing[]; dataBars: readonly DataBar[] }>;

/** Loops, conditions and includes are gone once a document is expanded. */
export type ExcelComponentType = Exclude<ComponentsOf<'excel'>, 'conditional' | 'loop' | 'include'>;
export type ExcelComponent = Extract<Expanded, { type: ExcelComponentType }>;

export type ComponentContext = Readonly<{
  language: Language;
  limits: Limits;
  images: ReadonlyMap<string, LoadedImage>;
  /** All tables of the workbook. */
  tables: readonly ExpandedTable[];
  /** To be asked once all components have their places. */
  rangeOf: RangeOf;
  /** Direction of the sheet: the side of its first column, and the meaning of start and end. */
  direction: Direction;
  /** Width of the page without its margins, in points; percentages are shares of it. */
  pageWidth: number;
  /** Text style of the section that holds the component. */
  style: TextStyle;
  linkColor: string | undefined;
  /** Takes what the author should know of the workbook. */
  tell: (warning: FieldError) => void;
}>;

/** `first` is the row of its first data, counted from the table's own first row. */
type TableData = Readonly<{ table: ExpandedTable; first: number; codeOf: (column: number) => string | undefined }>;

/** A component that has said what room it takes, and can draw itself. */
export type Prepared = Readonly<{
  /** Rows from the first to the last. */
  rows: number;
  /** Widths of the columns that it needs, in characters; undefined leaves the width to other components. */
  widths: readonly (number | undefined)[];
  /** For each column: true where it is not to be seen. */
  hidden?: readonly boolean[];
  /**
   * The row to keep in sight when the sheet is scrolled, counted from its first one; asked for, or only fitting when
   * nothing stands above.
   */
  header?: Readonly<{ row: number; freeze: boolean }>;
  /** A paragraph stands close to the next, a block has room around it. */
  kind: 'text' | 'block';
  /** Its cells for the formulas of the workbook; undefined: they are text, which no formula here reads. */
  cells?: BlockCells;
  /** The place and the format of the data of a table, for charts. */
  data?: TableData;
  /** The component in columns of these widths, which may take other rows; undefined: the widths change nothing. */
  fit?: (widths: readonly number[]) => Prepared;
  draw: (sheet: Sheet) => Promise<void>;
}>;

/** Throws DomainError where a limit is crossed or a picture cannot be shown. */
export type ComponentDrawer<Type extends ExcelComponentType> = (
  component: Extract<ExcelComponent, { type: Type }>,
  context: ComponentContext,
) => Prepared;

const DEFAULT_ROW_POINTS = 15;
/** Excel knows no higher row. */
export const ROW_POINTS_MAX = 409;

/** The height of a row; `tellCut` is called where Excel knows no row so high. */
export const lowEnough = (points: number, tellCut: () => void): number => {
  if (points > ROW_POINTS_MAX) tellCut();
  return Math.min(ROW_POINTS_MAX, points);
};

/** The warning about a cell of `field` whose text is longer than its row can be high. */
export const cutCell = (field: string, where: string): FieldError => ({
  field,
  message: `${where}: the end of the text cannot be seen, for no row of a workbook is higher than ${ROW_POINTS_MAX} points; make the column wider or the text shorter`,
});
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
  type Look = Readonly<{
    height?: number | undefined;
    /** Columns that the first cell reaches over. */ merged?: number;
    hidden?: true;
  }>;
  const write = (cells: readonly (DrawnCell | undefined)[], { height, merged, hidden }: Look): void => {
    const row = worksheet.getRow(next);
    let isEmpty = true;
    for (let at = 0; at < cells.length; at++) {
      const drawn = cells[at];
      if (drawn === undefined) continue;
      const cell = row.getCell(at + 1);
      cell.value = drawn.value;
      // Equal looks are one object, by which the writer sees that the style is written already.
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
      if (links.length < LINKS_MAX && href.length <= LINK_CHARS_MAX)
        links.push({ address: `${columnLetters(column)}${row}`, href });
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

/**
 * The rules of a column as conditional formats. `priority` is that of the first, counted over the whole sheet; `sheet`
 * is the number of the sheet.
 */
const conditionalFormats = (
  rules: readonly ColumnRule[],
  { range, priority, sheet }: Readonly<{ range: string; priority: number; sheet: number }>,
): Readonly<{ rules: ConditionalFormattingRule[]; dataBars: readonly DataBar[] }> => {
  const ids = rules.map((_, at) => idOf(sheet, priority + at));
  return {
    rules: rules.map((rule, at) => formatOf(rule, range, { priority: priority + at, id: ids[at] ?? '' })),
    dataBars: rules.flatMap(({ kind }, at) => (kind === 'dataBar' ? [{ id: ids[at] ?? '', range }] : [])),
  };
};

/** A GUID that is the same for the same workbook. */
const idOf = (sheet: number, priority: number): string => {
  const hex = (value: number, digits: number): string => value.toString(16).toUpperCase().padStart(digits, '0');
  return `{00000000-0000-4000-8000-${hex(sheet, 4)}${hex(priority, 8)}}`;
};

const EXTENSION = 'http://schemas.microsoft.com/office/spreadsheetml/2009/9/main';

/** Bars without a gradient, to stand at the very end of the sheet. */
export const dataBarsXml = (bars: readonly DataBar[]): string => {
  if (bars.length === 0) return '';
  const rules = bars.map(
    ({ id, range }) =>
      `<x14:conditionalFormatting xmlns:xm="http://schemas.microsoft.com/office/excel/2006/main"><x14:cfRule type="dataBar" id="${id}">` +
      `<x14:dataBar minLength="0" maxLength="100" gradient="0"><x14:cfvo type="autoMin"/><x14:cfvo type="autoMax"/>` +
      `<x14:negativeFillColor rgb="FFFF0000"/><x14:axisColor rgb="FF000000"/></x14:dataBar></x14:cfRule><xm:sqref>${range}</xm:sqref></x14:conditionalFormatting>`,
  );
  return `<extLst><ext uri="{78C0D931-6437-407d-A8EE-F0AAD7539E65}" xmlns:x14="${EXTENSION}"><x14:conditionalFormattings>${rules.join('')}</x14:conditionalFormattings></ext></extLst>`;
};

const BLACK = 'FF000000';

const formatOf = (
  rule: ColumnRule,
  range: string,
  { priority, id }: Readonly<{ priority: number; id: string }>,
): ConditionalFormattingRule => {
  const colorOf = (css: string): { argb: string } => ({ argb: argb(css) ?? BLACK });
  switch (rule.kind) {
    case 'colorScale': {
      const middle = rule.colors.length === 3 ? [{ type: 'percentile' as const, value: 50 }] : [];
      return {
        type: 'colorScale',
        priority,
        cfvo: [{ type: 'min' }, ...middle, { type: 'max' }],
        color: rule.colors.map(colorOf),
      };
    }
    case 'dataBar':
      // The library writes the colour and the id, which its types do not know. Without an id Excel calls the file
      // damaged.
      return {
        type: 'dataBar',
        priority,
        gradient: false,
        cfvo: [{ type: 'min' }, { type: 'max' }],
        ...{ color: colorOf(rule.color), x14Id: id },
      } as ConditionalFormattingRule;
    case 'cells': {
      const fill = argb(rule.backgroundColor);
      const style = {
        ...(rule.color === undefined && !rule.bold
          ? {}
          : {
              font: {
                ...(rule.bold ? { bold: true } : {}),
                ...(rule.color === undefined ? {} : { color: colorOf(rule.color) }),
              },
            }),
        // Excel shows the background colour of a conditional fill.
        ...(fill === undefined
          ? {}
          : { fill: { type: 'pattern' as const, pattern: 'solid' as const, bgColor: { argb: fill } } }),
      };
      return {
        type: 'expression',
        priority,
        style,
        formulae: [conditionOf(rule.operator, rule.values.map(literal), range)],
      };
    }
  }
};

const literal = (value: number | string): string =>
  typeof value === 'number' ? String(value) : `"${withoutInvalid(value).replaceAll('"', '""')}"`;

const signs = {
  greaterThan: '>',
  atLeast: '>=',
  lessThan: '<',
  atMost: '<=',
  equal: '=',
  notEqual: '<>',
} as const satisfies Partial<Record<RuleOperator, string>>;

/** The formula of a rule for the first cell of the range; a blank is not taken for zero. */
const conditionOf = (operator: RuleOperator, [value = '', and = '']: readonly string[], range: string): string => {
  const cell = range.replace(/:.*$/, '');
  const test = operator === 'between' ? `${cell}>=${value},${cell}<=${and}` : `${cell}${signs[operator]}${value}`;
  return `AND(NOT(ISBLANK(${cell})),${test})`;
};

/** In: a column from 1. Out: A, B, … Z, AA. */
export const columnLetters = (column: number): string =>
  column <= 26
    ? String.fromCharCode(64 + column)
    : columnLetters(Math.floor((column - 1) / 26)) + columnLetters(((column - 1) % 26) + 1);

/** The name of a sheet as a reference writes it. */
export const quotedName = (sheetName: string): string => `'${sheetName.replaceAll("'", "''")}'`;

/** The width of a page between its margins, in points. */
export const innerWidth = ({ format, orientation, margin }: ExpandedPage): number => {
  const [short, long] = sides[format];
  return Math.max(72, (orientation === 'portrait' ? short : long) - margin.left - margin.right);
};

const sides: Readonly<Record<ExpandedPage['format'], readonly [short: number, long: number]>> = {
  A3: [842, 1191],
  A4: [595, 842],
  A5: [420, 595],
  Letter: [612, 792],
  Legal: [612, 1008],
  Tabloid: [792, 1224],
};

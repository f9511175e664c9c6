/** What every component of a sheet is to the sheet: it says what room it takes, then it draws itself. */
import type { Expanded, ExpandedPage, ExpandedTable, TextStyle } from '../../../domain/rendering/expand/expanded.js';
import type { Direction } from '../../../domain/rendering/direction.js';
import type { Language } from '../../../domain/rendering/scope/formats.js';
import type { Limits } from '../../../domain/core/limits.js';
import type { LoadedImage } from '../../../domain/ports/generator.js';
import type { ComponentsOf } from '../../../domain/rendering/components.js';
import type { BlockCells } from './formula/book.js';
import type { Sheet } from './sheet.js';

/** Loops and conditions are gone once a document is expanded. */
export type ExcelComponentType = Exclude<ComponentsOf<'excel'>, 'conditional' | 'loop'>;
export type ExcelComponent = Extract<Expanded, { type: ExcelComponentType }>;

export type Surroundings = Readonly<{
  language: Language;
  limits: Limits;
  images: ReadonlyMap<string, LoadedImage>;
  /** All of the workbook. */
  tables: readonly ExpandedTable[];
  /** Of the sheet: its first column stands at that side, and start and end are its. */
  direction: Direction;
  /** Of the page in points, without its margins: what a share of the width is a share of. */
  pageWidth: number;
  /** Text of the section that the component stands in. */
  style: TextStyle;
  linkColor: string | undefined;
}>;

export type Prepared = Readonly<{
  /** Rows from the first to the last. */
  rows: number;
  /** Of the columns that it needs, in characters; undefined where it leaves the width to others. */
  widths: readonly (number | undefined)[];
  /** For each column: true where it is not to be seen. */
  hidden?: readonly boolean[];
  /** The row to keep in sight when the sheet is scrolled, counted from its first one; asked for, or only fitting when nothing stands above. */
  header?: Readonly<{ row: number; freeze: boolean }>;
  /** A paragraph stands close to the next, a block has room around it. */
  kind: 'text' | 'block';
  /** Its cells for the formulas of the workbook; undefined: they are text, which no formula here reads. */
  cells?: BlockCells;
  /** Where the data of a table stand and how they look, for charts. */
  data?: TableData;
  draw: (sheet: Sheet) => Promise<void>;
}>;

/** `first` is the row of its first data, counted from the table's own first row. */
export type TableData = Readonly<{ table: ExpandedTable; first: number; codeOf: (column: number) => string | undefined }>;

/** Throws DomainError where a limit is crossed or a picture cannot be shown. */
export type ComponentDrawer<Type extends ExcelComponentType> = (
  component: Extract<ExcelComponent, { type: Type }>,
  surroundings: Surroundings,
) => Prepared;

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

/**
 * Tables of a document: rows from a data source or written out, each cell with its text and, where the cell is one
 * value, the value.
 */
import { type Json, isJsonObject, type JsonObject } from '../../core/json.js';
import type { Direction } from '../direction.js';
import type { Limits } from '../../core/limits.js';
import type { Cell, ExpandedColumn, GroupRow } from './expanded.js';
import {
  aloneIn,
  compileHtml,
  compileShown,
  compileWriter,
  escapeWhole,
  onlyPlaceholder,
  templated,
  writerAt,
  type Writer,
  compilePlain,
} from '../fill/compile.js';
import type { Formatter } from '../scope/formats.js';
import { cellTooLong, tooManyColumns, tooManyItems, tooManyRows } from '../budget.js';
import {
  charge,
  countChars,
  type Scope,
  type State,
  compileSource,
  rootShape,
  steadySource,
  GROUP,
  groupingOf,
  groupItems,
  groupShape,
  type Grouping,
  type Source,
} from '../scope/scope.js';
import { hasPlaceholder } from '../fill/templated-text.js';
import {
  literalValue,
  writtenCell,
  type DisplayFormat,
  holdsNumbers,
  isColumnType,
  isNumeric,
} from '../scope/display-format.js';
import type { ValueFormat, VariableType } from '../scope/definitions.js';
import { rulesOf } from '../column-rules.js';
import type { DocumentComponent } from '../content.js';
import {
  colorOf,
  compileAlign,
  compileBorder,
  compileBox,
  compilePoints,
  compileWidth,
  defined,
  type Expander,
  compileHiddenColumns,
} from './components.js';
import { thinBorder } from '../lengths.js';
import { writePath, type Path } from '../scope/path.js';
import { shapeAt } from '../scope/shapes.js';

type MakeCell = (state: State) => Cell;

/** The table that cells stand in: its place in the template, and what bounds it. */
type TablePlace = Readonly<{ field: string; limits: Limits }>;

type Column = Readonly<{
  displayFormat: DisplayFormat;
  content: Json | undefined;
  make: (state: State) => ExpandedColumn;
}>;

export const table = (component: DocumentComponent, field: string, scope: Scope): Expander => {
  const { limits } = scope;
  const props = component.props ?? {};
  const place: TablePlace = { field, limits };
  const { columns, rows, hidden } =
    props['dataSource'] === undefined ? writtenRows(props, place, scope) : dataRows(props, place, scope);
  // Between its items stand other rows: charts have cells of their own.
  const source = props['groupBy'] === undefined ? steadySource(props, scope) : undefined;
  const look = compileLook(props, scope);
  const emptyText = typeof props['emptyText'] === 'string' ? compileHtml(props['emptyText'], scope) : undefined;
  const sheetName = typeof props['sheetName'] === 'string' ? compilePlain(props['sheetName'], scope) : undefined;
  const hasHeader = props['showHeader'] !== false && columns.some(({ hasHeader }) => hasHeader);
  const fixed = {
    striped: props['striped'] === true,
    freezeHeader: props['freezeHeader'] === true,
    autoFilter: props['autoFilter'] === true,
    showHeader: hasHeader,
  };
  return (state, out) => {
    if (state.format === 'excel' && columns.length > limits.excelColumnsMax)
      throw tooManyColumns(columns.length, limits.excelColumnsMax);
    const away = hidden?.(state) ?? NOTHING;
    const all = columns.map((column) => column.make(state));
    const made = away.size === 0 ? all : withWidthsOf(all, (_, at) => !away.has(at));
    for (const { header, footer } of made) {
      if (header !== undefined) keepText(header, 'a header', state, place);
      if (footer !== undefined) keepText(footer, 'a footer', state, place);
    }
    const body = rows(state);
    out.push({
      type: 'table',
      ...defined({ source }),
      id: component.id,
      field,
      columns: made,
      rows: away.size === 0 ? body.cells : body.cells.map((row) => row.filter((_, at) => !away.has(at))),
      ...defined({ groupRows: body.groupRows }),
      ...fixed,
      ...look(state),
      emptyText: emptyText === undefined ? undefined : charge(emptyText(state), state, limits),
      ...defined({ sheetName: sheetName === undefined ? undefined : charge(sheetName(state), state, limits) }),
    });
  };
};

/** In: columns, and which of them are left. Out: these, with the shares of the others where all widths are shares. */
const withWidthsOf = (
  all: readonly ExpandedColumn[],
  isLeft: (column: ExpandedColumn, at: number) => boolean,
): readonly ExpandedColumn[] => {
  const left = all.filter(isLeft);
  const percent = ({ width }: ExpandedColumn): number =>
    typeof width === 'object' && 'percent' in width ? width.percent : Number.NaN;
  const sum = (columns: readonly ExpandedColumn[]): number =>
    columns.reduce((total, column) => total + percent(column), 0);
  const factor = sum(all) / sum(left);
  return Number.isFinite(factor)
    ? left.map((column) => ({ ...column, width: { percent: percent(column) * factor } }))
    : left;
};

const compileLook = (props: JsonObject, scope: Scope) => {
  const borderLines = props['border'] === undefined ? ('rows' as const) : ('all' as const);
  const border = compileBorder(props['border'], scope, thinBorder);
  const [headerBackgroundColor, headerColor, color] = [
    props['headerBackgroundColor'],
    props['headerColor'],
    props['color'],
  ].map((value) => colorOf(value, scope));
  const fontSize = compilePoints(props['fontSize'], scope);
  const padding = compileBox(props['padding'], scope);
  const cellPadding =
    props['cellPadding'] === undefined
      ? undefined
      : compileBox(props['cellPadding'], scope, { top: 4, right: 6, bottom: 4, left: 6 });
  return (state: State) => ({
    border: border(state),
    borderLines,
    padding: padding(state),
    ...defined({
      headerBackgroundColor: headerBackgroundColor?.(state),
      headerColor: headerColor?.(state),
      color: color?.(state),
      fontSize: fontSize(state),
      cellPadding: cellPadding?.(state),
    }),
  });
};

type CompiledColumn = Column & Readonly<{ hasHeader: boolean }>;

/** `inside` is where the cells stand: a column knows its type from the definition of what they show. */
const compileColumn = (given: Json | undefined, scope: Scope, inside: Scope): CompiledColumn => {
  const column = isJsonObject(given) ? given : {};
  const { header, footer, content } = column;
  const format = isJsonObject(column['format']) ? (column['format'] as ValueFormat) : undefined;
  const alone = typeof content === 'string' ? onlyPlaceholder(templated(content, inside))?.path : undefined;
  const type = typeOf(column, format, alone && shapeAt(rootShape(alone, inside), alone)?.type);
  const headerFill = typeof header === 'string' && header !== '' ? compileHtml(header, scope) : undefined;
  const displayFormat: DisplayFormat = {
    ...(isColumnType(column['type']) && { type: column['type'] }),
    ...(format && { format }),
  };
  const footerCell = typeof footer === 'string' ? compileCell(footer, displayFormat, scope) : undefined;
  const width = compileWidth(column['width'], scope);
  const natural = holdsNumbers(displayFormat, alone && rootShape(alone, inside), alone) ? 'end' : 'start';
  const align = compileAlign(column['align'], scope, natural);
  const headerAlign = column['headerAlign'] === undefined ? align : compileAlign(column['headerAlign'], scope, natural);
  const rules = rulesOf(column['rules']);
  const path = itemPath(alone, inside, scope);
  const ofSheet = {
    path,
    hidden: column['hidden'] === true || undefined,
    rules: rules.length === 0 ? undefined : rules,
  };
  const shared = format?.currency?.includes('{{') === true ? undefined : format;
  return {
    displayFormat,
    content,
    hasHeader: headerFill !== undefined,
    make: (state) => {
      const below = footerCell?.(state);
      return {
        header: headerFill?.(state),
        footer: below?.html,
        width: width(state) ?? 'auto',
        align: align(state),
        headerAlign: headerAlign(state),
        type,
        format: shared,
        ...defined({
          footerValue: below?.value,
          footerDisplayFormat: below?.displayFormat,
          footerFormula: below?.formula,
          ...ofSheet,
        }),
      };
    },
  };
};

/** From the item of the table itself: a variable of a loop around it is another one. */
const itemPath = (path: Path | undefined, inside: Scope, scope: Scope): string | undefined => {
  const local = path === undefined ? undefined : inside.locals.get(String(path[0]));
  if (path === undefined || local?.slot !== scope.slots || path.length < 2) return undefined;
  return writePath(path.slice(1));
};

/** The type that the author gives the column, else that of the value's definition. */
const typeOf = (
  { type }: JsonObject,
  format: ValueFormat | undefined,
  known: VariableType | undefined,
): ExpandedColumn['type'] => {
  if (type === 'currency' || type === 'percent') return 'number';
  if (isCellType(type)) return type;
  if (isCellType(known)) return known;
  if (format === undefined) return undefined;
  return isNumeric(format) ? 'number' : 'date';
};

type CellType = NonNullable<ExpandedColumn['type']>;
const cellTypes: readonly CellType[] = ['string', 'number', 'date', 'boolean'];
const isCellType = (type: unknown): type is CellType => cellTypes.some((known) => known === type);

const columnsOf = (props: JsonObject, count: number, scope: Scope, inside: Scope): readonly CompiledColumn[] => {
  const given = Array.isArray(props['columns']) ? (props['columns'] as readonly Json[]) : [];
  return Array.from({ length: Math.max(given.length, count) }, (_, at) => compileColumn(given[at], scope, inside));
};

type Body = Readonly<{ cells: readonly (readonly Cell[])[]; groupRows?: readonly (GroupRow | undefined)[] }>;

type Rows = Readonly<{
  columns: readonly CompiledColumn[];
  rows: (state: State) => Body;
  /** The places of columns that are left out; absent where none ever is. */
  hidden?: ((state: State) => ReadonlySet<number>) | undefined;
}>;

const NOTHING: ReadonlySet<number> = new Set();

const dataRows = (props: JsonObject, place: TablePlace, scope: Scope): Rows => {
  const { limits } = scope;
  const source = compileSource(props, scope);
  const columns = columnsOf(props, 0, scope, source.inside);
  const cells = columns.map(({ content, displayFormat }) => compileCell(content, displayFormat, source.inside));
  const grouping = groupingOf(props, limits.pathSegmentsMax);
  const grouped =
    grouping === undefined ? undefined : groupedRows(props, columns, { grouping, source, cells }, place, scope);
  const rows = (state: State): Body => {
    // A sheet is made for many rows; in a PDF a table is a loop like any other.
    const items = state.format === 'excel' ? source.all(state) : source.items(state);
    if (state.format === 'excel') countRows(items.length, state, limits);
    if (grouped !== undefined) return grouped(state, items);
    const made = new Array<readonly Cell[]>(items.length);
    for (let at = 0; at < items.length; at += 1) {
      source.enter(state, items[at] ?? null, at);
      made[at] = rowOf(cells, at, state, place);
    }
    return { cells: made };
  };
  return { columns, rows, hidden: compileHiddenColumns(props, source, limits.pathSegmentsMax) };
};

type Grouped = Readonly<{ grouping: Grouping; source: Source; cells: readonly MakeCell[] }>;

/** Makes the rows of items group by group, with the head and the foot of each where a column has one. */
const groupedRows = (
  props: JsonObject,
  columns: readonly CompiledColumn[],
  { grouping, source, cells }: Grouped,
  place: TablePlace,
  scope: Scope,
): ((state: State, items: readonly Json[]) => Body) => {
  const { limits } = scope;
  const slot = source.inside.slots;
  const local = { slot, shape: groupShape(source.itemShape, grouping.by) };
  const inside: Scope = { ...scope, locals: new Map(scope.locals).set(GROUP, local), slots: slot + 1 };
  const given = Array.isArray(props['columns']) ? (props['columns'] as readonly Json[]) : [];
  const edgeOf = (name: 'groupHeader' | 'groupFooter'): readonly MakeCell[] | undefined => {
    const contents = columns.map((_, at) => (isJsonObject(given[at]) ? given[at][name] : undefined));
    if (contents.every((content) => content === undefined)) return undefined;
    return contents.map((content, at) => compileCell(content, columns[at]?.displayFormat ?? {}, inside));
  };
  const [header, footer] = [edgeOf('groupHeader'), edgeOf('groupFooter')];
  return (state, items) => {
    const made: (readonly Cell[])[] = [];
    const groupRows: (GroupRow | undefined)[] = [];
    const addEdge = (edge: readonly MakeCell[] | undefined, row: GroupRow): void => {
      if (edge === undefined) return;
      if (state.format === 'excel') countRows(1, state, limits);
      else countItems(1, state, limits);
      groupRows[made.length] = row;
      made.push(rowOf(edge, made.length, state, place));
    };
    let at = 0;
    for (const { items: own, value } of groupItems(items, grouping, scope.language.locale)) {
      state.locals[slot] = value;
      const first = made.length + (header === undefined ? 0 : 1);
      const last = first + own.length - 1;
      addEdge(header, { kind: 'header', first, last });
      for (const item of own) {
        source.enter(state, item, at);
        groupRows[made.length] = undefined;
        made.push(rowOf(cells, made.length, state, place));
        at += 1;
      }
      addEdge(footer, { kind: 'footer', first, last });
    }
    return { cells: made, groupRows };
  };
};

const countItems = (count: number, state: State, { documentItemsMax }: Limits): void => {
  state.items += count;
  if (state.items > documentItemsMax) throw tooManyItems(state.items, documentItemsMax);
};

const writtenRows = (props: JsonObject, place: TablePlace, scope: Scope): Rows => {
  const { limits } = scope;
  const given = Array.isArray(props['rows']) ? (props['rows'] as readonly (readonly Json[])[]) : [];
  const columns = columnsOf(
    props,
    given.reduce((most, row) => Math.max(most, row.length), 0),
    scope,
    scope,
  );
  const made = given.map((row) =>
    columns.map(({ displayFormat }, at) => {
      const cell = writtenCell(row[at], displayFormat);
      return compileCell(cell.content, cell.displayFormat, scope);
    }),
  );
  const rows = (state: State): Body => {
    if (state.format === 'excel') countRows(made.length, state, limits);
    else countItems(made.length, state, limits);
    return { cells: made.map((cells, at) => rowOf(cells, at, state, place)) };
  };
  return { columns, rows };
};

const countRows = (count: number, state: State, { excelRowsMax }: Limits): void => {
  state.rows += count;
  if (state.rows > excelRowsMax) throw tooManyRows(state.rows, excelRowsMax);
};

/** Makes one row; `row` counts from 0, for messages. */
const rowOf = (cells: readonly MakeCell[], row: number, state: State, place: TablePlace): readonly Cell[] => {
  const { excelCellCharsMax } = place.limits;
  const made = new Array<Cell>(cells.length);
  for (let at = 0; at < cells.length; at += 1) {
    const make = cells[at];
    if (make === undefined) continue;
    const cell = make(state);
    const chars = charsOf(cell, state);
    countChars(chars, state, place.limits);
    if (chars > excelCellCharsMax) refuseLong(cell, `the cell in row ${row + 1}, column ${at + 1}`, state, place);
    made[at] = cell;
  }
  return made;
};

/** Numbers, dates and truth are short in every format. */
const SHORT_VALUE_CHARS = 24;

/** At least as many characters as a reader will see. */
const charsOf = (cell: Cell, state: State): number => {
  const { value } = cell;
  if (state.format !== 'excel' || value === undefined) return cell.html.length;
  return typeof value === 'string' ? value.length : SHORT_VALUE_CHARS;
};

/** Counts the text of a header or a footer, and refuses one that no cell of a sheet can hold. */
const keepText = (html: string, where: string, state: State, place: TablePlace): void => {
  charge(html, state, place.limits);
  refuseLong({ html, value: undefined }, where, state, place);
};

const refuseLong = (
  { html, value }: Pick<Cell, 'html' | 'value'>,
  where: string,
  state: State,
  { field, limits }: TablePlace,
): void => {
  const { excelCellCharsMax } = limits;
  if (state.format !== 'excel' || html.length <= excelCellCharsMax) return;
  const chars = typeof value === 'string' ? value.length : textLength(html);
  if (chars > excelCellCharsMax) throw cellTooLong(field, where, chars, excelCellCharsMax);
};

/** Characters that are left when the markup is gone. */
const textLength = (html: string): number =>
  html.replace(/<[^<>]*>/g, '').replace(/&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8});/gi, '-').length;

const EMPTY: Cell = { html: '', value: undefined, displayFormat: undefined };

/** `column`: how the column shows its values. */
const compileCell = (content: Json | undefined, column: DisplayFormat, scope: Scope): MakeCell => {
  if (content === undefined || content === null) return () => EMPTY;
  const literal = literalValue(content, column);
  if (literal !== undefined) return literalCell(literal, column, scope);
  const text = String(content);
  const placeholder = onlyPlaceholder(templated(text, scope));
  if (placeholder === undefined) return htmlCell(text, column, scope);
  const read = compileShown(placeholder.path, scope);
  const writer = writerAt(placeholder.path, scope, { ...column, isWhole: true });
  const place = { direction: scope.direction, escape: escapeWhole(scope) };
  return (state) => {
    const value = read(state);
    return value === undefined || value === null ? EMPTY : valueCell(value, writer(state), { ...place, state });
  };
};

const literalCell = (value: Json, column: DisplayFormat, scope: Scope): MakeCell => {
  const writer = compileWriter({ ...column, isWhole: true }, scope);
  const place = { direction: scope.direction, escape: escapeWhole(scope) };
  return (state) => valueCell(value, writer(state), { ...place, state });
};

type CellPlace = Readonly<{ direction: Direction; escape: (text: string) => string; state: State }>;

/** A list or an object is no value of a cell: its text stands for it. */
const valueCell = (value: Json, { write, displayFormat }: Writer, { direction, escape, state }: CellPlace): Cell => {
  if (state.format === 'excel' && typeof value !== 'object') return new SheetCell(value, write, displayFormat, escape);
  const text = write(value);
  const html = escape(state.format === 'pdf' ? aloneIn(direction, text) : text);
  return typeof value === 'object'
    ? { html, value: undefined, displayFormat: undefined }
    : { html, value, displayFormat };
};

/**
 * A sheet shows the value itself and seldom asks for its text, so the text, which costs more than all else of a cell,
 * is made when it is asked for.
 */
class SheetCell implements Cell {
  readonly value: Json;
  readonly displayFormat: DisplayFormat | undefined;
  readonly #write: Formatter;
  readonly #escape: (text: string) => string;

  constructor(
    value: Json,
    write: Formatter,
    displayFormat: DisplayFormat | undefined,
    escape: (text: string) => string,
  ) {
    this.value = value;
    this.#escape = escape;
    this.displayFormat = displayFormat;
    this.#write = write;
  }

  get html(): string {
    return this.#escape(this.#write(this.value));
  }
}

const htmlCell = (content: string, column: DisplayFormat, scope: Scope): MakeCell => {
  const fill = compileHtml(content, scope, column);
  const formula = formulaIn(content);
  if (formula !== undefined) {
    const writer = compileWriter(column, scope);
    return (state) => ({ html: fill(state), value: undefined, displayFormat: writer(state).displayFormat, formula });
  }
  return (state) => ({ html: fill(state), value: undefined, displayFormat: undefined });
};

/**
 * A content that begins with an equals sign and holds no placeholder: what a variable brings never becomes part of a
 * formula.
 */
const formulaIn = (content: string): string | undefined => {
  const formula = content.trim();
  return formula.startsWith('=') && formula.length > 1 && !hasPlaceholder(formula) ? formula : undefined;
};

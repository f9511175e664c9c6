/** Tables of a document: rows from a data source or written out, each cell with its text and, where it is one value, the value. */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.js';
import type { Limits } from '../../core/limits.js';
import type { ValueFormat, VariableType } from '../scope/definitions.js';
import { rulesOf } from '../column-rules.js';
import type { DocumentComponent } from '../document-content.js';
import { colorOf, compileAlign, compileBorder, compileBox, compilePoints, compileWidth, defined } from './style.js';
import type { Cell, ExpandedColumn } from './expanded.js';
import type { Expander } from './expander.js';
import { compileHiddenColumns } from './hiding.js';
import { compileCell, keepText, rowOf, type TablePlace } from './cells.js';
import { compileHtml, compilePlain, onlyPlaceholder, templated } from '../fill/filling.js';
import { thinBorder } from '../lengths.js';
import { tooManyColumns, tooManyItems, tooManyRows } from '../limit-errors.js';
import { writePath, type Path } from '../scope/path.js';
import { charge, compileSource, rootShape, steadySource, type Scope, type State } from '../scope/scope.js';
import { shapeAt } from '../scope/shapes.js';
import { holdsNumbers, isColumnType, isNumeric, type Showing } from '../scope/showing.js';

type Column = Readonly<{
  showing: Showing;
  content: Json | undefined;
  make: (state: State) => ExpandedColumn;
}>;

export const table = (component: DocumentComponent, field: string, scope: Scope): Expander => {
  const { limits } = scope;
  const props = component.props ?? {};
  const place: TablePlace = { field, limits };
  const { columns, rows, hidden } = props['dataSource'] === undefined ? writtenRows(props, place, scope) : dataRows(props, place, scope);
  const source = steadySource(props, scope);
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
    if (state.format === 'excel' && columns.length > limits.excelColumnsMax) throw tooManyColumns(columns.length, limits.excelColumnsMax);
    const away = hidden?.(state) ?? NOTHING;
    const made = columns.filter((_, at) => !away.has(at)).map((column) => column.make(state));
    for (const { header, footer } of made) {
      if (header !== undefined) keepText(header, 'a header', state, place);
      if (footer !== undefined) keepText(footer, 'a footer', state, place);
    }
    out.push({
      type: 'table',
      ...defined({ source }),
      id: component.id,
      field,
      columns: made,
      rows: away.size === 0 ? rows(state) : rows(state).map((row) => row.filter((_, at) => !away.has(at))),
      ...fixed,
      ...look(state),
      emptyText: emptyText === undefined ? undefined : charge(emptyText(state), state, limits),
      ...defined({ sheetName: sheetName === undefined ? undefined : charge(sheetName(state), state, limits) }),
    });
  };
};

const compileLook = (props: JsonObject, scope: Scope) => {
  const borderLines = props['border'] === undefined ? ('rows' as const) : ('all' as const);
  const border = compileBorder(props['border'], scope, thinBorder);
  const [headerBackgroundColor, headerColor, color] = [props['headerBackgroundColor'], props['headerColor'], props['color']].map((value) =>
    colorOf(value, scope),
  );
  const fontSize = compilePoints(props['fontSize'], scope);
  const padding = compileBox(props['padding'], scope);
  const cellPadding =
    props['cellPadding'] === undefined ? undefined : compileBox(props['cellPadding'], scope, { top: 4, right: 6, bottom: 4, left: 6 });
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
  const showing: Showing = { ...(isColumnType(column['type']) && { type: column['type'] }), ...(format && { format }) };
  const footerCell = typeof footer === 'string' ? compileCell(footer, showing, scope) : undefined;
  const width = compileWidth(column['width'], scope);
  const natural = holdsNumbers(showing, alone && rootShape(alone, inside), alone) ? 'end' : 'start';
  const align = compileAlign(column['align'], scope, natural);
  const headerAlign = column['headerAlign'] === undefined ? align : compileAlign(column['headerAlign'], scope, natural);
  const rules = rulesOf(column['rules']);
  const path = itemPath(alone, inside, scope);
  const ofSheet = { path, hidden: column['hidden'] === true || undefined, rules: rules.length === 0 ? undefined : rules };
  const shared = format?.currency?.includes('{{') === true ? undefined : format;
  return {
    showing,
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
        ...defined({ footerValue: below?.value, footerShowing: below?.showing, footerFormula: below?.formula, ...ofSheet }),
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

/** What the author says, else what the definition of the value says. */
const typeOf = ({ type }: JsonObject, format: ValueFormat | undefined, known: VariableType | undefined): ExpandedColumn['type'] => {
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

type Rows = Readonly<{
  columns: readonly CompiledColumn[];
  rows: (state: State) => readonly (readonly Cell[])[];
  /** The places of columns that are left out; absent where none ever is. */
  hidden?: ((state: State) => ReadonlySet<number>) | undefined;
}>;

const NOTHING: ReadonlySet<number> = new Set();

const dataRows = (props: JsonObject, place: TablePlace, scope: Scope): Rows => {
  const { limits } = scope;
  const source = compileSource(props, scope);
  const columns = columnsOf(props, 0, scope, source.inside);
  const cells = columns.map(({ content, showing }) => compileCell(content, showing, source.inside));
  const rows = (state: State): readonly (readonly Cell[])[] => {
    // A sheet is made for many rows; in a PDF a table is a loop like any other.
    const items = state.format === 'excel' ? source.all(state) : source.items(state);
    if (state.format === 'excel') countRows(items.length, state, limits);
    const made = new Array<readonly Cell[]>(items.length);
    for (let at = 0; at < items.length; at += 1) {
      source.enter(state, items[at] ?? null, at);
      made[at] = rowOf(cells, at, state, place);
    }
    return made;
  };
  return { columns, rows, hidden: compileHiddenColumns(props, source, limits.pathSegmentsMax) };
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
  const made = given.map((row) => columns.map(({ showing }, at) => compileCell(row[at], showing, scope)));
  const rows = (state: State): readonly (readonly Cell[])[] => {
    if (state.format === 'excel') countRows(made.length, state, limits);
    else if ((state.items += made.length) > limits.documentItemsMax) throw tooManyItems(state.items, limits.documentItemsMax);
    return made.map((cells, at) => rowOf(cells, at, state, place));
  };
  return { columns, rows };
};

const countRows = (count: number, state: State, { excelRowsMax }: Limits): void => {
  state.rows += count;
  if (state.rows > excelRowsMax) throw tooManyRows(state.rows, excelRowsMax);
};

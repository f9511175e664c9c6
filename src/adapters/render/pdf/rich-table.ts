/** Tables that authors write in rich text: spans, widths, header rows, borders and backgrounds of cells. */
import type { HorizontalAlign } from '../../../domain/rendering/expand/expanded.js';
import type { TreeElement, TreeNode } from '../rich-tree.js';
import { pdfColor } from '../colors.js';
import { CELL_SHARE_MAX, colorsOn, LINE_COLOR, lookOf, spaced, type Context } from './context.js';
import { inlineStyle, lengthOf, namesColor, type Inline } from './rich-style.js';
import {
  type Node,
  type TableCell,
  type TableLayout,
  cellTag,
  rowTag,
  tableTag,
  type OpenTag,
  type Spans,
} from './nodes.js';

/** Makes the blocks of an item or a cell. */
export type Blocks = (nodes: readonly TreeNode[], inline: Inline, context: Context) => readonly Node[];
type Row = Readonly<{ element: TreeElement; group: TreeElement | undefined }>;

const COLUMNS_MAX = 50;
const SPAN_MAX = 1_000;

export const richTable = (table: TreeElement, inline: Inline, around: Context, blocks: Blocks): Node => {
  const context = { ...around, height: around.height * CELL_SHARE_MAX };
  const rows = rowsOf(table);
  const caption = table.children.find(
    (child): child is TreeElement => child.kind === 'element' && child.tag === 'caption',
  );
  const title =
    caption === undefined
      ? []
      : blocks(
          caption.children,
          {
            ...inline,
            bold: true,
            ...(fillOf([table]) === undefined ? {} : { color: context.color, background: undefined }),
          },
          context,
        ).map((node) => ({
          ...spaced(node, 4),
          flow: { keepWithNext: true as const },
        }));
  const tag = tableTag(context.tag);
  const rowTags = new Map(rows.map(({ element }) => [element, rowTag(tag)]));
  const tagOf = (row: Row): OpenTag => rowTags.get(row.element) ?? rowTag(tag);
  const makeCell: MakeCell = (cell, row, spans) =>
    cellOf(cell, row, { table, inline, context, blocks, tag: tagOf(row), spans });
  const body = grid(rows, makeCell, (row) => cellTag(tagOf(row), 'TD'), context);
  const columns = body[0]?.length ?? 0;
  const isMirrored = context.direction === 'rtl';
  if (columns === 0) return { stack: title };
  const headerRows = rows.findIndex(({ group }) => group?.tag !== 'thead');
  const node: Node = {
    table: {
      widths: isMirrored
        ? widthsOf(table, rows, columns, context).toReversed()
        : widthsOf(table, rows, columns, context),
      body: isMirrored ? body.map(mirrored) : body,
      headerRows: Math.max(Math.min(headerRows, body.length - 1), 0),
      keepWithHeaderRows: 0,
    },
    layout: layoutOf(table, rows),
    footerRows: rows.filter(({ group }) => group?.tag === 'tfoot').length,
    fromRight: isMirrored,
    ...lookOf(context),
  };
  return title.length === 0 ? node : { stack: [...title, node] };
};

/** A cell over several columns stands in the leftmost of them. */
const mirrored = (row: readonly TableCell[]): readonly TableCell[] => {
  const out: TableCell[] = [];
  for (let at = 0; at < row.length; at += Math.max(row[at]?.colSpan ?? 1, 1))
    out.unshift(...row.slice(at, at + (row[at]?.colSpan ?? 1)));
  return out;
};

const elements = (node: TreeElement, tags: readonly string[]): readonly TreeElement[] =>
  node.children.filter((child): child is TreeElement => child.kind === 'element' && tags.includes(child.tag));

/** Header first and footer last, wherever they are written. */
const rowsOf = (table: TreeElement): readonly Row[] => {
  const all = table.children.flatMap((child): readonly Row[] => {
    if (child.kind !== 'element') return [];
    if (child.tag === 'tr') return [{ element: child, group: undefined }];
    return ['thead', 'tbody', 'tfoot'].includes(child.tag)
      ? elements(child, ['tr']).map((element) => ({ element, group: child }))
      : [];
  });
  const rank = ({ group }: Row): number => (group?.tag === 'thead' ? 0 : group?.tag === 'tfoot' ? 2 : 1);
  return all.toSorted((a, b) => rank(a) - rank(b));
};

const spanOf = (text: string | undefined): number =>
  text !== undefined && /^\d{1,4}$/.test(text.trim()) ? Math.min(Math.max(Number(text), 1), SPAN_MAX) : 1;

type MakeCell = (element: TreeElement, row: Row, spans: Spans) => TableCell;

/** Rows of equal length: what a span covers, and what an author left out, is an empty cell. */
const grid = (
  rows: readonly Row[],
  cell: MakeCell,
  onLeftOut: (row: Row) => void,
  context: Context,
): readonly (readonly TableCell[])[] => {
  const body: (TableCell | undefined)[][] = rows.map(() => []);
  const empty = (): TableCell => ({ text: '', ...lookOf(context) });
  rows.forEach((row, y) => {
    let x = 0;
    for (const element of elements(row.element, ['td', 'th'])) {
      while (body[y]?.[x] !== undefined) x++;
      if (x >= COLUMNS_MAX) break;
      let colSpan = Math.min(spanOf(element.attributes['colspan']), COLUMNS_MAX - x);
      // A cell that comes down from the row above is in the way of a wide one.
      for (let at = 1; at < colSpan; at++) if (body[y]?.[x + at] !== undefined) colSpan = at;
      const rowSpan = Math.min(spanOf(element.attributes['rowspan']), rows.length - y);
      for (let dy = 0; dy < rowSpan; dy++) for (let dx = 0; dx < colSpan; dx++) (body[y + dy] ?? [])[x + dx] = empty();
      (body[y] ?? [])[x] = {
        ...cell(element, row, { colSpan, rowSpan }),
        ...(colSpan > 1 ? { colSpan } : {}),
        ...(rowSpan > 1 ? { rowSpan } : {}),
      };
      x += colSpan;
    }
  });
  const columns = Math.max(0, ...body.map((row) => row.length));
  const leftOut = (row: Row | undefined): TableCell => {
    if (row !== undefined) onLeftOut(row);
    return empty();
  };
  return columns === 0
    ? []
    : body.map((row, y) => Array.from({ length: columns }, (_, x) => row[x] ?? leftOut(rows[y])));
};

type Around = Readonly<{
  table: TreeElement;
  inline: Inline;
  context: Context;
  blocks: Blocks;
  /** Element of the row. */ tag: OpenTag;
  spans: Spans;
}>;

const cellOf = (
  cell: TreeElement,
  { element: row, group }: Row,
  { table, inline, context, tag, blocks, spans }: Around,
): TableCell => {
  const isHeader = cell.tag === 'th' || group?.tag === 'thead';
  const around = [cell, row, ...(group === undefined ? [] : [group]), table];
  const fillColor = fillOf(around);
  const own = inlineStyle(
    cell,
    inlineStyle(row, group === undefined ? inline : inlineStyle(group, inline, context), context),
    context,
  );
  const align = alignOf(cell) ?? alignOf(row) ?? 'start';
  const scope = isHeader && group?.tag !== 'thead' ? scopeOf(cell, row) : undefined;
  const on = colorsOn(fillColor === undefined ? {} : { backgroundColor: fillColor }, {
    color: own.color,
    linkColor: context.linkColor,
  });
  // A colour that is named outside of the background was not meant for it.
  const isNamed = around.slice(0, around.findIndex((element) => surface(element) !== undefined) + 1).some(namesColor);
  const color = isNamed ? own.color : on.color;
  const inner: Context = {
    ...context,
    linkColor: on.linkColor,
    align,
    tag: cellTag(tag, isHeader ? 'TH' : 'TD', { ...spans, ...scope }),
  };
  const content = blocks(cell.children, { ...own, color, bold: own.bold || isHeader, background: undefined }, inner);
  const vertical = (
    cell.style.get('vertical-align') ??
    cell.attributes['valign'] ??
    row.attributes['valign'] ??
    ''
  ).toLowerCase();
  const [only] = content;
  return {
    ...(content.length === 1 && only !== undefined
      ? only
      : { stack: content.length === 0 ? [{ text: '', ...lookOf(context) }] : content }),
    ...(fillColor === undefined ? {} : { fillColor }),
    ...(vertical === 'middle' || vertical === 'bottom' ? { verticalAlignment: vertical } : {}),
  };
};

/** A header beside cells of its row is theirs, where it says nothing else. */
const scopeOf = (cell: TreeElement, row: TreeElement): Pick<Spans, 'scope'> | undefined => {
  const given = (cell.attributes['scope'] ?? '').toLowerCase();
  if (given.startsWith('col')) return undefined;
  return given.startsWith('row') || elements(row, ['td']).length > 0 ? { scope: 'Row' } : undefined;
};

/** The background of the innermost element that has one. */
const fillOf = (around: readonly TreeElement[]): string | undefined =>
  around.map(surface).find((color) => color !== undefined);

const surface = ({ style, attributes }: TreeElement): string | undefined =>
  pdfColor(style.get('background-color') ?? style.get('background') ?? attributes['bgcolor']);

const alignOf = ({ style, attributes }: TreeElement): HorizontalAlign | undefined => {
  const word = (style.get('text-align') ?? attributes['align'])?.toLowerCase();
  return (['start', 'end', 'left', 'center', 'right', 'justify'] as const).find((alignment) => alignment === word);
};

/**
 * From `<col>`, else from the first row that has no spans; what is not given is as wide as its text, or shares the rest
 * of a wide table.
 */
const widthsOf = (
  table: TreeElement,
  rows: readonly Row[],
  columns: number,
  context: Context,
): readonly (number | string)[] => {
  const total = lengthOf(table.style.get('width') ?? table.attributes['width'], context.fontSize, context.width);
  const room = Math.min(total ?? context.width, context.width);
  const cols = [
    ...elements(table, ['col']),
    ...elements(table, ['colgroup']).flatMap((group) => elements(group, ['col'])),
  ].flatMap((col) => Array.from({ length: spanOf(col.attributes['span']) }, () => col));
  const first =
    rows.map(({ element }) => elements(element, ['td', 'th'])).find((cells) => cells.length === columns) ?? [];
  const wanted = Array.from({ length: columns }, (_, at) =>
    [cols[at], first[at]]
      .map(
        (element) =>
          element && lengthOf(element.style.get('width') ?? element.attributes['width'], context.fontSize, room),
      )
      .find((width) => width !== undefined && width > 0),
  );
  const sum = wanted.reduce<number>((total, width) => total + (width ?? 0), 0);
  // Cells have padding inside their width; a sum over the room shrinks in proportion.
  const factor = sum > room ? room / sum : 1;
  return wanted.map((width) =>
    width === undefined ? (total === undefined ? 'auto' : '*') : Math.max(width * factor - 2 * paddingOf(table).x, 4),
  );
};

const PADDING_X_PT = 5;
const PADDING_Y_PT = 3;
const PADDING_PT_MAX = 40;

/** In: a table. Out: what stands around the content of its cells: `cellpadding` is in pixels, as in HTML. */
const paddingOf = (table: TreeElement): Readonly<{ x: number; y: number }> => {
  const given = /^\d{1,3}$/.test(table.attributes['cellpadding'] ?? '')
    ? Number(table.attributes['cellpadding']) * 0.75
    : undefined;
  if (given === undefined) return { x: PADDING_X_PT, y: PADDING_Y_PT };
  return { x: Math.min(given, PADDING_PT_MAX), y: Math.min(given, PADDING_PT_MAX) };
};

const layoutOf = (table: TreeElement, rows: readonly Row[]): TableLayout => {
  const cell = rows[0] === undefined ? undefined : elements(rows[0].element, ['td', 'th'])[0];
  const { width, color } = lineOf(table, cell);
  const { x, y } = paddingOf(table);
  return {
    hLineWidth: () => width,
    vLineWidth: () => width,
    hLineColor: () => color,
    vLineColor: () => color,
    paddingLeft: () => x,
    paddingRight: () => x,
    paddingTop: () => y,
    paddingBottom: () => y,
  };
};

/** One kind of line for the whole table: as the cells say, else as the table says, else a thin one. */
const lineOf = (table: TreeElement, cell: TreeElement | undefined): Readonly<{ width: number; color: string }> => {
  for (const element of [cell, table]) {
    const border = element?.style.get('border');
    if (border === undefined) continue;
    if (/\b(none|hidden)\b|^0/.test(border)) return { width: 0, color: LINE_COLOR };
    const words = border.split(/\s+(?![^(]*\))/);
    const width = words.map((word) => lengthOf(word, 12, 0)).find((length) => length !== undefined);
    return {
      width: Math.min(width ?? 0.75, 6),
      color: words.map((word) => pdfColor(word)).find((found) => found !== undefined) ?? LINE_COLOR,
    };
  }
  const attribute = table.attributes['border'];
  if (attribute === '0' || table.attributes['role'] === 'presentation') return { width: 0, color: LINE_COLOR };
  return {
    width: attribute !== undefined && /^\d$/.test(attribute) ? Number(attribute) * 0.75 : 0.75,
    color: pdfColor(table.style.get('border-color')) ?? LINE_COLOR,
  };
};

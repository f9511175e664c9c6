/** Tables of data: header rows that come again on each sheet, widths, alignment, stripes, lines and a footer. */
import type { ExpandedColumn, ExpandedTable, Flow, Html } from '../../../../domain/rendering/expand/expanded.js';
import type { Box } from '../../../../domain/rendering/lengths.js';
import { pdfColor } from '../../colors.js';
import {
  CELL_SHARE_MAX,
  colorsOn,
  dashOf,
  LINE_COLOR,
  lookOf,
  mutedColor,
  narrower,
  type ComponentRenderer,
  type Context,
} from '../context.js';
import { padded } from './blocks.js';
import { cellNodes } from '../rich.js';
import {
  type Alignment,
  type Node,
  type TableCell,
  type TableLayout,
  type Tag,
  cellTag,
  rowTag,
  tableTag,
  type OpenTag,
} from '../nodes.js';

const STRIPE_COLOR = '#f9fafb';
/** A thousand rows of one line are within the pages that a PDF may have. */
const PADDING = { top: 3.5, right: 6, bottom: 3.5, left: 6 } as const;

export const table: ComponentRenderer<ExpandedTable> = (component, around) => {
  const outer = narrower(component.padding.left + component.padding.right, around);
  const { columns, rows, striped, padding } = component;
  if (columns.length === 0) return [];
  const context: Context = {
    ...outer,
    fontSize: component.fontSize ?? outer.fontSize * 0.95,
    lineHeight: Math.min(outer.lineHeight, 1.3),
    color: pdfColor(component.color) ?? outer.color,
    height: outer.height * CELL_SHARE_MAX,
  };
  const tag = tableTag(outer.tag);
  const hasHeader = component.showHeader && columns.some(({ header }) => header !== undefined && header !== '');
  const hasFooter = columns.some(({ footer }) => footer !== undefined);
  const stripe = (at: number): { fillColor?: string } => (striped && at % 2 === 1 ? { fillColor: STRIPE_COLOR } : {});
  const inOrder = mirrored(outer);
  const body = [
    ...(hasHeader ? [headerRow(component, context, tag)] : []),
    ...(rows.length === 0
      ? emptyRow(component, context, tag)
      : rows.map((cells, at) =>
          row(columns, (column) => cells[column]?.html ?? '', {
            context,
            tag,
            look: stripe(at),
            bold: component.groupRows?.[at] !== undefined,
          }),
        )),
    ...(hasFooter
      ? [row(columns, (column) => columns[column]?.footer ?? '', { context, tag, look: {}, bold: true })]
      : []),
  ];
  if (body.length === 0) return [];
  return padded(
    [
      {
        table: {
          widths: inOrder(widthsOf(component, context)),
          body: body.map((cells) => (cells[0]?.colSpan === undefined ? inOrder(cells) : cells)),
          ...(hasHeader && body.length > 1 ? { headerRows: 1, keepWithHeaderRows: 1 } : { headerRows: 0 }),
        },
        layout: layoutOf(component, context, { hasHeader, hasFooter, rows: body.length }),
        fillsWidth: true,
        footerRows: hasFooter ? 1 : 0,
        ...(component.groupRows !== undefined && { keptRows: keptRows(component.groupRows, hasHeader ? 1 : 0) }),
        lastRowsStay: lastRowsStay(component.flow),
        fromRight: outer.direction === 'rtl',
        ...lookOf(context),
      },
    ],
    padding,
    undefined,
  );
};

/**
 * For each row, those of the head of the table included, whether the next one stands on its sheet: heads of groups, and
 * items above a foot.
 */
const keptRows = (groupRows: NonNullable<ExpandedTable['groupRows']>, headRows: number): readonly boolean[] => [
  ...Array.from({ length: headRows }, () => false),
  ...groupRows.map((group, at) => group?.kind === 'header' || groupRows[at + 1]?.kind === 'footer'),
];

/**
 * True where the last rows stand on the sheet where the next component begins; a table that is kept whole goes there as
 * one.
 */
export const lastRowsStay = (flow: Flow | undefined): boolean =>
  flow?.keepWithNext === true && flow.keepTogether !== true;

/** The library lays columns from the left: the first one of a table from the right is its last. */
const mirrored =
  ({ direction }: Context) =>
  <Item>(items: readonly Item[]): readonly Item[] =>
    direction === 'rtl' ? items.toReversed() : items;

type RowLook = Readonly<{ context: Context; tag: OpenTag; look: Readonly<{ fillColor?: string }>; bold?: boolean }>;

const row = (
  columns: readonly ExpandedColumn[],
  html: (column: number) => Html,
  { context, tag, look, bold = false }: RowLook,
): readonly TableCell[] => {
  const own = rowTag(tag);
  return columns.map(({ align }, at) => ({
    ...cell(html(at), { ...context, align }, cellTag(own, 'TD'), bold),
    ...look,
  }));
};

const cell = (html: Html, context: Context, tag: Tag, bold: boolean): Node => {
  const nodes = cellNodes(html, context, tag, bold ? { bold } : {});
  const [only] = nodes;
  if (only === undefined) return { text: '' };
  return nodes.length === 1 ? only : { stack: nodes };
};

const headerRow = (
  { columns, headerBackgroundColor, headerColor }: ExpandedTable,
  context: Context,
  tag: OpenTag,
): readonly TableCell[] => {
  const own = rowTag(tag);
  const fillColor = pdfColor(headerBackgroundColor);
  const inner = {
    ...context,
    ...colorsOn(
      {
        ...(headerColor && { color: headerColor }),
        ...(headerBackgroundColor && { backgroundColor: headerBackgroundColor }),
      },
      context,
    ),
  };
  return columns.map(({ header, headerAlign }) => ({
    ...cell(header ?? '', { ...inner, align: headerAlign }, cellTag(own, 'TH'), true),
    verticalAlignment: 'bottom' as const,
    ...(fillColor === undefined ? {} : { fillColor }),
  }));
};

const emptyRow = (
  { columns, emptyText }: ExpandedTable,
  context: Context,
  tag: OpenTag,
): readonly (readonly TableCell[])[] => {
  if (emptyText === undefined || emptyText === '') return [];
  const align: Alignment = 'center';
  const inner: Context = { ...context, align, color: mutedColor(context) };
  return [
    [
      {
        ...cell(emptyText, inner, cellTag(rowTag(tag), 'TD', { colSpan: columns.length }), false),
        colSpan: columns.length,
      },
      ...columns.slice(1).map(() => ({ text: '' })),
    ],
  ];
};

const COLUMN_MIN_PT = 36;
const PADDING_SHARE_MAX = 0.1;

/** Padding that leaves no room for text would push it off the sheet. */
const paddingOf = ({ cellPadding = PADDING }: ExpandedTable, { width, height }: Context): Box => ({
  top: Math.min(cellPadding.top, height * PADDING_SHARE_MAX),
  bottom: Math.min(cellPadding.bottom, height * PADDING_SHARE_MAX),
  left: Math.min(cellPadding.left, width * PADDING_SHARE_MAX),
  right: Math.min(cellPadding.right, width * PADDING_SHARE_MAX),
});

/** As in CSS a width holds the padding; shares are of the table, which is as wide as the room. */
const widthsOf = (component: ExpandedTable, context: Context): readonly (number | string)[] => {
  const { left, right } = paddingOf(component, context);
  const wanted = component.columns.map(({ width }) => {
    if (width === 'auto') return 'auto';
    if (width === 'rest') return '*';
    return 'points' in width ? width.points : (context.width * width.percent) / 100;
  });
  const sum = wanted.reduce<number>((total, width) => total + (typeof width === 'number' ? width : 0), 0);
  // Widths that ask for more than the room still leave something to the columns without a width.
  const room =
    context.width -
    Math.min(wanted.filter((width) => typeof width === 'string').length * COLUMN_MIN_PT, context.width / 2);
  const factor = sum > room ? room / sum : 1;
  const flush = isFlush(component);
  const inside = (column: number): number =>
    (flush && column === 0 ? 0 : left) + (flush && column === wanted.length - 1 ? 0 : right);
  return wanted.map((width, column) =>
    typeof width === 'number' ? Math.max(width * factor - inside(column), 4) : width,
  );
};

/** Without lines or colours at the sides, the outer cells stand flush with the text around. */
const isFlush = ({ border, borderLines, striped, headerBackgroundColor }: ExpandedTable): boolean =>
  (borderLines === 'rows' || border.style === 'none' || border.width === 0) &&
  !striped &&
  headerBackgroundColor === undefined;

type Shape = Readonly<{ hasHeader: boolean; hasFooter: boolean; rows: number }>;

const layoutOf = (component: ExpandedTable, context: Context, { hasHeader, hasFooter, rows }: Shape): TableLayout => {
  const { border, borderLines, columns } = component;
  const { top, right, bottom, left } = paddingOf(component, context);
  const width = border.style === 'none' ? 0 : border.width;
  const color = pdfColor(border.color) ?? LINE_COLOR;
  const dash = dashOf(border);
  const style = dash === undefined ? null : { dash };
  const flush = isFlush(component);
  // Without lines of the author, those below the header and above the footer are stronger.
  const isRule = (line: number): boolean => (hasHeader && line === 1) || (hasFooter && line === rows - 1);
  return {
    hLineWidth: (line) => (borderLines === 'rows' && line === 0 ? 0 : width),
    vLineWidth: () => (borderLines === 'rows' ? 0 : width),
    hLineColor: (line) => (borderLines === 'rows' && isRule(line) ? RULE_COLOR : color),
    vLineColor: () => color,
    hLineStyle: () => style,
    vLineStyle: () => style,
    paddingLeft: (column) => (flush && column === 0 ? 0 : left),
    paddingRight: (column) => (flush && column === columns.length - 1 ? 0 : right),
    paddingTop: () => top,
    paddingBottom: () => bottom,
  };
};

const RULE_COLOR = '#9ca3af';

/** Makes columns, boxes, buttons and fragments of tables, whether they hold data or stand there for the layout. */
import { boxOf, lengthOf, type Made, marginOf, NO_BOX, NO_SIDES } from './boxes.js';
import type { Block } from './language.js';
import { alignOf, backgroundOf, colorIn, isSimpleWidth, type Look, lookIn, placeOf } from './look.js';
import type { Scope } from './names.js';
import type { Context, Parts } from './parts.js';
import {
  buttonIn,
  columnCount,
  COLUMNS_MAX,
  elementsIn,
  hasFrame,
  hasPadding,
  isBlank,
  isDataTable,
  isOdd,
  isSpace,
  isWholeWidth,
  loopOrBlock,
  onlyCell,
  onlyLink,
  onlyTable,
  rowsIn,
  statedWidth,
} from './shapes.js';
import type { Element, Node } from './tree.js';

/** Makes components of what stands in cells and between rows. */
type Flow = Readonly<{
  build: (nodes: readonly Node[], context: Context) => Made[];
  elementOf: (node: Element, context: Context) => Made[];
  blockOf: (block: Block<Node>, context: Context, make: (nodes: readonly Node[], inner: Context) => Made[]) => Made[];
  toLift: (nodes: readonly Node[], scope: Scope) => Block<Node> | undefined;
  variants: (
    nodes: readonly Node[],
    block: Block<Node>,
    context: Context,
    make: (nodes: readonly Node[], inner: Context) => Made[],
  ) => Made[];
}>;

/** Out: what makes components of tables, and of elements that stand beside each other. */
export const openTables = (
  { made, isFragment, fragment, spacerOf, buttonOf, boxed, linedBox, ruleOf, withMargin }: Parts,
  { build, toLift, variants, blockOf, elementOf }: Flow,
  isCoarse: boolean,
) => {
  const rowsOf = (table: Element): readonly Node[] =>
    table.children.flatMap((child) =>
      child.kind === 'element' && /^t(?:head|body|foot)$/.test(child.tag)
        ? child.children.filter((row) => !isBlank(row))
        : isBlank(child)
          ? []
          : [child],
    );

  const cellsOf = (row: Element): readonly Node[] => row.children.filter((child) => !isBlank(child));

  const tableOf = (table: Element, outer: Context): Made[] => {
    const look = lookIn(table, outer.look);
    const box = boxOf(table, { ...outer, look: outer.look });
    const context = { ...outer, look, depth: { ...outer.depth, boxes: outer.depth.boxes + 1 } };
    const rows = rowsOf(table);
    if (rows.length === 0) return [];
    const place = alignOf(table.attributes.get('align')) ?? placeOf(table.styles) ?? outer.look.boxes;
    const asButton = buttonTable(table, context, place);
    if (asButton !== undefined) return withMargin(asButton, marginOf(table, 0));
    if (isFragment(table)) return fragment([table], outer);
    const isData = isDataTable(rows);
    const isSimple = loopOrBlock(table.children) === undefined;
    if (isSimple && (isData || isCoarse || rows.some(isOdd))) return fragment([table], outer);
    const inner = isData ? dataRows(table, rows, context) : rows.flatMap((row) => rowOf(table, row, context));
    const width =
      isSimpleWidth(box.width) && (place !== 'left' || parseFloat(box.width) >= 300) ? box.width : undefined;
    const padding = table.styles.get('border-collapse') === 'collapse' ? NO_SIDES : box.padding;
    const lined = linedBox(table, { ...box, width, padding, place }, inner, outer);
    return boxed({ ...NO_BOX, padding: marginOf(table, 0), at: table.at }, lined, outer);
  };

  /** A row of a table that stands there for the layout. */
  const rowOf = (table: Element, row: Node, context: Context): Made[] => {
    if (row.kind === 'block')
      return blockOf(row, context, (nodes, inner) =>
        nodes.filter((one) => !isBlank(one)).flatMap((one) => rowOf(table, one, inner)),
      );
    if (row.kind !== 'element') return build([row], context);
    if (row.tag !== 'tr') return elementOf(row, context);
    const cells = cellsOf(row);
    const look = lookIn(row, context.look);
    const inner = { ...context, look: { ...look, background: context.look.background } };
    const rowBackground = backgroundOf(row.styles) ?? colorIn(row.attributes.get('bgcolor'));
    const [cell] = cells;
    const made =
      cells.length === 1 && cell?.kind === 'element'
        ? cellOf(table, cell, inner)
        : cells.every((one) => one.kind === 'element') && cells.length > 1 && cells.length <= COLUMNS_MAX
          ? columnsOf(
              cells.map((one) => ({ cell: one as Element, table })),
              inner,
              false,
            )
          : cells.flatMap((one) =>
              one.kind === 'element'
                ? cellOf(table, one, inner)
                : one.kind === 'block'
                  ? blockOf(one, inner, (nodes, deep) =>
                      nodes.flatMap((child) => (child.kind === 'element' ? cellOf(table, child, deep) : [])),
                    )
                  : [],
            );
    return rowBackground === undefined
      ? made
      : boxed({ ...NO_BOX, background: rowBackground, at: row.at }, made, context);
  };

  const cellOf = (table: Element, cell: Element, outer: Context): Made[] => {
    const look = lookIn(cell, outer.look);
    const box = boxOf(cell, outer);
    const cellPadding = lengthOf(table.attributes.get('cellpadding'), false);
    const own =
      hasPadding(cell.styles) || typeof cellPadding !== 'number'
        ? box.padding
        : ([cellPadding, cellPadding, cellPadding, cellPadding] as const);
    const inner = { ...outer, look: { ...look, background: box.background ?? outer.look.background } };
    if (isFragment(cell)) return fragment([asTable(cell)], outer);
    if (isSpace(cell)) {
      const rule = ruleOf(cell, outer);
      return rule ?? boxed({ ...NO_BOX, background: box.background, at: cell.at }, spacerOf(cell, outer), outer);
    }
    const link = buttonIn(cell.children);
    if (
      link !== undefined &&
      box.background !== undefined &&
      box.background !== outer.look.background &&
      backgroundOf(link.styles) === undefined
    )
      return buttonOf(link, { ...box, padding: own }, { ...inner, look: { ...inner.look, align: outer.look.align } });
    const children = build(cell.children, inner);
    return linedBox(cell, { ...box, padding: own, width: undefined }, children, outer);
  };

  const columnsOf = (
    cells: readonly Readonly<{ cell: Element; table?: Element }>[],
    context: Context,
    stacks: boolean,
  ): Made[] => {
    const widths = widthsOf(cells.map(({ cell }) => cell));
    const children = cells.map(({ cell, table }) => {
      const inner = { ...context, depth: { ...context.depth, boxes: context.depth.boxes + 1 } };
      const all = table === undefined ? elementOf(withoutWidth(cell), inner) : cellOf(table, cell, inner);
      const [only] = all;
      return all.length === 1 && only !== undefined && only.room === undefined
        ? only
        : made('container', { props: { padding: '0' }, children: all });
    });
    if (isCoarse && table(cells) !== undefined && loopOrBlock(cells.flatMap(({ cell }) => cell.children)) === undefined)
      return fragment(
        [
          rowTable(
            table(cells)!,
            cells.map(({ cell }) => cell),
            widths,
          ),
        ],
        context,
      );
    const valign = mostOf(
      cells.map(
        ({ cell }) => cell.attributes.get('valign') ?? cell.styles.get('vertical-align') ?? (stacks ? 'top' : 'middle'),
      ),
    );
    return [
      made('columns', {
        props: {
          widths: [...widths],
          gap: 0,
          verticalAlign: /^(?:top|middle|bottom)$/.test(valign) ? valign : 'top',
          ...(stacks ? {} : { stackOnMobile: false }),
        },
        children,
      }),
    ];
  };

  const table = (cells: readonly Readonly<{ table?: Element }>[]): Element | undefined => cells[0]?.table;

  /** Rows of a table with data: those without blocks as one fragment, each with the widths of the whole. */
  const dataRows = (table: Element, rows: readonly Node[], context: Context): Made[] => {
    const flat = rowsIn(rows);
    const most = Math.max(...flat.map((row) => columnCount(row)), 1);
    const model =
      flat.find(
        (row) =>
          columnCount(row) === most &&
          cellsOf(row).length === most &&
          cellsOf(row).every((cell) => cell.kind === 'element' && statedWidth(cell) !== undefined),
      ) ?? flat.find((row) => cellsOf(row).length === most);
    const widths =
      model === undefined
        ? []
        : widthsOf(
            cellsOf(model).filter((cell) => cell.kind === 'element'),
            most === 2 ? ['70%', '30%'] : undefined,
          );
    const out: Made[] = [];
    const make = (all: readonly Node[], inner: Context): Made[] => {
      const parts: Made[] = [];
      let pending: Element[] = [];
      const flush = (): void => {
        if (pending.length > 0) parts.push(...fragment([rowsTable(table, pending, widths)], inner));
        pending = [];
      };
      for (const row of all) {
        if (row.kind === 'element' && row.tag === 'tr') {
          const lifted = toLift(row.children, inner.scope);
          if (lifted === undefined) {
            pending.push(row);
            continue;
          }
          flush();
          parts.push(...variants([row], lifted, inner, make));
        } else if (row.kind === 'block') {
          flush();
          parts.push(
            ...blockOf(row, inner, (nodes, deep) =>
              make(
                nodes.filter((node) => !isBlank(node)),
                deep,
              ),
            ),
          );
        } else if (row.kind === 'element') {
          flush();
          parts.push(...elementOf(row, inner));
        }
      }
      flush();
      return parts;
    };
    out.push(...make(rows, context));
    return out;
  };

  const buttonTable = (table: Element, context: Context, place: Look['align']): Made[] | undefined => {
    const cell = onlyCell(table);
    if (cell === undefined) return undefined;
    const link = buttonIn(cell.children) ?? onlyLink(cell.children);
    if (link === undefined) {
      const deeper = onlyTable(cell.children);
      return deeper !== undefined && !hasFrame(cell)
        ? buttonTable(
            deeper,
            { ...context, look: lookIn(cell, context.look) },
            alignOf(deeper.attributes.get('align')) ??
              placeOf(deeper.styles) ??
              (isWholeWidth(table) ? lookIn(cell, context.look).boxes : place),
          )
        : undefined;
    }
    const box = boxOf(cell, context);
    const outer = boxOf(table, context);
    const ownBackground = backgroundOf(link.styles);
    const background = box.background ?? outer.background;
    if (ownBackground === undefined && (background === undefined || background === context.look.background))
      return undefined;
    const isPageWide = ownBackground !== undefined && background !== undefined && background !== ownBackground;
    if (isPageWide) return undefined;
    const inCell = lookIn(cell, context.look);
    const look = { ...inCell, align: isWholeWidth(table) ? inCell.align : place };
    const isFilled = ownBackground === undefined || background !== undefined;
    return buttonOf(
      link,
      {
        ...box,
        background,
        border: box.border ?? outer.border,
        radius: Math.max(box.radius, outer.radius),
        padding: isFilled ? box.padding : NO_SIDES,
      },
      { ...context, look },
    );
  };

  return { tableOf, columnsOf };
};

const mostOf = (values: readonly string[]): string =>
  values.reduce(
    (most, one) =>
      values.filter((value) => value === one).length > values.filter((value) => value === most).length ? one : most,
    values[0] ?? 'top',
  );

export const bare = (table: Element, children: readonly Node[]): Element => ({
  ...table,
  children,
  attributes: new Map(
    [...table.attributes].filter(([name]) => name !== 'align' && name !== 'height').concat([['width', '100%']]),
  ),
  styles: new Map(
    [...table.styles].filter(
      ([name]) => !/^(?:margin|padding|height|width|max-width|border$|border-radius)/.test(name),
    ),
  ),
});

const rowsTable = (table: Element, rows: readonly Element[], widths: readonly string[]): Element =>
  bare(
    table,
    rows.map((row, at) => (at === 0 ? { ...row, children: withWidths(elementsIn(row.children), widths) } : row)),
  );

const rowTable = (table: Element, cells: readonly Element[], widths: readonly (string | number)[]): Element =>
  bare(table, [
    {
      kind: 'element',
      tag: 'tr',
      attributes: new Map(),
      styles: new Map(),
      at: table.at,
      children: withWidths(cells, widths.map(String)),
    },
  ]);

const asTable = (cell: Element): Element => ({
  kind: 'element',
  tag: 'table',
  attributes: new Map([
    ['width', '100%'],
    ['cellpadding', '0'],
    ['cellspacing', '0'],
    ['role', 'presentation'],
  ]),
  styles: new Map(),
  at: cell.at,
  children: [{ kind: 'element', tag: 'tr', attributes: new Map(), styles: new Map(), at: cell.at, children: [cell] }],
});

const withWidths = (cells: readonly Element[], widths: readonly string[]): readonly Element[] => {
  let column = 0;
  return cells.map((cell) => {
    const span = Math.min(Math.max(Number(cell.attributes.get('colspan') ?? 1) || 1, 1), 20);
    const width = span === 1 ? widths[column] : undefined;
    column += span;
    return width === undefined || statedWidth(cell) !== undefined
      ? cell
      : { ...cell, attributes: new Map([...cell.attributes, ['width', width]]) };
  });
};

const withoutWidth = (node: Element): Element => ({
  ...node,
  attributes: new Map([...node.attributes].filter(([name]) => name !== 'width' && name !== 'align')),
  styles: new Map([...node.styles].filter(([name]) => !/^(?:width|max-width|min-width|display|float)$/.test(name))),
});

/** Widths in per cent that fill the line. */
const widthsOf = (cells: readonly Element[], otherwise?: readonly string[]): readonly string[] => {
  const stated = cells.map(statedWidth);
  if (stated.every((width) => width === undefined))
    return otherwise !== undefined && otherwise.length === cells.length
      ? otherwise
      : cells.map(() => `${Math.floor(10_000 / cells.length) / 100}%`);
  const isShare = stated.some((width) => width?.endsWith('%') === true);
  const numbers = stated.map((width) =>
    width === undefined || width.endsWith('%') !== isShare ? undefined : parseFloat(width),
  );
  const known = numbers.reduce<number>((sum, one) => sum + (one ?? 0), 0);
  const open = numbers.filter((one) => one === undefined).length;
  const whole = isShare ? 100 : open === 0 ? known : Math.max(560, known + open * 80);
  const share = open === 0 ? 0 : Math.max(whole - known, 0) / open;
  const total = known + share * open || 1;
  return numbers.map((one) => `${Math.floor(((one ?? share) / total) * 10_000) / 100}%`);
};

/** Tables of data in a mail: rows from a data source or from the template, as HTML and as aligned columns of text. */
import { isJsonObject, type Json, type JsonObject } from '../../../../domain/core/json.js';
import { pixels } from '../../../../domain/rendering/css.js';
import { aloneIn, onlyPlaceholder } from '../../../../domain/rendering/fill/compile.js';
import {
  holdsNumbers,
  isColumnType,
  type DisplayFormat,
  literalValue,
  writerOf,
  writtenCell,
} from '../../../../domain/rendering/scope/display-format.js';
import type { ValueFormat } from '../../../../domain/rendering/scope/definitions.js';
import { isSame, type Term, concat, js, quote } from '../code.js';
import {
  type Context,
  templated,
  WORD_CHARS,
  type ComponentRenderer,
  parseRichText,
  type RichNode,
  shownOf,
  textOf,
  anyShown,
} from '../values.js';
import {
  endOf,
  side,
  startOf,
  attributeSafe,
  borderClass,
  classAttribute,
  color as colorOf,
  colorClass,
  css,
  dirAttribute,
  horizontalPx,
  inColor,
  onBackground,
  stripe,
  surfaceOf,
  textDeclarations,
  typographyOf,
} from '../style.js';
import { rootShapeOfItems, alignAttribute, attributeWidth, gap, propsOf, openItems, withLines } from './blocks.js';
import { pathsOf } from '../../../../domain/rendering/fill/templated-text.js';
import { lineTexts } from '../rich-text.js';
import { richHtml } from '../rich-html.js';
import { escapeHtml, type NarrowTable } from '../escape.js';

type Column = Readonly<{
  header: string;
  content: Json | undefined;
  footer: string | undefined;
  groupHeader: string | undefined;
  groupFooter: string | undefined;
  width: Json | undefined;
  align: Term;
  headerAlign: Term;
  /** How it shows its values. */
  displayFormat: DisplayFormat;
  /** The variable that tells whether the column is shown; undefined: always. */
  shown?: string;
}>;

type Look = Readonly<{
  context: Context;
  padding: Term;
  /** The border of a cell: all around, or only the line below (undefined). */
  border: Term | undefined;
  striped: boolean;
  /** The first row says how wide the columns are, for all that follow. */
  hasHeader: boolean;
  /** Without lines or colours at the sides, the outer cells stand flush with the text around. */
  flush: boolean;
}>;

const USUAL_FONT_PX = 15;
const USUAL_PADDING_PX = 24;
const LINE = '#e5e7eb';

const TOP_ROW = '<tr valign="top">';

export const table: ComponentRenderer = (component, around) => {
  const outer = withLines(component, around);
  const props = propsOf(component);
  const { code } = outer;
  const columns = withHiding(columnsOf(props, outer), props, outer);
  const context: Context = {
    ...outer,
    type: { ...typographyOf(props, outer), fontSize: css('length', props['fontSize'], `${USUAL_FONT_PX}px`, outer) },
    wordChars: wordCharsOf(columns.length),
  };
  const hasHeader = props['showHeader'] !== false && columns.some(({ header }) => header !== '');
  const look = lookOf(props, hasHeader, context);
  // Text that is legible on the stripes is legible between them.
  const classes = [colorClass('text', context.type.color, look.striped ? onStripe(context) : context), lineClass(look)];
  const rows = code.name('r');
  const hasFooter = columns.some(({ footer }) => footer !== undefined);
  // The tag of the table says whether its rows scroll on a small screen, which is known when they are written.
  const [before, made] = [code.name('b'), code.name('f')];
  code.statement(`const ${before}=h;h="";`);
  if (hasHeader) header(props, columns, look);
  code.textStatement(`const ${rows}=[];`);
  if (props['dataSource'] === undefined) writtenRows(props, columns, look, rows);
  else dataRows(props, columns, look, rows);
  if (hasFooter) {
    code.html(TOP_ROW);
    row(columns, look, { ...look.context }, (column) => column.footer ?? '', 'footer');
  }
  code.statement(
    `if(${before}.length+h.length>${context.limits.htmlSizeBytesMax})TOO_LARGE(${before}.length+h.length);`,
  );
  code.statement(
    `const ${made}=FITTED(h,${code.constant(JSON.stringify(narrowOf(look, columns.length, hasFooter)))});h=${before};`,
  );
  code.statement(`if(${made}.name.startsWith("k"))k=true;`);
  code.html(
    `<tr${context.mark}><td style="padding:`,
    css('box', props['padding'], gap(outer), outer),
    `"><table${dirAttribute(outer)} width="100%" cellpadding="0" cellspacing="0" border="0"`,
    classAttribute(...classes, js(`${made}.name`)),
    ' style="width:100%;border-collapse:collapse;',
    // Cells take this from their table in every client, Outlook included; said on each cell it would be most of a long
    // table.
    ...textDeclarations(context.type).map(attributeSafe),
    '">',
    js(`${made}.html`),
    '</table></td></tr>',
  );
  const cells = (text: (column: Column) => string): string =>
    listOf(columns, (column) => concat(lineTexts(...cellOf(text(column), column, context))));
  const aligns = concat(
    columns.map(({ align, shown }) =>
      onlyWhere(shown, typeof align === 'string' ? align.charAt(0) : startOf(context).charAt(0)),
    ),
  );
  code.text(
    js(
      // Columns made of blanks stand below each other only where every letter runs the same way.
      `${outer.direction === 'rtl' ? `LABELLED(${rows},` : `TABLE(${rows},${aligns},`}${hasHeader ? cells(({ header }) => header) : 'void 0'},${hasFooter ? cells(({ footer }) => footer ?? '') : 'void 0'})`,
    ),
    '\n\n',
  );
};

/** Computes whether the words of a table are wider than a phone. A size that is a variable counts as the usual size. */
const narrowOf = ({ context, padding, flush }: Look, columns: number, hasFooter: boolean): NarrowTable => {
  const paddingPx = typeof padding === 'string' ? horizontalPx(padding) : USUAL_PADDING_PX;
  const { fontSize } = context.type;
  return {
    roomPx: context.phonePx,
    fontPx: (typeof fontSize === 'string' ? pixels(fontSize) : undefined) ?? USUAL_FONT_PX,
    paddingPx,
    flushPx: flush ? paddingPx : 0,
    wordChars: wordCharsOf(columns),
    hasFooter,
  };
};

/** In: the props of a table. Out: its columns, as many as its rows have cells where no more are described. */
const columnsOf = (props: JsonObject, context: Context): readonly Column[] => {
  const rows = Array.isArray(props['rows']) ? (props['rows'] as readonly (readonly Json[])[]) : [];
  const given = Array.isArray(props['columns']) ? (props['columns'] as readonly Json[]) : [];
  const count = Math.max(given.length, ...rows.slice(0, 1_000).map((row) => row.length), 0);
  return Array.from({ length: count }, (_, at) => columnOf(given[at], props, context));
};

const textIn = (column: JsonObject, name: string): string | undefined => {
  const text = column[name];
  return typeof text === 'string' ? text : undefined;
};

const columnOf = (given: Json | undefined, props: JsonObject, context: Context): Column => {
  const column = isJsonObject(given) ? given : {};
  const format = isJsonObject(column['format']) ? (column['format'] as ValueFormat) : undefined;
  const displayFormat: DisplayFormat = {
    ...(isColumnType(column['type']) && { type: column['type'] }),
    ...(format && { format }),
  };
  const { content } = column;
  const alone = typeof content === 'string' ? onlyPlaceholder(templated(content, context))?.path : undefined;
  const natural = holdsNumbers(displayFormat, alone && rootShapeOfItems(alone, props, context), alone)
    ? endOf(context)
    : startOf(context);
  const align = column['align'] === undefined ? natural : side(column['align'], natural, context);
  return {
    header: typeof column['header'] === 'string' ? column['header'] : '',
    content,
    footer: textIn(column, 'footer'),
    groupHeader: textIn(column, 'groupHeader'),
    groupFooter: textIn(column, 'groupFooter'),
    width: column['width'],
    align,
    headerAlign: column['headerAlign'] === undefined ? align : side(column['headerAlign'], natural, context),
    displayFormat,
  };
};

/**
 * Declares a variable for each column with `hideWhenEmpty`: true if a row has a value for the column, or if there are
 * no rows.
 */
const withHiding = (columns: readonly Column[], props: JsonObject, context: Context): readonly Column[] => {
  const given = Array.isArray(props['columns']) ? (props['columns'] as readonly Json[]) : [];
  if (props['dataSource'] === undefined) return columns;
  return columns.map((column, at) => {
    const own = given[at];
    if (!isJsonObject(own) || own['hideWhenEmpty'] !== true || typeof column.content !== 'string') return column;
    const shown = context.code.name('w');
    context.code.statement(`let ${shown}=false;`);
    const paths = pathsOf(templated(column.content, context));
    const note = (inner: Context): void =>
      context.code.statement(`if(${anyShown(paths, inner) ?? 'true'})${shown}=true;`);
    openItems(props, context, note, () => context.code.statement(`${shown}=true;`));
    return { ...column, shown };
  });
};

/** Writes a part of a column, if the column is shown. */
const whereShown = ({ shown }: Column, { code }: Context, write: () => void): void => {
  if (shown === undefined) write();
  else code.block(`if(${shown})`, write);
};

const onlyWhere = (shown: string | undefined, text: string): Term =>
  shown === undefined ? text : js(`(${shown}?${quote(text)}:"")`);

/** The expression of a list with one text for each column that is there. */
const listOf = (columns: readonly Column[], text: (column: Column, at: number) => string): string =>
  `[${columns.map((column, at) => (column.shown === undefined ? text(column, at) : `...(${column.shown}?[${text(column, at)}]:[])`)).join(',')}]`;

const lookOf = (props: JsonObject, hasHeader: boolean, context: Context): Look => {
  const border = props['border'] === undefined ? undefined : css('border', props['border'], 'none', context);
  const striped = props['striped'] === true;
  const flush = (border === undefined || border === 'none') && !striped && props['headerBackgroundColor'] === undefined;
  return {
    context,
    padding: css('box', props['cellPadding'], '10px 12px', context),
    border,
    striped,
    hasHeader,
    flush,
  };
};

const header = (props: JsonObject, columns: readonly Column[], look: Look): void => {
  const { context } = look;
  const background =
    props['headerBackgroundColor'] === undefined
      ? undefined
      : colorOf(props['headerBackgroundColor'], 'transparent', context);
  const on = background === undefined ? context : onBackground(background, undefined, context);
  const color = colorOf(props['headerColor'], on.type.color, on);
  const inner: Context = { ...on, type: inColor(color, on) };
  const textClass = colorClass('text', color, inner);
  // On a background of its own, text does not follow that of the table into dark mode.
  const isNamed = background !== undefined || props['headerColor'] !== undefined;
  const isOwn =
    isNamed && (!isSame(color, context.type.color) || !isSame(textClass, colorClass('text', color, context)));
  context.code.html(TOP_ROW);
  const cell = (column: Column, at: number): void => {
    const classes = classAttribute(
      isOwn ? textClass : '',
      background === undefined ? '' : colorClass('surface', background, context),
    );
    context.code.html('<th scope="col"', classes, ' align="', column.headerAlign, '"', ...widthAttribute(column));
    context.code.html(' style="', ...cellDeclarations(look, at, columns.length));
    if (isOwn) context.code.html(';color:', color);
    if (background !== undefined) context.code.html(';background-color:', background);
    context.code.html(';font-weight:600;text-align:', column.headerAlign, '">');
    context.code.html(richHtml(parseRichText(column.header, 'inline', inner), inner), '</th>');
  };
  columns.forEach((column, at) => whereShown(column, context, () => cell(column, at)));
  context.code.html('</tr>');
};

const widthAttribute = ({ width }: Column): readonly Term[] => {
  const literal = typeof width === 'number' ? `${width}px` : typeof width === 'string' ? width : undefined;
  return literal === undefined || literal.includes('{{') ? [] : [` width="${attributeWidth(literal)}"`];
};

/** The class of the table for the lines of its cells. */
const lineClass = ({ border, context }: Look): Term => {
  return border === undefined ? colorClass('cells', LINE, context) : borderClass(border, context, 'cells');
};

const cellDeclarations = (look: Look, at: number, count: number): readonly Term[] => {
  const declarations: Term[] = ['padding:', look.padding];
  if (look.flush && at === 0) declarations.push(`;padding-${startOf(look.context)}:0`);
  if (look.flush && at === count - 1) declarations.push(`;padding-${endOf(look.context)}:0`);
  if (look.border === undefined) declarations.push(`;border-bottom:1px solid ${LINE}`);
  else if (look.border !== 'none') declarations.push(';border:', look.border);
  return declarations;
};

/** Words longer than this may break where a table of so many columns stands on a small screen. */
const wordCharsOf = (columns: number): number =>
  columns < 2 ? WORD_CHARS : columns === 2 ? 18 : columns === 3 ? 14 : 12;

/** One row of cells; `text` gives the content of a column. */
const row = (
  columns: readonly Column[],
  look: Look,
  context: Context,
  text: (column: Column, at: number) => Json,
  kind: 'body' | 'footer',
): void => {
  const cell = (column: Column, at: number): void => {
    context.code.html('<td');
    context.code.html(...alignAttribute(column.align, context), ...(look.hasHeader ? [] : widthAttribute(column)));
    context.code.html(
      ' style="',
      ...cellDeclarations(look, at, columns.length),
      kind === 'footer' ? ';font-weight:600' : '',
    );
    context.code.html('">', richHtml(...cellOf(text(column, at), column, context)), '</td>');
  };
  columns.forEach((column, at) => whereShown(column, context, () => cell(column, at)));
  context.code.html('</tr>');
};

/** The content of a cell, and how its values are shown: one that is alone there is seen for what it is. */
const cellOf = (
  cell: Json,
  column: Column,
  context: Context,
): readonly [readonly RichNode[], Context, DisplayFormat] => {
  const { content = '', displayFormat } = writtenCell(cell, column.displayFormat);
  const literal = literalValue(content, displayFormat);
  if (literal !== undefined) {
    const text = writerOf({ ...displayFormat, isWhole: true }, context.language)(literal);
    return [parseRichText(escapeHtml(aloneIn(context.direction, text)), 'inline', context), context, displayFormat];
  }
  const text = String(content);
  const isWhole = onlyPlaceholder(templated(text, context)) !== undefined;
  return [
    parseRichText(text, 'inline', context),
    context,
    isWhole ? { ...displayFormat, isWhole: true } : displayFormat,
  ];
};

const textRow = (
  columns: readonly Column[],
  context: Context,
  rows: string,
  text: (column: Column, at: number) => Json,
): void => {
  const cells = listOf(columns, (column, at) => concat(lineTexts(...cellOf(text(column, at), column, context))));
  context.code.textStatement(`${rows}.push(${cells});`);
};

const topRow = ({ striped, context }: Look, odd: boolean): readonly Term[] => {
  if (!striped || !odd) return [TOP_ROW];
  const background = stripe(context.type.color, context);
  return [
    '<tr',
    classAttribute(colorClass('stripe', background, context)),
    ' valign="top" style="background-color:',
    background,
    '">',
  ];
};

const onStripe = (context: Context): Context => ({
  ...context,
  surface: surfaceOf(stripe(context.type.color, context), context, 'stripe'),
});

const dataRows = (props: JsonObject, columns: readonly Column[], look: Look, rows: string): void => {
  const { code } = look.context;
  const content = ({ content }: Column): Json => content ?? '';
  const edge = (name: 'groupHeader' | 'groupFooter', inGroup: Context): void => {
    if (columns.every((column) => column[name] === undefined)) return;
    const text = (column: Column): Json => column[name] ?? '';
    code.html(TOP_ROW);
    row(columns, look, inGroup, text, 'footer');
    textRow(columns, inGroup, rows, text);
  };
  const emptyText = props['emptyText'];
  const empty =
    typeof emptyText !== 'string'
      ? undefined
      : () => {
          const parts = templated(emptyText, look.context);
          code.html(`<tr><td colspan="${columns.length}" style="`);
          code.html(...cellDeclarations(look, 0, 1), '">', shownOf(parts, look.context), '</td></tr>');
          code.textStatement(`${rows}.push([${concat(textOf(parts, look.context))}]);`);
        };
  openItems(
    props,
    look.context,
    (inner, index) => {
      if (look.striped) code.html(js(`(${index}%2?${concat(topRow(look, true))}:${quote(TOP_ROW)})`));
      else code.html(TOP_ROW);
      row(columns, look, inner, content, 'body');
      textRow(columns, inner, rows, content);
    },
    empty,
    { head: (inGroup) => edge('groupHeader', inGroup), foot: (inGroup) => edge('groupFooter', inGroup) },
  );
};

const writtenRows = (props: JsonObject, columns: readonly Column[], look: Look, rows: string): void => {
  const { code } = look.context;
  const given = Array.isArray(props['rows']) ? (props['rows'] as readonly (readonly Json[])[]) : [];
  given.forEach((cells, at) => {
    const content = (_: Column, column: number): Json => cells[column] ?? '';
    code.html(topRow(look, at % 2 === 1));
    row(columns, look, look.context, content, 'body');
    textRow(columns, look.context, rows, content);
  });
};

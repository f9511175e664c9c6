/** Rich text as cells show it: paragraphs of runs, each run with one font, and the rows of tables that stand between them. */
import type { HorizontalAlign, Html } from '../../../domain/rendering/expand/expanded.js';
import { safeLink } from '../../../domain/rendering/urls.js';
import { blockTags } from '../../../domain/rendering/html-tags.js';
import { parseRichTree, type TreeElement, type TreeNode } from '../rich-tree.js';
import { argb } from '../colors.js';
import { fontOf, fontOnFill, linkColorOnFill, type RunFont } from './fonts.js';
import { createWriter, type Paragraph, type RichRow, type State, type Writer } from './rich-writer.js';

export type { Paragraph, RichRow } from './rich-writer.js';

const HEADING_SIZES = [20, 16, 14, 12, 11, 10] as const;
export const LINK_COLOR = 'FF0563C1';

/** In: rich text of a component, its font, the colour of links as ARGB. Out: its rows from top to bottom, empty ones left out. */
export const richRows = (html: Html, font: RunFont, linkColor?: string): readonly RichRow[] => {
  const writer = createWriter();
  blocks(parseRichTree(html, 'block'), stateOf(font, linkColor), writer);
  writer.end();
  return writer.rows;
};

/** In: the content of one cell. Out: its runs as one paragraph. */
export const richCell = (html: Html, font: RunFont): Paragraph => oneParagraph(parseRichTree(html, 'inline'), font);

const stateOf = (font: RunFont, linkColor = LINK_COLOR): State => ({
  font,
  align: undefined,
  fill: undefined,
  indent: 0,
  heading: undefined,
  pre: false,
  href: undefined,
  ordered: undefined,
  linkColor,
});

const oneParagraph = (nodes: readonly TreeNode[], font: RunFont, linkColor?: string): Paragraph => {
  const writer = createWriter();
  const state = stateOf(font, linkColor);
  for (const node of nodes) {
    if (node.kind === 'text') writer.text(node.text, state);
    else inlineOrBreak(node, state, writer);
  }
  writer.end();
  const paragraphs = writer.rows.flatMap((row) => (row.kind === 'paragraph' ? [row.paragraph] : row.kind === 'cells' ? row.cells : []));
  const [first] = paragraphs;
  if (first === undefined) return { runs: [], text: '', heading: undefined, align: undefined, fill: undefined, indent: 0, href: undefined };
  if (paragraphs.length === 1) return first;
  const runs = paragraphs.flatMap((paragraph, at) => (at === 0 ? paragraph.runs : [{ text: '\n' }, ...paragraph.runs]));
  return { ...first, runs, text: paragraphs.map(({ text }) => text).join('\n') };
};

const BLOCKS: ReadonlySet<string> = new Set([...blockTags, 'table']);

const blocks = (nodes: readonly TreeNode[], state: State, writer: Writer): void => {
  for (const node of nodes) {
    if (node.kind === 'text') writer.text(node.text, state);
    else if (BLOCKS.has(node.tag)) block(node, state, writer);
    else inlineOrBreak(node, state, writer);
  }
};

const inlineOrBreak = (node: TreeElement, state: State, writer: Writer): void => {
  if (node.tag === 'br') return writer.lineBreak(state);
  if (node.tag === 'img') return writer.text(node.attributes['alt'] ?? '', state);
  if (node.tag === 'q') writer.text('\u201c', state);
  const href = node.tag === 'a' ? safeLink(node.attributes['href'] ?? '') : undefined;
  const inner = href === undefined || href.startsWith('#') ? state : { ...state, href };
  const font = fontOf(node, inner.href === state.href ? state.font : { ...state.font, underline: true, color: { argb: state.linkColor } });
  blocks(node.children, { ...inner, font }, writer);
  if (node.tag === 'q') writer.text('\u201d', state);
};

const block = (node: TreeElement, outer: State, writer: Writer): void => {
  const { tag } = node;
  writer.end();
  if (tag === 'hr' || tag === 'table' || tag === 'li') {
    writer.settleMark();
    writer.end();
  }
  if (tag === 'hr') return void writer.rows.push({ kind: 'line' });
  if (tag === 'table') return tableRows(node, outer, writer);
  const heading = /^h([1-6])$/.exec(tag)?.[1];
  const level = heading === undefined ? outer.heading : Number(heading);
  const fill = argb(node.style.get('background-color') ?? node.style.get('background'));
  const around = fill === undefined ? outer : onFill(fill, outer);
  const base: RunFont =
    heading === undefined ? around.font : { ...around.font, bold: true, size: HEADING_SIZES[Number(heading) - 1] ?? 11 };
  const state: State = {
    ...around,
    heading: level,
    font: fontOf(node, base),
    align: tag === 'center' ? 'center' : (alignOf(node) ?? outer.align),
    fill: fill ?? outer.fill,
    indent:
      outer.indent + (tag === 'blockquote' || tag === 'dd' || ((tag === 'ul' || tag === 'ol') && outer.ordered !== undefined) ? 1 : 0),
    pre: outer.pre || tag === 'pre',
    ordered: tag === 'ul' ? () => 0 : tag === 'ol' ? counter(Number(node.attributes['start'] ?? 1)) : outer.ordered,
  };
  if (tag === 'li') {
    const number = state.ordered?.() ?? 0;
    writer.mark(number === 0 ? '\u2022 ' : `${number}. `, state);
  }
  blocks(node.children, state, writer);
  if (tag === 'li') writer.settleMark();
  writer.end();
};

const onFill = (fill: string, { font, linkColor, ...state }: State): State => ({
  ...state,
  font: fontOnFill(font, fill),
  linkColor: linkColorOnFill(fill, linkColor, LINK_COLOR),
});

const counter = (start: number): (() => number) => {
  let next = Number.isSafeInteger(start) && start > 0 ? start : 1;
  return () => next++;
};

const tableRows = (table: TreeElement, outer: State, writer: Writer): void => {
  for (const child of table.children) {
    if (child.kind === 'text') continue;
    if (child.tag !== 'tr') {
      tableRows(child, outer, writer);
      continue;
    }
    const cells = child.children.filter((cell): cell is TreeElement => cell.kind === 'element' && (cell.tag === 'td' || cell.tag === 'th'));
    const drawn = cells.map((cell): Paragraph => {
      const fill = argb(cell.style.get('background-color') ?? cell.attributes['bgcolor']);
      const state = fill === undefined ? outer : onFill(fill, outer);
      const inner = oneParagraph(
        cell.children,
        fontOf(cell, cell.tag === 'th' ? { ...state.font, bold: true } : state.font),
        state.linkColor,
      );
      return { ...inner, align: inner.align ?? alignOf(cell), fill: inner.fill ?? fill ?? outer.fill };
    });
    if (drawn.length > 0) writer.rows.push({ kind: 'cells', cells: drawn });
  }
};

const alignOf = ({ style, attributes }: TreeElement): HorizontalAlign | undefined => {
  switch ((style.get('text-align') ?? attributes['align'] ?? '').toLowerCase()) {
    case 'left':
      return 'left';
    case 'center':
      return 'center';
    case 'right':
      return 'right';
    case 'justify':
      return 'justify';
  }
  return undefined;
};

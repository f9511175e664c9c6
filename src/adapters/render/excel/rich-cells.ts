/**
 * Rich text as cells show it: paragraphs of runs with a font each, marks of lists, rows of tables, and a link where all
 * of a cell leads to one place.
 */
import type { RichText } from 'exceljs';
import type { HorizontalAlign, Html } from '../../../domain/rendering/expand/expanded.js';
import { type RunFont, fontOf, fontOnFill, linkColorOnFill } from './looks.js';
import { safeLink } from '../../../domain/rendering/addresses.js';
import { blockTags } from '../../../domain/rendering/html.js';
import { parseRichTree, type TreeElement, type TreeNode, treeText } from '../rich-tree.js';
import { argb } from '../colors.js';
import type { CellStyle, DrawnCell, Sheet } from './sheet.js';
import { cellText, looksLikeFormula, TEXT_CODE, type TextPlace } from './text.js';

export type Paragraph = Readonly<{
  runs: readonly RichText[];
  text: string;
  /** 1 to 6 for headings. */
  heading: number | undefined;
  align: HorizontalAlign | undefined;
  fill: string | undefined;
  /** Steps to the right. */
  indent: number;
  /**
   * The address, where all of the text is one link: a cell can lead to one place only, and does so wherever it is
   * clicked.
   */
  href: string | undefined;
}>;
export type RichRow =
  | Readonly<{ kind: 'paragraph'; paragraph: Paragraph }>
  | Readonly<{ kind: 'line' }>
  | Readonly<{ kind: 'cells'; cells: readonly Paragraph[] }>;

/** The styles that hold at one place of the tree. */
type State = Readonly<{
  font: RunFont;
  align: HorizontalAlign | undefined;
  fill: string | undefined;
  indent: number;
  heading: number | undefined;
  pre: boolean;
  href: string | undefined;
  /** Numbers the items of a list; undefined in a list of bullets. */
  ordered: (() => number) | undefined;
  linkColor: string;
}>;

type Writer = Readonly<{
  rows: RichRow[];
  text: (text: string, state: State) => void;
  lineBreak: (state: State) => void;
  /** The mark of a list item, at the beginning of its first paragraph. */
  mark: (text: string, state: State) => void;
  /** A mark that no text has come for yet stands alone. */
  settleMark: () => void;
  end: () => void;
}>;

type Run = { text: string; font: RunFont; href: string | undefined };

/** `row` and `column` from 1. */
export type TextSpot = TextPlace &
  Readonly<{ sheet: Sheet; charsMax: number; row: number; column: number; font: RunFont }>;
/** In: the text, and the code of its format ('' or `@`). */
type StyleOfText = (text: string, code: string) => CellStyle;

export type Content = Readonly<{ html: Html }> | Readonly<{ text: string }>;

const HEADING_SIZES = [20, 16, 14, 12, 11, 10] as const;
export const LINK_COLOR = 'FF0563C1';

const BLOCKS: ReadonlySet<string> = new Set([...blockTags, 'table']);

/**
 * In: rich text of a component, its font, the colour of links as ARGB. Out: its rows from top to bottom, empty ones
 * left out.
 */
export const richRows = (html: Html, font: RunFont, linkColor?: string): readonly RichRow[] => {
  const writer = createWriter();
  blocks(parseRichTree(html, 'block'), stateOf(font, linkColor), writer);
  writer.end();
  return writer.rows;
};

/**
 * A cell of text: plain if possible, with runs if it has fonts of its own. Throws DomainError where the text is longer
 * than a cell holds.
 */
export const textCell = (content: Content, spot: TextSpot, styleOf: StyleOfText): DrawnCell => {
  if ('html' in content && content.html.includes('<'))
    return paragraphCell(richCell(content.html, spot.font), spot, styleOf);
  const text = cellText('text' in content ? content.text : plainOf(content.html), spot.charsMax, spot);
  if (text === '') return { value: null, style: styleOf('', '') };
  // Not every reader keeps line breaks and undoes escapes in a plain value; all do in a text with runs.
  return { value: { richText: [{ text }] }, style: styleOf(text, codeOf(text)) };
};

/** `textCell` for a parsed paragraph. */
export const paragraphCell = (paragraph: Paragraph, spot: TextSpot, styleOf: StyleOfText): DrawnCell => {
  const text = cellText(paragraph.text, spot.charsMax, spot);
  const style = styleOf(text, codeOf(text));
  if (paragraph.href !== undefined) spot.sheet.link(spot.row, spot.column, paragraph.href);
  if (paragraph.runs.length === 0) return { value: null, style };
  return {
    value: { richText: paragraph.runs.map((run) => ({ ...run, text: cellText(run.text, spot.charsMax, spot) })) },
    style,
  };
};

/** In: the content of one cell. Out: its runs as one paragraph. */
const richCell = (html: Html, font: RunFont): Paragraph => oneParagraph(parseRichTree(html, 'inline'), font);

const plainOf = (html: Html): string => (html.includes('&') ? treeText(parseRichTree(html, 'inline')) : html);

const codeOf = (text: string): string => (looksLikeFormula(text) ? TEXT_CODE : '');

/** Takes text in reading order and makes paragraphs of it, each until it is ended. */
const createWriter = (): Writer => {
  const rows: RichRow[] = [];
  let runs: Run[] = [];
  let from: State | undefined;
  let mark: Readonly<{ text: string; state: State }> | undefined;
  const add = (text: string, state: State): void => {
    if (text === '') return;
    from ??= state;
    const last = runs.at(-1);
    if (last?.font === state.font && last.href === state.href) last.text += text;
    else runs.push({ text, font: state.font, href: state.href });
  };
  const endsWithSpace = (): boolean => /[ \n]$/.test(runs.at(-1)?.text ?? ' ');
  const addMark = (state: State): void => {
    if (mark !== undefined) add(mark.text, { ...state, font: mark.state.font, href: undefined });
    mark = undefined;
  };
  const settleMark = (): void => {
    if (mark !== undefined) addMark(mark.state);
  };
  return {
    rows,
    text: (text, state) => {
      if (/[^ \t\r\n\f]/.test(text)) addMark(state);
      if (state.pre) return add(text, state);
      const folded = text.replace(/[ \t\r\n\f]+/g, ' ');
      add(endsWithSpace() ? folded.replace(/^ /, '') : folded, state);
    },
    lineBreak: (state) => {
      addMark(state);
      add('\n', state);
    },
    mark: (text, state) => {
      mark = { text, state };
    },
    settleMark,
    end: () => {
      const last = runs.at(-1);
      if (last !== undefined && from?.pre !== true) last.text = last.text.trimEnd();
      if (from !== undefined && runs.some((run) => run.text.trim() !== '')) {
        const { heading, align, fill, indent, font } = from;
        const { href, shown } = linked(
          runs.filter((run) => run.text !== ''),
          font,
        );
        rows.push({
          kind: 'paragraph',
          paragraph: { runs: shown, text: shown.map((run) => run.text).join(''), heading, align, fill, indent, href },
        });
      }
      runs = [];
      from = undefined;
    },
  };
};

/** A link that stands among other text is followed by its address, unless its text is the address. */
const linked = (
  runs: readonly Run[],
  font: RunFont,
): Readonly<{ href: string | undefined; shown: readonly RichText[] }> => {
  const [href] = runs.map((run) => run.href);
  const isLink = href !== undefined && runs.every((run) => run.href === href || run.text.trim() === '');
  const shown = runs.flatMap((run, at): RichText[] => {
    const isEnd = run.href !== undefined && !isLink && runs[at + 1]?.href !== run.href;
    const address = run.href?.replace(/^(?:mailto|tel|sms):/i, '') ?? '';
    return [
      { text: run.text, font: run.font },
      ...(isEnd && run.text.trim() !== address ? [{ text: ` (${address})`, font }] : []),
    ];
  });
  return { href: isLink ? href : undefined, shown };
};

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
  const paragraphs = writer.rows.flatMap((row) =>
    row.kind === 'paragraph' ? [row.paragraph] : row.kind === 'cells' ? row.cells : [],
  );
  const [first] = paragraphs;
  if (first === undefined)
    return { runs: [], text: '', heading: undefined, align: undefined, fill: undefined, indent: 0, href: undefined };
  if (paragraphs.length === 1) return first;
  const runs = paragraphs.flatMap((paragraph, at) => (at === 0 ? paragraph.runs : [{ text: '\n' }, ...paragraph.runs]));
  return { ...first, runs, text: paragraphs.map(({ text }) => text).join('\n') };
};

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
  const font = fontOf(
    node,
    inner.href === state.href ? state.font : { ...state.font, underline: true, color: { argb: state.linkColor } },
  );
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
    heading === undefined
      ? around.font
      : { ...around.font, bold: true, size: HEADING_SIZES[Number(heading) - 1] ?? 11 };
  const state: State = {
    ...around,
    heading: level,
    font: fontOf(node, base),
    align: tag === 'center' ? 'center' : (alignOf(node) ?? outer.align),
    fill: fill ?? outer.fill,
    indent:
      outer.indent +
      (tag === 'blockquote' || tag === 'dd' || ((tag === 'ul' || tag === 'ol') && outer.ordered !== undefined) ? 1 : 0),
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
    const cells = child.children.filter(
      (cell): cell is TreeElement => cell.kind === 'element' && (cell.tag === 'td' || cell.tag === 'th'),
    );
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

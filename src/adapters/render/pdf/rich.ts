/**
 * Rich text as blocks and runs of text: paragraphs, headings, lists, quotations, code and pictures, with characters in
 * the fonts that have them.
 */
import { type TreeElement, type TreeNode, treeText, asList, parseRichTree } from '../rich-tree.js';
import {
  lookOf,
  narrower,
  spaced,
  type Context,
  blockAlign,
  colorsOn,
  indented,
  LINE_COLOR,
  startOf,
} from './context.js';
import {
  alignOf,
  directedBy,
  inlineStyle,
  namesColor,
  onBackground,
  type Inline,
  lengthOf,
  indentOf,
  inlineOf,
  runOf,
} from './rich-style.js';
import { anchored, type Node, type Tag, type LinePicture, type Run, type TextNode } from './nodes.js';
import { blockTags, tableTags } from '../../../domain/rendering/html.js';
import { linePictureOf, pictureNode, pictureRun } from './picture-node.js';
import type { Fonts, Refuses } from './fonts.js';
import {
  directionOfText,
  holdsIsolates,
  type Direction,
  type TextDirection,
} from '../../../domain/rendering/direction.js';
import type { Html } from '../../../domain/rendering/expand/expanded.js';
import { pdfColor } from '../colors.js';
import { richTable, type Blocks } from './rich-table.js';

type Shaping = Readonly<{
  fonts: Fonts;
  /** BCP 47 */ locale: string;
  /** For messages. */ field: string;
  /** Direction of the text around, for text without any letter. */ direction: Direction;
  textDirection: TextDirection;
  refuses: Refuses;
}>;

export const LIST_INDENT_PT = 18;

const markers: Readonly<Record<string, string>> = {
  a: 'lower-alpha',
  A: 'upper-alpha',
  i: 'lower-roman',
  I: 'upper-roman',
  1: 'decimal',
};
const MARKERS = new Set([
  'disc',
  'circle',
  'square',
  'none',
  'decimal',
  'lower-alpha',
  'upper-alpha',
  'lower-roman',
  'upper-roman',
]);

const BLOCKS: ReadonlySet<string> = new Set([...blockTags, ...tableTags, 'img']);

/** Lines that a picture among words may take; a higher one has a line of its own. */
const PICTURE_LINES_MAX = 3;

/** Factors of the size of the text around. */
const headings: Readonly<Record<string, Readonly<{ factor: number; below: number }>>> = {
  h1: { factor: 2, below: 0.55 },
  h2: { factor: 1.55, below: 0.5 },
  h3: { factor: 1.25, below: 0.45 },
  h4: { factor: 1.1, below: 0.4 },
  h5: { factor: 1, below: 0.4 },
  h6: { factor: 0.9, below: 0.4 },
};
const HEADING_LINE_HEIGHT = 1.25;
/** Room below a paragraph, as a factor of its size. */
const BELOW = 0.7;
const CODE_BACKGROUND = '#f3f4f6';

const BAR_PT = 2.5;

/**
 * In: HTML of a block. Out: its paragraphs, headings, lists, tables and pictures; the last has no room below itself.
 */
export const richNodes = (html: Html, context: Context): readonly Node[] =>
  blocks(parseRichTree(html, 'block'), inlineOf(context), context);

/**
 * Rich text that is a list: content without a list around its items gets one, lines without any markup are one item.
 */
export const listNodes = (html: Html, ordered: boolean, context: Context): readonly Node[] =>
  blocks(asList(parseRichTree(html, 'block'), ordered), inlineOf(context), context);

/** A cell that is one line of text is the element itself; one that holds more has paragraphs inside. */
export const cellNodes = (html: Html, context: Context, cell: Tag, base: Partial<Inline>): readonly Node[] => {
  const nodes = parseRichTree(html, 'inline');
  const inline = { ...inlineOf(context), ...base };
  return nodes.some(hasBlock)
    ? blocks(nodes, inline, { ...context, tag: cell })
    : blocks(nodes, inline, { ...context, tag: cell.parent }, cell.type).map((line) => ({ ...line, tag: cell }));
};

/** Text that is no HTML, as a paragraph. */
export const plainNodes = (text: string, context: Context, look: Partial<Inline> = {}): readonly Node[] =>
  blocks([{ kind: 'text', text }], { ...inlineOf(context), ...look }, context);

/** The blocks of a sequence of nodes: text between blocks becomes a paragraph. */
const blocks = (
  nodes: readonly TreeNode[],
  inline: Inline,
  context: Context,
  type: Tag['type'] = 'P',
): readonly Node[] => {
  const out: Node[] = [];
  let runs: Run[] = [];
  const flush = (): void => {
    const paragraph = paragraphOf(runs, context, type);
    if (paragraph !== undefined) out.push(paragraph);
    runs = [];
  };
  const held = nodes.map(hasBlock);
  const amongWords = held.includes(true) ? picturesAmongWords(nodes, context) : undefined;
  for (const [at, node] of nodes.entries()) {
    if (held[at] !== true || amongWords?.has(node) === true) {
      collect(node, inline, runs, context);
      continue;
    }
    flush();
    if (node.kind === 'element') out.push(...named(node, block(node, inline, context)));
  }
  flush();
  const last = out.at(-1);
  if (last?.margin !== undefined)
    out[out.length - 1] = { ...last, margin: [last.margin[0], last.margin[1], last.margin[2], 0] };
  return out;
};

/** The blocks of an element, the first with its `id` for links. */
const named = ({ attributes: { id } }: TreeElement, [first, ...others]: readonly Node[]): readonly Node[] => {
  if (first === undefined) return others;
  return [id === undefined || id === '' ? first : anchored(first, id), ...others];
};

const collect = (node: TreeNode, inline: Inline, runs: Run[], context: Context): void => {
  if (node.kind === 'text') {
    runs.push(runOf(node.text, inline, context));
    return;
  }
  if (node.tag === 'br') {
    runs.push(runOf('\n', { ...inline, preserve: true }, context));
    return;
  }
  if (node.tag === 'img') {
    const picture = wordPicture(node, context);
    const run = runOf(node.attributes['alt'] ?? '', inline, context);
    runs.push(picture === undefined ? run : pictureRun(picture, run, context));
    return;
  }
  const inner = inlineStyle(node, inline, context);
  if (node.tag === 'q') runs.push(runOf('“', inner, context));
  for (const child of node.children) collect(child, inner, runs, context);
  if (node.tag === 'q') runs.push(runOf('”', inner, context));
};

/** White space collapses as in a browser, over the borders of runs; a paragraph of nothing is none. */
const paragraphOf = (runs: readonly Run[], context: Context, type: Tag['type']): TextNode | undefined => {
  let afterSpace = true;
  const collapsed: Run[] = [];
  for (const run of runs) {
    if (run.preserveLeadingSpaces === true) {
      collapsed.push(run.text === '\n' ? withoutSpaces(run) : run);
      afterSpace = run.picture === undefined && /\s$/.test(run.text);
      continue;
    }
    let text = run.text.replace(/[ \t\r\n\f]+/g, ' ');
    if (afterSpace && text.startsWith(' ')) text = text.slice(1);
    if (text === '') continue;
    afterSpace = text.endsWith(' ');
    collapsed.push({ ...run, text });
  }
  if (collapsed.length === 0) return undefined;
  const { runs: text, isRightToLeft } = shapedRuns(collapsed, context);
  const direction = isRightToLeft ? 'rtl' : 'ltr';
  return {
    text,
    ...lookOf(direction === context.direction ? context : { ...context, direction }),
    tag: { type, parent: context.tag },
  };
};

const withoutSpaces = ({ preserveLeadingSpaces: _leading, preserveTrailingSpaces: _trailing, ...run }: Run): Run => run;

const block = (node: TreeElement, outer: Inline, around: Context): readonly Node[] => {
  const directed = directedBy(node, around);
  const indent = indentOf(node, directed);
  const context: Context = { ...narrower(indent, directed), align: alignOf(node) ?? directed.align };
  const inline = inlineStyle(node, outer, context);
  const below = inline.fontSize * BELOW;
  const heading = Object.hasOwn(headings, node.tag) ? headings[node.tag] : undefined;
  if (heading !== undefined)
    return headingNodes(
      node,
      { ...outer, bold: true, fontSize: outer.fontSize * heading.factor },
      context,
      heading.below,
    );
  switch (node.tag) {
    case 'ul':
    case 'ol':
      return [spaced(listNode(node, inline, context, blocks), below)];
    case 'table':
      return [spaced(richTable(node, inline, context, blocks), below)];
    case 'img':
      return imageNodes(node, inline, context, below);
    case 'hr':
      return [
        {
          canvas: [
            {
              type: 'line',
              x1: 0,
              y1: 0.5,
              x2: context.width,
              y2: 0.5,
              lineWidth: 0.75,
              lineColor: pdfColor(node.attributes['color']) ?? LINE_COLOR,
            },
          ],
          margin: [0, 6, 0, 10],
        },
      ];
    case 'blockquote':
      return [quoteNode(node, inline, context, below)];
    case 'pre':
      return boxed(
        blocks(
          node.children,
          {
            ...onBackground(CODE_BACKGROUND, inline, context),
            background: undefined,
            preserve: true,
            fontSize: inline.fontSize * 0.9,
          },
          boxContext(CODE_BACKGROUND, narrower(16, context)),
        ),
        CODE_BACKGROUND,
        below,
      );
    case 'dd':
      return group(node, inline, narrower(18, context), { start: 18 + indent, below: below / 2 });
    case 'dt':
      return group(node, { ...inline, bold: true }, context, { start: indent, below: 2 });
    case 'p':
      return group(node, inline, context, { start: indent, below });
    case 'dl':
      return group(node, inline, context, { start: indent, below });
    case 'li':
      return group(node, inline, context, { start: indent, below: 3 });
    default:
      return group(node, inline, context, { start: indent, below: 0 });
  }
};

/** The blocks of an element, with its indent, its background and the room below it. */
const group = (
  node: TreeElement,
  inline: Inline,
  context: Context,
  { start, below }: Readonly<{ start: number; below: number }>,
): readonly Node[] => {
  // A background holds for the block, not for its words.
  const background = BLOCKS.has(node.tag) ? backgroundOf(node) : undefined;
  const inner = blocks(
    node.children,
    BLOCKS.has(node.tag) ? { ...inline, background: undefined } : inline,
    background === undefined ? context : boxContext(background, narrower(12, context)),
  );
  if (background !== undefined && inner.length > 0) return boxed(inner, background, below);
  return inner.map((child, at) => {
    const [left, top, right, bottom] = child.margin ?? [0, 0, 0, 0];
    const [atLeft, , atRight] = indented(start, context);
    const margin = [left + atLeft, top, right + atRight, bottom + (at === inner.length - 1 ? below : 0)] as const;
    return margin.every((side) => side === 0) ? child : { ...child, margin };
  });
};

const headingNodes = (node: TreeElement, base: Inline, context: Context, below: number): readonly Node[] => {
  const inline = inlineStyle(node, base, context);
  const level: Tag['type'] = tagOfHeading(node.tag);
  const background = backgroundOf(node);
  const around = background === undefined ? context : boxContext(background, narrower(16, context));
  const inner: Context = { ...around, lineHeight: Math.min(context.lineHeight, HEADING_LINE_HEIGHT) };
  const found = blocks(node.children, { ...inline, background: undefined }, inner, level);
  if (background !== undefined) return boxed(found, background, base.fontSize * below);
  return found.map((child, at) => spaced(child, at === found.length - 1 ? base.fontSize * below : 0));
};

const backgroundOf = ({ style }: TreeElement): string | undefined =>
  pdfColor(style.get('background-color') ?? style.get('background'));

/** Links in a box can be read on its background. */
const boxContext = (background: string, context: Context): Context => ({
  ...context,
  linkColor: colorsOn({ backgroundColor: background }, context).linkColor,
});

const tagOfHeading = (tag: string): Tag['type'] => {
  const levels: readonly Tag['type'][] = ['H1', 'H2', 'H3', 'H4', 'H5', 'H6'];
  return levels.find((level) => level.toLowerCase() === tag) ?? 'P';
};

const boxed = (inner: readonly Node[], color: string, below: number): readonly Node[] =>
  inner.length === 0
    ? []
    : [
        {
          stack: [{ stack: inner, margin: [8, 6, 8, 6] }],
          behind: ({ x, y, width, height }) => [{ type: 'rect', x, y, w: width, h: height, r: 2, color }],
          margin: [0, 0, 0, below],
        },
      ];

const quoteNode = (node: TreeElement, inline: Inline, context: Context, below: number): Node => ({
  stack: [
    {
      stack: blocks(node.children, inline, {
        ...narrower(14, context),
        tag: { type: 'BlockQuote', parent: context.tag },
      }),
      margin: indented(14, context, [1, 1]),
    },
  ],
  behind: ({ x, y, width, height }) => [
    {
      type: 'rect',
      x: startOf(context) === 'left' ? x : x + width - BAR_PT,
      y,
      w: BAR_PT,
      h: height,
      color: LINE_COLOR,
    },
  ],
  margin: [0, 0, 0, below],
});

const imageNodes = (
  { attributes, style }: TreeElement,
  inline: Inline,
  context: Context,
  below: number,
): readonly Node[] => {
  const { src = '', alt = '' } = attributes;
  const picture = context.picture(src, context.field);
  if (picture === undefined) {
    const paragraph = paragraphOf([runOf(alt, inline, context)], context, 'P');
    return paragraph === undefined ? [] : [spaced(paragraph, below)];
  }
  const width = lengthOf(style.get('width') ?? attributes['width'], context.fontSize, context.width);
  const height = lengthOf(style.get('height') ?? attributes['height'], context.fontSize, context.height);
  return [
    spaced(pictureNode(picture, { width, height, alt, link: inline.link, align: blockAlign(context) }, context), below),
  ];
};

/** A list, ordered or not. An item that is a list itself belongs to the item before. */
const listNode = (node: TreeElement, inline: Inline, context: Context, blocks: Blocks): Node => {
  const list: Tag = { type: 'L', parent: context.tag };
  // The marks stand beside the background, the text on it.
  const text =
    inline.background === undefined || namesColor(node) ? inline : onBackground(inline.background, inline, context);
  const items = node.children
    .filter((child): child is TreeElement => child.kind === 'element')
    .map((item): Node => {
      const body: Tag = { type: 'LBody', parent: { type: 'LI', parent: list } };
      const inner = blocks(item.tag === 'li' ? item.children : [item], inlineStyle(item, text, context), {
        ...directedBy(item, narrower(LIST_INDENT_PT, context)),
        tag: body,
        align: alignOf(item) ?? context.align,
      });
      const value = integer(item.attributes['value']);
      const [only] = inner;
      const content: Node =
        inner.length === 1 && only !== undefined
          ? only
          : { stack: inner.length === 0 ? [{ text: '', ...lookOf(context) }] : inner };
      return { ...spaced(content, inline.fontSize * 0.2), ...(value === undefined ? {} : { counter: value }) };
    });
  const type = markerOf(node, context);
  const look = {
    fontSize: inline.fontSize,
    color: context.color,
    ...(inline.color === context.color ? {} : { color: inline.color }),
  };
  const marker = { ...(type === undefined ? {} : { type }), ...markersOf(context) };
  if (node.tag === 'ul') return { ul: items, ...look, ...marker };
  const start = integer(node.attributes['start']);
  return {
    ol: items,
    ...look,
    ...marker,
    ...(start === undefined ? {} : { start }),
    ...('reversed' in node.attributes ? { reversed: true } : {}),
  };
};

/** The side of the marks of a list. Digits run from the left, so from right to left the dot is drawn before them. */
export const markersOf = ({
  direction,
}: Context): Readonly<{ fromRight?: true; separator?: readonly [string, string] }> =>
  direction === 'rtl' ? { fromRight: true, separator: ['.', ''] } : {};

const integer = (text: string | undefined): number | undefined =>
  text !== undefined && /^-?\d{1,6}$/.test(text.trim()) ? Number(text) : undefined;

const markerOf = ({ tag, attributes, style }: TreeElement, context: Context): string | undefined => {
  const named = (style.get('list-style-type') ?? style.get('list-style') ?? '')
    .toLowerCase()
    .replace('latin', 'alpha')
    .split(' ')
    .find((word) => MARKERS.has(word));
  const type = attributes['type'];
  if (named !== undefined) return named;
  if (type !== undefined)
    return Object.hasOwn(markers, type)
      ? markers[type]
      : MARKERS.has(type.toLowerCase())
        ? type.toLowerCase()
        : undefined;
  return tag === 'ul' && context.tag?.type === 'LBody' ? 'circle' : undefined;
};

const hasBlock = (node: TreeNode): boolean =>
  node.kind === 'element' && (BLOCKS.has(node.tag) || node.children.some(hasBlock));

/** The picture of an element as it stands among words; undefined where it has no place there. */
const wordPicture = ({ attributes, style }: TreeElement, context: Context): LinePicture | undefined => {
  const picture = context.picture(attributes['src'] ?? '', context.field);
  if (picture === undefined) return undefined;
  const width = lengthOf(style.get('width') ?? attributes['width'], context.fontSize, context.width);
  const height = lengthOf(style.get('height') ?? attributes['height'], context.fontSize, context.height);
  const wish = { width, height, alt: attributes['alt'] ?? '', link: undefined };
  return linePictureOf(picture, wish, { ...context, linesMax: PICTURE_LINES_MAX });
};

/** The nodes whose pictures stand among words: low pictures beside words or other pictures. */
const picturesAmongWords = (nodes: readonly TreeNode[], context: Context): ReadonlySet<TreeNode> => {
  const found = new Set<TreeNode>();
  let line: TreeNode[] = [];
  const flush = (): void => {
    const pictures = line.filter(hasBlock);
    if (pictures.length > 1 || (pictures.length === 1 && /\S/.test(treeText(line))))
      for (const node of pictures) found.add(node);
    line = [];
  };
  for (const node of nodes) {
    if (isLow(node, context)) line.push(node);
    else flush();
  }
  flush();
  return found;
};

const isLow = (node: TreeNode, context: Context): boolean => {
  if (node.kind === 'text' || !hasBlock(node)) return true;
  if (node.tag === 'img') return wordPicture(node, context) !== undefined;
  return !BLOCKS.has(node.tag) && node.children.every((child) => isLow(child, context));
};

/** In: the runs of one paragraph. Out: the same, split where a character needs another font. Throws FONT_MISSING. */
const shapedRuns = (
  runs: readonly Run[],
  { fonts, locale, field, direction, textDirection, refuses }: Shaping,
): Readonly<{ runs: readonly Run[]; isRightToLeft: boolean }> => {
  const pieces = runs.map((run) => ({
    text: run.text,
    bold: run.bold === true,
    italic: run.italics === true,
    ...(run.family === undefined ? {} : { family: run.family }),
    run: withoutFamily(run),
  }));
  const shaped = fonts.shapeParagraph(pieces, {
    field,
    locale,
    refuses,
    ...directionOf(pieces, direction, textDirection),
  });
  return {
    runs: shaped.pieces.flatMap(({ piece, runs: parts }) =>
      parts.map(({ text, font, bidiLevel }) => ({
        ...piece.run,
        text,
        font,
        ...(bidiLevel === 0 ? {} : { bidiLevel }),
      })),
    ),
    isRightToLeft: shaped.isRightToLeft,
  };
};

/** Most runs name none, and are not copied. */
const withoutFamily = (run: Run): Run => {
  if (run.family === undefined) return run;
  const { family: _family, ...plain } = run;
  return plain;
};

/** Undefined: as the first letter of the paragraph runs. */
const directionOf = (
  pieces: readonly Readonly<{ text: string }>[],
  direction: Direction,
  textDirection: TextDirection,
): Readonly<{ direction?: Direction }> => {
  if (textDirection !== 'auto') return textDirection === 'rtl' ? { direction: 'rtl' } : { direction: 'ltr' };
  const isApart = pieces.some(({ text }) => holdsIsolates(text));
  if (direction === 'ltr' && !isApart) return {};
  const first = directionOfText(pieces.map(({ text }) => text).join(''));
  if (first === undefined) return { direction };
  // The algorithm of Unicode passes over what is set apart when it looks for the first letter.
  return isApart ? { direction: first } : {};
};

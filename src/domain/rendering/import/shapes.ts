/** Shapes of nodes: lines and blocks of text, pictures and buttons that stand alone, tables of data and of layout. */
import { cssBorder, cssLength } from '../css.js';
import { tableTags, voidTags } from '../html.js';
import type { Block, Statement } from './language.js';
import { backgroundOf, isSimpleWidth } from './look.js';
import type { TextPart } from './names.js';
import { holdsMark, type Element, type Node, type Styles } from './tree.js';

export const INLINE = new Set(
  'a abbr acronym b bdi bdo big br cite code del dfn em font i img ins kbd label mark q s samp small span strike strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);

export const TEXT_BLOCKS = new Set('p h1 h2 h3 h4 h5 h6 ul ol dl blockquote pre address'.split(' '));

const TABLE_PARTS = new Set([...tableTags, 'colgroup', 'col']);

export const KEPT = new Set([
  ...[...INLINE].filter((tag) => tag !== 'label'),
  ...[...TEXT_BLOCKS, ...TABLE_PARTS],
  ...'center div dd dt li hr section article header footer main figure figcaption'.split(' '),
]);

export const VOID = new Set(voidTags);

export const COLUMNS_MAX = 8;

export const isWholeWidth = ({ styles, attributes }: Element): boolean =>
  (styles.get('width') ?? attributes.get('width')) === '100%';

/** Elements without a look of their own. */
export const HARMLESS = new Set(
  'html body head o:p thead tbody tfoot center label nav aside details summary picture bdo font'.split(' '),
);

export type Picture = Readonly<{ image: Element; link: Element | undefined }>;

export const isTextPart = (part: Statement): part is TextPart => part.kind !== 'unknown';

const BLANK = /^(?:[ \t\r\n\f\u200b\u200c\ufeff]|\u200d)*$/;

export const isBlank = (node: Node): boolean => node.kind === 'text' && BLANK.test(node.text);

const isBreak = (node: Node): boolean => node.kind === 'element' && node.tag === 'br';

export const trimmedRun = (run: readonly Node[]): readonly Node[] => {
  const first = run.findIndex((node) => !isBlank(node));
  const last = run.findLastIndex((node) => !isBlank(node));
  return first < 0 ? [] : run.slice(first, last + 1);
};

/** Nodes that stand in a line. */
export const isInline = (node: Node): boolean => {
  switch (node.kind) {
    case 'text':
    case 'value':
      return true;
    case 'block':
      return [...node.body, ...node.other].every(isInline);
    case 'element':
      return (
        INLINE.has(node.tag) &&
        (node.styles.get('display') !== 'block' || node.tag === 'a' || node.tag === 'img') &&
        node.children.every(isInline)
      );
  }
};

/** Lines, lists and paragraphs, without boxes and tables. */
export const isTextContent = (nodes: readonly Node[]): boolean =>
  nodes.every((node) =>
    node.kind === 'block'
      ? isTextContent(node.body) && isTextContent(node.other)
      : node.kind !== 'element' ||
        ((INLINE.has(node.tag) || TEXT_BLOCKS.has(node.tag) || /^(?:li|dt|dd)$/.test(node.tag)) &&
          isTextContent(node.children)),
  );

/** Nodes in a node, itself included. They are counted once. */
export const sizeOf = (node: Node): number => {
  if (node.kind === 'text' || node.kind === 'value') return 1;
  const known = sizes.get(node);
  if (known !== undefined) return known;
  const inner = node.kind === 'block' ? [...node.body, ...node.other] : node.children;
  const size = inner.reduce((sum, one) => sum + sizeOf(one), 1);
  sizes.set(node, size);
  return size;
};

const sizes = new WeakMap<Node, number>();

export const textPartOf = (node: Node): TextPart | undefined => {
  switch (node.kind) {
    case 'text':
      return { ...node, text: node.text.replace(/[ \t\r\n\f]+/g, ' ') };
    case 'value':
      return node;
    case 'element':
      return undefined;
    case 'block': {
      const [body, other] = [node.body.map(textPartOf), node.other.map(textPartOf)];
      const isWhole = (parts: readonly (TextPart | undefined)[]): parts is readonly TextPart[] =>
        !parts.includes(undefined);
      return isWhole(body) && isWhole(other) ? { ...node, body, other } : undefined;
    }
  }
};

export const withBlock = (nodes: readonly Node[], block: Block<Node>, instead: readonly Node[]): readonly Node[] =>
  nodes.flatMap((node) =>
    node === block
      ? instead
      : node.kind === 'element'
        ? [{ ...node, children: withBlock(node.children, block, instead) }]
        : [node],
  );

export const loopOrBlock = (nodes: readonly Node[]): Block<Node> | undefined => {
  for (const node of nodes) {
    if (node.kind === 'block') return node;
    const found = node.kind === 'element' ? loopOrBlock(node.children) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
};

const seenOf = (nodes: readonly Node[]): readonly Node[] => nodes.filter((node) => !isBlank(node) && !isBreak(node));

/** The picture that is all of a line, and the link around it. */
export const pictureIn = (nodes: readonly Node[]): Picture | undefined => {
  const seen = seenOf(nodes);
  const [only] = seen;
  if (seen.length !== 1 || only?.kind !== 'element') return undefined;
  if (only.tag === 'img') return { image: only, link: undefined };
  if (!INLINE.has(only.tag) && !TEXT_BLOCKS.has(only.tag)) return undefined;
  const inner = pictureIn(only.children);
  return inner === undefined || only.tag !== 'a' ? inner : { ...inner, link: inner.link ?? only };
};

/** The link that is all of a line and looks like a button. */
export const buttonIn = (nodes: readonly Node[]): Element | undefined => {
  const link = onlyLink(nodes);
  if (link === undefined || !link.attributes.has('href')) return undefined;
  const background = backgroundOf(link.styles);
  const hasRoom = hasPadding(link.styles) || link.styles.has('border-top') || link.styles.has('line-height');
  const isFramed =
    cssBorder(link.styles.get('border') ?? '') !== undefined &&
    link.styles.get('border') !== 'none' &&
    link.styles.has('border') &&
    !/^0/.test(link.styles.get('border') ?? '');
  return (background !== undefined && background !== 'transparent' && hasRoom) ||
    (isFramed && hasPadding(link.styles)) ||
    (/block/.test(link.styles.get('display') ?? '') && /[1-9]\d*px [1-9]/.test(link.styles.get('padding') ?? ''))
    ? link
    : undefined;
};

export const onlyLink = (nodes: readonly Node[]): Element | undefined => {
  const seen = seenOf(nodes);
  const [only] = seen;
  if (seen.length !== 1 || only?.kind !== 'element') return undefined;
  if (only.tag === 'a') return isInline(only) && pictureIn([only]) === undefined ? only : undefined;
  return /^(?:p|div|center|span|strong|b)$/.test(only.tag) && !isSimpleWidth(only.styles.get('width'))
    ? onlyLink(only.children)
    : undefined;
};

export const onlyTable = (nodes: readonly Node[]): Element | undefined => {
  const seen = seenOf(nodes);
  const [only] = seen;
  return seen.length === 1 && only?.kind === 'element' && only.tag === 'table' ? only : undefined;
};

export const onlyCell = (table: Element): Element | undefined => {
  let one: readonly Node[] = table.children.filter((node) => !isBlank(node));
  for (let step = 0; step < 3; step += 1) {
    const [only] = one;
    if (one.length !== 1 || only?.kind !== 'element') return undefined;
    if (only.tag === 'td' || only.tag === 'th') return only;
    if (!/^(?:tbody|tr)$/.test(only.tag)) return undefined;
    one = only.children.filter((node) => !isBlank(node));
  }
  const [only] = one;
  return one.length === 1 && only?.kind === 'element' && /^t[dh]$/.test(only.tag) ? only : undefined;
};

export const isSpace = (node: Element): boolean =>
  node.children.every(
    (child) => child.kind === 'text' && /^(?:[\s\u00a0\u200c\u200b\u200a\u2007\ufeff]|\u034f)*$/.test(child.text),
  );

export const rowsIn = (rows: readonly Node[]): readonly Element[] =>
  rows.flatMap((row) =>
    row.kind === 'element' && row.tag === 'tr'
      ? [row]
      : row.kind === 'block'
        ? rowsIn([...row.body, ...row.other])
        : [],
  );

export const elementsIn = (nodes: readonly Node[]): readonly Element[] =>
  nodes.filter((node) => node.kind === 'element');

export const columnCount = (row: Element): number =>
  elementsIn(row.children).reduce(
    (sum, cell) => sum + Math.min(Math.max(Number(cell.attributes.get('colspan') ?? 1) || 1, 1), 20),
    0,
  );

export const isOdd = (row: Node): boolean =>
  row.kind === 'element' && row.tag === 'tr' && elementsIn(row.children).length > COLUMNS_MAX;

/** True where cells stand in columns across several rows. */
export const isDataTable = (rows: readonly Node[]): boolean => {
  const flat = rowsIn(rows);
  if (flat.some((row) => elementsIn(row.children).some(({ tag }) => tag === 'th'))) return true;
  const isLooped = rows.some(
    (row) => row.kind === 'block' && rowsIn([row]).some((one) => elementsIn(one.children).length > 1),
  );
  const wide = flat.filter((row) => elementsIn(row.children).length > 1);
  const isFull = wide.every((row) => elementsIn(row.children).every(({ children }) => isTextContent(children)));
  return isFull && (isLooped || wide.length > 1);
};

export const statedWidth = (cell: Node): string | undefined => {
  if (cell.kind !== 'element') return undefined;
  const { styles, attributes } = cell;
  const per = /(?:^|\s)mj-column-per-(\d+)(?:-(\d+))?(?:\s|$)/.exec(attributes.get('class') ?? '');
  if (per !== null) return `${per[1]}${per[2] === undefined ? '' : `.${per[2]}`}%`;
  const inline = styles.get('display') === 'inline-block';
  const written =
    (inline ? styles.get('max-width') : undefined) ??
    styles.get('width') ??
    attributes.get('width') ??
    styles.get('max-width');
  const css = written === undefined || holdsMark(written) ? undefined : cssLength(written);
  return css !== undefined && /(?:px|%)$/.test(css) ? css : undefined;
};

/** Elements that stand beside each other though they are blocks: inline blocks, and floating tables. */
export const besideOf = (
  nodes: readonly Node[],
  from: number,
): Readonly<{ cells: readonly Readonly<{ cell: Element }>[]; last: number }> | undefined => {
  const cells: { cell: Element }[] = [];
  let last = from;
  for (let at = from; at < nodes.length; at += 1) {
    const node = nodes[at]!;
    if (isBlank(node)) continue;
    if (node.kind !== 'element' || !isBeside(node)) break;
    cells.push({ cell: node });
    last = at;
  }
  return cells.length > 1 && cells.length <= COLUMNS_MAX ? { cells, last } : undefined;
};

const isBeside = ({ tag, styles, attributes }: Element): boolean =>
  (tag === 'div' &&
    (styles.get('display') === 'inline-block' ||
      styles.get('float') !== undefined ||
      styles.get('display') === 'table-cell')) ||
  (tag === 'table' &&
    (/^(?:left|right)$/.test(attributes.get('align') ?? '') ||
      styles.get('display') === 'inline-block' ||
      styles.get('display') === 'inline-table'));

export const hasPicture = ({ styles, attributes }: Element): boolean =>
  /url\(/i.test(styles.get('background') ?? styles.get('background-image') ?? '') ||
  (attributes.get('background') ?? '') !== '';

export const hasFrame = ({ styles, attributes }: Element): boolean =>
  backgroundOf(styles) !== undefined || attributes.has('bgcolor') || styles.has('border');

export const hasPadding = (styles: Styles): boolean => [...styles.keys()].some((name) => name.startsWith('padding'));

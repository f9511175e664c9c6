/**
 * Decides which lines of rich text are shown: the one rule of `hideWhenEmpty: "lines"` for mails, documents and the
 * check of paths. A line is a row of a table, else what stands between the borders of blocks and `<br>`. A line is left
 * out where every value in it is blank; an element is shown where a line in it is; what shows no variable always is.
 */
import { droppedTags, NESTING_MAX, voidTags, blockTags, tableTags } from './html.js';
import { hasPlaceholder, parseTemplatedText, pathsOf, withQuoteReferences } from './fill/templated-text.js';
import type { Path } from './scope/path.js';

type HtmlText = Readonly<{ kind: 'text'; html: string }>;

/**
 * Parts that show nothing: comments, scripts and the like with all that is in them, closing tags without an opening
 * one.
 */
type HtmlOther = Readonly<{ kind: 'other'; html: string }>;
/** `close` is empty where nothing closes it but what stands around it. */
type HtmlElement = Readonly<{
  kind: 'element';
  tag: string;
  open: string;
  children: readonly HtmlNode[];
  close: string;
}>;
type HtmlNode = HtmlText | HtmlOther | HtmlElement;

/** Groups of paths: in each group at least one path has a value. */
export type When = readonly (readonly Path[])[];

/**
 * HTML that is always shown where what stands around it is; or an element (or a part of a line without an element) that
 * is shown for its values.
 */
export type OptionalHtml =
  string | Readonly<{ when: When; open: string; children: readonly OptionalHtml[]; close: string }>;

const BLOCKS: ReadonlySet<string> = new Set([...blockTags, ...tableTags, 'colgroup']);

/** Blocks that are left out with their content. Any other empty block is a gap that the author wanted. */
const AROUND: ReadonlySet<string> = new Set(['ul', 'ol', 'dl', 'table', 'thead', 'tbody', 'tfoot', 'colgroup']);
const CELLS: ReadonlySet<string> = new Set(['td', 'th']);

type Line = {
  /** Equal paths are one object. */
  readonly paths: Set<Path>;
  /** Whether something in the line is or may be visible. */
  isSeen: boolean;
  /** Whether the line is shown whatever its paths say. */
  isKept: boolean;
};
/** The lines from one border of a block to the next, and which of them is the first and the last that is seen. */
type Run = { readonly lines: Line[]; first: number; last: number };

/** A `<br>`: the run, and the place of the line that begins behind it. */
type Break = Readonly<{ run: Run; index: number }>;
type Group = ReadonlySet<Path>;
/** A node, the lines that something in it belongs to, and the line in which it stands. */
type Placed = Readonly<{
  node: HtmlNode;
  lines: ReadonlySet<Line>;
  at?: Line | undefined;
  break?: Break;
  children: readonly Placed[];
}>;

/**
 * A break depends on at most so many lines and paths beside its own line, else on its own line alone: naming all paths
 * at every break of a long text would be their product.
 */
const LINES_MAX = 100;
const PATHS_MAX = 100;

/** A line whose surrounding tags hold more paths than this is kept: each of very many lines would list all of them. */
const CARRIED_MAX = 20;

type Reader = {
  readonly pathsIn: (html: string) => readonly Path[];
  run: Run | undefined;
  /** The rows that are open, the innermost last. */
  readonly rows: Line[];
  /**
   * For each inline element that is open the paths of its tag and of those around it, and not many more than
   * `CARRIED_MAX`.
   */
  readonly carried: (readonly Path[])[];
  /** Paths of tags that hold too many. */
  readonly uncarried: Set<Path>;
};

const isBlock = (node: HtmlNode): boolean => node.kind === 'element' && BLOCKS.has(node.tag);
const newLine = (): Line => ({ paths: new Set(), isSeen: false, isKept: false });
const newRun = (): Run => ({ lines: [newLine()], first: Infinity, last: -1 });

/**
 * In: HTML as its author wrote it, and how many segments a path may have. Out: the same, with what each part of it is
 * there for.
 */
export const optionalLinesOf = (html: string, segmentsMax: number): readonly OptionalHtml[] => {
  const { placed, paths } = placedIn(html, segmentsMax);
  return written(placed, paths);
};

/** Every path that decides about a line. */
export const linePathsOf = (html: string, segmentsMax: number): readonly Path[] => [
  ...placedIn(html, segmentsMax).paths,
];

/** `paths`: all that decide about a line. */
const placedIn = (html: string, segmentsMax: number): Readonly<{ placed: readonly Placed[]; paths: Group }> => {
  const known = new Map<string, Path>();
  const oneOf = (path: Path): Path => {
    const key = JSON.stringify(path);
    if (!known.has(key)) known.set(key, path);
    return known.get(key) ?? path;
  };
  const pathsIn = (text: string): readonly Path[] =>
    hasPlaceholder(text) ? pathsOf(parseTemplatedText(text, segmentsMax).parts).map(oneOf) : [];
  const uncarried = new Set<Path>();
  const placed = placeAll(htmlTreeOf(withQuoteReferences(html)), {
    pathsIn,
    run: undefined,
    rows: [],
    carried: [],
    uncarried,
  });
  return { placed, paths: new Set([...[...linesOf(placed)].flatMap(({ paths }) => [...paths]), ...uncarried]) };
};

const linesOf = (placed: readonly Placed[]): ReadonlySet<Line> => new Set(placed.flatMap(({ lines }) => [...lines]));

const placeAll = (nodes: readonly HtmlNode[], reader: Reader): readonly Placed[] =>
  nodes.map((node) => place(node, reader));

const place = (node: HtmlNode, reader: Reader): Placed => {
  if (node.kind === 'element' && BLOCKS.has(node.tag)) return placeBlock(node, reader);
  const nothing = { node, lines: new Set<Line>(), children: [] };
  if (node.kind === 'other') return { ...nothing, at: lineAt(reader) };
  if (node.kind === 'text')
    return SEEN.test(node.html) ? placeSeen(node, node.html, reader) : { ...nothing, at: lineAt(reader) };
  if (node.tag === 'img') return placeSeen(node, node.open, reader);
  if (node.tag === 'br') {
    if (reader.rows.length > 0) return nothing;
    reader.run ??= newRun();
    const index = reader.run.lines.push(newLine()) - 1;
    return { ...nothing, break: { run: reader.run, index } };
  }
  const own = reader.pathsIn(node.open);
  const carried = [...new Set([...(reader.carried.at(-1) ?? []), ...own])];
  if (carried.length > CARRIED_MAX) for (const path of own) reader.uncarried.add(path);
  reader.carried.push(carried.slice(0, CARRIED_MAX + 1));
  const children = placeAll(node.children, reader);
  reader.carried.pop();
  return { node, lines: linesOf(children), at: lineAt(reader), children };
};

const SEEN = /[^ \t\n\f\r]/;
const lineAt = ({ rows, run }: Reader): Line | undefined => rows.at(-1) ?? run?.lines.at(-1);

/** Adds something visible to its line, or to each row around it. */
const placeSeen = (node: HtmlNode, html: string, reader: Reader): Placed => {
  const { rows } = reader;
  if (rows.length === 0) {
    const run = (reader.run ??= newRun());
    run.last = run.lines.length - 1;
    run.first = Math.min(run.first, run.last);
  }
  const carried = reader.carried.at(-1) ?? [];
  const isKept = carried.length > CARRIED_MAX;
  const paths = isKept ? reader.pathsIn(html) : [...reader.pathsIn(html), ...carried];
  const line = lineAt(reader);
  for (const one of rows.length > 0 ? rows : line === undefined ? [] : [line]) {
    for (const path of paths) one.paths.add(path);
    one.isKept ||= isKept;
  }
  if (line !== undefined) line.isSeen = true;
  return { node, lines: new Set(line === undefined ? [] : [line]), at: line, children: [] };
};

const placeBlock = (node: HtmlElement, reader: Reader): Placed => {
  const { tag } = node;
  const { rows } = reader;
  const line = newLine();
  reader.run = undefined;
  if (tag === 'tr') {
    rows.push(line);
    line.isSeen = true;
  }
  // The tag of a cell is within its row.
  if (CELLS.has(tag)) for (const path of reader.pathsIn(node.open)) for (const row of rows) row.paths.add(path);
  const children = placeAll(node.children, reader);
  if (tag === 'tr') rows.pop();
  reader.run = undefined;
  const isGap = rows.length === 0 && !AROUND.has(tag) && linesOf(children).size === 0;
  if (isGap) line.isSeen = true;
  const lines = tag === 'tr' || isGap ? new Set([line]) : linesOf(children);
  return { node, lines, children };
};

/**
 * Paths of which at least one must have a value for one of the lines to be shown; undefined where one of them is always
 * shown, where there is no path, or where there are too many.
 */
const groupOf = (lines: Iterable<Line>, pathsMax = Infinity): Group | undefined => {
  const paths = new Set<Path>();
  for (const line of lines) {
    if (line.isKept || (line.isSeen && line.paths.size === 0)) return undefined;
    for (const path of line.paths) paths.add(path);
    if (paths.size > pathsMax) return undefined;
  }
  return paths.size === 0 ? undefined : paths;
};

const isSame = (one: Group, other: Group): boolean =>
  one.size === other.size && [...one].every((path) => other.has(path));

/** The groups that say more than that what stands around is there. */
const whenOf = (groups: readonly (Group | undefined)[], around: Group): readonly Group[] => {
  const told = [around];
  for (const group of groups) if (group !== undefined && !told.some((one) => isSame(one, group))) told.push(group);
  return told.slice(1);
};

const listed = (groups: readonly Group[]): When => groups.map((group) => [...group]);

/** `around` is what is known to have a value. */
const written = (placed: readonly Placed[], around: Group): readonly OptionalHtml[] => {
  const out: OptionalHtml[] = [];
  let line: Placed[] = [];
  const flush = (): void => {
    const found = linesOf(line);
    const when = listed(whenOf([groupOf(found)], around));
    add(out, { when, open: '', close: '', children: [line.map(({ node }) => sourceOf(node)).join('')] });
    line = [];
  };
  const [first, last] = [placed.findIndex(isText), placed.findLastIndex(isText)];
  for (const [index, one] of placed.entries()) {
    const { node, lines, at } = one;
    if (at !== undefined && isWithin(one, at)) {
      if (line[0] !== undefined && line[0].at !== at) flush();
      line.push(one);
      continue;
    }
    flush();
    if (node.kind !== 'element') {
      add(out, sourceOf(node));
      continue;
    }
    const groups =
      one.break === undefined ? [CELLS.has(node.tag) ? undefined : groupOf(lines)] : groupsOfBreak(one.break);
    const when = whenOf(groups, around);
    const children = written(one.children, when[0] ?? around);
    add(out, { when: listed(when), open: node.open, children, close: node.close });
    if (when.length > 0 && first < index && index < last && holdsBlock(one)) add(out, BORDER);
  }
  flush();
  return out;
};

/** Stands behind a block between two texts, which would become one line without it. */
const BORDER = '<div></div>';
const holdsBlock = ({ node, children }: Placed): boolean => isBlock(node) || children.some(holdsBlock);
const isText = ({ node, at, lines }: Placed): boolean => at !== undefined && lines.size > 0 && !isBlock(node);

/** True where all of a node stands in the line, and no border of a block and no break is in it. */
const isWithin = ({ node, at, lines, children }: Placed, line: Line): boolean =>
  at === line &&
  !isBlock(node) &&
  [...lines].every((one) => one === line) &&
  children.every((child) => isWithin(child, line));

/**
 * A break is there where its line is and one before it; one of an empty line that the author wrote, where something is
 * before and behind.
 */
const groupsOfBreak = ({ run: { lines, first, last }, index }: Break): readonly (Group | undefined)[] => {
  const groupOfSome = (from: number, to: number): Group | undefined =>
    to - from > LINES_MAX ? undefined : groupOf(lines.slice(from, to), PATHS_MAX);
  if (index <= first || index > last) return [groupOfSome(first, last + 1)];
  const line = lines[index];
  const before = groupOfSome(first, index);
  return [line?.isSeen === true ? groupOf([line]) : groupOfSome(index, last + 1), before];
};

const sourceOf = (node: HtmlNode): string =>
  node.kind === 'element' ? node.open + node.children.map(sourceOf).join('') + node.close : node.html;

/** Literal neighbours become one. */
const add = (out: OptionalHtml[], piece: OptionalHtml): void => {
  if (typeof piece !== 'string' && piece.when.length > 0) {
    out.push(piece);
    return;
  }
  for (const part of typeof piece === 'string' ? [piece] : [piece.open, ...piece.children, piece.close]) {
    const last = out.at(-1);
    if (typeof part !== 'string') out.push(part);
    else if (typeof last === 'string') out[out.length - 1] = last + part;
    else if (part !== '') out.push(part);
  }
};

const VOID: ReadonlySet<string> = new Set(voidTags);
const DROPPED: ReadonlySet<string> = new Set(droppedTags);

const P: ReadonlySet<string> = new Set(['p']);
const DESCRIPTION: ReadonlySet<string> = new Set(['dt', 'dd']);
const SECTION: ReadonlySet<string> = new Set(['thead', 'tbody']);

/** Open elements that end where another element begins, as in HTML parsers. */
const ENDS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ...[
    'p',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'address',
    'blockquote',
    'div',
    'dl',
    'hr',
    'ol',
    'pre',
    'table',
    'ul',
  ].map((tag) => [tag, P] as const),
  ...['article', 'aside', 'figcaption', 'figure', 'footer', 'form', 'header', 'main', 'nav', 'section'].map(
    (tag) => [tag, P] as const,
  ),
  ['li', new Set(['li'])],
  ['dt', DESCRIPTION],
  ['dd', DESCRIPTION],
  ['tr', new Set(['tr', 'th', 'td'])],
  ['th', new Set(['th'])],
  ['td', new Set(['thead', 'th', 'td'])],
  ['tbody', SECTION],
  ['tfoot', SECTION],
]);

type Open = { readonly tag: string; readonly open: string; readonly children: HtmlNode[] };

/**
 * In: HTML as its author wrote it. Out: its nodes in order, each with the text that begins and ends it; put together
 * again they are the same HTML. Linear in its length.
 */
const htmlTreeOf = (html: string): readonly HtmlNode[] => {
  const top: HtmlNode[] = [];
  const stack: Open[] = [];
  let tooDeep = 0;
  let from = 0;
  const add = (node: HtmlNode): void => void (stack.at(-1)?.children ?? top).push(node);
  const text = (to: number): void => {
    if (to > from) add({ kind: 'text', html: html.slice(from, to) });
    from = to;
  };
  const end = (close: string): void => {
    const closed = stack.pop();
    if (closed !== undefined) add({ kind: 'element', ...closed, close });
  };
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', Math.max(from, at + 1))) {
    const found = markupAt(html, at);
    if (found === 'none') continue;
    if (found === 'endless') break;
    text(at);
    from = found.end;
    const source = html.slice(at, from);
    const { kind, tag } = found;
    if (kind === 'open') {
      const ends = ENDS.get(tag);
      while (ends?.has(stack.at(-1)?.tag ?? '') === true) end('');
      if (VOID.has(tag)) add({ kind: 'element', tag, open: source, children: [], close: '' });
      else if (stack.length >= NESTING_MAX) {
        tooDeep += 1;
        add({ kind: 'other', html: source });
      } else stack.push({ tag, open: source, children: [] });
    } else if (kind === 'close' && tooDeep > 0) {
      tooDeep -= 1;
      add({ kind: 'other', html: source });
    } else if (kind === 'close' && stack.some((open) => open.tag === tag)) {
      while (stack.at(-1)?.tag !== tag) end('');
      end(source);
    } else add({ kind: 'other', html: source });
  }
  text(html.length);
  while (stack.length > 0) end('');
  return top;
};

type Markup = Readonly<{ kind: 'open' | 'close' | 'other'; tag: string; end: number }>;

/** `endless`: from here on there is no tag any more, for one never ends. */
const markupAt = (html: string, at: number): Markup | 'none' | 'endless' => {
  if (html.startsWith('<!--', at)) return otherUntil(html, '-->', at + 4);
  const [start, slash = '', name = ''] = nameAt(html, at) ?? [];
  if (start === undefined) return /[!?/]/.test(html.charAt(at + 1)) ? otherUntil(html, '>', at + 1) : 'none';
  const end = tagEnd(html, at + start.length);
  if (end < 0) return 'endless';
  const tag = name.toLowerCase();
  if (slash !== '') return { kind: 'close', tag, end };
  if (!DROPPED.has(tag)) return { kind: 'open', tag, end };
  const closing = new RegExp(`</${tag}\\b`, 'gi');
  closing.lastIndex = end;
  return closing.test(html) ? otherUntil(html, '>', closing.lastIndex) : { kind: 'other', tag, end: html.length };
};

const NAME = /<(\/?)([A-Za-z][^\s/>]*)/y;
const nameAt = (html: string, at: number): RegExpExecArray | null => {
  NAME.lastIndex = at;
  return NAME.exec(html);
};

const otherUntil = (html: string, mark: string, from: number): Markup => {
  const found = html.indexOf(mark, from);
  return { kind: 'other', tag: '', end: found < 0 ? html.length : found + mark.length };
};

const SPECIAL = /[>=]/g;
const VALUE = /\s*(?:(["'])|[^\s>"'][^\s>]*)?/y;

/** The place behind the `>` that ends a tag: the first that stands in no quoted value. */
const tagEnd = (html: string, from: number): number => {
  let at = from;
  for (;;) {
    SPECIAL.lastIndex = at;
    const found = SPECIAL.exec(html);
    if (found === null) return -1;
    if (found[0] === '>') return SPECIAL.lastIndex;
    VALUE.lastIndex = SPECIAL.lastIndex;
    const quote = VALUE.exec(html)?.[1];
    at = VALUE.lastIndex;
    if (quote === undefined) continue;
    at = html.indexOf(quote, at) + 1;
    if (at === 0) return -1;
  }
};

/**
 * Which lines of rich text are there: the one rule of `hideWhenEmpty: "lines"` for mails, documents and the check of paths.
 * A line is a row of a table, else what stands between the borders of blocks and `<br>`. It is left out where every value in it is
 * blank; an element is there where a line in it is; what shows no variable always is.
 */
import { hasPlaceholder, parseTemplatedText, pathsOf } from '../fill/templated-text.js';
import type { Path } from '../scope/path.js';
import { blockTags } from './tags.js';
import { htmlTreeOf, type HtmlElement, type HtmlNode } from './tree.js';

/** Of each group one path has a value. */
export type When = readonly (readonly Path[])[];

/** HTML that is there where what stands around it is; or an element, or a part of a line without an element, that is there for its values. */
export type OptionalHtml = string | Readonly<{ when: When; open: string; children: readonly OptionalHtml[]; close: string }>;

const TABLE_TAGS = ['table', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td', 'caption', 'colgroup'];
const BLOCKS: ReadonlySet<string> = new Set([...blockTags, ...TABLE_TAGS]);
/** Blocks that are nothing without what they hold. Of the others an empty one is a gap that the author wanted. */
const AROUND: ReadonlySet<string> = new Set(['ul', 'ol', 'dl', 'table', 'thead', 'tbody', 'tfoot', 'colgroup']);
const CELLS: ReadonlySet<string> = new Set(['td', 'th']);

type Line = { readonly paths: Path[]; /** Whether something in it can be seen, or could be. */ isSeen: boolean };
/** The lines from one border of a block to the next, and which of them is the first and the last that is seen. */
type Run = { readonly lines: Line[]; first: number; last: number };
/** Where a `<br>` stands: the place of the line that it begins. */
type Break = Readonly<{ run: Run; index: number }>;
/** A node, the lines that something in it belongs to, and the line in which it stands. */
type Placed = Readonly<{ node: HtmlNode; lines: ReadonlySet<Line>; at?: Line | undefined; break?: Break; children: readonly Placed[] }>;

/** A break goes by so many lines and paths beside its own line, else by that alone: every break of a long text naming all of its paths would be their product. */
const LINES_MAX = 100;
const PATHS_MAX = 100;

type Reader = {
  readonly pathsIn: (html: string) => readonly Path[];
  run: Run | undefined;
  /** The rows that are open, the innermost last. */
  readonly rows: Line[];
  /** Paths of the tags of inline elements that are open. */
  readonly carried: (readonly Path[])[];
};

const isBlock = (node: HtmlNode): boolean => node.kind === 'element' && BLOCKS.has(node.tag);
const newLine = (): Line => ({ paths: [], isSeen: false });
const newRun = (): Run => ({ lines: [newLine()], first: Infinity, last: -1 });

/** In: HTML as its author wrote it, and how many segments a path may have. Out: the same, with what each part of it is there for. */
export const optionalLinesOf = (html: string, segmentsMax: number): readonly OptionalHtml[] => {
  const placed = placedIn(html, segmentsMax);
  return written(placed, keyOf(pathsOfLines(placed)));
};

/** Every path that decides about a line. */
export const linePathsOf = (html: string, segmentsMax: number): readonly Path[] => pathsOfLines(placedIn(html, segmentsMax));

const placedIn = (html: string, segmentsMax: number): readonly Placed[] => {
  const pathsIn = (text: string): readonly Path[] => (hasPlaceholder(text) ? pathsOf(parseTemplatedText(text, segmentsMax).parts) : []);
  return placeAll(htmlTreeOf(html), { pathsIn, run: undefined, rows: [], carried: [] });
};

const pathsOfLines = (placed: readonly Placed[]): readonly Path[] => [...linesOf(placed)].flatMap(({ paths }) => paths);

const linesOf = (placed: readonly Placed[]): ReadonlySet<Line> => new Set(placed.flatMap(({ lines }) => [...lines]));

const placeAll = (nodes: readonly HtmlNode[], reader: Reader): readonly Placed[] => nodes.map((node) => place(node, reader));

const place = (node: HtmlNode, reader: Reader): Placed => {
  if (node.kind === 'element' && BLOCKS.has(node.tag)) return placeBlock(node, reader);
  const nothing = { node, lines: new Set<Line>(), children: [] };
  if (node.kind === 'other') return { ...nothing, at: lineAt(reader) };
  if (node.kind === 'text') return SEEN.test(node.html) ? placeSeen(node, node.html, reader) : { ...nothing, at: lineAt(reader) };
  if (node.tag === 'img') return placeSeen(node, node.open, reader);
  if (node.tag === 'br') {
    if (reader.rows.length > 0) return nothing;
    reader.run ??= newRun();
    const index = reader.run.lines.push(newLine()) - 1;
    return { ...nothing, break: { run: reader.run, index } };
  }
  reader.carried.push(reader.pathsIn(node.open));
  const children = placeAll(node.children, reader);
  reader.carried.pop();
  return { node, lines: linesOf(children), at: lineAt(reader), children };
};

const SEEN = /[^ \t\n\f\r]/;
const lineAt = ({ rows, run }: Reader): Line | undefined => rows.at(-1) ?? run?.lines.at(-1);

/** What can be seen belongs to its line, or to each row around it. */
const placeSeen = (node: HtmlNode, html: string, reader: Reader): Placed => {
  const { rows } = reader;
  if (rows.length === 0) {
    const run = (reader.run ??= newRun());
    run.last = run.lines.length - 1;
    run.first = Math.min(run.first, run.last);
  }
  const paths = [...reader.pathsIn(html), ...reader.carried.flat()];
  const line = lineAt(reader);
  for (const one of rows.length > 0 ? rows : [line]) one?.paths.push(...paths);
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
  if (CELLS.has(tag)) for (const row of rows) row.paths.push(...reader.pathsIn(node.open));
  const children = placeAll(node.children, reader);
  if (tag === 'tr') rows.pop();
  reader.run = undefined;
  const isGap = rows.length === 0 && !AROUND.has(tag) && linesOf(children).size === 0;
  if (isGap) line.isSeen = true;
  const lines = tag === 'tr' || isGap ? new Set([line]) : linesOf(children);
  return { node, lines, children };
};

/** What one of the lines has a value for; undefined where one of them is always there, where none is meant, or where there are too many paths. */
const groupOf = (lines: Iterable<Line>, pathsMax = Infinity): readonly Path[] | undefined => {
  const paths: Path[] = [];
  for (const line of lines) {
    if (line.isSeen && line.paths.length === 0) return undefined;
    if (paths.length + line.paths.length > pathsMax) return undefined;
    paths.push(...line.paths);
  }
  return paths.length === 0 ? undefined : paths;
};

const keyOf = (paths: readonly Path[]): string => [...new Set(paths.map((path) => JSON.stringify(path)))].toSorted().join(' ');

/** The groups that say more than that what stands around is there. */
const whenOf = (groups: readonly (readonly Path[] | undefined)[], around: string): When => {
  const keys = new Set([around]);
  return groups.flatMap((group) => {
    if (group === undefined) return [];
    const key = keyOf(group);
    if (keys.has(key)) return [];
    keys.add(key);
    return [group];
  });
};

/** `around` is the key of what is known to have a value. */
const written = (placed: readonly Placed[], around: string): readonly OptionalHtml[] => {
  const out: OptionalHtml[] = [];
  let line: Placed[] = [];
  const flush = (): void => {
    const found = linesOf(line);
    const when = whenOf([groupOf(found)], around);
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
    const groups = one.break === undefined ? [CELLS.has(node.tag) ? undefined : groupOf(lines)] : groupsOfBreak(one.break);
    const when = whenOf(groups, around);
    const children = written(one.children, when[0] === undefined ? around : keyOf(when[0]));
    add(out, { when, open: node.open, children, close: node.close });
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
  at === line && !isBlock(node) && [...lines].every((one) => one === line) && children.every((child) => isWithin(child, line));

/** A break is there where its line is and one before it; one of an empty line that the author wrote, where something is before and behind. */
const groupsOfBreak = ({ run: { lines, first, last }, index }: Break): readonly (readonly Path[] | undefined)[] => {
  const groupOfSome = (from: number, to: number): readonly Path[] | undefined =>
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

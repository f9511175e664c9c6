/** Takes HTML apart into lines, so that one whose values are all blank can be left out: a paragraph, a heading, an item of a list, a row, what stands between two `<br>`. */

/** `fixed`: always there. A block is there where one of its lines is; between its lines that are there stands a `<br>`. */
export type LinePiece =
  Readonly<{ kind: 'fixed'; html: string }> | Readonly<{ kind: 'block'; open: string; lines: readonly string[]; close: string }>;

/** Blocks that are lines, or hold lines. A row is one line, whatever its cells hold. */
const BLOCKS = 'p|h[1-6]|li|dt|dd|div|blockquote|tr';
const START = `<(/?)(${BLOCKS}|br)\\b`;
const REST = /(?:[^>"']|"[^"]*"|'[^']*')*>/y;

type Tag = Readonly<{ at: number; end: number; isClosing: boolean; name: string }>;

/** Looks over the text once: behind a tag that never ends there is none. */
function* tagsIn(html: string): Iterable<Tag> {
  const start = new RegExp(START, 'gi');
  for (let found = start.exec(html); found !== null; found = start.exec(html)) {
    REST.lastIndex = start.lastIndex;
    if (!REST.test(html)) return;
    const [, slash, name = ''] = found;
    yield { at: found.index, end: REST.lastIndex, isClosing: slash !== '', name: name.toLowerCase() };
    start.lastIndex = REST.lastIndex;
  }
}

type Open = { tag: string; open: string; at: number; isInnermost: boolean };

/** In: HTML as its author wrote it. Out: its pieces in order; put together they are the same HTML. */
export const linePiecesOf = (html: string): readonly LinePiece[] => {
  const pieces: LinePiece[] = [];
  const open: Open[] = [];
  let from = 0;
  let rowDepth = 0;
  const fixed = (to: number): void => {
    if (to > from) pieces.push({ kind: 'fixed', html: html.slice(from, to) });
    from = to;
  };
  for (const { at, end, isClosing, name: tag } of tagsIn(html)) {
    if (tag === 'br' || (rowDepth > 0 && tag !== 'tr')) continue;
    if (!isClosing) {
      const outer = open.at(-1);
      if (outer !== undefined) outer.isInnermost = false;
      open.push({ tag, open: html.slice(at, end), at, isInnermost: true });
      if (tag === 'tr') rowDepth += 1;
      continue;
    }
    const place = open.findLastIndex((one) => one.tag === tag);
    if (place < 0) continue;
    const [block] = open.splice(place);
    if (tag === 'tr') rowDepth -= 1;
    if (block === undefined || !block.isInnermost || block.at < from) continue;
    fixed(block.at);
    const inner = html.slice(block.at + block.open.length, at);
    pieces.push({ kind: 'block', open: block.open, lines: tag === 'tr' ? [inner] : linesIn(inner), close: html.slice(at, end) });
    from = end;
  }
  fixed(html.length);
  // Text without any block is lines by itself.
  const [only] = pieces;
  if (pieces.length === 1 && only?.kind === 'fixed') return [{ kind: 'block', open: '', lines: linesIn(only.html), close: '' }];
  return pieces;
};

const linesIn = (html: string): readonly string[] => html.split(/<br\b[^>]*>/i);

/** Lists and tables that have lost all that was in them. */
const HOLLOW = /<(ul|ol|dl|table|tbody|thead)\b[^>]*>\s*<\/\1>/gi;

/** HTML without lists and tables that hold nothing, which would leave a gap. */
export const withoutHollow = (html: string): string => {
  let [before, after] = ['', html];
  while (after !== before) [before, after] = [after, after.replace(HOLLOW, '')];
  return after;
};

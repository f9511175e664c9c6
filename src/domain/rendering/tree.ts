/** The HTML of an author as a tree of its own text: what each element begins and ends with, as it is written. Put together again it is the same HTML. */
import { droppedTags, NESTING_MAX, voidTags } from './html-tags.js';

export type HtmlText = Readonly<{ kind: 'text'; html: string }>;
/** What shows nothing: comments, scripts and the like with all that is in them, closing tags of nothing. */
export type HtmlOther = Readonly<{ kind: 'other'; html: string }>;
/** `close` is empty where nothing closes it but what stands around it. */
export type HtmlElement = Readonly<{ kind: 'element'; tag: string; open: string; children: readonly HtmlNode[]; close: string }>;
export type HtmlNode = HtmlText | HtmlOther | HtmlElement;

const VOID: ReadonlySet<string> = new Set(voidTags);
const DROPPED: ReadonlySet<string> = new Set(droppedTags);

const P: ReadonlySet<string> = new Set(['p']);
const DESCRIPTION: ReadonlySet<string> = new Set(['dt', 'dd']);
const SECTION: ReadonlySet<string> = new Set(['thead', 'tbody']);
/** Which open elements end where another begins, as readers of HTML have it. */
const ENDS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ...['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'address', 'blockquote', 'div', 'dl', 'hr', 'ol', 'pre', 'table', 'ul'].map(
    (tag) => [tag, P] as const,
  ),
  ...['article', 'aside', 'figcaption', 'figure', 'footer', 'form', 'header', 'main', 'nav', 'section'].map((tag) => [tag, P] as const),
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

/** In: HTML as its author wrote it. Out: its nodes in order. Linear in its length. */
export const htmlTreeOf = (html: string): readonly HtmlNode[] => {
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

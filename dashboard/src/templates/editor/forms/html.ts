/**
 * Rich text of a template as a document of the editor, and back. HTML that the document could not give back unchanged
 * has none: it is edited as source.
 */

export type Attributes = readonly (readonly [name: string, value: string | null])[];
type Text = { text: string };
type Element = Readonly<{ tag: string; attributes: Attributes; children: Node[] }>;
type Node = Text | Element;

export type DocMark = Readonly<{ type: string; attrs: Readonly<{ tag: string; attributes: Attributes }> }>;
export type DocNode = Readonly<{
  type: string;
  attrs?: Readonly<Record<string, unknown>>;
  content?: readonly DocNode[];
  marks?: readonly DocMark[];
  text?: string;
}>;

/**
 * Marks of the editor by element, from the outermost to the innermost: an order of its own cannot be kept by a mark.
 */
export const marksByTag: Readonly<Record<string, string>> = {
  a: 'link',
  span: 'span',
  b: 'bold',
  strong: 'bold',
  i: 'italic',
  em: 'italic',
  u: 'underline',
  ins: 'underline',
  s: 'strike',
  strike: 'strike',
  del: 'strike',
  code: 'code',
  kbd: 'code',
  var: 'code',
  mark: 'highlight',
  small: 'small',
  sub: 'script',
  sup: 'script',
  abbr: 'other',
  bdi: 'other',
  bdo: 'other',
  q: 'other',
};
const ranks: readonly string[] = [...new Set(Object.values(marksByTag))];

/** Elements that a paragraph of the editor may be, beside `p`. */
export const paragraphTags: readonly string[] = ['p', 'div', 'address', 'center'];
const voidTags: ReadonlySet<string> = new Set(['br', 'hr', 'img', 'wbr']);
const headings: ReadonlySet<string> = new Set(['h1', 'h2', 'h3', 'h4', 'h5', 'h6']);

/** The elements that the editor holds; all others are edited as source. */
export const heldTags: readonly string[] = [
  ...Object.keys(marksByTag),
  ...paragraphTags,
  ...headings,
  ...voidTags,
  'ul',
  'ol',
  'li',
  'blockquote',
];

/** Named references of HTML that texts use; a text with another one is edited as source. */
const references: Readonly<Record<string, string>> = {
  ...{
    amp: '&',
    lt: '<',
    gt: '>',
    quot: '"',
    apos: "'",
    nbsp: '\u00a0',
    shy: '\u00ad',
    ensp: '\u2002',
    emsp: '\u2003',
  },
  ...{ thinsp: '\u2009', zwnj: '\u200c', zwj: '\u200d', lrm: '\u200e', rlm: '\u200f', copy: '©', reg: '®', trade: '™' },
  ...{ hellip: '…', ndash: '–', mdash: '—', lsquo: '‘', rsquo: '’', sbquo: '‚', ldquo: '“', rdquo: '”', bdquo: '„' },
  ...{ laquo: '«', raquo: '»', lsaquo: '‹', rsaquo: '›', euro: '€', pound: '£', yen: '¥', cent: '¢', times: '×' },
  ...{ middot: '·', bull: '•', deg: '°', plusmn: '±', frac12: '½', larr: '←', rarr: '→', uarr: '↑', darr: '↓' },
  ...{ auml: 'ä', ouml: 'ö', uuml: 'ü', Auml: 'Ä', Ouml: 'Ö', Uuml: 'Ü', szlig: 'ß', eacute: 'é', egrave: 'è' },
  ...{ agrave: 'à', ccedil: 'ç', ntilde: 'ñ', sect: '§', para: '¶', check: '✓', star: '☆', hearts: '♥' },
};

class NotHeld extends Error {}

const refuse = (why: string): never => {
  throw new NotHeld(why);
};

const decoded = (text: string): string =>
  text.replace(
    /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z][a-zA-Z0-9]*))(;?)/g,
    (whole, decimal?: string, hex?: string, name?: string, end?: string) => {
      if (name !== undefined) {
        if (end !== ';') return refuse(`reference ${whole}`);
        return Object.hasOwn(references, name) ? (references[name] ?? '') : refuse(`reference ${whole}`);
      }
      const code = decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal);
      // Browsers read 128 to 159 as letters of another alphabet.
      if (
        end !== ';' ||
        code === 0 ||
        code > 0x10ffff ||
        (code >= 0x80 && code < 0xa0) ||
        (code >= 0xd800 && code < 0xe000)
      )
        return refuse(`reference ${whole}`);
      return String.fromCodePoint(code);
    },
  );

const TAG = /<(\/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s+[^\s"'<>/=]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?)*)\s*(\/?)>/y;
const ATTRIBUTE = /\s+([^\s"'<>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/g;

const attributesIn = (text: string): Attributes =>
  [...text.matchAll(ATTRIBUTE)].map(([, name = '', double, single, bare]) => [
    name.toLowerCase(),
    double ?? single?.replaceAll('"', '&quot;') ?? bare ?? null,
  ]);

const DEPTH_MAX = 50;

/** Throws NotHeld for what a browser would have to mend. */
const treeOf = (html: string): Node[] => {
  const root: Element = { tag: '', attributes: [], children: [] };
  const open: Element[] = [root];
  let at = 0;
  while (at < html.length) {
    const end = html.indexOf('<', at);
    const text = html.slice(at, end < 0 ? html.length : end);
    if (text !== '') open.at(-1)!.children.push({ text: decoded(text) });
    if (end < 0) break;
    TAG.lastIndex = end;
    const [whole, slash, name = '', attributes = '', selfClosed] =
      TAG.exec(html) ?? refuse('markup that is no element');
    const tag = name.toLowerCase();
    if (!heldTags.includes(tag)) refuse(`<${tag}>`);
    if (slash === '/') {
      if (open.length === 1 || open.at(-1)!.tag !== tag || attributes !== '') refuse(`</${tag}>`);
      open.pop();
    } else {
      const kept = attributesIn(attributes);
      if (new Set(kept.map(([attribute]) => attribute)).size < kept.length) refuse('an attribute twice');
      if (kept.some(([attribute, value]) => attribute === 'style' && /white-space/i.test(value ?? '')))
        refuse('lines of its own');
      const element: Element = { tag, attributes: kept, children: [] };
      open.at(-1)!.children.push(element);
      if (!voidTags.has(tag)) {
        if (selfClosed === '/') refuse(`<${tag}/>`);
        open.push(element);
        if (open.length > DEPTH_MAX) refuse('elements too deep');
      }
    }
    at = end + whole.length;
  }
  if (open.length > 1) refuse(`<${open.at(-1)!.tag}> that does not end`);
  collapse(root.children);
  return root.children;
};

const isText = (node: Node): node is Text => 'text' in node;
const isInline = (node: Node): boolean =>
  isText(node) || Object.hasOwn(marksByTag, node.tag) || ['br', 'img', 'wbr'].includes(node.tag);

/** White space as a browser shows it: one blank for each run, none at the borders of lines. */
const collapse = (nodes: Node[]): void => {
  let last: Text | undefined;
  let isAfterBlank = true;
  const endLine = (): void => {
    if (last !== undefined) last.text = last.text.replace(/ $/, '');
    last = undefined;
    isAfterBlank = true;
  };
  const walk = (children: Node[]): void => {
    for (const node of children) {
      if (isText(node)) {
        node.text = node.text.replace(/[ \t\r\n\f]+/g, ' ');
        if (isAfterBlank) node.text = node.text.replace(/^ /, '');
        if (node.text !== '') {
          last = node;
          isAfterBlank = node.text.endsWith(' ');
        }
        continue;
      }
      const isLineEnd = node.tag === 'br' || !isInline(node);
      if (isLineEnd) endLine();
      walk(node.children);
      if (isLineEnd) endLine();
      else if (node.tag === 'img' || node.tag === 'wbr') {
        last = undefined;
        isAfterBlank = false;
      }
    }
    for (let at = children.length - 1; at >= 0; at -= 1) {
      const node = children[at]!;
      if (isText(node) && node.text === '') children.splice(at, 1);
    }
  };
  walk(nodes);
  endLine();
  dropEmpty(nodes);
};

const dropEmpty = (nodes: Node[]): void => {
  for (let at = nodes.length - 1; at >= 0; at -= 1) {
    const node = nodes[at]!;
    if (!isText(node)) dropEmpty(node.children);
    else if (node.text === '') nodes.splice(at, 1);
  }
};

const PLACEHOLDER = /\{\{[^{}]*\}\}/g;

/** A text as texts and variables of the editor. */
const textNodes = (text: string, marks: readonly DocMark[]): readonly DocNode[] => {
  const kept = marks.length === 0 ? {} : { marks };
  const nodes: DocNode[] = [];
  let at = 0;
  for (const { 0: whole, index } of text.matchAll(PLACEHOLDER)) {
    if (index > at) nodes.push({ type: 'text', text: text.slice(at, index), ...kept });
    nodes.push({ type: 'variable', attrs: { source: whole.slice(2, -2) }, ...kept });
    at = index + whole.length;
  }
  if (at < text.length) nodes.push({ type: 'text', text: text.slice(at), ...kept });
  return nodes;
};

const markOf = ({ tag, attributes }: Element): DocMark => ({
  type: marksByTag[tag] ?? refuse(`<${tag}>`),
  attrs: { tag, attributes },
});

const byRank = (marks: readonly DocMark[]): readonly DocMark[] =>
  marks.toSorted((a, b) => ranks.indexOf(a.type) - ranks.indexOf(b.type));

const inlineOf = (nodes: readonly Node[], marks: readonly DocMark[]): readonly DocNode[] =>
  nodes.flatMap((node): readonly DocNode[] => {
    if (isText(node)) return textNodes(node.text, marks);
    const kept = marks.length === 0 ? {} : { marks };
    if (node.tag === 'br') return [{ type: 'hardBreak', attrs: { attributes: node.attributes }, ...kept }];
    if (node.tag === 'img' || node.tag === 'wbr')
      return [{ type: 'piece', attrs: { tag: node.tag, attributes: node.attributes }, ...kept }];
    const mark = markOf(node);
    if (marks.some(({ type }) => type === mark.type)) refuse(`<${node.tag}> in another one`);
    return inlineOf(node.children, byRank([...marks, mark]));
  });

type Around = 'doc' | 'item';

const blocksOf = (nodes: readonly Node[], around: Around): readonly DocNode[] => {
  const groups: (Element | Node[])[] = [];
  for (const node of nodes) {
    const last = groups.at(-1);
    if (!isInline(node)) groups.push(node as Element);
    else if (Array.isArray(last)) last.push(node);
    else groups.push([node]);
  }
  const isOnlyLine = groups.filter((group) => Array.isArray(group) || paragraphTags.includes(group.tag)).length === 1;
  return groups.map((group) => {
    if (Array.isArray(group))
      return {
        type: 'paragraph',
        attrs: { tag: around === 'item' && isOnlyLine ? null : '', attributes: [] },
        content: inlineOf(group, []),
      };
    return blockOf(group, around, nodes.length === 1);
  });
};

const blockOf = (element: Element, around: Around, isAlone: boolean): DocNode => {
  const { tag, attributes, children } = element;
  const line = (): { content?: readonly DocNode[] } => {
    if (!children.every(isInline)) refuse(`blocks in <${tag}>`);
    return children.length === 0 ? {} : { content: inlineOf(children, []) };
  };
  if (paragraphTags.includes(tag)) {
    // A document without text and one of an empty paragraph are not the same.
    const isUsual = tag === 'p' && around === 'doc' && !(isAlone && children.length === 0);
    return { type: 'paragraph', attrs: { tag: isUsual ? null : tag, attributes }, ...line() };
  }
  if (headings.has(tag)) return { type: 'heading', attrs: { level: Number(tag[1]), attributes }, ...line() };
  if (tag === 'hr') return { type: 'horizontalRule', attrs: { attributes } };
  if (tag === 'blockquote') {
    if (children.length === 0) refuse('an empty quotation');
    return { type: 'blockquote', attrs: { attributes }, content: blocksOf(children, 'doc') };
  }
  if (tag === 'ul' || tag === 'ol') {
    const content = children.map((item) =>
      isText(item) || item.tag !== 'li' ? refuse('a list of something else') : itemOf(item),
    );
    if (content.length === 0) refuse('an empty list');
    return { type: tag === 'ul' ? 'bulletList' : 'orderedList', attrs: { attributes }, content };
  }
  return refuse(`<${tag}> on its own`);
};

const itemOf = ({ attributes, children }: Element): DocNode => {
  const blocks = blocksOf(children, 'item');
  const content = blocks.length === 0 ? [{ type: 'paragraph', attrs: { tag: null, attributes: [] } }] : blocks;
  if (content[0]!.type !== 'paragraph') refuse('an item that begins with a block');
  return { type: 'listItem', attrs: { attributes }, content };
};

const docOf = (nodes: readonly Node[]): DocNode => ({
  type: 'doc',
  content: nodes.length === 0 ? [{ type: 'paragraph', attrs: { tag: null, attributes: [] } }] : blocksOf(nodes, 'doc'),
});

const attributesText = (attributes: unknown): string =>
  (Array.isArray(attributes) ? (attributes as Attributes) : [])
    .map(([name, value]) => (value === null ? ` ${name}` : ` ${name}="${value.replaceAll('"', '&quot;')}"`))
    .join('');

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('\u00a0', '&nbsp;');

const isSameMark = (a: DocMark | undefined, b: DocMark | undefined): boolean =>
  a !== undefined && b !== undefined && a.type === b.type && JSON.stringify(a.attrs) === JSON.stringify(b.attrs);

/** In: a mark of the editor, which may have no attributes of its own. */
const markTag = (mark: DocMark): string => mark.attrs.tag;

const lineHtml = (nodes: readonly DocNode[] = []): string => {
  const open: DocMark[] = [];
  let html = '';
  const closeTo = (count: number): void => {
    while (open.length > count) html += `</${markTag(open.pop()!)}>`;
  };
  for (const node of nodes) {
    const marks = byRank(node.marks ?? []);
    let same = 0;
    while (same < open.length && isSameMark(open[same], marks[same])) same += 1;
    closeTo(same);
    for (const mark of marks.slice(same)) {
      html += `<${markTag(mark)}${attributesText(mark.attrs.attributes)}>`;
      open.push(mark);
    }
    if (node.type === 'text') html += escaped(node.text ?? '');
    else if (node.type === 'variable') html += `{{${String(node.attrs?.['source'] ?? '')}}}`;
    else if (node.type === 'hardBreak') html += `<br${attributesText(node.attrs?.['attributes'])}>`;
    else html += `<${String(node.attrs?.['tag'] ?? 'wbr')}${attributesText(node.attrs?.['attributes'])}>`;
  }
  closeTo(0);
  return html;
};

const isBare = (node: DocNode | undefined): boolean => node?.type === 'paragraph' && node.attrs?.['tag'] === '';

const blocksHtml = (nodes: readonly DocNode[] = [], around: Around): string =>
  nodes
    .map((node, at) => {
      const attributes = attributesText(node.attrs?.['attributes']);
      const inner = (): string => blocksHtml(node.content, 'doc');
      switch (node.type) {
        case 'paragraph': {
          const { tag } = (node.attrs ?? {}) as { tag?: string | null };
          const isOnlyLine = nodes.filter(({ type }) => type === 'paragraph').length === 1;
          // Lines without an element of their own would run into each other.
          const isWithout =
            tag === ''
              ? !isBare(nodes[at - 1]) && !isBare(nodes[at + 1])
              : (tag ?? null) === null && around === 'item' && isOnlyLine && attributes === '';
          const line = lineHtml(node.content);
          const name = tag === '' || tag === undefined || tag === null ? 'p' : tag;
          return isWithout ? line : `<${name}${attributes}>${line}</${name}>`;
        }
        case 'heading': {
          const name = `h${Number(node.attrs?.['level'] ?? 1)}`;
          return `<${name}${attributes}>${lineHtml(node.content)}</${name}>`;
        }
        case 'horizontalRule':
          return `<hr${attributes}>`;
        case 'blockquote':
          return `<blockquote${attributes}>${inner()}</blockquote>`;
        case 'bulletList':
          return `<ul${attributes}>${itemsHtml(node.content)}</ul>`;
        default:
          return `<ol${attributes}>${itemsHtml(node.content)}</ol>`;
      }
    })
    .join('');

const itemsHtml = (items: readonly DocNode[] = []): string =>
  items
    .map(({ attrs, content }) => `<li${attributesText(attrs?.['attributes'])}>${blocksHtml(content, 'item')}</li>`)
    .join('');

/** In: a document of the editor. Out: its HTML, of the elements in `heldTags` alone. */
export const htmlOf = ({ content = [] }: DocNode): string => {
  const [first, ...others] = content;
  const isNothing =
    others.length === 0 &&
    first?.type === 'paragraph' &&
    (first.content ?? []).length === 0 &&
    (first.attrs?.['tag'] ?? null) === null;
  return isNothing && attributesText(first.attrs?.['attributes']) === '' ? '' : blocksHtml(content, 'doc');
};

const treeText = (nodes: readonly Node[]): string => JSON.stringify(joined(nodes));

/** Texts beside each other are one. */
const joined = (nodes: readonly Node[]): readonly unknown[] => {
  const whole: unknown[] = [];
  let text: string | undefined;
  for (const node of nodes) {
    if (isText(node)) {
      text = (text ?? '') + node.text;
      continue;
    }
    if (text !== undefined) whole.push(text);
    text = undefined;
    whole.push([node.tag, node.attributes, joined(node.children)]);
  }
  if (text !== undefined) whole.push(text);
  return whole;
};

/**
 * In: rich text as a template has it. Out: the document of the editor, or undefined where its HTML would not be the
 * same again: then only its source can be edited. White space that a browser does not show is not compared.
 */
export const documentOf = (html: string): DocNode | undefined => {
  try {
    const tree = treeOf(html);
    const doc = docOf(tree);
    return treeText(treeOf(htmlOf(doc))) === treeText(tree) ? doc : undefined;
  } catch (fault) {
    if (fault instanceof NotHeld) return undefined;
    throw fault;
  }
};

/** The value of an attribute, without references. */
export const attributeOf = (attributes: Attributes, name: string): string | undefined => {
  const value = attributes.find(([one]) => one === name)?.[1];
  return value
    ?.replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
};

/** The attributes with another value of one of them, which keeps its place. */
export const withAttribute = (attributes: Attributes, name: string, value: string): Attributes => {
  const written = value.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  return attributes.some(([one]) => one === name)
    ? attributes.map((pair) => (pair[0] === name ? ([name, written] as const) : pair))
    : [...attributes, [name, written] as const];
};

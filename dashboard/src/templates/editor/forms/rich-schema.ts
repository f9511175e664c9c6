/** The elements that the editor of rich text holds, as html.ts reads and writes them. */
import { type AnyExtension, Mark, mergeAttributes, Node } from '@tiptap/core';
import { Bold } from '@tiptap/extension-bold';
import { Document } from '@tiptap/extension-document';
import { HardBreak } from '@tiptap/extension-hard-break';
import { Heading } from '@tiptap/extension-heading';
import { Italic } from '@tiptap/extension-italic';
import { BulletList, ListItem, ListKeymap, OrderedList } from '@tiptap/extension-list';
import { Paragraph } from '@tiptap/extension-paragraph';
import { Strike } from '@tiptap/extension-strike';
import { Text } from '@tiptap/extension-text';
import { Underline } from '@tiptap/extension-underline';
import { type Attributes, attributeOf } from './html.js';

/**
 * Declarations that are shown while somebody writes; all are kept. Colours and sizes of a mail may be unreadable on the
 * page, and the preview shows them.
 */
const SHOWN_STYLE = /^(?:font-weight|font-style|text-align|text-decoration|letter-spacing|text-transform)$/;

const styleOf = (attributes: Attributes): string =>
  (attributeOf(attributes, 'style') ?? '')
    .split(';')
    .map((declaration) => declaration.split(':').map((part) => part.trim()))
    .filter(
      ([name = '', value = '', ...more]) =>
        more.length === 0 && SHOWN_STYLE.test(name) && /^[\w#%.,() -]+$/.test(value),
    )
    .map(([name, value]) => `${name}:${value}`)
    .join(';');

/** Elements of the page that the editor reads: those that it has drawn, and those that are pasted. */
type Drawn = Readonly<{ getAttribute: (name: string) => string | null }>;

const KEPT = 'data-kept';
const NAME = /^[a-z][a-z0-9-]{0,40}$/;

const attributesOn = (element: Drawn): Attributes => {
  try {
    const kept: unknown = JSON.parse(element.getAttribute(KEPT) ?? '[]');
    if (!Array.isArray(kept)) return [];
    return kept.filter(
      (pair): pair is readonly [string, string | null] =>
        Array.isArray(pair) && NAME.test(String(pair[0])) && (typeof pair[1] === 'string' || pair[1] === null),
    );
  } catch {
    return [];
  }
};

/** Attributes of an element are kept as they are written, and go with it through the clipboard. */
const attributes = {
  attributes: {
    default: [],
    parseHTML: attributesOn,
    renderHTML: ({ attributes: kept }: Record<string, unknown>) => {
      const list = Array.isArray(kept) ? (kept as Attributes) : [];
      if (list.length === 0) return {};
      const style = styleOf(list);
      return { [KEPT]: JSON.stringify(list), ...(style === '' ? {} : { style }) };
    },
  },
};

const tag = (usual: string | null) => ({
  tag: {
    default: usual,
    parseHTML: (element: Drawn) => element.getAttribute('data-tag') ?? usual,
    renderHTML: ({ tag: name }: Record<string, unknown>) => (name === usual ? {} : { 'data-tag': name }),
  },
});

const of = (usual: string) => ({ addAttributes: () => ({ ...tag(usual), ...attributes }) });

/** A mark that is shown as its own element. */
const mark = (name: string, usual: string, priority: number, tags: readonly string[] = [usual]) =>
  Mark.create({
    name,
    priority,
    ...of(usual),
    parseHTML: () => tags.map((one) => ({ tag: one, attrs: { tag: one } })),
    renderHTML: ({ HTMLAttributes }) => [usual, HTMLAttributes, 0],
  });

/** A link leads nowhere while somebody writes. */
const Link = Mark.create({
  name: 'link',
  priority: 900,
  inclusive: false,
  ...of('a'),
  parseHTML: () => [
    { tag: `a[${KEPT}]` },
    {
      tag: 'a[href]',
      getAttrs: (element: Drawn) => ({ attributes: [['href', element.getAttribute('href') ?? '']] }),
    },
  ],
  renderHTML: ({ HTMLAttributes }) => ['a', HTMLAttributes, 0],
});

/** A variable is one piece, as its value will be. */
const Variable = Node.create({
  name: 'variable',
  group: 'inline',
  inline: true,
  atom: true,
  selectable: true,
  addAttributes: () => ({
    source: {
      default: '',
      parseHTML: (element: Drawn) => element.getAttribute('data-variable') ?? '',
      renderHTML: ({ source }: Record<string, unknown>) => ({ 'data-variable': source }),
    },
  }),
  parseHTML: () => [{ tag: 'span[data-variable]', priority: 60 }],
  renderHTML: ({ HTMLAttributes, node }) => ['span', HTMLAttributes, String(node.attrs['source']).trim()],
  renderText: ({ node }) => `{{${String(node.attrs['source'])}}}`,
});

/** Pictures and places where a word may break. */
const Piece = Node.create({
  name: 'piece',
  group: 'inline',
  inline: true,
  atom: true,
  ...of('wbr'),
  parseHTML: () => [{ tag: 'span[data-piece]' }],
  renderHTML: ({ HTMLAttributes, node }) => [
    'span',
    mergeAttributes(HTMLAttributes, { 'data-piece': String(node.attrs['tag']) }),
    node.attrs['tag'] === 'img' ? `▣ ${attributeOf(node.attrs['attributes'] as Attributes, 'alt') || 'Picture'}` : '·',
  ],
});

const Quotation = Node.create({
  name: 'blockquote',
  group: 'block',
  content: 'block+',
  defining: true,
  addAttributes: () => attributes,
  parseHTML: () => [{ tag: 'blockquote' }],
  renderHTML: ({ HTMLAttributes }) => ['blockquote', HTMLAttributes, 0],
});

const Rule = Node.create({
  name: 'horizontalRule',
  group: 'block',
  addAttributes: () => attributes,
  parseHTML: () => [{ tag: 'hr' }],
  renderHTML: ({ HTMLAttributes }) => ['hr', HTMLAttributes],
});

const withAttributes = { addAttributes: () => attributes };

/** Marks stand in the order of html.ts: the first are outside. */
export const richExtensions: readonly AnyExtension[] = [
  Document,
  Text,
  Paragraph.extend({ addAttributes: () => ({ ...tag(null), ...attributes }) }),
  Heading.extend({
    addAttributes() {
      return { ...(this.parent?.() ?? {}), ...attributes };
    },
    parseHTML() {
      const levels = [1, 2, 3, 4, 5, 6];
      return levels.flatMap((level) => [
        { tag: `h${level}`, attrs: { level } },
        { tag: `p[data-level="${level}"]`, attrs: { level }, priority: 60 },
      ]);
    },
    // A heading of the mail is none of the page.
    renderHTML: ({ HTMLAttributes, node }) => [
      'p',
      mergeAttributes(HTMLAttributes, { 'data-level': String(node.attrs['level']) }),
      0,
    ],
  }),
  HardBreak.extend(withAttributes),
  BulletList.extend(withAttributes),
  OrderedList.extend(withAttributes),
  ListItem.extend(withAttributes),
  ListKeymap,
  Quotation,
  Rule,
  Variable,
  Piece,
  Link,
  mark('span', 'span', 890, [`span[${KEPT}]`]),
  Bold.extend({ priority: 880, ...of('strong') }),
  Italic.extend({ priority: 870, ...of('em') }),
  Underline.extend({ priority: 860, ...of('u') }),
  Strike.extend({ priority: 850, ...of('s') }),
  mark('code', 'code', 840, ['code', 'kbd', 'var']),
  mark('highlight', 'mark', 830),
  mark('small', 'small', 820),
  mark('script', 'sub', 810, ['sub', 'sup']),
  mark('other', 'q', 800, ['abbr', 'bdi', 'bdo', 'q']),
];

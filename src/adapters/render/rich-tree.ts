/**
 * Rich text as a tree: an author's HTML, sanitised to a closed set of elements and attributes, for everything that
 * draws documents.
 */
import sanitizeHtml from 'sanitize-html';
import { parseDocument } from 'htmlparser2';
import { blockTags, droppedTags, NESTING_MAX, sectionTags, tableTags } from '../../domain/rendering/html.js';
import type { Html } from '../../domain/rendering/expand/expanded.js';

/** `inline` is what may stand in a button or a cell, `block` in a rich text, `fragment` in an html-fragment. */
export type RichMode = 'inline' | 'block' | 'fragment';

type TreeText = Readonly<{ kind: 'text'; /** Without entities; white space as it was written. */ text: string }>;
export type TreeElement = Readonly<{
  kind: 'element';
  tag: string;
  attributes: Readonly<Record<string, string>>;
  /** Declarations of the `style` attribute by property in lower case; values as written, not judged. */
  style: ReadonlyMap<string, string>;
  children: readonly TreeNode[];
}>;
export type TreeNode = TreeText | TreeElement;

const inline = [
  'a',
  'abbr',
  'b',
  'bdi',
  'bdo',
  'br',
  'code',
  'del',
  'em',
  'i',
  'img',
  'ins',
  'kbd',
  'mark',
  'q',
  's',
  'small',
  'span',
  'strike',
  'strong',
  'sub',
  'sup',
  'u',
  'var',
  'wbr',
];
const block = [...inline, ...blockTags];
const tables = [...tableTags, 'colgroup', 'col'];

/** The elements that each mode keeps. */
export const tagsOf: Readonly<Record<RichMode, readonly string[]>> = {
  inline,
  block: [...block, ...tables],
  fragment: [...block, ...tables, ...sectionTags, 'font', 'acronym', 'big', 'cite', 'dfn', 'samp', 'time', 'tt'],
};

const everywhere = [
  'style',
  'align',
  'dir',
  'lang',
  'title',
  'id',
  'hidden',
  'role',
  'aria-label',
  'aria-hidden',
  'aria-roledescription',
];
const cell = [
  'width',
  'height',
  'valign',
  'bgcolor',
  'background',
  'nowrap',
  'colspan',
  'rowspan',
  'scope',
  'headers',
  'abbr',
];
const attributes: Record<string, string[]> = {
  '*': everywhere,
  a: ['href', 'name', 'data-sealpost-track'],
  img: ['src', 'alt', 'width', 'height', 'border', 'hspace', 'vspace'],
  table: ['width', 'height', 'cellpadding', 'cellspacing', 'border', 'bgcolor', 'background'],
  td: cell,
  th: cell,
  tr: ['valign', 'bgcolor', 'height'],
  thead: ['valign'],
  tbody: ['valign'],
  tfoot: ['valign'],
  col: ['width', 'span'],
  ol: ['start', 'type', 'reversed'],
  ul: ['type'],
  li: ['value', 'type'],
  font: ['color', 'face', 'size'],
  hr: ['width', 'size', 'color'],
};

/** `hidden` stands without a value. */
const nonBooleanAttributes = sanitizeHtml.defaults.nonBooleanAttributes.filter((name) => name !== 'hidden');

/** True for an attribute that an element keeps. */
export const isKeptAttribute = (tag: string, name: string): boolean =>
  everywhere.includes(name) || (Object.hasOwn(attributes, tag) && attributes[tag]?.includes(name) === true);

/** Blocks that are not kept: their content stays in lines of its own. */
const OTHER_BLOCKS = [
  'nav',
  'aside',
  'details',
  'summary',
  'form',
  'fieldset',
  'legend',
  'dialog',
  'menu',
  'hgroup',
  'search',
];
/** Elements in a line that are not kept, and that a browser sets apart from what follows. */
const INLINE_ENDS = /<\/(?:label|button|select|output|meter|progress)\s*>/gi;
const INLINE_END = /<\/(?:label|button|select|output|meter|progress)/i;

const divisionsOf = (mode: RichMode): Record<string, string> =>
  Object.fromEntries(
    [...OTHER_BLOCKS, ...sectionTags].flatMap((tag) => (tagsOf[mode].includes(tag) ? [] : [[tag, 'div'] as const])),
  );

const divisions: Readonly<Record<RichMode, Record<string, string>>> = {
  inline: {},
  block: divisionsOf('block'),
  fragment: divisionsOf('fragment'),
};

/** The element that one of the author becomes in that mode; undefined where it is not kept. */
export const keptTagOf = (tag: string, mode: RichMode): string | undefined => {
  const kept = Object.hasOwn(divisions[mode], tag) ? divisions[mode][tag] : tag;
  return kept !== undefined && tagsOf[mode].includes(kept) ? kept : undefined;
};

/**
 * Removes all but the known elements, attributes and schemes; `schemes` and `attribute` are let through beside them.
 */
export const sanitized = (html: string, mode: RichMode, schemes: readonly string[] = [], attribute?: string): string =>
  sanitizeHtml(INLINE_END.test(html) ? html.replaceAll(INLINE_ENDS, '$& ') : html, {
    transformTags: divisions[mode],
    allowedTags: [...tagsOf[mode]],
    allowedAttributes: attribute === undefined ? attributes : { ...attributes, '*': [...everywhere, attribute] },
    allowedSchemes: ['http', 'https', 'mailto', 'tel', 'sms', 'data', 'asset', 'cid', ...schemes],
    allowedSchemesAppliedToAttributes: ['href', 'src', 'background'],
    parseStyleAttributes: false,
    nestingLimit: NESTING_MAX,
    nonBooleanAttributes,
    nonTextTags: [...droppedTags],
  });

const HIDING =
  /(?:^|;)(?:display:none|visibility:(?:hidden|collapse)|opacity:0?\.?0+|max-height:0+(?:px)?)(?:!important)?(?:;|$)/;

/**
 * True where an element is there and not shown: the attribute `hidden`, or a style that shows nothing of it, as texts
 * before a mail have it.
 */
export const hides = (hidden: boolean, style: string | undefined): boolean =>
  hidden || (style !== undefined && HIDING.test(style.toLowerCase().replaceAll(/\/\*[^]*?\*\/|\s/g, '')));

const noStyle: ReadonlyMap<string, string> = new Map();

/**
 * In: HTML as an expanded document holds it. Out: its elements in order: scripts, styles, forms, frames, event
 * handlers, comments and unknown elements are gone (unknown ones leave their text). Addresses and colours are for the
 * caller to judge.
 */
export const parseRichTree = (html: Html, mode: Exclude<RichMode, 'fragment'>): readonly TreeNode[] => {
  if (html === '') return [];
  // Most cells of tables are plain text, and sanitising is the dear part.
  if (!html.includes('<'))
    return html.includes('&') ? parseDocument(html).children.flatMap(convert) : [{ kind: 'text', text: html }];
  return parseDocument(sanitized(html, mode)).children.flatMap(convert);
};

/** The text of a tree without its elements; a line break where one is drawn. */
export const treeText = (nodes: readonly TreeNode[]): string =>
  nodes.map((node) => (node.kind === 'text' ? node.text : node.tag === 'br' ? '\n' : treeText(node.children))).join('');

/**
 * The content of a list component as a list, by the rule of mails: content without a list gets one, and `ordered`
 * numbers a list of bullets.
 */
export const asList = (nodes: readonly TreeNode[], ordered: boolean): readonly TreeNode[] => {
  const element = (tag: string, children: readonly TreeNode[]): TreeElement => ({
    kind: 'element',
    tag,
    attributes: {},
    style: noStyle,
    children,
  });
  const isA = (node: TreeNode, ...tags: readonly string[]): node is TreeElement =>
    node.kind === 'element' && tags.includes(node.tag);
  if (nodes.some((node) => isA(node, 'ul', 'ol')))
    return nodes.map((node) => (isA(node, 'ul') && ordered ? { ...node, tag: 'ol' } : node));
  if (treeText(nodes).trim() === '') return nodes;
  const items = nodes.filter((node) => isA(node, 'li'));
  return [element(ordered ? 'ol' : 'ul', items.length > 0 ? items : [element('li', nodes)])];
};

type DomNode = ReturnType<typeof parseDocument>['children'][number];

const convert = (node: DomNode): readonly TreeNode[] => {
  if (node.type === 'text' && 'data' in node) return [{ kind: 'text', text: node.data }];
  if (!('attribs' in node) || hides('hidden' in node.attribs, node.attribs['style'])) return [];
  return [
    {
      kind: 'element',
      tag: node.name,
      attributes: node.attribs,
      style: declarationsOf(node.attribs['style']),
      children: node.children.flatMap(convert),
    },
  ];
};

/** The declarations of a `style` attribute by property in lower case. */
export const declarationsOf = (style: string | undefined): ReadonlyMap<string, string> => {
  if (style === undefined) return noStyle;
  const found = new Map<string, string>();
  for (const declaration of style.replaceAll(/\/\*[^]*?\*\//g, ' ').split(';')) {
    const colon = declaration.indexOf(':');
    if (colon < 1) continue;
    found.set(
      declaration.slice(0, colon).trim().toLowerCase(),
      declaration
        .slice(colon + 1)
        .replace(/!\s*important/i, '')
        .trim(),
    );
  }
  return found;
};

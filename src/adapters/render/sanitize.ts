/** Takes author's HTML apart into a closed set of elements; `{{…}}` survives in text and in attribute values, nowhere else. */
import sanitizeHtml from 'sanitize-html';
import { parseDocument } from 'htmlparser2';
import type { TemplatedText, TextPart } from '../../domain/rendering/templated-text.js';
import type { Context } from './context.js';
import { templated } from './values.js';

export type RichText = Readonly<{ kind: 'text'; text: TemplatedText }>;
export type RichElement = Readonly<{
  kind: 'element';
  tag: string;
  attributes: ReadonlyMap<string, TemplatedText>;
  children: readonly RichNode[];
}>;
export type RichNode = RichText | RichElement;

/** `inline` is what may stand in a button or a cell, `block` in a rich text, `fragment` in an html-fragment. */
export type RichMode = 'inline' | 'block' | 'fragment';

const inline = ['a', 'abbr', 'b', 'bdi', 'bdo', 'br', 'code', 'del', 'em', 'i', 'img', 'ins', 'kbd', 'mark', 'q', 's', 'small', 'span', 'strike', 'strong', 'sub', 'sup', 'u', 'var', 'wbr'];
const block = [...inline, 'address', 'blockquote', 'center', 'dd', 'div', 'dl', 'dt', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'li', 'ol', 'p', 'pre', 'ul'];
const tables = ['table', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td', 'caption', 'colgroup', 'col'];

const tagsOf: Readonly<Record<RichMode, readonly string[]>> = {
  inline, block: [...block, ...tables], fragment: [...block, ...tables, 'article', 'section', 'header', 'footer', 'main', 'figure', 'figcaption', 'font'],
};

const everywhere = ['style', 'align', 'dir', 'lang', 'title', 'id'];
const cell = ['width', 'height', 'valign', 'bgcolor', 'colspan', 'rowspan', 'scope'];
const attributes: Record<string, string[]> = {
  '*': everywhere,
  a: ['href', 'name'],
  img: ['src', 'alt', 'width', 'height', 'border'],
  table: ['width', 'height', 'cellpadding', 'cellspacing', 'border', 'bgcolor', 'role'],
  td: cell,
  th: cell,
  tr: ['valign', 'bgcolor', 'height'],
  col: ['width', 'span'],
  ol: ['start', 'type', 'reversed'],
  li: ['value'],
  font: ['color', 'face', 'size'],
  hr: ['width', 'size', 'color'],
};

/**
 * In: HTML as the author wrote it, its placeholders checked. Out: its elements in order. Scripts, styles, forms, frames, event
 * handlers, comments and unknown elements are gone (unknown ones leave their text); addresses are judged where they are written.
 */
export const parseRichText = (content: string, mode: RichMode, context: Context): readonly RichNode[] => {
  const parts = templated(content, context);
  if (!/[<&]/.test(content)) return [{ kind: 'text', text: parts }];
  const mark = unusedMark(content);
  // Placeholders become words without any meaning in HTML, so that no reader of HTML takes offence at them.
  const marked = parts.map((part, at) => (typeof part === 'string' ? part : `${mark}${at}z`)).join('');
  const clean = sanitized(marked, mode, mark);
  const restore = (text: string): TemplatedText => restored(text, mark, parts);
  return parseDocument(clean).children.flatMap((node) => convert(node, restore, new Set(tagsOf[mode])));
};

/** In: HTML, and a scheme that its addresses may have beside the known ones. Out: the same with nothing but the known elements and attributes. */
export const sanitized = (html: string, mode: RichMode, scheme?: string): string =>
  sanitizeHtml(html, {
    allowedTags: [...tagsOf[mode]],
    allowedAttributes: attributes,
    allowedSchemes: ['http', 'https', 'mailto', 'tel', 'data', 'asset', ...(scheme === undefined ? [] : [scheme])],
    allowedSchemesAppliedToAttributes: ['href', 'src'],
    parseStyleAttributes: false,
    nestingLimit: NESTING_MAX,
    nonTextTags: ['style', 'script', 'textarea', 'option', 'noscript', 'template', 'iframe', 'object', 'svg', 'math', 'title', 'xmp', 'noembed', 'noframes', 'plaintext'],
  });

const unusedMark = (content: string): string => {
  const lower = content.toLowerCase();
  let mark = 'qzv';
  while (lower.includes(mark)) mark += 'v';
  return mark;
};

const restored = (text: string, mark: string, parts: TemplatedText): TemplatedText => {
  const out: TextPart[] = [];
  let end = 0;
  for (const match of text.matchAll(new RegExp(`${mark}(\\d+)z`, 'g'))) {
    const placeholder = parts[Number(match[1])];
    if (placeholder === undefined) continue;
    if (match.index > end) out.push(text.slice(end, match.index));
    out.push(placeholder);
    end = match.index + match[0].length;
  }
  if (end < text.length) out.push(text.slice(end));
  return out;
};

/** Deeper elements are dropped: no mail has them, and what walks the elements does so by recursion. */
const NESTING_MAX = 50;

type DomNode = ReturnType<typeof parseDocument>['children'][number];

const convert = (node: DomNode, restore: (text: string) => TemplatedText, tags: ReadonlySet<string>): readonly RichNode[] => {
  if (node.type === 'text' && 'data' in node) return [{ kind: 'text', text: restore(node.data) }];
  if (!('attribs' in node)) return [];
  const children = node.children.flatMap((child) => convert(child, restore, tags));
  if (!tags.has(node.name)) return children;
  const found = new Map(Object.entries(node.attribs).map(([name, value]) => [name, restore(value)] as const));
  return [{ kind: 'element', tag: node.name, attributes: found, children }];
};

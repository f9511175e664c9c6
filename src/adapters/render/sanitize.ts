/** The closed set of elements and attributes that is kept of the HTML of authors. */
import sanitizeHtml from 'sanitize-html';
import { blockTags, droppedTags, NESTING_MAX, sectionTags, tableTags } from '../../domain/rendering/html-tags.js';

/** `inline` is what may stand in a button or a cell, `block` in a rich text, `fragment` in an html-fragment. */
export type RichMode = 'inline' | 'block' | 'fragment';

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
  fragment: [...block, ...tables, ...sectionTags, 'font'],
};

const everywhere = ['style', 'align', 'dir', 'lang', 'title', 'id'];
const cell = ['width', 'height', 'valign', 'bgcolor', 'colspan', 'rowspan', 'scope'];
const attributes: Record<string, string[]> = {
  '*': everywhere,
  a: ['href', 'name', 'data-sealpost-track'],
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

/** In: HTML, and a scheme and an attribute that it may have beside the known ones. Out: the same with nothing but the known elements and attributes. */
export const sanitized = (html: string, mode: RichMode, scheme?: string, attribute?: string): string =>
  sanitizeHtml(html, {
    allowedTags: [...tagsOf[mode]],
    allowedAttributes: attribute === undefined ? attributes : { ...attributes, '*': [...everywhere, attribute] },
    allowedSchemes: ['http', 'https', 'mailto', 'tel', 'data', 'asset', ...(scheme === undefined ? [] : [scheme])],
    allowedSchemesAppliedToAttributes: ['href', 'src'],
    parseStyleAttributes: false,
    nestingLimit: NESTING_MAX,
    nonTextTags: [...droppedTags],
  });

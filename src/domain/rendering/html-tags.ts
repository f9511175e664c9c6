/** Kinds of the elements of HTML that authors write. */

/** Elements that stand in lines of their own, tables and their parts apart. */
export const blockTags = [
  'address',
  'blockquote',
  'center',
  'dd',
  'div',
  'dl',
  'dt',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'hr',
  'li',
  'ol',
  'p',
  'pre',
  'ul',
];
/** A table and its parts. */
export const tableTags = ['table', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td', 'caption'];
/** Elements that hold nothing and have no closing tag. */
export const voidTags = ['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'param', 'source', 'track', 'wbr'];
/** Parts of a page, as whole templates of other tools have them. */
export const sectionTags = ['article', 'section', 'header', 'footer', 'main', 'figure', 'figcaption'];

/** Elements that are left out with all that is in them. */
export const droppedTags = [
  'style',
  'script',
  'textarea',
  'option',
  'noscript',
  'template',
  'iframe',
  'object',
  'svg',
  'math',
  'title',
  'xmp',
  'noembed',
  'noframes',
  'plaintext',
];

/** Deeper elements are dropped: no mail has them, and what walks the elements does so by recursion. */
export const NESTING_MAX = 50;

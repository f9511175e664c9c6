/**
 * Elements of HTML by kind, and a linear look over the HTML of an author before anything parses it: what it will cost,
 * and how deep its elements are nested.
 */
import { spendChars, spendElements, type Budget } from './budget.js';

/** Elements that stand in lines of their own, except tables and their parts. */
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
export const voidTags = [
  'area',
  'base',
  'br',
  'col',
  'embed',
  'hr',
  'img',
  'input',
  'link',
  'meta',
  'param',
  'source',
  'track',
  'wbr',
];
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

/** Parsers keep the open elements in a list and walk it for each tag. No mail comes near it. */
const OPEN_MAX = 256;

/** Cost of an attribute, an entity or the declaration of a style, where a tag costs 1. */
const SMALL = 1 / 4;

const VOID: ReadonlySet<string> = new Set(voidTags);
/** An open one is closed by the next of its name. */
const CLOSED_BY_THE_NEXT: ReadonlySet<string> = new Set(['p', 'li', 'dt', 'dd', 'tr', 'td', 'th', 'option']);

/**
 * Takes from the budget what stands in the text: one for each opening tag, closing tag without an opening one, other
 * `<` and placeholder, a quarter for each attribute, `&` and `;`; and the characters of each tag, for a tag that stands
 * in another is read again. Throws WORK_LIMIT_EXCEEDED. Answers a fault where elements are nested too deep.
 */
export const spendHtml = (html: string, budget: Budget): string | undefined => {
  if (!/[<&]|\{\{/.test(html)) return undefined;
  let small = 0;
  for (let at = 0; at < html.length; at += 1) {
    const code = html.charCodeAt(at);
    if (code === AMPERSAND || code === SEMICOLON) small += 1;
    else if (code === BRACE && html.charCodeAt(at + 1) === BRACE) {
      spendElements(budget, 1);
      at += 1;
    }
  }
  spendElements(budget, small * SMALL);
  return spendTags(html, budget);
};

const AMPERSAND = 38;
const SEMICOLON = 59;
const BRACE = 123;

const TAG = /(\/?)([A-Za-z][^\s/>]*)/y;

const spendTags = (html: string, budget: Budget): string | undefined => {
  const open: string[] = [];
  for (let at = html.indexOf('<'); at >= 0; at = html.indexOf('<', at + 1)) {
    TAG.lastIndex = at + 1;
    const [, slash, written = ''] = TAG.exec(html) ?? [];
    spendChars(budget, written.length);
    const name = written.toLowerCase();
    const before = slash === '/' ? open.lastIndexOf(name) : -1;
    if (before >= 0) {
      open.length = before;
      continue;
    }
    spendElements(budget, 1);
    if (slash !== '') continue;
    spendAttributes(html, at + 1 + written.length, budget);
    if (VOID.has(name) || (CLOSED_BY_THE_NEXT.has(name) && open.at(-1) === name)) continue;
    open.push(name);
    if (open.length > OPEN_MAX)
      return `holds more than ${OPEN_MAX} elements that are open at once: close each, such as <${name.slice(0, 20)}>`;
  }
  return undefined;
};

const ATTRIBUTE = /[\s/]*(?:[^\s/>=]+(?:\s*=\s*(?:"[^"]*"?|'[^']*'?|[^\s>]*))?|=)/y;

/** From behind the name of a tag to its end. */
const spendAttributes = (html: string, from: number, budget: Budget): void => {
  ATTRIBUTE.lastIndex = from;
  for (let read = from; ATTRIBUTE.test(html); read = ATTRIBUTE.lastIndex) {
    spendElements(budget, SMALL);
    spendChars(budget, ATTRIBUTE.lastIndex - read);
  }
};

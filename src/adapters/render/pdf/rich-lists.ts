/** Lists of rich text: their items, numbers and marks. */
import type { TreeElement, TreeNode } from '../rich-tree.js';
import { lookOf, narrower, spaced, type Context } from './context.js';
import { alignOf, directedBy, inlineStyle, namesColor, onBackground, type Inline } from './rich-style.js';
import type { Node, Tag } from './nodes.js';

/** Makes the blocks of an item. */
type Blocks = (nodes: readonly TreeNode[], inline: Inline, context: Context) => readonly Node[];

/** What stands in a list, ordered or not; items that are lists themselves belong to the item before. */
export const listNode = (node: TreeElement, inline: Inline, context: Context, blocks: Blocks): Node => {
  const list: Tag = { type: 'L', parent: context.tag };
  // The marks stand beside the background, the text on it.
  const text = inline.background === undefined || namesColor(node) ? inline : onBackground(inline.background, inline, context);
  const items = node.children
    .filter((child): child is TreeElement => child.kind === 'element')
    .map((item): Node => {
      const body: Tag = { type: 'LBody', parent: { type: 'LI', parent: list } };
      const inner = blocks(item.tag === 'li' ? item.children : [item], inlineStyle(item, text, context), {
        ...directedBy(item, narrower(LIST_INDENT_PT, context)),
        tag: body,
        align: alignOf(item) ?? context.align,
      });
      const value = integer(item.attributes['value']);
      const [only] = inner;
      const content: Node =
        inner.length === 1 && only !== undefined ? only : { stack: inner.length === 0 ? [{ text: '', ...lookOf(context) }] : inner };
      return { ...spaced(content, inline.fontSize * 0.2), ...(value === undefined ? {} : { counter: value }) };
    });
  const type = markerOf(node, context);
  const look = { fontSize: inline.fontSize, color: context.color, ...(inline.color === context.color ? {} : { color: inline.color }) };
  const marker = { ...(type === undefined ? {} : { type }), ...markersOf(context) };
  if (node.tag === 'ul') return { ul: items, ...look, ...marker };
  const start = integer(node.attributes['start']);
  return {
    ol: items,
    ...look,
    ...marker,
    ...(start === undefined ? {} : { start }),
    ...('reversed' in node.attributes ? { reversed: true } : {}),
  };
};

export const LIST_INDENT_PT = 18;

/** Where the marks of a list stand; digits run from the left, so that the dot behind them is drawn before them. */
export const markersOf = ({ direction }: Context): Readonly<{ fromRight?: true; separator?: readonly [string, string] }> =>
  direction === 'rtl' ? { fromRight: true, separator: ['.', ''] } : {};

const integer = (text: string | undefined): number | undefined =>
  text !== undefined && /^-?\d{1,6}$/.test(text.trim()) ? Number(text) : undefined;

const markers: Readonly<Record<string, string>> = { a: 'lower-alpha', A: 'upper-alpha', i: 'lower-roman', I: 'upper-roman', 1: 'decimal' };
const MARKERS = new Set(['disc', 'circle', 'square', 'none', 'decimal', 'lower-alpha', 'upper-alpha', 'lower-roman', 'upper-roman']);

const markerOf = ({ tag, attributes, style }: TreeElement, context: Context): string | undefined => {
  const named = (style.get('list-style-type') ?? style.get('list-style') ?? '')
    .toLowerCase()
    .replace('latin', 'alpha')
    .split(' ')
    .find((word) => MARKERS.has(word));
  const type = attributes['type'];
  if (named !== undefined) return named;
  if (type !== undefined)
    return Object.hasOwn(markers, type) ? markers[type] : MARKERS.has(type.toLowerCase()) ? type.toLowerCase() : undefined;
  return tag === 'ul' && context.tag?.type === 'LBody' ? 'circle' : undefined;
};

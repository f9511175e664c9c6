/** How high a measured node can become at most: rows that are kept together must fit on one sheet, for pdfmake drops what does not. */

import type { Measured } from './pdfmake-internals.js';

/** In: a node and the room it has, in points. Out: a height that it never exceeds; Infinity for what is not told before it is laid out. */
export const heightBound = (node: Measured, width: number): number => {
  const [left, top, right, bottom] = node._margin ?? [0, 0, 0, 0];
  const inner = Math.max(width - left - right, 1);
  return top + bottom + contentBound(node, inner);
};

const contentBound = (node: Measured, width: number): number => {
  if (node.stack !== undefined) return sum(node.stack, width);
  if (node.image !== undefined || node.svg !== undefined) return node._height ?? Infinity;
  if (node.canvas !== undefined) return node._minHeight ?? Infinity;
  return node._inlines === undefined ? Infinity : linesBound(node._inlines, width);
};

const sum = (nodes: readonly Measured[], width: number): number => nodes.reduce((total, node) => total + heightBound(node, width), 0);

/** Two lines one after the other are together wider than the room, or the first would have held the second's first word; words that are broken fill their lines. */
const linesBound = (inlines: NonNullable<Measured['_inlines']>, width: number): number => {
  const whole = inlines.reduce((total, inline) => total + inline.width, 0);
  const ends = inlines.reduce((total, { lineEnd }) => total + (lineEnd === true ? 1 : 0), 0);
  const highest = inlines.reduce((most, { height }) => Math.max(most, height), 0);
  return (Math.ceil((2 * whole) / width) + 1 + ends) * highest;
};

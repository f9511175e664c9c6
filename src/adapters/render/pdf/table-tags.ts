/** The elements of a table, each made below the one above it in the order in which they are read. */
import type { Tag } from './nodes.js';

/** Takes further elements until it is drawn. */
export type OpenTag = Tag & Readonly<{ children: Tag[] }>;
/** `scope`: of a header that is one of its row. */
export type Spans = Readonly<{ colSpan?: number; rowSpan?: number; scope?: 'Row' }>;

export const tableTag = (parent: Tag | undefined): OpenTag => ({ type: 'Table', parent, children: [] });

export const rowTag = (table: OpenTag): OpenTag => {
  const row: OpenTag = { type: 'TR', parent: table, children: [] };
  table.children.push(row);
  return row;
};

export const cellTag = (row: OpenTag, type: 'TH' | 'TD', { colSpan = 1, rowSpan = 1, ...scope }: Spans = {}): Tag => {
  const cell: Tag = { type, parent: row, ...scope, ...(colSpan > 1 ? { colSpan } : {}), ...(rowSpan > 1 ? { rowSpan } : {}) };
  row.children.push(cell);
  return cell;
};

/** Lays out the text part: paragraphs wrapped at 78 columns (RFC 5322, section 2.1.1), headings underlined, tables in columns. */
import type { Direction } from '../../../domain/rendering/direction.js';
import { progressOf, type Progress } from '../../../domain/rendering/expand/expanded.js';

const TEXT_COLUMNS = 78;

/** What lines begin with leaves at least half of the line to the text, however deep lists and quotations are nested. */
const PREFIX_COLUMNS = TEXT_COLUMNS / 2;
const LABEL_COLUMNS = TEXT_COLUMNS;

/**
 * In: one paragraph (its own line breaks are kept), what its first line and its other lines begin with.
 * Out: lines of at most 78 characters; a word that is longer, such as a link, has a line to itself and stays whole.
 */
export const wrap = (text: string, first = '', rest = first): string => {
  if (rest.length > PREFIX_COLUMNS) return wrap(text, first.slice(-PREFIX_COLUMNS), rest.slice(-PREFIX_COLUMNS));
  if (first.length + text.length <= TEXT_COLUMNS && !text.includes('\n')) return first + text;
  let out = '';
  let prefix = first;
  for (const line of text.split(/\r\n|\r|\n/)) {
    out += (out === '' ? '' : '\n') + wrapLine(line, prefix, rest);
    prefix = rest;
  }
  return out;
};

const wrapLine = (line: string, first: string, rest: string): string => {
  if (first.length + line.length <= TEXT_COLUMNS) return first + line;
  let out = '';
  let current = first;
  let empty = true;
  for (const word of line.split(' ')) {
    if (!empty && current.length + 1 + word.length > TEXT_COLUMNS) {
      out += `${current}\n`;
      current = rest;
      empty = true;
    }
    current += (empty ? '' : ' ') + word;
    empty = false;
  }
  return out + current;
};

/** A heading over a line of its own length. */
export const heading = (text: string, mark: string): string => {
  const title = wrap(text);
  const longest = title.split('\n').reduce((columns, line) => Math.max(columns, line.length), 0);
  return longest === 0 ? '' : `${title}\n${mark.repeat(Math.min(longest, TEXT_COLUMNS))}`;
};

const MARKS: Readonly<Record<Progress, string>> = { completed: '[x] ', current: '[>] ', pending: '[ ] ', other: '- ', none: '- ' };

/** One step of a timeline: its mark, title, date and status on the first line, its description below. */
export const moment = (title: string, date: string, status: string, description: string): string => {
  const progress = progressOf(status);
  const mark = MARKS[progress];
  const indent = ' '.repeat(mark.length);
  const head = [title, date, progress === 'other' ? status : ''].filter((part) => part !== '').join(' - ');
  return wrap(head, mark, indent) + (description === '' ? '' : `\n${wrap(description, indent)}`);
};

type TextTable = Readonly<{
  /** One character for each column: l, c, r. */
  aligns: string;
  header: readonly string[] | undefined;
  footer: readonly string[] | undefined;
}>;

const GAP = 2;
const TABLE_COLUMNS = 60;

/** Rows in aligned columns where they fit into the line, else each row as lines of `label: value`. */
export const table = (rows: readonly (readonly string[])[], { aligns, header, footer }: TextTable): string => {
  const widths: number[] = [];
  for (let column = 0; column < aligns.length; column += 1) {
    let width = Math.max(header?.[column]?.length ?? 0, footer?.[column]?.length ?? 0);
    for (const row of rows) width = Math.max(width, row[column]?.length ?? 0);
    widths.push(width);
  }
  let total = GAP * (widths.length - 1);
  for (const width of widths) total += width;
  if (total > TEXT_COLUMNS) return labelled(rows, header, footer);
  // Amounts at the right end stand below each other from table to table.
  if (total < TABLE_COLUMNS && aligns.endsWith('r')) {
    const wide = Math.max(aligns.indexOf('l'), 0);
    widths[wide] = (widths[wide] ?? 0) + TABLE_COLUMNS - total;
    total = TABLE_COLUMNS;
  }
  const rule = '-'.repeat(total);
  let out = header === undefined ? '' : `${aligned(header, widths, aligns)}\n${rule}\n`;
  for (const row of rows) out += `${aligned(row, widths, aligns)}\n`;
  if (footer !== undefined) out += `${rule}\n${aligned(footer, widths, aligns)}\n`;
  return out.slice(0, -1);
};

const SPACES = ' '.repeat(TEXT_COLUMNS);

const aligned = (row: readonly string[], widths: readonly number[], aligns: string): string => {
  let line = '';
  const last = widths.length - 1;
  for (let column = 0; column <= last; column += 1) {
    const cell = row[column] ?? '';
    const spare = (widths[column] ?? 0) - cell.length;
    const side = aligns.charCodeAt(column);
    const left = side === 114 ? spare : side === 99 ? spare >> 1 : 0;
    if (column > 0) line += '  ';
    line += SPACES.slice(0, left) + cell;
    if (column < last) line += SPACES.slice(0, spare - left);
  }
  return line.trimEnd();
};

/** Each row as lines of `label: value`. */
export const labelled = (
  rows: readonly (readonly string[])[],
  header: readonly string[] | undefined,
  footer: readonly string[] | undefined,
): string => {
  const lines = (row: readonly string[]): string =>
    row
      .flatMap((cell, column) => {
        if (cell === '') return [];
        // It stands in every row, so its length counts as often as there are rows.
        const label = header?.[column]?.slice(0, LABEL_COLUMNS) ?? '';
        return [wrap(label === '' ? cell : `${label}: ${cell}`, '', '  ')];
      })
      .join('\n');
  return [...rows, ...(footer === undefined ? [] : [footer])]
    .map(lines)
    .filter((block) => block !== '')
    .join('\n\n');
};

/** The last touch: no trailing blanks, never two empty lines in a row, one line break at the end. */
export const finish = (text: string, direction: Direction = 'ltr'): string => {
  const trimmed = text.trim();
  const spaced = trimmed.includes('\n\n\n') ? trimmed.replace(/\n{3,}/g, '\n\n') : trimmed;
  return `${direction === 'rtl' ? marked(spaced) : spaced}\n`;
};

const RIGHT_TO_LEFT_MARK = '\u200f';

/** Readers of plain text take the direction of each line from its first letter, which may be of a name, a number or a link. */
const marked = (text: string): string => text.replace(/^(?=[^\n])/gm, RIGHT_TO_LEFT_MARK);

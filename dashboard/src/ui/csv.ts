/** Comma-separated values (RFC 4180) for spreadsheets. */

/**
 * In: rows of cells; null is an empty one. Out: the text of a file. A text that a spreadsheet would take for a formula
 * begins with an apostrophe.
 */
export const csvOf = (rows: readonly (readonly (string | number | null)[])[]): string =>
  rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');

const cellOf = (value: string | number | null): string => {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** The mark by which spreadsheets know UTF-8. */
const MARK = '\uFEFF';

/** In: the text of `csvOf`. */
export const csvFile = (text: string): Blob => new Blob([MARK, text], { type: 'text/csv;charset=utf-8' });

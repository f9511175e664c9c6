/**
 * Reads the table of a CSV file (RFC 4180) as spreadsheets write it: any of their delimiters, quotes with line breaks
 * inside, byte order marks, UTF-8, UTF-16 and Windows-1252.
 */
import Papa from 'papaparse';

export const encodings = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'] as const;
export type Encoding = (typeof encodings)[number];

export const delimiters = [',', ';', '\t', '|'] as const;
export type Delimiter = (typeof delimiters)[number];

/** `line`: the line of the file in which the row begins, from 1. */
export type Row = Readonly<{ line: number; cells: readonly string[] }>;

/** `head`: the names of the columns; a column without one has an empty name. `rows`: those with a value. */
export type Table = Readonly<{
  encoding: Encoding;
  delimiter: Delimiter;
  hasHead: boolean;
  head: readonly string[];
  rows: readonly Row[];
}>;

/** The choices of the reader; absent: what the file looks like. */
export type Reading = Readonly<{ encoding?: Encoding; delimiter?: Delimiter; hasHead?: boolean }>;

/** Why a file is no table that can be sent to, as the end of a sentence about it. */
export class CsvFault extends Error {}

export const FILE_BYTES_MAX = 20 * 1024 * 1024;
export const ROWS_MAX = 100_000;
const COLUMNS_MAX = 504;

/** In: the bytes of a file. Throws CsvFault. */
export const readTable = (bytes: Uint8Array, reading: Reading = {}): Table => {
  if (bytes.length > FILE_BYTES_MAX)
    throw new CsvFault('has more than 20 MiB; send it by `sealpost bulk send` on the machine of the service');
  const encoding = reading.encoding ?? encodingOf(bytes);
  const { text, firstLine, named } = withoutDelimiterLine(decoded(bytes, encoding));
  if (text.trim() === '') throw new CsvFault('is empty');
  const delimiter = reading.delimiter ?? named ?? delimiterOf(text);
  const all = rowsOf(text, firstLine, delimiter).filter(({ cells }) => cells.some((cell) => trimmed(cell) !== ''));
  const [first] = all;
  if (first === undefined) throw new CsvFault('is empty');
  const hasHead = reading.hasHead ?? !first.cells.some(looksLikeAddress);
  const rows = hasHead ? all.slice(1) : all;
  const columns = hasHead ? first.cells.length : rows.reduce((most, { cells }) => Math.max(most, cells.length), 0);
  if (columns > COLUMNS_MAX) throw new CsvFault(`has ${columns} columns; at most ${COLUMNS_MAX} are read`);
  if (rows.length === 0) throw new CsvFault('has no rows below the names of its columns');
  if (rows.length > ROWS_MAX)
    throw new CsvFault(
      `has ${rows.length.toLocaleString('en')} rows; at most ${ROWS_MAX.toLocaleString('en')} are read. Send it by \`sealpost bulk send\` on the machine of the service`,
    );
  return {
    encoding,
    delimiter,
    hasHead,
    head: hasHead ? first.cells.map(trimmed) : Array.from({ length: columns }, (_, at) => `Column ${at + 1}`),
    rows,
  };
};

const marks: readonly (readonly [Encoding, readonly number[]])[] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];

/** By its mark; without one, a text that is no UTF-8 is taken for Windows-1252, as spreadsheets in Europe write it. */
const encodingOf = (bytes: Uint8Array): Encoding => {
  const marked = marks.find(([, mark]) => mark.every((byte, at) => bytes[at] === byte));
  if (marked !== undefined) return marked[0];
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return 'utf-8';
  } catch {
    return 'windows-1252';
  }
};

/** A NUL stands in no table; spreadsheets and archives are full of them. Line breaks of all kinds become LF. */
const decoded = (bytes: Uint8Array, encoding: Encoding): string => {
  const text = new TextDecoder(encoding).decode(bytes).replace(/^\ufeff+/, '');
  if (text.includes('\0') || text.startsWith('PK\u0003\u0004'))
    throw new CsvFault('is no text; save the spreadsheet as "CSV UTF-8"');
  return text.replace(/\r\n?/g, '\n');
};

/** Spreadsheets write and read a first line such as `sep=;`. */
const withoutDelimiterLine = (
  text: string,
): Readonly<{ text: string; firstLine: number; named: Delimiter | undefined }> => {
  const [line, delimiter] = /^"?sep=(.)"?\n/i.exec(text) ?? [];
  const named = delimiters.find((one) => one === delimiter);
  if (line === undefined || named === undefined) return { text, firstLine: 1, named: undefined };
  return { text: text.slice(line.length), firstLine: 2, named };
};

/** The delimiter that stands most often in the first row outside of quotes. */
const delimiterOf = (text: string): Delimiter => {
  const start = text.search(/\S/);
  const counts = new Map<string, number>();
  let isQuoted = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && character === '\n') break;
    else if (!isQuoted) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  return delimiters.reduce<Delimiter>(
    (best, one) => ((counts.get(one) ?? 0) > (counts.get(best) ?? 0) ? one : best),
    ',',
  );
};

const rowsOf = (text: string, firstLine: number, delimiter: Delimiter): readonly Row[] => {
  const { data, errors } = Papa.parse<readonly string[]>(text, { delimiter, newline: '\n', skipEmptyLines: false });
  const rows: Row[] = [];
  let line = firstLine;
  for (const cells of data) {
    rows.push({ line, cells });
    line += 1;
    for (const cell of cells) line += breaksIn(cell);
  }
  const fault = errors.find(({ type }) => type === 'Quotes');
  if (fault !== undefined)
    throw new CsvFault(
      `is no CSV at line ${rows[fault.row ?? 0]?.line ?? line}: a quote is never closed, or text follows the one that closes it; quotes inside of a quoted cell are doubled`,
    );
  return rows;
};

const breaksIn = (cell: string): number => {
  let breaks = 0;
  for (let at = cell.indexOf('\n'); at !== -1; at = cell.indexOf('\n', at + 1)) breaks += 1;
  return breaks;
};

/** Without blanks and characters that nobody sees at both ends. */
export const trimmed = (text: string): string => {
  let start = 0;
  let end = text.length;
  while (start < end && UNSEEN.test(text.charAt(start))) start += 1;
  while (end > start && UNSEEN.test(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
};

const UNSEEN = /[\s\p{Default_Ignorable_Code_Point}]/u;

export const looksLikeAddress = (cell: string): boolean => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(trimmed(cell));

/**
 * In: the names of columns and rows. Out: CSV (RFC 4180) for spreadsheets, which run no cell of it as a formula: one
 * that begins like a formula gets an apostrophe in front, as in the other files of the service.
 */
export const csvOf = (fields: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  `\ufeff${Papa.unparse({ fields: [...fields], data: rows.map((row) => [...row]) }, { newline: '\r\n', escapeFormulae: FORMULA })}\r\n`;

/** The beginnings that the service escapes, too. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

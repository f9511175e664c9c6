/** Reads recipients from an uploaded file, for bulk sends and suppressions: CSV (RFC 4180) with a header row, or JSON lines, in UTF-8. */
import { Type, type Static } from '@sinclair/typebox';
import { isUtf8 } from 'node:buffer';
import { needsEscape } from '../../domain/core/json.js';
import { invalid, DomainError } from '../../domain/core/errors.js';
import type { Limits } from '../../domain/core/limits.js';
import { nextTurn } from '../../shared/concurrency.js';

/** `lines`: the line in which each recipient begins, from 1. The recipients are not validated yet. */
export type FileRecipients = Readonly<{ recipients: readonly unknown[]; lines: readonly number[] }>;

export type FileOptions = Readonly<{
  /** The columns to read of a CSV; absent: `email`, `name`, and every other as a variable of its name, `locale` and `timeZone` too. */
  columns?: Columns | undefined;
  /** The types that the template declares of its variables. */
  types: ReadonlyMap<string, string>;
  /** Reads one JSON line. Throws DomainError. */
  parseLine: (bytes: Buffer) => unknown;
  /** A file with more recipients is refused, and one with more than as many rows without content. */
  rowsMax: number;
  limits: Pick<Limits, 'templateVariablesMax'>;
}>;

/** Rejects with VALIDATION_ERROR, which names the line. */
export const readRecipientFile = async (bytes: Buffer, options: FileOptions): Promise<FileRecipients> => {
  const text = withoutMark(bytes);
  const first = contentAt(text, 0, text.length);
  if (first === text.length) throw fileFault('is empty');
  const read = await readRows(text, text[first] === OPEN_BRACE ? jsonRows(text, options) : csvRows(text, options), options.rowsMax);
  if (read.recipients.length === 0) throw fileFault('has no recipients below its head');
  return read;
};

export const fileFault = (message: string): DomainError => invalid('upload', 'file', message);

const column = Type.String({ minLength: 1, maxLength: 255 });
export const ColumnsSchema = Type.Object(
  {
    email: Type.Optional(column),
    name: Type.Optional(column),
    locale: Type.Optional(column),
    timeZone: Type.Optional(column),
    variables: Type.Optional(Type.Record(column, column)),
  },
  { additionalProperties: false },
);
export type Columns = Static<typeof ColumnsSchema>;

/**
 * Reads the row that begins at the offset `from`, in the line `line`, and looks at no more bytes than one row may have. Out: the offset of
 * the next row, the line breaks before it, and the recipient; undefined for a head and for a row without content. Throws VALIDATION_ERROR.
 */
type ReadRow = (from: number, line: number) => Readonly<{ end: number; breaks: number; recipient: unknown }>;

/** Turns one row into a recipient; `line` is where the row begins. Throws VALIDATION_ERROR. */
type ReadRecord = (record: readonly string[], line: number) => unknown;

type Variable = Readonly<{ name: string; at: number; type: string | undefined }>;

/** In: the header row. Throws VALIDATION_ERROR if a wanted column is missing or stands twice. */
const recipientReader = (given: readonly string[], { columns = {}, types }: FileOptions): ReadRecord => {
  const head = given.map((name) => name.trim());
  const emailAt = placeOf(head, 'columns.email', columns.email ?? standard(head, 'email'));
  const named = columns.name ?? standard(head, 'name');
  const nameAt = head.includes(named) || columns.name !== undefined ? placeOf(head, 'columns.name', named) : undefined;
  const optional = (['locale', 'timeZone'] as const).flatMap((field) => {
    const column = columns[field];
    return column === undefined ? [] : [{ field, at: placeOf(head, `columns.${field}`, column) }];
  });
  const own = new Set([emailAt, nameAt, ...optional.map(({ at }) => at)]);
  const wanted = columns.variables ?? Object.fromEntries(head.flatMap((name, at) => (own.has(at) ? [] : [[name, name]])));
  if (columns.variables === undefined) refuseUnnamed(head);
  const variables = Object.entries(wanted).map(([name, from]): Variable => ({
    name,
    at: placeOf(head, `columns.variables.${name}`, from),
    type: types.get(name),
  }));
  return (record, line) => {
    if (record.length !== head.length)
      throw fileFault(
        `has ${record.length} cells in line ${line} and ${head.length} in its head; cells with a delimiter inside stand in quotes`,
      );
    const name = nameAt === undefined ? '' : record[nameAt]!.trim();
    return {
      email: record[emailAt]!.trim(),
      ...(name === '' ? {} : { name }),
      // If the cell is empty, the value of the call applies.
      ...Object.fromEntries(optional.flatMap(({ field, at }) => (record[at]!.trim() === '' ? [] : [[field, record[at]!.trim()]]))),
      // If the cell is empty, the variable is absent.
      variables: Object.fromEntries(
        variables.flatMap(({ name: variable, at, type }) => (record[at] === '' ? [] : [[variable, valueOf(record[at]!, type)]])),
      ),
    };
  };
};

const standard = (head: readonly string[], name: string): string => head.find((one) => one.toLowerCase() === name) ?? name;

const placeOf = (head: readonly string[], field: string, name: string): number => {
  const at = head.indexOf(name);
  const has = `; the file has ${head
    .slice(0, 20)
    .map((one) => JSON.stringify(one))
    .join(', ')}`;
  if (at === -1) throw invalid('upload', field, `means the column ${JSON.stringify(name)}, which is not there${has}`);
  if (head.indexOf(name, at + 1) !== -1) throw fileFault(`has two columns ${JSON.stringify(name)}`);
  return at;
};

const refuseUnnamed = (head: readonly string[]): void => {
  const at = head.indexOf('');
  if (at !== -1) throw fileFault(`has no name above column ${at + 1}`);
  const escaped = head.find(needsEscape);
  if (escaped !== undefined) throw fileFault(`has the column ${JSON.stringify(escaped)}, whose name has a quotation mark or a backslash`);
};

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A cell that does not fit the declared type stays text; the check of the template then reports it. */
const valueOf = (cell: string, type: string | undefined): unknown => {
  const text = cell.trim();
  if (type === 'number' && NUMBER.test(text)) return Number(text);
  if (type === 'boolean' && /^(?:true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  return cell;
};

const withoutMark = (bytes: Buffer): Buffer => {
  const [first, second, third] = bytes;
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || bytes.includes(0);
  if (isWide || !isUtf8(bytes)) throw fileFault(`is not UTF-8${isWide ? ' but UTF-16, or no text' : ''}; save it as "CSV UTF-8"`);
  return first === 0xef && second === 0xbb && third === 0xbf ? bytes.subarray(3) : bytes;
};

/** Rows, and bytes, that are read in one turn of the event loop. */
const ROWS_AT_ONCE = 50;
const BYTES_AT_ONCE = 64 * 1024;

/** Counts every row that is read, so that rows without content cost no more than others. */
const readRows = async (bytes: Buffer, read: ReadRow, rowsMax: number): Promise<FileRecipients> => {
  const recipients: unknown[] = [];
  const lines: number[] = [];
  let line = 1;
  let turn = { rows: 0, from: 0 };
  for (let from = 0, rows = 1; from < bytes.length; rows += 1) {
    if (rows > rowsAllMax(rowsMax))
      throw fileFault(`has more than ${rowsAllMax(rowsMax)} rows, many of them without content; remove those`);
    const { end, breaks, recipient } = read(from, line);
    if (recipient !== undefined) {
      if (recipients.length === rowsMax) throw fileFault(`has more than ${rowsMax} recipients, the most of one call`);
      recipients.push(recipient);
      lines.push(line);
    }
    line += breaks;
    from = end;
    if (rows - turn.rows < ROWS_AT_ONCE && from - turn.from < BYTES_AT_ONCE) continue;
    await nextTurn();
    turn = { rows, from };
  }
  return { recipients, lines };
};

/** The head, the recipients, and an empty row for each of them. */
const rowsAllMax = (rowsMax: number): number => 1 + 2 * rowsMax;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BLANK = 0x20;
const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;

/** The offset of the first byte that is no blank; `end` if there is none. */
const contentAt = (bytes: Buffer, from: number, end: number): number => {
  let at = from;
  while (at < end && bytes[at]! <= BLANK) at += 1;
  return at;
};

/** A recipient whose variables, and those of its attachments, are all as large as they may be has about half of that. */
const JSON_LINE_BYTES_MAX = 2 * 1024 * 1024;

const jsonRows = (bytes: Buffer, { columns, parseLine }: FileOptions): ReadRow => {
  if (columns !== undefined) throw invalid('upload', 'columns', 'is for CSV; the file has JSON lines');
  return (from, line) => {
    const found = bytes.subarray(from, from + JSON_LINE_BYTES_MAX + 1).indexOf(LINE_FEED);
    const end = found === -1 ? bytes.length : from + found;
    if (end - from > JSON_LINE_BYTES_MAX) throw fileFault(`has more than ${JSON_LINE_BYTES_MAX / 1024 / 1024} MB in line ${line}`);
    const hasContent = contentAt(bytes, from, end) < end;
    return { end: end + 1, breaks: 1, recipient: hasContent ? lineOf(bytes.subarray(from, end), line, parseLine) : undefined };
  };
};

const lineOf = (bytes: Buffer, line: number, parseLine: FileOptions['parseLine']): unknown => {
  try {
    return parseLine(bytes);
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    throw fileFault(`has in line ${line} no recipient such as {"email": "ada@example.com"} (${fault.message.replace(/\.$/, '')})`);
  }
};

/** Comma, semicolon or tab: the one that stands most often in the header row, outside of quotes. */
const delimiterOf = (bytes: Buffer): string => {
  const [head = ''] = bytes
    .toString('utf8', 0, HEAD_BYTES)
    .replaceAll(/"[^"]*"/g, '')
    .split(/[\r\n]/);
  const count = (delimiter: string): number => head.split(delimiter).length;
  return [',', ';', '\t'].reduce((best, delimiter) => (count(delimiter) > count(best) ? delimiter : best));
};

const HEAD_BYTES = 64 * 1024;
/** The variables of a recipient have at most 100 KB. */
const ROW_BYTES_MAX = 256 * 1024;

const csvRows = (bytes: Buffer, options: FileOptions): ReadRow => {
  // A column for each variable, and those of the address, the name, the locale and the time zone.
  const form = { delimiter: delimiterOf(bytes).charCodeAt(0), cellsMax: options.limits.templateVariablesMax + 4 };
  let read: ReadRecord | undefined;
  return (from, line) => {
    const { cells, ...row } = cellsAt(bytes, { from, line }, form);
    if (read !== undefined) return { ...row, recipient: cells.every((cell) => cell === '') ? undefined : read(cells, line) };
    const isEmpty = cells.length === 1 && cells[0] === '';
    if (!isEmpty) read = recipientReader(cells, options);
    return { ...row, recipient: undefined };
  };
};

type CsvForm = Readonly<{ delimiter: number; cellsMax: number }>;
type CsvRow = Readonly<{ cells: readonly string[]; end: number; breaks: number }>;
type RowStart = Readonly<{ from: number; line: number }>;

/** Reads one row of CSV (RFC 4180). Lines end with LF, CRLF or CR. */
const cellsAt = (bytes: Buffer, { from, line }: RowStart, { delimiter, cellsMax }: CsvForm): CsvRow => {
  const cells: string[] = [];
  const stop = Math.min(bytes.length, from + ROW_BYTES_MAX);
  let breaks = 0;
  for (let at = from; ; at += 1) {
    if (cells.length === cellsMax) throw fileFault(`has more than ${cellsMax} cells in line ${line}, the most that is read`);
    const isQuoted = bytes[at] === QUOTE;
    const end = isQuoted ? quoteEnd(bytes, at + 1, stop) : plainEnd(bytes, { at, stop, delimiter });
    const next = isQuoted ? end + 1 : end;
    if (end === stop && stop < bytes.length) throw rowTooLong(line);
    if ((isQuoted && end === stop) || !endsCell(bytes[next], delimiter)) throw noCsv(line + breaks);
    const text = bytes.toString('utf8', isQuoted ? at + 1 : at, end);
    if (isQuoted) breaks += text.match(LINE_BREAK)?.length ?? 0;
    cells.push(isQuoted ? text.replaceAll('""', '"') : text);
    if (bytes[next] !== delimiter) return { cells, end: next + (isCrLf(bytes, next) ? 2 : 1), breaks: breaks + 1 };
    at = next;
  }
};

const LINE_BREAK = /\r\n|\r|\n/g;

const isCrLf = (bytes: Buffer, at: number): boolean => bytes[at] === CARRIAGE_RETURN && bytes[at + 1] === LINE_FEED;

/** A cell ends before a delimiter, a line break or the end of the file. */
const endsCell = (byte: number | undefined, delimiter: number): boolean =>
  byte === undefined || byte === delimiter || byte === LINE_FEED || byte === CARRIAGE_RETURN;

/** The offset at which a cell without quotes ends, or that of a quote in it; at most `stop`. */
const plainEnd = (bytes: Buffer, { at, stop, delimiter }: Readonly<{ at: number; stop: number; delimiter: number }>): number => {
  let end = at;
  while (end < stop && bytes[end] !== QUOTE && !endsCell(bytes[end], delimiter)) end += 1;
  return end;
};

/** The offset of the closing quote, where two quotes stand for one in the cell; `stop` if there is none. */
const quoteEnd = (bytes: Buffer, from: number, stop: number): number => {
  let at = from;
  while (at < stop && !(bytes[at] === QUOTE && bytes[at + 1] !== QUOTE)) at += bytes[at] === QUOTE ? 2 : 1;
  return Math.min(at, stop);
};

const rowTooLong = (line: number): DomainError =>
  fileFault(`has a row of more than ${ROW_BYTES_MAX / 1024} KB, or a quote that is never closed, at line ${line}`);

const noCsv = (line: number): DomainError =>
  fileFault(`is no CSV at line ${line}: a quote stands where none may, or is never closed; quotes inside of a quoted cell are doubled`);

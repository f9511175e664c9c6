/**
 * Reads recipients from an uploaded file, for bulk sends and suppressions: CSV (RFC 4180) with a header row, as
 * spreadsheets write and read it, or JSON lines, in UTF-8.
 */
import { Type, type Static } from '@sinclair/typebox';
import { isUtf8 } from 'node:buffer';
import { losesDigits, needsEscape } from '../../domain/core/json.js';
import { invalid, DomainError } from '../../domain/core/errors.js';
import type { Limits } from '../../domain/core/limits.js';
import { parseAddress } from '../../domain/mime/address.js';
import { nextTurn } from '../../shared/concurrency.js';
import { parsePath, writePath } from '../../domain/rendering/scope/path.js';
import { editDistance, trimmed } from '../../shared/text.js';

/**
 * `lines`: the line in which each recipient begins, from 1. `warnings`: columns whose name is nearly that of a
 * variable. The recipients are not validated yet.
 */
export type FileRecipients = Readonly<{
  recipients: readonly unknown[];
  lines: readonly number[];
  warnings: readonly string[];
}>;

export type FileOptions = Readonly<{
  /**
   * The columns to read of a CSV; absent: `email`, `name`, and every other as a variable of its name, `locale` and
   * `timeZone` too.
   */
  columns?: Columns | undefined;
  /**
   * The types that the template declares of its variables, and of the members of objects by their path, such as
   * `customer.firstName`.
   */
  types: ReadonlyMap<string, string>;
  /**
   * The column of addresses is known by one of these names, by their letters alone and in any case, or by its content
   * where the file has no header row. Absent: it is named `email`.
   */
  addressNames?: readonly string[];
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
  if (text[first] === OPEN_BRACKET && text[contentAt(text, first + 1, text.length)] === OPEN_BRACE)
    throw fileFault(
      'is a JSON array; write one object a line (JSON lines), without the brackets and the commas between them',
    );
  const warnings: string[] = [];
  const readRow = text[first] === OPEN_BRACE ? jsonRows(text, options) : csvRows(text, options, warnings);
  const read = await readRows(text, readRow, options.rowsMax);
  if (read.recipients.length === 0) throw fileFault('has no recipients below its head');
  return { ...read, warnings };
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
 * Reads the row that begins at the offset `from`, in the line `line`, and looks at no more bytes than one row may have.
 * Out: the offset of the next row, the line breaks before it, and the recipient; undefined for a head and for a row
 * without content. Throws VALIDATION_ERROR.
 */
type ReadRow = (from: number, line: number) => Readonly<{ end: number; breaks: number; recipient: unknown }>;

/** Turns one row into a recipient; `line` is where the row begins. Throws VALIDATION_ERROR. */
type ReadRecord = (record: readonly string[], line: number) => unknown;

/** The `path` of a variable: a column `customer.firstName` fills the member of the object. */
type Variable = Readonly<{ path: readonly string[]; at: number; type: string | undefined }>;

/** In: the header row. Throws VALIDATION_ERROR if a wanted column is missing or stands twice. */
const recipientReader = (head: readonly string[], options: FileOptions, warnings: string[]): ReadRecord => {
  const { columns = {}, types } = options;
  const emailAt = placeOf(head, 'columns.email', columns.email ?? addressColumn(head, options));
  const named = columns.name ?? standard(head, 'name');
  const nameAt = head.includes(named) || columns.name !== undefined ? placeOf(head, 'columns.name', named) : undefined;
  const optional = (['locale', 'timeZone'] as const).flatMap((field) => {
    const column = columns[field];
    return column === undefined ? [] : [{ field, at: placeOf(head, `columns.${field}`, column) }];
  });
  const own = new Set([emailAt, nameAt, ...optional.map(({ at }) => at)]);
  const wanted =
    columns.variables ??
    Object.fromEntries(head.flatMap((name, at) => (own.has(at) || name === '' ? [] : [[name, name]])));
  if (columns.variables === undefined) refuseEscaped(head);
  const variables = Object.entries(wanted).map(([name, from]): Variable => {
    const path = pathOf(name, types);
    return { path, at: placeOf(head, `columns.variables.${name}`, from), type: types.get(writePath(path)) };
  });
  refuseOverlaps(variables);
  warnings.push(...misspelt(variables, head, types));
  return (record, line) => {
    refuseUnnamed(record, { head, line, isEachRead: columns.variables === undefined });
    const cellAt = (at: number): string => record[at] ?? '';
    const name = nameAt === undefined ? '' : cellAt(nameAt).trim();
    const values: Values = {};
    // If the cell is empty, the variable is absent.
    for (const { path, at, type } of variables)
      if (cellAt(at) !== '') put(values, path, valueOf(cellAt(at), type, { ...options, line }));
    return {
      email: trimmed(cellAt(emailAt)),
      ...(name === '' ? {} : { name }),
      // If the cell is empty, the value of the call applies.
      ...Object.fromEntries(
        optional.flatMap(({ field, at }) => (cellAt(at).trim() === '' ? [] : [[field, cellAt(at).trim()]])),
      ),
      variables: values,
    };
  };
};

const standard = (head: readonly string[], name: string): string =>
  head.find((one) => one.toLowerCase() === name) ?? name;

/** A name by its letters and digits alone: `E-Mail Address` and `EmailAddress` are one. */
export const lettersOf = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

const addressColumn = (head: readonly string[], { addressNames }: FileOptions): string => {
  if (addressNames === undefined) return standard(head, 'email');
  const found = addressNames.flatMap((name) => head.find((one) => lettersOf(one) === name) ?? [])[0];
  if (found === undefined)
    throw fileFault(`has no column of addresses, such as "email" or "Email Address"; it has ${listed(head)}`);
  return found;
};

const listed = (head: readonly string[]): string =>
  head
    .slice(0, 20)
    .map((one) => JSON.stringify(one))
    .join(', ');

const placeOf = (head: readonly string[], field: string, name: string): number => {
  const at = head.indexOf(name);
  if (at === -1)
    throw invalid(
      'upload',
      field,
      `means the column ${JSON.stringify(name)}, which is not there; the file has ${listed(head)}`,
    );
  if (head.indexOf(name, at + 1) !== -1) throw fileFault(`has two columns ${JSON.stringify(name)}`);
  return at;
};

const refuseEscaped = (head: readonly string[]): void => {
  const escaped = head.find(needsEscape);
  if (escaped !== undefined)
    throw fileFault(`has the column ${JSON.stringify(escaped)}, whose name has a quotation mark or a backslash`);
};

type Place = Readonly<{ head: readonly string[]; line: number; isEachRead: boolean }>;

/** Columns without a name may be empty: spreadsheets write them where cells once were. */
const refuseUnnamed = (record: readonly string[], { head, line, isEachRead }: Place): void => {
  const isFilled = (at: number): boolean => (record[at] ?? '').trim() !== '';
  for (let at = head.length; at < record.length; at += 1)
    if (isFilled(at))
      throw fileFault(
        `has ${record.length} cells in line ${line} and ${head.length} in its head; cells with a delimiter inside stand in quotes`,
      );
  const unnamed = isEachRead ? head.findIndex((name, at) => name === '' && isFilled(at)) : -1;
  if (unnamed !== -1) throw fileFault(`has no name above column ${unnamed + 1}, which has a value in line ${line}`);
};

/**
 * Objects in objects, at most so many; a column whose name has more dots is a variable of that name, and so is one that
 * the template declares. A name with keys in brackets, `order["1st item"]`, is read as templates read it.
 */
const PATH_NAMES_MAX = 8;

const pathOf = (name: string, types: FileOptions['types']): readonly string[] => {
  if (types.has(writePath([name]))) return [name];
  const parsed = name.includes('[') ? parsePath(name, PATH_NAMES_MAX) : undefined;
  if (parsed?.ok === true && parsed.path.every((step) => typeof step === 'string')) return parsed.path;
  const names = name.split('.');
  return names.length > PATH_NAMES_MAX || names.some((one) => one.trim() !== one || one === '' || one === '__proto__')
    ? [name]
    : names;
};

const refuseOverlaps = (variables: readonly Variable[]): void => {
  const whole = new Set(variables.map(({ path }) => writePath(path)));
  for (const { path } of variables)
    for (let length = 1; length < path.length; length += 1) {
      const outer = writePath(path.slice(0, length));
      if (whole.has(outer))
        throw fileFault(
          `fills the variable ${outer} by the column ${writePath(path)} and by one of its own; leave out one`,
        );
    }
};

const EDITS_MAX = 2;
const GUESSED_CHARS_MAX = 64;
const GUESSES_MAX = 20;

/**
 * A column that fills no variable of the template, and whose name is nearly that of a variable that no column fills.
 */
const misspelt = (
  variables: readonly Variable[],
  head: readonly string[],
  types: FileOptions['types'],
): readonly string[] => {
  const filled = new Set(variables.map(({ path }) => writePath(path)));
  const free = [...types.keys()].filter((name) => !filled.has(name) && name.length <= GUESSED_CHARS_MAX);
  const unknown = variables.filter(({ path, type }) => type === undefined && !types.has(writePath(path.slice(0, 1))));
  return unknown.slice(0, GUESSES_MAX).flatMap(({ path, at }) => {
    const letters = lettersOf(path.join('.'));
    const near = free.find((name) => {
      const known = lettersOf(name);
      return (
        letters === known ||
        (known.length > 2 * EDITS_MAX &&
          letters.length <= GUESSED_CHARS_MAX &&
          editDistance(letters, known) <= EDITS_MAX)
      );
    });
    return near === undefined
      ? []
      : [`the column ${JSON.stringify(head[at])} fills no variable of the template; did you mean ${near}?`];
  });
};

type Values = { [name: string]: unknown };

/** No path is the beginning of another, so what stands at one of its objects is an object. */
const put = (values: Values, path: readonly string[], value: unknown): void => {
  let target = values;
  for (const name of path.slice(0, -1)) {
    if (!Object.hasOwn(target, name)) target[name] = {};
    target = target[name] as Values;
  }
  Object.defineProperty(target, path.at(-1)!, { value, writable: true, enumerable: true, configurable: true });
};

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** No number that a double holds is written with more. */
const NUMBER_CHARS_MAX = 400;

/**
 * A cell that does not fit the declared type stays text; the check of the template then reports it. Objects and lists
 * are written as JSON. Throws VALIDATION_ERROR if that is none.
 */
const valueOf = (
  cell: string,
  type: string | undefined,
  { parseLine, line }: Pick<FileOptions, 'parseLine'> & { line: number },
): unknown => {
  const text = cell.trim();
  if (type === 'number' && text.length <= NUMBER_CHARS_MAX && NUMBER.test(text) && !losesDigits(text))
    return Number(text);
  if (type === 'boolean' && /^(?:true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  if ((type === 'object' && text.startsWith('{')) || (type === 'array' && text.startsWith('[')))
    return lineOf(
      Buffer.from(text),
      parseLine,
      (why) => `has in line ${line} a cell that is not the JSON it begins as (${why})`,
    );
  return cell;
};

const withoutMark = (bytes: Buffer): Buffer => {
  const [first, second, third] = bytes;
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || bytes.includes(0);
  if (isWide || !isUtf8(bytes))
    throw fileFault(`is not UTF-8${isWide ? ' but UTF-16, or no text' : ''}; save it as "CSV UTF-8"`);
  return first === 0xef && second === 0xbb && third === 0xbf ? withoutMark(bytes.subarray(3)) : bytes;
};

/** Rows, and bytes, that are read in one turn of the event loop. */
const ROWS_AT_ONCE = 50;
const BYTES_AT_ONCE = 64 * 1024;

/** Counts every row that is read, so that rows without content cost no more than others. */
const readRows = async (bytes: Buffer, read: ReadRow, rowsMax: number): Promise<Omit<FileRecipients, 'warnings'>> => {
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
const TAB = 0x09;
const BLANK = 0x20;
const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

/** The offset of the first byte that is no blank; `end` if there is none. */
const contentAt = (bytes: Buffer, from: number, end: number): number => {
  let at = from;
  while (at < end && bytes[at]! <= BLANK) at += 1;
  return at;
};

/**
 * A recipient whose variables, and those of its attachments, are all as large as they may be has about half of that.
 */
const JSON_LINE_BYTES_MAX = 2 * 1024 * 1024;

const jsonRows = (bytes: Buffer, { columns, parseLine }: FileOptions): ReadRow => {
  if (columns !== undefined) throw invalid('upload', 'columns', 'is for CSV; the file has JSON lines');
  return (from, line) => {
    const found = bytes.subarray(from, from + JSON_LINE_BYTES_MAX + 1).indexOf(LINE_FEED);
    const end = found === -1 ? bytes.length : from + found;
    if (end - from > JSON_LINE_BYTES_MAX)
      throw fileFault(`has more than ${JSON_LINE_BYTES_MAX / 1024 / 1024} MB in line ${line}`);
    const hasContent = contentAt(bytes, from, end) < end;
    return {
      end: end + 1,
      breaks: 1,
      recipient: hasContent ? recipientOf(bytes.subarray(from, end), line, parseLine) : undefined,
    };
  };
};

const recipientOf = (bytes: Buffer, line: number, parseLine: FileOptions['parseLine']): unknown =>
  lineOf(bytes, parseLine, (why) => `has in line ${line} no recipient such as {"email": "ada@example.com"} (${why})`);

/** `saying`: the message of the fault, with why the text is no JSON. */
const lineOf = (bytes: Buffer, parseLine: FileOptions['parseLine'], saying: (why: string) => string): unknown => {
  try {
    return parseLine(bytes);
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    throw fileFault(saying(fault.message.replace(/\.$/, '')));
  }
};

/**
 * The one that a first line `sep=;` names, as spreadsheets write it; else comma, semicolon or tab: the one that stands
 * most often in the header row, outside of quotes.
 */
const delimiterOf = (bytes: Buffer): string => {
  const [head = ''] = bytes
    .toString('utf8', 0, HEAD_BYTES)
    .replaceAll(/"[^"]*"/g, '')
    .split(/[\r\n]/);
  const told = SEPARATOR.exec(head)?.[1];
  if (told !== undefined) return told;
  const count = (delimiter: string): number => head.split(delimiter).length;
  return [',', ';', '\t'].reduce((best, delimiter) => (count(delimiter) > count(best) ? delimiter : best));
};

const SEPARATOR = /^sep=([,;\t|])$/i;

const HEAD_BYTES = 64 * 1024;
/** The variables of a recipient have at most 100 KB. */
const ROW_BYTES_MAX = 256 * 1024;

const csvRows = (bytes: Buffer, options: FileOptions, warnings: string[]): ReadRow => {
  // A column for each variable, and those of the address, the name, the locale and the time zone.
  const form = { delimiter: delimiterOf(bytes).charCodeAt(0), cellsMax: options.limits.templateVariablesMax + 4 };
  let read: ReadRecord | undefined;
  return (from, line) => {
    const { cells, ...row } = cellsAt(bytes, { from, line }, form);
    const isEmpty = cells.every((cell) => cell.trim() === '');
    if (read !== undefined) return { ...row, recipient: isEmpty ? undefined : read(cells, line) };
    if (isEmpty || SEPARATOR.test(cells.join(String.fromCharCode(form.delimiter))))
      return { ...row, recipient: undefined };
    const unnamed = headlessColumns(cells, options);
    read = recipientReader(unnamed ?? cells.map(trimmed), options, warnings);
    return { ...row, recipient: unnamed === undefined ? undefined : read(cells, line) };
  };
};

/**
 * Names for the columns of a file of addresses that has no header row, so that its first row has an address; undefined
 * for any other file.
 */
const headlessColumns = (cells: readonly string[], { addressNames }: FileOptions): readonly string[] | undefined => {
  const at = addressNames === undefined ? -1 : cells.findIndex((cell) => parseAddress(trimmed(cell)).ok);
  return at === -1 ? undefined : cells.map((_, index) => (index === at ? 'email' : `column ${index + 1}`));
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
    if (cells.length === cellsMax)
      throw fileFault(`has more than ${cellsMax} cells in line ${line}, the most that is read`);
    const cell = cellAt(bytes, { at, stop, delimiter });
    if (cell.next >= stop && stop < bytes.length) throw rowTooLong(line);
    if (cell.isBroken) throw noCsv(line + breaks);
    breaks += cell.breaks;
    cells.push(cell.text);
    if (bytes[cell.next] !== delimiter)
      return { cells, end: cell.next + (isCrLf(bytes, cell.next) ? 2 : 1), breaks: breaks + 1 };
    at = cell.next;
  }
};

const LINE_BREAK = /\r\n|\r|\n/g;

const isCrLf = (bytes: Buffer, at: number): boolean => bytes[at] === CARRIAGE_RETURN && bytes[at + 1] === LINE_FEED;

/** A cell ends before a delimiter, a line break or the end of the file. */
const endsCell = (byte: number | undefined, delimiter: number): boolean =>
  byte === undefined || byte === delimiter || byte === LINE_FEED || byte === CARRIAGE_RETURN;

type CellStart = Readonly<{ at: number; stop: number; delimiter: number }>;
/**
 * `next`: the offset of what ends the cell. `breaks`: line breaks in its quotes. `isBroken`: a quote is never closed,
 * or text follows one that closes lines later.
 */
type Cell = Readonly<{ text: string; next: number; breaks: number; isBroken: boolean }>;

/**
 * As spreadsheets read it: a quote inside of a cell that does not begin with one is text, and so is what follows a
 * closing quote in its line. Blanks around a quoted cell are left aside.
 */
const cellAt = (bytes: Buffer, { at, stop, delimiter }: CellStart): Cell => {
  const open = blanksEnd(bytes, { at, stop, delimiter });
  const close = bytes[open] === QUOTE ? quoteEnd(bytes, open + 1, stop) : stop;
  const after = blanksEnd(bytes, { at: Math.min(close + 1, stop), stop, delimiter });
  const isQuoted = close < stop && endsCell(bytes[after], delimiter);
  if (!isQuoted && (open > at || bytes[open] !== QUOTE)) {
    const next = plainEnd(bytes, { at, stop, delimiter });
    return { text: bytes.toString('utf8', at, next), next, breaks: 0, isBroken: false };
  }
  if (close === stop) return { text: '', next: stop, breaks: 0, isBroken: true };
  const inside = bytes.toString('utf8', open + 1, close);
  const breaks = inside.match(LINE_BREAK)?.length ?? 0;
  const next = isQuoted ? after : plainEnd(bytes, { at: close + 1, stop, delimiter });
  const rest = isQuoted ? '' : bytes.toString('utf8', close + 1, next);
  return { text: inside.replaceAll('""', '"') + rest, next, breaks, isBroken: !isQuoted && breaks > 0 };
};

/** The offset behind blanks and tabs; at most `stop`. */
const blanksEnd = (bytes: Buffer, { at, stop, delimiter }: CellStart): number => {
  let end = at;
  while (end < stop && bytes[end] !== delimiter && (bytes[end] === BLANK || bytes[end] === TAB)) end += 1;
  return end;
};

/** The offset at which a cell without quotes ends; at most `stop`. */
const plainEnd = (bytes: Buffer, { at, stop, delimiter }: CellStart): number => {
  let end = at;
  while (end < stop && !endsCell(bytes[end], delimiter)) end += 1;
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
  fileFault(
    `is no CSV at line ${line}: a quote is never closed, or text follows the one that closes it; quotes inside of a quoted cell are doubled`,
  );

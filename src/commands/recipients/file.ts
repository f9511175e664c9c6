/** Reads recipients from an uploaded file, for bulk sends and suppressions: CSV (RFC 4180) with a header row, or JSON lines, in UTF-8. */
import { Type, type Static } from '@sinclair/typebox';
import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
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
  /** A file with more recipients is refused. */
  rowsMax: number;
  limits: Pick<Limits, 'templateVariablesMax'>;
}>;

/** Rejects with VALIDATION_ERROR, which names the line. */
export const readRecipientFile = async (bytes: Buffer, options: FileOptions): Promise<FileRecipients> => {
  const text = withoutMark(bytes);
  const first = text.find((byte) => byte > 0x20);
  if (first === undefined) throw fileFault('is empty');
  const read = first === 0x7b ? await readJsonLines(text, options) : await readCsv(text, options);
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

/** Turns one row into a recipient; `line` is where the row begins. Throws VALIDATION_ERROR. */
type ReadRecord = (record: readonly string[], line: number) => unknown;

type Variable = Readonly<{ name: string; at: number; type: string | undefined }>;

/** In: the header row. Throws VALIDATION_ERROR if a wanted column is missing or stands twice. */
const recipientReader = (given: readonly string[], { columns = {}, types, limits }: FileOptions): ReadRecord => {
  const head = given.map((name) => name.trim());
  const max = limits.templateVariablesMax + 4;
  if (head.length > max) throw fileFault(`has ${head.length} columns; at most ${max} are read`);
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

const tooMany = (rowsMax: number): DomainError => fileFault(`has more than ${rowsMax} recipients, the most of one call`);

/** Lines that are read in one turn of the event loop. */
const LINES_AT_ONCE = 50;
const LINE_FEED = 0x0a;

const readJsonLines = async (bytes: Buffer, { columns, parseLine, rowsMax }: FileOptions): Promise<FileRecipients> => {
  if (columns !== undefined) throw invalid('upload', 'columns', 'is for CSV; the file has JSON lines');
  const recipients: unknown[] = [];
  const lines: number[] = [];
  let line = 0;
  for (let from = 0; from < bytes.length;) {
    const found = bytes.indexOf(LINE_FEED, from);
    const end = found === -1 ? bytes.length : found;
    const one = bytes.subarray(from, end);
    from = end + 1;
    line += 1;
    if (!one.some((byte) => byte > 0x20)) continue;
    if (recipients.length === rowsMax) throw tooMany(rowsMax);
    recipients.push(lineOf(one, line, parseLine));
    lines.push(line);
    if (line % LINES_AT_ONCE === 0) await nextTurn();
  }
  return { recipients, lines };
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
const CHUNK_BYTES = 64 * 1024;
/** The variables of a recipient have at most 100 KB. */
const RECORD_CHARS_MAX = 256 * 1024;

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += CHUNK_BYTES) yield bytes.subarray(from, from + CHUNK_BYTES);
}

type Row = Readonly<{ record: readonly string[]; info: Readonly<{ lines: number }> }>;

const readCsv = async (bytes: Buffer, options: FileOptions): Promise<FileRecipients> => {
  const { parse } = await import('csv-parse');
  const delimiter = delimiterOf(bytes);
  const parser = parse({ delimiter, info: true, relax_column_count: true, skip_empty_lines: true, max_record_size: RECORD_CHARS_MAX });
  const recipients: unknown[] = [];
  const lines: number[] = [];
  let read: ReadRecord | undefined;
  const source = Readable.from(chunksOf(bytes));
  source.pipe(parser);
  try {
    for await (const { record, info } of parser as AsyncIterable<Row>) {
      if (read === undefined) {
        read = recipientReader(record, options);
        continue;
      }
      // The line in which it begins: cells may hold line breaks.
      const line = info.lines - record.reduce((breaks, cell) => breaks + cell.split('\n').length - 1, 0);
      if (record.every((cell) => cell === '')) continue;
      if (recipients.length === options.rowsMax) throw tooMany(options.rowsMax);
      recipients.push(read(record, line));
      lines.push(line);
      if (lines.length % LINES_AT_ONCE === 0) await nextTurn();
    }
  } catch (fault) {
    throw csvFault(fault);
  } finally {
    source.destroy();
  }
  return { recipients, lines };
};

const csvFault = (fault: unknown): unknown => {
  if (!(fault instanceof Error) || !('code' in fault) || !String(fault.code).startsWith('CSV_')) return fault;
  const line = 'lines' in fault ? Number(fault.lines) : 0;
  return fileFault(
    fault.code === 'CSV_MAX_RECORD_SIZE'
      ? `has a row of more than ${RECORD_CHARS_MAX / 1024} KB, or a quote that is never closed, at line ${line}`
      : `is no CSV at line ${line}: a quote stands where none may, or is never closed; quotes inside of a quoted cell are doubled`,
  );
};

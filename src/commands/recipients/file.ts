/** Reads the recipients of a bulk send from a file: CSV (RFC 4180) with a head, or JSON lines; in UTF-8, bounded while it is read. */
import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { fileFault, recipientReader, type Columns, type ReadRecord } from './columns.js';
import { DomainError, invalid } from '../../domain/core/errors.js';
import type { Limits } from '../../domain/core/limits.js';
import { nextTurn } from '../../shared/next-turn.js';

/** `lines`: where each recipient begins in the file, from 1. What the recipients hold is not checked here. */
export type FileRecipients = Readonly<{ recipients: readonly unknown[]; lines: readonly number[] }>;

export type FileOptions = Readonly<{
  /** Which columns of a CSV are meant; absent: `email`, `name`, and every other as a variable of that name. `locale` and `timeZone` are the language only where they are said. */
  columns?: Columns | undefined;
  /** The types that the template declares of its variables. */
  types: ReadonlyMap<string, string>;
  /** Reads one JSON line. Throws DomainError. */
  parseLine: (bytes: Buffer) => unknown;
  /** The most recipients that are read; one more is refused. */
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

const withoutMark = (bytes: Buffer): Buffer => {
  const [first, second, third] = bytes;
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || bytes.includes(0);
  if (isWide || !isUtf8(bytes)) throw fileFault(`is not UTF-8${isWide ? ' but UTF-16, or no text' : ''}; save it as "CSV UTF-8"`);
  return first === 0xef && second === 0xbb && third === 0xbf ? bytes.subarray(3) : bytes;
};

const tooMany = (rowsMax: number): DomainError => fileFault(`has more than ${rowsMax} recipients, the most of one call`);

/** So many lines are read in one turn of the event loop. */
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

/** The one of the three that stands most often in the head, outside of quotes. */
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

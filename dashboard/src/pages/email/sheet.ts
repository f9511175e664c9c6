/**
 * Reads a spreadsheet (ECMA-376, part 1) for a look at it. Its author may be a stranger: before the library reads it, a
 * small copy is made of the archive, with the first rows of each sheet, and no place in it beyond them.
 */
import readXlsxFile from 'read-excel-file/universal';

export const ROWS_MAX = 200;
export const COLUMNS_MAX = 50;
const SHEETS_MAX = 30;
const ENTRIES_MAX = 2_000;

/** Characters of one sheet; what is beyond them is cut off. */
const SHEET_CHARS_MAX = 600_000;
/** Bytes of other parts, such as texts and styles: a cut would damage them. */
const PART_BYTES_MAX = 3_000_000;
const PARTS_BYTES_MAX = 8_000_000;
const CELL_CHARS_MAX = 1_000;

/** `cells`: text of each, empty for an empty one; rows are as long as the longest. `isCut`: there is more. */
export type Sheet = Readonly<{ name: string; cells: readonly (readonly string[])[]; isCut: boolean }>;

/** The file is no spreadsheet, is damaged, or is too large to be shown. */
export class SheetUnreadable extends Error {
  override readonly name = 'SheetUnreadable';
}

/** Out: the sheets in their order. Rejects with SheetUnreadable. */
export const readSheets = async (file: Blob): Promise<readonly Sheet[]> => {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const parts: Part[] = [];
  let left = PARTS_BYTES_MAX;
  let isCutAtRows = false;
  let isCutBefore = false;
  for (const entry of entriesOf(bytes)) {
    if (!/\.(?:xml|rels)$/.test(entry.name)) continue;
    const text = await textOf(bytes, entry);
    const part = /<(?:\w+:)?sheetData/.test(text) ? cut(text) : undefined;
    if (part === undefined && text.length >= PART_BYTES_MAX) throw tooLarge();
    if (part?.isCut === true && part.rows >= ROWS_MAX) isCutAtRows = true;
    else if (part?.isCut === true) isCutBefore = true;
    const name = entry.name;
    const content = new TextEncoder().encode(part?.text ?? text);
    left -= content.length;
    if (left < 0) throw tooLarge();
    if (name.endsWith('workbook.xml') && (text.match(/<(?:\w+:)?sheet[\s>]/g)?.length ?? 0) > SHEETS_MAX)
      throw tooLarge();
    parts.push({ name, content });
  }
  const sheets = await readXlsxFile(new Blob([archiveOf(parts)])).catch((fault: unknown) => {
    throw new SheetUnreadable(`The file is no spreadsheet that can be shown here: ${messageOf(fault)}`);
  });
  return sheets.map(({ sheet, data }) => {
    const rows = data as readonly (readonly unknown[])[];
    const columns = Math.min(COLUMNS_MAX, Math.max(0, ...rows.map((row) => row.length)));
    return {
      name: sheet,
      cells: rows.slice(0, ROWS_MAX).map((row) => Array.from({ length: columns }, (_, n) => shown(row[n]))),
      isCut: isCutBefore || (isCutAtRows && rows.length >= ROWS_MAX) || rows.some((row) => row.length > COLUMNS_MAX),
    };
  });
};

const tooLarge = (): SheetUnreadable => new SheetUnreadable('The spreadsheet is too large to be shown here.');
const damaged = (): SheetUnreadable => new SheetUnreadable('The file is no spreadsheet, or it is damaged.');
const messageOf = (fault: unknown): string => (fault instanceof Error ? fault.message.slice(0, 200) : 'it is damaged');

/** A date of a sheet has no zone; the library gives it as if it were UTC. */
const shown = (value: unknown): string => {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) return '';
    const options: Intl.DateTimeFormatOptions = { dateStyle: 'medium', timeZone: 'UTC' };
    const isDay = value.getTime() % 86_400_000 === 0;
    return new Intl.DateTimeFormat(undefined, isDay ? options : { ...options, timeStyle: 'short' }).format(value);
  }
  if (typeof value === 'number') return value.toLocaleString(undefined, { maximumFractionDigits: 10 });
  const text = typeof value === 'string' ? value : typeof value === 'boolean' ? (value ? 'TRUE' : 'FALSE') : '';
  return text.length > CELL_CHARS_MAX ? `${text.slice(0, CELL_CHARS_MAX)}…` : text;
};

/** An entry of the archive (APPNOTE.TXT of ZIP, section 4.3.12). `at`: where its local header begins. */
type Entry = Readonly<{ name: string; method: number; size: number; at: number }>;
type Part = Readonly<{ name: string; content: Uint8Array }>;

const STORED = 0;
const DEFLATED = 8;

/** Reads the central directory. Throws SheetUnreadable. */
const entriesOf = (bytes: Uint8Array): readonly Entry[] => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = bytes.length - 22;
  while (end >= 0 && end > bytes.length - 66_000 && view.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < 0 || view.getUint32(end, true) !== 0x06054b50) throw damaged();
  const count = view.getUint16(end + 10, true);
  if (count > ENTRIES_MAX) throw tooLarge();
  const entries: Entry[] = [];
  let at = view.getUint32(end + 16, true);
  for (let n = 0; n < count; n += 1) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== 0x02014b50) throw damaged();
    const nameLength = view.getUint16(at + 28, true);
    entries.push({
      name: new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength)),
      method: view.getUint16(at + 10, true),
      size: view.getUint32(at + 20, true),
      at: view.getUint32(at + 42, true),
    });
    at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return entries;
};

/** The text of an entry, of which no more than PART_BYTES_MAX bytes are made, whatever it says of its size. */
const textOf = async (bytes: Uint8Array, { method, size, at }: Entry): Promise<string> => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (at + 30 > bytes.length || view.getUint32(at, true) !== 0x04034b50) throw damaged();
  const from = at + 30 + view.getUint16(at + 26, true) + view.getUint16(at + 28, true);
  const packed = bytes.slice(from, from + size);
  if (method === STORED) return new TextDecoder().decode(packed.subarray(0, PART_BYTES_MAX));
  if (method !== DEFLATED) throw damaged();
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    while (text.length < PART_BYTES_MAX) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    throw damaged();
  }
  await reader.cancel().catch(() => undefined);
  return text.slice(0, PART_BYTES_MAX);
};

const TAG = /<([^>]*)>/g;

/** In: the XML of a sheet. Out: it with its first rows alone. Throws SheetUnreadable if it is not plain. */
const cut = (text: string): Readonly<{ text: string; rows: number; isCut: boolean }> => {
  const kept = text.slice(0, SHEET_CHARS_MAX);
  // Comments and the like could hide what stands in them from this look, or from that of the library.
  if (kept.includes('<!')) throw damaged();
  let rows = 0;
  let good = 0;
  let prefix = '';
  let isCut = false;
  let isWhole = false;
  for (const { 0: tag, 1: inside = '', index } of kept.matchAll(TAG)) {
    // A `>` inside of a value.
    if ((inside.match(/"/g)?.length ?? 0) % 2 === 1 || (inside.match(/'/g)?.length ?? 0) % 2 === 1) throw damaged();
    const [, closing = '', space = '', name = ''] = /^(\/?)(?:(\w+):)?(\w+)/.exec(inside) ?? [];
    const after = index + tag.length;
    if (name === 'sheetData') {
      prefix = space === '' ? '' : `${space}:`;
      good = after;
      if (closing === '/' || inside.endsWith('/')) {
        isWhole = true;
        break;
      }
    } else if (name === 'row' && (closing === '/' || inside.endsWith('/'))) {
      rows += 1;
      good = after;
    }
    if (name === 'row' && closing === '' && (rows >= ROWS_MAX || numberOf(inside) > ROWS_MAX)) {
      isCut = true;
      break;
    }
    if (name === 'c' && closing === '' && numberOf(inside) > ROWS_MAX) {
      isCut = true;
      break;
    }
  }
  if (good === 0) throw damaged();
  if (isWhole) return { text: `${kept.slice(0, good)}</${prefix}worksheet>`, rows, isCut: false };
  return {
    text: `${kept.slice(0, good)}</${prefix}sheetData></${prefix}worksheet>`,
    rows,
    isCut: isCut || text.length > kept.length,
  };
};

const COLUMN_LETTERS_MAX = 3;

/**
 * In: the inside of the tag of a row or a cell. Out: the number of its row, 0 if it has none. Throws SheetUnreadable for
 * a place beyond those of a sheet: the library would fill the way there with empty cells.
 */
const numberOf = (inside: string): number => {
  let number = 0;
  for (const [, double, single] of inside.matchAll(/(?:^|\s)r\s*=\s*(?:"([^"]*)"|'([^']*)')/g)) {
    const place = /^([A-Z]*)(\d{1,7})$/.exec(double ?? single ?? '');
    if (place === null || (place[1] ?? '').length > COLUMN_LETTERS_MAX) throw damaged();
    number = Math.max(number, Number(place[2]));
  }
  return number;
};

/** An archive whose entries are stored as they are. */
const archiveOf = (parts: readonly Part[]): ArrayBuffer => {
  const names = parts.map(({ name }) => new TextEncoder().encode(name));
  const size = parts.reduce((sum, { content }, n) => sum + 76 + 2 * names[n]!.length + content.length, 22);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  const starts: number[] = [];
  let at = 0;
  const header = (signature: number, n: number, length: number): void => {
    const isLocal = length === 30;
    const shift = isLocal ? 0 : 2;
    view.setUint32(at, signature, true);
    view.setUint32(at + 18 + shift, parts[n]!.content.length, true);
    view.setUint32(at + 22 + shift, parts[n]!.content.length, true);
    view.setUint16(at + 26 + shift, names[n]!.length, true);
    if (!isLocal) view.setUint32(at + 42, starts[n]!, true);
    bytes.set(names[n]!, at + length);
    at += length + names[n]!.length;
  };
  for (const [n, { content }] of parts.entries()) {
    starts.push(at);
    header(0x04034b50, n, 30);
    bytes.set(content, at);
    at += content.length;
  }
  const directory = at;
  for (const n of parts.keys()) header(0x02014b50, n, 46);
  view.setUint32(at, 0x06054b50, true);
  view.setUint16(at + 8, parts.length, true);
  view.setUint16(at + 10, parts.length, true);
  view.setUint32(at + 12, at - directory, true);
  view.setUint32(at + 16, directory, true);
  return bytes.buffer;
};

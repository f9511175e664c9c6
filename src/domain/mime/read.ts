/**
 * Reads a finished message (RFC 5322, RFC 2045 to 2047): its fields, its parts, its texts; and changes the texts of its
 * parts while every other byte stays. Each pass over a message is linear, and what nests is bounded.
 */
import { isUtf8 } from 'node:buffer';
import { DomainError } from '../core/errors.js';
import { defaultLimits } from '../core/limits.js';
import { firstChars } from '../../shared/text.js';
import { safeFilename } from './attachment.js';
import { base64Lines, quotedPrintable } from './compose.js';

/** `text`: the whole field as it is written, with its folds and without the line end behind it, in latin1. */
export type Field = Readonly<{ lower: string; text: string }>;

/** A file that a message carries. */
export type CarriedFile = Readonly<{ filename: string; contentType: string; sizeBytes: number }>;

/** A part of a message, by its places in the bytes. `bodyEnd` is before the line end that belongs to a boundary. */
export type MessagePart = Readonly<{
  headStart: number;
  bodyStart: number;
  bodyEnd: number;
  /** In lower case; `text/plain` where the part names none. */
  type: string;
  charset: string;
  encoding: string;
  isAttachment: boolean;
  filename: string | undefined;
  contentId: string | undefined;
  parts: readonly MessagePart[];
}>;

/** Parts within parts. */
const DEPTH_MAX = 20;
const PARTS_MAX = 1_000;
/** Lines that begin like a boundary, looked at in all parts together. */
const BOUNDARY_LINES_MAX = 50_000;
/** Octets of the fields of one part that are read. */
const PART_HEAD_BYTES_MAX = 64 * 1024;

const EMPTY_LINE = '\r\n\r\n';

const tooComplex = (message: string): DomainError =>
  new DomainError('VALIDATION_ERROR', `The message ${message}.`, { errors: [{ field: 'message', message }] });

/** In: a header section without the empty line behind it. Out: its fields; `lower` is empty for a line that is none. */
export const fieldsOf = (head: string): readonly Field[] =>
  head === ''
    ? []
    : head
        .split(/\r\n(?![ \t])/)
        .filter((text) => text !== '')
        .map((text) => ({ lower: /^([!-9;-~]+)[ \t]*:/.exec(text)?.[1]!.toLowerCase() ?? '', text }));

/** The value of a field without its folds (RFC 5322, section 2.2.3). */
export const valueOf = ({ text }: Field): string =>
  text
    .slice(text.indexOf(':') + 1)
    .replaceAll('\r\n', '')
    .trim();

/** The place of `text` from `start` on and before `end`; what lies behind is not searched. */
const indexIn = (raw: Buffer, text: string, start: number, end: number): number => {
  const at = raw.subarray(start, end).indexOf(text, 0, 'latin1');
  return at < 0 ? -1 : start + at;
};

/** The place of the body: behind the empty line after the fields, or the end of a message without a body. */
export const bodyStartOf = (raw: Buffer, start = 0, end = raw.length): number => {
  if (raw[start] === 0x0d && raw[start + 1] === 0x0a) return start + 2;
  const at = indexIn(raw, EMPTY_LINE, start, end);
  return at < 0 ? end : at + EMPTY_LINE.length;
};

type Counts = { parts: number; lines: number };

/**
 * In: a message with CRLF line ends; its fields, where they were read before. Throws VALIDATION_ERROR where it has too
 * many parts, or too many within others.
 */
export const partsOf = (raw: Buffer, known?: readonly Field[]): MessagePart =>
  partAt(raw, { start: 0, end: raw.length }, 0, { parts: 0, lines: 0 }, known);

type Range = Readonly<{ start: number; end: number }>;

const partAt = (
  raw: Buffer,
  { start, end }: Range,
  depth: number,
  counts: Counts,
  known?: readonly Field[],
): MessagePart => {
  counts.parts += 1;
  if (depth > DEPTH_MAX) throw tooComplex(`has parts within parts, more than ${DEPTH_MAX} deep`);
  if (counts.parts > PARTS_MAX) throw tooComplex(`has more than ${PARTS_MAX} parts`);
  const bodyStart = bodyStartOf(raw, start, end);
  const fields =
    known !== undefined && bodyStart - start <= PART_HEAD_BYTES_MAX
      ? known
      : fieldsOf(raw.toString('latin1', start, Math.min(bodyStart, start + PART_HEAD_BYTES_MAX)));
  const find = (lower: string): string => {
    const field = fields.find((one) => one.lower === lower);
    return field === undefined ? '' : valueOf(field);
  };
  const { value: type, parameters } = parametersOf(find('content-type'));
  const disposition = parametersOf(find('content-disposition'));
  const named = disposition.parameters.get('filename') ?? parameters.get('name');
  const filename =
    named === undefined
      ? undefined
      : firstChars(safeFilename(decodedWords(inUtf8(named) ?? named)), defaultLimits.filenameCharsMax);
  const boundary = type.startsWith('multipart/') ? parameters.get('boundary') : undefined;
  return {
    headStart: start,
    bodyStart,
    bodyEnd: end,
    type: type === '' ? 'text/plain' : type,
    charset: (parameters.get('charset') ?? 'us-ascii').toLowerCase(),
    encoding: find('content-transfer-encoding').toLowerCase(),
    isAttachment: disposition.value === 'attachment' || (filename !== undefined && filename !== ''),
    filename,
    contentId: find('content-id').replace(/^<|>$/g, '') || undefined,
    parts:
      boundary === undefined || boundary === ''
        ? []
        : rangesOf(raw, { start: bodyStart, end }, boundary, counts).map((range) =>
            partAt(raw, range, depth + 1, counts),
          ),
  };
};

/** The places of the parts between the boundaries (RFC 2046, section 5.1.1). */
const rangesOf = (raw: Buffer, { start, end }: Range, boundary: string, counts: Counts): readonly Range[] => {
  const line = `--${boundary}`;
  const ranges: Range[] = [];
  let from: number | undefined;
  let at = indexIn(raw, line, start, end);
  while (at >= 0) {
    counts.lines += 1;
    if (counts.lines > BOUNDARY_LINES_MAX) throw tooComplex('has too many lines that begin like a boundary');
    const behind = at + line.length;
    const lineEnd = indexIn(raw, '\r\n', behind, end);
    const rest = raw.toString('latin1', behind, Math.min(lineEnd < 0 ? end : lineEnd, behind + 80));
    const isAtLineStart = at === start || (raw[at - 1] === 0x0a && raw[at - 2] === 0x0d);
    const isLast = /^--[ \t]*$/.test(rest);
    if (isAtLineStart && (isLast || /^[ \t]*$/.test(rest))) {
      if (from !== undefined) ranges.push({ start: from, end: Math.max(from, at - 2) });
      if (isLast) return ranges;
      from = lineEnd < 0 ? end : lineEnd + 2;
    }
    at = indexIn(raw, line, behind, end);
  }
  // The closing line is missing.
  if (from !== undefined) ranges.push({ start: from, end });
  return ranges;
};

const PARAMETER = /;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/g;

type Parameters = Readonly<{ value: string; parameters: ReadonlyMap<string, string> }>;

/** A name with the place of a piece, and with the mark of an encoded value (RFC 2231, sections 3 and 4). */
const EXTENDED = /^(.*?)(?:\*(\d{1,2}))?(\*)?$/;

const NO_PARAMETERS: Parameters['parameters'] = new Map();

/** A structured value: what stands before the first semicolon in lower case, and its parameters (also RFC 2231). */
const parametersOf = (text: string): Parameters => {
  const end = text.indexOf(';');
  if (end < 0) return { value: text.trim().toLowerCase(), parameters: NO_PARAMETERS };
  const value = text.slice(0, end).trim().toLowerCase();
  const parameters = new Map<string, string>();
  const pieces = new Map<string, string[]>();
  for (const [, name = '', quoted, bare] of text.matchAll(PARAMETER)) {
    const given = quoted?.replace(/\\(.)/g, '$1') ?? bare ?? '';
    const lower = name.toLowerCase();
    const [, base = '', place, isExtended] = (lower.includes('*') && EXTENDED.exec(lower)) || ['', lower];
    if (place === undefined && isExtended === undefined) {
      if (!parameters.has(base)) parameters.set(base, given);
      continue;
    }
    const known = pieces.get(base) ?? [];
    known[Number(place ?? 0)] = isExtended === undefined ? encodeURIComponent(given) : given;
    pieces.set(base, known);
  }
  for (const [name, list] of pieces)
    parameters.set(name, extended(list.filter((piece) => piece !== undefined).join('')));
  return { value, parameters };
};

/** A value of RFC 2231, section 4: `charset'language'%XX…`. */
const extended = (text: string): string => {
  const [, charset = 'utf-8', rest = text] = /^([^']*)'[^']*'(.*)$/s.exec(text) ?? [];
  const bytes = Buffer.from(
    rest.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    'latin1',
  );
  return decoded(bytes, charset) ?? rest;
};

/** In: bytes in latin1. Out: the text that they are in UTF-8 (RFC 6532); undefined where they are none. */
export const inUtf8 = (latin: string): string | undefined => {
  if (/^[\x00-\x7f]*$/.test(latin)) return latin;
  const bytes = Buffer.from(latin, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
};

/** The text of bytes in that character set; undefined for one that is unknown. */
const decoded = (bytes: Uint8Array, charset: string): string | undefined => {
  try {
    return new TextDecoder(charset === '' ? 'utf-8' : charset).decode(bytes);
  } catch {
    return undefined;
  }
};

const WORDS = /=\?[\x21-\x7e]{1,60}\?[bq]\?[^?\s]*\?=(?:\s+=\?[\x21-\x7e]{1,60}\?[bq]\?[^?\s]*\?=)*/gi;
const WORD = /=\?([^?*]+)(?:\*[^?]*)?\?([bq])\?([^?\s]*)\?=/gi;

/** A text with its encoded words decoded (RFC 2047). Words of one character set that follow each other may share a character. */
export const decodedWords = (text: string): string =>
  text.includes('=?')
    ? text.replace(WORDS, (run) => {
        let out = '';
        let bytes: Buffer[] = [];
        let charset = '';
        const flush = (): void => {
          if (bytes.length > 0)
            out += decoded(Buffer.concat(bytes), charset) ?? Buffer.concat(bytes).toString('latin1');
          bytes = [];
        };
        for (const [, named = '', encoding = '', encoded = ''] of run.matchAll(WORD)) {
          if (named.toLowerCase() !== charset) flush();
          charset = named.toLowerCase();
          bytes.push(
            encoding.toLowerCase() === 'b'
              ? Buffer.from(encoded, 'base64')
              : unquoted(Buffer.from(encoded.replaceAll('_', ' '), 'latin1')),
          );
        }
        flush();
        return out;
      })
    : text;

/** The bytes of a body without its transfer encoding (RFC 2045, section 6). */
export const contentOf = (raw: Buffer, { bodyStart, bodyEnd, encoding }: MessagePart): Buffer => {
  switch (encoding) {
    case 'base64':
      return Buffer.from(raw.toString('latin1', bodyStart, bodyEnd), 'base64');
    case 'quoted-printable':
      return unquoted(raw.subarray(bodyStart, bodyEnd));
    default:
      return raw.subarray(bodyStart, bodyEnd);
  }
};

const [TAB, LF, CR, SPACE, EQUALS] = [0x09, 0x0a, 0x0d, 0x20, 0x3d] as const;

/** Bytes without quoted-printable encoding and without soft line breaks (RFC 2045, section 6.7). */
const unquoted = (bytes: Uint8Array): Buffer => {
  const out = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === EQUALS) {
      let end = at + 1;
      while (bytes[end] === SPACE || bytes[end] === TAB) end += 1;
      if (bytes[end] === CR && bytes[end + 1] === LF) {
        at = end + 1;
        continue;
      }
      const [high, low] = [hexDigit(bytes[at + 1]), hexDigit(bytes[at + 2])];
      if (high >= 0 && low >= 0) {
        out[length++] = 16 * high + low;
        at += 2;
        continue;
      }
    }
    out[length++] = byte;
  }
  return out.subarray(0, length);
};

/** -1 for a byte that is none. */
const hexDigit = (byte = 0): number =>
  byte >= 0x30 && byte <= 0x39 ? byte - 0x30 : /[a-f]/i.test(String.fromCharCode(byte)) ? (byte & 0xdf) - 0x37 : -1;

/** A media type as long as one may be (RFC 6838, section 4.2). */
const TYPE = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/;

/** The files that a message carries, at most so many. */
export const filesOf = (raw: Buffer, whole: MessagePart, max: number): readonly CarriedFile[] => {
  const files: CarriedFile[] = [];
  const add = (part: MessagePart): void => {
    if (part.parts.length > 0) return part.parts.forEach(add);
    if (!part.isAttachment || files.length === max) return;
    const { filename } = part;
    const name = filename === undefined || filename === '' ? 'attachment' : filename;
    files.push({
      filename: name,
      contentType: TYPE.test(part.type) ? part.type : 'application/octet-stream',
      sizeBytes: sizeOf(raw, part),
    });
  };
  add(whole);
  return files;
};

/** A file of a message; its bytes are decoded when they are asked for. */
export type ReadableFile = CarriedFile & Readonly<{ contentId: string | undefined; bytes: () => Buffer }>;

/**
 * The texts of a message, each the first of its kind, and all parts beside them as files. Throws as `partsOf` does.
 */
export const readableOf = (
  raw: Buffer,
): Readonly<{ html: string | undefined; text: string | undefined; files: readonly ReadableFile[] }> => {
  let html: string | undefined;
  let text: string | undefined;
  const files: ReadableFile[] = [];
  const look = (part: MessagePart): void => {
    if (part.parts.length > 0) return part.parts.forEach(look);
    if (!part.isAttachment && part.type === 'text/html' && html === undefined) html = decodedText(raw, part);
    else if (!part.isAttachment && part.type === 'text/plain' && text === undefined) text = decodedText(raw, part);
    else files.push(readableFile(raw, part));
  };
  look(partsOf(raw));
  return { html, text, files };
};

const decodedText = (raw: Buffer, part: MessagePart): string => {
  const bytes = contentOf(raw, part);
  return textOf(bytes, part)?.text ?? decoded(bytes, part.charset) ?? bytes.toString('latin1');
};

const readableFile = (raw: Buffer, part: MessagePart): ReadableFile => ({
  filename: part.filename === undefined || part.filename === '' ? 'attachment' : part.filename,
  contentType: part.type,
  contentId: part.contentId,
  sizeBytes: sizeOf(raw, part),
  bytes: () => contentOf(raw, part),
});

/** The size of the content. Lines of base64 have one length, so that they are not decoded to be counted. */
const sizeOf = (raw: Buffer, part: MessagePart): number => {
  if (part.encoding !== 'base64') return contentOf(raw, part).length;
  let [start, end] = [part.bodyStart, part.bodyEnd];
  const isLineEnd = (at: number): boolean => raw[at] === LF || raw[at] === CR;
  while (end > start && isLineEnd(end - 1)) end -= 1;
  while (end > start && isLineEnd(start)) start += 1;
  if (end === start) return 0;
  const lineEnd = indexIn(raw, '\r\n', start, end);
  const lineChars = (lineEnd < 0 ? end : lineEnd) - start;
  const lines = Math.ceil((end - start) / (lineChars + 2));
  const padding = raw[end - 2] === EQUALS ? 2 : raw[end - 1] === EQUALS ? 1 : 0;
  return Math.max(0, Math.floor(((end - start - 2 * (lines - 1)) * 3) / 4) - padding);
};

/** Gives the changed text of a part; undefined where it stays as it is. */
export type TextChange = (text: string, type: 'text/html' | 'text/plain') => string | undefined;

/** Their content is signed or encrypted, and is not ours to change. */
const CLOSED = new Set(['multipart/signed', 'multipart/encrypted']);

type Splice = Readonly<{ start: number; end: number; bytes: Buffer }>;

/** The message with its changed texts; every byte of other parts stays. Throws as `partsOf` does. */
export const withTexts = (raw: Buffer, change: TextChange): Buffer => {
  const splices: Splice[] = [];
  const look = (part: MessagePart): void => {
    if (CLOSED.has(part.type)) return;
    if (part.parts.length > 0) return part.parts.forEach(look);
    if (part.isAttachment || (part.type !== 'text/html' && part.type !== 'text/plain')) return;
    // A part of a head only, or of a head that is not read whole.
    if (part.bodyStart === part.bodyEnd || part.bodyStart - part.headStart > PART_HEAD_BYTES_MAX) return;
    const text = textOf(contentOf(raw, part), part);
    const changed = text === undefined ? undefined : change(text.text, part.type);
    if (text === undefined || changed === undefined || changed === text.text) return;
    splices.push(...splicesOf(raw, part, Buffer.from(changed, text.charset)));
  };
  look(partsOf(raw));
  if (splices.length === 0) return raw;
  const pieces: Buffer[] = [];
  let at = 0;
  for (const { start, end, bytes } of splices) {
    pieces.push(raw.subarray(at, start), bytes);
    at = end;
  }
  pieces.push(raw.subarray(at));
  return Buffer.concat(pieces);
};

const LATIN = new Set(['iso-8859-1', 'latin1', 'windows-1252', 'cp1252']);
const UTF8 = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii']);
const IN_ASCII = /^[\t\n\r\x20-\x7e]*$/;

/** The text of a part; undefined where its characters cannot be written again as they were. */
const textOf = (
  bytes: Buffer,
  { charset }: MessagePart,
): Readonly<{ text: string; charset: 'utf8' | 'latin1' }> | undefined => {
  const latin = bytes.toString('latin1');
  if (LATIN.has(charset)) return { text: latin, charset: 'latin1' };
  if (IN_ASCII.test(latin)) return { text: latin, charset: 'utf8' };
  return UTF8.has(charset) && isUtf8(bytes) ? { text: bytes.toString('utf8'), charset: 'utf8' } : undefined;
};

/** A body is written in the encoding that it had, or as quoted-printable, which every line fits. */
const splicesOf = (raw: Buffer, part: MessagePart, bytes: Buffer): readonly Splice[] => {
  const { headStart, bodyStart, bodyEnd, encoding } = part;
  const isBase64 = encoding === 'base64';
  const encoded = isBase64 ? base64Lines(bytes) : Buffer.from(quotedPrintable(bytes), 'latin1');
  const end =
    raw.subarray(Math.max(bodyStart, bodyEnd - 2), bodyEnd).equals(Buffer.from('\r\n')) && isBase64 ? '\r\n' : '';
  const body = { start: bodyStart, end: bodyEnd, bytes: Buffer.concat([encoded, Buffer.from(end)]) };
  if (isBase64 || encoding === 'quoted-printable') return [body];
  const head = raw.toString('latin1', headStart, bodyStart);
  const fields = fieldsOf(head.slice(0, head.endsWith(EMPTY_LINE) ? -EMPTY_LINE.length : -2));
  const kept = fields.filter(({ lower }) => lower !== 'content-transfer-encoding').map(({ text }) => `${text}\r\n`);
  const written = `${kept.join('')}Content-Transfer-Encoding: quoted-printable\r\n\r\n`;
  return [{ start: headStart, end: bodyStart, bytes: Buffer.from(written, 'latin1') }, body];
};

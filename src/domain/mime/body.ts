/** Encodes one text for transport (RFC 2045, section 6): 7bit where it can pass as it is, else what is shorter of quoted-printable and base64. */

export type TransferEncoding = '7bit' | 'quoted-printable' | 'base64';

/** ASCII with LF line ends, of which there are `lineEnds`: they become CRLF when it is written, which saves two copies of a large text. */
export type Lines = Readonly<{ text: string; lineEnds: number }>;

/** Strings hold ASCII only, with CRLF line ends. */
export type EncodedBody = Readonly<{ encoding: TransferEncoding; content: Lines | string | Buffer }>;

/** RFC 5322, section 2.1.1. */
const LINE_CHARS_MAX = 998;
/** RFC 2045, sections 6.7 and 6.8. */
const ENCODED_LINE_CHARS_MAX = 76;

const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;
const EQUALS = 0x3d;
const HEX = Buffer.from('0123456789ABCDEF', 'latin1');

const ESCAPED = 0;
const PLAIN = 1;
const WHITE = 2;
/** How quoted-printable writes a byte: as `=XX`, as itself, or as itself but at the end of a line. */
const QP_CLASS = new Uint8Array(256).fill(PLAIN, 0x21, 0x7f);
QP_CLASS[EQUALS] = ESCAPED;
QP_CLASS[SPACE] = WHITE;
QP_CLASS[TAB] = WHITE;

/**
 * In: text with any line ends, and the mark by which every boundary of the message begins.
 * Out: the body, which begins no line with `--` and that mark; the text is not ended by a line end that it does not have.
 */
export const encodeText = (text: string, boundaryMark: string): EncodedBody => {
  const lines = withLf(text);
  const extraBytes = Buffer.byteLength(lines, 'utf8') - lines.length;
  const lineEnds = extraBytes === 0 ? lineEndsOf(lines, `--${boundaryMark}`) : undefined;
  if (lineEnds !== undefined && !lines.includes('\0')) {
    return { encoding: '7bit', content: { text: lines, lineEnds } };
  }
  const bytes = Buffer.from(lines.replaceAll('\n', '\r\n'), 'utf8');
  return quotedPrintableIsShorter(bytes.length, extraBytes)
    ? { encoding: 'quoted-printable', content: quotedPrintable(bytes) }
    : { encoding: 'base64', content: base64Lines(bytes) };
};

/** Every line end as LF: a bare CR or LF may not leave in a message (RFC 5321, section 2.3.8). */
const withLf = (text: string): string => (text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text);

/** How many line ends there are; undefined where a line cannot leave as it is: it is too long, or begins like a boundary. */
const lineEndsOf = (text: string, boundary: string): number | undefined => {
  let lineEnds = 0;
  let start = 0;
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
    if (end - start > LINE_CHARS_MAX || text.startsWith(boundary, start)) return undefined;
    lineEnds += 1;
    start = end + 1;
  }
  return text.length - start > LINE_CHARS_MAX || text.startsWith(boundary, start) ? undefined : lineEnds;
};

/** Writes the text with CRLF line ends from `at` on, where there is room for it. Out: the bytes written. */
export const writeLines = (out: Buffer, at: number, { text, lineEnds }: Lines): number => {
  // It is laid at the end of its room, and its lines are moved to the front one by one: each move leaves less of the gap.
  let from = at + lineEnds;
  let to = at;
  out.write(text, from, 'latin1');
  while (from > to) {
    const end = out.indexOf(LF, from);
    out.copyWithin(to, from, end);
    to += end - from;
    out[to++] = CR;
    out[to++] = LF;
    from = end + 1;
  }
  return text.length + lineEnds;
};

/**
 * `extraBytes` is what UTF-8 takes beyond one byte for each UTF-16 unit: at most two bytes are escaped for each of it.
 * The few `=` of a text are left out: near the border either encoding will do.
 */
const quotedPrintableIsShorter = (bytes: number, extraBytes: number): boolean => {
  const quotedPrintableChars = (bytes + 2 * (2 * extraBytes)) * (1 + 3 / ENCODED_LINE_CHARS_MAX);
  const base64Chars = ((bytes * 4) / 3) * (1 + 2 / ENCODED_LINE_CHARS_MAX);
  return quotedPrintableChars <= base64Chars;
};

/** In: UTF-8 with CRLF line ends. Out: quoted-printable (RFC 2045, section 6.7), soft breaks included. */
export const quotedPrintable = (bytes: Buffer): string => {
  // At worst each byte takes three characters and each 73 of them a soft break of three.
  const out = scratchOf(bytes.length * 3 + Math.ceil((bytes.length * 3) / 72) * 3 + 3);
  const end = bytes.length;
  let to = 0;
  let lineStart = 0;
  let at = 0;
  while (at < end) {
    // A run of bytes that stand for themselves; the last column is kept for the `=` of a soft break.
    const runEnd = Math.min(end, at + (ENCODED_LINE_CHARS_MAX - 1) - (to - lineStart));
    const runStart = at;
    for (; at < runEnd; at += 1) {
      const byte = bytes[at]!;
      if (QP_CLASS[byte] === ESCAPED) break;
      out[to++] = byte;
    }
    const atLineEnd = at === end || (bytes[at] === CR && bytes[at + 1] === LF);
    // White space at the end of a line would be lost on the way, so there it is escaped.
    const whiteAtLineEnd = atLineEnd && at > runStart && QP_CLASS[bytes[at - 1]!] === WHITE;
    if (whiteAtLineEnd) {
      at -= 1;
      to -= 1;
    }
    if (at === end) break;
    if (atLineEnd && !whiteAtLineEnd) {
      out[to++] = CR;
      out[to++] = LF;
      at += 2;
      lineStart = to;
      continue;
    }
    const byte = bytes[at]!;
    const mustEscape = whiteAtLineEnd || QP_CLASS[byte] === ESCAPED;
    if (!mustEscape || to - lineStart + 3 >= ENCODED_LINE_CHARS_MAX) {
      out[to++] = EQUALS;
      out[to++] = CR;
      out[to++] = LF;
      lineStart = to;
      continue;
    }
    out[to++] = EQUALS;
    out[to++] = HEX[byte >> 4]!;
    out[to++] = HEX[byte & 15]!;
    at += 1;
  }
  return out.toString('latin1', 0, to);
};

/** Made once and written over again and again; only what is unusually large gets room of its own. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);
const scratchOf = (sizeBytes: number): Buffer => (sizeBytes <= scratch.length ? scratch : Buffer.allocUnsafe(sizeBytes));

/** Base64 in lines of 76 characters, without a line end after the last (RFC 2045, section 6.8). */
export const base64Lines = (bytes: Buffer): Buffer => {
  const flat = Buffer.from(bytes.toString('base64'), 'latin1');
  const breaks = Math.max(0, Math.ceil(flat.length / ENCODED_LINE_CHARS_MAX) - 1);
  const out = Buffer.allocUnsafe(flat.length + 2 * breaks);
  let to = 0;
  for (let from = 0; from < flat.length; from += ENCODED_LINE_CHARS_MAX) {
    if (from > 0) {
      out[to++] = CR;
      out[to++] = LF;
    }
    to += flat.copy(out, to, from, Math.min(from + ENCODED_LINE_CHARS_MAX, flat.length));
  }
  return out;
};

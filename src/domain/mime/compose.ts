/** Composes a whole message (RFC 5322, RFC 2045 to 2049) as the bytes that leave. Equal input gives equal bytes. */
import { hash as digestOf } from 'node:crypto';
import { type MediaType, parameterPieces, parseMediaType } from './attachment.js';
import {
  mimeParameter,
  plainParameter,
  addressField,
  customField,
  fold,
  textField,
  type NamedAddress,
} from './header.js';

export { checkHeader, type HeaderMatcher, type NamedAddress } from './header.js';

type TransferEncoding = '7bit' | 'quoted-printable' | 'base64';

/**
 * ASCII with `lineEnds` LF line ends. They become CRLF when the text is written, which saves two copies of a large
 * text.
 */
type Lines = Readonly<{ text: string; lineEnds: number }>;

/** A text encoded for transport (RFC 2045, section 6). A string holds ASCII only, with CRLF line ends. */
type EncodedBody = Readonly<{ encoding: TransferEncoding; content: Lines | string | Buffer }>;

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
 * Encodes one text for transport: 7bit if it can pass as it is, else the shorter of quoted-printable and base64. In:
 * text with any line ends, and the mark that begins every boundary of the message. Out: the body, in which no line
 * begins with `--` and the mark. No line end is added at the end.
 */
const encodeText = (text: string, boundaryMark: string): EncodedBody => {
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

/** Some hosts keep mails in one file (mbox) and put `>` before such a line, which breaks a signature over the body. */
const MBOX_LINE = 'From ';
const MBOX_START = 0x46;

/**
 * The number of line ends; undefined if a line cannot travel as it is: it is too long, or begins like a boundary or
 * like a mail in an mbox.
 */
const lineEndsOf = (text: string, boundary: string): number | undefined => {
  const mayStand = (start: number, end: number): boolean =>
    end - start <= LINE_CHARS_MAX && !text.startsWith(boundary, start) && !text.startsWith(MBOX_LINE, start);
  let lineEnds = 0;
  let start = 0;
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
    if (!mayStand(start, end)) return undefined;
    lineEnds += 1;
    start = end + 1;
  }
  return mayStand(start, text.length) ? lineEnds : undefined;
};

/** Writes the text with CRLF line ends at `at` of a buffer that has room for it. Out: the number of bytes written. */
const writeLines = (out: Buffer, at: number, { text, lineEnds }: Lines): number => {
  // The text is put at the end of its room and its lines are moved to the front one by one, each with its CR added.
  const start = at + lineEnds;
  let from = start;
  let to = at;
  out.write(text, start, 'latin1');
  // They are looked for in the text, which costs half as much as in the buffer.
  for (let lineEnd = text.indexOf('\n'); lineEnd >= 0; lineEnd = text.indexOf('\n', lineEnd + 1)) {
    const end = start + lineEnd;
    out.copyWithin(to, from, end);
    to += end - from;
    out[to++] = CR;
    out[to++] = LF;
    from = end + 1;
  }
  return text.length + lineEnds;
};

/**
 * `extraBytes`: the bytes of UTF-8 beyond one for each UTF-16 unit; at most two bytes are escaped for each of them. The
 * few `=` of a text do not count: near the limit either encoding is fine.
 */
const quotedPrintableIsShorter = (bytes: number, extraBytes: number): boolean => {
  const quotedPrintableChars = (bytes + 2 * (2 * extraBytes)) * (1 + 3 / ENCODED_LINE_CHARS_MAX);
  const base64Chars = ((bytes * 4) / 3) * (1 + 2 / ENCODED_LINE_CHARS_MAX);
  return quotedPrintableChars <= base64Chars;
};

/**
 * In: bytes with CRLF line ends. Out: quoted-printable (RFC 2045, section 6.7), soft breaks included; no line begins
 * with `From `.
 */
export const quotedPrintable = (bytes: Buffer): string => {
  // Worst case: each byte takes three characters, and each line adds a soft break of three.
  const out = scratchOf(bytes.length * 3 + Math.ceil((bytes.length * 3) / 72) * 3 + 3);
  const end = bytes.length;
  let to = 0;
  let lineStart = 0;
  let at = 0;
  while (at < end) {
    if (
      to === lineStart &&
      bytes[at] === MBOX_START &&
      bytes.toString('latin1', at, at + MBOX_LINE.length) === MBOX_LINE
    ) {
      to += out.write('=46', to, 'latin1');
      at += 1;
    }
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

/** Working space that every call overwrites. An unusually large text gets its own buffer. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);
const scratchOf = (sizeBytes: number): Buffer =>
  sizeBytes <= scratch.length ? scratch : Buffer.allocUnsafe(sizeBytes);

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

export type MessageAttachment = Readonly<{
  filename: string;
  /**
   * A media type, e.g. `application/pdf`. Invalid ones, `multipart/*`, and a `message/*` that cannot travel as ASCII,
   * become `application/octet-stream`.
   */
  contentType: string;
  /** Without angle brackets. The HTML part shows an attachment with a Content-ID as `cid:…`. */
  contentId?: string | undefined;
  content: Buffer;
}>;

export type MessageToCompose = Readonly<{
  from: NamedAddress;
  to: readonly NamedAddress[];
  cc?: readonly NamedAddress[];
  replyTo?: readonly NamedAddress[];
  subject: string;
  /** ISO time of the Date field. */
  date: string;
  /** With or without angle brackets. */
  messageId: string;
  /** Custom fields in their order; each has passed checkHeader. */
  headers?: readonly Readonly<{ name: string; value: string }>[];
  html?: string | undefined;
  text?: string | undefined;
  attachments?: readonly MessageAttachment[];
  priority?: 'high' | 'normal' | 'low' | undefined;
}>;

/** A piece of the message. A string holds ASCII only. */
type Piece = Lines | string | Buffer;

/** A part: its own Content- fields (each with CRLF), then its body in pieces, without the line end that closes it. */
type Part = Readonly<{ fields: string; body: readonly Piece[] }>;

/**
 * In: the message, with addresses from parseAddress and without recipients in blind copy.
 * Out: the bytes: ASCII only, CRLF line ends, no dot stuffing. Throws if an address was not parsed.
 */
export const composeMessage = (message: MessageToCompose): Buffer => {
  const boundaries = boundariesOf(message.messageId);
  const root = rootPart(message, boundaries);
  return joined([headOf(message), root.fields, '\r\n', ...root.body, endsItsLine(root.body.at(-1)) ? '' : '\r\n']);
};

/**
 * The header fields of the message, unfolded, in their order. Fields that describe its MIME parts are left out, because
 * they depend on the attachments.
 */
export const headFields = (message: MessageToCompose): readonly Readonly<{ name: string; value: string }>[] =>
  headOf(message)
    .replace(/\r\n(?=[ \t])/g, '')
    .trimEnd()
    .split('\r\n')
    .map((line) => {
      const colon = line.indexOf(':');
      return { name: line.slice(0, colon), value: line.slice(colon + 1).trim() };
    });

const headOf = (message: MessageToCompose): string => {
  let head =
    dateField(message.date) +
    fold('Message-ID', [`<${message.messageId.replace(/[<>\s\x00-\x1f\x7f]/g, '')}>`]) +
    addressField('From', [message.from]);
  if (message.replyTo !== undefined && message.replyTo.length > 0) head += addressField('Reply-To', message.replyTo);
  if (message.to.length > 0) head += addressField('To', message.to);
  if (message.cc !== undefined && message.cc.length > 0) head += addressField('Cc', message.cc);
  head += textField('Subject', message.subject);
  if (message.priority === 'high') head += 'X-Priority: 1 (Highest)\r\nX-MSMail-Priority: High\r\nImportance: high\r\n';
  if (message.priority === 'low') head += 'X-Priority: 5 (Lowest)\r\nX-MSMail-Priority: Low\r\nImportance: low\r\n';
  for (const header of message.headers ?? []) head += customField(header.name, header.value);
  return `${head}MIME-Version: 1.0\r\n`;
};

/** RFC 5322, section 3.3, in UTC. */
const dateField = (iso: string): string => `Date: ${new Date(iso).toUTCString().replace('GMT', '+0000')}\r\n`;

type Boundaries = Readonly<{ mark: string; of: (kind: string) => string }>;

/**
 * Boundaries derived from the Message-ID. `=_` occurs in no encoded body: quoted-printable writes every `=` as `=3D`,
 * base64 has no `_`; a 7bit body is looked through for the mark. One boundary is never the beginning of another.
 */
const boundariesOf = (messageId: string): Boundaries => {
  const mark = `=_${digestOf('sha1', messageId, 'hex').slice(0, 24)}`;
  return { mark, of: (kind) => `${mark}_${kind}` };
};

const rootPart = (message: MessageToCompose, boundaries: Boundaries): Part => {
  const attachments = message.attachments ?? [];
  const { html } = message;
  // A file that the HTML does not show is an ordinary attachment: readers list no part of multipart/related.
  const inline = html === undefined ? [] : attachments.filter((one) => isNamed(html, one));
  const apart = attachments.filter((one) => !inline.includes(one));

  const bodies: Part[] =
    message.text === undefined && html !== undefined ? [] : [textPart('plain', message.text ?? '', boundaries)];
  if (html !== undefined) {
    const shown = textPart('html', html, boundaries);
    bodies.push(
      inline.length === 0
        ? shown
        : multipart('related', '; type="text/html"', boundaries, [
            shown,
            ...inline.map((one) => attachmentPart(one, true)),
          ]),
    );
  }
  const invitation = apart.find(isInvitation);
  if (invitation !== undefined) bodies.push(invitationPart(invitation, boundaries));
  const content = bodies.length === 1 ? bodies[0]! : multipart('alternative', '', boundaries, bodies);
  if (apart.length === 0) return content;
  return multipart('mixed', '', boundaries, [
    content,
    ...apart.map((one) => attachmentPart(one === invitation ? { ...one, contentType: 'application/ics' } : one, false)),
  ]);
};

/**
 * In: the media type of a file and its bytes. Out: that of a calendar with the method and charset that it has (RFC
 * 6047); any other as it is.
 */
const withMethod = (mediaType: MediaType | undefined, content: Buffer): MediaType | undefined => {
  if (mediaType?.type !== 'text/calendar') return mediaType;
  const parameters = new Map(mediaType.parameters);
  const method = /^METHOD:([A-Za-z-]{1,20})[ \t]*\r?$/im.exec(
    content.toString('latin1', 0, CALENDAR_HEAD_BYTES_MAX),
  )?.[1];
  if (!parameters.has('charset')) parameters.set('charset', 'utf-8');
  if (!parameters.has('method') && method !== undefined) parameters.set('method', method.toUpperCase());
  return { type: mediaType.type, parameters: [...parameters] };
};

const CALENDAR_HEAD_BYTES_MAX = 64 * 1024;

const parameterOf = (mediaType: MediaType | undefined, name: string): string | undefined =>
  mediaType?.parameters.find(([one]) => one === name)?.[1];

/** True for a calendar that asks its reader for an answer, or answers. A published one is a file to keep. */
const isInvitation = ({ contentType, content }: MessageAttachment): boolean => {
  if (!/^\s*text\/calendar/i.test(contentType)) return false;
  const method = parameterOf(withMethod(parseMediaType(contentType.trim()), content), 'method');
  return method !== undefined && method.toUpperCase() !== 'PUBLISH';
};

/**
 * Readers offer to accept an invitation that stands beside text and HTML; the file is attached as well, for the others.
 */
const invitationPart = ({ contentType, content }: MessageAttachment, boundaries: Boundaries): Part => {
  const mediaType = withMethod(parseMediaType(contentType.trim()), content);
  const isUtf8 = /^utf-?8$/i.test(parameterOf(mediaType, 'charset') ?? '');
  const body: EncodedBody = isUtf8
    ? encodeText(content.toString('utf8'), boundaries.mark)
    : { encoding: 'base64', content: base64Lines(content) };
  return {
    fields: `${parameterField('Content-Type', 'text/calendar', mediaType === undefined ? [] : parameterPieces(mediaType))}Content-Transfer-Encoding: ${body.encoding}\r\n`,
    body: [body.content],
  };
};

/** True if the HTML names the file as `cid:…`. */
const isNamed = (html: string, { contentId = '' }: MessageAttachment): boolean => {
  if (contentId === '') return false;
  const address = `cid:${contentIdOf(contentId)}`;
  for (let at = html.indexOf(address); at >= 0; at = html.indexOf(address, at + 1)) {
    if (!/^[A-Za-z0-9._@-]/.test(html.slice(at + address.length, at + address.length + 1))) return true;
  }
  return false;
};

const textPart = (subtype: 'plain' | 'html', text: string, boundaries: Boundaries): Part => {
  const { encoding, content } = encodeText(text, boundaries.mark);
  return {
    fields: `Content-Type: text/${subtype}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n`,
    body: [content],
  };
};

const endsItsLine = (piece: Piece | undefined): boolean => {
  if (piece === undefined) return false;
  if (typeof piece === 'string') return piece.endsWith('\r\n');
  return 'lineEnds' in piece ? piece.text.endsWith('\n') : piece.at(-1) === 0x0a;
};

const multipart = (
  subtype: 'alternative' | 'related' | 'mixed',
  parameters: string,
  boundaries: Boundaries,
  parts: readonly Part[],
): Part => {
  const boundary = boundaries.of(subtype);
  const body: Piece[] = [];
  // The line end before a boundary belongs to the boundary (RFC 2046, section 5.1.1), so a text keeps its own.
  for (const part of parts) body.push(`--${boundary}\r\n${part.fields}\r\n`, ...part.body, '\r\n');
  body.push(`--${boundary}--`);
  return { fields: `Content-Type: multipart/${subtype}${parameters};\r\n boundary="${boundary}"\r\n`, body };
};

const MEDIA_TYPE =
  /^(?!multipart\/|message\/(?:partial|external-body)$)[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}$/;

const attachmentPart = (attachment: MessageAttachment, inline: boolean): Part => {
  const given = withMethod(parseMediaType(attachment.contentType.trim()), attachment.content);
  const isKept = given !== undefined && MEDIA_TYPE.test(given.type);
  const isMessage = isKept && given.type.startsWith('message/');
  const asMessage = isMessage ? messageAsText(given.type, attachment.content) : undefined;
  const known = isKept && (asMessage !== undefined || !isMessage);
  const mediaType = known ? given.type : 'application/octet-stream';
  const typeParameters = known ? parameterPieces(given) : [];
  let fields =
    parameterField('Content-Type', mediaType, [...typeParameters, plainParameter('name', attachment.filename)]) +
    `Content-Transfer-Encoding: ${asMessage === undefined ? 'base64' : '7bit'}\r\n` +
    parameterField(
      'Content-Disposition',
      inline ? 'inline' : 'attachment',
      mimeParameter('filename', attachment.filename),
    );
  if (inline) fields += fold('Content-ID', [`<${contentIdOf(attachment.contentId ?? '')}>`]);
  return { fields, body: [asMessage ?? base64Lines(attachment.content)] };
};

/** True if a text with CRLF line ends can travel as it is. */
const isPortable = (text: string): boolean => /^[\x01-\x7f]*$/.test(text) && !/[^\r\n]{999}|^From /m.test(text);

/** Parts within parts of an attached message. */
const MESSAGE_DEPTH_MAX = 20;

/**
 * A message may be attached without an encoding only (RFC 2046, section 5.2.1). Out: the message as ASCII, with each
 * body that cannot travel as it is encoded where it stands; undefined if its fields or a signed part would have to
 * change.
 */
const messageAsText = (type: string, content: Buffer): string | undefined => {
  const text = content.toString('latin1').replace(/\r\n?|\n/g, '\r\n');
  if (type !== 'message/rfc822') return isPortable(text) ? text : undefined;
  return /^[!-9;-~]+:/.test(text) ? partAsText(text, 0) : undefined;
};

const partAsText = (part: string, depth: number): string | undefined => {
  if (isPortable(part)) return part;
  const headEnd = part.startsWith('\r\n') ? 0 : part.indexOf('\r\n\r\n') + 2;
  const head = part.slice(0, headEnd);
  const body = part.slice(headEnd + 2);
  if (headEnd === 1 || !isPortable(head) || depth === MESSAGE_DEPTH_MAX) return undefined;
  const fieldOf = (name: string): string =>
    (new RegExp(`^${name}:((?:.|\\r\\n[ \\t])*)`, 'im').exec(head)?.[1] ?? '').replace(/\s+/g, ' ').trim();
  const type = fieldOf('content-type').toLowerCase();
  const encoding = fieldOf('content-transfer-encoding').toLowerCase();
  const withBody = (now: string | undefined, encoded: TransferEncoding): string | undefined => {
    if (now === undefined || !isPortable(now)) return undefined;
    const others = head.replace(/^content-transfer-encoding:(?:.|\r\n[ \t])*\r\n/im, '');
    return `${others}Content-Transfer-Encoding: ${encoded}\r\n\r\n${now}`;
  };
  if (type.startsWith('multipart/signed') || encoding === 'base64') return undefined;
  if (type.startsWith('multipart/')) return withBody(partsAsText(fieldOf('content-type'), body, depth), '7bit');
  if (type.startsWith('message/rfc822')) return withBody(partAsText(body, depth + 1), '7bit');
  if (encoding === 'quoted-printable') return withBody(body.replace(/^From /gm, '=46rom '), encoding);
  const bytes = Buffer.from(body, 'latin1');
  return type === '' || type.startsWith('text/')
    ? withBody(quotedPrintable(bytes), 'quoted-printable')
    : withBody(base64Lines(bytes).toString('latin1'), 'base64');
};

const partsAsText = (contentType: string, body: string, depth: number): string | undefined => {
  const [, quoted, bare] = /;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) return undefined;
  // Every second piece is a line with the boundary; the first piece stands before all parts, and the piece after the
  // closing line behind them.
  const pieces = body.split(
    new RegExp(`((?:^|\\r\\n)--${boundary.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}(?:--)?[ \\t]*(?:\\r\\n|$))`),
  );
  let out = '';
  for (const [index, piece] of pieces.entries()) {
    const isPart = index % 2 === 0 && index > 0 && !pieces[index - 1]!.includes(`--${boundary}--`);
    const text = isPart ? partAsText(piece, depth + 1) : piece;
    if (text === undefined) return undefined;
    out += text;
  }
  return out;
};

/** Keeps the characters that both a `cid:` URL and a Content-ID may have (RFC 2392); all others become hyphens. */
const contentIdOf = (contentId: string): string => contentId.replace(/[^A-Za-z0-9.!#$&'*+/=^_{|}~@-]/g, '-');

const parameterField = (name: string, value: string, parameters: readonly string[]): string =>
  fold(
    name,
    [value, ...parameters].map((piece, index, all) => (index < all.length - 1 ? `${piece};` : piece)),
  );

const sizeOf = (piece: Piece): number =>
  typeof piece === 'string' || !('lineEnds' in piece) ? piece.length : piece.text.length + piece.lineEnds;

const joined = (pieces: readonly Piece[]): Buffer => {
  const out = roomFor(pieces.reduce((sum, piece) => sum + sizeOf(piece), 0));
  let at = 0;
  for (const piece of pieces) {
    if (typeof piece === 'string') at += out.write(piece, at, 'latin1');
    else at += 'lineEnds' in piece ? writeLines(out, at, piece) : piece.copy(out, at);
  }
  return out;
};

/**
 * Messages share large buffers (slabs), because allocating and freeing some ten thousand bytes for each is slow. A slab
 * is freed with the last of its messages.
 */
const SLAB_BYTES = 512 * 1024;
let slab = Buffer.alloc(0);
let slabTaken = 0;

const roomFor = (sizeBytes: number): Buffer => {
  if (sizeBytes > SLAB_BYTES / 8) return Buffer.allocUnsafe(sizeBytes);
  if (slabTaken + sizeBytes > slab.length) {
    slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    slabTaken = 0;
  }
  slabTaken += sizeBytes;
  return slab.subarray(slabTaken - sizeBytes, slabTaken);
};

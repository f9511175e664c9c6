/** Writes a whole message (RFC 5322, RFC 2045 to 2049) as the bytes that leave: the same input gives the same bytes. */
import { parameterPieces, parseMediaType } from './attachment.js';
import { hash as digestOf } from 'node:crypto';
import { base64Lines, encodeText, writeLines, type Lines } from './body.js';
import { mimeParameter } from './encoded-text.js';
import { addressField, customField, fold, textField, type NamedAddress } from './header.js';

export { checkHeader, type HeaderMatcher, type NamedAddress } from './header.js';

export type MessageAttachment = Readonly<{
  filename: string;
  /** A media type, e.g. `application/pdf`. What is none, and `multipart/*` and `message/*`, which base64 may not carry, becomes `application/octet-stream`. */
  contentType: string;
  /** Without angle brackets. An attachment with one is shown inside the HTML part, which names it as `cid:…`. */
  contentId?: string | undefined;
  content: Buffer;
}>;

export type MessageToCompose = Readonly<{
  from: NamedAddress;
  to: readonly NamedAddress[];
  cc?: readonly NamedAddress[];
  replyTo?: NamedAddress | undefined;
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

/** Strings hold ASCII only. */
type Piece = Lines | string | Buffer;

/** A part: its own Content- fields (each with CRLF), then its body in pieces, without the line end that closes it. */
type Part = Readonly<{ fields: string; body: readonly Piece[] }>;

/**
 * In: the message; addresses come from parseAddress, recipients in blind copy are not given at all.
 * Out: the bytes, ASCII only, CRLF line ends, no dot stuffed. Throws where an address was not parsed.
 */
export const composeMessage = (message: MessageToCompose): Buffer => {
  const boundaries = boundariesOf(message.messageId);
  const root = rootPart(message, boundaries);
  return joined([headOf(message), root.fields, '\r\n', ...root.body, endsItsLine(root.body.at(-1)) ? '' : '\r\n']);
};

const headOf = (message: MessageToCompose): string => {
  let head =
    dateField(message.date) +
    fold('Message-ID', [`<${message.messageId.replace(/[<>\s\x00-\x1f\x7f]/g, '')}>`]) +
    addressField('From', [message.from]);
  if (message.replyTo !== undefined) head += addressField('Reply-To', [message.replyTo]);
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
  // Without HTML there is nothing that could show an inline picture, so it goes with the others.
  const isInline = (one: MessageAttachment): boolean => html !== undefined && (one.contentId ?? '') !== '';
  const inline = attachments.filter(isInline);
  const apart = attachments.filter((one) => !isInline(one));

  const text = message.text === undefined && html !== undefined ? undefined : textPart('plain', message.text ?? '', boundaries);
  let content: Part;
  if (html === undefined) {
    content = text ?? textPart('plain', '', boundaries);
  } else {
    const shown =
      inline.length === 0
        ? textPart('html', html, boundaries)
        : multipart('related', '; type="text/html"', boundaries, [textPart('html', html, boundaries), ...inline.map(attachmentPart)]);
    content = text === undefined ? shown : multipart('alternative', '', boundaries, [text, shown]);
  }
  return apart.length === 0 ? content : multipart('mixed', '', boundaries, [content, ...apart.map(attachmentPart)]);
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

const MEDIA_TYPE = /^(?!multipart\/|message\/)[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}$/;

const attachmentPart = (attachment: MessageAttachment): Part => {
  const inline = (attachment.contentId ?? '') !== '';
  const given = parseMediaType(attachment.contentType.trim());
  const known = given !== undefined && MEDIA_TYPE.test(given.type);
  const mediaType = known ? given.type : 'application/octet-stream';
  const typeParameters = known ? parameterPieces(given) : [];
  const nameParameters = mimeParameter('name', attachment.filename).slice(0, 1);
  let fields =
    parameterField('Content-Type', mediaType, [...typeParameters, ...nameParameters]) +
    'Content-Transfer-Encoding: base64\r\n' +
    parameterField('Content-Disposition', inline ? 'inline' : 'attachment', mimeParameter('filename', attachment.filename));
  if (inline) fields += fold('Content-ID', [`<${contentIdOf(attachment.contentId ?? '')}>`]);
  return { fields, body: [base64Lines(attachment.content)] };
};

/** Only what a `cid:` URL and a Content-ID can both hold (RFC 2392); everything else becomes a hyphen. */
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

/** Messages stand one after the other in slabs: some ten thousand bytes at a time are dear to get and to give back. A slab goes with the last of its messages. */
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

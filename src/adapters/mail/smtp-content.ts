/** The content of a message on the wire: written when the server has asked for it, and only while it may be sent. */
import { Duplex, Readable } from 'node:stream';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';

/** How much of the message the server got: its end is on the wire once the operating system has taken it. */
export type SentPart = 'nothing' | 'its beginning' | 'all';

const LF = 0x0a;
const CR = 0x0d;
const DOT = 0x2e;
const END = Buffer.from('.\r\n');
const LINE_END_AND_END = Buffer.from('\r\n.\r\n');

type ContentGate = Readonly<{
  /** Asked right before the content; absent: it is sent. */
  mayGoOn: (() => boolean) | undefined;
  /** Called in place of sending where the reply to DATA does not ask for the message. */
  refuse: (reply: string) => void;
  /** Called in place of sending where `mayGoOn` answers false. */
  leave: () => void;
}>;

/**
 * A finished message as the input of nodemailer's connection. nodemailer's own data stream inspects every byte slowly
 * and passes through three streams. This one writes the finished bytes straight to the connection's socket when the
 * server has asked for them.
 */
export class FinishedMessage extends Readable {
  sent: SentPart = 'nothing';
  readonly #connection: SMTPConnection;
  readonly #raw: Buffer;
  readonly #gate: ContentGate;

  constructor(connection: SMTPConnection, raw: Buffer, gate: ContentGate) {
    super();
    this.#connection = connection;
    this.#raw = raw;
    this.#gate = gate;
  }

  /** nodemailer calls this after the reply to DATA, with a stream that it has piped to the socket. */
  override pipe<Destination extends NodeJS.WritableStream>(destination: Destination): Destination {
    const { lastServerResponse: reply } = this.#connection;
    if (typeof reply !== 'string' || !reply.startsWith('354')) {
      this.#gate.refuse(String(reply));
      return destination;
    }
    if (this.#gate.mayGoOn?.() === false) {
      this.#gate.leave();
      return destination;
    }
    this.sent = 'its beginning';
    const socket = this.#connection._socket;
    if (!socket || !(destination instanceof Duplex))
      throw new Error('nodemailer hands over its data in another way than this was made for');
    // The stream is unused. If it stayed piped, each message would leave its listeners on the socket.
    destination.unpipe(socket);
    socket.cork();
    const [body, end] = wirePieces(this.#raw);
    socket.write(body);
    socket.write(end, () => void (this.sent = 'all'));
    socket.uncork();
    return destination;
  }
}

/**
 * The bytes sent after DATA (RFC 5321, section 4.5.2), in pieces: dots doubled, every line end CRLF, ended by a line
 * with a dot alone.
 */
export const wirePieces = (raw: Buffer): readonly [Buffer, Buffer] => {
  const body = stuffed(raw);
  return [body, body.length === 0 || body[body.length - 1] === LF ? END : LINE_END_AND_END];
};

/**
 * Doubles dots and repairs line ends. Nearly every message is right already, and its very bytes are sent. The composer
 * writes no bare CR or LF, and none may be sent: a server that takes one for a line end could be made to end the
 * message there and begin another.
 */
const stuffed = (raw: Buffer): Buffer => {
  const dots: number[] = raw[0] === DOT ? [0] : [];
  let lineEnds = 0;
  // Searching is many times faster than looking at each byte.
  for (let at = raw.indexOf(LF); at >= 0; at = raw.indexOf(LF, at + 1)) {
    if (raw[at - 1] !== CR) return stuffed(withCrlf(raw));
    if (raw[at + 1] === DOT) dots.push(at + 1);
    lineEnds += 1;
  }
  // Each of these line ends has its CR. Any further CR is a bare one.
  for (let at = raw.indexOf(CR); at >= 0; at = raw.indexOf(CR, at + 1)) lineEnds -= 1;
  if (lineEnds !== 0) return stuffed(withCrlf(raw));
  return dots.length === 0 ? raw : withDots(raw, dots);
};

const withCrlf = (raw: Buffer): Buffer => Buffer.from(raw.toString('latin1').replace(/\r\n|\r|\n/g, '\r\n'), 'latin1');

/** Puts a dot before each of those places. */
const withDots = (raw: Buffer, places: readonly number[]): Buffer => {
  const out = Buffer.allocUnsafe(raw.length + places.length);
  let from = 0;
  let to = 0;
  for (const place of places) {
    to += raw.copy(out, to, from, place);
    out[to++] = DOT;
    from = place;
  }
  raw.copy(out, to, from);
  return out;
};

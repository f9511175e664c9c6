/**
 * A finished message as nodemailer's connection takes it. Its own data stream looks at every byte in a slow way and passes through
 * three streams; this one lays the bytes that are ready straight onto the connection's socket when the server has asked for them.
 */
import { Duplex, Readable } from 'node:stream';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import { wirePieces } from './wire.js';

export class FinishedMessage extends Readable {
  /** The server had asked for the message, and it was sent or begun to be. */
  asked = false;
  readonly #connection: SMTPConnection;
  readonly #raw: Buffer;

  constructor(connection: SMTPConnection, raw: Buffer) {
    super();
    this.#connection = connection;
    this.#raw = raw;
  }

  /** nodemailer calls this after the reply to DATA, with a stream that it has piped to the socket. */
  override pipe<Destination extends NodeJS.WritableStream>(destination: Destination): Destination {
    this.asked = true;
    const socket = this.#connection._socket;
    if (!socket || !(destination instanceof Duplex))
      throw new Error('nodemailer hands over its data in another way than this was made for');
    // Nothing goes through that stream: left on the socket, each message would leave its listeners there.
    destination.unpipe(socket);
    socket.cork();
    for (const piece of wirePieces(this.#raw)) socket.write(piece);
    socket.uncork();
    return destination;
  }
}

/** The SMTP server of the built-in mailbox: on loopback, without login or TLS, it takes every message. */
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import type { Logger } from '../../domain/ports/logger.js';
import { withAsciiDomain } from '../../shared/ascii-domain.js';
import type { Envelope } from './message-table.js';

export type Receiver = Readonly<{ url: string; close: () => Promise<void> }>;

const loopback = '127.0.0.1';
const clientsMax = 100;
const recipientsMax = 1_000;
const silenceMs = 5 * 60_000;
const closeMs = 2_000;

/**
 * `store` resolves when the message is kept for good; only then it is answered with 250, and with 452 where it rejects.
 * Not taken, because the server's parser does not know them: local parts in quotes that hold a space or an @.
 */
export const openReceiver = async ({
  port,
  sizeBytesMax,
  store,
  logger,
}: Readonly<{
  port: number;
  sizeBytesMax: number;
  store: (envelope: Envelope, raw: Buffer) => Promise<void>;
  logger: Logger;
}>): Promise<Receiver> => {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    hideENHANCEDSTATUSCODES: false,
    disableReverseLookup: true,
    size: sizeBytesMax,
    maxClients: clientsMax,
    maxRecipients: recipientsMax,
    socketTimeout: silenceMs,
    closeTimeout: closeMs,
    logger: false,
    onData: (stream, session, done) => {
      receive(stream, session, sizeBytesMax)
        .then(({ envelope, raw }) => store(envelope, raw))
        .then(
          () => done(null, 'kept'),
          (error: unknown) => {
            if (error instanceof TooLarge) return done(error);
            logger.error({ error: error instanceof Error ? error : new Error('unknown') }, 'the mailbox could not keep a message');
            done(Object.assign(new Error('4.3.1 the mailbox cannot keep the message now'), { responseCode: 452 }));
          },
        );
    },
  });
  // Faults of single clients; those of listening reject below.
  server.on('error', (error) => logger.debug({ error }, 'a client of the mailbox broke off'));
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(port, loopback, () => {
      server.server.off('error', reject);
      resolve();
    });
  });
  return {
    url: `smtp://${loopback}:${portOf(server.server.address())}?tls=off`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
};

class TooLarge extends Error {
  override readonly name = 'TooLarge';
  readonly responseCode = 552;
}

const receive = async (
  stream: SMTPServerDataStream,
  session: SMTPServerSession,
  sizeBytesMax: number,
): Promise<Readonly<{ envelope: Envelope; raw: Buffer }>> => {
  const chunks: Buffer[] = [];
  // A message that is too large is read to its end, as the protocol wants, but not kept.
  for await (const chunk of stream) if (!stream.sizeExceeded) chunks.push(chunk as Buffer);
  if (stream.sizeExceeded) throw new TooLarge(`5.3.4 the message is larger than ${sizeBytesMax} bytes`);
  const { mailFrom, rcptTo } = session.envelope;
  // The server shows A-labels as Unicode; the client had sent A-labels.
  return {
    envelope: {
      from: mailFrom === false ? '' : withAsciiDomain(mailFrom.address),
      to: rcptTo.map(({ address }) => withAsciiDomain(address)),
    },
    raw: Buffer.concat(chunks),
  };
};

const portOf = (address: AddressInfo | string | null): number => {
  if (address === null || typeof address === 'string') throw new Error('the mailbox has no port');
  return address.port;
};

/**
 * The SMTP server of the return path: takes reports for addresses with an authentic token, and no other mail. It has no
 * login and relays nothing.
 */
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import type { Clock } from '../../domain/ports/clock.js';
import { withAsciiDomain } from '../../shared/addresses.js';
import { openNetworkLimits, type NetworkLimits, type SmtpServerBounds } from '../../shared/network-limits.js';
import type { EmailId } from '../../domain/core/ids.js';
import type { Logger } from '../../domain/ports/logger.js';
import { REPORT_BYTES_READ_MAX } from '../../domain/ports/report-reader.js';

/** `later`: the report may be taken in a minute. `unknown`: there is no such email. */
export type Taken = 'taken' | 'later' | 'unknown';

export type SmtpListenerOptions = Readonly<{
  host: string;
  /** 0: a free one. */
  port: number;
  /** The server's name in its greeting. */
  name: string;
  /** PEM; absent: no STARTTLS. */
  tls?: Readonly<{ cert: string; key: string }>;
  bounds: SmtpServerBounds;
  clock: Pick<Clock, 'monotonic'>;
  logger: Logger;
  /** The email that an address belongs to; undefined if its token is not ours. */
  emailOf: (address: string) => EmailId | undefined;
  /** Gets the beginning of a message. Resolves when the report is recorded. */
  receive: (id: EmailId, raw: Buffer) => Promise<Taken>;
}>;

/** `renew`: STARTTLS uses another certificate from now on; only where one was given. */
export type SmtpListener = Readonly<{
  port: number;
  renew: (tls: Readonly<{ cert: string; key: string }>) => void;
  close: () => Promise<void>;
}>;

type Settings = NonNullable<ConstructorParameters<typeof SMTPServer>[0]>;

type Sessions = Readonly<{
  begin: (session: SMTPServerSession, server: SMTPServer) => boolean;
  end: (session: SMTPServerSession) => void;
  commanded: (id: unknown) => void;
}>;

/** RFC 5321, section 4.5.3.1, asks for 512; SMTPUTF8 and DSN parameters make lines longer (RFC 3461, section 4). */
const COMMAND_OCTETS_MAX = 4_096;

/** Rejects if the port cannot be opened. The server answers 250 to a message only when `receive` has taken it. */
export const openSmtpListener = async (options: SmtpListenerOptions): Promise<SmtpListener> => {
  const { bounds, logger, host } = options;
  const limits = openNetworkLimits(options.clock, bounds);
  const receiving = new Set<Promise<void>>();
  const sessions = openSessions(bounds, limits);
  const server = new SMTPServer({
    ...settingsOf(options),
    logger: {
      debug: ({ tnx, cid }: Readonly<{ tnx?: unknown; cid?: unknown }>) =>
        void (tnx === 'command' && sessions.commanded(cid)),
    },
    onConnect: (session, done) =>
      done(sessions.begin(session, server) ? null : refusal(421, 'too many connections from your network')),
    onClose: sessions.end,
    onMailFrom: (_address, session, done) =>
      done(
        limits.mayMessage(session.remoteAddress)
          ? null
          : refusal(451, 'too many messages in a minute, try again later'),
      ),
    onRcptTo: ({ address }, _session, done) =>
      done(options.emailOf(withAsciiDomain(address)) === undefined ? refusal(550, 'no such address here') : null),
    onData: (stream, session, done) => {
      const taking = take(options, stream, session).then((reply) => done(reply, 'taken'));
      receiving.add(taking);
      void taking.finally(() => receiving.delete(taking));
    },
  });
  // Faults of single clients; those of listening reject below. The messages are not logged: they may repeat what the
  // client has sent.
  server.on('error', (error: NodeJS.ErrnoException) =>
    logger.debug({ code: error.code }, 'a client of the return path broke off'),
  );
  server.server.maxConnections = 2 * bounds.allConnectionsMax;
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(options.port, host, () => {
      server.server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.server.address() as AddressInfo).port,
    renew: ({ cert, key }) => server.updateSecureContext({ cert, key }),
    close: async () => {
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.allSettled(receiving);
    },
  };
};

const settingsOf = ({ name, tls, bounds }: SmtpListenerOptions): Settings => ({
  name,
  authOptional: true,
  disabledCommands: ['AUTH', ...(tls === undefined ? ['STARTTLS'] : [])],
  ...tls,
  hideENHANCEDSTATUSCODES: false,
  disableReverseLookup: true,
  size: bounds.sizeBytesMax,
  maxClients: bounds.allConnectionsMax,
  // A report is about one email; a client is told to send the others one by one (RFC 5321, section 4.5.3.1.10).
  maxRecipients: 1,
  maxCommandLength: COMMAND_OCTETS_MAX,
  socketTimeout: bounds.silenceMs,
  closeTimeout: bounds.closeMs,
});

const refusal = (responseCode: number, text: string): Error => Object.assign(new Error(text), { responseCode });

/** The admitted connections. Each ends when its time is over, or when its network sends too many commands. */
const openSessions = ({ sessionMs }: SmtpServerBounds, limits: NetworkLimits): Sessions => {
  const sessions = new Map<
    unknown,
    Readonly<{ address: string; timer: NodeJS.Timeout; hangUp: (why: string) => void }>
  >();
  return {
    begin: ({ id, remoteAddress: address }, server) => {
      if (!limits.open(address)) return false;
      const hangUp = (why: string): void => {
        for (const connection of server.connections) if (connection.id === id) connection.send(421, why);
      };
      sessions.set(id, { address, hangUp, timer: setTimeout(hangUp, sessionMs, 'the session takes too long').unref() });
      return true;
    },
    end: ({ id }) => {
      const session = sessions.get(id);
      if (session === undefined) return;
      sessions.delete(id);
      clearTimeout(session.timer);
      limits.close(session.address);
    },
    commanded: (id) => {
      const session = sessions.get(id);
      if (session !== undefined && !limits.mayCommand(session.address)) session.hangUp('too many commands in a minute');
    },
  };
};

/** Out: null if the report was taken, else the reply to the client. Never rejects. */
const take = async (
  options: SmtpListenerOptions,
  stream: SMTPServerDataStream,
  session: SMTPServerSession,
): Promise<Error | null> => {
  try {
    const raw = await beginningOf(stream);
    if (stream.sizeExceeded) return refusal(552, `the message is larger than ${options.bounds.sizeBytesMax} bytes`);
    const id = options.emailOf(withAsciiDomain(session.envelope.rcptTo[0]?.address ?? ''));
    return id === undefined ? unknown() : replyOf(await options.receive(id, raw));
  } catch (error) {
    // The client has gone in the middle of its message.
    if (stream.errored !== null) return later();
    options.logger.error(
      { error: error instanceof Error ? error : new Error('unknown') },
      'a report could not be recorded',
    );
    return later();
  }
};

const later = (): Error => refusal(451, 'not now, send it again later');
const unknown = (): Error => refusal(550, 'no such address here');

const replyOf = (taken: Taken): Error | null => {
  switch (taken) {
    case 'taken':
      return null;
    case 'later':
      return later();
    case 'unknown':
      return unknown();
  }
};

/** The beginning of the message. The rest is read, as the protocol requires, and not kept. */
const beginningOf = async (stream: SMTPServerDataStream): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let left = REPORT_BYTES_READ_MAX;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (left <= 0) continue;
    chunks.push(chunk.subarray(0, left));
    left -= chunk.length;
  }
  return Buffer.concat(chunks);
};

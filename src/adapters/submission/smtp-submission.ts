/**
 * The SMTP servers on which programs hand over their mail (RFC 6409): STARTTLS on one port, TLS from the first byte on
 * the other. A message is taken after a login only, and answered when it is durable.
 */
import type { AddressInfo, Socket } from 'node:net';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import { parseAddress } from '../../domain/mime/address.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import { withAsciiDomain } from '../../shared/addresses.js';
import { openNetworkLimits, type NetworkLimits, type SmtpServerBounds } from '../../shared/network-limits.js';

/** `status`: the enhanced status code (RFC 3463). */
export type SubmissionReply = Readonly<{ code: number; status: string; text: string }>;

/** A client that has logged in. `share`: those of one share have at most half of the connections and of the memory. */
export type SubmissionUser = Readonly<{ share: string }>;

export type SubmissionBounds = SmtpServerBounds &
  Readonly<{
    /** Recipients of one message. */
    recipientsMax: number;
    /** Messages that arrive, of all clients together. */
    memoryBytesMax: number;
    /** A message that takes longer to arrive is not taken. */
    messageMs: number;
  }>;

type Pair = Readonly<{ cert: string; key: string }>;

export type SubmissionOptions<User extends SubmissionUser> = Readonly<{
  host: string;
  /** 0: a free one. `isTls`: TLS from the first byte on. */
  ports: readonly Readonly<{ port: number; isTls: boolean }>[];
  /** The server's name in its greeting. */
  name: string;
  /** PEM; absent: no TLS, and only clients of this machine log in. */
  tls?: Pair;
  bounds: SubmissionBounds;
  clock: Pick<Clock, 'monotonic'>;
  logger: Logger;
  /** In: the password of a login, and the address that it comes from. */
  logIn: (password: string, address: string) => Promise<User | SubmissionReply>;
  /** Asked for each message; undefined: it may begin. */
  begin: (user: User) => Promise<SubmissionReply | undefined>;
  /** Resolves when the message is durable, or refused. `how`: the protocol (RFC 3848). */
  submit: (
    user: User,
    mail: Readonly<{ sender: string | undefined; to: readonly string[]; raw: Buffer; how: string }>,
  ) => Promise<SubmissionReply>;
}>;

export type SubmissionServers = Readonly<{
  /** In the order of the options. */
  ports: readonly number[];
  /** TLS uses another certificate from now on; only where one was given. */
  renew: (tls: Pair) => void;
  close: () => Promise<void>;
}>;

/** RFC 5321, section 4.5.3.1, asks for 512; AUTH and DSN parameters make lines longer (RFC 4954, section 4). */
const COMMAND_OCTETS_MAX = 12_288;
/** RFC 5321, section 4.5.3.1.5. */
const REPLY_OCTETS_MAX = 500;
const LOGINS_PER_CONNECTION_MAX = 3;
/** The room of a message that comes in several pieces. */
const GROWN_BYTES_MIN = 64 * 1024;
const EMPTY = Buffer.alloc(0);

const STATUS = /^[245]\.\d{1,3}\.\d{1,3} /;
const LOOPBACK = /^(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/;

/** The connection of a session; `server` names it only by its place among all. */
type Connection = SMTPServer extends { connections: Set<infer One> } ? One : never;

type Failure = Error & { responseCode: number };

const refusal = ({ code, status, text }: SubmissionReply): Failure =>
  Object.assign(new Error(lineOf(status, text)), { responseCode: code });

/** One line of a reply: ASCII, short, and with its status in front. */
const lineOf = (status: string, text: string): string =>
  `${status} ${text.replace(/[^\x20-\x7e]/g, '?')}`.slice(0, REPLY_OCTETS_MAX);

const isReply = (answer: object): answer is SubmissionReply => 'status' in answer && 'code' in answer;

const busy = (text: string): SubmissionReply => ({ code: 421, status: '4.7.0', text });
const later: SubmissionReply = { code: 451, status: '4.3.0', text: 'not now, send it again later' };

/** Memory of messages that arrive, shared so that no team takes all of it. */
type Room = Readonly<{
  take: (share: string, bytes: number) => boolean;
  giveBack: (share: string, bytes: number) => void;
}>;

const openRoom = (max: number): Room => {
  const taken = new Map<string, number>();
  let all = 0;
  return {
    take: (share, bytes) => {
      const own = taken.get(share) ?? 0;
      if (all + bytes > max || own + bytes > max / 2) return false;
      taken.set(share, own + bytes);
      all += bytes;
      return true;
    },
    giveBack: (share, bytes) => {
      const left = (taken.get(share) ?? 0) - bytes;
      if (left > 0) taken.set(share, left);
      else taken.delete(share);
      all -= bytes;
    },
  };
};

type Session<User> = {
  readonly connection: Connection;
  readonly address: string;
  readonly timer: NodeJS.Timeout;
  user: User | undefined;
  failedLogins: number;
  /** A message is arriving, or is being recorded. */
  isSending: boolean;
  /** Ends when its message is answered. */
  isOver: boolean;
};

/** Shared by the servers of all ports. */
type Shared<User extends SubmissionUser> = Readonly<{
  options: SubmissionOptions<User>;
  limits: NetworkLimits;
  /** Counts the sockets that begin with TLS, before there is a session. */
  sockets: NetworkLimits;
  room: Room;
  sessions: Map<unknown, Session<User>>;
  receiving: Set<Promise<void>>;
}>;

/** Rejects if a port cannot be opened; the others are closed then. */
export const openSubmission = async <User extends SubmissionUser>(
  options: SubmissionOptions<User>,
): Promise<SubmissionServers> => {
  const { clock, bounds, host } = options;
  const shared: Shared<User> = {
    options,
    limits: openNetworkLimits(clock, bounds),
    sockets: openNetworkLimits(clock, bounds),
    room: openRoom(bounds.memoryBytesMax),
    sessions: new Map(),
    receiving: new Set(),
  };
  const servers: SMTPServer[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))));
    await Promise.allSettled(shared.receiving);
  };
  try {
    for (const { port, isTls } of options.ports) {
      const server = makeServer(shared, isTls);
      await new Promise<void>((resolve, reject) => {
        server.server.once('error', reject);
        server.listen(port, host, () => {
          server.server.off('error', reject);
          resolve();
        });
      });
      servers.push(server);
    }
  } catch (fault) {
    await close();
    throw fault;
  }
  return {
    ports: servers.map(({ server }) => (server.address() as AddressInfo).port),
    renew: ({ cert, key }) => servers.forEach((server) => server.updateSecureContext({ cert, key })),
    close,
  };
};

const makeServer = <User extends SubmissionUser>(shared: Shared<User>, isTls: boolean): SMTPServer => {
  const { options, limits, sessions, receiving } = shared;
  const { bounds, logger, tls, name } = options;
  const server = new SMTPServer({
    name,
    secure: isTls,
    ...tls,
    authMethods: ['PLAIN', 'LOGIN'],
    authRequiredMessage: lineOf(
      '5.7.0',
      'log in first: AUTH PLAIN or LOGIN after STARTTLS, any user name, an API key as password',
    ),
    // Checked for each connection, because clients of this machine may log in without TLS.
    allowInsecureAuth: true,
    disabledCommands: [
      ...(tls === undefined ? ['STARTTLS'] : []),
      'XCLIENT',
      'XFORWARD',
      'WIZ',
      'SHELL',
      'KILL',
      'LHLO',
    ],
    heloResponse: '%s',
    hideENHANCEDSTATUSCODES: false,
    // A server that offers DSN must send the reports (RFC 3461, section 5.2). Its parameters are taken and ignored.
    hideDSN: true,
    disableReverseLookup: true,
    size: bounds.sizeBytesMax,
    maxClients: bounds.allConnectionsMax,
    maxRecipients: bounds.recipientsMax,
    maxCommandLength: COMMAND_OCTETS_MAX,
    socketTimeout: bounds.silenceMs,
    closeTimeout: bounds.closeMs,
    logger: {
      debug: ({ tnx, cid }: Readonly<{ tnx?: unknown; cid?: unknown }>) => {
        if (tnx !== 'command') return;
        const session = sessions.get(cid);
        if (session !== undefined && !limits.mayCommand(session.address))
          hangUp(session, busy('too many commands in a minute'));
      },
    },
    onConnect: (session, done) => {
      const fault = connected(shared, session, server);
      done(fault === undefined ? null : refusal(fault));
    },
    onClose: ({ id }) => {
      const session = sessions.get(id);
      if (session === undefined) return;
      sessions.delete(id);
      clearTimeout(session.timer);
      limits.close(session.address);
    },
    onAuth: ({ password = '' }, { id }, done) => {
      answer(shared, done, async () => logIn(shared, sessions.get(id), String(password)));
    },
    onMailFrom: ({ address }, { id }, done) => {
      answer(shared, done, async () => {
        const user = sessions.get(id)?.user;
        if (user === undefined) return { code: 530, status: '5.7.0', text: 'log in first' };
        return (address === '' ? undefined : addressFault(address, '5.1.7')) ?? options.begin(user);
      });
    },
    onRcptTo: ({ address }, _session, done) => {
      const fault = addressFault(address, '5.1.3');
      done(fault === undefined ? null : refusal(fault));
    },
    onData: (stream, session, done) => {
      const taking = take(shared, stream, session).then((reply) =>
        reply.code === 250 ? done(null, lineOf(reply.status, reply.text)) : done(refusal(reply)),
      );
      receiving.add(taking);
      void taking.finally(() => receiving.delete(taking));
    },
  });
  // Faults of single clients; those of listening reject at the start. Their messages may repeat what a client has sent.
  server.on('error', (error: NodeJS.ErrnoException) =>
    logger.debug({ code: error.code }, 'a client of the submission broke off'),
  );
  server.server.maxConnections = 2 * bounds.allConnectionsMax;
  if (isTls) boundHandshakes(shared.sockets, server);
  return server;
};

/**
 * Refuses sockets of a network that has too many. A session begins behind the handshake of TLS, which a client may never
 * end. A refused socket does not reach smtp-server: TLS over a socket that is destroyed ends the process.
 */
const boundHandshakes = (sockets: NetworkLimits, { server }: SMTPServer): void => {
  const accept = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket) => {
    const address = socket.remoteAddress ?? '';
    if (!sockets.open(address)) return void socket.destroy();
    socket.once('close', () => sockets.close(address));
    for (const listener of accept) listener.call(server, socket);
  });
};

type Done = (error?: Error | null, response?: Readonly<{ user: object }>) => void;

/** Answers with what `work` refuses with, or with the user that it gives. A fault of ours is a reply to come again. */
const answer = <User extends SubmissionUser>(
  { options }: Pick<Shared<User>, 'options'>,
  done: Done,
  work: () => Promise<User | SubmissionReply | undefined>,
): void => {
  work().then(
    (given) => {
      if (given === undefined) done(null);
      else if (isReply(given)) done(refusal(given));
      else done(null, { user: given });
    },
    (error: unknown) => {
      options.logger.error({ error: asError(error) }, 'a command of a client could not be answered');
      done(refusal(later));
    },
  );
};

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error('unknown'));

/** Out: why the connection is refused. */
const connected = <User extends SubmissionUser>(
  { options: { bounds }, limits, sessions }: Shared<User>,
  { id, remoteAddress: address }: SMTPServerSession,
  server: SMTPServer,
): SubmissionReply | undefined => {
  const connection = [...server.connections].find((one) => one.id === id);
  if (connection === undefined) return later;
  withOwnReplies(connection, address);
  if (sessions.size >= bounds.allConnectionsMax) return busy('too many connections, try again later');
  if (!limits.open(address)) return busy('too many connections from your network, try again later');
  const session: Session<User> = {
    connection,
    address,
    user: undefined,
    failedLogins: 0,
    isSending: false,
    isOver: false,
    timer: setTimeout(() => {
      session.isOver = true;
      if (!session.isSending) hangUp(session, busy('the session takes too long, connect again'));
    }, bounds.sessionMs).unref(),
  };
  sessions.set(id, session);
  return undefined;
};

/**
 * Replies that name their own status keep it. AUTH is neither offered nor taken before TLS, so that no key travels in
 * the clear; a client of this machine may use it.
 */
const withOwnReplies = (connection: Connection, address: string): void => {
  const mayLogIn = (): boolean => connection.secure || LOOPBACK.test(address);
  const send = connection.send.bind(connection);
  connection.send = (code, data, context) => {
    if (Array.isArray(data))
      return send(code, mayLogIn() ? data : data.filter((line) => !line.startsWith('AUTH ')), context);
    return send(code, data, typeof data === 'string' && STATUS.test(data) ? false : context);
  };
  const auth = connection.handler_AUTH.bind(connection);
  connection.handler_AUTH = (command, done) => {
    if (mayLogIn()) return auth(command, done);
    connection.send(538, lineOf('5.7.11', 'encryption is required: send STARTTLS before AUTH'));
    done();
  };
};

const hangUp = ({ connection }: Pick<Session<SubmissionUser>, 'connection'>, { status, text }: SubmissionReply): void =>
  connection.send(421, lineOf(status, text));

const logIn = async <User extends SubmissionUser>(
  { options, sessions }: Shared<User>,
  session: Session<User> | undefined,
  password: string,
): Promise<User | SubmissionReply> => {
  if (session === undefined) return later;
  const given = await options.logIn(password, session.address);
  if (isReply(given)) {
    session.failedLogins += 1;
    return session.failedLogins < LOGINS_PER_CONNECTION_MAX ? given : { ...given, code: 421, status: '4.7.0' };
  }
  const own = [...sessions.values()].filter(({ user }) => user?.share === given.share).length;
  if (own >= Math.max(1, options.bounds.allConnectionsMax / 2)) return busy('your team has too many connections open');
  session.user = given;
  return given;
};

const addressFault = (address: string, status: string): SubmissionReply | undefined => {
  const parsed = parseAddress(withAsciiDomain(address));
  if (parsed.ok) return undefined;
  return { code: 553, status: /[^\x00-\x7f]/.test(address) ? '5.6.7' : status, text: parsed.reason };
};

/** The reply to a message. Never rejects. */
const take = async <User extends SubmissionUser>(
  { options, sessions, room }: Shared<User>,
  stream: SMTPServerDataStream,
  { id, envelope, transmissionType }: SMTPServerSession,
): Promise<SubmissionReply> => {
  const session = sessions.get(id);
  if (session?.user === undefined) return later;
  const { user } = session;
  session.isSending = true;
  const tooSlow = setTimeout(() => {
    hangUp(session, busy('the message takes too long'));
    stream.destroy();
  }, options.bounds.messageMs);
  const arriving: Arriving = { bytes: EMPTY, length: 0, refused: undefined };
  let hasArrived = false;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      receive(arriving, chunk, room, user.share, options.bounds);
      if (stream.byteLength > 2 * options.bounds.sizeBytesMax) hangUp(session, tooLarge(options.bounds));
    }
    clearTimeout(tooSlow);
    hasArrived = true;
    if (arriving.refused !== undefined) return arriving.refused;
    const sender =
      envelope.mailFrom === false || envelope.mailFrom.address === '' ? undefined : envelope.mailFrom.address;
    const to = envelope.rcptTo.map(({ address }) => withAsciiDomain(address));
    const raw = arriving.bytes.subarray(0, arriving.length);
    return await options.submit(user, { sender: sender && withAsciiDomain(sender), to, raw, how: transmissionType });
  } catch (error) {
    // Otherwise the client has gone in the middle of its message.
    if (hasArrived) options.logger.error({ error: asError(error) }, 'a message could not be taken');
    return later;
  } finally {
    clearTimeout(tooSlow);
    room.giveBack(user.share, arriving.bytes.length);
    session.isSending = false;
    // The reply is sent first.
    if (session.isOver) setImmediate(() => hangUp(session, busy('the session takes too long, connect again')));
  }
};

/** `bytes`: room for what arrives, of which `length` is taken. The first piece is its own room. */
type Arriving = { bytes: Buffer; length: number; refused: SubmissionReply | undefined };

/** Adds a piece. A message that is refused is read to its end, as the protocol requires, and not kept. */
const receive = (arriving: Arriving, chunk: Buffer, room: Room, share: string, bounds: SubmissionBounds): void => {
  if (arriving.refused !== undefined) return;
  const needed = arriving.length + chunk.length;
  if (needed > bounds.sizeBytesMax) arriving.refused = tooLarge(bounds);
  else if (needed > arriving.bytes.length) {
    const isFirst = arriving.length === 0;
    const size = isFirst ? needed : Math.min(Math.max(GROWN_BYTES_MIN, Math.ceil(1.5 * needed)), bounds.sizeBytesMax);
    if (room.take(share, size - arriving.bytes.length)) {
      const larger = isFirst ? chunk : Buffer.allocUnsafe(size);
      arriving.bytes.copy(larger, 0, 0, arriving.length);
      arriving.bytes = larger;
    } else
      arriving.refused = { code: 452, status: '4.3.1', text: 'too many messages arrive at once, send it again later' };
  }
  if (arriving.refused === undefined) {
    if (chunk !== arriving.bytes) chunk.copy(arriving.bytes, arriving.length);
    arriving.length = needed;
    return;
  }
  room.giveBack(share, arriving.bytes.length);
  arriving.bytes = EMPTY;
};

const tooLarge = ({ sizeBytesMax }: SubmissionBounds): SubmissionReply => ({
  code: 552,
  status: '5.3.4',
  text: `the message is larger than ${sizeBytesMax} bytes, the most that is taken`,
});

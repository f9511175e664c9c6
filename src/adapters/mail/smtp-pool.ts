/**
 * A pool of connections to one SMTP relay, and the URL that names it. A connection is opened when needed and closed
 * when idle for long; their number is bounded.
 */
import { createHmac } from 'node:crypto';
import { hostname } from 'node:os';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { priorities, priorityShares, type Priority } from '../../domain/ports/bus.js';
import { openShares, type Shares } from '../../shared/concurrency.js';

type SmtpTls =
  /** From the first byte (`smtps:`). */
  | 'implicit'
  /** STARTTLS, or the connection is given up. */
  | 'required'
  /** STARTTLS if the server offers it. */
  | 'opportunistic'
  | 'off';

export const authMethods = ['plain', 'login', 'cram-md5', 'xoauth2'] as const;
export type AuthMethod = (typeof authMethods)[number];

/** Settings of a session that the URL does not hold. */
export type SmtpSession = Readonly<{
  /**
   * Our name in EHLO where the URL has none; absent: the machine's name where it has a dot, else an address in
   * brackets.
   */
  clientName?: string;
  /** Gives the token of a login by XOAUTH2, anew for each connection. */
  token?: () => Promise<string>;
}>;

type SmtpServer = Readonly<{
  host: string;
  port: number;
  tls: SmtpTls;
  /** Check the certificate and its name. */
  verify: boolean;
  user: Readonly<{ name: string; password: string }> | undefined;
  /** The only method of login that is tried; undefined: the first that the server offers, and after it the next. */
  auth: AuthMethod | undefined;
  /** Our name in EHLO; undefined: the machine's name. */
  clientName: string | undefined;
  /** How many messages one connection takes; undefined: as many as the pool allows. */
  messagesMax: number | undefined;
}>;

export type SmtpTimeouts = Readonly<{
  /**
   * From the DNS lookup to the end of the greeting and STARTTLS. More than a minute, because some servers greet late on
   * purpose.
   */
  setupMs: number;
  /**
   * Silence of the server in a dialogue (RFC 5321, section 4.5.3.2, wants at least 5 minutes; 10 for the reply to the
   * message).
   */
  silenceMs: number;
  /** A connection without work is closed after this. */
  idleMs: number;
}>;

export type PooledConnection = {
  readonly connection: SMTPConnection;
  /** The number of messages begun on it. */
  used: number;
  /** Ends its idle time; undefined while it is in use. */
  idleTimer: NodeJS.Timeout | undefined;
  ended: boolean;
  /** A caller has it. It then keeps its slot even if it has ended. */
  isLent: boolean;
  isFreed: boolean;
  /**
   * Never rejects. Resolves when the outcome of its last dialogue is recorded. Only then may another begin in its slot.
   */
  settled: Promise<void>;
};

type SmtpPoolOptions = Readonly<{
  server: SmtpServer;
  session: SmtpSession;
  connectionsMax: number;
  /** Many relays close a connection after about a hundred messages. */
  messagesPerConnectionMax: number;
  timeouts: SmtpTimeouts;
}>;

export type SmtpPool = Readonly<{
  /**
   * A connection that is the caller's until `release` or `discard`. `fresh`: one that was just opened. Waiting callers
   * are served by the shares of their priorities, and in turn within a priority. Rejects with nodemailer's error if
   * none can be opened, with PoolClosed, or with the signal's reason.
   */
  acquire: (
    options: Readonly<{ fresh: boolean; signal: AbortSignal; priority: Priority }>,
  ) => Promise<PooledConnection>;
  release: (pooled: PooledConnection) => void;
  discard: (pooled: PooledConnection) => void;
  /** Clears the session after a refused message, then releases the connection, or discards it if that fails. */
  reset: (pooled: PooledConnection) => void;
  /**
   * Ends the caller's connection and opens another in its slot. Rejects as `acquire` does; the caller then still has
   * the old one.
   */
  replace: (pooled: PooledConnection, signal: AbortSignal) => Promise<PooledConnection>;
  /** Resolves when all connections were given back and closed. */
  close: () => Promise<void>;
}>;

type Waiter = Readonly<{
  fresh: boolean;
  take: (pooled: PooledConnection | undefined) => void;
  refuse: (error: Error) => void;
}>;

/** The state of one pool. */
type PoolState = Readonly<{
  options: SmtpPoolOptions;
  /** Newest last. The one used last is used next, so that connections that are not needed time out. */
  idle: PooledConnection[];
  waiters: Readonly<Record<Priority, Waiter[]>>;
  shares: Shares<Priority>;
}> & {
  /** Connections open or being opened. */
  slots: number;
  closed: Readonly<{ promise: Promise<void>; resolve: () => void }> | undefined;
};

const parameters = ['tls', 'verify', 'name', 'messages', 'auth'];

/** How long a server may take to say good-bye before the socket is cut. */
const quitMs = 1_000;

/** The pool was closed before a connection was free. */
export class PoolClosed extends Error {
  override readonly name = 'PoolClosed';
}

export const openSmtpPool = (options: SmtpPoolOptions): SmtpPool => {
  const state: PoolState = {
    options,
    idle: [],
    waiters: { high: [], normal: [], low: [] },
    shares: openShares(priorities, priorityShares),
    slots: 0,
    closed: undefined,
  };
  return {
    acquire: async ({ fresh, signal, priority }) => {
      if (state.closed !== undefined) throw new PoolClosed();
      if (signal.aborted) throw abortError(signal);
      const pooled =
        (!fresh && nobodyWaits(state) ? takeIdle(state) : undefined) ??
        (await wait(state, { fresh, signal, priority }));
      return pooled ?? (await open(state, signal));
    },
    release: (pooled) => release(state, pooled),
    discard: (pooled) => discard(state, pooled),
    reset: (pooled) => {
      // From here on the end of the connection frees its slot, because the session may end without an answer to RSET.
      pooled.isLent = false;
      pooled.connection.reset((error) => (error ? discard(state, pooled) : release(state, pooled)));
    },
    replace: (pooled, signal) => replace(state, pooled, signal),
    close: () => close(state),
  };
};

const takeIdle = ({ idle }: PoolState): PooledConnection | undefined => {
  const pooled = idle.pop();
  if (pooled === undefined) return undefined;
  clearTimeout(pooled.idleTimer);
  pooled.isLent = true;
  return pooled;
};

/** Frees a slot once its connection has ended, no caller has it, and the outcome of its last dialogue is recorded. */
const freeWhenOver = (state: PoolState, pooled: PooledConnection): void => {
  if (!pooled.ended || pooled.isLent || pooled.isFreed) return;
  pooled.isFreed = true;
  void pooled.settled.then(() => freeSlot(state));
};

const freeSlot = (state: PoolState): void => {
  state.slots -= 1;
  if (state.slots === 0) state.closed?.resolve();
  serve(state);
};

const nobodyWaits = ({ waiters }: PoolState): boolean => priorities.every((priority) => waiters[priority].length === 0);

/**
 * Gives free connections to the next waiters. `undefined` tells a waiter that a slot is taken for it and it must open a
 * connection.
 */
const serve = (state: PoolState): void => {
  const { waiters, idle, options } = state;
  while (state.closed === undefined && (idle.length > 0 || state.slots < options.connectionsMax)) {
    const next = state.shares.next((priority) => waiters[priority].length > 0);
    if (next === undefined) return;
    const waiter = waiters[next][0]!;
    const pooled = waiter.fresh ? undefined : takeIdle(state);
    if (pooled === undefined && state.slots >= options.connectionsMax) {
      // An idle connection gives up its slot for a fresh one; `freeSlot` comes back here.
      const oldest = idle.shift();
      if (oldest !== undefined) cut(oldest);
      return;
    }
    waiters[next].shift();
    if (pooled === undefined) state.slots += 1;
    waiter.take(pooled);
  }
};

const wait = (
  state: PoolState,
  { fresh, signal, priority }: Parameters<SmtpPool['acquire']>[0],
): Promise<PooledConnection | undefined> =>
  new Promise((resolve, reject) => {
    const waiters = state.waiters[priority];
    const end = (): void => signal.removeEventListener('abort', onAbort);
    const waiter: Waiter = {
      fresh,
      take: (pooled) => {
        end();
        resolve(pooled);
      },
      refuse: (error) => {
        end();
        reject(error);
      },
    };
    const onAbort = (): void => {
      const index = waiters.indexOf(waiter);
      if (index >= 0) waiters.splice(index, 1);
      waiter.refuse(abortError(signal));
    };
    signal.addEventListener('abort', onAbort);
    waiters.push(waiter);
    serve(state);
  });

/** Opens a connection in a slot that is taken for it. Frees the slot if no session can be opened. */
const open = async (state: PoolState, signal: AbortSignal): Promise<PooledConnection> => {
  const { idle, options } = state;
  const connection = new SMTPConnection(connectionOptions(options));
  const settled = Promise.resolve();
  const pooled: PooledConnection = {
    connection,
    used: 0,
    idleTimer: undefined,
    ended: false,
    isLent: true,
    isFreed: false,
    settled,
  };
  connection.once('end', () => {
    pooled.ended = true;
    clearTimeout(pooled.idleTimer);
    const index = idle.indexOf(pooled);
    if (index >= 0) idle.splice(index, 1);
    freeWhenOver(state, pooled);
  });
  try {
    await handshake(connection, options.server, signal);
    return pooled;
  } catch (error) {
    discard(state, pooled);
    throw error;
  }
};

/**
 * The new connection takes over the slot once it is open. Until then, and if it cannot be opened, the old one keeps it.
 */
const replace = async (state: PoolState, pooled: PooledConnection, signal: AbortSignal): Promise<PooledConnection> => {
  cut(pooled);
  state.slots += 1;
  const opened = await open(state, signal);
  pooled.isFreed = true;
  state.slots -= 1;
  serve(state);
  return opened;
};

const discard = (state: PoolState, pooled: PooledConnection): void => {
  pooled.isLent = false;
  cut(pooled);
  freeWhenOver(state, pooled);
};

const release = (state: PoolState, pooled: PooledConnection): void => {
  const { idle, options } = state;
  pooled.isLent = false;
  if (pooled.ended) return freeWhenOver(state, pooled);
  if (state.closed !== undefined || pooled.used >= (options.server.messagesMax ?? options.messagesPerConnectionMax))
    return quit(pooled);
  pooled.idleTimer = setTimeout(() => {
    idle.splice(idle.indexOf(pooled), 1);
    quit(pooled);
  }, options.timeouts.idleMs).unref();
  idle.push(pooled);
  serve(state);
};

const close = (state: PoolState): Promise<void> => {
  if (state.closed !== undefined) return state.closed.promise;
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  state.closed = { promise, resolve };
  for (const priority of priorities)
    for (const waiter of state.waiters[priority].splice(0)) waiter.refuse(new PoolClosed());
  for (const pooled of state.idle.splice(0)) quit(pooled);
  if (state.slots === 0) resolve();
  return promise;
};

const cut = (pooled: PooledConnection): void => {
  clearTimeout(pooled.idleTimer);
  pooled.connection.close();
};

const quit = (pooled: PooledConnection): void => {
  clearTimeout(pooled.idleTimer);
  pooled.connection.quit();
  pooled.idleTimer = setTimeout(() => pooled.connection.close(), quitMs);
};

const abortError = (signal: AbortSignal): Error =>
  signal.reason instanceof Error ? signal.reason : new DOMException('aborted', 'AbortError');

const connectionOptions = ({ server, session, timeouts }: SmtpPoolOptions): SMTPConnection.Options => ({
  host: server.host,
  port: server.port,
  secure: server.tls === 'implicit',
  requireTLS: server.tls === 'required',
  opportunisticTLS: server.tls === 'opportunistic',
  ignoreTLS: server.tls === 'off',
  tls: { rejectUnauthorized: server.verify, minVersion: 'TLSv1.2' },
  name: clientNameOf(server, session),
  customAuth: { [LOGIN]: (dialogue) => logIn(dialogue, server, session) },
  connectionTimeout: timeouts.setupMs,
  greetingTimeout: timeouts.setupMs,
  dnsTimeout: timeouts.setupMs,
  socketTimeout: timeouts.silenceMs,
  socketCloseTimeout: quitMs,
  logger: false,
});

/** Our name in EHLO: an address in brackets where nothing better is known (RFC 5321, section 4.1.4). */
export const clientNameOf = ({ clientName }: Pick<SmtpServer, 'clientName'>, session: SmtpSession): string =>
  clientName ?? session.clientName ?? (/^[^.]+\..*[a-z]/i.test(hostname()) ? hostname() : '[127.0.0.1]');

/** The name under which nodemailer knows our login. */
const LOGIN = 'SEALPOST';

type LoginDialogue = Readonly<{
  /** Methods of authentication that the server announces and that this client knows. */
  authMethods: readonly string[];
  sendCommand: (command: string) => Promise<Readonly<{ status: number; text: string; response: string }>>;
}>;

const base64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64');

/**
 * Logs in by a method that the server offers and the URL allows; where the server refuses one for good, by the next. No
 * password is sent to a server that offers no such method. Rejects with the words of the server.
 */
const logIn = async (
  { authMethods: offered, sendCommand }: LoginDialogue,
  server: SmtpServer,
  session: SmtpSession,
): Promise<void> => {
  const { name, password } = server.user!;
  const wanted = server.auth === undefined ? (['plain', 'login', 'cram-md5'] as const) : [server.auth];
  const usable = wanted.filter((method) => offered.includes(method.toUpperCase()));
  if (usable.length === 0)
    throw new Error(
      `the relay offers no login by ${wanted.join(', ')}, so none was tried; it offers ${offered.join(', ') || 'none'}`,
    );
  const by: Readonly<Record<AuthMethod, () => ReturnType<LoginDialogue['sendCommand']>>> = {
    plain: () => sendCommand(`AUTH PLAIN ${base64(`\0${name}\0${password}`)}`),
    login: async () => {
      const asked = await sendCommand('AUTH LOGIN');
      const named = asked.status === 334 ? await sendCommand(base64(name)) : asked;
      return named.status === 334 ? sendCommand(base64(password)) : named;
    },
    'cram-md5': async () => {
      const asked = await sendCommand('AUTH CRAM-MD5');
      if (asked.status !== 334) return asked;
      const digest = createHmac('md5', password).update(Buffer.from(asked.text.trim(), 'base64')).digest('hex');
      return sendCommand(base64(`${name} ${digest}`));
    },
    xoauth2: async () => {
      if (session.token === undefined)
        throw new Error('auth=xoauth2 needs SEALPOST_SMTP_TOKEN_FILE or SEALPOST_SMTP_TOKEN_COMMAND');
      const answer = await sendCommand(
        `AUTH XOAUTH2 ${base64(`user=${name}\x01auth=Bearer ${await session.token()}\x01\x01`)}`,
      );
      // The server tells in a challenge why it refuses, and gives its reply after an empty answer.
      return answer.status === 334 ? sendCommand('') : answer;
    },
  };
  for (const [at, method] of usable.entries()) {
    const { status, response } = await by[method]();
    if (status >= 200 && status < 300) return;
    if (status < 500 || at === usable.length - 1) throw new Error(response);
  }
};

/**
 * Connects, greets, secures and logs in. nodemailer reports a failure by the callback or by `error`, whichever comes.
 */
const handshake = (connection: SMTPConnection, server: SmtpServer, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      signal.removeEventListener('abort', onAbort);
      reject(error);
    };
    const onAbort = (): void => {
      fail(abortError(signal));
      connection.close();
    };
    const done = (): void => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    };
    if (signal.aborted) return fail(abortError(signal));
    signal.addEventListener('abort', onAbort);
    // This listener stays: an error without one would end the process. Errors of a dialogue reach its callback too.
    connection.on('error', fail);
    connection.connect((error) => {
      if (error) return fail(error);
      const { secure, lastServerResponse: reply } = connection;
      // nodemailer goes on in clear where STARTTLS is offered and then refused; the last reply is then that of
      // STARTTLS.
      if (!secure && typeof reply === 'string' && /^[45]/.test(reply))
        return fail(Object.assign(new Error('STARTTLS was refused'), { code: 'ETLS', response: reply }));
      if (server.user === undefined) return done();
      connection.login({ user: server.user.name, pass: server.user.password, method: LOGIN }, (refusal) =>
        refusal ? fail(refusal) : done(),
      );
    });
  });

/**
 * In: `smtp://user:password@host:port?tls=…&verify=…&name=…`, or `smtps://…`. Parameters:
 * `tls=required|opportunistic|off` (smtp: only; default `required` if a user is given and the host is not loopback, so
 * that no password is sent in clear, else `opportunistic`), `verify=on|off` (default on), `name=<EHLO name>`,
 * `messages=<number for one connection>` (default 100), `auth=plain|login|cram-md5|xoauth2` (default: what the server
 * offers of the first three). The default port is 587, with smtps: 465. Throws an Error whose sentence says what is
 * wrong and never holds the password.
 */
export const parseSmtpUrl = (text: string): SmtpServer => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'smtp:' && url.protocol !== 'smtps:')) {
    throw new Error(
      'the SMTP URL must look like smtp://user:password@host:port or smtps://…; special characters in user and password are written %XX',
    );
  }
  const implicit = url.protocol === 'smtps:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (host === '') throw new Error('the SMTP URL names no host');
  if (url.pathname !== '' && url.pathname !== '/')
    throw new Error('the SMTP URL has a path; only host, port and parameters are known');
  for (const name of url.searchParams.keys()) {
    if (!parameters.includes(name))
      throw new Error(
        `the SMTP URL has the unknown parameter ${JSON.stringify(name)}; known are ${parameters.join(', ')}`,
      );
  }
  const auth = oneOf(url, 'auth', authMethods);
  const user = userOf(url, auth);
  const tls = oneOf(url, 'tls', ['required', 'opportunistic', 'off'] as const);
  if (implicit && tls !== undefined) throw new Error('the SMTP URL has tls= although smtps: is TLS from the beginning');
  return {
    host,
    port: url.port === '' ? (implicit ? 465 : 587) : Number(url.port),
    tls: implicit ? 'implicit' : (tls ?? (user !== undefined && !isLoopback(host) ? 'required' : 'opportunistic')),
    verify: oneOf(url, 'verify', ['on', 'off'] as const) !== 'off',
    user,
    auth,
    clientName: nameInUrl(url),
    messagesMax: messagesMaxOf(url),
  };
};

const oneOf = <Choice extends string>(url: URL, name: string, choices: readonly Choice[]): Choice | undefined => {
  const values = url.searchParams.getAll(name);
  if (values.length === 0) return undefined;
  const choice = choices.find((one) => values.length === 1 && values[0] === one);
  if (choice === undefined) throw new Error(`the SMTP URL's parameter ${name} must be one of ${choices.join(', ')}`);
  return choice;
};

const userOf = (url: URL, auth: AuthMethod | undefined): SmtpServer['user'] => {
  const isToken = auth === 'xoauth2';
  if (url.username === '' && url.password === '' && auth === undefined) return undefined;
  if (isToken && (url.username === '' || url.password !== ''))
    throw new Error('the SMTP URL with auth=xoauth2 needs a user, and no password: the token stands in its place');
  if (!isToken && (url.username === '' || url.password === ''))
    throw new Error('the SMTP URL needs a user and a password, or neither');
  try {
    return { name: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
  } catch {
    throw new Error('the user or password of the SMTP URL has a % that does not begin %XX; write it as %25');
  }
};

const nameInUrl = (url: URL): string | undefined => {
  const name = url.searchParams.get('name');
  if (name === null) return undefined;
  if (!/^[A-Za-z0-9.-]{1,253}$|^\[[0-9A-Fa-f:.]+\]$/.test(name))
    throw new Error("the SMTP URL's parameter name must be a host name or an address in brackets");
  return name;
};

const messagesMaxOf = (url: URL): number | undefined => {
  const text = url.searchParams.get('messages');
  if (text === null) return undefined;
  if (!/^[1-9]\d{0,3}$/.test(text))
    throw new Error("the SMTP URL's parameter messages must be a number of messages from 1 to 9999");
  return Number(text);
};

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);

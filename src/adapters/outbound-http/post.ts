/**
 * Posts to endpoints on the public internet: guarded, bounded, and over connections that each sender has for itself.
 */
import type { Socket } from 'node:net';
import { type Dispatcher, Agent } from 'undici';
import { OutboundFault, type OutboundPost, type Posted } from '../../domain/ports/outbound-http.js';
import { guardedConnectors, lookupBySystem, type Guard, isLoopbackAddress, isPublicAddress } from './guard.js';

type PostOptions = Parameters<OutboundPost['post']>[1];

type PostTarget = Readonly<{ origin: string; path: string }>;

export type PostGuard = Guard &
  Readonly<{
    /** Hosts, in lower case, that may be posted to over http and on loopback. */
    insecureHosts: readonly string[];
  }>;

/** The connections of one sender, how many posts are under way on them, and the target of the last one. */
type Sender = { readonly agent: Agent; underWay: number; target: Target | undefined };
type Target = PostTarget & Readonly<{ text: string }>;

type Connectors = ReturnType<typeof guardedConnectors>;

/** Bytes of an answer that are read to keep its connection. */
const PASSED_OVER_BYTES_MAX = 16 * 1024;
/** Far more than any receiver needs: where the fields are larger, the status alone is known of the answer. */
const HEADERS_SIZE_BYTES_MAX = 256 * 1024;
const CONNECTIONS_MAX = 8;
const KEEP_ALIVE_MS = 15_000;
const CONNECT_TIMEOUT_MS = 15_000;
/** Senders that keep idle connections. Beyond this number, those of the sender used longest ago are closed. */
const SENDERS_MAX = 128;

const CERTIFICATE = /CERT|ALTNAME|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)|ERR_SSL|EPROTO/;

export const openOutboundPost = (given: Partial<PostGuard> = {}): OutboundPost => {
  const { lookup = lookupBySystem, isAllowed = isPublicAddress, insecureHosts = [] } = given;
  const guarded = guardedConnectors({ lookup, isAllowed });
  const local = guardedConnectors({ lookup, isAllowed: (address) => isAllowed(address) || isLoopbackAddress(address) });
  const senders = new Map<string, Sender>();
  const closing = new AbortController();
  const senderOf = (name: string): Sender => {
    const sender = senders.get(name) ?? {
      agent: newAgent((hostname) => (insecureHosts.includes(hostname) ? local : guarded)),
      underWay: 0,
      target: undefined,
    };
    // Put at the end: the senders are in the order of their last use.
    senders.delete(name);
    senders.set(name, sender);
    return sender;
  };
  return {
    post: async (text, options) => {
      const known = senders.get(options.sender)?.target;
      const target = known?.text === text ? known : targetOf(text, insecureHosts);
      if (closing.signal.aborted) throw stopped();
      const sender = senderOf(options.sender);
      sender.target = target;
      sender.underWay += 1;
      try {
        return await postOnce(sender.agent, target, options);
      } catch (fault) {
        throw closing.signal.aborted ? stopped() : faultOf(fault);
      } finally {
        sender.underWay -= 1;
        if (senders.size > SENDERS_MAX) endIdle(senders);
      }
    },
    forget: (name) => {
      const sender = senders.get(name);
      senders.delete(name);
      void sender?.agent.destroy();
    },
    close: async () => {
      closing.abort();
      await Promise.all([...senders.values()].map(({ agent }) => agent.destroy()));
      senders.clear();
    },
  };
};

const stopped = (): OutboundFault => new OutboundFault('timeout', 'The work was stopped.');

/** Ends connections of senders without posts under way, the least recently used first, until `SENDERS_MAX` are left. */
const endIdle = (senders: Map<string, Sender>): void => {
  for (const [name, { agent, underWay }] of senders) {
    if (senders.size <= SENDERS_MAX) return;
    if (underWay > 0) continue;
    senders.delete(name);
    void agent.destroy();
  }
};

const newAgent = (connectorsOf: (hostname: string) => Connectors): Agent =>
  new Agent({
    connect: (options, callback) =>
      connectorsOf(options.hostname)(AbortSignal.timeout(CONNECT_TIMEOUT_MS))(options, (...[error, socket]) => {
        if (error !== null) callback(error, null);
        else callback(null, withStatus(socket));
      }),
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: HEADERS_SIZE_BYTES_MAX,
    // The deadline of the whole post applies instead.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

/** The statuses of answers whose fields undici refused, by its error. */
const statuses = new WeakMap<Error, number>();

const INFORMATIONAL = /^(?:HTTP\/1\.1 1(?!01)\d\d(?=[ \r])[^]*?\r\n\r\n)+/;
/**
 * Matches the beginning of a status line that may still be informational, and an informational answer without the blank
 * line that ends it.
 */
const INFORMATIONAL_BEGUN = /^(?:|H|HT|HTT|HTTP|HTTP\/|HTTP\/1|HTTP\/1\.|HTTP\/1\.1|HTTP\/1\.1 (?:1(?!01)[^]*)?)$/;
const STATUS = /^HTTP\/1\.[01] ([2-5]\d\d)/;
/** undici refused what the server wrote; it did not break off. */
const REFUSALS: ReadonlySet<string> = new Set([
  'HTTPParserError',
  'HeadersOverflowError',
  'ResponseContentLengthMismatchError',
]);

/**
 * Takes informational answers off the beginning of what is read, for undici ends the connection at a `100 Continue`
 * nobody asked for, and a client must pass over it (RFC 9110, section 15.2). Keeps the status of the answer for the
 * case that undici refuses its fields. An answer begins with the first bytes after a write: a connection has one post
 * at a time.
 */
const withStatus = <Connected extends Pick<Socket, 'read' | 'write' | 'destroy'>>(socket: Connected): Connected => {
  const [read, write, destroy] = [socket.read.bind(socket), socket.write.bind(socket), socket.destroy.bind(socket)];
  let begun: Buffer | undefined;
  let status: number | undefined;
  socket.write = ((...given: Parameters<Socket['write']>) => {
    begun = Buffer.alloc(0);
    status = undefined;
    return write(...given);
  }) as Connected['write'];
  socket.read = (size?: number): Buffer | null => {
    const bytes = read(size) as Buffer | null;
    if (bytes === null || begun === undefined) return bytes;
    const all = begun.length === 0 ? bytes : Buffer.concat([begun, bytes]);
    const text = all.toString('latin1', 0, PASSED_OVER_BYTES_MAX);
    const [{ length } = ''] = INFORMATIONAL.exec(text) ?? [];
    const answer = text.slice(length);
    if (text.length < PASSED_OVER_BYTES_MAX && INFORMATIONAL_BEGUN.test(answer)) {
      begun = all;
      return null;
    }
    begun = undefined;
    const [, digits] = STATUS.exec(answer) ?? [];
    status = digits === undefined ? undefined : Number(digits);
    return all.subarray(length);
  };
  socket.destroy = (fault?: Error) => {
    if (fault !== undefined && status !== undefined && REFUSALS.has(fault.name)) statuses.set(fault, status);
    return destroy(fault);
  };
  return socket;
};

const targetOf = (text: string, insecureHosts: readonly string[]): Target => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttps = url?.protocol === 'https:' || (url?.protocol === 'http:' && insecureHosts.includes(url.hostname));
  if (url === undefined || !isHttps || url.username !== '' || url.password !== '')
    throw new OutboundFault('not-http', 'The URL is no https URL without credentials.');
  return { text, origin: url.origin, path: `${url.pathname}${url.search}` };
};

/** The failure as a subscriber may see it, without anything about our network. */
const faultOf = (fault: unknown): OutboundFault => {
  if (fault instanceof OutboundFault) {
    return fault.fault === 'address-not-allowed'
      ? new OutboundFault(fault.fault, 'The host of the URL has no public address.')
      : fault;
  }
  const code = String((fault as { code?: unknown }).code);
  if (CERTIFICATE.test(code))
    return new OutboundFault(
      'unreachable',
      'TLS failed: the certificate is not valid for the host, has expired, or is self-signed.',
    );
  if (code === 'ECONNREFUSED') return new OutboundFault('unreachable', 'The connection was refused.');
  return new OutboundFault('unreachable', 'The server could not be reached, or broke off its answer.');
};

/**
 * One post: takes the answer as it comes, without a stream, and has one timer for the whole. Resolves with the status
 * as soon as it arrives, even if the body fails later. Before that, rejects with OutboundFault if the time is over or
 * the signal aborts, and with undici's error if the post fails.
 */
const postOnce = (
  dispatcher: Dispatcher,
  { origin, path }: PostTarget,
  { headers, body, signal, answerBytesMax, timeoutMs }: PostOptions,
): Promise<Posted> =>
  new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let settled = false;
    const answer = openAnswer(answerBytesMax);
    const settle = (end: () => void): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      end();
    };
    const fail = (fault: Error): void => settle(() => (answer.hasStatus() ? resolve(answer.posted()) : reject(fault)));
    const giveUp = (fault: Error): void => {
      fail(fault);
      controller?.abort(fault);
    };
    const stop = (): void => giveUp(new OutboundFault('timeout', 'The work was stopped.'));
    const timer = setTimeout(
      () => giveUp(new OutboundFault('timeout', `No whole answer within ${timeoutMs / 1_000} seconds.`)),
      timeoutMs,
    );
    signal.addEventListener('abort', stop);
    if (signal.aborted) return stop();
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: (started) => {
        controller = started;
        // The post was given up before it had a connection.
        if (settled) started.abort(new Error('given up'));
      },
      onResponseStart: (_, status, answered) => answer.begin(status, answered['retry-after']),
      onResponseData: (_, chunk) => {
        const bytes = answer.add(chunk);
        if (bytes > PASSED_OVER_BYTES_MAX) giveUp(new Error('the answer is long'));
      },
      onResponseEnd: () => settle(() => resolve(answer.posted())),
      onResponseError: (_, fault) => {
        const status = statuses.get(fault);
        if (status !== undefined && !answer.hasStatus()) answer.begin(status, undefined);
        fail(fault);
      },
    };
    try {
      dispatcher.dispatch({ origin, path, method: 'POST', headers, body }, handler);
    } catch (fault) {
      giveUp(fault as Error);
    }
  });

/** Keeps the beginning of an answer. */
const openAnswer = (bytesMax: number) => {
  const chunks: Buffer[] = [];
  let [status, seen, kept] = [0, 0, 0];
  let retryAfter: string | undefined;
  return {
    begin: (code: number, asked: string | string[] | undefined): void => {
      status = code;
      retryAfter = Array.isArray(asked) ? asked[0] : asked;
    },
    /** Out: how many bytes have come in all. */
    add: (chunk: Buffer): number => {
      seen += chunk.byteLength;
      if (kept < bytesMax) {
        chunks.push(Buffer.from(chunk.subarray(0, bytesMax - kept)));
        kept = Math.min(seen, bytesMax);
      }
      return seen;
    },
    hasStatus: (): boolean => status >= 200,
    posted: (): Posted => ({ status, retryAfter, body: Buffer.concat(chunks).toString('utf8') }),
  };
};

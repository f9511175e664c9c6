/** Posts to endpoints on the public internet: guarded, bounded, over connections that each sender has for itself. */
import { type Dispatcher, Agent } from 'undici';
import { OutboundFault, type OutboundPost, type Posted } from '../../domain/ports/outbound-http.js';
import { guardedConnectors, lookupBySystem, type Guard, isLoopbackAddress, isPublicAddress } from './guard.js';

/* One post over a dispatcher of undici: the answer as it comes, without a stream of its own, and one timer for the whole. */

/** So much of an answer is passed over to keep its connection. */
const PASSED_OVER_BYTES_MAX = 16 * 1024;
/** Of an answer that says that the post was taken: what is larger says nothing that can be believed. */
const ANSWER_BYTES_MAX = 1024 * 1024;

type PostOptions = Parameters<OutboundPost['post']>[1];

type PostTarget = Readonly<{ origin: string; path: string }>;

/** Rejects with OutboundFault where time is over or the signal aborts, and with what undici says where it fails. */
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
    const fail = (fault: Error): void => settle(() => reject(fault));
    const giveUp = (fault: Error): void => {
      fail(fault);
      controller?.abort(fault);
    };
    const stop = (): void => giveUp(new OutboundFault('timeout', 'The work was stopped.'));
    const timer = setTimeout(() => giveUp(new OutboundFault('timeout', `No whole answer within ${timeoutMs / 1_000} seconds.`)), timeoutMs);
    signal.addEventListener('abort', stop);
    if (signal.aborted) return stop();
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: (started) => {
        controller = started;
        // Nobody waits for it any more: it was given up before it had a connection.
        if (settled) started.abort(new Error('given up'));
      },
      onResponseStart: (_, status, answered) => answer.begin(status, answered['retry-after']),
      onResponseData: (_, chunk) => {
        const bytes = answer.add(chunk);
        if (bytes <= PASSED_OVER_BYTES_MAX) return;
        if (!answer.isTaken()) {
          settle(() => resolve(answer.posted()));
          controller?.abort(new Error('the answer is too long'));
        } else if (bytes > ANSWER_BYTES_MAX) giveUp(new OutboundFault('too-large', 'The answer is larger than 1 MB.'));
      },
      onResponseEnd: () => settle(() => resolve(answer.posted())),
      onResponseError: (_, fault) => fail(fault),
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
    isTaken: (): boolean => status >= 200 && status < 300,
    posted: (): Posted => ({ status, retryAfter, body: Buffer.concat(chunks).toString('utf8') }),
  };
};

const HEADERS_SIZE_BYTES_MAX = 16 * 1024;
const CONNECTIONS_MAX = 8;
const KEEP_ALIVE_MS = 15_000;
const CONNECT_TIMEOUT_MS = 15_000;
/** Senders whose idle connections are kept at once; those of the one used longest ago are ended for another. */
const SENDERS_MAX = 128;

export type PostGuard = Guard &
  Readonly<{
    /** Hosts that may be asked over http, and on loopback, in lower case. */
    insecureHosts: readonly string[];
  }>;

/** What one sender has: its connections, how many posts are under way over them, and where the last one went. */
type Sender = { readonly agent: Agent; underWay: number; target: Target | undefined };
type Target = PostTarget & Readonly<{ text: string }>;

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
    // The one used last stands at the end.
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

/** A sender with posts under way keeps its connections however many senders there are. */
const endIdle = (senders: Map<string, Sender>): void => {
  for (const [name, { agent, underWay }] of senders) {
    if (senders.size <= SENDERS_MAX) return;
    if (underWay > 0) continue;
    senders.delete(name);
    void agent.destroy();
  }
};

type Connectors = ReturnType<typeof guardedConnectors>;

const newAgent = (connectorsOf: (hostname: string) => Connectors): Agent =>
  new Agent({
    connect: (options, callback) => connectorsOf(options.hostname)(AbortSignal.timeout(CONNECT_TIMEOUT_MS))(options, callback),
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: HEADERS_SIZE_BYTES_MAX,
    // One deadline of the whole ends every part of it.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

const targetOf = (text: string, insecureHosts: readonly string[]): Target => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttps = url?.protocol === 'https:' || (url?.protocol === 'http:' && insecureHosts.includes(url.hostname));
  if (url === undefined || !isHttps || url.username !== '' || url.password !== '')
    throw new OutboundFault('not-http', 'The URL is no https URL without credentials.');
  return { text, origin: url.origin, path: `${url.pathname}${url.search}` };
};

const CERTIFICATE = /CERT|ALTNAME|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)|ERR_SSL|EPROTO/;

/** What a subscriber may know of a failure, and nothing of our network. */
const faultOf = (fault: unknown): OutboundFault => {
  if (fault instanceof OutboundFault) {
    return fault.fault === 'address-not-allowed' ? new OutboundFault(fault.fault, 'The host of the URL has no public address.') : fault;
  }
  const code = String((fault as { code?: unknown }).code);
  if (CERTIFICATE.test(code))
    return new OutboundFault('unreachable', 'TLS failed: the certificate is not valid for the host, has expired, or is self-signed.');
  if (code === 'ECONNREFUSED') return new OutboundFault('unreachable', 'The connection was refused.');
  return new OutboundFault('unreachable', 'The server could not be reached, or broke off its answer.');
};

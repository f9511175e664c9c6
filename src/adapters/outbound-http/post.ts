/** Posts to endpoints on the public internet: guarded, bounded, over connections that each sender has for itself. */
import { Agent, request } from 'undici';
import { OutboundFault, type OutboundPost, type Posted } from '../../domain/ports/outbound-http.js';
import { discard } from './bounded-body.js';
import { guardedConnectors, lookupBySystem, type Guard } from './guarded-connect.js';
import { isLoopbackAddress, isPublicAddress } from './public-address.js';

const HEADERS_SIZE_BYTES_MAX = 16 * 1024;
const CONNECTIONS_MAX = 8;
const KEEP_ALIVE_MS = 15_000;
const CONNECT_TIMEOUT_MS = 15_000;
/** Senders whose connections are kept at once; those of the one used longest ago are ended for another. */
const SENDERS_MAX = 512;
/** So much of an answer is passed over to keep its connection. */
const PASSED_OVER_BYTES_MAX = 16 * 1024;
/** Of an answer that says that the post was taken: what is larger says nothing that can be believed. */
const ANSWER_BYTES_MAX = 1024 * 1024;

export type PostGuard = Guard &
  Readonly<{
    /** Hosts that may be asked over http, and on loopback, in lower case. */
    insecureHosts: readonly string[];
  }>;

type PostOptions = Parameters<OutboundPost['post']>[1];

export const openOutboundPost = (given: Partial<PostGuard> = {}): OutboundPost => {
  const { lookup = lookupBySystem, isAllowed = isPublicAddress, insecureHosts = [] } = given;
  const guarded = guardedConnectors({ lookup, isAllowed });
  const local = guardedConnectors({ lookup, isAllowed: (address) => isAllowed(address) || isLoopbackAddress(address) });
  const agents = new Map<string, Agent>();
  const closing = new AbortController();
  const agentOf = (sender: string): Agent => {
    const known = agents.get(sender);
    agents.delete(sender);
    const agent = known ?? newAgent((hostname) => (insecureHosts.includes(hostname) ? local : guarded));
    agents.set(sender, agent);
    for (const [oldest, { destroy }] of agents) {
      if (agents.size <= SENDERS_MAX) break;
      void destroy.call(agents.get(oldest));
      agents.delete(oldest);
    }
    return agent;
  };
  return {
    post: async (text, options) => {
      const url = assertUrl(text, insecureHosts);
      const signal = AbortSignal.any([options.signal, closing.signal, AbortSignal.timeout(options.timeoutMs)]);
      try {
        return await postOnce(agentOf(options.sender), url, { ...options, signal });
      } catch (fault) {
        if (options.signal.aborted || closing.signal.aborted) throw new OutboundFault('timeout', 'The work was stopped.');
        if (signal.aborted) throw new OutboundFault('timeout', `No whole answer within ${options.timeoutMs / 1_000} seconds.`);
        throw faultOf(fault);
      }
    },
    forget: (sender) => {
      const agent = agents.get(sender);
      agents.delete(sender);
      void agent?.destroy();
    },
    close: async () => {
      closing.abort();
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
      agents.clear();
    },
  };
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

const postOnce = async (dispatcher: Agent, url: URL, { headers, body, signal, answerBytesMax }: PostOptions): Promise<Posted> => {
  const answer = await request(url, { dispatcher, method: 'POST', headers, body, signal });
  const retryAfter = answer.headers['retry-after'];
  const isTaken = answer.statusCode >= 200 && answer.statusCode < 300;
  const chunks: Buffer[] = [];
  let kept = 0;
  let seen = 0;
  try {
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      seen += chunk.byteLength;
      if (kept < answerBytesMax) {
        chunks.push(Buffer.from(chunk.subarray(0, answerBytesMax - kept)));
        kept = Math.min(seen, answerBytesMax);
      }
      if (isTaken && seen > ANSWER_BYTES_MAX) throw new OutboundFault('too-large', 'The answer is larger than 1 MB.');
      if (!isTaken && seen > PASSED_OVER_BYTES_MAX) break;
    }
  } finally {
    discard(answer.body);
  }
  return {
    status: answer.statusCode,
    retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
    body: Buffer.concat(chunks).toString('utf8'),
  };
};

const assertUrl = (text: string, insecureHosts: readonly string[]): URL => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttps = url?.protocol === 'https:' || (url?.protocol === 'http:' && insecureHosts.includes(url.hostname));
  if (url === undefined || !isHttps || url.username !== '' || url.password !== '')
    throw new OutboundFault('not-http', 'The URL is no https URL without credentials.');
  url.hash = '';
  return url;
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

/**
 * Fetches files from the public internet: http and https, guarded, bounded, without cookies or credentials. Calls to
 * sign-in providers, whose addresses the operator set, are guarded in the same way.
 */
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { Agent, fetch, request, type buildConnector, type Dispatcher, type RequestInit } from 'undici';
import { OutboundFault, type Fetched, type OutboundHttp } from '../../domain/ports/outbound-http.js';
import { openFairSlots, type FairSlotsOptions } from '../../shared/concurrency.js';
import { defaultLimits } from '../../domain/core/limits.js';
import { guardedConnectors, lookupBySystem, type Guard, isPublicAddress } from './guard.js';

type BodyOptions = Readonly<{
  encoding: string | undefined;
  length: string | undefined;
  sizeBytesMax: number;
  signal: AbortSignal;
}>;

/** Runs a bounded number of pieces of work at a time. Teams take turns, and none has more than its share. */
type Slots = <T>(team: string, signal: AbortSignal, work: () => Promise<T>) => Promise<T>;

type GetOptions = Parameters<OutboundHttp['get']>[1];

const USER_AGENT = 'sealpost';
const URL_CHARS_MAX = defaultLimits.outboundUrlCharsMax;
const HEADERS_SIZE_BYTES_MAX = 16 * 1024;
/** Each slot may hold a whole file in memory. Half of them stay free for other teams. */
const SLOTS = { slotsMax: 32, shareMax: 16, queueMax: 1_024 } as const;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/;

const CERTIFICATE = /CERT|ALTNAME|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)/;

const written = new Intl.NumberFormat('en-US');

/** `lookup` and `isAllowed` default to the system's resolver and the public addresses. Any port is allowed. */
export const openOutboundHttp = (options: Partial<Guard> = {}): OutboundHttp => {
  const connector = guardedConnectors({
    lookup: options.lookup ?? lookupBySystem,
    isAllowed: options.isAllowed ?? isPublicAddress,
  });
  const slots = makeSlots(SLOTS);
  const underWay = new Set<() => void>();
  let closed = false;
  return {
    get: async (url, getOptions) => {
      const deadline = startDeadline(getOptions);
      underWay.add(deadline.abort);
      if (closed) deadline.abort();
      try {
        return await slots(getOptions.teamId, deadline.signal, () =>
          fetchOnce(connector(deadline.signal), url, { ...getOptions, signal: deadline.signal }),
        );
      } catch (error) {
        throw deadline.signal.aborted ? timedOut(getOptions, closed) : faultOf(error);
      } finally {
        deadline.end();
        underWay.delete(deadline.abort);
      }
    },
    close: async () => {
      closed = true;
      for (const abort of underWay) abort();
    },
  };
};

/** One fetch; its connections are closed at the end and not shared with other callers. */
const fetchOnce = async (connect: buildConnector.connector, url: string, options: GetOptions): Promise<Fetched> => {
  const agent = new Agent({
    connect,
    connections: 1,
    maxHeaderSize: HEADERS_SIZE_BYTES_MAX,
    // The deadline of the whole fetch applies instead.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  try {
    return await follow(agent, url, options);
  } finally {
    await agent.destroy();
  }
};

const startDeadline = ({
  timeoutMs,
  signal,
}: GetOptions): Readonly<{ signal: AbortSignal; abort: () => void; end: () => void }> => {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  const timer = setTimeout(abort, timeoutMs);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    abort,
    end: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    },
  };
};

const timedOut = ({ signal, timeoutMs }: GetOptions, closed: boolean): OutboundFault =>
  signal.aborted || closed
    ? new OutboundFault('timeout', 'The file had not come when the work it was needed for was stopped.')
    : new OutboundFault(
        'timeout',
        `The file did not come whole within ${timeoutMs / 1_000} seconds. Give a URL that answers faster, or send the file itself.`,
      );

const follow = async (dispatcher: Dispatcher, given: string, options: GetOptions): Promise<Fetched> => {
  const { accept = '*/*', signal, sizeBytesMax, redirectsMax } = options;
  let url = parseUrl(given);
  for (let redirects = 0; ; redirects += 1) {
    const { statusCode, headers, body } = await request(url, {
      dispatcher,
      signal,
      headers: { 'user-agent': USER_AGENT, accept, 'accept-encoding': 'identity' },
    });
    const location = REDIRECTS.includes(statusCode) ? single(headers.location) : undefined;
    if (location === undefined) {
      if (statusCode !== 200) {
        discard(body);
        throw new OutboundFault('status', `The server answered with the status ${statusCode}; only 200 brings a file.`);
      }
      const bytes = await readBody(body, {
        encoding: single(headers['content-encoding']),
        length: single(headers['content-length']),
        sizeBytesMax,
        signal,
      });
      return { bytes, contentType: mediaTypeOf(single(headers['content-type'])) };
    }
    discard(body);
    if (redirects >= redirectsMax) {
      throw new OutboundFault(
        'too-many-redirects',
        `The URL redirects more than ${redirectsMax} times. Give the one that it leads to.`,
      );
    }
    url = parseUrl(location, url);
  }
};

const notHttp = (detail: string): OutboundFault => new OutboundFault('not-http', detail);

/**
 * Throws OutboundFault where it is no URL that can be fetched without credentials. The parser brings every spelling of
 * an IP address into one form.
 */
const parseUrl = (text: string, base?: URL): URL => {
  if (text.length > URL_CHARS_MAX) throw notHttp(`The URL is longer than ${URL_CHARS_MAX} characters, the maximum.`);
  const url = URL.canParse(text, base?.href) ? new URL(text, base) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw notHttp(
      base === undefined
        ? 'The URL must begin with https:// or http:// and name a host.'
        : 'The URL redirects to what is no http or https URL.',
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw notHttp(
      'The URL carries a user name or password, which are never sent. Give one that needs none, such as a signed URL.',
    );
  }
  url.hash = '';
  return url;
};

const single = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header;

const mediaTypeOf = (header: string | undefined): string | undefined => {
  const type = header?.split(';', 1)[0]?.trim().toLowerCase();
  return type !== undefined && MEDIA_TYPE.test(type) ? type : undefined;
};

/** The failure as a caller may see it: a wrong certificate is named, but not how our network answered. */
const faultOf = (error: unknown): OutboundFault => {
  if (error instanceof OutboundFault) return error;
  const code = String((error as { code?: unknown }).code);
  return CERTIFICATE.test(code)
    ? new OutboundFault(
        'unreachable',
        'The certificate of the server is not valid for the host of the URL, or has expired.',
      )
    : new OutboundFault(
        'unreachable',
        'The server could not be reached, or broke off its answer. Check the URL, and try again later.',
      );
};

const tooLarge = (sizeBytesMax: number): OutboundFault =>
  new OutboundFault(
    'too-large',
    `The file is larger than ${written.format(sizeBytesMax)} bytes, the maximum. Give a smaller one.`,
  );

/** Fetches ask for `identity`, but some servers send compressed files anyway. */
const decoderOf = (encoding: string) => {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
  }
  throw new OutboundFault(
    'unreachable',
    'The server answered in a compression that is not read. Give the URL of an uncompressed file.',
  );
};

/**
 * The decoded bytes of an answer. Rejects as soon as they are more than `sizeBytesMax`, and reads no further. The
 * stream is destroyed in any case. `length`: the size announced by the server.
 */
const readBody = async (
  body: Readable,
  { encoding = 'identity', length, sizeBytesMax, signal }: BodyOptions,
): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  let excess: OutboundFault | undefined;
  const collect = async (source: AsyncIterable<Uint8Array>): Promise<void> => {
    for await (const chunk of source) {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > sizeBytesMax) throw (excess = tooLarge(sizeBytesMax));
      chunks.push(chunk);
    }
  };
  try {
    if (Number(length ?? 0) > sizeBytesMax) throw tooLarge(sizeBytesMax);
    const name = encoding.trim().toLowerCase();
    if (name === 'identity' || name === '') await pipeline(body, collect, { signal });
    else await pipeline(body, decoderOf(name), collect, { signal });
  } catch (error) {
    // The streams of a pipeline end together, so `error` may be that of another stream than the one that exceeded the
    // size.
    throw excess ?? error;
  } finally {
    discard(body);
  }
  return Buffer.concat(chunks, sizeBytes);
};

/** Ends the connection of an answer whose body, or the rest of it, is not needed. */
const discard = (body: Readable): void => {
  if (body.destroyed) return;
  body.on('error', () => {});
  body.destroy();
};

const busy = (): OutboundFault =>
  new OutboundFault(
    'busy',
    'Too many files are being fetched for other requests. Try again in some seconds, or send the file itself.',
  );

/**
 * Out: runs the work when a slot is free for the team. Rejects with the signal's reason if it aborts before, or with
 * OutboundFault if too many wait.
 */
export const makeSlots = (options: FairSlotsOptions): Slots => {
  const slots = openFairSlots(options);
  return async (team, signal, work) => {
    const how = await slots.acquire(team, signal);
    if (how === 'full') throw busy();
    if (how === 'aborted') throw signal.reason;
    try {
      return await work();
    } finally {
      slots.release(team);
    }
  };
};

const PROVIDER_CONNECT_MS = 5_000;
const PROVIDER_ANSWER_MS = 10_000;
/** Far more than a discovery document or a set of keys has. */
const PROVIDER_ANSWER_BYTES_MAX = 1024 * 1024;

export type ProviderFetch = Readonly<{
  /**
   * As `fetch`, but follows no redirect. Rejects where a host is not internal and has no public address. The body breaks
   * off where it is too large, also once it is decompressed.
   */
  fetch: (url: string, init: object) => Promise<Response>;
  close: () => Promise<void>;
}>;

/** Calls to sign-in providers. `internalHosts`: names, in lower case, that may have any address. */
export const openProviderFetch = ({
  internalHosts,
  lookup = lookupBySystem,
  isAllowed = isPublicAddress,
}: Readonly<{ internalHosts: ReadonlySet<string> }> & Partial<Guard>): ProviderFetch => {
  const guarded = guardedConnectors({ lookup, isAllowed });
  const internal = guardedConnectors({ lookup, isAllowed: () => true });
  const agent = new Agent({
    connect: (options, callback) =>
      (internalHosts.has(options.hostname) ? internal : guarded)(AbortSignal.timeout(PROVIDER_CONNECT_MS))(
        options,
        callback,
      ),
    connections: 8,
    headersTimeout: PROVIDER_ANSWER_MS,
    bodyTimeout: PROVIDER_ANSWER_MS,
    maxHeaderSize: HEADERS_SIZE_BYTES_MAX,
    maxResponseSize: PROVIDER_ANSWER_BYTES_MAX,
  });
  return {
    fetch: async (url, init) => {
      const answer = await fetch(url, { ...(init as RequestInit), redirect: 'manual', dispatcher: agent });
      return bounded(answer as unknown as Response);
    },
    close: () => agent.destroy(),
  };
};

/** The agent bounds the bytes on the wire; a compressed body of that size may become a thousand times as large. */
const bounded = ({ body, status, statusText, headers }: Response): Response => {
  let bytes = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      bytes += chunk.byteLength;
      if (bytes <= PROVIDER_ANSWER_BYTES_MAX) controller.enqueue(chunk);
      else controller.error(new Error('the answer of a sign-in provider is too large'));
    },
  });
  return new Response(body?.pipeThrough(counter) ?? null, { status, statusText, headers });
};

/** A load generator that costs little itself: bare sockets, kept alive, one request under way on each. */
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';

export type LoadOptions = Readonly<{
  host?: string;
  port: number;
  connections: number;
  /** How many requests are sent in all. */
  requests: number;
  /** The bytes of the n-th request, head and body; see `httpRequest`. */
  request: (n: number) => Buffer;
  /** Default: as fast as they are answered. */
  perSecondMax?: number;
}>;

export type LoadResult = Readonly<{
  /** Answers by status. */
  statuses: Readonly<Record<string, number>>;
  durationMs: number;
  /** From writing a request to having its whole answer; sorted. */
  latenciesMs: Float64Array;
  /** The last answer that was not 2xx, for the message of a failed run. */
  lastFault: string | undefined;
}>;

/** In: the parts of a request. Out: its bytes, as `LoadOptions.request` gives them. */
export const httpRequest = (
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
): Buffer => {
  const payload = body === undefined ? '' : JSON.stringify(body);
  const all = {
    Host: '127.0.0.1',
    ...headers,
    ...(body === undefined
      ? {}
      : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(payload)) }),
  };
  const head = Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n${payload}`);
};

const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH = /\r\ncontent-length:[ \t]*(\d+)/i;

type Reply = Readonly<{ status: string; endAt: number; head: string }>;

/** In: what has arrived. Out: the first whole answer in it, if there is one. */
const firstReply = (bytes: Buffer): Reply | undefined => {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const head = bytes.toString('latin1', 0, headEnd);
  const length = LENGTH.exec(head)?.[1];
  if (length === undefined) throw new Error(`an answer without Content-Length: ${head}`);
  const endAt = headEnd + HEAD_END.length + Number(length);
  return bytes.length < endAt ? undefined : { status: head.slice(9, 12), endAt, head };
};

/** In: the sorted latencies and a share between 0 and 1. Out: the latency that this share does not exceed, in ms. */
export const percentile = (latenciesMs: Float64Array, share: number): number =>
  latenciesMs[Math.min(latenciesMs.length - 1, Math.floor(latenciesMs.length * share))] ?? NaN;

/**
 * Sends all requests and resolves with what came back; rejects where a connection fails or an answer cannot be read.
 */
export const load = async (options: LoadOptions): Promise<LoadResult> => {
  const { host = '127.0.0.1', port, connections, requests, request, perSecondMax = Infinity } = options;
  const statuses: Record<string, number> = {};
  const latenciesMs = new Float64Array(requests);
  let lastFault: string | undefined;
  let sent = 0;
  let answered = 0;

  const sockets: Socket[] = await Promise.all(
    Array.from({ length: Math.min(connections, requests) }, async () => {
      const socket = connect({ host, port, noDelay: true });
      await once(socket, 'connect');
      return socket;
    }),
  );

  const begunAt = performance.now();
  const drive = (socket: Socket): Promise<void> =>
    new Promise((resolve, reject) => {
      let waiting: Buffer = Buffer.alloc(0);
      let startedAt = 0;
      const next = (): void => {
        if (sent >= requests) {
          socket.end();
          resolve();
          return;
        }
        const n = sent;
        sent += 1;
        const begin = (): void => {
          startedAt = performance.now();
          socket.write(request(n));
        };
        const earlyMs = (n * 1_000) / perSecondMax - (performance.now() - begunAt);
        if (earlyMs > 0) setTimeout(begin, earlyMs);
        else begin();
      };
      const note = (reply: Reply): void => {
        latenciesMs[answered] = performance.now() - startedAt;
        answered += 1;
        statuses[reply.status] = (statuses[reply.status] ?? 0) + 1;
        if (reply.status[0] !== '2')
          lastFault = `${reply.head}\n\n${waiting.toString('utf8', reply.head.length + HEAD_END.length, reply.endAt)}`;
      };
      socket.on('data', (chunk) => {
        try {
          waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
          const reply = firstReply(waiting);
          if (reply === undefined) return;
          note(reply);
          waiting = waiting.subarray(reply.endAt);
          next();
        } catch (error) {
          socket.destroy();
          reject(error instanceof Error ? error : new Error('the load generator failed', { cause: error }));
        }
      });
      socket.on('error', reject);
      socket.on('close', () =>
        answered < requests && sent < requests ? reject(new Error('the server closed a connection')) : resolve(),
      );
      next();
    });

  await Promise.all(sockets.map(drive));
  const durationMs = performance.now() - begunAt;
  return { statuses, durationMs, latenciesMs: latenciesMs.subarray(0, answered).sort(), lastFault };
};

/**
 * A relay before a NATS server that makes it slow to answer requests of its JetStream API, as one with many consumers,
 * a busy disk or a large cluster is.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export type SlowNats = Readonly<{
  port: number;
  /**
   * From now on each request of the API takes the server that long, one after another; work and its requests go on at
   * once. 0: as the server is.
   */
  slow: (perRequestMs: number) => void;
  /** Ends all connections; new ones are taken. */
  cut: () => void;
  /**
   * How many requests came since the last call, by the first words of their subject behind `$JS.API.`, and how many
   * waited at once at most.
   */
  asked: () => Readonly<{ of: Readonly<Record<string, number>>; mostAtOnce: number }>;
  close: () => Promise<void>;
}>;

const API = '$JS.API.';
const NEXT = `${API}CONSUMER.MSG.NEXT.`;

export const openSlowNats = async (target: Readonly<{ host: string; port: number }>): Promise<SlowNats> => {
  const sockets = new Set<Socket>();
  const queue: (() => void)[] = [];
  const counts = new Map<string, number>();
  let perRequestMs = 0;
  let mostAtOnce = 0;
  let working = false;

  const work = (): void => {
    const next = queue.shift();
    working = next !== undefined;
    if (next !== undefined) setTimeout(() => (next(), work()), perRequestMs);
  };
  const take = (subject: string, send: () => void): void => {
    if (!subject.startsWith(API) || subject.startsWith(NEXT)) return send();
    const kind = subject.slice(API.length).split('.').slice(0, 2).join('.');
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    if (perRequestMs === 0 && !working) return send();
    queue.push(send);
    mostAtOnce = Math.max(mostAtOnce, queue.length + (working ? 1 : 0));
    if (!working) work();
  };
  const listening = createServer((client) => {
    const server = connect(target);
    const split = openSplit((frame, subject) => take(subject, () => void (server.writable && server.write(frame))));
    client.on('data', split);
    server.on('data', (bytes: Buffer) => void (client.writable && client.write(bytes)));
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one);
      one.setNoDelay(true);
      one.on('error', () => {});
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => void listening.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (listening.address() as AddressInfo).port,
    slow: (ms) => void (perRequestMs = ms),
    cut,
    asked: () => {
      const answer = { of: Object.fromEntries(counts), mostAtOnce };
      counts.clear();
      mostAtOnce = 0;
      return answer;
    },
    close: async () => {
      cut();
      await new Promise((resolve) => void listening.close(resolve));
    },
  };
};

const CRLF = '\r\n';

/** Cuts what a client sends into commands with their payloads; `subject` is empty where nothing is published. */
const openSplit = (take: (frame: Buffer, subject: string) => void): ((bytes: Buffer) => void) => {
  let rest: Buffer = Buffer.alloc(0);
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    for (;;) {
      const lineEnd = rest.indexOf(CRLF);
      if (lineEnd < 0) return;
      const words = rest.toString('latin1', 0, lineEnd).split(' ');
      const isPublished = words[0] === 'PUB' || words[0] === 'HPUB';
      const end = lineEnd + CRLF.length + (isPublished ? Number(words.at(-1)) + CRLF.length : 0);
      if (rest.length < end) return;
      take(rest.subarray(0, end), isPublished ? words[1]! : '');
      rest = rest.subarray(end);
    }
  };
};

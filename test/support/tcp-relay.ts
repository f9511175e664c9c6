/**
 * A relay between clients and a server over TCP, whose connections a test cuts, holds up, or lets swallow what is sent.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** `requests` go to the server, `answers` come from it. */
export type Direction = 'requests' | 'answers';

export type TcpRelay = Readonly<{
  port: number;
  /**
   * Ends all connections at once, or those for which `which` says so, asked for each; new ones are taken. Out: how many
   * it ended.
   */
  cut: (which?: () => boolean) => number;
  /**
   * From now on what comes waits that long on its way, asked for each piece; undefined: it goes at once again. Order is
   * kept.
   */
  slow: (delayMs: (() => number) | undefined) => void;
  /** From now on bytes in that direction are lost, until the connection is cut. Resolves when some were. */
  swallow: (direction: Direction) => Promise<void>;
  /** From now on bytes in that direction wait until `release`. */
  hold: (direction: Direction) => void;
  release: () => void;
  /** How many connections were made. */
  connections: () => number;
  close: () => Promise<void>;
}>;

type Link = Readonly<{ client: Socket; server: Socket; lost: Map<Direction, () => void> }>;

export const openTcpRelay = async (target: Readonly<{ host: string; port: number }>): Promise<TcpRelay> => {
  const links = new Set<Link>();
  let connections = 0;
  let isClosed = false;
  let delayOf: (() => number) | undefined;

  const pass = (link: Link, from: Socket, to: Socket, direction: Direction): void => {
    const late: Buffer[] = [];
    const write = (bytes: Buffer): void => {
      if (to.writable && !to.write(bytes)) from.pause();
    };
    from.on('data', (bytes: Buffer) => {
      const lose = link.lost.get(direction);
      if (lose !== undefined) return lose();
      const delayMs = delayOf?.() ?? 0;
      if (delayMs === 0 && late.length === 0) return write(bytes);
      // Later bytes go together with the first that wait.
      if (late.push(bytes) === 1) setTimeout(() => write(Buffer.concat(late.splice(0))), delayMs);
    });
    to.on('drain', () => from.resume());
  };
  const listening = createServer((client) => {
    if (isClosed) return void client.destroy();
    connections += 1;
    const server = connect(target);
    const link: Link = { client, server, lost: new Map() };
    links.add(link);
    pass(link, client, server, 'requests');
    pass(link, server, client, 'answers');
    for (const [end, other] of [
      [client, server],
      [server, client],
    ] as const) {
      end.setNoDelay(true);
      end.on('error', () => {});
      end.on('close', () => {
        links.delete(link);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => void listening.listen(0, '127.0.0.1', resolve));
  const cut = (which = (): boolean => true): number => {
    const chosen = [...links].filter(() => which());
    for (const link of chosen) {
      links.delete(link);
      link.client.resetAndDestroy();
      link.server.resetAndDestroy();
    }
    return chosen.length;
  };
  const sources = (direction: Direction): Socket[] =>
    [...links].map(({ client, server }) => (direction === 'requests' ? client : server));

  return {
    port: (listening.address() as AddressInfo).port,
    cut,
    slow: (delayMs) => void (delayOf = delayMs),
    swallow: (direction) =>
      new Promise((resolve) => {
        for (const { lost } of links) lost.set(direction, resolve);
      }),
    hold: (direction) => {
      for (const socket of sources(direction)) socket.pause();
    },
    release: () => {
      for (const { client, server } of links) for (const socket of [client, server]) socket.resume();
    },
    connections: () => connections,
    close: async () => {
      isClosed = true;
      cut();
      await new Promise((resolve) => void listening.close(resolve));
    },
  };
};

/** A scripted SMTP server for tests: it behaves until its script says otherwise, and records all that it received. */
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { ReceivedMail, SmtpScript, SmtpScriptOptions } from './smtp-moments.js';
import { serveSession } from './smtp-session.js';

export * from './smtp-moments.js';

export type SmtpScriptServer = Readonly<{
  port: number;
  /** `smtp://127.0.0.1:<port>` */
  url: string;
  /** Every message that came in whole, in order. */
  received: readonly ReceivedMail[];
  /** Those that were answered with 2xx. */
  accepted: () => readonly ReceivedMail[];
  /** Every command line of all connections, each as `<connection> <line>`. */
  commands: readonly string[];
  connections: () => number;
  openConnections: () => number;
  setScript: (script: SmtpScript) => void;
  /** Resolves when that many messages have come in whole. */
  whenReceived: (count: number) => Promise<void>;
  close: () => Promise<void>;
}>;

export const usualExtensions: readonly string[] = ['PIPELINING', 'SIZE 52428800', '8BITMIME', 'ENHANCEDSTATUSCODES'];

const folder = new URL('../../../test/support/tls/', import.meta.url);
const pem = (name: string): Buffer => readFileSync(new URL(name, folder));

export const openSmtpScript = async (options: SmtpScriptOptions = {}): Promise<SmtpScriptServer> => {
  const received: ReceivedMail[] = [];
  const commands: string[] = [];
  const sockets = new Set<Socket>();
  const watchers = new Set<Readonly<{ count: number; resolve: () => void }>>();
  let script: SmtpScript = options.script ?? (() => undefined);
  let connections = 0;
  let messages = 0;

  const tls =
    options.certificate === undefined ? undefined : { key: pem('key.pem'), cert: pem(`${options.certificate}.pem`) };
  const accept = (socket: Socket): void => {
    connections += 1;
    sockets.add(socket);
    // Replies are small; held back by Nagle each would wait for an acknowledgement.
    socket.setNoDelay(true);
    socket.on('close', () => sockets.delete(socket));
    serveSession(socket, {
      connection: connections,
      options,
      extensions: options.extensions ?? usualExtensions,
      tls,
      nextMessage: () => (messages += 1),
      ask: (moment) => script(moment),
      command: (line) => void commands.push(line),
      received: (mail) => {
        received.push(options.discardRaw === true ? { ...mail, raw: Buffer.alloc(0) } : mail);
        for (const watcher of watchers) if (received.length >= watcher.count) watcher.resolve();
      },
    });
  };
  const server = options.secure === true && tls !== undefined ? createTlsServer(tls, accept) : createServer(accept);
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');

  return {
    port: address.port,
    url: `${options.secure === true ? 'smtps' : 'smtp'}://127.0.0.1:${address.port}`,
    received,
    accepted: () => received.filter((mail) => mail.accepted),
    commands,
    connections: () => connections,
    openConnections: () => sockets.size,
    setScript: (next) => void (script = next),
    whenReceived: (count) =>
      new Promise((resolve) => {
        if (received.length >= count) return resolve();
        const watcher = {
          count,
          resolve: () => {
            watchers.delete(watcher);
            resolve();
          },
        };
        watchers.add(watcher);
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
};

/** A port of 127.0.0.1 on which nobody listens. */
export const refusedPort = async (): Promise<number> => {
  const server = await openSmtpScript();
  await server.close();
  return server.port;
};

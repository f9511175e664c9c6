/** An SMTP client of which every byte is the test's. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

export type RawSmtp = Readonly<{
  /** Writes these bytes as they are. */
  write: (bytes: string | Buffer) => void;
  /** Resolves with the next reply, all its lines, `code text` each; '' where the server has closed. */
  reply: () => Promise<string>;
  /** A line with its end, and the reply to it. */
  ask: (line: string) => Promise<string>;
  /** Goes on over TLS, whatever the certificate. */
  startTls: () => Promise<void>;
  whenClosed: Promise<void>;
  end: () => void;
}>;

/** Connects to loopback, from the address that is given. */
export const openRawSmtp = async (port: number, localAddress = '127.0.0.1'): Promise<RawSmtp> => {
  let socket: Socket = connect({ port, host: '127.0.0.1', localAddress });
  let text = '';
  let isClosed = false;
  const waiting: ((reply: string) => void)[] = [];
  let close = (): void => undefined;
  const whenClosed = new Promise<void>((resolve) => (close = resolve));
  const pump = (): void => {
    for (;;) {
      if (waiting.length === 0) return;
      const found = /^(?:\d{3}-[^\r\n]*\r\n)*\d{3} [^\r\n]*\r\n/.exec(text);
      if (found === null && !isClosed) return;
      text = text.slice(found?.[0].length ?? 0);
      waiting.shift()!(found?.[0].trim() ?? '');
    }
  };
  const listen = (): void => {
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      pump();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      isClosed = true;
      close();
      pump();
    });
  };
  listen();
  await Promise.race([once(socket, 'connect'), whenClosed]);
  // While no server listens, the system may give the client that very port, and it is connected to itself (RFC 9293, 3.5).
  if (socket.localPort === port && socket.remotePort === port) socket.destroy();
  const write = (bytes: string | Buffer): void => void (socket.writable && socket.write(bytes));
  const reply = (): Promise<string> =>
    new Promise((resolve) => {
      waiting.push(resolve);
      pump();
    });
  const ask = (line: string): Promise<string> => {
    write(`${line}\r\n`);
    return reply();
  };
  return {
    write,
    reply,
    ask,
    startTls: async () => {
      await ask('STARTTLS');
      socket.removeAllListeners();
      socket = connectTls({ socket, rejectUnauthorized: false });
      listen();
      await once(socket, 'secureConnect');
    },
    whenClosed,
    end: () => socket.destroy(),
  };
};

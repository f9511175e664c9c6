/** A relay that does nothing but take mail, as fast as one process can, and can be gone for a while. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export type QuickRelay = Readonly<{
  url: string;
  /** When it took each mail (`performance.now()`), by Message-ID; more than one time is a copy too many. */
  taken: ReadonlyMap<string, readonly number[]>;
  /** Refuses connections until `open` is called, and cuts off those that are there. */
  close: () => Promise<void>;
  /** Listens on its port again. */
  open: () => Promise<void>;
}>;

const END_OF_DATA = '\r\n.\r\n';
const MESSAGE_ID = /^message-id: *(<[^>]+>)/im;

export const openQuickRelay = async (): Promise<QuickRelay> => {
  const taken = new Map<string, number[]>();
  const sockets = new Set<Socket>();
  const take = (message: string): void => {
    const id = MESSAGE_ID.exec(message)?.[1] ?? '';
    const times = taken.get(id);
    if (times === undefined) taken.set(id, [performance.now()]);
    else times.push(performance.now());
  };
  let server: Server | undefined;
  let port = 0;
  const open = async (): Promise<void> => {
    server = createServer((socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket)).on('error', () => {});
      serve(socket, take);
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  };
  await open();
  return {
    url: `smtp://127.0.0.1:${port}?tls=off`,
    taken,
    open,
    close: async () => {
      if (server === undefined) return;
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
      server = undefined;
    },
  };
};

/** One session: commands line by line, and after DATA everything up to the lone dot. */
const serve = (socket: Socket, take: (message: string) => void): void => {
  let pending = '';
  let inData = false;
  socket.setEncoding('latin1').setNoDelay(true).write('220 relay ESMTP\r\n');
  socket.on('data', (text: string) => {
    pending += text;
    let replies = '';
    for (;;) {
      const end = pending.indexOf(inData ? END_OF_DATA : '\r\n');
      if (end < 0) break;
      const whole = pending.slice(0, end);
      pending = pending.slice(end + (inData ? END_OF_DATA.length : 2));
      if (inData) {
        take(whole);
        inData = false;
        replies += '250 2.0.0 taken\r\n';
        continue;
      }
      const command = whole.slice(0, 4).toUpperCase();
      inData = command === 'DATA';
      replies +=
        command === 'EHLO'
          ? '250-relay\r\n250 8BITMIME\r\n'
          : inData
            ? '354 go on\r\n'
            : command === 'QUIT'
              ? '221 bye\r\n'
              : '250 2.0.0 ok\r\n';
      if (command === 'QUIT') socket.end(replies);
    }
    if (replies !== '' && socket.writable) socket.write(replies);
  });
};

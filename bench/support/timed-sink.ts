/**
 * A relay that takes every mail, tells when each dialogue began, and greets nobody before it is opened: until then
 * everything waits.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

export type TimedSink = Readonly<{
  port: number;
  /** From here on sessions are greeted, those that wait for it too. */
  open: () => void;
  /**
   * When the dialogue of the mail from that address began, by `performance.now()`, and its number in the order of their beginnings; undefined
   * where it has not.
   */
  beganAt: (sender: string) => Readonly<{ atMs: number; place: number }> | undefined;
  /** How many dialogues have begun. */
  dialogues: () => number;
  /** How many mails it has taken. */
  mails: () => number;
  close: () => void;
}>;

const END_OF_DATA = '\r\n.\r\n';

/** `watched`: the senders whose dialogues are told. */
export const startTimedSink = async (watched: (sender: string) => boolean): Promise<TimedSink> => {
  const began = new Map<string, Readonly<{ atMs: number; place: number }>>();
  const waiting = new Set<Socket>();
  const sockets = new Set<Socket>();
  let isOpen = false;
  let mails = 0;
  let dialogues = 0;

  const answer = (line: string): string => {
    const verb = line.slice(0, 4).toUpperCase();
    if (verb === 'MAIL') {
      dialogues += 1;
      const sender = /<([^>]*)>/.exec(line)?.[1] ?? '';
      if (watched(sender) && !began.has(sender)) began.set(sender, { atMs: performance.now(), place: dialogues });
    }
    if (verb === 'DATA') return '354 go on\r\n';
    return verb === 'QUIT' ? '221 good-bye\r\n' : '250 fine\r\n';
  };

  const talk = (socket: Socket): void => {
    let text = '';
    let isData = false;
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      for (;;) {
        const end = text.indexOf(isData ? END_OF_DATA : '\r\n');
        if (end < 0) return;
        if (isData) {
          text = text.slice(end + END_OF_DATA.length);
          isData = false;
          mails += 1;
          socket.write('250 taken\r\n');
          continue;
        }
        const line = text.slice(0, end);
        text = text.slice(end + 2);
        const said = answer(line);
        isData = said.startsWith('354');
        socket.write(said);
        if (said.startsWith('221')) socket.end();
      }
    });
  };

  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    talk(socket);
    if (isOpen) socket.write('220 sink\r\n');
    else waiting.add(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    open: () => {
      isOpen = true;
      for (const socket of waiting) socket.write('220 sink\r\n');
      waiting.clear();
    },
    beganAt: (sender) => began.get(sender),
    dialogues: () => dialogues,
    mails: () => mails,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
};

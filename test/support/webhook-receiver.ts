/** An endpoint on loopback that keeps what it is sent, and answers as the test says. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { bodyDifference } from './described-webhooks.js';

export type Received = Readonly<{ path: string; headers: IncomingHttpHeaders; body: string }>;

export type Receiver = Readonly<{
  url: string;
  received: () => readonly Received[];
  /** How the next ones are answered: a status, or what writes the answer itself. */
  answer: (how: number | ((request: IncomingMessage, response: ServerResponse) => void)) => void;
  /** Rejects if a body was not as the API description has it. */
  close: () => Promise<void>;
}>;

export const openReceiver = async (): Promise<Receiver> => {
  const received: Received[] = [];
  const differences: string[] = [];
  let how: Parameters<Receiver['answer']>[0] = 200;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      received.push({ path: request.url ?? '', headers: request.headers, body });
      const difference = bodyDifference(body);
      if (difference !== undefined) differences.push(difference);
      if (typeof how === 'number') response.writeHead(how).end(`status ${how}`);
      else how(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: () => received,
    answer: (next) => void (how = next),
    close: () =>
      new Promise((resolve, reject) => {
        server.close(() => (differences.length === 0 ? resolve() : reject(new Error(differences.join('\n')))));
        server.closeAllConnections();
      }),
  };
};

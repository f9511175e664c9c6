/** Endpoints of webhooks, one well and the others hostile in a way each, on loopback. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';

type Endpoint = Readonly<{
  name: string;
  url: string;
  /** Whether the n-th event, counted from 1, is taken; absent where none is. */
  isTaken?: (round: number) => boolean;
}>;

export type HostileEndpoints = Readonly<{
  all: readonly Endpoint[];
  endlessBytes: () => number;
  /** Posts at addresses where none may arrive. */
  trespasses: () => readonly string[];
  close: () => Promise<void>;
}>;

const DRIP_MS = 50;
const GIGABYTE = 2 ** 30;
const chunk = Buffer.alloc(256 * 1024, 'x');

const folder = new URL('../../../test/support/tls/', import.meta.url);
/** The certificates of `localhost`: `stranger` is signed by nobody whom the service knows. */
export const certificate = (name: 'valid' | 'expired' | 'stranger'): Buffer =>
  readFileSync(new URL(`${name}.pem`, folder));
const key = (): Buffer => readFileSync(new URL('key.pem', folder));

const opener = () => {
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  const listening = async (server: Server): Promise<number> => {
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    });
    servers.push(server.listen(0, '127.0.0.1'));
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  return {
    /** The whole request is read before it is answered. */
    http: (answer: RequestListener) =>
      listening(createServer((request, response) => request.resume().on('end', () => answer(request, response)))),
    tls: (name: Parameters<typeof certificate>[0]) =>
      listening(
        createTlsServer({ key: key(), cert: certificate(name) }, (request, response) =>
          request.resume().on('end', () => response.end()),
        ),
      ),
    /** `speak` is called once for each connection, when the request has begun to come. */
    raw: (speak: (socket: Socket) => void) =>
      listening(createTcpServer((socket) => void socket.once('data', () => speak(socket)).resume())),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
};

/** One byte after the other, without an end. */
const drip = (write: (text: string) => void, closed: ServerResponse | Socket): void => {
  const dripping = setInterval(() => write('x'), DRIP_MS);
  closed.on('close', () => clearInterval(dripping));
};

/** Writes as fast as it is taken, until that many bytes are gone. */
const pour = (to: ServerResponse | Socket, bytes: Buffer, total: number, gone: (bytes: number) => void): void => {
  let left = total;
  const more = (): void => {
    while (!to.destroyed && left > 0) {
      left -= bytes.byteLength;
      gone(bytes.byteLength);
      if (!to.write(bytes)) return void to.once('drain', more);
    }
    if (!to.destroyed) to.end();
  };
  more();
};

export const openHostileEndpoints = async (): Promise<HostileEndpoints> => {
  const { http, tls, raw, close } = opener();
  let endlessBytes = 0;
  const trespasses: string[] = [];
  const inside = await http((request, response) => {
    trespasses.push(`a request came to ${request.url ?? ''} on the inside`);
    response.end();
  });
  const well = await tls('valid');
  const noted = (bytes: number): void => void (endlessBytes += bytes);
  const web = async (name: string, answer: RequestListener): Promise<Endpoint> => ({
    name,
    url: `http://127.0.0.1:${await http(answer)}/`,
  });
  const tcp = async (name: string, speak: (socket: Socket) => void): Promise<Endpoint> => ({
    name,
    url: `http://127.0.0.1:${await raw(speak)}/`,
  });
  /** The status has come, and whatever follows does not matter. */
  const taken = async (endpoint: Promise<Endpoint>): Promise<Endpoint> => ({
    ...(await endpoint),
    isTaken: () => true,
  });
  const all = await Promise.all([
    { name: 'the one that is well', url: `https://localhost:${well}/`, isTaken: () => true },
    taken(
      web('a body byte by byte', (_request, response) => drip((text) => response.write(text), response.writeHead(200))),
    ),
    tcp('headers byte by byte', (socket) =>
      drip(
        (text) => socket.write(text),
        socket.on('error', () => undefined),
      ),
    ),
    web('no answer', () => undefined),
    taken(
      web('a body of 1 GB', (_request, response) =>
        pour(response.writeHead(200, { 'content-length': GIGABYTE }), chunk, GIGABYTE, noted),
      ),
    ),
    taken(
      tcp('headers of 1 GB', (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nx-long: ');
        pour(socket, chunk, GIGABYTE, noted);
      }),
    ),
    tcp('early hints without an end', (socket) =>
      pour(socket, Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(64)), GIGABYTE, () => undefined),
    ),
    tcp('another protocol', (socket) => void socket.end('SSH-2.0-OpenSSH_9.7\r\n')),
    tcp('a connection that is closed at once', (socket) => void socket.destroy()),
    tcp('a connection that is closed in the headers', (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-le')),
    taken(
      tcp(
        'a connection that is closed in the body',
        (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nten bytes.'),
      ),
    ),
    tcp('a connection that is reset in the headers', (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-len', () => socket.resetAndDestroy());
    }),
    web('a redirect to loopback', (_request, response) =>
      response.writeHead(307, { location: `http://127.0.0.1:${inside}/secret` }).end(),
    ),
    { name: 'a certificate that has expired', url: `https://localhost:${await tls('expired')}/` },
    { name: 'a certificate that nobody knows', url: `https://localhost:${await tls('stranger')}/` },
    { name: 'a certificate of another name', url: `https://other.test:${well}/` },
    { name: 'a name of our own network', url: `https://inside.test:${inside}/` },
    { name: 'a name that turns to loopback', url: `https://rebinds.test:${inside}/` },
    {
      name: 'a name that turns away from loopback',
      url: `http://turns.test:${await http((_request, response) => response.writeHead(200, { connection: 'close' }).end())}/`,
      isTaken: (round: number) => round === 1,
    },
  ]);
  return { all, endlessBytes: () => endlessBytes, trespasses: () => trespasses, close };
};

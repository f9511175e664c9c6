/** Limits of clients: connections of one network, requests that wait on one connection, answers that nobody reads. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { resolve as resolvePath } from 'node:path';
import { connect as connectTls } from 'node:tls';
import t, { type Test } from 'tap';
import { buildServer } from '../../src/http/index.js';
import type { App } from '../../src/http/server/context.js';
import { eventually } from '../support/wait.js';
import { fakes, type FakeOptions } from './fakes.js';

/** More than the buffers of the system take. */
const LARGE = Buffer.alloc(32 * 1024 * 1024, 0x61);

/** `begun` and `finish` count and end requests of /slow. */
const listening = async (t: Test, options: FakeOptions = {}) => {
  const made = fakes(options);
  const finish: (() => void)[] = [];
  const state = { begun: 0 };
  const app = await buildServer(made.deps, (routes: App) => {
    routes.get('/large', { config: { access: 'public' } }, (_request, reply) => reply.send(LARGE));
    routes.get('/slow', { config: { access: 'public' } }, async () => {
      state.begun += 1;
      await new Promise<void>((resolve) => finish.push(resolve));
      return `slow ${state.begun}`;
    });
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  const open = (localAddress = '127.0.0.1'): Socket => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => undefined);
    t.teardown(() => socket.destroy());
    return socket;
  };
  return { ...made, app, port, state, finish, open };
};

const ask = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;

/** All bytes until the server ends the connection. */
const allOf = async (socket: Socket): Promise<string> => {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(chunks).toString('utf8');
};

/** The status of one request over a connection of its own; 0 where the connection is refused. */
const statusOver = async (socket: Socket, path = '/health/live'): Promise<number> => {
  socket.write(ask(path, 'Connection: close\r\n'));
  return Number(/^HTTP\/1.1 (\d+)/.exec(await allOf(socket))?.[1] ?? 0);
};

const connectionsOf = (app: App): Promise<number> =>
  new Promise((resolve, reject) =>
    app.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  );

void t.test('the requests of one connection are answered one after the other', async (t) => {
  const { open, state, finish } = await listening(t);
  const socket = open();
  const answer = allOf(socket);
  socket.write(ask('/slow').repeat(3) + ask('/slow', 'Connection: close\r\n'));
  for (const turn of [1, 2, 3, 4]) {
    await eventually(`request ${turn} is begun`, () => state.begun === turn);
    t.equal(finish.length, turn, 'and no other');
    finish.at(-1)!();
  }
  t.same((await answer).match(/slow \d/g), ['slow 1', 'slow 2', 'slow 3', 'slow 4']);
});

void t.test('a body that comes behind another request is read in its turn', async (t) => {
  const { open, state, finish } = await listening(t);
  const socket = open();
  const answer = allOf(socket);
  socket.write(`${ask('/slow')}POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n`);
  socket.write('x'.repeat(300_000));
  socket.write(ask('/health/live', 'Connection: close\r\n'));
  await eventually('the first is begun', () => state.begun === 1);
  finish[0]!();
  t.same((await answer).match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 404', 'HTTP/1.1 200']);
});

void t.test('too many requests behind an answer end the connection', async (t) => {
  const { open, state, deps } = await listening(t);
  const socket = open();
  const answer = allOf(socket);
  socket.write(ask('/slow').repeat(deps.limits.pipelinedRequestsMax + 2));
  t.equal(await answer, '');
  t.equal(state.begun, 1, 'none of the others was begun');
});

void t.test('a client that reads nothing of an answer is ended, one that waits for its answer is not', async (t) => {
  const { open, app, state, finish } = await listening(t, { limits: { answerSilenceMs: 50 } });
  let timeouts = 0;
  app.server.on('timeout', () => (timeouts += 1));
  const patient = open();
  const answer = allOf(patient);
  patient.write(ask('/slow', 'Connection: close\r\n'));
  await eventually('it waits', () => state.begun === 1);
  const silent = open();
  silent.pause();
  silent.write(ask('/large').repeat(3));
  await eventually('both are there', async () => (await connectionsOf(app)) === 2);
  await eventually('the silent one is ended', async () => (await connectionsOf(app)) === 1);
  const before = timeouts;
  await eventually('the patient one was looked at again', () => timeouts >= before + 2);
  finish[0]!();
  t.match(await answer, /^HTTP\/1\.1 200 .*slow 1$/s);
});

void t.test('a network that does not read its answers gets no others until it has', async (t) => {
  const { open, app } = await listening(t, { limits: { networkUnsentBytesMax: LARGE.length } });
  const silent = open();
  silent.pause();
  silent.write(ask('/large'));
  await eventually('it is told so', async () => (await statusOver(open())) === 429);
  t.equal(await statusOver(open('127.0.0.2')), 200, 'other networks are answered');
  silent.destroy();
  await eventually('it is answered again', async () => (await statusOver(open())) === 200);
  t.ok(app.server.listening);
});

void t.test('unread answers of all are bounded: the oldest of the network with most gives way', async (t) => {
  const { open, app, logged } = await listening(t, { limits: { unsentBytesMax: 2.5 * LARGE.length } });
  for (const count of [1, 2]) {
    const silent = open();
    silent.pause();
    silent.write(ask('/large'));
    await eventually(`${count} wait`, async () => (await connectionsOf(app)) === count);
  }
  t.equal(await statusOver(open('127.0.0.2'), '/large'), 200);
  await eventually('one is left', async () => (await connectionsOf(app)) === 1);
  t.equal(logged.filter(({ message }) => message.startsWith('connections are ended')).length, 1);
});

void t.test('a network has its share of the connections', async (t) => {
  const { open, logged, app } = await listening(t, { limits: { networkConnectionsMax: 2 } });
  const held = [open(), open()];
  await eventually('both are there', async () => (await connectionsOf(app)) === 2);
  t.equal(await statusOver(open()), 0);
  t.equal(await statusOver(open()), 0);
  t.equal(await statusOver(open('127.0.0.2')), 200);
  t.equal(logged.filter(({ message }) => message.includes('one network has as many open')).length, 1, 'said once');
  held[0]!.destroy();
  await eventually('there is room again', async () => (await statusOver(open())) === 200);
});

void t.test('a proxy that is trusted has no share of its own', async (t) => {
  const { open } = await listening(t, {
    limits: { networkConnectionsMax: 1 },
    settings: { trustProxy: ['127.0.0.1'] },
  });
  const held = [open(), open()];
  await Promise.all(held.map((socket) => once(socket, 'connect')));
  t.equal(await statusOver(open()), 200);
  const other = open('127.0.0.2');
  await once(other, 'connect');
  t.equal(await statusOver(open('127.0.0.2')), 0);
});

void t.test(
  'when all connections are taken a newcomer takes the place of an idle one of the network that holds most',
  async (t) => {
    const { open, app, state, finish } = await listening(t, { limits: { connectionsMax: 3 } });
    const busy = open();
    const answer = allOf(busy);
    busy.write(ask('/slow', 'Connection: close\r\n'));
    await eventually('the first is being answered', () => state.begun === 1);
    const idle = open();
    await eventually('two are there', async () => (await connectionsOf(app)) === 2);
    const young = open();
    await eventually('three are there', async () => (await connectionsOf(app)) === 3);
    t.equal(await statusOver(open()), 0, 'no place for one more of the same network');
    const ended = once(idle.resume(), 'close');
    t.equal(await statusOver(open('127.0.0.2')), 200);
    await ended;
    t.notOk(young.destroyed);
    finish[0]!();
    t.match(await answer, /^HTTP\/1\.1 200 /);
  },
);

void t.test('it is the same over TLS', async (t) => {
  const pem = (name: string): string => readFileSync(resolvePath('test/support/tls', name), 'utf8');
  const tls = { cert: pem('valid.pem'), key: pem('key.pem') };
  const { app, port, state, finish } = await listening(t, {
    limits: { answerSilenceMs: 200, networkConnectionsMax: 2 },
    settings: { tls },
  });
  const open = (): Socket => {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    socket.on('error', () => undefined);
    t.teardown(() => socket.destroy());
    return socket;
  };
  const patient = open();
  const answer = allOf(patient);
  patient.write(ask('/slow') + ask('/slow', 'Connection: close\r\n'));
  await eventually('the first request is begun', () => state.begun === 1);
  const silent = open();
  silent.pause();
  silent.write(ask('/large'));
  await eventually('both are there', async () => (await connectionsOf(app)) === 2);
  t.equal(await statusOver(open()), 0, 'no place for a third');
  await eventually('the silent one is ended', async () => (await connectionsOf(app)) === 1);
  t.equal(state.begun, 1, 'the second waits for its turn');
  finish[0]!();
  await eventually('the second request is begun', () => state.begun === 2);
  finish[1]!();
  t.same((await answer).match(/slow \d/g), ['slow 1', 'slow 2']);
});

/** How many connections and calls one may have, and answers that nobody reads. */
import { once, EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { resolve as resolvePath } from 'node:path';
import { connect as connectTls } from 'node:tls';
import t, { type Test } from 'tap';
import { DomainError } from '../../src/domain/core/errors.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { Logger } from '../../src/domain/ports/logger.js';
import { routesOf } from '../../src/http/index.js';
import { openUnsentAnswers } from '../../src/http/server/connections.js';
import type { App } from '../../src/http/server/context.js';
import { fakeClock } from '../support/fake-clock.js';
import { eventually } from '../support/wait.js';
import { bearer, openServer, OTHER_TEAM, TEAM, type ServerOptions } from './server.js';
import { requestTo } from './request-to.js';

// Limits of clients: connections of one network, requests that wait on one connection, answers that nobody reads.

/** More than the buffers of the system take. */
const LARGE = Buffer.alloc(32 * 1024 * 1024, 0x61);

/** `begun` and `finish` count and end requests of /slow. */
const listening = async (t: Test, options: ServerOptions = {}) => {
  const finish: (() => void)[] = [];
  const state = { begun: 0 };
  const made = await openServer(t, options, (routes: App) => {
    routes.get('/large', { config: { access: 'public' } }, (_request, reply) => reply.send(LARGE));
    routes.get('/slow', { config: { access: 'public' } }, async () => {
      state.begun += 1;
      await new Promise<void>((resolve) => finish.push(resolve));
      return `slow ${state.begun}`;
    });
  });
  const { app } = made;
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const open = (localAddress = '127.0.0.1'): Socket => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => undefined);
    t.teardown(() => socket.destroy());
    return socket;
  };
  return { ...made, port, state, finish, open };
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

// The sums of unread answers.

const MB = 1024 * 1024;
const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => silent };

const open = () =>
  openUnsentAnswers({
    limits: { ...defaultLimits, networkUnsentBytesMax: 2 * MB, unsentBytesMax: 5 * MB },
    clock: fakeClock(),
    logger: silent,
  });

class Answer extends EventEmitter {
  ended = false;
  destroy(): this {
    this.ended = true;
    this.emit('close');
    return this;
  }
}

void t.test('a network at its bound is told so, whichever of its addresses asks, until it has read', async (t) => {
  const answers = open();
  const [first, second] = [new Answer(), new Answer()];
  answers.add(first as never, '2001:db8::1', MB);
  t.equal(answers.fault('2001:db8::1'), undefined);
  answers.add(second as never, '2001:db8::2', MB);
  t.match(answers.fault('2001:db8::3'), { code: 'RATE_LIMIT_EXCEEDED', details: { retryAfterS: 5 } });
  t.equal(answers.fault('2001:db8:0:1::1'), undefined, 'another network');
  first.emit('close');
  t.equal(answers.fault('2001:db8::3'), undefined);
});

void t.test('small answers are not counted', async (t) => {
  const answers = open();
  for (let index = 0; index < 1_000; index += 1) answers.add(new Answer() as never, '192.0.2.1', 16 * 1024 - 1);
  t.equal(answers.fault('192.0.2.1'), undefined);
});

void t.test('above the bound of all, the network with most loses its oldest answers', async (t) => {
  const answers = open();
  const [small, old, young, newest] = [new Answer(), new Answer(), new Answer(), new Answer()];
  answers.add(small as never, '192.0.2.1', MB);
  answers.add(old as never, '192.0.2.2', 2 * MB);
  answers.add(young as never, '192.0.2.2', 2 * MB);
  answers.add(newest as never, '192.0.2.3', MB);
  t.same([small.ended, old.ended, young.ended, newest.ended], [false, true, false, false]);
});

void t.test('one answer may be larger than the bound', async (t) => {
  const answers = open();
  const [before, huge] = [new Answer(), new Answer()];
  answers.add(before as never, '192.0.2.1', MB);
  answers.add(huge as never, '192.0.2.1', 6 * MB);
  t.same([before.ended, huge.ended], [true, false]);
});

// How many calls people, apps and keys may make: the contract's table, written here by hand, and that none takes from
// another.

const table: Readonly<Record<string, number>> = {
  'POST /api/emails/send': 30,
  'POST /api/emails/batch': 30,
  'POST /api/emails/send/bulk': 5,
  'GET /api/emails': 300,
  'GET /api/emails/:id': 300,
  'POST /api/emails/:id/retry': 10,
  'GET /api/templates': 300,
  'POST /api/templates': 30,
  'PATCH /api/templates/:id': 30,
  'DELETE /api/templates/:id': 30,
  'POST /api/templates/preview': 600,
  'POST /api/templates/attachment/preview': 600,
  'POST /api/blocks/preview': 600,
  'POST /api/templates/convert': 30,
  'POST /api/templates/:id/test': 10,
  'GET /api/analytics/overview': 100,
  'GET /api/analytics/timeseries': 100,
  'GET /api/analytics/templates': 100,
  'GET /api/analytics/tags': 100,
  'GET /api/analytics/domains': 100,
  'GET /api/dashboard/summary': 100,
  'GET /api/v1/webhook-subscriptions': 30,
  'POST /api/v1/webhook-subscriptions': 30,
  'GET /api/v1/webhook-subscriptions/:id': 30,
  'PATCH /api/v1/webhook-subscriptions/:id': 30,
  'DELETE /api/v1/webhook-subscriptions/:id': 30,
  'POST /api/v1/webhook-subscriptions/:id/test': 10,
};

/** Requests a minute of a person in a session, for each endpoint that reads, but for exports. */
const READS_OF_A_SESSION = 1_200;
const isQuickRead = (endpoint: string): boolean => endpoint.startsWith('GET ') && !/export|results/.test(endpoint);

/** Callers whose requests are counted together: each line is one counter. */
const callers: Readonly<Record<string, readonly Caller[]>> = {
  user: ['ada', 'ada again'],
  userInAnotherTeam: [['ada', OTHER_TEAM]],
  anotherUser: ['role=admin'],
  grant: ['granted'],
  anotherGrant: ['granted by admin'],
  app: ['own', 'own again'],
  anotherApp: ['own@other'],
  key: ['full'],
  anotherKey: ['full@other'],
  keyWithItsOwnLimit: ['three'],
};

/** The name of a credential, and the team where it is another than the first. */
type Caller = string | readonly [string, string];

const openForRates = async (t: Test) => {
  const { app: server, ...made } = await openServer(t);
  // A call is counted before its command is reached, and no command need do its work here.
  made.during.run = () => {
    throw new DomainError('CONFLICT', 'it reached the command');
  };
  const routes = new Map(routesOf(server).map((route) => [`${route.method} ${route.path}`, route]));
  const ask = async (endpoint: string, caller: Caller) => {
    const [token, team] = typeof caller === 'string' ? [caller, undefined] : caller;
    const request = requestTo(assertDefined(routes.get(endpoint), endpoint), token);
    const isInTwo = token.startsWith('ada');
    const { statusCode, headers, body } = await server.inject({
      ...request,
      headers: { ...request.headers, ...(isInTwo ? { 'x-team-id': team ?? TEAM } : {}) },
    });
    return {
      status: statusCode,
      left: Number(headers['x-ratelimit-remaining']),
      limit: Number(headers['x-ratelimit-limit']),
      body,
    };
  };
  /** Out: how many calls were let in before the first that was not, and what that one was told. */
  const exhaust = async (endpoint: string, token: Caller, atMost: number) => {
    for (let letIn = 0; letIn < atMost; letIn += 1) {
      const { status, body } = await ask(endpoint, token);
      if (status === 429) return { letIn, message: (JSON.parse(body) as { message: string }).message };
    }
    return { letIn: atMost, message: '' };
  };
  return { ...made, ask, exhaust };
};

const KINDS = { ada: 'A user', granted: 'An app', own: 'An app', full: 'An API key' } as const;

void t.test(
  'the table holds for a person in a team, for what is granted to an app, for an app, and for a key',
  async (t) => {
    const { clock, ask, exhaust } = await openForRates(t);
    for (const [token, subject] of Object.entries(KINDS))
      for (const [endpoint, ofKeys] of Object.entries(table)) {
        const limit = token === 'ada' && isQuickRead(endpoint) ? READS_OF_A_SESSION : ofKeys;
        const name = `${token}: ${endpoint}`;
        const first = await ask(endpoint, token);
        t.match(first, { limit, left: limit - 1 }, name);
        t.ok([200, 400].includes(first.status), `${name}: ${first.status}`);
        if (limit > 30 && name !== 'own: GET /api/emails/:id') continue;
        const refused = await exhaust(endpoint, token, limit + 1);
        t.equal(refused.letIn, limit - 1, name);
        t.ok(
          refused.message.startsWith(
            `${subject} may call ${endpoint} ${limit} times a minute. Try again in 60 seconds`,
          ),
          refused.message,
        );
      }
    await clock.advance(60_000);
    for (const token of Object.keys(KINDS))
      t.match(await ask('POST /api/emails/send', token), { left: 29 }, `${token}: a minute later`);
  },
);

void t.test('what one uses up is taken from nobody else, of another team least of all', async (t) => {
  const { clock, ask, exhaust } = await openForRates(t);
  for (const [who, own] of Object.entries(callers)) {
    const [first = '', ...same] = own;
    await exhaust('POST /api/emails/:id/retry', first, 11);
    for (const token of [first, ...same])
      t.equal((await ask('POST /api/emails/:id/retry', token)).status, 429, `${who}: ${token} is counted with it`);
    for (const [other, theirs] of Object.entries(callers)) {
      if (other === who) continue;
      const [token = ''] = theirs;
      const limit = other === 'keyWithItsOwnLimit' ? 3 : 10;
      t.match(
        await ask('POST /api/emails/:id/retry', token),
        { limit, left: limit - 1 },
        `${who} takes nothing from ${other}`,
      );
    }
    await clock.advance(60_000);
  }
});

void t.test(
  'the other endpoints: 100 a minute each, more for reads in a session, and 200 in 10 seconds together',
  async (t) => {
    const { clock, ask, exhaust } = await openForRates(t);
    const general = ['GET /api/assets', 'GET /api/templates/:id', 'GET /api/templates/:id/versions'] as const;
    for (const [token, same, atMost] of [
      ['ada', 'ada again', 100],
      ['own', 'own again', 101],
    ] as const) {
      t.equal((await exhaust(general[0], token, atMost)).letIn, 100, token);
      t.equal((await exhaust(general[1], same, 100)).letIn, 100, token);
      const refused = await exhaust(general[2], token, 1);
      t.match(refused.message, /200 such calls in 10 seconds\. Try again in 10 seconds/, token);
    }
    const others = [
      ['ada', OTHER_TEAM],
      'role=admin',
      'granted',
      'granted by admin',
      'own@other',
      'full',
      'full@other',
    ];
    for (const token of others as readonly Caller[]) {
      const left = (token === 'role=admin' || Array.isArray(token) ? READS_OF_A_SESSION : 100) - 1;
      t.match(await ask(general[0], token), { left }, String(token));
    }
    await clock.advance(10_000);
    t.not((await ask(general[2], 'ada')).status, 429, 'ten seconds later');
  },
);

void t.test('ten requests under way of one leave ten to another', async (t) => {
  const { during, ask } = await openForRates(t);
  let waiting = 0;
  let go: () => void = () => {};
  const gate = new Promise<void>((resolve) => (go = resolve));
  during.run = async () => {
    waiting += 1;
    await gate;
  };
  const whenWaiting = (count: number) => eventually(`${count} wait`, () => waiting >= count, 20_000);
  const slow = 'GET /api/templates/:id';
  const begun = Array.from({ length: 10 }, (_, index) => ask(slow, index % 2 === 0 ? 'own' : 'own again'));
  await whenWaiting(10);
  t.match((await ask(slow, 'own')).body, /10 requests under way at once/);
  const others: readonly Caller[] = ['own@other', 'ada', ['ada', OTHER_TEAM], 'granted', 'full'];
  begun.push(...others.map((token) => ask(slow, token)));
  await whenWaiting(10 + others.length);
  go();
  for (const { status } of await Promise.all(begun)) t.ok([200, 404].includes(status), `${status}`);
});

void t.test('a key from a network that it may not come from spends nothing of what it has', async (t) => {
  const { app } = await openServer(t);
  const from = (remoteAddress: string) => app.inject({ url: '/api/emails', remoteAddress, headers: bearer('bound') });
  for (let n = 0; n < 20; n += 1) t.equal((await from('203.0.113.5')).statusCode, 403);
  const { headers } = await from('192.0.2.5');
  t.equal(headers['x-ratelimit-remaining'], `${Number(headers['x-ratelimit-limit']) - 1}`);
});

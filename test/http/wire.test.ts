/** Requests byte by byte: framing, ambiguity, large bodies. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { resolve } from 'node:path';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { Agent, fetch as undiciFetch } from 'undici';
import { generalRateLimit } from '../../src/domain/access/rate-limits.js';
import { defaultLimits, type Limits } from '../../src/domain/core/limits.js';
import type { App } from '../../src/http/server/context.js';
import { canonicalJson } from '../../src/shared/text.js';
import { inLeaps } from '../support/fake-clock.js';
import { eventually } from '../support/wait.js';
import { bearer, openServer, KEY_ID, NOW, sendBody, type ServerOptions } from './server.js';

// Behaviour that shows only on a real connection: bytes that are no HTTP, large uploads, callers that go away, TLS, the
// stop.

const listening = async (t: Test, options: ServerOptions = {}) => {
  const made = await openServer(t, options);
  await made.app.listen({ host: '127.0.0.1', port: 0 });
  return { ...made, port: (made.app.server.address() as AddressInfo).port };
};

const allOf = async (socket: Socket): Promise<string> => {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('utf8');
};

/** Writes the bytes and reads until the server ends the connection. */
const speak = async (
  port: number,
  bytes: string | Buffer,
): Promise<{ status: number; headers: Record<string, string>; body: Record<string, unknown> }> => {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  socket.write(bytes);
  const answer = await allOf(socket);
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  const [line = '', ...fields] = head.split('\r\n');
  const headers = Object.fromEntries(
    fields.map((field) => [field.slice(0, field.indexOf(':')).toLowerCase(), field.slice(field.indexOf(':') + 2)]),
  );
  return { status: Number(line.split(' ')[1]), headers, body: JSON.parse(body) as Record<string, unknown> };
};

const limited = (t: Pick<Test, 'match'>, headers: Record<string, string>, name: string): void =>
  void t.match(
    headers,
    {
      'x-request-id': /./,
      'x-ratelimit-limit': '120',
      'x-ratelimit-remaining': /^\d+$/,
      'x-ratelimit-reset': /^\d{10}$/,
    },
    name,
  );

void t.test('what Node cannot read is answered 400 in the usual form', async (t) => {
  const { port } = await listening(t);
  const long = (length: number): string => 'x'.repeat(length);
  const cases: readonly (readonly [string, string, string, string])[] = [
    ['no HTTP at all', '\x16\x03\x01\x02\x00\x01\x00\r\n\r\n', 'MALFORMED_REQUEST', ''],
    ['a method that is none', 'FETCH /a?b HTTP/1.1\r\nHost: x\r\n\r\n', 'MALFORMED_REQUEST', '/a'],
    [
      'a header beyond the bound',
      `GET /a HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nX-Long: ${long(17_000)}\r\n\r\n`,
      'MALFORMED_REQUEST',
      '/a',
    ],
    ['a URL beyond every bound', `GET /a?${long(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 'URL_TOO_LONG', '/a'],
    [
      'a URL beyond its own bound',
      `GET /a?${long(9_000)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      'URL_TOO_LONG',
      '/a',
    ],
    [
      'two Host headers',
      'GET /a HTTP/1.1\r\nHost: x\r\nHost: x\r\nConnection: close\r\n\r\n',
      'MALFORMED_REQUEST',
      '/a',
    ],
    ['no Host header', 'GET /a HTTP/1.1\r\nConnection: close\r\n\r\n', 'MALFORMED_REQUEST', '/a'],
    [
      'two lengths',
      'POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      'MALFORMED_REQUEST',
      '/a',
    ],
    [
      'an expectation that is not met',
      'GET /health/live HTTP/1.1\r\nHost: x\r\nExpect: magic\r\nConnection: close\r\n\r\n',
      'MALFORMED_REQUEST',
      '/health/live',
    ],
  ];
  for (const [name, bytes, code, path] of cases) {
    const { status, headers, body } = await speak(port, bytes);
    t.match(
      { status, body },
      { status: 400, body: { statusCode: 400, code, path, timestamp: NOW, requestId: headers['x-request-id'] } },
      name,
    );
    limited(t, headers, name);
    t.equal(headers['connection'], 'close', name);
  }
  const named = await speak(
    port,
    `GET /a HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\nX-Long: ${long(17_000)}\r\n\r\n`,
  );
  t.equal(named.headers['x-request-id'], 'mine', 'the caller’s own id, where it can still be read');
});

void t.test('a header that says who calls, or which call this is, is there once', async (t) => {
  const { port, calls } = await listening(t);
  const body = JSON.stringify(sendBody);
  const ask = (more: string) =>
    speak(
      port,
      `POST /api/emails/send HTTP/1.1\r\nHost: x\r\nAuthorization: ${bearer('unlimited').authorization}\r\n${more}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  t.match(await ask(`authorization: ${bearer('stranger').authorization}`), {
    status: 400,
    body: { code: 'MALFORMED_REQUEST', message: /one Authorization header/ },
  });
  t.match(await ask(`Authorization: ${bearer('unlimited').authorization}`), {
    status: 400,
    body: { code: 'MALFORMED_REQUEST' },
  });
  t.match(await ask('Idempotency-Key: a\r\nidempotency-key: b'), {
    status: 400,
    body: { code: 'VALIDATION_ERROR', errors: [{ field: 'Idempotency-Key', message: 'must be sent once' }] },
  });
  t.same(calls, []);
  t.match(await ask('Idempotency-Key: a'), { status: 201 });
});

void t.test('a body whose chunks are broken reaches no command', async (t) => {
  const { port, calls } = await listening(t);
  const head = `POST /api/emails/send HTTP/1.1\r\nHost: x\r\nAuthorization: ${bearer('unlimited').authorization}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const { status, body } = await speak(port, `${head}5\r\n{"a":\r\nZZ\r\n`);
  t.match({ status, body }, { status: 400, body: { code: 'MALFORMED_REQUEST' } });
  t.same(calls, []);
});

void t.test('a body that is too large is answered, not reset, and the connection lives on', async (t) => {
  const { port } = await listening(t);
  const url = `http://127.0.0.1:${port}/api/emails/send`;
  const agent = new Agent({ connections: 1 });
  t.teardown(() => agent.close());
  const post = async (body: string | Buffer, token?: string) => {
    const response = await undiciFetch(url, {
      method: 'POST',
      dispatcher: agent,
      headers: { 'content-type': 'application/json', ...(token === undefined ? {} : bearer(token)) },
      body,
    });
    return [response.status, ((await response.json()) as { code?: string }).code, response.headers.get('connection')];
  };
  const large = Buffer.alloc(11 * 1024 * 1024, 0x20);
  t.same(await post(large, 'unlimited'), [400, 'BODY_TOO_LARGE', 'keep-alive']);
  t.same(await post(large), [401, 'UNAUTHORIZED', 'keep-alive']);
  t.same(await post(JSON.stringify(sendBody), 'unlimited'), [201, undefined, 'keep-alive']);

  const endless = await speak(
    port,
    `POST /api/emails/send HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n`,
  );
  t.match(endless, { status: 401, headers: { connection: 'close' } }, 'a body without a length is not waited for');
});

void t.test('a caller that goes away gives its place back', async (t) => {
  const { port, app, deps, during } = await listening(t);
  let waiting = 0;
  let release = (): void => undefined;
  const gate = new Promise<void>((done) => (release = done));
  during.run = () => {
    waiting += 1;
    return gate;
  };
  const request = `GET /api/templates/welcome HTTP/1.1\r\nHost: x\r\nAuthorization: ${bearer('full').authorization}\r\n\r\n`;
  const sockets = Array.from({ length: generalRateLimit.concurrentRequests }, () =>
    connect({ port, host: '127.0.0.1' }),
  );
  for (const socket of sockets) socket.write(request);
  while (waiting < sockets.length) await new Promise(setImmediate);
  const ask = () => app.inject({ url: '/api/templates/welcome', headers: bearer('full') });
  t.equal((await ask()).statusCode, 429);
  for (const socket of sockets) socket.destroy();
  during.run = () => undefined;
  const acquire = () =>
    deps.limiter.acquire(`concurrent:${KEY_ID}`, generalRateLimit.concurrentRequests, generalRateLimit.slotTtlMs);
  let slot = await acquire();
  while (slot === undefined) {
    await new Promise(setImmediate);
    slot = await acquire();
  }
  slot.release();
  t.equal((await ask()).statusCode, 200);
  release();
});

void t.test('while stopping, a request on an open connection is still answered', async (t) => {
  const { port, app, clock, during } = await listening(t);
  let release = (): void => undefined;
  let started = false;
  during.run = () => {
    started = true;
    return new Promise<void>((done) => (release = done));
  };
  const socket = connect({ port, host: '127.0.0.1' });
  const answer = allOf(socket);
  const body = JSON.stringify(sendBody);
  socket.write(
    `POST /api/emails/send HTTP/1.1\r\nHost: x\r\nAuthorization: ${bearer('unlimited').authorization}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  while (!started) await new Promise(setImmediate);
  const closed = app.close();
  release();
  await inLeaps(clock, closed);
  t.match(await answer, /^HTTP\/1\.1 201 /);
});

void t.test('TLS', async (t) => {
  const pem = (name: string): string => readFileSync(resolve('test/support/tls', name), 'utf8');
  const { port } = await listening(t, {
    settings: { requireHttps: true, tls: { cert: pem('valid.pem'), key: pem('key.pem') } },
  });
  const agent = new Agent({ connect: { rejectUnauthorized: false } });
  t.teardown(() => agent.close());
  const response = await undiciFetch(`https://127.0.0.1:${port}/api/emails`, {
    dispatcher: agent,
    headers: bearer('unlimited'),
  });
  t.equal(response.status, 200);
  t.match(response.headers.get('strict-transport-security'), /max-age=31536000/);
  await response.text();
});

/** Writes the bytes, which are no whole request; resolves when the server has the connection. */
const sendHalf = async (app: App, port: number, bytes: string): Promise<Socket> => {
  const accepted = once(app.server, 'connection');
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  socket.write(bytes);
  await accepted;
  return socket;
};

void t.test('headers that do not come whole in time are answered 400, looked at every second', async (t) => {
  const { app, port } = await listening(t, { limits: { headersArrivalMs: 50 } });
  const answer = await allOf(await sendHalf(app, port, 'GET /health/live HTTP/1.1\r\nHost:'));
  t.match(answer, /^HTTP\/1.1 400 .*did not arrive whole in time/s);
});

void t.test('connections are bounded; one more is refused, and the log says it once', async (t) => {
  const { app, port, logged } = await listening(t, { limits: { connectionsMax: 2 } });
  const held = [await sendHalf(app, port, 'GET'), await sendHalf(app, port, 'GET')];
  for (const attempt of [1, 2]) {
    const refused = connect({ port, host: '127.0.0.1' });
    refused.on('error', () => undefined);
    t.equal(await allOf(refused), '', `attempt ${attempt}`);
  }
  t.equal(logged.filter(({ message }) => message.startsWith('connections are refused')).length, 1);
  held[0]!.destroy();
  await eventually('there is room again', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/health/live`).catch(() => undefined);
    return response?.status === 200;
  });
  held[1]!.destroy();
});

void t.test(
  'the stop waits a second for what is half sent, and as long as it takes for what is being answered',
  async (t) => {
    const { app, port, during, clock } = await listening(t);
    const halves = [
      await sendHalf(app, port, ''),
      await sendHalf(app, port, 'GET /health/live HTTP/1.1\r\nHost:'),
      await sendHalf(
        app,
        port,
        `POST /api/emails/send HTTP/1.1\r\nHost: x\r\nAuthorization: ${bearer('full').authorization}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`,
      ),
    ];
    let finish = (): void => {};
    const entered = new Promise<void>((resolve) => {
      during.run = () => {
        resolve();
        return new Promise<void>((end) => (finish = end));
      };
    });
    const answered = fetch(`http://127.0.0.1:${port}/api/emails/send`, {
      method: 'POST',
      headers: { ...bearer('full'), 'content-type': 'application/json' },
      body: JSON.stringify(sendBody),
    });
    await entered;
    const ends = halves.map((socket) => once(socket.resume(), 'close'));
    const closed = app.close();
    await clock.whenWaiting(1);
    t.same(
      halves.map(({ closed: isClosed }) => isClosed),
      [false, false, false],
      'not at once',
    );
    await clock.advance(1_000);
    await Promise.all(ends);
    finish();
    t.equal((await answered).status, 201);
    let isClosed = false;
    void closed.then(() => (isClosed = true));
    await eventually('the connection that stayed open after the answer is ended too', async () => {
      await clock.advance(1_000);
      return isClosed;
    });
    t.equal(clock.waiting(), 0);
  },
);

// Large bodies are checked in another process and come out as small ones do.

const keyed = { ...bearer('unlimited'), 'content-type': 'application/json', 'idempotency-key': 'one' };

const openLarge = async (t: Test, limits: Partial<Limits> = {}) => {
  const server = await openServer(t, { limits });
  const post = async (payload: string | Buffer) =>
    server.app.inject({ method: 'POST', url: '/api/emails/send', headers: keyed, payload });
  return { ...server, post };
};

void t.test('a text that is read apart is read as a small body is: the same value, the same fault', async (t) => {
  const here = await openLarge(t);
  const apart = await openLarge(t, { jsonInlineBytesMax: 0, jsonMarksInlineMax: 0 });
  const text = fc.oneof(
    fc.json({ maxDepth: 5 }).map((variables) => send(variables, 'text')),
    fc.constantFrom(
      '{"a":1,"a":2}',
      '[9007199254740993]',
      '{"a":',
      '{"__proto__":1}',
      '["\\ud800"]',
      '[1,]',
      `${'['.repeat(70)}${']'.repeat(70)}`,
      '\ufeff[]',
      send('{"\\"":1}', 'text'),
      send('{"b":1,"\\u0041" :1,"n":null}', 'text'),
      send('{"\\u540d\\u524d":"\\n"}', 'text'),
      send('{"text":"\\u0041","\\/":1}', 'text'),
    ),
  );
  await fc.assert(
    fc.asyncProperty(text, async (given) => {
      const [one, other] = await Promise.all([here.post(given), apart.post(given)]);
      const shown = ({ response, calls }: Readonly<{ response: typeof one; calls: typeof here.calls }>) => {
        const { requestId: _, ...body } = response.json<Record<string, unknown>>();
        return JSON.stringify([response.statusCode, body, calls.at(-1)?.[2]]);
      };
      const [mine, theirs] = [shown({ response: one, ...here }), shown({ response: other, ...apart })];
      if (mine !== theirs) throw new Error(`${mine} is not ${theirs}`);
    }),
    { numRuns: 150 },
  );
  t.ok(apart.checkedApart.length >= 100);
  t.equal(here.checkedApart.length, 0);
});

void t.test('the canonical form is that of the value without its absent fields', async (t) => {
  const { post, calls } = await openLarge(t, { jsonInlineBytesMax: 0, jsonMarksInlineMax: 0 });
  const body = { templateId: 'welcome', to: [{ email: 'a@example.com' }], variables: { z: [1, { b: null, a: 'é' }] } };
  t.equal((await post(JSON.stringify({ subject: null, ...body }))).statusCode, 201);
  const [, , given, idempotency] = calls.at(-1) as unknown as readonly [
    unknown,
    unknown,
    unknown,
    { canonical: Buffer },
  ];
  t.same(given, body);
  t.equal(Buffer.from(idempotency.canonical).toString(), canonicalJson(body));
});

/** In: the variables of a call, or the JSON of them. */
const send = (variables: unknown, form: 'value' | 'text' = 'value'): string =>
  `{"templateId":"welcome","to":[{"email":"a@example.com"}],"variables":${form === 'text' ? String(variables) : JSON.stringify(variables)}}`;
const members = (count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]));

const post = async (t: Test, payload: string) => {
  const server = await openLarge(t);
  return { ...server, response: await server.post(payload) };
};

void t.test('only a body of more than 256 KiB with many members is checked apart', async (t) => {
  const few = await post(t, send({ text: 'x'.repeat(3 * defaultLimits.jsonInlineBytesMax), data: members(20_000) }));
  t.equal(few.response.statusCode, 201);
  t.equal(few.checkedApart.length, 0);
  t.match(few.calls.at(-1)?.slice(1), [{}, {}, { key: 'one', canonical: undefined }]);
  const many = await post(t, send({ data: members(60_000) }));
  t.equal(many.response.statusCode, 201);
  t.match(many.checkedApart, [{ isIdempotent: true }]);
  t.match(many.calls.at(-1)?.slice(1), [
    {},
    { variables: { data: { k59999: 59_999 } } },
    { key: 'one', canonical: Uint8Array },
  ]);
});

void t.test('what is wrong with it is said as of any other', async (t) => {
  const payload = send({ data: members(60_000) }).replace('"k59999":', '"k0":');
  const { response } = await post(t, payload);
  t.equal(response.statusCode, 400);
  t.match(response.json(), { code: 'VALIDATION_ERROR', errors: [{ field: 'variables.data.k0', message: /twice/ }] });
});

void t.test('a call gives a template no more variables than may be copied', async (t) => {
  const most = await post(t, send(members(defaultLimits.variableNamesMax)));
  t.equal(most.response.statusCode, 201);
  for (const count of [defaultLimits.variableNamesMax + 1, 90_000]) {
    const { response, calls } = await post(t, send(members(count)));
    t.match(response.json(), {
      code: 'VALIDATION_ERROR',
      errors: [{ field: 'variables', message: 'must have at most 10000 fields' }],
    });
    t.equal(calls.filter(([name]) => name === 'sendEmail').length, 0);
  }
});

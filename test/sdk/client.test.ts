/** The client of programs: every operation as the API describes it, faults and further attempts, and the running service. */
import { cpSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createTransport } from 'nodemailer';
import t from 'tap';
import { createClient, SealpostError, verify, type ClientOptions } from '../../packages/sdk/src/index.js';
import { sealpostTransport } from '../../packages/sdk/src/nodemailer.js';
import { assertDefined } from '../../src/domain/core/ids.js';
import { openApiDocument } from '../../src/http/index.js';
import { startTestApp } from '../support/app.js';
import { callAll } from '../support/client-calls.js';
import { temporaryDirectory } from '../support/data-directory.js';

type Seen = Readonly<{ method: string; url: URL; headers: Headers; body: unknown; signal: AbortSignal | null }>;

const KEY = 'sealpost_sk_test';

/** A client whose calls get these answers, one after the other; the last goes on. */
const clientOf = (answers: readonly (() => Response | Promise<Response>)[], options: Partial<ClientOptions> = {}) => {
  const seen: Seen[] = [];
  const client = createClient({
    url: 'https://mail.example.com/below',
    key: KEY,
    fetch: async (input, init = {}) => {
      const answer = answers[Math.min(seen.length, answers.length - 1)];
      seen.push({
        method: init.method ?? 'GET',
        url: new URL(input instanceof Request ? input.url : input),
        headers: new Headers(init.headers),
        body: init.body,
        signal: init.signal ?? null,
      });
      return (answer ?? (() => Response.json({})))();
    },
    ...options,
  });
  return { client, seen };
};

const refused =
  (status: number, code: string, more: object = {}) =>
  (): Response =>
    Response.json({ statusCode: status, code, message: 'No.', requestId: 'req_1', ...more }, { status });
const lost = (): never => {
  throw new TypeError('fetch failed');
};

/** Paths that a program with a key has no use for: people, their sessions, pages, and the mailbox of the first minutes. */
const NOT_OF_PROGRAMS =
  /^\/(?:mailbox|\.well-known|health\/live|api\/(?:auth|users|oauth-apps|invitations|stream|system|feedback|v1\/feedback|teams\/\{teamId\}\/(?:members\/|leave|transfer|restore|invitations\/)|teams$|teams\/\{teamId\}$)|api\/emails\/\{id\}\/page|api\/approvals\/\{id\}\/(?:page|approve|reject)|api\/teams\/\{teamId\}\/brand|api\/templates\/(?:attachment\/)?\{id\}\/preview)/;

void t.test('every operation is that of the API description, and none lacks', async (t) => {
  const app = await startTestApp({ dataDir: t.testdir(), isFounded: true });
  t.teardown(() => app.stop());
  const { paths } = openApiDocument(app.server) as Readonly<{
    paths: Record<string, Record<string, Readonly<{ parameters?: readonly Readonly<{ $ref?: string }>[] }>>>;
  }>;
  const described = new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
    ),
  );
  const { client, seen } = clientOf([() => Response.json({ data: [], deliveries: [] })]);
  await callAll(client, '{id}');
  const plain = (text: string): string => text.replaceAll(/\{\w+\}/g, '{}');
  const known = new Map([...described].map(([name, operation]) => [plain(name), operation] as const));
  const called = new Set<string>();
  for (const { method, url, headers } of seen) {
    const name = plain(`${method} ${decodeURIComponent(url.pathname).replace(/^\/below/, '')}`);
    called.add(name);
    const operation = known.get(name);
    if (operation === undefined) {
      t.fail(`${name} is not described`);
      continue;
    }
    const isKeyed = operation.parameters?.some(({ $ref }) => $ref?.endsWith('/IdempotencyKey') === true) === true;
    t.equal(headers.has('idempotency-key'), isKeyed, `${name}: an Idempotency-Key where the service keeps the answer`);
  }
  t.ok(called.size > 100, `${called.size} operations`);
  const lacking = [...described.keys()].filter(
    (name) => !called.has(plain(name)) && !NOT_OF_PROGRAMS.test(name.slice(name.indexOf(' ') + 1)),
  );
  t.same(lacking, [], 'operations that a program may need');
});

void t.test('calls', async (t) => {
  await t.test('carry the key, the team, the body and the query', async (t) => {
    const { client, seen } = clientOf([() => Response.json({ data: [], meta: { nextCursor: null } })], {
      teamId: 't1',
    });
    await client.emails.list({ status: ['failed', 'bounced'], limit: 5, metadata: { orderId: '47' } }).page('c 1');
    await client.apiKeys.update('a/b', { name: 'n' }, { ifMatch: 3 });
    const [list, update] = seen;
    t.equal(
      list?.url.href,
      'https://mail.example.com/below/api/emails?status=failed%2Cbounced&limit=5&metadata%5BorderId%5D=47&cursor=c+1',
    );
    t.equal(list?.headers.get('authorization'), `Bearer ${KEY}`);
    t.equal(list?.headers.get('x-team-id'), 't1');
    t.equal(update?.url.pathname, '/below/api/api-keys/a%2Fb');
    t.equal(update?.headers.get('if-match'), '"3"');
    t.equal(update?.body, '{"name":"n"}');
  });

  await t.test('turn pages only as far as they are read', async (t) => {
    let page = 0;
    const { client, seen } = clientOf([
      () => Response.json({ data: [{ id: (page += 1) }, { id: (page += 1) }], meta: { nextCursor: `c${page}` } }),
    ]);
    const found: unknown[] = [];
    for await (const { id } of client.emails.list()) if (found.push(id) === 3) break;
    t.same(found, [1, 2, 3]);
    t.same(
      seen.map(({ url }) => url.search),
      ['', '?cursor=c2'],
    );
    t.equal((await client.emails.list().all(5)).length, 5);
  });

  await t.test('are repeated with one Idempotency-Key', async (t) => {
    const { client, seen } = clientOf([lost, refused(503, 'STORE_AWAY'), () => Response.json({ id: 'e1' })]);
    t.same(await client.send({ templateId: 'a', to: [] }), { id: 'e1' });
    const keys = seen.map(({ headers }) => headers.get('idempotency-key'));
    t.equal(keys.length, 3);
    t.equal(new Set(keys).size, 1);
    t.match(keys[0], /^[\da-f-]{36}$/);
    await client.send({ templateId: 'a', to: [] }, { idempotencyKey: 'mine' });
    t.equal(seen.at(-1)?.headers.get('idempotency-key'), 'mine');
  });

  await t.test('that may have been done are not repeated without one', async (t) => {
    const { client, seen } = clientOf([lost]);
    await t.rejects(client.webhooks.create({ url: 'https://a.example', events: [] }), {
      code: 'NOT_REACHED',
      status: 0,
      message: /https:\/\/mail\.example\.com/,
    });
    t.equal(seen.length, 1);
  });

  await t.test('that are refused are not repeated, and say why', async (t) => {
    const { client, seen } = clientOf([
      refused(400, 'VALIDATION_ERROR', { errors: [{ field: 'to[0].email', message: 'is no address' }] }),
    ]);
    const fault = await client.send({ templateId: 'a', to: [] }).then(
      () => undefined,
      (refusal: unknown) => refusal,
    );
    t.ok(fault instanceof SealpostError);
    t.match(fault, {
      code: 'VALIDATION_ERROR',
      status: 400,
      requestId: 'req_1',
      message: 'No. to[0].email is no address',
      errors: [{ field: 'to[0].email' }],
    });
    t.equal(seen.length, 1);
  });

  await t.test('that are refused name a fault once', async (t) => {
    const message = 'to[0].email is not a valid email address: the address has no @';
    const { client } = clientOf([
      refused(400, 'ERR_EMAIL_001', { message, errors: [{ field: 'to[0].email', message: 'the address has no @' }] }),
    ]);
    await t.rejects(client.send({ templateId: 'a', to: [{ email: 'nope' }] }), { message });
  });

  await t.test('wait as long as the service asks, and not for minutes', async (t) => {
    const { client, seen } = clientOf([refused(429, 'RATE_LIMITED', { retryAfter: 90 })]);
    await t.rejects(client.emails.get('e1'), { code: 'RATE_LIMITED', retryAfterS: 90 });
    t.equal(seen.length, 1);
  });

  await t.test('end with the signal of the caller, also while they wait', async (t) => {
    const caller = new AbortController();
    const { client } = clientOf([
      () => {
        queueMicrotask(() => caller.abort(new Error('enough')));
        return refused(503, 'STORE_AWAY', { retryAfter: 30 })();
      },
    ]);
    await t.rejects(client.emails.get('e1', {}, { signal: caller.signal }), { message: 'enough' });
  });

  await t.test('take a proxy that answers HTML for what it is', async (t) => {
    const { client } = clientOf([() => new Response('<h1>Bad gateway</h1>', { status: 502 })], { retries: 0 });
    await t.rejects(client.emails.get('e1'), { code: 'UNEXPECTED_ANSWER', status: 502 });
    const { client: page } = clientOf([() => new Response('<h1>Welcome</h1>')]);
    await t.rejects(page.emails.get('e1'), { name: 'SealpostError', code: 'UNEXPECTED_ANSWER', status: 200 });
  });

  await t.test('follow no redirect, which would take the key to another host', async (t) => {
    const { client, seen } = clientOf([() => Response.redirect('https://login.example.net/?next=1', 302)]);
    await t.rejects(client.emails.get('e1'), {
      code: 'UNEXPECTED_ANSWER',
      message:
        'https://mail.example.com redirects to https://login.example.net: `url` must be the address of the service itself.',
    });
    t.equal(seen.length, 1);
  });

  await t.test('tell an answer that breaks off', async (t) => {
    const broken = (): Response =>
      new Response(new ReadableStream({ start: (controller) => controller.error(new TypeError('terminated')) }));
    await t.rejects(clientOf([broken]).client.emails.get('e1'), {
      name: 'SealpostError',
      code: 'NOT_REACHED',
      status: 0,
    });
  });

  await t.test('tell an answer that does not end', async (t) => {
    const endless = (): Response =>
      new Response(
        new ReadableStream({ start: (controller) => controller.error(new DOMException('late', 'TimeoutError')) }),
      );
    await t.rejects(clientOf([endless]).client.emails.get('e1'), { name: 'SealpostError', code: 'TIMEOUT', status: 0 });
  });

  await t.test('need an address, a key and ids', async (t) => {
    t.throws(() => createClient({ url: 'mail.example.com', key: KEY }), TypeError);
    t.throws(() => createClient({ url: 'https://mail.example.com', key: '' }), TypeError);
    const { client } = clientOf([() => Response.json({})]);
    for (const id of ['', '.', '..']) await t.rejects(client.emails.get(id), TypeError);
  });

  await t.test('with React need its renderer', async (t) => {
    // The packages of this repository, among them the renderer, cannot be found from there.
    const place = temporaryDirectory(t);
    cpSync(fileURLToPath(new URL('../../packages/sdk/src', import.meta.url)), place, { recursive: true });
    writeFileSync(join(place, 'package.json'), '{"type":"module"}');
    const there = (await import(pathToFileURL(join(place, 'index.js')).href)) as Readonly<{
      createClient: typeof createClient;
    }>;
    const client = there.createClient({ url: 'https://mail.example.com', key: KEY });
    await t.rejects(client.send({ to: [], content: { subject: 'Hi', react: {} } }), {
      code: 'NO_RENDERER',
      message: /npm install @react-email\/render/,
    });
  });
});

void t.test('the running service', async (t) => {
  const app = await startTestApp({ dataDir: t.testdir(), isFounded: true });
  t.teardown(() => app.stop());
  const url = await app.server.listen({ host: '127.0.0.1', port: 0 });
  const client = createClient({ url, key: app.key });

  await t.test('takes an email once, however often it is sent', async (t) => {
    const email = {
      templateId: 'sign-in-code',
      to: [{ email: 'ada@example.com' }],
      variables: { code: '482913', firstName: 'Ada', minutesValid: 10 },
    };
    const first = await client.send(email, { idempotencyKey: 'sign-in-1' });
    const again = await client.send(email, { idempotencyKey: 'sign-in-1' });
    t.equal(again.id, first.id);
    await app.whenStatus(first.id, 'delivered');
    const listed = await client.emails.list({ recipient: 'ada@example.com' }).all();
    t.same(
      listed.map(({ id }) => id),
      [first.id],
    );
    t.match(await (await client.emails.source(first.id)).text(), /^Subject: /m);
    t.ok((await client.emails.timeline(first.id)).data.length > 2);
  });

  await t.test('refuses with codes', async (t) => {
    await t.rejects(client.send({ templateId: 'unknown', to: [{ email: 'ada@example.com' }], variables: {} }), {
      code: 'ERR_TMPL_002',
      status: 404,
    });
    await t.rejects(createClient({ url, key: 'sealpost_sk_wrong' }).templates.list().page(), {
      code: 'INVALID_API_KEY',
      status: 401,
    });
  });

  await t.test('takes mails of nodemailer, with files and pictures', async (t) => {
    const transport = createTransport(sealpostTransport(client) as never);
    const sent = (await transport.sendMail({
      from: 'Ada <noreply@sealpost.example>',
      to: ['Ben <ben@example.com>', 'eve@example.com'],
      cc: 'cc@example.com',
      subject: 'Hello ✓',
      text: 'Plain',
      html: '<p>Hello <img src="cid:logo"></p>',
      attachments: [
        { filename: 'notes.txt', content: 'Notes' },
        { filename: 'logo.png', content: Buffer.from('iVBORw0KGgo=', 'base64'), contentType: 'image/png', cid: 'logo' },
      ],
      sealpost: { tags: ['welcome'], idempotencyKey: 'hello-1' },
    } as never)) as unknown as Readonly<{ id: string; accepted: readonly string[] }>;
    t.same(sent.accepted, ['ben@example.com', 'eve@example.com', 'cc@example.com']);
    const { tags } = await app.email(sent.id);
    t.same(tags, ['welcome']);
    await app.whenStatus(sent.id, 'delivered');
    const { subject, html, text } = await client.emails.content(sent.id);
    t.match({ subject, html, text }, { subject: 'Hello ✓', html: /<p>Hello/, text: /Plain/ });
    const plain = (await transport.sendMail({
      to: 'ben@example.com',
      subject: 'Text alone',
      text: 'a < b & c',
    })) as unknown as Readonly<{ id: string }>;
    await app.whenStatus(plain.id, 'delivered');
    t.match((await client.emails.content(plain.id)).text, /a < b & c/);
  });

  await t.test('signs webhooks that the client verifies, and no others', async (t) => {
    const posts: Readonly<{ headers: IncomingHttpHeaders; body: Buffer }>[] = [];
    const receiver = createServer((request, response) => {
      void request.toArray().then((chunks: readonly Buffer[]) => {
        posts.push({ headers: request.headers, body: Buffer.concat(chunks) });
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
    t.teardown(() => receiver.close());
    const { port } = receiver.address() as { port: number };
    const { id, secret } = await client.webhooks.create({
      url: `http://127.0.0.1:${port}/hook`,
      events: ['email.sent'],
    });
    await client.webhooks.test(id);
    const { headers, body } = assertDefined(posts[0], 'the post of the test');
    const now = Date.now();
    const { event, id: eventId } = await verify({ body, headers, secret, now });
    t.match(eventId, /^evt_/);
    t.type(event.event, 'string');
    const own = Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('webhook-')));
    t.equal(
      (await verify({ body: body.toString(), headers: own, secret: ['whsec_b3RoZXI=', secret], now })).id,
      eventId,
    );
    const refusals: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['SIGNATURE_WRONG', () => verify({ body: `${body.toString()} `, headers, secret, now })],
      ['SIGNATURE_WRONG', () => verify({ body: `${body.toString()} `, headers: own, secret, now })],
      ['SIGNATURE_WRONG', () => verify({ body, headers, secret: 'whsec_b3RoZXI=', now })],
      ['SIGNATURE_WRONG', () => verify({ body, headers: { ...headers, 'webhook-id': 'evt_other' }, secret, now })],
      [
        'SIGNATURE_WRONG',
        () => verify({ body, headers: { ...headers, 'webhook-signature': 'v1,%%% v2,' }, secret, now }),
      ],
      ['TOO_OLD', () => verify({ body, headers, secret, now: now + 301_000 })],
      ['TOO_OLD', () => verify({ body, headers: { ...headers, 'webhook-timestamp': 'NaN' }, secret, now })],
      ['HEADER_MISSING', () => verify({ body, headers: {}, secret, now })],
      ['HEADER_MISSING', () => verify({ body, headers: new Headers({ 'webhook-signature': 'v1,' }), secret, now })],
    ];
    for (const [code, refusal] of refusals) await t.rejects(refusal(), { name: 'WebhookError', code });
    await client.webhooks.delete(id);
  });
});

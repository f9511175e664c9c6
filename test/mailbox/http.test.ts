/** The mailbox and the pages: what they show, and to whom. */
import t from 'tap';
import type { AddressInfo } from 'node:net';
import type { InjectOptions } from 'fastify';
import type { CommandNeeds } from '../../src/commands/needs.js';
import type { App } from '../../src/http/server/context.js';
import { mailsIn } from '../support/account-world.js';
import { PASSWORD } from '../support/people.js';
import { prefixProxy } from '../support/prefix-proxy.js';
import {
  bearer,
  INVITATION_MESSAGE_ID,
  memoryMailbox,
  openServer,
  MAILBOX_TOKEN,
  mailMessage,
  opened,
  own,
  RAW,
} from '../http/server.js';

/** Asks as a browser that has opened the link. */
const asking = (app: App) => async (request: string | InjectOptions) => {
  const options = typeof request === 'string' ? { url: request } : request;
  return app.inject({ ...options, headers: { ...opened, ...options.headers } });
};

const urls = [
  '/mailbox',
  '/mailbox/messages',
  '/mailbox/messages/m1',
  '/mailbox/messages/m1/raw',
  '/mailbox/messages/m1/html',
  '/mailbox/messages/m1/attachments/0',
  '/mailbox/app.js',
  '/mailbox/app.css',
];

void t.test('as JSON and as files', async (t) => {
  const { app } = await openServer(t, { mailbox: memoryMailbox() });
  const ask = asking(app);
  t.same((await ask('/mailbox/messages?limit=1')).json(), {
    data: [
      {
        id: 'm1',
        from: mailMessage.from,
        to: mailMessage.to,
        subject: 'Ordér',
        receivedAt: mailMessage.receivedAt,
        sizeBytes: 42,
      },
    ],
    meta: { page: 1, limit: 1, total: 1, totalPages: 1, totalIsLowerBound: false, nextCursor: null },
  });
  t.same((await ask('/mailbox/messages?page=2')).json<{ data: unknown[] }>().data, []);
  t.match((await ask('/mailbox/messages?limit=101')).json(), { code: 'VALIDATION_ERROR' });
  t.same((await ask('/mailbox/messages/m1')).json(), mailMessage);

  const raw = await ask('/mailbox/messages/m1/raw');
  t.equal(raw.headers['content-type'], 'message/rfc822');
  t.ok(raw.rawPayload.equals(RAW), 'byte for byte');

  const file = await ask('/mailbox/messages/m1/attachments/0');
  t.equal(file.body, 'abc');
  t.match(file.headers, {
    'content-type': 'text/html',
    'content-security-policy': /sandbox/,
    'x-content-type-options': 'nosniff',
    'content-disposition': `attachment; filename*=UTF-8''l%C3%B6schen%22%0D%0A.svg; filename="loschen___.svg"`,
  });
  t.equal(
    (await ask('/mailbox/messages/m1/attachments/2')).headers['content-type'],
    'application/octet-stream',
    'a type that is none',
  );
  for (const url of [
    '/mailbox/messages/m2',
    '/mailbox/messages/m2/raw',
    '/mailbox/messages/m2/html',
    '/mailbox/messages/m1/attachments/9',
    '/mailbox/messages/m1/attachments/-1',
    '/mailbox/messages/m1/attachments/x',
  ]) {
    t.match((await ask(url)).json(), { statusCode: 404, code: 'NOT_FOUND' }, url);
  }
  t.same((await ask({ method: 'DELETE', url: '/mailbox/messages' })).json(), { deleted: 1 });
  t.match((await ask('/mailbox/messages')).json(), { data: [], meta: { total: 0, totalPages: 0 } });
});

void t.test('the HTML of a mail is shown without scripts, with its inline images, dark or light', async (t) => {
  const { app } = await openServer(t, { mailbox: memoryMailbox() });
  const ask = asking(app);
  const light = await ask('/mailbox/messages/m1/html');
  const policy = String(light.headers['content-security-policy']);
  t.match(policy, /default-src 'none'/);
  t.match(policy, /sandbox allow-popups/);
  t.notMatch(policy, /allow-scripts|allow-same-origin|script-src/);
  t.match(light.body, /<img src="data:image\/png;base64,YWJj">/);
  t.match(light.body, /@media \(max-width:0\)/);
  const dark = await ask('/mailbox/messages/m1/html?scheme=dark');
  t.match(dark.body, /@media \(min-width:0\)/);
  t.match((await ask('/mailbox/messages/m1/html?scheme=pink')).json(), { code: 'VALIDATION_ERROR' });
});

void t.test('the page brings all it needs, and its policy allows nothing else', async (t) => {
  const { app } = await openServer(t, { mailbox: memoryMailbox() });
  const ask = asking(app);
  for (const url of ['/mailbox', '/']) {
    const page = await ask(url);
    t.equal(page.statusCode, 200);
    t.match(page.headers['content-security-policy'], /default-src 'none'.*frame-ancestors 'none'/);
    t.notMatch(page.headers['content-security-policy'], /unsafe|https:/);
    t.notMatch(page.body, /(?:src|href)="(?:https?:)?\/\//, 'nothing from elsewhere');
    t.notMatch(page.body, / on[a-z]+=/, 'no inline handlers');
    for (const [, target = ''] of page.body.matchAll(/(?:src|href)="(\/[^"]*)"/g))
      t.equal((await ask(target)).statusCode, 200, `${url} → ${target}`);
  }
  const script = await ask('/mailbox/app.js');
  t.equal(script.headers['content-type'], 'text/javascript; charset=utf-8');
  t.doesNotThrow(() => new Function(script.body), 'the script is a script');
  t.notMatch(script.body, /innerHTML|insertAdjacentHTML|document\.write/);
  const page = (await ask('/mailbox')).body;
  for (const [, id = ''] of script.body.matchAll(/\$\('([a-z]+)'\)/g))
    t.ok(page.includes(`id="${id}"`), `#${id} is in the page`);
});

void t.test('the link sets a cookie that scripts and other sites do not have, and leaves the address', async (t) => {
  const { app, logged } = await openServer(t, { mailbox: memoryMailbox(), settings: { trustProxy: true } });
  const open = (query: string, headers: Record<string, string> = {}) =>
    app.inject({ url: `/mailbox?${query}`, headers });
  const answer = await open(`token=${MAILBOX_TOKEN}`);
  t.equal(answer.statusCode, 303);
  t.equal(answer.headers.location, '/mailbox');
  t.match(answer.headers, { 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' });
  const [cookie = '', ...attributes] = String(answer.headers['set-cookie']).split('; ');
  t.same(attributes, ['Path=/mailbox', 'Max-Age=2592000', 'HttpOnly', 'SameSite=Strict']);
  t.equal((await app.inject({ url: '/mailbox', headers: { cookie } })).statusCode, 200);
  t.match((await open(`token=${MAILBOX_TOKEN}`, { 'x-forwarded-proto': 'https' })).headers['set-cookie'], /; Secure$/);

  const again = await open('token=wrong', { cookie });
  t.equal(again.statusCode, 303, 'who is in already stays in');
  t.equal(again.headers['set-cookie'], undefined);
  for (const query of [
    'token=',
    'token=wrong',
    `token=${MAILBOX_TOKEN}0`,
    `token=${MAILBOX_TOKEN}&token=${MAILBOX_TOKEN}`,
  ])
    t.match((await open(query)).json(), { statusCode: 401, code: 'UNAUTHORIZED', path: '/mailbox' }, query);
  t.match(
    (await app.inject(`/mailbox/messages?token=${MAILBOX_TOKEN}`)).json(),
    { statusCode: 401 },
    'only the page is opened so',
  );
  t.match((await app.inject(`/api/emails?token=${MAILBOX_TOKEN}`)).json(), { statusCode: 401 });
  t.match(
    (await app.inject({ url: '/api/emails', headers: opened })).json(),
    { statusCode: 401 },
    'the cookie opens nothing else',
  );
  t.ok(logged.length > 0);
  t.notMatch(JSON.stringify(logged), MAILBOX_TOKEN, 'no token in the log');
});

void t.test('without the link or a key nothing of it is shown, wherever the request comes from', async (t) => {
  const { app } = await openServer(t, { mailbox: memoryMailbox(), settings: { trustProxy: true } });
  for (const url of urls) {
    for (const cookie of [
      '',
      'sealpost_mailbox_3000=',
      'sealpost_mailbox_3000=wrong',
      `sealpost_mailbox_3001=${MAILBOX_TOKEN}`,
    ])
      t.match(
        (await app.inject({ url, headers: { cookie } })).json(),
        { statusCode: 401, code: 'UNAUTHORIZED', message: /sealpost mailbox/ },
        url,
      );
    t.match(
      (await app.inject({ url, headers: bearer('unknown') })).json(),
      { statusCode: 401, code: 'API_KEY_NOT_FOUND' },
      url,
    );
    const powerless = await app.inject({ url, headers: bearer('key=templates:read') });
    t.match(powerless.json(), { statusCode: 403, relatedInfo: { requiredPermission: 'emails:read' } }, url);
    t.equal((await app.inject({ url, headers: bearer('unlimited') })).statusCode, 200, `${url} with a key`);
    t.equal((await asking(app)(url)).statusCode, 200, `${url} with the cookie`);
    const far = { host: 'mail.example.com', 'x-forwarded-for': '203.0.113.9' };
    t.equal(
      (await app.inject({ url, headers: { ...opened, ...far } })).statusCode,
      200,
      `${url} from afar, through a proxy`,
    );
  }
  const powerless = await app.inject({
    method: 'DELETE',
    url: '/mailbox/messages',
    headers: bearer('key=templates:read'),
  });
  t.match(powerless.json(), { statusCode: 403, relatedInfo: { requiredPermission: 'emails:delete' } });

  const person = await app.inject({ url: '/mailbox?token=old', headers: { accept: 'text/html,*/*;q=0.8' } });
  t.equal(person.statusCode, 401);
  t.match(person.headers, {
    'content-type': /^text\/html/,
    'content-security-policy': /default-src 'none'/,
    'www-authenticate': /Bearer/,
  });
  t.match(person.body, 'npx sealpost mailbox');
  t.match((await app.inject('/')).body, /href="\/mailbox"/);
});

void t.test('what lets somebody in is shown to whoever has the link, and to no key', async (t) => {
  const confidential = {
    ...mailMessage,
    headers: [...mailMessage.headers, { name: 'Message-Id', value: INVITATION_MESSAGE_ID }],
  };
  const { app } = await openServer(t, { mailbox: memoryMailbox([confidential]) });
  const byKey = (url: string) => app.inject({ url, headers: bearer('unlimited') });
  t.match((await byKey('/mailbox/messages/m1')).json(), {
    id: 'm1',
    subject: 'Ordér',
    html: null,
    text: null,
    attachments: [],
  });
  for (const part of ['raw', 'html', 'attachments/0']) {
    const answer = await byKey(`/mailbox/messages/m1/${part}`);
    t.match(answer.json(), { statusCode: 404, code: 'NOT_FOUND', message: /by its link/ }, part);
    t.equal((await asking(app)(`/mailbox/messages/m1/${part}`)).statusCode, 200, `${part} by the link`);
  }
  t.same((await asking(app)('/mailbox/messages/m1')).json(), confidential);
});

void t.test('only the page itself, or no page, empties it', async (t) => {
  const { app } = await openServer(t, { mailbox: memoryMailbox() });
  const clear = (headers: Record<string, string>) =>
    asking(app)({ method: 'DELETE', url: '/mailbox/messages', headers: { host: 'localhost:3000', ...headers } });
  for (const headers of [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://localhost:4000' },
  ]) {
    t.match((await clear(headers)).json(), { statusCode: 403, code: 'FORBIDDEN' }, JSON.stringify(headers));
  }
  t.same((await clear({ 'sec-fetch-site': 'same-origin', origin: 'http://localhost:3000' })).json(), { deleted: 1 });
  t.same((await clear({})).json(), { deleted: 0 });
  t.same(
    (await clear({ host: 'inside:3000', origin: 'http://127.0.0.1:3000' })).json(),
    { deleted: 0 },
    'the public address, through a proxy',
  );
});

void t.test('without a mailbox there is none', async (t) => {
  const { app } = await openServer(t);
  t.match((await app.inject({ url: '/mailbox', headers: bearer('full') })).json(), {
    statusCode: 404,
    code: 'NOT_FOUND',
  });
  t.notMatch((await app.inject('/')).body, /mailbox/);
});

/** One of each kind, as mails carry them. */
const accountLinks = async (app: App, { eventLog }: Pick<CommandNeeds, 'eventLog'>) => {
  const post = (path: string, payload: object, headers = {}) =>
    app.inject({ method: 'POST', url: `/api/auth/${path}`, headers, payload });
  const email = 'new@example.com';
  await post('register', { email, password: PASSWORD, name: 'New' });
  await post('password/forgot', { email: 'role.viewer@example.com' });
  await post('email/change', { email: 'viewer@example.org', password: PASSWORD }, bearer('role=viewer'));
  const links = (await mailsIn(eventLog)).filter(({ page }) => page !== '');
  return [...new Map(links.map((link) => [link.page, link])).values()];
};

const AUTHORIZE = new URLSearchParams({
  client_id: own.app,
  redirect_uri: 'https://shop.example.com/callback',
  response_type: 'code',
  scope: 'emails:read',
  code_challenge: 'x'.repeat(43),
  code_challenge_method: 'S256',
}).toString();

void t.test(
  'behind a path of a proxy every page, its files, links, forms and cookies are below that path',
  async (t) => {
    const { publicUrl, missed, leadTo } = await prefixProxy(t);
    const { app, world } = await openServer(t, { mailbox: memoryMailbox(), settings: { publicUrl } });
    const links = await accountLinks(app, world().deps);
    await app.listen({ port: 0, host: '127.0.0.1' });
    leadTo((app.server.address() as AddressInfo).port);
    const link = await fetch(`${publicUrl}/mailbox?token=${MAILBOX_TOKEN}`, { redirect: 'manual' });
    t.match(link.headers.get('set-cookie'), 'Path=/mail/mailbox;');
    t.equal(link.headers.get('location'), '/mail/mailbox');

    const pages: [string, RequestInit?][] = [
      '/',
      '/docs',
      '/mailbox',
      '/account',
      '/account/apps',
      `/oauth/authorize?${AUTHORIZE}`,
    ].map((path) => [path]);
    for (const { page, token } of links) pages.push([`/account/${page}?token=${token}`]);
    const form = new URLSearchParams(`${AUTHORIZE}&email=ada@example.com&password=x`);
    pages.push(['/oauth/authorize', { method: 'POST', body: form }], ['/account/apps', { method: 'POST', body: form }]);
    pages.push(
      ['/account/reset', { method: 'POST', body: new URLSearchParams({ token: 'x' }) }],
      ['/u/unknown'],
      ['/mailbox', { headers: { accept: 'text/html', cookie: '' } }],
    );
    const met = new Set<string>();
    for (const [path, init] of pages) {
      const at = `${publicUrl}${path}`;
      const page = await fetch(at, { ...init, headers: { ...opened, ...init?.headers } });
      t.match(page.headers.get('content-type'), 'text/html', path);
      for (const [, kind, address = ''] of (await page.text()).matchAll(/ (href|src|action)="([^"]*)"/g)) {
        const url = new URL(address.replaceAll('&amp;', '&'), at);
        if (url.protocol === 'data:' || met.has(`${kind} ${url.href}`)) continue;
        met.add(`${kind} ${url.href}`);
        t.ok(url.href.startsWith(`${publicUrl}/`), `${path}: ${kind} ${address}`);
        const answer = await fetch(
          url,
          kind === 'action' ? { method: 'POST', body: new URLSearchParams() } : { headers: opened },
        );
        if (kind === 'action')
          t.ok(answer.headers.get('content-type')?.startsWith('text/html'), `${address}: ${answer.status}`);
        else t.equal(answer.status, 200, address);
      }
    }
    for (const path of [
      '/docs/static/swagger-ui-bundle.js',
      '/mailbox/app.js',
      '/mailbox/app.css',
      '/account',
      '/account/apps',
      '/docs',
    ])
      t.ok(
        [...met].some((one) => one.endsWith(`/mail${path}`)),
        `${path} is met`,
      );
    for (const path of [
      '/account/verify',
      '/account/reset',
      '/account/address',
      '/account/invitation',
      '/account/apps',
      '/oauth/authorize',
    ])
      t.ok(met.has(`action ${publicUrl}${path}`), `a form of ${path} is met`);
    t.same(missed, []);
    const source = await (await fetch(`${publicUrl}/mailbox/app.js`, { headers: opened })).text();
    t.notMatch(source, /['"`]\/mailbox/, 'the script names no path of its own');
  },
);

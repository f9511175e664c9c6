/** The mailbox and the pages: what they show, and to whom. */
import t from 'tap';
import { bearer, fakeMailbox, fakeServer, mailMessage, RAW } from './fakes.js';

void t.test('as JSON and as files', async (t) => {
  const { app } = await fakeServer({ mailbox: fakeMailbox() });
  t.teardown(() => app.close());
  t.same((await app.inject('/mailbox/messages?limit=1')).json(), {
    data: [{ id: 'm1', from: mailMessage.from, to: mailMessage.to, subject: 'Ordér', receivedAt: mailMessage.receivedAt, sizeBytes: 42 }],
    meta: { page: 1, limit: 1, total: 1, totalPages: 1, totalIsLowerBound: false, nextCursor: null },
  });
  t.same((await app.inject('/mailbox/messages?page=2')).json<{ data: unknown[] }>().data, []);
  t.match((await app.inject('/mailbox/messages?limit=101')).json(), { code: 'VALIDATION_ERROR' });
  t.same((await app.inject('/mailbox/messages/m1')).json(), mailMessage);

  const raw = await app.inject('/mailbox/messages/m1/raw');
  t.equal(raw.headers['content-type'], 'message/rfc822');
  t.ok(raw.rawPayload.equals(RAW), 'byte for byte');

  const file = await app.inject('/mailbox/messages/m1/attachments/0');
  t.equal(file.body, 'abc');
  t.match(file.headers, {
    'content-type': 'text/html',
    'content-security-policy': /sandbox/,
    'x-content-type-options': 'nosniff',
    'content-disposition': `attachment; filename="l_schen___.svg"; filename*=UTF-8''l%C3%B6schen%22%0D%0A.svg`,
  });
  t.equal(
    (await app.inject('/mailbox/messages/m1/attachments/2')).headers['content-type'],
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
    t.match((await app.inject(url)).json(), { statusCode: 404, code: 'NOT_FOUND' }, url);
  }
  t.same((await app.inject({ method: 'DELETE', url: '/mailbox/messages' })).json(), { deleted: 1 });
  t.match((await app.inject('/mailbox/messages')).json(), { data: [], meta: { total: 0, totalPages: 0 } });
});

void t.test('the HTML of a mail is shown without scripts, with its inline images, dark or light', async (t) => {
  const { app } = await fakeServer({ mailbox: fakeMailbox() });
  t.teardown(() => app.close());
  const light = await app.inject('/mailbox/messages/m1/html');
  const policy = String(light.headers['content-security-policy']);
  t.match(policy, /default-src 'none'/);
  t.match(policy, /sandbox allow-popups/);
  t.notMatch(policy, /allow-scripts|allow-same-origin|script-src/);
  t.match(light.body, /<img src="data:image\/png;base64,YWJj">/);
  t.match(light.body, /@media \(max-width:0\)/);
  const dark = await app.inject('/mailbox/messages/m1/html?scheme=dark');
  t.match(dark.body, /@media \(min-width:0\)/);
  t.match((await app.inject('/mailbox/messages/m1/html?scheme=pink')).json(), { code: 'VALIDATION_ERROR' });
});

void t.test('the page brings all it needs, and its policy allows nothing else', async (t) => {
  const { app } = await fakeServer({ mailbox: fakeMailbox() });
  t.teardown(() => app.close());
  for (const url of ['/mailbox', '/']) {
    const page = await app.inject(url);
    t.equal(page.statusCode, 200);
    t.match(page.headers['content-security-policy'], /default-src 'none'.*frame-ancestors 'none'/);
    t.notMatch(page.headers['content-security-policy'], /unsafe|https:/);
    t.notMatch(page.body, /(?:src|href)="(?:https?:)?\/\//, 'nothing from elsewhere');
    t.notMatch(page.body, / on[a-z]+=/, 'no inline handlers');
    for (const [, target = ''] of page.body.matchAll(/(?:src|href)="(\/[^"]*)"/g))
      t.equal((await app.inject(target)).statusCode, 200, `${url} → ${target}`);
  }
  const script = await app.inject('/mailbox/app.js');
  t.equal(script.headers['content-type'], 'text/javascript; charset=utf-8');
  t.doesNotThrow(() => new Function(script.body), 'the script is a script');
  t.notMatch(script.body, /innerHTML|insertAdjacentHTML|document\.write/);
  const page = (await app.inject('/mailbox')).body;
  for (const [, id = ''] of script.body.matchAll(/\$\('([a-z]+)'\)/g)) t.ok(page.includes(`id="${id}"`), `#${id} is in the page`);
});

void t.test('it is there on loopback only', async (t) => {
  const { app } = await fakeServer({ mailbox: fakeMailbox(), settings: { trustProxy: true } });
  t.teardown(() => app.close());
  const urls = [
    '/mailbox',
    '/mailbox/messages',
    '/mailbox/messages/m1',
    '/mailbox/messages/m1/raw',
    '/mailbox/messages/m1/html',
    '/mailbox/messages/m1/attachments/0',
    '/mailbox/app.js',
  ];
  const asks: readonly (readonly [string, Record<string, string>, string, number])[] = [
    ['127.0.0.1', {}, 'localhost:3000', 200],
    ['127.8.8.8', {}, '127.0.0.1', 200],
    ['::1', {}, '[::1]:3000', 200],
    ['::ffff:127.0.0.1', {}, 'LOCALHOST', 200],
    ['192.168.1.5', {}, 'localhost', 404],
    ['203.0.113.9', {}, '127.0.0.1', 404],
    ['127.0.0.1', {}, 'mail.example.com', 404],
    ['127.0.0.1', {}, 'localhost.example.com', 404],
    ['127.0.0.1', {}, '127.0.0.1.example.com:3000', 404],
    ['127.0.0.1', { 'x-forwarded-for': '127.0.0.1' }, 'localhost', 404],
    ['127.0.0.1', { 'x-forwarded-host': 'localhost' }, 'localhost', 404],
    ['127.0.0.1', { forwarded: 'for=127.0.0.1' }, 'localhost', 404],
    ['127.0.0.1', { via: '1.1 proxy' }, 'localhost', 404],
  ];
  for (const [remoteAddress, extra, host, status] of asks) {
    for (const url of urls)
      t.equal(
        (await app.inject({ url, remoteAddress, headers: { host, ...extra } })).statusCode,
        status,
        `${url} from ${remoteAddress} for ${host} ${JSON.stringify(extra)}`,
      );
  }
  const landing = (host: string) => app.inject({ url: '/', headers: { host } });
  t.match((await landing('localhost')).body, /href="\/mailbox"/);
  t.notMatch((await landing('mail.example.com')).body, /href="\/mailbox"/);
});

void t.test('only the page itself, or no page, empties it', async (t) => {
  const { app } = await fakeServer({ mailbox: fakeMailbox() });
  t.teardown(() => app.close());
  const clear = (headers: Record<string, string>) =>
    app.inject({ method: 'DELETE', url: '/mailbox/messages', headers: { host: 'localhost:3000', ...headers } });
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
});

void t.test('without a mailbox there is none', async (t) => {
  const { app } = await fakeServer();
  t.teardown(() => app.close());
  t.match((await app.inject({ url: '/mailbox', headers: bearer('full') })).json(), { statusCode: 404, code: 'NOT_FOUND' });
  t.notMatch((await app.inject('/')).body, /mailbox/);
});

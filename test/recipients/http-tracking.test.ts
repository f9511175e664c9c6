/** Pixels and links of mails: what their readers are answered, and what is noted of them. */
import t, { type Test } from 'tap';
import { addressRateLimits } from '../../src/domain/access/rate-limits.js';
import { bearer, EMAIL, fakeServer, type Call } from '../http/fakes.js';

const served = async (t: Test) => {
  const { app, calls } = await fakeServer();
  t.teardown(() => app.close());
  const noted = (): readonly Call[] => calls.filter(([name]) => name === 'noteSeen');
  const ask = (url: string, headers: Readonly<Record<string, string>> = {}, method: 'GET' | 'HEAD' = 'GET') =>
    app.inject({ method, url, headers: { 'user-agent': 'Mozilla/5.0 (X11)', ...headers }, remoteAddress: '192.0.2.7' });
  return { app, calls, noted, ask };
};

void t.test('a link leads where its token says, and nowhere else', async (t) => {
  const { ask, noted } = await served(t);
  const answer = await ask('/t/c/good-link');
  t.equal(answer.statusCode, 302);
  t.match(answer.headers, {
    location: 'https://shop.example/?a=1&b=2',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  });
  t.equal(answer.body, '');
  t.match(noted(), [
    ['noteSeen', { emailId: EMAIL, recipient: 0, link: 2, userAgent: 'Mozilla/5.0 (X11)', ipAddress: '192.0.2.7' }],
  ]);
  for (const query of ['?url=https://evil.example', '?to=//evil.example', '?redirect=https%3A%2F%2Fevil.example'])
    t.not((await ask(`/t/c/good-link${query}`)).headers.location?.includes('evil'), true, query);
});

void t.test('a token that is none gets a page that says so, in words and without a script', async (t) => {
  const { ask, noted } = await served(t);
  for (const token of ['bad', 'good-linK', '%00', '..%2f..', 'https:%2f%2fevil.example', 'a'.repeat(3_000)]) {
    const answer = await ask(`/t/c/${token}`);
    t.equal(answer.statusCode, 404, token.slice(0, 30));
    t.match(answer.headers, {
      'content-type': /text\/html/,
      'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'x-robots-tag': /noindex/,
    });
    t.match(answer.body, 'This link leads nowhere');
    t.notMatch(answer.body, /<script|evil/);
    t.equal(answer.headers.location, undefined);
  }
  t.same(noted(), []);
});

void t.test('the picture is the same for whatever token', async (t) => {
  const { ask, noted } = await served(t);
  const [good, bad] = [await ask('/t/o/good-pixel'), await ask('/t/o/bad')];
  t.same([good.statusCode, bad.statusCode], [200, 200]);
  t.ok(good.rawPayload.equals(bad.rawPayload));
  t.equal(good.rawPayload.toString('latin1', 0, 6), 'GIF89a');
  t.same([good.rawPayload.readUInt16LE(6), good.rawPayload.readUInt16LE(8)], [1, 1]);
  const { 'x-request-id': _one, date: _date, ...same } = good.headers;
  const { 'x-request-id': _other, date: _later, ...others } = bad.headers;
  t.same(same, others);
  t.match(same, { 'content-type': 'image/gif', 'cache-control': 'no-store' });
  t.equal(noted().length, 1);
});

void t.test('what nobody has seen is not counted', async (t) => {
  const { ask, noted } = await served(t);
  for (const url of ['/t/o/good-pixel', '/t/c/good-link']) {
    const head = await ask(url, {}, 'HEAD');
    t.ok(head.statusCode === 200 || head.statusCode === 302);
    t.equal(head.body, '');
    for (const headers of [
      { purpose: 'prefetch' },
      { 'sec-purpose': 'prefetch;prerender' },
      { 'x-moz': 'prefetch' },
      { 'x-purpose': 'preview' },
    ])
      t.ok((await ask(url, headers as unknown as Record<string, string>)).statusCode < 400);
  }
  t.same(noted(), []);
});

void t.test('readers are answered however many come from one address; who tries tokens is not', async (t) => {
  const { ask } = await served(t);
  for (let count = 0; count < 2 * addressRateLimits.publicPerMinute; count += 1)
    if ((await ask('/t/o/good-pixel')).statusCode !== 200) t.fail(`request ${count} is not answered`);
  for (let count = 0; count < addressRateLimits.failedPerMinute; count += 1) await ask('/t/c/bad');
  t.equal((await ask('/t/c/bad')).statusCode, 429);
  t.equal((await ask('/t/c/good-link')).statusCode, 302, 'a good link leads on');
});

void t.test('the setting of the team', async (t) => {
  const { app, calls } = await served(t);
  const headers = { ...bearer('unlimited'), 'content-type': 'application/json' };
  t.same((await app.inject({ url: '/api/tracking', headers: bearer('unlimited') })).json(), {
    opens: false,
    clicks: false,
  });
  const set = await app.inject({
    method: 'PUT',
    url: '/api/tracking',
    headers,
    payload: { opens: true, clicks: false },
  });
  t.same([set.statusCode, set.json()], [200, { opens: true, clicks: false }]);
  t.same(calls.at(-1)?.[2], { opens: true, clicks: false });
  for (const payload of [{}, { opens: true }, { opens: 'yes', clicks: false }, { opens: true, clicks: true, more: 1 }])
    t.equal((await app.inject({ method: 'PUT', url: '/api/tracking', headers, payload })).statusCode, 400);
});

/** Admission: keys, permissions, rates, HTTPS. Cases that must hold for all routes are generated from the routes. */
import t from 'tap';
import type { InjectOptions } from 'fastify';
import { permissionOfKey } from '../../src/domain/access/permissions.js';
import {
  addressRateLimits,
  costlyReads,
  generalRateLimit,
  rateLimits,
  sessionRateLimits,
} from '../../src/domain/access/rate-limits.js';
import { buildServer, routesOf, type RegisteredRoute } from '../../src/http/index.js';
import { addressBucket, addressPrefix } from '../../src/shared/addresses.js';
import type { App } from '../../src/http/server/context.js';
import { inLeaps } from '../support/fake-clock.js';
import { credentialFor, powerlessFor, refusalOf, requestTo } from './request-to.js';
import { bearer, memoryMailbox, openServer, OTHER_TEAM, sendBody, TEAM } from './server.js';

/** The permission by which an API key may call the route. */
const neededBy = ({ access }: RegisteredRoute): string => (access === 'public' ? access : permissionOfKey(access));

/** Whether callers of the path are not signed in yet. */
const isEntrance = (path: string): boolean =>
  // Mail providers authenticate in ways of their own.
  path === '/api/feedback/:provider' ||
  path === '/api/auth/oidc' ||
  path === '/api/auth/oidc/:provider/start' ||
  path === '/api/auth/oidc/:provider/callback' ||
  /^\/api\/auth\/(?:register|login|link|refresh|verify|verify\/resend|password\/forgot|password\/reset|email\/confirm)$/.test(
    path,
  );

const codeOf = async (app: App, options: InjectOptions): Promise<readonly [number, string | undefined]> => {
  const response = await app.inject(options);
  const isJson = String(response.headers['content-type']).startsWith('application/json');
  return [response.statusCode, isJson ? response.json<{ code?: string }>().code : undefined];
};

void t.test(
  'every route with a key: 401 without, 403 without the permission, 404 for another team, 2xx with',
  async (t) => {
    const { app, calls, clock, forgetCalls, renew } = await openServer(t);
    let isUsed = false;
    const routes = routesOf(app).filter(({ access }) => access !== 'public');
    t.ok(routes.length >= 18, 'the whole API is in the table');
    for (const [index, route] of routes.entries()) {
      const name = `${route.method} ${route.path}`;
      t.ok(route.path.startsWith('/api/'), name);
      forgetCalls();
      if (isUsed) await renew();
      isUsed = route.method !== 'GET';
      calls.length = 0;
      // Each from an address of its own: those that fail are counted by it.
      const remoteAddress = `192.0.2.${index}`;
      t.same(await codeOf(app, { ...requestTo(route), remoteAddress }), [401, 'UNAUTHORIZED'], name);
      t.same(await codeOf(app, requestTo(route, powerlessFor(route))), [403, 'FORBIDDEN'], name);
      const forbidden = await app.inject(requestTo(route, powerlessFor(route)));
      t.match(
        forbidden.json(),
        { message: new RegExp(`\`${neededBy(route)}\``), relatedInfo: { requiredPermission: neededBy(route) } },
        name,
      );
      t.equal(calls.length, 0, `${name}: nothing was called`);
      const fine = await inLeaps(clock, app.inject(requestTo(route, credentialFor(route))));
      t.ok(
        fine.statusCode === 200 ||
          fine.statusCode === 201 ||
          fine.json<{ code: string }>().code === refusalOf(route, credentialFor(route)),
        `${name}: ${fine.statusCode} ${fine.body.slice(0, 200)}`,
      );
      calls.length = 0;
      if (!/:(id|batchId|teamId)/.test(route.path)) continue;
      const others = await codeOf(app, requestTo(route, credentialFor(route), false));
      // A person is asked for by their own id alone.
      if (credentialFor(route) !== 'unlimited') continue;
      const strangers = await codeOf(app, requestTo(route, 'stranger'));
      t.same(others, [404, route.unknownId], `${name}: an id of another team`);
      // For another team the answer is 404 before its members are read.
      const unknownId = route.path.includes(':teamId') ? 'TEAM_NOT_FOUND' : route.unknownId;
      t.same(strangers, [404, unknownId], `${name}: my id, asked for by another team`);
      calls.length = 0;
    }
  },
);

void t.test(
  'paths that begin with /api or /mailbox are never public but those by which people come in, pages never need a key',
  async (t) => {
    const { app } = await openServer(t, { mailbox: memoryMailbox() });
    for (const { method, path, access } of routesOf(app))
      t.equal(access === 'public', isEntrance(path) || !/^\/(?:api\/|mailbox)/.test(path), `${method} ${path}`);
  },
);

void t.test('a route that declares no permission stops the build', async (t) => {
  await t.rejects(
    openServer(t, {}, (app) => void app.get('/api/forgotten', async () => ({}))),
    /GET \/api\/forgotten declares neither a permission/,
  );
  const { app } = await openServer(
    t,
    {},
    (scope) => void scope.get('/pages/open', { config: { access: 'public' } }, async () => ({})),
  );
  t.equal((await app.inject('/pages/open')).statusCode, 200);
});

void t.test('keys that are not good', async (t) => {
  const { app } = await openServer(t);
  const ask = (authorization?: string) =>
    codeOf(app, { url: '/api/emails', headers: authorization === undefined ? {} : { authorization } });
  const { authorization: good } = bearer('unlimited');
  t.same(await ask(bearer('misshapen').authorization), [401, 'INVALID_API_KEY']);
  t.same(await ask(bearer('unknown').authorization), [401, 'API_KEY_NOT_FOUND']);
  t.same(await ask(bearer('revoked').authorization), [401, 'API_KEY_REVOKED']);
  t.same(await ask(bearer('expired').authorization), [401, 'API_KEY_EXPIRED']);
  for (const wrong of [
    undefined,
    '',
    'Basic dXNlcjpwYXNz',
    'unlimited',
    'Bearer',
    'Bearer ',
    'Bearer a b',
    'Bearer ünlimited',
  ])
    t.same(await ask(wrong), [401, 'UNAUTHORIZED'], String(wrong));
  t.same(await ask(good.replace('Bearer ', 'bearer  ')), [200, undefined], 'the scheme is case-insensitive');
});

void t.test('every answer has a request id and the three rate headers', async (t) => {
  const { app, clock } = await openServer(t, { mailbox: memoryMailbox() });
  const requests: readonly (readonly [string, InjectOptions])[] = [
    ...routesOf(app)
      .map((route) => [`${route.method} ${route.path}`, requestTo(route, 'unlimited')] as const)
      // Readers of mails are not counted.
      .filter(([name]) => !name.includes('*') && !name.includes('/t/')),
    ['no key', { url: '/api/emails' }],
    ['unknown path', { url: '/nowhere' }],
    [
      'unknown path with a body',
      { method: 'POST', url: '/nowhere', headers: { 'content-type': 'application/json' }, payload: '{' },
    ],
    ['another method', { method: 'PUT', url: '/api/emails/send', headers: bearer('unlimited') }],
    ['a method of WebDAV', { method: 'PROPFIND' as 'GET', url: '/' }],
    ['a broken percent sign', { url: '/api/emails/%zz' }],
    ['a file of the docs that is not there', { url: '/docs/static/nothing.js' }],
    ['a long URL', { url: `/api/emails?search=${'x'.repeat(9_000)}`, headers: bearer('unlimited') }],
    [
      'a broken body',
      {
        method: 'POST',
        url: '/api/emails/send',
        headers: { ...bearer('unlimited'), 'content-type': 'application/json' },
        payload: '{',
      },
    ],
    ['HEAD', { method: 'HEAD', url: '/api/emails', headers: bearer('unlimited') }],
  ];
  for (const [name, request] of requests) {
    const { headers, statusCode } = await inLeaps(clock, app.inject(request));
    t.match(headers['x-request-id'], /./, name);
    t.match(
      headers,
      {
        // Events of providers have a bound of calls at once in place of a rate.
        ...(!name.endsWith('/api/feedback/:provider') && {
          'x-ratelimit-limit': /^\d+$/,
          'x-ratelimit-remaining': /^\d+$/,
          'x-ratelimit-reset': /^\d{10}$/,
        }),
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      },
      name,
    );
    t.not(headers['x-ratelimit-remaining'], '0', `${name}: counted, not made up`);
    // People follow the links of mails and of sign-ins by a provider: their refusals are pages. Those of OAuth have a form of their own. The
    // documentation says on a page how to build it.
    const isAsked =
      !/ \/(?:u\/|p\/|oauth\/|account|api\/auth\/oidc\/|llms\.txt$)/.test(name) && [404, 400, 401].includes(statusCode);
    t.notOk(isAsked && headers['content-type'] !== 'application/json; charset=utf-8', name);
    if (String(headers['content-type']).startsWith('text/html'))
      t.match(
        headers['content-security-policy'],
        /default-src 'none'.*frame-ancestors '(?:none|self)'/,
        `${name} is a page with a policy`,
      );
  }
  t.same(await codeOf(app, { url: '/nowhere' }), [404, 'NOT_FOUND']);
  t.same(await codeOf(app, { method: 'PUT', url: '/api/emails/send' }), [404, 'NOT_FOUND']);
  t.same(await codeOf(app, { url: '/api/emails/%zz' }), [400, 'MALFORMED_REQUEST']);
  t.same(await codeOf(app, { url: `/x?${'x'.repeat(9_000)}` }), [400, 'URL_TOO_LONG']);
  t.same(await codeOf(app, { url: '/health/live', headers: { expect: 'magic' } }), [400, 'MALFORMED_REQUEST']);
});

void t.test('rates of a key', async (t) => {
  void t.test('the table holds per key and endpoint, and starts anew with its window', async (t) => {
    const { app, clock, calls } = await openServer(t);
    const send = () =>
      app.inject({ method: 'POST', url: '/api/emails/send', headers: bearer('full'), payload: sendBody });
    for (let n = 1; n <= rateLimits['POST /api/emails/send']; n += 1) {
      const { statusCode, headers } = await send();
      t.equal(statusCode, 201);
      t.match(headers, {
        'x-ratelimit-limit': '30',
        'x-ratelimit-remaining': String(30 - n),
        'x-ratelimit-reset': '1893499260',
      });
    }
    await clock.advance(17_500);
    const refused = await send();
    t.equal(refused.statusCode, 429);
    t.match(refused.json(), {
      code: 'RATE_LIMIT_EXCEEDED',
      retryAfter: 43,
      message: /POST \/api\/emails\/send 30 times a minute.* Try again in 43 seconds/,
    });
    t.match(refused.headers, { 'retry-after': '43', 'x-ratelimit-remaining': '0', 'x-ratelimit-limit': '30' });
    t.equal(calls.length, 30, 'nothing was called');
    const otherEndpoint = await app.inject({ url: '/api/emails', headers: bearer('full') });
    t.match(otherEndpoint.headers, { 'x-ratelimit-limit': '300', 'x-ratelimit-remaining': '299' });
    t.equal(
      (await app.inject({ method: 'POST', url: '/api/emails/send', headers: bearer('stranger'), payload: sendBody }))
        .statusCode,
      201,
      'another key is another matter',
    );
    await clock.advance(42_500);
    t.equal((await send()).statusCode, 201);
  });

  void t.test('every line of the table names a route', async (t) => {
    const { app } = await openServer(t);
    const names = routesOf(app).map(({ method, path }) => `${method} ${path}`);
    for (const endpoint of Object.keys(rateLimits)) t.ok(names.includes(endpoint), endpoint);
  });

  void t.test('the other endpoints have 100 a minute each, and 200 in 10 seconds together', async (t) => {
    const { app } = await openServer(t);
    const ask = async (url: string, count: number) => {
      const seen = new Map<number, number>();
      for (let n = 0; n < count; n += 1) {
        const { statusCode } = await app.inject({ url, headers: bearer('full') });
        seen.set(statusCode, (seen.get(statusCode) ?? 0) + 1);
      }
      return Object.fromEntries(seen);
    };
    t.same(await ask('/api/api-keys', 101), { 200: generalRateLimit.perMinute, 429: 1 });
    t.same(await ask('/api/templates/welcome', 100), { 200: 100 });
    const burst = await app.inject({ url: '/api/templates/welcome/versions', headers: bearer('full') });
    t.match(burst.json(), {
      code: 'RATE_LIMIT_EXCEEDED',
      message: /200 such calls in 10 seconds.*Try again in 10 seconds/,
      retryAfter: 10,
    });
    t.same(await ask('/api/emails', 100), { 200: 100 }, 'endpoints of the table are not in the burst');
  });

  void t.test('people in a session read 1,200 times a minute, preview 600 times, and write as keys do', async (t) => {
    const { app } = await openServer(t);
    const limitOf = async (method: 'GET' | 'POST', url: string) =>
      Number((await app.inject({ method, url, headers: bearer('role=owner') })).headers['x-ratelimit-limit']);
    t.equal(await limitOf('GET', '/api/emails'), sessionRateLimits.readsPerMinute);
    t.equal(await limitOf('GET', '/api/analytics/overview'), 1_200, 'also where a key has fewer');
    t.equal(await limitOf('POST', '/api/templates/welcome/preview'), sessionRateLimits.previewsPerMinute);
    t.equal(await limitOf('GET', '/api/templates/welcome/preview'), 600);
    t.equal(await limitOf('POST', '/api/emails/send'), rateLimits['POST /api/emails/send']);
    t.equal(await limitOf('GET', '/api/audit-logs/export'), rateLimits['GET /api/audit-logs/export']);
    t.equal(await limitOf('GET', '/api/suppressions/export'), generalRateLimit.perMinute);
    for (let n = 0; n < 150; n += 1)
      t.equal((await app.inject({ url: '/api/templates/welcome', headers: bearer('role=member') })).statusCode, 200);
    const names = routesOf(app).map(({ method, path }) => `${method} ${path}`);
    for (const endpoint of costlyReads) t.ok(names.includes(endpoint), endpoint);
  });

  void t.test('a limit of its own replaces them all', async (t) => {
    const { app } = await openServer(t);
    const ask = (url: string) => app.inject({ url, headers: bearer('three') });
    t.match((await ask('/api/emails')).headers, { 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': '2' });
    t.equal((await ask('/api/api-keys')).statusCode, 200);
    t.equal((await ask('/api/templates')).statusCode, 200);
    t.match((await ask('/api/templates')).json(), {
      code: 'RATE_LIMIT_EXCEEDED',
      message: /may make 3 requests a minute/,
    });
  });

  void t.test(
    'ten requests under way at once; a place is free again when the answer is out, or the caller gone',
    async (t) => {
      const { app, during } = await openServer(t);
      const gate = gateOf();
      let waiting = 0;
      during.run = async () => {
        waiting += 1;
        await gate.promise;
      };
      const ask = (token: string) => app.inject({ url: '/api/templates/welcome', headers: bearer(token) });
      const open = Array.from({ length: generalRateLimit.concurrentRequests }, () => ask('full'));
      while (waiting < generalRateLimit.concurrentRequests) await new Promise(setImmediate);
      const refused = await ask('full');
      t.match(refused.json(), {
        statusCode: 429,
        code: 'RATE_LIMIT_EXCEEDED',
        message: /10 requests under way at once.* Try again in 1 second\./,
        retryAfter: 1,
      });
      t.equal(refused.headers['retry-after'], '1');
      const free = ask('unlimited');
      while (waiting <= generalRateLimit.concurrentRequests) await new Promise(setImmediate);
      gate.resolve(undefined);
      for (const response of await Promise.all([...open, free])) t.equal(response.statusCode, 200);
      t.equal((await ask('full')).statusCode, 200);
    },
  );
});

const gateOf = () => {
  let resolve: (value: unknown) => void = () => undefined;
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
};

void t.test('without a key, the remote address is bounded', async (t) => {
  const { app, clock } = await openServer(t);
  const ask = (url: string, token?: string, remoteAddress = '203.0.113.9') =>
    app.inject({ url, remoteAddress, headers: token === undefined ? {} : bearer(token) });
  const failures = [() => ask('/api/emails'), () => ask('/api/emails', 'unknown'), () => ask('/nowhere')];
  for (let n = 0; n < addressRateLimits.failedPerMinute; n += 1) t.not((await failures[n % 3]!()).statusCode, 429);
  for (const fail of failures)
    t.match((await fail()).json(), { statusCode: 429, code: 'RATE_LIMIT_EXCEEDED', retryAfter: 60 });
  t.equal((await ask('/api/emails', 'unlimited')).statusCode, 200, 'a good key is heard from the same address');
  t.equal((await ask('/health/live')).statusCode, 200, 'and health is answered');
  t.equal((await ask('/api/emails', undefined, '203.0.113.10')).statusCode, 401, 'another address is another matter');
  await clock.advance(60_000);
  t.equal((await ask('/api/emails')).statusCode, 401);

  t.equal(addressBucket('::ffff:192.0.2.1'), '192.0.2.1');
  t.equal(addressBucket('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64');
  t.equal(addressBucket('2001:db8::1'), '2001:db8:0:0::/64');
  t.equal(addressBucket('::1'), '0:0:0:0::/64');
  t.equal(addressPrefix('::ffff:192.0.2.1'), '192.0.0.0/16');
  t.equal(addressPrefix('2001:db8:1:2::3'), '2001:db8::/32');
  t.equal(addressPrefix('2001::1'), '2001:0::/32');
  t.equal(addressBucket('fe80::1%eth0'), 'fe80:0:0:0::/64');
});

void t.test('HTTPS, where it is required', async (t) => {
  const plain = { url: '/api/emails', headers: bearer('unlimited') };
  const forwarded = (proto: string, address = '10.0.0.1') => ({
    ...plain,
    remoteAddress: address,
    headers: { ...plain.headers, 'x-forwarded-proto': proto, 'x-forwarded-for': '203.0.113.9' },
  });

  const direct = await openServer(t, { settings: { requireHttps: true } });
  t.same(await codeOf(direct.app, plain), [403, 'HTTPS_REQUIRED']);
  t.same(await codeOf(direct.app, forwarded('https')), [403, 'HTTPS_REQUIRED'], 'a header of anybody is not believed');
  t.same(await codeOf(direct.app, { url: '/health/ready' }), [200, undefined], 'health checks come by plain HTTP');
  t.same(await codeOf(direct.app, { url: '/' }), [403, 'HTTPS_REQUIRED']);

  const behind = await openServer(t, { settings: { requireHttps: true, trustProxy: ['10.0.0.0/8'] } });
  t.same(await codeOf(behind.app, forwarded('https')), [200, undefined]);
  t.same(await codeOf(behind.app, forwarded('http')), [403, 'HTTPS_REQUIRED']);
  t.same(
    await codeOf(behind.app, forwarded('https, http')),
    [403, 'HTTPS_REQUIRED'],
    'what the nearest proxy says counts',
  );
  t.same(await codeOf(behind.app, forwarded('https', '192.0.2.1')), [403, 'HTTPS_REQUIRED'], 'not from that proxy');
  t.same(await codeOf(behind.app, plain), [403, 'HTTPS_REQUIRED']);

  const open = await openServer(t);
  t.same(await codeOf(open.app, plain), [200, undefined]);
  t.equal((await open.app.inject(plain)).headers['strict-transport-security'], undefined);
  await Promise.all([direct.app.close(), behind.app.close(), open.app.close()]);
});

void t.test('behind a trusted proxy, the address that is bounded is the caller’s', async (t) => {
  const { app, deps } = await openServer(t, { settings: { trustProxy: ['10.0.0.1'] } });
  await app.inject({
    url: '/nowhere',
    remoteAddress: '10.0.0.1',
    headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.9' },
  });
  const { remaining } = await deps.limiter.hit([{ bucket: 'failed:203.0.113.9', limit: 120, windowMs: 60_000 }]);
  t.equal(remaining, 118);
});

void t.test('a key that is bound to networks is good from there alone', async (t) => {
  const { app, deps } = await openServer(t, { settings: { trustProxy: ['10.0.0.1'] } });
  const from = (remoteAddress: string, headers: Readonly<Record<string, string>> = {}) =>
    codeOf(app, { url: '/api/emails', remoteAddress, headers: { ...bearer('bound'), ...headers } });
  for (const address of ['192.0.2.1', '::ffff:192.0.2.255', '2001:db8:ffff::1'])
    t.same(await from(address), [200, undefined], address);
  for (const address of ['192.0.3.1', '::ffff:192.0.1.255', '2001:db9::1', '::1', '10.0.0.1'])
    t.same(await from(address), [403, 'API_KEY_NETWORK_NOT_ALLOWED'], address);
  t.same(
    await from('10.0.0.1', { 'x-forwarded-for': '192.0.2.9' }),
    [200, undefined],
    'behind a proxy that is trusted',
  );
  t.same(
    await from('10.0.0.2', { 'x-forwarded-for': '192.0.2.9' }),
    [403, 'API_KEY_NETWORK_NOT_ALLOWED'],
    'not behind another',
  );
  const { remaining } = await deps.limiter.hit([{ bucket: 'failed:192.0.3.1', limit: 120, windowMs: 60_000 }]);
  t.equal(remaining, 118, 'it counts against the address');
});

void t.test('a limiter that fails is a fault of ours, in the usual form', async (t) => {
  const { deps } = await openServer(t);
  const app = await buildServer({
    ...deps,
    limiter: { ...deps.limiter, hit: () => Promise.reject(new Error('down')) },
  });
  const response = await app.inject({ url: '/api/emails', headers: bearer('full') });
  t.match(response.json(), { statusCode: 500, code: 'INTERNAL_ERROR' });
  t.match(response.headers, { 'x-ratelimit-remaining': '0', 'x-ratelimit-limit': /\d/, 'x-ratelimit-reset': /\d/ });
});

void t.test('health', async (t) => {
  const { app, workers, accepting, log, noted } = await openServer(t);
  t.same((await app.inject('/health/live')).json(), { status: 'live', version: '1.2.3' });
  const ready = async () => {
    const response = await app.inject('/health/ready');
    return [response.statusCode, response.json()];
  };
  t.same(await ready(), [
    200,
    {
      status: 'ready',
      reasons: [],
      workers: [{ name: 'relay', state: 'running', restarts: 0, lastFault: null, stuckWork: 0 }],
      log: { unreadableEvents: 0, unknownEvent: null },
    },
  ]);
  workers[0] = { name: 'relay', state: 'restarting', restarts: 2, lastFault: 'ECONNREFUSED' };
  t.match(await ready(), [200, { status: 'degraded', workers: [{ restarts: 2, lastFault: 'ECONNREFUSED' }] }]);
  workers[0] = { name: 'relay', state: 'running', restarts: 0, lastFault: 'KEY_MISSING', stuckWork: 3 };
  t.match(await ready(), [200, { status: 'degraded', workers: [{ lastFault: 'KEY_MISSING', stuckWork: 3 }] }]);
  workers[0] = { name: 'relay', state: 'running', restarts: 0, lastFault: null };
  for (const faults of [
    { unreadableEvents: 2, unknownEvent: null },
    { unreadableEvents: 0, unknownEvent: { position: 7, type: 'EmailQueued.v9' } },
  ]) {
    log.value = faults;
    t.match(await ready(), [200, { status: 'degraded', log: faults }]);
  }
  workers.push({ name: 'deliver', state: 'starting', restarts: 0, lastFault: null });
  t.match(await ready(), [503, { status: 'unavailable' }]);
  workers.pop();
  noted.push({ code: 'DISK_LOW', message: 'the disk has 3 MiB left' });
  log.value = { unreadableEvents: 0, unknownEvent: null };
  t.match(await ready(), [
    200,
    { status: 'degraded', reasons: [{ code: 'DISK_LOW', message: 'the disk has 3 MiB left' }] },
  ]);
  noted[0] = { code: 'COMMITS_FAIL', message: 'the disk is full' };
  t.match(await ready(), [503, { status: 'unavailable', reasons: [{ code: 'COMMITS_FAIL' }] }]);
  accepting.value = false;
  t.match(await ready(), [503, { status: 'stopping', reasons: [{ code: 'STOPPING' }, { code: 'COMMITS_FAIL' }] }]);
});

void t.test('a key is used for its own team', async (t) => {
  const { app } = await openServer(t);
  const ask = (team: Readonly<Record<string, string>>) =>
    codeOf(app, { url: '/api/emails', headers: { ...bearer('unlimited'), ...team } });
  t.strictSame(await ask({}), [200, undefined]);
  t.strictSame(await ask({ 'x-team-id': TEAM }), [200, undefined]);
  t.strictSame(await ask({ 'x-team-id': TEAM.toUpperCase() }), [200, undefined]);
  for (const wrong of [OTHER_TEAM, '00000000-0000-0000-0000-000000000000', `${TEAM}, ${TEAM}`, 'mine', '']) {
    t.strictSame(await ask({ 'x-team-id': wrong }), [404, 'TEAM_NOT_FOUND'], wrong);
  }
});

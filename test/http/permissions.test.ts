/**
 * Permissions: every endpoint with every kind of credential. The expected answers are a table that was written by hand
 * from the contract.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { InjectOptions } from 'fastify';
import { roles, scopes, permissions } from '../../src/domain/access/permissions.js';
import { DomainError, type ErrorCode } from '../../src/domain/core/errors.js';
import { routesOf, type RegisteredRoute } from '../../src/http/index.js';
import { statusOf } from '../../src/http/server/errors.js';
import { goldenPermissions, nameOfRoute, type PermissionsLine } from '../support/golden-permissions.js';
import { from, PASSWORD } from '../support/people.js';
import { permissionsPage } from '../support/permissions-page.js';
import { inLeaps } from '../support/fake-clock.js';
import { refusalOf, requestTo } from './request-to.js';
import { DELETED_TEAM, own } from './founded.js';
import { bearer, OTHER_TEAM, openServer, TEAM } from './server.js';

t.setTimeout(900_000);

const read = (file: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../${file}`, import.meta.url)), 'utf8');

const golden = goldenPermissions();

/** It belongs to no team: a person calls it in whichever team. */
const isPersonal = (path: string): boolean =>
  /^\/api\/(?:users|auth|invitations|system)(?:\/|$)|^\/api\/teams$|\/restore$/.test(path) &&
  !/^\/api\/(?:templates|assets|domains|v1)/.test(path);

type Expected = readonly [token: string | undefined, ...ends: (readonly [number, string?])[]];

/** The table forbids the call. A command that refuses by itself has an equal expectation, not this one. */
const FORBIDDEN = [403, 'FORBIDDEN'] as const;

/** The expected answer for each credential on the things of its own team. */
const expectationsOf = (route: RegisteredRoute, line: PermissionsLine): readonly Expected[] => {
  const allow = (token: string, isAllowed: boolean): Expected => {
    if (!isAllowed) return [token, FORBIDDEN];
    const refusal = refusalOf(route, token);
    return refusal === undefined ? [token, [200], [201]] : [token, [statusOf[refusal as ErrorCode], refusal]];
  };
  return [
    [undefined, [401, 'UNAUTHORIZED']],
    ...roles.map((role) => allow(`role=${role}`, line.roles.includes(role))),
    ...permissions.map((permission) => allow(`key=${permission}`, line.keys.includes(permission))),
    ...scopes.map((scope) => allow(`scope=${scope}`, line.scopes.includes(scope))),
    ...(route.access === 'system:read' ? ([['operator', [200]]] as const) : []),
    ...(isPersonal(route.path) ? [] : ([['nobody', [404, 'TEAM_NOT_FOUND'], [400, 'TEAM_REQUIRED']]] as const)),
  ];
};

void t.test('each endpoint lets in whom the table names, and nobody else', async (t) => {
  const { app, calls, clock, during, forgetCalls, renew } = await openServer(t);
  const routes = routesOf(app).filter(({ access }) => access !== 'public');
  t.strictSame(
    routes.map(nameOfRoute).sort(),
    [...golden.keys()].sort(),
    'every endpoint stands in the table, and no other',
  );
  const ask = async (options: InjectOptions): Promise<readonly [number, string?]> => {
    const answer = await inLeaps(clock, app.inject(options));
    if (answer.statusCode < 400) return [answer.statusCode];
    return [answer.statusCode, answer.json<{ code: string }>().code];
  };
  for (const [index, route] of routes.entries()) {
    const line = golden.get(nameOfRoute(route));
    if (line === undefined) continue;
    // Calls that are refused are counted by address.
    const remoteAddress = `192.0.2.${index + 1}`;
    const wrong: string[] = [];
    let isDone = false;
    // The first who is let in is served by the command; the others reach it, and find the world as it was.
    during.run = (called) => {
      if (isDone && called === route.command) throw new DomainError('CONFLICT', 'reached');
    };
    forgetCalls();
    for (const [token, ...ends] of expectationsOf(route, line)) {
      calls.length = 0;
      const got = await ask({ ...requestTo(route, token), remoteAddress });
      const isReached = isDone && got[1] === 'CONFLICT' && !(ends as readonly unknown[]).includes(FORBIDDEN);
      if (!isDone && calls.length > 0 && route.method !== 'GET') {
        isDone = true;
        await renew();
      }
      const isRight = isReached || ends.some((end) => end[0] === got[0] && end[1] === got[1]);
      if (!isRight)
        wrong.push(
          `${token ?? 'no credential'}: ${got.join(' ')} instead of ${ends.map((end) => end.join(' ')).join(' or ')}`,
        );
      if ((got[0] === 401 || got[1] === FORBIDDEN[1] || token === 'nobody') && calls.length > 0)
        wrong.push(`${token ?? 'no credential'}: refused, and yet ${String(calls[0]?.[0])} was called`);
    }
    t.strictSame(wrong, [], nameOfRoute(route));
  }
});

void t.test('the list of teams says for each role what the table says', async (t) => {
  const { app } = await openServer(t);
  const routes = routesOf(app).filter(({ access }) => access !== 'public');
  for (const role of roles) {
    const { data } = (await app.inject({ url: '/api/teams', headers: bearer(`role=${role}`) })).json<{
      data: readonly Readonly<{ id: string; role: string; permissions: readonly string[] }>[];
    }>();
    t.match(data, [{ id: TEAM, role }]);
    const { permissions: said } = data[0]!;
    for (const route of routes)
      t.equal(said.includes(route.access), golden.get(nameOfRoute(route))!.roles.includes(role), nameOfRoute(route));
    t.notOk(said.includes('credits:grant'), 'only the operator grants credits');
  }
  const { data: deleted } = (await app.inject({ url: '/api/teams?deleted=true', headers: bearer('role=owner') })).json<{
    data: readonly unknown[];
  }>();
  t.match(deleted, [{ id: DELETED_TEAM, permissions: [] }]);
});

void t.test('the query names the team of a read in the session of a person, and of nothing else', async (t) => {
  const { app, deps } = await openServer(t);
  const ask = async (url: string, more: Omit<InjectOptions, 'url'> = {}): Promise<readonly [number, string?]> => {
    const answer = await app.inject({ url, headers: bearer('ada'), ...more });
    return answer.statusCode < 400 ? [answer.statusCode] : [answer.statusCode, answer.json<{ code: string }>().code];
  };
  t.strictSame(await ask('/api/emails'), [400, 'TEAM_REQUIRED'], 'ada is in two teams');
  for (const team of [TEAM, OTHER_TEAM, TEAM.toUpperCase()]) {
    t.strictSame(await ask(`/api/emails?team=${team}`), [200]);
    t.strictSame(await ask(`/api/emails?limit=1&team=${team}`), [200], 'beside parameters of the endpoint');
    t.strictSame(await ask(`/api/emails?team=${team}`, { method: 'HEAD' }), [200]);
    t.strictSame(await ask(`/api/emails/usage/stats?team=${team}`), [200], 'where the endpoint takes others');
  }
  t.strictSame(await ask(`/api/emails/${own.email}?team=${TEAM}`), [200]);
  t.strictSame(await ask(`/api/emails/${own.email}?team=${OTHER_TEAM}`), [404, 'EMAIL_NOT_FOUND']);
  const { accessToken } = await deps.commands.login({ email: 'ada@example.com', password: PASSWORD }, from);
  const ofBrowser = { headers: { cookie: `sealpost_access_3000=${accessToken}` } };
  t.strictSame(await ask(`/api/emails?team=${TEAM}`, ofBrowser), [200], 'a picture or a stream of a page');
  const wrong = ['00000000-0000-0000-0000-000000000000', 'mine', '', `${TEAM}&team=${TEAM}`];
  for (const team of wrong) t.strictSame(await ask(`/api/emails?team=${team}`), [404, 'TEAM_NOT_FOUND'], team);
  t.strictSame(await ask(`/api/emails?team=${OTHER_TEAM}`, { headers: bearer('role=viewer') }), [
    404,
    'TEAM_NOT_FOUND',
  ]);
  const header = { headers: { ...bearer('ada'), 'x-team-id': TEAM } };
  t.strictSame(await ask(`/api/emails/${own.email}?team=${OTHER_TEAM}`, header), [200], 'the header goes first');
  t.strictSame(await ask(`/api/teams/${TEAM}?team=${OTHER_TEAM}`), [200], 'and the path before it');
  t.strictSame(await ask(`/api/users/me?team=${OTHER_TEAM}`), [200], 'as the header, for what belongs to no team');
  for (const token of ['full', 'scope=emails:read'])
    t.strictSame(await ask(`/api/emails?team=${TEAM}`, { headers: bearer(token) }), [400, 'VALIDATION_ERROR'], token);
  const write = { method: 'POST', payload: { name: 'x' } } as const;
  t.strictSame(await ask(`/api/api-keys?team=${TEAM}`, write), [400, 'TEAM_REQUIRED'], 'no write');
});

void t.test('whoever may call an endpoint gets 404 for a thing of another team', async (t) => {
  const { app } = await openServer(t);
  const withId = routesOf(app).filter(
    ({ access, path }) => access !== 'public' && /:(?:id|batchId|teamId|userId)/.test(path),
  );
  for (const [index, route] of withId.entries()) {
    const line = golden.get(nameOfRoute(route));
    if (line === undefined || nameOfRoute(route) === 'GET /api/users/me') continue;
    const tokens = [
      ...line.roles.map((role) => `role=${role}`),
      ...line.keys.map((key) => `key=${key}`),
      ...line.scopes.map((scope) => `scope=${scope}`),
    ];
    const ends: unknown[] = [];
    for (const token of tokens) {
      const answer = await app.inject({
        ...requestTo(route, token, false),
        remoteAddress: `192.0.2.${index + 1}`,
      });
      ends.push([token, answer.statusCode, answer.json<{ code: string }>().code]);
    }
    t.strictSame(
      ends,
      tokens.map((token) => [token, 404, route.unknownId]),
      nameOfRoute(route),
    );
  }
});

void t.test('a team in the path, or in the header, is the caller’s own', async (t) => {
  const { app } = await openServer(t);
  for (const token of ['role=owner', 'nobody'])
    for (const path of ['/api/teams/:teamId', '/api/teams/:teamId/members']) {
      const url = path.replace(':teamId', OTHER_TEAM);
      t.match((await app.inject({ url, headers: bearer(token) })).json(), { statusCode: 404, code: 'TEAM_NOT_FOUND' });
    }
  const asked = { ...bearer('role=viewer'), 'x-team-id': OTHER_TEAM };
  t.match((await app.inject({ url: '/api/emails', headers: asked })).json(), {
    statusCode: 404,
    code: 'TEAM_NOT_FOUND',
  });
});

void t.test('the page of permissions is printed from the routes', async (t) => {
  const { app } = await openServer(t);
  const page = permissionsPage(routesOf(app));
  const file = read('docs/permissions.md');
  t.equal(
    file,
    page,
    'docs/permissions.md is not what the routes say: run `node build/test/support/print-permissions.js`',
  );
});

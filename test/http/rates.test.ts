/**
 * How many calls people, apps and keys may make: the contract's table, written here by hand, and that none takes from
 * another.
 */
import t from 'tap';
import type { Authenticated } from '../../src/commands/core/caller.js';
import {
  assertDefined,
  parseApiKeyId,
  parseOAuthClientId,
  parseOAuthGrantId,
  parseSessionId,
  parseUserId,
} from '../../src/domain/core/ids.js';
import { permissions, peoplePermissions } from '../../src/domain/access/permissions.js';
import { buildServer, routesOf } from '../../src/http/index.js';
import { fakes, OTHER_TEAM, TEAM } from './fakes.js';
import { eventually } from '../support/wait.js';
import { requestTo } from './request-to.js';

const table: Readonly<Record<string, number>> = {
  'POST /api/emails/send': 30,
  'POST /api/emails/send/bulk': 5,
  'GET /api/emails': 300,
  'GET /api/emails/:id': 300,
  'POST /api/emails/:id/retry': 10,
  'GET /api/templates': 300,
  'POST /api/templates': 30,
  'PATCH /api/templates/:id': 30,
  'DELETE /api/templates/:id': 30,
  'GET /api/analytics/overview': 100,
  'GET /api/analytics/timeseries': 100,
  'GET /api/analytics/templates': 100,
  'GET /api/analytics/tags': 100,
  'GET /api/dashboard/summary': 100,
  'GET /api/v1/webhook-subscriptions': 30,
  'POST /api/v1/webhook-subscriptions': 30,
  'GET /api/v1/webhook-subscriptions/:id': 30,
  'PATCH /api/v1/webhook-subscriptions/:id': 30,
  'DELETE /api/v1/webhook-subscriptions/:id': 30,
  'POST /api/v1/webhook-subscriptions/:id/test': 10,
};

const may = { teamId: TEAM, permissions: [...permissions, ...peoplePermissions], rateLimit: null };
const user = (id: number, session: string) => ({
  ...may,
  kind: 'user' as const,
  userId: assertDefined(parseUserId(`0b9c2f5e-6d1a-4c0e-9f3b-00000000000${id}`), 'user id'),
  sessionId: assertDefined(parseSessionId(`ses_${session.repeat(22)}`), 'session id'),
});
const app = (client: string, grant: string) => ({
  ...may,
  kind: 'app' as const,
  clientId: assertDefined(parseOAuthClientId(`app_${client.repeat(22)}`), 'app id'),
  grantId: assertDefined(parseOAuthGrantId(`grant_${grant.repeat(22)}`), 'grant id'),
  userId: undefined,
});
const key = (id: string) => ({
  ...may,
  kind: 'apiKey' as const,
  keyId: assertDefined(parseApiKeyId(`key_${id.repeat(22)}`), 'key id'),
  expiresAt: null,
  madeBy: [],
  networks: null,
  test: false,
});
const ada = user(1, 'A');
const granted = { ...app('A', 'A'), userId: ada.userId };

/** Callers whose requests are counted together: each line is one counter. */
const callers: Readonly<Record<string, Readonly<Record<string, Authenticated>>>> = {
  user: { ada, adaByAnotherSession: user(1, 'B') },
  userInAnotherTeam: { adaElsewhere: { ...ada, teamId: OTHER_TEAM } },
  anotherUser: { bob: user(2, 'C') },
  grant: { granted },
  anotherGrant: { grantedByBob: { ...granted, grantId: app('A', 'B').grantId, userId: user(2, 'C').userId } },
  app: { own: app('A', 'A'), ownByAnotherToken: app('A', 'C') },
  anotherApp: { ownOfAnother: { ...app('B', 'D'), teamId: OTHER_TEAM } },
  key: { key: key('A') },
  anotherKey: { keyOfAnotherTeam: { ...key('B'), teamId: OTHER_TEAM } },
  keyWithItsOwnLimit: { limitedKey: { ...key('C'), rateLimit: 3 } },
};
const credentials = Object.assign({}, ...Object.values(callers)) as Readonly<Record<string, Authenticated>>;

const open = async () => {
  const made = fakes();
  const authenticate = async (token: string) => assertDefined(credentials[token], token);
  const server = await buildServer({ ...made.deps, commands: { ...made.deps.commands, authenticate } });
  const routes = new Map(routesOf(server).map((route) => [`${route.method} ${route.path}`, route]));
  const ask = async (endpoint: string, token: string) => {
    const { statusCode, headers, body } = await server.inject(
      requestTo(assertDefined(routes.get(endpoint), endpoint), token),
    );
    return {
      status: statusCode,
      left: Number(headers['x-ratelimit-remaining']),
      limit: Number(headers['x-ratelimit-limit']),
      body,
    };
  };
  /** Out: how many calls were let in before the first that was not, and what that one was told. */
  const exhaust = async (endpoint: string, token: string, atMost: number) => {
    for (let letIn = 0; letIn < atMost; letIn += 1) {
      const { status, body } = await ask(endpoint, token);
      if (status === 429) return { letIn, message: (JSON.parse(body) as { message: string }).message };
    }
    return { letIn: atMost, message: '' };
  };
  return { ...made, server, ask, exhaust };
};

const KINDS = { ada: 'A user', granted: 'An app', own: 'An app', key: 'An API key' } as const;

void t.test(
  'the table holds for a person in a team, for what is granted to an app, for an app, and for a key',
  async (t) => {
    const { server, clock, ask, exhaust } = await open();
    for (const [token, subject] of Object.entries(KINDS))
      for (const [endpoint, limit] of Object.entries(table)) {
        const name = `${token}: ${endpoint}`;
        const first = await ask(endpoint, token);
        t.match(first, { limit, left: limit - 1 }, name);
        t.ok(first.status < 300, `${name}: ${first.status}`);
        if (limit > 30 && name !== 'ada: GET /api/emails/:id') continue;
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
    await server.close();
  },
);

void t.test('what one uses up is taken from nobody else, of another team least of all', async (t) => {
  const { server, clock, ask, exhaust } = await open();
  for (const [who, own] of Object.entries(callers)) {
    const [first = '', ...same] = Object.keys(own);
    await exhaust('POST /api/emails/:id/retry', first, 11);
    for (const token of [first, ...same])
      t.equal((await ask('POST /api/emails/:id/retry', token)).status, 429, `${who}: ${token} is counted with it`);
    for (const [other, theirs] of Object.entries(callers)) {
      if (other === who) continue;
      const [token = ''] = Object.keys(theirs);
      const limit = other === 'keyWithItsOwnLimit' ? 3 : 10;
      t.match(
        await ask('POST /api/emails/:id/retry', token),
        { limit, left: limit - 1 },
        `${who} takes nothing from ${other}`,
      );
    }
    await clock.advance(60_000);
  }
  await server.close();
});

void t.test('the same of the other endpoints: 100 a minute each, 200 in 10 seconds together', async (t) => {
  const { server, clock, ask, exhaust } = await open();
  const general = ['GET /api/api-keys', 'GET /api/templates/:id', 'GET /api/suppressions'] as const;
  for (const [token, same] of [
    ['ada', 'adaByAnotherSession'],
    ['own', 'ownByAnotherToken'],
  ] as const) {
    t.equal((await exhaust(general[0], token, 101)).letIn, 100, token);
    t.equal((await exhaust(general[1], same, 100)).letIn, 100, token);
    const refused = await exhaust(general[2], token, 1);
    t.match(refused.message, /200 such calls in 10 seconds\. Try again in 10 seconds/, token);
  }
  for (const token of ['adaElsewhere', 'bob', 'granted', 'grantedByBob', 'ownOfAnother', 'key', 'keyOfAnotherTeam'])
    t.match(await ask(general[2], token), { status: 200, left: 99 }, token);
  await clock.advance(10_000);
  t.equal((await ask(general[2], 'ada')).status, 200, 'ten seconds later');
  await server.close();
});

void t.test('ten requests under way of one leave ten to another', async (t) => {
  const { server, during, ask } = await open();
  let waiting = 0;
  let go: () => void = () => {};
  const gate = new Promise<void>((resolve) => (go = resolve));
  during.run = async () => {
    waiting += 1;
    await gate;
  };
  const whenWaiting = (count: number) => eventually(`${count} wait`, () => waiting >= count, 20_000);
  const slow = 'POST /api/api-keys';
  const begun = Array.from({ length: 10 }, (_, index) => ask(slow, index % 2 === 0 ? 'own' : 'ownByAnotherToken'));
  await whenWaiting(10);
  t.match((await ask(slow, 'own')).body, /10 requests under way at once/);
  const others = ['ownOfAnother', 'ada', 'adaElsewhere', 'granted', 'key'];
  begun.push(...others.map((token) => ask(slow, token)));
  await whenWaiting(10 + others.length);
  go();
  for (const { status } of await Promise.all(begun)) t.equal(status, 201);
  await server.close();
});

void t.test('a key from a network that it may not come from spends nothing of what it has', async (t) => {
  const { server, deps } = await open();
  const bound = { ...key('D'), networks: ['192.0.2.0/24'] };
  const closed = await buildServer({ ...deps, commands: { ...deps.commands, authenticate: async () => bound } });
  const from = (remoteAddress: string) =>
    closed.inject({ url: '/api/emails', remoteAddress, headers: { authorization: 'Bearer bound' } });
  for (let n = 0; n < 20; n += 1) t.equal((await from('203.0.113.5')).statusCode, 403);
  t.equal((await from('192.0.2.5')).headers['x-ratelimit-remaining'], '299');
  await Promise.all([server.close(), closed.close()]);
});

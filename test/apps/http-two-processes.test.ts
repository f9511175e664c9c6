/** Tokens of apps where several processes serve, each of which remembers grants for a moment. */
import { createHash } from 'node:crypto';
import t from 'tap';
import { authenticateApp } from '../../src/commands/authenticate.js';
import { makeCommandNeeds } from '../../src/service/engine.js';
import { openOAuth } from '../../src/commands/index.js';
import type { Caller } from '../../src/commands/core/caller.js';
import { assertDefined, parseUserId } from '../../src/domain/core/ids.js';
import { exchange } from '../../src/http/apps/endpoints.js';
import { caller, openWorld, TEAM, type World } from '../support/command-world.js';
import { refusedWith } from '../support/given.js';
import { addMember } from '../support/people.js';

const userId = assertDefined(parseUserId('0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b21'), 'user id');
const person: Caller & { user: { id: typeof userId } } = { ...caller, actor: `user:${userId}`, user: { id: userId } };
const verifier = 'dBjftJeZ4CVP-mBqPk3k1b2c3d4e5f6g7h8i9j0kLmN';
const challenge = createHash('sha256').update(verifier).digest('base64url');
const redirectUri = 'https://shop.example.com/callback';
const needed = { asked: undefined, isNeeded: true };

/**
 * A process that is told of nothing that others append, and takes what it remembers for fresh: the moment in which news
 * are under way.
 */
const untold = async (world: World, signal: AbortSignal) => {
  const store = {
    ...world.store,
    subscribeAll: async function* () {
      await new Promise((resolve) => void signal.addEventListener('abort', resolve, { once: true }));
      yield* [] as never[];
    },
  };
  const deps = makeCommandNeeds({ ...world.elsewhere(), store, servesAlone: async () => true });
  void deps.followStates(signal);
  await new Promise(setImmediate);
  return deps;
};

void t.test('what one process gives is good in the others at once, and is given up there', async (t) => {
  const world = await openWorld();
  await addMember(world.deps, TEAM, userId, 'member');
  const made = await world.commands.createOAuthApp(caller, {
    name: 'Shop',
    kind: 'public',
    redirectUris: [redirectUri],
    scopes: ['emails:read'],
  });
  const ended = new AbortController();
  t.teardown(() => ended.abort());
  const there = await untold(world, ended.signal);
  const [here, other] = [openOAuth(world.deps), openOAuth(there)];
  const app = assertDefined(await here.openOAuthApp(made.id), 'app');
  const ask = async (oauth: typeof here, form: Readonly<Record<string, string>>) => {
    const asked = { requestId: 'r', form: { client_id: made.id, ...form }, authorization: undefined };
    const { status, body } = await exchange({ oauth }, asked);
    return { status, access: String(body['access_token']), refresh: String(body['refresh_token']) };
  };
  const refreshed = (oauth: typeof here, token: string) =>
    ask(oauth, { grant_type: 'refresh_token', refresh_token: token });
  const allowed = async (deps: typeof there, token: string) => (await authenticateApp(deps, token, needed)).permissions;

  const code = await here.giveConsent(person, { app, scopes: ['emails:read'], redirectUri, challenge });
  const first = await ask(here, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  });
  t.strictSame(await allowed(there, first.access), ['emails:read']);
  const second = await refreshed(here, first.refresh);
  t.strictSame(await allowed(there, second.access), ['emails:read'], 'an access token that was given a moment ago');
  const third = await refreshed(here, second.refresh);
  const fourth = await refreshed(other, third.refresh);
  t.equal(fourth.status, 200, 'a refresh token that was given a moment ago');
  const fifth = await refreshed(here, fourth.refresh);
  await other.revokeToken(app, fifth.access, { requestId: 'r' });
  await refusedWith(t, allowed(world.deps, fifth.access), 'INVALID_TOKEN');
  const sixth = await refreshed(here, fifth.refresh);
  await other.revokeToken(app, sixth.refresh, { requestId: 'r' });
  await refusedWith(t, allowed(world.deps, sixth.access), 'INVALID_TOKEN');
  t.equal((await refreshed(here, sixth.refresh)).status, 400, 'the grant has ended');
  t.equal((await refreshed(other, first.refresh)).status, 400);
});

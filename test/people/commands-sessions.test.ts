/** Logging in and out, one's own sessions, and what a login costs. */
import { Buffer } from 'node:buffer';
import { exportJWK, generateKeyPair, SignJWT, decodeJwt, decodeProtectedHeader, importJWK } from 'jose';
import t from 'tap';
import { authenticate } from '../../src/commands/authenticate.js';
import { handle } from '../../src/commands/core/handle.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import { eraseUser } from '../../src/commands/people/erasure.js';
import { makeUser } from '../../src/commands/people/registration.js';
import { loginBucketOf, login } from '../../src/commands/people/sessions.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import { teamUseDecider } from '../../src/domain/billing/team-use.js';
import { DomainError, StoreAway } from '../../src/domain/core/errors.js';
import {
  teamUseStream,
  assertDefined,
  parseSessionId,
  sessionStream,
  tokenKeysStream,
  userStream,
  NO_TEAM,
  type SessionId,
} from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import { makeRefreshToken, TOKEN_KEY_PERIOD_MS, tokenKeyPeriod } from '../../src/domain/people/session.js';
import { endSessionsWorker } from '../../src/processors/people/sessions.js';
import { codeOf } from '../support/account-world.js';
import { caller, openWorld, TEAM, OTHER_TEAM, type World, nothingUsed } from '../support/command-world.js';
import { T0 } from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { leaseKeeper } from '../support/memory-leases.js';
import { addMember, from, PASSWORD, signedIn, callerOf } from '../support/people.js';
import { until } from '../support/processor-world.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

// Sign-in, the family of refresh tokens of a session, and how access tokens are read.

const ofNoTeam = { asked: undefined, isNeeded: false };
const admitted = (world: World, token: string): Promise<string> => codeOf(world.commands.authenticate(token, ofNoTeam));

const sessionOf = (id: string) => sessionStream(assertDefined(parseSessionId(id), 'session id'));

void t.test('a person signs in, is known by the token, and refreshes it', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps, { teamId: TEAM, role: 'member' });
  t.match(ada.user, { email: 'ada@example.com', name: 'Ada', emailVerified: true, secondFactor: false });
  t.equal(ada.expiresIn, 900);
  t.match(decodeJwt(ada.accessToken), {
    iss: 'https://mail.example.com',
    sub: ada.userId,
    sid: ada.sessionId,
    aud: /^sealpost:[0-9a-f]{16}$/,
  });
  t.match(decodeProtectedHeader(ada.accessToken), { alg: 'EdDSA', typ: 'at+jwt' });
  const who = await world.commands.authenticate(ada.accessToken, { asked: TEAM, isNeeded: true });
  t.match(who, { kind: 'user', userId: ada.userId, sessionId: ada.sessionId, teamId: TEAM });
  t.ok(who.permissions.includes('emails:send'));
  t.notOk(who.permissions.includes('api-keys:manage'), 'a member manages no keys');
  t.match(await world.commands.authenticate(ada.accessToken, ofNoTeam), { teamId: NO_TEAM });
  const next = await world.commands.refresh(ada.refreshToken, 'request-2');
  t.equal(next.sessionId, ada.sessionId);
  t.equal(await admitted(world, next.accessToken), 'fine');
  t.equal(
    await codeOf(world.commands.login({ email: ' ADA@Example.com ', password: PASSWORD }, from)),
    'fine',
    'letter case makes no difference',
  );
});

void t.test('the team of a call: that which is asked for, else the only one', async (t) => {
  const world = await openWorld();
  const { accessToken, userId } = await signedIn(world.deps, { teamId: TEAM });
  const asking = (asked: string | undefined, teams: readonly (typeof TEAM)[] = []) =>
    codeOf(world.commands.authenticate(accessToken, { asked, isNeeded: true, teamsOf: async () => teams }));
  t.equal(await asking(TEAM), 'fine');
  t.equal(await asking(TEAM.toUpperCase()), 'fine');
  t.equal(await asking(OTHER_TEAM), 'TEAM_NOT_FOUND');
  t.equal(await asking('no-id'), 'TEAM_NOT_FOUND');
  t.equal(await asking('99999999-9999-4999-8999-999999999999'), 'TEAM_NOT_FOUND');
  t.equal(await asking(undefined), 'TEAM_REQUIRED');
  t.equal(await asking(undefined, [TEAM]), 'fine');
  t.equal(await asking(undefined, [OTHER_TEAM]), 'TEAM_NOT_FOUND', 'the team itself says who is in it');
  await addMember(world.deps, OTHER_TEAM, userId, 'viewer');
  t.equal(await asking(undefined, [TEAM, OTHER_TEAM]), 'TEAM_REQUIRED');
  t.equal(await asking(OTHER_TEAM, [TEAM, OTHER_TEAM]), 'fine');
});

void t.test('a wrong password and an address that nobody has get the same answer', async (t) => {
  const world = await openWorld();
  await signedIn(world.deps);
  const answerTo = async (email: string, password: string) => {
    const fault = await world.commands.login({ email, password }, from).catch((error: unknown) => error);
    return fault instanceof DomainError ? [fault.code, fault.message, fault.details] : fault;
  };
  const wrong = await answerTo('ada@example.com', 'another pelican in the sun');
  t.match(wrong, ['INVALID_CREDENTIALS']);
  t.strictSame(await answerTo('nobody@example.com', PASSWORD), wrong);
  t.strictSame(await answerTo('ada@example.com', `${PASSWORD} `), wrong, 'nothing is cut off');
});

void t.test('a refresh token that is used again ends the family', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps);
  const next = await world.commands.refresh(ada.refreshToken, 'r');
  t.equal(await codeOf(world.commands.refresh(ada.refreshToken, 'r')), 'SESSION_ENDED');
  t.equal(await codeOf(world.commands.refresh(next.refreshToken, 'r')), 'SESSION_ENDED');
  t.equal(await admitted(world, next.accessToken), 'SESSION_ENDED');
  t.same((await world.events(sessionOf(ada.sessionId))).at(-1)?.data, {
    at: '2030-01-01T12:00:00.000Z',
    reason: 'reuse',
  });
  const [started] = await world.deps.eventLog.load(sessionOf(ada.sessionId));
  t.equal(
    started?.event.type === 'SessionStarted' && started.event.sealed,
    undefined,
    'nothing personal of it is left',
  );
});

void t.test('200 refreshes with one token: one gets tokens, and the session ends by the others', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps);
  const codes = await Promise.all(
    Array.from({ length: 200 }, () => codeOf(world.commands.refresh(ada.refreshToken, 'r'))),
  );
  t.equal(codes.filter((code) => code === 'fine').length, 1);
  t.equal(codes.filter((code) => code === 'SESSION_ENDED').length, 199);
  t.equal(await admitted(world, ada.accessToken), 'SESSION_ENDED');
});

void t.test('refresh tokens that were never given end nothing', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps);
  const body = ada.refreshToken.slice('sealpost_rt_'.length);
  const guessed = `sealpost_rt_${body.slice(0, 22)}${'A'.repeat(43)}${body.slice(65)}`;
  for (const token of [
    '',
    'sealpost_rt_',
    guessed,
    `${ada.refreshToken}A`,
    ada.accessToken,
    ada.refreshToken.replace('rt', 'sk'),
  ])
    t.equal(await codeOf(world.commands.refresh(token, 'r')), 'INVALID_TOKEN', token);
  const unknown = makeRefreshToken(
    world.keys,
    assertDefined(parseSessionId(`ses_${'A'.repeat(22)}`), 'id'),
    Buffer.alloc(32),
  );
  t.equal(await codeOf(world.commands.refresh(unknown.token, 'r')), 'INVALID_TOKEN');
  t.equal(await admitted(world, ada.accessToken), 'fine');
});

void t.test('a session ends by logout, and where it was not used for 30 days', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps);
  const caller = {
    teamId: NO_TEAM,
    actor: `user:${ada.userId}`,
    permissions: [],
    correlationId: 'r',
    user: { id: ada.userId, sessionId: assertDefined(parseSessionId(ada.sessionId), 'id') },
  };
  await world.commands.logout(caller);
  t.equal(await admitted(world, ada.accessToken), 'SESSION_ENDED');
  t.equal(await codeOf(world.commands.refresh(ada.refreshToken, 'r')), 'SESSION_ENDED');
  const again = await world.commands.login({ email: 'ada@example.com', password: PASSWORD }, from);
  t.not(again.sessionId, ada.sessionId, 'each sign-in has a session of its own');
  await world.clock.advance(world.deps.limits.sessionUnusedMs - 1);
  const used = await world.commands.refresh(again.refreshToken, 'r');
  await world.clock.advance(world.deps.limits.sessionUnusedMs);
  t.equal(await codeOf(world.commands.refresh(used.refreshToken, 'r')), 'SESSION_ENDED');
});

void t.test('access tokens expire, with a minute for clocks that differ', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps);
  t.equal(await admitted(world, ada.accessToken), 'fine');
  await world.clock.advance(15 * 60_000 + 59_000);
  t.equal(await admitted(world, ada.accessToken), 'fine');
  await world.clock.advance(1_000);
  t.equal(await admitted(world, ada.accessToken), 'TOKEN_EXPIRED', 'one that was checked before');
  world.deps.knownTokens.clear();
  t.equal(await admitted(world, ada.accessToken), 'TOKEN_EXPIRED', 'one that was not');
});

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** The last letter of 64 bytes has four bits that mean nothing: another letter for the same bytes. */
const otherLetter = (letter: string): string => LETTERS[LETTERS.indexOf(letter) ^ 1]!;

void t.test('tokens of other makers', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps);
  const nowS = world.clock.now() / 1_000;
  const { kid = '' } = decodeProtectedHeader(ada.accessToken);
  const good = decodeJwt(ada.accessToken);
  const period = tokenKeyPeriod(world.clock.now());
  const { state } = await world.deps.tokenKey(tokenKeysStream(period));
  const ours = await importJWK({ kty: 'OKP', crv: 'Ed25519', x: state!.publicKey, d: state!.privateKey! }, 'EdDSA');
  const signed = (payload: object, header: object = {}, key: Parameters<SignJWT['sign']>[0] = ours) =>
    new SignJWT({ ...good, ...payload }).setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid, ...header }).sign(key);
  const stranger = await generateKeyPair('EdDSA', { extractable: true });
  const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const parts = ada.accessToken.split('.');
  const publicText = new TextEncoder().encode(state!.publicKey);
  const elsewhere = await openWorld();
  const strangers = await signedIn(elsewhere.deps);

  t.equal(await admitted(world, await signed({})), 'fine', 'what is changed below is what makes the difference');
  const wrong: Readonly<Record<string, string>> = {
    'alg none': `${encoded({ alg: 'none', typ: 'at+jwt', kid })}.${parts[1]}.`,
    'alg none with the signature': `${encoded({ alg: 'none', typ: 'at+jwt', kid })}.${parts[1]}.${parts[2]}`,
    'the public key as the secret of an HMAC': await new SignJWT(good)
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid })
      .sign(publicText),
    'another key under our kid': await signed({}, {}, stranger.privateKey),
    'its own key in the header': await signed({}, { jwk: await exportJWK(stranger.publicKey) }, stranger.privateKey),
    'a kid that nobody has': await signed({}, { kid: `${period}.${'A'.repeat(22)}` }),
    'a kid of another form': await signed({}, { kid: '../../etc/passwd' }),
    'a kid of long ago': await signed({}, { kid: kid.replace(/^\d+/, String(period - 2)) }),
    'another instance': strangers.accessToken,
    'another issuer': await signed({ iss: 'https://other.example.com' }),
    'another audience': await signed({ aud: 'sealpost:0000000000000000' }),
    'another type': await signed({}, { typ: 'JWT' }),
    'from the future': await signed({ iat: nowS + 61, nbf: nowS + 61, exp: nowS + 900 }),
    'no end': await signed({ exp: undefined }),
    'no session': await signed({ sid: undefined }),
    'a session that is none': await signed({ sid: 'ses_x' }),
    'a session that never began': await signed({ sid: `ses_${'A'.repeat(22)}` }),
    'the session of another': await signed({ sub: '0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b21' }),
    'a changed payload': [parts[0], encoded({ ...good, sub: '0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b21' }), parts[2]].join(
      '.',
    ),
    'a part of it': parts.slice(0, 2).join('.'),
    'a fourth part': `${ada.accessToken}.${parts[2]}`,
    'its signature written otherwise': `${ada.accessToken.slice(0, -1)}${otherLetter(ada.accessToken.at(-1)!)}`,
    'an algorithm of another name': await signed({}, { alg: 'Ed25519' }),
    'far too long': `eyJ${'A'.repeat(5_000)}`,
    'no token': 'eyJ',
  };
  for (const [name, token] of Object.entries(wrong)) t.equal(await admitted(world, token), 'INVALID_TOKEN', name);
  t.equal(
    await admitted(world, await signed({ iat: nowS + 59, nbf: nowS + 59, exp: nowS + 959 })),
    'fine',
    'a clock that is a minute ahead',
  );
  t.equal(
    await admitted(world, await signed({ iat: nowS - 1_000, nbf: nowS - 1_000, exp: nowS - 61 })),
    'TOKEN_EXPIRED',
  );
});

void t.test('the key changes every 30 days, and the one before serves as long as its tokens', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps);
  const { kid: first } = decodeProtectedHeader(ada.accessToken);
  const start = tokenKeyPeriod(world.clock.now());
  await world.clock.advance((start + 1) * TOKEN_KEY_PERIOD_MS - world.clock.now() - 1_000);
  const last = await world.commands.login({ email: 'ada@example.com', password: PASSWORD }, from);
  t.equal(decodeProtectedHeader(last.accessToken).kid, first);
  await world.clock.advance(2_000);
  const next = await world.commands.login({ email: 'ada@example.com', password: PASSWORD }, from);
  t.not(decodeProtectedHeader(next.accessToken).kid, first);
  t.equal(await admitted(world, last.accessToken), 'fine');
  const { keys } = await world.commands.readJsonWebKeys();
  t.strictSame(
    keys.map(({ kid }) => kid),
    [decodeProtectedHeader(next.accessToken).kid, first],
  );
  t.notOk(JSON.stringify(keys).includes('"d"'));
  await world.clock.advance(TOKEN_KEY_PERIOD_MS);
  await world.commands.login({ email: 'ada@example.com', password: PASSWORD }, from);
  const [made, retired] = await world.deps.eventLog.load(tokenKeysStream(start));
  t.equal(retired?.event.type, 'TokenKeyRetired');
  t.equal(made?.event.type === 'TokenKeyMade' && made.event.sealed, undefined, 'the private part is destroyed');
});

void t.test('processes that need the first key at once sign by one', async (t) => {
  const world = await openWorld();
  const others = Array.from({ length: 4 }, world.elsewhere);
  const ada = await signedIn(world.deps);
  await world.clock.advance(TOKEN_KEY_PERIOD_MS);
  const { login } = await import('../../src/commands/people/sessions.js');
  const tokens = await Promise.all(
    others.map((deps) => login(deps, { email: 'ada@example.com', password: PASSWORD }, from)),
  );
  t.equal(new Set(tokens.map(({ accessToken }) => decodeProtectedHeader(accessToken).kid)).size, 1);
  for (const { accessToken } of tokens) t.equal(await admitted(world, accessToken), 'fine');
  t.notOk((await world.events(userStream(ada.userId))).some(({ type }) => type === 'UserPasswordChanged'));
});

void t.test('a login counts as use of the account, and that of an owner lets its keys work again', async (t) => {
  const world = await openWorld();
  const cause = { teamId: TEAM, actor: 'cli', correlationId: 'test', causationId: 'test', at: T0 };
  await changeBilling(world.deps, TEAM, { billing: 'credits' }, cause, nothingUsed);
  const { key } = await world.commands.createApiKey(caller, { name: 'Shop', permissions: ['emails:read'] });
  await signedIn(world.deps, { email: 'owner@example.com', teamId: TEAM, role: 'owner' });
  await signedIn(world.deps, { email: 'admin@example.com', teamId: TEAM, role: 'admin' });
  const login = (email: string, teams: readonly (typeof TEAM)[]) =>
    world.commands.login({ email, password: PASSWORD }, from, async () => teams);
  const days = (count: number) => world.clock.advance(count * 86_400_000);
  const endYear = async () => {
    const at = isoTime(world.clock.now());
    await handle(world.deps.eventLog, teamUseStream(TEAM), teamUseDecider, { type: 'Disable', at }, { ...cause, at });
  };
  await days(300);
  await login('admin@example.com', [TEAM]);
  await days(300);
  await endYear();
  t.equal(await codeOf(world.commands.authenticate(key)), 'fine', 'the login was within the year');
  await days(400);
  await endYear();
  t.equal(await codeOf(world.commands.authenticate(key)), 'API_KEY_DISABLED');
  await login('admin@example.com', [TEAM]);
  await login('owner@example.com', [OTHER_TEAM]);
  t.equal(
    await codeOf(world.commands.authenticate(key)),
    'API_KEY_DISABLED',
    'neither an admin nor the owner of another team',
  );
  await login('owner@example.com', [OTHER_TEAM, TEAM]);
  t.equal(await codeOf(world.commands.authenticate(key)), 'fine');
});

void t.test('an attempt to sign in is not counted while the log is away', async (t) => {
  const { deps } = await openWorld();
  const load = async (): Promise<never> => {
    throw new StoreAway('the log does not answer');
  };
  await t.rejects(loginBucketOf({ ...deps, eventLog: { ...deps.eventLog, load } }, 'ada@example.com'), StoreAway);
  t.equal(await loginBucketOf(deps, 'Ada@example.com'), await loginBucketOf(deps, 'ada@example.com'));
});

// The sessions of a person: seen and ended by them, by nobody else, and by time.

const email = 'ada@example.com';

const idOf = ({ sessionId }: Readonly<{ sessionId: string }>): SessionId =>
  assertDefined(parseSessionId(sessionId), 'session id');
const admittedWithoutTeam = (world: World, token: string): Promise<string> =>
  codeOf(world.commands.authenticate(token, { asked: undefined, isNeeded: false }));

void t.test('a person sees their sessions, the one that calls marked, and nobody else’s', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps);
  const eve = await signedIn(world.deps, { email: 'eve@example.com' });
  await world.clock.advance(60_000);
  const other = await world.commands.login(
    { email, password: PASSWORD },
    { ...from, ipAddress: '198.51.100.1', userAgent: 'curl/8' },
  );
  await world.clock.advance(60_000);
  await world.commands.refresh(ada.refreshToken, 'r');
  const ids = [idOf(other), idOf(eve), idOf(ada)];
  const seen = await world.commands.readSessions(callerOf(ada), ids);
  t.match(seen, [
    { id: other.sessionId, current: false, ipAddress: '198.51.100.1', userAgent: 'curl/8', secondFactor: false },
    {
      id: ada.sessionId,
      current: true,
      startedAt: '2030-01-01T12:00:00.000Z',
      lastUsedAt: '2030-01-01T12:02:00.000Z',
      ipAddress: '192.0.2.7',
      userAgent: 'Mozilla/5.0',
    },
  ]);
  t.equal(seen.length, 2);
  t.equal(await codeOf(world.commands.revokeSession(callerOf(eve), idOf(ada))), 'SESSION_NOT_FOUND');
  t.equal(await admittedWithoutTeam(world, ada.accessToken), 'fine');
  await world.commands.revokeSession(callerOf(ada), idOf(other));
  t.equal(await admittedWithoutTeam(world, other.accessToken), 'SESSION_ENDED');
  t.equal(await codeOf(world.commands.revokeSession(callerOf(ada), idOf(other))), 'SESSION_NOT_FOUND', 'it has ended');
  t.equal((await world.commands.readSessions(callerOf(ada), ids)).length, 1);
});

void t.test(
  'all others end at once, those too that nobody has listed, and from where they were used is destroyed',
  async (t) => {
    const world = await openWorld();
    const ada = await signedIn(world.deps);
    const others = [];
    for (let n = 0; n < 3; n += 1) others.push(await world.commands.login({ email, password: PASSWORD }, from));
    const listed = others.slice(0, 2).map(idOf);
    await world.commands.revokeOtherSessions(callerOf(ada), async () => [idOf(ada), ...listed]);
    t.equal(await admittedWithoutTeam(world, ada.accessToken), 'fine');
    for (const { accessToken } of others) t.equal(await admittedWithoutTeam(world, accessToken), 'SESSION_ENDED');
    for (const id of listed) {
      const [started, ended] = await world.deps.eventLog.load(sessionStream(id));
      t.equal(started?.event.type === 'SessionStarted' && started.event.sealed, undefined);
      t.match(ended?.event, { type: 'SessionEnded', data: { reason: 'revoked' } });
    }
    t.strictSame(
      (await world.commands.readSessions(callerOf(ada), [idOf(ada), ...others.map(idOf)])).map(({ id }) => id),
      [ada.sessionId],
      'one that is not recorded as ended is not shown as open',
    );
  },
);

void t.test('of two sessions that end all others at the same moment one goes on', async (t) => {
  const world = await openWorld();
  const ada = await signedIn(world.deps);
  const other = { ...(await world.commands.login({ email, password: PASSWORD }, from)), userId: ada.userId };
  const both = [ada, other];
  const ends = await Promise.all(
    both.map((one) => codeOf(world.commands.revokeOtherSessions(callerOf(one), async () => both.map(idOf)))),
  );
  t.strictSame(ends.toSorted(), ['SESSION_ENDED', 'fine']);
  t.strictSame((await Promise.all(both.map(({ accessToken }) => admittedWithoutTeam(world, accessToken)))).toSorted(), [
    'SESSION_ENDED',
    'fine',
  ]);
});

void t.test('another process refuses an ended session within the bound of its memory', async (t) => {
  const world = await openWorld({}, async () => false);
  const elsewhere = world.elsewhere();
  const stop = new AbortController();
  const following = elsewhere.followStates(stop.signal);
  const ada = await signedIn(world.deps);
  const other = { ...(await world.commands.login({ email, password: PASSWORD }, from)), userId: ada.userId };
  const there = () => codeOf(authenticate(elsewhere, other.accessToken, { asked: undefined, isNeeded: false }));
  t.equal(await there(), 'fine');
  const ending = world.commands.revokeSession(callerOf(ada), idOf(other));
  await world.clock.whenWaiting(1);
  await world.clock.advance(world.deps.limits.stateFreshnessMs);
  await ending;
  t.equal(await there(), 'SESSION_ENDED', 'when it is answered it holds everywhere');
  stop.abort();
  await following.catch(() => {});
});

void t.test('where requests are served the session of a sign-in elsewhere is read before its first call', async (t) => {
  const byLogin: number[] = [];
  for (const serving of [undefined, 'serving'] as const) {
    const world = await openWorld();
    const ada = await signedIn(world.deps);
    const [elsewhere, stop] = [world.elsewhere(), new AbortController()];
    const following = elsewhere.followStates(stop.signal, serving);
    const asked: string[] = [];
    const { readStream } = world.store;
    const noting = (stream: string, from?: number) => {
      asked.push(stream);
      return readStream(stream, from);
    };
    Object.assign(world.store, { readStream: noting });
    const checked: string[] = [];
    for (const { accessTokens } of new Set([world.deps.people, elsewhere.people])) {
      const { read } = accessTokens;
      Object.assign(accessTokens, {
        read: (...asked: Parameters<typeof read>) => (checked.push(asked[0]), read(...asked)),
      });
    }
    const login = await world.commands.login({ email, password: PASSWORD }, from);
    t.equal(await admittedWithoutTeam(world, login.accessToken), 'fine');
    t.strictSame(checked, [], 'no signature is checked where it was made');
    const streams = [sessionStream(idOf(login)), userStream(ada.userId)];
    const reads = () => streams.map((stream) => asked.filter((one) => one === stream).length);
    await elsewhere.statesCaughtUp(await world.store.head(), stop.signal);
    if (serving === undefined) byLogin.push(...reads());
    else await eventually('both are read once more', () => reads().every((count, index) => count > byLogin[index]!));
    if (serving !== undefined)
      await eventually('the token is foreseen', () => elsewhere.knownTokens.get(login.accessToken) !== undefined);
    asked.length = 0;
    t.ok(await authenticate(elsewhere, login.accessToken, { asked: undefined, isNeeded: false }));
    t.strictSame(reads(), serving === undefined ? [1, 1] : [0, 0]);
    t.equal(checked.length, serving === undefined ? 1 : 0, 'nor where it was foreseen');
    const changed = login.accessToken.replace(/.{2}$/, (end) => (end === 'AA' ? 'BA' : 'AA'));
    t.equal(
      await codeOf(authenticate(elsewhere, changed, { asked: undefined, isNeeded: false })),
      'INVALID_TOKEN',
      'another signature is none',
    );
    t.strictSame(elsewhere.knownTokens.get(login.accessToken), world.deps.knownTokens.get(login.accessToken));
    stop.abort();
    await following.catch(() => {});
  }
});

void t.test(
  'a session that nobody refreshes ends after a month, and what was refreshed meanwhile goes on',
  async (t) => {
    const world = await openWorld();
    const [unused, used] = [
      await signedIn(world.deps),
      await world.commands.login({ email, password: PASSWORD }, from),
    ];
    await world.clock.advance(world.deps.limits.sessionUnusedMs - 1_000);
    await world.commands.refresh(used.refreshToken, 'r');
    await world.clock.advance(120_000);
    const { clock } = world;
    const workerClock = fakeClock(clock.now());
    const logged: unknown[] = [];
    const log = (...given: readonly unknown[]): void => void logged.push(given);
    const logger = { debug: log, info: log, warn: log, error: log };
    let mayDestroy = false;
    const worker = endSessionsWorker({
      eventLog: world.deps.eventLog,
      leases: leaseKeeper(workerClock).open(),
      clock: workerClock,
      logger,
      worker: 'w1',
      mayDestroy: () => mayDestroy,
      unused: async () => [idOf(used), idOf(unused)],
    } as unknown as Parameters<typeof endSessionsWorker>[0]);
    const stop = new AbortController();
    const done = worker.run(stop.signal);
    await workerClock.whenWaiting(2);
    t.equal(
      (await world.events(sessionStream(idOf(unused)))).length,
      1,
      'nothing is ended by a clock that is not believed',
    );
    mayDestroy = true;
    await workerClock.advance(60_000);
    await until(async () => (await world.events(sessionStream(idOf(unused)))).length === 2, 'it is ended');
    t.match((await world.events(sessionStream(idOf(unused)))).at(-1), {
      type: 'SessionEnded',
      data: { reason: 'expired' },
    });
    const [started] = await world.deps.eventLog.load(sessionStream(idOf(unused)));
    t.equal(started?.event.type === 'SessionStarted' && started.event.sealed, undefined);
    t.equal((await world.events(sessionStream(idOf(used)))).at(-1)?.type, 'SessionRefreshed');
    const [kept] = await world.deps.eventLog.load(sessionStream(idOf(used)));
    t.match(kept?.event, { sealed: { ipAddress: '192.0.2.7' } }, 'what goes on keeps its key');
    stop.abort();
    await done;
    t.strictSame(logged, []);
  },
);

// How long a sign-in takes tells nothing of whether the address has an account: what is done is counted, for time says
// little in a test.

type Work = { compared: number; hashed: number; read: number; written: number };

/** Counts what a sign-in asks of the passwords and of the log. */
const counting = (deps: CommandNeeds): Readonly<{ work: Work; counted: CommandNeeds }> => {
  const work: Work = { compared: 0, hashed: 0, read: 0, written: 0 };
  const { eventLog } = deps;
  const { passwords } = deps.people;
  const counted: CommandNeeds = {
    ...deps,
    eventLog: {
      ...eventLog,
      load: (...given) => ((work.read += 1), eventLog.load(...given)),
      append: (...given) => ((work.written += 1), eventLog.append(...given)),
    },
    people: {
      ...deps.people,
      passwords: {
        ...passwords,
        verify: (...given) => ((work.compared += 1), passwords.verify(...given)),
        hash: (...given) => ((work.hashed += 1), passwords.hash(...given)),
      },
    },
  };
  return { work, counted };
};

void t.test('an address that nobody has costs a sign-in the work of a wrong password', async (t) => {
  const world = await openWorld();
  await signedIn(world.deps, { email: 'ada@example.com' });
  await makeUser(
    world.deps,
    { email: 'bea@example.com', password: PASSWORD, name: 'Bea' },
    { isVerified: false, from: 'r' },
  );
  const { userId } = await signedIn(world.deps, { email: 'cid@example.com' });
  const cause = { teamId: TEAM, actor: 'cli', correlationId: 'test', causationId: 'test', at: T0 };
  await eraseUser(world.deps, userId, async () => ({ teams: [], sessions: [], grants: [], mails: [] }), cause);
  const work = async (email: string, password: string) => {
    const { work, counted } = counting(world.deps);
    const code = await codeOf(login(counted, { email, password }, from));
    return { code, ...work };
  };
  const wrong = await work('ada@example.com', 'another password');
  t.match(wrong, { code: 'INVALID_CREDENTIALS', compared: 1, hashed: 0, written: 0 });
  for (const email of ['nobody@example.com', 'bea@example.com', 'cid@example.com'])
    t.same(await work(email, 'another password'), wrong, email);
  t.same(await work('nobody@example.com', PASSWORD), wrong);
  t.match(
    await work('bea@example.com', PASSWORD),
    { code: 'ADDRESS_NOT_VERIFIED', compared: 1, hashed: 0 },
    'who knows the password learns more',
  );
});

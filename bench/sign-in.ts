/**
 * The cost of a call with an access token: the same call with an API key, with a token that this process sees for the
 * first time after a sign-in here, after one in another process that it has been told of, or with one that it was not
 * told of and whose signature it checks; and with the token of the call before. CPU of a whole call, in one process.
 */
import { setTimeout } from 'node:timers/promises';
import { startApp, type App } from '../src/service/app.js';
import { createApiKey } from '../src/commands/keys/api-keys.js';
import { firstTeam, systemCaller } from '../src/commands/core/caller.js';
import { loadState } from '../src/commands/core/handle.js';
import { personalCause, startSession } from '../src/commands/people/sessions.js';
import { userDecider } from '../src/domain/people/decider.js';
import { readConfig } from '../src/service/settings/config.js';
import {
  assertDefined,
  parseUserId,
  sessionIdOf,
  sessionStream,
  teamStream,
  tokenKeysStream,
  userStream,
  type TeamId,
  type UserId,
} from '../src/domain/core/ids.js';
import { defaultLimits } from '../src/domain/core/limits.js';
import { isoTime } from '../src/domain/core/time.js';
import type { TeamEvent } from '../src/domain/teams/events.js';
import { evolveTeam, type TeamState } from '../src/domain/teams/state.js';
import { tokenKeyPeriod } from '../src/domain/people/session.js';
import type { Engine } from '../src/service/engine.js';
import { startOf } from '../src/event-log/event-log.js';
import { machineWithDisk } from './support/machine.js';
import { interval, median, seeded } from './support/pairs.js';
import { report, type Figure } from './support/results.js';
import { withDirectory } from './support/scratch.js';

const FIRST_TARGET_US = 300;
const NEXT_TARGET_US = 60;
const ROUNDS = 12;
const WARM_UP_ROUNDS = 3;
/** As many calls a round: each person makes one of the first kind, and one of the next. */
const CALLS = 250;
const SELF_LOW = 0.93;
const SELF_HIGH = 1.07;

type Person = Readonly<{ userId: UserId; token: string }>;

const from = { requestId: 'bench', ipAddress: '192.0.2.7', userAgent: 'bench' };

/**
 * Place of the sign-in: in this process; in another, which told this one; there, with a token that could not be
 * predicted.
 */
type Where = 'here' | 'elsewhere' | 'unforeseen';

const personOf = async (engine: Engine, where: Where): Promise<Person> => {
  const userId = assertDefined(parseUserId(engine.ids.uuid()), 'user id');
  const sessionId = sessionIdOf(engine.ids.bytes(16));
  const cause = personalCause(engine, userId, 'bench');
  const { at } = cause;
  const [ofUser, ofSession] = [userStream(userId), sessionStream(sessionId)];
  const registered = { at, addressId: engine.ids.uuid(), isVerified: true };
  const sealed = { email: `${userId}@example.com`, name: 'Ada Example', passwordHash: 'none' };
  await engine.eventLog.append(ofUser, startOf(ofUser), [{ type: 'UserRegistered', data: registered, sealed }], cause);
  if (where === 'here') {
    const { state: user } = await loadState(engine.eventLog, ofUser, userDecider);
    const { accessToken } = await startSession(
      engine,
      { userId, user: assertDefined(user, 'user'), secondFactor: false },
      from,
    );
    return { userId, token: accessToken };
  }
  const expiresAt = isoTime(Date.parse(at) + defaultLimits.sessionUnusedMs);
  const started = { at, userId, epoch: 0, hash: '0'.repeat(64), expiresAt, secondFactor: false };
  const { requestId: _request, ...sealedFrom } = from;
  await engine.eventLog.append(
    ofSession,
    startOf(ofSession),
    [{ type: 'SessionStarted', data: started, sealed: sealedFrom }],
    cause,
  );
  const issuedAtMs = Date.parse(at) - (where === 'unforeseen' ? UNFORESEEN_MS : 0);
  return {
    userId,
    token: await signed(engine, {
      userId,
      sessionId,
      issuedAtMs,
      expiresAtMs: issuedAtMs + defaultLimits.accessTokenMs,
    }),
  };
};

const UNFORESEEN_MS = 5_000;

/** A token that this process has not made, as it makes them. */
const signed = async (
  engine: Engine,
  claims: Parameters<Engine['people']['accessTokens']['sign']>[2],
): Promise<string> => {
  const { state } = await engine.tokenKey(tokenKeysStream(tokenKeyPeriod(claims.issuedAtMs)));
  const { kid, publicKey, privateKey } = assertDefined(state, 'token key');
  return engine.people.accessTokens.sign(
    { kid, publicKey, privateKey: assertDefined(privateKey, 'private key') },
    engine.tokenParties,
    claims,
  );
};

/** People who are in the team and signed in. */
const makePeople = async (engine: Engine, teamId: TeamId, where: Where): Promise<readonly Person[]> => {
  const people = await Promise.all(Array.from({ length: CALLS }, () => personOf(engine, where)));
  const at = isoTime(engine.clock.now());
  const stream = teamStream(teamId);
  const { version } = await loadState(engine.eventLog, stream, {
    evolve: evolveTeam,
    initialState: undefined as TeamState,
  });
  const events = people.map(({ userId }): TeamEvent => ({ type: 'MemberAdded', data: { at, userId, role: 'member' } }));
  await engine.eventLog.append(stream, version, events, {
    teamId,
    actor: 'cli',
    correlationId: 'bench',
    causationId: 'bench',
    at,
  });
  return people;
};

/** Calls one after the other, each with the credential of its number. Out: µs of CPU a call. */
const cpuOf = async ({ server }: App, teamId: TeamId, credentialOf: (n: number) => string): Promise<number> => {
  const start = process.cpuUsage();
  for (let n = 0; n < CALLS; n += 1) {
    const headers = { authorization: `Bearer ${credentialOf(n)}`, 'x-team-id': teamId };
    const { statusCode, body } = await server.inject({ url: '/api/templates/sign-in-code', headers });
    if (statusCode !== 200) throw new Error(`the call was answered ${statusCode} ${body}`);
  }
  const { user, system } = process.cpuUsage(start);
  return (user + system) / CALLS;
};

type Round = Readonly<{
  key: number;
  again: number;
  first: number;
  elsewhere: number;
  unforeseen: number;
  next: number;
}>;

/**
 * The key before and after the tokens in turn, so that what the machine does meanwhile is told from what the token
 * costs.
 */
const round = async (app: App, teamId: TeamId, key: string, at: number): Promise<Round> => {
  const here = await makePeople(app.engine, teamId, 'here');
  const unknown = await makePeople(app.engine, teamId, 'unforeseen');
  const there = await makePeople(app.engine, teamId, 'elsewhere');
  // Sessions are read in their order: with the last ones all are.
  while (there.some(({ token }) => app.engine.knownTokens.get(token) === undefined)) await setTimeout(20);
  // The state of the team, which has new members, is read for none of the calls that are measured.
  await cpuOf(app, teamId, () => key);
  const ofKey = () => cpuOf(app, teamId, () => key);
  const ofTokens = (people: readonly Person[]) => cpuOf(app, teamId, (n) => people[n]!.token);
  if (at % 2 === 0)
    return {
      key: await ofKey(),
      first: await ofTokens(here),
      elsewhere: await ofTokens(there),
      unforeseen: await ofTokens(unknown),
      again: await ofKey(),
      next: await ofTokens(here),
    };
  const unforeseen = await ofTokens(unknown);
  const elsewhere = await ofTokens(there);
  const first = await ofTokens(here);
  return { elsewhere, unforeseen, first, key: await ofKey(), next: await ofTokens(here), again: await ofKey() };
};

const measure = async (directory: string): Promise<readonly Round[]> => {
  const app = await startApp(
    readConfig({ PORT: '0', SEALPOST_DATA_DIR: directory, SEALPOST_LOG_LEVEL: 'silent', SEALPOST_ROLES: 'http' }),
  );
  try {
    const teamId = assertDefined(await firstTeam(app.engine), 'team');
    const caller = systemCaller(teamId, 'system', 'bench');
    const request = {
      name: 'bench',
      permissions: ['templates:read' as const],
      rateLimit: defaultLimits.apiKeyRateLimitMax,
    };
    const { key } = await createApiKey(app.engine, caller, request);
    for (let at = 0; at < WARM_UP_ROUNDS; at += 1) await round(app, teamId, key, at);
    const rounds: Round[] = [];
    for (let at = 0; at < ROUNDS; at += 1) rounds.push(await round(app, teamId, key, at));
    return rounds;
  } finally {
    await app.stop();
  }
};

const figuresOf = (rounds: readonly Round[]): readonly Figure[] => {
  const random = seeded(1);
  const self = interval(
    rounds.map(({ key, again }) => again / key),
    random,
  );
  const counts = self.low >= SELF_LOW && self.high <= SELF_HIGH;
  const more = (what: string, of: (measured: Round) => number, atMost?: number): Figure => {
    const {
      median: value,
      low,
      high,
    } = interval(
      rounds.map((measured) => of(measured) - (measured.key + measured.again) / 2),
      random,
    );
    return { what, value, low, high, unit: 'µs', counts, ...(atMost === undefined ? {} : { target: { atMost } }) };
  };
  return [
    { what: 'a call with an API key', value: median(rounds.map(({ key, again }) => (key + again) / 2)), unit: 'µs' },
    { what: 'a call with the key / the same again', value: self.median, low: self.low, high: self.high, unit: '' },
    more('more: the first call with an access token', ({ first }) => first, FIRST_TARGET_US),
    more('more: the same after a sign-in in another process', ({ elsewhere }) => elsewhere, FIRST_TARGET_US),
    more('more: the same where the signature is checked', ({ unforeseen }) => unforeseen, FIRST_TARGET_US),
    more('more: each next call with it', ({ next }) => next, NEXT_TARGET_US),
  ];
};

const rounds = await withDirectory(measure);
report({ name: 'sign-in', figures: figuresOf(rounds), machine: machineWithDisk(), details: { rounds, calls: CALLS } });

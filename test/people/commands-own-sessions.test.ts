/** The sessions of a person: seen and ended by them, by nobody else, and by time. */
import t from 'tap';
import { authenticate } from '../../src/commands/authenticate.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { assertDefined, parseSessionId, sessionStream, userStream, type SessionId } from '../../src/domain/core/ids.js';
import { endSessionsWorker } from '../../src/processors/people/sessions.js';
import { openWorld, type World } from '../support/command-world.js';
import { fakeClock } from '../support/fake-clock.js';
import { leaseKeeper } from '../support/memory-leases.js';
import { callerOf, from, PASSWORD, signedIn } from '../support/people.js';
import { until } from '../support/processor-world.js';
import { eventually } from '../support/wait.js';

const email = 'ada@example.com';

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'fine',
    (fault: unknown) => (fault instanceof DomainError ? fault.code : String(fault)),
  );

const idOf = ({ sessionId }: Readonly<{ sessionId: string }>): SessionId =>
  assertDefined(parseSessionId(sessionId), 'session id');
const admitted = (world: World, token: string): Promise<string> =>
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
  t.equal(await admitted(world, ada.accessToken), 'fine');
  await world.commands.revokeSession(callerOf(ada), idOf(other));
  t.equal(await admitted(world, other.accessToken), 'SESSION_ENDED');
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
    t.equal(await admitted(world, ada.accessToken), 'fine');
    for (const { accessToken } of others) t.equal(await admitted(world, accessToken), 'SESSION_ENDED');
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
  t.strictSame((await Promise.all(both.map(({ accessToken }) => admitted(world, accessToken)))).toSorted(), [
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
    t.equal(await admitted(world, login.accessToken), 'fine');
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

/**
 * The health watch of commits, queues, read models, the disk and the clock: each trouble has one line in the log when
 * it begins and one when it ends.
 */
import t, { type Test } from 'tap';
import { DEFERRED_MAX, openHealthWatch, watchCommits, type HealthWatchDeps } from '../../src/service/observe/health.js';
import { StoreAway } from '../../src/domain/core/errors.js';
import type { Keys, NewKey } from '../../src/domain/ports/keys.js';
import { isoTime } from '../../src/domain/core/time.js';
import { fakeClock } from '../support/fake-clock.js';
import { memoryEventStore, memoryLog } from '../support/memory-ports.js';

const MINUTE_MS = 60_000;

const away = (): never => {
  throw new StoreAway('away');
};

const opened = (t: Test, { hasRelay = false, takesSession = true } = {}) => {
  const clock = fakeClock();
  const logger = memoryLog();
  const facts = {
    freeBytes: 2 ** 40,
    oldestDueAt: undefined as string | undefined,
    deferred: 0,
    head: 0,
    position: 0,
    leapMs: 0,
    isDelivered: true,
    logAway: false,
    readModelsAway: false,
    mode: 'shared' as 'shared' | 'per-process',
    takesSession,
    isRelayOpen: true,
  };
  const deps: HealthWatchDeps = {
    clock,
    logger,
    disk: { freeBytes: async () => facts.freeBytes },
    eventLog: { head: async () => (facts.logAway ? away() : facts.head) },
    runners: [{ isBehind: (position) => facts.position < position }],
    queue: async () => (facts.readModelsAway ? away() : { oldestDueAt: facts.oldestDueAt, deferred: facts.deferred }),
    leapMs: () => facts.leapMs,
    isDelivered: async () => facts.isDelivered,
    commits: watchCommits(clock),
    limiterMode: () => facts.mode,
    ...(hasRelay
      ? { relay: { host: 'relay:25', probe: async () => facts.takesSession, isOpen: () => facts.isRelayOpen } }
      : {}),
  };
  const watch = openHealthWatch(deps);
  const end = new AbortController();
  const running = watch.worker.run(end.signal);
  t.teardown(async () => {
    end.abort();
    await running;
  });
  const look = async (): Promise<readonly string[]> => {
    await clock.whenWaiting(1);
    await clock.advance(10_000);
    await clock.whenWaiting(1);
    return watch.noted().map(({ code }) => code);
  };
  return { clock, logger, facts, look, noted: () => watch.noted().map(({ code }) => code) };
};

void t.test('each is noted while it lasts, and told once', async (t) => {
  const { clock, logger, facts, look } = opened(t);
  t.same(await look(), []);
  facts.freeBytes = 100 * 1024 * 1024;
  t.same(await look(), ['DISK_LOW']);
  t.same(await look(), ['DISK_LOW']);
  facts.freeBytes = 2 ** 40;
  t.same(await look(), []);
  t.same(
    logger.lines.map(({ level, fields }) => [level, fields['code']]),
    [
      ['warn', 'DISK_LOW'],
      ['info', 'DISK_LOW'],
    ],
  );
  facts.oldestDueAt = isoTime(clock.now() - 6 * MINUTE_MS);
  t.same(await look(), ['QUEUE_OLD']);
  facts.oldestDueAt = isoTime(clock.now());
  facts.deferred = DEFERRED_MAX;
  t.same(await look(), ['MAIL_DEFERRED']);
  facts.deferred = DEFERRED_MAX - 1;
  facts.leapMs = 3_600_000;
  t.same(await look(), ['CLOCK_SET']);
  facts.leapMs = 0;
  facts.head = 100;
  t.same(await look(), [], 'events of the last ten seconds may be on their way');
  t.same(await look(), ['READ_MODELS_BEHIND']);
  facts.position = 100;
  t.same(await look(), []);
});

void t.test('a server that is away is noted while it lasts, and the looking goes on', async (t) => {
  const { facts, logger, look } = opened(t);
  t.same(await look(), []);
  facts.logAway = true;
  facts.freeBytes = 1;
  t.same(await look(), ['LOG_AWAY', 'DISK_LOW'], 'what else can be looked at is');
  facts.readModelsAway = true;
  t.same(await look(), ['LOG_AWAY', 'READ_MODELS_AWAY', 'DISK_LOW']);
  facts.logAway = facts.readModelsAway = false;
  t.same(await look(), ['DISK_LOW']);
  t.same(
    logger.lines.map(({ level, fields }) => `${level} ${String(fields['code'])}`),
    ['warn LOG_AWAY', 'warn DISK_LOW', 'warn READ_MODELS_AWAY', 'info LOG_AWAY', 'info READ_MODELS_AWAY'],
  );
});

void t.test(
  'a relay that is away is noted by the first attempt that finds it so, and before the first mail too',
  async (t) => {
    const { facts, noted } = opened(t, { hasRelay: true });
    t.same(noted(), []);
    facts.isRelayOpen = false;
    t.same(noted(), ['RELAY_AWAY'], 'no look is waited for');
    facts.isRelayOpen = true;
    t.same(noted(), []);
  },
);

void t.test('a relay that takes no session at the start is asked again until it does', async (t) => {
  const { clock, facts, noted } = opened(t, { hasRelay: true, takesSession: false });
  await clock.whenWaiting(2);
  await clock.advance(0);
  t.same(noted(), ['RELAY_AWAY']);
  facts.takesSession = true;
  await clock.advance(10_000);
  await clock.whenWaiting(1);
  t.same(noted(), []);
});

void t.test('that nobody delivers is noted when it was so at two looks', async (t) => {
  const { facts, look } = opened(t);
  t.same(await look(), []);
  facts.isDelivered = false;
  t.same(await look(), []);
  t.same(await look(), ['NOBODY_DELIVERS']);
  facts.isDelivered = true;
  t.same(await look(), []);
});

void t.test('keys that cannot be kept make the service unavailable as a log that refuses does', async (t) => {
  const clock = fakeClock();
  const commits = watchCommits(clock);
  const made: NewKey = { id: '1', key: { seal: () => Buffer.alloc(0), open: () => Buffer.alloc(0) } };
  const full = (): Promise<never> => Promise.reject(new Error('full'));
  let create: Keys['create'] = full;
  const keys = commits.watchedKeys({ create: () => create() } as Keys);
  const noted = (): readonly string[] => commits.noted().map(({ code, message }) => `${code} ${message.split(';')[0]}`);
  await t.rejects(keys.create(), { message: 'full' });
  t.same(noted(), ['COMMITS_FAIL no new key could be kept']);
  await clock.advance(11_000);
  t.same(noted(), ['COMMITS_FAILED no new key could be kept']);
  create = async () => made;
  t.equal(await keys.create(), made);
  t.same(noted(), []);
});

void t.test(
  'a log that refuses makes the service unavailable for a moment, and degraded until it takes something again',
  async (t) => {
    const clock = fakeClock();
    const commits = watchCommits(clock);
    let isFull = true;
    const memory = memoryEventStore();
    const store = commits.watched({
      ...memory,
      append: async (...given) => (isFull ? Promise.reject(new Error('full')) : memory.append(...given)),
    });
    const codes = (): readonly string[] => commits.noted().map(({ code }) => code);
    t.same(codes(), []);
    await t.rejects(store.append('email-1', -1, []), { message: 'full' });
    t.same(codes(), ['COMMITS_FAIL']);
    await clock.advance(11_000);
    t.same(codes(), ['COMMITS_FAILED'], 'a balancer gives it requests again');
    isFull = false;
    const event = { eventId: '1', type: 'A.v1', data: '{}', metadata: '{}', sealed: undefined, hash: 'h' };
    t.match(await store.append('email-1', -1, [event]), { kind: 'done' });
    t.same(codes(), []);
  },
);

void t.test('a limiter that counts in each process is noted while it lasts', async (t) => {
  const { facts, look } = opened(t);
  t.same(await look(), []);
  facts.mode = 'per-process';
  t.same(await look(), ['LIMITER_AWAY']);
  facts.mode = 'shared';
  t.same(await look(), []);
});

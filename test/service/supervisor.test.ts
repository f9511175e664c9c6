/** The service is watched and stopped, and judges the clock. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { continuedClock, openClockRecord } from '../../src/adapters/clock/system.js';
import { StoreAway } from '../../src/domain/core/errors.js';
import { isoTime, DAY_MS, latestNow, outwardNow } from '../../src/domain/core/time.js';
import type { ContinuedClock } from '../../src/domain/ports/clock.js';
import type { Keys, NewKey } from '../../src/domain/ports/keys.js';
import type { Logger } from '../../src/domain/ports/logger.js';
import type { Worker } from '../../src/domain/ports/worker.js';
import { closeAll, within } from '../../src/service/app.js';
import { DEFERRED_MAX, openHealthWatch, watchCommits, type HealthWatchDeps } from '../../src/service/observe/health.js';
import { openClockTrust, type ClockTrust } from '../../src/service/ops/clock.js';
import { makeSupervisor } from '../../src/service/workers.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { fakeClock, type FakeClock } from '../support/fake-clock.js';
import { memoryEventStore, memoryLog } from '../support/memory-ports.js';
import { eventually } from '../support/wait.js';

// Workers are started again after a fault with growing pauses, and stopped by name within a deadline.

const quiet = (errors: string[] = []): Logger => {
  const logger: Logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: (_fields, message) => void errors.push(message),
    child: () => logger,
  };
  return logger;
};

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  );

const steady = (name: string, ended: string[] = []): Worker => ({
  name,
  run: async (signal) => {
    await untilAborted(signal);
    ended.push(name);
  },
});

const never = new AbortController().signal;

await t.test('a worker that fails is started again, each time after a longer pause', async (t) => {
  const clock = fakeClock();
  const errors: string[] = [];
  const startedAt: number[] = [];
  const supervisor = makeSupervisor({ clock, logger: quiet(errors) });
  supervisor.start([
    {
      name: 'shaky',
      run: async () => {
        startedAt.push(clock.now());
        throw Object.assign(new Error('secret words'), { code: 'SQLITE_FULL' });
      },
    },
  ]);
  for (let restarts = 1; restarts <= 9; restarts += 1) {
    await clock.whenWaiting(1);
    t.match(supervisor.health(), [
      { name: 'shaky', state: 'restarting', restarts: restarts - 1, lastFault: 'SQLITE_FULL' },
    ]);
    while (startedAt.length <= restarts) await clock.advance(50);
  }
  const pauses = startedAt.slice(1).map((at, index) => at - startedAt[index]!);
  t.same(pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  t.ok(errors.every((message) => !message.includes('secret')));
  await supervisor.stop(undefined, never);
  t.match(supervisor.health(), [{ state: 'stopped' }]);
});

await t.test('a worker that ran for long starts again with the first pause', async (t) => {
  const clock = fakeClock();
  let starts = 0;
  let fail: (fault: Error) => void = () => undefined;
  const supervisor = makeSupervisor({ clock, logger: quiet() });
  supervisor.start([
    {
      name: 'long',
      run: () => {
        starts += 1;
        return new Promise<void>((_, reject) => (fail = reject));
      },
    },
  ]);
  await eventually('it runs', () => starts === 1);
  await clock.advance(60_001);
  fail(new Error('fault'));
  await clock.whenWaiting(1);
  await clock.advance(249);
  t.equal(starts, 1);
  await clock.advance(1);
  await eventually('it runs again', () => starts === 2);
  t.match(supervisor.health(), [{ state: 'running', restarts: 1, lastFault: 'Error' }]);
});

await t.test('a worker that ends by itself is started again', async (t) => {
  const clock = fakeClock();
  let starts = 0;
  const supervisor = makeSupervisor({ clock, logger: quiet() });
  supervisor.start([{ name: 'short', run: async () => void (starts += 1) }]);
  await clock.whenWaiting(1);
  await clock.advance(500);
  await eventually('it runs again', () => starts === 2);
  t.match(supervisor.health(), [{ restarts: 1, lastFault: null }]);
  await supervisor.stop(undefined, never);
});

await t.test('one that fails leaves the others alone', async (t) => {
  const clock = fakeClock();
  const supervisor = makeSupervisor({ clock, logger: quiet() });
  supervisor.start([steady('a'), { name: 'b', run: async () => Promise.reject(new Error('fault')) }, steady('c')]);
  await clock.whenWaiting(1);
  t.match(supervisor.health(), [
    { name: 'a', state: 'running' },
    { name: 'b', state: 'restarting' },
    { name: 'c', state: 'running' },
  ]);
  await supervisor.stop(undefined, never);
});

await t.test('stop by name, then the rest; a pause between starts is cut short', async (t) => {
  const clock = fakeClock();
  const ended: string[] = [];
  const supervisor = makeSupervisor({ clock, logger: quiet() });
  supervisor.start([
    steady('first', ended),
    steady('second', ended),
    { name: 'shaky', run: async () => Promise.reject(new Error('fault')) },
  ]);
  await clock.whenWaiting(1);
  await supervisor.stop(['second'], never);
  t.same(ended, ['second']);
  t.match(supervisor.health(), [{ name: 'first', state: 'running' }, { name: 'second', state: 'stopped' }, {}]);
  await supervisor.stop(undefined, never);
  t.same(ended, ['second', 'first']);
  t.equal(clock.waiting(), 0);
});

await t.test('a worker that does not end keeps the stop no longer than its deadline', async (t) => {
  const supervisor = makeSupervisor({ clock: fakeClock(), logger: quiet() });
  let runs = false;
  supervisor.start([{ name: 'deaf', run: () => new Promise<void>(() => (runs = true)) }, steady('good')]);
  await eventually('it runs', () => runs);
  const deadline = new AbortController();
  const stopped = supervisor.stop(undefined, deadline.signal);
  await eventually('the good one has stopped', () => supervisor.health()[1]?.state === 'stopped');
  t.equal(supervisor.health()[0]?.state, 'running');
  deadline.abort();
  await stopped;
  await supervisor.stop(['deaf'], AbortSignal.abort());
  t.pass('a deadline that is over waits for nobody');
});

await t.test('a fault while stopping is no restart', async (t) => {
  const errors: string[] = [];
  let starts = 0;
  const supervisor = makeSupervisor({ clock: fakeClock(), logger: quiet(errors) });
  supervisor.start([
    {
      name: 'sore',
      run: async (signal) => {
        starts += 1;
        await untilAborted(signal);
        throw new Error('aborted');
      },
    },
  ]);
  await eventually('it runs', () => starts === 1);
  await supervisor.stop(undefined, never);
  t.equal(starts, 1);
  t.same(errors, []);
});

// A stop goes on when a part of the service hangs or fails.

const neverEnds = (): Promise<void> => new Promise(() => {});

void t.test('parts close in their order, and each only when the one before has closed', async (t) => {
  const seen: string[] = [];
  const part = (name: string) => ({
    close: async () => {
      seen.push(`${name} closes`);
      await Promise.resolve();
      seen.push(`${name} closed`);
    },
  });
  t.same(await closeAll({ bus: part('bus'), log: part('log') }, new AbortController().signal), []);
  t.same(seen, ['bus closes', 'bus closed', 'log closes', 'log closed']);
});

void t.test('a part that hangs is named, and those after it are told to close', async (t) => {
  const over = new AbortController();
  let isClosed = false;
  const closing = closeAll(
    { bus: { close: neverEnds }, log: { close: async () => void (isClosed = true) } },
    over.signal,
  );
  over.abort();
  t.same(await closing, ['bus']);
  t.ok(isClosed);
});

void t.test('a part that rejects or throws is named with its fault, and those after it close', async (t) => {
  let isClosed = false;
  const left = await closeAll(
    {
      bus: { close: () => Promise.reject(new Error('gone')) },
      keys: {
        close: () => {
          throw new Error('locked');
        },
      },
      log: { close: async () => void (isClosed = true) },
    },
    new AbortController().signal,
  );
  t.same(left, ['bus (gone)', 'keys (locked)']);
  t.ok(isClosed);
});

void t.test('work is waited for until it is done, fails, or the signal aborts', async (t) => {
  await within(new AbortController().signal, Promise.resolve());
  await t.rejects(within(new AbortController().signal, Promise.reject(new Error('failed'))), { message: 'failed' });
  await within(AbortSignal.abort(), neverEnds());
});

// The health watch of commits, queues, read models, the disk and the clock: each trouble has one line in the log when
// it begins and one when it ends.

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
      ? { relays: [{ host: 'relay:25', probe: async () => facts.takesSession, isOpen: () => facts.isRelayOpen }] }
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

// Removal by age waits after a leap of the clock, and after a time for which the service cannot account.

const START_MS = Date.parse('2026-01-01T00:00:00.000Z');

type Run = Readonly<{
  machine: FakeClock;
  clock: ContinuedClock;
  trust: ClockTrust;
  warnings: () => number;
  stop: () => Promise<void>;
}>;

/** One run of the program on a machine; the next goes on with the files that it left. */
const open = async (t: Test, file: string, machine: FakeClock, isNew = false): Promise<Run> => {
  const clock = continuedClock(machine);
  const logger = memoryLog();
  const trust = openClockTrust({ clock, logger, record: openClockRecord(file), isKept: true, isNew });
  const end = new AbortController();
  const running = trust.worker.run(end.signal);
  const stop = async (): Promise<void> => {
    end.abort();
    await running;
  };
  t.teardown(stop);
  await machine.whenWaiting(1);
  return { machine, clock, trust, stop, warnings: () => logger.lines.filter(({ level }) => level === 'warn').length };
};

const fileOf = (t: Test): string => join(temporaryDirectory(t), 'clock.json');

void t.test('a new instance destroys at once what is due, and goes on doing so after a restart', async (t) => {
  const file = fileOf(t);
  const machine = fakeClock(START_MS);
  const first = await open(t, file, machine, true);
  t.ok(first.trust.mayDestroy());
  t.equal(first.trust.awayMs, undefined);
  await machine.advance(MINUTE_MS);
  await first.stop();
  await machine.advance(7 * DAY_MS);
  const second = await open(t, file, machine);
  t.ok(second.trust.mayDestroy(), 'the machine ran on and has counted the week itself');
  t.equal(second.trust.awayMs, 7 * DAY_MS);
  t.equal(first.warnings() + second.warnings(), 0);
});

void t.test('after a leap nothing is destroyed for 24 hours; then the clock is believed', async (t) => {
  for (const byMs of [40 * DAY_MS, -3_600_000]) {
    const { machine, clock, trust, warnings } = await open(t, fileOf(t), fakeClock(START_MS), true);
    machine.shift(byMs);
    t.notOk(trust.mayDestroy(), 'before anybody has looked after the clock');
    t.equal(clock.now(), START_MS);
    await machine.advance(DAY_MS - MINUTE_MS);
    t.notOk(trust.mayDestroy());
    t.equal(warnings(), 1);
    t.equal(clock.now(), START_MS + DAY_MS - MINUTE_MS);
    await machine.advance(2 * MINUTE_MS);
    t.ok(trust.mayDestroy());
    t.equal(clock.now(), START_MS + DAY_MS + MINUTE_MS + byMs);
    t.equal(trust.leapMs(), 0);
  }
});

void t.test('a second leap begins the 24 hours anew', async (t) => {
  const { machine, trust } = await open(t, fileOf(t), fakeClock(START_MS), true);
  for (const byMs of [DAY_MS, -DAY_MS]) {
    machine.shift(byMs);
    await machine.advance(10_000);
    await machine.advance(DAY_MS - MINUTE_MS);
  }
  t.notOk(trust.mayDestroy());
  await machine.advance(2 * MINUTE_MS);
  t.ok(trust.mayDestroy());
});

void t.test('an operator confirms the clock, and the running service sees it', async (t) => {
  const file = fileOf(t);
  const { machine, clock, trust } = await open(t, file, fakeClock(START_MS), true);
  machine.shift(DAY_MS);
  await machine.advance(MINUTE_MS);
  t.notOk(trust.mayDestroy());
  openClockRecord(file).confirm('one');
  await machine.advance(10_000);
  t.ok(trust.mayDestroy());
  t.equal(clock.now(), START_MS + DAY_MS + MINUTE_MS + 10_000);
  machine.shift(DAY_MS);
  await machine.advance(MINUTE_MS);
  t.notOk(trust.mayDestroy(), 'a later leap needs a confirmation of its own');
});

void t.test('a restart believes the clock for sending, and goes on waiting to destroy', async (t) => {
  const file = fileOf(t);
  const machine = fakeClock(START_MS);
  const first = await open(t, file, machine, true);
  machine.shift(DAY_MS);
  await machine.advance(MINUTE_MS);
  await machine.advance(9 * MINUTE_MS);
  await first.stop();
  const second = await open(t, file, machine);
  t.equal(second.clock.now(), START_MS + DAY_MS + 10 * MINUTE_MS);
  t.notOk(second.trust.mayDestroy());
  await machine.advance(DAY_MS - 11 * MINUTE_MS);
  t.notOk(second.trust.mayDestroy());
  await machine.advance(2 * MINUTE_MS);
  t.ok(second.trust.mayDestroy());
});

void t.test(
  'a time away that the machine has not counted is waited for, unless it was short or is confirmed',
  async (t) => {
    const away = async (t: Test, ms: number, confirmation?: string): Promise<Run> => {
      const file = fileOf(t);
      const before = await open(t, file, fakeClock(START_MS), true);
      await before.machine.advance(30 * MINUTE_MS);
      await before.stop();
      if (confirmation !== undefined) openClockRecord(file).confirm(confirmation);
      const after = await open(t, file, fakeClock(START_MS + 30 * MINUTE_MS + ms));
      t.equal(after.trust.awayMs, ms);
      return after;
    };
    for (const ms of [7 * DAY_MS, -3_600_000]) {
      const week = await away(t, ms);
      t.notOk(week.trust.mayDestroy());
      t.equal(week.warnings(), 1);
      await week.machine.advance(DAY_MS + MINUTE_MS);
      t.ok(week.trust.mayDestroy());
    }
    t.ok((await away(t, 5 * MINUTE_MS)).trust.mayDestroy());
    t.ok((await away(t, 7 * DAY_MS, 'by hand')).trust.mayDestroy());
  },
);

void t.test('a log without a record of the time waits, too', async (t) => {
  const { trust } = await open(t, fileOf(t), fakeClock(START_MS));
  t.notOk(trust.mayDestroy());
});

void t.test('time in which the program did not run, or the machine slept, was watched by nobody', async (t) => {
  const file = fileOf(t);
  const machine = fakeClock(START_MS);
  const first = await open(t, file, machine, true);
  t.equal(first.trust.unwatchedMs(0), 0, 'a new instance');
  for (let minute = 0; minute < 30; minute += 1) await machine.advance(MINUTE_MS);
  await first.stop();
  await machine.advance(4 * DAY_MS);
  const second = await open(t, file, machine);
  t.equal(second.trust.unwatchedMs(START_MS), 4 * DAY_MS);
  t.equal(second.trust.unwatchedMs(START_MS + 30 * MINUTE_MS + DAY_MS), 3 * DAY_MS);
  t.equal(second.trust.unwatchedMs(START_MS + 5 * DAY_MS), 0);
  await machine.advance(MINUTE_MS);
  await second.stop();
  await machine.advance(MINUTE_MS);
  const third = await open(t, file, machine);
  t.equal(third.trust.unwatchedMs(START_MS), 4 * DAY_MS, 'a restart is too short to matter, and keeps what is known');
  await third.stop();
  rmSync(file);
  const fourth = await open(t, file, machine);
  t.ok(fourth.trust.unwatchedMs(START_MS) > 4 * DAY_MS, 'nobody knows');
});

void t.test('a start behind the newest event of the log is told, and destroys nothing', async (t) => {
  for (const [behindMs, isTold] of [
    [2 * 365 * DAY_MS, true],
    [MINUTE_MS / 2, false],
    [-DAY_MS, false],
  ] as const) {
    const logger = memoryLog();
    const machine = fakeClock(START_MS);
    const record = openClockRecord(fileOf(t));
    record.write({ nowMs: START_MS, uptimeMs: machine.uptime(), waitMs: 0, confirmation: '', away: [] });
    const newestEventMs = START_MS + behindMs;
    const trust = openClockTrust({
      clock: continuedClock(machine),
      logger,
      record,
      isKept: true,
      isNew: false,
      newestEventMs,
    });
    t.equal(trust.mayDestroy(), !isTold);
    t.equal(logger.lines.filter(({ fields }) => fields['code'] === 'CLOCK_BEHIND').length, isTold ? 1 : 0);
  }
});

void t.test(
  'what others compare with their clocks goes by the machine, and a scheduled time is ahead of both clocks',
  (t) => {
    const machine = fakeClock(START_MS);
    const clock = continuedClock(machine);
    for (const byMs of [2 * 365 * DAY_MS, -3 * 365 * DAY_MS]) {
      machine.shift(byMs);
      t.equal(outwardNow(clock), machine.now());
      t.equal(clock.now(), START_MS);
      t.equal(latestNow(clock), Math.max(START_MS, machine.now()));
    }
    t.equal(outwardNow(machine), machine.now(), 'a clock of one time');
    t.end();
  },
);

/** How processors run: declarations, lanes, priorities, the lease, the removal of records. */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { causeOf } from '../../src/commands/core/caller.js';
import {
  apiKeyStream,
  assertDefined,
  parseApiKeyId,
  splitStream,
  type EmailId,
  batchStream,
  emailIdInBatch,
  emailStream,
} from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import { apiKeyDecider, type ApiKeyCommand, type ApiKeyState } from '../../src/domain/keys/decider.js';
import type { ApiKeyEvent } from '../../src/domain/keys/events.js';
import { priorityShares, type Priority } from '../../src/domain/ports/bus.js';
import type { Leases } from '../../src/domain/ports/lease.js';
import type { Mailer } from '../../src/domain/ports/mailer.js';
import { timersOf } from '../../src/domain/ports/timers.js';
import { startOf } from '../../src/event-log/event-log.js';
import type { Processor } from '../../src/processors/core/declaration.js';
import { runLanes } from '../../src/processors/core/lanes.js';
import { LEASE_TTL_MS, underLease, type Held, type LeaseDeps } from '../../src/processors/core/lease.js';
import { makeProcessor } from '../../src/processors/core/processor.js';
import { DELIVER_EMAIL } from '../../src/processors/email/delivery.js';
import { makeProcessors } from '../../src/processors/index.js';
import { makeAnalyticsQueries } from '../../src/projections/analytics/analytics.js';
import { BATCHES } from '../../src/projections/bulk/batches.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { declareProjection, type Handler, timersSpec } from '../../src/projections/core/projection.js';
import { compareWithRebuild, rebuildProjection } from '../../src/projections/core/rebuild.js';
import { makeRunner } from '../../src/projections/core/runner.js';
import { EMAILS } from '../../src/projections/email/emails.js';
import { makeQueries } from '../../src/projections/queries.js';
import { readRetentionLines } from '../../src/projections/retention/retention.js';
import { acceptBulk, bulk } from '../support/bulk.js';
import { caller, TEAM } from '../support/command-world.js';
import { at, T0, ARCHIVE_MS, DAY_MS, PERIODS, RETENTION_MS } from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { refusedWith } from '../support/given.js';
import { leaseKeeper } from '../support/memory-leases.js';
import { memoryLog, memoryKeys } from '../support/memory-ports.js';
import {
  openProcessorWorld,
  until,
  workersOf,
  type Processing,
  type ProcessorWorld,
  deliverEmailWorker,
} from '../support/processor-world.js';

// Processors that know nothing of email, made of declarations alone: a new API key is announced, and one that runs out
// is revoked in time.

const STREAM = apiKeyStream(assertDefined(parseApiKeyId('key_AAAAAAAAAAAAAAAAAAAAAA'), 'API key id'));
const TIMERS = timersOf('apiKey');

/** The effect of the processors in these tests: they tell somebody, who may not listen. */
type World = { told: string[]; refuses: number };

const announceKey = (world: World, deps: Processing): Processor =>
  makeProcessor<'apiKey', ApiKeyState, ApiKeyCommand>({
    name: 'announce-key',
    kind: 'apiKey',
    decider: apiKeyDecider,
    startedBy: { ApiKeyCreated: () => 'high' },
    timers: [],
    deadlineMs: 1_000,
    act: async ({ state }) => {
      if (state.lastUsedAt !== null) return {};
      if (world.refuses > 0) {
        world.refuses -= 1;
        throw new Error('nobody listens');
      }
      world.told.push(`new key ${state.name}`);
      return {
        command: { type: 'UseApiKey', at: isoTime(deps.clock.now()) },
        line: { level: 'info', fields: {}, message: 'announced' },
      };
    },
  });

const retireKey = (world: World, deps: Processing): Processor =>
  makeProcessor<'apiKey', ApiKeyState, ApiKeyCommand>({
    name: 'retire-key',
    kind: 'apiKey',
    decider: apiKeyDecider,
    timers: [{ kind: 'expiry', read: 'due' }],
    deadlineMs: 1_000,
    act: async ({ state }) => {
      const now = isoTime(deps.clock.now());
      if (state.revokedAt !== null || state.expiresAt === null || state.expiresAt > now) return {};
      world.told.push(`old key ${state.name}`);
      return { command: { type: 'RevokeApiKey', at: now } };
    },
  });

/** The timers of keys, by a projection of their own. */
const setExpiry: Handler<Extract<ApiKeyEvent, { type: 'ApiKeyCreated' }>> = ({ event, stream, position, metadata }) => {
  const { id } = splitStream(stream);
  const { expiresAt: dueAt } = event.data;
  if (dueAt === null) return [];
  const timer = {
    id,
    seq: position,
    position,
    kind: 'expiry',
    key: stream,
    dueAt,
    priority: 'normal',
    team: metadata.teamId,
  };
  return [{ collection: TIMERS, id, next: () => timer }];
};

const expiries = declareProjection({
  name: 'expiries',
  collections: [timersSpec(TIMERS)],
  main: TIMERS,
  kinds: ['apiKey'],
  decrypts: [],
  on: {
    ApiKeyCreated: setExpiry,
    ApiKeyRevoked: ({ stream }) => [{ collection: TIMERS, id: splitStream(stream).id, next: () => undefined }],
  },
});

const openKeyWorld = async (t: Test) => {
  const processors = await openProcessorWorld(t);
  const store = await processors.readModels.projection(expiries.name, expiries.collections);
  const runner = makeRunner(expiries, {
    eventLog: processors.deps.eventLog,
    clock: processors.deps.clock,
    makeAnew: async () => {},
    store,
    pause: async () => {},
  });
  processors.run(runner.worker);
  const deps: Processing = {
    ...processors.processing,
    timersCaughtUp: (_kind, position, signal) => runner.caughtUp(position, signal),
  };
  const world: World = { told: [], refuses: 0 };
  return { processors, deps, world, declared: [announceKey(world, deps), retireKey(world, deps)] };
};

const create = (world: ProcessorWorld, expiresAt: string) =>
  world.deps.eventLog.append(
    STREAM,
    startOf(STREAM),
    apiKeyDecider.decide(
      {
        type: 'CreateApiKey',
        created: {
          at: T0,
          name: 'Shop',
          description: null,
          permissions: [],
          rateLimit: null,
          expiresAt,
          hash: 'h',
          start: 'a',
          end: 'z',
        },
      },
      undefined,
    ),
    causeOf(world.deps, caller),
  );

const typesOf = async (world: ProcessorWorld): Promise<readonly string[]> =>
  (await world.events(STREAM)).map(({ type }) => type);

void t.test(
  'an event starts the work of one processor, time that of another; each does its own and says who it was',
  async (t) => {
    const { processors, deps, world, declared } = await openKeyWorld(t);
    world.refuses = 2;
    processors.run(workersOf(deps, declared));
    await create(processors, at(60));
    await until(async () => {
      await processors.clock.advance(500);
      return world.told.length === 1;
    }, 'the key is announced, though nobody listened at first');
    t.equal(processors.logger.lines.filter(({ level }) => level === 'error').length, 2);
    await until(async () => {
      await processors.clock.advance(500);
      return (await typesOf(processors)).length === 3;
    }, 'the key is revoked');
    t.ok(
      processors.clock.now() >= Date.parse(at(60)) && processors.clock.now() <= Date.parse(at(62)),
      'when its time has come',
    );
    await processors.clock.advance(60_000);
    t.same(world.told, ['new key Shop', 'old key Shop']);
    const [created, used, revoked] = await processors.deps.eventLog.load(STREAM);
    t.match(used, {
      event: { type: 'ApiKeyUsed' },
      metadata: { actor: 'processor:announce-key', causationId: created!.metadata.eventId },
    });
    t.match(revoked, {
      event: { type: 'ApiKeyRevoked' },
      metadata: { actor: 'processor:retire-key', causationId: used!.metadata.eventId },
    });
    t.ok(typeof revoked!.metadata.fence === 'number' && revoked!.metadata.correlationId === 'request-1');
  },
);

void t.test(
  'a bus that forgets pointers delays timed work and loses none, and pointers that come twice do nothing',
  async (t) => {
    const { processors, deps, world, declared } = await openKeyWorld(t);
    let forget = 3;
    const bus: Processing['bus'] = {
      ...deps.bus,
      publish: async (processor, pointers) => {
        if (processor !== 'retire-key' || pointers.length === 0) return deps.bus.publish(processor, pointers);
        forget -= 1;
        if (forget >= 0) return [];
        const refused = await deps.bus.publish(processor, pointers);
        await deps.bus.publish(
          processor,
          pointers.map((pointer) => ({ ...pointer, id: `${pointer.id} again` })),
        );
        return refused;
      },
    };
    processors.run(workersOf({ ...deps, bus }, declared));
    await create(processors, at(1));
    await until(async () => {
      await processors.clock.advance(1_000);
      return (await typesOf(processors)).includes('ApiKeyRevoked');
    }, 'the key is revoked');
    await processors.clock.advance(60_000);
    t.same(
      world.told.filter((line) => line.startsWith('old')),
      ['old key Shop'],
    );
    t.equal(await deps.bus.depth('retire-key'), 0);
  },
);

// Lanes: order within a stream, work side by side across streams, faults that end nothing, and a drain at the end.

type Item = Readonly<{ key: string; number: number }>;

async function* from<T>(items: readonly T[]): AsyncGenerator<T> {
  for (const item of items) yield item;
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

void t.test('whatever comes: all is handled once, in order within a key, one at a time of a key', async () => {
  const items = fc.array(
    fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), turns: fc.nat(3), fails: fc.boolean() }),
    {
      maxLength: 60,
    },
  );
  await fc.assert(
    fc.asyncProperty(items, async (given) => {
      const handled: (Item & { key: string })[] = [];
      const faults: number[] = [];
      const busy = new Set<string>();
      const work = given.map((item, number) => ({ ...item, number }));
      await runLanes(from(work), {
        keyOf: ({ key }) => key,
        handle: async (item) => {
          if (busy.has(item.key)) throw new Error('TWO AT ONCE');
          busy.add(item.key);
          await turns(item.turns);
          busy.delete(item.key);
          handled.push(item);
          if (item.fails) throw new Error('expected');
        },
        onFault: (item, fault) => {
          if ((fault as Error).message !== 'expected') throw fault;
          faults.push(item.number);
        },
      });
      if (handled.length !== work.length)
        throw new Error(`${handled.length} of ${work.length} were handled when it ended`);
      for (const key of new Set(work.map((item) => item.key))) {
        const numbers = handled.filter((item) => item.key === key).map(({ number }) => number);
        if (numbers.some((number, index) => index > 0 && number < numbers[index - 1]!))
          throw new Error(`${key} out of order`);
      }
      if (
        JSON.stringify(faults.sort()) !==
        JSON.stringify(
          work
            .filter(({ fails }) => fails)
            .map(({ number }) => number)
            .sort(),
        )
      )
        throw new Error('each fault is told once');
    }),
    { numRuns: 60 },
  );
});

void t.test('lanes do not wait for one another', async (t) => {
  const [slow, quick] = ['a', 'b'];
  let release: (() => void) | undefined;
  const done: string[] = [];
  const running = runLanes(from([slow, slow, quick, quick]), {
    keyOf: (key) => key,
    handle: async (key) => {
      if (key === slow && release === undefined) await new Promise<void>((resolve) => (release = resolve));
      done.push(key);
    },
    onFault: (_, fault) => void t.fail(String(fault)),
  });
  await turns(10);
  t.same(done, [quick, quick]);
  release!();
  await running;
  t.same(done, [quick, quick, slow, slow]);
});

void t.test('however many are slow, what comes after them waits for none', async (t) => {
  const releases: (() => void)[] = [];
  const done: string[] = [];
  const running = runLanes(from([...Array.from({ length: 500 }, (_, at) => `slow-${at}`), 'quick']), {
    keyOf: (key) => key,
    handle: async (key) => {
      if (key !== 'quick') await new Promise<void>((resolve) => releases.push(resolve));
      done.push(key);
    },
    onFault: (_, fault) => void t.fail(String(fault)),
  });
  await turns(10);
  t.same(done, ['quick']);
  for (const release of releases) release();
  await running;
  t.equal(done.length, 501);
});

void t.test('a handler that throws at once is a fault of its item alone', async (t) => {
  const done: number[] = [];
  const faults: number[] = [];
  await runLanes(from([1, 2, 3]), {
    keyOf: () => 'one',
    handle: (item) => {
      if (item === 2) throw new Error('at once');
      done.push(item);
      return Promise.resolve();
    },
    onFault: (item) => void faults.push(item),
  });
  t.same([done, faults], [[1, 3], [2]]);
});

void t.test('a source that fails ends the run with its fault; an empty one ends it quietly', async (t) => {
  const failing = async function* (): AsyncGenerator<number> {
    yield 1;
    throw new Error('source');
  };
  const options = { keyOf: String, handle: async () => {}, onFault: () => {} };
  await t.rejects(runLanes(failing(), options), { message: 'source' });
  await t.resolves(runLanes(from<number>([]), options));
});

void t.test(
  'a source that fails is reported when every lane has drained: whoever starts again has no one beside it',
  async (t) => {
    const failing = async function* (): AsyncGenerator<number> {
      yield* [1, 2, 3];
      throw new Error('source');
    };
    const releases: (() => void)[] = [];
    const done: number[] = [];
    let fault: unknown;
    const running = runLanes(failing(), {
      keyOf: (item) => (item === 3 ? '1' : String(item)),
      handle: async (item) => {
        await new Promise<void>((resolve) => releases.push(resolve));
        done.push(item);
      },
      onFault: () => {},
    }).catch((reported: unknown) => (fault = reported));
    await turns(10);
    t.equal(releases.length, 2);
    t.equal(fault, undefined, 'two are still at work');
    for (const release of releases) release();
    await turns(10);
    t.equal(fault, undefined, 'what waits in a lane is done, too');
    releases.at(-1)!();
    await running;
    t.match(fault, { message: 'source' });
    t.same(done, [1, 2, 3]);
  },
);

// The order of priorities, counted in mails: a high one goes ahead of all low ones that have not begun, and low ones go
// on beside however many high ones.

const IN_FLIGHT = 4;

/**
 * A world whose mails wait for their connection until the test gives one; `began` has their priorities in that order.
 */
const withConnections = async (t: Parameters<typeof openProcessorWorld>[0]) => {
  const world = await openProcessorWorld(t);
  const waiting: { priority: Priority; go: () => void }[] = [];
  const began: Priority[] = [];
  const mailer: Mailer = {
    ...world.mailer,
    lend: async (wanted, use) => {
      await new Promise<void>((resolve) => {
        waiting.push({ priority: wanted.priority, go: resolve });
        wanted.signal.addEventListener('abort', () => resolve(), { once: true });
      });
      began.push(wanted.priority);
      return world.mailer.lend(wanted, use);
    },
  };
  const sendMany = async (priority: Priority, count: number): Promise<void> => {
    const ids: EmailId[] = [];
    for (let n = 0; n < count; n += 1) ids.push(await world.send({ priority }));
    await world.bus.publish(
      DELIVER_EMAIL,
      ids.map((id) => ({ ...world.point(id), priority })),
    );
  };
  /** Gives a connection to the one that has waited longest, and waits until another has taken its place. */
  const giveOne = async (left: number): Promise<void> => {
    const before = began.length;
    waiting.shift()!.go();
    await until(
      () => began.length > before && waiting.length === Math.min(IN_FLIGHT, left),
      'another has taken its place',
    );
  };
  return {
    world,
    began,
    waiting,
    sendMany,
    giveOne,
    worker: deliverEmailWorker({ ...world.processing, mailer, inFlightMax: IN_FLIGHT }),
  };
};

void t.test('no more low mails go before a high one than had begun when it came, however many wait', async (t) => {
  const { world, began, waiting, sendMany, giveOne, worker } = await withConnections(t);
  await sendMany('low', 60);
  world.run(worker);
  await until(() => waiting.length === IN_FLIGHT, 'all lanes are taken');
  for (let n = 0; n < 5; n += 1) await giveOne(60 - n - 1);
  await sendMany('high', 1);
  const before = began.length;
  for (let left = 55; !began.includes('high'); left -= 1) await giveOne(left);
  t.ok(began.length - before <= IN_FLIGHT + 1, `${began.length - before - 1} low mails went before it`);
});

void t.test('while high, normal and low mails wait each gets its share: none is starved', async (t) => {
  const { world, began, waiting, sendMany, giveOne, worker } = await withConnections(t);
  for (const priority of ['low', 'normal', 'high'] as const) await sendMany(priority, 60);
  world.run(worker);
  await until(() => waiting.length === IN_FLIGHT, 'all lanes are taken');
  const round = priorityShares.high + priorityShares.normal + priorityShares.low;
  for (let n = 1; n <= 5 * round; n += 1) await giveOne(180 - n);
  const count = (priority: Priority): number => began.filter((one) => one === priority).length;
  for (const priority of ['high', 'normal', 'low'] as const)
    t.ok(Math.abs(count(priority) - 5 * priorityShares[priority]) <= IN_FLIGHT, `${count(priority)} of ${priority}`);
  const firstLow = began.indexOf('low');
  t.ok(firstLow >= 0 && firstLow <= round + IN_FLIGHT, `a low one was the ${firstLow + 1}th`);
});

// Work under a lease: one process at a time, renewed while it lasts, ended when nobody can be sure any more.

const world = () => {
  const clock = fakeClock();
  const keeper = leaseKeeper(clock);
  const logger = memoryLog();
  const deps = (worker: string, leases: Leases = keeper.open()): LeaseDeps => ({ leases, clock, logger, worker });
  return { clock, keeper, logger, deps };
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  );

/** Runs under the lease of that name until it is stopped; `runs` are the times it was begun. */
const started = (deps: LeaseDeps, work: (held: Held) => Promise<void> = ({ signal }) => aborted(signal)) => {
  const stopping = new AbortController();
  const runs: Held[] = [];
  const done = underLease(deps, 'relay', stopping.signal, async (held) => {
    runs.push(held);
    await work(held);
  });
  return { runs, done, stop: () => (stopping.abort(), done) };
};

void t.test('one of two works, for as long as it likes; the other when it stops', async (t) => {
  const { clock, deps } = world();
  const first = started(deps('a'));
  await until(() => first.runs.length === 1, 'the first works');
  const second = started(deps('b'));
  await clock.advance(10 * LEASE_TTL_MS);
  t.same([first.runs.length, second.runs.length], [1, 0]);
  t.notOk(first.runs[0]!.signal.aborted);
  await first.stop();
  await clock.advance(2_000);
  await until(() => second.runs.length === 1, 'the second works');
  t.ok(second.runs[0]!.fence > first.runs[0]!.fence);
  await second.stop();
  t.equal(clock.waiting(), 0, 'nothing is left behind');
});

void t.test('another asks at the moment at which a lease ends that nobody renews', async (t) => {
  const { clock, keeper, deps } = world();
  const leases = keeper.open();
  const first = started(deps('a', { ...leases, renew: () => new Promise<never>(() => {}) }));
  await until(() => first.runs.length === 1, 'the first works');
  await clock.advance(1_234);
  const second = started(deps('b'));
  await clock.advance(LEASE_TTL_MS - 1_234 - 1);
  t.equal(second.runs.length, 0);
  await clock.advance(1);
  await until(() => second.runs.length === 1, 'the second works');
  await Promise.all([first.stop(), second.stop()]);
});

void t.test(
  'a process that was frozen is told that its lease is lost, and works again when it holds it again',
  async (t) => {
    const { clock, keeper, deps, logger } = world();
    const work = started(deps('a'));
    await until(() => work.runs.length === 1, 'it works');
    keeper.kill('a');
    const other = keeper.open();
    const lease = (await other.acquire('relay', 'b', 60_000))!;
    await clock.advance(LEASE_TTL_MS / 3);
    await until(() => work.runs[0]!.lost.aborted, 'it is told');
    t.match(logger.lines, [{ level: 'warn', fields: { lease: 'relay', fence: work.runs[0]!.fence } }]);
    await clock.advance(30_000);
    t.equal(work.runs.length, 1);
    await other.release(lease);
    await clock.advance(2_000);
    await until(() => work.runs.length === 2, 'it works again');
    await work.stop();
  },
);

void t.test('where the keeper does not answer, the work ends before another can have the lease', async (t) => {
  for (const renew of [() => Promise.reject(new Error('away')), () => new Promise<never>(() => {})]) {
    const { clock, keeper, deps } = world();
    const work = started(deps('a', { ...keeper.open(), renew }));
    await until(() => work.runs.length === 1, 'it works');
    await clock.advance(LEASE_TTL_MS - 1);
    t.notOk(work.runs[0]!.signal.aborted, 'it may still be sure');
    t.equal(await keeper.open().acquire('relay', 'b', 1_000), undefined);
    await clock.advance(1);
    await until(() => work.runs[0]!.lost.aborted, 'it cannot be sure any more');
    await work.stop();
  }
});

void t.test('a renewal that fails now and then harms nothing', async (t) => {
  const { clock, keeper, deps } = world();
  const leases = keeper.open();
  let calls = 0;
  const flaky: Leases = {
    ...leases,
    renew: (...call) => ((calls += 1) % 2 === 1 ? Promise.reject(new Error('away')) : leases.renew(...call)),
  };
  const work = started(deps('a', flaky));
  await until(() => work.runs.length === 1, 'it works');
  await clock.advance(20 * LEASE_TTL_MS);
  t.ok(calls > 20);
  t.notOk(work.runs[0]!.signal.aborted);
  await work.stop();
});

void t.test('a fault of the work is reported, and the lease is free for the next', async (t) => {
  const { keeper, deps } = world();
  const work = started(deps('a'), () => Promise.reject(new Error('broken')));
  await t.rejects(work.done, { message: 'broken' });
  t.equal(await keeper.open().read('relay'), undefined);
});

void t.test('work that ends by itself is not begun again at once, and the lease is free for the next', async (t) => {
  const { keeper, deps } = world();
  const work = started(deps('a'), async () => {});
  await work.done;
  t.equal(work.runs.length, 1, 'whoever started it decides about the pause');
  t.equal(await keeper.open().read('relay'), undefined);
});

// After five years the record of an archived email goes, and that of a bulk send after those of its emails; what is
// counted stays.

void t.test('records go in time, one that was deleted is gone already, and a rebuild gives the same', async (t) => {
  let isBelieved = true;
  const world = await openProcessorWorld(t, { mayDestroy: () => isBelieved });
  const { readModels, commands } = world;
  const { eventLog, limits } = world.deps;
  const queries = makeQueries({
    keys: memoryKeys(),
    readModels,
    clock: world.clock,
    limits,
    awaitOwnWrites: () => Promise.resolve(),
  });
  /** Beside stubs. */
  const shown = async () => (await readModels.find(EMAILS, { where: {}, limit: 10 })).filter(({ gone }) => gone !== 1);
  const lines = async () => {
    await world.settled();
    const told = await readRetentionLines({ ...world.deps, readModels }, world.clock.now());
    return Object.fromEntries(told.map(({ name, due, oldest, next }) => [name, [due, oldest, next]]));
  };
  const typesOf = async (stream: Parameters<typeof eventLog.load>[0]) =>
    (await eventLog.load(stream)).map(({ event }) => event.type);

  world.run(workersOf(world.processing, makeProcessors(world.processing)));
  const alone = await world.send();
  const deleted = await world.send();
  const batch = await acceptBulk(world, bulk(2));
  const ofBatch = [0, 1].map((index) => emailIdInBatch(batch, index));
  for (const id of [alone, deleted]) await world.reaches(id, 'sent');
  await until(async () => {
    await world.clock.advance(500);
    return (await typesOf(batchStream(batch))).includes('BatchCompleted');
  }, 'the bulk send is completed');
  await commands.deleteEmail(caller, deleted);
  const range = { startDate: T0.slice(0, 10), endDate: T0.slice(0, 10), days: 1 };
  const summaries = async () => {
    await world.settled();
    return (await makeAnalyticsQueries({ readModels, clock: world.clock }).analyticsOverview(TEAM, range, {})).totals;
  };
  const counted = await summaries();
  t.match(counted, { accepted: 4, sent: 4 });

  await world.clock.set(Date.parse(T0) + RETENTION_MS + 60_000);
  await until(async () => {
    await world.clock.advance(500);
    return (await typesOf(emailStream(ofBatch[1]!))).includes('EmailArchived') && (await lines())['emails']![0] === 0;
  }, 'all are archived');
  const { archivedEmails, bulkSends } = await lines();
  t.match(archivedEmails, [0, null, String]);
  t.match(bulkSends, [0, null, String]);

  isBelieved = false;
  await world.clock.set(Date.parse(T0) + RETENTION_MS + ARCHIVE_MS + DAY_MS);
  for (let look = 0; look < 30; look += 1) await world.clock.advance(500);
  t.match(
    await lines(),
    { archivedEmails: [3, String, null], bulkSends: [1, String, null] },
    'nothing while the clock is not believed',
  );
  t.match(await commands.getEmail(caller, alone), { archived: true, status: 'sent' });

  isBelieved = true;
  await until(async () => {
    await world.clock.advance(500);
    const now = await lines();
    return now['archivedEmails']![0] === 0 && now['bulkSends']![0] === 0;
  }, 'the records have gone');
  t.match(await lines(), { archivedEmails: [0, null, null], bulkSends: [0, null, null] });
  t.same((await typesOf(emailStream(alone))).slice(-2), ['EmailArchived', 'EmailRemoved']);
  t.notOk(
    (await typesOf(emailStream(deleted))).includes('EmailRemoved'),
    'of what was deleted there is no record that could go',
  );
  for (const id of [alone, ...ofBatch]) {
    await refusedWith(t, commands.getEmail(caller, id), 'EMAIL_NOT_FOUND');
    await refusedWith(t, commands.deleteEmail(caller, id), 'EMAIL_NOT_FOUND');
    await refusedWith(t, commands.retryEmail(caller, id), 'EMAIL_NOT_FOUND');
  }
  await refusedWith(t, commands.cancelBatch(caller, batch), 'BATCH_NOT_FOUND');
  t.same(await shown(), []);
  const batches = await readModels.find(BATCHES, { where: {}, limit: 10 });
  t.same(
    batches.map(({ gone }) => gone),
    [1],
    'of a bulk send whose events are in the log its place is left',
  );
  t.match(await queries.listEmails(TEAM, {}, { page: 1, limit: 20 }), { data: [], meta: { total: 0 } });
  t.same(await summaries(), counted, 'what is counted stays');

  const projection = emailsProjection(PERIODS);
  t.equal((await compareWithRebuild(projection, { eventLog, readModels })).difference, undefined);
  await rebuildProjection(projection, { eventLog, readModels });
  t.same(await summaries(), counted, 'after a rebuild, too');
  t.same(await shown(), []);
});

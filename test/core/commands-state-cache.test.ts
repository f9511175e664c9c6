/**
 * States served from memory: how old they may be, what is read where the subscription is behind, and what of one's own
 * holds at once.
 */
import t, { type Test } from 'tap';
import { handle } from '../../src/commands/core/handle.js';
import { openStateCache } from '../../src/commands/core/state-cache.js';
import { AppendUnknown } from '../../src/domain/core/errors.js';
import type { StreamName } from '../../src/domain/core/ids.js';
import type { EventStore } from '../../src/domain/ports/event-store.js';
import type { LedgerEvent } from '../../src/domain/teams/events.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { openWorld } from '../support/command-world.js';
import { T0, TEAM_ID } from '../support/email-facts.js';
import { eventually } from '../support/wait.js';

const counter = {
  decide: (by: number, _count: number): readonly LedgerEvent[] => [
    { type: 'LedgerSealed', data: { at: T0, position: by, count: 0, root: '' } },
  ],
  evolve: (count: number, event: LedgerEvent) => (event.type === 'LedgerSealed' ? count + event.data.position : count),
  initialState: 0,
};
const FRESHNESS_MS = 1_000;
const cause = { teamId: TEAM_ID, actor: 'test', correlationId: 'c', causationId: 'c', at: T0 };
const names = ['team-1', 'team-2', 'team-3'] as StreamName[];
const stream = names[0]!;
const count = (eventLog: EventLog, name: StreamName = stream) => handle(eventLog, name, counter, 1, cause);

/** A cache over a log that another process writes to. */
const openCache = async (t: Test, { statesMax = 10 } = {}) => {
  const world = await openWorld();
  const asked: string[] = [];
  let heads = 0;
  let hold: Promise<void> | undefined;
  const store: EventStore = {
    ...world.store,
    head: () => {
      heads += 1;
      return world.store.head();
    },
    subscribeAll: async function* (after, options) {
      for await (const batch of world.store.subscribeAll(after, options)) {
        await hold;
        if (options.signal.aborted) return;
        yield batch;
      }
    },
  };
  const eventLog: EventLog = {
    ...world.elsewhere().eventLog,
    load: (name, from = 0) => {
      asked.push(`${name}@${from}`);
      return world.deps.eventLog.load(name, from);
    },
  };
  const cache = openStateCache({ eventLog, store, clock: world.clock, freshnessMs: FRESHNESS_MS });
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  return {
    ...world,
    cache,
    load: cache.loader(counter, statesMax),
    elsewhereLog: world.elsewhere().eventLog,
    asked,
    heads: () => heads,
    stop,
    /** Begins to follow the log. */
    follow: async (): Promise<Readonly<{ ended: Promise<void> }>> => {
      const before = heads;
      const ended = cache.follow(stop.signal);
      await eventually('it follows', () => heads > before);
      await turns();
      return { ended };
    },
    holdSubscription: (until: Promise<void>): void => {
      hold = until;
    },
  };
};

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

void t.test('without a subscription a state is never older than the call, and only the new part is read', async (t) => {
  const { load, asked, elsewhereLog } = await openCache(t);
  t.match(await load(stream), { state: 0, version: { revision: -1 }, teamId: undefined });
  for (const expected of [1, 2, 3]) {
    await count(elsewhereLog);
    t.match(await load(stream), { state: expected, version: { revision: expected - 1 }, teamId: TEAM_ID });
  }
  t.same(asked, ['team-1@0', 'team-1@0', 'team-1@1', 'team-1@2']);
});

void t.test('of more states than there is room for, those used last are kept', async (t) => {
  const { load, asked, elsewhereLog } = await openCache(t, { statesMax: 2 });
  for (const name of names) await count(elsewhereLog, name);
  for (const index of [0, 1, 0, 2, 0]) await load(names[index]!);
  const whole = (): string[] => asked.filter((what) => what.endsWith('@0'));
  t.same(whole(), ['team-1@0', 'team-2@0', 'team-3@0'], 'the first was used in between, so the second had to go');
  await load(names[1]!);
  t.equal(whole().at(-1), 'team-2@0');
});

void t.test(
  'where the log is followed a state comes from memory, and what others append within the bound',
  async (t) => {
    const { load, asked, elsewhereLog, follow } = await openCache(t);
    await count(elsewhereLog);
    await follow();
    t.match(await load(stream), { state: 1 });
    for (let time = 0; time < 10; time += 1) t.match(await load(stream), { state: 1 });
    await count(elsewhereLog);
    await turns();
    t.match(await load(stream), { state: 2 });
    t.match(await load(stream), { state: 2 });
    t.same(asked, ['team-1@0', 'team-1@1']);
  },
);

void t.test('own appends hold at once, those that were refused and those of which nothing is known too', async (t) => {
  const { load, asked, cache, elsewhereLog, store, clock, follow, holdSubscription } = await openCache(t);
  await follow();
  holdSubscription(new Promise(() => {}));
  await count(cache.eventLog);
  t.match(await load(stream), { state: 1 });
  await count(cache.eventLog);
  t.match(await load(stream), { state: 2 });
  t.match(await load(stream), { state: 2 });
  await count(elsewhereLog);
  t.match(await load(stream), { state: 2 }, 'nobody has told yet');
  await count(cache.eventLog);
  t.match(await load(stream), { state: 4 });
  store.loseAnswers([
    'not written',
    'not written',
    'not written',
    'not written',
    'not written',
    'not written',
    'not written',
  ]);
  let fault: unknown;
  void count(cache.eventLog).catch((error: unknown) => (fault = error));
  while (fault === undefined) await clock.advance(100);
  t.ok(fault instanceof AppendUnknown);
  asked.length = 0;
  for (let time = 0; time < 3; time += 1) t.match(await load(stream), { state: 4 });
  t.equal(asked.length, 3, 'it may be written at any time, so it is read');
  await count(elsewhereLog);
  t.match(await load(stream), { state: 5 });
});

void t.test('where the subscription is behind for longer than the bound the stream is read', async (t) => {
  const { load, asked, elsewhereLog, clock, follow, holdSubscription } = await openCache(t);
  await count(elsewhereLog);
  await follow();
  await load(stream);
  let letGo = (): void => {};
  holdSubscription(new Promise((resolve) => (letGo = resolve)));
  await count(elsewhereLog);
  await clock.advance(FRESHNESS_MS - 1);
  t.match(await load(stream), { state: 1 }, 'within the bound it may be old');
  await clock.advance(1);
  t.match(await load(stream), { state: 2 });
  await count(elsewhereLog);
  t.match(await load(stream), { state: 3 });
  t.same(asked, ['team-1@0', 'team-1@1', 'team-1@2']);
  letGo();
  await turns();
  await load(stream);
  await turns();
  asked.length = 0;
  t.match(await load(stream), { state: 3 });
  t.same(asked, [], 'caught up, it is served from memory again');
});

void t.test('the head is asked for as time goes by, not with each call', async (t) => {
  const { load, elsewhereLog, clock, heads, asked, follow } = await openCache(t);
  await count(elsewhereLog);
  await follow();
  await load(stream);
  const before = heads();
  for (let step = 0; step < 100; step += 1) {
    for (let call = 0; call < 20; call += 1) await load(stream);
    await clock.advance(100);
  }
  t.ok(heads() - before <= 20, 'at most twice within the bound');
  t.same(asked, ['team-1@0'], 'and nothing was read');
});

void t.test('a subscription that ends is no ground to serve old states, and the next one begins anew', async (t) => {
  const { load, asked, elsewhereLog, follow, stop, cache } = await openCache(t);
  await count(elsewhereLog);
  const { ended } = await follow();
  await load(stream);
  stop.abort();
  await ended;
  await count(elsewhereLog);
  t.match(await load(stream), { state: 2 });
  const again = new AbortController();
  t.teardown(() => again.abort());
  await count(elsewhereLog);
  void cache.follow(again.signal);
  await turns();
  t.match(await load(stream), { state: 3 });
  t.match(await load(stream), { state: 3 });
  t.same(asked, ['team-1@0', 'team-1@1', 'team-1@0']);
});

void t.test('a reading that is older than what the subscription told of is not kept', async (t) => {
  const { cache, elsewhereLog, follow, deps, clock, store } = await openCache(t);
  let lag: number | undefined;
  const lagging: EventLog = {
    ...deps.eventLog,
    load: async (name, from) =>
      (await deps.eventLog.load(name, from)).filter(({ revision }) => lag === undefined || revision <= lag),
  };
  const behind = openStateCache({ eventLog: lagging, store, clock, freshnessMs: FRESHNESS_MS });
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  void behind.follow(stop.signal);
  await follow();
  const load = behind.loader(counter, 10);
  await count(elsewhereLog);
  await load(stream);
  lag = 0;
  await count(cache.eventLog);
  await turns();
  t.match(await load(stream), { state: 1 }, 'the reading lags');
  lag = undefined;
  t.match(await load(stream), { state: 2 }, 'and so it was asked for again');
  t.match(await load(stream), { state: 2 });
});

void t.test(
  'a revocation is answered when it holds everywhere: at once where no other process serves, else after the bound',
  async (t) => {
    const alone = await openWorld();
    await alone.deps.whenHeldEverywhere();
    const beside = await openWorld({}, async () => false);
    let held = false;
    void beside.deps.whenHeldEverywhere().then(() => (held = true));
    await beside.clock.whenWaiting(1);
    await beside.clock.advance(beside.deps.limits.stateFreshnessMs - 1);
    t.equal(held, false);
    await beside.clock.advance(1);
    t.equal(held, true);
  },
);

void t.test('what a command has read holds at once: it may have found that there is nothing left to do', async (t) => {
  const { load, cache, elsewhereLog, follow, holdSubscription } = await openCache(t);
  await follow();
  await count(cache.eventLog);
  t.match(await load(stream), { state: 1 });
  holdSubscription(new Promise(() => {}));
  await count(elsewhereLog);
  t.match(await load(stream), { state: 1 }, 'nobody has told yet');
  await handle(cache.eventLog, stream, { ...counter, decide: () => [] }, 0, cause);
  t.match(await load(stream), { state: 2 });
});

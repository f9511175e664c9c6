/** Appends that come late, and work that gives way. */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { systemClock } from '../../src/adapters/clock/system.js';
import { openEventStoreDb } from '../../src/adapters/event-store/eventstoredb.js';
import { openSqliteEventStore } from '../../src/adapters/event-store/sqlite.js';
import { LeaseSuperseded, WrongExpectedRevision } from '../../src/domain/core/errors.js';
import { LEDGER_STREAM, type StreamName } from '../../src/domain/core/ids.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { EventStore } from '../../src/domain/ports/event-store.js';
import { GIVE_WAY_MS, openGivingWay } from '../../src/event-log/decode.js';
import { openEventLog, startOf, type EventLog } from '../../src/event-log/event-log.js';
import { verifyLog } from '../../src/event-log/verification.js';
import { sealOnce } from '../../src/processors/audit/ledger.js';
import { LEASE_TTL_MS, underLease, type Held } from '../../src/processors/core/lease.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { queued, T0, TEAM_ID } from '../support/email-facts.js';
import { openServerLog } from '../support/eventstoredb/log.js';
import { openStandIn } from '../support/eventstoredb/server.js';
import { fakeClock } from '../support/fake-clock.js';
import { leaseKeeper, type LeaseKeeper } from '../support/memory-leases.js';
import { countingIds, memoryFiles, memoryKeys, memoryLog } from '../support/memory-ports.js';
import { openTcpRelay } from '../support/tcp-relay.js';

// A process that is frozen past its lease with an append on its way: whenever the append arrives, it is refused or does
// no harm, on each store, and within the stream no fencing number falls.

const LEASE = 'seal-ledger';
const limits = { ...defaultLimits, ledgerSealEveryEvents: 100 };

/** Opens the same log once more, as another process does. */
type OpenStore = () => Promise<EventStore>;

const onSqlite = (t: Test): Promise<OpenStore> => {
  const file = join(temporaryDirectory(t), 'events.db');
  return Promise.resolve(async () => openSqliteEventStore({ file }));
};

const standIn = async (t: Test) => {
  const server = await openStandIn({ log: openServerLog() });
  t.teardown(server.close);
  return server;
};

const onEventStoreDb = async (t: Test): Promise<OpenStore> => {
  const { url } = await standIn(t);
  return () => openEventStoreDb({ url, clock: systemClock(), logger: memoryLog() });
};

const later = <Value>(): Readonly<{ promise: Promise<Value>; resolve: (value: Value) => void }> => {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((fulfil) => (resolve = fulfil));
  return { promise, resolve };
};

/** Each process makes ids of its own. */
let idsBegun = 0;

/** One process: its clock stands still while it is frozen, and `held` is what its lease has given it. */
const processOn = async (t: Test, keeper: LeaseKeeper, worker: string, store: EventStore) => {
  const clock = fakeClock();
  const ports = {
    keys: memoryKeys(),
    files: memoryFiles(),
    ids: countingIds((idsBegun += 1_000_000)),
    clock: systemClock(),
    limits,
  };
  const eventLog = openEventLog({ store, ...ports });
  const stop = new AbortController();
  const given = later<Held>();
  const deps = { leases: keeper.open(), clock, logger: memoryLog(), worker };
  const running = underLease(deps, LEASE, stop.signal, (held) => {
    given.resolve(held);
    return new Promise((resolve) => held.signal.addEventListener('abort', () => resolve(), { once: true }));
  });
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  t.teardown(end);
  t.teardown(() => store.close());
  const held = await given.promise;
  const seal = (): Promise<number> =>
    sealOnce({ eventLog, store, limits, clock }, new AbortController().signal, held.fence);
  return { eventLog, held, clock, seal };
};

/** A store whose next append waits on its way until it is let go. */
const holding = (store: EventStore) => {
  const [arrived, released] = [later<void>(), later<void>()];
  let isFirst = true;
  const append: EventStore['append'] = async (...given) => {
    if (isFirst) {
      isFirst = false;
      arrived.resolve();
      await released.promise;
    }
    return store.append(...given);
  };
  return { store: { ...store, append }, arrived: arrived.promise, release: released.resolve };
};

let emails = 0;
const sendOne = async (eventLog: EventLog): Promise<void> => {
  const stream = `email-${(emails += 1)}` as StreamName;
  await eventLog.append(stream, startOf(stream), [queued], {
    ...{ teamId: TEAM_ID, actor: 'system', correlationId: 'c', causationId: 'c', at: T0 },
  });
};

const fencesOf = async (store: EventStore): Promise<readonly unknown[]> =>
  (await store.readStream(LEDGER_STREAM)).map(({ metadata }) => (JSON.parse(metadata) as { fence?: number }).fence);

const world = async (t: Test, open: OpenStore, frozenOn: EventStore) => {
  const keeperClock = fakeClock();
  const keeper = leaseKeeper(keeperClock);
  const plain = await open();
  t.teardown(() => plain.close());
  const writing = openEventLog({
    ...{
      store: plain,
      keys: memoryKeys(),
      files: memoryFiles(),
      ids: countingIds((idsBegun += 1_000_000)),
      clock: systemClock(),
      limits,
    },
  });
  await sendOne(writing);
  const frozen = await processOn(t, keeper, 'frozen', frozenOn);
  /** The lease ends while its holder stands still, and another process takes it. */
  const takeOver = async (store: EventStore) => {
    await keeperClock.advance(LEASE_TTL_MS + 1);
    return processOn(t, keeper, 'next', store);
  };
  const wake = async (): Promise<void> => {
    await frozen.clock.advance(LEASE_TTL_MS + 1);
    t.ok(frozen.held.lost.aborted, 'who wakes knows that its lease is lost');
  };
  return { plain, frozen, takeOver, wake, send: () => sendOne(writing) };
};

for (const [name, openAll] of Object.entries({ 'a SQLite file': onSqlite, EventStoreDB: onEventStoreDb })) {
  void t.test(`${name}: an append that arrives after the next holder has appended is refused`, async (t) => {
    const open = await openAll(t);
    const late = holding(await open());
    const { plain, frozen, takeOver, wake, send } = await world(t, open, late.store);
    const stale = frozen.seal();
    await late.arrived;
    const next = await takeOver(await open());
    t.ok(next.held.fence > frozen.held.fence);
    t.equal(await next.seal(), 1);
    late.release();
    await t.rejects(stale, WrongExpectedRevision);
    await send();
    await t.rejects(frozen.seal(), LeaseSuperseded, 'nor is it tried again under the old lease, before it has noticed');
    await wake();
    t.equal(await next.seal(), 1);
    t.same(await fencesOf(plain), [next.held.fence, next.held.fence]);
    t.match(await verifyLog(plain, undefined), { seals: 2, finding: undefined });
  });

  void t.test(
    `${name}: an append that arrives before the next holder's first is kept, and the next goes on behind it`,
    async (t) => {
      const open = await openAll(t);
      const [late, beatenOn] = [holding(await open()), holding(await open())];
      const { plain, frozen, takeOver, wake, send } = await world(t, open, late.store);
      const stale = frozen.seal();
      await late.arrived;
      const next = await takeOver(beatenOn.store);
      const beaten = next.seal();
      await beatenOn.arrived;
      late.release();
      t.equal(await stale, 1);
      beatenOn.release();
      await t.rejects(beaten, WrongExpectedRevision, 'who loaded before it decides anew');
      await wake();
      await send();
      t.equal(await next.seal(), 1);
      t.same(await fencesOf(plain), [frozen.held.fence, next.held.fence]);
      t.match(await verifyLog(plain, undefined), { seals: 2, finding: undefined });
    },
  );
}

void t.test(
  'EventStoreDB: an append that the network holds back while its lease ends is settled as refused',
  async (t) => {
    const { url } = await standIn(t);
    const [, host = '', port = ''] = /\/\/([^:/]+):(\d+)/.exec(url) ?? [];
    const relay = await openTcpRelay({ host, port: Number(port) });
    t.teardown(relay.close);
    const open = (at: string): Promise<EventStore> =>
      openEventStoreDb({ url: at, clock: systemClock(), logger: memoryLog(), times: { appendMs: 60_000 } });
    const late = holding(await open(url.replace(`:${port}`, `:${relay.port}`)));
    const { plain, frozen, takeOver, wake } = await world(t, () => open(url), late.store);
    const stale = frozen.seal();
    await late.arrived;
    relay.hold('requests');
    late.release();
    const next = await takeOver(await open(url));
    t.equal(await next.seal(), 1);
    relay.release();
    await t.rejects(stale, WrongExpectedRevision);
    await wake();
    t.same(await fencesOf(plain), [next.held.fence]);
  },
);

// When a reader of the log passes over events of a newer program, and when it stops for that program.

const opened = () => {
  let nowMs = 0;
  const givingWay = openGivingWay({ monotonic: () => nowMs });
  return { ...givingWay, at: (ms: number) => void (nowMs = ms) };
};

void t.test('it stops until the newer program has had its time, then passes over all up to the head', async (t) => {
  const { begin, passes, at } = opened();
  begin(20);
  t.equal(passes({ position: 5 }), false);
  at(GIVE_WAY_MS - 1);
  begin(20);
  t.equal(passes({ position: 5 }), false);
  at(GIVE_WAY_MS);
  begin(20);
  t.equal(passes({ position: 5 }), true);
  t.equal(passes({ position: 20 }), true);
});

void t.test('an event that is appended meanwhile is waited for anew', async (t) => {
  const { begin, passes, at } = opened();
  begin(20);
  passes({ position: 5 });
  at(GIVE_WAY_MS);
  begin(20);
  t.equal(passes({ position: 5 }), true);
  t.equal(passes({ position: 21 }), false);
  at(2 * GIVE_WAY_MS);
  t.equal(passes({ position: 21 }), false, 'it is behind the head that this run has seen');
  begin(21);
  t.equal(passes({ position: 21 }), true);
});

/** Two years after a month of the audit log its streams leave the log: exports, seals and a rebuild hold without them. */
import t, { type Test } from 'tap';
import { checkExport } from '../../src/cli/audit.js';
import { openAuditExport } from '../../src/commands/audit/export.js';
import { forgetAllOrigins } from '../../src/commands/access/origins.js';
import { eraseAll } from '../../src/commands/core/erase.js';
import { isOfLog } from '../../src/commands/core/log-notes.js';
import type { Caller } from '../../src/commands/core/caller.js';
import { callOrigin, monthOf } from '../../src/domain/access/origins.js';
import { auditOriginsStream, auditStream, type StreamName } from '../../src/domain/core/ids.js';
import { startOf, type Cause } from '../../src/event-log/event-log.js';
import { oldAuditStreams } from '../../src/event-log/retirement.js';
import { verifyLog } from '../../src/event-log/verification.js';
import { forgetAuditWorker, sealOnce } from '../../src/processors/audit/ledger.js';
import { retireAll, type RetireStreamsDeps } from '../../src/processors/retention/retirement.js';
import { auditProjection, overdueAudit } from '../../src/projections/audit/audit.js';
import { rebuildProjection, compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { caller, openWorld, TEAM, type World } from '../support/command-world.js';
import { DAY_MS } from '../support/email-facts.js';
import { leaseKeeper } from '../support/memory-leases.js';
import { openDocuments } from '../support/projected.js';
import { eventually } from '../support/wait.js';

const DAYS = 731;
const READS = 2_300;
const never = new AbortController().signal;
const projection = auditProjection(DAYS);
const who: Caller = { ...caller, calledFrom: () => callOrigin('192.0.2.7', 'Popocatepetl') };
const quiet = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} } as never;

const seal = (world: World): Promise<number> => sealOnce({ ...world.deps, store: world.store }, never);

/** A month with a key that was made, and so many reads that more than one event tells what leaves. */
const openYears = async (t: Test) => {
  const world = await openWorld();
  const { eventLog } = world.deps;
  await world.commands.createApiKey(who, { name: 'old', permissions: ['emails:send'] });
  const at = new Date(world.clock.now()).toISOString();
  const month = monthOf(at);
  const [reads, origins] = [auditStream(TEAM, month), auditOriginsStream(TEAM, month)];
  const cause: Cause = { teamId: TEAM, actor: 'apiKey:1', correlationId: 'r', causationId: 'r', at };
  let version = startOf(reads);
  for (let n = 0; n < READS; n += 100) {
    const counted = { at, minute: at, what: 'read' as const, action: 'email.read', code: null };
    const events = Array.from({ length: 100 }, (_, i) => ({ type: 'CallsCounted' as const, data: { ...counted, count: n + i + 1 } }));
    version = await eventLog.append(reads, version, events, cause);
  }
  await seal(world);
  const readModels = openDocuments(t);
  const project = (): Promise<unknown> => rebuildProjection(projection, { eventLog, readModels });
  await project();
  const exported = async (): Promise<string> => {
    const pieces: string[] = [];
    const deps = { ...world.deps, store: world.store };
    for await (const piece of await openAuditExport(deps, { teamId: TEAM, format: 'jsonl' }, {}, async () => {})) pieces.push(piece);
    return pieces.join('');
  };
  const entriesOf = async (text: string): Promise<number | string> => {
    const result = await checkExport(
      (async function* () {
        yield text;
      })(),
    );
    return 'line' in result ? result.message : result.entries;
  };
  const forget = async (): Promise<void> => {
    const stop = new AbortController();
    const sleeping = world.clock.waiting();
    const worker = forgetAuditWorker({
      ...world.deps,
      leases: leaseKeeper(world.clock).open(),
      worker: 'w1',
      logger: quiet,
      mayDestroy: () => true,
      overdue: (now, upTo, limit) => overdueAudit(readModels, now, upTo, limit),
      auditCaughtUp: async () => void (await project()),
    });
    const running = worker.run(stop.signal);
    await eventually('it has looked', () => world.clock.waiting() > sleeping + 1);
    stop.abort();
    await running;
    await project();
  };
  const deps: RetireStreamsDeps = {
    ...world.deps,
    leases: leaseKeeper(world.clock).open(),
    worker: 'w1',
    logger: quiet,
    mayDestroy: () => true,
    store: world.store,
    isFull: async () => false,
    due: async () => [],
    dueWhole: async () => [],
    emailsCaughtUp: async () => {},
  };
  const old = async (): Promise<readonly StreamName[]> =>
    (await oldAuditStreams(world.deps, world.clock.now(), { limit: 100 })).over.map(({ stream }) => stream);
  const typesIn = (stream: string): readonly string[] => [
    ...new Set(world.store.events.filter((event) => event.stream === stream).map(({ type }) => type)),
  ];
  const sound = async (t: Test): Promise<void> => {
    t.equal((await verifyLog(world.store, undefined, { keys: world.deps.keys })).finding, undefined);
    t.equal((await compareWithRebuild(projection, { eventLog, readModels })).difference, undefined);
  };
  return { world, deps, reads, origins, month, exported, entriesOf, forget, old, typesIn, sound, project };
};

void t.test('of a month that is over nothing stays but hashes', async (t) => {
  const { world, deps, reads, origins, exported, entriesOf, forget, old, typesIn, sound } = await openYears(t);
  const before = await exported();
  t.equal(await entriesOf(before), READS + 2);
  t.same(await old(), [], 'nothing is over yet');
  await world.clock.advance((DAYS + 40) * DAY_MS);
  await world.commands.createApiKey(who, { name: 'new', permissions: ['emails:send'] });
  await forget();
  await seal(world);
  t.same([...(await old())].sort(), [reads, origins].sort());
  t.equal(await retireAll(deps, new Set(await old()), never), 2);
  for (const stream of [reads, origins]) t.same(typesIn(stream), ['StreamRetired.v1']);
  t.same(await old(), []);
  await sound(t);
  const { retired } = await verifyLog(world.store, undefined, { keys: world.deps.keys });
  t.equal(retired, READS + 2, 'reads, and two of from where was called');
  t.equal(await retireAll(deps, new Set([reads, origins]), never), 0, 'once');

  await t.test('exports of before and after prove what they say', async (t) => {
    t.equal(await entriesOf(before), READS + 2, 'of before');
    await seal(world);
    const after = await exported();
    t.equal(await entriesOf(after), 1, 'of what is kept');
    const rootsIn = (text: string): readonly string[] => [...text.matchAll(/"root":"([0-9a-f]{64})"/g)].map(([, root]) => root!);
    const sealed = world.store.events.filter(({ type }) => type.startsWith('LedgerSealed')).map(({ data }) => data);
    for (const root of [...rootsIn(before), ...rootsIn(after)])
      t.ok(
        sealed.some((data) => data.includes(root)),
        `${root} is a seal of the log`,
      );
  });

  await t.test('one that comes late is kept, and nothing is made anew', async (t) => {
    const month = origins.slice(origins.indexOf('.') + 1);
    const late: Cause = { teamId: TEAM, actor: 'apiKey:1', correlationId: 'r', causationId: 'r', at: `${month}-28T00:00:00.000Z` };
    t.equal(await world.deps.origins.keep(late, callOrigin('192.0.2.8', 'late')), undefined);
    await forgetAllOrigins(world.deps.eventLog, TEAM, DAYS, { ...late, at: new Date(world.clock.now()).toISOString() });
    t.same(typesIn(origins), ['StreamRetired.v1'], 'it is forgotten already');
    await sound(t);
  });
});

void t.test('broken off after each write, it goes on', async (t) => {
  for (let broken = 1; broken <= 4; broken += 1) {
    const { world, deps, reads, forget, old, typesIn, sound } = await openYears(t);
    await world.clock.advance((DAYS + 40) * DAY_MS);
    await forget();
    await seal(world);
    let writes = 0;
    const failing =
      <Args extends unknown[], Out>(work: (...args: Args) => Promise<Out>) =>
      async (...args: Args): Promise<Out> => {
        writes += 1;
        if (writes >= broken) throw new Error('the disk is full');
        return work(...args);
      };
    const { append } = world.deps.eventLog;
    const eventLog = { ...world.deps.eventLog, append: failing(append) as typeof append };
    const store = Object.assign(Object.create(world.store) as typeof world.store, { truncate: failing(world.store.truncate) });
    await t.rejects(retireAll({ ...deps, eventLog, store }, new Set(await old()), never), 'the disk is full');
    await sound(t);
    t.equal(typesIn(reads).includes('CallsCounted.v1'), true, `broken off at write ${broken}: all is there`);
    await seal(world);
    await retireAll(deps, new Set(await old()), never);
    await retireAll(deps, new Set(), never);
    t.same(typesIn(reads), ['StreamRetired.v1'], `broken off at write ${broken}: it is gone after the next pass`);
    await sound(t);
  }
});

void t.test('while from where was called is not forgotten, or a seal is missing, the stream stays', async (t) => {
  const { world, deps, reads, origins, forget, typesIn } = await openYears(t);
  await world.clock.advance((DAYS + 40) * DAY_MS);
  await retireAll(deps, new Set([origins]), never);
  t.notOk(typesIn(origins).includes('StreamRetired.v1'), 'it is not forgotten');
  await forget();
  await retireAll(deps, new Set([origins]), never);
  t.notOk(typesIn(origins).includes('StreamRetired.v1'), 'no seal covers that it is');
  t.ok(typesIn(reads).includes('CallsCounted.v1'), 'nor is what was not asked for');
});

void t.test('what older copies bring back goes again', async (t) => {
  const { world, deps, reads, origins, forget, old, typesIn, sound } = await openYears(t);
  const seen = world.store.events.findLast(({ stream }) => stream === reads)!;
  const note = { instance: world.store.events[0]!.hash, position: seen.position, hash: seen.hash };
  const { eventLog } = world.deps;
  const key = await eventLog.existingKey(origins);
  t.ok(key, 'it is sealed from where was called');
  const olderKeys = world.keys.copy();
  await world.clock.advance((DAYS + 40) * DAY_MS);
  await forget();
  await seal(world);
  const olderLog = [...world.store.events];
  await retireAll(deps, new Set(await old()), never);

  t.equal(await isOfLog(world.store, note), true, 'an older copy has seen an event that has left the log');
  t.equal(await isOfLog(world.store, { ...note, hash: 'a'.repeat(64) }), false, 'but none that never was in it');
  world.keys.restore(olderKeys);
  t.ok(await eventLog.existingKey(origins), 'the last event names the key that an older copy has');
  await eraseAll({ ...world.deps, store: world.store, keys: world.keys }, 0);
  t.equal(await eventLog.existingKey(origins), undefined, 'it is destroyed again');

  world.store.events.splice(0, world.store.events.length, ...olderLog);
  t.same([...(await old())].sort(), [reads, origins].sort(), 'what a restored log has is found again');
  await sound(t);
  await retireAll(deps, new Set(await old()), never);
  for (const stream of [reads, origins]) t.same(typesIn(stream), ['StreamRetired.v1']);
  await sound(t);
});

/** Years after an email or a bulk send its events leave the log: what is counted stays, and what is left of the log verifies. */
import t, { type Test } from 'tap';
import { retireStream } from '../../src/commands/retention/retirement.js';
import { batchStream, emailStream, type StreamName } from '../../src/domain/core/ids.js';
import { copyLog } from '../../src/event-log/copy.js';
import { openEventLog } from '../../src/event-log/event-log.js';
import { verifyLog } from '../../src/event-log/verification.js';
import { makeProcessors } from '../../src/processors/index.js';
import { retireAll, retireStreamsWorker, type RetireStreamsDeps } from '../../src/processors/retention/retirement.js';
import { sealOnce } from '../../src/processors/audit/ledger.js';
import { makeAnalyticsQueries } from '../../src/projections/analytics/analytics.js';
import { emailsProjection } from '../../src/projections/email/emails.js';
import { compareWithRebuild, rebuildProjection } from '../../src/projections/core/rebuild.js';
import { isDayFull, retirableStreams } from '../../src/projections/retention/retention.js';
import { acceptBulk, bulk } from '../support/bulk.js';
import { caller, TEAM } from '../support/command-world.js';
import { DAY_MS, PERIODS, RETENTION_MS, ARCHIVE_MS, T0 } from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { refusedWith } from '../support/given.js';
import { memoryEventStore } from '../support/memory-ports.js';
import { openDocuments } from '../support/projected.js';
import { openProcessorWorld, until, workersOf } from '../support/processor-world.js';

const projection = emailsProjection(PERIODS);
const never = new AbortController().signal;
const NOW_MS = Date.parse(T0) + RETENTION_MS + ARCHIVE_MS;

/** Two emails, one of them deleted, and a bulk send, whose records are gone. */
const openWorld = async (t: Test) => {
  const world = await openProcessorWorld(t);
  const { readModels, commands } = world;
  const { eventLog, limits } = world.deps;
  const workers = world.run(workersOf(world.processing, makeProcessors(world.processing)));
  const alone = await world.send();
  const deleted = await world.send();
  const batch = await acceptBulk(world, bulk(2));
  const typesOf = async (stream: StreamName) => (await eventLog.load(stream)).map(({ event }) => event.type);
  for (const id of [alone, deleted]) await world.reaches(id, 'sent');
  await until(async () => {
    await world.clock.advance(500);
    return (await typesOf(batchStream(batch))).includes('BatchCompleted');
  }, 'the bulk send is completed');
  await commands.deleteEmail(caller, deleted);
  for (const dueMs of [Date.parse(T0) + RETENTION_MS + 60_000, NOW_MS + DAY_MS]) {
    await world.clock.set(dueMs);
    for (let look = 0; look < 60; look += 1) await world.clock.advance(500);
    await world.settled();
  }
  await until(async () => {
    await world.clock.advance(500);
    return (await typesOf(batchStream(batch))).includes('BatchRemoved') && (await typesOf(emailStream(alone))).includes('EmailRemoved');
  }, 'the records are gone');
  await world.settled();
  await workers.stop();
  const { store } = world;
  const deps: RetireStreamsDeps = {
    ...world.processing,
    ...world.deps,
    store,
    isFull: (teamId, day) => isDayFull(readModels, teamId, day),
    due: (now, limit) => retirableStreams(readModels, now, limit),
    dueWhole: async () => [],
    emailsCaughtUp: () => world.settled(),
  };
  await sealOnce({ eventLog, store, limits, clock: world.clock }, never);
  const range = { startDate: T0.slice(0, 10), endDate: T0.slice(0, 10), days: 1 };
  const totals = async () => {
    await world.settled();
    return (await makeAnalyticsQueries({ readModels, clock: world.clock }).analyticsOverview(TEAM, range, {})).totals;
  };
  const due = async () => (await deps.due(new Date(world.clock.now()).toISOString(), 100)).map(({ stream }) => stream);
  const left = () => new Set(store.events.filter(({ stream }) => /^(email|batch)-/.test(stream)).map(({ type }) => type));
  const sound = async (t: Test) => {
    await world.settled();
    t.equal((await verifyLog(store, undefined, { keys: deps.keys })).finding, undefined);
    t.equal((await compareWithRebuild(projection, { eventLog, readModels })).difference, undefined);
  };
  return { world, deps, store, alone, deleted, batch, totals, due, left, sound };
};

const KEPT = ['BatchRetired.v1', 'EmailRetired.v1', 'EmailSummarised.v1'];

void t.test('after a month more the events are gone, and figures, seals and a rebuild are what they were', async (t) => {
  const { world, deps, store, alone, batch, totals, due, left, sound } = await openWorld(t);
  const before = await totals();
  t.match(before, { accepted: 4, sent: 4 });
  t.equal((await due()).length, 5);
  await world.clock.set(NOW_MS + 33 * DAY_MS);
  world.run(retireStreamsWorker(deps));
  await until(async () => {
    await world.clock.advance(500);
    return !left().has('EmailQueued.v1') && !left().has('BatchQueued.v1');
  }, 'they have left the log');
  await world.settled();
  t.same([...left()].sort(), KEPT);
  t.same(await due(), []);
  t.same(await totals(), before);
  await sound(t);
  const { retired } = await verifyLog(store, undefined);
  t.ok(retired > 15, `${retired} have left`);
  await rebuildProjection(projection, { eventLog: world.deps.eventLog, readModels: world.readModels });
  t.same(await totals(), before, 'after a rebuild, too');
  await refusedWith(t, world.commands.getEmail(caller, alone), 'EMAIL_NOT_FOUND');
  await refusedWith(t, world.commands.retryEmail(caller, alone), 'EMAIL_NOT_FOUND');
  await refusedWith(t, world.commands.cancelBatch(caller, batch), 'BATCH_NOT_FOUND');

  await t.test('a copy of the log verifies, and is counted the same', async (t) => {
    const target = memoryEventStore();
    await copyLog({ source: store, target, onCopied: () => {} });
    const { finding, retired: there } = await verifyLog(target, undefined, { keys: deps.keys });
    t.same([finding, there], [undefined, retired]);
    const eventLog = openEventLog({
      store: target,
      keys: world.keys,
      files: world.deps.files,
      ids: world.deps.ids,
      clock: fakeClock(),
      limits: world.deps.limits,
    });
    const readModels = openDocuments(t);
    await rebuildProjection(projection, { eventLog, readModels });
    const range = { startDate: T0.slice(0, 10), endDate: T0.slice(0, 10), days: 1 };
    t.same((await makeAnalyticsQueries({ readModels, clock: world.clock }).analyticsOverview(TEAM, range, {})).totals, before);
  });

  await t.test('what is changed, removed or slipped in beside them is found', async (t) => {
    const whole = [...store.events];
    const tampered = async (events: typeof whole): Promise<string | undefined> => {
      store.events.splice(0, store.events.length, ...events);
      const { finding } = await verifyLog(store, undefined);
      store.events.splice(0, store.events.length, ...whole);
      return finding?.kind;
    };
    const others = whole.filter(({ stream }) => !/^(email|batch|ledger)/.test(stream));
    const retiring = whole.filter(({ type }) => type.startsWith('EmailRetired'));
    for (const one of [...others.slice(0, 5), ...retiring]) {
      t.equal(await tampered(whole.map((event) => (event === one ? { ...event, data: `${event.data} ` } : event))), 'changed', one.type);
      t.ok(await tampered(whole.filter((event) => event !== one)), `${one.type} removed`);
    }
    const [one] = retiring;
    const wrong = one!.data.replace(/"hashes":\["./, (found) => found.replace(/.$/, (char) => (char === '0' ? '1' : '0')));
    t.not(wrong, one!.data);
    t.ok(await tampered(whole.map((event) => (event === one ? { ...event, data: wrong } : event))), 'another hash of what has left');
  });
});

void t.test('a log that was changed loses nothing', async (t) => {
  const { world, deps, store, due, left } = await openWorld(t);
  const at = store.events.findIndex(({ stream }) => !/^(email|batch|ledger)/.test(stream));
  store.events[at] = { ...store.events[at]!, hash: '0'.repeat(64) };
  t.equal(await retireAll(deps, new Set(await due()), never), 0);
  t.ok(left().has('EmailQueued.v1'));
  t.match(JSON.stringify(world.logger), /nothing leaves the log/);
});

void t.test('what no seal covers stays, and so does an email whose bulk send is there', async (t) => {
  const { world, deps, alone, due } = await openWorld(t);
  const cause = { teamId: TEAM, actor: 'test', correlationId: 'c', causationId: 'c', at: new Date(world.clock.now()).toISOString() };
  t.equal(await retireStream(deps, emailStream(alone), () => undefined, cause), undefined);
  const ofBatch = (await due()).filter((stream) => stream.startsWith('email-') && stream !== emailStream(alone));
  const batches = (await due()).filter((stream) => stream.startsWith('batch-'));
  t.equal(batches.length, 1);
  const { eventLog } = world.deps;
  const isGoing = { ...deps, eventLog: { ...eventLog, last: async () => ({ revision: 3, storedType: 'BatchCompleted.v1' }) } };
  const retired = [];
  for (const stream of ofBatch) retired.push(await retireStream(isGoing, stream, () => 1, cause));
  t.equal(retired.filter((one) => one !== undefined).length, 1, 'that which belongs to none');
});

void t.test('broken off at any of its writes it is finished by the next run', async (t) => {
  for (let at = 1; ; at += 1) {
    const { world, deps, store, totals, due, left, sound } = await openWorld(t);
    const before = await totals();
    let writes = 0;
    const strikes = (): void => {
      writes += 1;
      if (writes === at) throw new Error('the program ends');
    };
    const { eventLog } = deps;
    const broken: RetireStreamsDeps = {
      ...deps,
      eventLog: { ...eventLog, append: (...given) => (strikes(), eventLog.append(...given)) },
      store: { ...store, truncate: (...given) => (strikes(), store.truncate(...given)) },
    };
    const streams = new Set(await due());
    const ended = await retireAll(broken, streams, never).then(
      () => true,
      () => false,
    );
    await sound(t);
    t.same(await totals(), before, `broken off at write ${at}`);
    // It looks for what is left before anything else, and takes up the rest after a month.
    await world.clock.set(NOW_MS + 33 * DAY_MS);
    world.run(retireStreamsWorker(deps));
    await until(async () => {
      await world.clock.advance(500);
      return !left().has('EmailQueued.v1') && !left().has('BatchQueued.v1');
    }, `all have left the log after write ${at}`);
    await world.settled();
    t.same([...left()].sort(), KEPT);
    t.same(await totals(), before);
    await sound(t);
    if (ended) break;
  }
});

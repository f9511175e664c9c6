/**
 * Timers: the schedule, the next attempt, a dialogue that was cut off, the archive; and timers that are only as true as
 * their read model.
 */
import t, { type Test } from 'tap';
import { openMemoryBus } from '../../src/adapters/bus/memory.js';
import { turnsOfLoop } from '../../src/adapters/clock/system.js';
import { archiveEmail, deleteEmail } from '../../src/commands/email/emails.js';
import { causeOf } from '../../src/commands/core/caller.js';
import { emailStream } from '../../src/domain/core/ids.js';
import { senderDueAt } from '../../src/domain/ports/timers.js';
import { makeProcessors } from '../../src/processors/index.js';
import { LEASE_TTL_MS } from '../../src/processors/core/lease.js';
import { DELIVER_EMAIL } from '../../src/processors/email/delivery.js';
import { at, DAY_MS, T0 } from '../support/email-facts.js';
import { caller } from '../support/command-world.js';
import {
  answers,
  deliverEmailWorker,
  openProcessorWorld,
  relayAndTimers,
  timersAndTheirWork,
  until,
  type ProcessorWorld,
} from '../support/processor-world.js';
import { onDistantPorts } from '../support/ports-of-tests.js';

const typesOf = async (world: ProcessorWorld, id: Parameters<typeof emailStream>[0]): Promise<readonly string[]> =>
  (await world.events(emailStream(id))).map(({ type }) => type);
const looked = (world: ProcessorWorld, waits: number): Promise<void> =>
  until(() => world.clock.waiting() >= waits, 'it has looked and waits');

/** `docs/operating.md` states 15 seconds; two of them are left for the delays of a real process. */
const TAKEN_OVER_WITHIN_MS = 13_000;

void t.test('a scheduled email is released when its time comes, once', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send({ scheduledAt: at(60) });
  await world.settled();
  world.run(timersAndTheirWork(world.processing));
  await world.clock.advance(59_500);
  t.same(await typesOf(world, id), ['EmailScheduled']);
  await world.clock.advance(500);
  await until(async () => {
    await world.clock.advance(500);
    return (await world.commands.getEmail(caller, id)).status === 'queued';
  }, 'it is released');
  await world.settled();
  for (let look = 0; look < 20; look += 1) await world.clock.advance(500);
  t.same(await typesOf(world, id), ['EmailScheduled', 'EmailReleased']);
  const [scheduled, released] = await world.deps.eventLog.load(emailStream(id));
  // While messages travel the clock of the test runs on.
  const lateMs = Date.parse(released!.metadata.occurredAt) - Date.parse(at(60));
  t.ok(lateMs >= 0 && (onDistantPorts() || lateMs <= 1_000), 'within two looks');
  t.match(released!.metadata, {
    teamId: caller.teamId,
    actor: 'processor:release-email',
    correlationId: 'request-1',
    causationId: scheduled!.metadata.eventId,
    fence: Number,
  });
});

void t.test(
  'while nothing is due one read a look answers for all queues of a kind of stream, and the bus is not asked for room',
  async (t) => {
    const world = await openProcessorWorld(t);
    await world.send({ scheduledAt: at(3_600) });
    await world.settled();
    const seen = { reads: 0, rooms: 0 };
    world.run(
      timersAndTheirWork({
        ...world.processing,
        readModels: {
          find: (...asked) => {
            seen.reads += 1;
            return world.readModels.find(...asked);
          },
        },
        bus: {
          ...world.bus,
          whenRoom: (...asked) => {
            seen.rooms += 1;
            return world.bus.whenRoom(...asked);
          },
        },
      }),
    );
    await looked(world, 1);
    await world.clock.advance(500);
    const before = { ...seen };
    const looks = 40;
    for (let look = 0; look < looks; look += 1) await world.clock.advance(500);
    const reads = seen.reads - before.reads;
    const kinds = new Set(makeProcessors(world.processing).map(({ kind }) => kind)).size;
    t.ok(reads > 0 && reads <= kinds * (looks + 1), `${reads} reads in ${looks} looks`);
    t.equal(seen.rooms - before.rooms, 0);
  },
);

void t.test('a deferred email is attempted again by the schedule until its attempts are spent', async (t) => {
  const world = await openProcessorWorld(t);
  world.run(relayAndTimers(world.processing));
  world.run(deliverEmailWorker(world.processing));
  world.mailer.next.push(answers('deferred'), answers('deferred'), answers('deferred'));
  const id = await world.send();
  const attempts: number[] = [];
  await until(async () => {
    if (world.mailer.sent.length > attempts.length) attempts.push(world.clock.now() - Date.parse(at(0)));
    if ((await world.commands.getEmail(caller, id)).status === 'failed') return true;
    await world.settled();
    await world.clock.advance(500);
    return false;
  }, 'the attempts are spent');
  t.equal(world.mailer.sent.length, 3);
  t.match(await world.commands.getEmail(caller, id), {
    failureReason: 'attempts-spent',
    attempts: [{ outcome: 'deferred' }, { outcome: 'deferred' }, { outcome: 'failed' }],
  });
  t.ok(attempts[1]! >= 60_000 && attempts[1]! < 66_000, `the second attempt was after ${attempts[1]} ms`);
  t.ok(
    attempts[2]! - attempts[1]! >= 300_000 && attempts[2]! - attempts[1]! < 306_000,
    `the third ${attempts[2]! - attempts[1]!} ms after it`,
  );
  t.equal(new Set(world.mailer.sent.map(({ messageId }) => messageId)).size, 1);
});

void t.test(
  'a dialogue of another process is left alone while that holds its lease, and taken up when it does no more',
  async (t) => {
    const world = await openProcessorWorld(t);
    const id = await world.send();
    world.mailer.next.push(() => new Promise(() => {}));
    void deliverEmailWorker(world.processing).run(new AbortController().signal);
    await world.publish(id);
    await world.reaches(id, 'processing');
    await world.settled();
    const second = openMemoryBus({ clock: world.clock, pointersMax: 10 });
    t.teardown(() => second.close());
    const other = { ...world.processing, bus: second, worker: 'worker-2' };
    world.run(deliverEmailWorker(other));
    world.run(relayAndTimers(other));
    await world.clock.advance(60_000);
    t.equal(world.mailer.sent.length, 1);
    world.keeper.kill(world.processing.worker);
    const killedMs = world.clock.now();
    await until(async () => {
      await world.clock.advance(500);
      return world.mailer.sent.length === 2;
    }, 'it is taken up');
    t.ok(world.clock.now() - killedMs <= TAKEN_OVER_WITHIN_MS, `after ${world.clock.now() - killedMs} ms`);
    await world.reaches(id, 'sent');
  },
);

void t.test(
  'what a killed process led and had begun is taken over in time, though its leases run to their end',
  async (t) => {
    const world = await openProcessorWorld(t);
    let isKilled = false;
    const leases = world.keeper.open();
    const mortal = {
      ...leases,
      renew: (...call: Parameters<typeof leases.renew>) =>
        isKilled ? new Promise<never>(() => {}) : leases.renew(...call),
    };
    const first = { ...world.processing, leases: mortal };
    for (const worker of [deliverEmailWorker(first), relayAndTimers(first)])
      void worker.run(new AbortController().signal);
    await until(async () => (await leases.read('dispatch')) !== undefined, 'the first leads');
    const bus = openMemoryBus({ clock: world.clock, pointersMax: 10 });
    t.teardown(() => bus.close());
    const second = { ...world.processing, bus, leases: world.keeper.open(), worker: 'worker-2' };
    world.run(deliverEmailWorker(second));
    world.run(relayAndTimers(second));
    // The leases are renewed at this moment, which is the worst.
    await world.clock.advance(2 * LEASE_TTL_MS);
    world.mailer.next.push(() => new Promise(() => {}));
    const id = await world.send();
    await world.reaches(id, 'processing');
    isKilled = true;
    const killedMs = world.clock.now();
    const unseen = await world.send();
    await until(async () => {
      await world.settled();
      await world.clock.advance(100);
      return world.mailer.sent.length === 3;
    }, 'both are sent');
    t.ok(world.clock.now() - killedMs <= TAKEN_OVER_WITHIN_MS, `after ${world.clock.now() - killedMs} ms`);
    for (const one of [id, unseen]) await world.reaches(one, 'sent');
  },
);

void t.test('setting the clock forward cuts off no dialogue', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send();
  let aborted = false;
  let finish = (): void => {};
  world.mailer.next.push((message, signal) => {
    signal.addEventListener('abort', () => (aborted = true));
    return new Promise((resolve) => (finish = () => resolve(answers('accepted')(message))));
  });
  world.run(deliverEmailWorker(world.processing));
  world.run(relayAndTimers(world.processing));
  await world.reaches(id, 'processing');
  world.clock.shift(86_400_000);
  await world.settled();
  await world.clock.advance(20_000);
  t.notOk(aborted);
  finish();
  await world.reaches(id, 'sent');
  await world.clock.advance(20_000);
  t.equal(world.mailer.sent.length, 1);
});

void t.test(
  'at 30 days the key is destroyed and the email archived; a deleted one whose deletion was cut off as soon as it is seen',
  async (t) => {
    const world = await openProcessorWorld(t);
    const [old, gone] = [await world.send(), await world.send()];
    world.run(deliverEmailWorker(world.processing));
    await world.publish(old);
    await world.reaches(old, 'sent');
    let appends = 0;
    world.store.beforeAppend(() => {
      if ((appends += 1) > 1) throw new Error('died');
    });
    await t.rejects(deleteEmail(world.deps, caller, gone), { message: 'died' });
    world.store.beforeAppend(undefined);
    t.same(await typesOf(world, gone), ['EmailQueued', 'EmailCancelled', 'EmailDeleted']);
    await world.settled();

    world.run(timersAndTheirWork(world.processing));
    await until(async () => (await typesOf(world, gone)).includes('EmailArchived'), 'the deletion is finished');
    const archived = (await world.deps.eventLog.load(emailStream(gone))).at(-1)!;
    t.equal(archived.metadata.teamId, caller.teamId, 'an event has a team, that of a deleted email too');
    await until(() => world.keys.ids().length === 1, 'its key is destroyed');
    t.not(await world.deps.eventLog.existingKey(emailStream(old)), undefined, 'the key of the other stays');

    await looked(world, 1);
    await world.clock.set(Date.parse(at(0)) + 30 * DAY_MS);
    await until(async () => (await typesOf(world, old)).includes('EmailArchived'), 'it is archived');
    await until(() => world.keys.ids().length === 0, 'its key is destroyed');
    t.match(await world.commands.getEmail(caller, old), { archived: true, status: 'sent', subject: null });
  },
);

void t.test('a read model that is behind does no harm: the command looks at the stream', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send({ scheduledAt: at(60) });
  await world.settled();
  const stale = await world.readModels.find('emails', { where: {}, limit: 10 });
  await world.commands.deleteEmail(caller, id);
  world.run(
    timersAndTheirWork({
      ...world.processing,
      readModels: { find: async (_collection, { where }) => (where['phase']?.eq === 'scheduled' ? stale : []) },
    }),
  );
  await world.clock.set(Date.parse(at(60)));
  for (let look = 0; look < 10; look += 1) await world.clock.advance(5_000);
  t.same(await typesOf(world, id), ['EmailScheduled', 'EmailCancelled', 'EmailDeleted', 'EmailArchived']);
  t.same(
    world.logger.lines.filter(({ level }) => level === 'error'),
    [],
  );
});

void t.test('a timer whose work fails is logged and tried again, and holds up no other', async (t) => {
  const world = await openProcessorWorld(t);
  const [bad, good] = [await world.send({ scheduledAt: at(60) }), await world.send({ scheduledAt: at(61) })];
  await world.settled();
  world.store.beforeAppend((stream) =>
    stream === emailStream(bad) ? Promise.reject(new Error('disk full')) : undefined,
  );
  world.run(timersAndTheirWork(world.processing));
  await until(async () => {
    await world.clock.advance(500);
    return (await world.commands.getEmail(caller, good)).status === 'queued';
  }, 'the other is released');
  await until(() => world.logger.lines.some(({ level }) => level === 'error'), 'the fault is logged');
  t.match(
    world.logger.lines.find(({ level }) => level === 'error'),
    { fields: { stream: emailStream(bad), processor: 'release-email' } },
  );
  world.store.beforeAppend(undefined);
  await until(async () => {
    await world.clock.advance(500);
    return (await world.commands.getEmail(caller, bad)).status === 'queued';
  }, 'it is tried again');
});

void t.test(
  'thirty thousand timers are read only as the bus has room, each once, in the order of their times, and new mail passes them',
  async (t) => {
    const world = await openProcessorWorld(t, { pointersMax: 1_000 });
    const rows = Array.from({ length: 30_000 }, (_, index) => ({
      seq: index,
      // Ten have the same time.
      dueAt: new Date(Date.parse(T0) - 86_400_000 + Math.floor(index / 10)).toISOString(),
      key: `email-${index}`,
      team: caller.teamId,
    }));
    const { find, reads } = withTimers(rows);
    world.run(relayAndTimers({ ...world.processing, readModels: { find } }));
    const taken: string[] = [];
    const cameAfter = new Map<string, number>();
    let depthMax = 0;
    let sentAfter = 0;
    for await (const work of world.bus.consume(DELIVER_EMAIL, {
      maxInFlight: 100,
      signal: new AbortController().signal,
    })) {
      await work.ack();
      if (work.pointer.source === 'relay') {
        cameAfter.set(work.pointer.priority, taken.length - sentAfter);
        continue;
      }
      taken.push(work.pointer.stream);
      if (taken.length === 5_000) {
        for (const priority of ['normal', 'high'] as const) await world.send({ priority });
        sentAfter = taken.length;
      }
      // Time passes while they are handed over: nothing is read again for that.
      if (taken.length % 100 === 0) await world.clock.advance(100);
      if (taken.length % 500 === 0) depthMax = Math.max(depthMax, await world.bus.depth(DELIVER_EMAIL));
      if (taken.length === rows.length) break;
    }
    t.strictSame(
      taken,
      rows.map(({ key }) => key),
    );
    t.ok(reads.limitMax <= 500);
    t.ok(depthMax <= 1_002, `${depthMax} at once`);
    // Two at each look for others that have something due, twice a second.
    t.ok(reads.finds <= 130 + 120, `${reads.finds} reads`);
    t.ok(
      reads.documents <= rows.length + 1_000,
      `${reads.documents} documents read; at most what the bus refused is read again`,
    );
    // Turns within a priority are what the bus of one process does beyond its contract.
    if (onDistantPorts()) return;
    for (const [priority, others] of cameAfter)
      t.ok(others <= 200, `the new ${priority} mail came after ${others} others`);
    t.same([...cameAfter.keys()].sort(), ['high', 'normal']);
  },
);

void t.test('the archive asks the stream, not the timer', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send();
  t.equal(await archiveEmail(world.deps, id, causeOf(world.deps, caller)), false);
  t.equal(world.keys.ids().length, 1);
});

type DueRow = Readonly<{ team: string; sender?: string; key: string; dueAt: string; seq: number }>;

/**
 * Read models that hold these deferred timers, in the order of their times, and count what is read of them in each turn
 * of the event loop.
 */
const withTimers = (rows: readonly DueRow[]) => {
  const reads = { finds: 0, limitMax: 0, documents: 0, mostInOneTurn: 0, ofKey: new Map<string, number>() };
  let turn: Promise<void> | undefined;
  let inTurn = 0;
  const count = (keys: readonly string[]): void => {
    reads.finds += 1;
    reads.documents += keys.length;
    for (const key of keys) reads.ofKey.set(key, (reads.ofKey.get(key) ?? 0) + 1);
    inTurn += keys.length;
    reads.mostInOneTurn = Math.max(reads.mostInOneTurn, inTurn);
    turn ??= new Promise((resolve) =>
      setImmediate(() => {
        inTurn = 0;
        turn = undefined;
        resolve();
      }),
    );
  };
  const teams = [...new Set(rows.map(({ team }) => team))];
  const timers = rows.map(({ sender = 'apiKey:a', ...row }) => ({
    ...row,
    senderDueAt: senderDueAt(sender, row.dueAt),
  }));
  const bySender = timers.toSorted((a, b) =>
    a.senderDueAt < b.senderDueAt ? -1 : a.senderDueAt > b.senderDueAt ? 1 : a.seq - b.seq,
  );
  const find: ProcessorWorld['readModels']['find'] = async (collection, { where, anyOf, after, limit, sort }) => {
    if (collection === 'emailBacklogs') return teams.map((id, at) => ({ id, seq: at, position: at, open: 1 }));
    if (anyOf?.some(({ kind, priority }) => kind?.eq === 'deferred' && priority?.eq === 'normal') === true)
      return rows.slice(0, 1).map((row) => ({ ...row, id: row.key, position: row.seq }));
    if (collection !== 'emails' || where['kind']?.eq !== 'deferred' || where['priority']?.eq !== 'normal') return [];
    const inTurns = sort?.field === 'senderDueAt';
    const team = where['team']?.eq;
    const upTo = where['dueAt']?.lte;
    const { gte = '', lte, lt } = where['senderDueAt'] ?? {};
    const found = [];
    for (const row of inTurns ? bySender : timers) {
      if (found.length === limit) break;
      const place = inTurns ? row.senderDueAt : row.dueAt;
      if (team !== undefined && row.team !== team) continue;
      if (upTo !== undefined && row.dueAt > upTo) continue;
      if (
        row.senderDueAt < gte ||
        (lte !== undefined && row.senderDueAt > lte) ||
        (lt !== undefined && row.senderDueAt >= lt)
      )
        continue;
      if (after !== undefined && (place < after.value || (place === after.value && row.seq <= after.seq))) continue;
      found.push({ ...row, id: row.key, position: row.seq, kind: 'deferred', priority: 'normal' });
    }
    count(found.map(({ key }) => key));
    reads.limitMax = Math.max(reads.limitMax, limit);
    return found;
  };
  return { find, reads };
};

void t.test(
  'of twenty thousand that one team has due none is read twice, and what another team has due waits behind few of them',
  async (t) => {
    // The turns that are shown here are those of the bus of one process.
    if (onDistantPorts()) return;
    const world = await openProcessorWorld(t, { pointersMax: 1_000 });
    const dueAt = new Date(Date.parse(T0) - 86_400_000).toISOString();
    const rows = Array.from({ length: 20_000 }, (_, seq) => ({ team: 'a', key: `email-a${seq}`, dueAt, seq }));
    // Due while the first team has filled the bus.
    rows.push({ team: 'b', key: 'email-b', dueAt: new Date(Date.parse(T0) + 2_000).toISOString(), seq: rows.length });
    const { find, reads } = withTimers(rows);
    world.run(relayAndTimers({ ...world.processing, readModels: { find }, nextTurn: turnsOfLoop() }));
    const taken: string[] = [];
    let dueAfter = Infinity;
    let cameAfter = Infinity;
    for await (const work of world.bus.consume(DELIVER_EMAIL, {
      maxInFlight: 64,
      signal: new AbortController().signal,
    })) {
      await work.ack();
      taken.push(work.pointer.stream);
      if (taken.length % 100 === 0) await world.clock.advance(100);
      if (dueAfter === Infinity && world.clock.now() >= Date.parse(T0) + 2_000) dueAfter = taken.length;
      if (work.pointer.stream === 'email-b') cameAfter = taken.length - dueAfter;
      if (taken.length === rows.length) break;
    }
    t.equal(new Set(taken).size, rows.length);
    // At a thousand a second here: a look comes each half second, and what is in flight goes before.
    t.ok(cameAfter <= 700, `the mail of the other team came after ${cameAfter} others`);
    t.ok(reads.documents <= rows.length + 500, `${reads.documents} documents read`);
    t.ok(reads.mostInOneTurn <= 500, `${reads.mostInOneTurn} documents in one turn of the event loop`);
  },
);

/**
 * Reads these timers while work takes longer than the reading of a page, until all of `wanted` came. Out: what came, in
 * its order.
 */
const takenUntil = async (t: Test, rows: readonly DueRow[], wanted: ReadonlySet<string>) => {
  const world = await openProcessorWorld(t, { pointersMax: 1_000 });
  const { find, reads } = withTimers(rows);
  const running = world.run(relayAndTimers({ ...world.processing, readModels: { find }, nextTurn: turnsOfLoop() }));
  const taken: string[] = [];
  let left = wanted.size;
  for await (const work of world.bus.consume(DELIVER_EMAIL, {
    maxInFlight: 64,
    signal: new AbortController().signal,
  })) {
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    await work.ack();
    taken.push(work.pointer.stream);
    if (taken.length % 100 === 0) await world.clock.advance(100);
    if (wanted.has(work.pointer.stream)) left -= 1;
    if (left === 0) break;
  }
  await running.stop();
  return { taken, reads };
};

const dueAt = new Date(Date.parse(T0) - 86_400_000).toISOString();
const dueOf = (sender: string, count: number): readonly DueRow[] =>
  Array.from({ length: count }, (_, seq) => ({ team: 'a', sender, key: `email-${sender}${seq}`, dueAt, seq }));

void t.test('however much one key of a team has due, what its other keys have due is among the first', async (t) => {
  // The turns that are shown here are those of the bus of one process.
  if (onDistantPorts()) return;
  for (const [many, keys] of [
    [600, 1],
    [20_000, 1],
    [20_000, 5],
    [3_000, 40],
  ] as const) {
    const others = Array.from({ length: keys }, (_, key) => ({
      team: 'a',
      sender: `apiKey:${key % 2}${key}`,
      key: `email-b${key}`,
      dueAt,
      seq: many + key,
    }));
    const { taken, reads } = await takenUntil(
      t,
      [...dueOf('apiKey:1', many), ...others],
      new Set(others.map(({ key }) => key)),
    );
    t.ok(
      taken.length <= 64 + 5 * keys,
      `the mails of ${keys} other keys came among the first ${taken.length} of ${many}`,
    );
    t.ok(
      reads.documents <= 1_000 + 500 + taken.length,
      `${reads.documents} documents read: what the bus has room for, and a page`,
    );
  }
});

void t.test(
  'ten thousand keys of one team take turns, and each page that is read of one costs at most one look at others',
  async (t) => {
    if (onDistantPorts()) return;
    const many = dueOf('apiKey:1', 5_000);
    const keys = Array.from({ length: 10_000 }, (_, key) => key);
    const later = new Date(Date.parse(T0) + 86_400_000).toISOString();
    const single = keys.map((key): DueRow => ({
      team: 'a',
      sender: `apiKey:s${key}`,
      key: `email-s${key}`,
      dueAt,
      seq: 5_000 + key,
    }));
    const waiting = keys.map((key): DueRow => ({
      team: 'a',
      sender: `apiKey:w${key}`,
      key: `email-w${key}`,
      dueAt: later,
      seq: 15_000 + key,
    }));
    const due = [...many, ...single];
    const { taken, reads } = await takenUntil(t, [...due, ...waiting], new Set(due.map(({ key }) => key)));
    t.equal(new Set(taken).size, due.length, 'all that is due has come');
    t.equal(taken.length, due.length, 'and each once');
    t.ok(reads.finds <= 2_000, `${reads.finds} reads`);
    t.ok(reads.documents <= 4 * (due.length + waiting.length), `${reads.documents} documents read`);
    t.ok(reads.mostInOneTurn <= 500, `${reads.mostInOneTurn} documents in one turn of the event loop`);
  },
);

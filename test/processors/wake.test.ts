/** Timers: the schedule, the next attempt, a dialogue that was cut off, the archive; and a clock that is only as true as its read model. */
import t from 'tap';
import { archiveEmail, deleteEmail } from '../../src/commands/emails.js';
import { causeOf } from '../../src/commands/deps.js';
import { emailStream } from '../../src/domain/ids.js';
import { deliverEmailWorker } from '../../src/processors/deliver-email.js';
import { DELIVER_EMAIL } from '../../src/processors/deps.js';
import { relayWorker } from '../../src/processors/relay.js';
import { wakeWorker } from '../../src/processors/wake.js';
import { at, DAY_MS } from '../support/email-facts.js';
import { caller } from '../support/command-world.js';
import { answers, openProcessorWorld, until, type ProcessorWorld } from '../support/processor-world.js';

const typesOf = async (world: ProcessorWorld, id: Parameters<typeof emailStream>[0]): Promise<readonly string[]> =>
  (await world.events(emailStream(id))).map(({ type }) => type);
const looked = (world: ProcessorWorld, waits: number): Promise<void> =>
  until(() => world.clock.waiting() >= waits, 'it has looked and waits');

void t.test('a scheduled email is released when its time comes, once', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send({ scheduledAt: at(60) });
  await world.settled();
  world.run(wakeWorker(world.processing));
  await looked(world, 1);
  await world.clock.advance(59_500);
  await looked(world, 1);
  t.same(await typesOf(world, id), ['EmailScheduled']);
  await world.clock.advance(500);
  await world.reaches(id, 'queued');
  await world.settled();
  for (let look = 0; look < 20; look += 1) await world.clock.advance(500);
  t.same(await typesOf(world, id), ['EmailScheduled', 'EmailReleased']);
  const released = (await world.deps.eventLog.load(emailStream(id)))[1]!;
  t.match(released, { event: { data: { at: at(60) } }, metadata: { teamId: caller.teamId, actor: 'processor:wake', correlationId: id } });
});

void t.test('a deferred email is attempted again by the schedule until its attempts are spent', async (t) => {
  const world = await openProcessorWorld(t);
  world.run(wakeWorker(world.processing));
  world.run(relayWorker(world.processing));
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

void t.test('a dialogue of another process that was cut off is taken up after its deadline', async (t) => {
  const world = await openProcessorWorld(t, { exclusive: false });
  const id = await world.send();
  world.mailer.next.push(() => new Promise(() => {}));
  void deliverEmailWorker(world.processing).run(new AbortController().signal);
  await world.publish(id);
  await world.reaches(id, 'processing');
  await world.settled();
  const { bus } = await openProcessorWorld(t);
  const other = { ...world.processing, bus, worker: 'worker-2' };
  world.run(deliverEmailWorker(other));
  world.run(wakeWorker(other));
  await world.clock.set(Date.parse(at(0)) + world.deps.limits.deliveryDeadlineMs - 1);
  t.equal(world.mailer.sent.length, 1);
  await until(async () => {
    await world.clock.advance(500);
    return world.mailer.sent.length === 2;
  }, 'it is taken up');
  await world.reaches(id, 'sent');
});

void t.test(
  'at 30 days the key is destroyed and the email archived; a deleted one whose deletion was cut off as soon as it is seen',
  async (t) => {
    const world = await openProcessorWorld(t);
    const [old, gone] = [await world.send(), await world.send()];
    world.run(deliverEmailWorker(world.processing));
    await world.publish(old);
    await world.reaches(old, 'sent');
    const dying = { ...world.deps, eventLog: { ...world.deps.eventLog, destroyKey: () => Promise.reject(new Error('died')) } };
    await t.rejects(deleteEmail(dying, caller, gone), { message: 'died' });
    t.same(await typesOf(world, gone), ['EmailQueued', 'EmailCancelled', 'EmailDeleted']);
    await world.settled();

    world.run(wakeWorker(world.processing));
    await until(async () => (await typesOf(world, gone)).includes('EmailArchived'), 'the deletion is finished');
    const archived = (await world.deps.eventLog.load(emailStream(gone))).at(-1)!;
    t.equal(archived.metadata.teamId, caller.teamId, 'an event has a team, that of a deleted email too');
    t.equal(world.keys.ids().length, 1);
    t.not(await world.deps.eventLog.existingKey(emailStream(old)), undefined, 'the key of the other stays');

    await looked(world, 1);
    await world.clock.set(Date.parse(at(0)) + 30 * DAY_MS);
    await until(async () => (await typesOf(world, old)).includes('EmailArchived'), 'it is archived');
    t.same(world.keys.ids(), []);
    t.match(await world.commands.getEmail(caller, old), { archived: true, status: 'sent', subject: null });
  },
);

void t.test('a read model that is behind does no harm: the command looks at the stream', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send({ scheduledAt: at(60) });
  await world.settled();
  const stale = await world.documents.find('emails', { where: {}, limit: 10 });
  await world.commands.deleteEmail(caller, id);
  world.run(
    wakeWorker({
      ...world.processing,
      documents: { find: async (_collection, { where }) => (where['phase']?.eq === 'scheduled' ? stale : []) },
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

void t.test('a timer that fails is logged and tried again, and holds up no other', async (t) => {
  const world = await openProcessorWorld(t);
  const [bad, good] = [await world.send({ scheduledAt: at(60) }), await world.send({ scheduledAt: at(61) })];
  await world.settled();
  world.store.beforeAppend((stream) => (stream === emailStream(bad) ? Promise.reject(new Error('disk full')) : undefined));
  world.run(wakeWorker(world.processing));
  await looked(world, 1);
  await world.clock.set(Date.parse(at(62)));
  await world.reaches(good, 'queued');
  t.match(
    world.logger.lines.find(({ level }) => level === 'error'),
    { fields: { stream: emailStream(bad), phase: 'scheduled' } },
  );
  world.store.beforeAppend(undefined);
  await until(async () => {
    await world.clock.advance(500);
    return (await world.commands.getEmail(caller, bad)).status === 'queued';
  }, 'it is tried again');
});

void t.test('of thirty thousand timers each look takes a bounded number, and all are fired', async (t) => {
  const world = await openProcessorWorld(t);
  const asked: number[] = [];
  let left = 30_000;
  const rows = Array.from({ length: left }, (_, index) => ({
    id: `${index}`,
    seq: index,
    position: index,
    phase: 'deferred',
    priority: 'normal',
    dueAt: at(0),
    stream: `email-${index}`,
    owner: caller.teamId,
  }));
  const fired = new Set<string>();
  const documents: Pick<ProcessorWorld['documents'], 'find'> = {
    find: async (_collection, { where, limit }) => {
      if (where['phase']?.eq === 'deferred') asked.push(limit);
      return where['phase']?.eq === 'deferred' ? rows.filter(({ stream }) => !fired.has(stream)).slice(0, limit) : [];
    },
  };
  const bus: ProcessorWorld['bus'] = {
    ...world.bus,
    publish: async (_processor, pointers) => {
      for (const { stream } of pointers) {
        fired.add(stream);
        left -= 1;
      }
      return [];
    },
  };
  world.run(wakeWorker({ ...world.processing, documents, bus }));
  await until(async () => {
    await world.clock.advance(500);
    return left === 0;
  }, 'all are fired');
  t.equal(fired.size, 30_000);
  t.ok(Math.max(...asked) <= 10_500, `at most ${Math.max(...asked)} were asked for at once`);
  t.ok(
    asked.every((limit, index) => index === 0 || limit - asked[index - 1]! <= 500),
    'no look fires more than 500',
  );
  t.equal(await world.bus.depth(DELIVER_EMAIL), 0);
});

void t.test('the archive asks the stream, not the timer', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send();
  t.equal(await archiveEmail(world.deps, id, causeOf(world.deps, caller)), false);
  t.equal(world.keys.ids().length, 1);
});

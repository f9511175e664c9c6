/**
 * Leases on a real server of MongoDB's protocol against the contract of all, and what is their own: the server's clock,
 * its death, a client's frozen answer.
 */
import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { systemClock } from '../../../src/adapters/clock/system.js';
import { leasesOn, openMongoLeases } from '../../../src/adapters/lease/mongodb.js';
import { openMongo } from '../../../src/adapters/mongodb/client.js';
import type { Clock } from '../../../src/domain/ports/clock.js';
import type { Leases } from '../../../src/domain/ports/lease.js';
import { leaseSuite } from '../../contracts/lease-suite.js';
import { fakeClock } from '../../support/fake-clock.js';
import { memoryLog } from '../../support/memory-ports.js';
import { mongoServer, ownMongoServer } from '../../support/servers.js';
import { eventually } from '../../support/wait.js';

const logger = memoryLog();

const opened = async (t: Test, url: string, clock: Clock = systemClock()): Promise<Leases> => {
  const leases = await openMongoLeases({ url, logger, clock, freshName: randomUUID });
  t.teardown(() => leases.close().catch(() => {}));
  return leases;
};

void t.test('the contract, while the clock of the server stands still until the test moves it', async (t) => {
  const server = await mongoServer(t);
  if (server === undefined) return;
  const clock = fakeClock();
  leaseSuite(t, {
    open: async (collection) => {
      const { db, close } = await openMongo({ url: server.url, logger });
      return leasesOn(db, { clock, instance: randomUUID(), close, collection, serverNow: () => new Date(clock.now()) });
    },
    now: clock.now,
    pass: clock.advance,
  });
});

void t.test('the server measures: clients whose clocks are a day off see the same lease end', async (t) => {
  const server = await mongoServer(t);
  if (server === undefined) return;
  const early = fakeClock(Date.now() - 86_400_000);
  const late = fakeClock(Date.now() + 86_400_000);
  const [one, two] = [await opened(t, server.url, early), await opened(t, server.url, late)];
  const first = (await one.acquire('relay', 'a', 3_600_000))!;
  t.equal(first.untilMs, early.now() + 3_600_000);
  t.equal(await two.acquire('relay', 'b', 1), undefined, 'a clock that is ahead takes nothing');
  const left = (await two.read('relay'))!.untilMs - late.now();
  t.ok(left <= 3_600_000 && left > 3_500_000, 'its end is told by the clock of the reader');
  const short = (await one.renew(first, 1))!;
  const second = await eventually('the lease has ended', () => two.acquire('relay', 'b', 3_600_000));
  t.ok(second.fence > short.fence);
  t.equal(await one.renew(short, 10_000), undefined, 'a clock that is behind keeps nothing');
});

void t.test('fences rise after a release, and after the name was forgotten', async (t) => {
  const server = await mongoServer(t);
  if (server === undefined) return;
  const first = await opened(t, server.url);
  const lease = (await first.acquire('worker-1', 'a', 10_000))!;
  const kept = (await first.acquire('worker-2', 'a', 10_000))!;
  await first.release(lease);
  const again = (await first.acquire('worker-1', 'a', 10_000))!;
  t.ok(again.fence > lease.fence);
  await first.release(again);
  const mongo = await openMongo({ url: server.url, logger });
  t.teardown(() => mongo.close());
  const rows = mongo.db.collection<{ _id: string; endsAt: Date }>('leases');
  await opened(t, server.url);
  t.equal(await rows.countDocuments(), 2);
  await rows.updateOne({ _id: 'worker-1' }, [{ $set: { endsAt: { $subtract: ['$endsAt', 8 * 86_400_000] } } }]);
  const second = await opened(t, server.url);
  t.equal(await rows.countDocuments(), 1, 'what ended more than a week ago is gone');
  t.match(await second.read('worker-2'), { fence: kept.fence });
  t.ok((await second.acquire('worker-1', 'a', 10_000))!.fence > again.fence);
});

void t.test('a name that looks like an expression is a name', async (t) => {
  const server = await mongoServer(t);
  if (server === undefined) return;
  const leases = await opened(t, server.url);
  const lease = (await leases.acquire('$holder', '$$ROOT', 10_000))!;
  t.match(lease, { name: '$holder', holder: '$$ROOT' });
  t.match(await leases.read('$holder'), { holder: '$$ROOT', fence: lease.fence });
});

void t.test('a server that is killed loses no lease, and a frozen one gives none twice', async (t) => {
  const server = await ownMongoServer(t);
  if (server === undefined) return;
  const [one, two] = [await opened(t, server.url), await opened(t, server.url)];
  const lease = (await one.acquire('relay', 'a', 3_600_000))!;
  await server.kill();
  await server.restart();
  t.equal(
    await eventually('it answers', async () => [await two.acquire('relay', 'b', 10_000)]).then(([taken]) => taken),
    undefined,
  );
  t.match(await one.renew(lease, 3_600_000), { fence: lease.fence });
  server.freeze();
  const asked = Promise.all([one.acquire('sweep', 'a', 60_000), two.acquire('sweep', 'b', 60_000)]);
  server.resume();
  t.equal((await asked).filter((given) => given !== undefined).length, 1);
});

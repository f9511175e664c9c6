/**
 * The order of priorities, counted in mails: a high one goes ahead of all low ones that have not begun, and low ones go
 * on beside however many high ones.
 */
import t from 'tap';
import type { EmailId } from '../../src/domain/core/ids.js';
import type { Mailer } from '../../src/domain/ports/mailer.js';
import { priorityShares, type Priority } from '../../src/domain/ports/bus.js';
import { DELIVER_EMAIL } from '../../src/processors/email/delivery.js';
import { deliverEmailWorker, openProcessorWorld, until } from '../support/processor-world.js';

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

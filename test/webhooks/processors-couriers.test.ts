/**
 * Couriers of webhooks, while the log, the clock and the endpoints are scripted: their pace, their records, and their
 * restarts.
 */
import t from 'tap';
import type { OutboundPost } from '../../src/domain/ports/outbound-http.js';
import { deliverWebhooksWorker } from '../../src/processors/webhooks/delivery.js';
import { dueFailures, keptWebhooks } from '../../src/projections/webhooks/reads.js';
import { isoTime } from '../../src/domain/core/time.js';
import { caller } from '../support/command-world.js';
import { answering, openWebhookWorld, WEBHOOK_DELAYS_MS, type WebhookWorld } from '../support/webhook-world.js';

const nowhere: OutboundPost = {
  post: async () => ({ status: 200, retryAfter: undefined, body: '' }),
  forget: () => {},
  close: async () => {},
};

const depsOf = (world: WebhookWorld) => {
  const { processing, readModels, keeper } = world;
  const caughtUp = (position: number, signal: AbortSignal): Promise<void> =>
    processing.timersCaughtUp('email', position, signal);
  return {
    ...processing,
    ...world.elsewhere(),
    worker: 'worker-1',
    leases: keeper.open(),
    webhooks: { outbound: nowhere, insecureHosts: [] },
    keptUpTo: async (position: number, signal: AbortSignal) => {
      await caughtUp(position, signal);
      return keptWebhooks(readModels);
    },
    due: async (id: Parameters<typeof dueFailures>[1], position: number, limit: number, signal: AbortSignal) => {
      await caughtUp(position, signal);
      return dueFailures(readModels, id, limit);
    },
  };
};

void t.test('where the log tells of nothing more the work ends, so that it begins anew', async (t) => {
  const world = await openWebhookWorld(t);
  await world.subscribe('/idle');
  const deps = depsOf(world);
  let breakOff = (): void => {};
  const broken = new Promise<void>((resolve) => (breakOff = resolve));
  const eventLog: typeof deps.eventLog = {
    ...deps.eventLog,
    subscribeAll: async function* (after, options) {
      if (options.kinds?.includes('webhookRoute') !== true) return yield* deps.eventLog.subscribeAll(after, options);
      await broken;
      throw new Error('the subscription broke off');
    },
  };
  let ended: unknown;
  const { done, stop } = world.run(
    deliverWebhooksWorker({ ...deps, eventLog, webhookDelaysMs: WEBHOOK_DELAYS_MS, tellOwners: async () => {} }),
  );
  done.catch((fault: unknown) => (ended = fault));
  await world.passes(1_000);
  t.equal(ended, undefined);
  breakOff();
  await world.passes(5_000);
  t.match(ended, { message: 'the subscription broke off' });
  await stop().catch(() => {});
});

void t.test('a replay that wants none of its events ends, and stops nothing else', async (t) => {
  const world = await openWebhookWorld(t);
  const since = isoTime(world.clock.now());
  const id = await world.subscribe('/none');
  world.start('worker-1');
  for (let made = 0; made < 3; made += 1) await world.accept();
  await world.passes(2_000);
  t.equal(world.posts.length, 3);
  t.match(await world.commands.replayWebhook(caller, id, { since, events: ['email.bounced'] }), { from: 0, to: 3 });
  await world.passes(8_000);
  t.equal(world.posts.length, 3);
  t.match(
    await world.commands.replayWebhook(caller, id, { since }),
    { from: 0, to: 3 },
    'no replay is under way any more',
  );
  await world.passes(8_000);
  t.equal(world.posts.length, 6);
});

/** Times of the facts of what came of attempts, as they are appended, against the clock of the test. */
const appendedMs = async (world: WebhookWorld): Promise<readonly number[]> => {
  const found: number[] = [];
  for await (const { events } of world.deps.eventLog.readAll(0, { types: ['WebhookAttempted'] }))
    found.push(...events.map(({ metadata }) => Date.parse(metadata.occurredAt)));
  return found;
};

/** Results of attempts within this time are recorded in one event. */
const GATHER_MS = 500;

void t.test(
  'what came of attempts is appended within the time of gathering, and what comes within it shares a fact',
  async (t) => {
    const world = await openWebhookWorld(t);
    await world.subscribe('/slow');
    world.endpoint('/slow', async (post, signal) => {
      await world.clock.sleep(130, signal);
      return answering(200)(post, signal);
    });
    world.start('worker-1');
    await world.passes(2_000);
    for (let made = 0; made < 20; made += 1) await world.accept();
    await world.passes(4_000, 10);
    const ended = world.posts.map(({ atMs }) => atMs + 130);
    const facts = await appendedMs(world);
    t.equal(ended.length, 20);
    for (const atMs of ended)
      t.ok(
        facts.some((fact) => fact >= atMs && fact <= atMs + GATHER_MS + 20),
        `appended soon after ${atMs}`,
      );
    t.ok(facts.length < 4, `${facts.length} facts`);
  },
);

void t.test('that an endpoint is gone is appended at once', async (t) => {
  const world = await openWebhookWorld(t);
  const id = await world.subscribe('/gone');
  world.endpoint('/gone', answering(410));
  world.start('worker-1');
  await world.passes(2_000);
  const appended: number[] = [];
  // At every phase of the gathering: each time it is enabled again, a little later.
  for (let times = 0; times < 5; times += 1) {
    if (times > 0) await world.commands.updateWebhook(caller, id, { enabled: true });
    await world.passes(1_070, 10);
    await world.accept();
    await world.passes(1_000, 10);
    const [facts, last] = [await appendedMs(world), world.posts.at(-1)!];
    t.equal(facts.length, times + 1);
    appended.push(facts.at(-1)! - last.atMs);
    t.equal((await world.commands.getWebhook(caller, id)).enabled, false);
  }
  t.ok(Math.max(...appended) <= 20, `after ${appended.join(', ')} ms`);
});

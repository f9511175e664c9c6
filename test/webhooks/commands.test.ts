/** Subscriptions of a team: no more than it may have, however many calls come at once and wherever a program dies. */
import t from 'tap';
import { createWebhook, deleteWebhook, restoreWebhook } from '../../src/commands/webhooks/subscriptions.js';
import {
  assertDefined,
  parseWebhookId,
  webhookOutcomeStream,
  webhookStream,
  type WebhookId,
} from '../../src/domain/core/ids.js';
import { eraseWorker } from '../../src/processors/privacy/erasure.js';
import { caller, openWorld, type World } from '../support/command-world.js';
import { faultPort } from '../support/fault-port.js';
import { memoryLog } from '../support/memory-ports.js';
import { leaseKeeper } from '../support/memory-leases.js';

const REQUEST = { url: 'https://hooks.example/', events: ['email.queued' as const] };

/** As a setting says; without one it is 100. */
const WEBHOOKS_MAX = 25;
const openNarrowWorld = () => openWorld({ webhooksMax: WEBHOOKS_MAX });

const make = (world: World): Promise<WebhookId> => makeWith(world.deps);
const makeWith = async (deps: World['deps']): Promise<WebhookId> =>
  assertDefined(parseWebhookId((await createWebhook(deps, caller, REQUEST, 0)).id), 'webhook id');

void t.test('calls at once do not make more than a team may have, in several processes', async (t) => {
  const world = await openNarrowWorld();
  const processes = [world.deps, world.elsewhere(), world.elsewhere()];
  const all = await Promise.allSettled(
    Array.from({ length: 40 }, (_, at) => makeWith(processes[at % processes.length]!)),
  );
  const made = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  t.equal(made.length, WEBHOOKS_MAX);
  for (const one of all) if (one.status === 'rejected') t.match(one.reason, { code: 'WEBHOOK_LIMIT_REACHED' });
  await deleteWebhook(world.deps, caller, made[0]!);
  const next = await make(world);
  await t.rejects(
    restoreWebhook(world.deps, caller, made[0]!, 0),
    { code: 'WEBHOOK_LIMIT_REACHED' },
    'its place is taken',
  );
  await deleteWebhook(world.deps, caller, next, { permanently: true });
  t.equal((await restoreWebhook(world.deps, caller, made[0]!, 0)).enabled, true);
  await restoreWebhook(world.deps, caller, made[0]!, 0);
  await t.rejects(make(world), { code: 'WEBHOOK_LIMIT_REACHED' });
});

void t.test('a place that a program took and died is given to others', async (t) => {
  const world = await openNarrowWorld();
  const error = new Error('the program dies');
  for (const afterwards of [false, true]) {
    const { port: eventLog } = faultPort(world.deps.eventLog, { failCall: 2, error, only: ['append'], afterwards });
    // A dead program cannot give its place back either.
    const { port: dead } = faultPort(eventLog, { failCall: 3, error, only: ['append'] });
    await t.rejects(makeWith({ ...world.deps, eventLog: dead }), error);
  }
  // One place was taken in vain, and one subscription was made though nobody heard of it.
  const ids = [];
  for (let made = 2; made < WEBHOOKS_MAX; made += 1) ids.push(await make(world));
  await t.rejects(make(world), { code: 'WEBHOOK_LIMIT_REACHED' });
  await world.clock.advance(600_000);
  await make(world);
  await t.rejects(make(world), { code: 'WEBHOOK_LIMIT_REACHED' }, 'what is there keeps its place');
  await deleteWebhook(world.deps, caller, ids[0]!);
  await make(world);
});

void t.test(
  'wherever a program dies in the middle of a deletion, the records of deliveries end and their key goes',
  async (t) => {
    const error = new Error('the program dies');
    for (let failCall = 1, isOver = false; !isOver; failCall += 1) {
      for (const afterwards of [false, true]) {
        const world = await openWorld();
        const id = await make(world);
        const { port: eventLog } = faultPort(world.deps.eventLog, {
          failCall,
          error,
          only: ['append', 'destroyKey'],
          afterwards,
        });
        const died = await deleteWebhook({ ...world.deps, eventLog }, caller, id, { permanently: true }).then(
          () => false,
          () => true,
        );
        isOver = !died;
        const stop = new AbortController();
        const { deps, keys, store, clock } = world;
        const running = eraseWorker({
          ...deps,
          keys,
          store,
          clock,
          logger: memoryLog(),
          leases: leaseKeeper(clock).open(),
          worker: 'worker-1',
        }).run(stop.signal);
        await clock.advance(61_000);
        for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        stop.abort();
        await running;
        const isDeleted = (await world.events(webhookStream(id))).some(({ type }) => type === 'WebhookDeleted');
        const outcomes = (await world.events(webhookOutcomeStream(id, 0))).map(({ type }) => type);
        t.same(outcomes, isDeleted ? ['WebhookOutcomesEnded'] : [], `call ${failCall}`);
        t.equal((await deps.eventLog.existingKey(webhookStream(id))) === undefined, isDeleted);
      }
    }
  },
);

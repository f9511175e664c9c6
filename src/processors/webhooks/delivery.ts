/** Sends what goes to each subscription: one courier for each, so that an endpoint that is slow or dead delays no other. */
import { setMaxListeners } from 'node:events';
import { openBodies } from '../../commands/webhooks/bodies.js';
import type { WebhookId } from '../../domain/core/ids.js';
import { webhookOfStream } from '../../domain/core/ids.js';
import type { EventType, Recorded } from '../../domain/events.js';
import type { Worker } from '../../domain/ports/worker.js';
import { openFairSlots } from '../../shared/fairness.js';
import { openCourier, type Courier, type News } from './courier.js';
import type { CourierDeps } from './work.js';
import { underLease, type Held, type LeaseDeps } from '../core/lease.js';

const NAME = 'deliver-webhooks';
const [AGAIN_AFTER_MS, AGAIN_AFTER_MAX_MS] = [5_000, 300_000];
/** What is under way when the work is to stop is given that long to end. */
const STOP_MS = 3_000;
/** Posts under way at once in this process, and of one team: endpoints that hang hold each of theirs for the whole time of a post. */
const SLOTS = { slotsMax: 1_024, shareMax: 128, queueMax: Number.MAX_SAFE_INTEGER };
const KINDS = ['webhook', 'webhookRoute', 'webhookOutcome'];

export type DeliverWebhooksDeps = LeaseDeps &
  CourierDeps &
  Readonly<{
    /** Every subscription that is not gone for good, as the read models know them up to that position at least. */
    keptUpTo: (position: number, signal: AbortSignal) => Promise<readonly Readonly<{ id: WebhookId; team: string }>[]>;
  }>;

export const deliverWebhooksWorker = (deps: DeliverWebhooksDeps): Worker => ({
  name: NAME,
  run: (stop) => underLease(deps, NAME, stop, (held) => deliver(deps, held)),
});

/** What there is news of, by the type of the event that tells of it; of others there is none for who sends. */
const news: Readonly<Partial<Record<EventType, News['of']>>> = {
  WebhookRouted: 'routed',
  WebhookCreated: 'settings',
  WebhookChanged: 'settings',
  WebhookSecretRotated: 'settings',
  WebhookDisabled: 'settings',
  WebhookTrashed: 'settings',
  WebhookRestored: 'settings',
  WebhookDeleted: 'settings',
  WebhookRetryAsked: 'asked',
  WebhookReplayAsked: 'asked',
  WebhookOutcomesEnded: 'asked',
};

const deliver = async (deps: DeliverWebhooksDeps, held: Held): Promise<void> => {
  const deaf = new AbortController();
  const signal = AbortSignal.any([held.signal, deaf.signal]);
  setMaxListeners(0, signal);
  const working: Held = { ...held, signal };
  const couriers = new Map<WebhookId, Courier>();
  const running = new Set<Promise<void>>();
  /** A subscription may be restored while its courier still ends. */
  const again = new Set<WebhookId>();
  const cutOff = cutOffAfter(deps, working);
  const shared = { ...deps, slots: openFairSlots(SLOTS), bodyOf: openBodies(deps) };
  const start = (id: WebhookId, team: string): void => {
    if (couriers.has(id)) return void again.add(id);
    const courier = openCourier(shared, id, team);
    couriers.set(id, courier);
    const run = keepRunning(deps, id, courier, working, cutOff).finally(() => {
      running.delete(run);
      couriers.delete(id);
      if (again.delete(id) && !signal.aborted) start(id, team);
    });
    running.add(run);
  };
  const tell = ({ event, stream, position, metadata }: Recorded): void => {
    const id = webhookOfStream(stream);
    const of = news[event.type];
    if (id === undefined || of === undefined) return;
    if (event.type === 'WebhookCreated' || event.type === 'WebhookRestored') start(id, metadata.teamId);
    couriers.get(id)?.wake({ of, position });
  };
  const head = await deps.eventLog.head();
  for (const { id, team } of await deps.keptUpTo(head, signal)) start(id, team);
  const only = Object.keys(news) as EventType[];
  try {
    for await (const { events } of deps.eventLog.subscribeAll(head, { kinds: KINDS, only, decrypt: [], signal })) events.forEach(tell);
  } finally {
    // Nobody wakes the couriers any more: they end, so that the work begins anew and reads what they were not told of.
    deaf.abort();
    await Promise.all(running);
  }
};

/** Aborts where nothing is worth finishing: a while after the stop, and at once where the lease is lost. */
const cutOffAfter = ({ clock }: DeliverWebhooksDeps, { signal, lost }: Held): AbortSignal => {
  const cutOff = new AbortController();
  const later = (): void => void clock.sleep(STOP_MS, lost).then(() => cutOff.abort());
  if (signal.aborted) later();
  else signal.addEventListener('abort', later, { once: true });
  return cutOff.signal;
};

/** A fault of ours with one subscription is met again after a pause, and no other waits for it. */
const keepRunning = async (
  { clock, logger }: DeliverWebhooksDeps,
  id: WebhookId,
  courier: Courier,
  { signal, fence }: Held,
  cutOff: AbortSignal,
): Promise<void> => {
  for (let pauseMs = AGAIN_AFTER_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, AGAIN_AFTER_MAX_MS)) {
    try {
      await courier.run(signal, cutOff, fence);
      return;
    } catch (fault) {
      if (signal.aborted) return;
      logger.error(
        { webhook: id, err: fault instanceof Error ? fault : undefined },
        'webhooks of a subscription are not sent, trying again',
      );
      await clock.sleep(pauseMs, signal);
    }
  }
};

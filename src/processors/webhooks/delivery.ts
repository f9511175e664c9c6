/**
 * The two workers of deliveries. One sends events to each subscription by a courier of its own, so that a slow or dead
 * endpoint delays no other; the other removes records of deliveries that are too old, or whose subscription is deleted.
 */
import { setMaxListeners } from 'node:events';
import { removeAllOutcomes, removeOutcomes } from '../../commands/webhooks/records.js';
import type { EraseDeps } from '../../commands/core/erase.js';
import { isoTime, DAY_MS } from '../../domain/core/time.js';
import { type WebhookId, webhookOfStream } from '../../domain/core/ids.js';
import type { Worker } from '../../domain/ports/worker.js';
import type { ProcessorDeps } from '../core/declaration.js';
import { recurringWorker, type Held, type LeaseDeps, underLease } from '../core/lease.js';
import { openBodies } from '../../commands/webhooks/attempt.js';
import type { EventType, Recorded } from '../../domain/events.js';
import { openFairSlots } from '../../shared/concurrency.js';
import { openCourier, type Courier, type News } from './courier.js';
import type { CourierDeps } from './recorder.js';

type Removable = Readonly<{ webhook: WebhookId; part: number; team: string; isEnded: boolean }>;

type RemoveWebhookRecordsDeps = LeaseDeps &
  EraseDeps &
  Pick<ProcessorDeps, 'mayDestroy' | 'limits'> &
  Readonly<{
    /** Parts whose last fact is as old as that, and those of deleted subscriptions; the oldest first. */
    removable: (upTo: string, limit: number) => Promise<readonly Removable[]>;
  }>;

type DeliverWebhooksDeps = LeaseDeps &
  CourierDeps &
  Readonly<{
    /** Every subscription that is not gone for good, from a read model that has reached that position. */
    keptUpTo: (position: number, signal: AbortSignal) => Promise<readonly Readonly<{ id: WebhookId; team: string }>[]>;
  }>;

const REMOVE_NAME = 'remove-webhook-records';

/** Interval of the worker that removes records. */
const LOOK_EVERY_MS = 60_000;

const PARTS_PER_LOOK = 500;

const DELIVER_NAME = 'deliver-webhooks';

const [AGAIN_AFTER_MS, AGAIN_AFTER_MAX_MS] = [5_000, 300_000];

/** After a stop, posts under way have that long to end. */
const STOP_MS = 3_000;

/** Posts in parallel in this process, and of one team: an endpoint that hangs holds a slot until the post times out. */
const SLOTS = { slotsMax: 1_024, shareMax: 128, queueMax: Number.MAX_SAFE_INTEGER };

const KINDS = ['webhook', 'webhookRoute', 'webhookOutcome'];

/** News that a courier gets by each event type. Other types do not concern it. */
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

export const deliverWebhooksWorker = (deps: DeliverWebhooksDeps): Worker => ({
  name: DELIVER_NAME,
  run: (stop) => underLease(deps, DELIVER_NAME, stop, (held) => deliver(deps, held)),
});

export const removeWebhookRecordsWorker = (deps: RemoveWebhookRecordsDeps): Worker =>
  recurringWorker(deps, REMOVE_NAME, LOOK_EVERY_MS, (held) => removeOnce(deps, held));

const deliver = async (deps: DeliverWebhooksDeps, held: Held): Promise<void> => {
  const unsubscribed = new AbortController();
  const signal = AbortSignal.any([held.signal, unsubscribed.signal]);
  setMaxListeners(0, signal);
  const working: Held = { ...held, signal };
  const couriers = new Map<WebhookId, Courier>();
  const running = new Set<Promise<void>>();
  /** Subscriptions that were restored while their courier was ending. */
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
    for await (const { events } of deps.eventLog.subscribeAll(head, { kinds: KINDS, only, decrypt: [], signal }))
      events.forEach(tell);
  } finally {
    // The couriers get no further wake-ups: they end, and the next run reads the events that they have not heard of.
    unsubscribed.abort();
    await Promise.all(running);
  }
};

/** Aborts the posts under way: some time after the stop, and at once if the lease is lost. */
const cutOffAfter = ({ clock }: DeliverWebhooksDeps, { signal, lost }: Held): AbortSignal => {
  const cutOff = new AbortController();
  const later = (): void => void clock.sleep(STOP_MS, lost).then(() => cutOff.abort());
  if (signal.aborted) later();
  else signal.addEventListener('abort', later, { once: true });
  return cutOff.signal;
};

/** Runs the courier again after a fault, with a growing pause; the couriers of other subscriptions go on. */
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

/** A part that cannot be read is logged and skipped. */
const removeOnce = async (deps: RemoveWebhookRecordsDeps, held: Held): Promise<void> => {
  const { clock, limits, logger } = deps;
  const found = await deps.removable(isoTime(clock.now() - limits.webhookRecordDays * DAY_MS), PARTS_PER_LOOK);
  for (const removable of found) {
    if (held.signal.aborted) return;
    try {
      await removeOne(deps, removable, held);
    } catch (fault) {
      logger.error(
        { webhook: removable.webhook, err: fault instanceof Error ? fault : undefined },
        'records of webhooks are not removed',
      );
    }
  }
};

/**
 * A deleted subscription does not depend on the clock, so that its records go without `mayDestroy`. The cause names no
 * fence, because couriers append under another lease.
 */
const removeOne = async (
  deps: RemoveWebhookRecordsDeps,
  { webhook, part, team, isEnded }: Removable,
  held: Held,
): Promise<void> => {
  const at = isoTime(deps.clock.now());
  const cause = { teamId: team, actor: `processor:${REMOVE_NAME}`, correlationId: webhook, causationId: webhook, at };
  if (isEnded) await removeAllOutcomes(deps, webhook, part, cause, held.signal);
  else if (deps.mayDestroy()) await removeOutcomes(deps, webhook, part, cause);
};

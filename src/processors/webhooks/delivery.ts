/** Sends what goes to each subscription: one courier for each, so that an endpoint that is slow or dead delays no other. */
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
import { openFairSlots } from '../../shared/fairness.js';
import { openCourier, type Courier, type News } from './courier.js';
import type { CourierDeps } from './recorder.js';

/* Removes the records of deliveries that are too old to be shown, and those of subscriptions that are deleted. */

const NAME_REMOVE_WEBHOOK_RECORDS = 'remove-webhook-records';
const LOOK_EVERY_MS = 60_000;
const PARTS_PER_LOOK = 500;

type Removable = Readonly<{ webhook: WebhookId; part: number; team: string; isEnded: boolean }>;

type RemoveWebhookRecordsDeps = LeaseDeps &
  EraseDeps &
  Pick<ProcessorDeps, 'mayDestroy' | 'limits'> &
  Readonly<{
    /** Parts whose last fact is as old as that or older, and those that end all; the oldest first. */
    removable: (upTo: string, limit: number) => Promise<readonly Removable[]>;
  }>;

export const removeWebhookRecordsWorker = (deps: RemoveWebhookRecordsDeps): Worker =>
  recurringWorker(deps, NAME_REMOVE_WEBHOOK_RECORDS, LOOK_EVERY_MS, (held) => removeOnce(deps, held));

/** What cannot be read stays, and is told of; it keeps no other. */
const removeOnce = async (deps: RemoveWebhookRecordsDeps, held: Held): Promise<void> => {
  const { clock, limits, logger } = deps;
  const found = await deps.removable(isoTime(clock.now() - limits.webhookRecordDays * DAY_MS), PARTS_PER_LOOK);
  for (const removable of found) {
    if (held.signal.aborted) return;
    try {
      await removeOne(deps, removable, held);
    } catch (fault) {
      logger.error({ webhook: removable.webhook, err: fault instanceof Error ? fault : undefined }, 'records of webhooks are not removed');
    }
  }
};

/** Of a subscription that is deleted nothing depends on what time it is. Those who send append under another lease, so none is named. */
const removeOne = async (deps: RemoveWebhookRecordsDeps, { webhook, part, team, isEnded }: Removable, held: Held): Promise<void> => {
  const at = isoTime(deps.clock.now());
  const cause = { teamId: team, actor: `processor:${NAME_REMOVE_WEBHOOK_RECORDS}`, correlationId: webhook, causationId: webhook, at };
  if (isEnded) await removeAllOutcomes(deps, webhook, part, cause, held.signal);
  else if (deps.mayDestroy()) await removeOutcomes(deps, webhook, part, cause);
};

const NAME = 'deliver-webhooks';
const [AGAIN_AFTER_MS, AGAIN_AFTER_MAX_MS] = [5_000, 300_000];
/** What is under way when the work is to stop is given that long to end. */
const STOP_MS = 3_000;
/** Posts under way at once in this process, and of one team: endpoints that hang hold each of theirs for the whole time of a post. */
const SLOTS = { slotsMax: 1_024, shareMax: 128, queueMax: Number.MAX_SAFE_INTEGER };
const KINDS = ['webhook', 'webhookRoute', 'webhookOutcome'];

type DeliverWebhooksDeps = LeaseDeps &
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

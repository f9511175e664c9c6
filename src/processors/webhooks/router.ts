/**
 * Follows the log and appends, for each subscription, which events go to it. One process does it at a time; where it begins anew it goes on
 * behind the last event of each subscription, and behind the mark up to which all have been looked for.
 */
import { versionOf, startOf, type EventLog, type StreamVersion } from '../../event-log/event-log.js';
import { splitStream, WEBHOOK_ROUTER_STREAM, type WebhookId } from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/iso-time.js';
import type { Worker } from '../../domain/ports/worker.js';
import type { WebhookRouterEvent } from '../../domain/webhooks/events.js';
import type { Held, LeaseDeps } from '../core/lease.js';
import { underLease } from '../core/lease.js';
import { positionOf } from './backfill.js';
import { openRouter, ROUTED, type Router } from './webhook-router.js';

const NAME = 'route-webhooks';
/** What goes to a subscription within that time shares a fact. */
const GATHER_MS = 200;
const PENDING_MAX = 2_000;
const MARK_EVERY_MS = 60_000;

export type RouteWebhooksDeps = LeaseDeps &
  Readonly<{
    eventLog: EventLog;
    /** Every subscription that is not gone for good, as the read models know them up to that position at least, the oldest first. */
    keptUpTo: (position: number, signal: AbortSignal) => Promise<readonly Kept[]>;
  }>;

type Kept = Readonly<{ id: WebhookId; team: string; seq: number; isDeleted: boolean }>;

export const routeWebhooksWorker = (deps: RouteWebhooksDeps): Worker => ({
  name: NAME,
  run: (stop) => underLease(deps, NAME, stop, (held) => route(deps, held)),
});

type Mark = Readonly<{ version: StreamVersion; position: number }>;

const lastMark = async (eventLog: EventLog): Promise<Mark> => {
  const last = await eventLog.last(WEBHOOK_ROUTER_STREAM);
  const [recorded] = last === undefined ? [] : await eventLog.load(WEBHOOK_ROUTER_STREAM, last.revision);
  if (recorded === undefined) return { version: startOf(WEBHOOK_ROUTER_STREAM), position: 0 };
  return { version: versionOf(recorded), position: await positionOf(eventLog, (recorded.event as WebhookRouterEvent).data) };
};

/** Where nobody subscribes nothing is read but which subscriptions begin, or begin again. */
const firstSubscription = async ({ eventLog }: RouteWebhooksDeps, after: number, signal: AbortSignal): Promise<void> => {
  for await (const { events } of eventLog.subscribeAll(after, {
    kinds: ['webhook'],
    only: ['WebhookCreated', 'WebhookRestored'],
    decrypt: [],
    signal,
  }))
    if (events.length > 0) return;
};

const route = async (deps: RouteWebhooksDeps, held: Held): Promise<void> => {
  const { eventLog } = deps;
  while (!held.signal.aborted) {
    const mark = await lastMark(eventLog);
    const head = await eventLog.head();
    const kept = await deps.keptUpTo(head, held.signal);
    const oldest = kept.find(({ isDeleted }) => !isDeleted)?.seq;
    if (oldest === undefined) {
      await firstSubscription(deps, head, held.signal);
      continue;
    }
    const start = Math.max(mark.position, oldest);
    const router = openRouter(deps);
    for (const { id, team, seq } of kept) if (seq <= start) await router.add(id, team, start);
    await follow(deps, held, router, { ...mark, position: start, head });
  }
};

/**
 * Reads and appends side by side until nobody subscribes: what is found waits for others no longer than the time of gathering. Up to `head`,
 * where somebody does, it reads in any case.
 */
const follow = async (
  deps: RouteWebhooksDeps,
  { fence, signal, lost }: Held,
  router: Router,
  mark: Mark & Readonly<{ head: number }>,
): Promise<void> => {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  let reached: Reached | undefined;
  let writing: Promise<void> = Promise.resolve();
  let version = mark.version;
  let markedMs = deps.clock.monotonic();
  const flush = (isLast = false): Promise<void> =>
    (writing = writing.then(async () => {
      const upTo = reached;
      await router.flush(fence);
      const nowMs = deps.clock.monotonic();
      if (upTo === undefined || (!isLast && nowMs - markedMs < MARK_EVERY_MS)) return;
      version = await appendMark(deps, version, upTo, fence);
      markedMs = nowMs;
      if (reached === upTo) reached = undefined;
    }));
  const again = async (work: () => Promise<void>): Promise<void> => {
    while (!either.aborted) {
      await deps.clock.sleep(GATHER_MS, either);
      await work();
    }
  };
  const beside = [again(() => flush()), again(() => router.lookBack(either))];
  for (const work of beside) work.catch(() => failed.abort());
  const { kinds, types } = ROUTED;
  try {
    for await (const { events, unreadable, position } of deps.eventLog.subscribeAll(mark.position, {
      kinds,
      only: types,
      decrypt: [],
      signal: either,
    })) {
      for (const { stream } of unreadable) {
        const { kind, id } = splitStream(stream);
        if (kind === 'webhook') router.leaveOut(id as WebhookId, undefined);
      }
      for (const recorded of events) {
        if (either.aborted) break;
        await router.look(recorded);
        if (splitStream(recorded.stream).kind !== 'webhook') reached = recorded;
        if (router.pending() >= PENDING_MAX) await flush();
      }
      if (router.subscriptions() === 0 && position >= mark.head) break;
    }
  } finally {
    failed.abort();
    await Promise.all(beside);
    if (!lost.aborted) await flush(true);
  }
};

type Reached = Readonly<{
  stream: string;
  revision: number;
  metadata: Readonly<{ teamId: string; correlationId: string; eventId: string }>;
}>;

const appendMark = async (
  { eventLog, clock }: RouteWebhooksDeps,
  version: StreamVersion,
  { stream, revision, metadata }: Reached,
  fence: number,
): Promise<StreamVersion> => {
  const at = isoTime(clock.now());
  const { teamId, correlationId, eventId: causationId } = metadata;
  const cause = { teamId, actor: `processor:${NAME}`, correlationId, causationId, at, fence };
  return eventLog.append(WEBHOOK_ROUTER_STREAM, version, [{ type: 'WebhookRoutesReached', data: { at, stream, revision } }], cause);
};

/**
 * Routes webhooks: follows the log and appends to the route of each subscription the events that go to it, by its
 * settings at that position. One process does it at a time. After a restart it goes on behind the last routed event of
 * each subscription, and behind the last mark, up to which every subscription has its events.
 */
import { FACTS_PER_PART, type RouteEnd, routeEnd } from '../../commands/webhooks/route.js';
import { noticesOf, notifyingTypes, type Recorded, type EventType } from '../../domain/events.js';
import {
  webhookRouteStream,
  type WebhookId,
  splitStream,
  webhookStream,
  WEBHOOK_ROUTER_STREAM,
} from '../../domain/core/ids.js';
import type { Clock } from '../../domain/ports/clock.js';
import { isoTime } from '../../domain/core/time.js';
import { webhookEventId, eventKey } from '../../domain/webhooks/delivery.js';
import type { RoutedEntry, WebhookRouteEvent, WebhookEvent, WebhookRouterEvent } from '../../domain/webhooks/events.js';
import { type WebhookState, evolveWebhook } from '../../domain/webhooks/decider.js';
import { startOf, type EventLog, type StreamVersion, versionOf } from '../../event-log/event-log.js';
import { openGivingWay, type GivingWay } from '../../event-log/decode.js';
import { type Backfill, type Slice, isBackfillOpen, openBackfill, positionOf } from './backfill.js';
import { EventUnreadable } from '../../domain/core/errors.js';
import type { Logger } from '../../domain/ports/logger.js';
import type { Notice } from '../../domain/core/event.js';
import type { Worker } from '../../domain/ports/worker.js';
import { type Held, type LeaseDeps, underLease } from '../core/lease.js';

type Deps = Readonly<{ eventLog: EventLog; clock: Clock }>;

type RouterDeps = Readonly<{ eventLog: EventLog; clock: Clock; logger: Logger }>;

type RouteWebhooksDeps = LeaseDeps &
  Readonly<{
    eventLog: EventLog;
    /**
     * Every subscription that is not gone for good, the oldest first, from a read model that has reached that position.
     */
    keptUpTo: (position: number, signal: AbortSignal) => Promise<readonly Kept[]>;
  }>;

type Kept = Readonly<{ id: WebhookId; team: string; seq: number; isDeleted: boolean }>;

/** State of a subscription in a router. */
type Route = {
  readonly id: WebhookId;
  readonly team: string;
  settings: WebhookState;
  /** Read when the first event goes to it. */
  end: RouteEnd;
  /** Up to this position an earlier run has routed its events. */
  readonly knownUpTo: number;
  pending: RoutedEntry[];
  cause: Recorded['metadata'] | undefined;
  /** Missed events that were asked for: read slice by slice, and appended with what is pending. */
  backfill: Backfill | undefined;
  slice: Slice | undefined;
};

type Router = Readonly<{
  /** Adds a subscription with its settings at that position. */
  add: (id: WebhookId, team: string, position: number) => Promise<void>;
  /** Routes nothing more to a subscription whose settings cannot be read; the others go on. */
  leaveOut: (id: WebhookId, why: unknown) => void;
  /** Takes the events of the log, in order. */
  look: (recorded: Recorded) => Promise<void>;
  /** Reads the next slice of missed events of each subscription that has none waiting. */
  lookBack: (signal: AbortSignal) => Promise<void>;
  pending: () => number;
  subscriptions: () => number;
  /** Appends what was found, under the lease with that fence. */
  flush: (fence: number) => Promise<void>;
}>;

type DueRoute = Readonly<{ route: Route; count: number }>;

type Fact = Readonly<{
  data: Omit<WebhookRouteEvent['data'], 'at' | 'before' | 'previous'>;
  cause: Recorded['metadata'] | undefined;
  fence: number;
}>;

type Mark = Readonly<{ version: StreamVersion; position: number }>;

type Reached = Readonly<{
  stream: string;
  revision: number;
  metadata: Readonly<{ teamId: string; correlationId: string; eventId: string }>;
}>;

const NAME = 'route-webhooks';

/** Entries of a subscription within that time share a fact. */
const GATHER_MS = 200;

const PENDING_MAX = 2_000;

const MARK_EVERY_MS = 60_000;

/** Entries in one fact, except that those of one event of the log share a fact. */
const ENTRIES_PER_FACT = 250;

/** Subscriptions whose facts are appended in parallel, so that they share a commit. */
const AT_ONCE = 32;

const SETTINGS: readonly EventType[] = [
  'WebhookCreated',
  'WebhookChanged',
  'WebhookDisabled',
  'WebhookBackfillAsked',
  'WebhookTrashed',
  'WebhookRestored',
  'WebhookDeleted',
] satisfies readonly WebhookEvent['type'][];

const NOTIFYING_KINDS = ['email', 'batch', 'suppression', 'senderDomains'];

/** The kinds of stream and types of event that a router reads. */
const ROUTED: Readonly<{ kinds: readonly string[]; types: readonly EventType[] }> = {
  kinds: [...NOTIFYING_KINDS, 'webhook'],
  types: [...notifyingTypes, ...SETTINGS],
};

export const routeWebhooksWorker = (deps: RouteWebhooksDeps): Worker => {
  const givingWay = openGivingWay(deps.clock);
  return {
    name: NAME,
    run: (stop) => underLease(deps, NAME, stop, (held) => routeWebhooks(deps, held, givingWay)),
  };
};

const routeWebhooks = async (deps: RouteWebhooksDeps, held: Held, givingWay: GivingWay): Promise<void> => {
  const { eventLog } = deps;
  while (!held.signal.aborted) {
    const mark = await lastMark(eventLog);
    const head = await eventLog.head();
    givingWay.begin(head);
    const kept = await deps.keptUpTo(head, held.signal);
    const oldest = kept.find(({ isDeleted }) => !isDeleted)?.seq;
    if (oldest === undefined) {
      await firstSubscription(deps, head, held.signal);
      continue;
    }
    const start = Math.max(mark.position, oldest);
    const router = openRouter(deps);
    for (const { id, team, seq } of kept) if (seq <= start) await router.add(id, team, start);
    await follow(deps, held, router, { ...mark, position: start, head, unknown: givingWay.passes });
  }
};

/** Waits until a subscription is created or restored; without subscriptions nothing else is read. */
const firstSubscription = async (
  { eventLog }: RouteWebhooksDeps,
  after: number,
  signal: AbortSignal,
): Promise<void> => {
  for await (const { events } of eventLog.subscribeAll(after, {
    kinds: ['webhook'],
    only: ['WebhookCreated', 'WebhookRestored'],
    decrypt: [],
    signal,
  }))
    if (events.length > 0) return;
};

/**
 * Reads the log and appends in parallel, until there are no subscriptions any more; entries wait for others for
 * GATHER_MS at most. Up to `head`, where there were subscriptions, it reads in any case.
 */
const follow = async (
  deps: RouteWebhooksDeps,
  { fence, signal, lost }: Held,
  router: Router,
  mark: Mark & Readonly<{ head: number; unknown: GivingWay['passes'] }>,
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
      unknown: mark.unknown,
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

const lastMark = async (eventLog: EventLog): Promise<Mark> => {
  const last = await eventLog.last(WEBHOOK_ROUTER_STREAM);
  const [recorded] = last === undefined ? [] : await eventLog.load(WEBHOOK_ROUTER_STREAM, last.revision);
  if (recorded === undefined) return { version: startOf(WEBHOOK_ROUTER_STREAM), position: 0 };
  return {
    version: versionOf(recorded),
    position: await positionOf(eventLog, (recorded.event as WebhookRouterEvent).data),
  };
};

const appendMark = async (
  { eventLog, clock }: RouteWebhooksDeps,
  version: StreamVersion,
  { stream, revision, metadata }: Reached,
  fence: number,
): Promise<StreamVersion> => {
  const at = isoTime(clock.now());
  const { teamId, correlationId, eventId: causationId } = metadata;
  const cause = { teamId, actor: `processor:${NAME}`, correlationId, causationId, at, fence };
  // Not by `handle`: the event notes how far routing came, under a lease, and nothing about it is decided.
  return eventLog.append(
    WEBHOOK_ROUTER_STREAM,
    version,
    [{ type: 'WebhookRoutesReached', data: { at, stream, revision } }],
    cause,
  );
};

export const openRouter = (deps: RouterDeps): Router => {
  const routes = new Map<WebhookId, Route>();
  const byTeam = new Map<string, Set<Route>>();
  const leftOut = new Set<WebhookId>();
  let pending = 0;

  const leaveOut: Router['leaveOut'] = (id, why) => {
    if (leftOut.has(id)) return;
    leftOut.add(id);
    deps.logger.error(
      { webhook: id, err: why instanceof Error ? why : undefined },
      'events go to this webhook subscription no more, for it cannot be read',
    );
    const route = routes.get(id);
    // Entries that are pending still go to it.
    if (route !== undefined) route.settings = undefined;
  };

  const add: Router['add'] = async (id, team, position) => {
    if (routes.has(id) || leftOut.has(id)) return;
    const route = await openRoute(deps.eventLog, id, team, position);
    if (route instanceof EventUnreadable) return leaveOut(id, route);
    addRoute(routes, byTeam, route);
  };

  const flushOne = async ({ route, count }: DueRoute, fence: number): Promise<void> => {
    const appended = await appendPending(deps, route, count, fence);
    pending -= appended;
    // Entries that came during this append wait for the next flush, for the subscription may be restored.
    if (isDeleted(route) && route.pending.length === 0) removeRoute(routes, byTeam, route);
  };

  const change = async (recorded: Recorded): Promise<void> => {
    const id = splitStream(recorded.stream).id as WebhookId;
    if (leftOut.has(id)) return;
    const route = routes.get(id);
    if (route === undefined) return add(id, recorded.metadata.teamId, recorded.position);
    route.settings = evolveWebhook(route.settings, recorded.event as WebhookEvent);
  };

  return {
    add,
    leaveOut,
    look: async (recorded) => {
      if (splitStream(recorded.stream).kind === 'webhook') return change(recorded);
      const ofTeam = byTeam.get(recorded.metadata.teamId);
      if (ofTeam !== undefined) pending += addNotices(ofTeam, recorded);
    },
    lookBack: async (signal) => {
      for (const route of [...routes.values()].filter(wantsMissed))
        if (!signal.aborted) await lookBackFor(deps, route, signal);
    },
    pending: () => pending,
    subscriptions: () => leftOut.size + livingIn(routes.values()),
    flush: async (fence) => {
      const due = dueNow(routes.values());
      for (let at = 0; at < due.length; at += AT_ONCE)
        await allEnded(due.slice(at, at + AT_ONCE).map((one) => flushOne(one, fence)));
    },
  };
};

/** Appends at least `count` pending entries, and the slice of missed events. Out: how many entries were appended. */
const appendPending = async (deps: Deps, route: Route, count: number, fence: number): Promise<number> => {
  let appended = 0;
  while (appended < count) {
    const entries = route.pending.slice(0, wholeEvents(route.pending));
    await appendFact(deps, route, entries, fence);
    route.pending = route.pending.slice(entries.length);
    appended += entries.length;
  }
  await appendSlice(deps, route, fence);
  return appended;
};

/** Missed events follow what was routed meanwhile. */
const appendSlice = async (deps: Deps, route: Route, fence: number): Promise<void> => {
  const { slice } = route;
  if (slice === undefined) return;
  const { entries, backfill, cause } = slice;
  const live = route.end.last;
  const data = { entries: [...entries], backfill, isMissed: true as const, ...(live === undefined ? {} : { live }) };
  await appendRouted(deps, route, { data, cause, fence });
  route.slice = undefined;
};

/**
 * How many entries go into one fact. All entries of one event of the log share a fact, so that a restart between two
 * facts loses none.
 */
const wholeEvents = (pending: readonly RoutedEntry[]): number => {
  let count = Math.min(ENTRIES_PER_FACT, pending.length);
  const last = pending[count - 1];
  while (
    count < pending.length &&
    pending[count]!.stream === last?.stream &&
    pending[count]!.revision === last.revision
  )
    count += 1;
  return count;
};

const appendFact = async (deps: Deps, route: Route, entries: RoutedEntry[], fence: number): Promise<void> => {
  const { backfill } = route.end;
  await appendRouted(deps, route, {
    data: { entries, ...(backfill === undefined ? {} : { backfill }) },
    cause: route.cause,
    fence,
  });
};

const appendRouted = async ({ eventLog, clock }: Deps, route: Route, { data, cause, fence }: Fact): Promise<void> => {
  const { end } = route;
  const at = isoTime(clock.now());
  // Not by `handle`: the event notes what was routed, under a lease, and nothing about it is decided.
  const version = await eventLog.append(
    webhookRouteStream(route.id, end.part),
    end.version,
    [{ type: 'WebhookRouted', data: { at, before: end.count, previous: end.previous, ...data } }],
    {
      teamId: route.team,
      actor: 'processor:route-webhooks',
      correlationId: cause?.correlationId ?? route.id,
      causationId: cause?.eventId ?? route.id,
      at,
      fence,
    },
  );
  route.end = endAfter(route.id, end, data, version);
};

const endAfter = (
  id: WebhookId,
  { part, count: before, previous, last }: RouteEnd,
  { entries, isMissed, backfill }: Fact['data'],
  version: StreamVersion,
): RouteEnd => {
  const entry = entries.at(-1);
  const count = before + entries.length;
  const isFull = version.revision + 1 >= FACTS_PER_PART;
  return {
    part: isFull ? part + 1 : part,
    version: isFull ? startOf(webhookRouteStream(id, part + 1)) : version,
    count,
    previous: entry === undefined ? previous : webhookEventId(count - 1, entry.key),
    last: isMissed ? last : entry,
    backfill,
  };
};

const livingIn = (routes: Iterable<Route>): number => [...routes].filter((route) => !isDeleted(route)).length;

/**
 * The counts are taken once: entries that come during the flush wait for the next, so that a busy subscription does not
 * hold up the others.
 */
const dueNow = (routes: Iterable<Route>): readonly DueRoute[] =>
  [...routes]
    .map((route) => ({ route, count: route.pending.length }))
    .filter(({ route, count }) => count > 0 || route.slice !== undefined || isDeleted(route));

const isDeleted = ({ settings }: Route): boolean => (settings?.deletedAt ?? null) !== null;

/** Rejects with the first fault, but only after all have ended, so that none runs on into the next run. */
const allEnded = async (work: readonly Promise<void>[]): Promise<void> => {
  for (const ended of await Promise.allSettled(work)) if (ended.status === 'rejected') throw ended.reason;
};

const wantsMissed = (route: Route): boolean =>
  route.slice === undefined && !isDeleted(route) && isBackfillOpen(route.settings?.backfill, route.end);

const lookBackFor = async ({ eventLog, logger }: RouterDeps, route: Route, signal: AbortSignal): Promise<void> => {
  const { id, team, settings, end } = route;
  try {
    if (route.backfill?.id !== settings?.backfill)
      route.backfill = await openBackfill({ eventLog, kinds: NOTIFYING_KINDS }, id, team, end);
    route.slice = await route.backfill?.next(route.end, signal);
  } catch (fault) {
    if (!(fault instanceof EventUnreadable)) throw fault;
    logger.error(
      { webhook: id, err: fault },
      'what this webhook subscription missed does not go to it, for it cannot be read',
    );
    // Reads nothing until the next run.
    route.backfill = { id: settings?.backfill ?? '', next: async () => undefined };
  }
};

/** Out: the fault if its settings or the end of its route cannot be read. */
const openRoute = async (
  eventLog: EventLog,
  id: WebhookId,
  team: string,
  position: number,
): Promise<Route | EventUnreadable> => {
  try {
    const end = await routeEnd(eventLog, id);
    const settings = await settingsAt(eventLog, id, position);
    const knownUpTo = await positionOf(eventLog, end.last);
    return { id, team, settings, end, knownUpTo, pending: [], cause: undefined, backfill: undefined, slice: undefined };
  } catch (fault) {
    if (fault instanceof EventUnreadable) return fault;
    throw fault;
  }
};

const addRoute = (routes: Map<WebhookId, Route>, byTeam: Map<string, Set<Route>>, route: Route): void => {
  routes.set(route.id, route);
  const ofTeam = byTeam.get(route.team);
  if (ofTeam === undefined) byTeam.set(route.team, new Set([route]));
  else ofTeam.add(route);
};

const removeRoute = (routes: Map<WebhookId, Route>, byTeam: Map<string, Set<Route>>, route: Route): void => {
  routes.delete(route.id);
  const ofTeam = byTeam.get(route.team);
  ofTeam?.delete(route);
  if (ofTeam?.size === 0) byTeam.delete(route.team);
};

/** Adds the notices of an event to the pending entries of a team's subscriptions. Out: how many were added. */
const addNotices = (ofTeam: ReadonlySet<Route>, recorded: Recorded): number => {
  let notices: readonly Notice[] | undefined;
  let count = 0;
  for (const route of ofTeam) {
    const { settings } = route;
    if (settings?.enabled !== true || recorded.position <= route.knownUpTo) continue;
    notices ??= noticesOf(recorded.event);
    count += addEntries(route, settings.events, recorded, notices);
  }
  return count;
};

/** Out: how many entries were added. */
const addEntries = (
  route: Route,
  kinds: readonly string[],
  { stream, revision, metadata }: Recorded,
  notices: readonly Notice[],
): number => {
  let count = 0;
  for (const { kind, recipient } of notices) {
    if (!kinds.includes(kind)) continue;
    const key = eventKey(route.id, metadata.eventId, recipient);
    route.pending.push({
      stream,
      revision,
      at: metadata.occurredAt,
      kind,
      ...(recipient === undefined ? {} : { recipient }),
      key,
    });
    route.cause = metadata;
    count += 1;
  }
  return count;
};

const settingsAt = async (eventLog: EventLog, id: WebhookId, position: number): Promise<WebhookState> => {
  const recorded = await eventLog.load(webhookStream(id));
  return recorded
    .filter((one) => one.position <= position)
    .reduce((state, { event }) => evolveWebhook(state, event as WebhookEvent), undefined as WebhookState);
};

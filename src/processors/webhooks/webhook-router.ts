/** Which events of the log go to which subscriptions: settings as they were at each position, so that the same log gives the same answer. */
import { routeEnd } from '../../commands/webhooks/ledger.js';
import { EventUnreadable } from '../../domain/core/errors.js';
import type { EventType, Recorded } from '../../domain/events.js';
import { splitStream, webhookStream, type WebhookId } from '../../domain/core/ids.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import { eventKey } from '../../domain/webhooks/event-id.js';
import type { WebhookEvent } from '../../domain/webhooks/events.js';
import { noticesOfEvent, notifyingTypes, type Notice, type NotifyingEvent } from '../../domain/webhooks/kinds.js';
import { evolveWebhook, type WebhookState } from '../../domain/webhooks/decider.js';
import type { EventLog } from '../../event-log/event-log.js';
import { isBackfillOpen, openBackfill, positionOf } from './backfill.js';
import { appendPending, type Route } from './route-facts.js';

/** Subscriptions whose facts are appended side by side: the log takes them together. */
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

const NOTIFYING_KINDS = ['email', 'batch', 'suppression'];

/** What a router reads of the log. */
export const ROUTED: Readonly<{ kinds: readonly string[]; types: readonly EventType[] }> = {
  kinds: [...NOTIFYING_KINDS, 'webhook'],
  types: [...notifyingTypes, ...SETTINGS],
};

export type RouterDeps = Readonly<{ eventLog: EventLog; clock: Clock; logger: Logger }>;

export type Router = Readonly<{
  /** Brings in a subscription as its settings were at that position. */
  add: (id: WebhookId, team: string, position: number) => Promise<void>;
  /** Of a subscription whose settings cannot be read nobody knows what goes to it: it gets nothing more, and all others do. */
  leaveOut: (id: WebhookId, why: unknown) => void;
  /** Looks at events of the log, in order. */
  look: (recorded: Recorded) => Promise<void>;
  /** Reads more of what subscriptions missed and somebody asked for, where there is room for it. */
  lookBack: (signal: AbortSignal) => Promise<void>;
  pending: () => number;
  subscriptions: () => number;
  /** Appends what was found, under the lease with that fence. */
  flush: (fence: number) => Promise<void>;
}>;

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
    // What was found before goes to it still.
    if (route !== undefined) route.settings = undefined;
  };

  const add: Router['add'] = async (id, team, position) => {
    if (routes.has(id) || leftOut.has(id)) return;
    const route = await openRoute(deps.eventLog, id, team, position);
    if (route instanceof EventUnreadable) return leaveOut(id, route);
    enter(routes, byTeam, route);
  };

  const flushOne = async ({ route, count }: Due, fence: number): Promise<void> => {
    const appended = await appendPending(deps, route, count, fence);
    pending -= appended;
    // What was found before it was deleted, and while this was appended, waits for the next flush: the subscription may be restored.
    if (isDeleted(route) && route.pending.length === 0) forget(routes, byTeam, route);
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
      if (ofTeam !== undefined) pending += noteForAll(ofTeam, recorded);
    },
    lookBack: async (signal) => {
      for (const route of [...routes.values()].filter(wantsMissed)) if (!signal.aborted) await lookBackFor(deps, route, signal);
    },
    pending: () => pending,
    subscriptions: () => leftOut.size + livingIn(routes.values()),
    flush: async (fence) => {
      const due = dueNow(routes.values());
      for (let at = 0; at < due.length; at += AT_ONCE) await allEnded(due.slice(at, at + AT_ONCE).map((one) => flushOne(one, fence)));
    },
  };
};

const livingIn = (routes: Iterable<Route>): number => [...routes].filter((route) => !isDeleted(route)).length;

type Due = Readonly<{ route: Route; count: number }>;

/** What is found while facts are appended waits for the next flush: a busy subscription holds up no other. */
const dueNow = (routes: Iterable<Route>): readonly Due[] =>
  [...routes]
    .map((route) => ({ route, count: route.pending.length }))
    .filter(({ route, count }) => count > 0 || route.slice !== undefined || isDeleted(route));

const isDeleted = ({ settings }: Route): boolean => (settings?.deletedAt ?? null) !== null;

/** Rejects with the first fault of them, and not before all have ended: none of them is under way where the work begins anew. */
const allEnded = async (work: readonly Promise<void>[]): Promise<void> => {
  for (const ended of await Promise.allSettled(work)) if (ended.status === 'rejected') throw ended.reason;
};

const wantsMissed = (route: Route): boolean =>
  route.slice === undefined && !isDeleted(route) && isBackfillOpen(route.settings?.backfill, route.end);

const lookBackFor = async ({ eventLog, logger }: RouterDeps, route: Route, signal: AbortSignal): Promise<void> => {
  const { id, team, settings, end } = route;
  try {
    if (route.backfill?.id !== settings?.backfill) route.backfill = await openBackfill({ eventLog, kinds: NOTIFYING_KINDS }, id, team, end);
    route.slice = await route.backfill?.next(route.end, signal);
  } catch (fault) {
    if (!(fault instanceof EventUnreadable)) throw fault;
    logger.error({ webhook: id, err: fault }, 'what this webhook subscription missed does not go to it, for it cannot be read');
    // Until the work begins anew.
    route.backfill = { id: settings?.backfill ?? '', next: async () => undefined };
  }
};

/** Out: the fault where its settings, or where its events end, cannot be read. */
const openRoute = async (eventLog: EventLog, id: WebhookId, team: string, position: number): Promise<Route | EventUnreadable> => {
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

const enter = (routes: Map<WebhookId, Route>, byTeam: Map<string, Set<Route>>, route: Route): void => {
  routes.set(route.id, route);
  const ofTeam = byTeam.get(route.team);
  if (ofTeam === undefined) byTeam.set(route.team, new Set([route]));
  else ofTeam.add(route);
};

const forget = (routes: Map<WebhookId, Route>, byTeam: Map<string, Set<Route>>, route: Route): void => {
  routes.delete(route.id);
  const ofTeam = byTeam.get(route.team);
  ofTeam?.delete(route);
  if (ofTeam?.size === 0) byTeam.delete(route.team);
};

/** Out: how many events go to the subscriptions of a team. */
const noteForAll = (ofTeam: ReadonlySet<Route>, recorded: Recorded): number => {
  let notices: readonly Notice[] | undefined;
  let count = 0;
  for (const route of ofTeam) {
    const { settings } = route;
    if (settings?.enabled !== true || recorded.position <= route.knownUpTo) continue;
    notices ??= noticesOfEvent(recorded.event as NotifyingEvent);
    count += note(route, settings.events, recorded, notices);
  }
  return count;
};

/** Out: how many events go to it. */
const note = (route: Route, kinds: readonly string[], { stream, revision, metadata }: Recorded, notices: readonly Notice[]): number => {
  let count = 0;
  for (const { kind, recipient } of notices) {
    if (!kinds.includes(kind)) continue;
    const key = eventKey(route.id, metadata.eventId, recipient);
    route.pending.push({ stream, revision, at: metadata.occurredAt, kind, ...(recipient === undefined ? {} : { recipient }), key });
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

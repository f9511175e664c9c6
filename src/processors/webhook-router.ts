/** Which events of the log go to which subscriptions: settings as they were at each position, so that the same log gives the same answer. */
import { routeEnd, FACTS_PER_PART, type RouteEnd } from '../commands/webhook-ledger.js';
import { EventUnreadable } from '../domain/errors.js';
import type { EventType, Recorded } from '../domain/events.js';
import { splitStream, webhookRouteStream, webhookStream, type StreamName, type WebhookId } from '../domain/ids.js';
import { isoTime, type Clock } from '../domain/ports/clock.js';
import type { Logger } from '../domain/ports/logger.js';
import { eventKey, webhookEventId } from '../domain/webhook/event-id.js';
import type { RoutedEntry, WebhookEvent } from '../domain/webhook/events.js';
import { noticesOfEvent, notifyingTypes, type Notice, type NotifyingEvent } from '../domain/webhook/kinds.js';
import { evolveWebhook, type WebhookState } from '../domain/webhook/state.js';
import { startOf, type EventLog } from '../event-log/event-log.js';

/** Subscriptions whose facts are appended side by side: the log takes them together. */
const AT_ONCE = 32;
/** Of one fact. */
const ENTRIES_PER_FACT = 250;

const SETTINGS: readonly EventType[] = [
  'WebhookCreated',
  'WebhookChanged',
  'WebhookDisabled',
  'WebhookDeleted',
] satisfies readonly WebhookEvent['type'][];

/** What a router reads of the log. */
export const ROUTED: Readonly<{ kinds: readonly string[]; types: readonly EventType[] }> = {
  kinds: ['email', 'batch', 'suppression', 'webhook'],
  types: [...notifyingTypes, ...SETTINGS],
};

type Route = {
  readonly id: WebhookId;
  readonly team: string;
  settings: WebhookState;
  /** Read when the first event goes to it. */
  end: RouteEnd;
  /** Up to here the log was looked at for it by who routed before. */
  readonly knownUpTo: number;
  pending: RoutedEntry[];
  cause: Recorded['metadata'] | undefined;
};

export type RouterDeps = Readonly<{ eventLog: EventLog; clock: Clock; logger: Logger }>;

export type Router = Readonly<{
  /** Brings in a subscription as its settings were at that position. */
  add: (id: WebhookId, team: string, position: number) => Promise<void>;
  /** Of a subscription whose settings cannot be read nobody knows what goes to it: it gets nothing more, and all others do. */
  leaveOut: (id: WebhookId, why: unknown) => void;
  /** Looks at events of the log, in order. */
  look: (recorded: Recorded) => Promise<void>;
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
    pending: () => pending,
    subscriptions: () => leftOut.size + [...routes.values()].filter(({ settings }) => (settings?.deletedAt ?? null) === null).length,
    flush: async (fence) => {
      // What is found while facts are appended waits for the next flush: a busy subscription holds up no other.
      const found = [...routes.values()].map((route) => ({ route, count: route.pending.length }));
      const flushOne = async ({ route, count }: (typeof found)[number]): Promise<void> => {
        const appended = await appendPending(deps, route, count, fence);
        pending -= appended;
        if ((route.settings?.deletedAt ?? null) === null) return;
        pending -= route.pending.length;
        forget(routes, byTeam, route);
      };
      const due = found.filter(({ route, count }) => count > 0 || (route.settings?.deletedAt ?? null) !== null);
      for (let from = 0; from < due.length; from += AT_ONCE) await allEnded(due.slice(from, from + AT_ONCE).map(flushOne));
    },
  };
};

/** Rejects with the first fault of them, and not before all have ended: none of them is under way where the work begins anew. */
const allEnded = async (work: readonly Promise<void>[]): Promise<void> => {
  for (const ended of await Promise.allSettled(work)) if (ended.status === 'rejected') throw ended.reason;
};

/** Appends so many entries at least, and those that share an event of the log with the last. Out: how many they were. */
const appendPending = async (deps: RouterDeps, route: Route, count: number, fence: number): Promise<number> => {
  let appended = 0;
  while (appended < count) {
    const entries = route.pending.slice(0, wholeEvents(route.pending));
    await appendFact(deps, route, entries, fence);
    route.pending = route.pending.slice(entries.length);
    appended += entries.length;
  }
  return appended;
};

/** Out: the fault where its settings, or where its events end, cannot be read. */
const openRoute = async (eventLog: EventLog, id: WebhookId, team: string, position: number): Promise<Route | EventUnreadable> => {
  try {
    const end = await routeEnd(eventLog, id);
    const settings = await settingsAt(eventLog, id, position);
    return { id, team, settings, end, knownUpTo: await positionOf(eventLog, end.last), pending: [], cause: undefined };
  } catch (fault) {
    if (fault instanceof EventUnreadable) return fault;
    throw fault;
  }
};

/** How many entries go into one fact: all that belong to one event of the log stand in the same, so that none is lost between two. */
const wholeEvents = (pending: readonly RoutedEntry[]): number => {
  let count = Math.min(ENTRIES_PER_FACT, pending.length);
  const last = pending[count - 1];
  while (count < pending.length && pending[count]!.stream === last?.stream && pending[count]!.revision === last.revision) count += 1;
  return count;
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

const appendFact = async ({ eventLog, clock }: RouterDeps, route: Route, entries: RoutedEntry[], fence: number): Promise<void> => {
  const { end, cause } = route;
  const at = isoTime(clock.now());
  const last = entries.at(-1)!;
  const version = await eventLog.append(
    webhookRouteStream(route.id, end.part),
    end.version,
    [{ type: 'WebhookRouted', data: { at, before: end.count, previous: end.previous, entries } }],
    {
      teamId: route.team,
      actor: 'processor:route-webhooks',
      correlationId: cause?.correlationId ?? route.id,
      causationId: cause?.eventId ?? route.id,
      at,
      fence,
    },
  );
  const count = end.count + entries.length;
  const isFull = version.revision + 1 >= FACTS_PER_PART;
  const part = isFull ? end.part + 1 : end.part;
  const next = isFull ? startOf(webhookRouteStream(route.id, part)) : version;
  route.end = { part, version: next, count, previous: webhookEventId(count - 1, last.key), last };
};

const settingsAt = async (eventLog: EventLog, id: WebhookId, position: number): Promise<WebhookState> => {
  const recorded = await eventLog.load(webhookStream(id));
  return recorded
    .filter((one) => one.position <= position)
    .reduce((state, { event }) => evolveWebhook(state, event as WebhookEvent), undefined as WebhookState);
};

/** Positions differ from engine to engine: a fact names the event, and where that stands is asked for. 0 for none. */
export const positionOf = async (
  eventLog: Pick<EventLog, 'inspect'>,
  place: Readonly<{ stream: string; revision: number }> | undefined,
): Promise<number> => {
  if (place === undefined) return 0;
  // It stands where it stood, whether it can be read or not.
  const events = await eventLog.inspect(place.stream as StreamName);
  return events.find(({ revision }) => revision === place.revision)?.position ?? 0;
};

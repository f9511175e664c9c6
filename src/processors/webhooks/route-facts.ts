/** What goes to a subscription, appended after what went to it before: as it occurs, and what was missed when somebody asks for it. */
import { FACTS_PER_PART, type RouteEnd } from '../../commands/webhooks/ledger.js';
import type { Recorded } from '../../domain/events.js';
import { webhookRouteStream, type WebhookId } from '../../domain/core/ids.js';
import type { Clock } from '../../domain/ports/clock.js';
import { isoTime } from '../../domain/core/iso-time.js';
import { webhookEventId } from '../../domain/webhooks/event-id.js';
import type { RoutedEntry, WebhookRouteEvent } from '../../domain/webhooks/events.js';
import type { WebhookState } from '../../domain/webhooks/decider.js';
import { startOf, type EventLog, type StreamVersion } from '../../event-log/event-log.js';
import type { Backfill, Slice } from './backfill.js';

/** Of one fact. */
const ENTRIES_PER_FACT = 250;

type Deps = Readonly<{ eventLog: EventLog; clock: Clock }>;

/** What a router knows of a subscription. */
export type Route = {
  readonly id: WebhookId;
  readonly team: string;
  settings: WebhookState;
  /** Read when the first event goes to it. */
  end: RouteEnd;
  /** Up to here the log was looked at for it by who routed before. */
  readonly knownUpTo: number;
  pending: RoutedEntry[];
  cause: Recorded['metadata'] | undefined;
  /** What it missed and somebody asked for: read slice by slice, and appended with what is pending. */
  backfill: Backfill | undefined;
  slice: Slice | undefined;
};

/** Appends so many entries at least, and those that share an event of the log with the last. Out: how many they were. */
export const appendPending = async (deps: Deps, route: Route, count: number, fence: number): Promise<number> => {
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

/** What was missed follows what went to it meanwhile. */
const appendSlice = async (deps: Deps, route: Route, fence: number): Promise<void> => {
  const { slice } = route;
  if (slice === undefined) return;
  const { entries, backfill, cause } = slice;
  const live = route.end.last;
  const data = { entries: [...entries], backfill, isMissed: true as const, ...(live === undefined ? {} : { live }) };
  await appendRouted(deps, route, { data, cause, fence });
  route.slice = undefined;
};

/** How many entries go into one fact: all that belong to one event of the log stand in the same, so that none is lost between two. */
const wholeEvents = (pending: readonly RoutedEntry[]): number => {
  let count = Math.min(ENTRIES_PER_FACT, pending.length);
  const last = pending[count - 1];
  while (count < pending.length && pending[count]!.stream === last?.stream && pending[count]!.revision === last.revision) count += 1;
  return count;
};

const appendFact = async (deps: Deps, route: Route, entries: RoutedEntry[], fence: number): Promise<void> => {
  const { backfill } = route.end;
  await appendRouted(deps, route, { data: { entries, ...(backfill === undefined ? {} : { backfill }) }, cause: route.cause, fence });
};

type Fact = Readonly<{
  data: Omit<WebhookRouteEvent['data'], 'at' | 'before' | 'previous'>;
  cause: Recorded['metadata'] | undefined;
  fence: number;
}>;

const appendRouted = async ({ eventLog, clock }: Deps, route: Route, { data, cause, fence }: Fact): Promise<void> => {
  const { end } = route;
  const at = isoTime(clock.now());
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

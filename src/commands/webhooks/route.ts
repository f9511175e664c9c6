/**
 * The route of a subscription: the numbered events that go to it, in parts of bounded length. A part is found by
 * bisection; parts are read one at a time.
 */
import { versionOf, startOf, type EventLog, type StreamVersion } from '../../event-log/event-log.js';
import type { Recorded } from '../../domain/events.js';
import { webhookRouteStream, type WebhookId } from '../../domain/core/ids.js';
import { webhookEventId } from '../../domain/webhooks/delivery.js';
import type { BackfillReached, Place, SentEvent, WebhookRouteEvent } from '../../domain/webhooks/events.js';

type Log = Pick<EventLog, 'load' | 'last'>;

/** Facts in one part: reading an old event reads at most one part. */
export const FACTS_PER_PART = 32;

/** The end of the events of a subscription. */
export type RouteEnd = Readonly<{
  part: number;
  version: StreamVersion;
  count: number;
  previous: string | null;
  /** The last event that was routed as it occurred, not by a request for missed ones. */
  last: Place | undefined;
  backfill: BackfillReached | undefined;
}>;

const dataOf = (recorded: Recorded): WebhookRouteEvent['data'] => (recorded.event as WebhookRouteEvent).data;

/**
 * The largest number for which `holds`, found by bisection. It must hold for `from`, and for none after the first for
 * which it does not.
 */
export const lastThat = async (holds: (number: number) => Promise<boolean>, from = 0): Promise<number> => {
  let [low, high] = [from, from + 1];
  while (await holds(high)) [low, high] = [high, high + (high - from)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (await holds(middle)) low = middle;
    else high = middle;
  }
  return low;
};

export const routeEnd = async (eventLog: Log, id: WebhookId): Promise<RouteEnd> => {
  const part = await lastThat(async (number) => (await eventLog.last(webhookRouteStream(id, number))) !== undefined);
  const stream = webhookRouteStream(id, part);
  const last = await eventLog.last(stream);
  const [recorded] = last === undefined ? [] : await eventLog.load(stream, last.revision);
  if (recorded === undefined)
    return { part, version: startOf(stream), count: 0, previous: null, last: undefined, backfill: undefined };
  const { before, previous: earlier, entries, isMissed, live, backfill } = dataOf(recorded);
  const entry = entries.at(-1);
  const count = before + entries.length;
  const previous = entry === undefined ? earlier : webhookEventId(count - 1, entry.key);
  const end = { count, previous, last: isMissed ? live : entry, backfill };
  return recorded.revision + 1 < FACTS_PER_PART
    ? { ...end, part, version: versionOf(recorded) }
    : { ...end, part: part + 1, version: startOf(webhookRouteStream(id, part + 1)) };
};

/** The last part whose first fact is before what is searched; 0 if none is. */
const partOf = async (
  eventLog: Log,
  id: WebhookId,
  isBefore: (first: WebhookRouteEvent['data']) => boolean,
): Promise<number> =>
  lastThat(async (number) => {
    const [first] = await eventLog.load(webhookRouteStream(id, number));
    return first !== undefined && isBefore(dataOf(first));
  });

const sentOf = (facts: readonly Recorded[]): SentEvent[] =>
  facts.flatMap((fact) => {
    const { before, previous, entries } = dataOf(fact);
    return entries.map((entry, at) => {
      const earlier = entries[at - 1];
      return {
        ...entry,
        number: before + at,
        previous: earlier === undefined ? previous : webhookEventId(before + at - 1, earlier.key),
      };
    });
  });

/** The events of one part from that number on; none if there are none yet. */
export const sentFrom = async (eventLog: Log, id: WebhookId, number: number): Promise<readonly SentEvent[]> => {
  const part = await partOf(eventLog, id, ({ before }) => before <= number);
  const found = sentOf(await eventLog.load(webhookRouteStream(id, part))).filter((sent) => sent.number >= number);
  return found.length > 0 ? found : sentOf(await eventLog.load(webhookRouteStream(id, part + 1)));
};

/** Reads the events from a number on, one part a call, and remembers its place. */
export const routeReader = (eventLog: Log, id: WebhookId, from: number): (() => Promise<readonly SentEvent[]>) => {
  let place: { part: number; revision: number } | undefined;
  let next = from;
  return async () => {
    place ??= { part: await partOf(eventLog, id, ({ before }) => before <= from), revision: 0 };
    for (;;) {
      const facts = await eventLog.load(webhookRouteStream(id, place.part), place.revision);
      if (facts.length === 0) return [];
      const revision: number = place.revision + facts.length;
      place = revision >= FACTS_PER_PART ? { part: place.part + 1, revision: 0 } : { part: place.part, revision };
      const found = sentOf(facts).filter((sent) => sent.number >= next);
      next = (found.at(-1)?.number ?? next - 1) + 1;
      if (found.length > 0) return found;
    }
  };
};

/**
 * For a route with missed events, which are not in the order of their times: the number from which on all events were
 * routed at that moment or later.
 */
export const numberRoutedSince = async (eventLog: Log, id: WebhookId, since: string): Promise<number> => {
  const part = await partOf(eventLog, id, ({ at }) => at < since);
  for (const at of [part, part + 1]) {
    const found = (await eventLog.load(webhookRouteStream(id, at))).map(dataOf).find((fact) => fact.at >= since);
    if (found !== undefined) return found.before;
  }
  return (await routeEnd(eventLog, id)).count;
};

/** For a route in the order of times: the number of the first event that occurred at that moment or later. */
export const numberSince = async (eventLog: Log, id: WebhookId, since: string): Promise<number> => {
  const part = await partOf(eventLog, id, ({ entries }) => (entries[0]?.at ?? '') < since);
  for (const at of [part, part + 1]) {
    const found = sentOf(await eventLog.load(webhookRouteStream(id, at))).find((sent) => sent.at >= since);
    if (found !== undefined) return found.number;
  }
  return (await routeEnd(eventLog, id)).count;
};

/**
 * Reads the missed events of a subscription from the log in bounded slices; each is read once the one before has been
 * sent for the first time.
 */
import { outcomesOf } from '../../commands/webhooks/records.js';
import type { RouteEnd } from '../../commands/webhooks/route.js';
import { noticesOf, notifyingTypes, type Recorded } from '../../domain/events.js';
import { webhookStream, type StreamName, type WebhookId } from '../../domain/core/ids.js';
import type { BackfillReached, RoutedEntry, WebhookEvent } from '../../domain/webhooks/events.js';
import { missedBy, type Missed } from '../../domain/webhooks/decider.js';
import { eventKey } from '../../domain/webhooks/delivery.js';
import type { EventLog } from '../../event-log/event-log.js';

/**
 * Bounds of a slice: entries, except that those of one event of the log stay together, and events that are looked at.
 */
const ENTRIES_MAX = 250;
const LOOKED_AT_MAX = 20_000;
const BATCH_SIZE = 1_000;

/** Missed entries to be appended, and how far the log was read for them. */
export type Slice = Readonly<{
  entries: readonly RoutedEntry[];
  backfill: BackfillReached;
  cause: Recorded['metadata'];
}>;

export type Backfill = Readonly<{
  id: string;
  /** The next slice; undefined if there is nothing to append yet. `end`: the current end of the route. */
  next: (end: RouteEnd, signal: AbortSignal) => Promise<Slice | undefined>;
}>;

type Deps = Readonly<{ eventLog: EventLog; kinds: readonly string[] }>;

type Reading = Readonly<{ webhook: WebhookId; team: string; missed: Missed; after: number; signal: AbortSignal }>;

type Read = { entries: RoutedEntry[]; reached: BackfillReached['reached']; position: number; isLast: boolean };

/** Whether a request for missed events is not fully appended yet. */
export const isBackfillOpen = (asked: string | undefined, { backfill }: RouteEnd): boolean =>
  asked !== undefined && !(backfill?.id === asked && backfill.isDone);

/** Goes on behind the last appended slice. undefined without a request. */
export const openBackfill = async (
  deps: Deps,
  webhook: WebhookId,
  team: string,
  end: RouteEnd,
): Promise<Backfill | undefined> => {
  const { eventLog } = deps;
  const facts = (await eventLog.load(webhookStream(webhook))) as readonly Recorded<WebhookEvent>[];
  const ask = facts.findLast(({ event }) => event.type === 'WebhookBackfillAsked');
  if (ask?.event.type !== 'WebhookBackfillAsked') return undefined;
  const { id } = ask.event.data;
  const missed = missedBy(facts, id);
  if (missed === undefined) return undefined;
  const reached = end.backfill?.id === id ? end.backfill.reached : undefined;
  let after = reached === undefined ? missed.from : Math.max(missed.from, await positionOf(eventLog, reached));
  let outcomesPart = 0;
  let awaited = end.count;
  return {
    id,
    next: async (now, signal) => {
      const { part, progress } = await outcomesOf(eventLog, webhook, outcomesPart);
      outcomesPart = part;
      if (progress.reached < Math.min(awaited, now.count)) return undefined;
      const slice = await readSlice(deps, { webhook, team, missed, after, signal });
      after = slice.position;
      const isDone = slice.isLast;
      if (slice.entries.length === 0 && !isDone) return undefined;
      awaited = now.count + slice.entries.length;
      return {
        entries: slice.entries,
        backfill: { id, ...(slice.reached === undefined ? {} : { reached: slice.reached }), isDone },
        cause: ask.metadata,
      };
    },
  };
};

const readSlice = async (
  { eventLog, kinds }: Deps,
  { webhook, team, missed, after, signal }: Reading,
): Promise<Read> => {
  const read: Read = { entries: [], reached: undefined, position: after, isLast: false };
  let lookedAt = 0;
  const options = { kinds, types: notifyingTypes, decrypt: [], batchSize: BATCH_SIZE, signal };
  for await (const { events, position } of eventLog.readAll(after, options)) {
    for (const recorded of events) {
      if (recorded.position >= missed.upTo) return { ...read, isLast: true };
      if (recorded.metadata.teamId === team) {
        const entries = missedIn(webhook, missed, recorded);
        read.entries.push(...entries);
        if (entries.length > 0) read.reached = { stream: recorded.stream, revision: recorded.revision };
      }
      read.position = recorded.position;
      if (read.entries.length >= ENTRIES_MAX) return read;
    }
    read.position = Math.max(read.position, position);
    if (read.position >= missed.upTo) return { ...read, isLast: true };
    lookedAt += events.length;
    if (lookedAt >= LOOKED_AT_MAX) return read;
  }
  // The end of the log was reached.
  return { ...read, isLast: !signal.aborted };
};

const missedIn = (
  webhook: WebhookId,
  { isMissed }: Missed,
  { event, stream, revision, position, metadata }: Recorded,
): RoutedEntry[] => {
  const { eventId, occurredAt: at } = metadata;
  return noticesOf(event)
    .filter(({ kind }) => isMissed(kind, at, position))
    .map(({ kind, recipient }) => ({
      stream,
      revision,
      at,
      kind,
      ...(recipient === undefined ? {} : { recipient }),
      key: eventKey(webhook, eventId, recipient),
    }));
};

/**
 * The position of an event; 0 for none. Facts name stream and revision, because positions differ between event stores.
 */
export const positionOf = async (
  eventLog: Pick<EventLog, 'inspect'>,
  place: Readonly<{ stream: string; revision: number }> | undefined,
): Promise<number> => {
  if (place === undefined) return 0;
  // `inspect` has the position even if the event cannot be decrypted.
  const events = await eventLog.inspect(place.stream as StreamName);
  return events.find(({ revision }) => revision === place.revision)?.position ?? 0;
};

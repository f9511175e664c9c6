/** The body of an event that goes to a subscription, made of the log each time. */
import { EventUnreadable } from '../domain/errors.js';
import type { Recorded } from '../domain/events.js';
import type { StreamName } from '../domain/ids.js';
import type { Clock } from '../domain/ports/clock.js';
import { bodyOf } from '../domain/webhook/body.js';
import type { RoutedEntry } from '../domain/webhook/events.js';
import type { EventLog } from '../event-log/event-log.js';

/** undefined where what the body would say is destroyed or damaged. */
export type ReadBody = (entry: RoutedEntry) => Promise<string | undefined>;

export type BodyDeps = Readonly<{ eventLog: Pick<EventLog, 'load'> }>;

const bodyIn = (entry: RoutedEntry, recorded: readonly Recorded[]): string | undefined =>
  bodyOf(
    entry,
    recorded.slice(0, entry.revision + 1).map(({ event }) => event),
  );

/** In: what is awaited of the log. Out: undefined where that is damaged. */
const unlessDamaged = async <T>(awaited: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await awaited();
  } catch (fault) {
    if (fault instanceof EventUnreadable) return undefined;
    throw fault;
  }
};

export const loadedBody = ({ eventLog }: BodyDeps, entry: RoutedEntry): Promise<string | undefined> =>
  unlessDamaged(async () => bodyIn(entry, await eventLog.load(entry.stream as StreamName)));

/** What is deleted meanwhile is told of no longer than that. */
const KEPT_MS = 500;
const STREAMS_MAX = 8;

type Kept = Readonly<{ readMs: number; recorded: Promise<readonly Recorded[]> }>;

/** The same for many entries in their order: those of one stream follow each other, and it is read once for them. */
export const openBodies = ({ eventLog, clock }: BodyDeps & Readonly<{ clock: Pick<Clock, 'monotonic'> }>): ReadBody => {
  const kept = new Map<string, Kept>();
  const read = (stream: string): Promise<readonly Recorded[]> => {
    const recorded = eventLog.load(stream as StreamName);
    kept.delete(stream);
    kept.set(stream, { readMs: clock.monotonic(), recorded });
    for (const oldest of kept.keys()) {
      if (kept.size <= STREAMS_MAX) break;
      kept.delete(oldest);
    }
    return recorded;
  };
  return (entry) =>
    unlessDamaged(async () => {
      const known = kept.get(entry.stream);
      const isFresh = known !== undefined && clock.monotonic() - known.readMs < KEPT_MS;
      const recorded = await (isFresh ? known.recorded : read(entry.stream));
      // It was read before that event was there.
      return bodyIn(entry, recorded.length > entry.revision ? recorded : await read(entry.stream));
    });
};

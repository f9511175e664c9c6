/** The body of an event that goes to a subscription, made of the log each time. */
import { EventUnreadable } from '../../domain/core/errors.js';
import type { Recorded } from '../../domain/events.js';
import type { StreamName } from '../../domain/core/ids.js';
import type { Clock } from '../../domain/ports/clock.js';
import { bodyOf } from '../../domain/webhooks/body.js';
import type { RoutedEntry } from '../../domain/webhooks/events.js';
import type { EventLog } from '../../event-log/event-log.js';
import { boundedCache } from '../../shared/cache.js';

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

/** What is deleted meanwhile is told of no longer than twice that: a body is kept, and what it was made of. */
const KEPT_MS = 500;
const STREAMS_MAX = 8;

type Kept = Readonly<{ readMs: number; recorded: Promise<readonly Recorded[]> }>;

/** Of bodies, in UTF-16 code units. */
const [BODIES_MAX, BODIES_SIZE_MAX] = [1_024, 4_000_000];

/**
 * The same for many entries in about their order, as several subscriptions read them: those of one stream follow each other, and it is read
 * once for them; and what one subscription was told is told to the others without being made anew.
 */
export const openBodies = (deps: BodiesDeps): ReadBody => {
  const made = boundedCache<string, Made>({ entriesMax: BODIES_MAX, size: { max: BODIES_SIZE_MAX, of: ({ body }) => body.length } });
  const read = openStreams(deps);
  return async (entry) => {
    const { stream, revision, kind, recipient } = entry;
    const key = `${stream} ${revision} ${kind} ${recipient ?? ''}`;
    const known = made.get(key);
    const nowMs = deps.clock.monotonic();
    if (known !== undefined && nowMs - known.readMs < KEPT_MS) return known.body;
    const body = await unlessDamaged(async () => bodyIn(entry, await read(entry)));
    if (body !== undefined) made.set(key, { readMs: nowMs, body });
    return body;
  };
};

type BodiesDeps = BodyDeps & Readonly<{ clock: Pick<Clock, 'monotonic'> }>;
type Made = Readonly<{ readMs: number; body: string }>;

/** The events of the stream of an entry, that one among them. */
const openStreams = ({ eventLog, clock }: BodiesDeps): ((entry: RoutedEntry) => Promise<readonly Recorded[]>) => {
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
  return async ({ stream, revision }) => {
    const known = kept.get(stream);
    const isFresh = known !== undefined && clock.monotonic() - known.readMs < KEPT_MS;
    const recorded = await (isFresh ? known.recorded : read(stream));
    // It was read before that event was there.
    return recorded.length > revision ? recorded : read(stream);
  };
};

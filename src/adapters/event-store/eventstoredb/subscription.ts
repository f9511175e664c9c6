/** Follows the log: the server sends what comes, filtered by the names of the streams; a subscription that breaks off is made anew. */
import type { Clock } from '../../../domain/ports/clock.js';
import type { Position, EventBatch, ReadAllOptions, StoredEvent } from '../../../domain/ports/event-store.js';
import { type Head, type Reading, readAllRequest } from './reads.js';
import type { Logger } from '../../../domain/ports/logger.js';
import { isPassing, type Connection } from './connection.js';
import type { ReadMessage } from './read-message.js';
import { isBeforeEvent, positionOf, toStoredEvent, type RecordedServerEvent, kindMatcher, renamed, type StreamNames } from './records.js';

/* How far the log is known to go: what filtered subscriptions compare themselves with. Looks by itself only while one of them waits. */

export type HeadWatch = Readonly<{
  head: () => Head;
  note: (head: Head) => void;
  /** Resolves when the log is known to go beyond `position`, or the signal aborts. */
  beyond: (position: Position, signal: AbortSignal) => Promise<void>;
}>;

const LOOK_EVERY_MS = 1_000;

export const openHeadWatch = (look: () => Promise<Head>, clock: Clock, closed: AbortSignal): HeadWatch => {
  let head: Head = { position: 0, stream: '' };
  const waiting = new Set<() => void>();
  let isLooking = false;

  const note = (found: Head): void => {
    if (found.position <= head.position) return;
    head = { position: found.position, stream: found.stream };
    for (const wake of [...waiting]) wake();
  };

  const poll = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    while (waiting.size > 0 && !closed.aborted) {
      const before = head;
      await clock.sleep(LOOK_EVERY_MS, closed);
      if (waiting.size === 0 || closed.aborted || head !== before) continue;
      // Where the server is away the subscriptions tell of it.
      await look().then(note, () => {});
    }
    isLooking = false;
  };

  return {
    head: () => head,
    note,
    beyond: (position, signal) =>
      new Promise((resolve) => {
        if (head.position > position || signal.aborted) return resolve();
        const wake = (): void => {
          if (head.position <= position && !signal.aborted) return;
          waiting.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        waiting.add(wake);
        signal.addEventListener('abort', wake, { once: true });
        void poll();
      }),
  };
};

type SubscribingDeps = Readonly<{
  connection: Pick<Connection, 'read' | 'shown'>;
  reading: Pick<Reading, 'justAfter' | 'isClear'>;
  names: StreamNames;
  watch: HeadWatch;
  clock: Clock;
  logger: Logger;
}>;

type Options = ReadAllOptions & Readonly<{ signal: AbortSignal }>;

const BATCH_SIZE = 1_000;
const PAUSE_FIRST_MS = 50;
const PAUSE_MAX_MS = 2_000;
/** A filtered subscription that has heard nothing for so long looks whether the log went on without anything for it. */
const QUIET_MS = 100;

export async function* subscribeAll(deps: SubscribingDeps, after: Position, options: Options): AsyncGenerator<EventBatch> {
  const { signal } = options;
  let cursor = after;
  let failures = 0;
  while (!signal.aborted) {
    try {
      for await (const batch of followed(deps, cursor, options)) {
        if (failures > 0) deps.logger.info({ server: deps.connection.shown }, 'the subscription to the event store goes on');
        failures = 0;
        cursor = batch.position;
        yield batch;
      }
    } catch (err) {
      if (signal.aborted) return;
      if (!isPassing(err)) throw err;
      if (failures === 0)
        deps.logger.warn(
          { server: deps.connection.shown, err: err as Error },
          'the subscription to the event store broke off; it is made anew',
        );
    }
    if (signal.aborted) return;
    await deps.clock.sleep(Math.min(PAUSE_FIRST_MS * 2 ** failures, PAUSE_MAX_MS), signal);
    failures = Math.min(failures + 1, 10);
  }
}

/** One subscription, up to its end. */
async function* followed(deps: SubscribingDeps, after: Position, options: Options): AsyncGenerator<EventBatch> {
  const { batchSize = BATCH_SIZE, kinds, signal } = options;
  let cursor = after;
  if (isBeforeEvent(after) && after > 0) {
    // A subscription begins after an event; the one that stands just behind this place is read.
    const event = await deps.reading.justAfter(after);
    if (event !== undefined) {
      cursor = event.position;
      yield { events: kindMatcher(kinds)(event.stream) ? [event] : [], position: cursor };
      if (signal.aborted) return;
    }
  }
  const over = new AbortController();
  const inbox = openInbox(deps, cursor, options, AbortSignal.any([signal, over.signal]));
  try {
    while (!signal.aborted) {
      const batch =
        ofOurs(inbox.take(batchSize), cursor, deps.watch.head().position, options) ?? (await quietBatch(deps, inbox, cursor, options));
      if (batch === undefined) continue;
      cursor = batch.position;
      const last = batch.events.at(-1);
      if (last !== undefined) deps.watch.note(last);
      yield batch;
    }
  } finally {
    over.abort();
  }
}

/**
 * A batch without events tells a filtered reader alone how far it is, and never of a place beyond our own events: what others write at
 * the server is no part of the log.
 */
const ofOurs = (batch: EventBatch | undefined, cursor: Position, head: Position, { kinds }: Options): EventBatch | undefined => {
  if (batch === undefined || batch.events.length > 0) return batch;
  const position = Math.min(batch.position, head);
  return kinds === undefined || position <= cursor ? undefined : { events: [], position };
};

/** Waits for more; where nothing comes but the log has gone on, the batch without events that says so. */
const quietBatch = async (
  deps: SubscribingDeps,
  inbox: Inbox,
  cursor: Position,
  { kinds, signal }: Options,
): Promise<EventBatch | undefined> => {
  if (kinds === undefined) {
    await inbox.news(signal);
    return undefined;
  }
  // Joined by hand: a composite signal for each wait would be noted in the long-lived one until it is collected.
  const stop = new AbortController();
  const either = stop.signal;
  const end = (): void => stop.abort(OVER);
  signal.addEventListener('abort', end, { once: true });
  try {
    await Promise.race([inbox.news(either), deps.watch.beyond(cursor, either)]);
    if (inbox.hasNews() || signal.aborted) return undefined;
    await Promise.race([inbox.news(either), deps.clock.sleep(QUIET_MS, either)]);
    if (inbox.hasNews() || signal.aborted) return undefined;
    // The head that is known now is older than what the read sees: what it does not find is not there.
    const head = deps.watch.head();
    const isClear = await deps.reading.isClear(cursor, kinds, head);
    if (isClear && !inbox.hasNews()) return { events: [], position: head.position };
    if (!isClear) await Promise.race([inbox.news(either), deps.clock.sleep(QUIET_MS, either)]);
    return undefined;
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
};

/** With a reason of its own: without one, a DOMException with a stack is made each time. */
const OVER = 'over';

type Inbox = Readonly<{
  /** What has come, undefined where nothing has. */
  take: (countMax: number) => EventBatch | undefined;
  hasNews: () => boolean;
  /** Resolves when there is something to take or the signal aborts; rejects where the subscription has ended. */
  news: (signal: AbortSignal) => Promise<void>;
}>;

/** So many events wait for a slow reader; the server is then not asked for more. */
const WAITING_MAX = 2_000;

const openInbox = (deps: SubscribingDeps, after: Position, { kinds }: Options, signal: AbortSignal): Inbox => {
  const { connection, names } = deps;
  const matches = kindMatcher(kinds);
  let events: StoredEvent[] = [];
  /** Up to here everything has been looked at, once the events that wait are taken. */
  let lookedAt = after;
  let taken = after;
  let fault: Error | undefined;
  const waiting = new Set<() => void>();
  let room = (): void => {};
  const wake = (): void => {
    for (const tell of [...waiting]) tell();
  };

  const receive = async (): Promise<void> => {
    const request = readAllRequest({ prefixes: names.prefixes(kinds), from: after, live: true });
    for await (const response of connection.read(request, { signal })) {
      const received = receivedIn(response, names);
      if (received === undefined || received.reached <= lookedAt) continue;
      const { event, reached } = received;
      if (event !== undefined && matches(event.stream)) events.push(toStoredEvent(event));
      lookedAt = reached;
      wake();
      if (events.length >= WAITING_MAX) await new Promise<void>((resolve) => (room = resolve));
    }
    throw new SubscriptionEnded('the event store ended the subscription');
  };
  receive().catch((error: unknown) => {
    fault = error as Error;
    wake();
  });
  signal.addEventListener('abort', () => room(), { once: true });
  const hasNews = (): boolean => lookedAt > taken || fault !== undefined;

  return {
    hasNews,
    take: (countMax) => {
      if (lookedAt <= taken) return undefined;
      const batch = events.length <= countMax ? events : events.slice(0, countMax);
      events = events.length <= countMax ? [] : events.slice(countMax);
      taken = events.length === 0 ? lookedAt : batch.at(-1)!.position;
      if (events.length < WAITING_MAX) room();
      return { events: batch, position: taken };
    },
    news: async (until) => {
      if (!hasNews() && !until.aborted) await told(waiting, until);
      // What came before the end is taken first.
      if (fault !== undefined && lookedAt <= taken) throw fault;
    },
  };
};

/** Resolves when all who wait are told, or when the signal aborts. */
const told = (waiting: Set<() => void>, until: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const tell = (): void => {
      waiting.delete(tell);
      until.removeEventListener('abort', tell);
      resolve();
    };
    waiting.add(tell);
    until.addEventListener('abort', tell, { once: true });
  });

type Received = Readonly<{ event?: RecordedServerEvent; reached: Position }>;

/** An event of ours or a checkpoint; undefined where it is neither. */
const receivedIn = ({ event: recorded, checkpoint }: ReadMessage, names: StreamNames): Received | undefined => {
  const event = recorded && renamed(names, recorded);
  if (event !== undefined) return { event, reached: positionOf(event.commit) };
  return checkpoint === undefined ? undefined : { reached: positionOf(checkpoint) };
};

/** As if the connection had ended (UNAVAILABLE). */
class SubscriptionEnded extends Error {
  readonly code = 14;
}

/**
 * Follows the log: the server sends new events, filtered by the names of the streams. A subscription that breaks off is
 * made anew.
 */
import type { Clock } from '../../../domain/ports/clock.js';
import type { Position, EventBatch, ReadAllOptions, StoredEvent } from '../../../domain/ports/event-store.js';
import { type Head, type Reads, readAllRequest } from './reads.js';
import type { Logger } from '../../../domain/ports/logger.js';
import { isTransient, type Connection, type ReadMessage } from './connection.js';
import {
  isBeforeEvent,
  positionOf,
  toStoredEvent,
  type RecordedServerEvent,
  kindMatcher,
  renamed,
  type StreamNames,
} from './records.js';

/** The head of the log, as far as it is known. It is read from the server only while a filtered subscription waits. */
export type HeadWatch = Readonly<{
  head: () => Head;
  note: (head: Head) => void;
  /** Resolves when the log is known to go beyond `position`, or the signal aborts. */
  beyond: (position: Position, signal: AbortSignal) => Promise<void>;
}>;

type SubscribingDeps = Readonly<{
  connection: Pick<Connection, 'read' | 'shown'>;
  reading: Pick<Reads, 'justAfter' | 'isClear'>;
  names: StreamNames;
  watch: HeadWatch;
  clock: Clock;
  logger: Logger;
}>;

type Options = ReadAllOptions & Readonly<{ signal: AbortSignal }>;

type Inbox = Readonly<{
  /** The events that have come; undefined if nothing has. */
  take: (countMax: number) => EventBatch | undefined;
  hasNews: () => boolean;
  /** Resolves when there is something to take or the signal aborts. Rejects if the subscription has ended. */
  news: (signal: AbortSignal) => Promise<void>;
}>;

type Received = Readonly<{ event?: RecordedServerEvent; reached: Position }>;

const BATCH_SIZE = 1_000;
const PAUSE_FIRST_MS = 50;
const PAUSE_MAX_MS = 2_000;
/** A filtered subscription that has heard nothing for so long checks whether the log went on without events for it. */
const QUIET_MS = 100;

const LOOK_EVERY_MS = 1_000;

/** When so many events wait for a slow reader, the server is not read any further. */
const WAITING_MAX = 2_000;

/** The reason of each abort. Without one, a DOMException with a stack is made each time. */
const OVER = 'over';

export async function* subscribeAll(
  deps: SubscribingDeps,
  after: Position,
  options: Options,
): AsyncGenerator<EventBatch> {
  const { signal } = options;
  let cursor = after;
  let failures = 0;
  while (!signal.aborted) {
    try {
      for await (const batch of followed(deps, cursor, options)) {
        if (failures > 0)
          deps.logger.info({ server: deps.connection.shown }, 'the subscription to the event store goes on');
        failures = 0;
        cursor = batch.position;
        yield batch;
      }
    } catch (err) {
      if (signal.aborted) return;
      if (!isTransient(err)) throw err;
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
    // A subscription begins after an event, so the event just behind this position is read.
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
        ofOurs(inbox.take(batchSize), cursor, deps.watch.head().position, options) ??
        (await quietBatch(deps, inbox, cursor, options));
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
 * Only a filtered reader gets batches without events, which tell it how far it is. Their position is never beyond our
 * own events: events that others write at the server are no part of the log.
 */
const ofOurs = (
  batch: EventBatch | undefined,
  cursor: Position,
  head: Position,
  { kinds }: Options,
): EventBatch | undefined => {
  if (batch === undefined || batch.events.length > 0) return batch;
  const position = Math.min(batch.position, head);
  return kinds === undefined || position <= cursor ? undefined : { events: [], position };
};

/** Waits for more. Out: a batch without events if nothing comes but the log has gone on. */
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
  // Joined by hand: the long-lived signal would keep a composite signal for each wait until it is collected.
  const stop = new AbortController();
  const either = stop.signal;
  const end = (): void => stop.abort(OVER);
  signal.addEventListener('abort', end, { once: true });
  try {
    await Promise.race([inbox.news(either), deps.watch.beyond(cursor, either)]);
    if (inbox.hasNews() || signal.aborted) return undefined;
    await Promise.race([inbox.news(either), deps.clock.sleep(QUIET_MS, either)]);
    if (inbox.hasNews() || signal.aborted) return undefined;
    // The head known now is older than the log that the read sees, so the read finds every event up to it.
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

const openInbox = (deps: SubscribingDeps, after: Position, { kinds }: Options, signal: AbortSignal): Inbox => {
  const { connection, names } = deps;
  const matches = kindMatcher(kinds);
  let events: StoredEvent[] = [];
  /** The position up to which the server has looked. */
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
      // Events that came before the end are taken first.
      if (fault !== undefined && lookedAt <= taken) throw fault;
    },
  };
};

/** Resolves when all that wait are woken, or when the signal aborts. */
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

/** Out: an event of ours or a checkpoint; undefined if it is neither. */
const receivedIn = ({ event: recorded, checkpoint }: ReadMessage, names: StreamNames): Received | undefined => {
  const event = recorded && renamed(names, recorded);
  if (event !== undefined) return { event, reached: positionOf(event.commit) };
  return checkpoint === undefined ? undefined : { reached: positionOf(checkpoint) };
};

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
      // If the server is away, the subscriptions log it.
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

/** Has the code of an ended connection (UNAVAILABLE). */
class SubscriptionEnded extends Error {
  readonly code = 14;
}

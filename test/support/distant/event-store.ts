/**
 * A distant event log in memory. It keeps the promises of the port and nothing more: positions have gaps, reads come
 * late, the answer to an append gets lost, subscriptions break off.
 */
import { splitStream } from '../../../src/domain/core/ids.js';
import type {
  AppendOutcome,
  EventBatch,
  EventStore,
  EventToStore,
  StoredEvent,
} from '../../../src/domain/ports/event-store.js';
import { typesOf } from '../memory-ports.js';
import { ask, ConnectionLost, type Network } from './network.js';
import type { Scheduler } from './scheduler.js';

/** The log as it is at the server; every client of it sees the same. */
export type EventServer = Readonly<{
  /** Everything in the log; a test may tamper with it. */
  events: StoredEvent[];
  stream: (name: string) => readonly StoredEvent[];
  /** The names of the streams of that kind, in the order in which they began. */
  streamsOf: (kind: string) => readonly string[];
  append: (stream: string, expectedRevision: number, events: readonly EventToStore[]) => AppendOutcome;
  head: () => number;
  /** Calls back once, when anything is appended. Out: a function that takes the wish back. */
  onceAppended: (callback: () => void) => () => void;
}>;

/** In: what the log begins with, and how far two positions may lie apart. */
export const eventServer = (
  { random }: Pick<Scheduler, 'random'>,
  begun: readonly StoredEvent[] = [],
  gapMax = 900,
): EventServer => {
  const events: StoredEvent[] = [...begun];
  const streams = new Map<string, StoredEvent[]>();
  for (const event of begun) streams.set(event.stream, [...(streams.get(event.stream) ?? []), event]);
  const waiting = new Set<() => void>();
  const head = (): number => events.at(-1)?.position ?? 0;

  const append: EventServer['append'] = (stream, expectedRevision, toAppend) => {
    const own = streams.get(stream) ?? [];
    const actualRevision = own.at(-1)?.revision ?? -1;
    if (actualRevision !== expectedRevision) {
      const there = own.filter(({ revision }) => revision > expectedRevision).slice(0, toAppend.length);
      const isRepeated =
        there.length === toAppend.length && there.every(({ eventId }, index) => eventId === toAppend[index]!.eventId);
      const last = there.at(-1);
      return isRepeated && last !== undefined
        ? { kind: 'done', revision: last.revision, position: last.position }
        : { kind: 'conflict', actualRevision };
    }
    return write(stream, expectedRevision + 1, toAppend);
  };

  const write = (stream: string, from: number, toAppend: readonly EventToStore[]): AppendOutcome => {
    const own = streams.get(stream) ?? [];
    for (const [at, event] of toAppend.entries()) {
      const position = head() + 1 + Math.floor(random.next() * gapMax);
      const stored = { ...event, stream, revision: from + at, position };
      own.push(stored);
      events.push(stored);
    }
    streams.set(stream, own);
    const woken = [...waiting];
    waiting.clear();
    for (const wake of woken) wake();
    return { kind: 'done', revision: own.at(-1)!.revision, position: head() };
  };

  return {
    events,
    append,
    head,
    stream: (name) => streams.get(name) ?? [],
    streamsOf: (kind) => [...streams.keys()].filter((name) => splitStream(name).kind === kind),
    onceAppended: (callback) => {
      waiting.add(callback);
      return () => void waiting.delete(callback);
    },
  };
};

type Filter = Readonly<{ kinds?: readonly string[]; types?: readonly string[]; batchSize?: number }>;

/** The first place in the log after that position. */
const placeAfter = (events: readonly StoredEvent[], position: number): number => {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events[middle]!.position <= position) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** At most `batchSize` events after a position and up to another; looks no further than it must. */
const batchAfter = (
  events: readonly StoredEvent[],
  after: number,
  upTo: number,
  { kinds, types, batchSize = 1_000 }: Filter,
): EventBatch => {
  const found: StoredEvent[] = [];
  let position = after;
  for (let at = placeAfter(events, after); at < events.length && events[at]!.position <= upTo; at += 1) {
    const event = events[at]!;
    position = event.position;
    if (kinds !== undefined && !kinds.includes(splitStream(event.stream).kind)) continue;
    if (types !== undefined && !types.includes(event.type)) continue;
    if (found.push(event) === batchSize) break;
  }
  return { events: found, position };
};

/** So long it may take until a filtered subscription tells how far it has looked where it has found nothing. */
const NOTHING_FOUND_MS = 40;

export const openDistantEventStore = (server: EventServer, network: Network): EventStore => {
  const { scheduler, machine, faults } = network;
  const closed = new AbortController();
  const open = new Set<Promise<AppendOutcome>>();

  /** Resolves with the next batch, pushed by the server; undefined where the signal has aborted. */
  const pushed = (after: number, filter: Filter, signal: AbortSignal): Promise<EventBatch | undefined> =>
    new Promise((resolve, reject) => {
      let forget = (): void => {};
      const end = (): void => {
        forget();
        signal.removeEventListener('abort', end);
        resolve(undefined);
      };
      const arrive = (): void => {
        if (signal.aborted) return;
        signal.removeEventListener('abort', end);
        if (faults.strikes('event-store.subscription-dropped'))
          reject(new ConnectionLost('event-store.subscribeAll', false));
        else resolve(batchAfter(server.events, after, server.head(), filter));
      };
      const look = (): void => {
        const { events, position } = batchAfter(server.events, after, server.head(), { ...filter, batchSize: 1 });
        if (events.length > 0) return scheduler.travel(machine, arrive);
        const cancels = [server.onceAppended(again)];
        if (position > after) cancels.push(scheduler.at(scheduler.now() + NOTHING_FOUND_MS, machine, arrive));
        forget = () => cancels.forEach((cancel) => cancel());
      };
      const again = (): void => {
        forget();
        look();
      };
      if (signal.aborted) return resolve(undefined);
      signal.addEventListener('abort', end);
      look();
    });

  return {
    positions: 'sparse',
    append: async (stream, expectedRevision, events) => {
      if (events.length === 0 || expectedRevision < -1)
        throw new RangeError('an append needs an event and a revision from -1 on');
      if (closed.signal.aborted) throw new Error('the event store is closed');
      const outcome = ask(network, 'event-store.append', () => server.append(stream, expectedRevision, events));
      open.add(outcome);
      try {
        return await outcome;
      } catch (fault) {
        if (fault instanceof ConnectionLost && !fault.certain)
          return { kind: 'unknown', cause: new Error(fault.message) };
        throw fault;
      } finally {
        open.delete(outcome);
      }
    },
    readStream: (stream, fromRevision = 0) =>
      ask(network, 'event-store.read', () => server.stream(stream).filter(({ revision }) => revision >= fromRevision)),
    readLast: (stream) => ask(network, 'event-store.read', () => server.stream(stream).at(-1)),
    readAll: async function* (after, options = {}) {
      const upTo = await ask(network, 'event-store.read', server.head);
      for (let position = after; position < upTo && options.signal?.aborted !== true;) {
        const from = position;
        const batch = await ask(network, 'event-store.read', () => batchAfter(server.events, from, upTo, options));
        if (batch.position === from) return;
        position = batch.position;
        yield batch;
      }
    },
    subscribeAll: async function* (after, { signal, ...filter }) {
      const either = AbortSignal.any([signal, closed.signal]);
      for (let position = after; !either.aborted;) {
        const batch = await pushed(position, filter, either);
        if (batch === undefined) return;
        if (batch.position === position) continue;
        position = batch.position;
        yield batch;
      }
    },
    head: () => ask(network, 'event-store.read', server.head),
    types: () => ask(network, 'event-store.read', () => typesOf(server.events)),
    close: async () => {
      closed.abort();
      await Promise.allSettled(open);
    },
  };
};

/**
 * A distant bus in memory. Pointers get lost, come twice and out of order; the server remembers an id for longer than
 * it should or not at all; what nobody acknowledges in time is delivered again.
 */
import {
  priorities,
  priorityShares,
  type Bus,
  type Pointer,
  type Priority,
  type Work,
} from '../../../src/domain/ports/bus.js';
import type { Clock } from '../../../src/domain/ports/clock.js';
import type { FaultPlan } from './faults.js';
import { ask, type Network } from './network.js';
import type { Random } from '../random.js';

type Entry = { readonly pointer: Pointer; deliveries: number };

/** The work of one processor: waiting by priority, given out, and waiting for a time. */
type Queue = {
  readonly waiting: Readonly<Record<Priority, Entry[]>>;
  readonly out: Map<Entry, AbortController>;
  readonly delayed: Set<Entry>;
  /** How many of each priority there are, given out or not: what fills the room. */
  readonly taken: Record<Priority, number>;
  /** Ids of pointers that are there, or were. */
  readonly remembered: Set<string>;
  readonly consumers: Set<() => void>;
  readonly publishers: Set<() => void>;
};

export type BusServerOptions = Readonly<{
  clock: Pick<Clock, 'now' | 'sleep'>;
  random: Random;
  faults: FaultPlan;
  pointersMax: number;
  /** A message that is not acknowledged in this time is delivered again. */
  acknowledgeWithinMs?: number;
}>;

export type BusServer = ReturnType<typeof busServer>;

export const busServer = ({ clock, random, faults, pointersMax, acknowledgeWithinMs = 30_000 }: BusServerOptions) => {
  const queues = new Map<string, Queue>();
  const closed = new AbortController();

  const queueOf = (processor: string): Queue => {
    const known = queues.get(processor);
    if (known !== undefined) return known;
    const queue: Queue = {
      waiting: { high: [], normal: [], low: [] },
      out: new Map(),
      delayed: new Set(),
      taken: { high: 0, normal: 0, low: 0 },
      remembered: new Set(),
      consumers: new Set(),
      publishers: new Set(),
    };
    queues.set(processor, queue);
    return queue;
  };

  const wake = (callbacks: Set<() => void>): void => {
    const all = [...callbacks];
    callbacks.clear();
    for (const callback of all) callback();
  };

  const put = (queue: Queue, entry: Entry): void => {
    const { length } = queue.waiting[entry.pointer.priority];
    const at = faults.strikes('bus.out-of-order') ? random.between(0, length) : length;
    queue.waiting[entry.pointer.priority].splice(at, 0, entry);
    wake(queue.consumers);
  };

  const later = async (queue: Queue, entry: Entry, ms: number, signal: AbortSignal): Promise<void> => {
    await clock.sleep(ms, signal);
    if (signal.aborted) return;
    queue.out.delete(entry);
    queue.delayed.delete(entry);
    put(queue, entry);
  };

  const end = (queue: Queue, entry: Entry): boolean => {
    const timer = queue.out.get(entry);
    if (timer === undefined) return false;
    timer.abort();
    queue.out.delete(entry);
    return true;
  };

  return {
    queueOf,
    closed: closed.signal,
    close: () => closed.abort(),
    publish: (processor: string, pointers: readonly Pointer[]): readonly Pointer[] => {
      const queue = queueOf(processor);
      return pointers.filter((pointer) => {
        const isKnown = queue.remembered.has(pointer.id) && !faults.strikes('bus.id-forgotten');
        if (isKnown || faults.strikes('bus.pointer-lost')) return false;
        if (queue.taken[pointer.priority] >= pointersMax) return true;
        queue.remembered.add(pointer.id);
        for (let times = faults.strikes('bus.pointer-doubled') ? 2 : 1; times > 0; times -= 1) {
          queue.taken[pointer.priority] += 1;
          put(queue, { pointer, deliveries: 0 });
        }
        return false;
      });
    },
    /** The next pointer, given out; undefined where there is none. */
    take: (processor: string): Entry | undefined => {
      const queue = queueOf(processor);
      const some = priorities.filter((priority) => queue.waiting[priority].length > 0);
      let drawn = random.next() * some.reduce((sum, priority) => sum + priorityShares[priority], 0);
      const priority = some.find((one) => (drawn -= priorityShares[one]) < 0);
      if (priority === undefined) return undefined;
      const entry = queue.waiting[priority].shift()!;
      entry.deliveries += 1;
      const timer = new AbortController();
      queue.out.set(entry, timer);
      void later(queue, entry, acknowledgeWithinMs, timer.signal);
      return entry;
    },
    acknowledge: (processor: string, entry: Entry): void => {
      const queue = queueOf(processor);
      if (!end(queue, entry)) return;
      queue.taken[entry.pointer.priority] -= 1;
      if (!faults.strikes('bus.id-remembered')) queue.remembered.delete(entry.pointer.id);
      wake(queue.publishers);
    },
    retryAt: (processor: string, entry: Entry, atMs: number): void => {
      const queue = queueOf(processor);
      if (!end(queue, entry)) return;
      queue.delayed.add(entry);
      void later(queue, entry, Math.max(0, atMs - clock.now()), closed.signal);
    },
    hasRoom: (processor: string, priority: Priority): boolean => queueOf(processor).taken[priority] <= pointersMax / 2,
    depth: (processor: string): number => {
      const { taken } = queueOf(processor);
      return priorities.reduce((sum, priority) => sum + taken[priority], 0);
    },
  };
};

export const openDistantBus = (server: BusServer, network: Network): Bus => {
  const closed = new AbortController();
  const end = AbortSignal.any([closed.signal, server.closed]);

  /** Resolves, after one message's time, when `look` has found something; undefined where the signal has aborted. */
  const whenFound = <Found>(
    callbacks: Set<() => void>,
    look: () => Found | undefined,
    signal: AbortSignal,
  ): Promise<Found | undefined> =>
    new Promise((resolve) => {
      const stop = (): void => {
        callbacks.delete(again);
        signal.removeEventListener('abort', stop);
        resolve(undefined);
      };
      const again = (): void => {
        if (!network.machine.alive) return;
        const found = look();
        if (found === undefined) return void callbacks.add(again);
        signal.removeEventListener('abort', stop);
        network.scheduler.travel(network.machine, () => resolve(found));
      };
      if (signal.aborted) return resolve(undefined);
      signal.addEventListener('abort', stop);
      again();
    });

  const workOf = (processor: string, entry: Entry, done: () => void): Work => {
    let isOpen = true;
    const answer = async (there: () => void): Promise<void> => {
      if (!isOpen) throw new Error(`work ${entry.pointer.id} was settled twice`);
      isOpen = false;
      done();
      await ask(network, 'bus.ack', there);
    };
    return {
      pointer: entry.pointer,
      deliveries: entry.deliveries,
      ack: () => answer(() => server.acknowledge(processor, entry)),
      retryAt: (atMs) => answer(() => server.retryAt(processor, entry, atMs)),
      park: () => answer(() => server.acknowledge(processor, entry)),
    };
  };

  return {
    publish: (processor, pointers) => ask(network, 'bus.publish', () => server.publish(processor, pointers)),
    whenRoom: async (processor, { priority }, signal) => {
      const { publishers } = server.queueOf(processor);
      await whenFound(
        publishers,
        () => (server.hasRoom(processor, priority) ? true : undefined),
        AbortSignal.any([signal, end]),
      );
    },
    consume: async function* (processor, { maxInFlight, signal }) {
      const either = AbortSignal.any([signal, end]);
      const queue = server.queueOf(processor);
      const mayGoOn = new Set<() => void>();
      let inFlight = 0;
      while (!either.aborted) {
        if (inFlight >= maxInFlight)
          await whenFound(mayGoOn, () => (inFlight < maxInFlight ? true : undefined), either);
        const entry = await whenFound(queue.consumers, () => server.take(processor), either);
        if (entry === undefined) return;
        inFlight += 1;
        yield workOf(processor, entry, () => {
          inFlight -= 1;
          for (const callback of [...mayGoOn]) {
            mayGoOn.delete(callback);
            callback();
          }
        });
      }
    },
    depth: (processor) => ask(network, 'bus.depth', () => server.depth(processor)),
    parked: undefined,
    close: async () => closed.abort(),
  };
};

/** Pointers to work within one process: a queue for each processor and priority, bounded, gone with the process. */
import { setMaxListeners } from 'node:events';
import type { Bus, Pointer, Priority, Work } from '../../domain/ports/bus.js';
import { priorities, priorityShares } from '../../domain/ports/bus.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import { fifo, type Fifo } from './fifo.js';

/** A pointer that is known: waiting for its turn, waiting for its time, or in work. */
type Entry = { readonly pointer: Pointer; deliveries: number };

type Queue = {
  readonly known: Map<string, Entry>;
  readonly waiting: Readonly<Record<Priority, Fifo<Entry>>>;
  /** Known pointers of each priority: what fills the room. */
  readonly taken: Record<Priority, number>;
  /** How much each priority is owed of what is taken next. */
  readonly credits: Record<Priority, number>;
  /** Consumers that found nothing to do; each looks again when work comes or less is in flight. */
  readonly sleepers: Set<() => void>;
  readonly roomWaiters: Set<Readonly<{ priority: Priority; resolve: () => void }>>;
};

export type MemoryBusOptions = Readonly<{
  clock: Clock;
  /** Room for pointers of one priority of one processor, those in work included. */
  pointersMax: number;
  /** Where parked work is reported; a parked pointer is forgotten here and found again by the scan of open work. */
  logger?: Logger;
}>;

export const openMemoryBus = ({ clock, pointersMax, logger: log }: MemoryBusOptions): Bus => {
  const queues = new Map<string, Queue>();
  const closed = new AbortController();
  // Every retry and every wait for room listens to it, up to the room there is.
  setMaxListeners(0, closed.signal);
  const roomIsFree = (queue: Queue, priority: Priority): boolean => queue.taken[priority] <= pointersMax / 2;

  const queueOf = (processor: string): Queue => {
    let queue = queues.get(processor);
    if (queue === undefined) queues.set(processor, (queue = newQueue()));
    return queue;
  };

  const enqueue = (queue: Queue, entry: Entry): void => {
    queue.waiting[entry.pointer.priority].push(entry);
    wake(queue);
  };

  const forget = (queue: Queue, { pointer }: Entry): void => {
    queue.known.delete(pointer.id);
    queue.taken[pointer.priority] -= 1;
    if (queue.roomWaiters.size === 0 || !roomIsFree(queue, pointer.priority)) return;
    for (const waiter of queue.roomWaiters) if (waiter.priority === pointer.priority) waiter.resolve();
  };

  const publish = (processor: string, pointers: readonly Pointer[]): readonly Pointer[] => {
    if (closed.signal.aborted) return pointers;
    const queue = queueOf(processor);
    const refused: Pointer[] = [];
    for (const pointer of pointers) {
      if (queue.known.has(pointer.id)) continue;
      if (queue.taken[pointer.priority] >= pointersMax) {
        refused.push(pointer);
        continue;
      }
      const entry: Entry = { pointer, deliveries: 0 };
      queue.known.set(pointer.id, entry);
      queue.taken[pointer.priority] += 1;
      enqueue(queue, entry);
    }
    return refused;
  };

  const whenRoom = (processor: string, priority: Priority, signal: AbortSignal): Promise<void> => {
    const queue = queueOf(processor);
    return new Promise((resolve) => {
      if (signal.aborted || closed.signal.aborted || roomIsFree(queue, priority)) return resolve();
      const waiter = {
        priority,
        resolve: () => {
          queue.roomWaiters.delete(waiter);
          signal.removeEventListener('abort', waiter.resolve);
          closed.signal.removeEventListener('abort', waiter.resolve);
          resolve();
        },
      };
      queue.roomWaiters.add(waiter);
      signal.addEventListener('abort', waiter.resolve);
      closed.signal.addEventListener('abort', waiter.resolve);
    });
  };

  /** The work of one entry; `settled` lets its consumer take another. */
  const workOf = (queue: Queue, entry: Entry, settled: () => void): Work => {
    entry.deliveries += 1;
    let open = true;
    const settle = (act: () => void): void => {
      if (!open) throw new Error(`work ${entry.pointer.id} was settled twice`);
      open = false;
      act();
      settled();
    };
    return {
      pointer: entry.pointer,
      deliveries: entry.deliveries,
      ack: async () => settle(() => forget(queue, entry)),
      retryAt: async (atMs) =>
        settle(() => {
          // It keeps its room while it waits, so a retry can never be refused.
          // The time of day may be set while it waits: what is waited for is the distance from now.
          void clock.sleep(atMs - clock.now(), closed.signal).then(() => {
            if (!closed.signal.aborted) enqueue(queue, entry);
          });
        }),
      park: async (reason) =>
        settle(() => {
          log?.error({ id: entry.pointer.id, stream: entry.pointer.stream, deliveries: entry.deliveries, reason }, 'work was parked');
          forget(queue, entry);
        }),
    };
  };

  async function* consume(
    processor: string,
    { maxInFlight, signal }: Readonly<{ maxInFlight: number; signal: AbortSignal }>,
  ): AsyncGenerator<Work> {
    const queue = queueOf(processor);
    const onAbort = (): void => wake(queue);
    signal.addEventListener('abort', onAbort);
    let inFlight = 0;
    try {
      while (!signal.aborted && !closed.signal.aborted) {
        const entry = inFlight < maxInFlight ? nextOf(queue) : undefined;
        if (entry === undefined) {
          await new Promise<void>((resolve) => void queue.sleepers.add(resolve));
          continue;
        }
        inFlight += 1;
        yield workOf(queue, entry, () => {
          inFlight -= 1;
          wake(queue);
        });
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  return {
    publish: async (processor, pointers) => publish(processor, pointers),
    whenRoom,
    consume,
    depth: async (processor) => queues.get(processor)?.known.size ?? 0,
    close: async () => {
      closed.abort();
      for (const queue of queues.values()) wake(queue);
      queues.clear();
    },
  };
};

const newQueue = (): Queue => ({
  known: new Map(),
  waiting: { high: fifo(), normal: fifo(), low: fifo() },
  taken: { high: 0, normal: 0, low: 0 },
  credits: { high: 0, normal: 0, low: 0 },
  sleepers: new Set(),
  roomWaiters: new Set(),
});

const wake = (queue: Queue): void => {
  if (queue.sleepers.size === 0) return;
  const sleepers = [...queue.sleepers];
  queue.sleepers.clear();
  for (const resolve of sleepers) resolve();
};

/** Smooth weighted round robin: each priority that waits earns its share, the one that is owed most is taken and pays for all. */
const nextOf = ({ waiting, credits }: Queue): Entry | undefined => {
  let next: Priority | undefined;
  let shares = 0;
  for (const priority of priorities) {
    if (waiting[priority].isEmpty()) {
      credits[priority] = 0;
      continue;
    }
    credits[priority] += priorityShares[priority];
    shares += priorityShares[priority];
    if (next === undefined || credits[priority] > credits[next]) next = priority;
  }
  if (next === undefined) return undefined;
  credits[next] -= shares;
  return waiting[next].shift();
};

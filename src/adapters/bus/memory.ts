/** Pointers to work within one process: a queue for each processor and priority, bounded, gone with the process. */
import { setMaxListeners } from 'node:events';
import type { Bus, Work } from '../../domain/ports/bus.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import { add, consumeFrom, enqueue, forget, newQueue, waitForRoom, wake, type Entry, type Queue } from './queue.js';

export type MemoryBusOptions = Readonly<{
  clock: Clock;
  /** Room for pointers of one priority and source of one processor, those in work included. */
  pointersMax: number;
  /** Where parked work is reported; a parked pointer is forgotten here and found again by its timer. */
  logger?: Logger;
}>;

export const openMemoryBus = (options: MemoryBusOptions): Bus => {
  const queues = new Map<string, Queue>();
  const closed = new AbortController();
  // Every retry and every wait for room listens to it, up to the room there is.
  setMaxListeners(0, closed.signal);

  const queueOf = (processor: string): Queue => {
    let queue = queues.get(processor);
    if (queue === undefined) queues.set(processor, (queue = newQueue(options.pointersMax)));
    return queue;
  };

  return {
    publish: async (processor, pointers) => (closed.signal.aborted ? pointers : add(queueOf(processor), pointers)),
    whenRoom: (processor, room, signal) => waitForRoom(queueOf(processor), room, [signal, closed.signal]),
    consume: (processor, { maxInFlight, signal }) => {
      const queue = queueOf(processor);
      const workOf = (entry: Entry, done: () => void): Work => makeWork(options, queue, entry, { done, closed: closed.signal });
      return consumeFrom(queue, { maxInFlight, signal, closed: closed.signal, workOf });
    },
    depth: async (processor) => queues.get(processor)?.known.size ?? 0,
    parked: undefined,
    close: async () => {
      closed.abort();
      for (const queue of queues.values()) wake(queue);
      queues.clear();
    },
  };
};

const makeWork = (
  { clock, logger }: MemoryBusOptions,
  queue: Queue,
  entry: Entry,
  { done, closed }: Readonly<{ done: () => void; closed: AbortSignal }>,
): Work => {
  entry.deliveries += 1;
  const { pointer, deliveries } = entry;
  let open = true;
  const end = (act: () => void): void => {
    if (!open) throw new Error(`work ${pointer.id} was settled twice`);
    open = false;
    act();
    done();
  };
  return {
    pointer,
    deliveries,
    ack: async () => end(() => forget(queue, entry)),
    retryAt: async (atMs) =>
      end(() => {
        // It keeps its room while it waits, so a retry can never be refused. The time of day may be set meanwhile: the distance from now counts.
        void clock.sleep(atMs - clock.now(), closed).then(() => {
          if (!closed.aborted) enqueue(queue, entry);
        });
      }),
    park: async (reason) =>
      end(() => {
        logger?.error({ id: pointer.id, stream: pointer.stream, deliveries, reason }, 'work was parked');
        forget(queue, entry);
      }),
  };
};

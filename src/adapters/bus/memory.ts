/** Pointers to work within one process: a queue for each processor and priority, bounded, gone with the process. */
import { setMaxListeners } from 'node:events';
import {
  priorities,
  priorityShares,
  type Pointer,
  type Priority,
  type Room,
  type Work,
  type Bus,
} from '../../domain/ports/bus.js';
import { openShares, type Shares } from '../../shared/concurrency.js';
import { type Fifo, turns } from './fair-queue.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';

type MemoryBusOptions = Readonly<{
  clock: Clock;
  /** Room for pointers of one priority and source of one processor, those in work included. */
  pointersMax: number;
  /** Reports parked work. This bus forgets a parked pointer; its timer finds the work again. */
  logger?: Logger;
}>;

/** A pointer that is known: waiting for its turn, waiting for its time, or in work. */
type Entry = { readonly pointer: Pointer; deliveries: number };

/** The pointers of one processor. */
type Queue = {
  readonly known: Map<string, Entry>;
  readonly waiting: Readonly<Record<Priority, Fifo<Entry>>>;
  /** Known pointers by priority and source, and by priority, source and team: what fills the room, and the shares. */
  readonly taken: Map<string, number>;
  /** Room for known pointers of one priority and source. */
  readonly pointersMax: number;
  /** A team with fewer pointers than this may publish beyond `pointersMax`, up to twice as many in all. */
  readonly teamShare: number;
  readonly shares: Shares<Priority>;
  /** Consumers that found nothing to do; each looks again when work comes or less is in flight. */
  readonly sleepers: Set<() => void>;
  readonly roomWaiters: Set<RoomWaiter>;
};

type RoomWaiter = Readonly<{ room: string; share: string | undefined; resolve: () => void }>;

const groups = [
  ({ pointer }: Entry) => pointer.team ?? '',
  ({ pointer }: Entry) => pointer.source ?? '',
  ({ pointer }: Entry) => pointer.sender ?? '',
];

/** The room is divided into so many shares. */
const SHARES = 32;

export const openMemoryBus = (options: MemoryBusOptions): Bus => {
  const queues = new Map<string, Queue>();
  const closed = new AbortController();
  // Every retry and every wait for room listens to this signal; `pointersMax` bounds how many.
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
      const workOf = (entry: Entry, done: () => void): Work =>
        makeWork(options, queue, entry, { done, closed: closed.signal });
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
        // The entry keeps its room while it waits, so a retry is never refused. The pause is measured from now, because
        // the system's time may be set meanwhile.
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

const newQueue = (pointersMax: number): Queue => ({
  known: new Map(),
  waiting: { high: turns(groups), normal: turns(groups), low: turns(groups) },
  taken: new Map(),
  pointersMax,
  teamShare: Math.max(1, Math.floor(pointersMax / SHARES)),
  shares: openShares(priorities, priorityShares),
  sleepers: new Set(),
  roomWaiters: new Set(),
});

/** Lets every consumer look again. */
const wake = ({ sleepers }: Queue): void => {
  if (sleepers.size === 0) return;
  const woken = [...sleepers];
  sleepers.clear();
  for (const resolve of woken) resolve();
};

const enqueue = (queue: Queue, entry: Entry): void => {
  queue.waiting[entry.pointer.priority].push(entry);
  wake(queue);
};

/** Takes the pointers that it does not know yet. Out: those it has no room for. */
const add = (queue: Queue, pointers: readonly Pointer[]): readonly Pointer[] => {
  const refused: Pointer[] = [];
  for (const pointer of pointers) {
    if (queue.known.has(pointer.id)) continue;
    const room = roomOf(pointer);
    const share = shareOf(pointer);
    const taken = queue.taken.get(room) ?? 0;
    const ofTeam = queue.taken.get(share) ?? 0;
    if (taken >= (ofTeam < queue.teamShare ? 2 : 1) * queue.pointersMax) {
      refused.push(pointer);
      continue;
    }
    const entry: Entry = { pointer, deliveries: 0 };
    queue.known.set(pointer.id, entry);
    queue.taken.set(room, taken + 1);
    queue.taken.set(share, ofTeam + 1);
    enqueue(queue, entry);
  }
  return refused;
};

const forget = (queue: Queue, { pointer }: Entry): void => {
  queue.known.delete(pointer.id);
  const [room, share] = [roomOf(pointer), shareOf(pointer)];
  const left = giveBack(queue, room);
  giveBack(queue, share);
  // Waiters of other teams can go on at two counts only, so most calls skip them.
  const isForAll = left <= queue.pointersMax / 2 || left === lentMax(queue);
  for (const waiter of queue.roomWaiters) {
    if (waiter.room === room && (isForAll || waiter.share === share) && hasRoom(queue, waiter)) waiter.resolve();
  }
};

/** Counts one pointer less, and removes a count of zero: teams come and go. Out: how many are left. */
const giveBack = ({ taken }: Queue, name: string): number => {
  const left = taken.get(name)! - 1;
  if (left === 0) taken.delete(name);
  else taken.set(name, left);
  return left;
};

const roomOf = ({ priority, source = '' }: Room): string => `${priority}\n${source}`;

const shareOf = (of: Room): string => `${roomOf(of)}\n${of.team ?? ''}`;

/** Up to so many pointers in all, teams with few of them are told that there is room. */
const lentMax = ({ pointersMax }: Queue): number => Math.floor(pointersMax * 1.5);

const hasRoom = (queue: Queue, { room, share }: Pick<RoomWaiter, 'room' | 'share'>): boolean => {
  const { taken, pointersMax, teamShare } = queue;
  const all = taken.get(room) ?? 0;
  return (
    all <= pointersMax / 2 || (share !== undefined && all <= lentMax(queue) && (taken.get(share) ?? 0) <= teamShare / 2)
  );
};

/**
 * Resolves when at least half of that room is free, of all or of the team that is named, or one of the signals aborts.
 */
const waitForRoom = (queue: Queue, of: Room, signals: readonly AbortSignal[]): Promise<void> =>
  new Promise((resolve) => {
    const wanted = { room: roomOf(of), share: of.team === undefined ? undefined : shareOf(of) };
    if (signals.some(({ aborted }) => aborted) || hasRoom(queue, wanted)) return resolve();
    const waiter = {
      ...wanted,
      resolve: () => {
        queue.roomWaiters.delete(waiter);
        for (const signal of signals) signal.removeEventListener('abort', waiter.resolve);
        resolve();
      },
    };
    queue.roomWaiters.add(waiter);
    for (const signal of signals) signal.addEventListener('abort', waiter.resolve);
  });

/** Takes the next entry: each priority that has entries gets its share. */
const take = ({ waiting, shares }: Queue): Entry | undefined => {
  const next = shares.next((priority) => !waiting[priority].isEmpty());
  return next === undefined ? undefined : waiting[next].shift();
};

type ConsumeOptions = Readonly<{
  maxInFlight: number;
  signal: AbortSignal;
  closed: AbortSignal;
  /** The work of one entry; `done` lets its consumer take another. */
  workOf: (entry: Entry, done: () => void) => Work;
}>;

/** Gives out work until a signal aborts, at most `maxInFlight` at once. */
async function* consumeFrom(
  queue: Queue,
  { maxInFlight, signal, closed, workOf }: ConsumeOptions,
): AsyncGenerator<Work> {
  const onAbort = (): void => wake(queue);
  signal.addEventListener('abort', onAbort);
  let inFlight = 0;
  try {
    while (!signal.aborted && !closed.aborted) {
      const entry = inFlight < maxInFlight ? take(queue) : undefined;
      if (entry === undefined) {
        await new Promise<void>((resolve) => void queue.sleepers.add(resolve));
        continue;
      }
      inFlight += 1;
      yield workOf(entry, () => {
        inFlight -= 1;
        wake(queue);
      });
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

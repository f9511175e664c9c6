/** The pointers of one processor: those that wait, by priority and in turns between teams, those that wait for their time, and those in work. */
import { priorities, priorityShares, type Pointer, type Priority, type Room, type Work } from '../../domain/ports/bus.js';
import type { Fifo } from './fifo.js';
import { turns } from './turns.js';

/** A pointer that is known: waiting for its turn, waiting for its time, or in work. */
export type Entry = { readonly pointer: Pointer; deliveries: number };

export type Queue = {
  readonly known: Map<string, Entry>;
  readonly waiting: Readonly<Record<Priority, Fifo<Entry>>>;
  /** Known pointers by priority and source: what fills the room. */
  readonly taken: Map<string, number>;
  /** Room for known pointers of one priority and source. */
  readonly pointersMax: number;
  /** How much each priority is owed of what is taken next. */
  readonly credits: Record<Priority, number>;
  /** Consumers that found nothing to do; each looks again when work comes or less is in flight. */
  readonly sleepers: Set<() => void>;
  readonly roomWaiters: Set<Readonly<{ room: string; resolve: () => void }>>;
};

const groups = [({ pointer }: Entry) => pointer.team ?? '', ({ pointer }: Entry) => pointer.source ?? ''];

export const newQueue = (pointersMax: number): Queue => ({
  known: new Map(),
  waiting: { high: turns(groups), normal: turns(groups), low: turns(groups) },
  taken: new Map(),
  pointersMax,
  credits: { high: 0, normal: 0, low: 0 },
  sleepers: new Set(),
  roomWaiters: new Set(),
});

/** Lets every consumer look again. */
export const wake = ({ sleepers }: Queue): void => {
  if (sleepers.size === 0) return;
  const woken = [...sleepers];
  sleepers.clear();
  for (const resolve of woken) resolve();
};

export const enqueue = (queue: Queue, entry: Entry): void => {
  queue.waiting[entry.pointer.priority].push(entry);
  wake(queue);
};

/** Takes the pointers that it does not know yet. Out: those it has no room for. */
export const add = (queue: Queue, pointers: readonly Pointer[]): readonly Pointer[] => {
  const refused: Pointer[] = [];
  for (const pointer of pointers) {
    if (queue.known.has(pointer.id)) continue;
    const room = roomOf(pointer);
    const taken = queue.taken.get(room) ?? 0;
    if (taken >= queue.pointersMax) {
      refused.push(pointer);
      continue;
    }
    const entry: Entry = { pointer, deliveries: 0 };
    queue.known.set(pointer.id, entry);
    queue.taken.set(room, taken + 1);
    enqueue(queue, entry);
  }
  return refused;
};

export const forget = (queue: Queue, { pointer }: Entry): void => {
  queue.known.delete(pointer.id);
  const room = roomOf(pointer);
  queue.taken.set(room, queue.taken.get(room)! - 1);
  if (queue.roomWaiters.size === 0 || !hasRoom(queue, room)) return;
  for (const waiter of queue.roomWaiters) if (waiter.room === room) waiter.resolve();
};

const roomOf = ({ priority, source = '' }: Room): string => `${priority}\n${source}`;

const hasRoom = ({ taken, pointersMax }: Queue, room: string): boolean => (taken.get(room) ?? 0) <= pointersMax / 2;

/** Resolves when at least half of that room is free, or one of the signals aborts. */
export const waitForRoom = (queue: Queue, of: Room, signals: readonly AbortSignal[]): Promise<void> =>
  new Promise((resolve) => {
    const room = roomOf(of);
    if (signals.some(({ aborted }) => aborted) || hasRoom(queue, room)) return resolve();
    const waiter = {
      room,
      resolve: () => {
        queue.roomWaiters.delete(waiter);
        for (const signal of signals) signal.removeEventListener('abort', waiter.resolve);
        resolve();
      },
    };
    queue.roomWaiters.add(waiter);
    for (const signal of signals) signal.addEventListener('abort', waiter.resolve);
  });

/** Smooth weighted round robin: each priority that waits earns its share, the one that is owed most is taken and pays for all. */
export const take = ({ waiting, credits }: Queue): Entry | undefined => {
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

type ConsumeOptions = Readonly<{
  maxInFlight: number;
  signal: AbortSignal;
  closed: AbortSignal;
  /** The work of one entry; `done` lets its consumer take another. */
  workOf: (entry: Entry, done: () => void) => Work;
}>;

/** Gives out work until a signal aborts, at most `maxInFlight` at once. */
export async function* consumeFrom(queue: Queue, { maxInFlight, signal, closed, workOf }: ConsumeOptions): AsyncGenerator<Work> {
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

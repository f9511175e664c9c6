/**
 * Virtual time for everything that happens far away. Each delay is a task in a queue; the scheduler runs the tasks by
 * their time, and what a seed decides repeats exactly, because no real timer takes part.
 */
import type { Clock } from '../../../src/domain/ports/clock.js';
import { seededRandom, type Random } from '../random.js';

/** A process that can die or stand still: what is on its way to it then comes never, or late. */
export type Machine = { readonly name: string; alive: boolean; frozenUntilMs: number };

export const machineNamed = (name: string): Machine => ({ name, alive: true, frozenUntilMs: 0 });

type Task = {
  dueMs: number;
  readonly order: number;
  readonly machine: Machine | undefined;
  run: (() => void) | undefined;
};

export type Latency = (random: Random) => number;

/** Every message takes the same time, so messages arrive in the order in which they were sent. */
export const calm: Latency = () => 1;

/** Mostly some milliseconds, seldom much more: independent answers overtake each other. */
export const reordering: Latency = ({ next }) => {
  const share = next();
  if (share < 0.9) return 1 + next() * 9;
  return share < 0.99 ? 10 + next() * 90 : 100 + next() * 1_900;
};

export type SchedulerOptions = Readonly<{
  seed: number;
  startMs?: number;
  latency?: Latency;
  /** Tasks run by themselves, some in each turn of the event loop; without it they run where `step` is called. */
  selfDriven?: boolean;
}>;

export type Scheduler = Readonly<{
  seed: number;
  random: Random;
  now: () => number;
  /**
   * Runs at that time, or as soon after it as the machine is awake; never where the machine is dead. Out: a function
   * that cancels it.
   */
  at: (dueMs: number, machine: Machine | undefined, run: () => void) => () => void;
  /** Runs after the time that one message takes. */
  travel: (machine: Machine | undefined, run: () => void) => void;
  /** From now on messages take that long. */
  setLatency: (latency: Latency) => void;
  /**
   * Runs the next task and all that follows from it at once. Out: false where there was none that is due by `untilMs`
   * (default: ever).
   */
  step: (untilMs?: number) => Promise<boolean>;
  /** When the next task is due; undefined where there is none. */
  nextDueMs: () => number | undefined;
  /** Moves the time on without running anything: what is due then is late. */
  jump: (ms: number) => void;
  /** How many tasks have run. */
  steps: () => number;
}>;

/** Tasks that run by themselves and are due within this time run in one turn. */
const TURN_MS = 4;

export const makeScheduler = ({
  seed,
  startMs = 0,
  latency = calm,
  selfDriven = false,
}: SchedulerOptions): Scheduler => {
  const random = seededRandom(seed);
  const queue = taskQueue();
  let nowMs = startMs;
  let takes = latency;
  let made = 0;
  let ran = 0;
  let driving = false;

  const runNext = (): void => {
    const task = queue.take()!;
    const { machine, run } = task;
    if (run === undefined || machine?.alive === false) return;
    nowMs = Math.max(nowMs, task.dueMs);
    if (machine !== undefined && machine.frozenUntilMs > nowMs) {
      task.dueMs = machine.frozenUntilMs;
      queue.put(task);
      return;
    }
    ran += 1;
    task.run = undefined;
    run();
  };

  const drive = (): void => {
    const untilMs = (queue.first()?.dueMs ?? 0) + TURN_MS;
    while (queue.first() !== undefined && queue.first()!.dueMs <= untilMs) runNext();
    driving = queue.first() !== undefined;
    if (driving) setImmediate(drive);
  };

  const at: Scheduler['at'] = (dueMs, machine, run) => {
    const task: Task = { dueMs, order: (made += 1), machine, run };
    queue.put(task);
    if (selfDriven && !driving) {
      driving = true;
      setImmediate(drive);
    }
    return () => {
      task.run = undefined;
    };
  };

  const forgetCancelled = (): void => {
    for (let task = queue.first(); task !== undefined; task = queue.first()) {
      if (task.run !== undefined && task.machine?.alive !== false) return;
      queue.take();
    }
  };

  return {
    seed,
    random,
    now: () => nowMs,
    at,
    travel: (machine, run) => void at(nowMs + takes(random), machine, run),
    setLatency: (next) => {
      takes = next;
    },
    step: async (untilMs = Infinity) => {
      forgetCancelled();
      // Work that was begun outside of any task may not have sent its first message yet.
      if (queue.first() === undefined) await turn();
      const next = queue.first();
      if (next === undefined || next.dueMs > untilMs) return false;
      runNext();
      await (ran % STEPS_PER_TURN === 0 ? turn() : allSettled());
      return true;
    },
    nextDueMs: () => {
      forgetCancelled();
      return queue.first()?.dueMs;
    },
    jump: (ms) => {
      nowMs += ms;
    },
    steps: () => ran,
  };
};

/** No distance: what is sent has arrived. Delayed work never runs. */
export const immediateScheduler = (): Scheduler => ({
  seed: 0,
  random: seededRandom(0),
  now: () => 0,
  at: () => () => {},
  travel: (_machine, run) => run(),
  setLatency: () => {},
  step: async () => false,
  nextDueMs: () => undefined,
  jump: () => {},
  steps: () => 0,
});

/**
 * Every promise that could go on has gone on: a tick is taken only when no microtask is left. It costs a fifth of a
 * turn of the event loop.
 */
const allSettled = (): Promise<void> => new Promise((resolve) => queueMicrotask(() => process.nextTick(resolve)));

/** Lets what waits for a turn of the event loop have it. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const STEPS_PER_TURN = 32;

type TaskQueue = Readonly<{ put: (task: Task) => void; take: () => Task | undefined; first: () => Task | undefined }>;

/** A binary heap by time, and by the order of making where the times are equal. */
const taskQueue = (): TaskQueue => {
  const heap: Task[] = [];
  const before = (a: Task, b: Task): boolean => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
  const swap = (i: number, j: number): void => {
    [heap[i], heap[j]] = [heap[j]!, heap[i]!];
  };
  return {
    first: () => heap[0],
    put: (task) => {
      let at = heap.push(task) - 1;
      for (let up = (at - 1) >> 1; at > 0 && before(heap[at]!, heap[up]!); up = (at - 1) >> 1) {
        swap(at, up);
        at = up;
      }
    },
    take: () => {
      const first = heap[0];
      const last = heap.pop();
      if (first === undefined || heap.length === 0) return first;
      heap[0] = last!;
      for (let at = 0; ;) {
        const [left, right] = [2 * at + 1, 2 * at + 2];
        let least = at;
        if (left < heap.length && before(heap[left]!, heap[least]!)) least = left;
        if (right < heap.length && before(heap[right]!, heap[least]!)) least = right;
        if (least === at) return first;
        swap(at, least);
        at = least;
      }
    },
  };
};

/** The scheduler's time as the clock of one machine. */
export const clockOf = (scheduler: Scheduler, machine: Machine | undefined): Clock => ({
  now: () => Math.floor(scheduler.now()),
  monotonic: scheduler.now,
  uptime: scheduler.now,
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted || ms <= 0) return resolve();
      const end = (): void => {
        cancel();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const cancel = ms === Infinity ? (): void => {} : scheduler.at(scheduler.now() + ms, machine, end);
      signal.addEventListener('abort', end);
    }),
});

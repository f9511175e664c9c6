/** Jobs in threads: few at once, few waiting, each with a deadline and a ceiling of memory; what goes wrong in one ends that one. */
import type { Piscina } from 'piscina';
import type { Clock } from '../../../domain/ports/clock.js';
import { openPlaces } from './places.js';

export type PoolOptions = Readonly<{
  /** A module whose default export takes a job and answers its result. */
  file: URL;
  /** What each thread finds as its `workerData`. */
  workerData: unknown;
  threadsMax: number;
  /** Jobs that wait for a thread, and for how long. */
  queueMax: number;
  queueWaitMs: number;
  /** Of the heap of one thread. */
  memoryMbMax: number;
  /** After which an idle thread ends. */
  idleMs: number;
  clock: Clock;
  /** A thread died of what is not known to be the fault of its job: a late callback of a job before, or a thread that cannot start. */
  onStrayFault: (fault: unknown) => void;
}>;

/** What a thread is given: plain data, and the buffers in it that are moved there, so that they are no longer readable here. */
export type Job = Readonly<{ data: unknown; transfer: readonly ArrayBuffer[] }>;
export type JobOptions = Readonly<{ timeoutMs: number; signal: AbortSignal }>;

export type JobOutcome =
  | Readonly<{ kind: 'done'; result: unknown }>
  | Readonly<{ kind: 'queue-full'; waiting: number }>
  | Readonly<{ kind: 'no-thread-in-time'; waitedMs: number }>
  | Readonly<{ kind: 'late'; elapsedMs: number }>
  | Readonly<{ kind: 'out-of-memory' }>
  /** The job ended its thread, or could not be given to one. */
  | Readonly<{ kind: 'died'; fault: unknown }>
  | Readonly<{ kind: 'closed' }>;

export type Pool = Readonly<{
  /**
   * Makes the job when a thread is free for it, and once more where that thread dies; the deadline, for both, counts from the first.
   * Rejects with the reason of the signal when that aborts; the thread is ended then, as at the deadline, even where it spins.
   */
  run: (makeJob: () => Job, options: JobOptions) => Promise<JobOutcome>;
  /** Threads that are alive, idle ones included. */
  threads: () => number;
  /** Ends every thread; jobs under way and waiting are answered `closed`. */
  close: () => Promise<void>;
}>;

/** The threads leave the cores to the event loop, which answers calls meanwhile. Linux has a niceness for each thread; elsewhere it changes nothing. */
const NICENESS = 10;

/** No thread runs, and nothing of the threads is loaded, before the first job. */
export const openPool = (options: PoolOptions): Pool => {
  const { threadsMax, queueMax, queueWaitMs, clock, onStrayFault } = options;
  // Piscina bounds no queue of jobs that can be aborted, and leaves waiting ones behind when it ends a thread: it is given only what can start at once.
  const places = openPlaces({ placesMax: threadsMax, queueMax, waitMs: queueWaitMs, clock });
  const closing = new AbortController();
  let opened: Promise<Piscina> | undefined;
  let live: Piscina | undefined;

  const open = async (): Promise<Piscina> => {
    const { Piscina: Threads } = await import('piscina');
    const threads = new Threads(threadOptions(options));
    threads.on('error', (fault: unknown) => {
      onStrayFault(fault);
      // Where no thread is left to take them, the jobs that wait for one would wait for ever.
      if (threads.threads.length === 0) void threads.destroy();
    });
    return (live = threads);
  };

  const surroundings: Surroundings = { threads: () => (opened ??= open()), clock, closing: closing.signal, onStrayFault };

  return {
    run: async (makeJob, jobOptions) => {
      const { signal } = jobOptions;
      signal.throwIfAborted();
      if (closing.signal.aborted) return { kind: 'closed' };
      const fromMs = clock.monotonic();
      const place = await places.enter(AbortSignal.any([signal, closing.signal]));
      if (place === 'full') return { kind: 'queue-full', waiting: places.waiting() };
      if (place === 'not-in-time') {
        if (closing.signal.aborted) return { kind: 'closed' };
        signal.throwIfAborted();
        return { kind: 'no-thread-in-time', waitedMs: Math.round(clock.monotonic() - fromMs) };
      }
      try {
        return await runInThread(makeJob, jobOptions, surroundings);
      } finally {
        places.leave();
      }
    },
    threads: () => live?.threads.length ?? 0,
    close: async () => {
      closing.abort();
      await (await opened?.catch(() => undefined))?.destroy();
    },
  };
};

type Surroundings = Readonly<{
  threads: () => Promise<Piscina>;
  clock: Clock;
  closing: AbortSignal;
  onStrayFault: PoolOptions['onStrayFault'];
}>;

const runInThread = async (
  makeJob: () => Job,
  { timeoutMs, signal }: JobOptions,
  { threads, clock, closing, onStrayFault }: Surroundings,
): Promise<JobOutcome> => {
  const deadline = new AbortController();
  const over = new AbortController();
  const startMs = clock.monotonic();
  let elapsedMs = 0;
  void clock.sleep(timeoutMs, over.signal).then(() => {
    elapsedMs = Math.round(clock.monotonic() - startMs);
    if (!over.signal.aborted) deadline.abort();
  });
  const ended = AbortSignal.any([signal, closing, deadline.signal]);
  const attempt = async (): Promise<JobOutcome> => {
    const pool = await threads();
    const { data, transfer } = makeJob();
    return { kind: 'done', result: await pool.run(data, { signal: ended, transferList: [...transfer] }) };
  };
  try {
    return await attempt().catch((fault: unknown) => {
      if (ended.aborted || isOutOfMemory(fault)) throw fault;
      // It may have been the late callback of a job before; what fails in a new thread too is this one's own fault.
      onStrayFault(fault);
      return attempt();
    });
  } catch (fault) {
    if (closing.aborted) return { kind: 'closed' };
    signal.throwIfAborted();
    if (deadline.signal.aborted) return { kind: 'late', elapsedMs };
    return isOutOfMemory(fault) ? { kind: 'out-of-memory' } : { kind: 'died', fault };
  } finally {
    over.abort();
  }
};

const threadOptions = ({ file, workerData, threadsMax, memoryMbMax, idleMs }: PoolOptions) => ({
  filename: file.href,
  workerData,
  minThreads: 0,
  maxThreads: threadsMax,
  idleTimeout: idleMs,
  // A thread that waits must still run the late callbacks of the job before, or they would fail the next one.
  atomics: 'disabled' as const,
  niceIncrement: NICENESS,
  resourceLimits: { maxOldGenerationSizeMb: memoryMbMax },
  // The settings hold secrets, and no job needs any of them.
  env: {},
  recordTiming: false,
});

const isOutOfMemory = (fault: unknown): boolean => fault instanceof Error && 'code' in fault && fault.code === 'ERR_WORKER_OUT_OF_MEMORY';

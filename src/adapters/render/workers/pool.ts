/**
 * A pool of processes for jobs: few at once, few waiting, teams in turns, each job with a deadline and a ceiling of
 * memory. A fault of one job ends its process alone.
 */
import type { Clock } from '../../../domain/ports/clock.js';
import type { LogFields } from '../../../domain/ports/logger.js';
import { openFairSlots } from '../../../shared/concurrency.js';
import { traceOf } from './refusals.js';
import { fork, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { setPriority } from 'node:os';
import { MEMORY_NOTE, type FromProcess, type StartMessage, type ToProcess } from './messages.js';

/**
 * Options of the process that stands ready while no other is alive: it has done a first job, so that the next one need
 * not wait for what it loads.
 */
type ReadyOptions = Readonly<{
  /** The first job of the process, which loads what the others need. */
  job: unknown;
  /** How long after the last call of `prepare` one stands ready. */
  forMs: number;
}>;

type PoolOptions = ChildOptions &
  Readonly<{
    /** One of them is never given to a team that has all the others. */
    processesMax: number;
    /** Jobs that wait for a process, and for how long. */
    queueMax: number;
    queueWaitMs: number;
    /** After which an idle process ends. */
    idleMs: number;
    /** Absent: no process is started before a job is there. */
    ready?: ReadyOptions;
    clock: Clock;
    /**
     * A process died of what is not known to be the fault of its job: a late callback of a job before, or a process
     * that cannot start.
     */
    onStrayFault: (trace: LogFields) => void;
  }>;

type JobOptions = Readonly<{ team: string; timeoutMs: number; signal: AbortSignal }>;

export type JobOutcome =
  | Readonly<{ kind: 'done'; result: unknown }>
  | Readonly<{ kind: 'queue-full'; waiting: number }>
  | Readonly<{ kind: 'no-process-in-time'; waitedMs: number }>
  | Readonly<{ kind: 'late'; elapsedMs: number }>
  | Readonly<{ kind: 'out-of-memory' }>
  /** The job ended its process, or could not be given to one. */
  | Readonly<{ kind: 'died'; trace: LogFields }>
  | Readonly<{ kind: 'closed' }>;

type Pool = Readonly<{
  /**
   * Does the job, plain data, when a process is free for it, and once more where that process dies; the deadline, for
   * both, counts from the first. Rejects with the reason of the signal when that aborts; the process is ended then, as
   * at the deadline, even where it spins.
   */
  run: (job: unknown, options: JobOptions) => Promise<JobOutcome>;
  /** More jobs are expected: for a while, one process stands ready. Answers at once. */
  prepare: () => void;
  /** Ids of the processes that are alive, idle ones included. */
  pids: () => readonly number[];
  /** Ends every process; jobs under way and waiting are answered `closed`. */
  close: () => Promise<void>;
}>;

/** No process runs before the first job. */
export const openPool = (options: PoolOptions): Pool => {
  const { processesMax, queueMax, queueWaitMs, clock } = options;
  const slots = openSlots({ slotsMax: processesMax, queueMax, waitMs: queueWaitMs, clock });
  const closing = new AbortController();
  const children = openChildren(options);
  const context: PoolContext = { children, clock, closing: closing.signal, onStrayFault: options.onStrayFault };

  return {
    run: async (job, jobOptions) => {
      const { team, signal } = jobOptions;
      signal.throwIfAborted();
      if (closing.signal.aborted) return { kind: 'closed' };
      const fromMs = clock.monotonic();
      const slot = await slots.acquire(team, AbortSignal.any([signal, closing.signal]));
      if (slot === 'full') return { kind: 'queue-full', waiting: slots.waiting() };
      if (slot === 'not-in-time') {
        if (closing.signal.aborted) return { kind: 'closed' };
        signal.throwIfAborted();
        return { kind: 'no-process-in-time', waitedMs: Math.round(clock.monotonic() - fromMs) };
      }
      try {
        return await runWithDeadline(job, jobOptions, context);
      } finally {
        slots.release(team);
      }
    },
    prepare: children.prepare,
    pids: children.pids,
    close: async () => {
      closing.abort();
      await children.close();
    },
  };
};

type Children = Readonly<{
  /** Runs the job in an idle process or in a new one, which the signal kills. */
  run: (job: unknown, signal: AbortSignal) => Promise<JobEnd>;
  prepare: () => void;
  pids: () => readonly number[];
  close: () => Promise<void>;
}>;

/** A process that is larger at rest could not make another large document. */
const keptBytesMaxOf = ({ memoryMbMax }: PoolOptions): number => residentBytesMaxOf(memoryMbMax) / 2;

/** The longest time of a timer of Node. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** The processes that are alive: the idle ones are kept for a while, the one that was used last is used first. */
const openChildren = (options: PoolOptions): Children => {
  const { idleMs, onStrayFault } = options;
  const living = new Set<Child>();
  const idle = new Map<Child, NodeJS.Timeout>();
  let isClosed = false;

  const start = (): Child => {
    const child = startChild(options);
    living.add(child);
    void child.ended.then((end) => {
      living.delete(child);
      if (leaveIdle(child) && end.kind === 'died') onStrayFault(end.trace);
    });
    return child;
  };
  const leaveIdle = (child: Child): boolean => {
    clearTimeout(idle.get(child));
    return idle.delete(child);
  };
  const rest = (child: Child, forMs: number): void => {
    idle.set(child, setTimeout(() => rested(child), Math.min(forMs, TIMER_MS_MAX)).unref());
  };
  const giveBack = (child: Child, residentBytes: number): void => {
    if (residentBytes > keptBytesMaxOf(options)) rested(child);
    else rest(child, idleMs);
  };
  /**
   * Ends a process that has rested long enough. The one that then stands ready has made no document yet and is smaller.
   */
  const rested = (child: Child): void => {
    leaveIdle(child);
    void child.kill().then(reserve.fill);
  };
  const reserve = openReserve({
    ...options,
    start,
    rest,
    isNeeded: () => !isClosed && living.size === 0,
    onFault: (trace) => (isClosed ? undefined : onStrayFault(trace)),
  });

  return {
    run: async (job, signal) => {
      const child = [...idle.keys()].at(-1) ?? (await reserve.take(signal)) ?? start();
      leaveIdle(child);
      const kill = (): void => void child.kill();
      signal.addEventListener('abort', kill, { once: true });
      if (signal.aborted) kill();
      const jobEnd = await child.run(job).finally(() => signal.removeEventListener('abort', kill));
      if (jobEnd.kind === 'done' && !signal.aborted) giveBack(child, jobEnd.residentBytes);
      return jobEnd;
    },
    prepare: reserve.expect,
    pids: () => [...living].flatMap(({ pid }) => pid ?? []),
    close: async () => {
      isClosed = true;
      for (const child of idle.keys()) leaveIdle(child);
      await Promise.all([...living].map((child) => child.kill()));
    },
  };
};

type PoolContext = Readonly<{
  children: Children;
  clock: Clock;
  closing: AbortSignal;
  onStrayFault: PoolOptions['onStrayFault'];
}>;

const runWithDeadline = async (
  job: unknown,
  { timeoutMs, signal }: JobOptions,
  { children, clock, closing, onStrayFault }: PoolContext,
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
  const attempt = (): Promise<JobEnd> =>
    children.run(job, ended).catch((fault: unknown) => ({ kind: 'died', trace: traceOf(fault) }));
  try {
    const first = await attempt();
    const retried = first.kind === 'died' && !ended.aborted;
    // It may have been the late callback of a job before; what fails in a new process too is this one's own fault.
    if (retried) onStrayFault(first.trace);
    const end = retried ? await attempt() : first;
    if (end.kind === 'done') return { kind: 'done', result: end.result };
    if (closing.aborted) return { kind: 'closed' };
    signal.throwIfAborted();
    return deadline.signal.aborted ? { kind: 'late', elapsedMs } : end;
  } finally {
    over.abort();
  }
};

/** A process at its first job. */
type Preparing = Readonly<{ child: Child; /** True if it can take jobs then. */ done: Promise<boolean> }>;

type ReserveDeps = Readonly<{
  ready?: ReadyOptions;
  clock: Pick<Clock, 'monotonic'>;
  start: () => Child;
  /** Keeps a process that has nothing to do, for so long. */
  rest: (child: Child, forMs: number) => void;
  /** True if there is no process at all. */
  isNeeded: () => boolean;
  /** The first job ended its process. */
  onFault: (trace: LogFields) => void;
}>;

type Reserve = Readonly<{
  /** Jobs are expected from now on, for the time of the options. */
  expect: () => void;
  /** Starts a process where jobs are expected and there is none. */
  fill: () => void;
  /** The process that is being prepared, once it is, for who asks first; the signal kills it. */
  take: (signal: AbortSignal) => Promise<Child | undefined>;
}>;

/** No process is started before jobs are expected. */
const openReserve = ({ ready, clock, start, rest, isNeeded, onFault }: ReserveDeps): Reserve => {
  let untilMs = -Infinity;
  let preparing: Preparing | undefined;
  const fill = (): void => {
    const forMs = untilMs - clock.monotonic();
    if (ready === undefined || forMs <= 0 || !isNeeded()) return;
    const child = start();
    const begun: Preparing = {
      child,
      done: child.run(ready.job).then((end) => {
        const isTaken = preparing !== begun;
        if (!isTaken) preparing = undefined;
        if (end.kind === 'died') onFault(end.trace);
        if (end.kind === 'done' && !isTaken) rest(child, forMs);
        return end.kind === 'done';
      }),
    };
    preparing = begun;
  };
  return {
    fill,
    expect: () => {
      untilMs = clock.monotonic() + (ready?.forMs ?? 0);
      fill();
    },
    take: async (signal) => {
      if (preparing === undefined) return undefined;
      const { child, done } = preparing;
      preparing = undefined;
      const kill = (): void => void child.kill();
      signal.addEventListener('abort', kill, { once: true });
      const isReady = await done.finally(() => signal.removeEventListener('abort', kill));
      return isReady ? child : undefined;
    },
  };
};

type SlotsOptions = Readonly<{
  slotsMax: number;
  queueMax: number;
  /** How long one waits in the queue. */ waitMs: number;
  clock: Clock;
}>;

type Slots = Readonly<{
  /**
   * `acquired`: a slot was taken, to be given back by `release`. `not-in-time`: the wait was too long, or the signal
   * aborted.
   */
  acquire: (team: string, signal: AbortSignal) => Promise<'acquired' | 'full' | 'not-in-time'>;
  release: (team: string) => void;
  /** How many stand in the queue. */
  waiting: () => number;
}>;

/**
 * The slots of the processes: teams take turns and wait no longer than a bound. One slot is always left to the other
 * teams, if there is more than one.
 */
const openSlots = ({ slotsMax, queueMax, waitMs, clock }: SlotsOptions): Slots => {
  const slots = openFairSlots({ slotsMax, shareMax: Math.max(1, slotsMax - 1), queueMax });
  return {
    acquire: async (team, signal) => {
      const late = new AbortController();
      const over = new AbortController();
      const request = slots.acquire(team, AbortSignal.any([signal, late.signal]));
      if (typeof request !== 'string') void clock.sleep(waitMs, over.signal).then(() => late.abort());
      const how = await request;
      over.abort();
      return how === 'aborted' ? 'not-in-time' : how;
    },
    release: slots.release,
    waiting: slots.waiting,
  };
};

// One document process: started, given one job at a time, ended. However it dies, the job that it had is told.

type ChildOptions = Readonly<{
  /** A module whose default export takes the settings and answers the function that does a job. */
  file: URL;
  /** Crosses to the process as plain data. */
  settings: unknown;
  /** Ceiling of the heap of the process, and of all memory that it takes beyond what the program itself needs. */
  memoryMbMax: number;
}>;

type ChildEnd = Readonly<{ kind: 'out-of-memory' }> | Readonly<{ kind: 'died'; trace: LogFields }>;
type JobEnd = Readonly<{ kind: 'done'; result: unknown; residentBytes: number }> | ChildEnd;

type Child = Readonly<{
  pid: number | undefined;
  /** Sends a job, and resolves with its result or with the end of the process; one job at a time. */
  run: (job: unknown) => Promise<JobEnd>;
  /** Ends the process at once, whatever it does; resolves when it is gone. */
  kill: () => Promise<unknown>;
  /** Resolves when the process is gone. */
  ended: Promise<ChildEnd>;
}>;

const MB = 1024 * 1024;
/** Node itself, the libraries and what they load: not counted against a document. */
const PROGRAM_MB = 128;
/** Size of V8's young generation: left to V8, a workbook of 10,000 rows takes 100 MB more and no less time. */
const SEMI_SPACE_MB = 16;
/**
 * The processes leave the cores to the event loop of the service. With 10, a document of half a second took half a minute
 * on a machine whose cores are busy with other programs: each of those then counts nine times as much.
 */
const NICENESS = 5;
/** Kept end of the error output: enough for V8's last words. */
const STDERR_CHARS_MAX = 8_192;

const residentBytesMaxOf = (memoryMbMax: number): number => (memoryMbMax + PROGRAM_MB) * MB;

const startChild = (options: ChildOptions): Child => {
  const child = forked(options);
  renice(child);
  const lastWords = tailOf(child);
  let fault: LogFields | undefined;
  let settleJob: ((end: JobEnd) => void) | undefined;
  let isEnding = false;

  const settle = (end: JobEnd): void => {
    // An answer that comes while the process is ended does not let the service go before the process is gone.
    if (!isEnding) hold(child, false);
    settleJob?.(end);
    settleJob = undefined;
  };
  const ended = new Promise<ChildEnd>((resolve) => {
    const end = (how: ChildEnd): void => {
      settle(how);
      resolve(how);
    };
    child.on('message', (message: FromProcess) => {
      switch (message.kind) {
        case 'answer':
          settle({ kind: 'done', result: message.result, residentBytes: message.residentBytes });
          return;
        case 'fault':
          fault = message.trace;
          child.kill('SIGKILL');
      }
    });
    child.on('error', (error) => {
      fault ??= traceOf(error);
      if (child.pid === undefined) end({ kind: 'died', trace: fault });
    });
    child.on('close', (code, signal) => end(endOf({ code, signal, fault, lastWords: lastWords() })));
  });
  const send = (message: ToProcess): void => {
    child.send(message, (error) => {
      if (error !== null) child.kill('SIGKILL');
    });
  };
  const kill = (): Promise<unknown> => {
    isEnding = true;
    hold(child, true);
    child.kill('SIGKILL');
    return ended;
  };

  send(startMessageOf(options));
  return {
    pid: child.pid,
    run: (job) =>
      new Promise((resolve) => {
        settleJob = resolve;
        hold(child, true);
        send({ kind: 'job', job });
      }),
    kill,
    ended,
  };
};

const forked = ({ memoryMbMax }: ChildOptions): ChildProcess =>
  fork(new URL('./process-main.js', import.meta.url), [], {
    execArgv: [`--max-old-space-size=${memoryMbMax}`, `--max-semi-space-size=${SEMI_SPACE_MB}`],
    // The settings hold secrets, and no job needs any of them.
    env: {},
    // Bytes cross as bytes.
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });

const startMessageOf = ({ file, settings, memoryMbMax }: ChildOptions): StartMessage => ({
  kind: 'start',
  file: file.href,
  settings,
  residentBytesMax: residentBytesMaxOf(memoryMbMax),
  parentPid: process.pid,
});

/**
 * Set before the process has made its threads, which inherit it; where the system refuses, the process runs as it is.
 */
const renice = ({ pid }: ChildProcess): void => {
  if (pid === undefined) return;
  try {
    setPriority(pid, NICENESS);
  } catch {
    // It has ended already, or the system does not allow it.
  }
};

/** A process at work, or one that is being ended, keeps the service running; an idle one does not. */
const hold = (child: ChildProcess, isBusy: boolean): void => {
  // The error output of a child process is a socket.
  for (const handle of [child, child.channel, child.stderr as Socket | null])
    if (isBusy) handle?.ref();
    else handle?.unref();
};

/** The last that the process wrote on its error output. */
const tailOf = ({ stderr }: ChildProcess): (() => string) => {
  let text = '';
  stderr?.setEncoding('utf8').on('data', (more: string) => {
    text = (text + more).slice(-STDERR_CHARS_MAX);
  });
  return () => text;
};

type Ending = Readonly<{
  code: number | null;
  signal: NodeJS.Signals | null;
  fault: LogFields | undefined;
  lastWords: string;
}>;

/** V8 says on the error output that its heap is full, then aborts; the guard names the ceiling, then kills. */
const endOf = ({ code, signal, fault, lastWords }: Ending): ChildEnd =>
  lastWords.includes(MEMORY_NOTE) || /^FATAL ERROR: .*out of memory/m.test(lastWords)
    ? { kind: 'out-of-memory' }
    : { kind: 'died', trace: fault ?? { fault: 'end of the process', exitCode: code, signal } };

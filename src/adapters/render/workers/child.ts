/** One document process: started, given one job at a time, ended. However it dies, the job that it had is told. */
import { fork, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { setPriority } from 'node:os';
import type { LogFields } from '../../../domain/ports/logger.js';
import { MEMORY_NOTE, type FromProcess, type StartMessage, type ToProcess } from './messages.js';
import { traceOf } from './refusals.js';

export type ChildOptions = Readonly<{
  /** A module whose default export takes the settings and answers the function that does a job. */
  file: URL;
  /** Crosses to the process as plain data. */
  settings: unknown;
  /** Ceiling of the heap of the process, and of all memory that it takes beyond what the program itself needs. */
  memoryMbMax: number;
}>;

export type ChildEnd = Readonly<{ kind: 'out-of-memory' }> | Readonly<{ kind: 'died'; trace: LogFields }>;
export type JobEnd = Readonly<{ kind: 'done'; result: unknown; residentBytes: number }> | ChildEnd;

export type Child = Readonly<{
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
/** The processes leave the cores to the event loop of the service. */
const NICENESS = 10;
/** Kept end of the error output: enough for V8's last words. */
const STDERR_CHARS_MAX = 8_192;

export const residentBytesMaxOf = (memoryMbMax: number): number => (memoryMbMax + PROGRAM_MB) * MB;

export const startChild = (options: ChildOptions): Child => {
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

/** Set before the process has made its threads, which inherit it; where the system refuses, the process runs as it is. */
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

type Ending = Readonly<{ code: number | null; signal: NodeJS.Signals | null; fault: LogFields | undefined; lastWords: string }>;

/** V8 says on the error output that its heap is full, then aborts; the guard names the ceiling, then kills. */
const endOf = ({ code, signal, fault, lastWords }: Ending): ChildEnd =>
  lastWords.includes(MEMORY_NOTE) || /^FATAL ERROR: .*out of memory/m.test(lastWords)
    ? { kind: 'out-of-memory' }
    : { kind: 'died', trace: fault ?? { fault: 'end of the process', exitCode: code, signal } };

/**
 * Programs under measurement: started on a core of their own, their CPU time and memory read from /proc, ended for
 * sure.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';

export type Program = Readonly<{
  pid: number;
  /** User and system time of all its threads, in µs. */
  cpuUs: () => number;
  /** Resident memory in bytes: of now, and the most it ever was. */
  memory: () => Readonly<{ rssBytes: number; peakBytes: number }>;
  /**
   * Resolves with the match when the output so far, both streams together, has one; rejects where the program ends
   * first or after 60 s.
   */
  saw: (pattern: RegExp) => Promise<RegExpMatchArray>;
  /** Its last output. */
  output: () => string;
  send: (message: string) => void;
  /** Asks it to end and waits until it has; rejects where it ends with another code than 0. */
  stop: () => Promise<void>;
  /** Ends it at once, if it still runs. */
  kill: () => void;
}>;

export type Side = 'system' | 'load' | 'any';

export type ProgramOptions = Readonly<{
  command: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
  /**
   * `system` is what is measured; `load` is the generator and the sink. Each side has a core where there are two, so
   * that its CPU time is its own. `any` runs wherever there is room, as it does where it is used: for what is measured
   * in time that passes.
   */
  side: Side;
}>;

const OUTPUT_CHARS_KEPT = 64 * 1024;
const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
const hasTwoCores = availableParallelism() > 1 && installed('taskset');

function installed(command: string): boolean {
  try {
    execFileSync('which', [command], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const coreOf = { system: '0', load: '1' } as const;

/** Keeps this process and all that it will start on the core of the load; the system is started elsewhere. */
export const pinToLoad = (): void => {
  if (hasTwoCores) execFileSync('taskset', ['-a', '-cp', coreOf.load, String(process.pid)], { stdio: 'ignore' });
};

/** Starts the program; its standard input stays open until it is stopped. */
export const startProgram = ({ command, args, env = {}, side }: ProgramOptions): Program => {
  const [file, all] =
    hasTwoCores && side !== 'any' ? ['taskset', ['-c', coreOf[side], command, ...args]] : [command, [...args]];
  const child = spawn(file, all, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
  });
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${command} could not be started`);
  const text = collect(child);
  const running = (): boolean => child.exitCode === null && child.signalCode === null;
  child.stdin.on('error', () => undefined);
  return {
    pid,
    cpuUs: () => cpuUsOf(pid),
    memory: () => memoryOf(pid),
    saw: async (pattern) => {
      for (let waitedMs = 0; ; waitedMs += 20) {
        const found = text().match(pattern);
        if (found !== null) return found;
        if (!running()) throw new Error(`${command} ended with ${child.exitCode ?? child.signalCode}:\n${text()}`);
        if (waitedMs > 60_000) throw new Error(`${command} did not say ${String(pattern)}:\n${text()}`);
        await wait(20);
      }
    },
    output: text,
    send: (message) => void child.stdin.write(`${message}\n`),
    stop: async () => {
      if (running()) {
        const ended = once(child, 'exit');
        child.kill('SIGTERM');
        await ended;
      }
      if (child.exitCode !== 0)
        throw new Error(`${command} ended with ${child.exitCode ?? child.signalCode}:\n${text()}`);
    },
    kill: () => void child.kill('SIGKILL'),
  };
};

const collect = (child: ChildProcess): (() => string) => {
  let text = '';
  const take = (chunk: Buffer): void => {
    text = (text + chunk.toString('utf8')).slice(-OUTPUT_CHARS_KEPT);
  };
  child.stdout?.on('data', take);
  child.stderr?.on('data', take);
  return () => text;
};

/** proc(5): fields 14 and 15 of stat, counted behind the name, which may hold anything but ends at the last bracket. */
const cpuUsOf = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1e6;
};

const memoryOf = (pid: number) => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1_024;
  return { rssBytes: bytes('VmRSS'), peakBytes: bytes('VmHWM') };
};

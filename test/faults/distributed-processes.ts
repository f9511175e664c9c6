/**
 * The processes of the service on several machines, as it seems: each with a directory of its own, started and ended by
 * hand.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startServer, type ServerProcess, type Settings } from '../support/server-process.js';
import { eventually } from '../support/wait.js';

export type RoleName = 'http' | 'process' | 'project';
/** The role of a process, or several. */
export type Roles = RoleName | 'process,project';

export type Member = Readonly<{
  roles: Roles;
  /** `clockShiftMs`: how far its clock is off. */
  start: (clockShiftMs?: number) => Promise<void>;
  end: (signal: 'SIGKILL' | 'SIGTERM') => Promise<void>;
  freeze: () => void;
  resume: () => void;
  /** The address of its API, while it runs and has the role `http`. */
  base: () => string | undefined;
  firstKey: () => Promise<string>;
}>;

export type MemberOptions = Readonly<{
  roles: Roles;
  index: number;
  /** Its data and what it says are kept below. */
  directory: string;
  settings: Settings;
  /** Called where it ends without being asked to, and where it does not end in order. */
  fault: (text: string) => void;
}>;

const STARTS_WITHIN_MS = 180_000;
const STARTS_MAX = 10;
const SERVER_AWAY = /cannot be reached/;
/** Longer than the longest run. */
const SERVES_AT_MOST_MS = 24 * 60 * 60_000;
const clock = new URL('../support/shifted-clock.js', import.meta.url).href;

export const makeMember = ({ roles, index, directory, settings, fault }: MemberOptions): Member => {
  const name = `${roles}-${index}`;
  const dataDir = join(directory, name);
  mkdirSync(dataDir, { mode: 0o700 });
  let server: ServerProcess | undefined;
  let base: string | undefined;
  let starts = 0;

  const keepOutput = ({ output }: ServerProcess, stderr: string): void =>
    writeFileSync(join(directory, `${name}.${starts}.log`), `${output()}\n${stderr}`);

  /**
   * Out: whether it runs; a process that finds a server away ends, and is to be started again, as what supervises it
   * would.
   */
  const startOnce = async (clockShiftMs?: number): Promise<boolean> => {
    starts += 1;
    const shift = clockShiftMs === undefined ? {} : { CLOCK_SHIFT_MS: String(clockShiftMs) };
    const own = { ...settings, ...shift, SEALPOST_DATA_DIR: dataDir, SEALPOST_ROLES: roles };
    const begun = startServer(own, clockShiftMs === undefined ? undefined : clock, SERVES_AT_MOST_MS);
    server = begun;
    let isRunning = false;
    const ended = begun.ended.then(({ code, signal, stderr }) => {
      keepOutput(begun, stderr);
      if (server !== begun) return;
      server = base = undefined;
      if (!isRunning && SERVER_AWAY.test(stderr)) return;
      fault(`${name} ended by itself (${code ?? signal}), start ${starts}: ${stderr.slice(-500)}`);
    });
    const runs = eventually(
      `${name} runs`,
      () => begun.output().includes('sealpost is running') || server !== begun,
      STARTS_WITHIN_MS,
    );
    await Promise.race([runs, ended]);
    isRunning = server === begun;
    if (isRunning && roles === 'http') base = await begun.listening;
    return isRunning;
  };

  const start = async (clockShiftMs?: number): Promise<void> => {
    for (let tries = 1; !(await startOnce(clockShiftMs)); tries += 1)
      if (tries === STARTS_MAX) throw new Error(`${name} was started ${tries} times and does not run`);
  };

  const end = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    const ending = server;
    server = base = undefined;
    if (ending === undefined) return;
    const { code } = await ending.end(signal);
    if (signal === 'SIGTERM' && code !== 0) fault(`${name} did not stop in order: it ended with ${code}`);
  };

  return {
    ...{ roles, start, end },
    freeze: () => void (server && process.kill(server.pid, 'SIGSTOP')),
    resume: () => void (server && process.kill(server.pid, 'SIGCONT')),
    base: () => base,
    firstKey: async () => server!.firstKey(),
  };
};

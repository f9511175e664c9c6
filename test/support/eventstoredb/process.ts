/** The stand-in in a process that a test can kill, freeze and start again on the same data and port. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const mainFile = fileURLToPath(new URL('./main.js', import.meta.url));

export type StandInProcess = Readonly<{
  url: () => string;
  /** Kills it as a power cut would, and resolves when it is gone. */
  kill: () => Promise<void>;
  freeze: () => void;
  goOn: () => void;
  /** Starts it again on its port and data. */
  start: () => Promise<void>;
}>;

/** In: the file that keeps its log; where absent, the log goes with the process. */
export const startStandInProcess = async (file?: string): Promise<StandInProcess> => {
  let child: ChildProcess | undefined;
  let url = '';
  const start = async (): Promise<void> => {
    const port = url === '' ? '0' : new URL(url.replace('esdb:', 'http:')).port;
    // The test runner's loader would come along into the process: a shell takes it out.
    child = spawn(
      'sh',
      [
        '-c',
        'unset NODE_OPTIONS; exec "$0" "$@"',
        process.execPath,
        mainFile,
        port,
        ...(file === undefined ? [] : [file]),
      ],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    let said = '';
    for await (const text of child.stdout!.setEncoding('utf8')) {
      said += String(text);
      if (said.includes('\n')) break;
    }
    if (said === '') throw new Error('the stand-in did not start');
    url = said.trim();
  };
  process.once('exit', () => child?.kill('SIGKILL'));
  await start();
  return {
    url: () => url,
    kill: async () => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
    freeze: () => void child?.kill('SIGSTOP'),
    goOn: () => void child?.kill('SIGCONT'),
    start,
  };
};

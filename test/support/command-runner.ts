/**
 * Runs commands of sealpost in threads of the test's process: a command costs what it does, not the loading of the
 * program. A thread has an environment of its own, so that two commands at the same time are told different settings.
 */
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';

export type Asked = Readonly<{ args: readonly string[]; env: NodeJS.ProcessEnv }>;
export type Answered = Readonly<{ code: number; stdout: string; stderr: string }>;

const file = fileURLToPath(new URL('./command-thread.js', import.meta.url));
const idle: Worker[] = [];

/** Without the loader of the test runner. */
const startThread = (): Worker => new Worker(file, { execArgv: [], env: {} });

/** Rejects where the thread fails, or where the command takes longer than `withinMs`; its thread is ended then. */
export const runInThread = (asked: Asked, withinMs: number): Promise<Answered> => {
  const thread = idle.pop() ?? startThread();
  thread.ref();
  return new Promise((resolve, reject) => {
    let answered: Answered | undefined;
    const end = (fault?: Error): void => {
      clearTimeout(timer);
      for (const name of ['message', 'error', 'exit']) thread.removeAllListeners(name);
      thread.unref();
      if (fault === undefined) idle.push(thread);
      else void thread.terminate();
      // A command has answered where it calls `process.exit`, whatever its thread does after that.
      if (answered === undefined) reject(fault!);
      else resolve(answered);
    };
    const said = `sealpost ${asked.args.join(' ')}`;
    const timer = setTimeout(() => end(new Error(`not within ${withinMs} ms: ${said}`)), withinMs);
    thread.on('message', (message: Answered | 'idle') => {
      if (message === 'idle') end();
      else answered = message;
    });
    thread.on('error', (fault) => end(new Error(`the thread of ${said} failed`, { cause: fault })));
    thread.on('exit', () => end(new Error(`the thread of ${said} ended`)));
    thread.postMessage(asked);
  });
};

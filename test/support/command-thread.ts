/**
 * A thread that runs commands of sealpost, one after the other: what `command-runner.ts` asks for. The modules stay
 * loaded between them.
 */
import { parentPort } from 'node:worker_threads';
import type { Asked, Answered } from './command-runner.js';

const port = parentPort!;
/** The output of the command under way; undefined between commands. */
let printed: { stdout: string; stderr: string } | undefined;

const collect = (name: 'stdout' | 'stderr'): void => {
  process[name].write = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    if (printed !== undefined) printed[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
    const written = rest.find((given) => typeof given === 'function') as (() => void) | undefined;
    if (written !== undefined) queueMicrotask(written);
    return true;
  };
};
collect('stdout');
collect('stderr');

const answer = (code: number): void => {
  if (printed === undefined) return;
  port.postMessage({ code, ...printed } satisfies Answered);
  printed = undefined;
};

// The command is over, for whoever asked: what runs on after this, to the end of its promises, is not heard.
process.exit = (code) => {
  answer(Number(code ?? process.exitCode ?? 0));
  throw new Error('the command has ended the process');
};

const { run } = await import('../../src/main.js');

port.on('message', ({ args, env }: Asked) => {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.exitCode = undefined;
  printed = { stdout: '', stderr: '' };
  void run(args).then(() => {
    answer(Number(process.exitCode ?? 0));
    process.stdout.removeAllListeners('error');
    port.postMessage('idle');
  });
});

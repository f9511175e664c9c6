/**
 * The program of a document process: loads the module it is told to, does one job after another, and ends with the
 * service that started it.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { FromProcess, MakeHandler, StartMessage, ToProcess } from './messages.js';
import { traceOf } from './refusals.js';

const send = (message: FromProcess, then?: () => void): void => {
  process.send?.(message, undefined, {}, then);
};

/**
 * Reports the fault and ends the process: the state of the libraries after a fault is not reliable. Another process
 * takes the next job.
 */
const fail = (fault: unknown): void => send({ kind: 'fault', trace: traceOf(fault) }, () => process.exit(1));

const start = async (message: StartMessage): Promise<(job: unknown) => Promise<unknown>> => {
  const guard = new Worker(new URL('./guard.js', import.meta.url), { workerData: message });
  guard.unref();
  // No job begins before the guard is at work, which takes as long as the import beside it.
  const [{ default: makeHandler }] = await Promise.all([
    import(message.file) as Promise<{ default: MakeHandler }>,
    once(guard, 'online'),
  ]);
  return makeHandler(message.settings);
};

let handler: Promise<(job: unknown) => Promise<unknown>> | undefined;

const receive = async (message: ToProcess): Promise<void> => {
  switch (message.kind) {
    case 'start':
      handler = start(message);
      await handler;
      return;
    case 'job': {
      const handle = await handler;
      const result = await handle?.(message.job);
      send({ kind: 'answer', result, residentBytes: process.memoryUsage.rss() });
    }
  }
};

process.on('uncaughtException', fail);
process.on('disconnect', () => process.exit());
// A terminal and a service manager signal every process of the group: the service alone decides when its documents end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const)
  process.on(signal, () => undefined);
process.on('message', (message: ToProcess) => void receive(message).catch(fail));

/** Runs the workers of the program, starts a failed one again after a growing pause, and stops them within a deadline. */
import { setMaxListeners } from 'node:events';
import type { Clock } from '../domain/ports/clock.js';
import type { Logger } from '../domain/ports/logger.js';
import type { Worker } from '../domain/ports/worker.js';
import type { WorkerHealth } from '../domain/core/worker-health.js';

const PAUSE_FIRST_MS = 250;
const PAUSE_MAX_MS = 30_000;
/** A worker that ran this long starts again with the first pause. */
const STEADY_MS = 60_000;

export type Supervisor = Readonly<{
  start: (workers: readonly Worker[]) => void;
  health: () => readonly WorkerHealth[];
  /** Signals the named workers (default: all) to end and waits until they have, or the signal aborts. */
  stop: (names: readonly string[] | undefined, deadline: AbortSignal) => Promise<void>;
}>;

type Running = { health: WorkerHealth; readonly stop: AbortController; readonly ended: Promise<void> };

export const makeSupervisor = (deps: Readonly<{ clock: Clock; logger: Logger }>): Supervisor => {
  const running = new Map<string, Running>();

  const launch = (worker: Worker): void => {
    const stop = new AbortController();
    // Every lane and timer of a worker may listen at once; that is not a leak.
    setMaxListeners(0, stop.signal);
    const note = (change: Partial<WorkerHealth>): void => {
      const entry = running.get(worker.name);
      if (entry !== undefined) entry.health = { ...entry.health, ...change };
    };
    const ended = keepRunning(deps, worker, stop.signal, note);
    running.set(worker.name, { health: { name: worker.name, state: 'running', restarts: 0, lastFault: null }, stop, ended });
  };

  return {
    start: (workers) => workers.forEach(launch),
    health: () => [...running.values()].map(({ health }) => health),
    stop: async (names, deadline) => {
      const chosen = [...running].flatMap(([name, entry]) => (names === undefined || names.includes(name) ? [entry] : []));
      for (const { stop } of chosen) stop.abort();
      await Promise.race([Promise.all(chosen.map(({ ended }) => ended)), aborted(deadline)]);
    },
  };
};

const keepRunning = async (
  { clock, logger }: Readonly<{ clock: Clock; logger: Logger }>,
  worker: Worker,
  signal: AbortSignal,
  note: (change: Partial<WorkerHealth>) => void,
): Promise<void> => {
  let pauseMs = PAUSE_FIRST_MS;
  // The entry that `note` changes is made in the same turn as this call.
  await Promise.resolve();
  for (let restarts = 0; !signal.aborted; restarts += 1) {
    const startedMs = clock.monotonic();
    note({ state: 'running', restarts });
    try {
      await worker.run(signal);
    } catch (fault) {
      const err = fault instanceof Error ? fault : new Error('not an Error');
      if (!signal.aborted) logger.error({ worker: worker.name, restarts, err }, 'worker fault, will be started again');
      note({ state: 'restarting', lastFault: 'code' in err ? String(err.code) : err.name });
    }
    if (signal.aborted) break;
    pauseMs = clock.monotonic() - startedMs > STEADY_MS ? PAUSE_FIRST_MS : Math.min(pauseMs * 2, PAUSE_MAX_MS);
    await clock.sleep(pauseMs, signal);
  }
  note({ state: 'stopped' });
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

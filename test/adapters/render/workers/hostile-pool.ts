/** A pool of one hostile process, for services that tests start and end. */
import { systemClock } from '../../../../src/adapters/clock/system.js';
import { openPool, type JobOutcome } from '../../../../src/adapters/render/workers/pool.js';
import { hostileWorker } from './hostile-worker.js';

export type HostilePool = Readonly<{
  act: (act: string, more?: Readonly<Record<string, string>>) => Promise<JobOutcome>;
  pids: () => readonly number[];
  close: () => Promise<void>;
}>;

export const openHostilePool = (): HostilePool => {
  const pool = openPool({
    file: hostileWorker,
    settings: undefined,
    processesMax: 1,
    queueMax: 1,
    queueWaitMs: 60_000,
    memoryMbMax: 64,
    idleMs: 60_000,
    clock: systemClock(),
    onStrayFault: () => undefined,
  });
  const { signal } = new AbortController();
  return {
    act: (act, more = {}) =>
      pool.run({ input: { variables: { act, ...more } } }, { team: 'a', timeoutMs: 600_000, signal }),
    pids: pool.pids,
    close: pool.close,
  };
};

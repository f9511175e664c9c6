/** A service that gives one job to a document process and says its id: a test kills it and sees what becomes of the process. */
import { systemClock } from '../../../../src/adapters/clock/system.js';
import { openPool } from '../../../../src/adapters/render/workers/pool.js';
import { eventually } from '../../../support/wait.js';
import { hostileWorker } from './hostile-worker.js';

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
// The first job shows that the process has started, so that the second is under way when its id is said.
await pool.run({ input: { variables: { act: 'sources' } } }, { team: 'a', timeoutMs: 60_000, signal });
void pool.run({ input: { variables: { act: process.argv[2] } } }, { team: 'a', timeoutMs: 600_000, signal });
process.send?.(await eventually('the process runs', () => pool.pids()[0]));

/** A service that closes its pool while the answer of a process has come and is not read yet, and then says so. */
import { existsSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { systemClock } from '../../../../src/adapters/clock/system.js';
import { openPool } from '../../../../src/adapters/render/workers/pool.js';
import { hostileWorker } from './hostile-worker.js';

const [, , marker = ''] = process.argv;
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
const options = { team: 'a', timeoutMs: 600_000, signal: new AbortController().signal };
await pool.run({ input: { variables: { act: 'sources' } } }, options);
void pool.run({ input: { variables: { act: 'marker', marker } } }, options);
// The job is sent, and nothing that comes is read until the pool is closing.
for (let turns = 0; turns < 5; turns += 1) await turn();
const cell = new Int32Array(new SharedArrayBuffer(4));
const deadlineMs = Date.now() + 60_000;
while (!existsSync(marker) && Date.now() < deadlineMs) Atomics.wait(cell, 0, 0, 5);
Atomics.wait(cell, 0, 0, 200);
await pool.close();
process.stdout.write('closed\n');

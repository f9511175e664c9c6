/** A service that closes its pool while the answer of a process has come and is not read yet, and then says so. */
import { existsSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { openHostilePool } from './hostile-pool.js';

const [, , marker = ''] = process.argv;
const WITHIN_MS = 60_000;

const pool = openHostilePool();
await pool.act('sources');
void pool.act('marker', { marker });
// The job is sent, and nothing that comes is read until the pool is closing.
for (let turns = 0; turns < 5; turns += 1) await turn();
const cell = new Int32Array(new SharedArrayBuffer(4));
const deadlineMs = performance.now() + WITHIN_MS;
while (!existsSync(marker) && performance.now() < deadlineMs) Atomics.wait(cell, 0, 0, 5);
// Between the file and the answer the process does nothing else.
Atomics.wait(cell, 0, 0, 200);
await pool.close();
process.stdout.write('closed\n');

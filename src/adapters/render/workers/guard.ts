/**
 * A thread beside the one that makes documents: ends the process when it takes too much memory or has lost its parent,
 * even while the other thread spins.
 */
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { MEMORY_NOTE, type StartMessage } from './messages.js';

/** A process that fills memory as fast as it can gains some 100 MB in this time. */
const LOOK_EVERY_MS = 20;
const STDERR = 2;

const { residentBytesMax, parentPid } = workerData as StartMessage;

const end = (): void => {
  process.kill(process.pid, 'SIGKILL');
};

setInterval(() => {
  if (process.ppid !== parentPid) end();
  if (process.memoryUsage.rss() <= residentBytesMax) return;
  writeSync(STDERR, `${MEMORY_NOTE}\n`);
  end();
}, LOOK_EVERY_MS);

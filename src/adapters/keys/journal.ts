/** Empties the write-ahead log of the keys, where a destroyed key would still stand. */
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { busyTimeoutMs, type Database } from '../sqlite/database.js';

const truncationAttemptsMax = 200;
const truncationPauseMs = 50;

/**
 * The write-ahead log still holds the pages as they were: it is copied into the database and cut to nothing.
 * Another process that reads at this moment keeps it from that, so it is tried again, without blocking.
 * Calls of one turn of the event loop share one truncation. Rejects where the log could not be emptied in time.
 */
export const logTruncation = (database: Database): (() => Promise<void>) => {
  let shared: Promise<void> | undefined;

  const truncate = async (): Promise<void> => {
    await turn();
    shared = undefined;
    for (let attempt = 1; attempt <= truncationAttemptsMax; attempt += 1) {
      database.pragma('busy_timeout = 0');
      const busy = database.pragma('wal_checkpoint(TRUNCATE)', { simple: true });
      database.pragma(`busy_timeout = ${busyTimeoutMs}`);
      if (busy === 0) return;
      await pause(truncationPauseMs);
    }
    throw new Error('the destroyed keys still stand in the write-ahead log, for another process keeps reading it');
  };

  return () => (shared ??= truncate());
};

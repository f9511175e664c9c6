/** Empties the write-ahead log of a database, in which pages still stand as they were before something was erased from them. */
import { busyTimeoutMs, type Database } from './database.js';

export type LogTruncation = Readonly<{
  /** Copies the log into the database and cuts it to nothing; where another process reads at this moment, it is tried again soon. */
  now: () => void;
  /** The same within `withinMs`; calls until then share one truncation. */
  soon: () => void;
  /** Does what was asked for and is not done. */
  close: () => void;
}>;

export type LogTruncationOptions = Readonly<{
  database: Database;
  /** A truncation waits for the disk, so this also bounds how often it is done. */
  withinMs: number;
  /** Told of a fault of the disk; it is tried again. */
  onFault: (fault: Error) => void;
}>;

export const logTruncation = ({ database, withinMs, onFault }: LogTruncationOptions): LogTruncation => {
  let timer: NodeJS.Timeout | undefined;

  const now = (): void => {
    clearTimeout(timer);
    timer = undefined;
    // Another process may be reading the file: it is not waited for, since that would hold the event loop.
    database.pragma('busy_timeout = 0');
    const busy = database.pragma('wal_checkpoint(TRUNCATE)', { simple: true });
    database.pragma(`busy_timeout = ${busyTimeoutMs}`);
    if (busy !== 0) soon();
  };

  const soon = (): void => {
    timer ??= setTimeout(() => {
      try {
        now();
      } catch (fault) {
        onFault(fault instanceof Error ? fault : new Error('not an Error'));
        soon();
      }
    }, withinMs).unref();
  };

  return {
    now,
    soon,
    close: () => {
      if (timer !== undefined) now();
      clearTimeout(timer);
    },
  };
};

/** Notes in the other stores, every minute, where the log ends: by that an older copy of any of them is known at the next start. */
import { noteLog, type LogToNote } from '../../commands/core/log-notes.js';
import type { NotedStores } from '../../domain/ports/log-note.js';
import type { Worker } from '../../domain/ports/worker.js';
import { underLease, type LeaseDeps } from '../core/lease.js';

const NOTE_EVERY_MS = 60_000;

export const noteLogWorker = (deps: LeaseDeps & Readonly<{ store: LogToNote; noted: NotedStores }>): Worker => ({
  name: 'note-log',
  run: (stop) =>
    underLease(deps, 'note-log', stop, async ({ signal }) => {
      while (!signal.aborted) {
        await noteLog(deps.store, deps.noted);
        await deps.clock.sleep(NOTE_EVERY_MS, signal);
      }
    }),
});

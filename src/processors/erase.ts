/** Erases at the start, and every minute, what the log says is deleted or archived and whose key still exists. */
import { eraseAll, type EraseAllDeps } from '../commands/erase.js';
import type { Keys } from '../domain/ports/keys.js';
import type { Worker } from '../domain/ports/worker.js';
import { underLease, type LeaseDeps } from './lease.js';

const ERASE_EVERY_MS = 60_000;

export type EraseWorkerDeps = LeaseDeps & EraseAllDeps & Readonly<{ keys: Pick<Keys, 'getMany' | 'mark' | 'setMark'> }>;

/** It goes on behind the mark that is kept with the keys, so that an older copy of them is erased again from its own mark on. */
export const eraseWorker = (deps: EraseWorkerDeps): Worker => ({
  name: 'erase',
  run: (stop) =>
    underLease(deps, 'erase', stop, async ({ signal }) => {
      while (!signal.aborted) {
        const mark = await deps.keys.mark();
        const erased = await eraseAll(deps, mark?.position ?? 0, { signal, reached: (next) => deps.keys.setMark(next) });
        if (erased > 0) deps.logger.warn({ erased }, 'keys of deleted or archived streams were still there and are destroyed now');
        await deps.clock.sleep(ERASE_EVERY_MS, signal);
      }
    }),
});

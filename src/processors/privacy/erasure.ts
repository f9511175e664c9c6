/**
 * Destroys personal data: the processor that erases an address, and the worker that destroys keys which should be gone
 * already.
 */
import { eraseAll, type EraseAllDeps } from '../../commands/core/erase.js';
import type { Keys, LogMark } from '../../domain/ports/keys.js';
import type { Worker } from '../../domain/ports/worker.js';
import { eraseRestOfRemovedTeams } from '../../commands/teams/removal.js';
import { endOutcomesOfDeleted } from '../../commands/webhooks/records.js';
import { underLease, type LeaseDeps } from '../core/lease.js';
import { carryOutErasure, type CarryOutDeps } from '../../commands/privacy/erasure.js';
import { erasureDecider, type ErasureCommand, type ErasureState } from '../../domain/privacy/decider.js';
import { assertDefined, parseErasureId, splitStream } from '../../domain/core/ids.js';
import type { Processor } from '../core/declaration.js';
import { makeProcessor } from '../core/processor.js';

const ERASE_EVERY_MS = 60_000;

type EraseWorkerDeps = LeaseDeps & EraseAllDeps & Readonly<{ keys: Pick<Keys, 'getMany' | 'mark' | 'setMark'> }>;

/**
 * It goes on behind the mark that is kept with the keys, so that an older copy of them is erased again from its own
 * mark on.
 */
/**
 * Erases at start and every minute the streams that the log says are deleted or archived and whose key still exists.
 */
export const eraseWorker = (deps: EraseWorkerDeps): Worker => ({
  name: 'erase',
  run: (stop) =>
    underLease(deps, 'erase', stop, async ({ signal }) => {
      while (!signal.aborted) {
        const mark = await deps.keys.mark();
        let after = mark?.position ?? 0;
        const reached = async (next: LogMark): Promise<void> => {
          await endOutcomesOfDeleted(deps, after, next.position, signal);
          await eraseRestOfRemovedTeams(deps, after, next.position, signal);
          // If the run was stopped early, keep the mark, so that the range is read again.
          if (signal.aborted) return;
          after = next.position;
          await deps.keys.setMark(next);
        };
        const erased = await eraseAll(deps, after, { signal, reached });
        if (erased > 0)
          deps.logger.warn({ erased }, 'keys of deleted or archived streams were still there and are destroyed now');
        await deps.clock.sleep(ERASE_EVERY_MS, signal);
      }
    }),
});

export type EraseAddressDeps = CarryOutDeps;

/** The timer continues with the rest. */
const DEADLINE_MS = 10 * 60_000;

/** Each may hold the content of a bulk send in memory. */
const IN_FLIGHT_MAX = 4;

/** All of it is recorded by the command, which may be repeated. */
export const eraseAddressProcessor = (deps: EraseAddressDeps): Processor =>
  makeProcessor<'erasure', ErasureState, ErasureCommand>({
    name: 'erase-address',
    kind: 'erasure',
    decider: erasureDecider,
    startedBy: {
      ErasureRequested: () => 'normal',
    },
    timers: [
      { kind: 'erasing', read: 'started' },
      { kind: 'waiting', read: 'due' },
    ],
    deadlineMs: DEADLINE_MS,
    inFlightMax: IN_FLIGHT_MAX,
    act: async ({ stream, cause, signal }) => {
      const id = assertDefined(parseErasureId(splitStream(stream).id), 'erasure id');
      await carryOutErasure(deps, { id, cause, signal });
      return {};
    },
  });

/** Ends sessions that nobody has refreshed for a month, and destroys the address and program they were used from. */
import type { TeamNeeds } from '../../commands/teams/needs.js';
import { endSession } from '../../commands/people/sessions.js';
import { NO_TEAM, type SessionId } from '../../domain/core/ids.js';
import { isoTime, CLOCKS_APART_MS } from '../../domain/core/time.js';
import type { Worker } from '../../domain/ports/worker.js';
import type { ProcessorDeps } from '../core/declaration.js';
import { recurringWorker, type Held, type LeaseDeps } from '../core/lease.js';

const NAME = 'end-sessions';
const LOOK_EVERY_MS = 60_000;
const SESSIONS_PER_LOOK = 500;

export type EndSessionsDeps = LeaseDeps &
  Pick<TeamNeeds, 'eventLog'> &
  Pick<ProcessorDeps, 'mayDestroy'> &
  Readonly<{
    /** Sessions that expired by that moment, the longest expired first. */
    unused: (upTo: string, limit: number) => Promise<readonly SessionId[]>;
  }>;

export const endSessionsWorker = (deps: EndSessionsDeps): Worker =>
  recurringWorker(deps, NAME, LOOK_EVERY_MS, (held) => endUnused(deps, held));

/**
 * A session that cannot be read is logged and skipped. The stream decides: a session that was refreshed meanwhile goes
 * on.
 */
const endUnused = async (deps: EndSessionsDeps, held: Held): Promise<void> => {
  const { clock, logger } = deps;
  for (const id of await deps.unused(isoTime(clock.now() - CLOCKS_APART_MS), SESSIONS_PER_LOOK)) {
    if (held.signal.aborted || !deps.mayDestroy()) return;
    const at = isoTime(clock.now());
    const cause = {
      teamId: NO_TEAM,
      actor: `processor:${NAME}`,
      correlationId: id,
      causationId: id,
      at,
      fence: held.fence,
    };
    try {
      await endSession(deps, id, 'expired', cause);
    } catch (fault) {
      logger.error(
        { session: id, err: fault instanceof Error ? fault : undefined },
        'a session that nobody uses is not ended',
      );
    }
  }
};

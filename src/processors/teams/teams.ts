/** Ends expired invitations, and removes teams that were deleted too long ago to be restored. */
import { lapseInvitations } from '../../commands/teams/invitations.js';
import { type RemovalDeps, removeTeam, teamsRemovableBefore } from '../../commands/teams/removal.js';
import type { TeamId } from '../../domain/core/ids.js';
import { isoTime, HOUR_MS } from '../../domain/core/time.js';
import type { Worker } from '../../domain/ports/worker.js';
import type { Cause } from '../../event-log/event-log.js';
import type { ProcessorDeps } from '../core/declaration.js';
import { recurringWorker, type Held, type LeaseDeps } from '../core/lease.js';

const NAME = 'look-after-teams';
const LOOK_EVERY_MS = HOUR_MS;
const TEAMS_PER_LOOK = 100;

export type LookAfterTeamsDeps = LeaseDeps &
  RemovalDeps &
  Pick<ProcessorDeps, 'mayDestroy'> &
  Readonly<{
    /** Teams that were deleted at that moment or before, the first deleted first. */
    toRemove: (deletedUpTo: string, limit: number) => Promise<readonly TeamId[]>;
    /** Teams with open invitations that have ended by that moment. */
    toLapse: (upTo: string, limit: number) => Promise<readonly TeamId[]>;
  }>;

export const lookAfterTeamsWorker = (deps: LookAfterTeamsDeps): Worker =>
  recurringWorker(deps, NAME, LOOK_EVERY_MS, async (held) => {
    await lapseAll(deps, held);
    await removeAll(deps, held);
  });

/** Without a fence: other workers append to the same streams under other leases. */
const causeNow = (deps: LookAfterTeamsDeps, teamId: TeamId): Cause => ({
  teamId,
  actor: `processor:${NAME}`,
  correlationId: teamId,
  causationId: teamId,
  at: isoTime(deps.clock.now()),
});

const lapseAll = async (deps: LookAfterTeamsDeps, held: Held): Promise<void> => {
  if (!deps.mayDestroy()) return;
  for (const teamId of await deps.toLapse(isoTime(deps.clock.now()), TEAMS_PER_LOOK))
    await each(deps, held, teamId, () => lapseInvitations(deps, teamId, causeNow(deps, teamId)));
};

const removeAll = async (deps: LookAfterTeamsDeps, held: Held): Promise<void> => {
  if (!deps.mayDestroy()) return;
  for (const teamId of await deps.toRemove(teamsRemovableBefore(deps), TEAMS_PER_LOOK))
    await each(deps, held, teamId, async () => {
      const end = await removeTeam(deps, teamId, causeNow(deps, teamId), held.signal);
      if (end === 'removed') deps.logger.info({ team: teamId }, 'a deleted team is removed');
      else if (end === 'unfinished')
        deps.logger.warn({ team: teamId }, 'not all of a deleted team could be removed, trying again');
    });
};

/** A fault with one team is logged and does not stop the others; the next look tries it again. */
const each = async (
  deps: LookAfterTeamsDeps,
  { signal }: Held,
  teamId: TeamId,
  work: () => Promise<void>,
): Promise<void> => {
  if (signal.aborted || !deps.mayDestroy()) return;
  try {
    await work();
  } catch (fault) {
    if (signal.aborted) return;
    deps.logger.error(
      { team: teamId, err: fault instanceof Error ? fault : undefined },
      'a team could not be looked after, trying again',
    );
  }
};

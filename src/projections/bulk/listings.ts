/** Bulk sends as they are shown, with how long they are likely to take. */
import { batchListing, type BatchListing } from '../../domain/bulk/listing.js';
import type { BatchId, TeamId } from '../../domain/core/ids.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import { BATCHES, type BatchDocument } from './batches.js';

type Deps = Readonly<{
  readModels: Pick<ReadModels, 'get'>;
  clock: Clock;
  /** How long so many emails of a team that are still open are likely to take; nothing where absent. */
  waitMs?: (teamId: TeamId, emails: number) => number;
}>;

export const listed = ({ clock, waitMs = () => 0 }: Deps, batch: BatchDocument): BatchListing =>
  batchListing(batch, { clock, waitMs: (emails) => waitMs(batch.team, emails) });

/** undefined where the team has no such bulk send. */
export const batchOf = async (deps: Deps, teamId: TeamId, id: BatchId): Promise<BatchListing | undefined> => {
  const batch = (await deps.readModels.get(BATCHES, id)) as BatchDocument | undefined;
  return batch?.team === teamId ? listed(deps, batch) : undefined;
};

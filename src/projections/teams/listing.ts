import type { Role } from '../../domain/access/roles.js';
import type { TeamId, UserId } from '../../domain/core/ids.js';
import type { Paging, Page } from '../core/pages.js';

/** A team as its member finds it in a list. `deletedAt`: where it is deleted. */
export type TeamListing = { id: string; name: string; role: Role; memberCount: number; createdAt: string; deletedAt?: string };

export type TeamQueries = Readonly<{
  /** The living teams of a person, as far as the read models have them. */
  teamsOfUser: (userId: UserId) => Promise<readonly TeamId[]>;
  /** The team last joined first. `deleted`: those that can be restored, instead of the living ones. */
  listTeams: (userId: UserId, filter: Readonly<{ deleted?: true }>, paging: Paging) => Promise<Page<TeamListing>>;
}>;

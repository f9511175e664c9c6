/** Who may touch a stream. */
import type { Loaded } from './handle.js';
import type { DomainError } from '../../domain/core/errors.js';
import type { TeamId } from '../../domain/core/ids.js';

type Owned<State> = Pick<Loaded<State>, 'state' | 'teamId'>;

/** The state, where there is one, it is not deleted, and it is that team's; else undefined. */
export const ownedState = <State extends object>(teamId: TeamId, { state, teamId: owner }: Owned<State | undefined>): State | undefined =>
  state === undefined || owner !== teamId || ('deletedAt' in state && state.deletedAt !== null) ? undefined : state;

/** The guard of a command: what is unknown, deleted or another team's is refused alike. */
export const ownedBy =
  (teamId: TeamId, notFound: () => DomainError) =>
  (loaded: Owned<object | undefined>): void => {
    if (ownedState(teamId, loaded) === undefined) throw notFound();
  };

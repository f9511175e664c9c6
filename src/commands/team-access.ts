/** How a team is refused to whoever is not in it. */
import { DomainError } from '../domain/errors.js';

/** Another's team is answered as an unknown one. */
export const teamNotFound = (): DomainError =>
  new DomainError('TEAM_NOT_FOUND', 'There is no team with this id. GET /api/teams lists yours.');

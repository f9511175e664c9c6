/** How a team is refused to whoever is not in it. */
export { teamNotFound } from '../domain/team/members.js';

/** Admission of a call by the access token of an app. */
import type { AppAuthenticated, ForTeam } from './core/caller.js';
import type { CommandDeps } from './core/deps.js';
import { readAccessToken, type OpenAccessToken } from './apps/tokens.js';
import { secondFactorRequired } from './authenticate-user.js';
import { teamNotFound } from './core/team-access.js';
import { admitActive } from '../domain/billing/inactivity.js';
import { permissionsOfRole } from '../domain/access/roles.js';
import type { AccessPermission } from '../domain/access/permissions.js';
import { permissionsOfScopes } from '../domain/access/scopes.js';
import { DomainError } from '../domain/core/errors.js';
import { activityStream, NO_TEAM, teamStream, userStream } from '../domain/core/ids.js';

/** Rejects with INVALID_TOKEN, TOKEN_EXPIRED, API_KEY_DISABLED, or TEAM_NOT_FOUND where the token is good for another team. */
export const authenticateApp = async (deps: CommandDeps, token: string, team: ForTeam): Promise<AppAuthenticated> => {
  const open = await readAccessToken(deps, token);
  if (open === undefined) {
    throw new DomainError('INVALID_TOKEN', 'This access token is unknown, or what it stood for has ended. Ask the person for a new grant.');
  }
  if (open.isExpired) {
    throw new DomainError('TOKEN_EXPIRED', `This access token expired at ${open.token.expiresAt}. Exchange the refresh token for another.`);
  }
  const { id: grantId, teamId, app, grant } = open;
  const permissions = await permissionsNow(deps, open);
  admitActive((await deps.activity(activityStream(teamId))).state);
  if (team.isNeeded && team.asked !== undefined && team.asked.toLowerCase() !== teamId) throw teamNotFound();
  const { userId } = grant;
  return { kind: 'app', teamId: team.isNeeded ? teamId : NO_TEAM, permissions, rateLimit: null, clientId: app.id, grantId, userId };
};

/** What was granted, as far as the person may do it themselves at this moment. Rejects with INVALID_TOKEN where they are not in the team any more. */
const permissionsNow = async (deps: CommandDeps, { teamId, grant, scopes }: OpenAccessToken): Promise<readonly AccessPermission[]> => {
  const granted = permissionsOfScopes(scopes);
  const { state: team } = await deps.team(teamStream(teamId));
  if (team?.deletedAt !== undefined) throw new DomainError('INVALID_TOKEN', 'The team that this access token is good for is deleted.');
  if (grant.userId === undefined) return granted;
  const role = team?.members?.get(grant.userId)?.role;
  if (role === undefined) {
    throw new DomainError('INVALID_TOKEN', 'The person who granted this access token is not in the team any more.');
  }
  // Else an app would be the way in for who has none.
  if (team?.requiresSecondFactor === true && (await deps.user(userStream(grant.userId))).state?.secondFactor === undefined)
    throw secondFactorRequired();
  return granted.filter((permission) => permissionsOfRole[role].includes(permission));
};

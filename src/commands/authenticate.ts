/** Admission of a call by its credential. */
import { authenticateKey } from './api-keys.js';
import { authenticateApp } from './authenticate-app.js';
import { authenticateUser } from './authenticate-user.js';
import type { Authenticated, ForTeam } from './caller.js';
import type { CommandDeps } from './deps.js';
import { teamNotFound } from './team-access.js';
import { isTokenOfKind } from '../domain/oauth/tokens.js';

/** A call that names no team, on a route that needs one. */
const ANY_TEAM: ForTeam = { asked: undefined, isNeeded: true };

/** How the header of every JWT begins: `{"`, in base64url. */
const JWT = 'eyJ';

/**
 * In: the bearer token, and for which team it is used. Rejects with the code of what is wrong with the credential, and with
 * TEAM_NOT_FOUND where it is good and is none of that team.
 */
export const authenticate = async (deps: CommandDeps, token: string, team = ANY_TEAM): Promise<Authenticated> => {
  if (isTokenOfKind('access', token)) return authenticateApp(deps, token, team);
  if (token.startsWith(JWT)) return authenticateUser(deps, token, team);
  const key = await authenticateKey(deps, token);
  if (team.asked !== undefined && team.asked.toLowerCase() !== key.teamId) throw teamNotFound();
  return key;
};

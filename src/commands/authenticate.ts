/** Admission of a call by its credential. */
import { noteActivity } from './billing/activity.js';
import { authenticateKey } from './keys/api-keys.js';
import { authenticateApp } from './authenticate-app.js';
import { authenticateUser } from './authenticate-user.js';
import type { AppAuthenticated, Authenticated, ForTeam, UserAuthenticated } from './core/caller.js';
import type { CommandDeps } from './core/deps.js';
import { isoMoment } from './core/memo.js';
import { teamNotFound } from './core/team-access.js';
import { NO_TEAM } from '../domain/core/ids.js';
import { isTokenOfKind } from '../domain/apps/tokens.js';

/** A call that names no team, on a route that needs one. */
const ANY_TEAM: ForTeam = { asked: undefined, isNeeded: true };

/** How the header of every JWT begins: `{"`, in base64url. */
const JWT = 'eyJ';

/**
 * In: the bearer token, and for which team it is used. Rejects with the code of what is wrong with the credential, and with
 * TEAM_NOT_FOUND where it is good and is none of that team.
 */
export const authenticate = async (deps: CommandDeps, token: string, team = ANY_TEAM): Promise<Authenticated> => {
  if (isTokenOfKind('access', token)) return inUse(deps, await authenticateApp(deps, token, team));
  if (token.startsWith(JWT)) return inUse(deps, await authenticateUser(deps, token, team));
  const key = await authenticateKey(deps, token);
  if (team.asked !== undefined && team.asked.toLowerCase() !== key.teamId) throw teamNotFound();
  return key;
};

/** What a person or an app does for a team is use of its account; that of keys is noted with the use of the key itself. */
const inUse = async <By extends UserAuthenticated | AppAuthenticated>(deps: CommandDeps, admitted: By): Promise<By> => {
  const { teamId } = admitted;
  if (teamId === NO_TEAM) return admitted;
  const [actor, by] =
    admitted.kind === 'user' ? [`user:${admitted.userId}`, admitted.sessionId] : [`grant:${admitted.grantId}`, admitted.grantId];
  await noteActivity(deps, teamId, { teamId, actor, correlationId: by, causationId: by, at: isoMoment(deps.clock.now()) });
  return admitted;
};

/** Admission of a call by its credential. */
import { readAccessToken } from './access/tokens.js';
import { type ForTeam, type UserAuthenticated, refusing, type AppAuthenticated, type Authenticated } from './core/caller.js';
import { teamNotFound } from '../domain/teams/decider.js';
import type { CommandDeps } from './core/deps.js';
import { personPermissions, permissionsOfRole, type AccessPermission, permissionsOfScopes } from '../domain/access/permissions.js';
import { DomainError } from '../domain/core/errors.js';
import { NO_TEAM, parseTeamId, sessionStream, teamStream, userStream, type UserId, activityStream } from '../domain/core/ids.js';
import { invalidToken, sessionEnded } from '../domain/people/session.js';
import { holdsSession } from '../domain/people/user.js';
import { readAccessToken as readAccessTokenAuthenticateApp, type OpenAccessToken } from './apps/tokens.js';
import { admitActive } from '../domain/billing/inactivity.js';
import { noteActivity } from './billing/account.js';
import { authenticateKey } from './keys/api-keys.js';
import { isoMoment } from './core/memo.js';
import { isTokenOfKind } from '../domain/apps/tokens.js';

/* Admission of people by their access token. */

/**
 * Rejects with INVALID_TOKEN, TOKEN_EXPIRED, SESSION_ENDED, TEAM_REQUIRED, TEAM_NOT_FOUND and SECOND_FACTOR_REQUIRED. A session that
 * another process ended is refused within the bound of the state cache; that process answers no sooner.
 */
const authenticateUser = async (deps: CommandDeps, token: string, team: ForTeam): Promise<UserAuthenticated> => {
  const { userId, sessionId } = await readAccessToken(deps, token);
  const [ofSession, ofUser] = [deps.session(sessionStream(sessionId)), deps.user(userStream(userId))];
  const { state: session } = ofSession instanceof Promise ? await ofSession : ofSession;
  const { state: user } = ofUser instanceof Promise ? await ofUser : ofUser;
  if (session === undefined || user === undefined || session.userId !== userId) throw invalidToken();
  if (session.ended !== undefined) throw refusing(userId, sessionEnded(session.ended));
  if (!holdsSession(user, sessionId, session.epoch)) throw refusing(userId, sessionEnded(user.endedBy ?? 'revoked'));
  // What was given of a factor that is taken away since counts for nothing.
  const gaveFactor = session.secondFactor && user.secondFactor !== undefined;
  return { kind: 'user', userId, sessionId, rateLimit: null, ...(await placeOf(deps, { userId, gaveFactor }, team)) };
};

/** The team that a person calls for, and what they may do there. */
const placeOf = async (
  deps: CommandDeps,
  { userId, gaveFactor }: Readonly<{ userId: UserId; gaveFactor: boolean }>,
  team: ForTeam,
): Promise<Pick<UserAuthenticated, 'teamId' | 'permissions'>> => {
  const asked = team.asked ?? (team.isNeeded ? await onlyTeam(userId, team) : undefined);
  if (asked === undefined) return { teamId: NO_TEAM, permissions: personPermissions };
  const teamId = parseTeamId(asked);
  if (teamId === undefined) throw teamNotFound();
  const loaded = deps.team(teamStream(teamId));
  const { state } = loaded instanceof Promise ? await loaded : loaded;
  const member = state?.members?.get(userId);
  if (state === undefined || state.deletedAt !== undefined || member === undefined) throw teamNotFound();
  if (state.requiresSecondFactor === true && !gaveFactor) throw refusing(userId, secondFactorRequired());
  return { teamId, permissions: permissionsOfRole[member.role] };
};

const secondFactorRequired = (): DomainError =>
  new DomainError(
    'SECOND_FACTOR_REQUIRED',
    'This team lets nobody in without a second factor: set one up by POST /api/auth/totp/prepare, or sign in with its code.',
  );

const onlyTeam = async (userId: UserId, { teamsOf }: ForTeam): Promise<string> => {
  const teams = (await teamsOf?.(userId)) ?? [];
  const [only] = teams;
  if (only !== undefined && teams.length === 1) return only;
  throw new DomainError(
    'TEAM_REQUIRED',
    teams.length === 0
      ? 'You are in no team yet: make one by POST /api/teams, or accept an invitation.'
      : `You are in ${teams.length} teams: say by the header X-Team-Id for which this call is. GET /api/teams lists them.`,
  );
};

/* Admission of a call by the access token of an app. */

/** Rejects with INVALID_TOKEN, TOKEN_EXPIRED, API_KEY_DISABLED, or TEAM_NOT_FOUND where the token is good for another team. */
export const authenticateApp = async (deps: CommandDeps, token: string, team: ForTeam): Promise<AppAuthenticated> => {
  const open = await readAccessTokenAuthenticateApp(deps, token);
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

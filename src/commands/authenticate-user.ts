/** Admission of people by their access token. */
import { readAccessToken } from './access/tokens.js';
import type { ForTeam, UserAuthenticated } from './core/caller.js';
import { refusing } from './core/denials.js';
import type { CommandDeps } from './core/deps.js';
import { teamNotFound } from './core/team-access.js';
import { personPermissions, permissionsOfRole } from '../domain/access/roles.js';
import { DomainError } from '../domain/core/errors.js';
import { NO_TEAM, parseTeamId, sessionStream, teamStream, userStream, type UserId } from '../domain/core/ids.js';
import { invalidToken, sessionEnded } from '../domain/people/session.js';
import { holdsSession } from '../domain/people/user.js';

/**
 * Rejects with INVALID_TOKEN, TOKEN_EXPIRED, SESSION_ENDED, TEAM_REQUIRED, TEAM_NOT_FOUND and SECOND_FACTOR_REQUIRED. A session that
 * another process ended is refused within the bound of the state cache; that process answers no sooner.
 */
export const authenticateUser = async (deps: CommandDeps, token: string, team: ForTeam): Promise<UserAuthenticated> => {
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

export const secondFactorRequired = (): DomainError =>
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

/** Authenticates a call by its bearer token: an API key, the access token of a person, or that of an app. */
import { readAccessToken } from './access/tokens.js';
import {
  type ForTeam,
  type UserAuthenticated,
  withRefusedUser,
  type AppAuthenticated,
  type Authenticated,
} from './core/caller.js';
import { teamNotFound } from '../domain/teams/decider.js';
import type { CommandNeeds } from './needs.js';
import {
  allowedOf,
  operatorPermissions,
  personPermissions,
  permissionsOfRole,
  type AccessPermission,
  permissionsOfScopes,
} from '../domain/access/permissions.js';
import { DomainError } from '../domain/core/errors.js';
import {
  NO_TEAM,
  parseTeamId,
  sessionStream,
  teamStream,
  userStream,
  type SessionId,
  type TeamId,
  type UserId,
  teamUseStream,
} from '../domain/core/ids.js';
import { invalidToken, sessionEnded } from '../domain/people/session.js';
import { holdsSession } from '../domain/people/user.js';
import { readAccessToken as readAppToken, type OpenAccessToken } from './apps/tokens.js';
import { admitActive } from '../domain/billing/team-use.js';
import { noteTeamUse } from './billing/billing.js';
import { authenticateKey } from './keys/api-keys.js';
import { isoTime } from '../domain/core/time.js';
import { isTokenOfKind } from '../domain/apps/tokens.js';

/** A call that names no team, on a route that needs one. */
const ANY_TEAM: ForTeam = { asked: undefined, isNeeded: true };

/** Every JWT begins with this: `{"` in base64url. */
const JWT = 'eyJ';

/**
 * In: the bearer token, and the team that it is used for. Rejects with the code of what is wrong with the credential,
 * and with TEAM_NOT_FOUND if it is valid but not for that team.
 */
export const authenticate = async (deps: CommandNeeds, token: string, team = ANY_TEAM): Promise<Authenticated> => {
  if (isTokenOfKind('access', token)) return inUse(deps, await authenticateApp(deps, token, team));
  if (token.startsWith(JWT)) return inUse(deps, await authenticateUser(deps, token, team));
  const key = await authenticateKey(deps, token);
  if (team.asked !== undefined && team.asked.toLowerCase() !== key.teamId) throw teamNotFound();
  return key;
};

/** Notes that the account of the team is used by a person or an app. The use of keys is noted with the key itself. */
const inUse = async <By extends UserAuthenticated | AppAuthenticated>(
  deps: CommandNeeds,
  admitted: By,
): Promise<By> => {
  const { teamId } = admitted;
  if (teamId === NO_TEAM) return admitted;
  const [actor, by] =
    admitted.kind === 'user'
      ? [`user:${admitted.userId}`, admitted.sessionId]
      : [`grant:${admitted.grantId}`, admitted.grantId];
  await noteTeamUse(deps, teamId, {
    teamId,
    actor,
    correlationId: by,
    causationId: by,
    at: isoTime(deps.clock.now()),
  });
  return admitted;
};

/**
 * Rejects with INVALID_TOKEN, TOKEN_EXPIRED, SESSION_ENDED, TEAM_REQUIRED, TEAM_NOT_FOUND and SECOND_FACTOR_REQUIRED. A
 * session that another process ended is refused within the freshness limit of the state cache; the other process
 * answers no sooner.
 */
const authenticateUser = async (deps: CommandNeeds, token: string, team: ForTeam): Promise<UserAuthenticated> =>
  admitPerson(deps, await readAccessToken(deps, token), team);

type InSession = Readonly<{ userId: UserId; sessionId: SessionId }>;

/**
 * The permissions of a person in a team, as long as their session goes on; undefined: it has ended or expired, or the
 * person is not let into the team any more. As fresh as `authenticate`.
 */
export const permissionsInSession = async (
  deps: CommandNeeds,
  person: InSession,
  teamId: TeamId,
): Promise<readonly AccessPermission[] | undefined> => {
  const { state: session } = await deps.session(sessionStream(person.sessionId));
  if (session === undefined || session.expiresAt <= isoTime(deps.clock.now())) return undefined;
  try {
    return (await admitPerson(deps, person, { asked: teamId, isNeeded: true })).permissions;
  } catch (fault) {
    if (fault instanceof DomainError) return undefined;
    throw fault;
  }
};

const admitPerson = async (
  deps: CommandNeeds,
  { userId, sessionId }: InSession,
  team: ForTeam,
): Promise<UserAuthenticated> => {
  const [{ state: session }, { state: user }] = await Promise.all([
    deps.session(sessionStream(sessionId)),
    deps.user(userStream(userId)),
  ]);
  if (session === undefined || user === undefined || session.userId !== userId) throw invalidToken();
  if (session.ended !== undefined) throw withRefusedUser(userId, sessionEnded(session.ended));
  if (!holdsSession(user, sessionId, session.epoch))
    throw withRefusedUser(userId, sessionEnded(user.endedBy ?? 'revoked'));
  // A second factor that was removed since does not count.
  const gaveFactor = session.secondFactor && user.secondFactor !== undefined;
  const { teamId, permissions } = await membershipOf(deps, { userId, gaveFactor }, team);
  return {
    kind: 'user',
    userId,
    sessionId,
    rateLimit: null,
    teamId,
    permissions: user.isOperator ? [...permissions, ...operatorPermissions] : permissions,
  };
};

/** The team that a person calls for, and the person's permissions there. */
const membershipOf = async (
  deps: CommandNeeds,
  { userId, gaveFactor }: Readonly<{ userId: UserId; gaveFactor: boolean }>,
  team: ForTeam,
): Promise<Pick<UserAuthenticated, 'teamId' | 'permissions'>> => {
  const asked = team.asked ?? (team.isNeeded ? await onlyTeam(userId, team) : undefined);
  if (asked === undefined) return { teamId: NO_TEAM, permissions: personPermissions };
  const teamId = parseTeamId(asked);
  if (teamId === undefined) throw teamNotFound();
  const { state } = await deps.team(teamStream(teamId));
  const member = state?.members?.get(userId);
  if (state === undefined || state.deletedAt !== undefined || member === undefined) throw teamNotFound();
  if (state.requiresSecondFactor === true && !gaveFactor) throw withRefusedUser(userId, secondFactorRequired());
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

/**
 * Rejects with INVALID_TOKEN, TOKEN_EXPIRED, API_KEY_DISABLED, or TEAM_NOT_FOUND if the token is valid for another team
 * only.
 */
export const authenticateApp = async (deps: CommandNeeds, token: string, team: ForTeam): Promise<AppAuthenticated> => {
  const open = await readAppToken(deps, token);
  if (open === undefined) {
    throw new DomainError(
      'INVALID_TOKEN',
      'This access token is unknown, or what it stood for has ended. Ask the person for a new grant.',
    );
  }
  if (open.isExpired) {
    throw new DomainError(
      'TOKEN_EXPIRED',
      `This access token expired at ${open.token.expiresAt}. Exchange the refresh token for another.`,
    );
  }
  const { id: grantId, teamId, app, grant } = open;
  const permissions = await permissionsNow(deps, open);
  admitActive((await deps.teamUse(teamUseStream(teamId))).state);
  if (team.isNeeded && team.asked !== undefined && team.asked.toLowerCase() !== teamId) throw teamNotFound();
  const { userId, resource } = grant;
  return {
    kind: 'app',
    teamId: team.isNeeded ? teamId : NO_TEAM,
    permissions,
    rateLimit: null,
    clientId: app.id,
    grantId,
    userId,
    resource,
  };
};

/**
 * The granted permissions that the person has now. Rejects with INVALID_TOKEN if the person is not in the team any
 * more.
 */
const permissionsNow = async (
  deps: CommandNeeds,
  { teamId, grant, scopes }: OpenAccessToken,
): Promise<readonly AccessPermission[]> => {
  const granted = permissionsOfScopes(scopes);
  const { state: team } = await deps.team(teamStream(teamId));
  if (team?.deletedAt !== undefined)
    throw new DomainError('INVALID_TOKEN', 'The team that this access token is good for is deleted.');
  if (grant.userId === undefined) return granted;
  const role = team?.members?.get(grant.userId)?.role;
  if (role === undefined) {
    throw new DomainError('INVALID_TOKEN', 'The person who granted this access token is not in the team any more.');
  }
  // Otherwise a person without a second factor could get in through an app.
  if (
    team?.requiresSecondFactor === true &&
    (await deps.user(userStream(grant.userId))).state?.secondFactor === undefined
  )
    throw secondFactorRequired();
  return allowedOf(permissionsOfRole[role], granted);
};

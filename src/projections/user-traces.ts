/** Where a person is known: what has to end when they go. */
import { assertDefined, parseOAuthGrantId, parseSessionId, parseTeamId, type UserId } from '../domain/ids.js';
import type { Document, ReadModels } from '../domain/ports/read-models.js';
import { OAUTH_GRANTS } from './oauth-grants.js';
import type { UserTraces } from './query-types.js';
import { SESSIONS } from './sessions.js';
import { MEMBERSHIPS, type MembershipDocument } from './teams.js';

/** More than anybody has. */
const TRACES_MAX = 10_000;

type Deps = Readonly<{ readModels: Pick<ReadModels, 'find'> }>;

const found = (deps: Deps, collection: string, field: string, userId: UserId): Promise<readonly Document[]> =>
  deps.readModels.find(collection, { where: { [field]: { eq: userId } }, limit: TRACES_MAX });

/** Living teams and those that can be restored, open sessions, open grants. */
export const tracesOfUser = async (deps: Deps, userId: UserId): Promise<UserTraces> => {
  const memberships = [...(await found(deps, MEMBERSHIPS, 'user', userId)), ...(await found(deps, MEMBERSHIPS, 'deletedFor', userId))];
  return {
    teams: memberships.map((membership) => assertDefined(parseTeamId((membership as MembershipDocument).team), 'team id')),
    sessions: (await found(deps, SESSIONS, 'user', userId)).map(({ id }) => assertDefined(parseSessionId(id), 'session id')),
    grants: (await found(deps, OAUTH_GRANTS, 'user', userId)).map(({ id }) => assertDefined(parseOAuthGrantId(id), 'grant id')),
  };
};

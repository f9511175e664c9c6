/**
 * Erases a person: they leave all teams, their sessions and grants end, and their personal data is destroyed. Until
 * UserErased is recorded, the person can sign in and repeat a call that was broken off; from then on `eraseUser`
 * finishes it without their help.
 */
import type { Caller } from '../core/caller.js';
import { loadState } from '../core/handle.js';
import type { TeamNeeds } from '../teams/needs.js';
import { eraseAccountMails, mailedTo, type MailedTo } from '../email/service-mails.js';
import { endGrant, openGrant } from '../apps/tokens.js';
import { assertOwnPassword, assertSecondFactor, codeRequired } from './credentials.js';
import { endSession } from './sessions.js';
import { removeErased } from '../teams/teams.js';
import { releaseAddress, ownCause } from './users.js';
import { changeUser, personOf } from '../access/users.js';
import { userDecider } from '../../domain/people/decider.js';
import { forgetAllOrigins } from '../access/origins.js';
import type { EraseOwnUserRequest } from '../../api/people.js';
import { DomainError } from '../../domain/core/errors.js';
import {
  sessionStream,
  teamStream,
  userStream,
  type EmailId,
  type OAuthGrantId,
  type SessionId,
  type TeamId,
  type UserId,
} from '../../domain/core/ids.js';
import { evolveTeam, type TeamState } from '../../domain/teams/state.js';
import { userNotFound } from '../../domain/people/user.js';
import type { Cause } from '../../event-log/event-log.js';

/**
 * Teams, sessions and grants of a person according to read models; each is then loaded from its stream. `teams`
 * includes deleted ones.
 */
export type PersonTraces = Readonly<{
  teams: readonly TeamId[];
  sessions: readonly SessionId[];
  grants: readonly OAuthGrantId[];
  /** Confidential mails of that team to those addresses. */
  mails: readonly EmailId[];
}>;

/** Resolves with everything that the log held at the time of the call. */
export type TracesOf = (userId: UserId, mailed: MailedTo) => Promise<PersonTraces>;

const NO_MAILS: MailedTo = { teamId: undefined, addresses: [] };

/**
 * Rejects with INVALID_CREDENTIALS, CODE_REQUIRED, INVALID_CODE, and with LAST_OWNER where a team would have no owner.
 */
export const eraseOwnUser = async (
  deps: TeamNeeds,
  caller: Caller,
  { password, code }: EraseOwnUserRequest,
  tracesOf: TracesOf,
): Promise<void> => {
  const id = personOf(caller);
  const { secondFactor } = await assertOwnPassword(deps, id, password);
  const cause = ownCause(deps, caller);
  if (secondFactor !== undefined && code === undefined) throw codeRequired();
  // The code is used up only where nothing else stands in the way.
  await assertOwnersLeft(deps, id, (await tracesOf(id, NO_MAILS)).teams);
  if (secondFactor !== undefined) await assertSecondFactor(deps, id, code, cause);
  await eraseUser(deps, id, tracesOf, cause);
};

/**
 * Safe to repeat, also for a person who is erased already: it finishes what was broken off. Rejects with USER_NOT_FOUND
 * and LAST_OWNER.
 */
export const eraseUser = async (deps: TeamNeeds, id: UserId, tracesOf: TracesOf, cause: Cause): Promise<void> => {
  const stream = userStream(id);
  const { state: user } = await loadState(deps.eventLog, stream, userDecider);
  if (user === undefined) throw userNotFound();
  const mailed = await mailedTo(deps, id);
  if (!user.isErased) {
    const traces = await tracesOf(id, mailed);
    await assertOwnersLeft(deps, id, traces.teams);
    await endAll(deps, id, traces, cause);
  }
  const { state: erased } = await changeUser(deps, id, { type: 'Erase', at: cause.at }, cause);
  // Ends what began meanwhile; an erased person begins nothing more.
  const traces = await tracesOf(id, mailed);
  await endAll(deps, id, traces, cause);
  // The key is destroyed last: until then the addresses can be read, so that a repeated call finds the mails again.
  await eraseAccountMails(deps, mailed, traces.mails, cause);
  await forgetAllOrigins(deps.eventLog, id, deps.limits.auditDays, cause);
  await deps.eventLog.destroyKey(stream);
  const identities = [...user.identities.keys(), ...(erased?.identities.keys() ?? [])];
  for (const addressId of new Set([user.addressId, user.nextAddress?.addressId, erased?.addressId, ...identities]))
    if (addressId !== undefined) await releaseAddress(deps, addressId, id, cause);
  await deps.whenHeldEverywhere();
};

const isLastOwner = (team: TeamState, id: UserId): boolean =>
  team?.deletedAt === undefined &&
  team?.members?.get(id)?.role === 'owner' &&
  [...team.members].every(([other, { role }]) => other === id || role !== 'owner');

const teamFold = { evolve: evolveTeam, initialState: undefined as TeamState };

/** Throws LAST_OWNER with the teams that would have no owner. */
const assertOwnersLeft = async ({ eventLog }: TeamNeeds, id: UserId, teams: readonly TeamId[]): Promise<void> => {
  const loaded = await Promise.all(
    teams.map(async (teamId) => ({ teamId, team: await loadState(eventLog, teamStream(teamId), teamFold) })),
  );
  const owned = loaded.filter(({ team }) => isLastOwner(team.state, id));
  if (owned.length === 0) return;
  const named = owned.map(({ teamId, team }) => `${team.state!.settings.name} (${teamId})`).join(', ');
  throw new DomainError(
    'LAST_OWNER',
    `A team always has an owner, and this is the only one of: ${named}. Hand them on, or delete them, first.`,
    {
      relatedInfo: { teams: owned.map(({ teamId }) => teamId).join(',') },
    },
  );
};

/** Each stream is asked whether there is something to end. */
const endAll = async (
  deps: TeamNeeds,
  id: UserId,
  { teams, sessions, grants }: PersonTraces,
  cause: Cause,
): Promise<void> => {
  await Promise.all(teams.map((teamId) => removeErased(deps, teamId, id, cause)));
  await Promise.all(sessions.map((sessionId) => endSessionOf(deps, id, sessionId, cause)));
  await Promise.all(grants.map((grantId) => endGrantOf(deps, id, grantId, cause)));
};

const endSessionOf = async (deps: TeamNeeds, id: UserId, sessionId: SessionId, cause: Cause): Promise<void> => {
  const { state } = await deps.session(sessionStream(sessionId));
  if (state?.userId === id) await endSession(deps, sessionId, 'erased', cause);
};

const endGrantOf = async (
  deps: TeamNeeds,
  id: UserId,
  grantId: OAuthGrantId,
  { correlationId, actor }: Cause,
): Promise<void> => {
  const open = await openGrant(deps, grantId);
  if (open?.grant.userId !== id || open.grant.ended !== undefined) return;
  await endGrant(deps, open, 'by-person', { requestId: correlationId, actor });
};

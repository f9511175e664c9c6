/**
 * Commands on invitations into a team. The stream of the team decides; the address is sealed in a stream of the
 * invitation.
 */
import { accountLink, sendAccountMail } from '../email/service-mails.js';
import { causeOf, type Caller } from '../core/caller.js';
import { handle, loadState } from '../core/handle.js';
import type { Role } from '../../domain/access/permissions.js';
import type { TeamNeeds } from './needs.js';
import { eraseStream } from '../core/erase.js';
import { byOf } from './teams.js';
import { userDecider } from '../../domain/people/decider.js';
import { ownerOf, signInAddress, loadUser, personOf } from '../access/users.js';
import type { InvitationRecord, InviteRequest } from '../../api/teams.js';
import { DomainError } from '../../domain/core/errors.js';
import {
  assertDefined,
  invitationStream,
  parseInvitationId,
  parseTeamId,
  teamStream,
  userStream,
  type InvitationId,
  type TeamId,
  type UserId,
} from '../../domain/core/ids.js';
import {
  addressOfToken,
  invitationDecider,
  invitationNotFound,
  invitationNotYours,
  makeInvitationToken,
  readInvitationToken,
  type InvitationCommand,
} from '../../domain/teams/invitation.js';
import { isoTime, DAY_MS } from '../../domain/core/time.js';
import { invitingDecider, type InvitingCommand } from '../../domain/teams/decider.js';
import type { Invitation, Team } from '../../domain/teams/state.js';
import type { Cause } from '../../event-log/event-log.js';

/** Invitation that a token names. */
export type Invited = Readonly<{ id: InvitationId; teamId: TeamId; email: string }>;

/** An invitation as its page shows it. `account`: whether a user has its address, and what they sign in with. */
export type OpenedInvitation = Invited &
  Readonly<{ team: string; inviter: string; role: Role; account: 'none' | 'password' | 'secondFactor' }>;

type InvitationMail = Readonly<{ email: string; token: string; team: Team; invitation: Invitation }>;

/** Replaces an open invitation to the same address. It makes no difference whether a user has the address. */
export const inviteMember = async (
  deps: TeamNeeds,
  caller: Caller,
  request: InviteRequest,
): Promise<InvitationRecord> => {
  const { teamId } = caller;
  const cause = causeOf(deps, caller);
  const { email, addressId } = signInAddress(deps, request.email);
  // Without a public URL no mail can be sent: refuse before anything is appended.
  accountLink(deps, 'invitation', '');
  const id = assertDefined(parseInvitationId(deps.ids.uuid()), 'invitation id');
  const expiresAt = endOf(deps, cause.at);
  const { state, events } = await decideTeam(
    deps,
    teamId,
    {
      type: 'InviteMember',
      at: cause.at,
      by: byOf(caller),
      id,
      role: request.role,
      address: deps.keys.fingerprint('invitation', `${teamId}:${email}`),
      expiresAt,
      member: await ownerOf(deps, addressId),
      bounds: { membersMax: deps.limits.teamMembersMax, invitationsMax: deps.limits.teamInvitationsMax },
    },
    cause,
  );
  for (const event of events)
    if (event.type === 'InvitationWithdrawn')
      await closeInvitation(
        deps,
        assertDefined(parseInvitationId(event.data.invitationId), 'invitation id'),
        'revoked',
        cause,
      );
  const { token, hash } = makeInvitationToken(id, deps.ids.bytes(32));
  await decideOwn(deps, id, { type: 'MakeInvitation', at: cause.at, email, tokenHash: hash, expiresAt }, cause);
  const team = assertDefined(state, 'team');
  const invitation = assertDefined(team.invitations?.get(id), 'invitation');
  await sendInvitation(deps, { email, token, team, invitation }, cause);
  return recordOf(deps, id, invitation);
};

export const listInvitations = async (deps: TeamNeeds, { teamId }: Caller): Promise<{ data: InvitationRecord[] }> => {
  const { state } = await deps.team(teamStream(teamId));
  return {
    data: await Promise.all([...(state?.invitations ?? [])].map(([id, invitation]) => recordOf(deps, id, invitation))),
  };
};

export const revokeInvitation = async (deps: TeamNeeds, caller: Caller, id: InvitationId): Promise<void> => {
  const cause = causeOf(deps, caller);
  await decideTeam(deps, caller.teamId, { type: 'RevokeInvitation', at: cause.at, by: byOf(caller), id }, cause);
  await closeInvitation(deps, id, 'revoked', cause);
};

/** Sends a new link, which is good as long as that of a new invitation; the earlier link is void. */
export const resendInvitation = async (
  deps: TeamNeeds,
  caller: Caller,
  id: InvitationId,
): Promise<InvitationRecord> => {
  const cause = causeOf(deps, caller);
  const expiresAt = endOf(deps, cause.at);
  const { state } = await decideTeam(
    deps,
    caller.teamId,
    { type: 'RenewInvitation', at: cause.at, by: byOf(caller), id, expiresAt },
    cause,
  );
  const { token, hash } = makeInvitationToken(id, deps.ids.bytes(32));
  const own = await decideOwn(deps, id, { type: 'MakeToken', at: cause.at, tokenHash: hash, expiresAt }, cause);
  const team = assertDefined(state, 'team');
  const invitation = assertDefined(team.invitations?.get(id), 'invitation');
  if (own.state?.email === undefined) throw invitationNotFound();
  await sendInvitation(deps, { email: own.state.email, token, team, invitation }, cause);
  return recordOf(deps, id, invitation);
};

/** Changes nothing. Throws INVITATION_NOT_FOUND, INVITATION_EXPIRED. */
export const openInvitation = async (deps: TeamNeeds, token: string): Promise<OpenedInvitation> => {
  const invited = await readInvitation(deps, token);
  const { state: team } = await deps.team(teamStream(invited.teamId));
  const invitation = team?.invitations?.get(invited.id);
  if (team === undefined || team.deletedAt !== undefined || invitation === undefined) throw invitationNotFound();
  const { name } = team.settings;
  const inviter = (await nameOf(deps, invitation.by)) ?? name;
  return { ...invited, team: name, inviter, role: invitation.role, account: await accountOf(deps, invited.email) };
};

/** Out: the team that the person has joined. */
export const acceptInvitation = async (deps: TeamNeeds, caller: Caller, token: string): Promise<TeamId> => {
  const invited = await readInvitation(deps, token);
  const userId = personOf(caller);
  const user = await loadUser(deps, userId);
  if (!user.isVerified || user.email !== invited.email) throw invitationNotYours();
  await joinBy(deps, invited, userId, causeOf(deps, caller));
  return invited.teamId;
};

/** Ends the expired invitations of a team. */
export const lapseInvitations = async (deps: TeamNeeds, teamId: TeamId, cause: Cause): Promise<void> => {
  const { events } = await decideTeam(deps, teamId, { type: 'LapseInvitations', at: cause.at }, cause);
  for (const event of events)
    if (event.type === 'InvitationWithdrawn')
      await closeInvitation(
        deps,
        assertDefined(parseInvitationId(event.data.invitationId), 'invitation id'),
        'lapsed',
        {
          ...cause,
          teamId,
        },
      );
};

/** Throws INVITATION_NOT_FOUND, INVITATION_EXPIRED. */
export const readInvitation = async (deps: TeamNeeds, token: string): Promise<Invited> => {
  const read = readInvitationToken(token);
  if (read === undefined) throw invitationNotFound();
  const { state, teamId } = await loadState(deps.eventLog, invitationStream(read.id), invitationDecider);
  const email = addressOfToken(state, read.hash, isoTime(deps.clock.now()));
  return { id: read.id, email, teamId: assertDefined(parseTeamId(teamId ?? ''), 'team id') };
};

/**
 * Finishes the registration by an invitation if the program died before the person had joined. It does nothing if they
 * have joined, or the invitation was withdrawn.
 */
export const finishJoining = async (
  deps: TeamNeeds,
  userId: UserId,
  invitation: string,
  cause: Cause,
): Promise<void> => {
  const id = assertDefined(parseInvitationId(invitation), 'invitation id');
  const { state, teamId } = await loadState(deps.eventLog, invitationStream(id), invitationDecider);
  if (state === undefined || state.isClosed) return;
  const invited = { id, email: state.email ?? '', teamId: assertDefined(parseTeamId(teamId ?? ''), 'team id') };
  try {
    await joinBy(deps, invited, userId, cause);
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
  }
};

/**
 * Adds the person to the team. The caller has checked that the invitation is for them. Throws INVITATION_NOT_FOUND if
 * it was revoked meanwhile.
 */
export const joinBy = async (deps: TeamNeeds, { id, teamId }: Invited, userId: UserId, given: Cause): Promise<void> => {
  const cause = { ...given, teamId };
  await decideTeam(deps, teamId, { type: 'AcceptInvitation', at: cause.at, id, userId }, cause);
  await closeInvitation(deps, id, 'accepted', cause);
};

/** Closes the stream of an invitation and destroys its address. Safe to repeat. */
export const closeInvitation = async (
  deps: TeamNeeds,
  id: InvitationId,
  reason: 'accepted' | 'revoked' | 'lapsed',
  cause: Cause,
): Promise<void> => {
  await decideOwn(deps, id, { type: 'CloseInvitation', at: cause.at, reason }, cause);
  await eraseStream(deps, invitationStream(id));
};

/** A user who never verified the address counts as none: the invitation verifies it, as for a new user. */
const accountOf = async (deps: TeamNeeds, email: string): Promise<OpenedInvitation['account']> => {
  const { addressId } = signInAddress(deps, email);
  const owner = await ownerOf(deps, addressId);
  if (owner === undefined) return 'none';
  const { state: user } = await loadState(deps.eventLog, userStream(owner), userDecider);
  if (user === undefined || user.isErased || user.addressId !== addressId || !user.isVerified) return 'none';
  return user.secondFactor === undefined ? 'password' : 'secondFactor';
};

const decideTeam = async (deps: TeamNeeds, teamId: TeamId, command: InvitingCommand, cause: Cause) =>
  handle(deps.eventLog, teamStream(teamId), invitingDecider, command, { ...cause, teamId });

const decideOwn = (deps: TeamNeeds, id: InvitationId, command: InvitationCommand, cause: Cause) =>
  handle(deps.eventLog, invitationStream(id), invitationDecider, command, cause);

const endOf = ({ limits }: TeamNeeds, at: string): string => isoTime(Date.parse(at) + limits.invitationDays * DAY_MS);

const nameOf = async (deps: TeamNeeds, userId: UserId | undefined): Promise<string | null> => {
  if (userId === undefined) return null;
  const { state } = await loadState(deps.eventLog, userStream(userId), userDecider);
  return state?.name ?? null;
};

const sendInvitation = async (
  deps: TeamNeeds,
  { email, token, team, invitation }: InvitationMail,
  cause: Cause,
): Promise<void> => {
  const variables = {
    url: accountLink(deps, 'invitation', token),
    team: team.settings.name,
    inviter: (await nameOf(deps, invitation.by)) ?? team.settings.name,
    role: invitation.role,
    daysValid: deps.limits.invitationDays,
  };
  await sendAccountMail(deps, { kind: 'invitation', to: { email }, variables }, cause);
};

const recordOf = async (deps: TeamNeeds, id: InvitationId, invitation: Invitation): Promise<InvitationRecord> => {
  const { state } = await loadState(deps.eventLog, invitationStream(id), invitationDecider);
  const { role, invitedAt, expiresAt, by } = invitation;
  return { id, email: state?.email ?? null, role, invitedBy: by ?? null, invitedAt, expiresAt };
};

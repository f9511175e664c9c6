/** Decisions about who is invited to a team: made, renewed, accepted and withdrawn in its own stream, so that of an accepting and a revoking one wins. */
import type { Role } from '../access/roles.js';
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import type { InvitationId, UserId } from '../core/ids.js';
import { invitationNotFound } from './invitation.js';
import type { TeamEvent } from './events.js';
import { alreadyMember, assertGivable, assertPlanHolds, assertRoom, livingTeam, roleOf, type By } from './decider.js';
import { evolveTeam, type Invitation, type Team, type TeamState } from './state.js';

export type InvitationBounds = Readonly<{ membersMax: number; invitationsMax: number }>;

export type InvitingCommand =
  /** `member`: who has the address, where they are a user. An open invitation to the same address is replaced. */
  | Readonly<{
      type: 'InviteMember';
      at: string;
      by: By;
      id: InvitationId;
      role: Role;
      address: string;
      expiresAt: string;
      member: UserId | undefined;
      bounds: InvitationBounds;
    }>
  | Readonly<{ type: 'RenewInvitation'; at: string; by: By; id: InvitationId; expiresAt: string }>
  | Readonly<{ type: 'AcceptInvitation'; at: string; id: InvitationId; userId: UserId }>
  | Readonly<{ type: 'RevokeInvitation'; at: string; by: By; id: InvitationId }>
  /** Those that have ended by then. */
  | Readonly<{ type: 'LapseInvitations'; at: string }>;

const openInvitation = (team: Team, id: InvitationId): Invitation => {
  const invitation = team.invitations?.get(id);
  if (invitation === undefined) throw invitationNotFound();
  return invitation;
};

const invite = (team: Team, command: Extract<InvitingCommand, { type: 'InviteMember' }>): readonly TeamEvent[] => {
  const { at, by, id, role, address, expiresAt, member, bounds } = command;
  assertGivable(roleOf(team, by, 'members:manage'), role);
  if (member !== undefined && team.members?.has(member) === true) throw alreadyMember();
  const replaced = [...(team.invitations ?? [])].filter(([, open]) => open.address === address);
  const count = (team.invitations?.size ?? 0) - replaced.length;
  if (count >= bounds.invitationsMax)
    throw new DomainError(
      'INVITATION_LIMIT_EXCEEDED',
      `The team has ${count} open invitations; at most ${bounds.invitationsMax} are allowed.`,
    );
  assertRoom(team, bounds.membersMax, replaced.length);
  return [
    ...replaced.map(([invitationId]) => withdrawn(at, invitationId, 'revoked')),
    { type: 'MemberInvited', data: { at, invitationId: id, role, address, expiresAt, ...(by === 'operator' ? {} : { by }) } },
  ];
};

const withdrawn = (at: string, invitationId: InvitationId, reason: 'revoked' | 'lapsed'): TeamEvent => ({
  type: 'InvitationWithdrawn',
  data: { at, invitationId, reason },
});

/** Whoever invited may give that role still: an invitation does not outlive the role of who made it. */
const isStillGiven = (team: Team, { by, role }: Invitation): boolean => {
  if (by === undefined) return true;
  try {
    assertGivable(roleOf(team, by, 'members:manage'), role);
    return true;
  } catch (fault) {
    if (fault instanceof DomainError) return false;
    throw fault;
  }
};

const accept = (team: Team, { at, id, userId }: Extract<InvitingCommand, { type: 'AcceptInvitation' }>): readonly TeamEvent[] => {
  if (team.members?.has(userId) === true) return [];
  const invitation = openInvitation(team, id);
  if (invitation.expiresAt <= at || !isStillGiven(team, invitation)) throw invitationNotFound();
  // The plan may allow less than when the invitation was made.
  assertPlanHolds(team, (team.members?.size ?? 0) + 1);
  return [{ type: 'MemberAdded', data: { at, userId, role: invitation.role, invitationId: id } }];
};

export const invitingDecider: Decider<InvitingCommand, TeamEvent, TeamState> = {
  decide: (command, state) => {
    const { at } = command;
    switch (command.type) {
      case 'InviteMember':
        return invite(livingTeam(state), command);
      case 'RenewInvitation': {
        const team = livingTeam(state);
        const { role } = openInvitation(team, command.id);
        assertGivable(roleOf(team, command.by, 'members:manage'), role);
        return [{ type: 'InvitationRenewed', data: { at, invitationId: command.id, role, expiresAt: command.expiresAt } }];
      }
      case 'AcceptInvitation':
        if (state === undefined || state.deletedAt !== undefined) throw invitationNotFound();
        return accept(state, command);
      case 'RevokeInvitation': {
        const team = livingTeam(state);
        roleOf(team, command.by, 'members:manage');
        openInvitation(team, command.id);
        return [withdrawn(at, command.id, 'revoked')];
      }
      case 'LapseInvitations':
        return [...(state?.invitations ?? [])].filter(([, { expiresAt }]) => expiresAt <= at).map(([id]) => withdrawn(at, id, 'lapsed'));
    }
  },
  evolve: evolveTeam,
  initialState: undefined,
};

/** What the events of its people make of a team: who is in it, and who is invited. */
import { assertDefined, parseInvitationId, parseUserId, type InvitationId, type UserId } from '../core/ids.js';
import type { TeamEvent } from './events.js';
import type { Invitation, Member, Team } from './state.js';

export type PeopleEvent = Extract<
  TeamEvent,
  { type: 'MemberAdded' | 'MemberRoleChanged' | 'MemberRemoved' | 'MemberInvited' | 'InvitationRenewed' | 'InvitationWithdrawn' }
>;

export const evolveMembers = (team: Team, event: PeopleEvent): Team => {
  switch (event.type) {
    case 'MemberAdded': {
      const { at, userId, role, invitationId } = event.data;
      const joined = withMember(team, userId, { role, since: at });
      return invitationId === undefined ? joined : withoutInvitation(joined, invitationId);
    }
    case 'MemberRoleChanged': {
      const { userId, role } = event.data;
      const member = team.members?.get(userIdOf(userId));
      return member === undefined ? team : withMember(team, userId, { ...member, role });
    }
    case 'MemberRemoved': {
      const left = new Map(team.members);
      left.delete(userIdOf(event.data.userId));
      return { ...team, members: left };
    }
    case 'MemberInvited': {
      const { at, invitationId, by, role, address, expiresAt } = event.data;
      const invitation: Invitation = { role, address, invitedAt: at, expiresAt, ...(by === undefined ? {} : { by: userIdOf(by) }) };
      return withInvitation(team, invitationId, invitation);
    }
    case 'InvitationRenewed': {
      const { invitationId, role, expiresAt } = event.data;
      const known = team.invitations?.get(invitationIdOf(invitationId));
      return known === undefined ? team : withInvitation(team, invitationId, { ...known, role, expiresAt });
    }
    case 'InvitationWithdrawn':
      return withoutInvitation(team, event.data.invitationId);
  }
};

const userIdOf = (text: string): UserId => assertDefined(parseUserId(text), 'user id');

const withMember = (team: Team, userId: string, member: Member): Team => ({
  ...team,
  members: new Map(team.members).set(userIdOf(userId), member),
});

const invitationIdOf = (text: string): InvitationId => assertDefined(parseInvitationId(text), 'invitation id');

const withInvitation = (team: Team, id: string, invitation: Invitation): Team => ({
  ...team,
  invitations: new Map(team.invitations).set(invitationIdOf(id), invitation),
});

const withoutInvitation = (team: Team, id: string): Team => {
  if (team.invitations === undefined) return team;
  const left = new Map(team.invitations);
  left.delete(invitationIdOf(id));
  return { ...team, invitations: left };
};

/** People of the team: their roles, invitations, and how somebody goes. */
import type {
  ChangeMemberData,
  ChangeMemberResponse,
  InviteMemberData,
  InviteMemberResponse,
  ListInvitationsData,
  ListInvitationsResponse,
  ListMembersData,
  ListMembersResponse,
  RemoveMemberData,
  RemoveMemberResponse,
  ResendInvitationData,
  ResendInvitationResponse,
  RevokeInvitationData,
  RevokeInvitationResponse,
  TransferOwnershipData,
  TransferOwnershipResponse,
} from '#api';
import { operation } from '../api/client';
import { queryClient } from '../api/queries';
import { ResourceList, resourcePages, Section } from '../resources/pages';
import { bodyOf, type Choice, type Field, may, type Resource, type Scope } from '../resources/resource';
import { Moment } from '../ui/time';
import { Person } from './person';

const list = operation<ListMembersData, ListMembersResponse>('GET', '/api/teams/{teamId}/members');
const change = operation<ChangeMemberData, ChangeMemberResponse>('PATCH', '/api/teams/{teamId}/members/{userId}');
const remove = operation<RemoveMemberData, RemoveMemberResponse>('DELETE', '/api/teams/{teamId}/members/{userId}');
const transfer = operation<TransferOwnershipData, TransferOwnershipResponse>(
  'POST',
  '/api/teams/{teamId}/transfer-ownership',
);
const invite = operation<InviteMemberData, InviteMemberResponse>('POST', '/api/teams/{teamId}/invitations');
const invited = operation<ListInvitationsData, ListInvitationsResponse>('GET', '/api/teams/{teamId}/invitations');
const revoke = operation<RevokeInvitationData, RevokeInvitationResponse>(
  'DELETE',
  '/api/teams/{teamId}/invitations/{id}',
);
const resend = operation<ResendInvitationData, ResendInvitationResponse>(
  'POST',
  '/api/teams/{teamId}/invitations/{id}/resend',
);

type Member = ListMembersResponse['data'][number];
type Invitation = ListInvitationsResponse['data'][number];
type Role = Member['role'];

/** From most to least; nobody gives a role above their own. */
const roles: readonly Readonly<{ role: Role; hint: string }>[] = [
  { role: 'owner', hint: 'everything, also deleting the team' },
  { role: 'admin', hint: 'keys, domains, webhooks, people, settings' },
  { role: 'member', hint: 'sends and reads emails, writes templates' },
  { role: 'viewer', hint: 'reads the list of emails and figures' },
];

const rankOf = (role: Role): number => roles.findIndex((one) => one.role === role);

const choicesFor = ({ team }: Scope): readonly Choice[] =>
  roles
    .filter(({ role }) => rankOf(role) >= rankOf(team.role))
    .map(({ role, hint }) => ({ value: role, label: `${role}: ${hint}` }));

const roleField = (scope: Scope, initial: Role): Field => ({
  name: 'role',
  label: 'Role',
  kind: 'select',
  initial,
  choices: choicesFor(scope),
});

const nameOf = ({ name, email, userId }: Member): string => name ?? email ?? userId;

const isOther = ({ userId, role }: Member, { me, team }: Scope): boolean =>
  userId !== me.id && rankOf(role) >= rankOf(team.role);

const invitations: Resource<Invitation> = {
  path: '/members/invitations',
  one: 'invitation',
  many: 'open invitations',
  needs: 'members:manage',
  about: 'People who were invited by mail and have not accepted stand here.',
  idOf: ({ id }) => id,
  titleOf: ({ email }) => email ?? 'an erased address',
  list: (_query, { teamId }, signal) => invited({ path: { teamId } }, { teamId, signal }),
  columns: [
    { name: 'Address', cell: ({ email }) => (email === null ? <em>erased</em> : <bdi>{email}</bdi>) },
    { name: 'Role', cell: ({ role }) => role },
    {
      name: 'Invited by',
      cell: ({ invitedBy }) => (invitedBy === null ? '' : <Person id={invitedBy} />),
      isWide: true,
    },
    { name: 'Invited', cell: ({ invitedAt }) => <Moment at={invitedAt} />, isWide: true },
    { name: 'Ends', cell: ({ expiresAt }) => <Moment at={expiresAt} /> },
  ],
  acts: [
    {
      label: 'Send again',
      run: async ({ id, email }, _values, { teamId }) => {
        await resend({ path: { teamId, id } }, { teamId });
        return { say: `The invitation to ${email ?? 'the address'} is on its way again, for 7 days.` };
      },
    },
    {
      label: 'Revoke',
      look: 'danger',
      ask: ({ email }) => ({
        title: `Revoke the invitation to ${email ?? 'the address'}?`,
        text: <p>Its link leads nowhere from then on.</p>,
      }),
      run: async ({ id }, _values, { teamId }) => {
        await revoke({ path: { teamId, id } }, { teamId });
        return { say: 'The invitation is revoked.' };
      },
    },
  ],
};

const inviteFields = (scope: Scope): readonly Field[] => [
  { name: 'email', label: 'Address', kind: 'email', isRequired: true, hint: 'The link of the mail works for 7 days' },
  roleField(scope, 'member'),
];

export default resourcePages<Member>({
  path: '/members',
  one: 'member',
  many: 'Members',
  needs: 'team:read',
  about: 'People of the team, each with a role that says what they may see and do.',
  idOf: ({ userId }) => userId,
  titleOf: nameOf,
  list: (_query, { teamId }, signal) => list({ path: { teamId } }, { teamId, signal }),
  columns: [
    {
      name: 'Name',
      cell: (member, { me }) => (
        <>
          <bdi>{nameOf(member)}</bdi>
          {member.userId === me.id ? ' (you)' : ''}
        </>
      ),
    },
    { name: 'Address', cell: ({ email }) => <bdi>{email ?? ''}</bdi> },
    { name: 'Role', cell: ({ role }) => role },
    { name: 'Second factor', cell: ({ secondFactor }) => (secondFactor ? 'yes' : 'no') },
    { name: 'Since', cell: ({ since }) => <Moment at={since} />, isWide: true },
  ],
  Below: ({ scope }) =>
    may(scope, 'members:manage') ? (
      <Section title="Open invitations">
        <ResourceList resource={invitations} />
      </Section>
    ) : null,
  create: {
    label: 'Invite somebody',
    needs: 'members:manage',
    fields: inviteFields,
    run: async (values, scope) => {
      const { teamId } = scope;
      const { email } = await invite({ path: { teamId }, body: bodyOf(inviteFields(scope), values) }, { teamId });
      return { say: `The invitation to ${email ?? 'the address'} is on its way.` };
    },
  },
  acts: [
    {
      label: 'Change the role',
      needs: 'members:manage',
      isFor: isOther,
      ask: (member) => ({ title: `Role of ${nameOf(member)}`, text: <p>It holds from the next request on.</p> }),
      fields: ({ role }, scope) => [roleField(scope, role)],
      run: async (member, { role }, { teamId }) => {
        await change({ path: { teamId, userId: member.userId }, body: { role: role as Role } }, { teamId });
        return { say: `${nameOf(member)} is ${String(role)}.` };
      },
    },
    {
      label: 'Hand the team on',
      needs: 'ownership:manage',
      isFor: ({ userId }, { me }) => userId !== me.id,
      ask: (member) => ({
        title: `Hand the team on to ${nameOf(member)}?`,
        text: <p>They become an owner, and you an admin. Only they can give it back.</p>,
      }),
      run: async (member, _values, { teamId }) => {
        await transfer({ path: { teamId }, body: { userId: member.userId } }, { teamId });
        await queryClient.invalidateQueries({ queryKey: ['teams'] });
        return { say: `${nameOf(member)} owns the team. You are an admin.` };
      },
    },
    {
      label: 'Remove',
      needs: 'members:manage',
      look: 'danger',
      isFor: isOther,
      ask: (member) => ({
        title: `Remove ${nameOf(member)}?`,
        text: <p>They see nothing of the team from then on. API keys that they made belong to the team.</p>,
      }),
      fields: () => [{ name: 'revokeKeys', label: 'Also revoke the API keys that they made', kind: 'switch' }],
      run: async (member, { revokeKeys }, { teamId }) => {
        const { keys } = await remove(
          { path: { teamId, userId: member.userId }, query: { revokeKeys: revokeKeys === true } },
          { teamId },
        );
        const names = keys.map(({ name }) => name).join(', ');
        const left = names === '' ? '' : revokeKeys === true ? ` Revoked: ${names}.` : ` Keys that go on: ${names}.`;
        return { say: `${nameOf(member)} is removed.${left}` };
      },
    },
  ],
});

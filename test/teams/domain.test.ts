/** The decisions on a team and its members. */
import t from 'tap';
import { roles, type Role } from '../../src/domain/access/permissions.js';
import { assertDefined, parseUserId, type UserId } from '../../src/domain/core/ids.js';
import { teamDecider, memberDecider, type By } from '../../src/domain/teams/decider.js';
import type { TeamEvent, TeamSettings } from '../../src/domain/teams/events.js';
import { emptyCompany, evolveInstance, evolveTeam } from '../../src/domain/teams/state.js';
import { at, T0, TEAM_ID } from '../support/email-facts.js';
import { specs } from '../support/given.js';

// A team and the instance: what their events add up to.

const settings: TeamSettings = {
  name: 'Shop',
  defaultFrom: { email: 'hello@example.com', name: 'Shop' },
  company: emptyCompany,
};

void t.test('a team has the settings that were given last, and the billing of its creation', async (t) => {
  const created: TeamEvent = { type: 'TeamCreated', data: { at: T0, billing: 'unmetered', settings } };
  const changed: TeamEvent = {
    type: 'TeamSettingsChanged',
    data: { at: at(1), settings: { ...settings, name: 'Market' } },
  };
  t.strictSame(evolveTeam(undefined, created), { billing: 'unmetered', settings, revision: 1, createdAt: T0 });
  t.strictSame([created, changed].reduce(evolveTeam, undefined as ReturnType<typeof evolveTeam>), {
    billing: 'unmetered',
    settings: { ...settings, name: 'Market' },
    revision: 2,
    createdAt: T0,
  });
  t.equal(evolveTeam(undefined, changed), undefined, 'settings of a team that was never created make none');
});

void t.test('the instance knows its first team', async (t) => {
  t.equal(evolveInstance(undefined, { type: 'InstanceInitialised', data: { at: T0, teamId: TEAM_ID } }), TEAM_ID);
});

void t.test('members have the role that they were given last, until they are removed', async (t) => {
  const [ann, bea] = ['0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b21', '1c0d3e6f-7e2b-4d1f-8a4c-8b9e6f5d4c32'] as const;
  const events: readonly TeamEvent[] = [
    { type: 'TeamCreated', data: { at: T0, billing: 'unmetered', settings } },
    { type: 'MemberAdded', data: { at: at(1), userId: ann, role: 'owner' } },
    { type: 'MemberAdded', data: { at: at(2), userId: bea, role: 'viewer', invitationId: ann } },
    { type: 'MemberRoleChanged', data: { at: at(3), userId: bea, role: 'admin' } },
    { type: 'TeamBillingChanged', data: { at: at(4), billing: 'plan', plan: 'pro', emailsPerMonth: null } },
  ];
  const team = events.reduce(evolveTeam, undefined as ReturnType<typeof evolveTeam>);
  t.strictSame(
    [...(team?.members ?? [])],
    [
      [ann, { role: 'owner', since: at(1) }],
      [bea, { role: 'admin', since: at(2) }],
    ],
  );
  const left = evolveTeam(team, { type: 'MemberRemoved', data: { at: at(5), userId: bea, reason: 'left' } });
  t.strictSame([...(left?.members?.keys() ?? [])], [ann]);
  t.equal(team?.members?.size, 2, 'a state is not changed in place');
  const nobody = evolveTeam(left, { type: 'MemberRoleChanged', data: { at: at(6), userId: bea, role: 'owner' } });
  t.strictSame([...(nobody?.members?.keys() ?? [])], [ann], 'whoever is no member has no role');
});

void t.test(
  'an invitation is open until it is accepted or withdrawn; renewed it has another role and end',
  async (t) => {
    const ann = '0b9c2f5e-6d1a-4c0e-9f3b-7a8d5e4c3b21';
    const [first, second] = ['2f1e0d9c-8b7a-4695-8473-625140392817', '3a1e0d9c-8b7a-4695-8473-625140392817'] as const;
    const invited = (invitationId: string): TeamEvent => ({
      type: 'MemberInvited',
      data: { at: at(1), invitationId, role: 'member', address: 'mac', expiresAt: at(9) },
    });
    const events: readonly TeamEvent[] = [
      { type: 'TeamCreated', data: { at: T0, billing: 'unmetered', settings } },
      invited(first),
      invited(second),
      { type: 'InvitationRenewed', data: { at: at(2), invitationId: first, role: 'viewer', expiresAt: at(12) } },
      { type: 'InvitationRenewed', data: { at: at(2), invitationId: ann, role: 'owner', expiresAt: at(12) } },
    ];
    const team = events.reduce(evolveTeam, undefined as ReturnType<typeof evolveTeam>);
    t.strictSame(
      [...(team?.invitations ?? [])],
      [
        [first, { role: 'viewer', address: 'mac', invitedAt: at(1), expiresAt: at(12) }],
        [second, { role: 'member', address: 'mac', invitedAt: at(1), expiresAt: at(9) }],
      ],
    );
    const joined = evolveTeam(team, {
      type: 'MemberAdded',
      data: { at: at(3), userId: ann, role: 'viewer', invitationId: first },
    });
    t.strictSame([...(joined?.invitations?.keys() ?? [])], [second]);
    const none = evolveTeam(joined, {
      type: 'InvitationWithdrawn',
      data: { at: at(4), invitationId: second, reason: 'revoked' },
    });
    t.equal(none?.invitations?.size, 0);
  },
);

void t.test('a team is deleted, restored, removed and erased, and may ask for a second factor', async (t) => {
  const events: readonly TeamEvent[] = [
    { type: 'TeamCreated', data: { at: T0, billing: 'unmetered', settings } },
    { type: 'TeamSecurityChanged', data: { at: at(1), requiresSecondFactor: true } },
    { type: 'TeamDeleted', data: { at: at(2) } },
  ];
  const deleted = events.reduce(evolveTeam, undefined as ReturnType<typeof evolveTeam>);
  t.strictSame(deleted, {
    billing: 'unmetered',
    settings,
    revision: 2,
    createdAt: T0,
    requiresSecondFactor: true,
    deletedAt: at(2),
  });
  const restored = evolveTeam(deleted, { type: 'TeamRestored', data: { at: at(3) } });
  t.strictSame(restored, { billing: 'unmetered', settings, revision: 2, createdAt: T0, requiresSecondFactor: true });
  const open = evolveTeam(restored, { type: 'TeamSecurityChanged', data: { at: at(4), requiresSecondFactor: false } });
  t.strictSame(open, { billing: 'unmetered', settings, revision: 3, createdAt: T0 });
  const removed = evolveTeam(deleted, { type: 'TeamRemoved', data: { at: at(5) } });
  t.match(evolveTeam(removed, { type: 'TeamErased', data: { at: at(6) } }), {
    deletedAt: at(2),
    removedAt: at(5),
    erasedAt: at(6),
  });
});

// Rules for changes of members, and a team never loses its last owner.

const person = (n: number): UserId =>
  assertDefined(parseUserId(`00000000-0000-4000-8000-${String(n).padStart(12, '0')}`), 'user');
const [owner, admin, member, viewer, other] = [person(1), person(2), person(3), person(4), person(5)] as const;
const shopSettings: TeamSettings = { name: 'Shop', defaultFrom: { email: 'hello@example.com' }, company: emptyCompany };
const added = (userId: UserId, role: Role): TeamEvent => ({ type: 'MemberAdded', data: { at: T0, userId, role } });
const made: TeamEvent = { type: 'TeamCreated', data: { at: T0, billing: 'unmetered', settings: shopSettings } };
const team = [
  made,
  added(owner, 'owner'),
  added(admin, 'admin'),
  added(member, 'member'),
  added(viewer, 'viewer'),
] as const;
const now = at(1);

const changeRole = (by: By, userId: UserId, role: Role) => ({ type: 'ChangeRole' as const, at: now, by, userId, role });
const remove = (by: By, userId: UserId) => ({ type: 'RemoveMember' as const, at: now, by, userId });
const changed = (userId: UserId, role: Role): TeamEvent => ({
  type: 'MemberRoleChanged',
  data: { at: now, userId, role },
});
const removed = (userId: UserId, reason: 'removed' | 'left' | 'erased'): TeamEvent => ({
  type: 'MemberRemoved',
  data: { at: now, userId, reason },
});

void t.test('roles are given and taken by those above or beside', (t) => {
  const { given } = specs(memberDecider)(t);
  const story = given(...team);
  story.when(changeRole(owner, member, 'owner')).then(changed(member, 'owner'));
  story.when(changeRole(admin, member, 'admin')).then(changed(member, 'admin'));
  story.when(changeRole(admin, viewer, 'member')).then(changed(viewer, 'member'));
  story.when(changeRole(admin, admin, 'viewer')).then(changed(admin, 'viewer'));
  story.when(changeRole(admin, member, 'member')).nothing();
  story.when(changeRole('operator', viewer, 'owner')).then(changed(viewer, 'owner'));
  story.when(changeRole(admin, member, 'owner')).refused('FORBIDDEN');
  story.when(changeRole(admin, admin, 'owner')).refused('FORBIDDEN');
  story.when(changeRole(admin, owner, 'member')).refused('FORBIDDEN');
  story.when(remove(admin, owner)).refused('FORBIDDEN');
  story.when(remove(admin, member)).then(removed(member, 'removed'));
  story.when(remove(admin, admin)).then(removed(admin, 'left'));
  story.when(remove(owner, other)).refused('MEMBER_NOT_FOUND');
  story.when(changeRole(owner, other, 'viewer')).refused('MEMBER_NOT_FOUND');
  for (const by of [member, viewer]) {
    for (const role of roles) story.when(changeRole(by, viewer, role)).refused('FORBIDDEN');
    story.when(remove(by, viewer)).refused('FORBIDDEN');
    story.when({ type: 'AddMember', at: now, by, userId: other, role: 'viewer', membersMax: 10 }).refused('FORBIDDEN');
  }
  story.when(remove(other, viewer)).refused('TEAM_NOT_FOUND');
  t.end();
});

void t.test('a team always has an owner', (t) => {
  const { given } = specs(memberDecider)(t);
  const one = given(...team);
  one.when(changeRole(owner, owner, 'admin')).refused('LAST_OWNER');
  one.when(remove(owner, owner)).refused('LAST_OWNER');
  one.when(remove('operator', owner)).refused('LAST_OWNER');
  one.when({ type: 'LeaveTeam', at: now, userId: owner, reason: 'left' }).refused('LAST_OWNER');
  one.when({ type: 'LeaveTeam', at: now, userId: owner, reason: 'erased' }).refused('LAST_OWNER');
  one.when({ type: 'LeaveTeam', at: now, userId: viewer, reason: 'left' }).then(removed(viewer, 'left'));
  one.when({ type: 'LeaveTeam', at: now, userId: other, reason: 'left' }).nothing();
  one
    .when({ type: 'TransferOwnership', at: now, by: owner, to: member })
    .then(changed(member, 'owner'), changed(owner, 'admin'));
  one.when({ type: 'TransferOwnership', at: now, by: owner, to: owner }).nothing();
  one.when({ type: 'TransferOwnership', at: now, by: owner, to: other }).refused('MEMBER_NOT_FOUND');
  one.when({ type: 'TransferOwnership', at: now, by: admin, to: member }).refused('FORBIDDEN');
  const two = given(...team, added(other, 'owner'));
  two.when(remove(owner, other)).then(removed(other, 'removed'));
  two.when(remove(other, other)).then(removed(other, 'left'));
  two.when({ type: 'TransferOwnership', at: now, by: owner, to: other }).then(changed(owner, 'admin'));
  given(...team, added(other, 'owner'), removed(other, 'removed'))
    .when(remove(other, owner))
    .refused('TEAM_NOT_FOUND');
  t.end();
});

void t.test('somebody is added once, and no more than a team has room for', (t) => {
  const { given } = specs(memberDecider)(t);
  const add = (userId: UserId, role: Role, by: By, membersMax = 5) => ({
    type: 'AddMember' as const,
    at: now,
    by,
    userId,
    role,
    membersMax,
  });
  const story = given(...team);
  story
    .when(add(other, 'owner', 'operator'))
    .then({ type: 'MemberAdded', data: { at: now, userId: other, role: 'owner' } });
  story.when(add(other, 'owner', admin)).refused('FORBIDDEN');
  story.when(add(member, 'viewer', owner)).refused('ALREADY_MEMBER');
  story.when(add(other, 'viewer', owner, 4)).refused('MEMBER_LIMIT_EXCEEDED');
  t.end();
});

void t.test('a team is deleted by an owner, restored for a time, and removed after it', (t) => {
  const { given } = specs(teamDecider)(t);
  const deleteBy = (by: By, firstTeam = false) => ({ type: 'DeleteTeam' as const, at: now, by, firstTeam });
  const living = given(...team);
  living.when(deleteBy(owner)).then({ type: 'TeamDeleted', data: { at: now } });
  living.when(deleteBy(admin)).refused('FORBIDDEN');
  living.when(deleteBy(other)).refused('TEAM_NOT_FOUND');
  living.when(deleteBy(owner, true)).refused('FIRST_TEAM');
  living.when({ type: 'RemoveTeam', at: now, deletedSince: at(60) }).nothing();
  living.when({ type: 'RestoreTeam', at: now, by: owner, deletedSince: T0 }).nothing();
  const deleted = given(...team, { type: 'TeamDeleted', data: { at: at(2) } });
  deleted.when(deleteBy(owner)).refused('TEAM_NOT_FOUND');
  deleted.when({ type: 'ChangeTeam', at: now, by: owner, changes: { name: 'x' } }).refused('TEAM_NOT_FOUND');
  deleted
    .when({ type: 'RestoreTeam', at: now, by: owner, deletedSince: at(2) })
    .then({ type: 'TeamRestored', data: { at: now } });
  deleted.when({ type: 'RestoreTeam', at: now, by: owner, deletedSince: at(3) }).refused('TEAM_NOT_FOUND');
  deleted.when({ type: 'RestoreTeam', at: now, by: admin, deletedSince: T0 }).refused('FORBIDDEN');
  deleted.when({ type: 'RestoreTeam', at: now, by: other, deletedSince: T0 }).refused('TEAM_NOT_FOUND');
  deleted.when({ type: 'RemoveTeam', at: now, deletedSince: at(2) }).nothing();
  deleted.when({ type: 'RemoveTeam', at: now, deletedSince: at(3) }).then({ type: 'TeamRemoved', data: { at: now } });
  deleted.when({ type: 'NoteErased', at: now }).nothing();
  const gone = given(
    ...team,
    { type: 'TeamDeleted', data: { at: at(2) } },
    { type: 'TeamRemoved', data: { at: at(3) } },
  );
  gone.when({ type: 'RestoreTeam', at: now, by: owner, deletedSince: T0 }).refused('TEAM_NOT_FOUND');
  gone.when({ type: 'RemoveTeam', at: now, deletedSince: at(9) }).nothing();
  gone.when({ type: 'NoteErased', at: now }).then({ type: 'TeamErased', data: { at: now } });
  const members = specs(memberDecider)(t).given(...team, { type: 'TeamDeleted', data: { at: at(2) } });
  members.when(remove(owner, member)).refused('TEAM_NOT_FOUND');
  members.when({ type: 'LeaveTeam', at: now, userId: member, reason: 'left' }).refused('TEAM_NOT_FOUND');
  members.when({ type: 'LeaveTeam', at: now, userId: owner, reason: 'erased' }).then(removed(owner, 'erased'));
  t.end();
});

void t.test('settings are changed by who manages the team, and said again they change nothing', (t) => {
  const { given } = specs(teamDecider)(t);
  const change = (by: By, changes = {}, more = {}) => ({ type: 'ChangeTeam' as const, at: now, by, changes, ...more });
  const story = given(...team);
  const renamed: TeamEvent = {
    type: 'TeamSettingsChanged',
    data: { at: now, settings: { ...shopSettings, name: 'Bazaar' } },
  };
  story.when(change(admin, { name: 'Bazaar' })).then(renamed);
  story.when(change(admin, { name: 'Shop' }, { requiresSecondFactor: false })).nothing();
  const secured: TeamEvent = { type: 'TeamSecurityChanged', data: { at: now, requiresSecondFactor: true } };
  story.when(change(owner, { name: 'Bazaar' }, { requiresSecondFactor: true })).then(renamed, secured);
  story.when(change(member, { name: 'Bazaar' })).refused('FORBIDDEN');
  given().when(change('operator')).refused('TEAM_NOT_FOUND');
  t.end();
});

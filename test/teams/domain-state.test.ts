/** A team and the instance: what their events add up to. */
import t from 'tap';
import type { TeamEvent, TeamSettings } from '../../src/domain/teams/events.js';
import { emptyCompany, evolveInstance, evolveTeam } from '../../src/domain/teams/state.js';
import { at, T0, TEAM_ID } from '../support/email-facts.js';

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

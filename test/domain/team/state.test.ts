/** A team and the instance: what their events add up to. */
import t from 'tap';
import type { TeamEvent, TeamSettings } from '../../../src/domain/team/events.js';
import { emptyCompany, evolveInstance, evolveTeam } from '../../../src/domain/team/state.js';
import { at, T0, TEAM_ID } from '../../support/email-facts.js';

const settings: TeamSettings = { name: 'Shop', defaultFrom: { email: 'hello@example.com', name: 'Shop' }, company: emptyCompany };

void t.test('a team has the settings that were given last, and the billing of its creation', async (t) => {
  const created: TeamEvent = { type: 'TeamCreated', data: { at: T0, billing: 'unmetered', settings } };
  const changed: TeamEvent = { type: 'TeamSettingsChanged', data: { at: at(1), settings: { ...settings, name: 'Market' } } };
  t.strictSame(evolveTeam(undefined, created), { billing: 'unmetered', settings, createdAt: T0 });
  t.strictSame([created, changed].reduce(evolveTeam, undefined as ReturnType<typeof evolveTeam>), {
    billing: 'unmetered',
    settings: { ...settings, name: 'Market' },
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

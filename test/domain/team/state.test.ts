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

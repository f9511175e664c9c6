/** The account of a metered team: uses are noted once a day, and a year without one disables it. */
import t, { type Test } from 'tap';
import type { TeamUseEvent } from '../../src/domain/billing/events.js';
import {
  teamUseDecider,
  admitActive,
  evolveTeamUse,
  inactiveAt,
  lookAt,
  type TeamUseState,
} from '../../src/domain/billing/team-use.js';
import { specs } from '../support/given.js';

const after = (t: Test, history: readonly TeamUseEvent[]) => specs(teamUseDecider)(t).given(...history);
const START = '2030-01-15T12:00:00.000Z';
const used = (at = START): TeamUseEvent => ({ type: 'AccountUsed', data: { at } });
const disabled = (at: string, usedAt = START): TeamUseEvent => ({ type: 'AccountDisabled', data: { at, usedAt } });
const settled = (at: string): TeamUseEvent => ({ type: 'AccountSettled', data: { at } });
const reactivated = (at: string): TeamUseEvent => ({ type: 'AccountReactivated', data: { at } });
const uncounted = (at: string): TeamUseEvent => ({ type: 'AccountUncounted', data: { at } });

const stateOf = (...events: readonly TeamUseEvent[]): TeamUseState =>
  events.reduce<TeamUseState>(evolveTeamUse, undefined);

/** A year, and the day within which a use need not be noted. */
const OVER = '2031-01-16T12:00:00.000Z';
const EARLY = '2031-01-16T11:59:59.999Z';
const LATER = '2031-02-01T00:00:00.000Z';

void t.test('uses are noted once a day, and none that comes too late', async (t) => {
  const note = (at: string) => ({ type: 'NoteUse' as const, at });
  after(t, []).when(note(START)).then(used());
  after(t, [used()]).when(note('2030-01-16T11:59:59.999Z')).nothing();
  after(t, [used()]).when(note('2030-01-16T12:00:00.000Z')).then(used('2030-01-16T12:00:00.000Z'));
  after(t, [used()]).when(note(EARLY)).then(used(EARLY));
  after(t, [used()]).when(note(OVER)).nothing();
  after(t, [used(), disabled(OVER)])
    .when(note(LATER))
    .nothing();
  after(t, [used(), uncounted(OVER)])
    .when(note(OVER))
    .then(used(OVER));
});

void t.test('it is disabled after a year, once, and not while the team is not metered', async (t) => {
  const disable = (at: string) => ({ type: 'Disable' as const, at });
  after(t, []).when(disable(OVER)).nothing();
  after(t, [used()]).when(disable(EARLY)).nothing();
  after(t, [used()]).when(disable(OVER)).then(disabled(OVER));
  after(t, [used(), disabled(OVER)])
    .when(disable('2032-06-01T00:00:00.000Z'))
    .nothing();
  after(t, [used(), uncounted('2030-06-01T00:00:00.000Z')])
    .when(disable(OVER))
    .nothing();
  after(t, [used(), used('2030-06-01T00:00:00.000Z')])
    .when(disable(OVER))
    .nothing();
});

void t.test('an owner lets it in again; one who comes just before the worker finds it as after it', async (t) => {
  const reactivate = (at: string) => ({ type: 'Reactivate' as const, at });
  after(t, []).when(reactivate(LATER)).nothing();
  after(t, [used()]).when(reactivate(EARLY)).nothing();
  after(t, [used(), disabled(OVER)])
    .when(reactivate(LATER))
    .then(reactivated(LATER));
  after(t, [used(), disabled(OVER), reactivated(LATER)])
    .when(reactivate(LATER))
    .nothing();
  after(t, [used()]).when(reactivate(LATER)).then(disabled(LATER), reactivated(LATER));
  t.match(stateOf(used(), disabled(OVER), reactivated(LATER)), {
    disabledSince: null,
    isSettled: false,
    usedAt: LATER,
  });
});

void t.test('its credits are settled once, also after it was let in again', async (t) => {
  const settle = { type: 'Settle' as const, at: OVER };
  after(t, [used()]).when(settle).nothing();
  after(t, [used(), disabled(OVER)])
    .when(settle)
    .then(settled(OVER));
  after(t, [used(), disabled(OVER), reactivated(OVER)])
    .when(settle)
    .then(settled(OVER));
  after(t, [used(), disabled(OVER), settled(OVER)])
    .when(settle)
    .nothing();
  after(t, [used(), disabled(OVER)])
    .when({ type: 'Uncount', at: OVER })
    .then(uncounted(OVER));
  after(t, [used(), uncounted(OVER)])
    .when({ type: 'Uncount', at: OVER })
    .nothing();
});

void t.test('when there is something to do', async (t) => {
  t.equal(lookAt(stateOf(used())!), OVER);
  t.equal(lookAt(stateOf(used(), disabled(OVER))!), OVER);
  t.equal(lookAt(stateOf(used(), disabled(OVER), settled(OVER))!), undefined);
  t.equal(lookAt(stateOf(used(), disabled(OVER), settled(OVER), reactivated(LATER))!), '2032-02-02T00:00:00.000Z');
  t.equal(lookAt(stateOf(used(), uncounted(OVER))!), undefined);
  t.equal(
    inactiveAt({ usedAt: '2028-02-29T23:30:00.000Z' }),
    '2029-03-02T23:30:00.000Z',
    'a day that the next year lacks is the first of March',
  );
});

void t.test('keys are refused while it is disabled', async (t) => {
  for (const events of [
    [],
    [used()],
    [used(), disabled(OVER), reactivated(OVER)],
    [used(), disabled(OVER), uncounted(OVER)],
  ])
    t.doesNotThrow(() => admitActive(stateOf(...events)));
  t.throws(() => admitActive(stateOf(used(), disabled(OVER))), {
    code: 'API_KEY_DISABLED',
    message: `disabled since ${OVER}`,
  });
});

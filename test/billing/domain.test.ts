/** Credits and the use of an account. */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { advanceCredits, balanceOf, noCredits, type CreditsState } from '../../src/domain/billing/credits.js';
import {
  CARRY_EVERY,
  decideCredits,
  usableAt,
  WHOLE,
  type CreditsCommand,
  type Decision,
  type Terms,
} from '../../src/domain/billing/decider.js';
import type { CreditsEvent, TeamUseEvent } from '../../src/domain/billing/events.js';
import { plans, priceOf } from '../../src/domain/billing/plans.js';
import {
  teamUseDecider,
  admitActive,
  evolveTeamUse,
  inactiveAt,
  lookAt,
  type TeamUseState,
} from '../../src/domain/billing/team-use.js';
import { at, T0 } from '../support/email-facts.js';
import { specs } from '../support/given.js';

// Credits of a team: prices, what is reserved and returned, months, thresholds, and the laws that hold at every event.

const byCredits: Terms = { isByCredits: true, quota: null, overage: plans.free.overage };
const byPlan = (quota: number, overage = plans.free.overage): Terms => ({ isByCredits: false, quota, overage });
const one = { emails: 1, attachments: 0 };
const email = (number: number): string => `email-${number}`;

const stateOf = (events: readonly CreditsEvent[]): CreditsState => {
  const state = noCredits();
  for (const event of events) advanceCredits(state, event);
  return state;
};

/** Decides one command after the other, each appended before the next. */
const run = (commands: readonly CreditsCommand[], from: readonly CreditsEvent[] = []) => {
  const state = stateOf(from);
  const log = [...from];
  const decisions: Decision[] = [];
  for (const command of commands) {
    const { decisions: made, events } = decideCredits([command], state);
    decisions.push(...made);
    for (const event of events) {
      advanceCredits(state, event);
      log.push(event);
    }
  }
  return { state, log, decisions };
};

const reserve = (reference: string, terms: Terms, when = T0, cost = one): CreditsCommand => ({
  type: 'Reserve',
  at: when,
  reference,
  cost,
  terms,
});

void t.test('blocks are priced by their place within a purchase', async (t) => {
  t.equal(priceOf(7).priceCents, 19_800, 'five at 30.00 and two at 24.00');
  t.strictSame(priceOf(7).tiers, [
    { blocks: 5, unitCents: 3_000 },
    { blocks: 2, unitCents: 2_400 },
  ]);
  t.equal(priceOf(1).priceCents, 3_000);
  t.equal(priceOf(101).priceCents, 5 * 3_000 + 5 * 2_400 + 40 * 2_100 + 50 * 1_800 + 1_500);
  t.equal(priceOf(7).credits, 70_000);
});

void t.test('a team begins with the credits of the signup, and a reservation is an event', async (t) => {
  const { log, state } = run([reserve(email(1), byCredits, T0, { emails: 1, attachments: 2 })]);
  t.strictSame(
    log.map(({ type }) => type),
    ['CreditsGranted', 'QuotaMonthBegan', 'CreditsReserved'],
  );
  t.strictSame(log[2]?.data, { at: T0, month: '2030-01', reference: email(1), emails: 1, attachments: 2, credits: 3 });
  t.equal(balanceOf(state.sums), 997);
});

void t.test('the same reservation again is no event', async (t) => {
  const { log } = run([reserve(email(1), byCredits), reserve(email(1), byCredits)]);
  t.equal(log.filter(({ type }) => type === 'CreditsReserved').length, 1);
});

void t.test('what has no room is refused with what is left', async (t) => {
  const { decisions, state } = run([
    reserve('batch-1', byCredits, T0, { emails: 999, attachments: 0 }),
    reserve(email(1), byCredits, T0, { emails: 1, attachments: 1 }),
    reserve(email(2), byCredits),
    reserve(email(3), byCredits),
  ]);
  t.strictSame(decisions[1]?.refusal, { of: 'credits', needed: 2, remaining: 1, limit: null, month: '2030-01' });
  t.equal(decisions[2]?.refusal, undefined);
  t.equal(decisions[3]?.refusal?.remaining, 0);
  t.equal(balanceOf(state.sums), 0);
});

void t.test('reservations that are made together are all made, or none', async (t) => {
  const all = (from: number, to: number, terms = byCredits): CreditsCommand => ({
    type: 'ReserveAll',
    at: T0,
    terms,
    all: Array.from({ length: to - from }, (_, index) => ({ reference: email(from + index), cost: one })),
  });
  const before = reserve('batch-1', byCredits, T0, { emails: 996, attachments: 0 });
  const { decisions, state, log } = run([before, all(0, 5), reserve(email(2), byCredits), all(0, 4), all(0, 4)]);
  t.strictSame(decisions[1]?.refusal, { of: 'credits', needed: 5, remaining: 4, limit: null, month: '2030-01' });
  t.same(decisions[1]?.events, []);
  t.equal(decisions[3]?.reservedAll?.length, 4, 'the one that was reserved before is not counted again');
  t.strictSame(decisions[3]?.reservedAll?.[2], decisions[2]?.reserved);
  t.same(decisions[4]?.events, [], 'nor is a repeated call');
  t.equal(balanceOf(state.sums), 0);
  t.equal(log.filter(({ type }) => type === 'CreditsReserved').length, 5);
  t.match(run([all(0, 11, byPlan(10))]).decisions[0]?.refusal, { of: 'quota', needed: 11, remaining: 10 });
  t.equal(run([all(0, 10, byPlan(10))]).decisions[0]?.refusal, undefined);
  t.same(run([{ ...all(0, 0), all: [] } as CreditsCommand]).log, []);
});

void t.test('a plan without overage ends at its quota, one with it goes on and counts', async (t) => {
  const many = (terms: Terms) => [
    reserve('batch-1', terms, T0, { emails: 10, attachments: 0 }),
    reserve(email(1), terms),
  ];
  t.strictSame(run(many(byPlan(10))).decisions[1]?.refusal, {
    of: 'quota',
    needed: 1,
    remaining: 0,
    limit: 10,
    month: '2030-01',
  });
  const over = run([
    ...many(byPlan(10, plans.starter.overage)),
    reserve(email(2), byPlan(10, plans.starter.overage), '2030-02-01T00:00:00.000Z'),
  ]);
  const began = over.log.filter(({ type }) => type === 'QuotaMonthBegan').at(-1);
  t.strictSame(began?.data, {
    at: '2030-02-01T00:00:00.000Z',
    month: '2030-02',
    closed: { month: '2030-01', emails: 11, attachments: 0, overage: 1, overageMicrosPerEmail: 1_000 },
  });
  t.equal(over.state.sums.emails, 1, 'the new month has its own count');
  t.equal(balanceOf(over.state.sums), 0, 'a plan takes no credits');
});

void t.test('thresholds are told once each', async (t) => {
  const { log } = run(Array.from({ length: 10 }, (_, index) => reserve(email(index), byPlan(10))));
  const told = log.flatMap((event) =>
    event.type === 'QuotaThresholdReached' ? [[event.data.percent, event.data.used]] : [],
  );
  t.strictSame(told, [
    [80, 8],
    [100, 10],
  ]);
  const credits = run([reserve('batch-1', byCredits, T0, { emails: 1_000, attachments: 0 })]).log;
  t.strictSame(
    credits.flatMap((event) => (event.type === 'QuotaThresholdReached' ? [[event.data.of, event.data.percent]] : [])),
    [
      ['credits', 80],
      ['credits', 100],
    ],
  );
});

void t.test('a part is given back once, and never more than is left', async (t) => {
  const back = (part: string, emails: number): CreditsCommand => ({
    type: 'GiveBack',
    at: T0,
    reference: 'batch-1',
    part,
    cost: { emails, attachments: 0 },
  });
  const { state, log } = run([
    reserve('batch-1', byCredits, T0, { emails: 10, attachments: 0 }),
    back('a', 3),
    back('a', 3),
    back('rest', 50),
    back('more', 1),
  ]);
  t.equal(balanceOf(state.sums), 1_000);
  t.equal(state.sums.emails, 0);
  t.equal(log.filter(({ type }) => type === 'CreditsReturned').length, 2);
});

void t.test('settling forgets what came to be, returns what did not, and says when to look again', async (t) => {
  const before = run([
    reserve(email(1), byCredits),
    reserve(email(2), byCredits),
    reserve(email(3), byCredits, at(30)),
  ]);
  const upTo = before.state.open.get(email(2))!.revision;
  const { state, log } = run([{ type: 'Settle', at: at(60), upTo, othersUpTo: -1, missing: [email(2)] }], before.log);
  t.strictSame([...state.open.keys()], [email(3)]);
  t.equal(balanceOf(state.sums), 998);
  t.strictSame(log.at(-1)?.data, { at: at(60), upTo, othersUpTo: -1, nextAt: at(90) });
});

void t.test('an email that is given back may be reserved again in the same round', async (t) => {
  const state = stateOf(run([reserve(email(1), byCredits)]).log);
  const { events } = decideCredits(
    [{ type: 'GiveBack', at: T0, reference: email(1), part: WHOLE, cost: one }, reserve(email(1), byCredits)],
    state,
  );
  for (const event of events) advanceCredits(state, event);
  t.equal(balanceOf(state.sums), 999);
  t.ok(state.open.has(email(1)));
});

void t.test('a new month begins with nothing used, before anything is reserved in it', async (t) => {
  const { state } = run([reserve(email(1), byPlan(10))]);
  t.strictSame(usableAt(state.sums, '2030-02-01T00:00:00.000Z').emails, 0);
  t.strictSame(
    usableAt(state.sums, '2029-12-31T00:00:00.000Z').month,
    '2030-01',
    'a clock that is set back begins no month again',
  );
});

const terms = fc.constantFrom(byCredits, byCredits, byPlan(20), byPlan(20, plans.starter.overage));
const anyCommand: fc.Arbitrary<CreditsCommand> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('Reserve' as const),
      at: moments(),
      reference: references(),
      cost: costs(),
      terms,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('ReserveAll' as const),
      at: moments(),
      all: fc.array(fc.record({ reference: references(), cost: costs() }), { maxLength: 5 }),
      terms,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('GiveBack' as const),
      at: moments(),
      reference: references(),
      part: fc.constantFrom('a', 'b'),
      cost: costs(),
    }),
  },
  fc.record({ type: fc.constant('Grant' as const), at: moments(), credits: fc.integer({ min: 1, max: 50 }) }),
  fc.record({ type: fc.constant('Buy' as const), at: moments(), blocks: fc.integer({ min: 1, max: 12 }) }),
  fc.record({ type: fc.constant('Reset' as const), at: moments() }),
  fc.record({ type: fc.constant('CountUse' as const), at: moments(), used: costs(), terms }),
  fc.record({
    type: fc.constant('Settle' as const),
    at: moments(),
    upTo: fc.integer({ min: -1, max: 40 }),
    othersUpTo: fc.constant(-1),
    missing: fc.constant([]),
  }),
);

function moments(): fc.Arbitrary<string> {
  return fc.integer({ min: 0, max: 70 }).map((days) => new Date(Date.parse(T0) + days * 86_400_000).toISOString());
}
function references(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.integer({ min: 0, max: 30 }).map(email),
    fc.integer({ min: 0, max: 3 }).map((number) => `batch-${number}`),
  );
}
function costs() {
  return fc.record({ emails: fc.integer({ min: 1, max: 15 }), attachments: fc.integer({ min: 0, max: 3 }) });
}

void t.test('laws: the balance is what came less what went, at every event; it is never below nothing', async (t) => {
  fc.assert(
    fc.property(fc.array(anyCommand, { maxLength: 120 }), (commands) => {
      const { log } = run(commands);
      const state = noCredits();
      const seen = { granted: 0, bought: 0, accepted: 0, returned: 0, reset: 0 };
      for (const event of log) {
        advanceCredits(state, event);
        if (event.type === 'CreditsGranted') seen.granted += event.data.credits;
        if (event.type === 'CreditsBought') seen.bought += event.data.credits;
        if (event.type === 'CreditsReserved') seen.accepted += event.data.credits;
        if (event.type === 'CreditsReturned') seen.returned += event.data.credits;
        if (event.type === 'CreditsReset') seen.reset += event.data.credits;
        const { sums } = state;
        if (sums.used !== seen.accepted - seen.returned) return false;
        if (balanceOf(sums) !== seen.granted + seen.bought - sums.used - seen.reset) return false;
        if (balanceOf(sums) < 0 || sums.emails < 0 || sums.attachments < 0) return false;
      }
      return true;
    }),
    { numRuns: 300 },
  );
  t.pass('held');
});

void t.test('laws: commands that are decided together are decided as one after the other', async (t) => {
  fc.assert(
    fc.property(
      fc.array(anyCommand, { maxLength: 60 }),
      fc.array(anyCommand, { maxLength: 60 }),
      (before, commands) => {
        const { log } = run(before);
        const together = decideCredits(commands, stateOf(log)).events;
        t.strictSame([...log, ...together], run(commands, log).log);
      },
    ),
    { numRuns: 200 },
  );
});

void t.test('laws: the state from the last carried sums is that of the whole stream', async (t) => {
  let log: readonly CreditsEvent[] = run([reserve('batch-1', byCredits, T0, { emails: 5, attachments: 0 })]).log;
  const commands = Array.from({ length: 2_300 }, (_, index): readonly CreditsCommand[] => [
    { type: 'Grant', at: at(index), credits: 1 },
    reserve(email(index), byCredits, at(index)),
    ...(index === 1_900
      ? [{ type: 'Settle' as const, at: at(index), upTo: 3_500, othersUpTo: 3_500, missing: [] }]
      : []),
  ]).flat();
  log = run(commands, log).log;
  t.ok(log.length > 4 * CARRY_EVERY);
  log.forEach((event, revision) => {
    if ((event.type === 'CreditsCarried') !== (revision > 0 && revision % CARRY_EVERY === 0))
      t.fail(`${revision} is ${event.type}`);
  });
  const carriedAt = log.length - 1 - ((log.length - 1) % CARRY_EVERY);
  const carried = log[carriedAt]!;
  if (carried.type !== 'CreditsCarried') throw new Error('no sums are carried there');
  const short = noCredits();
  const from = Math.min(carried.data.openFrom, carriedAt);
  short.sums.events = from;
  for (const event of log.slice(from)) advanceCredits(short, event);
  const whole = stateOf(log);
  t.strictSame(short.sums, whole.sums);
  t.strictSame([...short.open], [...whole.open]);
  t.ok(carried.data.openFrom > 3_000, 'what is settled is not read again');
});

void t.test('what was sent unmetered counts for the month, once', async (t) => {
  const terms: Terms = { isByCredits: false, quota: 730, overage: { isAllowed: false, microsPerEmail: null } };
  const count = (emails: number, attachments = 0, when = T0): CreditsCommand => ({
    type: 'CountUse',
    at: when,
    used: { emails, attachments },
    terms,
  });
  const counted = run([count(727, 4), count(727, 4)]);
  t.strictSame(
    counted.log.map(({ type }) => type),
    ['QuotaMonthBegan', 'UnmeteredUseCounted', 'QuotaThresholdReached'],
  );
  t.match(counted.state.sums, { month: '2030-01', emails: 727, attachments: 4, used: 0 });
  const sends = ['1', '2', '3', '4'].map((number) => reserve(`email-${number}`, terms));
  const ends = run(sends, counted.log).decisions.map(({ refusal }) => refusal?.remaining);
  t.strictSame(ends, [undefined, undefined, undefined, 0], 'three are left of the quota');

  const mixed = run([reserve('email-5', terms), count(10)]);
  t.equal(mixed.state.sums.emails, 10, 'the one that is reserved is among the ten');
  t.equal(run([count(3)], mixed.log).state.sums.emails, 10, 'and a count never falls');
  t.equal(
    run([count(9, 0, '2029-12-31T23:59:59.000Z')], mixed.log).state.sums.emails,
    10,
    'a clock that is set back counts nothing',
  );
  t.strictSame(run([count(0)]).log, [], 'nothing used, nothing written');
});

// The account of a metered team: uses are noted once a day, and a year without one disables it.

const after = (t: Test, history: readonly TeamUseEvent[]) => specs(teamUseDecider)(t).given(...history);
const START = '2030-01-15T12:00:00.000Z';
const used = (at = START): TeamUseEvent => ({ type: 'AccountUsed', data: { at } });
const disabled = (at: string, usedAt = START): TeamUseEvent => ({ type: 'AccountDisabled', data: { at, usedAt } });
const settled = (at: string): TeamUseEvent => ({ type: 'AccountSettled', data: { at } });
const reactivated = (at: string): TeamUseEvent => ({ type: 'AccountReactivated', data: { at } });
const uncounted = (at: string): TeamUseEvent => ({ type: 'AccountUncounted', data: { at } });

const teamUseOf = (...events: readonly TeamUseEvent[]): TeamUseState =>
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
  t.match(teamUseOf(used(), disabled(OVER), reactivated(LATER)), {
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
  t.equal(lookAt(teamUseOf(used())!), OVER);
  t.equal(lookAt(teamUseOf(used(), disabled(OVER))!), OVER);
  t.equal(lookAt(teamUseOf(used(), disabled(OVER), settled(OVER))!), undefined);
  t.equal(lookAt(teamUseOf(used(), disabled(OVER), settled(OVER), reactivated(LATER))!), '2032-02-02T00:00:00.000Z');
  t.equal(lookAt(teamUseOf(used(), uncounted(OVER))!), undefined);
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
    t.doesNotThrow(() => admitActive(teamUseOf(...events)));
  t.throws(() => admitActive(teamUseOf(used(), disabled(OVER))), {
    code: 'API_KEY_DISABLED',
    message: `disabled since ${OVER}`,
  });
});

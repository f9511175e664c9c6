/** Relays with names: rules, failover in the events of an email, and the days of a ramp-up that processes share. */
import t from 'tap';
import { emailDecider, type EmailCommand } from '../../src/domain/email/decider.js';
import type { EmailEvent } from '../../src/domain/email/events.js';
import {
  failedRelays,
  leftOfDay,
  perDayAfter,
  relayDaysDecider,
  relaysFor,
  relayWithContent,
  type RelayRule,
  type RoutedMail,
} from '../../src/domain/email/relays.js';
import type { Email } from '../../src/domain/email/state.js';
import { emailTimer } from '../../src/domain/email/timers.js';
import { relayStream } from '../../src/domain/core/ids.js';
import { openRoutes, type NamedRelay } from '../../src/processors/email/routes.js';
import { openMemoryLimiter } from '../../src/adapters/limiter/memory.js';
import { specs } from '../support/given.js';
import { openWorld } from '../support/command-world.js';
import {
  at,
  attempted,
  deferred,
  HOST,
  outcome,
  outcomeData,
  PERIODS,
  queuedFor,
  said,
  TEAM_ID,
  WORKER,
} from '../support/email-facts.js';
import { fakeClock } from '../support/fake-clock.js';
import { mailerBy } from '../support/mailers.js';
import { memoryLog } from '../support/memory-ports.js';

const email = specs(emailDecider);

void t.test('rules: the first that the mail meets decides', async (t) => {
  const other = '0198f000-0000-7000-8000-0000000000ff';
  const mail = (more: Partial<RoutedMail> = {}): RoutedMail => ({
    team: TEAM_ID,
    senderDomain: 'shop.example.com',
    tags: [],
    priority: 'normal',
    test: false,
    ...more,
  });
  const rest: RelayRule = { relays: ['rest'] };
  const rows: readonly (readonly [Omit<RelayRule, 'relays'>, Partial<RoutedMail>, boolean])[] = [
    [{}, {}, true],
    [{ team: [other, TEAM_ID] }, {}, true],
    [{ team: [other] }, {}, false],
    [{ senderDomain: ['shop.example.com'] }, {}, true],
    [{ senderDomain: ['example.com'] }, {}, false],
    [{ senderDomain: ['*.example.com'] }, {}, true],
    [{ senderDomain: ['*.example.com'] }, { senderDomain: 'example.com' }, false],
    [{ senderDomain: ['*.example.com'] }, { senderDomain: 'badexample.com' }, false],
    [{ tag: ['news'] }, {}, false],
    [{ tag: ['news', 'promo'] }, { tags: ['a', 'promo'] }, true],
    [{ priority: ['high', 'low'] }, {}, false],
    [{ priority: ['high', 'low'] }, { priority: 'low' }, true],
    [{ test: true }, {}, false],
    [{ test: true }, { test: true }, true],
    [{ test: false }, {}, true],
    [{ tag: ['news'], priority: ['high'] }, { tags: ['news'] }, false],
    [{ tag: ['news'], priority: ['high'] }, { tags: ['news'], priority: 'high' }, true],
  ];
  for (const [when, more, isMet] of rows)
    t.same(
      relaysFor([{ ...when, relays: ['special', 'rest'] }, rest], mail(more)),
      isMet ? ['special', 'rest'] : ['rest'],
      JSON.stringify([when, more]),
    );
  t.same(relaysFor([], mail()), []);
});

const schedule = { delaysMs: [60_000] };
const attemptBy = (relay: string, when: string, more: Partial<EmailCommand> = {}): EmailCommand =>
  ({
    type: 'AttemptDelivery',
    at: when,
    host: HOST,
    worker: WORKER,
    deadlineAt: at(600),
    workerGone: false,
    relay,
    ...more,
  }) as EmailCommand;
const recordBy = (relay: string, attempt: number, when: string, more: Partial<EmailCommand> = {}): EmailCommand =>
  ({
    type: 'RecordOutcome',
    attempt,
    at: when,
    host: HOST,
    relay,
    durationMs: 120,
    final: false,
    schedule,
    outcomes: [outcome(0, 'deferred')],
    ...more,
  }) as EmailCommand;
const attemptedBy = (relay: string, number: number, when: string): EmailEvent => {
  const event = attempted(number, when, at(600));
  return { ...event, data: { ...event.data, relay } } as EmailEvent;
};
const deferredBy = (
  relay: string,
  number: number,
  when: string,
  next: string,
  more: Readonly<Record<string, unknown>> = {},
): EmailEvent => {
  const { data, ...event } = deferred(number, when, next, [0, 'deferred']);
  const { attempt, at: moment, host, ...rest } = data;
  return { ...event, data: { attempt, at: moment, host, relay, ...rest, ...more } } as EmailEvent;
};

void t.test('a failover is a deferral that is due at once and uses no attempt of the schedule', async (t) => {
  const { given } = email(t);
  const history: EmailEvent[] = [queuedFor('to'), attemptedBy('first', 1, at(1))];
  const failover = deferredBy('first', 1, at(2), at(2), { failedOver: true });
  const after = given(...history)
    .when(recordBy('first', 1, at(2), { failedOver: true }))
    .then(failover) as Email;
  t.match(after, { status: 'queued', nextAttemptAt: at(2), deferrals: 0 });
  t.same(failedRelays(after), ['first']);
  t.equal(relayWithContent(after), undefined);
  const passedRelays = [{ relay: 'third', rule: 'relay-away', replyCode: null }];
  const second = attemptedBy('second', 2, at(2));
  const begun = given(...history, failover)
    .when(attemptBy('second', at(2), { passedRelays } as Partial<EmailCommand>))
    .then({ ...second, data: { ...second.data, passedRelays } } as EmailEvent) as Email;
  t.match(begun.attempts, [
    { relay: 'first', ended: { failedOver: true } },
    { relay: 'second', ended: null },
  ]);
  const spent = given(...history, failover, second)
    .when(recordBy('second', 2, at(3)))
    .then(deferredBy('second', 2, at(3), at(63))) as Email;
  t.equal(spent.deferrals, 1);
  t.same(failedRelays(spent), [], 'the next attempt begins with the first relay again');
});

void t.test('a failover keeps what is final, and where nothing is left to send it ends the mail', async (t) => {
  const { given } = email(t);
  given(queuedFor('to'), attemptedBy('first', 1, at(1)))
    .when(recordBy('first', 1, at(2), { failedOver: true, outcomes: [outcome(0, 'bounced')] } as Partial<EmailCommand>))
    .then({
      type: 'EmailBounced',
      data: { ...relayed(outcomeData(1, at(2), [0, 'bounced']).data, 'first'), bounceType: 'hard' },
      sealed: outcomeData(1, at(2), [0, 'bounced']).sealed,
    } as EmailEvent);
});

const relayed = <Data extends Readonly<{ attempt: number; at: string; host: string }>>(
  { attempt, at: moment, host, ...rest }: Data,
  relay: string,
) => ({ attempt, at: moment, host, relay, ...rest });

void t.test('a relay that may have the mail keeps it: no answer, a killed program, and a hold after it', async (t) => {
  const { given } = email(t);
  const begun: EmailEvent[] = [queuedFor('to'), attemptedBy('first', 1, at(1))];
  t.equal(relayWithContent(given(...begun).state as Email), 'first', 'while it is under way');
  const unanswered = given(...begun)
    .when(recordBy('first', 1, at(2), { mayHaveIt: true }))
    .then(deferredBy('first', 1, at(2), at(62), { mayHaveIt: true })) as Email;
  t.equal(relayWithContent(unanswered), 'first');
  const hold = {
    type: 'HoldEmail',
    at: at(20),
    host: HOST,
    relay: 'second',
    waitForHostMs: 3_600_000,
    fault: said('deferred'),
  } as const;
  const held = given(...begun)
    .when(hold)
    .then({
      type: 'EmailDeferred',
      data: {
        ...relayed({ ...outcomeData(1, at(20), [0, 'deferred']).data, durationMs: 0 }, 'first'),
        nextAttemptAt: at(20),
        heldUntil: at(3_620),
        mayHaveIt: true,
      },
      sealed: outcomeData(1, at(20), [0, 'deferred']).sealed,
    } as EmailEvent) as Email;
  t.equal(relayWithContent(held), 'first', 'also when the program was killed and the relay is away');
  const interrupted = given(...begun, attemptedBy('first', 2, at(700))).state as Email;
  t.match(interrupted.attempts[0], { ended: { outcome: 'interrupted' } });
  t.equal(relayWithContent(interrupted), 'first');
});

void t.test('a mail that waits for the next day has a timer of that moment, and fails in the end', async (t) => {
  const { given } = email(t);
  const wait = (when: string, waitsUntil: string): EmailCommand => ({
    type: 'HoldEmail',
    at: when,
    host: HOST,
    relay: 'young',
    waitsUntil,
    waitForHostMs: 48 * 3_600_000,
    fault: said('deferred'),
  });
  const waits = (when: string, next: string, heldUntil: string): EmailEvent =>
    ({
      type: 'EmailDeferred',
      data: {
        ...relayed({ ...outcomeData(0, when, [0, 'deferred']).data, durationMs: 0 }, 'young'),
        nextAttemptAt: next,
        heldUntil,
      },
      sealed: outcomeData(0, when, [0, 'deferred']).sealed,
    }) as EmailEvent;
  const [next, later, end] = ['2030-01-02T00:00:00.000Z', '2030-01-03T00:00:00.000Z', at(48 * 3_600)];
  const first = waits(at(0), next, end);
  const state = given(queuedFor('to'))
    .when(wait(at(0), next))
    .then(first) as Email;
  t.same(emailTimer(state, PERIODS), { kind: 'deferred', dueAt: next });
  t.equal(state.deferrals, 0);
  given(queuedFor('to'), first)
    .when(wait(at(5), next))
    .nothing();
  given(queuedFor('to'), first)
    .when(attemptBy('young', at(60)))
    .nothing();
  const second = waits(next, later, end);
  given(queuedFor('to'), first).when(wait(next, later)).then(second);
  const last = waits(later, end, end);
  given(queuedFor('to'), first, second).when(wait(later, '2030-01-04T00:00:00.000Z')).then(last);
  t.match(given(queuedFor('to'), first, second, last).when(wait(end, '2030-01-04T00:00:00.000Z')), {});
  const failedState = emailDecider
    .decide(wait(end, '2030-01-04T00:00:00.000Z'), given(queuedFor('to'), first, second, last).state)
    .map(({ type }) => type);
  t.same(failedState, ['EmailFailed']);
});

void t.test('a ramp-up by a list and by a factor', async (t) => {
  t.same(
    [0, 1, 2, 3].map((days) => perDayAfter([50, 100, 400], days)),
    [50, 100, 400, undefined],
  );
  const factor = { startPerDay: 10, factor: 1.5, untilPerDay: 40 };
  t.same(
    [0, 1, 2, 3, 4, 400].map((days) => perDayAfter(factor, days)),
    [10, 15, 22, 33, undefined, undefined],
  );
  const rampUp = [3, 5];
  const { given } = specs(relayDaysDecider)(t);
  const take = (when: string, count: number) => ({ type: 'TakeRelayDay', at: when, count, rampUp }) as const;
  const taken = (when: string, day: string, count: number) =>
    ({ type: 'RelayDayTaken', data: { at: when, day, count } }) as const;
  const [one, two, four] = ['2030-01-01', '2030-01-02', '2030-01-04'].map((day) => `${day}T10:00:00.000Z`);
  const first = taken(one!, '2030-01-01', 2);
  given().when(take(one!, 2)).then(first);
  given(first)
    .when(take(one!, 2))
    .then(taken(one!, '2030-01-01', 1));
  given(first, taken(one!, '2030-01-01', 1))
    .when(take(one!, 1))
    .nothing();
  const full = [first, taken(one!, '2030-01-01', 1)];
  given(...full)
    .when(take(two!, 9))
    .then(taken(two!, '2030-01-02', 5));
  t.equal(leftOfDay(given(...full).state, four!, rampUp), 5, 'a day without a mail does not count');
  const done = [...full, taken(two!, '2030-01-02', 5)];
  t.equal(leftOfDay(given(...done).state, two!, rampUp), 0);
  t.equal(leftOfDay(given(...done).state, four!, rampUp), undefined, 'it is over');
  given(...done)
    .when(take(one!, 1))
    .nothing();
});

void t.test('processes share a day, a restart keeps it, and no day has more than its maximum', async (t) => {
  const { deps } = await openWorld();
  const clock = fakeClock();
  const mailer = mailerBy(() => ({ host: HOST, durationMs: 1, recipients: [said('accepted')] }));
  const relay: NamedRelay = { name: 'young', mailer, rampUp: [40, 100] };
  const open = () => {
    const relays = { list: [relay], rules: [{ relays: ['young'] }], limiter: openMemoryLimiter({ clock }) };
    const routes = openRoutes({ ...deps, clock, logger: memoryLog(), mailer, relays });
    return routes.of(TEAM_ID, email(t).given(queuedFor('to')).state as Email)[0]!.days!;
  };
  const takeAll = async (count: number): Promise<number> => {
    const processes = [open(), open(), open()];
    const taken = await Promise.all(
      Array.from({ length: count }, (_, index) => processes[index % processes.length]!.take()),
    );
    return taken.filter(Boolean).length;
  };
  let first = 0;
  for (let restart = 0; restart < 4; restart += 1) first += await takeAll(30);
  t.ok(first <= 40 && first >= 30, `${first} of at most 40`);
  const full = open();
  t.equal(await full.take(), false);
  t.ok(full.isFull());
  await clock.advance(24 * 3_600_000);
  t.notOk(full.isFull());
  const second = await takeAll(300);
  t.ok(second <= 100 && second >= 95, `${second} of at most 100`);
  await clock.advance(24 * 3_600_000);
  t.equal(await takeAll(300), 300);
  const events = await deps.eventLog.load(relayStream('young'));
  t.ok(events.length <= 140, `${events.length} events for ${first + second} mails`);
});

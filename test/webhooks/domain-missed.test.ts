/** The events that a subscription missed, by its settings at each position of the log and by earlier requests. */
import t from 'tap';
import type { WebhookEvent } from '../../src/domain/webhooks/events.js';
import { mayHaveMissed, missedBy, type SettingsFact } from '../../src/domain/webhooks/decider.js';

const at = (minute: number): string => new Date(Date.UTC(2030, 0, 1, 0, minute)).toISOString();
const KINDS = ['email.sent', 'email.failed'];

const created = {
  type: 'WebhookCreated' as const,
  data: { at: at(0), events: ['email.sent'], enabled: true },
  sealed: undefined,
} satisfies WebhookEvent;
const changed = (minute: number, data: Readonly<{ enabled?: boolean; events?: string[] }>): WebhookEvent => ({
  type: 'WebhookChanged',
  data: { at: at(minute), ...data },
  sealed: undefined,
});
const asked = (minute: number, id: string, since: number, until?: number): WebhookEvent => ({
  type: 'WebhookBackfillAsked',
  data: {
    at: at(minute),
    id,
    since: at(since),
    ...(until === undefined ? {} : { until: at(until) }),
    events: [...KINDS],
  },
});

/** Each stands ten positions after the one before. */
const facts = (...events: readonly SettingsFact['event'][]): readonly SettingsFact[] =>
  events.map((event, index) => ({ event, position: 10 * (index + 1) }));

const disabledOnce = [created, changed(100, { enabled: false }), changed(200, { enabled: true, events: KINDS })];

void t.test('of each kind what did not go to it then, before it was asked for', async (t) => {
  const missed = missedBy(facts(...disabledOnce, asked(300, 'a', 50, 180)), 'a')!;
  t.same([missed.from, missed.upTo], [10, 40]);
  t.equal(missed.isMissed('email.sent', at(60), 15), false, 'went to it');
  t.equal(missed.isMissed('email.failed', at(60), 15), true, 'a kind that it did not ask for');
  t.equal(missed.isMissed('email.failed', at(49), 15), false, 'before the window');
  t.equal(missed.isMissed('email.sent', at(150), 25), true, 'disabled');
  t.equal(missed.isMissed('email.sent', at(180), 26), false, 'behind the window');
  t.equal(missed.isMissed('email.sent', at(179), 35), false, 'it stands where it was enabled again');
  t.equal(missed.isMissed('email.opened', at(150), 25), false, 'a kind that nobody wants');
  t.equal(missedBy(facts(...disabledOnce), 'a'), undefined);
});

void t.test('what a request before brings is not brought twice', async (t) => {
  const all = facts(...disabledOnce, asked(300, 'a', 150), asked(400, 'b', 0));
  const missed = missedBy(all, 'b')!;
  t.equal(missed.isMissed('email.sent', at(160), 25), false);
  t.equal(missed.isMissed('email.sent', at(120), 22), true);
});

void t.test('nothing is looked for where all went to it, or was asked for before', async (t) => {
  const window = (since: number, until?: number) => ({
    since: at(since),
    until: until === undefined ? undefined : at(until),
    events: KINDS,
  });
  const sentAlone = { since: at(0), events: ['email.sent'] };
  t.equal(mayHaveMissed(facts(created), sentAlone), false);
  t.equal(mayHaveMissed(facts(created), window(0)), true, 'a kind that it never asked for');
  t.equal(mayHaveMissed(facts(...disabledOnce), { ...sentAlone, since: at(202) }), false, 'since it is enabled');
  t.equal(mayHaveMissed(facts(...disabledOnce), { ...sentAlone, until: at(98) }), false, 'before it was disabled');
  t.equal(mayHaveMissed(facts(...disabledOnce), sentAlone), true);
  const again = facts(...disabledOnce, asked(300, 'a', 90, 150));
  t.equal(mayHaveMissed(again, window(95, 150)), false);
  t.equal(mayHaveMissed(again, window(95, 151)), true);
  t.equal(mayHaveMissed(again, window(80, 150)), true);
  const gapSince = facts(
    ...disabledOnce,
    asked(300, 'a', 0),
    changed(400, { enabled: false }),
    changed(500, { enabled: true }),
  );
  t.equal(mayHaveMissed(gapSince, window(0)), true, 'a gap since the request before');
  t.equal(mayHaveMissed(gapSince, window(0, 300)), false);
});

/** Webhooks: the decisions, the notices, and events that a webhook missed. */
import t from 'tap';
import { assertDefined, parseWebhookId } from '../../src/domain/core/ids.js';
import type { EmailEvent } from '../../src/domain/email/events.js';
import { webhookBodies } from '../../src/api/webhooks.js';
import { type AnyEvent, webhookKinds } from '../../src/domain/core/event.js';
import { kindsWith, noticesOf } from '../../src/domain/events.js';
import type { SenderDomainEvent } from '../../src/domain/domains/events.js';
import type { SuppressionEvent } from '../../src/domain/recipients/events.js';
import { bodyOf, testBody, WEBHOOK_BODY_BYTES_MAX } from '../../src/domain/webhooks/body.js';
import { mayHaveMissed, missedBy, type SettingsFact } from '../../src/domain/webhooks/decider.js';
import {
  keptAnswer,
  deliveryId,
  eventKey,
  readWebhookEventId,
  webhookEventId,
  nextAttemptMs,
  retryAfterMs,
} from '../../src/domain/webhooks/delivery.js';
import type { WebhookEvent } from '../../src/domain/webhooks/events.js';
import { bodyDifference } from '../support/described-webhooks.js';
import { goldenEvent, goldenNames } from '../support/golden-events.js';

// Kinds, ids, bodies and retries of webhooks: pure, and the same each time.

const WEBHOOK = assertDefined(parseWebhookId('wh_AAAAAAAAAAAAAAAAAAAAAA'), 'webhook');
const STREAM = 'email-018c0000-0000-7000-8000-000000000001';
const queued = goldenEvent('EmailQueued.v1') as Extract<EmailEvent, { type: 'EmailQueued' }>;
const AT = queued.data.at;

const outcome = (recipient: number, result: 'accepted' | 'deferred' | 'bounced' | 'refused') => ({
  recipient,
  result,
  replyCode: 250,
  enhancedCode: null,
  rule: 'rule',
});
const attempt = { attempt: 1, at: AT, host: 'mx', durationMs: 1 };
const sent: EmailEvent = {
  type: 'EmailSent',
  data: { ...attempt, outcomes: [outcome(0, 'accepted'), outcome(1, 'bounced'), outcome(2, 'deferred')] },
  sealed: { replies: ['250 ok', '550 no', '450 later'] },
};

const complained = (...recipients: readonly number[]): EmailEvent => ({
  type: 'EmailComplained',
  data: { at: AT, feedbackType: 'abuse', recipients: [...recipients] },
});

void t.test(
  'each recipient of an attempt is told of, and who was deferred has failed where nothing more is tried',
  async (t) => {
    t.same(noticesOf(sent), [
      { kind: 'email.sent', recipient: 0 },
      { kind: 'email.bounced', recipient: 1 },
      { kind: 'email.failed', recipient: 2 },
    ]);
    const deferred: EmailEvent = {
      type: 'EmailDeferred',
      data: { ...attempt, outcomes: [outcome(2, 'deferred')], nextAttemptAt: AT },
      sealed: undefined,
    };
    t.same(noticesOf(deferred), [{ kind: 'email.deferred', recipient: 2 }]);
    t.same(noticesOf({ type: 'EmailDelivered', data: { at: AT, recipients: [1] } }), [
      { kind: 'email.delivered', recipient: 1 },
    ]);
    t.same(noticesOf(goldenEvent('EmailBounceReported.v1') as EmailEvent), [
      { kind: 'email.bounced', recipient: 0 },
      { kind: 'email.bounced', recipient: 2 },
    ]);
    t.same(noticesOf(complained(1)), [{ kind: 'email.complained', recipient: 1 }]);
    t.same(noticesOf(complained()), [{ kind: 'email.complained' }]);
    t.same(noticesOf(queued), [{ kind: 'email.queued' }]);
    t.same(
      noticesOf({ type: 'RecipientsSuppressed', data: { at: AT, recipients: [0, 2], priority: 'normal' } }),
      [0, 2].map((recipient) => ({ kind: 'email.suppressed', recipient })),
    );
    t.same(noticesOf({ type: 'EmailDeleted', data: { at: AT } }), []);
  },
);

void t.test('an id is derived, says its number, and is read again', async (t) => {
  const key = eventKey(WEBHOOK, 'source', 1);
  t.equal(key, eventKey(WEBHOOK, 'source', 1));
  t.not(key, eventKey(WEBHOOK, 'source', 2));
  t.not(key, eventKey(WEBHOOK, 'other', 1));
  t.same(readWebhookEventId(webhookEventId(1_295, key), 'evt'), { number: 1_295, key });
  t.match(webhookEventId(1_295, key), /^evt_zz_/);
  t.equal(readWebhookEventId(deliveryId(0, key), 'evt'), undefined);
  t.equal(readWebhookEventId('evt_0', 'evt'), undefined);
});

void t.test('a body is the same bytes each time, and nothing where the key is destroyed', async (t) => {
  const entry = { stream: STREAM, at: AT, kind: 'email.bounced', recipient: 1 };
  const body = bodyOf(entry, [queued, sent])!;
  t.equal(bodyOf(entry, [queued, sent]), body);
  t.match(JSON.parse(body), {
    event: 'email.bounced',
    timestamp: AT,
    data: {
      emailLogId: STREAM.slice('email-'.length),
      recipient: queued.sealed!.recipients[1]!.email,
      status: 'bounced',
      bounceSubType: 'rule',
      bounceMessage: '550 no',
    },
  });
  t.equal(bodyOf(entry, [{ ...queued, sealed: undefined }, sent]), undefined);
  const suppressed: EmailEvent = {
    type: 'RecipientsSuppressed',
    data: { at: AT, recipients: [1], priority: 'normal' },
  };
  t.match(JSON.parse(bodyOf({ ...entry, kind: 'email.suppressed' }, [queued, suppressed])!), {
    event: 'email.suppressed',
    data: { recipient: queued.sealed!.recipients[1]!.email, status: 'suppressed', suppressedAt: AT },
  });
});

void t.test(
  'who leaves a list by the link of a mail is told of, and no other entry of the suppression list',
  async (t) => {
    const stream = 'suppression-5c0ffee0-0000-8000-8000-00000000000a';
    const left: SuppressionEvent = {
      type: 'AddressSuppressed',
      data: { at: AT, reason: 'unsubscribe', emailId: STREAM.slice('email-'.length), list: 'offers' },
      sealed: { address: 'ann@example.org' },
    };
    t.same(noticesOf(left), [{ kind: 'email.unsubscribed' }]);
    const { emailId: _absent, ...imported } = left.data;
    t.same(noticesOf({ ...left, data: imported }), []);
    t.same(noticesOf({ ...left, data: { ...left.data, reason: 'hard-bounce' } }), []);
    t.same(noticesOf({ type: 'SuppressionRemoved', data: { at: AT } }), []);
    const entry = { stream, at: AT, kind: 'email.unsubscribed' };
    const data = { emailLogId: left.data.emailId, recipient: 'ann@example.org', list: 'offers', unsubscribedAt: AT };
    t.same(JSON.parse(bodyOf(entry, [left])!), { event: 'email.unsubscribed', timestamp: AT, data });
    t.match(
      JSON.parse(bodyOf(entry, [{ ...left, sealed: {} }])!),
      { data: { recipient: null } },
      'of an archived mail',
    );
    t.equal(bodyOf(entry, [{ ...left, sealed: undefined }]), undefined, 'erased since');
  },
);

void t.test('what reports say later has the fields of the contract', async (t) => {
  const entry = { stream: STREAM, at: AT, kind: 'email.bounced', recipient: 1 };
  const late: EmailEvent = {
    type: 'EmailBounceReported',
    data: {
      at: AT,
      bounces: [{ recipient: 1, bounceType: 'soft', bounceSubType: 'mailbox-full', enhancedCode: '5.2.2' }],
    },
    sealed: { replies: ['552 full'] },
  };
  const read = (of: typeof entry | Omit<typeof entry, 'recipient'>, event: EmailEvent) =>
    (JSON.parse(bodyOf(of, [queued, sent, event])!) as { data: Record<string, unknown> }).data;
  const recipient = queued.sealed!.recipients[1]!.email;
  t.match(read(entry, late), {
    recipient,
    status: 'bounced',
    bouncedAt: AT,
    bounceType: 'soft',
    bounceSubType: 'mailbox-full',
    bounceMessage: '552 full',
  });
  const kind = 'email.complained';
  t.match(read({ ...entry, kind }, complained(1)), {
    recipient,
    status: 'complained',
    complainedAt: AT,
    feedbackType: 'abuse',
  });
  const recipients = queued.sealed!.recipients.map((one) => one!.email);
  t.match(read({ stream: STREAM, at: AT, kind }, complained()), { recipient: null, recipients, status: 'complained' });
});

void t.test(
  'of a recipient who is erased no body is left; of the others, and of the whole email, it tells nothing of them',
  async (t) => {
    const sealed = {
      ...queued.sealed!,
      recipients: queued.sealed!.recipients.map((one, place) => (place === 1 ? null : one)),
    };
    const first = { ...queued, sealed };
    const history = [first, sent];
    for (const [recipient, is] of [
      [0, true],
      [1, false],
      [2, true],
    ] as const)
      t.equal(bodyOf({ stream: STREAM, at: AT, kind: 'email.delivered', recipient }, history) !== undefined, is);
    const whole = JSON.parse(bodyOf({ stream: STREAM, at: AT, kind: 'email.queued' }, [first])!) as { data: unknown };
    const [one, , other] = queued.sealed!.recipients.map((recipient) => recipient!.email);
    t.match(whole.data, { recipients: [one, null, other], subject: queued.sealed!.subject });
    t.same(noticesOf({ type: 'RecipientsErased', data: { at: AT, recipients: [1], priority: 'normal' } }), []);
  },
);

void t.test('a body has 256 KB at most, and says what was left out', async (t) => {
  const { confidential: _, ...data } = queued.data;
  const large = {
    ...queued,
    data,
    sealed: { ...queued.sealed!, metadata: { note: 'x'.repeat(WEBHOOK_BODY_BYTES_MAX) } },
  };
  const confidential = { ...large, data: { ...data, confidential: true as const } };
  t.notOk(
    bodyOf({ stream: STREAM, at: AT, kind: 'email.queued' }, [confidential])!.includes('metadata'),
    'of a mail that lets somebody in',
  );
  const body = bodyOf({ stream: STREAM, at: AT, kind: 'email.queued' }, [large])!;
  t.ok(Buffer.byteLength(body) <= WEBHOOK_BODY_BYTES_MAX);
  t.same((JSON.parse(body) as { data: { truncated: unknown } }).data.truncated, ['metadata']);
});

void t.test('every kind has bodies as the API description has them, made of stored events', async (t) => {
  const firsts: Readonly<Record<string, AnyEvent>> = {
    email: queued,
    batch: goldenEvent('BatchQueued.v1'),
  };
  const seen = new Set<string>();
  const left: SuppressionEvent = {
    type: 'AddressSuppressed',
    data: { at: AT, reason: 'unsubscribe', emailId: STREAM.slice('email-'.length) },
    sealed: { address: 'ann@example.org' },
  };
  // A failover, as in the golden event, is told to no subscription.
  const failover = goldenEvent('EmailDeferred.v1') as Extract<EmailEvent, { type: 'EmailDeferred' }>;
  const { failedOver: _, ...waits } = failover.data;
  const deferred: EmailEvent = { ...failover, data: waits };
  for (const [name, event] of [
    ...goldenNames().map((name) => [name, goldenEvent(name)] as const),
    ['unsubscribed', left] as const,
    ['deferred', deferred] as const,
  ]) {
    const stream = `${kindsWith([event.type])[0]!}-018c0000-0000-7000-8000-000000000001`;
    for (const { kind, recipient } of noticesOf(event)) {
      const first = firsts[kindsWith([event.type])[0]!];
      const history = first === undefined || first.type === event.type ? [event] : [first, event];
      const isFirst = event.type === 'EmailScheduled';
      const entry = { stream, at: AT, kind, ...(recipient === undefined ? {} : { recipient }) };
      const body = bodyOf(entry, isFirst ? [event] : history);
      t.equal(body === undefined ? 'no body' : bodyDifference(body), undefined, `${name} as ${kind}`);
      seen.add(kind);
    }
  }
  t.same([...seen].sort(), [...webhookKinds].sort());
  t.equal(bodyDifference(testBody(AT)), undefined, 'a test');
  for (const { example, kind } of webhookBodies) t.equal(bodyDifference(JSON.stringify(example)), undefined, kind);
  t.match(bodyDifference(JSON.stringify({ event: 'email.sent', timestamp: AT, data: {} })), /sentAt/);
});

void t.test('of an answer no address is kept, however it is written', async (t) => {
  t.equal(keptAnswer('{"error":"no ada@example.org here"}', 1_024), '{"error":"no [address] here"}');
  for (const address of [
    'ada@example.org',
    'ada%40example.org',
    'ada\\u0040example.org',
    'ada&#64;example.org',
    'ada&#x40;example.org',
    '"ada lovelace"@example.org',
  ])
    t.notMatch(keptAnswer(`to <${address}>, thanks`, 1_024), /ada/, address);
  t.equal(keptAnswer('status 200', 1_024), 'status 200');
  t.equal(
    keptAnswer('sent to ada', 11),
    'sent to [ad',
    'what is cut may be the beginning of one, and no more is kept than was asked for',
  );
  t.equal(keptAnswer('@ '.repeat(512), 1_024).length, 1_024);
});

void t.test(
  'attempts follow after 1, 5 and 30 minutes and up to a tenth more, or as late as the receiver asks for',
  async (t) => {
    const pauses = [60_000, 300_000, 1_800_000];
    const next = (attempt: number, askedMs = 0, delaysMs: readonly number[] = pauses, eventId = 'evt') =>
      nextAttemptMs({ attempt, eventId, nowMs: 0, retryAfterMs: askedMs }, delaysMs);
    for (const [index, pauseMs] of pauses.entries())
      for (let event = 0; event < 100; event += 1) {
        const after = next(index + 1, 0, pauses, `evt_${event}`)!;
        t.ok(after >= pauseMs && after < pauseMs * 1.1, `${after}`);
      }
    t.equal(next(4), undefined);
    t.equal(next(1, 120_000), 120_000);
    t.equal(next(1, 86_400_000), 3_600_000, 'an hour at most');
    t.ok(next(2, 1_000)! >= 300_000, 'never sooner');
    t.equal(next(2, 0, [60_000]), undefined, 'a schedule of one pause has two attempts');
    t.ok(next(4, 0, [...pauses, 7_200_000])! >= 7_200_000, 'and one of four has five');
    t.equal(retryAfterMs('120', 0), 120_000);
    t.equal(retryAfterMs('Thu, 01 Jan 1970 00:02:00 GMT', 0), 120_000);
    t.equal(retryAfterMs('soon', 0), 0);
  },
);

void t.test('an open and a click say who, when, with what, and whether it was a machine', async (t) => {
  const visitor = { userAgent: 'Mozilla/5.0 (X11)', ipAddress: '192.0.2.7' };
  const open: EmailEvent = { type: 'EmailOpened', data: { at: AT, recipient: 0, machine: false }, sealed: visitor };
  const url = 'https://shop.example/?a=1';
  const click: EmailEvent = {
    type: 'EmailClicked',
    data: { at: AT, recipient: 0, machine: true, rule: 'burst', link: 1, times: 10 },
    sealed: { ...visitor, url },
  };
  t.same(noticesOf(open), [{ kind: 'email.opened', recipient: 0 }]);
  t.same(noticesOf(click), [{ kind: 'email.clicked', recipient: 0 }]);
  const dataOf = (kind: string, last: EmailEvent): unknown =>
    (JSON.parse(bodyOf({ kind, recipient: 0, stream: STREAM, at: AT }, [queued, last])!) as { data: unknown }).data;
  t.match(dataOf('email.opened', open), { status: 'opened', openedAt: AT, ...visitor, machine: false });
  t.match(dataOf('email.clicked', click), {
    clickedAt: AT,
    url,
    ...visitor,
    machine: true,
    machineRule: 'burst',
    times: 10,
  });
});

// The events that a subscription missed, by its settings at each position of the log and by earlier requests.

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

void t.test('an alert tells the domain and its share; the return below the bound is told to nobody', async (t) => {
  const alert = goldenEvent('DomainRateCrossed.v1') as Extract<SenderDomainEvent, { type: 'DomainRateCrossed' }>;
  t.same(noticesOf(alert), [{ kind: 'domain.alerted' }]);
  t.same(noticesOf({ ...alert, data: { ...alert.data, isAbove: false } }), []);
  const entry = { stream: `senderDomains-${'0198f000-0000-7000-8000-00000000000c'}`, at: AT, kind: 'domain.alerted' };
  const body = bodyOf(entry, [alert])!;
  t.match(JSON.parse(body), {
    data: { domain: 'gmail.com', side: 'recipient', percent: 6.1, boundPercent: 5, hits: 61 },
  });
  t.equal(bodyDifference(body), undefined);
});

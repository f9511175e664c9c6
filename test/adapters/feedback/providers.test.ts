/** Events of mail providers, from the bytes of a call: what each kind says, and which calls are refused. */
import { generateKeyPairSync } from 'node:crypto';
import t, { type Test } from 'tap';
import { readBrevo, readMailjet } from '../../../src/adapters/feedback/providers/brevo-mailjet.js';
import { readMailgun } from '../../../src/adapters/feedback/providers/mailgun.js';
import { readPostmark } from '../../../src/adapters/feedback/providers/postmark.js';
import { openProviderFeedback } from '../../../src/adapters/feedback/providers/provider-feedback.js';
import { readSendgrid } from '../../../src/adapters/feedback/providers/sendgrid.js';
import { readSes, type SesReading } from '../../../src/adapters/feedback/providers/ses.js';
import { OutboundFault } from '../../../src/domain/ports/outbound-http.js';
import {
  feedbackProviders,
  PROVIDER_EVENTS_MAX,
  type FeedbackProvider,
  type ProviderCall,
  type ProviderEvent,
  type ProviderReading,
} from '../../../src/domain/ports/provider-feedback.js';
import { at, EMAIL_ID, T0 } from '../../support/email-facts.js';
import { fakeClock } from '../../support/fake-clock.js';
import {
  basic,
  callOf,
  CERTIFICATE_URL,
  certificate,
  eventsOf,
  mailgunCall,
  providerSettings as settings,
  SECRET,
  sendgridCall,
  snsCall,
  tokenCall,
  TOPIC,
} from '../../support/provider-calls.js';

const NOW = Date.parse(T0);
const HOUR_MS = 3_600_000;
const ann = 'ann@example.org';
const about = { emailId: EMAIL_ID, address: ann, at: at(-60) };

const pems = new Map([[CERTIFICATE_URL, certificate()]]);

const read = (provider: FeedbackProvider, call: ProviderCall, now = NOW): SesReading => {
  switch (provider) {
    case 'ses':
      return readSes(call, settings.ses, now, pems);
    case 'postmark':
      return readPostmark(call, settings.postmark);
    case 'sendgrid':
      return readSendgrid(call, settings.sendgrid, now);
    case 'mailgun':
      return readMailgun(call, settings.mailgun, now);
    case 'brevo':
      return readBrevo(call, settings.brevo);
    case 'mailjet':
      return readMailjet(call, settings.mailjet);
  }
};

const eventsIn = (t: Test, reading: SesReading | ProviderReading): readonly ProviderEvent[] => {
  if (reading.kind === 'events') return reading.events;
  t.fail(`the call is ${reading.kind}: ${JSON.stringify(reading)}`);
  return [];
};

/** The news of one event, in an authentic call. */
const newsOf = (t: Test, provider: FeedbackProvider, event: unknown) =>
  eventsIn(t, read(provider, callOf(provider, event, NOW))).map(({ news }) =>
    news.kind === 'report' && news.report.action === 'failed'
      ? `${news.report.bounceType} ${news.report.bounceSubType}`
      : news.kind === 'report'
        ? news.report.action
        : news.kind,
  );

for (const provider of feedbackProviders)
  void t.test(`${provider}: the kinds of events`, async (t) => {
    const readOne = (told: Parameters<(typeof eventsOf)['ses']>[0]): ProviderEvent =>
      eventsIn(t, read(provider, callOf(provider, eventsOf[provider](told, about), NOW)))[0]!;
    for (const [told, news] of [
      ['delivered', { kind: 'report', report: { action: 'delivered' } }],
      ['delayed', { kind: 'report', report: { action: 'delayed' } }],
      ['hard', { kind: 'report', report: { action: 'failed', bounceType: 'hard', bounceSubType: 'no-such-mailbox' } }],
      ['complaint', { kind: 'complaint', feedbackType: 'abuse' }],
      ['unsubscribe', { kind: 'unsubscribe', ofList: false }],
      ['open', { kind: 'nothing' }],
      ['new', { kind: 'unknown' }],
    ] as const) {
      const event = readOne(told);
      t.match(event, { emailId: EMAIL_ID, address: ann, news }, told);
      if (told !== 'new' && told !== 'open') t.equal(event.happenedAt, about.at, told);
      t.equal(event.payload === '', told === 'open', told);
      t.same(readOne(told).id === event.id, provider !== 'ses', 'the same event has the same id');
    }
    const ids = (['delivered', 'hard', 'complaint', 'new'] as const).map((told) => readOne(told).id);
    t.equal(new Set(ids).size, ids.length, 'others have others');
  });

void t.test('SES: the id of an event is that of the message, which comes again unchanged', async (t) => {
  const call = snsCall(eventsOf.ses('hard', about), NOW);
  const [one, other] = [call, call].map((each) => eventsIn(t, read('ses', each))[0]!.id);
  t.equal(one, other);
});

void t.test('SES: classes of bounces, and events about several recipients', async (t) => {
  const event = (bounceType: string, bounceSubType: string, more = {}) => ({
    notificationType: 'Bounce',
    mail: { destination: [ann] },
    bounce: { bounceType, bounceSubType, bouncedRecipients: [{ emailAddress: ann, ...more }] },
  });
  const said = { diagnosticCode: 'smtp; 550 not delivered' };
  for (const [type, sub, more, expected] of [
    ['Permanent', 'General', {}, 'hard recipient-refused'],
    ['Permanent', 'NoEmail', {}, 'hard no-such-mailbox'],
    ['Permanent', 'OnAccountSuppressionList', {}, 'hard recipient-refused'],
    ['Permanent', 'UnsubscribedRecipient', {}, 'soft mailbox-refused'],
    ['Permanent', 'Unheard', {}, 'hard recipient-refused'],
    ['Permanent', 'General', { diagnosticCode: 'smtp; 550 5.7.1 your IP is on a block list' }, 'blocked reputation'],
    ['Permanent', 'General', { status: '5.2.2', diagnosticCode: 'smtp; 552 5.2.2 mailbox full' }, 'soft mailbox-full'],
    ['Transient', 'General', said, 'soft undetermined'],
    ['Transient', 'MailboxFull', {}, 'soft mailbox-full'],
    ['Transient', 'MessageTooLarge', {}, 'soft too-large'],
    ['Transient', 'ContentRejected', {}, 'blocked content'],
    ['Transient', 'CustomTimeoutExceeded', {}, 'soft expired'],
    ['Transient', 'General', { diagnosticCode: 'smtp; 550 5.1.1 user unknown' }, 'soft undetermined'],
    ['Undetermined', 'Undetermined', said, 'soft undetermined'],
    ['Transient', 'General', {}, 'unknown'],
    ['Permanent', '__proto__', {}, 'hard recipient-refused'],
  ] as const)
    t.same(await newsOf(t, 'ses', event(type, sub, more)), [expected], `${type} ${sub}`);

  const many = {
    eventType: 'Delivery',
    mail: { destination: [ann, 'bob@example.org'], commonHeaders: { messageId: `<${EMAIL_ID}@example.com>` } },
    delivery: { recipients: [ann, 'bob@example.org'], timestamp: at(0) },
  };
  t.match(eventsIn(t, read('ses', snsCall(many, NOW))), [
    { emailId: EMAIL_ID, address: ann },
    { emailId: EMAIL_ID, address: 'bob@example.org' },
  ]);
  const complained = {
    notificationType: 'Complaint',
    mail: { source: 'Shop <bounce+x@bounces.example.com>', destination: [ann, 'bob@example.org'] },
    complaint: { complainedRecipients: [{ emailAddress: ann }, { emailAddress: 'bob@example.org' }] },
  };
  t.match(eventsIn(t, read('ses', snsCall(complained, NOW))), [
    { emailId: undefined, address: undefined, sender: 'bounce+x@bounces.example.com', news: { kind: 'complaint' } },
  ]);
  for (const type of ['not-spam', 'auth-failure'])
    t.same(
      await newsOf(t, 'ses', { ...complained, complaint: { ...complained.complaint, complaintFeedbackType: type } }),
      ['nothing'],
    );
  t.same(
    await newsOf(t, 'ses', { eventType: 'Reject', mail: { destination: [ann] }, reject: { reason: 'Bad content' } }),
    ['blocked content'],
  );
  t.same(await newsOf(t, 'ses', { eventType: 'Rendering Failure', mail: { destination: [ann] } }), ['unknown']);
  t.same(
    eventsIn(t, read('ses', snsCall('Successfully validated SNS topic for Amazon SES event publishing.', NOW))),
    [],
  );
});

void t.test('Postmark, SendGrid, Mailgun, Brevo, Mailjet: classes of bounces', async (t) => {
  const postmark = (Type: string, Details?: string) => ({ RecordType: 'Bounce', Type, Email: ann, Details });
  for (const [event, expected] of [
    [postmark('HardBounce'), 'hard recipient-refused'],
    [postmark('BadEmailAddress'), 'hard no-such-mailbox'],
    [postmark('SoftBounce', 'smtp;550 5.1.1 user unknown'), 'soft undetermined'],
    [postmark('DnsError'), 'soft host-unreachable'],
    [postmark('SpamNotification'), 'blocked content'],
    [postmark('Blocked', 'smtp;550 5.7.1 blocked for spam'), 'blocked reputation'],
    [postmark('DMARCPolicy'), 'blocked authentication'],
    [postmark('AutoResponder'), 'nothing'],
    [postmark('constructor'), 'unknown'],
    [{ RecordType: 'SubscriptionChange', SuppressSending: false, Recipient: ann }, 'nothing'],
    [
      { RecordType: 'SubscriptionChange', SuppressSending: true, SuppressionReason: 'HardBounce', Recipient: ann },
      'hard recipient-refused',
    ],
    [
      {
        ...{ RecordType: 'SubscriptionChange', SuppressSending: true, Origin: 'Admin', Recipient: ann },
        SuppressionReason: 'ManualSuppression',
      },
      'nothing',
    ],
  ] as const)
    t.same(await newsOf(t, 'postmark', event), [expected], JSON.stringify(event));

  const sendgrid = (more: object) => ({ email: ann, ...more });
  for (const [event, expected] of [
    [{ event: 'bounce', type: 'blocked', reason: '550 5.7.1 blocked' }, 'blocked reputation'],
    [{ event: 'bounce', type: 'blocked' }, 'blocked policy'],
    [{ event: 'bounce', type: 'bounce' }, 'hard recipient-refused'],
    [{ event: 'bounce', type: 'bounce', bounce_classification: 'Technical' }, 'soft undetermined'],
    [{ event: 'bounce', type: 'bounce', bounce_classification: 'Mailbox Unavailable' }, 'soft mailbox-refused'],
    [{ event: 'dropped', reason: 'Bounced Address' }, 'hard recipient-refused'],
    [{ event: 'dropped', reason: 'Invalid' }, 'hard no-such-mailbox'],
    [{ event: 'dropped', reason: 'Unsubscribed Address' }, 'soft mailbox-refused'],
    [{ event: 'dropped', reason: 'Something else' }, 'soft undetermined'],
    [{ event: 'processed' }, 'nothing'],
    [{ event: 'group_resubscribe' }, 'nothing'],
    [{ event: 'account_status_change', type: 'compliance_suspend' }, 'unknown'],
  ] as const)
    t.same(await newsOf(t, 'sendgrid', sendgrid(event)), [expected], JSON.stringify(event));
  t.match(eventsIn(t, read('sendgrid', sendgridCall([sendgrid({ event: 'group_unsubscribe' })], NOW))), [
    { news: { kind: 'unsubscribe', ofList: true } },
  ]);
  t.match(
    eventsIn(
      t,
      read('sendgrid', sendgridCall([sendgrid({ event: 'delivered', 'smtp-id': `<${EMAIL_ID}@x.org>` })], NOW)),
    ),
    [{ emailId: EMAIL_ID }],
  );

  const failure = (severity: string, reason: string, status: object = {}) => ({
    ...{ event: 'failed', severity, reason, recipient: ann },
    'delivery-status': status,
  });
  for (const [event, expected] of [
    [failure('permanent', 'bounce', { code: 550 }), 'hard recipient-refused'],
    [
      failure('permanent', 'suppress-bounce', { code: 605, message: 'Not delivering to previously bounced address' }),
      'hard recipient-refused',
    ],
    [failure('permanent', 'suppress-complaint', { code: 607 }), 'soft mailbox-refused'],
    [failure('permanent', 'old', { code: 602, message: 'Too old' }), 'soft expired'],
    [failure('permanent', 'espblock', { code: 550, message: '5.7.1 policy' }), 'blocked policy'],
    [failure('unheard', 'bounce'), 'unknown'],
    [{ event: 'rejected', recipient: ann, reject: { reason: 'Sandbox subdomains' } }, 'blocked policy'],
  ] as const)
    t.same(await newsOf(t, 'mailgun', event), [expected], JSON.stringify(event));

  for (const [event, expected] of [
    [{ event: 'soft_bounce', reason: 'undefined Unable to find MX of domain no-mx.example.com' }, 'soft undetermined'],
    [{ event: 'blocked', reason: 'blocked : due to blacklist user' }, 'soft mailbox-refused'],
    [{ event: 'blocked' }, 'blocked policy'],
    [{ event: 'invalid_email' }, 'hard no-such-mailbox'],
    [{ event: 'error' }, 'soft undetermined'],
    [{ event: 'complaint' }, 'complaint'],
    [{ event: 'request' }, 'nothing'],
  ] as const)
    t.same(await newsOf(t, 'brevo', { email: ann, ...event }), [expected], JSON.stringify(event));

  for (const [event, expected] of [
    [{ event: 'bounce', hard_bounce: false, error: 'user unknown' }, 'soft undetermined'],
    [{ event: 'bounce', hard_bounce: true, error: 'invalid domain' }, 'hard no-such-domain'],
    [{ event: 'bounce', hard_bounce: false, error: 'quota exceeded' }, 'soft mailbox-full'],
    [{ event: 'bounce', hard_bounce: true }, 'hard recipient-refused'],
    [{ event: 'blocked', error: 'preblocked' }, 'hard recipient-refused'],
    [{ event: 'blocked', error: 'content blocked' }, 'blocked content'],
    [{ event: 'blocked', error: '' }, 'blocked policy'],
  ] as const)
    t.same(await newsOf(t, 'mailjet', { email: ann, ...event }), [expected], JSON.stringify(event));
});

void t.test('lists: each event is read, in its order; more than there may be are refused', async (t) => {
  const many = Array.from({ length: PROVIDER_EVENTS_MAX }, (_, index) =>
    eventsOf.sendgrid('delivered', { ...about, id: String(index) }),
  );
  t.equal(eventsIn(t, read('sendgrid', sendgridCall(many, NOW))).length, PROVIDER_EVENTS_MAX);
  t.match(read('sendgrid', sendgridCall([...many, many[0]], NOW)), { kind: 'malformed' });
  const two = ['delivered', 'complaint'] as const;
  for (const provider of ['mailjet', 'brevo'] as const)
    t.equal(eventsIn(t, read(provider, tokenCall(two.map((told) => eventsOf[provider](told, about))))).length, 2);
  t.same(eventsIn(t, read('sendgrid', sendgridCall([], NOW))), []);
});

void t.test('bodies that are none: refused in words, and nothing else happens', async (t) => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  for (const body of ['', 'x', '"text"', '[1]', '[[]]', 'null', '{"a":', deep, `{"a":"${'\\'.repeat(99)}`]) {
    for (const provider of ['postmark', 'brevo', 'mailjet'] as const)
      t.match(read(provider, tokenCall(body)), { kind: 'malformed' }, body.slice(0, 20));
    t.match(read('sendgrid', sendgridCall(body, NOW)), { kind: 'malformed' }, body.slice(0, 20));
    t.match(readMailgun({ headers: {}, body: Buffer.from(body) }, settings.mailgun, NOW), { kind: 'malformed' });
    const headers = { 'x-amz-sns-topic-arn': TOPIC };
    t.match(readSes({ headers, body: Buffer.from(body) }, settings.ses, NOW, pems), { kind: 'malformed' });
  }
  const invalid = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
  t.match(readPostmark({ ...tokenCall(''), body: invalid }, settings.postmark), { kind: 'malformed' });
});

void t.test('members of wrong types are read as if they were absent', async (t) => {
  for (const wrong of [null, 1, [], {}, '', '\u0000', 'x'.repeat(5_000), true]) {
    const names = [
      'email',
      'Email',
      'Recipient',
      'recipient',
      'timestamp',
      'Metadata',
      'message',
      'CustomID',
      'bounce',
    ];
    const all = Object.fromEntries(
      [...names, 'delivery-status', 'mail', 'reason', 'error'].map((name) => [name, wrong]),
    );
    for (const provider of feedbackProviders)
      for (const event of ['bounce', 'failed', 'hard_bounce', 'Bounce', wrong]) {
        const call = callOf(provider, { ...all, event, RecordType: event, eventType: event, Type: 'HardBounce' }, NOW);
        for (const { emailId, address } of eventsIn(t, read(provider, call))) {
          if (emailId !== undefined) t.fail(`${provider} ${JSON.stringify(wrong)?.slice(0, 20)}`);
          if (address !== undefined) t.fail(`${provider} ${JSON.stringify(wrong)?.slice(0, 20)}`);
        }
      }
  }
  t.pass('none is taken for an email or an address');
});

void t.test('an event that is kept is bounded, and cut off before a text', async (t) => {
  const event = { RecordType: 'New', Recipient: ann, Metadata: { sealpost: EMAIL_ID }, Long: 'é'.repeat(9_000), x: 1 };
  const [{ payload }] = eventsIn(t, read('postmark', tokenCall(event))) as [ProviderEvent];
  t.ok(payload.length <= 4_096, String(payload.length));
  t.ok(payload.endsWith('"Long":'), payload.slice(-20));
});

void t.test('secrets: basic authentication, a bearer token and a header; nothing else', async (t) => {
  const body = Buffer.from(JSON.stringify(eventsOf.postmark('delivered', about)));
  const kindOf = (headers: ProviderCall['headers']) => readPostmark({ headers, body }, settings.postmark).kind;
  for (const headers of [
    { authorization: basic(SECRET) },
    { authorization: basic(SECRET, '') },
    { authorization: `Bearer ${SECRET}` },
    { 'x-sealpost-token': SECRET },
  ])
    t.equal(kindOf(headers), 'events', JSON.stringify(headers));
  for (const headers of [
    {},
    { authorization: '' },
    { authorization: basic(`${SECRET}x`) },
    { authorization: basic(SECRET.slice(1)) },
    { authorization: basic('', SECRET) },
    { authorization: SECRET },
    { authorization: `Bearer ${SECRET} x` },
    { 'x-sealpost-token': '' },
    { 'x-sealpost-token': SECRET.toUpperCase() },
  ])
    t.equal(kindOf(headers), 'refused', JSON.stringify(headers));
});

void t.test('SendGrid: another key, another body, another time, an old time', async (t) => {
  const event = [eventsOf.sendgrid('hard', about)];
  const good = sendgridCall(event, NOW);
  const stranger = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
  const timestamp = 'x-twilio-email-event-webhook-timestamp';
  const signature = 'x-twilio-email-event-webhook-signature';
  for (const [call, reason] of [
    [sendgridCall(event, NOW, stranger), 'signature'],
    [{ ...good, body: Buffer.concat([good.body, Buffer.from(' ')]) }, 'signature'],
    [{ ...good, headers: { ...good.headers, [timestamp]: String(NOW / 1_000 + 1) } }, 'signature'],
    [{ ...good, headers: { ...good.headers, [timestamp]: undefined } }, 'signature'],
    [{ ...good, headers: { ...good.headers, [timestamp]: 'now' } }, 'signature'],
    [{ ...good, headers: { ...good.headers, [signature]: 'AAAA' } }, 'signature'],
    [{ ...good, headers: { ...good.headers, [signature]: '' } }, 'signature'],
    [sendgridCall(event, NOW - 26 * HOUR_MS), 'time'],
    [sendgridCall(event, NOW + HOUR_MS), 'time'],
  ] as const)
    t.match(read('sendgrid', call), { kind: 'refused', reason }, reason);
  t.equal(read('sendgrid', sendgridCall(event, NOW - 24 * HOUR_MS)).kind, 'events', 'a batch that is posted again');
});

void t.test('Mailgun: another key, an old time, parts that run into each other', async (t) => {
  const event = eventsOf.mailgun('hard', about);
  t.match(read('mailgun', mailgunCall(event, NOW, { secret: 'another-secret-of-16' })), { reason: 'signature' });
  t.match(read('mailgun', mailgunCall(event, NOW - 26 * HOUR_MS)), { reason: 'time' });
  const { signature } = JSON.parse(Buffer.from(mailgunCall(event, NOW).body).toString()) as {
    signature: { timestamp: string; token: string; signature: string };
  };
  const moved = {
    ...signature,
    timestamp: signature.timestamp + signature.token.slice(0, 1),
    token: signature.token.slice(1),
  };
  for (const changed of [moved, { ...signature, signature: undefined }, {}, null, 'x'])
    t.match(read('mailgun', tokenCall({ signature: changed, 'event-data': event })), {
      kind: 'refused',
      reason: 'signature',
    });
});

void t.test('SNS: topics, hosts of certificates, signatures, times', async (t) => {
  const event = eventsOf.ses('hard', about);
  const reading = (more: object, headers = {}) => read('ses', snsCall(event, NOW, { more: { ...more }, headers }));
  t.equal(read('ses', snsCall(event, NOW, { version: '1' })).kind, 'events', 'SHA-1, which topics have by default');
  t.equal(reading({ Subject: 'Amazon SES Email Event Notification' }).kind, 'events');
  const others = 'arn:aws:sns:eu-west-1:999999999999:mail';
  t.match(reading({ TopicArn: others }), { kind: 'refused', reason: 'topic' });
  t.match(reading({ TopicArn: others }, { 'x-amz-sns-topic-arn': TOPIC }), { kind: 'refused', reason: 'topic' });
  t.match(reading({}, { 'x-amz-sns-topic-arn': undefined }), { kind: 'refused', reason: 'topic' });
  t.match(reading({}, { 'x-amz-sns-rawdelivery': 'true' }), { kind: 'refused', reason: 'signature' });
  const path = new URL(CERTIFICATE_URL).pathname;
  for (const SigningCertURL of [
    CERTIFICATE_URL.replace('https', 'http'),
    CERTIFICATE_URL.replace('.com/', '.com.evil.example/'),
    CERTIFICATE_URL.replace('sns.', 'evil.'),
    CERTIFICATE_URL.replace('eu-west-1', 'us-east-1'),
    CERTIFICATE_URL.replace('.com/', '.com:8443/'),
    CERTIFICATE_URL.replace('https://', 'https://user:password@'),
    `https://evil.example/${CERTIFICATE_URL}`,
    `https://sns.eu-west-1.amazonaws.com/evil.pem`,
    `https://sns.eu-west-1.amazonaws.com/x${path}`,
    'nonsense',
    undefined,
    1,
  ])
    t.match(reading({ SigningCertURL }), { kind: 'refused', reason: 'certificate' }, String(SigningCertURL));
  for (const change of [
    (text: string) => text.replace('user unknown', 'user unkn0wn'),
    (text: string) => text.replace('"SignatureVersion":"2"', '"SignatureVersion":"1"'),
    (text: string) => text.replace('"SignatureVersion":"2"', '"SignatureVersion":"3"'),
    (text: string) => text.replace(/"Signature":"[^"]*"/, '"Signature":"AAAA"'),
    (text: string) => text.replace(/"Signature":"[^"]*",/, ''),
    (text: string) => text.replace(/"MessageId":"[^"]*"/, '"MessageId":"another"'),
  ]) {
    const call = snsCall(event, NOW);
    const body = Buffer.from(change(Buffer.from(call.body).toString()));
    t.match(read('ses', { ...call, body }), { kind: 'refused', reason: 'signature' }, String(change));
  }
  t.match(read('ses', snsCall(event, NOW - 26 * HOUR_MS)), { kind: 'refused', reason: 'time' });
  t.match(reading({ Timestamp: 'nonsense' }), { kind: 'refused', reason: 'time' });
  t.match(readSes(snsCall(event, NOW), settings.ses, NOW, new Map([[CERTIFICATE_URL, certificate('expired')]])), {
    kind: 'refused',
    reason: 'certificate',
  });
  t.match(readSes(snsCall(event, NOW), settings.ses, NOW, new Map([[CERTIFICATE_URL, 'nonsense']])), {
    kind: 'refused',
    reason: 'signature',
  });
  t.match(readSes(snsCall(event, NOW), settings.ses, NOW, new Map()), { kind: 'certificate', url: CERTIFICATE_URL });
});

const SUBSCRIBE = `https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=${TOPIC}&Token=2336412f37`;
const confirmation = (SubscribeURL: unknown) =>
  snsCall('You have chosen to subscribe to the topic.', NOW, {
    more: { Type: 'SubscriptionConfirmation', Token: '2336412f37', SubscribeURL },
  });

void t.test('SNS: a subscription confirms itself, at SNS alone', async (t) => {
  t.same(read('ses', confirmation(SUBSCRIBE)), { kind: 'confirm', url: SUBSCRIBE });
  for (const url of [
    SUBSCRIBE.replace('sns.eu-west-1.amazonaws.com', 'evil.example'),
    SUBSCRIBE.replace('https', 'http'),
    SUBSCRIBE.replace('ConfirmSubscription', 'DeleteTopic'),
    SUBSCRIBE.replace(TOPIC, TOPIC.replace('mail', 'other')),
    'http://169.254.169.254/latest/meta-data',
    'nonsense',
  ])
    t.match(read('ses', confirmation(url)), { kind: 'malformed' }, url);
  const unsubscribed = snsCall('You have chosen to deactivate the subscription.', NOW, {
    more: { Type: 'UnsubscribeConfirmation', Token: 'x', SubscribeURL: SUBSCRIBE },
  });
  t.same(read('ses', unsubscribed), { kind: 'events', events: [] }, 'and does not subscribe again');
});

/** `answer`: of each fetch, by its URL. */
const opened = (answer: (url: string) => string) => {
  const fetched: string[] = [];
  const clock = fakeClock(NOW);
  const feedback = openProviderFeedback({
    settings,
    clock,
    outbound: {
      get: async (url) => {
        fetched.push(url);
        return { bytes: Buffer.from(answer(url)), contentType: undefined };
      },
    },
  });
  const { signal } = new AbortController();
  return {
    fetched,
    clock,
    read: (provider: FeedbackProvider, call: ProviderCall) => feedback.read(provider, call, signal),
  };
};

void t.test('the certificate is fetched once a day, and calls at once share the fetch', async (t) => {
  const { fetched, clock, read: ask } = opened(() => certificate());
  const event = eventsOf.ses('hard', about);
  const answers = await Promise.all([1, 2, 3].map(() => ask('ses', snsCall(event, NOW))));
  t.same(
    answers.map(({ kind }) => kind),
    ['events', 'events', 'events'],
  );
  t.same(fetched, [CERTIFICATE_URL]);
  await clock.advance(25 * HOUR_MS);
  t.equal((await ask('ses', snsCall(event, clock.now()))).kind, 'events');
  t.equal(fetched.length, 2);
  const more = { Type: 'SubscriptionConfirmation', Token: '2336412f37', SubscribeURL: SUBSCRIBE };
  t.same(await ask('ses', snsCall('You have chosen to subscribe.', clock.now(), { more })), { kind: 'confirmed' });
  t.equal(fetched.at(-1), SUBSCRIBE);
});

void t.test('a certificate that does not come is asked for again later, and never for a forged host', async (t) => {
  let isAway = true;
  const {
    fetched,
    clock,
    read: ask,
  } = opened(() => {
    if (isAway) throw new OutboundFault('unreachable', 'away');
    return certificate();
  });
  const event = eventsOf.ses('hard', about);
  for (let count = 0; count < 5; count += 1) t.equal((await ask('ses', snsCall(event, NOW))).kind, 'later');
  t.equal(fetched.length, 1);
  isAway = false;
  await clock.advance(11_000);
  t.equal((await ask('ses', snsCall(event, NOW))).kind, 'events');
  const forged = snsCall(event, NOW, {
    more: { SigningCertURL: 'https://evil.example/SimpleNotificationService-0.pem' },
  });
  t.equal((await ask('ses', forged)).kind, 'refused');
  t.equal(fetched.length, 2);
});

void t.test('a token of Mailgun is good for one body, which may come again', async (t) => {
  const { read: ask } = opened(() => '');
  const token = 'f'.repeat(50);
  const call = mailgunCall(eventsOf.mailgun('delivered', about), NOW, { token });
  t.equal((await ask('mailgun', call)).kind, 'events');
  t.equal((await ask('mailgun', call)).kind, 'events');
  t.match(await ask('mailgun', mailgunCall(eventsOf.mailgun('hard', about), NOW, { token })), {
    kind: 'refused',
    reason: 'replayed',
  });
});

/**
 * Events of mail providers become what reports become, for recipients of their email alone, once, and without a trace of
 * what is destroyed.
 */
import t, { type Test } from 'tap';
import { handle } from '../../src/commands/core/handle.js';
import { openReturnPath } from '../../src/domain/email/feedback.js';
import {
  assertDefined,
  emailStream,
  parseEmailId,
  suppressionStream,
  type EmailId,
} from '../../src/domain/core/ids.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { isoTime } from '../../src/domain/core/time.js';
import { emailDecider, type EmailCommand } from '../../src/domain/email/decider.js';
import {
  feedbackProviders,
  type FeedbackProvider,
  type ProviderCall,
} from '../../src/domain/ports/provider-feedback.js';
import { echoHeaders, isEchoHeader } from '../../src/domain/email/feedback.js';
import { suppressionIdOf } from '../../src/commands/recipients/suppression-check.js';
import { openReportReader } from '../../src/adapters/feedback/read-report.js';
import { recordProviderEvents } from '../../src/commands/recipients/provider-events.js';
import { caller, openWorld, simple, TEAM, welcome, type World } from '../support/command-world.js';
import { HOST, outcome } from '../support/email-facts.js';
import { inLeaps } from '../support/fake-clock.js';
import {
  callOf,
  certificate,
  eventsOf,
  providerSettings,
  snsCall,
  tokenCall,
  type Told,
} from '../support/provider-calls.js';

const ann = 'ann@example.org';
const bob = 'bob@example.org';

type Noted = readonly [string, string, object | undefined];

type ProviderWorld = World &
  Readonly<{
    /** Accepts an email, and delivers it to the relay unless `stays` says in which state it is left. */
    sent: (to?: readonly string[], stays?: 'queued' | 'processing', templateId?: string) => Promise<EmailId>;
    /** Records a command of the email by itself. */
    does: (id: EmailId, command: EmailCommand) => Promise<void>;
    post: (provider: FeedbackProvider, call: ProviderCall) => ReturnType<World['commands']['recordProviderEvents']>;
    tell: (
      provider: FeedbackProvider,
      told: Told,
      about: Readonly<{ id: EmailId; address?: string; event?: string }>,
    ) => ReturnType<World['commands']['recordProviderEvents']>;
    typesOf: (id: EmailId) => Promise<readonly string[]>;
    statusesOf: (id: EmailId) => Promise<readonly string[]>;
    noted: readonly Noted[];
    now: () => string;
  }>;

const open = async (): Promise<ProviderWorld> => {
  const world = await openWorld({}, undefined, { providers: providerSettings });
  const noted: Noted[] = [];
  const { clock } = world;
  const deps = {
    ...world.deps,
    noteProviderEvent: (...about: Parameters<NonNullable<World['deps']['noteProviderEvent']>>) =>
      void noted.push([about[0], about[1], about[2]]),
  };
  // The certificate of SNS is fetched from nowhere.
  const outbound = { get: async () => ({ bytes: Buffer.from(certificate()), contentType: undefined }) };
  const { openProviderFeedback } = await import('../../src/adapters/feedback/providers/provider-feedback.js');
  Object.assign(deps, { providerFeedback: openProviderFeedback({ settings: providerSettings, outbound, clock }) });
  await world.commands.createTemplate(caller, welcome);
  await world.commands.createTemplate(caller, { ...welcome, slug: 'news', unsubscribeList: 'newsletter' });
  const now = (): string => isoTime(clock.now());
  const does = async (id: EmailId, command: EmailCommand): Promise<void> => {
    const cause = { teamId: TEAM, actor: 'test', correlationId: 'test', causationId: 'test', at: now() };
    await handle(deps.eventLog, emailStream(id), emailDecider, command, cause);
  };
  const sent: ProviderWorld['sent'] = async (to = [ann], stays, templateId = 'welcome') => {
    const { body } = await world.commands.sendEmail(caller, simple({ templateId, to: to.map((email) => ({ email })) }));
    const id = assertDefined(parseEmailId(body.id), 'email id');
    if (stays === 'queued') return id;
    const deadlineAt = isoTime(clock.now() + 60_000);
    await does(id, { type: 'AttemptDelivery', at: now(), host: HOST, worker: 'a', deadlineAt, workerGone: false });
    if (stays === 'processing') return id;
    const outcomes = to.map((_, index) => outcome(index, 'accepted'));
    const given = { attempt: 1, at: now(), host: HOST, durationMs: 1, final: false, schedule: { delaysMs: [60_000] } };
    await does(id, { type: 'RecordOutcome', ...given, outcomes });
    return id;
  };
  const post: ProviderWorld['post'] = (provider, call) =>
    recordProviderEvents(deps, { name: provider, call, requestId: 'request-1' });
  return {
    ...world,
    noted,
    now,
    does,
    sent,
    post,
    tell: (provider, told, { id, address = ann, event = '1' }) =>
      post(
        provider,
        callOf(provider, eventsOf[provider](told, { emailId: id, address, at: now(), id: event }), clock.now()),
      ),
    typesOf: async (id) => (await world.events(emailStream(id))).map(({ type }) => type),
    statusesOf: async (id) => (await world.commands.getEmail(caller, id)).recipients.map(({ status }) => status),
  };
};

const COMING = ['EmailQueued', 'DeliveryAttempted', 'EmailSent'];

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
  } catch (fault) {
    if (fault instanceof DomainError) return fault.code;
    throw fault;
  }
  return 'none';
};

for (const provider of feedbackProviders)
  void t.test(`${provider}: a delivery, a bounce, a complaint, an unsubscribe`, async (t) => {
    const world = await open();
    const { sent, tell, typesOf, statusesOf, commands, deps, events } = world;
    const one = await sent();
    t.match(await tell(provider, 'delayed', { id: one }), { events: 1, unchanged: 1 });
    t.match(await tell(provider, 'open', { id: one }), { events: 1, ignored: 1 });
    t.same(await typesOf(one), COMING, 'nothing is final');
    t.match(await tell(provider, 'delivered', { id: one }), { events: 1, recorded: 1 });
    t.match(await commands.getEmail(caller, one), { status: 'delivered' });
    t.match(await tell(provider, 'hard', { id: one, event: '2' }), { recorded: 1 });
    t.match(await commands.getEmail(caller, one), {
      status: 'bounced',
      recipients: [{ bounceType: 'hard', bounceSubType: 'no-such-mailbox', reply: /\w/ }],
    });
    t.match((await deps.eventLog.load(emailStream(one))).at(-1)!.metadata, { actor: `provider:${provider}` });
    const two = await sent();
    t.match(await tell(provider, 'complaint', { id: two }), { recorded: 1 });
    t.match(await commands.getEmail(caller, two), { status: 'complained', feedbackType: 'abuse' });
    const three = await sent([ann], undefined, 'news');
    t.match(await tell(provider, 'unsubscribe', { id: three }), { recorded: 1 });
    t.match(await tell(provider, 'unsubscribe', { id: three, event: '2' }), { unchanged: 1 });
    t.match(await events(suppressionStream(suppressionIdOf(deps, TEAM, ann, 'newsletter'))), [
      { type: 'AddressSuppressed', data: { reason: 'unsubscribe', list: 'newsletter', emailId: three } },
    ]);
    t.same(await statusesOf(three), ['sent']);
    const four = await sent([bob]);
    t.match(await tell(provider, 'unsubscribe', { id: four, address: bob }), { recorded: 1 });
    t.match(await commands.checkSuppression(caller, bob), { suppression: { reason: 'unsubscribe', list: null } });
  });

void t.test('an event that comes again changes nothing', async (t) => {
  const { sent, tell, typesOf, now, statusesOf, post } = await open();
  const id = await sent();
  const blocked = tokenCall({
    ...eventsOf.postmark('hard', { emailId: id, address: ann, at: now() }),
    Type: 'Blocked',
    Details: 'smtp;550 5.7.1 blocked for spam',
  });
  t.match(await post('postmark', blocked), { recorded: 1 });
  const types = await typesOf(id);
  t.match(await post('postmark', blocked), { unchanged: 1 });
  t.same(await typesOf(id), types);
  t.same(await statusesOf(id), ['bounced']);
  await tell('sendgrid', 'hard', { id, event: 'later' });
  t.same(await typesOf(id), types, 'nor does one of another id that says the same');
  const both = await sent([ann, bob]);
  const event = eventsOf.mailjet('delivered', { emailId: both, address: bob, at: now() });
  t.match(await post('mailjet', tokenCall([event, event, event])), { events: 3, recorded: 1, unchanged: 2 });
  const answers = await Promise.all([1, 2, 3, 4].map(() => tell('brevo', 'delivered', { id: both })));
  t.equal(
    answers.reduce((sum, { recorded }) => sum + recorded, 0),
    1,
    'at once, too',
  );
  t.same(await statusesOf(both), ['delivered', 'delivered']);
});

void t.test('an address that was not a recipient, and a kind that is unknown: kept, sealed, bounded', async (t) => {
  const world = await open();
  const { sent, tell, typesOf, statusesOf, events, noted } = world;
  const id = await sent([ann, bob]);
  t.match(await tell('sendgrid', 'hard', { id, address: 'stranger@example.org' }), { kept: 1 });
  t.match(await tell('sendgrid', 'new', { id }), { kept: 1 });
  t.match(await tell('sendgrid', 'new', { id }), { unchanged: 1 }, 'once');
  t.same(await statusesOf(id), ['sent', 'sent']);
  const kept = (await events(emailStream(id))).filter(({ type }) => type === 'ProviderEventKept');
  t.match(kept, [
    { data: { provider: 'sendgrid', recipients: [] }, sealed: { payload: /stranger@example\.org/ } },
    { data: { provider: 'sendgrid', recipients: [0] }, sealed: { payloads: [/vanished/] } },
  ]);
  t.match(noted, [
    ['sendgrid', 'kept', { emailId: id }],
    ['sendgrid', 'kept', { emailId: id }],
    ['sendgrid', 'unchanged', {}],
  ]);
  for (let count = 0; count < 30; count += 1) await tell('sendgrid', 'new', { id, event: `more ${count}` });
  t.equal((await typesOf(id)).filter((type) => type === 'ProviderEventKept').length, 20);
});

void t.test('what is destroyed stays so: archived and deleted emails, erased recipients', async (t) => {
  const { sent, tell, does, now, typesOf, clock, events, deps } = await open();
  const [archived, both] = [await sent(), await sent([ann, bob])];
  await tell('mailgun', 'new', { id: both, address: ann });
  await tell('mailgun', 'new', { id: both, address: 'other@example.org', event: '2' });
  await does(both, { type: 'EraseRecipients', at: now(), recipients: [0] });
  const before = await typesOf(both);
  for (const told of ['hard', 'new', 'complaint', 'unsubscribe'] as const)
    t.match(await tell('mailgun', told, { id: both, address: ann, event: `after ${told}` }), { gone: 1 }, told);
  t.same(await typesOf(both), before);
  t.match(await tell('mailgun', 'hard', { id: both, address: bob, event: '3' }), { recorded: 1 }, 'the others go on');
  await clock.advance(40 * 86_400_000);
  await does(archived, { type: 'ArchiveEmail', at: now(), retentionMs: 1 });
  const gone = await sent();
  await does(gone, { type: 'DeleteEmail', at: now() });
  for (const id of [archived, gone])
    for (const told of ['hard', 'new', 'unsubscribe'] as const) {
      const types = await typesOf(id);
      t.match(await tell('postmark', told, { id, event: '7' }), { gone: 1 }, told);
      t.same(await typesOf(id), types);
    }
  t.same(await events(suppressionStream(suppressionIdOf(deps, TEAM, ann))), []);
});

void t.test('emails of others, and events without an id, are counted and not stored', async (t) => {
  const { tell, post, store, noted } = await open();
  const head = await store.head();
  const foreign = assertDefined(parseEmailId('0198f000-0000-7000-8000-0000000000ff'), 'id');
  t.match(await tell('postmark', 'hard', { id: foreign }), { foreign: 1 });
  t.match(await tell('postmark', 'new', { id: foreign }), { foreign: 1 });
  t.match(await post('postmark', tokenCall({ RecordType: 'Bounce', Type: 'HardBounce', Email: ann })), { foreign: 1 });
  t.equal(await store.head(), head);
  t.same(
    noted.map(([, outcome]) => outcome),
    ['foreign', 'foreign', 'foreign'],
  );
});

void t.test('an event that comes while its email is in delivery comes again, or waits for the end', async (t) => {
  const { sent, tell, does, now, statusesOf, clock } = await open();
  const id = await sent([ann], 'processing');
  t.equal(await codeOf(inLeaps(clock, tell('sendgrid', 'delivered', { id }))), 'FEEDBACK_NOT_TAKEN');
  t.same(await statusesOf(id), ['queued']);
  const waiting = tell('sendgrid', 'delivered', { id });
  const given = { attempt: 1, at: now(), host: HOST, durationMs: 1, final: false, schedule: { delaysMs: [60_000] } };
  await does(id, { type: 'RecordOutcome', ...given, outcomes: [outcome(0, 'accepted')] });
  t.match(await inLeaps(clock, waiting), { recorded: 1 });
  t.same(await statusesOf(id), ['delivered']);
  const early = await sent([ann], 'queued');
  t.match(await tell('sendgrid', 'delivered', { id: early }), { unchanged: 1 }, 'before any attempt');
});

void t.test('SES: several recipients, a complaint that names none, an id of the return path', async (t) => {
  const { sent, post, statusesOf, commands, clock, keys, deps, now } = await open();
  const id = await sent([ann, bob]);
  const mail = { destination: [ann, bob], headers: [{ name: 'X-Sealpost-Id', value: id }] };
  const delivery = { eventType: 'Delivery', mail, delivery: { recipients: [ann, bob], timestamp: now() } };
  t.match(await post('ses', snsCall(delivery, clock.now())), { events: 2, recorded: 2 });
  t.same(await statusesOf(id), ['delivered', 'delivered']);
  const complained = {
    eventType: 'Complaint',
    mail,
    complaint: { complainedRecipients: [{ emailAddress: ann }, { emailAddress: bob }], complaintFeedbackType: 'abuse' },
  };
  t.match(await post('ses', snsCall(complained, clock.now())), { recorded: 1 });
  t.match(await commands.getEmail(caller, id), { complainedAt: /\d/ });
  t.same(await statusesOf(id), ['delivered', 'delivered'], 'nobody is said to have complained');

  const returnPath = openReturnPath('bounces.example.com', keys);
  const at = { domain: 'bounces.example.com', host: 'bounces.example.com' };
  const withPath = { ...deps, feedback: { returnPath, at, reader: openReportReader() } };
  const other = await sent();
  const source = `Shop <${returnPath.senderOf(other)}>`;
  const bounce = { ...eventsOf.ses('hard', { emailId: '', address: ann, at: now() }), mail: { source } };
  const { openProviderFeedback } = await import('../../src/adapters/feedback/providers/provider-feedback.js');
  const outbound = { get: async () => ({ bytes: Buffer.from(certificate()), contentType: undefined }) };
  const providerFeedback = openProviderFeedback({ settings: providerSettings, outbound, clock });
  t.match(
    await recordProviderEvents(
      { ...withPath, providerFeedback },
      { name: 'ses', call: snsCall(bounce, clock.now()), requestId: 'r' },
    ),
    { recorded: 1 },
  );
  t.same(await statusesOf(other), ['bounced']);
});

void t.test('SendGrid: who leaves a group leaves the list of the mail; without one it is kept', async (t) => {
  const { sent, post, clock, now, commands } = await open();
  const event = (id: EmailId) => ({
    ...eventsOf.sendgrid('unsubscribe', { emailId: id, address: ann, at: now() }),
    event: 'group_unsubscribe',
  });
  t.match(await post('sendgrid', callOf('sendgrid', event(await sent()), clock.now())), { kept: 1 });
  t.match(await commands.checkSuppression(caller, ann), { suppressed: false });
  const news = await sent([ann], undefined, 'news');
  t.match(await post('sendgrid', callOf('sendgrid', event(news), clock.now())), { recorded: 1 });
  t.match(await commands.checkSuppression(caller, ann, 'newsletter'), { suppression: { list: 'newsletter' } });
});

void t.test('an unsubscribe from before the address was taken off the list changes nothing', async (t) => {
  const { sent, post, now, commands, clock } = await open();
  const id = await sent();
  const old = tokenCall(eventsOf.brevo('unsubscribe', { emailId: id, address: ann, at: now() }));
  await post('brevo', old);
  const { suppression } = await commands.checkSuppression(caller, ann);
  await clock.advance(1_000);
  await commands.removeSuppression(caller, suppression!.id as never);
  t.match(await post('brevo', old), { unchanged: 1 });
  t.match(await commands.checkSuppression(caller, ann), { suppressed: false });
});

void t.test('addresses with another case, and domains in A-labels, are those of the email', async (t) => {
  const { sent, tell, statusesOf } = await open();
  const id = await sent(['Ann@EXAMPLE.org', 'kai@münchen.example']);
  t.match(await tell('mailgun', 'delivered', { id, address: 'ann@example.ORG' }), { recorded: 1 });
  t.match(await tell('mailgun', 'delivered', { id, address: 'kai@xn--mnchen-3ya.example', event: '2' }), {
    recorded: 1,
  });
  t.same(await statusesOf(id), ['delivered', 'delivered']);
});

void t.test('a provider that is not set up, an unknown one, and forged calls: nothing is stored', async (t) => {
  const { post, store, noted, commands, now } = await open();
  const bare = await openWorld();
  const call = tokenCall({});
  for (const provider of feedbackProviders)
    t.equal(
      await codeOf(bare.commands.recordProviderEvents({ name: provider, call, requestId: 'r' })),
      'FEEDBACK_PROVIDER_NOT_SET_UP',
    );
  for (const name of ['nobody', '__proto__', 'constructor', 'SES'])
    t.equal(await codeOf(commands.recordProviderEvents({ name, call, requestId: 'r' })), 'NOT_FOUND');
  const head = await store.head();
  const forged = tokenCall(eventsOf.postmark('hard', { emailId: '', address: ann, at: now() }), 'another-secret-of-16');
  for (const provider of ['postmark', 'sendgrid', 'mailgun', 'ses'] as const) {
    t.equal(await codeOf(post(provider, forged)), 'FEEDBACK_REFUSED', provider);
    t.match(noted.at(-1), [provider, 'refused', { reason: /^[a-z]+$/ }]);
  }
  t.equal(await codeOf(post('postmark', tokenCall('nonsense'))), 'MALFORMED_JSON');
  t.equal(await store.head(), head);
});

void t.test('mails that never left: addresses of the simulator, and test keys', async (t) => {
  const { sent, tell, typesOf, commands, deps } = await open();
  const address = 'delivered@simulator.sealpost';
  const simulated = await sent([address], 'queued');
  for (const told of ['hard', 'complaint', 'unsubscribe', 'new'] as const)
    t.match(await tell('postmark', told, { id: simulated, address, event: '11' }), { unchanged: 1 }, told);
  t.same(await typesOf(simulated), ['EmailQueued']);
  t.match(await commands.checkSuppression(caller, address), { suppressed: false });
  const key = {
    ...caller,
    key: { id: 'key_test', expiresAt: null, rateLimit: null, madeBy: [], networks: null, test: true },
  };
  const { body } = await commands.sendEmail(key as never, simple());
  const test = assertDefined(parseEmailId(body.id), 'email id');
  t.match((await deps.eventLog.load(emailStream(test)))[0]!.event, { data: { test: true } });
  t.match(await tell('postmark', 'unsubscribe', { id: test }), { foreign: 1 });
  t.match(await commands.checkSuppression(caller, ann), { suppressed: false });
});

void t.test('headers by which providers repeat the id', async (t: Test) => {
  const id = assertDefined(parseEmailId('0198f000-0000-7000-8000-00000000000a'), 'id');
  const given = [
    { name: 'x-smtpapi', value: '{"category":["a"],"unique_args":{"order":"7","sealpost":"forged"}}' },
    { name: 'X-Mailgun-Variables', value: 'nonsense' },
    { name: 'X-PM-Metadata-SEALPOST', value: 'forged' },
    { name: 'X-Other', value: 'kept' },
  ];
  const own = Object.fromEntries(echoHeaders(given, feedbackProviders, id).map(({ name, value }) => [name, value]));
  t.same(own['X-Sealpost-Id'], id);
  t.same(own['X-PM-Metadata-sealpost'], id);
  t.same(own['X-MJ-CustomID'], id);
  t.same(JSON.parse(own['X-SMTPAPI']!), { category: ['a'], unique_args: { order: '7', sealpost: id } });
  t.same(JSON.parse(own['X-Mailgun-Variables']!), { sealpost: id });
  t.same(JSON.parse(own['X-Mailin-custom']!), { sealpost: id });
  t.same(
    given.map(({ name }) => isEchoHeader(name, feedbackProviders)),
    [true, true, true, false],
  );
  t.same(echoHeaders(given, [], id), []);
});

/**
 * Several different emails in one call as a command: a result for each, all or none, what an Idempotency-Key promises
 * after a fault at any append, and credits that are exact to the last one.
 */
import t from 'tap';
import type { SendEmailRequest, SendEmailResponse } from '../../src/api/email.js';
import type { SendEmailsRequest, SendEmailsResponse } from '../../src/api/several-emails.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import { dryRunEmails, sendEmails } from '../../src/commands/email/several.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import type { BillingChanges } from '../../src/domain/teams/decider.js';
import { AppendUnknown, StoreAway } from '../../src/domain/core/errors.js';
import { assertDefined, emailStream, parseEmailId, type StreamName } from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import type { EmailAccepted } from '../../src/domain/email/events.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import {
  caller,
  commandsOfTest,
  nothingUsed,
  schemaSaying,
  simple,
  stranger,
  TEAM,
  welcome,
  withTemplate,
  type World,
} from '../support/command-world.js';
import { refusedWith } from '../support/given.js';

const idOf = (id: string) => assertDefined(parseEmailId(id), 'email id');
const to = (name: string) => ({ to: [{ email: `${name}@example.org` }] });
const unknown = simple({ templateId: 'no-such-template' });
const inline = (subject: string): SendEmailRequest => ({ content: { subject, html: '<p>hi</p>' }, ...to('cyd') });

const metered = async (balance: number, changes: BillingChanges = { billing: 'credits' }) => {
  const world = await withTemplate();
  const cause = {
    teamId: TEAM,
    actor: 'test',
    correlationId: 'test',
    causationId: 'test',
    at: isoTime(world.clock.now()),
  };
  await changeBilling(world.deps, TEAM, changes, cause, nothingUsed);
  await world.deps.credits.reserve(
    TEAM,
    'batch-before' as StreamName,
    { emails: 1_000 - balance, attachments: 0 },
    cause,
  );
  return world;
};

const balance = async ({ credits }: CommandNeeds) => (await credits.quote(TEAM)).creditsRemaining;

const acceptedIn = ({ results }: SendEmailsResponse) =>
  results.filter((one): one is typeof one & SendEmailResponse => one.id !== undefined);

const states = ({ results }: SendEmailsResponse) =>
  results.map(({ status, error }) => (error === undefined ? status : `${status} ${error.code}`));

/** First events of emails in the log. */
const queued = ({ store }: World) => store.events.filter(({ type }) => /^Email(?:Queued|Scheduled)/.test(type));

const firstEvent = async (world: World, id: string) =>
  (await world.events(emailStream(idOf(id))))[0] as EmailAccepted | undefined;

void t.test('each email has the answer of the send call, or its refusal, at its place', async (t) => {
  const world = await withTemplate();
  const emails = [
    simple({ tags: ['order'], metadata: { order: 4 }, replyTo: 'help@example.com' }),
    unknown,
    inline('Lunch'),
    simple({ variables: {} }),
    simple({ to: [{ email: 'no address' }] }),
    simple({ scheduledAt: '2030-01-01T15:00:00+02:00', priority: 'high' }),
  ];
  const { body, replayed } = await world.commands.sendEmails(caller, { emails });
  t.notOk(replayed);
  t.match({ accepted: body.accepted, refused: body.refused }, { accepted: 3, refused: 3 });
  t.same(
    body.results.map(({ index }) => index),
    [0, 1, 2, 3, 4, 5],
  );
  for (const [place, email] of emails.entries()) {
    const result = body.results[place]!;
    const alone = await world.commands.sendEmail(caller, email).then(
      ({ body: answer }) => answer,
      (fault: { code: string; message: string; details: object }) => fault,
    );
    if (result.error !== undefined) {
      t.match(alone, { code: result.error.code, message: result.error.message }, `email ${place}`);
      t.same((alone as unknown as { details: { errors?: object } }).details.errors, result.error.errors);
    } else {
      const single = alone as SendEmailResponse;
      t.same({ ...result, id: single.id, messageId: single.messageId }, { index: place, ...single }, `email ${place}`);
    }
  }
  t.equal(queued(world).length, 6, 'three of the call and three alone');
  const [first, second] = acceptedIn(body);
  const pinned = (await firstEvent(world, first!.id))!;
  t.match(pinned.data, { tags: ['order'], at: first!.queuedAt, call: undefined, fingerprint: undefined });
  t.match(pinned.sealed, { metadata: { order: 4 }, replyTo: 'help@example.com', refusals: undefined });
  t.match(await firstEvent(world, second!.id), { data: { templateId: 'inline' }, sealed: { subject: 'Lunch' } });
  t.match(await world.commands.getEmail(caller, idOf(first!.id)), { status: 'queued', tags: ['order'] });
});

void t.test('all or none: one refused email refuses the call, with every fault by its place', async (t) => {
  const world = await withTemplate();
  const before = world.store.events.length;
  const emails = [simple(), unknown, simple({ to: [{ email: 'no address' }] })];
  const fault = await refusedWith(t, world.commands.sendEmails(caller, { emails, allOrNone: true }), 'EMAILS_REFUSED');
  t.match(fault?.details, {
    errors: [
      { field: 'emails[1]', code: 'ERR_TMPL_002', message: /no email template/ },
      { field: 'emails[2].to[0].email', code: 'ERR_EMAIL_001', message: /has no @/ },
    ],
    relatedInfo: { refused: 2, emails: 3 },
  });
  t.equal(world.store.events.length, before, 'nothing is written');
  t.equal(world.files.stored.size, 0);
  const whole = await world.commands.sendEmails(caller, { emails: [simple(), inline('a')], allOrNone: true });
  t.same(states(whole.body), ['queued', 'queued']);
});

void t.test('files of refused emails and of refused calls do not stay', async (t) => {
  const world = await metered(1);
  const file = { filename: 'a.txt', contentType: 'text/plain', content: Buffer.from('text').toString('base64') };
  const withFile = simple({ attachments: [file] });
  const emails = [withFile, withFile];
  await refusedWith(t, world.commands.sendEmails(caller, { emails, allOrNone: true }), 'QUOTA_EXCEEDED');
  await refusedWith(
    t,
    world.commands.sendEmails(caller, { emails: [withFile, unknown], allOrNone: true }),
    'EMAILS_REFUSED',
  );
  t.equal(world.files.stored.size, 0);
  t.same(states((await world.commands.sendEmails(caller, { emails })).body), ['queued', 'refused QUOTA_EXCEEDED']);
  t.equal(world.files.stored.size, 1);
});

void t.test('credits are exact to the last one', async (t) => {
  void t.test('without all or none the first emails get them', async (t) => {
    const world = await metered(3);
    const emails = [unknown, ...Array.from({ length: 5 }, () => simple())];
    const { body } = await world.commands.sendEmails(caller, { emails });
    t.same(states(body), [
      'refused ERR_TMPL_002',
      ...['queued', 'queued', 'queued'],
      ...['refused QUOTA_EXCEEDED', 'refused QUOTA_EXCEEDED'],
    ]);
    t.equal(await balance(world.deps), 0);
    for (const { id } of acceptedIn(body))
      t.match((await firstEvent(world, id))!.data.charged, { reference: `email-${id}`, emails: 1 });
  });
  void t.test('all or none: one too few accepts nothing and takes nothing', async (t) => {
    const world = await metered(4);
    const request = { emails: Array.from({ length: 5 }, () => simple()), allOrNone: true };
    const fault = await refusedWith(t, world.commands.sendEmails(caller, request), 'QUOTA_EXCEEDED');
    t.match(fault?.details.relatedInfo, { needed: 5, remaining: 4 });
    t.equal(await balance(world.deps), 4);
    t.equal(queued(world).length, 0);
    const { body } = await world.commands.sendEmails(caller, { ...request, emails: request.emails.slice(1) });
    t.equal(body.accepted, 4);
    t.equal(await balance(world.deps), 0);
  });
  void t.test('calls at once never take more than there is', async (t) => {
    const world = await metered(25);
    const others = commandsOfTest(world.elsewhere());
    const request = { emails: Array.from({ length: 10 }, () => simple()) };
    const answers = await Promise.all([
      world.commands.sendEmails(caller, request),
      others.sendEmails(caller, request),
      world.commands.sendEmails(caller, request),
      others.sendEmails(caller, { ...request, allOrNone: true }).catch(() => ({ body: { accepted: 0 } })),
    ]);
    const accepted = answers.reduce((sum, { body }) => sum + body.accepted, 0);
    t.equal(accepted, 25);
    t.equal(queued(world).length, 25);
    t.equal(await balance(world.deps), 0);
  });
  void t.test('a test key costs nothing', async (t) => {
    const world = await metered(1);
    const tester = { ...caller, key: { ...caller.key!, test: true } as NonNullable<typeof caller.key> };
    const { body } = await world.commands.sendEmails(tester, { emails: [simple(), simple(), simple()] });
    t.equal(body.accepted, 3);
    t.match((await firstEvent(world, acceptedIn(body)[0]!.id))!.data, { test: true, charged: undefined });
    t.equal(await balance(world.deps), 1);
  });
});

void t.test('emails to suppressed recipients are recorded, and cost nothing', async (t) => {
  const world = await metered(1);
  await world.commands.addSuppression(caller, { email: 'ann@example.org' });
  const { body } = await world.commands.sendEmails(caller, { emails: [simple(), simple(to('ben'))] });
  t.same(states(body), ['queued', 'queued']);
  t.match(await world.commands.getEmail(caller, idOf(acceptedIn(body)[0]!.id)), { failureReason: 'suppressed' });
  t.equal(await balance(world.deps), 0);
});

const keyed = (request: SendEmailsRequest, key = 'k') => [caller, request, { key, body: request }] as const;

void t.test('Idempotency-Key: the same results byte for byte, refusals too; another body is refused', async (t) => {
  const world = await withTemplate();
  const emails = [unknown, simple({ to: [{ email: 'no address' }] }), simple(), inline('b'), unknown];
  const request: SendEmailsRequest = { emails };
  const before = world.store.events.length;
  const other = commandsOfTest(world.elsewhere());
  const answers = await Promise.all([
    world.commands.sendEmails(...keyed(request)),
    world.commands.sendEmails(...keyed(request)),
    other.sendEmails(...keyed(request)),
  ]);
  // Refused emails stay refused, and accepted ones stay accepted.
  await world.commands.createTemplate(caller, { ...welcome, slug: 'no-such-template', schema: schemaSaying('there') });
  await world.commands.deleteTemplate(caller, 'welcome');
  answers.push(await world.commands.sendEmails(...keyed(request)), await other.sendEmails(...keyed(request)));
  for (const { body } of answers) t.equal(JSON.stringify(body), JSON.stringify(answers[0]!.body));
  t.same(states(answers[0]!.body), [
    'refused ERR_TMPL_002',
    'refused ERR_EMAIL_001',
    'queued',
    'queued',
    'refused ERR_TMPL_002',
  ]);
  t.equal(answers.at(-1)!.replayed, true);
  t.equal(queued(world).length, 2);
  t.ok(world.store.events.length > before);

  const [first] = acceptedIn(answers[0]!.body);
  const event = (await firstEvent(world, first!.id))!;
  t.match(event.data.call, { index: 2, refused: [{ index: 0 }, { index: 1, code: 'ERR_EMAIL_001' }, { index: 4 }] });
  t.notMatch(
    world.store.events.map(({ data }) => data).join(''),
    /no-such-template"\.|no @/,
    'why they were refused is sealed',
  );

  for (const changed of [
    { emails: emails.slice(0, 2) },
    { emails: [...emails, simple()] },
    { ...request, allOrNone: true },
    { emails: [simple()] },
  ])
    for (const commands of [world.commands, other])
      await refusedWith(t, commands.sendEmails(...keyed(changed)), 'IDEMPOTENCY_KEY_REUSED');
  t.equal(queued(world).length, 2);

  await world.commands.createTemplate(stranger, welcome);
  const theirs = await world.commands.sendEmails(stranger, request, { key: 'k', body: request });
  t.not(acceptedIn(theirs.body)[0]!.id, first!.id, 'keys belong to a team');
  const single = await world.commands.sendEmail(caller, inline('c'), { key: 'k', body: inline('c') });
  t.notOk(
    acceptedIn(answers[0]!.body).some(({ id }) => id === single.body.id),
    'and to an endpoint',
  );

  await world.commands.deleteEmail(caller, idOf(first!.id));
  const later = await world.commands.sendEmails(...keyed(request));
  t.equal(later.body.accepted, 2);
  t.match(later.body.results[1], { status: 'refused', error: { code: 'ERR_EMAIL_001', message: /not kept/ } });
});

void t.test('if every email is refused nothing is stored, and a repetition tries again', async (t) => {
  const world = await withTemplate();
  const request = { emails: [unknown, unknown] };
  const before = world.store.events.length;
  t.match(await world.commands.sendEmails(...keyed(request)), { replayed: false, body: { accepted: 0, refused: 2 } });
  t.equal(world.store.events.length, before);
  await world.commands.createTemplate(caller, { ...welcome, slug: 'no-such-template' });
  t.match(await world.commands.sendEmails(...keyed(request)), { replayed: false, body: { accepted: 2, refused: 0 } });
});

/** Appends of emails fail from that one on, as where the program dies; `isWritten`: the first of them takes effect. */
const dying = (eventLog: EventLog, fromCall: number, error: Error, isWritten = false) => {
  let calls = 0;
  const port: EventLog = {
    ...eventLog,
    append: async (...given) => {
      calls += 1;
      const call = calls;
      if (call < fromCall) return eventLog.append(...given);
      if (call === fromCall && isWritten) await eventLog.append(...given);
      throw error;
    },
  };
  return { port, hasDied: () => calls >= fromCall };
};

const away = new StoreAway('away');
const lost = new AppendUnknown('email-1', new Error('lost'));

void t.test('a fault at each append: the repetition completes the call, and no email is there twice', async (t) => {
  for (const allOrNone of [false, true])
    for (const [error, isWritten] of [
      [away, false],
      [lost, false],
      [lost, true],
    ] as const)
      for (let failCall = 1, isOver = false; !isOver; failCall += 1) {
        const world = await metered(100);
        const emails = allOrNone
          ? [simple(), simple(), inline('a'), simple()]
          : [unknown, simple(), unknown, inline('a'), simple()];
        const request: SendEmailsRequest = { emails, ...(allOrNone && { allOrNone }) };
        const good = emails.filter((one) => one !== unknown).length;
        const { port, hasDied } = dying(world.deps.eventLog, failCall, error, isWritten);
        const name = `append ${failCall}, ${error.name}${isWritten ? ', written' : ''}`;
        const first = await sendEmails({ ...world.deps, eventLog: port }, ...keyed(request)).then(
          ({ body }) => body,
          (fault: unknown) => fault,
        );
        isOver = !hasDied();
        if (!isOver) t.equal(first, error, name);
        const elsewhere = commandsOfTest(world.elsewhere());
        const answers = [await elsewhere.sendEmails(...keyed(request)), await elsewhere.sendEmails(...keyed(request))];
        t.equal(answers[1]!.replayed, true, name);
        t.equal(JSON.stringify(answers[0]!.body), JSON.stringify(answers[1]!.body), name);
        t.equal(answers[0]!.body.accepted, good, name);
        t.equal(queued(world).length, good, name);
        t.equal(new Set(queued(world).map(({ stream }) => stream)).size, good, name);
        t.equal(await balance(world.deps), 100 - good, name);
        if (isOver) t.equal(failCall, good + 1, 'every append has failed once');
      }
});

void t.test('a call that stays unrepeated has its accepted emails; credits of the others come back', async (t) => {
  const world = await metered(100);
  const request: SendEmailsRequest = { emails: [simple(), simple(), simple()] };
  const { port } = dying(world.deps.eventLog, 2, away);
  await t.rejects(sendEmails({ ...world.deps, eventLog: port }, ...keyed(request)), away);
  t.equal(queued(world).length, 1);
  await world.clock.advance(120_000);
  const cause = { teamId: TEAM, actor: 'test', correlationId: 'c', causationId: 'c', at: isoTime(world.clock.now()) };
  await world.deps.credits.settle(TEAM, cause);
  t.equal(await balance(world.deps), 99);
  // The repetition comes later still: the streams of the missing emails are blocked, so they get other ids.
  const late = await world.commands.sendEmails(...keyed(request));
  t.equal(late.body.accepted, 3);
  t.equal(queued(world).length, 3);
  t.equal(await balance(world.deps), 97);
  t.equal(JSON.stringify((await world.commands.sendEmails(...keyed(request))).body), JSON.stringify(late.body));
});

void t.test('a call that died between its reservations and its first append begins anew with other ids', async (t) => {
  const world = await metered(100);
  const request: SendEmailsRequest = { emails: [simple(), simple(), simple()], allOrNone: true };
  const { port } = dying(world.deps.eventLog, 1, away);
  await t.rejects(sendEmails({ ...world.deps, eventLog: port }, ...keyed(request)), away);
  t.equal(await balance(world.deps), 97, 'another call may use the reservation');
  await world.clock.advance(120_000);
  const cause = { teamId: TEAM, actor: 'test', correlationId: 'c', causationId: 'c', at: isoTime(world.clock.now()) };
  await world.deps.credits.settle(TEAM, cause);
  t.equal(await balance(world.deps), 100);
  const { body } = await world.commands.sendEmails(...keyed(request));
  t.equal(body.accepted, 3);
  t.equal(await balance(world.deps), 97);
  t.same(states((await world.commands.sendEmails(...keyed(request))).body), ['queued', 'queued', 'queued']);
});

void t.test('a call that makes its emails for long is not taken for one that died', async (t) => {
  for (const allOrNone of [false, true])
    for (const isKeyed of [false, true]) {
      const world = await metered(100);
      const file = { filename: 'a.txt', contentType: 'text/plain', content: Buffer.from('text').toString('base64') };
      const request: SendEmailsRequest = { emails: [simple(), simple({ attachments: [file] }), simple()], allOrNone };
      const settled = async () => {
        await world.clock.advance(120_000);
        const at = isoTime(world.clock.now());
        const cause = { teamId: TEAM, actor: 'test', correlationId: 'c', causationId: 'c', at };
        await world.deps.credits.settle(TEAM, cause);
        return { bytes: 0, position: 0 };
      };
      const key = isKeyed ? { key: 'k', body: request } : undefined;
      t.equal((await sendEmails(world.deps, caller, request, key, settled)).body.accepted, 3);
      await settled();
      t.equal(await balance(world.deps), 97);
      t.equal(world.store.events.filter(({ type }) => /^EmailDeleted/.test(type)).length, 0);
    }
});

void t.test(
  'emails that the credits do not suffice for leave the place of the first to one that is paid',
  async (t) => {
    const world = await metered(0);
    const people = ['ben', 'cyd', 'dan'].map((name) => simple(to(name)));
    await world.commands.addSuppression(caller, { email: 'cyd@example.org' });
    const request: SendEmailsRequest = { emails: people };
    const { body } = await world.commands.sendEmails(...keyed(request));
    t.same(states(body), ['refused QUOTA_EXCEEDED', 'queued', 'refused QUOTA_EXCEEDED']);
    t.equal(JSON.stringify((await world.commands.sendEmails(...keyed(request))).body), JSON.stringify(body));
    t.equal(queued(world).length, 1);
  },
);

void t.test('without a key the results tell what became of each email when a store fails in the middle', async (t) => {
  for (const [error, status] of [
    [away, 'refused STORE_AWAY'],
    [lost, 'unknown OUTCOME_UNKNOWN'],
  ] as const) {
    const world = await metered(100);
    const { port } = dying(world.deps.eventLog, 3, error);
    const emails = [simple(), simple(), simple(), unknown];
    const { body } = await sendEmails({ ...world.deps, eventLog: port }, caller, { emails });
    t.same(states(body), ['queued', 'queued', status, 'refused ERR_TMPL_002']);
    t.equal(body.accepted, 2);
    t.equal(queued(world).length, 2);
    t.equal(await balance(world.deps), error === away ? 98 : 97);
    const none = dying(world.deps.eventLog, 1, error);
    await t.rejects(sendEmails({ ...world.deps, eventLog: none.port }, caller, { emails }), error);
    t.equal(queued(world).length, 2);
  }
});

void t.test('100 emails from two callers at once with one key are 100 emails', async (t) => {
  const world = await metered(150);
  const emails = Array.from({ length: 100 }, (_, place) => (place % 10 === 3 ? unknown : simple(to(`p${place}`))));
  const request: SendEmailsRequest = { emails };
  const processes = [world.commands, commandsOfTest(world.elsewhere()), commandsOfTest(world.elsewhere())];
  const answers = await Promise.all(processes.map((commands) => commands.sendEmails(...keyed(request))));
  for (const { body } of answers) {
    t.equal(body.accepted, 90);
    t.equal(JSON.stringify(body), JSON.stringify(answers[0]!.body));
  }
  t.equal(queued(world).length, 90);
  t.equal(await balance(world.deps), 60);
});

void t.test('a call needs room in the queue for all its emails', async (t) => {
  const world = await withTemplate({ queueWaitingMax: 3 });
  const four = { emails: [simple(), simple(), simple(), simple()] };
  await refusedWith(t, world.commands.sendEmails(caller, four), 'QUEUE_FULL');
  await refusedWith(t, world.commands.dryRunEmails(caller, four), 'QUEUE_FULL');
  t.equal(queued(world).length, 0);
  t.equal((await world.commands.sendEmails(caller, { emails: four.emails.slice(1) })).body.accepted, 3);
  await refusedWith(t, world.commands.sendEmails(caller, { emails: [simple()] }), 'QUEUE_FULL');
});

void t.test('the emails of a call generate and fetch 100 files at most', async (t) => {
  const world = await withTemplate();
  const document = (...outputFormats: ('pdf' | 'excel')[]) => ({
    attachmentTemplateId: 'none',
    ...(outputFormats.length > 0 && { outputFormats }),
  });
  const fetched = { url: 'http://127.0.0.1:1/a.txt', filename: 'a.txt' };
  const small = { filename: 'a.txt', contentType: 'text/plain', content: 'YQ==' };
  const nine = simple({
    attachments: [document('pdf', 'excel'), document(), ...Array.from({ length: 6 }, () => fetched), small],
  });
  const emails = Array.from({ length: 11 }, () => nine);
  for (const request of [
    { emails: [...emails, simple({ attachments: [document('pdf', 'excel')] })] },
    { emails: [...emails, nine] },
  ])
    for (const command of [world.commands.sendEmails, world.commands.dryRunEmails])
      t.match((await refusedWith(t, command(caller, request), 'VALIDATION_ERROR'))?.details.errors, [
        { field: 'emails', message: /at most 100/ },
      ]);
  t.equal((await world.commands.sendEmails(caller, { emails })).body.refused, 11, '99 may be tried');
});

void t.test('refusals are bounded, in the answer and in the event', async (t) => {
  const world = await withTemplate();
  const bad = simple({
    to: Array.from({ length: 50 }, (_, place) => ({ email: `no address ${place}`, name: 'x'.repeat(300) })),
  });
  const request = { emails: [simple(), ...Array.from({ length: 99 }, () => bad)] };
  const { body } = await world.commands.sendEmails(...keyed(request));
  t.equal(body.refused, 99);
  for (const { error } of body.results) t.ok((error?.errors ?? []).length <= 10);
  t.ok(JSON.stringify(body).length < 200_000);
  t.equal(JSON.stringify((await world.commands.sendEmails(...keyed(request))).body), JSON.stringify(body));
});

void t.test('a dry run tells what the call would do, and does nothing', async (t) => {
  const world = await metered(2);
  const before = world.store.events.length;
  const emails = [simple(), unknown, simple({ variables: { name: 'Ann', unused: 1 } }), simple()];
  const report = await dryRunEmails(world.deps, caller, { emails, dryRun: true });
  t.match(report, {
    valid: false,
    accepted: 2,
    refused: 2,
    credits: 2,
    results: [
      { index: 0, status: 'valid', recipientCount: 1, credits: 1 },
      { index: 1, status: 'refused', error: { code: 'ERR_TMPL_002' } },
      { index: 2, status: 'valid' },
      { index: 3, status: 'refused', error: { code: 'QUOTA_EXCEEDED' } },
    ],
  });
  t.match(await dryRunEmails(world.deps, caller, { emails: [simple(), inline('a')] }), { valid: true, credits: 2 });
  t.equal(world.store.events.length, before);
  t.equal(world.files.stored.size, 0);
});

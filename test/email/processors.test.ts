/** Emails on their way: confidential ones, those of deleted teams, their timeline. */
import t, { type Test } from 'tap';
import { causeOf } from '../../src/commands/core/caller.js';
import { handle } from '../../src/commands/core/handle.js';
import { archiveEmail } from '../../src/commands/email/emails.js';
import {
  makeAccountTemplates,
  accountMailKinds,
  sendAccountMail,
  type AccountMail,
} from '../../src/commands/email/service-mails.js';
import { streamState } from '../../src/commands/ops/stream-states.js';
import { suppressAddress } from '../../src/commands/recipients/suppressions.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import { webhookKinds } from '../../src/domain/core/event.js';
import {
  assertDefined,
  emailStream,
  INSTANCE_STREAM,
  parseEmailId,
  type EmailId,
  teamStream,
} from '../../src/domain/core/ids.js';
import { isoTime, HOUR_MS } from '../../src/domain/core/time.js';
import { emailDecider } from '../../src/domain/email/decider.js';
import { timelinePage, type TimelinePage } from '../../src/domain/email/timeline.js';
import type { Document, ReadModels } from '../../src/domain/ports/read-models.js';
import { teamDecider, type TeamCommand } from '../../src/domain/teams/decider.js';
import { bodyOf } from '../../src/domain/webhooks/body.js';
import { eventKey, webhookEventId, placedAttempt } from '../../src/domain/webhooks/delivery.js';
import { startOf, versionOf } from '../../src/event-log/event-log.js';
import { mailSeal } from '../../src/processors/audit/ledger.js';
import { makeProcessors } from '../../src/processors/index.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { addressIndex } from '../../src/projections/privacy/traces.js';
import { makeQueries } from '../../src/projections/queries.js';
import { TRAIL_FACTS_MAX, webhookTrail } from '../../src/projections/webhooks/reads.js';
import { caller, TEAM, nothingUsed, stranger } from '../support/command-world.js';
import { PERIODS, HOST, said, DAY_MS, outcome } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { memoryKeys } from '../support/memory-ports.js';
import {
  openProcessorWorld,
  workersOf,
  type ProcessorWorld,
  deliverEmailWorker,
  until,
} from '../support/processor-world.js';
import { accountSamples, accountTemplates } from '../support/samples.js';
import { answering, openWebhookWorld, type WebhookWorld } from '../support/webhook-world.js';

// Mails about accounts: what they say is shown to nobody but who gets them, and they neither cost nor count.

const SECRET = 'n0b0dyReadsThisToken';
const url = `https://mail.example.com/account/reset?token=${SECRET}`;
const mail: AccountMail = {
  kind: 'reset-password',
  to: { email: 'ann@example.org' },
  variables: { name: 'Ann', url, hoursValid: 1 },
};

const causeIn = (world: ProcessorWorld) => ({
  teamId: TEAM,
  actor: 'test',
  correlationId: 'request-7',
  causationId: 'request-7',
  at: isoTime(world.clock.now()),
});

/** Out: also the email of the mail that was sent last. */
const open = async (t: Test) => {
  const world = await openProcessorWorld(t);
  const { deps } = world;
  const initialised = { type: 'InstanceInitialised' as const, data: { at: causeIn(world).at, teamId: TEAM } };
  await deps.eventLog.append(INSTANCE_STREAM, startOf(INSTANCE_STREAM), [initialised], causeIn(world));
  await makeAccountTemplates(deps, accountSamples);
  const last = async (): Promise<EmailId> => {
    const ids: EmailId[] = [];
    for await (const { events } of deps.eventLog.readAll(0, { kinds: ['email'] }))
      for (const { event, stream } of events)
        if (event.type === 'EmailQueued')
          ids.push(assertDefined(parseEmailId(stream.slice('email-'.length)), 'email id'));
    return assertDefined(ids.at(-1), 'email');
  };
  const sent = async (): Promise<EmailId> => {
    await sendAccountMail(deps, mail, causeIn(world));
    return last();
  };
  return { ...world, sent };
};

const run = (world: ProcessorWorld) => world.run(workersOf(world.processing, makeProcessors(world.processing)));

void t.test('whoever reads emails of the first team reads no link, by whichever way', async (t) => {
  const world = await open(t);
  const { commands, deps } = world;
  run(world);
  const id = await world.sent();
  await world.reaches(id, 'sent');
  await world.settled();
  t.match(world.mailer.sent[0]?.raw.toString().replaceAll('=\r\n', ''), SECRET, 'who gets it reads it');
  const record = await commands.getEmail(caller, id);
  t.match(record, {
    confidential: true,
    status: 'sent',
    subject: 'Choose another password for Example Ltd',
    recipients: [{ email: 'ann@example.org', status: 'sent' }],
    metadata: { recipients: { to: [{ email: 'ann@example.org' }] }, variables: {}, attachments: [], custom: {} },
  });
  const events = await deps.eventLog.load(emailStream(id));
  const shown: unknown[] = [
    record,
    await commands.emailTrace(caller, id),
    await streamState(deps.eventLog, emailStream(id)),
  ];
  for (const { metadata } of events) shown.push(await commands.getEmail(caller, id, { eventId: metadata.eventId }));
  for (const kind of webhookKinds) {
    const entry = { kind, stream: emailStream(id), at: '' };
    const told = events.map(({ event }) => event);
    shown.push(bodyOf(entry, told), bodyOf({ ...entry, recipient: 0 }, told));
  }
  const queries = makeQueries({
    keys: memoryKeys(),
    readModels: world.readModels,
    clock: world.clock,
    limits: deps.limits,
    awaitOwnWrites: async () => {},
  });
  shown.push(
    await queries.listEmails(TEAM, {}, { page: 1, limit: 10 }),
    await world.readModels.find('emails', { where: {}, limit: 10 }),
  );
  const index = addressIndex(world.readModels);
  for await (const line of await commands.exportAddress(caller, { email: 'ann@example.org' }, index)) shown.push(line);
  t.ok(shown.length > 20);
  for (const one of shown) t.notMatch(JSON.stringify(one), SECRET);
});

void t.test('a host that names the link for which it refuses the mail tells it to nobody', async (t) => {
  const world = await open(t);
  run(world);
  const text = `554 5.7.1 blocked for ${url}, see token=${SECRET} and ${SECRET.repeat(3)}`;
  world.mailer.next.push(async () => ({ host: HOST, durationMs: 1, recipients: [{ ...said('refused'), text }] }));
  const id = await world.sent();
  await world.reaches(id, 'failed');
  const record = await world.commands.getEmail(caller, id);
  t.match(record.recipients[0]?.reply, /^554 5\.7\.1 blocked for … see … and …$/);
  const told = (await world.deps.eventLog.load(emailStream(id))).map(({ event }) => event);
  const body = bodyOf({ kind: 'email.failed', stream: emailStream(id), at: '', recipient: 0 }, told);
  t.match(body, '554 5.7.1');
  for (const shown of [record, await world.commands.emailTrace(caller, id), body])
    t.notMatch(JSON.stringify(shown), SECRET);
});

void t.test('they cost nothing and count in lists alone', async (t) => {
  const world = await open(t);
  run(world);
  await changeBilling(world.deps, TEAM, { billing: 'credits' }, causeIn(world), nothingUsed);
  const left = async () => (await world.elsewhere().credits.quote(TEAM)).creditsRemaining;
  const before = await left();
  const id = await world.sent();
  await world.reaches(id, 'sent');
  t.equal(await left(), before);
  await world.reaches(await world.send(), 'sent');
  t.equal(await left(), before! - 1, 'another costs');
  await world.settled();
  const queries = makeQueries({
    keys: memoryKeys(),
    readModels: world.readModels,
    clock: world.clock,
    limits: world.deps.limits,
    awaitOwnWrites: async () => {},
  });
  t.same(await queries.usedByDay(TEAM, '2030-01-01', '2030-01-01'), [{ day: '2030-01-01', emails: 1, documents: 0 }]);
  const [summary] = await world.readModels.find('emailSummaries', { where: { team: { eq: TEAM } }, limit: 10 });
  t.match(summary, { counts: { accepted: 1, sent: 1 } });
  t.equal((await queries.listEmails(TEAM, { status: 'sent' }, { page: 1, limit: 10 })).meta.total, 2);
  const { eventLog } = world.deps;
  t.equal(
    (await compareWithRebuild(emailsProjection(PERIODS), { eventLog, readModels: world.readModels })).difference,
    undefined,
  );
});

void t.test('a seal is mailed once a day', async (t) => {
  const world = await open(t);
  for (const day of ['2030-01-01', '2030-01-01', '2030-01-02'])
    await mailSeal(world.processing, 'notary@example.com', {
      at: `${day}T12:00:00.000Z`,
      position: 7,
      count: 7,
      root: 'ab'.repeat(32),
    });
  const mails = await world.deps.eventLog.readAll(0, { types: ['EmailQueued'] });
  const sent: unknown[] = [];
  for await (const { events } of mails) sent.push(...events.map(({ event }) => (event as { sealed?: unknown }).sealed));
  t.equal(sent.length, 2);
  t.match(sent[0], {
    recipients: [{ email: 'notary@example.com' }],
    variables: { at: '2030-01-01 12:00 UTC', position: 7, root: 'ab'.repeat(32) },
  });
});

void t.test('the subjects of the templates that are shipped hold no link, and nothing that people wrote', (t) => {
  t.same(
    accountTemplates.map(({ slug }) => slug).toSorted(),
    accountMailKinds.map((kind) => `account-${kind}`).toSorted(),
  );
  // A subject with a text that people write about themselves and their teams would reach somebody who never asked for a
  // mail.
  for (const { slug, subject } of accountTemplates)
    t.notMatch(subject.replaceAll('{{__COMPANY_NAME__}}', ''), /[{}]/, slug);
  t.end();
});

// Mails of a deleted team: what comes due is cancelled, what is scheduled for later leaves where the team is restored
// before.

const apply = (world: ProcessorWorld, command: TeamCommand) =>
  handle(world.deps.eventLog, teamStream(TEAM), teamDecider, command, {
    teamId: TEAM,
    actor: 'cli',
    correlationId: 'test',
    causationId: 'test',
    at: command.at,
  });
const now = ({ clock }: ProcessorWorld): string => isoTime(clock.now());
const all = (world: ProcessorWorld) => world.run(workersOf(world.processing, makeProcessors(world.processing)));

void t.test('a mail that waits when its team is deleted is cancelled and never leaves', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send();
  await apply(world, { type: 'DeleteTeam', at: now(world), by: 'operator', firstTeam: false });
  all(world);
  await world.reaches(id, 'cancelled');
  t.strictSame(
    (await world.events(emailStream(id))).map(({ type }) => type),
    ['EmailQueued', 'EmailCancelled'],
  );
  t.equal(world.mailer.sent.length, 0);
});

void t.test('a mail that is scheduled leaves where its team is restored by then', async (t) => {
  const world = await openProcessorWorld(t);
  const scheduledAt = isoTime(world.clock.now() + HOUR_MS);
  const id = await world.send({ scheduledAt });
  await apply(world, { type: 'DeleteTeam', at: now(world), by: 'operator', firstTeam: false });
  world.run(deliverEmailWorker(world.processing));
  await apply(world, { type: 'RestoreTeam', at: now(world), by: 'operator', deletedSince: now(world) });
  await world.clock.advance(HOUR_MS);
  await handle(
    world.deps.eventLog,
    emailStream(id),
    emailDecider,
    { type: 'ReleaseEmail', at: scheduledAt },
    causeOf(world.deps, caller),
  );
  await world.publish(id);
  await world.reaches(id, 'sent');
  t.equal(world.mailer.sent.length, 1);
});

void t.test('a mail whose dialogue was broken off does not leave again, and does not hang', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send();
  const stream = emailStream(id);
  const at = now(world);
  const attempted = { attempt: 1, at, host: 'h', worker: 'gone', deadlineAt: isoTime(world.clock.now() + 60_000) };
  const last = (await world.deps.eventLog.load(stream)).at(-1)!;
  await world.deps.eventLog.append(
    stream,
    versionOf(last),
    [{ type: 'DeliveryAttempted', data: attempted }],
    causeOf(world.deps, caller),
  );
  await apply(world, { type: 'DeleteTeam', at, by: 'operator', firstTeam: false });
  all(world);
  await until(async () => {
    await world.clock.advance(10_000);
    return (await world.commands.getEmail(caller, id)).status === 'failed';
  }, 'it has failed');
  t.equal(world.mailer.sent.length, 0);
});

// The trace of an email: every event of it and every attempt to tell an endpoint of it, in one order, and nothing of
// anybody else.

const firstPage = { limit: 1_000, cursor: undefined };

const traced = async (
  world: WebhookWorld,
  id: EmailId,
  paging: Parameters<typeof timelinePage>[1] = firstPage,
): Promise<TimelinePage> => {
  const { placed, told } = await world.commands.emailTrace(caller, id);
  const { attempts, isComplete } = await world.queries.webhookTrail(TEAM, told);
  if (!isComplete) throw new Error('it was not looked through');
  return timelinePage([...placed, ...attempts.map(placedAttempt)], paging);
};

void t.test('from the call to the answers of endpoints, each with its cause', async (t) => {
  const world = await openWebhookWorld(t);
  const [flaky, sound] = [
    await world.subscribe('/flaky', { events: ['email.queued', 'email.delivered'] }),
    await world.subscribe('/sound', { events: ['email.delivered'] }),
  ];
  world.endpoint('/flaky', answering(500));
  world.start('worker-1');
  const id = await world.accept();
  const other = await world.accept();
  await world.passes(2_000);
  await world.deliver(id);
  await world.deliver(other);
  await world.passes(2_000);
  world.endpoint('/flaky', answering(202));
  await world.passes(600_000, 10_000);
  const { data, meta } = await traced(world, id);
  const [queued, ...rest] = data;
  t.match(queued, {
    kind: 'EmailQueued',
    stream: emailStream(id),
    actor: caller.actor,
    cause: { kind: 'request', id: caller.correlationId },
    requestId: caller.correlationId,
    sinceMs: null,
    durationMs: null,
    details: { templateName: 'Welcome', priority: 'normal' },
  });
  t.notOk('subject' in queued!.details, 'what it says is in its record');
  const delivered = rest.find(({ kind }) => kind === 'EmailDelivered')!;
  t.match(delivered.recipients, [{ place: 0, role: 'to', email: 'ann@example.org' }]);
  const attempts = rest.filter(({ kind }) => kind === 'WebhookAttempted');
  t.same(
    attempts
      .map(({ stream, cause, details }) => [
        stream,
        cause.id,
        details['event'],
        details['attempt'],
        details['statusCode'],
      ])
      .toSorted(),
    [
      [`webhook-${flaky}`, queued!.id, 'email.queued', 1, 500],
      [`webhook-${flaky}`, queued!.id, 'email.queued', 2, 202],
      [`webhook-${flaky}`, delivered.id, 'email.delivered', 1, 500],
      [`webhook-${flaky}`, delivered.id, 'email.delivered', 2, 202],
      [`webhook-${sound}`, delivered.id, 'email.delivered', 1, 200],
    ].toSorted(),
  );
  t.match(attempts[0], {
    durationMs: Number,
    requestId: caller.correlationId,
    details: { status: 'failed', nextRetryAt: String, deliveryId: /^del_/ },
  });
  t.match(attempts.find(({ cause }) => cause.id === delivered.id)!.recipients, [
    { place: 0, email: 'ann@example.org' },
  ]);
  t.equal(new Set(data.map((entry) => entry.id)).size, data.length, 'each has an id of its own');
  t.equal(meta.total, data.length);

  const paged: unknown[] = [];
  let cursor: string | undefined;
  do {
    const page = await traced(world, id, { limit: 2, cursor });
    t.ok(page.data.length <= 2);
    paged.push(...page.data);
    cursor = page.meta.nextCursor ?? undefined;
  } while (cursor !== undefined);
  t.same(paged, data, 'pages hold the same, the time since the entry before included');
  for (const wrong of [
    'nonsense',
    '',
    Buffer.from('timeline 1').toString('base64url'),
    Buffer.from('other 1 1').toString('base64url'),
  ])
    t.throws(() => timelinePage([], { limit: 2, cursor: wrong }), { code: 'INVALID_CURSOR' });

  await refusedWith(t, world.commands.emailTrace(stranger, id), 'EMAIL_NOT_FOUND');
});

void t.test(
  'attempts of a dialogue, a suppression because of it, and nothing personal once it is archived',
  async (t) => {
    const world = await openWebhookWorld(t);
    const id = await world.accept();
    const cause = causeOf(world.deps, caller);
    const stream = emailStream(id);
    const { version } = await (async () => {
      const recorded = await world.deps.eventLog.load(stream);
      const last = recorded.at(-1)!;
      return { version: { revision: last.revision, hash: last.hash, keyId: last.metadata.keyId } };
    })();
    const at = cause.at;
    const one = outcome(0, 'bounced');
    await world.deps.eventLog.append(
      stream,
      version,
      [
        { type: 'DeliveryAttempted', data: { attempt: 1, at, host: 'mx.example', worker: 'w', deadlineAt: at } },
        {
          type: 'EmailBounced',
          data: {
            attempt: 1,
            at,
            host: 'mx.example',
            durationMs: 42.5,
            bounceType: 'hard',
            outcomes: [{ recipient: 0, result: 'bounced', replyCode: 550, enhancedCode: '5.1.1', rule: one.rule }],
          },
          sealed: { replies: ['ann@example.org is not here'] },
        },
      ],
      cause,
    );
    await suppressAddress(world.deps, {
      teamId: TEAM,
      email: 'ann@example.org',
      reason: 'hard-bounce',
      cause,
      emailId: id,
    });
    await suppressAddress(world.deps, {
      teamId: TEAM,
      email: 'bob@example.org',
      reason: 'hard-bounce',
      cause,
      emailId: id,
    });
    const { data } = await traced(world, id);
    t.same(
      data.map(({ kind }) => kind),
      ['EmailQueued', 'DeliveryAttempted', 'EmailBounced', 'AddressSuppressed'],
    );
    t.match(data[1]!.details, { attempt: 1, host: 'mx.example', worker: 'w' });
    t.match(data[2], {
      durationMs: 42.5,
      details: { bounceType: 'hard' },
      recipients: [
        {
          email: 'ann@example.org',
          result: 'bounced',
          replyCode: 550,
          enhancedCode: '5.1.1',
          reply: 'ann@example.org is not here',
        },
      ],
    });
    t.match(data[3], {
      details: { reason: 'hard-bounce', emailId: id },
      recipients: [{ place: 0, email: 'ann@example.org' }],
    });
    t.notOk('address' in data[3]!.details);

    await world.clock.advance(40 * DAY_MS);
    t.equal(await archiveEmail(world.deps, id, causeOf(world.deps, caller)), true);
    const archived = await traced(world, id);
    t.same(
      archived.data.map(({ kind }) => kind),
      ['EmailQueued', 'DeliveryAttempted', 'EmailBounced', 'EmailArchived'],
    );
    t.notMatch(JSON.stringify(archived), /ann@|not here/);
    t.match(archived.data[2], { recipients: [{ place: 0, email: null, result: 'bounced', replyCode: 550 }] });
    await world.commands.deleteEmail(caller, id);
    await refusedWith(t, world.commands.emailTrace(caller, id), 'EMAIL_NOT_FOUND');
  },
);

void t.test(
  'of what a busy endpoint was sent only so much is looked through, retries are looked for where they were due, and it says so',
  async (t) => {
    const webhook = 'wh_AAAAAAAAAAAAAAAAAAAAAA';
    const startMs = Date.parse('2030-01-01T12:00:00.000Z');
    const iso = (ms: number): string => new Date(ms).toISOString();
    const key = eventKey(webhook as never, 'event-1', undefined);
    const item = (number: number, of: string, more: object) => ({
      id: `del_${number}`,
      eventId: webhookEventId(number, of),
      event: 'email.queued',
      responseTime: 5,
      ...more,
    });
    const noise = 'B'.repeat(22);
    // A fact each second; the first attempt is in the third, the next, two hours later, far behind what is looked
    // through at once.
    const facts = Array.from({ length: 20_000 }, (_, second): Document => {
      const at = iso(startMs + second * 1_000);
      const attempt =
        second === 2
          ? item(7, key, {
              status: 'failed',
              attempt: 1,
              attemptedAt: at,
              statusCode: 500,
              nextRetryAt: iso(startMs + 7_200_000),
            })
          : second === 7_203
            ? item(7, key, { status: 'success', attempt: 2, attemptedAt: at, statusCode: 200 })
            : item(second, noise, { status: 'success', attempt: 1, attemptedAt: at });
      return {
        id: `${second}`,
        seq: second + 1,
        position: second + 1,
        webhook,
        at,
        items: [attempt],
      } as unknown as Document;
    });
    let looked = 0;
    const find: ReadModels['find'] = async (collection, { where, limit, after }) => {
      if (collection === 'webhooks') return [{ id: webhook, seq: 1, position: 1 }];
      const found = facts
        .filter(({ at, seq }) => String(at) >= String(where['at']!.gte) && (after === undefined || seq > after.seq))
        .slice(0, limit);
      looked += found.length;
      return found;
    };
    const told = [{ eventId: 'event-1', requestId: 'r', at: iso(startMs), recipients: [] }];
    const { attempts, isComplete } = await webhookTrail({ find }, TEAM, told);
    t.same(
      attempts.map(({ item: { attempt } }) => attempt),
      [1, 2],
    );
    t.equal(isComplete, false);
    t.ok(looked <= TRAIL_FACTS_MAX + 200, `${looked} facts were read`);
  },
);

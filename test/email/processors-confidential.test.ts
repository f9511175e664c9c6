/** Mails about accounts: what they say is shown to nobody but who gets them, and they neither cost nor count. */
import t, { type Test } from 'tap';
import {
  makeAccountTemplates,
  accountMailKinds,
  sendAccountMail,
  type AccountMail,
} from '../../src/commands/email/service-mails.js';
import { streamState } from '../../src/commands/ops/stream-states.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import { assertDefined, emailStream, INSTANCE_STREAM, parseEmailId, type EmailId } from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import { bodyOf } from '../../src/domain/webhooks/body.js';
import { webhookKinds } from '../../src/domain/core/event.js';
import { startOf } from '../../src/event-log/event-log.js';
import { mailSeal } from '../../src/processors/audit/ledger.js';
import { makeProcessors } from '../../src/processors/index.js';
import { addressIndex } from '../../src/projections/privacy/traces.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { makeQueries } from '../../src/projections/queries.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { accountSamples, accountTemplates } from '../support/samples.js';
import { caller, TEAM, nothingUsed } from '../support/command-world.js';
import { PERIODS } from '../support/email-facts.js';
import { HOST, said } from '../support/email-facts.js';
import { openProcessorWorld, workersOf, type ProcessorWorld } from '../support/processor-world.js';
import { memoryKeys } from '../support/memory-ports.js';

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

/**
 * The suppression list where mail is delivered: hard bounces put addresses on it, and nothing leaves for an address
 * that is there.
 */
import t, { type Test } from 'tap';
import { handle } from '../../src/commands/core/handle.js';
import { suppressionIdOf } from '../../src/commands/recipients/suppression-check.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import { emailDecider } from '../../src/domain/email/decider.js';
import type { ReportCommand } from '../../src/domain/email/feedback.js';
import { emailIdInBatch, emailStream, suppressionStream, type EmailId } from '../../src/domain/core/ids.js';
import { isoTime } from '../../src/domain/core/time.js';
import type { OutgoingMessage } from '../../src/domain/ports/mailer.js';
import { makeProcessors } from '../../src/processors/index.js';
import { returnCreditsWorker } from '../../src/processors/billing/billing.js';
import { returnedUpTo } from '../../src/projections/billing/credits.js';
import { emailsProjection } from '../../src/projections/bulk/emails.js';
import { makeProjections } from '../../src/projections/index.js';
import { compareWithRebuild } from '../../src/projections/core/rebuild.js';
import { makeRunner } from '../../src/projections/core/runner.js';
import { SUPPRESSIONS } from '../../src/projections/recipients/suppressions.js';
import { acceptBulk, bulk } from '../support/bulk.js';
import { caller, TEAM, nothingUsed } from '../support/command-world.js';
import { PERIODS } from '../support/email-facts.js';
import { answers, openProcessorWorld, until, workersOf, type ProcessorWorld } from '../support/processor-world.js';

/** Without its moment. */
type ReportOf = ReportCommand extends infer Command
  ? Command extends ReportCommand
    ? Omit<Command, 'at'>
    : never
  : never;

const gone = 'gone@example.org';
const ann = 'ann@example.org';
const to = (...addresses: readonly string[]) => ({ to: addresses.map((email) => ({ email })) });

const all = (world: ProcessorWorld) => world.run(workersOf(world.processing, makeProcessors(world.processing)));

const typesOf = async (world: ProcessorWorld, id: EmailId) =>
  (await world.events(emailStream(id))).map(({ type }) => type);

const isSuppressed = async ({ commands }: ProcessorWorld, email: string) =>
  (await commands.checkSuppression(caller, email)).suppressed;

const inCredits = async (t: Test): Promise<ProcessorWorld> => {
  const world = await openProcessorWorld(t);
  const cause = {
    teamId: TEAM,
    actor: 'test',
    correlationId: 'test',
    causationId: 'test',
    at: isoTime(world.clock.now()),
  };
  await changeBilling(world.deps, TEAM, { billing: 'credits' }, cause, nothingUsed);
  return world;
};

const left = async ({ elsewhere }: ProcessorWorld): Promise<number | null> =>
  (await elsewhere().credits.quote(TEAM)).creditsRemaining;

void t.test(
  'an address that its host refuses for good is suppressed, and the second send to it does not leave',
  async (t) => {
    const world = await openProcessorWorld(t);
    all(world);
    world.mailer.next.push(answers('bounced'));
    const first = await world.send(to(gone));
    await world.reaches(first, 'bounced');
    await until(() => isSuppressed(world, gone), 'it is on the list');
    t.match(await world.commands.checkSuppression(caller, gone), {
      suppression: { reason: 'hard-bounce', emailId: first },
    });
    await until(async () => (await typesOf(world, first)).includes('EmailBouncesNoted'), 'the email says so');
    const second = await world.send(to(gone));
    t.match(await world.commands.getEmail(caller, second), { status: 'failed', failureReason: 'suppressed' });
    t.equal(world.mailer.sent.length, 1);
  },
);

/** The answer of a host to every recipient. */
const reply = (result: 'bounced' | 'blocked', rule: string, text: string) => (message: OutgoingMessage) => ({
  host: 'mx.example.net',
  durationMs: 1,
  recipients: message.envelope.to.map(() => ({ result, replyCode: 550, enhancedCode: null, rule, text })),
});

void t.test('an address that its host refuses without a reason is suppressed after the second mail', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const refused = reply('bounced', 'recipient-refused', '550 rejected');
  world.mailer.next.push(refused, refused);
  const first = await world.send(to(gone));
  await world.reaches(first, 'bounced');
  await until(async () => (await typesOf(world, first)).includes('EmailBouncesNoted'), 'the first is noted');
  t.notOk(await isSuppressed(world, gone));
  const stream = suppressionStream(suppressionIdOf(world.deps, TEAM, gone));
  t.same(
    (await world.events(stream)).map(({ type }) => type),
    ['AddressRefused'],
  );
  t.notMatch(JSON.stringify(await world.events(stream)), /example/, 'no address is kept for it');
  const second = await world.send(to(gone));
  await world.reaches(second, 'bounced');
  await until(() => isSuppressed(world, gone), 'it is on the list');
  t.match(await world.commands.checkSuppression(caller, gone), {
    suppression: { reason: 'hard-bounce', emailId: second },
  });
});

void t.test('what blames the sender fails the email and suppresses nobody', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  world.mailer.next.push(reply('blocked', 'host-refused', '550 5.1.1 Your IP is on our block list'));
  const id = await world.send(to(gone, ann));
  await world.reaches(id, 'failed');
  t.match(await world.commands.getEmail(caller, id), {
    failureReason: 'blocked',
    recipients: [{ status: 'failed', rule: 'host-refused' }],
  });
  await world.settled();
  await world.clock.advance(10_000);
  await world.settled();
  t.notOk((await isSuppressed(world, gone)) || (await isSuppressed(world, ann)));
  await world.commands.retryEmail(caller, id);
  await world.reaches(id, 'sent');
});

void t.test('one of several recipients that is refused is found by its timer', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  world.mailer.next.push(answers('bounced', 'accepted'));
  const id = await world.send(to(gone, ann));
  await world.reaches(id, 'sent');
  await world.settled();
  await until(async () => {
    await world.clock.advance(1_000);
    return isSuppressed(world, gone);
  }, 'it is on the list');
  t.notOk(await isSuppressed(world, ann));
  await until(async () => (await typesOf(world, id)).includes('EmailBouncesNoted'), 'noted');
});

const reported = (address: string, bounceType: 'hard' | 'soft' | 'blocked', bounceSubType: string) => ({
  addresses: [address],
  action: 'failed' as const,
  bounceType,
  bounceSubType,
  enhancedCode: null,
  text: 'It came back.',
});

const hear = async (world: ProcessorWorld, id: EmailId, command: ReportOf) => {
  const at = isoTime(world.clock.now());
  const cause = { teamId: TEAM, actor: 'test', correlationId: 'test', causationId: 'test', at };
  await handle(world.deps.eventLog, emailStream(id), emailDecider, { ...command, at }, cause);
};

void t.test(
  'late bounces for good and complaints suppress, and those that say nothing against the address do not',
  async (t) => {
    const world = await openProcessorWorld(t);
    all(world);
    const [soft, ours, who] = ['soft@example.org', 'ours@example.org', 'complains@example.org'];
    const id = await world.send(to(gone, soft, ours, who, ann));
    await world.reaches(id, 'sent');
    const recipients = [
      reported(gone, 'hard', 'no-such-mailbox'),
      reported(soft, 'soft', 'mailbox-full'),
      reported(ours, 'blocked', 'reputation'),
    ];
    await hear(world, id, { type: 'RecordReport', recipients });
    await until(() => isSuppressed(world, gone), 'it is on the list');
    t.match(await world.commands.checkSuppression(caller, gone), {
      suppression: { reason: 'hard-bounce', emailId: id },
    });
    await until(async () => (await typesOf(world, id)).at(-1) === 'EmailBouncesNoted', 'the email says so');
    await hear(world, id, { type: 'RecordComplaint', feedbackType: 'abuse', addresses: [who] });
    await until(() => isSuppressed(world, who), 'it is on the list');
    t.match(await world.commands.checkSuppression(caller, who), { suppression: { reason: 'complaint', emailId: id } });
    await until(async () => (await typesOf(world, id)).at(-1) === 'EmailBouncesNoted', 'the email says so');
    for (const other of [soft, ours, ann]) t.notOk(await isSuppressed(world, other), other);
    t.same(await typesOf(world, id), [
      'EmailQueued',
      'DeliveryAttempted',
      'EmailSent',
      'EmailBounceReported',
      'EmailBouncesNoted',
      'EmailComplained',
      'EmailBouncesNoted',
    ]);
  },
);

void t.test(
  'a report that the bus has lost is found by its timer, and one that came before a removal suppresses no more',
  async (t) => {
    const world = await openProcessorWorld(t);
    const workers = all(world);
    const id = await world.send(to(gone));
    const second = await world.send(to(ann));
    await world.reaches(id, 'sent');
    await world.reaches(second, 'sent');
    await workers.stop();
    await hear(world, id, { type: 'RecordReport', recipients: [reported(gone, 'hard', 'mailbox-disabled')] });
    await hear(world, second, { type: 'RecordComplaint', feedbackType: 'abuse', addresses: [] });
    await world.clock.advance(1_000);
    await world.commands.addSuppression(caller, { email: ann });
    await world.commands.removeSuppression(caller, suppressionIdOf(world.deps, TEAM, ann));
    await world.settled();
    all(world);
    await until(async () => {
      await world.clock.advance(1_000);
      return isSuppressed(world, gone);
    }, 'it is on the list');
    await until(async () => {
      await world.clock.advance(1_000);
      return (await typesOf(world, second)).includes('EmailBouncesNoted');
    }, 'the complaint is noted');
    t.notOk(await isSuppressed(world, ann));
  },
);

void t.test(
  'an address that is suppressed between acceptance and delivery is not written to, and its credit comes back',
  async (t) => {
    const world = await inCredits(t);
    const id = await world.send(to(gone));
    const both = await world.send(to(ann, gone));
    t.equal(await left(world), 998);
    await world.commands.addSuppression(caller, { email: gone });
    await world.clock.advance(2_000);
    all(world);
    await world.settled();
    await world.publish(id, both);
    await world.reaches(id, 'failed');
    await world.reaches(both, 'sent');
    t.same(await typesOf(world, id), ['EmailQueued', 'RecipientsSuppressed']);
    t.same(await typesOf(world, both), ['EmailQueued', 'RecipientsSuppressed', 'DeliveryAttempted', 'EmailSent']);
    t.same(
      world.mailer.sent.map(({ envelope }) => envelope.to),
      [[ann]],
    );
    await world.settled();
    world.run(returnCreditsWorker({ ...world.processing, returnedUpTo }));
    await until(async () => {
      await world.clock.advance(2_000);
      return (await left(world)) === 999;
    }, 'the credit of the first is back');
    await world.clock.advance(10_000);
    await world.settled();
    t.equal(await left(world), 999, 'and no other');
  },
);

void t.test('a retry goes to nobody who is suppressed by then', async (t) => {
  const world = await openProcessorWorld(t);
  const workers = all(world);
  world.mailer.next.push(answers('refused', 'refused'));
  const id = await world.send(to(ann, gone));
  await world.reaches(id, 'failed');
  await world.commands.addSuppression(caller, { email: gone });
  await world.clock.advance(2_000);
  await world.commands.retryEmail(caller, id);
  await world.reaches(id, 'sent');
  t.same(world.mailer.sent.at(-1)!.envelope.to, [ann]);
  t.match(await world.commands.getEmail(caller, id), { recipients: [{ status: 'sent' }, { status: 'suppressed' }] });
  await workers.stop();
});

void t.test('a batch counts its suppressed recipients as failed, completes, and gets their credits back', async (t) => {
  const world = await inCredits(t);
  await world.commands.addSuppression(caller, { email: 'R1@example.org' });
  const id = await acceptBulk(world, bulk(3));
  t.equal(await left(world), 997);
  all(world);
  world.run(returnCreditsWorker({ ...world.processing, returnedUpTo }));
  await until(async () => {
    await world.clock.advance(1_000);
    return (await world.commands.getBatch(caller, id)).status === 'completed';
  }, 'it is completed');
  t.match(await world.commands.getBatch(caller, id), { sent: 2, failed: 1, cancelled: 0, queued: 0 });
  t.match(await world.commands.getEmail(caller, emailIdInBatch(id, 1)), {
    status: 'failed',
    failureReason: 'suppressed',
    attempts: [],
  });
  await until(async () => {
    await world.clock.advance(2_000);
    return (await left(world)) === 998;
  }, 'one credit is back');
  await world.clock.advance(10_000);
  t.equal(await left(world), 998);
});

void t.test('read models made anew are those that followed', async (t) => {
  const world = await openProcessorWorld(t);
  const { readModels } = world;
  const workers = all(world);
  world.mailer.next.push(answers('bounced'), answers('bounced', 'accepted'));
  const first = await world.send(to(gone));
  await world.reaches(first, 'bounced');
  await until(() => isSuppressed(world, gone), 'suppressed');
  const second = await world.send(to('moved@example.org', ann));
  await world.reaches(second, 'sent');
  await world.settled();
  await until(async () => {
    await world.clock.advance(1_000);
    return isSuppressed(world, 'moved@example.org');
  }, 'suppressed');
  await world.send(to(gone));
  await world.commands.removeSuppression(caller, suppressionIdOf(world.deps, TEAM, gone));
  await world.commands.deleteEmail(caller, first);
  await workers.stop();
  await world.settled();
  const { eventLog, limits } = world.deps;
  const suppressions = makeProjections(limits).find(({ name }) => name === SUPPRESSIONS)!;
  const store = await readModels.projection(suppressions.name, suppressions.collections);
  const runner = makeRunner(suppressions, {
    eventLog,
    clock: world.clock,
    makeAnew: async () => {},
    store,
    pause: async () => {},
  });
  world.run(runner.worker);
  await runner.caughtUp(await eventLog.head(), new AbortController().signal);
  for (const projection of [emailsProjection(PERIODS), suppressions])
    t.equal((await compareWithRebuild(projection, { eventLog, readModels })).difference, undefined, projection.name);
  const listed = await readModels.find(SUPPRESSIONS, { where: { team: { eq: TEAM } }, limit: 10 });
  t.match(listed, [{ reason: 'hard-bounce' }]);
  t.notMatch(JSON.stringify(listed), /example/, 'they tell no address');
});

/** The erasure of an address: what holds it is found by its index, recorded, destroyed, whatever it is cut off in. */
import t from 'tap';
import type { ErasureReceipt } from '../../src/api/privacy.js';
import { openEngagementRecorder } from '../../src/commands/recipients/engagement-recorder.js';
import { carryOutErasure } from '../../src/commands/privacy/erasure.js';
import type { AddressIndex } from '../../src/domain/privacy/decider.js';
import { suppressionIdOf } from '../../src/commands/recipients/suppression-check.js';
import {
  assertDefined,
  batchStream,
  emailIdInBatch,
  emailStream,
  parseErasureId,
  type EmailId,
  type erasureStream,
} from '../../src/domain/core/ids.js';
import { causeOfWork } from '../../src/processors/core/declaration.js';
import { makeProcessors } from '../../src/processors/index.js';
import { addressIndex, ERASURE_TIMERS, erasuresOf } from '../../src/projections/privacy/traces.js';
import { acceptBulk, bulk } from '../support/bulk.js';
import { caller, simple, stranger, TEAM, welcome } from '../support/command-world.js';
import { at } from '../support/email-facts.js';
import { answers, openProcessorWorld, until, workersOf, type ProcessorWorld } from '../support/processor-world.js';

const gone = 'Gone@example.org';
const ann = 'ann@example.org';
const to = (...addresses: readonly string[]) => ({ to: addresses.map((email) => ({ email })) });

const all = (world: ProcessorWorld) => world.run(workersOf(world.processing, makeProcessors(world.processing)));

/** Time passes until the call is answered. */
const answered = async <Answer>(world: ProcessorWorld, call: Promise<Answer>): Promise<Answer> => {
  let done = false;
  const ended = call.finally(() => (done = true));
  ended.catch(() => {});
  await until(async () => {
    await world.clock.advance(50);
    return done;
  }, 'the call is answered');
  return ended;
};

const erase = (world: ProcessorWorld, email = gone, who = caller): Promise<ErasureReceipt> =>
  answered(world, world.commands.eraseAddress(who, { email }));

const receipt = (world: ProcessorWorld, { id }: ErasureReceipt): Promise<ErasureReceipt> =>
  world.commands.getErasure(caller, assertDefined(parseErasureId(id), 'erasure id'));

const completed = (world: ProcessorWorld, pending: ErasureReceipt): Promise<void> =>
  until(async () => {
    await world.clock.advance(500);
    return (await receipt(world, pending)).status === 'completed';
  }, 'the erasure is completed');

const typesOf = (events: ErasureReceipt['events']) => events.map(({ type }) => type);

const exported = async (
  world: ProcessorWorld,
  email = gone,
  who = caller,
): Promise<readonly Record<string, unknown>[]> => {
  await world.settled();
  let text = '';
  for await (const piece of await world.commands.exportAddress(who, { email }, addressIndex(world.readModels)))
    text += piece;
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
};

/** Whether anything that is stored and can still be opened tells the address, or anything that is not sealed. */
const toldBy = async (world: ProcessorWorld, email: string): Promise<readonly string[]> => {
  const told: string[] = [];
  for (const stream of new Set(world.store.events.map((event) => event.stream))) {
    const events = await world.elsewhere().eventLog.load(stream as Parameters<ProcessorWorld['events']>[0]);
    if (JSON.stringify(events).toLowerCase().includes(email.toLowerCase())) told.push(stream);
  }
  return told;
};

void t.test(
  'what was sent and what still waits is destroyed, nothing leaves, and the receipt names all of it',
  async (t) => {
    const world = await openProcessorWorld(t);
    all(world);
    const sent = await world.send(to(gone));
    await world.reaches(sent, 'sent');
    const later = await world.send({ ...to('GONE@example.org'), scheduledAt: at(3_600) });
    const both = await world.send(to(ann, gone));
    await world.reaches(both, 'sent');
    const other = await world.send(to(ann));
    await world.reaches(other, 'sent');
    const { id: templateId } = await world.commands.createTemplate(stranger, { ...welcome, slug: 'theirs' });
    const foreign = (await world.commands.sendEmail(stranger, { ...simple(to(gone)), templateId })).body.id;
    const done = await erase(world);
    t.match(done, { status: 'completed', emails: 3, suppressed: false, bulkSends: [], waiting: null });
    t.same(new Set(done.emailIds), new Set([sent, later, both]));
    const goesOn = await world.commands.getEmail(caller, both);
    t.match(goesOn, {
      archived: false,
      subject: String,
      recipients: [{ email: ann }, { email: null, name: null, erased: true }],
    });
    t.notMatch(JSON.stringify(goesOn), /gone/i);
    t.same(typesOf(done.events), ['ErasureRequested', 'ErasureFound', 'ErasureCompleted']);
    t.notMatch(JSON.stringify(done), /gone/i);
    for (const id of [sent, later]) {
      const record = await world.commands.getEmail(caller, id);
      t.match(record, { archived: true, subject: null });
      t.notMatch(JSON.stringify(record), /gone|ann@/i);
    }
    t.match(await world.commands.getEmail(caller, later), { status: 'cancelled' });
    t.match(await world.commands.getEmail(caller, other), { archived: false, recipients: [{ email: ann }] });
    t.same(await toldBy(world, gone), [`email-${foreign}`], 'nothing but the email of another team tells it');
    await world.settled();
    t.same(await world.readModels.find(ERASURE_TIMERS, { where: {}, limit: 10 }), []);
    const found = (address: string, team = TEAM) =>
      erasuresOf(world, team, suppressionIdOf(world.deps, team, address), 10);
    t.match(await found(gone), [{ id: done.id, completedAt: done.completedAt }]);
    t.same(await found(ann), []);
    t.same(await found(gone, stranger.teamId), []);
    const before = world.mailer.sent.length;
    await world.clock.advance(3_700_000);
    await world.settled();
    t.equal(world.mailer.sent.length, before, 'the scheduled one does not leave');
    t.match(await exported(world), [{ type: 'address', email: gone }]);
    t.equal((await exported(world)).length, 1);
  },
);

void t.test('an unknown address is answered the same, with nothing in it', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const done = await erase(world, 'nobody@example.org');
  t.match(done, { status: 'completed', emails: 0, emailIds: [], bulkSends: [], suppressed: false, waiting: null });
  t.same(typesOf(done.events), ['ErasureRequested', 'ErasureFound', 'ErasureCompleted']);
  await t.rejects(world.commands.eraseAddress(caller, { email: 'nobody' }), { code: 'ERR_EMAIL_001' });
  const id = assertDefined(parseErasureId(done.id), 'id');
  await t.rejects(world.commands.getErasure(stranger, id), { code: 'ERASURE_NOT_FOUND' });
});

void t.test('a suppressed address stays suppressed, and is told no more', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  await world.commands.addSuppression(caller, { email: gone });
  await world.commands.addSuppression(caller, { email: ann });
  const id = suppressionIdOf(world.deps, TEAM, gone);
  t.match(await erase(world), { status: 'completed', suppressed: true });
  t.match(await world.commands.readSuppressions(caller, [id]), [{ id, email: null, reason: 'manual' }]);
  t.match(await world.commands.checkSuppression(caller, gone), { suppressed: true, suppression: { email: null } });
  const refused = await world.send(to(gone));
  t.match(await world.commands.getEmail(caller, refused), { status: 'failed', failureReason: 'suppressed' });
  t.match(await erase(world), { emails: 1, suppressed: true }, 'what came after is erased by another call');
  t.same(await toldBy(world, gone), []);
  await world.commands.removeSuppression(caller, id);
  t.match(await world.commands.checkSuppression(caller, gone), { suppressed: false });
  await world.clock.advance(1_000);
  await world.commands.addSuppression(caller, { email: gone });
  t.match(await world.commands.readSuppressions(caller, [id]), [{ email: null }], 'it is not kept again');
  t.same(await toldBy(world, gone), []);
});

void t.test('an address that is kept from lists is told no more either, and is kept from them', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const [news, offers] = ['news', 'offers'].map((list) => suppressionIdOf(world.deps, TEAM, gone, list));
  await world.commands.addSuppression(caller, { email: gone, list: 'news' });
  await world.commands.addSuppression(caller, { email: ann, list: 'offers' });
  await world.commands.addSuppression(caller, { email: gone, list: 'offers' });
  await world.commands.removeSuppression(caller, offers!);
  t.match(
    (await exported(world)).filter(({ type }) => type === 'suppression'),
    [{ email: gone, list: 'news' }],
  );
  t.match(await erase(world), { status: 'completed', suppressed: false });
  t.same(await toldBy(world, gone), []);
  t.match(await world.commands.readSuppressions(caller, [news!]), [{ email: null, list: 'news' }]);
  t.equal((await world.commands.checkSuppression(caller, gone, 'news')).suppressed, true);
  t.match(await world.commands.checkSuppression(caller, ann, 'offers'), { suppression: { email: ann } });
});

void t.test('an address that was taken off the list stays off it', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const { id } = await world.commands.addSuppression(caller, { email: gone });
  await world.commands.removeSuppression(caller, id as ReturnType<typeof suppressionIdOf>);
  t.match(await erase(world), { suppressed: false });
  t.match(await world.commands.checkSuppression(caller, gone), { suppressed: false });
  const sent = await world.send(to(gone));
  await world.reaches(sent, 'sent');
});

void t.test('an email in a dialogue is waited for', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  let end: (() => void) | undefined;
  world.mailer.next.push(async (message) => {
    await new Promise<void>((resolve) => (end = resolve));
    return answers('accepted')(message);
  });
  const id = await world.send(to(gone));
  await until(() => end !== undefined, 'the dialogue is under way');
  const pending = await erase(world);
  t.match(pending, {
    status: 'pending',
    completedAt: null,
    suppressed: null,
    waiting: { emailIds: [id], bulkSends: [] },
  });
  t.match(await world.commands.getEmail(caller, id), { archived: false });
  end!();
  await world.reaches(id, 'sent');
  await completed(world, pending);
  t.match(await world.commands.getEmail(caller, id), { archived: true, status: 'sent' });
  t.match(await receipt(world, pending), { emails: 1, emailIds: [id], waiting: null });
  t.same(await toldBy(world, gone), []);
});

void t.test('a scheduled bulk send goes on without the address', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const request = bulk(5, { scheduledAt: at(3_600) });
  request.recipients.splice(2, 0, { email: gone, name: 'Gone Body', variables: { name: 'gonevalue' } });
  const id = await acceptBulk(world, request);
  t.match((await exported(world)).slice(1), [
    { type: 'bulkSend', batchId: id, email: gone, name: 'Gone Body', variables: { name: 'gonevalue' } },
  ]);
  const pending = await erase(world);
  t.match(pending, { status: 'pending', emails: 0, bulkSends: [id], waiting: { emailIds: [], bulkSends: [id] } });
  t.equal((await exported(world)).length, 1, 'it is not given out any more');
  const results = async () => {
    const found = [];
    for await (const some of await world.commands.batchResults(caller, id)) found.push(...some);
    return found.map(({ email, status }) => `${email} ${status}`);
  };
  t.equal((await results())[2], 'null scheduled');
  await world.clock.advance(3_601_000);
  await completed(world, pending);
  t.equal((await results())[2], 'null cancelled');
  t.equal(world.mailer.sent.length, 5);
  t.notMatch(JSON.stringify(world.mailer.sent.map(({ envelope }) => envelope.to)), /gone/i);
  t.same(await toldBy(world, gone), []);
  t.same(await toldBy(world, 'gonevalue'), []);
  t.same(
    (await world.events(emailStream(emailIdInBatch(id, 2)))).map(({ type }) => type),
    ['EmailQueued', 'EmailCancelled', 'EmailArchived'],
  );
  await until(async () => {
    await world.clock.advance(500);
    return (await world.commands.getBatch(caller, id)).status === 'completed';
  }, 'the batch is completed');
  t.equal((await world.events(batchStream(id))).filter(({ type }) => type === 'BatchRecipientsErased').length, 1);
});

void t.test('cancelled, a bulk send holds the address no more', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const request = bulk(2, { scheduledAt: at(3_600) });
  request.recipients.push({ email: gone, variables: { name: 'x' } });
  const id = await acceptBulk(world, request);
  const pending = await erase(world);
  await answered(world, world.commands.cancelBatch(caller, id));
  await completed(world, pending);
  t.same(await toldBy(world, gone), []);
});

/** The index in smaller pages than those of the program. */
const inTens = ({ processing: { addressIndex: index } }: ProcessorWorld): AddressIndex => ({
  ...index,
  emailsOfAddress: async function* (teamId, address) {
    for await (const { ids } of index.emailsOfAddress(teamId, address))
      for (let from = 0; from <= ids.length; from += 10)
        yield { ids: ids.slice(from, from + 10), isLast: from + 10 > ids.length };
  },
});

void t.test('cut off anywhere, it is gone on with, and all that is destroyed was recorded before', async (t) => {
  const world = await openProcessorWorld(t);
  const ids: EmailId[] = [];
  for (let count = 0; count < 45; count += 1) ids.push(await world.send(to(gone)));
  await world.settled();
  void world.commands.eraseAddress(caller, { email: gone }).catch(() => {});
  await until(() => world.store.events.some(({ stream }) => stream.startsWith('erasure-')), 'it is asked for');
  const stream = world.store.events.find((event) => event.stream.startsWith('erasure-'))!.stream as ReturnType<
    typeof erasureStream
  >;
  const id = assertDefined(parseErasureId(stream.slice('erasure-'.length)), 'erasure id');
  const cause = () =>
    causeOfWork(world.processing, 'erase-address', { teamId: TEAM, correlationId: 'request-1', causationId: 'x' });
  const foundBy = async () =>
    new Set((await world.events(stream)).flatMap((event) => (event.type === 'ErasureFound' ? event.data.emails : [])));
  const destroyedNow = async () => {
    const states = await Promise.all(ids.map((email) => world.elsewhere().eventLog.existingKey(emailStream(email))));
    return ids.filter((_, index) => states[index] === undefined);
  };
  let runs = 0;
  for (let left = 5; ; left += 11) {
    runs += 1;
    let calls = 0;
    const eventLog = {
      ...world.deps.eventLog,
      destroyKey: async (name: Parameters<typeof world.deps.eventLog.destroyKey>[0]) => {
        calls += 1;
        if (calls > left) throw new Error('killed');
        await world.deps.eventLog.destroyKey(name);
      },
      append: async (...args: Parameters<typeof world.deps.eventLog.append>) => {
        calls += 1;
        if (calls > left) throw new Error('killed');
        return world.deps.eventLog.append(...args);
      },
    };
    const work = { id, cause: cause(), signal: new AbortController().signal };
    const ended = await carryOutErasure({ ...world.processing, eventLog, addressIndex: inTens(world) }, work).then(
      () => true,
      () => false,
    );
    const found = await foundBy();
    for (const email of await destroyedNow()) if (!found.has(email)) t.fail(`${email} was destroyed and not recorded`);
    await world.settled();
    if (ended) break;
  }
  t.ok(runs > 3, `${runs} runs`);
  const done = await world.commands.getErasure(caller, id);
  t.match(done, { status: 'completed' });
  t.equal(new Set(done.emailIds).size, 45);
  t.equal((await destroyedNow()).length, 45);
  t.same(await toldBy(world, gone), []);
  const appended = world.store.events.length;
  await carryOutErasure(world.processing, { id, cause: cause(), signal: new AbortController().signal });
  t.equal(world.store.events.length, appended, 'done again it does nothing');
});

void t.test("the export has all that is the address's own, and nothing of others", async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const own = await world.send({
    ...to(gone),
    variables: { name: 'Secretname' },
    metadata: { order: 7 },
    tags: ['may'],
  });
  await world.reaches(own, 'sent');
  const both = await world.send({ ...to(ann, gone), variables: { name: 'Hername' } });
  await world.reaches(both, 'sent');
  await world.send(to(ann));
  await world.commands.addSuppression(caller, { email: gone });
  const lines = await exported(world, 'gone@EXAMPLE.org');
  t.match(lines, [
    { type: 'address', email: 'gone@example.org' },
    { type: 'suppression', email: gone, reason: 'manual' },
    { type: 'email', id: both, status: 'sent', recipients: [{ email: gone }], content: null },
    {
      type: 'email',
      id: own,
      tags: ['may'],
      content: { variables: { name: 'Secretname' }, metadata: { order: 7 }, attachments: [] },
    },
  ]);
  t.equal(lines.length, 4);
  t.notMatch(JSON.stringify(lines), /ann@/);
  t.same((await exported(world, gone, stranger)).length, 1);
  await t.rejects(world.commands.exportAddress(caller, { email: 'x' }, addressIndex(world.readModels)), {
    code: 'ERR_EMAIL_001',
  });
});

void t.test('of an email to several the export tells where its own reader was, and no other', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const id = await world.send({ ...to(ann, gone), tracking: { opens: true, clicks: true } });
  await world.reaches(id, 'sent');
  await world.clock.advance(60_000);
  const recorder = openEngagementRecorder({ ...world.deps, logger: world.logger });
  world.run(recorder.worker);
  const seen = {
    emailId: id,
    userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0',
    requestId: 'request-2',
  };
  for (const [recipient, ipAddress] of ['192.0.2.7', '192.0.2.8'].entries())
    recorder.note({ ...seen, recipient, ipAddress });
  await until(
    async () => (await world.events(emailStream(id))).filter(({ type }) => type === 'EmailOpened').length === 2,
    'both are recorded',
  );
  const [, held] = await exported(world);
  t.match(held, {
    id,
    openedAt: null,
    recipients: [{ email: gone, openedAt: String }],
    tracking: { events: [{ type: 'opened', ipAddress: '192.0.2.8' }] },
  });
  t.notMatch(JSON.stringify(held), '192.0.2.7');
  t.match(await erase(world), { status: 'completed', emails: 1 });
  t.same(await toldBy(world, '192.0.2.8'), []);
});

const several = (...others: readonly string[]) => to(ann, gone, ...others);
const recipientsOf = async (world: ProcessorWorld, id: EmailId) =>
  (await world.commands.getEmail(caller, id)).recipients.map(
    ({ email, status, erased }) => `${email} ${status}${erased ? ' erased' : ''}`,
  );

void t.test('of an email to several that waits the others get it, and nothing names whoever is erased', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  await world.settled();
  const keysBefore = world.keys.ids();
  const id = await world.send({ ...several('bob@example.org'), scheduledAt: at(3_600) });
  t.equal(world.keys.ids().length, keysBefore.length + 4);
  t.match(await erase(world), { status: 'completed', emails: 1, emailIds: [id] });
  t.same(await recipientsOf(world, id), [`${ann} queued`, 'null cancelled erased', 'bob@example.org queued']);
  t.match(await erase(world), { status: 'completed', emails: 0 }, 'and it is found no more');
  await world.clock.advance(3_700_000);
  await world.reaches(id, 'sent');
  t.equal(world.mailer.sent.length, 1);
  const { envelope, raw } = world.mailer.sent[0]!;
  t.same(envelope.to, [ann, 'bob@example.org']);
  t.notMatch(raw.toString(), /gone/i);
  t.same(await toldBy(world, gone), []);
  t.match(await exported(world, ann), [{ type: 'address' }, { id, recipients: [{ email: ann }], content: null }]);
  t.notMatch(JSON.stringify(await exported(world, ann)), /gone/i);
  t.match(await erase(world, ann), { status: 'completed', emails: 1 });
  t.same(await recipientsOf(world, id), ['null sent erased', 'null cancelled erased', 'bob@example.org sent']);
  t.match(await world.commands.getEmail(caller, id), { archived: false, subject: String });
  t.match(await erase(world, 'bob@example.org'), { status: 'completed', emails: 1 });
  t.match(
    await world.commands.getEmail(caller, id),
    { archived: true, subject: null, status: 'sent' },
    'with the last it goes whole',
  );
  t.same(
    world.keys.ids().filter((key) => !keysBefore.includes(key)),
    [],
    'and leaves no key',
  );
});

void t.test('as copies: the others get theirs, and a deferred copy of whoever is erased does not leave', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  const tracking = { opens: true, clicks: true };
  world.mailer.next.push(answers('accepted'), answers('deferred'), answers('deferred'));
  const id = await world.send({ ...several('bob@example.org'), tracking });
  await world.reaches(id, 'queued');
  await until(() => world.mailer.sent.length === 3, 'each was tried');
  t.match(await erase(world), { status: 'completed', emails: 1 });
  t.same(await recipientsOf(world, id), [`${ann} sent`, 'null cancelled erased', 'bob@example.org queued']);
  await world.clock.advance(3_700_000);
  await world.reaches(id, 'sent');
  const [, , , last, ...more] = world.mailer.sent;
  t.same([last!.envelope.to, more.length], [['bob@example.org'], 0]);
  t.notMatch(last!.raw.toString(), /gone/i);
  t.same(await recipientsOf(world, id), [`${ann} sent`, 'null cancelled erased', 'bob@example.org sent']);
  t.same(await toldBy(world, gone), []);
});

void t.test('a mail that is being made in that moment is made anew without whoever is erased', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await world.send(several());
  await world.settled();
  let isMaking = (): void => {};
  const making = new Promise<void>((resolve) => (isMaking = resolve));
  let goOn = (): void => {};
  const wait = new Promise<void>((resolve) => (goOn = resolve));
  let times = 0;
  const turnFor = async (): Promise<void> => {
    times += 1;
    if (times > 1) return;
    isMaking();
    await wait;
  };
  world.run(workersOf(world.processing, makeProcessors({ ...world.processing, turnFor })));
  await making;
  t.match(await erase(world), { status: 'completed', emails: 1 });
  goOn();
  await world.reaches(id, 'sent');
  t.equal(world.mailer.sent.length, 1);
  t.same(world.mailer.sent[0]!.envelope.to, [ann]);
  t.notMatch(world.mailer.sent[0]!.raw.toString(), /gone/i);
});

void t.test('an email to several that is in a dialogue is waited for, and then goes on for the others', async (t) => {
  const world = await openProcessorWorld(t);
  all(world);
  let end: (() => void) | undefined;
  world.mailer.next.push(async (message) => {
    await new Promise<void>((resolve) => (end = resolve));
    return answers('accepted')(message);
  });
  const id = await world.send(several());
  await until(() => end !== undefined, 'the dialogue is under way');
  const pending = await erase(world);
  t.match(pending, { status: 'pending', waiting: { emailIds: [id] } });
  end!();
  await world.reaches(id, 'sent');
  await completed(world, pending);
  t.same(await recipientsOf(world, id), [`${ann} sent`, 'null sent erased']);
  t.same(await toldBy(world, gone), []);
});

void t.test('with several recipients too, what is cut off anywhere is gone on with', async (t) => {
  const world = await openProcessorWorld(t);
  const ids: EmailId[] = [];
  for (let count = 0; count < 12; count += 1) ids.push(await world.send(several(`other${count}@example.org`)));
  await world.settled();
  void world.commands.eraseAddress(caller, { email: gone }).catch(() => {});
  await until(() => world.store.events.some(({ stream }) => stream.startsWith('erasure-')), 'it is asked for');
  const stream = world.store.events.find((event) => event.stream.startsWith('erasure-'))!.stream as ReturnType<
    typeof erasureStream
  >;
  const id = assertDefined(parseErasureId(stream.slice('erasure-'.length)), 'erasure id');
  const cause = () =>
    causeOfWork(world.processing, 'erase-address', { teamId: TEAM, correlationId: 'request-1', causationId: 'x' });
  for (let left = 3, runs = 1; ; left += 5, runs += 1) {
    let calls = 0;
    const counted = async <Done>(act: () => Promise<Done>): Promise<Done> => {
      calls += 1;
      if (calls > left) throw new Error('killed');
      return act();
    };
    const { eventLog: log } = world.deps;
    const eventLog: typeof log = {
      ...log,
      destroyRecipientKeys: (...args) => counted(() => log.destroyRecipientKeys(...args)),
      append: (...args) => counted(() => log.append(...args)),
    };
    const work = { id, cause: cause(), signal: new AbortController().signal };
    const ended = await carryOutErasure({ ...world.processing, eventLog, addressIndex: inTens(world) }, work).then(
      () => true,
      () => false,
    );
    const recorded = (await world.events(stream)).flatMap((event) =>
      event.type === 'ErasureFound' ? event.data.emails : [],
    );
    for (const email of ids) {
      const [first, ...later] = await world.events(emailStream(email));
      const isDestroyed = first?.type === 'EmailQueued' && first.sealed?.recipients[1] === null;
      const isSaid = later.filter(({ type }) => type === 'RecipientsErased').length;
      if (isDestroyed && (isSaid !== 1 || !recorded.includes(email)))
        t.fail(`${email} was destroyed and not recorded, or twice`);
    }
    await world.settled();
    if (!ended) continue;
    t.ok(runs > 3, `${runs} runs`);
    break;
  }
  t.match(await world.commands.getErasure(caller, id), { status: 'completed', emails: 12 });
  t.same(await toldBy(world, gone), []);
  t.equal((await toldBy(world, ann)).length, 12);
});

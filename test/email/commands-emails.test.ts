/**
 * Commands on emails that are there: read, retry, delete, archive; what is personal is destroyed, and teams are apart.
 */
import t from 'tap';
import { archiveEmail } from '../../src/commands/email/emails.js';
import { causeOf } from '../../src/commands/core/caller.js';
import { makeCommands } from '../../src/commands/index.js';
import { handle } from '../../src/commands/core/handle.js';
import { versionOf } from '../../src/event-log/event-log.js';
import { parseAsOf } from '../../src/domain/core/time.js';
import { emailDecider, type EmailCommand } from '../../src/domain/email/decider.js';
import type { EmailAccepted } from '../../src/domain/email/events.js';
import { emailStream, assertDefined, parseEmailId, type EmailId } from '../../src/domain/core/ids.js';
import { DAY_MS, HOST, outcome, type Result } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { caller, simple, stranger, withTemplate, type World } from '../support/command-world.js';

const idOf = (id: string): EmailId => assertDefined(parseEmailId(id), 'email id');
const send = async (world: World, more: Parameters<typeof simple>[0] = {}): Promise<EmailId> =>
  idOf((await world.commands.sendEmail(caller, simple(more))).body.id);

const decide = async ({ deps, clock }: World, id: EmailId, command: EmailCommand): Promise<void> => {
  await handle(deps.eventLog, emailStream(id), emailDecider, command, {
    ...causeOf(deps, caller),
    at: new Date(clock.now()).toISOString(),
  });
};
const attempt = (world: World, id: EmailId): Promise<void> => {
  const now = world.clock.now();
  return decide(world, id, {
    type: 'AttemptDelivery',
    at: new Date(now).toISOString(),
    host: HOST,
    worker: 'w',
    deadlineAt: new Date(now + 600_000).toISOString(),
    workerGone: true,
  });
};
/** One delivery with that end, of an email with one recipient. */
const deliver = async (world: World, id: EmailId, result: Result, number = 1): Promise<void> => {
  await attempt(world, id);
  await decide(world, id, {
    type: 'RecordOutcome',
    attempt: number,
    at: new Date(world.clock.now()).toISOString(),
    host: HOST,
    durationMs: 5,
    outcomes: [outcome(0, result)],
    final: false,
    schedule: { delaysMs: [] },
  });
};

const large = (world: World): Promise<EmailId> =>
  send(world, {
    variables: { name: 'Ann', padding: 'p'.repeat(300_000) },
    attachments: [{ filename: 'a.txt', content: Buffer.from('secret').toString('base64'), contentType: 'text/plain' }],
  });

void t.test('a failed email is retried; the answer says so, and the record counts it', async (t) => {
  const world = await withTemplate();
  const id = await send(world);
  await refusedWith(t, world.commands.retryEmail(caller, id), 'EMAIL_NOT_RETRYABLE');
  await deliver(world, id, 'refused');
  await world.clock.advance(1_000);
  const { body, replayed } = await world.commands.retryEmail(caller, id);
  t.strictSame(body, {
    id,
    status: 'queued',
    message: 'The email is queued again and will be sent with the same Message-ID.',
    retryCount: 1,
    queuedAt: '2030-01-01T12:00:01.000Z',
  });
  t.equal(replayed, false);
  t.match(await world.commands.getEmail(caller, id), {
    status: 'queued',
    retryCount: 1,
    failureReason: null,
    messageId: `<${id}@example.com>`,
  });
  await refusedWith(t, world.commands.retryEmail(caller, id), 'EMAIL_NOT_RETRYABLE');
});

void t.test('a retry under a key is made once, and its answer stays the same', async (t) => {
  const world = await withTemplate();
  const id = await send(world);
  await deliver(world, id, 'refused');
  const key = { key: 'retry-1', body: undefined };
  const both = await Promise.all([
    world.commands.retryEmail(caller, id, key),
    world.commands.retryEmail(caller, id, key),
  ]);
  t.same(both.map(({ replayed }) => replayed).sort(), [false, true]);
  const bytes = JSON.stringify(both[0].body);
  t.equal(JSON.stringify(both[1].body), bytes);
  await deliver(world, id, 'refused', 2);
  t.same(
    JSON.stringify((await world.commands.retryEmail(caller, id, key)).body),
    bytes,
    'though the email failed again',
  );
  t.equal((await world.commands.retryEmail(caller, id, { key: 'retry-2', body: undefined })).body.retryCount, 2);
  await refusedWith(
    t,
    world.commands.retryEmail(caller, id, { key: 'retry-2', body: { other: 1 } }),
    'IDEMPOTENCY_KEY_REUSED',
  );
  await deliver(world, id, 'accepted', 3);
  t.same(JSON.stringify((await world.commands.retryEmail(caller, id, key)).body), bytes, 'though it was sent since');
  t.equal((await world.commands.getEmail(caller, id)).retryCount, 2);
});

void t.test('an archived email is not retried', async (t) => {
  const world = await withTemplate();
  const id = await send(world);
  await deliver(world, id, 'refused');
  await world.clock.advance(31 * DAY_MS);
  t.equal(await archiveEmail(world.deps, id, causeOf(world.deps, caller)), true);
  await refusedWith(t, world.commands.retryEmail(caller, id), 'EMAIL_ARCHIVED');
});

void t.test('deleted, an email is gone for its team, and what was personal of it for everybody', async (t) => {
  const world = await withTemplate();
  const id = await large(world);
  t.equal(world.files.stored.size, 2, 'the attachment and the large payload');
  t.same(await world.commands.deleteEmail(caller, id), { id, deleted: true });
  t.equal(world.files.stored.size, 0);
  t.same(world.keys.ids(), []);
  const events = await world.events(emailStream(id));
  t.same(
    events.map(({ type }) => type),
    ['EmailQueued', 'EmailCancelled', 'EmailDeleted', 'EmailArchived'],
  );
  t.same(world.copiesForgotten, [(events[0] as EmailAccepted).data.messageId]);
  for (const eventLog of [world.deps.eventLog, world.elsewhere().eventLog])
    t.match((await eventLog.load(emailStream(id)))[0]!.event, { sealed: undefined });
  await refusedWith(t, world.commands.getEmail(caller, id), 'EMAIL_NOT_FOUND');
  await refusedWith(t, world.commands.retryEmail(caller, id), 'EMAIL_NOT_FOUND');
  await refusedWith(t, world.commands.deleteEmail(caller, id), 'EMAIL_NOT_FOUND');
});

void t.test('an email under way is not deleted', async (t) => {
  const world = await withTemplate();
  const id = await send(world);
  await attempt(world, id);
  await refusedWith(t, world.commands.deleteEmail(caller, id), 'EMAIL_IN_PROGRESS');
  t.equal((await world.commands.getEmail(caller, id)).recipients[0]!.email, 'ann@example.org');
});

void t.test('many are deleted at once: each counted for what became of it', async (t) => {
  const world = await withTemplate();
  const [a, b, busy] = [await send(world), await send(world), await send(world)];
  await attempt(world, busy);
  const theirs = idOf((await world.commands.sendEmail(caller, simple())).body.id);
  const unknown = idOf('99999999-9999-4999-8999-999999999999');
  t.same(await world.commands.deleteEmails(caller, [a, b, a, busy, unknown]), {
    deleted: 2,
    notFound: 1,
    inProgress: 1,
  });
  t.same(await world.commands.deleteEmails(caller, [a, b]), { deleted: 0, notFound: 2, inProgress: 0 });
  t.same(await world.commands.deleteEmails(stranger, [theirs]), { deleted: 0, notFound: 1, inProgress: 0 });
  t.same(await world.commands.deleteEmails(caller, []), { deleted: 0, notFound: 0, inProgress: 0 });
});

void t.test('the archive: not early, once, and safe to repeat wherever the program died in it', async (t) => {
  const world = await withTemplate();
  const id = await large(world);
  const archive = () => archiveEmail(world.deps, id, causeOf(world.deps, caller));
  t.equal(await archive(), false, 'an open email');
  await deliver(world, id, 'accepted');
  await world.clock.advance(30 * DAY_MS - 1);
  t.equal(await archive(), false, 'a millisecond early');
  t.equal(world.files.stored.size, 2);
  await world.clock.advance(1);
  world.store.beforeAppend(() => Promise.reject(new Error('died')));
  await t.rejects(archive(), { message: 'died' });
  world.store.beforeAppend(undefined);
  t.equal(world.keys.ids().length, 1, 'nothing is destroyed before the fact is recorded');
  t.equal(world.files.stored.size, 2);
  t.equal(await archive(), true);
  t.equal(await archive(), false);
  t.equal(world.files.stored.size, 0);
  t.equal((await world.events(emailStream(id))).filter(({ type }) => type === 'EmailArchived').length, 1);
  t.match(await world.commands.getEmail(caller, id), {
    archived: true,
    status: 'sent',
    subject: null,
    recipients: [{ email: null, status: 'sent' }],
  });
});

void t.test('an email that is retried just before it is archived keeps its key', async (t) => {
  const world = await withTemplate();
  const id = await send(world);
  await deliver(world, id, 'refused');
  await world.clock.advance(30 * DAY_MS);
  world.store.beforeAppend(async () => {
    world.store.beforeAppend(undefined);
    await world.commands.retryEmail(caller, id);
  });
  t.equal(await archiveEmail(world.deps, id, causeOf(world.deps, caller)), false);
  t.equal(world.keys.ids().length, 1);
  await attempt(world, id);
  t.match(await world.commands.getEmail(caller, id), { status: 'processing', archived: false, subject: /./ });
});

void t.test('an email is read as it was at a time, or at one of its events', async (t) => {
  const world = await withTemplate();
  const id = await send(world);
  await world.clock.advance(1_000);
  await deliver(world, id, 'refused');
  await world.clock.advance(1_000);
  await world.commands.retryEmail(caller, id);
  const recorded = await world.deps.eventLog.load(emailStream(id));
  const at = (asOf: string) => world.commands.getEmail(caller, id, parseAsOf(asOf)!);
  t.match(await at('2030-01-01T12:00:00.000Z'), {
    status: 'queued',
    attempts: [],
    subject: 'Hello Ann',
    updatedAt: '2030-01-01T12:00:00.000Z',
  });
  t.match(await at('2030-01-01T13:00:00.999+01:00'), { status: 'queued', attempts: [] });
  t.match(await at('2030-01-01T12:00:01Z'), { status: 'failed', retryCount: 0, failureReason: 'refused' });
  t.same(await at('2030-01-01'), await world.commands.getEmail(caller, id), 'a date is its end');
  t.same(await at('2040-01-01T00:00:00Z'), await world.commands.getEmail(caller, id));
  t.same(await Promise.all(recorded.map(async ({ metadata }) => (await at(metadata.eventId.toUpperCase())).status)), [
    'queued',
    'processing',
    'failed',
    'queued',
  ]);
  await refusedWith(t, at('2030-01-01T11:59:59.999Z'), 'EMAIL_NOT_FOUND');
  const other = await world.deps.eventLog.load(emailStream(await send(world)));
  const foreign = await refusedWith(t, at(other[0]!.metadata.eventId), 'VALIDATION_ERROR');
  const unknown = await refusedWith(t, at('99999999-9999-4999-8999-999999999999'), 'VALIDATION_ERROR');
  t.same(foreign.details, unknown.details);
  for (const asOf of ['2030-01-01', recorded[0]!.metadata.eventId])
    await refusedWith(t, world.commands.getEmail(stranger, id, parseAsOf(asOf)!), 'EMAIL_NOT_FOUND');
});

void t.test('what was destroyed stays destroyed in what is read of the past, from the fact on', async (t) => {
  const world = await withTemplate();
  const id = await send(world);
  const [first] = await world.deps.eventLog.load(emailStream(id));
  await deliver(world, id, 'accepted');
  const asOf = parseAsOf(first!.metadata.eventId)!;
  t.match(await world.commands.getEmail(caller, id, asOf), {
    subject: 'Hello Ann',
    recipients: [{ email: 'ann@example.org' }],
  });
  await world.clock.advance(30 * DAY_MS);
  await decide(world, id, {
    type: 'ArchiveEmail',
    at: new Date(world.clock.now()).toISOString(),
    retentionMs: 30 * DAY_MS,
  });
  t.equal(world.keys.ids().length, 1, 'the key is there still');
  const read = async (deps: World['deps']) => JSON.stringify(await makeCommands(deps).getEmail(caller, id, asOf));
  t.notMatch(await read(world.deps), /ann@example|Hello Ann|"Ann"/);
  await world.deps.eventLog.destroyKey(emailStream(id));
  t.equal(await read(world.elsewhere()), await read(world.deps));
  t.match(JSON.parse(await read(world.deps)), {
    status: 'queued',
    archived: false,
    subject: null,
    recipients: [{ email: null, role: 'to' }],
  });
  await world.commands.deleteEmail(caller, id);
  await refusedWith(t, world.commands.getEmail(caller, id, asOf), 'EMAIL_NOT_FOUND');
});

void t.test('of a recipient who is erased nothing is read of the past either, from the fact on', async (t) => {
  const world = await withTemplate();
  const id = await send(world, { to: [{ email: 'ann@example.org' }, { email: 'bob@example.org', name: 'Bob' }] });
  const [first] = await world.deps.eventLog.load(emailStream(id));
  const asOf = parseAsOf(first!.metadata.eventId)!;
  t.match(await world.commands.getEmail(caller, id, asOf), {
    recipients: [{ email: 'ann@example.org' }, { email: 'bob@example.org' }],
  });
  const { event } = (await world.deps.eventLog.load(emailStream(id))).at(-1)!;
  const priority = event.type === 'EmailQueued' ? event.data.priority : 'normal';
  const erased = {
    type: 'RecipientsErased' as const,
    data: { at: new Date(world.clock.now()).toISOString(), recipients: [1], priority },
  };
  await world.deps.eventLog.append(emailStream(id), versionOf(first!), [erased], causeOf(world.deps, caller));
  const past = await world.commands.getEmail(caller, id, asOf);
  t.match(past, { subject: 'Hello Ann', recipients: [{ email: 'ann@example.org' }, { email: null, name: null }] });
  t.notMatch(JSON.stringify(past), /bob/i);
  const { placed } = await world.commands.emailTrace(caller, id);
  t.notMatch(JSON.stringify(placed), /bob@/);
});

void t.test('an email of another team is as unknown as none, on every command', async (t) => {
  const world = await withTemplate();
  const id = await send(world);
  await deliver(world, id, 'refused');
  const before = world.store.events.length;
  const unknown = idOf('99999999-9999-4999-8999-999999999999');
  const told = async (who: typeof caller, which: EmailId) => {
    const faults = [
      await refusedWith(t, world.commands.getEmail(who, which), 'EMAIL_NOT_FOUND'),
      await refusedWith(t, world.commands.retryEmail(who, which), 'EMAIL_NOT_FOUND'),
      await refusedWith(t, world.commands.retryEmail(who, which, { key: 'k', body: undefined }), 'EMAIL_NOT_FOUND'),
      await refusedWith(t, world.commands.deleteEmail(who, which), 'EMAIL_NOT_FOUND'),
    ];
    return faults.map(({ message, details }) => ({ message, details }));
  };
  t.same(await told(stranger, id), await told(caller, unknown));
  t.equal(world.store.events.length, before);
});

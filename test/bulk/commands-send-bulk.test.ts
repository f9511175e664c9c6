/**
 * Bulk calls as they are accepted or refused: what is wrong is named with its whole path, and what is refused leaves
 * nothing.
 */
import t, { type Test } from 'tap';
import { fanOut } from '../../src/commands/bulk/batches.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import {
  commandsOfTest,
  caller,
  schemaSaying,
  stranger,
  TEAM,
  welcome,
  withTemplate,
} from '../support/command-world.js';
import type { SendBulkRequest } from '../../src/api/bulk.js';
import type { BatchAccepted } from '../../src/domain/bulk/events.js';
import type { ErrorCode } from '../../src/domain/core/errors.js';
import { assertDefined, batchStream, emailIdInBatch, parseBatchId, type BatchId } from '../../src/domain/core/ids.js';
import { at } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';

const people = (count: number): SendBulkRequest['recipients'] =>
  Array.from({ length: count }, (_, index) => ({ email: `r${index}@example.org`, variables: { name: `N${index}` } }));

const bulk = (more: Partial<SendBulkRequest> = {}): SendBulkRequest => ({
  templateId: 'welcome',
  recipients: people(2),
  ...more,
});

type World = Awaited<ReturnType<typeof withTemplate>>;

const accept = async (
  world: World,
  request: SendBulkRequest,
): Promise<Readonly<{ id: BatchId; event: BatchAccepted }>> => {
  const id = assertDefined(parseBatchId((await world.commands.sendBulk(caller, request)).body.batchId), 'batch id');
  const [event] = await world.events(batchStream(id));
  if (event?.type !== 'BatchQueued' && event?.type !== 'BatchScheduled') throw new Error('not accepted');
  return { id, event };
};

const fanOutAll = async (deps: CommandNeeds, id: BatchId): Promise<void> => {
  const cause = { teamId: TEAM, actor: 'system', correlationId: 'c', causationId: 'c', at: at(0) };
  for (let part = 0; part < 10; part += 1) await fanOut(deps, { id, cause, signal: new AbortController().signal });
};

/** Refused with that code and these fields, and nothing written. */
const refuses =
  (t: Test, world: World) =>
  async (request: SendBulkRequest, code: ErrorCode, fields?: Readonly<Record<string, RegExp>>): Promise<void> => {
    const before = world.store.events.length;
    const { details } = await refusedWith(t, world.commands.sendBulk(caller, request), code);
    if (fields !== undefined) {
      const errors = details.errors ?? [];
      t.same(errors.map(({ field }) => field).sort(), Object.keys(fields).sort());
      for (const { field, message } of errors) t.match(message, fields[field], field);
    }
    t.equal(world.store.events.length, before, 'nothing is written');
  };

void t.test('one recipient and a thousand are accepted; one fact is written for all', async (t) => {
  const world = await withTemplate();
  for (const count of [1, 1_000]) {
    const before = world.store.events.length;
    const { event } = await accept(world, bulk({ recipients: people(count) }));
    t.equal(event.data.total, count);
    t.equal(world.store.events.length, before + 1);
  }
});

void t.test(
  'addresses: those that are wrong are left out, and a call without any other is refused with all of them',
  async (t) => {
    const world = await withTemplate();
    const wrong = ['', 'a b@example.org', 'no at', 'x@', `${'a'.repeat(65)}@example.org`].map((email) => ({ email }));
    await refuses(t, world)(bulk({ recipients: wrong }), 'ERR_EMAIL_001', {
      'recipients[0].email': /./,
      'recipients[1].email': /./,
      'recipients[2].email': /./,
      'recipients[3].email': /./,
      'recipients[4].email': /./,
    });
    const { event } = await accept(world, bulk({ recipients: [...wrong, ...people(1)] }));
    t.match(event, {
      data: { total: 1, invalid: [0, 1, 2, 3, 4], duplicates: [] },
      sealed: { recipients: [{ given: 5 }] },
    });
  },
);

void t.test(
  'the same address is written to once, whatever its case and however its domain is spelled: the first is kept',
  async (t) => {
    const world = await withTemplate();
    const emails = [
      'Ann@Bücher.example',
      'ann@xn--bcher-kva.example',
      'ANN@BÜCHER.EXAMPLE',
      'ann@bu\u0308cher.example',
      'bob@example.org',
    ];
    const recipients = emails.map((email, index) => ({ email, name: `P${index}`, variables: { name: `N${index}` } }));
    const { event } = await accept(world, bulk({ recipients }));
    t.match(event, {
      data: { total: 2, invalid: [], duplicates: [1, 2, 3] },
      sealed: { recipients: [{ name: 'P0' }, { name: 'P4' }] },
    });
    const same = await accept(world, bulk({ recipients: Array.from({ length: 1_000 }, () => people(1)[0]!) }));
    t.equal(same.event.data.total, 1);
    t.equal(same.event.data.duplicates.length, 999);
  },
);

void t.test('variables: 100 KB for each recipient and for all of them together, and not a byte more', async (t) => {
  const world = await withTemplate();
  const max = world.deps.limits.bulkRecipientVariablesBytesMax;
  const sized = (bytes: number) => ({ name: 'x', fill: 'y'.repeat(bytes - '{"name":"x","fill":""}'.length) });
  const [first, second] = people(2) as [SendBulkRequest['recipients'][0], SendBulkRequest['recipients'][0]];
  await accept(world, bulk({ recipients: [first, { ...second, variables: sized(max) }], baseVariables: sized(max) }));
  const message = new RegExp(`^is ${max + 1} bytes of JSON; at most ${max} are allowed$`);
  await refuses(t, world)(bulk({ recipients: [first, { ...second, variables: sized(max + 1) }] }), 'VALIDATION_ERROR', {
    'recipients[1].variables': message,
  });
  await refuses(t, world)(bulk({ baseVariables: sized(max + 1) }), 'VALIDATION_ERROR', { baseVariables: message });
});

void t.test(
  'a template that fails for one fails for that one; for each of the first ten it refuses the call',
  async (t) => {
    const world = await withTemplate();
    const { id } = await accept(world, bulk({ recipients: [{ email: 'nameless@example.org' }, ...people(1)] }));
    await fanOutAll(world.deps, id);
    t.match(await world.commands.getEmail(caller, emailIdInBatch(id, 0)), {
      status: 'failed',
      failureReason: 'rendering',
    });
    t.match(await world.commands.getEmail(caller, emailIdInBatch(id, 1)), { status: 'queued', subject: 'Hello N0' });
    await refuses(t, world)(bulk({ recipients: people(3).map(({ email }) => ({ email })) }), 'VALIDATION_ERROR', {
      'recipients[0].variables.name': /is required/,
    });
  },
);

void t.test('a template that shows a file of the call refuses a bulk send, which attaches none', async (t) => {
  const world = await withTemplate();
  const { template, commands } = world;
  for (const content of ['<p><img src="cid:logo" alt="A"></p>', '<div style="background:url(cid:logo)">a</div>']) {
    await commands.updateTemplate(caller, template.id, { schema: schemaSaying(content) });
    await commands.publishTemplate(caller, template.id);
    await refuses(t, world)(bulk(), 'VALIDATION_ERROR', { 'recipients[0].attachments': /contentId "logo"/ });
  }
});

void t.test(
  'what was published when the call came is sent, though the template is published anew or deleted meanwhile',
  async (t) => {
    const world = await withTemplate();
    const { template, commands } = world;
    const renewed = await accept(world, bulk());
    await commands.updateTemplate(caller, template.id, {
      subject: 'Changed {{name}}',
      schema: schemaSaying('changed'),
    });
    await commands.publishTemplate(caller, template.id);
    const deleted = await accept(world, bulk());
    await commands.deleteTemplate(caller, template.id);
    // Another process has nothing of the template in memory.
    const elsewhere = world.elsewhere();
    for (const { id } of [renewed, deleted]) await fanOutAll(elsewhere, id);
    t.match(await commands.getEmail(caller, emailIdInBatch(renewed.id, 1)), { status: 'queued', subject: 'Hello N1' });
    t.match(await commands.getEmail(caller, emailIdInBatch(deleted.id, 1)), {
      status: 'queued',
      subject: 'Changed N1',
    });
    await refuses(t, world)(bulk(), 'ERR_TMPL_002');
  },
);

void t.test(
  'a schedule lies ahead, at most a year; a moment that no clock showed there is exact by its offset',
  async (t) => {
    const world = await withTemplate();
    const refused = refuses(t, world);
    await refused(bulk({ scheduledAt: at(-1) }), 'VALIDATION_ERROR', { scheduledAt: /lies in the past/ });
    await refused(bulk({ scheduledAt: at(0) }), 'VALIDATION_ERROR', { scheduledAt: /lies in the past/ });
    await refused(bulk({ scheduledAt: at(2 * 366 * 86_400) }), 'VALIDATION_ERROR', { scheduledAt: /days ahead/ });
    const nowMs = world.clock.now();
    const year = new Date(nowMs).getUTCFullYear() + (new Date(nowMs).getUTCMonth() > 1 ? 1 : 0);
    // In Berlin 02:30 is left out on a Sunday at the end of March.
    const last = new Date(Date.UTC(year, 2, 31));
    const day = 31 - last.getUTCDay();
    const { event } = await accept(world, bulk({ scheduledAt: `${year}-03-${day}T02:30:00+01:00` }));
    t.match(event, { type: 'BatchScheduled', data: { scheduledAt: `${year}-03-${day}T01:30:00.000Z` } });
  },
);

void t.test(
  'Idempotency-Key: the same body once, byte for byte; another body is refused; two at once are one',
  async (t) => {
    const world = await withTemplate();
    const request = bulk({ recipients: [...people(2), { email: 'no' }] });
    const before = world.store.events.length;
    const call = (commands = world.commands) => commands.sendBulk(caller, request, { key: 'k', body: request });
    const answers = await Promise.all([call(), call()]);
    t.equal(world.store.events.length, before + 1);
    // Another process answers from the records of this one, after this one has ended. So does the second of two
    // processes that get the call at once.
    const other = commandsOfTest(world.elsewhere());
    for (const answer of [...answers, await call(), await call(other)])
      t.equal(JSON.stringify(answer.body), JSON.stringify(answers[0].body));
    t.same(
      answers.map(({ replayed }) => replayed),
      [false, true],
    );
    t.equal(world.store.events.length, before + 1);
    const changed = bulk();
    await refusedWith(
      t,
      world.commands.sendBulk(caller, changed, { key: 'k', body: changed }),
      'IDEMPOTENCY_KEY_REUSED',
    );
    await refusedWith(t, other.sendBulk(caller, changed, { key: 'k', body: changed }), 'IDEMPOTENCY_KEY_REUSED');
    await world.commands.createTemplate(stranger, welcome);
    const theirs = await world.commands.sendBulk(stranger, request, { key: 'k', body: request });
    t.not(theirs.body.batchId, answers[0].body.batchId, 'keys belong to a team');
    const [here, there] = await Promise.all([
      world.commands.sendBulk(caller, request, { key: 'both', body: request }),
      other.sendBulk(caller, request, { key: 'both', body: request }),
    ]);
    t.equal(JSON.stringify(here.body), JSON.stringify(there.body));
    t.same([here.replayed, there.replayed].sort(), [false, true]);
  },
);

void t.test(
  'Idempotency-Key: after the emails are made and their content is destroyed the answer is still the same',
  async (t) => {
    const world = await withTemplate();
    const request = bulk();
    const call = (deps: CommandNeeds) => commandsOfTest(deps).sendBulk(caller, request, { key: 'k', body: request });
    const { body } = await call(world.deps);
    await fanOutAll(world.deps, assertDefined(parseBatchId(body.batchId), 'batch id'));
    t.same(await call(world.elsewhere()), { body, replayed: true });
  },
);

void t.test('what is the same for all is checked as in a single send, every fault at once', async (t) => {
  const world = await withTemplate();
  const refused = refuses(t, world);
  const faulty = bulk({
    from: { email: 'shop@example.com', name: 'a\r\nBcc: x' },
    headers: { 'X-Good': 'yes', 'x-good': 'twice', Subject: 'no', 'X-Lines': 'a\nb' },
    metadata: { fill: 'x'.repeat(world.deps.limits.metadataSizeBytesMax) },
    scheduledAt: '2020-01-01T00:00:00Z',
    batchName: 'May\u0000',
  });
  await refused(faulty, 'VALIDATION_ERROR', {
    'from.name': /./,
    'headers.x-good': /given twice/,
    'headers.Subject': /./,
    'headers.X-Lines': /./,
    metadata: /bytes of JSON/,
    scheduledAt: /past/,
    batchName: /./,
  });
  await refused(bulk({ from: { email: 'no' }, replyTo: 'no' }), 'ERR_EMAIL_001', { 'from.email': /./, replyTo: /./ });
  await refused(bulk({ replyTo: ['a@example.com', { email: 'no' }] }), 'ERR_EMAIL_001', { 'replyTo[1].email': /./ });
  const recipients = [...people(1), { email: 'b@example.org', name: 'B\u202e\u0007' }];
  await refused(bulk({ recipients }), 'VALIDATION_ERROR', { 'recipients[1].name': /./ });
  await refused(bulk({ templateId: 'unknown' }), 'ERR_TMPL_002');
  await refused(bulk({ version: 9 }), 'TEMPLATE_VERSION_NOT_FOUND');
});

void t.test('bulk is low unless asked; each email has the priority of its batch', async (t) => {
  const world = await withTemplate();
  for (const priority of [undefined, 'low', 'normal', 'high'] as const) {
    const { id, event } = await accept(world, bulk(priority === undefined ? {} : { priority }));
    t.equal(event.data.priority, priority ?? 'low');
    await fanOutAll(world.deps, id);
    t.match(await world.commands.getEmail(caller, emailIdInBatch(id, 0)), { priority: priority ?? 'low' });
  }
});

void t.test(
  'a batch that does not fit in the room of its team is refused whole, and says what did not fit',
  async (t) => {
    const world = await withTemplate({ queueWaitingMax: 5 });
    const refused = refuses(t, world);
    await accept(world, bulk({ recipients: people(3) }));
    await refused(bulk({ recipients: people(3) }), 'QUEUE_FULL');
    const fault = await refusedWith(t, world.commands.sendBulk(caller, bulk({ recipients: people(3) })), 'QUEUE_FULL');
    t.match(
      fault.message,
      /3 emails of your team wait .* no more than 5 may: these 3 do not fit\. .* try again in \d+ seconds/,
    );
    const never = await refusedWith(t, world.commands.sendBulk(caller, bulk({ recipients: people(6) })), 'QUEUE_FULL');
    t.match(never.message, /these 6 do not fit\. .* send fewer at once/);
    await accept(world, bulk({ recipients: people(2) }));
  },
);

void t.test('a batch is shown from its streams, exactly, whether or not anything has been made of it', async (t) => {
  const world = await withTemplate();
  const { commands } = world;
  const show = (id: BatchId) => commandsOfTest(world.elsewhere()).getBatch(caller, id);
  const nameless = { email: 'nameless@example.org' };
  const { id } = await accept(
    world,
    bulk({ batchName: 'May', recipients: [...people(2), nameless, nameless, { email: 'no' }] }),
  );
  t.match(await show(id), {
    batchId: id,
    batchName: 'May',
    status: 'queued',
    totalEmails: 3,
    queued: 3,
    skipped: 1,
    duplicates: 1,
    progress: 0,
  });
  await fanOutAll(world.deps, id);
  t.match(await show(id), { status: 'processing', queued: 2, failed: 1, sent: 0, cancelled: 0, progress: 33 });
  await commands.cancelBatch(caller, id);
  t.match(await show(id), {
    status: 'cancelled',
    queued: 0,
    failed: 1,
    cancelled: 2,
    progress: 100,
    estimatedCompletionAt: null,
  });
  const later = await accept(world, bulk({ scheduledAt: at(3_600) }));
  t.match(await show(later.id), { status: 'scheduled', queued: 2, queuedAt: null, scheduledAt: at(3_600) });
  await commands.cancelBatch(caller, later.id);
  t.match(await show(later.id), { status: 'cancelled', queued: 0, cancelled: 2 });
  await refusedWith(t, commands.getBatch(stranger, id), 'BATCH_NOT_FOUND');
  await refusedWith(
    t,
    commands.getBatch(caller, assertDefined(parseBatchId('99999999-9999-4999-8999-999999999999'), 'id')),
    'BATCH_NOT_FOUND',
  );
});

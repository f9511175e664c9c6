/** Sending in bulk, and its dry run. */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { SendBulkRequest } from '../../src/api/bulk.js';
import { fanOut } from '../../src/commands/bulk/batches.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import type { BatchAccepted } from '../../src/domain/bulk/events.js';
import { type ErrorCode, DomainError } from '../../src/domain/core/errors.js';
import {
  assertDefined,
  batchStream,
  emailIdInBatch,
  parseBatchId,
  type BatchId,
  emailStream,
} from '../../src/domain/core/ids.js';
import {
  commandsOfTest,
  caller,
  schemaSaying,
  stranger,
  TEAM,
  welcome,
  withTemplate,
  nothingUsed,
} from '../support/command-world.js';
import { attachmentOf } from '../support/documents.js';
import { at } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { recordingGenerator } from '../support/recording-generator.js';

// Bulk calls as they are accepted or refused: what is wrong is named with its whole path, and what is refused leaves
// nothing.

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

// The dry run of a bulk call: what it says is what the call does, and nothing is written.

const cause = { teamId: TEAM, actor: 'test', correlationId: 'c', causationId: 'c', at: at(0) };

const remaining = async ({ credits }: CommandNeeds): Promise<number> =>
  (await credits.quote(TEAM)).creditsRemaining ?? 0;

/**
 * `billless`: its optional document cannot be made; `suppressed` with and without the variables that the template
 * needs.
 */
type Kind = 'good' | 'nameless' | 'invalid' | 'again' | 'billless' | 'suppressed' | 'suppressedNameless';

const recipientsOf = (kinds: readonly Kind[]): SendBulkRequest['recipients'] =>
  kinds.map((kind, index) => {
    const email =
      kind === 'again' ? 'R0@EXAMPLE.org' : kind === 'invalid' ? `no address ${index}` : `r${index}@example.org`;
    if (kind === 'nameless' || kind === 'suppressedNameless') return { email };
    return { email, variables: { name: `N${index}`, ...(kind === 'billless' ? {} : { number: `B${index}` }) } };
  });

const bill = attachmentOf([{ id: 'text', type: 'rich-text', content: '<p>{{number}}</p>' }], {
  slug: 'bill',
  name: 'Bill',
  publish: true,
  schema: { outputFormats: ['pdf', 'excel'] },
  variables: ['number', 'name'].map((name) => ({ name, type: 'string', required: true })),
});

/** Refuses a document without a number, when it is checked and when it is made. */
const billing = (): CommandNeeds['generator'] => {
  const recording = recordingGenerator();
  const refuse = (variables: Readonly<Record<string, unknown>>): void => {
    if (variables['number'] === undefined) throw new DomainError('GENERATION_FAILED', 'It has no number.');
  };
  return {
    ...recording,
    make: async (input, ...rest) => {
      refuse(input.variables);
      return recording.make(input, ...rest);
    },
    check: async ({ variables }) => {
      refuse(variables);
      return [];
    },
  };
};

void t.test('dry run and call agree in costs, in who is left out and in whose email fails', async (t) => {
  const kinds = fc.array(
    fc.constantFrom<Kind>('good', 'nameless', 'invalid', 'again', 'billless', 'suppressed', 'suppressedNameless'),
    {
      minLength: 1,
      maxLength: 16,
    },
  );
  await fc.assert(
    fc.asyncProperty(kinds, fc.integer({ min: 0, max: 40 }), async (of, credits) => {
      const base = await withTemplate();
      const deps = { ...base.deps, generator: billing() };
      const world = { ...base, deps, commands: commandsOfTest(deps) };
      await world.commands.createAttachmentTemplate(caller, bill as never);
      for (const [index, kind] of of.entries())
        if (kind.startsWith('suppressed'))
          await world.commands.addSuppression(caller, { email: `r${index}@example.org` });
      await changeBilling(world.deps, TEAM, { billing: 'credits' }, cause, nothingUsed);
      await world.deps.credits.reserve(
        TEAM,
        batchStream('before' as never),
        { emails: 1_000 - credits, attachments: 0 },
        cause,
      );
      const attachments = [{ attachmentTemplateId: 'bill', required: false, recipientVariableFields: ['number'] }];
      const request = bulk({ recipients: recipientsOf(of), attachments });
      const before = world.store.events.length;
      const report = await world.commands.dryRunBulk(caller, request);
      if (world.store.events.length !== before) throw new Error('the dry run wrote something');
      const had = await remaining(world.deps);
      let body;
      try {
        ({ body } = await world.commands.sendBulk(caller, request));
      } catch (fault) {
        if (!(fault instanceof DomainError)) throw fault;
        t.equal(report.valid, false, 'what is refused is not valid');
        return;
      }
      const id = assertDefined(parseBatchId(body.batchId), 'batch id');
      for (let part = 0; part < 3; part += 1)
        await fanOut(world.deps, { id, cause, signal: new AbortController().signal });
      const [event] = await world.events(batchStream(id));
      if (event?.type !== 'BatchQueued') throw new Error('not accepted');
      const given = of.flatMap((_, index) =>
        event.data.invalid.includes(index) || event.data.duplicates.includes(index) ? [] : [index],
      );
      const failed: number[] = [];
      const suppressed: number[] = [];
      const withoutBill: number[] = [];
      for (const [index, place] of given.entries()) {
        const { status, failureReason, metadata } = await world.commands.getEmail(caller, emailIdInBatch(id, index));
        if (status === 'failed') (failureReason === 'suppressed' ? suppressed : failed).push(place);
        if (metadata.omittedAttachments.length > 0) withoutBill.push(place);
      }
      const { recipientValidation: told } = report;
      t.same(
        [
          report.totalEmails,
          report.totalQuotaCost,
          told.validEmails,
          told.invalidEmails,
          told.duplicateEmails,
          told.failing,
        ],
        [
          body.totalEmails,
          // The credits of suppressed ones come back a little later.
          had - (await remaining(world.deps)) - suppressed.length,
          given.length,
          event.data.invalid.length,
          event.data.duplicates.length,
          failed,
        ],
        of.join(),
      );
      t.equal(report.valid, failed.length === 0);
      const toldOf = (sentence: RegExp): readonly number[] =>
        report.warnings.flatMap((text) =>
          sentence.test(text) ? [Number(/^recipients\[(\d+)\]/.exec(text)?.[1])] : [],
        );
      t.same(toldOf(/ is not sent to, and costs nothing/), suppressed);
      t.same(
        toldOf(/ goes without the optional document "Bill", which would cost 2: .*It has no number\.$/),
        withoutBill,
      );
      t.same(
        report.warnings.filter((text) => text.includes(' is left out: ')),
        body.warnings,
        'in the same words',
      );
      t.same(report.templateValidation.missingVariables, failed.length === 0 ? [] : ['name']);
    }),
    {
      numRuns: 40,
      examples: [
        [['suppressedNameless'], 40],
        [['billless', 'suppressedNameless', 'invalid', 'again'], 40],
      ],
    },
  );
});

void t.test('what the call is refused for stands in the report, place by place', async (t) => {
  const world = await withTemplate();
  const report = (more: Partial<SendBulkRequest>) => world.commands.dryRunBulk(caller, bulk(more));
  t.match(await report({ templateId: 'unknown' }), {
    valid: false,
    templateValidation: { templateFound: false },
    recipientValidation: { totalRecipients: 2, validEmails: 2 },
    warnings: [/There is no email template "unknown"/],
  });
  const [first] = people(1) as [SendBulkRequest['recipients'][0]];
  const large = { ...first, email: 'b@example.org', variables: { name: 'x'.repeat(101 * 1_024) } };
  t.match(await report({ recipients: [first, large, first], scheduledAt: at(-1) }), {
    valid: false,
    recipientValidation: { totalRecipients: 3, validEmails: 2, duplicateEmails: 1 },
    warnings: [/^scheduledAt lies in the past/],
  });
  t.match(await report({ recipients: [first, large] }), {
    valid: false,
    warnings: [/^recipients\[1\]\.variables is \d+ bytes/],
  });
  t.match(await report({ recipients: [{ email: 'no' }, { email: '' }] }), {
    valid: false,
    recipientValidation: { invalidEmails: 2, validEmails: 0 },
    warnings: [/^recipients\[0\]\.email /, /^recipients\[1\]\.email /],
  });
  const tight = await withTemplate({ queueWaitingMax: 1 });
  t.match(await tight.commands.dryRunBulk(caller, bulk()), {
    valid: false,
    totalEmails: 2,
    warnings: [/these 2 do not fit/],
  });
});

void t.test('quotas are those of the team; what has no room in them is told with what is left', async (t) => {
  const world = await withTemplate();
  t.match(await world.commands.dryRunBulk(caller, bulk()), {
    valid: true,
    quotaStatus: { emailQuota: { used: 0, limit: null, remaining: null } },
  });
  await changeBilling(world.deps, TEAM, { billing: 'plan', plan: 'free', emailsPerMonth: 3 }, cause, nothingUsed);
  await world.commands.sendBulk(caller, bulk());
  t.match(await world.commands.dryRunBulk(caller, bulk()), {
    valid: false,
    totalEmails: 2,
    quotaStatus: { emailQuota: { used: 2, limit: 3, remaining: 1 } },
    warnings: [/takes 2 of the monthly quota of 3 emails, of which 1 are left/],
  });
});

void t.test('who is left out is told with the reason', async (t) => {
  const world = await withTemplate();
  const recipients = [...people(1), { email: 'no address' }, ...people(1)];
  t.match(await world.commands.dryRunBulk(caller, bulk({ recipients })), {
    valid: true,
    warnings: [
      'recipients[1] is left out: the address has no @',
      'recipients[2] is left out: its address is the address of recipients[0]',
    ],
  });
});

void t.test('the answer is bounded: one short warning for each of a thousand recipients', async (t) => {
  const world = await withTemplate();
  const recipients = Array.from({ length: 1_000 }, (_, index) => ({
    email: `r${index}@example.org`,
    variables: { [`x${'y'.repeat(2_000)}`]: 1 },
  }));
  const { valid, warnings, recipientValidation } = await world.commands.dryRunBulk(caller, bulk({ recipients }));
  t.equal(valid, false);
  t.equal(recipientValidation.failing.length, 1_000);
  t.equal(warnings.length, 1_001);
  t.match(warnings[0], /The call would be refused/);
  t.match(warnings[1_000], /^recipients\[999\]/);
  t.ok(warnings.every((text) => text.length <= 301));
});

void t.test('every fault of a recipient is told; of very many, some of each', async (t) => {
  const world = await withTemplate();
  const names = Array.from({ length: 12 }, (_, at) => `v${at}`);
  const variables = names.map((name) => ({ name, type: 'string', required: true }));
  await world.commands.createTemplate(caller, { ...welcome, name: 'Many', slug: 'many', variables } as never);
  const report = (count: number) =>
    world.commands.dryRunBulk(caller, bulk({ templateId: 'many', version: 'draft', recipients: people(count) }));
  const { warnings, templateValidation } = await report(2);
  t.same(
    warnings.slice(1),
    [0, 1].flatMap((place) => names.map((name) => `recipients[${place}].variables.${name} is required`)),
  );
  t.same(templateValidation.missingVariables, names);
  const many = (await report(500)).warnings;
  t.equal(many.length, 1 + 500 * 9);
  t.equal(many.at(-1), 'recipients[499] has 4 more faults');
  // If the email is made all the same, its record contains every fault too.
  const { body } = await world.commands.sendBulk(
    caller,
    bulk({
      templateId: 'many',
      version: 'draft',
      recipients: [
        { email: 'good@example.org', variables: Object.fromEntries(names.map((name) => [name, 'x'])) },
        ...people(1),
      ],
    }),
  );
  const id = assertDefined(parseBatchId(body.batchId), 'batch id');
  await fanOut(world.deps, { id, cause, signal: new AbortController().signal });
  const events = await world.events(emailStream(emailIdInBatch(id, 1)));
  t.match(JSON.stringify(events.at(-1)), names.map((name) => `variables.${name} is required`).join('; '));
  t.notMatch(JSON.stringify(events.at(-1)), 'see errors');
});

void t.test('documents are drawn for the first recipient alone, and checked for all', async (t) => {
  const world = await withTemplate();
  const generator = recordingGenerator();
  const checked: unknown[] = [];
  const commands = commandsOfTest({
    ...world.deps,
    generator: {
      ...generator,
      check: async (input) => {
        checked.push(input.variables['number']);
        if (input.variables['number'] === undefined)
          throw new DomainError('VALIDATION_ERROR', 'variables.number is required', {
            errors: [{ field: 'variables.number', message: 'is required' }],
          });
        return [];
      },
    },
  });
  const template = attachmentOf([{ id: 'text', type: 'rich-text', content: '<p>{{number}}</p>' }], {
    slug: 'bill',
    name: 'Bill',
    publish: true,
    variables: [{ name: 'number', type: 'string', required: true }],
  });
  await commands.createAttachmentTemplate(caller, template as never);
  const recipients = people(4).map((one, index) =>
    index === 2 ? one : { ...one, variables: { ...one.variables, number: `B${index}` } },
  );
  const attachments = [{ attachmentTemplateId: 'bill', recipientVariableFields: ['number'] }];
  const report = await commands.dryRunBulk(caller, bulk({ recipients, attachments }));
  t.equal(generator.made.length, 1);
  t.same(checked, ['B1', undefined, 'B3']);
  t.match(report, {
    valid: false,
    costBreakdown: { emails: 4, attachments: 3 },
    recipientValidation: { failing: [2] },
    templateValidation: { requiredVariables: ['name', 'number'], missingVariables: ['number'] },
    warnings: [/^recipients\[2\] .*number is required/],
  });
});

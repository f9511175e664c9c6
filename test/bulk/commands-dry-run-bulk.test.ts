/** The dry run of a bulk call: what it says is what the call does, and nothing is written. */
import t from 'tap';
import fc from 'fast-check';
import { fanOut } from '../../src/commands/bulk/batches.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import { changeBilling } from '../../src/commands/teams/teams.js';
import type { SendBulkRequest } from '../../src/api/bulk.js';
import { assertDefined, batchStream, emailIdInBatch, emailStream, parseBatchId } from '../../src/domain/core/ids.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { caller, commandsOfTest, TEAM, welcome, withTemplate, nothingUsed } from '../support/command-world.js';
import { attachmentOf } from '../support/documents.js';
import { at } from '../support/email-facts.js';
import { recordingGenerator } from '../support/recording-generator.js';

const cause = { teamId: TEAM, actor: 'test', correlationId: 'c', causationId: 'c', at: at(0) };

const people = (count: number): SendBulkRequest['recipients'] =>
  Array.from({ length: count }, (_, index) => ({ email: `r${index}@example.org`, variables: { name: `N${index}` } }));

const bulk = (more: Partial<SendBulkRequest> = {}): SendBulkRequest => ({
  templateId: 'welcome',
  recipients: people(2),
  ...more,
});

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

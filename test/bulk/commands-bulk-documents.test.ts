/**
 * Documents of bulk sends: each recipient's own, from what is the same for all, what is the recipient's, and what is
 * overridden.
 */
import t from 'tap';
import { fanOut } from '../../src/commands/bulk/batches.js';
import type { StoredBytes } from '../../src/commands/email/acceptance.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import type { SendBulkRequest } from '../../src/api/bulk.js';
import type { EmailRecord } from '../../src/api/email.js';
import type { Limits } from '../../src/domain/core/limits.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { assertDefined, emailIdInBatch, parseBatchId, type BatchId } from '../../src/domain/core/ids.js';
import { caller, commandsOfTest, simple, TEAM, withTemplate } from '../support/command-world.js';
import { attachmentOf } from '../support/documents.js';
import { at } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { recordingGenerator } from '../support/recording-generator.js';

type Attachments = NonNullable<SendBulkRequest['attachments']>;
type Recipients = SendBulkRequest['recipients'];

const busy = () => new DomainError('GENERATOR_BUSY', 'Too many documents are being made.', { retryAfterS: 5 });

/** `fail`: what becomes of a document of that recipient. */
const open = async (
  slugs: readonly string[],
  fail: (name: unknown) => DomainError | undefined = () => undefined,
  limits: Partial<Limits> = {},
) => {
  const world = await withTemplate(limits);
  const recording = recordingGenerator();
  const generator: CommandNeeds['generator'] = {
    ...recording,
    make: async (input, ...rest) => {
      const fault = fail(input.variables['name']);
      if (fault !== undefined) throw fault;
      return recording.make(input, ...rest);
    },
  };
  const deps: CommandNeeds = { ...world.deps, generator };
  const commands = commandsOfTest(deps);
  for (const slug of slugs) {
    const template = attachmentOf([{ id: 'text', type: 'rich-text', content: '<p>{{name}}</p>' }], {
      schema: { outputFormats: ['pdf', 'excel'] },
      slug,
      name: slug,
      publish: true,
    });
    await commands.createAttachmentTemplate(caller, template as never);
  }
  const send = async (
    recipients: Recipients,
    attachments: Attachments,
    more: Partial<SendBulkRequest> = {},
  ): Promise<BatchId> => {
    const { body } = await commands.sendBulk(caller, { templateId: 'welcome', recipients, attachments, ...more });
    return assertDefined(parseBatchId(body.batchId), 'batch id');
  };
  const makeAll = async (id: BatchId, storedBytes?: StoredBytes): Promise<void> => {
    const cause = { teamId: TEAM, actor: 'system', correlationId: 'c', causationId: 'c', at: at(0) };
    for (let part = 0; part < 5; part += 1)
      await fanOut(deps, { id, cause, signal: new AbortController().signal, ...(storedBytes && { storedBytes }) });
  };
  const email = (id: BatchId, index: number): Promise<EmailRecord> =>
    commands.getEmail(caller, emailIdInBatch(id, index));
  return { ...world, deps, commands, recording, send, makeAll, email };
};

const person = (name: string, more: Partial<Recipients[0]> = {}): Recipients[0] => ({
  email: `${name.toLowerCase()}@example.org`,
  ...more,
  variables: { name, ...more.variables },
});

const filesOf = ({ metadata }: EmailRecord): readonly string[] => metadata.attachments.map(({ filename }) => filename);

void t.test(
  'variables: those of the email, of the attachment, of the recipient as named, and of the override, each over the one before',
  async (t) => {
    const { send, makeAll, recording, email } = await open(['bill']);
    const recipients = [
      person('Ann', { variables: { a: 'own', b: 'own', c: 'own', d: 'own' } }),
      person('Bob', {
        variables: { a: 'own', c: 'own', d: 'own' },
        attachmentOverrides: [
          {
            attachmentTemplateId: 'bill',
            variables: { d: 'over' },
            filename: 'Only for {{name}}',
            outputFormats: ['excel'],
          },
        ],
      }),
      person('Cid', { attachmentOverrides: [{ attachmentTemplateId: 'bill', skip: true }] }),
    ];
    const attachments: Attachments = [
      {
        attachmentTemplateId: 'bill',
        filename: 'Bill of {{name}} {{c}}',
        baseVariables: { b: 'base', c: 'base', d: 'base' },
        recipientVariableFields: ['c', 'd', 'absent'],
        outputFormats: ['pdf'],
      },
    ];
    const id = await send(recipients, attachments, { baseVariables: { a: 'all', e: 'all' } });
    t.equal(recording.made.length, 1, 'that of the first recipient is made as a check');
    await makeAll(id);
    t.match(recording.made[1]?.input.variables, { name: 'Ann', a: 'own', b: 'base', c: 'own', d: 'own', e: 'all' });
    t.match(recording.made[2]?.input.variables, { name: 'Bob', a: 'own', b: 'base', c: 'own', d: 'over', e: 'all' });
    t.equal(recording.made.length, 3);
    t.same(filesOf(await email(id, 0)), ['Bill of Ann own.pdf']);
    t.same(filesOf(await email(id, 1)), ['Only for Bob.xlsx']);
    t.same(filesOf(await email(id, 2)), []);
    t.match(await email(id, 2), { status: 'queued', batchId: id, attachmentCount: 0 });
  },
);

void t.test('ten attachments at most, each of another template; overrides name one of them, once', async (t) => {
  const slugs = Array.from({ length: 10 }, (_, index) => `doc-${index}`);
  const { send, makeAll, email, commands } = await open(slugs);
  const attachments = slugs.map((attachmentTemplateId) => ({ attachmentTemplateId, outputFormats: ['pdf' as const] }));
  const id = await send([person('Ann')], attachments);
  await makeAll(id);
  t.same(
    filesOf(await email(id, 0)),
    slugs.map((slug) => `${slug}.pdf`),
  );
  const refused = async (
    recipients: Recipients,
    given: Attachments,
    field: string,
    code: 'VALIDATION_ERROR' | 'ERR_ATTACH_001' = 'VALIDATION_ERROR',
  ) => {
    const { details } = await refusedWith(
      t,
      commands.sendBulk(caller, { templateId: 'welcome', recipients, attachments: given }),
      code,
    );
    if (code === 'VALIDATION_ERROR') t.equal(details.errors?.[0]?.field, field);
  };
  const bill = { attachmentTemplateId: 'doc-0' };
  await refused([person('Ann')], [bill, { ...bill }], 'attachments[1].attachmentTemplateId');
  await refused([person('Ann')], [{ attachmentTemplateId: 'unknown' }], '', 'ERR_ATTACH_001');
  const over = (...ids: readonly string[]) => [
    person('Ann'),
    person('Bob', { attachmentOverrides: ids.map((attachmentTemplateId) => ({ attachmentTemplateId })) }),
  ];
  await refused(over('doc-1'), [bill], 'recipients[1].attachmentOverrides[0].attachmentTemplateId');
  await refused(over('doc-0', 'doc-0'), [bill], 'recipients[1].attachmentOverrides[1].attachmentTemplateId');
});

void t.test(
  'a document that cannot be made: the email fails alone where it is required, and goes without it where it is not',
  async (t) => {
    const fault = new DomainError('GENERATION_FAILED', 'the PDF could not be made');
    const { send, makeAll, email, commands } = await open(['bill', 'terms'], (name) =>
      name === 'Bob' ? fault : undefined,
    );
    const people = [person('Ann'), person('Bob'), person('Cid')];
    const required = await send(people, [{ attachmentTemplateId: 'bill', outputFormats: ['pdf'] }]);
    await makeAll(required);
    t.match(await email(required, 0), { status: 'queued', attachmentCount: 1 });
    t.match(await email(required, 1), {
      status: 'failed',
      failureReason: 'rendering',
      recipients: [{ reply: /could not be made/ }],
    });
    t.match(await email(required, 2), { status: 'queued', attachmentCount: 1 });
    const optional = await send(people, [{ attachmentTemplateId: 'bill', outputFormats: ['pdf'], required: false }]);
    await makeAll(optional);
    const without = await email(optional, 1);
    t.match(without, {
      status: 'queued',
      attachmentCount: 0,
      metadata: { attachments: [], omittedAttachments: [{ name: 'bill', reason: /could not be made/ }] },
    });
    t.match((await email(optional, 0)).metadata, { omittedAttachments: [] });
    t.equal(
      (await commands.getEmail(caller, (await commands.sendEmail(caller, simple())).body.id as never)).batchId,
      null,
    );
    await refusedWith(
      t,
      commands.sendBulk(caller, {
        templateId: 'welcome',
        recipients: [person('Bob')],
        attachments: [{ attachmentTemplateId: 'bill' }],
      }),
      'GENERATION_FAILED',
    );
  },
);

void t.test('where too many documents are being made the batch waits, and no recipient fails for it', async (t) => {
  let refusals = 0;
  const { send, makeAll, email, clock } = await open(['bill'], (name) =>
    name === 'Bob' && (refusals += 1) <= 12 ? busy() : undefined,
  );
  const id = await send(
    [person('Ann'), person('Bob')],
    [{ attachmentTemplateId: 'bill', outputFormats: ['pdf'], required: false }],
  );
  let isMade = false;
  const making = makeAll(id).finally(() => (isMade = true));
  for (let turn = 0; !isMade && turn < 500; turn += 1) {
    await clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await making;
  t.equal(refusals, 13);
  for (const index of [0, 1])
    t.match(await email(id, index), { status: 'queued', attachmentCount: 1, metadata: { omittedAttachments: [] } });
});

void t.test(
  'documents are those that were published when the call came, though their template is renewed or deleted meanwhile',
  async (t) => {
    const { send, makeAll, recording, email, commands } = await open(['bill']);
    const id = await send([person('Ann')], [{ attachmentTemplateId: 'bill' }]);
    const before = recording.made.at(-1)?.input.cacheKey;
    const { id: template } = await commands.getAttachmentTemplate(caller, 'bill');
    await commands.updateAttachmentTemplate(caller, template, {
      name: 'Renamed',
      ...attachmentOf([{ id: 'x', type: 'rich-text', content: '<p>new</p>' }]),
    } as never);
    await commands.publishAttachmentTemplate(caller, template);
    await commands.deleteAttachmentTemplate(caller, template);
    await makeAll(id);
    t.equal(recording.made.at(-1)?.input.cacheKey, before);
    t.same(filesOf(await email(id, 0)), ['bill.pdf', 'bill.xlsx']);
  },
);

void t.test(
  'documents beyond what the attachments of a team may take are not kept: the emails that wanted them fail, and say why',
  async (t) => {
    const { send, makeAll, email, files } = await open(['bill'], undefined, { teamAttachmentBytesMax: 1_000 });
    const id = await send([person('Ann'), person('Bob')], [{ attachmentTemplateId: 'bill', outputFormats: ['pdf'] }]);
    await makeAll(id, async () => ({ bytes: 1_000, position: 0 }));
    for (const index of [0, 1])
      t.match(await email(id, index), {
        status: 'failed',
        recipients: [{ reply: /^With this email the attachments of the team/ }],
      });
    t.equal([...files.stored.values()].length, 0);
  },
);

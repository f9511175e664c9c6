/**
 * Commands on attachment templates: what is saved, by which names it is found, what an import does, and what a preview
 * is made of.
 */
import t from 'tap';
import {
  attachmentCacheKey,
  attachmentContentAt,
  attachmentTemplates,
} from '../../src/commands/templates/attachment-templates.js';
import type { AttachmentTemplateRecord, CreateAttachmentTemplateRequest } from '../../src/api/templates/templates.js';
import {
  attachmentTemplateSlugStream,
  attachmentTemplateStream,
  assertDefined,
  parseAttachmentTemplateId,
} from '../../src/domain/core/ids.js';
import { T0 } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { recordingGenerator } from '../support/recording-generator.js';
import {
  caller,
  openWorld,
  schemaSaying,
  stranger,
  TEAM,
  welcome,
  type World,
  commandsOfTest,
} from '../support/command-world.js';

const pagesSaying = (content: string) => [
  {
    pageId: 'p',
    pageName: 'Page',
    sections: [{ id: 's', type: 'main', components: [{ id: 'text', type: 'rich-text', content }] }],
  },
];
const invoice: CreateAttachmentTemplateRequest = {
  slug: 'invoice',
  name: 'Invoice',
  variables: [{ name: 'number', type: 'string', required: true, defaultValue: 'A-7' }],
  schema: { outputFormats: ['pdf', 'excel'], pages: pagesSaying('<p>Invoice {{number}}</p>') },
  publish: true,
};
const never = new AbortController().signal;
const idOf = ({ id }: Pick<AttachmentTemplateRecord, 'id'>) => assertDefined(parseAttachmentTemplateId(id), 'id');

const withInvoice = async (): Promise<
  World & Readonly<{ template: AttachmentTemplateRecord; generator: ReturnType<typeof recordingGenerator> }>
> => {
  const world = await openWorld();
  const generator = recordingGenerator();
  const commands = commandsOfTest({ ...world.deps, generator });
  // Warnings belong to the answer of the save.
  const { warnings: _warnings, ...template } = await commands.createAttachmentTemplate(caller, invoice);
  return { ...world, commands, generator, template };
};

void t.test('created with its defaults; found by id, short id and slug', async (t) => {
  const { commands, template, deps } = await withInvoice();
  t.match(template, {
    shortId: /^atpl_[0-9a-hjkmnp-tv-z]{10}$/,
    slug: 'invoice',
    type: 'attachment',
    outputFormats: ['pdf', 'excel'],
    description: '',
    status: 'published',
    version: 1,
    publishedVersion: 1,
    locale: 'en-US',
    timeZone: 'UTC',
    createdAt: T0,
    updatedAt: T0,
  });
  for (const reference of [
    'invoice',
    template.id,
    template.id.toUpperCase(),
    template.shortId,
    template.shortId.toUpperCase(),
  ]) {
    t.strictSame(await commands.getAttachmentTemplate(caller, reference), template, reference);
    t.equal((await attachmentTemplates.find(deps, TEAM, reference))?.id, template.id);
  }
  const draft = await commands.createAttachmentTemplate(caller, { name: 'Grüße', schema: invoice.schema });
  t.match(draft, { status: 'draft', publishedVersion: null, slug: /^gru-e-[0-9a-f]{8}$/, variables: [] });
  t.not(draft.shortId, template.shortId);
});

void t.test('what the schema says beside its pages is saved, changed and taken by the generator', async (t) => {
  const { commands, generator } = await withInvoice();
  const schema = { ...(invoice.schema as object), missingCharacters: 'replace' };
  const made = await commands.createAttachmentTemplate(caller, { name: 'Label', slug: 'label', schema });
  t.match(made.schema, { missingCharacters: 'replace' });
  await commands.previewAttachmentTemplate(caller, 'label', { variables: {} }, never);
  t.match(generator.made[0]?.input.content.schema, { missingCharacters: 'replace' });
  const changed = await commands.updateAttachmentTemplate(caller, 'label', {
    schema: { ...schema, missingCharacters: 'refuse' },
  });
  t.match(changed.schema, { missingCharacters: 'refuse' });
});

void t.test(
  'a template that is not valid is refused with the path of each fault, and nothing is written',
  async (t) => {
    const { commands, store } = await openWorld();
    const before = store.events.length;
    const bad = {
      outputFormats: ['pdf', 'word'],
      pages: [
        {
          pageId: 'p',
          pageName: 'P',
          sections: [{ id: 's', type: 'main', components: [{ id: 'b', type: 'button', content: 'x' }] }],
        },
      ],
    };
    const { details } = await refusedWith(
      t,
      commands.createAttachmentTemplate(caller, { name: 'Bad', schema: bad, locale: 'xx-nowhere-' }),
      'TEMPLATE_INVALID',
    );
    const fields = details.errors!.map(({ field }) => field);
    for (const field of ['schema.outputFormats[1]', 'schema.pages[0].sections[0].components[0].type', 'locale'])
      t.ok(fields.includes(field), `${field} is named in ${fields.join(', ')}`);
    const sheets = {
      outputFormats: ['excel'],
      pages: Array.from({ length: 11 }, (_, n) => ({ ...pagesSaying('x')[0], pageId: `p${n}` })),
    };
    t.match(
      (
        await refusedWith(
          t,
          commands.createAttachmentTemplate(caller, { name: 'Many', schema: sheets }),
          'ERR_LIMIT_004',
        )
      ).details.relatedInfo,
      { actualSheets: 11, maxSheets: 10 },
    );
    t.equal(store.events.length, before);
  },
);

void t.test(
  'a change makes a new draft revision; publish makes it the next version; what was pinned stays',
  async (t) => {
    const { commands, template, deps, events } = await withInvoice();
    const changed = await commands.updateAttachmentTemplate(caller, template.shortId, {
      schema: { outputFormats: ['pdf'], pages: pagesSaying('<p>New {{number}}</p>') },
      name: 'Bill',
    });
    t.match(changed, {
      name: 'Bill',
      outputFormats: ['pdf'],
      status: 'draft',
      version: 2,
      publishedVersion: 1,
      shortId: template.shortId,
    });
    t.match(await commands.publishAttachmentTemplate(caller, 'invoice'), { status: 'published', publishedVersion: 2 });
    t.same(
      (await commands.attachmentTemplateVersions(caller, 'invoice')).map(({ version, name }) => [version, name]),
      [
        [2, 'Bill'],
        [1, 'Invoice'],
      ],
    );
    t.same(
      (await events(attachmentTemplateStream(idOf(template)))).map(({ type }) => type),
      ['TemplateCreated', 'TemplateDraftSaved', 'TemplatePublished', 'TemplateDraftSaved', 'TemplatePublished'],
    );
    t.same((await attachmentContentAt(deps, idOf(template), 1)).schema, invoice.schema);
    t.same((await attachmentContentAt(deps, idOf(template), 2)).schema.outputFormats, ['pdf']);
    await t.rejects(attachmentContentAt(deps, idOf(template), 3), /has no revision 3/);
    await refusedWith(t, commands.updateAttachmentTemplate(caller, 'invoice', { variables: {} }), 'TEMPLATE_INVALID');
  },
);

void t.test('slugs of attachments and of emails do not meet', async (t) => {
  const { commands, deps, template } = await withInvoice();
  const email = await commands.createTemplate(caller, { ...welcome, slug: 'invoice' });
  t.not(email.id, template.id);
  await refusedWith(t, commands.createAttachmentTemplate(caller, invoice), 'TEMPLATE_SLUG_TAKEN');
  for (const reference of [template.id, template.shortId])
    await refusedWith(t, commands.getTemplate(caller, reference), 'TEMPLATE_NOT_FOUND');
  await refusedWith(t, commands.getAttachmentTemplate(caller, email.id), 'TEMPLATE_NOT_FOUND');
  await commands.deleteTemplate(caller, 'invoice');
  t.equal((await commands.getAttachmentTemplate(caller, 'invoice')).id, template.id);
  t.equal((await commands.updateAttachmentTemplate(caller, 'invoice', { slug: 'bill' })).slug, 'bill');
  await refusedWith(t, commands.getAttachmentTemplate(caller, 'invoice'), 'TEMPLATE_NOT_FOUND');
  t.equal((await deps.slug(attachmentTemplateSlugStream(TEAM, 'bill'))).state, template.id);
  t.same(await commands.deleteAttachmentTemplate(caller, 'bill'), { id: template.id, deleted: true });
  for (const reference of ['bill', template.id, template.shortId])
    await refusedWith(t, commands.getAttachmentTemplate(caller, reference), 'TEMPLATE_NOT_FOUND');
  t.not((await commands.createAttachmentTemplate(caller, { ...invoice, slug: 'bill' })).shortId, template.shortId);
});

void t.test('an email template cannot have the slug under which attachment templates are asked for', async (t) => {
  const { commands } = await openWorld();
  const { details } = await refusedWith(
    t,
    commands.createTemplate(caller, { ...welcome, slug: 'attachment' }),
    'VALIDATION_ERROR',
  );
  t.same(
    details.errors?.map(({ field }) => field),
    ['slug'],
  );
  await commands.createTemplate(caller, welcome);
  await refusedWith(t, commands.updateTemplate(caller, 'welcome', { slug: 'attachment' }), 'VALIDATION_ERROR');
  t.equal(
    (
      await commands.createTemplate(caller, { name: 'Attachment', subject: 'x', schema: schemaSaying('x') })
    ).slug.startsWith('attachment-'),
    true,
  );
  t.equal((await commands.createAttachmentTemplate(caller, { ...invoice, slug: 'attachment' })).slug, 'attachment');
});

void t.test('another team neither sees nor touches a template', async (t) => {
  const { commands, template, store } = await withInvoice();
  const before = store.events.length;
  for (const reference of ['invoice', template.id, template.shortId]) {
    await refusedWith(t, commands.getAttachmentTemplate(stranger, reference), 'TEMPLATE_NOT_FOUND');
    await refusedWith(
      t,
      commands.updateAttachmentTemplate(stranger, reference, { name: 'Mine' }),
      'TEMPLATE_NOT_FOUND',
    );
    await refusedWith(t, commands.publishAttachmentTemplate(stranger, reference), 'TEMPLATE_NOT_FOUND');
    await refusedWith(t, commands.attachmentTemplateVersions(stranger, reference), 'TEMPLATE_NOT_FOUND');
    await refusedWith(
      t,
      commands.previewAttachmentTemplate(stranger, reference, { variables: {} }, never),
      'TEMPLATE_NOT_FOUND',
    );
    await refusedWith(t, commands.deleteAttachmentTemplate(stranger, reference), 'TEMPLATE_NOT_FOUND');
  }
  t.equal(store.events.length, before);
});

void t.test('an export comes in as it is: a new template elsewhere, the next version where it is known', async (t) => {
  const { commands, template } = await withInvoice();
  const elsewhere = await commands.importAttachmentTemplate(stranger, template);
  t.match(elsewhere, {
    created: true,
    template: { slug: 'invoice', publishedVersion: 1, schema: template.schema, variables: template.variables },
  });
  t.not(elsewhere.template.id, template.id);
  t.not(elsewhere.template.shortId, template.shortId);

  const same = await commands.importAttachmentTemplate(caller, template);
  t.match(
    same,
    { created: false, template: { id: template.id, publishedVersion: 1 } },
    'nothing changed, so there is no new version',
  );
  const next = await commands.importAttachmentTemplate(caller, { ...template, name: 'Bill' });
  t.match(next, {
    created: false,
    template: { id: template.id, name: 'Bill', publishedVersion: 2, status: 'published' },
  });
  t.match(await commands.importAttachmentTemplate(caller, { name: 'Unnamed', schema: invoice.schema }), {
    created: true,
    template: { status: 'published', slug: /^unnamed-/ },
  });

  const { details } = await refusedWith(
    t,
    commands.importAttachmentTemplate(caller, { ...template, outputFormats: ['pdf'] }),
    'VALIDATION_ERROR',
  );
  t.same(
    details.errors?.map(({ field }) => field),
    ['outputFormats'],
  );
  await refusedWith(t, commands.importAttachmentTemplate(caller, { ...template, schema: 7 }), 'TEMPLATE_INVALID');
});

void t.test('a preview has the defaults, the revision and the company pinned; no event is written', async (t) => {
  const { commands, template, generator, store } = await withInvoice();
  await commands.updateAttachmentTemplate(caller, 'invoice', {
    name: 'Bill',
    schema: { outputFormats: ['excel', 'pdf'], pages: pagesSaying('<p>Bill {{number}}</p>') },
  });
  const before = store.events.length;
  const draft = await commands.previewAttachmentTemplate(caller, 'invoice', { variables: {} }, never);
  t.match(draft, { format: 'excel', name: 'Bill', bytes: Buffer.from('excel: ') }, 'the first of its formats');
  const [made] = generator.made;
  t.strictSame(made?.input.variables, { number: 'A-7' });
  t.match(made?.input, {
    cacheKey: attachmentCacheKey({ id: idOf(template), revision: 2 }),
    environment: { at: T0, company: { name: 'Example Ltd' } },
  });
  t.strictSame(made?.metadata, { title: 'Bill', author: 'Example Ltd', createdAt: T0 });

  const live = await commands.previewAttachmentTemplate(
    caller,
    template.shortId,
    { variables: { number: 'B-8', extra: 1 }, format: 'excel', version: 'published' },
    never,
  );
  t.match(live, { format: 'excel', name: 'Invoice' });
  t.strictSame(generator.made[1]?.input.variables, { number: 'B-8', extra: 1 });
  t.match(generator.made[1]?.input.cacheKey, attachmentCacheKey({ id: idOf(template), revision: 1 }));
  t.equal(
    (await commands.previewAttachmentTemplate(caller, 'invoice', { variables: {}, version: '1' }, never)).format,
    'pdf',
  );

  await refusedWith(
    t,
    commands.previewAttachmentTemplate(caller, 'invoice', { variables: {}, version: '9' }, never),
    'TEMPLATE_VERSION_NOT_FOUND',
  );
  const pdfOnly = await commands.createAttachmentTemplate(caller, {
    ...invoice,
    slug: 'pdf',
    schema: { outputFormats: ['pdf'], pages: pagesSaying('x') },
  });
  const { details } = await refusedWith(
    t,
    commands.previewAttachmentTemplate(caller, pdfOnly.id, { variables: {}, format: 'excel' }, never),
    'VALIDATION_ERROR',
  );
  t.same(
    details.errors?.map(({ field }) => field),
    ['format'],
  );
  t.equal(store.events.length, before + 5, 'only the creation wrote');
});

/**
 * Earlier versions of a template are read and restored, deleted templates are restored, and changes apply to the
 * revision that they name.
 */
import t from 'tap';
import { makeCommands } from '../../src/commands/index.js';
import { assertDefined, parseTemplateId, templateSlugStream, templateStream } from '../../src/domain/core/ids.js';
import { refusedWith } from '../support/given.js';
import {
  caller,
  openWorld,
  schemaSaying,
  simple,
  stranger,
  TEAM,
  welcome,
  withTemplate,
} from '../support/command-world.js';

const DAY_MS = 86_400_000;

const text = { id: 'text', type: 'rich-text', content: '<p>Invoice</p>' };
const invoice = {
  slug: 'invoice',
  name: 'Invoice',
  schema: {
    outputFormats: ['pdf'],
    pages: [{ pageId: 'p', pageName: 'Page', sections: [{ id: 's', type: 'main', components: [text] }] }],
  },
};

void t.test('a version is read with its content, and becomes the draft again', async (t) => {
  const { commands, template } = await withTemplate();
  await commands.updateTemplate(caller, 'welcome', {
    subject: 'Second {{name}}',
    schema: schemaSaying('second'),
    description: 'New',
  });
  const second = await commands.publishTemplate(caller, 'welcome');
  const { subject, schema, variables, description } = template;
  t.match(await commands.templateVersion(caller, 'welcome', '1'), {
    version: 1,
    current: false,
    subject,
    schema,
    variables,
    description,
  });
  t.match(await commands.templateVersion(caller, 'welcome', '2'), {
    version: 2,
    current: true,
    subject: 'Second {{name}}',
  });
  for (const version of ['0', '3', '01', 'draft', 'published', ''])
    await refusedWith(t, commands.templateVersion(caller, 'welcome', version), 'TEMPLATE_VERSION_NOT_FOUND');
  const restored = await commands.restoreTemplateVersion(caller, 'welcome', '1');
  t.match(restored, {
    subject,
    schema,
    variables,
    description,
    status: 'draft',
    version: 3,
    publishedVersion: 2,
    slug: 'welcome',
  });
  t.ok(restored.revision > second.revision);
  t.equal(
    (await commands.templateVersion(caller, 'welcome', '2')).subject,
    'Second {{name}}',
    'what is published stays',
  );
  t.match(await commands.publishTemplate(caller, 'welcome'), { publishedVersion: 3, subject });
  t.equal(
    (await commands.restoreTemplateVersion(caller, 'welcome', '1')).status,
    'published',
    'the same content changes nothing',
  );
  await refusedWith(t, commands.templateVersion(stranger, template.id, '1'), 'TEMPLATE_NOT_FOUND');
  await refusedWith(t, commands.restoreTemplateVersion(stranger, template.id, '1'), 'TEMPLATE_NOT_FOUND');
});

void t.test('a deleted template is taken back within its days, as it was', async (t) => {
  const { commands, clock, template } = await withTemplate();
  await commands.deleteTemplate(caller, 'welcome');
  await refusedWith(t, commands.restoreTemplate(stranger, template.id, {}), 'TEMPLATE_NOT_FOUND');
  await refusedWith(t, commands.restoreTemplate(caller, 'welcome', {}), 'TEMPLATE_NOT_FOUND');
  await clock.advance(30 * DAY_MS);
  const restored = await commands.restoreTemplate(caller, template.id, {});
  t.match(restored, { ...template, updatedAt: String, revision: Number });
  t.strictSame(await commands.getTemplate(caller, 'welcome'), restored);
  t.equal((await commands.sendEmail(caller, simple())).body.status, 'queued');
  t.strictSame(await commands.restoreTemplate(caller, template.id, {}), restored, 'nothing is changed of a living one');
  await refusedWith(t, commands.restoreTemplate(caller, template.id, { slug: 'other' }), 'VALIDATION_ERROR');
  await commands.deleteTemplate(caller, template.id);
  await clock.advance(30 * DAY_MS + 1);
  await refusedWith(t, commands.restoreTemplate(caller, template.id, {}), 'TEMPLATE_NOT_FOUND');
});

void t.test('its slug may be taken by now: then another is asked for', async (t) => {
  const { commands, template } = await withTemplate();
  await commands.deleteTemplate(caller, 'welcome');
  const other = await commands.createTemplate(caller, welcome);
  await refusedWith(t, commands.restoreTemplate(caller, template.id, {}), 'TEMPLATE_SLUG_TAKEN');
  await refusedWith(t, commands.getTemplate(caller, template.id), 'TEMPLATE_NOT_FOUND');
  await refusedWith(t, commands.restoreTemplate(caller, template.id, { slug: 'attachment' }), 'VALIDATION_ERROR');
  t.equal((await commands.restoreTemplate(caller, template.id, { slug: 'welcome-2' })).slug, 'welcome-2');
  t.equal((await commands.getTemplate(caller, 'welcome-2')).id, template.id);
  t.equal((await commands.getTemplate(caller, 'welcome')).id, other.id);
});

void t.test('where the program dies while a template is taken back, the slug names it or can be taken', async (t) => {
  for (let appends = 0; appends < 4; appends += 1) {
    const { commands, store, elsewhere, template } = await withTemplate();
    await commands.deleteTemplate(caller, 'welcome');
    let count = 0;
    store.beforeAppend(() => ((count += 1) > appends ? Promise.reject(new Error('died')) : undefined));
    const outcome = await commands.restoreTemplate(caller, template.id, {}).then(
      () => 'restored',
      () => 'died',
    );
    store.beforeAppend(undefined);
    const after = makeCommands(elsewhere());
    const found = await after.getTemplate(caller, 'welcome').catch(() => undefined);
    if (outcome === 'restored') {
      t.equal(appends, 3, 'it is three appends');
      return;
    }
    if (found === undefined)
      t.equal((await after.restoreTemplate(caller, template.id, {})).slug, 'welcome', `again after ${appends} appends`);
    else t.equal(found.id, template.id);
  }
  t.fail('it never came to an end');
});

void t.test('two calls at once take a template back once, and each answers what then is so', async (t) => {
  // The second call runs whole in each pause of the first.
  for (const slug of ['welcome', 'welcome-2']) {
    for (const pause of [1, 2, 3, 4, 5, 6]) {
      const { commands, deps, store, template } = await withTemplate();
      await commands.deleteTemplate(caller, 'welcome');
      const calls = [commands.restoreTemplate(caller, template.id, {})];
      let count = 0;
      store.beforeAppend(async () => {
        if ((count += 1) !== pause) return;
        calls.push(commands.restoreTemplate(caller, template.id, { slug }));
        await Promise.allSettled(calls.slice(1));
      });
      await Promise.allSettled(calls);
      store.beforeAppend(undefined);
      const found = await commands.getTemplate(caller, template.id);
      t.equal((await commands.getTemplate(caller, found.slug)).id, template.id);
      t.equal((await deps.slug(templateSlugStream(TEAM, found.slug))).state, template.id);
      const outcomes = await Promise.allSettled(calls);
      for (const outcome of outcomes) {
        if (outcome.status === 'fulfilled') t.strictSame(outcome.value.slug, found.slug, `${slug}, pause ${pause}`);
        else t.match(outcome.reason, { code: 'VALIDATION_ERROR' });
      }
      if (slug === 'welcome') t.ok(outcomes.every(({ status }) => status === 'fulfilled'));
    }
  }
});

void t.test('an attachment template is taken back, and its versions are read, as of an email', async (t) => {
  const { commands } = await openWorld();
  const made = await commands.createAttachmentTemplate(caller, { ...invoice, publish: true });
  await commands.updateAttachmentTemplate(caller, made.id, { name: 'Bill' });
  await commands.publishAttachmentTemplate(caller, made.id);
  t.match(await commands.attachmentTemplateVersion(caller, made.slug, '1'), {
    version: 1,
    name: made.name,
    current: false,
    schema: made.schema,
    outputFormats: made.outputFormats,
  });
  t.match(await commands.restoreAttachmentTemplateVersion(caller, made.shortId, '1'), {
    name: made.name,
    status: 'draft',
    version: 3,
  });
  await commands.deleteAttachmentTemplate(caller, made.id);
  t.match(await commands.restoreAttachmentTemplate(caller, made.shortId, {}), {
    id: made.id,
    slug: made.slug,
    publishedVersion: 2,
  });
});

void t.test('a change for another revision is refused, and nothing is written', async (t) => {
  const { commands, store, events, template } = await withTemplate();
  const { revision } = await commands.updateTemplate(caller, 'welcome', { subject: 'Second {{name}}' });
  const before = store.events.length;
  const stale = [template.revision];
  const refusals = [
    () => commands.updateTemplate(caller, 'welcome', { subject: 'Lost {{name}}' }, stale),
    () => commands.updateTemplate(caller, 'welcome', { slug: 'lost' }, stale),
    () => commands.updateTemplate(caller, 'welcome', { revision: template.revision, subject: 'Lost {{name}}' }),
    () => commands.updateTemplate(caller, 'welcome', { revision: 'x', subject: 'Lost {{name}}' }),
    () => commands.publishTemplate(caller, 'welcome', stale),
    () => commands.deleteTemplate(caller, 'welcome', stale),
    () => commands.restoreTemplateVersion(caller, 'welcome', '1', []),
  ];
  for (const refusal of refusals)
    t.same((await refusedWith(t, refusal(), 'REVISION_MISMATCH')).details.relatedInfo, { revision });
  t.equal(store.events.length, before);
  const changed = await commands.updateTemplate(caller, 'welcome', { slug: 'hello', subject: 'Third {{name}}' }, [
    0,
    revision,
  ]);
  t.match(changed, { slug: 'hello', subject: 'Third {{name}}' });
  const published = await commands.publishTemplate(caller, 'hello', [changed.revision]);
  t.equal((await commands.publishTemplate(caller, 'hello', [published.revision])).revision, published.revision);
  await commands.deleteTemplate(caller, 'hello', [published.revision]);
  await refusedWith(t, commands.deleteTemplate(caller, 'hello', stale), 'TEMPLATE_NOT_FOUND');
  t.equal(
    (await events(templateStream(assertDefined(parseTemplateId(template.id), 'id')))).at(-1)?.type,
    'TemplateDeleted',
  );
});

void t.test('of changes at once for one revision, one is made', async (t) => {
  const { commands, template } = await withTemplate();
  const results = await Promise.allSettled(
    Array.from({ length: 6 }, (_, at) =>
      commands.updateTemplate(caller, 'welcome', { description: `${at}` }, [template.revision]),
    ),
  );
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
  for (const result of results) if (result.status === 'rejected') t.match(result.reason, { code: 'REVISION_MISMATCH' });
});

void t.test('a read-only field stands in a change as it is now, or the change is refused', async (t) => {
  const { commands, template, store } = await withTemplate();
  const before = store.events.length;
  t.strictSame(await commands.updateTemplate(caller, 'welcome', template), { ...template, warnings: [] });
  t.equal(store.events.length, before);
  const wrong = {
    id: 'x',
    type: 'attachment',
    status: 'draft',
    version: 2,
    publishedVersion: null,
    createdAt: 'x',
    updatedAt: 'x',
  };
  for (const [field, value] of Object.entries(wrong)) {
    const { details } = await refusedWith(
      t,
      commands.updateTemplate(caller, 'welcome', { name: 'New', [field]: value } as object),
      'VALIDATION_ERROR',
    );
    t.same(
      details.errors?.map((error) => error.field),
      [field],
    );
  }
  t.equal(store.events.length, before);
});

void t.test('a change takes what is answered of a version, of this template alone', async (t) => {
  const { commands, template } = await withTemplate();
  const first = await commands.templateVersion(caller, 'welcome', '1');
  await commands.updateTemplate(caller, 'welcome', { subject: 'Second {{name}}', description: 'New' });
  await commands.publishTemplate(caller, 'welcome');
  const { subject, schema, variables, description } = template;
  const changed = await commands.updateTemplate(caller, 'welcome', first);
  t.match(changed, { subject, schema, variables, description, status: 'draft', version: 3, publishedVersion: 2 });
  for (const [field, wrong] of [
    ['publishedAt', { ...first, version: 9 }],
    ['publishedAt', { ...first, publishedAt: '2001-01-01T00:00:00.000Z' }],
    ['publishedAt', { name: 'New', publishedAt: first.publishedAt }],
    ['current', { name: 'New', current: true }],
    ['type', { ...first, type: 'attachment' }],
  ] as const) {
    const { details } = await refusedWith(
      t,
      commands.updateTemplate(caller, 'welcome', wrong as object),
      'VALIDATION_ERROR',
    );
    t.same(
      details.errors?.map((error) => error.field),
      [field],
    );
  }
  t.equal((await commands.getTemplate(caller, 'welcome')).revision, changed.revision);
});

void t.test('the address of the schema that an editor goes by is left aside', async (t) => {
  const { commands, store } = await openWorld();
  const $schema = './email-template.json';
  t.notOk('$schema' in (await commands.createTemplate(caller, { ...welcome, $schema })));
  t.match(await commands.updateTemplate(caller, 'welcome', { $schema, description: 'New' }), { description: 'New' });
  const { template } = await commands.importTemplate(caller, { ...welcome, name: 'Imported', $schema });
  t.equal(template.name, 'Imported');
  await commands.createAttachmentTemplate(caller, { ...invoice, $schema });
  await commands.updateAttachmentTemplate(caller, 'invoice', { $schema, description: 'New' });
  t.match((await commands.importAttachmentTemplate(caller, { ...invoice, name: 'Imported', $schema })).template, {
    name: 'Imported',
  });
  const log = JSON.stringify(store.events);
  t.ok(log.includes('Imported'));
  t.notOk(log.includes('$schema'), 'no event holds it');
});

void t.test('a change of an attachment template takes what is answered of a version', async (t) => {
  const { commands } = await openWorld();
  const made = await commands.createAttachmentTemplate(caller, { ...invoice, publish: true });
  const first = await commands.attachmentTemplateVersion(caller, made.id, '1');
  await commands.updateAttachmentTemplate(caller, made.id, { name: 'Bill' });
  await commands.publishAttachmentTemplate(caller, made.id);
  t.match(await commands.updateAttachmentTemplate(caller, made.id, first), {
    name: made.name,
    schema: made.schema,
    version: 3,
  });
});

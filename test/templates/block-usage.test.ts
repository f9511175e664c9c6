/** Blocks in use: where they are named, how a draft changes what follows them, and what a deletion or a publish may not break. */
import t from 'tap';
import type { CreateBlockRequest, CreateTemplateRequest } from '../../src/api/templates/templates.js';
import { DomainError } from '../../src/domain/core/errors.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { PINNED_BLOCKS_MAX } from '../../src/commands/templates/blocks.js';
import { changedLines } from '../../src/shared/text.js';
import { caller, openWorld, stranger, type World } from '../support/command-world.js';
import { refusedWith } from '../support/given.js';

const never = new AbortController().signal;
const text = (content: string) => [{ id: 'text', type: 'rich-text', content }];
const footer: CreateBlockRequest = {
  slug: 'footer',
  name: 'Footer',
  variables: [{ name: 'city', type: 'string', defaultValue: 'Lisbon' }],
  schema: { components: text('<p>Northwind, {{city}}.</p>') },
  publish: true,
};
const includeOf = (props: JsonObject = {}) => ({ id: 'foot', type: 'include', props: { block: 'footer', ...props } });
const mail = (slug: string, components: object[], publish = true): CreateTemplateRequest => ({
  slug,
  name: slug,
  subject: slug,
  schema: { sections: [{ id: 'main', type: 'main', components }] },
  publish,
});
const paper = (components: object[]) => ({
  slug: 'paper',
  name: 'Paper',
  schema: {
    outputFormats: ['pdf' as const, 'excel' as const],
    pages: [{ pageId: 'p', pageName: 'P', sections: [{ id: 'main', type: 'main', components }] }],
  },
  publish: true,
});

/** A block that follows the footer, and templates: one that follows, one at a version, a document, and one by the block. */
const withUsers = async (): Promise<World> => {
  const world = await openWorld();
  const { commands } = world;
  await commands.createBlock(caller, footer);
  await commands.createBlock(caller, {
    slug: 'ending',
    name: 'Ending',
    schema: { components: [{ id: 'bye', type: 'rich-text', content: '<p>Bye</p>' }, includeOf()] },
    publish: true,
  });
  await commands.createTemplate(caller, mail('follows', [includeOf()]));
  await commands.createTemplate(caller, mail('pinned', [includeOf({ version: 1 })]));
  await commands.createTemplate(caller, mail('drafted', [includeOf()], false));
  await commands.createTemplate(caller, mail('deep', [{ id: 'e', type: 'include', props: { block: 'ending' } }]));
  await commands.createTemplate(caller, mail('other', text('Hi')));
  await commands.createAttachmentTemplate(caller, paper([includeOf()]));
  await commands.createBlock(stranger, footer);
  return world;
};

void t.test('the usage names templates, drafts and versions; a block in use keeps its slug', async (t) => {
  const { commands } = await withUsers();
  const uses = async () =>
    (await commands.blockUsage(caller, 'footer')).data.map(({ type, slug, draft, versions, current, follows }) => [
      `${type} ${slug}`,
      draft,
      versions,
      current,
      follows,
    ]);
  t.same(await uses(), [
    ['email follows', true, [1], true, true],
    ['email pinned', true, [1], true, false],
    ['email drafted', true, [], true, true],
    ['attachment paper', true, [1], true, true],
    ['block ending', true, [1], true, true],
  ]);
  t.same((await commands.blockUsage(stranger, 'footer')).data, []);
  await refusedWith(t, commands.blockUsage(stranger, 'ending'), 'BLOCK_NOT_FOUND');
  await refusedWith(t, commands.deleteBlock(caller, 'footer'), 'BLOCK_IN_USE');
  await refusedWith(t, commands.updateBlock(caller, 'footer', { slug: 'foot' }), 'BLOCK_IN_USE');
  for (const slug of ['follows', 'pinned', 'drafted']) {
    await commands.updateTemplate(caller, slug, { schema: mail(slug, text('Hi')).schema });
    await commands.publishTemplate(caller, slug);
  }
  await commands.deleteAttachmentTemplate(caller, 'paper');
  await refusedWith(t, commands.deleteBlock(caller, 'footer'), 'BLOCK_IN_USE');
  await commands.deleteTemplate(caller, 'deep');
  await commands.deleteBlock(caller, 'ending');
  t.same(await uses(), [
    ['email follows', false, [1], false, false],
    ['email pinned', false, [1], false, false],
  ]);
  const { id } = await commands.getBlock(caller, 'footer');
  await commands.deleteBlock(caller, 'footer');
  const old = { templateId: 'follows', version: 1, to: [{ email: 'jane@example.com' }], variables: {} };
  await refusedWith(t, commands.sendEmail(caller, old), 'BLOCK_NOT_FOUND');
  await refusedWith(
    t,
    commands.restoreTemplateVersion(caller, 'follows', '1').then(() => commands.publishTemplate(caller, 'follows')),
    'TEMPLATE_INVALID',
  );
  await commands.restoreBlock(caller, id, {});
  await commands.sendEmail(caller, old);
});

void t.test('the impact shows each template that changes, and how', async (t) => {
  const { commands } = await withUsers();
  await commands.updateBlock(caller, 'footer', { schema: { components: text('<p>Northwind, Porto.</p>') } });
  const { version, templates, notRendered } = await commands.blockImpact(caller, 'footer');
  t.equal(version, 2);
  t.equal(notRendered, 0);
  t.same(
    templates.map(({ type, slug, version: one, changed, diff, faults }) => [type, slug, one, changed, diff, faults]),
    [
      ['email', 'follows', 1, true, ['- Northwind, Lisbon.', '+ Northwind, Porto.'], []],
      ['email', 'drafted', null, true, ['- Northwind, Lisbon.', '+ Northwind, Porto.'], []],
      ['email', 'deep', 1, true, ['- Northwind, Lisbon.', '+ Northwind, Porto.'], []],
      ['attachment', 'paper', 1, true, ['- Northwind, Lisbon.', '+ Northwind, Porto.'], []],
    ],
  );
  t.match(await commands.publishBlock(caller, 'footer'), { publishedVersion: 2 });
  t.ok((await commands.blockImpact(caller, 'footer')).templates.every(({ changed }) => !changed));
  await refusedWith(t, commands.blockImpact(stranger, 'ending'), 'BLOCK_NOT_FOUND');
});

const errorsOf = async (work: Promise<unknown>): Promise<readonly string[]> => {
  try {
    await work;
    return [];
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    return [fault.code, ...(fault.details.errors ?? []).map(({ field, message }) => `${field} ${message}`)];
  }
};

void t.test('a publish that breaks a published template is refused, unless forced', async (t) => {
  const { commands } = await withUsers();
  await commands.updateBlock(caller, 'footer', { variables: [{ name: 'city', type: 'string', required: true }] });
  const errors = await errorsOf(commands.publishBlock(caller, 'footer'));
  t.equal(errors[0], 'BLOCK_BREAKS_TEMPLATES');
  t.match(
    errors[1],
    /^follows: schema\.sections\[0\]\.components\[0\]\.props\.variables the template "follows" .*must hand over "city"/,
  );
  t.same(
    errors.slice(1).map((error) => error.slice(0, error.indexOf(':'))),
    ['follows', 'deep', 'paper'],
    'neither a draft nor a template at a version',
  );
  t.match(await commands.getBlock(caller, 'footer'), { publishedVersion: 1 });
  t.equal(
    (await errorsOf(commands.importBlock(caller, await commands.getBlock(caller, 'footer'))))[0],
    'BLOCK_BREAKS_TEMPLATES',
  );
  const { templates } = await commands.blockImpact(caller, 'footer');
  t.same(templates.map(({ slug, faults }) => [slug, faults.length > 0]).filter(([, isBroken]) => isBroken).length, 4);
  await commands.publishBlock(caller, 'footer', undefined, { force: true });
  const send = { templateId: 'follows', to: [{ email: 'jane@example.com' }], variables: {} };
  await refusedWith(t, commands.sendEmail(caller, send), 'VALIDATION_ERROR');
  await commands.sendEmail(caller, { ...send, templateId: 'pinned' });
});

void t.test('a component that a document does not have breaks the document alone', async (t) => {
  const { commands } = await withUsers();
  await commands.updateBlock(caller, 'footer', {
    schema: { components: [{ id: 'go', type: 'button', content: 'Go', props: { href: 'https://example.com' } }] },
  });
  t.match(await errorsOf(commands.publishBlock(caller, 'footer')), [
    'BLOCK_BREAKS_TEMPLATES',
    /^paper: .* › block "footer": schema\.components\[0\]\.type .*does not exist in pdf/,
  ]);
});

void t.test('a circle that came about meanwhile is refused by the publish', async (t) => {
  const { commands } = await openWorld();
  const block = (slug: string, inside?: string): CreateBlockRequest => ({
    slug,
    name: slug,
    schema: {
      components: [...text(slug), ...(inside ? [{ id: 'i', type: 'include', props: { block: inside } }] : [])],
    },
  });
  for (const slug of ['a', 'b']) await commands.createBlock(caller, { ...block(slug), publish: true });
  await commands.updateBlock(caller, 'a', { schema: block('a', 'b').schema });
  await commands.updateBlock(caller, 'b', { schema: block('b', 'a').schema });
  await commands.publishBlock(caller, 'a');
  t.match(await errorsOf(commands.publishBlock(caller, 'b', undefined, { force: true })), [
    'TEMPLATE_INVALID',
    /makes the block "b" include itself: b → a → b/,
  ]);
});

void t.test('documents of a call and of a bulk send show the blocks of their acceptance', async (t) => {
  const { commands } = await withUsers();
  const { bytes } = await commands.previewAttachmentTemplate(
    caller,
    'paper',
    { variables: {}, format: 'excel' },
    never,
  );
  t.ok(bytes.byteLength > 1_000);
  const { body } = await commands.sendBulk(caller, {
    templateId: 'follows',
    attachments: [{ attachmentTemplateId: 'paper' }],
    recipients: [{ email: 'jane@example.com', variables: {} }],
  });
  t.ok(body.batchId);
});

void t.test('publishes at once look at the newest draft, and none fails that names no revision', async (t) => {
  const { commands } = await withUsers();
  const changes = [1, 2, 3].map(async (at) => {
    await commands.updateBlock(caller, 'footer', { schema: { components: text(`<p>Draft ${at}</p>`) } });
    await commands.publishBlock(caller, 'footer');
  });
  await Promise.all(changes);
  const { publishedVersion, status } = await commands.getBlock(caller, 'footer');
  t.equal(status, 'published');
  t.ok(Number(publishedVersion) > 1 && Number(publishedVersion) <= 4);
  await refusedWith(t, commands.publishBlock(caller, 'footer', [0]), 'REVISION_MISMATCH');
});

void t.test('publishes of two blocks at once that would include each other break no template', async (t) => {
  const { commands } = await withUsers();
  const include = (block: string) => ({ schema: { components: [{ id: 'i', type: 'include', props: { block } }] } });
  for (const slug of ['one', 'two'])
    await commands.createBlock(caller, {
      ...footer,
      slug,
      name: slug,
      variables: [],
      schema: { components: text(slug) },
    });
  await commands.createTemplate(caller, mail('shows', [{ id: 'e', type: 'include', props: { block: 'one' } }]));
  await commands.updateBlock(caller, 'one', include('two'));
  await commands.updateBlock(caller, 'two', include('one'));
  const published = await Promise.allSettled(['one', 'two'].map((slug) => commands.publishBlock(caller, slug)));
  t.same(published.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  const versions = await Promise.all(['one', 'two'].map((slug) => commands.getBlock(caller, slug)));
  t.same(versions.map(({ publishedVersion }) => publishedVersion).sort(), [1, 2]);
});

void t.test('a template names a block by its slug, never by its id', async (t) => {
  const { commands } = await withUsers();
  const { id } = await commands.getBlock(caller, 'footer');
  await refusedWith(t, commands.createTemplate(caller, mail('by-id', [includeOf({ block: id })])), 'TEMPLATE_INVALID');
  const others = await commands.getBlock(stranger, 'footer');
  await refusedWith(
    t,
    commands.createTemplate(caller, mail('of-others', [includeOf({ block: others.id })])),
    'TEMPLATE_INVALID',
  );
});

void t.test('a template that a block makes show too many stops that publish, and no other', async (t) => {
  const { commands } = await withUsers();
  const slugs = Array.from({ length: PINNED_BLOCKS_MAX }, (_, at) => `piece-${at}`);
  for (const slug of slugs)
    await commands.createBlock(caller, { ...footer, slug, name: slug, schema: { components: text(slug) } });
  const includes = (named: readonly string[]) =>
    named.map((block, at) => ({ id: `i${at}`, type: 'include', props: { block } }));
  const [first, second] = [slugs.slice(0, PINNED_BLOCKS_MAX / 2), slugs.slice(PINNED_BLOCKS_MAX / 2)];
  await commands.createTemplate(caller, mail('full', includes([...first, 'footer'])));
  await commands.updateBlock(caller, 'footer', { schema: { components: includes(second) } });
  const refused: unknown = await commands.publishBlock(caller, 'footer').catch((fault: unknown) => fault);
  if (!(refused instanceof DomainError)) throw new Error('it was published');
  t.equal(refused.code, 'BLOCK_BREAKS_TEMPLATES');
  t.same(
    refused.details.errors?.map(({ field }) => field),
    ['full: schema'],
  );
  await commands.publishBlock(caller, 'footer', undefined, { force: true });
  await commands.updateBlock(caller, 'ending', { schema: { components: text('<p>See you</p>') } });
  await commands.publishBlock(caller, 'ending');
  await commands.updateBlock(caller, 'piece-0', { schema: { components: text('<p>Other</p>') } });
  await commands.publishBlock(caller, 'piece-0');
});

void t.test('the lines of a change', (t) => {
  t.same(changedLines(['a', 'b', 'c'], ['a', 'c'], 10), ['- b']);
  t.same(changedLines(['a', 'b', 'd', 'e'], ['a', 'x', 'd', 'y', 'e'], 10), ['- b', '+ x', '+ y']);
  t.same(changedLines(['a'], ['a'], 10), []);
  t.same(changedLines([], ['1', '2', '3'], 2), ['+ 1', '+ 2', '… 1 more lines']);
  const long = Array.from({ length: 3_000 }, (_, at) => String(at));
  t.equal(
    changedLines(
      long,
      long.map((line) => `x${line}`),
      40,
    ).length,
    41,
  );
  t.end();
});

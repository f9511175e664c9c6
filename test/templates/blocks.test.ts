/** Blocks: what is saved and refused, their names and versions, and who may see them. */
import t from 'tap';
import type { CreateBlockRequest } from '../../src/api/templates/templates.js';
import { checkBlock } from '../../src/domain/rendering/check/block.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { caller, openWorld, stranger } from '../support/command-world.js';
import { refusedWith } from '../support/given.js';

export const footer: CreateBlockRequest = {
  slug: 'footer',
  name: 'Footer',
  variables: [{ name: 'company', type: 'string', required: true }],
  schema: { components: [{ id: 'legal', type: 'rich-text', content: '<p>{{company}}, Lisbon</p>' }] },
};

const checked = (input: object) => checkBlock({ locale: 'en', ...input }, defaultLimits);

const faultsOf = (input: object): readonly string[] => {
  try {
    checked(input);
  } catch (fault) {
    if (fault instanceof DomainError)
      return (fault.details.errors ?? []).map(({ field, message }) => `${field} ${message}`);
    throw fault;
  }
  return [];
};

const piece = (...components: object[]) => ({
  schema: { components: components.map((one, at) => ({ id: `c${at}`, ...one })) },
});

void t.test('a block is created, changed, published, deleted and taken back as templates are', async (t) => {
  const { commands } = await openWorld();
  const { warnings, ...made } = await commands.createBlock(caller, footer);
  t.same(warnings, []);
  t.match(made, {
    slug: 'footer',
    type: 'block',
    outputs: ['email', 'pdf', 'excel'],
    isLayout: false,
    status: 'draft',
    publishedVersion: null,
    locale: 'en-US',
  });
  t.notOk('timeZone' in made || 'strictVariables' in made, 'the template that includes it says both');
  t.match(await commands.publishBlock(caller, 'footer'), { publishedVersion: 1 });
  await commands.updateBlock(caller, made.id, {
    schema: { components: [{ id: 'go', type: 'button', content: 'Go', props: { href: 'https://example.com' } }] },
    variables: [],
  });
  t.match(await commands.getBlock(caller, 'footer'), { outputs: ['email'], status: 'draft', version: 2 });
  t.match(await commands.blockVersion(caller, 'footer', '1'), { outputs: ['email', 'pdf', 'excel'], version: 1 });
  await commands.restoreBlockVersion(caller, 'footer', '1');
  t.match(await commands.getBlock(caller, 'footer'), { status: 'draft', variables: footer.variables });
  await refusedWith(t, commands.getBlock(stranger, made.id), 'BLOCK_NOT_FOUND');
  await refusedWith(t, commands.createBlock(caller, footer), 'TEMPLATE_SLUG_TAKEN');
  await commands.deleteBlock(caller, 'footer');
  await refusedWith(t, commands.getBlock(caller, 'footer'), 'BLOCK_NOT_FOUND');
  t.match(await commands.restoreBlock(caller, made.id, {}), { slug: 'footer', publishedVersion: 1 });
});

void t.test('an export of a block is imported as it is, here or by another team', async (t) => {
  const { commands } = await openWorld();
  await commands.createBlock(caller, { ...footer, publish: true });
  const exported = await commands.getBlock(caller, 'footer');
  t.match(await commands.importBlock(stranger, exported), { created: true, template: { publishedVersion: 1 } });
  t.match(await commands.importBlock(caller, { ...exported, name: 'Foot' }), {
    created: false,
    template: { publishedVersion: 2, name: 'Foot' },
  });
  t.match(await commands.updateBlock(caller, 'footer', { ...(await commands.getBlock(caller, 'footer')), name: 'F' }), {
    name: 'F',
  });
});

void t.test('a team may have so many blocks, and deleted ones do not count', async (t) => {
  const { commands } = await openWorld({ templateBlocksMax: 2 });
  await commands.createBlock(caller, footer);
  await commands.createBlock(caller, { ...footer, slug: 'second' });
  await refusedWith(t, commands.createBlock(caller, { ...footer, slug: 'third' }), 'BLOCK_LIMIT_REACHED');
  await commands.createBlock(stranger, footer);
  await commands.deleteBlock(caller, 'second');
  await commands.createBlock(caller, { ...footer, slug: 'third' });
  await refusedWith(t, commands.createBlock(caller, { ...footer, slug: 'fourth' }), 'BLOCK_LIMIT_REACHED');
});

void t.test('a block can be shown where all of its components can', (t) => {
  t.same(checked(piece({ type: 'rich-text', content: 'Hello' })).outputs, ['email', 'pdf', 'excel']);
  t.same(checked(piece({ type: 'divider' })).outputs, ['email', 'pdf']);
  t.same(checked(piece({ type: 'html-fragment', content: '<p>Hello</p>' })).outputs, ['email']);
  t.same(checked(piece({ type: 'spacer', props: { height: '5mm' } })).outputs, ['pdf']);
  t.match(faultsOf(piece({ type: 'html-fragment', content: 'a' }, { type: 'chart', props: {} })).join(), 'chart');
  t.end();
});

void t.test('each fault of a block has its path', (t) => {
  t.match(faultsOf(piece({ type: 'rich-text', content: '{{compny}}' })), [
    /^schema\.components\[0\]\.content .*no variable "compny" is declared: a block reads its own variables only/,
  ]);
  t.match(
    faultsOf({
      variables: [{ name: 'company', type: 'string' }],
      ...piece({ type: 'rich-text', content: '{{compny}}' }),
    }),
    [/did you mean "company"/],
  );
  t.match(faultsOf(piece({ type: 'rich-text', content: 'a', props: { colour: 'red' } })), [
    /^schema\.components\[0\]\.props\.colour is not a known prop/,
  ]);
  t.match(
    faultsOf({
      variables: [{ name: 'sum', type: 'number', isCalculated: true, expression: '1 + 1' }],
      ...piece({ type: 'rich-text', content: '{{sum}}' }),
    }),
    [/^variables\[0\]\.isCalculated is not for variables of a block/],
  );
  for (const schema of [undefined, [], 'x', {}, { components: {} }, { components: [] }, { sections: 5 }])
    t.not(faultsOf({ schema }).length, 0, JSON.stringify(schema));
  t.same(checked({ ...piece({ type: 'rich-text', content: '{{__COMPANY_NAME__}}' }) }).warnings, []);
  t.end();
});

const section = (id: string, props?: object) => ({ id, type: 'main', components: [], ...(props && { props }) });
const slot = { id: 'slot', type: 'slot' };

void t.test('a layout has exactly one slot, and literal settings', (t) => {
  t.same(checked({ schema: { sections: [section('a'), slot, section('b')] } }).outputs, ['email', 'pdf', 'excel']);
  t.same(checked({ schema: { sections: [slot], props: { linkColor: '#ff0000' } } }).outputs, ['email']);
  t.match(faultsOf({ schema: { sections: [section('a')] } }), [/hold no section of the type "slot"/]);
  t.match(faultsOf({ schema: { sections: [slot, { id: 'other', type: 'slot' }] } }), [
    /^schema\.sections\[1\] is a second slot/,
  ]);
  t.match(faultsOf({ schema: { sections: [slot, section('a', { backgroundColor: '{{c}}' })] } }), [
    /^schema\.sections\[1\]\.props\.backgroundColor cannot hold/,
  ]);
  t.match(faultsOf({ schema: { sections: [slot, section('slot')] } }), [/already taken/]);
  t.end();
});

void t.test('texts of a block have their languages', (t) => {
  const german = { de: { '<p>{{company}}, Lisbon</p>': '<p>{{company}}, Lissabon</p>' } };
  const { content, warnings } = checked({ ...footer, translations: german });
  t.same(content.translations, german);
  t.same(warnings, []);
  t.match(checked({ ...footer, translations: { de: { other: 'x' } } }).warnings, [{ field: 'translations.de' }, {}]);
  t.match(faultsOf({ ...footer, translations: { de: { '<p>{{company}}, Lisbon</p>': '{{nobody}}' } } }), [
    /^translations\.de .*no variable "nobody"/,
  ]);
  t.end();
});

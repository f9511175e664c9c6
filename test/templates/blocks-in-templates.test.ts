/** Blocks in mails: what an include shows, what it is refused for, and what a mail keeps of it. */
import fc from 'fast-check';
import t from 'tap';
import type { CreateBlockRequest, CreateTemplateRequest } from '../../src/api/templates/templates.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { parseEmailId, assertDefined, emailStream } from '../../src/domain/core/ids.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { caller, openWorld, stranger, type World } from '../support/command-world.js';
import { refusedWith } from '../support/given.js';

const footer: CreateBlockRequest = {
  slug: 'footer',
  name: 'Footer',
  variables: [
    { name: 'company', type: 'string', required: true },
    { name: 'amount', type: 'number', format: { style: 'currency', currency: 'EUR' }, defaultValue: 5 },
  ],
  schema: { components: [{ id: 'legal', type: 'rich-text', content: '<p>{{company}} owes {{amount}}</p>' }] },
  publish: true,
};
const include = (props: object = {}, id = 'foot') => ({
  id,
  type: 'include',
  props: { block: 'footer', variables: { company: '{{firm}}' }, ...props },
});
const mailOf = (components: object[], more: object = {}): CreateTemplateRequest => ({
  slug: 'mail',
  name: 'Mail',
  subject: 'Hello',
  variables: [{ name: 'firm', type: 'string', defaultValue: 'Acme' }],
  schema: { sections: [{ id: 'main', type: 'main', components }], ...more },
  publish: true,
});
const never = new AbortController().signal;
const textOf = async ({ commands }: World, variables: JsonObject = {}, more: object = {}): Promise<string> =>
  (await commands.previewTemplate(caller, 'mail', { variables, ...more }, never)).text;
const faultsOf = async (work: Promise<unknown>): Promise<readonly string[]> => {
  try {
    await work;
    return [];
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    return (fault.details.errors ?? []).map(({ field, message }) => `${field} ${message}`);
  }
};
const withFooter = async (): Promise<World> => {
  const world = await openWorld();
  await world.commands.createBlock(caller, footer);
  return world;
};
const send = ({ commands }: World, variables: JsonObject = {}) =>
  commands.sendEmail(caller, { templateId: 'mail', to: [{ email: 'jane@example.com' }], variables });
const pinsOf = async ({ deps }: World, id: string) => {
  const [first] = await deps.eventLog.load(emailStream(assertDefined(parseEmailId(id), 'email id')));
  return first?.event.type === 'EmailQueued' ? first.event.data.blocks : undefined;
};

void t.test('a block shows what its include hands over, its defaults and its formats', async (t) => {
  const world = await withFooter();
  await world.commands.createTemplate(
    caller,
    mailOf([include(), include({ variables: { company: 'Mr {{firm}} & Co', amount: 7.5 } }, 'again')]),
  );
  const text = await textOf(world);
  t.match(text, 'Acme owes €5.00');
  t.match(text, 'Mr Acme & Co owes €7.50');
  const { html } = await world.commands.previewTemplate(caller, 'mail', { variables: { firm: '<b>x</b>' } }, never);
  t.match(html, '&lt;b&gt;x&lt;/b&gt; owes');
  t.notMatch(html, '<b>x</b>');
});

void t.test('in a loop the item is handed over; names of the template are out of reach', async (t) => {
  const world = await withFooter();
  const loop = {
    id: 'each',
    type: 'loop',
    props: { dataSource: '{{rows}}', itemVariable: 'company' },
    children: [include({ variables: { company: '{{company.name}}', amount: '{{company.sum}}' } })],
  };
  await world.commands.createTemplate(caller, mailOf([loop]));
  const rows = [{ name: 'One', sum: 1 }, { name: 'Two', sum: 2 }, { name: 'Three' }];
  const text = await textOf(world, { rows });
  for (const line of ['One owes €1.00', 'Two owes €2.00', 'Three owes €5.00']) t.match(text, line);
  await refusedWith(t, send(world, { rows: [{ name: 'One', sum: 'much' }] }), 'VALIDATION_ERROR');
  t.match(await faultsOf(send(world, { rows: [{ sum: 1 }] })), [/^block "footer": variables\.company is required/]);
});

void t.test('a whole object is handed over with its formats', async (t) => {
  const world = await openWorld();
  await world.commands.createBlock(caller, {
    slug: 'order',
    name: 'Order',
    variables: [{ name: 'order', type: 'object' }],
    schema: {
      components: [
        {
          id: 'lines',
          type: 'loop',
          props: { dataSource: '{{order.lines}}', itemVariable: 'line' },
          children: [{ id: 'line', type: 'rich-text', content: '{{line.name}}: {{line.total}}' }],
        },
      ],
    },
    publish: true,
  });
  const lines = {
    type: 'array',
    itemSchema: { properties: { total: { type: 'number', format: { style: 'currency', currency: 'USD' } } } },
  };
  await world.commands.createTemplate(caller, {
    ...mailOf([{ id: 'o', type: 'include', props: { block: 'order', variables: { order: '{{bought}}' } } }]),
    variables: [{ name: 'bought', type: 'object', schema: { properties: { lines } } }],
  });
  t.match(await textOf(world, { bought: { lines: [{ name: 'Mug', total: 28 }] } }), 'Mug: $28.00');
});

void t.test('what a block loses is told by the path of the call', async (t) => {
  const world = await openWorld();
  await world.commands.createBlock(caller, {
    ...footer,
    variables: [{ name: 'company', type: 'string' }],
    schema: { components: [{ id: 'legal', type: 'rich-text', content: 'By {{company}}.' }] },
  });
  await world.commands.createTemplate(caller, {
    ...mailOf([include()]),
    variables: [{ name: 'firm', type: 'string' }],
  });
  const { emptyPaths } = await world.commands.previewTemplate(caller, 'mail', { variables: {} }, never);
  t.same(emptyPaths, ['firm']);
  const { body } = await send(world);
  t.match(body.warnings, [{ path: 'firm', field: /block "footer": schema\.components\[0\]\.content/ }]);
  await world.commands.updateTemplate(caller, 'mail', { strictVariables: true });
  await world.commands.publishTemplate(caller, 'mail');
  await refusedWith(t, send(world), 'VARIABLES_EMPTY');
});

void t.test('a mail keeps the version of its acceptance; later mails follow, or keep the number', async (t) => {
  const world = await withFooter();
  const { commands } = world;
  await commands.createTemplate(caller, mailOf([include()]));
  const first = await send(world);
  t.match(await pinsOf(world, first.body.id), [{ slug: 'footer', wanted: 'latest', version: 1, revision: 1 }]);
  const components = [{ id: 'legal', type: 'rich-text', content: '<p>Now {{company}}</p>' }];
  await commands.updateBlock(caller, 'footer', { schema: { components } });
  t.match(await textOf(world), 'owes', 'a draft shows nowhere');
  await commands.publishBlock(caller, 'footer');
  t.match(await textOf(world), 'Now Acme');
  const second = await send(world);
  t.match(await pinsOf(world, second.body.id), [{ version: 2 }]);
  await commands.updateTemplate(
    caller,
    'mail',
    mailOf([include({ version: 1 })]).schema ? { schema: mailOf([include({ version: 1 })]).schema } : {},
  );
  await commands.publishTemplate(caller, 'mail');
  t.match(await textOf(world), 'Acme owes');
  t.match(await pinsOf(world, (await send(world)).body.id), [{ wanted: '1', version: 1 }]);
  t.equal(await pinsOf(world, (await sendWithout(world)).body.id), undefined, 'a mail without blocks says nothing');
});

const sendWithout = async (world: World) => {
  await world.commands.createTemplate(caller, {
    ...mailOf([{ id: 'text', type: 'rich-text', content: 'Hi' }]),
    slug: 'plain',
  });
  return world.commands.sendEmail(caller, { templateId: 'plain', to: [{ email: 'jane@example.com' }], variables: {} });
};

void t.test('each fault of an include has its path, and that of the block inside it', async (t) => {
  const world = await withFooter();
  const { commands } = world;
  const faults = (components: object[], more: object = {}) =>
    faultsOf(commands.createTemplate(caller, mailOf(components, more)));
  const at = 'schema\\.sections\\[0\\]\\.components\\[0\\]\\.props';
  const cases: readonly (readonly [object, string])[] = [
    [include({ block: 'foot' }), `^${at}\\.block names "foot", and no block of that slug is published`],
    [include({ version: 9 }), `^${at}\\.version names version 9 of "footer", which is not there`],
    [include({ version: 0 }), `^${at}\\.version must be the number`],
    [include({ variables: { compny: 'x', company: 'y' } }), `^${at}\\.variables\\.compny .*did you mean "company"`],
    [include({ variables: {} }), `^${at}\\.variables must hand over "company"`],
    [include({ variables: { company: 5 } }), `^${at}\\.variables\\.company must be a string`],
    [include({ variables: { company: '{{firn}}' } }), `^${at}\\.variables\\.company .*did you mean "firm"`],
    [include({ variables: { company: 'x', amount: '{{firm}}' } }), `${at}\\.variables\\.amount .*takes it as number`],
    [include({ variables: { company: ['{{firm}}'] } }), 'cannot hold'],
    [{ ...include(), children: [] }, 'are not part of this component'],
    [{ ...include(), included: { slug: 'x' } }, 'included is not known'],
    [{ id: 'x', type: 'slot' }, 'is not a component'],
  ];
  for (const [component, expected] of cases) t.match(await faults([component]), [new RegExp(expected)], expected);
  await refusedWith(t, commands.createTemplate(stranger, mailOf([include()])), 'TEMPLATE_INVALID');
  await commands.createBlock(caller, {
    ...footer,
    slug: 'buttons',
    variables: [],
    schema: { components: [{ id: 'b', type: 'button', content: 'Go', props: { href: 'https://example.com' } }] },
  });
  const pages = [
    {
      pageId: 'p',
      pageName: 'P',
      sections: [{ id: 's', type: 'main', components: [{ id: 'i', type: 'include', props: { block: 'buttons' } }] }],
    },
  ];
  t.match(
    await faultsOf(
      commands.createAttachmentTemplate(caller, { name: 'Paper', schema: { outputFormats: ['pdf'], pages } }),
    ),
    [
      /^schema\.pages\[0\]\.sections\[0\]\.components\[0\] › block "buttons": schema\.components\[0\]\.type "button" does not exist in pdf/,
    ],
  );
});

void t.test('with its blocks a template has the limits of a template', async (t) => {
  const world = await openWorld({ componentsSavedMax: 20 });
  const { commands } = world;
  const many = Array.from({ length: 15 }, (_, at) => ({ id: `c${at}`, type: 'rich-text', content: 'x' }));
  await commands.createBlock(caller, { slug: 'many', name: 'Many', schema: { components: many }, publish: true });
  const one = (id: string) => ({ id, type: 'include', props: { block: 'many' } });
  t.same(await faultsOf(commands.createTemplate(caller, mailOf([one('a')]))), []);
  t.match(await faultsOf(commands.createTemplate(caller, { ...mailOf([one('a'), one('b')]), slug: 'two' })), [
    /more than a template may be/,
  ]);
});

const blockOf = (slug: string, ...inside: readonly string[]): CreateBlockRequest => ({
  slug,
  name: slug,
  schema: {
    components: [
      { id: 'text', type: 'rich-text', content: `<p>(${slug})</p>` },
      ...inside.map((block) => ({ id: block, type: 'include', props: { block } })),
    ],
  },
  publish: true,
});

void t.test('blocks in blocks: four deep, and never in a circle', async (t) => {
  const world = await openWorld();
  const { commands } = world;
  for (const [slug, ...inside] of [['d'], ['c', 'd'], ['b', 'c', 'd'], ['a', 'b']] as const)
    await commands.createBlock(caller, blockOf(slug, ...inside));
  const { slug: _, ...mail } = mailOf([{ id: 'a', type: 'include', props: { block: 'a' } }]);
  await commands.createTemplate(caller, { ...mail, slug: 'mail' });
  t.equal((await textOf(world)).replaceAll(/\s/g, ''), '(a)(b)(c)(d)(d)');
  t.match(await faultsOf(commands.createBlock(caller, blockOf('z', 'a'))), [
    /nests blocks more than 4 deep: z → a → b → c → d/,
  ]);
  const circle = blockOf('d', 'a').schema;
  t.match(await faultsOf(commands.updateBlock(caller, 'd', { schema: circle })), [
    /makes the block "d" include itself: d → a → b → c → d/,
  ]);
  t.match(await faultsOf(commands.createBlock(caller, blockOf('self', 'self'))), [/include itself: self → self/]);
});

void t.test('however blocks include each other, a save ends, and what it takes can be sent', async (t) => {
  const names = ['a', 'b', 'c', 'd', 'e'] as const;
  const edges = fc.array(fc.tuple(fc.constantFrom(...names), fc.subarray([...names])), { minLength: 3, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(edges, async (saves) => {
      const world = await openWorld();
      const { commands } = world;
      for (const name of names) await commands.createBlock(caller, blockOf(name));
      for (const [slug, inside] of saves) {
        const faults = await faultsOf(
          commands
            .updateBlock(caller, slug, { schema: blockOf(slug, ...inside).schema })
            .then(() => commands.publishBlock(caller, slug)),
        );
        for (const fault of faults) if (!/include itself|more than 4 deep/.test(fault)) throw new Error(fault);
      }
      for (const name of names) {
        const template = { ...mailOf([{ id: 'i', type: 'include', props: { block: name } }]), slug: `mail-${name}` };
        const faults = await faultsOf(commands.createTemplate(caller, template));
        if (faults.length > 0) throw new Error(faults.join());
        await commands.sendEmail(caller, {
          templateId: `mail-${name}`,
          to: [{ email: 'a@example.com' }],
          variables: {},
        });
      }
    }),
    { numRuns: 15 },
  );
  t.pass('no circle was ever published');
});

void t.test('a layout stands around the sections of a template', async (t) => {
  const world = await withFooter();
  const { commands } = world;
  const section = (id: string, content: string) => ({
    id,
    type: 'main',
    components: [{ id: `${id}-text`, type: 'rich-text', content }],
  });
  await commands.createBlock(caller, {
    slug: 'brand',
    name: 'Brand',
    variables: [{ name: 'title', type: 'string', defaultValue: 'Untitled' }],
    schema: {
      props: { backgroundColor: '#123456', preheader: 'Of the layout' },
      sections: [
        section('top', '<p>Top {{title}}</p>'),
        { id: 'here', type: 'slot' },
        section('main', '<p>Bottom</p>'),
      ],
    },
    publish: true,
  });
  await commands.createTemplate(
    caller,
    mailOf([{ id: 'text', type: 'rich-text', content: '<p>Own of {{firm}}</p>' }], {
      layout: { block: 'brand', variables: { title: 'of {{firm}}' } },
      props: { preheader: 'Of the template' },
    }),
  );
  const { html, text } = await commands.previewTemplate(caller, 'mail', { variables: {} }, never);
  t.equal(text.replaceAll(/\s+/g, ' ').trim(), 'Top of Acme Own of Acme Bottom');
  t.match(html, '#123456');
  t.match(html, 'Of the template');
  t.notMatch(html, 'Of the layout');
  const faults = (components: object[], more: object = {}) =>
    faultsOf(commands.createTemplate(caller, { ...mailOf(components, more), slug: 'other' }));
  t.match(await faults([{ id: 'x', type: 'include', props: { block: 'brand' } }]), [/names the layout "brand"/]);
  t.match(await faults([], { layout: { block: 'footer', variables: { company: 'x' } } }), [/has no slot/]);
  t.match(await faults([], { layout: { block: 'nobody' } }), [/^schema\.layout\.block names "nobody"/]);
  t.match(await faults([], { layout: { block: 'brand', variables: { titel: 'x' } } }), [/did you mean "title"/]);
});

void t.test('a block speaks the language of the mail', async (t) => {
  const world = await openWorld();
  const { commands } = world;
  await commands.createBlock(caller, {
    slug: 'footer',
    name: 'Footer',
    variables: [{ name: 'company', type: 'string' }],
    schema: { components: [{ id: 'bye', type: 'rich-text', content: 'Regards, {{company}}' }] },
    translations: { de: { 'Regards, {{company}}': 'Grüße von {{company}}' } },
    publish: true,
  });
  await commands.createTemplate(caller, {
    ...mailOf([include({ variables: { company: 'the firm' } })]),
    translations: { de: { 'the firm': 'der Firma' } },
  });
  t.match(await textOf(world), 'Regards, the firm');
  t.match(await textOf(world, {}, { locale: 'de-AT' }), 'Grüße von der Firma');
});

void t.test('an unsubscribe link of a block asks the template for its list', async (t) => {
  const world = await openWorld();
  await world.commands.createBlock(caller, {
    slug: 'footer',
    name: 'Footer',
    schema: {
      components: [{ id: 'bye', type: 'rich-text', content: '<a href="{{__UNSUBSCRIBE_URL__}}">Unsubscribe</a>' }],
    },
    publish: true,
  });
  const mail = mailOf([include({ variables: {} })]);
  t.match(await faultsOf(world.commands.createTemplate(caller, mail)), [/^unsubscribeList must name a list/]);
  await world.commands.createTemplate(caller, { ...mail, unsubscribeList: 'news' });
});

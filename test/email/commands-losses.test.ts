/**
 * Values that a mail loses: the answer to the send, the record, the preview, the dry run and strict variables name the
 * same paths, and never the value.
 */
import t from 'tap';
import type { CreateTemplateRequest } from '../../src/api/templates/templates.js';
import { fanOut } from '../../src/commands/bulk/batches.js';
import { assertDefined, emailIdInBatch, emailStream, parseBatchId, parseEmailId } from '../../src/domain/core/ids.js';
import type { Json, JsonObject } from '../../src/domain/core/json.js';
import { caller, openWorld, TEAM, type World } from '../support/command-world.js';
import { at } from '../support/email-facts.js';

const never = new AbortController().signal;
const idOf = (id: string) => assertDefined(parseEmailId(id), 'email id');
const to = [{ email: 'ann@example.org' }];

const HREF = 'schema.sections[0].components[0].props.href';
const button = (href: string) => ({ id: 'b', type: 'button', content: 'Reset', props: { href } });
const text = (content: string, more: object = {}) => ({ id: 'a', type: 'rich-text', content, ...more });
const mail = (component: object, more: Partial<CreateTemplateRequest> = {}): CreateTemplateRequest => ({
  slug: 'mail',
  name: 'Mail',
  subject: 'Hello',
  variables: [],
  schema: { sections: [{ id: 'm', type: 'main', components: [component] }] },
  publish: true,
  ...more,
});

const withMail = async (template: CreateTemplateRequest): Promise<World> => {
  const world = await openWorld();
  await world.commands.createTemplate(caller, template);
  return world;
};

type Case = Readonly<{
  template: CreateTemplateRequest;
  variables: JsonObject;
  kind: string;
  path: string;
  shape: string;
  field?: string;
}>;

const amount: CreateTemplateRequest['variables'] = [
  { name: 'o', type: 'object' },
  { name: 'due', type: 'number', format: { style: 'currency', currency: '{{o.currency}}' } },
];
const calculated = (expression: string): CreateTemplateRequest['variables'] => [
  { name: 'o', type: 'object' },
  { name: 'line', type: 'string', isCalculated: true, expression },
];
const link = (url: Json, shape: string): Case => ({
  template: mail(button('{{url}}')),
  variables: { url },
  kind: 'link',
  path: 'url',
  shape,
});

const cases: Readonly<Record<string, Case>> = {
  'a link without a scheme': { ...link('app.example.com/reset?t=1', 'text without a scheme'), field: HREF },
  'a link within a site': link('/reset?t=1', 'text that begins with /'),
  'a link without its scheme': link('//app.example.com/reset', 'text that begins with //'),
  'a link of a program': link('northwind://reset?t=1', 'text with another scheme'),
  'a link that runs code': link('javascript:alert(1)', 'text with another scheme'),
  'a link without a host': link('https:/app.example.com/x', 'text with http and no host that can be used'),
  'a link with a blank in its host': link('https://exa mple.com/x', 'text with http and no host that can be used'),
  'a link that is a number': link(7, 'number'),
  'a link that is an object': link({ a: 1 }, 'object'),
  'a link put together': {
    template: mail(text('<p><a href="{{base}}/reset?t={{token}}">Reset</a></p>')),
    variables: { base: 'app.example.com', token: 'a b' },
    kind: 'link',
    path: 'base',
    shape: 'text without a scheme',
    field: 'schema.sections[0].components[0].content',
  },
  'a host that is none': {
    template: mail(button('https://{{team}}.{{domain}}/reset')),
    variables: { team: 'a', domain: 'x/y z' },
    kind: 'link',
    path: 'domain',
    shape: 'text without a scheme',
  },
  'a picture': {
    template: mail({ id: 'i', type: 'image', props: { src: '{{logo}}', alt: 'Logo' } }),
    variables: { logo: 'logo.png' },
    kind: 'picture',
    path: 'logo',
    shape: 'text without a scheme',
  },
  'a picture of a text, one that only documents draw': {
    template: mail(text('<p>Hi <img src="{{logo}}" alt="" width="4" height="4"></p>')),
    variables: { logo: 'data:image/svg+xml;base64,AAAA' },
    kind: 'picture',
    path: 'logo',
    shape: 'text with another scheme',
  },
  'a colour of a prop': {
    template: mail(text('<p>Hi</p>', { props: { color: '{{brand}}' } })),
    variables: { brand: 'brand-blue' },
    kind: 'color',
    path: 'brand',
    shape: 'text',
    field: 'schema.sections[0].components[0].props.color',
  },
  'a colour of a style': {
    template: mail(text('<p style="margin:0;color:{{ brand }}">Hi</p>')),
    variables: { brand: 'notacolour' },
    kind: 'color',
    path: 'brand',
    shape: 'text',
  },
  'a colour of an attribute': {
    template: mail(text('<table><tr><td bgcolor="{{brand}}">Hi</td></tr></table>')),
    variables: { brand: '#12' },
    kind: 'color',
    path: 'brand',
    shape: 'text',
  },
  'a colour of the whole mail': {
    template: mail(text('Hi'), {
      schema: {
        props: { backgroundColor: '{{brand}}' },
        sections: [{ id: 'm', type: 'main', components: [text('Hi')] }],
      },
    }),
    variables: { brand: 3 },
    kind: 'color',
    path: 'brand',
    shape: 'number',
    field: 'schema.props.backgroundColor',
  },
  'a width': {
    template: mail({ id: 'i', type: 'image', props: { src: 'https://x.example/a.png', alt: 'A', width: '{{w}}' } }),
    variables: { w: 'wide' },
    kind: 'setting',
    path: 'w',
    shape: 'text',
  },
  'a side': {
    template: mail(text('Hi', { props: { align: '{{side}}' } })),
    variables: { side: 'middle' },
    kind: 'setting',
    path: 'side',
    shape: 'text',
  },
  'a currency that is missing': {
    template: mail(text('<p>Please pay {{due}}</p>'), { variables: amount }),
    variables: { due: 1234.5, o: {} },
    kind: 'currency',
    path: 'o.currency',
    shape: 'nothing',
  },
  'a currency in words': {
    template: mail(text('<p>Please pay {{due}}</p>'), { variables: amount }),
    variables: { due: 1234.5, o: { currency: 'Euro' } },
    kind: 'currency',
    path: 'o.currency',
    shape: 'text',
  },
  'a currency by its sign, in a column': {
    template: mail({
      id: 't',
      type: 'table',
      props: {
        dataSource: 'items',
        columns: [
          { header: 'Sum', content: '{{item.sum}}', format: { style: 'currency', currency: '{{item.currency}}' } },
        ],
      },
    }),
    variables: {
      items: [
        { sum: 1, currency: 'EUR' },
        { sum: 2, currency: '€' },
      ],
    },
    kind: 'currency',
    path: 'items[1].currency',
    shape: 'text',
    field: 'schema.sections[0].components[0].props.columns[0].format.currency',
  },
  'a calculated text of something missing': {
    template: mail(text('<p>Hi {{line}}</p>'), { variables: calculated('`Hello ${o.first},`') }),
    variables: { o: {} },
    kind: 'calculated',
    path: 'line',
    shape: 'nothing',
  },
  'a calculated text of no number': {
    template: mail(text('<p>Hi {{line}}</p>'), { variables: calculated('`Total ${o.qty * o.price} EUR`') }),
    variables: { o: { qty: 3 } },
    kind: 'calculated',
    path: 'line',
    shape: 'nothing',
  },
  'a calculated text of an object': {
    template: mail(text('<p>Hi {{line}}</p>'), { variables: calculated('`Ship to ${o.address}`') }),
    variables: { o: { address: { city: 'Lisboa' } } },
    kind: 'calculated',
    path: 'line',
    shape: 'nothing',
  },
  'a value that is missing': {
    template: mail(text('<p>Dear {{o.name}}</p>')),
    variables: { o: { name: ' ' } },
    kind: 'missing',
    path: 'o.name',
    shape: 'empty text',
  },
  'a value of the subject that is missing': {
    template: mail(text('<p>Hi</p>'), { subject: 'Order {{number}}' }),
    variables: {},
    kind: 'missing',
    path: 'number',
    shape: 'nothing',
    field: 'subject',
  },
  'a list that is missing': {
    template: mail({
      id: 'l',
      type: 'loop',
      props: { dataSource: 'items', itemVariable: 'item', emptyText: 'None' },
      children: [text('{{item.name}}', { id: 'n' })],
    }),
    variables: {},
    kind: 'missing',
    path: 'items',
    shape: 'nothing',
  },
};

for (const [name, { template, variables, kind, path, shape, field }] of Object.entries(cases)) {
  void t.test(
    `${name}: told by the answer, the record, a preview and a dry run, refused by strict variables`,
    async (t) => {
      const world = await withMail(template);
      const wanted = { kind, path, shape, ...(field === undefined ? {} : { field }) };

      const { body } = await world.commands.sendEmail(caller, { templateId: 'mail', to, variables });
      t.match(body.warnings, [wanted], 'the answer');
      t.equal(body.warnings?.length, 1);
      const record = await world.commands.getEmail(caller, idOf(body.id));
      t.same(record.metadata.warnings, body.warnings, 'the record');
      const [stored] = await world.events(emailStream(idOf(body.id)));
      const { losses } = (stored as unknown as { data: { losses: readonly object[] } }).data;
      t.match(losses, [wanted], 'the event');
      t.same(Object.keys(losses[0] ?? {}).sort(), ['field', 'kind', 'path', 'shape'], 'nothing of the value');

      const preview = await world.commands.previewTemplate(caller, 'mail', { variables }, never);
      t.same(preview.emptyPaths, [path], 'the preview');
      const told = preview.warnings
        .map(({ message }) => message)
        .filter((message) => message.startsWith(`{{${path}}}`));
      t.equal(told.length, kind === 'missing' ? 0 : 1);

      const recipients = [
        { email: 'a@example.org', variables },
        { email: 'b@example.org', variables },
      ];
      const dryRun = await world.commands.dryRunBulk(caller, { templateId: 'mail', recipients });
      t.same(dryRun.templateValidation.emptyPaths, [path], 'the dry run');
      const counted = dryRun.warnings.filter((warning) => warning.startsWith('2 of 2 emails: '));
      t.equal(counted.length, 1, dryRun.warnings.join('\n'));

      await world.commands.createTemplate(caller, { ...template, slug: 'strict', strictVariables: true });
      await t.rejects(world.commands.sendEmail(caller, { templateId: 'strict', to, variables }), {
        code: 'VARIABLES_EMPTY',
        message: new RegExp(`and ${path.replace(/[[\].]/g, '\\$&')} is`),
        details: { errors: [{ field: `variables.${path}`, message: ` (at ${body.warnings?.[0]?.field})` }] },
      });
    },
  );
}

void t.test('where nothing is lost, nothing is told or stored', async (t) => {
  const world = await withMail(
    mail(
      text(
        '<p style="color:{{brand}}">Hi {{name}} {{other}} <a href="{{url}}">x</a> <a href="https://x.example/{{id}}">y</a></p>',
        {
          props: { align: '{{side}}', backgroundColor: '{{brand}}', hideWhenEmpty: 'lines' },
        },
      ),
      { variables: [{ name: 'other', type: 'string', fallback: 'you' }] },
    ),
  );
  const variables = { brand: 'RebeccaPurple', side: 'Right', name: 'Ann', url: 'mailto:a@example.com', id: '1' };
  const { body } = await world.commands.sendEmail(caller, { templateId: 'mail', to, variables });
  t.equal(body.warnings, undefined);
  const record = await world.commands.getEmail(caller, idOf(body.id));
  t.equal(record.metadata.warnings, undefined);
  t.same((await world.commands.previewTemplate(caller, 'mail', { variables }, never)).warnings, []);
});

void t.test('what the template allows of addresses is no loss, and what it does not is one', async (t) => {
  const components = [
    button('{{url}}'),
    { id: 'i', type: 'image', props: { src: '{{logo}}', alt: 'Logo' } },
    text('<a href="a/{{id}}">x</a>'),
  ];
  const props = { linkBase: 'https://app.example.com/', linkSchemes: ['myapp'] };
  const world = await withMail(
    mail(button(''), { schema: { props, sections: [{ id: 'm', type: 'main', components }] } }),
  );
  const warningsOf = async (variables: JsonObject) =>
    (await world.commands.sendEmail(caller, { templateId: 'mail', to, variables })).body.warnings;
  t.equal(await warningsOf({ url: '/reset', logo: 'logo.png', id: '1' }), undefined);
  t.equal(await warningsOf({ url: 'myapp://open', logo: '/logo.png', id: '1' }), undefined);
  t.match(await warningsOf({ url: 'app.example.com/reset', logo: 'myapp:x', id: '1' }), [
    { kind: 'link', path: 'url', shape: 'text without a scheme' },
    { kind: 'picture', path: 'logo', shape: 'text with another scheme' },
  ]);
});

void t.test('values with their filters and fallbacks are judged as they are written', async (t) => {
  const world = await withMail(
    mail(button('{{url}}'), {
      variables: [{ name: 'url', type: 'string', fallback: 'app.example.com', filters: ['lower'] }],
    }),
  );
  const { body } = await world.commands.sendEmail(caller, { templateId: 'mail', to, variables: {} });
  t.match(body.warnings, [{ kind: 'link', path: 'url' }]);
  const good = await world.commands.sendEmail(caller, {
    templateId: 'mail',
    to,
    variables: { url: 'HTTPS://APP.EXAMPLE.COM/' },
  });
  t.equal(good.body.warnings, undefined);
});

void t.test('a subject that comes with the call is looked at, and twenty losses are kept', async (t) => {
  const world = await withMail(
    mail(
      text(
        Array.from({ length: 30 }, (_, at) => `{{v${at}}}`)
          .join(' ')
          .concat(' Hi'),
      ),
    ),
  );
  const { body } = await world.commands.sendEmail(caller, {
    templateId: 'mail',
    to,
    subject: 'To {{nobody}} x',
    variables: {},
  });
  t.equal(body.warnings?.length, 20);
  t.match(body.warnings?.[0], { kind: 'missing', path: 'nobody', field: 'subject' });
});

void t.test('a repeated call is answered with the same warnings, a scheduled one too', async (t) => {
  const world = await withMail(mail(button('{{url}}')));
  const request = { templateId: 'mail', to, variables: { url: '/reset' }, scheduledAt: at(3_600_000) };
  const idempotency = { key: 'once', body: Buffer.from('x') };
  const first = await world.commands.sendEmail(caller, request, idempotency);
  const again = await world.commands.sendEmail(caller, request, idempotency);
  t.same(again, { body: first.body, replayed: true });
  t.match(first.body.warnings, [{ kind: 'link', path: 'url' }]);
});

void t.test('each email of a bulk send has its own', async (t) => {
  const world = await withMail(mail(button('{{url}}')));
  const recipients = ['https://x.example/', 'app.example.com'].map((url, index) => ({
    email: `r${index}@example.org`,
    variables: { url },
  }));
  const dryRun = await world.commands.dryRunBulk(caller, { templateId: 'mail', recipients });
  t.match(dryRun.warnings, [
    /^1 of 2 emails: \{\{url\}\} is the address of a link and none that can be used, text without a scheme/,
  ]);
  const { body } = await world.commands.sendBulk(caller, { templateId: 'mail', recipients });
  const id = assertDefined(parseBatchId(body.batchId), 'id');
  const cause = { teamId: TEAM, actor: 'test', correlationId: 'c', causationId: 'c', at: at(0) };
  await fanOut(world.deps, { id, cause, signal: never });
  const warnings = await Promise.all(
    [0, 1].map(async (index) => (await world.commands.getEmail(caller, emailIdInBatch(id, index))).metadata.warnings),
  );
  t.match(warnings, [undefined, [{ kind: 'link', path: 'url', shape: 'text without a scheme' }]]);
});

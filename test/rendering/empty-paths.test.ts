/**
 * Empty paths are reported, except those that are left out on purpose; fallback and filters are the same in every
 * output.
 */
import t from 'tap';
import { openRenderer } from '../../src/adapters/render/email/renderer.js';
import { openBudget } from '../../src/domain/rendering/budget.js';
import { DomainError } from '../../src/domain/core/errors.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../src/domain/rendering/check/document.js';
import { checkEmailTemplate } from '../../src/domain/rendering/check/email.js';
import { compileDocument } from '../../src/domain/rendering/expand/expand.js';
import { compilePreparation } from '../../src/domain/rendering/fill/compile.js';
import { isBlank } from '../../src/domain/rendering/fill/shown-value.js';
import { compileLosses, pathsOfLosses, type Loss } from '../../src/domain/rendering/paths/losses.js';
import { partsOfEmail } from '../../src/domain/rendering/paths/walk.js';
import { environment, renderTemplate, templateOf } from '../support/rendering.js';

const limits = defaultLimits;
const text = (content: string, id = 'text') => ({ id, type: 'rich-text', content });

const lossesIn = (
  components: readonly unknown[],
  variables: JsonObject,
  more: Readonly<Record<string, unknown>> = {},
): readonly Loss[] => {
  const { content } = checkEmailTemplate(templateOf(components, more), limits);
  const budget = openBudget(limits);
  const prepared = compilePreparation(content.variables, { locale: 'en-US', timeZone: 'UTC' }, limits)(
    variables,
    environment,
    budget,
  );
  const find = compileLosses(partsOfEmail(content), { definitions: content.variables, locale: 'en-US', limits });
  const losses = find(prepared, { budget });
  t.same(find(prepared, { budget: openBudget(limits) }), losses, 'a second call is answered as the first is');
  return losses;
};

const emptyIn = (...input: Parameters<typeof lossesIn>): readonly string[] => pathsOfLosses(lossesIn(...input));

void t.test('paths that are shown and have no value, each once, with the places of items', async (t) => {
  const table = {
    id: 'table',
    type: 'table',
    props: { dataSource: 'items', columns: [{ header: '{{head}}', content: '{{item.name}} {{item.note}}' }] },
  };
  const items = [{ name: 'Mug', note: 'green' }, { name: 'Pot' }, { name: 'Cup', note: '  ' }];
  t.same(
    emptyIn(
      [text('{{a}} {{a}} {{b.c}} {{zero}} {{no}}'), table],
      { zero: 0, no: false, items },
      { subject: 'Hi {{name}}' },
    ),
    ['name', 'a', 'b.c', 'head', 'items[1].note', 'items[2].note'],
  );
  t.same(emptyIn([table], { items: [], head: 'x' }), [], 'a list without items is as meant');
  t.same(emptyIn([table], { head: 'x' }), ['items'], 'one that is not there is not');
  const nested = {
    id: 'l',
    type: 'loop',
    props: { dataSource: 'groups', itemVariable: 'group', indexVariable: 'n' },
    children: [
      {
        id: 'list',
        type: 'list',
        content: '{{n}} {{line.x}}',
        props: { dataSource: 'group.lines', itemVariable: 'line' },
      },
    ],
  };
  t.same(emptyIn([nested], { groups: [{ lines: [{}, { x: 1 }] }, {}] }), ['groups[0].lines[0].x', 'groups[1].lines']);
});

const odd = {
  '1st item': 'Mug',
  'a.b': 'Dot',
  'line items': [{ 'net-price': 2, '2 b': 'x' }, { 'net-price': 3 }],
  'page "x"': 'https://example.com/p',
};

void t.test('keys that are no names are read, checked, formatted and told alike in every place', async (t) => {
  const variables = [
    {
      name: 'order',
      type: 'object',
      schema: {
        properties: {
          '1st item': { type: 'string', filters: ['upper'] },
          'a.b': { type: 'string' },
          'page "x"': { type: 'string' },
          none: { type: 'string' },
          'no ne': { type: 'string' },
          'line items': {
            type: 'array',
            itemSchema: {
              properties: {
                'net-price': { type: 'number', format: { style: 'number', minimumFractionDigits: 2 } },
                '2 b': { type: 'string' },
              },
            },
          },
        },
      },
    },
    { name: 'First name', type: 'string', fallback: 'friend' },
    {
      name: 'sum',
      type: 'number',
      isCalculated: true,
      expression: 'order["line items"].reduce((sum, i) => sum + i["net-price"], 0)',
    },
  ];
  const components = [
    text(
      `<p>{{order["1st item"]}} {{order['a.b']}} {{order[&quot;a.b&quot;]}} {{["First name"]}} {{["x.y"]}} {{sum}}</p>`,
      'a',
    ),
    text(`<p><a href="{{order["page \\"x\\""]}}">double</a> <a href='{{order['page "x"']}}'>single</a></p>`, 'links'),
    text(`<p style="color: {{brand['main color']}}">line<br>{{order["no ne"]}}<br>end</p>`, 'style'),
    {
      id: 'if',
      type: 'conditional',
      props: { condition: 'order["1st item"]', operator: '==', value: '{{order["1st item"]}}' },
      children: [text('same', 'then')],
      elseChildren: [text('other', 'else')],
    },
    {
      id: 'loop',
      type: 'loop',
      props: { dataSource: '{{order["line items"]}}', itemVariable: 'line' },
      children: [text('[{{line["net-price"]}}|{{line["2 b"]}}]', 'each')],
    },
    {
      id: 'table',
      type: 'table',
      props: {
        dataSource: "order['line items']",
        columns: [
          { header: 'N', content: '{{item["net-price"]}}' },
          { header: 'B', content: '{{item["2 b"]}}', hideWhenEmpty: true },
        ],
      },
    },
  ];
  const given = { order: odd, 'x.y': 'root', brand: { 'main color': '#ff0000' } };
  const template = templateOf(components, { variables, subject: '{{order["1st item"]}}' });
  const mail = renderTemplate(template, given);
  t.equal(mail.subject, 'MUG');
  t.match(mail.html, /MUG Dot Dot friend root 5/);
  t.equal(mail.html.match(/href="https:\/\/example\.com\/p"/g)?.length, 2);
  t.match(mail.html, /color:#ff0000[^>]*>line/);
  const flat = mail.text.replace(/\s+/g, ' ');
  t.match(flat, /same \[2\.00\|x\] \[3\.00\|\]/);
  t.match(flat, /N B -+ 2\.00 x 3\.00|N: 2\.00 B: x/);
  t.same(emptyIn(components, given, { variables }), ['order["no ne"]', 'order["line items"][1]["2 b"]']);
  t.same(
    emptyIn([components[1]], { order: { 'page "x"': 'nothing' } }),
    ['order["page \\"x\\""]'],
    'an address of no use',
  );
  t.same(
    emptyIn([text('{{constructor}} {{a["constructor"]}} {{a["toString"]}} {{list["0"]}}')], { a: {}, list: ['x'] }),
    ['constructor', 'a.constructor', 'a.toString', 'list["0"]'],
  );
  const page = { pageId: 'p', pageName: 'P', sections: [{ id: 's', type: 'main', components }] };
  const chart = {
    id: 'chart',
    type: 'chart',
    props: {
      chartType: 'bar',
      dataSource: 'order["line items"]',
      categoryField: '["2 b"]',
      series: [{ valueField: '["net-price"]' }],
    },
  };
  const { content } = checkAttachmentTemplate(
    {
      variables,
      schema: {
        outputFormats: ['pdf', 'excel'],
        pages: [{ ...page, sections: [{ id: 's', type: 'main', components: [...components, chart] }] }],
      },
    },
    limits,
  );
  for (const format of ['pdf', 'excel'] as const) {
    const shown = JSON.stringify(compileDocument(content, limits)(given, environment, format));
    t.match(shown, /MUG Dot Dot friend root 5/, format);
    t.match(shown, /same.*\[2\.00\|x\].*\[3\.00\|\]/, format);
    t.match(shown, /color: #ff0000/, format);
    t.match(shown, /"categories":\["x",""\].*"values":\[2,3\]/, format);
    t.equal(
      shown.match(/href=..?"?https:\/\/example\.com\/p/g)?.length ?? shown.match(/https:\/\/example\.com\/p/g)?.length,
      2,
      format,
    );
  }
  const refused = (values: JsonObject): unknown => {
    try {
      return renderTemplate(template, values);
    } catch (error) {
      return error instanceof DomainError ? error.details.errors : error;
    }
  };
  t.match(refused({ order: { ...odd, 'line items': [{ 'net-price': 'dear' }] } }), [
    { field: 'variables.order["line items"][0].net-price' },
  ]);
  t.match(refused({ order: odd, 'First name': 1 }), [
    { field: 'variables["First name"]', message: 'must be a string, got a number' },
  ]);
  const near = (content: string): unknown => {
    try {
      return checkEmailTemplate(templateOf([text(content)], { variables }), limits).warnings;
    } catch (error) {
      return error instanceof DomainError ? error.details.errors : error;
    }
  };
  t.match(near('{{order["1st itme"]}}'), [{ message: /did you mean "1st item"/ }]);
  t.match(near('{{["First nmae"]}}'), [{ message: /did you mean "First name"/ }]);
  t.match(near('{{order["quite other"]}}'), [
    { message: /^\{\{order\["quite other"\]\}\}: the schema of order declares no member "quite other"/ },
  ]);
  t.same(
    near(
      `<a href="{{order['a.b']}}">x</a> <a href="{{order["a.b"]}}">x</a> <img src='{{order["a.b"]}}' width="1" height="1">`,
    ),
    [],
  );
});

void t.test('a line that shows a key in brackets is left out with its value', async (t) => {
  const lines = {
    id: 'lines',
    type: 'rich-text',
    content: `<p>{{order["1st item"]}}<br><a title="{{order["2nd item"]}}" href='{{order["2nd item"]}}'>{{order["2nd item"]}}</a><br>{{order['3rd item']}}</p>`,
    props: { hideWhenEmpty: 'lines' },
  };
  t.equal(renderTemplate(templateOf([lines]), { order: { '1st item': 'Mug', '3rd item': 'Tea' } }).text, 'Mug\nTea\n');
  t.same(emptyIn([lines], { order: { '1st item': 'Mug', '3rd item': 'Tea' } }), []);
});

void t.test('what is left out on purpose is not told', async (t) => {
  const conditional = {
    id: 'c',
    type: 'conditional',
    props: { condition: 'vip', operator: 'exists' },
    children: [text('{{gift}}', 'then')],
    elseChildren: [text('{{voucher}}', 'else')],
  };
  t.same(emptyIn([conditional], { voucher: 'x' }), [], 'the other branch');
  t.same(emptyIn([conditional], { vip: true }), ['gift']);
  const variables = [{ name: 'nick', type: 'string', fallback: 'there' }];
  t.same(emptyIn([text('{{nick}} {{__UNSUBSCRIBE_URL__}}')], {}, { variables }), [], 'a fallback');
});

void t.test('what stands in a comment is neither asked for nor shown', (t) => {
  const comment = text(
    '<!-- <a href="{{url}}">{{old name}} {{old}}</a> --><p>x</p><!--[if mso]><td>{{#each}}</td><![endif]-->',
  );
  t.same(emptyIn([comment], {}), []);
  t.same(checkEmailTemplate(templateOf([comment]), limits).warnings, [], 'no path is undeclared');
  const { html, text: plain } = renderTemplate(templateOf([comment], { strictVariables: true }));
  t.notMatch(html, /\{\{|old|#each/);
  t.equal(plain.trim(), 'x');
  const pages = [{ pageId: 'p', pageName: 'P', sections: [{ id: 's', type: 'main', components: [comment] }] }];
  const { content } = checkAttachmentTemplate(
    { variables: [], schema: { outputFormats: ['pdf'], pages }, strictVariables: true },
    limits,
  );
  t.ok(compileDocument(content, limits)({}, environment, 'pdf'));
  t.end();
});

void t.test('no more is walked than a call may spend', async (t) => {
  const items = Array.from({ length: 1_000 }, () => ({ rows: Array.from({ length: 1_000 }, () => 1) }));
  const nested = {
    id: 'l',
    type: 'loop',
    props: { dataSource: 'items', itemVariable: 'one' },
    children: [
      {
        id: 'list',
        type: 'list',
        content: '{{line}} {{missing}}',
        props: { dataSource: 'one.rows', itemVariable: 'line' },
      },
    ],
  };
  t.throws(() => emptyIn([nested], { items }), { code: 'WORK_LIMIT_EXCEEDED' });
});

void t.test('a strict template refuses, whatever the output', async (t) => {
  const variables = [{ name: 'name', type: 'string' }];
  const { content } = checkEmailTemplate(
    templateOf([text('{{name}} {{__COMPANY_NAME__}}')], { variables, strictVariables: true }),
    limits,
  );
  const mail = openRenderer({ limits }).compileEmail(content);
  t.throws(() => mail.check({ variables: { name: ' ' }, environment }), {
    code: 'VARIABLES_EMPTY',
    details: { errors: [{ field: 'variables.name' }] },
  });
  t.throws(() => mail.check({ variables: { name: 'Ada' }, subject: 'For {{nobody}}', environment }), {
    code: 'VARIABLES_EMPTY',
  });
  t.equal(mail.check({ variables: { name: 'Ada' }, environment }).subject, 'Hello');
  t.match(mail({ variables: {}, environment }).html, 'Northwind', 'what was accepted is rendered');
  const { content: document } = checkAttachmentTemplate(
    {
      strictVariables: true,
      variables,
      schema: {
        outputFormats: ['pdf'],
        pages: [{ pageId: 'p', pageName: 'P', sections: [{ id: 's', type: 'main', components: [text('{{name}}')] }] }],
      },
    },
    limits,
  );
  t.throws(() => compileDocument(document, limits)({}, environment, 'pdf'), { code: 'VARIABLES_EMPTY' });
  t.ok(compileDocument(document, limits)({ name: 'Ada' }, environment, 'pdf'));
  const withCode = (code: JsonObject) => {
    const pages = document.schema.pages.map((page) => ({ ...page, pageSettings: { footer: { content: '', code } } }));
    return () =>
      compileDocument({ ...document, schema: { ...document.schema, pages } }, limits)(
        { name: 'Ada' },
        environment,
        'pdf',
      );
  };
  t.throws(withCode({ value: '{{nothing}}' }), { code: 'VARIABLES_EMPTY' });
  t.ok(withCode({ value: '{{nothing}}', hideWhenEmpty: true })(), 'a code of a footer that is hidden shows nothing');
});

void t.test(
  'an address that cannot be followed, a picture that cannot be shown and a missing currency are told',
  (t) => {
    const button = { id: 'b', type: 'button', content: 'Go', props: { href: '{{url}}' } };
    const picture = { id: 'i', type: 'image', props: { src: '{{logo}}', alt: 'Logo' } };
    const link = text(
      '<p><a href="{{url}}">Go</a> <a href=\'{{ other }}\'>there</a> <a href="https://x.example/{{id}}">x</a></p>',
      'l',
    );
    const good = {
      url: 'https://x.example/reset',
      other: 'mailto:a@example.com',
      id: '1',
      logo: 'https://x.example/a.png',
    };
    t.same(emptyIn([button, picture, link], good), []);
    t.same(emptyIn([text('{{url}}')], { url: 'app.example.com/reset' }), [], 'a text may hold any address');
    for (const url of ['app.example.com/reset', '/reset', 'myapp://open', 'javascript:alert(1)', 7])
      t.same(emptyIn([button, picture, link], { ...good, url }), ['url'], String(url));
    t.same(emptyIn([link], { ...good, url: '', other: 'x' }), ['url', 'other']);
    t.same(emptyIn([picture], { logo: 'logo.png' }), ['logo']);
    const lines = {
      id: 'r',
      type: 'loop',
      props: { dataSource: 'items', itemVariable: 'item' },
      children: [{ ...button, props: { href: '{{item.url}}' } }],
    };
    t.same(emptyIn([lines], { items: [{ url: 'https://a.example' }, { url: 'b' }] }), ['items[1].url']);
    const due = {
      variables: [
        { name: 'due', type: 'number', format: { style: 'currency', currency: '{{o.currency}}' } },
        { name: 'o', type: 'object' },
      ],
    };
    t.same(emptyIn([text('{{due}}')], { due: 3, o: {} }, due), ['o.currency']);
    t.same(emptyIn([text('{{due}}')], { due: 3, o: { currency: 'EUR' } }, due), []);
    const strict = openRenderer({ limits }).compileEmail(
      checkEmailTemplate(templateOf([button], { strictVariables: true }), limits).content,
    );
    t.throws(() => strict.check({ variables: { url: '/reset' }, environment }), {
      code: 'VARIABLES_EMPTY',
      message: /and url is the address of a link and none that can be used, text that begins with \//,
      details: { errors: [{ field: 'variables.url', message: /begins with https/ }] },
    });
    t.end();
  },
);

void t.test(
  'fallback and filters: the same in mail, text and documents; conditions see the value itself',
  async (t) => {
    const variables = [
      { name: 'nick', type: 'string', filters: ['trim', 'capitalize'], fallback: 'there' },
      { name: 'price', type: 'number', fallback: 'on request', format: { style: 'currency', currency: 'EUR' } },
      {
        name: 'order',
        type: 'object',
        schema: { properties: { note: { type: 'string', filters: [{ truncate: 6 }, 'upper'] } } },
      },
    ];
    const components = [
      text('<p>Hello {{nick}}, {{price}} {{order.note}}</p>'),
      {
        id: 'c',
        type: 'conditional',
        props: { condition: 'nick', operator: 'isEmpty' },
        children: [text('nobody', 'n')],
      },
      { id: 't', type: 'table', props: { rows: [['{{nick}}', '{{price}}']] } },
    ];
    const { content: document } = checkAttachmentTemplate(
      {
        variables,
        schema: {
          outputFormats: ['pdf', 'excel'],
          pages: [{ pageId: 'p', pageName: 'For {{nick}}', sections: [{ id: 's', type: 'main', components }] }],
        },
      },
      limits,
    );
    const made = compileDocument(document, limits);
    for (const [given, hello, cell] of [
      [{ nick: ' ada ', price: 2, order: { note: 'straße und weg' } }, 'Hello Ada, €2.00 STRASS…', 'Ada'],
      [{ nick: ' ' }, 'Hello there, on request ', 'there'],
      [{}, 'Hello there, on request ', 'there'],
    ] as const) {
      const mail = renderTemplate(templateOf(components, { variables, subject: 'For {{nick}}' }), given as JsonObject);
      t.match(mail.html.replaceAll('&#8364;', '€').replaceAll('&#8230;', '…'), `${hello}</p>`);
      t.match(mail.text, hello.trim());
      t.equal(mail.subject, `For ${cell}`);
      t.equal(
        mail.text.includes('nobody'),
        cell === 'there' && !('nick' in given),
        'only what is missing is empty: blanks are a value',
      );
      for (const format of ['pdf', 'excel'] as const) {
        const { name, sections } = made(given as JsonObject, environment, format).pages[0]!;
        t.equal(name, `For ${cell}`);
        t.match(sections[0]?.components[0], { html: `<p>${hello}</p>` });
        const table = sections[0]?.components.at(-1);
        t.equal(table?.type === 'table' ? table.rows[0]?.[0]?.value : undefined, cell);
      }
    }
  },
);

void t.test('fallback and filters are checked', async (t) => {
  const check = (definition: Readonly<Record<string, unknown>>): readonly string[] => {
    try {
      checkEmailTemplate(
        templateOf([text('x')], { variables: [{ name: 'a', type: 'string', ...definition }] }),
        limits,
      );
      return [];
    } catch (fault) {
      return fault instanceof DomainError ? (fault.details.errors ?? []).map(({ field }) => field) : ['?'];
    }
  };
  t.same(check({ fallback: 'x', filters: ['trim', { truncate: 10_000 }] }), []);
  t.same(check({ fallback: '{{b}}' }), ['variables[0].fallback']);
  t.same(check({ fallback: ' ' }), ['variables[0].fallback']);
  t.same(check({ fallback: 5 }), ['variables[0].fallback']);
  t.same(check({ fallback: 'x'.repeat(501) }), ['variables[0].fallback']);
  t.same(
    check({ filters: ['shout', { truncate: 0 }, { truncate: 5, more: 1 }, null] }),
    [0, 1, 2, 3].map((at) => `variables[0].filters[${at}]`),
  );
  t.same(check({ filters: Array.from({ length: 6 }, () => 'trim') }), ['variables[0].filters']);
  t.same(check({ filters: 'trim' }), ['variables[0].filters']);
  t.same(check({ type: 'object', schema: { properties: { b: { type: 'string', filters: ['no'] } } } }), [
    'variables[0].schema.properties.b.filters[0]',
  ]);
});

void t.test('blank is what nobody sees', async (t) => {
  for (const value of [undefined, null, '', ' \n', [], {}]) t.ok(isBlank(value));
  for (const value of [0, false, 'x', [null], { a: null }]) t.notOk(isBlank(value));
});

void t.test('loops in loops over very many items end with the budget, whatever stands in them', async (t) => {
  const loop = (id: string, children: readonly unknown[]) => ({
    id,
    type: 'loop',
    props: { dataSource: 'items', itemVariable: `one${id}` },
    children,
  });
  const bodies: readonly (readonly unknown[])[] = [
    [text('nothing to fill in')],
    [{ id: 'gap', type: 'spacer', props: { height: '1px' } }],
    [{ ...text(`<p>line</p>${'x'.repeat(200_000)}{{none}}`), props: { hideWhenEmpty: 'lines' } }],
    [{ ...text(`${'x'.repeat(200_000)}{{none}}`), props: { hideWhenEmpty: true } }],
  ];
  for (const body of bodies) {
    const began = process.cpuUsage();
    try {
      emptyIn([loop('a', [loop('b', body)])], { items: Array.from({ length: 20_000 }, () => 0) });
    } catch (fault) {
      t.match(fault, { code: 'WORK_LIMIT_EXCEEDED' });
    }
    const { user } = process.cpuUsage(began);
    t.ok(user < 8_000_000, `${Math.round(user / 1_000)} ms`);
  }
});

void t.test('a calculated member is shown, compared, checked and missed as any other', async (t) => {
  const variables = [
    {
      name: 'lines',
      type: 'array',
      itemType: 'object',
      schema: {
        itemSchema: {
          properties: {
            qty: { type: 'number' },
            price: { type: 'number' },
            total: {
              type: 'number',
              isCalculated: true,
              expression: 'item.qty * item.price',
              format: { style: 'currency', currency: 'EUR' },
            },
            hint: { type: 'string', isCalculated: true, expression: "item.total > 10 ? 'over ten' : null" },
          },
        },
      },
    },
    { name: 'sum', type: 'number', isCalculated: true, expression: 'lines.reduce((sum, { total }) => sum + total, 0)' },
  ];
  const columns = [
    { content: '{{item.qty}}' },
    { content: '{{item.total}}', footer: '{{sum}}' },
    { content: '{{item.hint}}' },
  ];
  const components = [
    { id: 'table', type: 'table', props: { dataSource: '{{lines}}', columns } },
    {
      id: 'loop',
      type: 'loop',
      props: { dataSource: '{{lines}}', itemVariable: 'line' },
      children: [
        {
          id: 'dear',
          type: 'conditional',
          props: { condition: '{{line.total}}', operator: '>', value: 10 },
          children: [text('dear: {{line.total}}', 'yes')],
        },
      ],
    },
  ];
  const values = {
    lines: [
      { qty: 3, price: 4.1 },
      { qty: 1, price: 0.1 },
    ],
  };
  const { text: written } = renderTemplate(templateOf(components, { variables }), values);
  t.match(written, /3 +€12\.30 +over ten\n1 +€0\.10\n/);
  t.match(written, /12\.4/);
  t.match(written, /dear: €12\.30/);
  t.notMatch(written, /dear: €0\.10/);
  t.same(emptyIn(components, values, { variables }), ['lines[1].hint']);
  t.throws(() => checkEmailTemplate(templateOf([text('{{lines[0].totl}}')], { variables }), limits), {
    code: 'TEMPLATE_INVALID',
  });
  const wrong = structuredClone(variables);
  wrong[0]!.schema!.itemSchema.properties.total.expression = 'item.qty * item.prise';
  t.match(
    checkFailure(() => checkEmailTemplate(templateOf(components, { variables: wrong }), limits)),
    [
      {
        field: 'variables[0].schema.itemSchema.properties.total.expression',
        message: /^reads "prise" of item, whose schema declares no such member; did you mean "price"/,
      },
    ],
  );
});

const checkFailure = (check: () => unknown): unknown => {
  try {
    check();
  } catch (error) {
    if (error instanceof DomainError) return error.details.errors;
  }
  return undefined;
};

void t.test('a document looks for losses only where one was met', (t) => {
  const losses = (component: object, variables: JsonObject): readonly Loss[] | undefined => {
    const pages = [{ pageId: 'p', pageName: 'P', sections: [{ id: 's', type: 'main', components: [component] }] }];
    const { content } = checkAttachmentTemplate({ variables: [], schema: { outputFormats: ['pdf'], pages } }, limits);
    return compileDocument(content, limits)(variables, environment, 'pdf').losses?.();
  };
  const colored = (color: string) => ({
    id: 'c',
    type: 'container',
    props: { backgroundColor: color },
    children: [text('x')],
  });
  const chart = {
    id: 'ch',
    type: 'chart',
    props: {
      chartType: 'bar',
      dataSource: 'months',
      categoryField: 'name',
      series: [{ name: 'Sum', valueField: 'sum' }],
    },
  };
  const image = { id: 'i', type: 'image', props: { src: 'https://x.example/a.png', alt: 'A', href: '{{url}}' } };
  t.equal(losses(text('Hi {{name}}'), { name: 'Ada' }), undefined);
  t.match(losses(text('Hi {{name}}'), {}), [{ kind: 'missing', path: 'name', shape: 'nothing' }]);
  t.equal(losses(colored('{{brand}}'), { brand: '#123' }), undefined);
  t.match(losses(colored('{{brand}}'), { brand: 'brandish' }), [{ kind: 'color', path: 'brand', shape: 'text' }]);
  t.equal(losses(chart, { months: [{ name: 'May', sum: 3 }] }), undefined);
  t.match(losses(chart, { months: [{ name: 'May' }] }), [{ kind: 'missing', path: 'months[0].sum' }]);
  t.match(losses(chart, {}), [{ kind: 'missing', path: 'months' }]);
  t.equal(losses(image, { url: 'https://x.example/' }), undefined);
  t.match(losses(image, { url: '/pay' }), [{ kind: 'link', path: 'url', shape: 'text that begins with /' }]);
  t.equal(
    losses(text('<a href="https://x.example/{{id}}">x</a>'), { id: 'a b' }),
    undefined,
    'the beginning settles the address',
  );
  t.same(
    losses(text('<a href="{{url}}">x</a>'), { url: 'https://x.example/' }),
    [],
    'what is judged later is looked at',
  );
  t.end();
});

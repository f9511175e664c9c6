/** Paths into the data, nulls, and what is hidden when empty. */
import fc from 'fast-check';
import t from 'tap';
import { DomainError } from '../../src/domain/core/errors.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { defaultLimits, defaultLimits as limits } from '../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../src/domain/rendering/check/document.js';
import { checkEmailTemplate } from '../../src/domain/rendering/check/email.js';
import { withoutNulls } from '../../src/domain/rendering/check/faults.js';
import { compileDocument } from '../../src/domain/rendering/expand/expand.js';
import type { Expanded } from '../../src/domain/rendering/expand/expanded.js';
import { linePathsOf, optionalLinesOf, type OptionalHtml } from '../../src/domain/rendering/rich-text.js';
import { editDistance, nearestName } from '../../src/domain/rendering/scope/path.js';
import { growsLinearly } from '../support/linear.js';
import { templateOf, environment, renderTemplate } from '../support/rendering.js';
import { accountSamples, samples } from '../support/samples.js';

// Paths of a template against its variables: near names are refused, others are told, and what is known is silent.

const variables = [
  {
    name: 'customer',
    type: 'object',
    schema: { type: 'object', properties: { firstName: { type: 'string' }, city: { type: 'string' } } },
  },
  {
    name: 'items',
    type: 'array',
    itemType: 'object',
    schema: {
      type: 'array',
      itemType: 'object',
      itemSchema: { properties: { name: { type: 'string' }, price: { type: 'number' } } },
    },
  },
  { name: 'isVip', type: 'boolean' },
  { name: 'free', type: 'object' },
  { name: 'total', type: 'number', isCalculated: true, expression: 'items.length' },
];

type Found = readonly (readonly [field: string, message: string])[];
type Findings = Readonly<{ faults: Found; warnings: Found }>;

const found = (
  check: () => Readonly<{ warnings: readonly Readonly<{ field: string; message: string }>[] }>,
): Findings => {
  const pairs = (all: readonly Readonly<{ field: string; message: string }>[]): Found =>
    all.map(({ field, message }) => [field, message]);
  try {
    return { faults: [], warnings: pairs(check().warnings) };
  } catch (fault) {
    if (fault instanceof DomainError && fault.code === 'TEMPLATE_INVALID')
      return { faults: pairs(fault.details.errors ?? []), warnings: [] };
    throw fault;
  }
};
const mail = (components: readonly unknown[], more: Readonly<Record<string, unknown>> = {}): Findings =>
  found(() => checkEmailTemplate(templateOf(components, { variables, ...more }), defaultLimits));
const text = (content: string, id = 'text') => ({ id, type: 'rich-text', content });
const at = 'schema.sections[0].components[0]';

void t.test('a name that is nearly a declared one is refused, and the declared one is named', async (t) => {
  const cases: readonly (readonly [component: unknown, field: string, meant: string])[] = [
    [text('{{custmer.firstName}}'), `${at}.content`, 'customer'],
    [text('{{customer.fristName}}'), `${at}.content`, 'firstName'],
    [text('{{Customer.city}}'), `${at}.content`, 'customer'],
    [text('{{items[0].nme}}'), `${at}.content`, 'name'],
    [text('{{tolal}}'), `${at}.content`, 'total'],
    [
      { id: 'a', type: 'loop', props: { dataSource: 'itmes', itemVariable: 'one' }, children: [text('x')] },
      `${at}.props.dataSource`,
      'items',
    ],
    [
      { id: 'a', type: 'conditional', props: { condition: 'isVipp', operator: 'exists' }, children: [] },
      `${at}.props.condition`,
      'isVip',
    ],
    [
      { id: 'a', type: 'conditional', props: { condition: 'isVip', operator: '==', value: '{{isVp}}' }, children: [] },
      `${at}.props.value`,
      'isVip',
    ],
    [
      {
        id: 'a',
        type: 'loop',
        props: { dataSource: 'items', itemVariable: 'line' },
        children: [text('{{lien.name}}')],
      },
      `${at}.children[0].content`,
      'line',
    ],
    [
      { id: 'a', type: 'table', props: { dataSource: 'items', columns: [{ content: '{{item.prize}}' }] } },
      `${at}.props.columns[0].content`,
      'price',
    ],
    [
      {
        id: 'a',
        type: 'table',
        props: {
          dataSource: 'items',
          columns: [{ content: '{{item.price}}', format: { style: 'currency', currency: '{{custmer.city}}' } }],
        },
      },
      `${at}.props.columns[0].format.currency`,
      'customer',
    ],
  ];
  for (const [component, field, meant] of cases) {
    const { faults } = mail([component]);
    t.equal(faults.length, 1, `${meant}: one fault`);
    t.equal(faults[0]?.[0], field);
    t.match(faults[0]?.[1], `did you mean "${meant}"?`);
  }
  t.match(mail([text('x')], { subject: 'For {{custmer.city}}' }).faults, [['subject', /did you mean "customer"/]]);
});

void t.test('the currency that the format of a variable or a member names', async (t) => {
  const withCurrency = (currency: string) => {
    const format = { style: 'currency', currency };
    const lines = {
      name: 'lines',
      type: 'array',
      itemType: 'object',
      schema: { itemSchema: { properties: { sum: { type: 'number', format } } } },
    };
    return mail(
      [
        text('{{price}}'),
        {
          id: 'a',
          type: 'loop',
          props: { dataSource: 'lines', itemVariable: 'line' },
          children: [text('{{line.sum}}', 'b')],
        },
      ],
      {
        variables: [
          ...variables,
          { name: 'price', type: 'number', format },
          lines,
          { name: 'currency', type: 'string' },
        ],
      },
    );
  };
  t.same(withCurrency('{{currency}}'), { faults: [], warnings: [] });
  t.match(withCurrency('{{curency}}').faults, [
    [`${at}.content`, /did you mean "currency".*the currency in the format of \{\{price\}\}/],
  ]);
  t.match(withCurrency('{{money}}').warnings, [[`${at}.content`, /"money".*the format of \{\{price\}\}/]]);
});

void t.test('a name that is like none is told, once for each path', async (t) => {
  const { faults, warnings } = mail([
    text('{{voucher}} {{voucher}} {{customer.phone}} {{items.name}} {{isVip.since}}'),
    text('{{voucher}}', 'b'),
  ]);
  t.same(faults, []);
  t.match(warnings, [
    [`${at}.content`, /"voucher" is declared/],
    [`${at}.content`, /customer declares no member "phone"/],
    [`${at}.content`, /items is declared as array: an item of it has an index, items\[0\]/],
    [`${at}.content`, /isVip is declared as boolean, which has no members/],
  ]);
  const loop = { id: 'a', type: 'loop', props: { dataSource: 'customer', itemVariable: 'x' }, children: [text('x')] };
  t.match(mail([loop]).warnings, [[`${at}.props.dataSource`, /declared as object, and only an array/]]);
});

void t.test('what is known is silent', async (t) => {
  const table = {
    id: 'a',
    type: 'table',
    props: {
      dataSource: '{{items}}',
      indexVariable: 'n',
      columns: [
        { header: '{{customer.city}}', content: '{{n}} {{item.name}} {{customer.firstName}}', footer: '{{total}}' },
      ],
    },
  };
  const steps = { id: 'b', type: 'timeline', props: { dataSource: 'free.steps', title: '{{item.anything.at.all}}' } };
  const all = text(
    '{{customer.firstName}} {{items[3].price}} {{items.length}} {{free.any.thing[2]}} {{total}} {{__COMPANY_NAME__}}',
    'c',
  );
  t.same(mail([table, steps, all]), { faults: [], warnings: [] });
});

void t.test('a variable of a loop is unknown outside of it', async (t) => {
  const loop = {
    id: 'a',
    type: 'loop',
    props: { dataSource: 'items', itemVariable: 'position' },
    children: [text('{{position.name}}')],
  };
  t.match(mail([loop, text('{{position.name}}', 'b')]).warnings, [
    ['schema.sections[0].components[1].content', /"position"/],
  ]);
});

void t.test('of a document: names of pages, margins with page numbers, charts and the name of the file', async (t) => {
  const document = (components: readonly unknown[], page: Readonly<Record<string, unknown>> = {}) => ({
    variables,
    schema: {
      outputFormats: ['pdf'],
      pages: [{ pageId: 'p', pageName: 'Page', sections: [{ id: 's', type: 'main', components }], ...page }],
    },
  });
  const check = (input: unknown, name?: string) => found(() => checkAttachmentTemplate(input, defaultLimits, name));
  const footer = { pageSettings: { footer: { content: '{{pageNumber}} of {{totalPages}} for {{custmer.city}}' } } };
  t.match(check(document([text('x')], footer)).faults, [
    ['schema.pages[0].pageSettings.footer.content', /did you mean "customer"/],
  ]);
  t.match(check(document([text('x')], { pageName: '{{itmes}}' })).faults, [['schema.pages[0].pageName', /"items"/]]);
  t.match(check(document([text('x')]), 'For {{custmer.city}}').faults, [['name', /"customer"/]]);
  t.match(check(document([text('x')]), 'For {{customer.city').faults, [['name', /never closed/]]);
  const chart = (category: string) => ({
    id: 'c',
    type: 'chart',
    props: { chartType: 'bar', dataSource: 'items', categoryField: category, series: [{ valueField: 'price' }] },
  });
  t.same(check(document([chart('name')])), { faults: [], warnings: [] });
  t.match(check(document([chart('naem')])).faults, [
    ['schema.pages[0].sections[0].components[0].props.categoryField', /did you mean "name"/],
  ]);
});

void t.test('the samples declare all that they show', async (t) => {
  for (const sample of [...samples.emails, ...accountSamples]) {
    const { subject, variables: own, schema } = sample;
    t.same(checkEmailTemplate({ subject, variables: own, schema }, defaultLimits).warnings, [], sample.name);
  }
  for (const { name, variables: own, schema } of samples.attachments)
    t.same(checkAttachmentTemplate({ variables: own, schema }, defaultLimits, name).warnings, [], name);
});

void t.test('the distance of names', async (t) => {
  t.equal(editDistance('items', 'itmes', 2), 1);
  t.equal(editDistance('kitten', 'sitting', 3), 3);
  t.equal(editDistance('kitten', 'sitting', 2), 3, 'more than the bound is the bound and one');
  t.equal(editDistance('', 'ab', 2), 2);
  t.equal(nearestName('date', ['name', 'id']), undefined, 'short names are near each other by chance');
  t.equal(nearestName('naem', ['name']), 'name');
  t.equal(nearestName('id', ['it']), undefined);
  t.equal(nearestName('FIRSTNAME', ['firstName']), 'firstName');
  t.equal(nearestName('ordersTotal', ['orders', 'orderTotal', 'total']), 'orderTotal');
});

void t.test(
  'very many names that nothing declares beside as many declared ones of the same length take no long time',
  async (t) => {
    const digits = (at: number): string => String(at).padStart(4, '0');
    const alike = 'a'.repeat(80);
    const many = Array.from({ length: 500 }, (_, at) => ({ name: `${alike}bbbb${digits(at)}`, type: 'string' }));
    const paths = Array.from({ length: 4_900 }, (_, at) => `{{${alike}${digits(at)}cccc}}`);
    const members = {
      name: 'all',
      type: 'object',
      schema: { properties: Object.fromEntries(many.map(({ name }) => [name, { type: 'string' }])) },
    };
    const cases = [
      { variables: many, content: paths.join(' ') },
      { variables: [members], content: paths.map((path) => path.replace('{{', '{{all.')).join(' ') },
    ];
    for (const { variables, content } of cases) {
      const began = process.cpuUsage();
      const { warnings } = found(() => checkEmailTemplate(templateOf([text(content)], { variables }), defaultLimits));
      const { user } = process.cpuUsage(began);
      t.equal(warnings.length, 100);
      t.ok(user < 3_000_000, `${Math.round(user / 1_000)} ms`);
    }
  },
);

void t.test('distances are those of the plain way to work them out', async (t) => {
  const plain = (a: string, b: string): number => {
    const rows = Array.from({ length: a.length + 1 }, (_, i) =>
      Array.from({ length: b.length + 1 }, (_, j) => (i === 0 ? j : j === 0 ? i : 0)),
    );
    for (let i = 1; i <= a.length; i += 1)
      for (let j = 1; j <= b.length; j += 1) {
        let least = Math.min(
          rows[i - 1]![j]! + 1,
          rows[i]![j - 1]! + 1,
          rows[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1),
        );
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
          least = Math.min(least, rows[i - 2]![j - 2]! + 1);
        rows[i]![j] = least;
      }
    return rows[a.length]![b.length]!;
  };
  const words = [0, 1, 2, 3, 4, 5].flatMap((length) =>
    Array.from({ length: 3 ** length }, (_, at) => at.toString(3).padStart(length, '0').slice(0, length)),
  );
  let wrong = 0;
  for (const a of words)
    for (const b of words)
      for (const max of [0, 1, 2, 3]) if (editDistance(a, b, max) !== Math.min(plain(a, b), max + 1)) wrong += 1;
  t.equal(wrong, 0);
});

// Fields of a template that are null are fields that are left out; a default value and what is compared with may be
// null.

const definition = { id: 'v', name: 'total', type: 'object', defaultValue: null };
const nulls = { required: null, description: null, isCalculated: null, expression: null, itemType: null, format: null };
const conditional = {
  id: 'c',
  type: 'conditional',
  props: { condition: 'total', operator: '==', value: null },
  children: [],
};
const plainText = { id: 't', type: 'rich-text', content: '<p>x</p>' };

void t.test('null in fields of variables, sections and components is as good as nothing', async (t) => {
  const plain = {
    subject: 'Hi',
    variables: [{ ...definition, schema: { properties: { net: { type: 'number' } } } }],
    schema: { sections: [{ id: 'main', type: 'main', components: [plainText, conditional] }] },
  };
  const given = {
    subject: 'Hi',
    variables: [
      { ...definition, ...nulls, schema: { type: null, properties: { net: { type: 'number', format: null } } } },
    ],
    schema: {
      props: null,
      sections: [
        {
          id: 'main',
          type: 'main',
          props: null,
          components: [
            { ...plainText, props: { align: null, color: null }, children: null, elseChildren: null },
            { ...conditional, content: null, elseChildren: null },
          ],
        },
      ],
    },
  };
  const withProps = { ...plain.schema.sections[0]!, components: [{ ...plainText, props: {} }, conditional] };
  t.same(
    checkEmailTemplate(given, defaultLimits),
    checkEmailTemplate({ ...plain, schema: { sections: [withProps] } }, defaultLimits),
  );
});

void t.test('in the settings of a page too', async (t) => {
  const page = { pageId: 'p', pageName: 'Page', sections: [{ id: 's', type: 'main', components: [plainText] }] };
  const template = (pages: unknown) =>
    checkAttachmentTemplate({ variables: [], schema: { outputFormats: ['pdf'], pages } }, defaultLimits);
  const settings = {
    format: null,
    header: null,
    footer: { content: 'x', height: null, align: null },
    margin: { top: null },
  };
  t.same(
    template([{ ...page, pageSettings: settings }]),
    template([{ ...page, pageSettings: { footer: { content: 'x' }, margin: {} } }]),
  );
  t.throws(
    () => template([{ ...page, pageName: null }]),
    { code: 'TEMPLATE_INVALID' },
    'what is required is not optional',
  );
  t.throws(() => template([{ ...page, pageName: 'a\nb' }]), { code: 'TEMPLATE_INVALID' });
  t.doesNotThrow(() => template([{ ...page, pageName: '\u{1f600}'.repeat(200) }]));
  t.throws(() => template([{ ...page, pageName: '\u{1f600}'.repeat(201) }]), { code: 'TEMPLATE_INVALID' });
});

void t.test('what has no null is the very same, and elements of lists stay', async (t) => {
  const value = { a: [1, { b: 'x' }], defaultValue: { c: null } };
  t.equal(withoutNulls(value, 64), value);
  t.same(withoutNulls({ rows: [[null, 1]], a: null, b: [{ c: null }] }, 64), { rows: [[null, 1]], b: [{}] });
});

// A part with `hideWhenEmpty` leaves no trace if it is empty: components, columns and lines, in mail, text part and
// documents alike.

const bodyOf = (html: string): string => html.slice(html.indexOf('<div role="article"')).replace(/\n/g, '');
const lettersOf = (html: string): string =>
  html
    .replace(/<br>/g, '|')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();

const documentOf = (
  components: readonly unknown[],
  variables: JsonObject,
  more: Readonly<Record<string, unknown>> = {},
): readonly Expanded[] => {
  const page = { pageId: 'p', pageName: 'P', sections: [{ id: 's', type: 'main', components }] };
  const { content } = checkAttachmentTemplate(
    { variables: [], schema: { outputFormats: ['pdf'], pages: [page] }, ...more },
    limits,
  );
  return compileDocument(content, limits)(variables, environment, 'pdf').pages[0]!.sections[0]!.components;
};

const line = (id: string, content: string, more: Readonly<Record<string, unknown>> = { hideWhenEmpty: true }) => ({
  id,
  type: 'rich-text',
  content,
  props: more,
});

void t.test('a component is there where one of its values is', async (t) => {
  const components = [
    line('a', 'First', {}),
    line('b', 'VAT {{vat}}'),
    line('c', '{{x}} and {{y}}'),
    {
      id: 'd',
      type: 'container',
      props: { hideWhenEmpty: true },
      children: [line('e', 'Notes', {}), line('f', '{{note}}', {})],
    },
    {
      id: 'g',
      type: 'table',
      props: { hideWhenEmpty: true, dataSource: 'items', columns: [{ header: 'Name', content: '{{item}}' }] },
    },
    { id: 'h', type: 'qr-code', props: { hideWhenEmpty: true, value: '{{code}}' } },
    { id: 'i', type: 'list', content: '<li>{{z}}</li>', props: { hideWhenEmpty: true } },
    line('j', 'never hidden, for it shows no variable'),
  ];
  const cases: readonly (readonly [JsonObject, readonly string[]])[] = [
    [{}, ['rich-text', 'rich-text']],
    [{ vat: '  ', x: '', y: null, note: '', items: [], code: '' }, ['rich-text', 'rich-text']],
    [{ y: 0 }, ['rich-text', 'rich-text', 'rich-text']],
    [
      { vat: 'PT 5', x: 'x', note: 'n', items: ['one'], code: 'q', z: 'z' },
      ['rich-text', 'rich-text', 'rich-text', 'container', 'table', 'qr-code', 'list', 'rich-text'],
    ],
  ];
  for (const [variables, types] of cases) {
    t.same(
      documentOf(components, variables).map(({ type }) => type),
      types,
    );
    const { html, text } = renderTemplate(templateOf(components), variables);
    for (const [mark, isThere] of [
      ['VAT', types.length > 3],
      ['and', types.length > 2],
      ['Notes', types.length > 3],
      ['First', true],
    ] as const) {
      t.equal(lettersOf(bodyOf(html)).includes(mark), isThere, mark);
      t.equal(text.includes(mark), isThere, `${mark} in text`);
    }
    t.notMatch(text, /\n\n\n/, 'no gap');
    t.equal((bodyOf(html).match(/<tr><td/g) ?? []).length > 0, true);
  }
  t.equal(
    bodyOf(renderTemplate(templateOf(components), {}).html),
    bodyOf(renderTemplate(templateOf([components[0], components.at(-1)]), {}).html),
  );
});

void t.test('a value with a fallback is always there', async (t) => {
  const variables = [{ name: 'vat', type: 'string', fallback: 'none' }];
  const components = [line('b', 'VAT {{vat}}')];
  t.match(renderTemplate(templateOf(components, { variables }), {}).text, 'VAT none');
  t.match(documentOf(components, {}, { variables }), [{ html: 'VAT none' }]);
});

void t.test('a column is left out where no row has a value for it', async (t) => {
  const table = {
    id: 't',
    type: 'table',
    props: {
      dataSource: 'items',
      emptyText: 'nothing',
      columns: [
        { header: 'Name', content: '{{item.name}}', footer: 'Sum' },
        { header: 'Note', content: '({{item.note}})', hideWhenEmpty: true, footer: '-' },
        { header: 'Price', content: '{{item.price}}', footer: '{{total}}' },
      ],
    },
  };
  const without = {
    items: [
      { name: 'Mug', price: 1 },
      { name: 'Pot', price: 2, note: ' ' },
    ],
    total: 3,
  };
  const mail = renderTemplate(templateOf([table]), without);
  t.equal(lettersOf(bodyOf(mail.html)), 'Name Price Mug 1 Pot 2 Sum 3');
  t.notMatch(mail.text, /Note|\(/);
  t.match(mail.text, /Name +Price/);
  t.match(documentOf([table], without), [
    {
      columns: [{ header: 'Name' }, { header: 'Price' }],
      rows: [
        [{ value: 'Mug' }, { value: 1 }],
        [{}, { value: 2 }],
      ],
    },
  ]);
  const widths = ['20%', '30%', '50%'];
  const shared = {
    ...table,
    props: { ...table.props, columns: table.props.columns.map((one, at) => ({ ...one, width: widths[at] })) },
  };
  t.match(documentOf([shared], without), [
    { columns: [{ width: { percent: 20 / 0.7 } }, { width: { percent: 50 / 0.7 } }] },
  ]);
  const withNote = { ...without, items: [...without.items, { name: 'Cup', note: 'green' }] };
  t.match(lettersOf(bodyOf(renderTemplate(templateOf([table]), withNote).html)), 'Name Note Price Mug () 1');
  t.equal((documentOf([table], withNote)[0] as { columns?: unknown[] }).columns?.length, 3);
  t.match(
    lettersOf(bodyOf(renderTemplate(templateOf([table]), { items: [] }).html)),
    'Name Note Price nothing',
    'without rows nothing is known',
  );
});

void t.test('lines without a value are left out, and their breaks', async (t) => {
  const address =
    '<p><b>{{name}}</b><br>{{company}}<br>{{street}}<br>Portugal</p><p>VAT {{vat}}</p><ul><li>{{a}}</li><li>b {{b}}</li></ul>';
  const components = [line('x', address, { hideWhenEmpty: 'lines' })];
  const cases: readonly (readonly [JsonObject, string, string])[] = [
    [{ name: 'Ada', street: 'Rua 1' }, 'Ada | Rua 1 |Portugal', 'Ada\nRua 1\nPortugal'],
    [{ company: 'Ltd', vat: 'PT', b: 1 }, 'Ltd |Portugal VAT PT b 1', 'Ltd\nPortugal\n\nVAT PT\n\n- b 1'],
    [
      { name: 'Ada', company: 'Ltd', street: 'Rua', vat: 'PT', a: 1, b: 2 },
      'Ada | Ltd | Rua |Portugal VAT PT 1 b 2',
      'Ada\nLtd\nRua\nPortugal\n\nVAT PT\n\n- 1\n- b 2',
    ],
  ];
  for (const [variables, letters, text] of cases) {
    const mail = renderTemplate(templateOf(components), variables);
    t.equal(lettersOf(bodyOf(mail.html)).replaceAll(' ', ''), letters.replaceAll(' ', ''));
    t.equal(mail.text.trim(), text);
    const [made] = documentOf(components, variables);
    t.equal(lettersOf((made as { html: string }).html).replaceAll(' ', ''), letters.replaceAll(' ', ''));
  }
  t.notMatch(
    bodyOf(renderTemplate(templateOf(components), { name: 'Ada' }).html),
    /<ul/,
    'a list that has lost its items is gone',
  );
  t.same(
    documentOf([line('y', '<p>{{a}}</p><p>{{b}}</p>', { hideWhenEmpty: 'lines' })], {}),
    [],
    'and a text that has lost its lines',
  );
});

const whole = (part: OptionalHtml): string =>
  typeof part === 'string' ? part : part.open + part.children.map(whole).join('') + part.close;

void t.test('pieces of HTML, put together, are the same HTML', async (t) => {
  const tag = fc.constantFrom(
    'p',
    'b',
    'span',
    'ul',
    'li',
    'tr',
    'td',
    'table',
    'div',
    'h1',
    'blockquote',
    'section',
    'svg',
    'style',
  );
  const piece = fc.oneof(
    tag.map((name) => `<${name}>`),
    tag.map((name) => `</${name}>`),
    fc.constantFrom(
      '<br>',
      '<br/>',
      '<BR class=x>',
      '<hr>',
      '<img src="{{a}}">',
      '<p title="a > b">',
      "<p '>",
      '<p ',
      '<!-- {{a}} <p> -->',
      '<!-',
      '< ',
    ),
    fc.constantFrom('{{a}}', '{{b.c}}', 'letters', ' ', '\n', '&nbsp;', '<', '>', '"', '='),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const html = pieces.join('');
      const again = optionalLinesOf(html, 10).map(whole).join('');
      t.ok(again.replaceAll('<div></div>', '') === html.replaceAll('<div></div>', ''), html);
    }),
    { numRuns: 500 },
  );
});

void t.test('many tags, breaks and lines take no longer than others', async (t) => {
  const units = [
    '<p ">"',
    "<p '>'",
    '<p ',
    '<br ">"',
    '<br>',
    '<b>',
    '</b>',
    '<p title="',
    '<!--',
    '<style>',
    '{{a}}<br>',
    '{{a}}<br><br>',
    '<li>{{a}}',
  ];
  const texts = [
    ...units.flatMap((unit) => [(unit + 'a'.repeat(250)).repeat(3_500), unit.repeat(20_000)]),
    `<script>${'</script'.repeat(20_000)}`,
  ];
  for (const text of texts) {
    const began = process.cpuUsage();
    t.equal(optionalLinesOf(text, 10).map(whole).join('').length, text.length, text.slice(0, 20));
    const { user } = process.cpuUsage(began);
    t.ok(user < 1_500_000, `${text.slice(0, 20)}: ${Math.round(user / 1_000)} ms`);
  }
});

const namedIn = (part: OptionalHtml): number =>
  typeof part === 'string'
    ? 0
    : [...part.when.map(({ length }) => length), ...part.children.map(namedIn)].reduce(
        (total, count) => total + count,
        0,
      );

void t.test('breaks of a text with very many paths do not each name all of them', async (t) => {
  const count = 1_000;
  const values = Array.from({ length: count }, (_, at) => `{{a${at}}}`);
  for (const text of [
    values.join(' ') + '<br>'.repeat(count),
    '<br>'.repeat(count) + values.join('<br>'),
    values.join('<br>'),
    values.join(' ') + '<br>b'.repeat(count),
  ]) {
    const named = optionalLinesOf(`<p>{{z}}</p>${text}`, 10)
      .map(namedIn)
      .reduce((total, one) => total + one, 0);
    t.ok(named < 50 * count, `${text.slice(0, 20)}: ${named}`);
  }
});

void t.test('tags with many paths around many lines take work in proportion to the text', async (t) => {
  const paths = (count: number): string => Array.from({ length: count }, (_, at) => `{{a${at}}}`).join('');
  const texts: Readonly<Record<string, (size: number) => string>> = {
    'one tag of many paths': (size) => `<i title="${paths(size)}">${'x<br>'.repeat(size)}</i>`,
    'tags in each other': (size) => '<a href="{{x}}">'.repeat(50) + '{{a}}<br>'.repeat(10 * size),
  };
  for (const [name, text] of Object.entries(texts)) {
    const isLinear = await growsLinearly((size) => optionalLinesOf(text(size), 10), 1_600);
    t.ok(isLinear, name);
  }
});

void t.test(
  'tags around a line that hold very many paths keep it, and all of them decide about its component',
  async (t) => {
    const around = (count: number): string =>
      `<i title="${Array.from({ length: count }, (_, at) => `{{a${at}}}`).join('')}">{{v}}<br>{{w}}</i>{{z}}`;
    const whens = (html: string): number => optionalLinesOf(html, 10).filter((part) => typeof part !== 'string').length;
    t.ok(whens(around(20)) > 0);
    t.equal(whens(around(21)), 0);
    for (const count of [20, 21]) t.equal(linePathsOf(around(count), 10).length, count + 3);
  },
);

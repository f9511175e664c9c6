/** Paths of a template against its variables: near names are refused, others are told, and what is known is silent. */
import t from 'tap';
import { DomainError } from '../../src/domain/core/errors.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../src/domain/rendering/check/document.js';
import { checkEmailTemplate } from '../../src/domain/rendering/check/email.js';
import { editDistance, nearestName } from '../../src/domain/rendering/scope/path.js';
import { accountSamples, samples } from '../support/samples.js';
import { templateOf } from '../support/rendering.js';

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

/**
 * Values of variables never become markup, a formula, another address, a page number or a member of a prototype; laws
 * that hold for any value.
 */
import t from 'tap';
import fc from 'fast-check';
import { parseDocument } from 'htmlparser2';
import { DomainError } from '../../src/domain/core/errors.js';
import type { Json, JsonObject } from '../../src/domain/core/json.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { imageSourcesOf } from '../../src/domain/rendering/expand/resources.js';
import type { Expanded } from '../../src/domain/rendering/expand/expanded.js';
import { attachmentOf, componentsOf, expandTemplate } from '../support/documents.js';

const htmlWith = (content: string, variables: JsonObject): string => {
  const [made] = componentsOf(expandTemplate(attachmentOf([{ id: 'a', type: 'rich-text', content }]), variables));
  if (made?.type !== 'rich-text') throw new Error('it is no rich text');
  return made.html;
};

type Node = ReturnType<typeof parseDocument>['children'][number];
/** Names of elements and attributes, in order, as a reader of HTML finds them. */
const skeleton = (html: string): readonly string[] => {
  const names: string[] = [];
  const walk = (node: Node): void => {
    if (!('attribs' in node)) return void names.push(node.type === 'text' ? 'text' : node.type);
    names.push(`<${node.name} ${Object.keys(node.attribs).join(' ')}>`);
    node.children.forEach(walk);
  };
  parseDocument(html).children.forEach(walk);
  return names;
};

const hostile = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onclick='alert(1)",
  ' onload=alert(1) x',
  'img src=x',
  '-->',
  ']]>',
  '&lt;b&gt;',
  '{{totalPages}}',
  'javascript:alert(1)',
  'a b=c',
  '/><b>',
  '`',
  '\u2028',
  '<!--',
  '=1+1',
  '\ud800',
  '__proto__',
  '!doctype html>',
  '/p>',
];

void t.test("the structure of the HTML is the template's alone", async (t) => {
  const contents = [
    '<p>{{x}}</p>',
    '<p title="{{x}}">y</p>',
    "<p title='{{x}}'>y</p>",
    '<p title={{x}}>y</p>',
    '<p title={{x}} lang="y">z</p>',
    '<p title="a{{x}}b{{x}}">y</p>',
    '<a href="{{x}}">y</a>',
    '<a href="https://example.com/{{x}}?q={{x}}">y</a>',
    '<a href={{x}}>y</a>',
    '<!-- {{x}} --><p>y</p>',
    '<p style="color: {{x}}">{{x}}</p>',
    'a <{{x}} b',
    '<p title = "{{x}}" >{{x}}</p>',
    '<p title="a>b{{x}}">y</p>',
    '<P TITLE="{{x}}"\nlang=\'{{x}}\'>y<br/>{{x}}</P>',
  ];
  for (const content of contents) {
    const expected = skeleton(htmlWith(content, { x: 'harmless' }));
    for (const x of hostile)
      t.same(skeleton(htmlWith(content, { x })), expected, `${content} with value ${hostile.indexOf(x)}`);
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }).filter((text) => text.trim() !== ''),
        (x) => {
          t.same(skeleton(htmlWith(content, { x: `y${x}` })), expected);
        },
      ),
      { numRuns: 30 },
    );
  }
});

void t.test('addresses', async (t) => {
  t.equal(
    htmlWith('<a href="https://example.com/?a={{x}}&amp;b=1">y</a>', { x: '1&b=2#c' }),
    '<a href="https://example.com/?a=1%26b%3D2%23c&amp;b=1">y</a>',
  );
  t.equal(
    htmlWith('<a href="https://example.com/{{x}}/y">y</a>', { x: 'a?b#c' }),
    '<a href="https://example.com/a%3Fb%23c/y">y</a>',
  );
  t.equal(
    htmlWith('<a href="mailto:{{x}}">y</a>', { x: 'a@b.example?bcc=c@d.example' }),
    '<a href="mailto:a@b.example%3Fbcc%3Dc@d.example">y</a>',
  );
  t.match(
    htmlWith('<a href="https://{{x}}.example.com/">y</a>', { x: 'evil.example/' }),
    '"https://::.example.com/"',
    'a host that no reader follows',
  );
});

void t.test('only own members are read', async (t) => {
  for (const path of [
    'a.constructor',
    'a.__proto_',
    'toString',
    'constructor.name',
    'a.hasOwnProperty',
    's.length',
    'xs.map',
  ])
    t.equal(htmlWith(`[{{${path}}}]`, { a: {}, s: 'text', xs: [1] }), '[]', path);
  const variables = JSON.parse(
    '{"__proto__": {"x": "polluted"}, "rows": [{"__proto__": {"x": "polluted"}}]}',
  ) as JsonObject;
  t.equal(htmlWith('[{{x}}]', variables), '[]');
  t.match(
    componentsOf(
      expandTemplate(
        attachmentOf([{ id: 't', type: 'table', props: { dataSource: 'rows', columns: [{ content: '{{item.x}}' }] } }]),
        variables,
      ),
    ),
    [{ rows: [[{ html: '', value: undefined }]] }],
  );
});

void t.test('values of cells never become formulas', async (t) => {
  const formulas = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', "=cmd|' /C calc'!A0"];
  const [made] = componentsOf(
    expandTemplate(
      attachmentOf(
        [
          {
            id: 't',
            type: 'table',
            props: {
              dataSource: 'xs',
              columns: [{ content: '{{item}}', footer: '={{total}}' }, { content: '={{item}}' }],
            },
          },
        ],
        { schema: { outputFormats: ['excel'] } },
      ),
      { xs: formulas, total: '1+1' },
      { format: 'excel' },
    ),
  );
  if (made?.type !== 'table') throw new Error('it is no table');
  t.same(
    made.rows.map(([cell]) => cell?.value),
    formulas,
  );
  t.ok(made.rows.flat().every(({ formula }) => formula === undefined));
  t.equal(made.columns[0]?.footerFormula, undefined);
});

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>;
const everything = [
  {
    id: 'a',
    type: 'rich-text',
    content: '{{x}} {{x.a}} {{x[0]}}',
    props: {
      color: '{{x}}',
      fontSize: '{{x}}',
      padding: '{{x}}',
      align: '{{x}}',
      lineHeight: '{{x}}',
      fontFamily: '{{x}}',
    },
  },
  {
    id: 'b',
    type: 'table',
    props: {
      dataSource: 'xs',
      columns: [
        { header: '{{x}}', content: '{{item}}', footer: '{{x}}', format: { style: 'currency', currency: '{{item}}' } },
        { content: '{{item.a}}', format: { style: 'date', pattern: 'yyyy' } },
      ],
      border: '{{x}}',
      headerColor: '{{x}}',
      sheetName: '{{x}}',
      emptyText: '{{x}}',
    },
  },
  {
    id: 'c',
    type: 'loop',
    props: { dataSource: 'xs', itemVariable: 'y', emptyText: '{{x}}' },
    children: [{ id: 'd', type: 'rich-text', content: '{{y}}' }],
  },
  {
    id: 'e',
    type: 'conditional',
    props: { condition: 'x', operator: '>', value: '{{xs}}' },
    children: [{ id: 'f', type: 'rich-text', content: '1' }],
    elseChildren: [{ id: 'g', type: 'rich-text', content: '2' }],
  },
  {
    id: 'h',
    type: 'chart',
    props: {
      chartType: 'bar',
      dataSource: 'xs',
      categoryField: 'a',
      series: [{ name: '{{x}}', valueField: 'a', color: '{{x}}' }],
      title: '{{x}}',
      width: '{{x}}',
    },
  },
];
const inPdf = [
  ...everything,
  {
    id: 'i',
    type: 'container',
    props: { backgroundColor: '{{x}}', border: '{{x}}', width: '{{x}}', padding: '{{x}}' },
    children: [
      {
        id: 'j',
        type: 'columns',
        props: { verticalAlign: '{{x}}' },
        children: [{ id: 'k', type: 'divider', props: { thickness: '{{x}}', style: '{{x}}', margin: '{{x}}' } }],
      },
    ],
  },
  { id: 'l', type: 'list', content: '{{item}}', props: { dataSource: 'xs' } },
  { id: 'm', type: 'timeline', props: { dataSource: 'xs', title: '{{item}}', date: '{{item.a}}', color: '{{x}}' } },
  { id: 'n', type: 'spacer', props: { height: '{{x}}' } },
];

/** No number of a document is anything but finite and not negative. */
const badNumber = (value: unknown, at = ''): string | undefined => {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? undefined : at;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    if (name === 'value' || name === 'values' || name === 'footerValue') continue;
    const found = badNumber(member, `${at}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
};

void t.test(
  'any value gives a document whose numbers are numbers, or an error with a code; the same each time',
  async (t) => {
    fc.assert(
      fc.property(
        json,
        fc.array(json, { maxLength: 5 }),
        fc.constantFrom('pdf' as const, 'excel' as const),
        (x, xs, format) => {
          const make = (): unknown => {
            try {
              const document = expandTemplate(
                attachmentOf(format === 'pdf' ? inPdf : everything, { schema: { outputFormats: [format] } }),
                { x, xs },
                { format },
              );
              return { document, sources: imageSourcesOf(document) };
            } catch (error) {
              if (error instanceof DomainError) return error.message;
              throw error;
            }
          };
          const [first, second] = [make(), make()];
          t.same(first, second);
          t.equal(badNumber(first), undefined);
        },
      ),
      { numRuns: 100 },
    );
  },
);

const countOf = (components: readonly Expanded[]): number =>
  components.reduce(
    (sum, component) =>
      sum + 1 + (component.type === 'container' || component.type === 'columns' ? countOf(component.children) : 0),
    0,
  );

void t.test('a loop gives its children once for each item, in order', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.string(), { maxLength: 60 }), fc.integer({ min: 1, max: 3 }), (xs, children) => {
      const template = attachmentOf([
        {
          id: 'l',
          type: 'loop',
          props: { dataSource: 'xs', itemVariable: 'x', indexVariable: 'i' },
          children: Array.from({ length: children }, (_, at) => ({
            id: `c${at}`,
            type: 'qr-code',
            props: { value: '{{i}}:{{x}}' },
          })),
        },
      ]);
      const made = componentsOf(expandTemplate(template, { xs }));
      t.equal(countOf(made), xs.length * children);
      t.ok(
        made.every(
          (component, at) =>
            component.type === 'qr-code' && component.value.startsWith(`${Math.floor(at / children)}:`),
        ),
      );
    }),
    { numRuns: 50 },
  );
});

/** undefined where the budget of the call refuses the work. */
const orRefused = <Result>(work: () => Result): Result | undefined => {
  try {
    return work();
  } catch (fault) {
    if (fault instanceof DomainError && fault.code === 'WORK_LIMIT_EXCEEDED') return undefined;
    throw fault;
  }
};

void t.test('hostile sizes are answered in bounded time', async (t) => {
  const begun = process.cpuUsage();
  const braces = '{'.repeat(500_000);
  t.equal(htmlWith('<p title="{{x}}">{{x}}</p>', { x: braces }).length, 1_000_016);
  htmlWith('<p title={{x}}>{{x}}</p>', { x: '<'.repeat(300_000) });
  for (const literal of [
    '<'.repeat(100_000),
    '<p '.repeat(30_000),
    '<p a='.repeat(20_000),
    '<!--'.repeat(25_000),
    '<p a="'.repeat(20_000),
    ' '.repeat(100_000),
    `<p ${'= '.repeat(50_000)}`,
  ])
    orRefused(() => htmlWith(`${literal}{{x}}`, { x: 'y' }));
  for (const literal of [
    `<img ${'a '.repeat(300_000)}`,
    `<img ${'" '.repeat(300_001)}`,
    `<img ${' src'.repeat(200_000)}`,
    `<img${' '.repeat(500_000)}src`,
    '<img "'.repeat(50),
    `${'<img '.repeat(50)}${'x'.repeat(500_000)}`,
  ]) {
    const sources = orRefused(() =>
      imageSourcesOf(expandTemplate(attachmentOf([{ id: 'a', type: 'rich-text', content: literal }]))),
    );
    t.same(sources ?? [], [], literal.slice(0, 12));
  }
  const cellOf = (text: string) =>
    attachmentOf([{ id: 't', type: 'table', props: { rows: [[text]] } }], { schema: { outputFormats: ['excel'] } });
  const wideCells = { format: 'excel' as const, limits: { ...defaultLimits, excelCellCharsMax: 1_000_000 } };
  t.equal(
    orRefused(() => expandTemplate(cellOf('<'.repeat(900_000)), {}, wideCells)),
    undefined,
  );
  expandTemplate(cellOf('x'.repeat(900_000)), {}, wideCells);
  t.throws(() => expandTemplate(cellOf('x'.repeat(900_000)), {}, { format: 'excel' }), { code: 'VALIDATION_ERROR' });
  t.ok(process.cpuUsage(begun).user < 5_000_000, 'within 5 s of CPU');
});

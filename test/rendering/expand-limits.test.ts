/** Expansion stays within its limits, whatever template and data are. */
import fc from 'fast-check';
import { parseDocument } from 'htmlparser2';
import t from 'tap';
import { DomainError } from '../../src/domain/core/errors.js';
import type { JsonObject, Json } from '../../src/domain/core/json.js';
import { defaultLimits, type Limits } from '../../src/domain/core/limits.js';
import { fileTooLarge, tooManyPages } from '../../src/domain/rendering/budget.js';
import { checkAttachmentTemplate } from '../../src/domain/rendering/check/document.js';
import { compileDocument } from '../../src/domain/rendering/expand/expand.js';
import type { Expanded } from '../../src/domain/rendering/expand/expanded.js';
import { imageSourcesOf } from '../../src/domain/rendering/expand/resources.js';
import { attachmentOf, expandTemplate, componentsOf } from '../support/documents.js';
import { environment } from '../support/rendering.js';

// The limits of documents, code by code: what is just allowed, what is too much, the actual value and the maximum in
// message and relatedInfo.

const thrown = (action: () => unknown): DomainError => {
  try {
    action();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};
const pdf =
  (components: readonly unknown[], variables: JsonObject = {}, limits: Limits = defaultLimits) =>
  () =>
    expandTemplate(attachmentOf(components), variables, { limits });
const excel =
  (components: readonly unknown[], variables: JsonObject = {}, limits: Limits = defaultLimits) =>
  () =>
    expandTemplate(attachmentOf(components, { schema: { outputFormats: ['excel'] } }), variables, {
      format: 'excel',
      limits,
    });
const table = (dataSource: string, id = 't') => ({
  id,
  type: 'table',
  props: { dataSource, columns: [{ header: 'H', content: '{{item}}', footer: 'F' }] },
});
const loop = (dataSource: string, children: readonly unknown[], id = 'l') => ({
  id,
  type: 'loop',
  props: { dataSource, itemVariable: id },
  children,
});
const text = (id: string, content = 'x') => ({ id, type: 'rich-text', content });
const many = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at);

void t.test('ERR_LIMIT_001: pages of a PDF', async (t) => {
  t.match(tooManyPages(31, 30), {
    code: 'ERR_LIMIT_001',
    message: 'the PDF has 31 pages, the maximum is 30',
    details: { relatedInfo: { actualPages: 31, maxPages: 30 } },
  });
  t.match(tooManyPages(31, 30, false).message, /at least 31 pages/);
  const { content } = checkAttachmentTemplate(
    attachmentOf([], {
      schema: {
        pages: many(3).map((at) => ({
          pageId: `p${at}`,
          pageName: 'P',
          sections: [{ id: `s${at}`, type: 'main', components: [] }],
        })),
      },
    }),
    defaultLimits,
  );
  t.match(
    thrown(() => compileDocument(content, { ...defaultLimits, pdfPagesMax: 2 })({}, environment, 'pdf')),
    { code: 'ERR_LIMIT_001', details: { relatedInfo: { actualPages: 3, maxPages: 2 } } },
    'a template that was saved under a larger limit',
  );
});

void t.test('ERR_LIMIT_002: images of a PDF', async (t) => {
  const images = loop('xs', [{ id: 'i', type: 'image', props: { src: 'https://example.com/a.png' } }]);
  t.doesNotThrow(pdf([images], { xs: many(50) }));
  t.match(thrown(pdf([images], { xs: many(400) })), {
    code: 'ERR_LIMIT_002',
    message: 'the PDF shows at least 51 images, the maximum is 50',
    details: { relatedInfo: { actualImages: 51, maxImages: 50 } },
  });
  const list = {
    id: 'l',
    type: 'list',
    content: '<img src="https://example.com/a.png">{{item}}',
    props: { dataSource: 'xs' },
  };
  t.doesNotThrow(pdf([list], { xs: many(50) }));
  t.match(
    thrown(pdf([list, text('a', '<img src="https://example.com/a.png">')], { xs: many(50) })),
    { code: 'ERR_LIMIT_002', details: { relatedInfo: { actualImages: 51 } } },
    'those in texts count too',
  );
  t.doesNotThrow(excel([images], { xs: many(400) }), 'a workbook has no such limit');
});

void t.test('ERR_LIMIT_003: rows of a workbook', async (t) => {
  t.doesNotThrow(excel([table('xs')], { xs: many(10_000) }), 'headers and footers do not count');
  t.match(thrown(excel([table('xs')], { xs: many(10_001) })), {
    code: 'ERR_LIMIT_003',
    message: 'the workbook has at least 10,001 rows, the maximum is 10,000',
    details: { relatedInfo: { actualRows: 10_001, maxRows: 10_000 } },
  });
  t.match(
    thrown(excel([table('xs', 'a'), table('xs', 'b')], { xs: many(6_000) })),
    { code: 'ERR_LIMIT_003', details: { relatedInfo: { actualRows: 12_000 } } },
    'of all tables together',
  );
  t.match(
    thrown(
      excel([{ id: 'a', type: 'table', props: { rows: many(900).map(() => ['x']) } }, table('xs', 'b')], {
        xs: many(9_101),
      }),
    ),
    { code: 'ERR_LIMIT_003', details: { relatedInfo: { actualRows: 10_001 } } },
    'written rows too',
  );
  const pages = many(2).map((at) => ({
    pageId: `p${at}`,
    pageName: 'P',
    sections: [{ id: `s${at}`, type: 'main', components: [table('xs', `t${at}`)] }],
  }));
  t.match(
    thrown(() =>
      expandTemplate(
        attachmentOf([], { schema: { outputFormats: ['excel'], pages } }),
        { xs: many(5_001) },
        { format: 'excel' },
      ),
    ),
    { code: 'ERR_LIMIT_003', details: { relatedInfo: { actualRows: 10_002 } } },
    'and of all sheets',
  );
});

void t.test('ERR_LIMIT_004: sheets', async (t) => {
  const { content } = checkAttachmentTemplate(
    attachmentOf([], {
      schema: {
        outputFormats: ['excel'],
        pages: many(10).map((at) => ({
          pageId: `p${at}`,
          pageName: 'P',
          sections: [{ id: `s${at}`, type: 'main', components: [] }],
        })),
      },
    }),
    defaultLimits,
  );
  t.equal(compileDocument(content, defaultLimits)({}, environment, 'excel').pages.length, 10);
  t.match(
    thrown(() => compileDocument(content, { ...defaultLimits, excelSheetsMax: 9 })({}, environment, 'excel')),
    {
      code: 'ERR_LIMIT_004',
      message: 'the workbook has 10 sheets, the maximum is 9',
      details: { relatedInfo: { actualSheets: 10, maxSheets: 9 } },
    },
  );
});

void t.test('ERR_LIMIT_005: columns of a sheet', async (t) => {
  const { content } = checkAttachmentTemplate(
    attachmentOf([{ id: 't', type: 'table', props: { rows: [many(50).map(String)] } }], {
      schema: { outputFormats: ['excel', 'pdf'] },
    }),
    defaultLimits,
  );
  const narrow = compileDocument(content, { ...defaultLimits, excelColumnsMax: 49 });
  t.match(
    thrown(() => narrow({}, environment, 'excel')),
    {
      code: 'ERR_LIMIT_005',
      message: 'a table of the workbook has 50 columns, the maximum is 49',
      details: { relatedInfo: { actualColumns: 50, maxColumns: 49 } },
    },
  );
  t.doesNotThrow(() => narrow({}, environment, 'pdf'));
});

void t.test('ERR_LIMIT_006: size of the file', async (t) => {
  t.match(fileTooLarge('excel', 7_340_033, 7_340_032, false), {
    code: 'ERR_LIMIT_006',
    message: 'the generated workbook has at least 7,340,033 bytes, the maximum is 7,340,032',
    details: { relatedInfo: { actualSizeBytes: 7_340_033, maxSizeBytes: 7_340_032 } },
  });
});

void t.test('ERR_LIMIT_007: iterations', async (t) => {
  const limits = { ...defaultLimits, componentsExpandedMax: 5_000 };
  t.doesNotThrow(pdf([loop('xs', [text('a')])], { xs: many(1_000) }, limits));
  const expected = {
    code: 'ERR_LIMIT_007',
    message: 'the loop over "order.xs" has 1,001 iterations, the maximum is 1,000',
    details: { relatedInfo: { actualIterations: 1_001, maxIterations: 1_000, dataSource: 'order.xs' } },
  };
  const order = { order: { xs: many(1_001) } };
  const list = { id: 'c', type: 'list', content: '{{item}}', props: { dataSource: 'order.xs' } };
  const timeline = { id: 'c', type: 'timeline', props: { dataSource: 'order.xs', title: '{{item}}' } };
  const chart = {
    id: 'c',
    type: 'chart',
    props: { dataSource: 'order.xs', chartType: 'bar', categoryField: 'a', series: [{ valueField: 'b' }] },
  };
  for (const component of [loop('order.xs', [text('a')]), table('order.xs'), list, timeline, chart])
    t.match(thrown(pdf([component], order)), expected, `${component.type} in a PDF`);
  for (const component of [loop('order.xs', [text('a')]), chart])
    t.match(thrown(excel([component], order)), expected, `${component.type} in a workbook`);
  const tables = loop('xs', [table('xs')]);
  t.doesNotThrow(pdf([tables], { xs: many(99) }), '99 + 99 × 99');
  t.match(thrown(pdf([tables], { xs: many(100) })), {
    code: 'ERR_LIMIT_007',
    message: 'the data sources of the document give at least 10,100 rows and items together, the maximum is 10,000',
    details: { relatedInfo: { actualIterations: 10_100, maxIterations: 10_000 } },
  });
});

void t.test('ERR_LIMIT_009: components once loops are expanded', async (t) => {
  t.doesNotThrow(pdf([loop('xs', [text('a')])], { xs: many(499) }), 'the loop is a component itself');
  t.match(thrown(pdf([loop('xs', [text('a')])], { xs: many(500) })), {
    code: 'ERR_LIMIT_009',
    message: 'the document has at least 501 components once its loops are expanded, the maximum is 500',
    details: { relatedInfo: { actualComponents: 501, maxComponents: 500 } },
  });
  t.match(
    thrown(
      excel([loop('a', [loop('b', [loop('c', [text('leaf')], 'z')], 'y')], 'x')], {
        a: many(20),
        b: many(20),
        c: many(20),
      }),
    ),
    { code: 'ERR_LIMIT_009', details: { relatedInfo: { actualComponents: 501 } } },
    'nested loops stop at once',
  );
});

void t.test('texts: a cell, a whole document', async (t) => {
  const at = 'schema.pages[0].sections[0].components[0]';
  t.doesNotThrow(excel([table('xs')], { xs: ['x'.repeat(32_767)] }));
  t.doesNotThrow(excel([table('xs')], { xs: ['&'.repeat(32_767)] }), 'characters as one reads them');
  const expected = (where: string) => ({
    code: 'VALIDATION_ERROR',
    message: `${at}: ${where} has 32,768 characters as Excel counts them (UTF-16 code units: an emoji is two), the maximum of a cell is 32,767`,
    details: { errors: [{ field: at }], relatedInfo: { actualChars: 32_768, maxChars: 32_767 } },
  });
  t.match(thrown(excel([table('xs')], { xs: ['a', 'x'.repeat(32_768)] })), expected('the cell in row 2, column 1'));
  t.doesNotThrow(excel([table('xs')], { xs: ['\u{1f600}'.repeat(16_383)] }));
  t.match(
    thrown(excel([table('xs')], { xs: ['a', '\u{1f600}'.repeat(16_384)] })),
    expected('the cell in row 2, column 1'),
  );
  const written = (cell: string) => [
    { id: 't', type: 'table', props: { rows: [['x', cell]], columns: [{}, { header: '{{h}}' }] } },
  ];
  t.match(thrown(excel(written('<b>{{x}}</b>'), { x: '<'.repeat(32_768) })), expected('the cell in row 1, column 2'));
  t.match(thrown(excel(written('x'), { h: 'x'.repeat(32_768) })), expected('a header'));
  t.doesNotThrow(pdf([table('xs')], { xs: ['x'.repeat(40_000)] }));

  const limits = { ...defaultLimits, documentTextCharsMax: 1_000 };
  const long = {
    code: 'RENDERED_BODY_TOO_LARGE',
    message: /^the texts of the document have at least 1,0\d\d characters, the maximum is 1,000$/,
    details: { relatedInfo: { maxChars: 1_000 } },
  };
  const x = 'x'.repeat(30);
  t.match(thrown(pdf([loop('xs', [text('a', x)])], { xs: many(400) }, limits)), long, 'rich text');
  for (const make of [pdf, excel])
    t.match(thrown(make([table('xs')], { xs: many(400).map(() => x) }, limits)), long, 'cells');
  t.match(
    thrown(
      pdf(
        [{ id: 'c', type: 'list', content: '{{item}}', props: { dataSource: 'xs' } }],
        { xs: many(400).map(() => x) },
        limits,
      ),
    ),
    long,
    'items',
  );
  t.match(
    thrown(
      pdf(
        [{ id: 'c', type: 'timeline', props: { dataSource: 'xs', title: '{{item}}' } }],
        { xs: many(400).map(() => x) },
        limits,
      ),
    ),
    long,
    'steps',
  );
  t.match(
    thrown(
      pdf(
        [
          {
            id: 'c',
            type: 'chart',
            props: { dataSource: 'xs', categoryField: 'n', chartType: 'pie', series: [{ valueField: 'n' }] },
          },
        ],
        { xs: many(400).map(() => ({ n: x })) },
        limits,
      ),
    ),
    long,
    'categories',
  );
});

void t.test('pictures within their addresses', async (t) => {
  const image = (src: string) => loop('xs', [{ id: 'i', type: 'image', props: { src } }]);
  const base64 = 'A'.repeat(4_000_000);
  const begun = process.cpuUsage();
  t.doesNotThrow(
    excel([image('{{logo}}')], { xs: many(400), logo: `data:image/png;base64,${base64}` }),
    'one and the same is judged once and is no text',
  );
  t.match(
    thrown(excel([image('data:image/png;base64,{{logo}}')], { xs: many(400), logo: base64 })),
    { code: 'RENDERED_BODY_TOO_LARGE' },
    'one put together each time is',
  );
  t.ok(process.cpuUsage(begun).user < 3_000_000, 'within 3 s of CPU');
});

void t.test('a limit that is crossed stops the work', async (t) => {
  // Each of the rows would be copied hundreds of times; the answer must not wait for it.
  const begun = process.cpuUsage();
  for (const make of [pdf, excel])
    t.equal(
      thrown(make([loop('xs', [table('ys')])], { xs: many(1_000), ys: many(1_000) })).code,
      make === pdf ? 'ERR_LIMIT_007' : 'ERR_LIMIT_003',
    );
  t.ok(process.cpuUsage(begun).user < 2_000_000, 'within 2 s of CPU');
});

// Values of variables never become markup, a formula, another address, a page number or a member of a prototype; laws
// that hold for any value.

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

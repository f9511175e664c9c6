/**
 * The limits of documents, code by code: what is just allowed, what is too much, the actual value and the maximum in
 * message and relatedInfo.
 */
import t from 'tap';
import { DomainError } from '../../src/domain/core/errors.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { defaultLimits, type Limits } from '../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../src/domain/rendering/check/document.js';
import { compileDocument } from '../../src/domain/rendering/expand/expand.js';
import { fileTooLarge, tooManyPages } from '../../src/domain/rendering/budget.js';
import { attachmentOf, expandTemplate } from '../support/documents.js';
import { environment } from '../support/rendering.js';

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

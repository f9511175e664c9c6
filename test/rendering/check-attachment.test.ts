/**
 * Saving an attachment template: every fault is named with its path, components by output, limits by their codes,
 * hostile input is answered.
 */
import t from 'tap';
import { DomainError } from '../../src/domain/core/errors.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../src/domain/rendering/check/document.js';
import { checkEmailTemplate } from '../../src/domain/rendering/check/email.js';
import { componentSpecs, isComponentType, supportMatrix } from '../../src/domain/rendering/components.js';
import { templateOf } from '../support/rendering.js';
import { attachmentOf } from '../support/documents.js';

const thrown = (action: () => unknown): DomainError => {
  try {
    action();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};
const check = (template: unknown) => checkAttachmentTemplate(template, defaultLimits);
const faultsOf = (template: unknown): readonly string[] => {
  const error = thrown(() => check(template));
  if (error.code !== 'TEMPLATE_INVALID') throw error;
  return (error.details.errors ?? []).map(({ field }) => field);
};
const messageOf = (template: unknown): string => thrown(() => check(template)).message;
const text = (id: string, content = '<p>x</p>') => ({ id, type: 'rich-text', content });
const ASSET = 'asset:0b2f5d6e-8f0a-4c7e-9a3b-1c2d3e4f5a6b';

/** The least that each component needs. */
const minimal: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'rich-text': { content: 'x' },
  button: { content: 'x', props: { href: 'https://example.com' } },
  image: { props: { src: 'https://example.com/a.png' } },
  table: { props: { rows: [['x']] } },
  container: { children: [] },
  columns: { children: [text('in-columns')] },
  divider: {},
  spacer: {},
  conditional: { props: { condition: 'x', operator: 'exists' }, children: [] },
  loop: { props: { dataSource: 'x', itemVariable: 'y' }, children: [text('in-loop')] },
  list: { content: 'x' },
  'qr-code': { props: { value: 'x' } },
  'html-fragment': { content: 'x' },
  chart: { props: { chartType: 'bar', dataSource: 'x', categoryField: 'a', series: [{ valueField: 'b' }] } },
  timeline: { props: { items: [{ title: 'x' }] } },
  include: { props: { block: 'footer' } },
};

void t.test('the matrix of the contract', async (t) => {
  // rows of the contract: email, pdf, excel
  const contract: Readonly<Record<string, readonly [string, string, string]>> = {
    'rich-text': ['yes', 'yes', 'yes'],
    button: ['yes', 'no', 'no'],
    image: ['yes', 'yes', 'yes'],
    table: ['yes', 'yes', 'yes'],
    container: ['yes', 'yes', 'no'],
    columns: ['yes', 'yes', 'no'],
    divider: ['yes', 'yes', 'no'],
    spacer: ['yes', 'yes', 'no'],
    conditional: ['yes', 'yes', 'yes'],
    loop: ['yes', 'yes', 'yes'],
    list: ['yes', 'yes', 'no'],
    'qr-code': ['yes', 'yes', 'no'],
    'html-fragment': ['yes', 'no', 'no'],
    chart: ['no', 'yes', 'yes'],
    timeline: ['yes', 'yes', 'no'],
    include: ['yes', 'yes', 'yes'],
  };
  t.same(
    Object.fromEntries(
      Object.entries(supportMatrix).map(([type, { email, pdf, excel }]) => [type, [email, pdf, excel]]),
    ),
    contract,
  );
  for (const [type, [email, pdf, excel]] of Object.entries(contract)) {
    const component = { id: 'c', type, ...minimal[type] };
    const accepted = (action: () => unknown): string => {
      try {
        action();
        return 'yes';
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        t.match(error.details.errors, [{ field: /components\[0\]\.type$/ }], `${type}: ${error.message}`);
        return 'no';
      }
    };
    t.equal(
      accepted(() => checkEmailTemplate(templateOf([component]), defaultLimits)),
      email,
      `${type} in an email`,
    );
    t.equal(
      accepted(() => check(attachmentOf([component]))),
      pdf,
      `${type} in a PDF`,
    );
    t.equal(
      accepted(() => check(attachmentOf([component], { schema: { outputFormats: ['excel'] } }))),
      excel,
      `${type} in a workbook`,
    );
    t.equal(
      accepted(() => check(attachmentOf([component], { schema: { outputFormats: ['pdf', 'excel'] } }))),
      pdf === 'yes' ? excel : 'no',
      `${type} in both`,
    );
  }
  t.match(
    messageOf(
      attachmentOf([{ id: 'c', type: 'container', children: [] }], { schema: { outputFormats: ['pdf', 'excel'] } }),
    ),
    /schema\.pages\[0\]\.sections\[0\]\.components\[0\]\.type: "container" does not exist in excel/,
  );
  t.match(
    messageOf(
      attachmentOf([{ id: 'c', type: 'qr-code', props: { value: 'x' } }], {
        schema: { outputFormats: ['pdf', 'excel'] },
      }),
    ),
    /"qr-code" does not exist in excel, .* or make it the code of a header or footer, which the PDF alone shows/,
  );
});

void t.test('a good template comes back as it is, variables with ids', async (t) => {
  const template = attachmentOf(
    [
      text('a', '{{customer.name}}'),
      { id: 'i', type: 'image', props: { src: ASSET, width: '30mm' } },
      { id: 'j', type: 'image', props: { src: 'asset:{{logo}}' } },
    ],
    {
      variables: [
        { name: 'total', type: 'number', isCalculated: true, expression: 'a * 2' },
        { name: 'a', type: 'number' },
      ],
      locale: 'de-DE',
      timeZone: 'Europe/Berlin',
    },
  );
  const { content } = check(template);
  t.match(content, {
    locale: 'de-DE',
    timeZone: 'Europe/Berlin',
    variables: [{ id: /^[0-9a-f-]{36}$/, name: 'total' }, { name: 'a' }],
    schema: { outputFormats: ['pdf'] },
  });
  t.same(content.schema, template['schema']);
  t.same(check(template).content, content, 'the same ids each time');
  t.doesNotThrow(() =>
    check(
      attachmentOf([text('a')], {
        schema: {
          pages: [
            {
              pageId: 'page',
              pageName: '{{month}}',
              sections: [{ id: 's', type: 'main', props: { padding: '2mm 4mm', fontSize: '11pt' }, components: [] }],
              pageSettings: {
                format: 'Tabloid',
                orientation: 'landscape',
                margin: { top: '20mm', right: '1in', bottom: 20, left: '2.5cm' },
                backgroundColor: '{{paper}}',
                header: { content: '<p>{{company}}</p>', height: '10mm' },
                footer: { content: '{{pageNumber}} / {{totalPages}}', align: 'right' },
              },
            },
          ],
        },
      }),
    ),
  );
});

void t.test('every fault at once', async (t) => {
  const fields = faultsOf({
    name: 1,
    locale: 'no such locale',
    timeZone: 'Mars/Olympus',
    variables: [{ name: ' ', type: 'string' }],
    schema: {
      oops: 1,
      outputFormats: ['pdf', 'word', 'pdf'],
      pages: [
        {
          pageId: '',
          pageName: ' ',
          pageSettings: {
            format: 'A0',
            orientation: 'sideways',
            margin: { top: '20%', middle: 1, left: '{{x}}' },
            backgroundColor: 'reddish',
            watermark: 'x',
            header: { height: '1em1', align: 'justify' },
            footer: '<p>1</p>',
          },
          sections: [
            {
              id: 's',
              type: 'main',
              components: [
                text('a', '{{pageNumber}}'),
                text('a', '{{#if x}}'),
                { id: 'b', type: 'button', content: 'x', props: { href: 'https://example.com' } },
                { id: 'c', type: 'spacer', props: { height: '3 apples' } },
                { id: 'd', type: 'image', props: { src: 'asset:12', width: 'wide' } },
                {
                  id: 'e',
                  type: 'chart',
                  props: {
                    chartType: 'radar',
                    dataSource: 'x',
                    categoryField: '{{item.x}}',
                    series: [{ name: 'S', colour: 'red' }],
                  },
                },
                { id: 'f', type: 'timeline', props: { items: [{ date: '2026-11-21' }], dataSource: 'x' } },
                { id: 'g', type: 'table', props: { dataSource: '{{totalPages}}', columns: [{ header: 'x' }] } },
                { id: 'h', type: 'table', props: { rows: [Array.from({ length: 51 }, () => 'x')] } },
                { id: 'i', type: 'timeline' },
              ],
            },
          ],
        },
        { pageId: 'p', pageName: 'P', sections: [{ id: 's', type: 'main', components: [] }] },
        { pageId: 'p', pageName: 'P', sections: [] },
        5,
      ],
    },
  });
  const page = 'schema.pages[0]';
  const at = `${page}.sections[0].components`;
  const expected = [
    'name',
    'locale',
    'timeZone',
    'variables[0].name',
    'schema.oops',
    'schema.outputFormats[1]',
    'schema.outputFormats[2]',
    'schema.outputFormats',
    `${page}.pageId`,
    `${page}.pageName`,
    `${page}.pageSettings.format`,
    `${page}.pageSettings.orientation`,
    `${page}.pageSettings.watermark`,
    `${page}.pageSettings.margin.top`,
    `${page}.pageSettings.margin.middle`,
    `${page}.pageSettings.margin.left`,
    `${page}.pageSettings.backgroundColor`,
    `${page}.pageSettings.header.content`,
    `${page}.pageSettings.header.height`,
    `${page}.pageSettings.header.align`,
    `${page}.pageSettings.footer`,
    `${at}[0].content`,
    `${at}[1].id`,
    `${at}[1].content`,
    `${at}[2].type`,
    `${at}[3].props.height`,
    `${at}[4].props.src`,
    `${at}[4].props.width`,
    `${at}[5].props.chartType`,
    `${at}[5].props.categoryField`,
    `${at}[5].props.series[0].colour`,
    `${at}[5].props.series[0].valueField`,
    `${at}[6].props.items[0].title`,
    `${at}[6].props.items`,
    `${at}[6].props.title`,
    `${at}[7].props.dataSource`,
    `${at}[7].props.columns[0].content`,
    `${at}[8].props.rows[0]`,
    `${at}[9].props.dataSource`,
    'schema.pages[1].sections[0].id',
    'schema.pages[2].pageId',
    'schema.pages[2].sections',
    'schema.pages[3]',
  ];
  // More formats than there are is said in place of each of them.
  const found = new Set(fields);
  const missing = expected.filter((field) => !found.has(field) && !field.startsWith('schema.outputFormats['));
  t.same(missing, []);
  t.same(
    fields.filter((field) => !expected.includes(field)),
    [],
    'and nothing else',
  );
  t.same(faultsOf(attachmentOf([text('a')], { schema: { outputFormats: ['pdf', 'pdf'] } })), [
    'schema.outputFormats[1]',
  ]);
  t.same(faultsOf(attachmentOf([text('a')], { schema: { outputFormats: ['pdf', 'word'] } })), [
    'schema.outputFormats[1]',
  ]);
  t.same(faultsOf(attachmentOf([text('a')], { schema: { outputFormats: [] } })), ['schema.outputFormats']);
  t.same(faultsOf(attachmentOf([text('a')], { schema: { outputFormats: 'pdf' } })), ['schema.outputFormats']);
  t.same(faultsOf(attachmentOf([text('a')], { schema: { pages: [] } })), ['schema.pages']);
});

void t.test('sentences', async (t) => {
  t.match(
    messageOf(attachmentOf([text('a')], { variables: { variables: [] } })),
    /plain array, not an object with a "variables" key/,
  );
  t.match(
    messageOf(attachmentOf([text('a', 'page {{pageNumber}}')])),
    /\{\{pageNumber\}\} is known only in the header and the footer of pageSettings/,
  );
  t.match(
    messageOf(attachmentOf([{ id: 'a', type: 'container', props: { padding: '{{totalPages}}' }, children: [] }])),
    /known only in the header/,
  );
  t.doesNotThrow(
    () => check(attachmentOf([text('a', '{{pageNumber}}')], { variables: [{ name: 'pageNumber', type: 'number' }] })),
    'a variable of that name is a variable',
  );
  t.doesNotThrow(() =>
    check(
      attachmentOf([
        {
          id: 'l',
          type: 'loop',
          props: { dataSource: 'x', itemVariable: 'totalPages' },
          children: [text('a', '{{totalPages}}')],
        },
      ]),
    ),
  );
  t.match(
    messageOf(attachmentOf([{ id: 'a', type: 'columns', props: { widths: ['{{w}}'] }, children: [text('b')] }])),
    /before any document is rendered/,
  );
  t.match(
    messageOf(attachmentOf([{ id: 'a', type: 'image', props: { src: 'file:///etc/passwd' } }])),
    /asset: and the id of an asset/,
  );
  t.match(messageOf(attachmentOf([{ id: 'a', type: 'nope' }])), /components of a pdf document are rich-text, image, /);
});

void t.test('addresses of pictures', async (t) => {
  const image = (src: string) => [{ id: 'i', type: 'image', props: { src } }];
  const svg = 'data:image/svg+xml;base64,PHN2Zy8+';
  const fits = (action: () => unknown): boolean => {
    try {
      action();
      return true;
    } catch {
      return false;
    }
  };
  const table: readonly [string, boolean, boolean][] = [
    ['https://example.com/a.png', true, true],
    ['data:image/png;base64,iVBORw0KGgo=', true, true],
    [ASSET, true, true],
    [ASSET.toUpperCase(), true, true],
    ['asset:{{id}}', true, true],
    ['{{src}}', true, true],
    ['https://{{host}}/a.png', true, true],
    [svg, false, true],
    ['data:image/svg+xml;utf8,<svg xmlns="x"/>', false, true],
    ['asset:1', false, false],
    ['asset:', false, false],
    ['asset:../{{id}}', false, false],
    [`${ASSET}/x`, false, false],
    ['javascript:{{x}}', false, false],
    ['data:text/html;base64,AAAA', false, false],
    ['cid:logo', true, false],
    ['cid:{{x}}', true, false],
    ['cid:a b', false, false],
    ['/etc/passwd', false, false],
    ['', false, false],
  ];
  for (const [src, mail, document] of table) {
    t.equal(
      fits(() => checkEmailTemplate(templateOf(image(src)), defaultLimits)),
      mail,
      `${src} in a mail`,
    );
    t.equal(
      fits(() => check(attachmentOf(image(src)))),
      document,
      `${src} in a document`,
    );
  }
});

void t.test('limits by their codes', async (t) => {
  const pages = (count: number) =>
    Array.from({ length: count }, (_, at) => ({
      pageId: `p${at}`,
      pageName: 'P',
      sections: [{ id: `s${at}`, type: 'main', components: [text(`t${at}`)] }],
    }));
  const saved = (count: number, outputFormats: readonly string[]) => () =>
    check({ variables: [], schema: { outputFormats, pages: pages(count) } });
  t.doesNotThrow(saved(10, ['excel', 'pdf']));
  t.match(thrown(saved(11, ['excel'])), {
    code: 'ERR_LIMIT_004',
    message: /11 sheets, the maximum is 10/,
    details: { relatedInfo: { actualSheets: 11, maxSheets: 10 } },
  });
  t.doesNotThrow(saved(30, ['pdf']));
  t.match(thrown(saved(31, ['pdf'])), {
    code: 'ERR_LIMIT_001',
    message: /31 pages, the maximum is 30/,
    details: { relatedInfo: { actualPages: 31, maxPages: 30 } },
  });

  const wide = (count: number) => [
    {
      id: 't',
      type: 'table',
      props: { dataSource: 'x', columns: Array.from({ length: count }, () => ({ content: '{{item}}' })) },
    },
  ];
  const excel = { schema: { outputFormats: ['excel'] } };
  t.doesNotThrow(() => check(attachmentOf(wide(50), excel)));
  t.match(
    thrown(() => check(attachmentOf(wide(51), excel))),
    {
      code: 'ERR_LIMIT_005',
      message: /51 columns, the maximum is 50/,
      details: { relatedInfo: { actualColumns: 51, maxColumns: 50 } },
    },
  );
  t.match(
    thrown(() =>
      check(
        attachmentOf(
          [{ id: 't', type: 'table', props: { rows: [['x'], Array.from({ length: 60 }, () => 'x')] } }],
          excel,
        ),
      ),
    ),
    { code: 'ERR_LIMIT_005', details: { relatedInfo: { actualColumns: 60 } } },
  );
  t.match(
    thrown(() => check(attachmentOf(wide(51)))),
    { code: 'TEMPLATE_INVALID', message: /51 columns, the maximum is 50/ },
    'a PDF has no code for it',
  );

  const nest = (depth: number, make: (child: unknown, level: number) => unknown): unknown =>
    Array.from({ length: depth }).reduce<unknown>((child, _, level) => make(child, level), text('leaf'));
  t.match(
    thrown(() =>
      check(attachmentOf([nest(10, (child, level) => ({ id: `c${level}`, type: 'container', children: [child] }))])),
    ),
    { code: 'ERR_LIMIT_008', details: { relatedInfo: { actualDepth: 11, maxDepth: 10 } } },
  );
  t.match(
    thrown(() =>
      check(
        attachmentOf([
          nest(4, (child, level) => ({
            id: `l${level}`,
            type: 'loop',
            props: { dataSource: 'x', itemVariable: 'v' },
            children: [child],
          })),
        ]),
      ),
    ),
    { code: 'ERR_LIMIT_008', message: /loops are nested 4 deep, the maximum is 3/ },
  );
  t.match(
    thrown(() =>
      check(
        attachmentOf([
          nest(6, (child, level) => ({
            id: `i${level}`,
            type: 'conditional',
            props: { condition: 'x', operator: 'exists' },
            children: [child],
          })),
        ]),
      ),
    ),
    { code: 'ERR_LIMIT_008', message: /conditions are nested 6 deep, the maximum is 5/ },
  );
  t.doesNotThrow(() => check(attachmentOf(Array.from({ length: 200 }, (_, at) => text(`c${at}`)))));
  const spread = Array.from({ length: 3 }, (_, page) => ({
    pageId: `p${page}`,
    pageName: 'P',
    sections: [
      { id: `s${page}`, type: 'main', components: Array.from({ length: 67 }, (_, at) => text(`c${page}-${at}`)) },
    ],
  }));
  t.match(
    thrown(() => check(attachmentOf([], { schema: { pages: spread } }))),
    { code: 'ERR_LIMIT_009', details: { relatedInfo: { actualComponents: 201, maxComponents: 200 } } },
    'of all pages together',
  );
});

void t.test('hostile input is answered', async (t) => {
  for (const input of [
    undefined,
    null,
    5,
    'x',
    [],
    {},
    { schema: null },
    { schema: { pages: {} } },
    { schema: { pages: [null, 1, []] } },
    { schema: { outputFormats: [[]], pages: [{ sections: [{ components: {} }], pageSettings: [] }] } },
  ]) {
    t.match(
      thrown(() => check(input)),
      { code: 'TEMPLATE_INVALID' },
      JSON.stringify(input),
    );
  }
  let deep: unknown = text('leaf');
  for (let at = 0; at < 100_000; at += 1) deep = { id: `c${at}`, type: 'container', children: [deep] };
  t.match(
    thrown(() => check(attachmentOf([deep]))),
    { code: 'ERR_LIMIT_009' },
    'nested 100,000 deep',
  );
  const proto = JSON.parse('{"__proto__": {"format": "A4"}, "constructor": 1}') as Record<string, unknown>;
  t.equal(
    faultsOf(
      attachmentOf([], {
        schema: {
          pages: [
            { pageId: 'p', pageName: 'P', pageSettings: proto, sections: [{ id: 's', type: 'main', components: [] }] },
          ],
        },
      }),
    ).length,
    2,
  );
  t.same(
    faultsOf(
      attachmentOf([
        { id: 'a', type: 'constructor' },
        { id: 'b', type: '__proto__' },
      ]),
    ).length,
    2,
  );
  t.equal(({} as { format?: string }).format, undefined, 'nothing was polluted');
});

void t.test('every component has a description', async (t) => {
  for (const type of Object.keys(supportMatrix))
    t.ok(isComponentType(type) && Object.hasOwn(componentSpecs, type), type);
});

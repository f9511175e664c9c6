/** Charts of a workbook: native ones of each type, drawn from the cells of a table or from hidden rows below them. */
import t from 'tap';
import type { DocumentComponent } from '../../../../src/domain/rendering/content.js';
import { chartTypes, type ChartType } from '../../../../src/domain/rendering/css.js';
import { failureOf, pageOf, textsOf, workbookOf, type Workbook } from './xlsx.js';

const chart = (chartType: ChartType, more: DocumentComponent['props'] = {}): DocumentComponent => ({
  id: chartType,
  type: 'chart',
  props: {
    chartType,
    dataSource: '{{sales}}',
    categoryField: 'month',
    title: 'Sales & <more>',
    xTitle: 'Month',
    yTitle: 'kEUR',
    showLegend: true,
    series: [
      { name: 'North', valueField: 'n', color: '#102030' },
      { name: '=South', valueField: 's', color: 'teal' },
    ],
    ...more,
  },
});
const sales = [
  { month: 'Jan & Feb', n: 1.5, s: 2 },
  { month: '=Mar', n: null, s: 4 },
  { month: 'Apr', n: 5, s: -6 },
];

const elements: Readonly<Record<ChartType, readonly [element: string, detail: string]>> = {
  bar: ['barChart', '<c:barDir val="bar"/><c:grouping val="clustered"/>'],
  column: ['barChart', '<c:barDir val="col"/><c:grouping val="clustered"/>'],
  'stacked-column': ['barChart', '<c:barDir val="col"/><c:grouping val="stacked"/>'],
  line: ['lineChart', '<c:grouping val="standard"/>'],
  area: ['areaChart', '<c:grouping val="standard"/>'],
  pie: ['pieChart', '<c:varyColors val="1"/>'],
  doughnut: ['doughnutChart', '<c:holeSize'],
};

const made = (components: readonly DocumentComponent[]): Promise<Workbook> =>
  workbookOf({ components, variables: { sales } });

for (const type of chartTypes) {
  void t.test(type, async (t) => {
    const workbook = await made([{ id: 'r', type: 'rich-text', content: '<p>above</p>' }, chart(type)]);
    const xml = workbook.part('xl/charts/chart1.xml');
    const [element, detail] = elements[type];
    t.match(xml, `<c:${element}>`);
    t.match(xml, detail);
    t.match(
      textsOf(xml, 'a:t'),
      type === 'pie' || type === 'doughnut' ? ['Sales & <more>'] : ['Sales & <more>', 'Month', 'kEUR'],
    );
    t.match(xml, '<c:legendPos');
    t.match(xml, '102030', 'the colour of the series');
    const sheet = workbook.sheets[0];
    const references = textsOf(xml, 'c:f');
    t.equal(references.length, type === 'pie' ? 3 : 6, 'name, categories and values of each series');
    const [name = '', categories = '', values = ''] = references.map((text) =>
      text.replaceAll('$', '').replace("'Page'!", ''),
    );
    t.equal(sheet?.cells.get(name)?.text, 'North');
    const rows = (range: string): readonly string[] => {
      const [, letter = '', from = '', to = ''] = /^([A-Z])(\d+):[A-Z](\d+)$/.exec(range) ?? [];
      return Array.from(
        { length: Number(to) - Number(from) + 1 },
        (_, at) => sheet?.cells.get(`${letter}${Number(from) + at}`)?.text ?? '',
      );
    };
    t.same(rows(categories), ['Jan & Feb', '=Mar', 'Apr']);
    t.same(rows(values), ['1.5', '', '5']);
    const hidden = [...(sheet?.xml ?? '').matchAll(/<row r="(\d+)"[^>]* hidden="1"/g)].map(([, row]) => Number(row));
    const [first = 0] = hidden;
    t.same(hidden, [first, first + 1, first + 2, first + 3], 'names and numbers are not seen');
    t.equal(name, `B${first}`);
    t.match(xml, '<c:plotVisOnly val="0"/>', 'and drawn all the same');
    const cached = textsOf(/<c:numCache>.*?<\/c:numCache>/s.exec(xml)?.[0] ?? '', 'c:v');
    t.same(cached, ['1.5', '5'], 'readers that do not calculate see the same');
    t.notMatch(sheet?.xml, '<f>');
    t.match(workbook.part('xl/drawings/drawing1.xml'), '<xdr:graphicFrame');
  });
}

void t.test('several charts and a sheet with an apostrophe', async (t) => {
  const { part, parts } = await workbookOf({
    pages: [
      {
        pageId: 'p',
        pageName: "Bob's & co",
        sections: [
          {
            id: 's',
            type: 'body',
            components: [chart('line', { title: '', showLegend: false, xTitle: '', yTitle: '' }), chart('pie')],
          },
        ],
      },
      { pageId: 'q', pageName: 'Two', sections: [{ id: 's', type: 'body', components: [chart('area')] }] },
    ],
    variables: { sales },
  });
  t.same([...parts.keys()].filter((name) => name.startsWith('xl/charts/')).sort(), [
    'xl/charts/chart1.xml',
    'xl/charts/chart2.xml',
    'xl/charts/chart3.xml',
  ]);
  t.match(part('xl/charts/chart1.xml'), '&#39;Bob&#39;&#39;s &#38; co&#39;!$B$');
  t.match(part('xl/charts/chart1.xml'), '<c:autoTitleDeleted val="1"/>');
  t.notMatch(part('xl/charts/chart1.xml'), '<c:legend>');
  t.match(part('xl/charts/chart3.xml'), '&#39;Two&#39;!');
});

void t.test('numbers that no table shows have the format of their definition, and so has the axis', async (t) => {
  const item = {
    properties: {
      n: { type: 'number', format: { style: 'currency', currency: '{{currency}}' } },
      s: { type: 'number' },
    },
  };
  const { part, sheets } = await workbookOf({
    components: [chart('column')],
    variables: { sales, currency: 'EUR' },
    definitions: [
      { name: 'sales', type: 'array', schema: { itemSchema: item } },
      { name: 'currency', type: 'string' },
    ],
  });
  const xml = part('xl/charts/chart1.xml');
  t.match(xml, /<c:valAx>.*<c:numFmt formatCode="[^"]*€[^"]*"/s);
  const codes = textsOf(xml, 'c:formatCode');
  t.match(codes[0], '€');
  t.equal(codes[1], 'General', 'a number without a format is as the sheet shows it');
  const [, , values = ''] = textsOf(xml, 'c:f');
  const first = /\$B\$(\d+):/.exec(values)?.[1] ?? '';
  t.equal(sheets[0]?.cells.get(`B${first}`)?.code, codes[0]);
});

void t.test('too many series', async (t) => {
  const series = Array.from({ length: 5 }, (_, at) => ({ name: `S${at}`, valueField: 'n' }));
  t.match(
    await failureOf({ components: [chart('line', { series })], variables: { sales }, limits: { excelColumnsMax: 5 } }),
    {
      code: 'ERR_LIMIT_005',
      details: { relatedInfo: { actualColumns: 6, maxColumns: 5 } },
    },
  );
});

void t.test(
  'a chart of items that a table shows is drawn from the cells of the table, wherever that stands',
  async (t) => {
    const euros = { style: 'currency', currency: 'EUR' } as const;
    const table: DocumentComponent = {
      id: 'table',
      type: 'table',
      props: {
        dataSource: '{{sales}}',
        columns: [
          { header: 'Place', content: '{{item.s}}' },
          { header: 'Month', content: '{{item.month}}' },
          { header: 'North', content: '{{item.n}}', type: 'number', format: euros },
        ],
      },
    };
    const workbook = await workbookOf({
      pages: [
        pageOf('Chart', [chart('column')]),
        pageOf("Bob's data", [{ id: 'r', type: 'rich-text', content: '<p>above</p>' }, table]),
      ],
      variables: { sales },
    });
    const xml = workbook.part('xl/charts/chart1.xml');
    t.notMatch(workbook.sheets[0]?.xml, 'hidden="1"', 'nothing is written twice');
    t.same(textsOf(xml, 'c:f'), [
      "'Bob''s data'!$B$4:$B$6",
      "'Bob''s data'!$C$4:$C$6",
      "'Bob''s data'!$B$4:$B$6",
      "'Bob''s data'!$A$4:$A$6",
    ]);
    t.same(
      ['B4', 'C4', 'A6'].map((address) => workbook.sheets[1]?.cells.get(address)?.text),
      ['Jan & Feb', '1.5', '-6'],
    );
    t.match(xml, /<c:tx><c:v>North<\/c:v><\/c:tx>/, 'the series keep their own names');
    const code = workbook.sheets[1]?.cells.get('C4')?.code ?? '';
    t.match(code, /€/);
    t.ok(textsOf(xml, 'c:formatCode').includes(code), 'the numbers have the format of the column');
    t.match(xml, /<c:valAx>.*<c:numFmt formatCode="[^"]*€[^"]*"/s, 'and so has the axis');
    t.equal(workbook.sheets[0]?.cells.size, 0, 'nothing is written for the chart');
    // A table without one of the columns, or of other items, is none to draw from.
    const other = await workbookOf({
      components: [chart('line', { series: [{ valueField: 'other' }] }), table],
      variables: { sales },
    });
    t.match(textsOf(other.part('xl/charts/chart1.xml'), 'c:f')[1], /^'Page'!\$A\$/);
  },
);

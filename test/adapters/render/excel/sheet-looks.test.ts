/** How sheets and their charts look. */
import ExcelJS from 'exceljs';
import t from 'tap';
import { DomainError } from '../../../../src/domain/core/errors.js';
import { defaultLimits } from '../../../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../../../src/domain/rendering/check/document.js';
import type { DocumentComponent } from '../../../../src/domain/rendering/content.js';
import { chartPalette, chartTypes, type ChartType } from '../../../../src/domain/rendering/css.js';
import { bytesOf, pageOf, readWorkbook, workbookOf, failureOf, textsOf, type Workbook } from './xlsx.js';

// The look of a workbook: hidden parts, highlighted parts, and the print settings.

const table = (columns: readonly object[], id = 't') =>
  ({ id, type: 'table', props: { dataSource: 'rows', columns } }) as never;
const rows = [
  { a: 1, b: 'open' },
  { a: 250, b: 'paid' },
];

void t.test('hidden columns and sheets', async (t) => {
  const pages = [
    pageOf('Data', [table([{ header: 'A', content: '{{item.a}}' }])], { sheet: { hidden: true } }),
    pageOf('Seen', [
      table([
        { header: 'A', content: '{{item.a}}', hidden: true },
        { header: 'B', content: '=A{row}*2' },
      ]),
    ]),
  ];
  const bytes = await bytesOf({ pages, variables: { rows } });
  const { sheets, part } = readWorkbook(bytes);
  t.match(
    part('xl/workbook.xml'),
    /<bookViews><workbookView activeTab="1" firstSheet="1"\/><\/bookViews><sheets>.*name="Data" state="hidden".*name="Seen" state="visible"/s,
  );
  t.match(sheets[1]?.xml, /<col min="1" max="1"[^>]* hidden="1"/);
  t.notMatch(sheets[1]?.xml, /<col min="2"[^>]* hidden="1"/);
  t.match(sheets[1]?.cells.get('B3')?.xml, /<v>500<\/v>/, 'what is hidden is there for formulas');
  const book = new ExcelJS.Workbook();
  await book.xlsx.load(Buffer.from(bytes) as never);
  t.same(
    book.worksheets.map(({ state }) => state),
    ['hidden', 'visible'],
  );
  const all = await workbookOf({ pages: pages.slice(0, 1), variables: { rows } });
  t.match(all.part('xl/workbook.xml'), /name="Data" state="visible"/, 'one sheet is seen at least');
  const shared = await workbookOf({
    components: [
      table([{ header: 'A', content: '{{item.a}}', hidden: true }]),
      table([{ header: 'A', content: '{{item.a}}' }], 'u'),
    ],
    variables: { rows },
  });
  t.notMatch(shared.sheets[0]?.xml, /hidden="1"/, 'another table shows the column');
});

void t.test('rules of columns are conditional formats over the data', async (t) => {
  const bytes = await bytesOf({
    components: [
      table([
        {
          header: 'A',
          content: '{{item.a}}',
          footer: '=SUM(A{first}:A{last})',
          rules: [
            { kind: 'colorScale', colors: ['#fee2e2', '#ffffff', '#dcfce7'] },
            { kind: 'dataBar', color: '#2563eb' },
            {
              kind: 'cells',
              operator: 'between',
              value: 10,
              and: 300,
              color: '#b91c1c',
              backgroundColor: '#fef2f2',
              bold: true,
            },
          ],
        },
        {
          header: 'B',
          content: '{{item.b}}',
          rules: [{ kind: 'cells', operator: 'equal', value: 'say "open"', bold: true }],
        },
      ]),
    ],
    variables: { rows },
  });
  const { sheets, part } = readWorkbook(bytes);
  const xml = sheets[0]?.xml ?? '';
  t.match(
    xml,
    /<conditionalFormatting sqref="A2:A3"><cfRule type="colorScale" priority="1">.*?<color rgb="FFFEE2E2"\/><color rgb="FFFFFFFF"\/><color rgb="FFDCFCE7"\/>/s,
  );
  t.match(xml, /<cfRule type="dataBar" priority="2"><dataBar>.*?<color rgb="FF2563EB"\/>/s);
  const id = /<x14:id>(\{[-0-9A-F]{36}\})<\/x14:id>/.exec(xml)?.[1];
  t.ok(id, 'a bar has an id');
  t.match(
    xml,
    new RegExp(
      `<x14:cfRule type="dataBar" id="${id}"><x14:dataBar [^>]*gradient="0">.*<xm:sqref>A2:A3</xm:sqref>.*</extLst></worksheet>$`,
      's',
    ),
    'the end of the sheet says more about it, under the same id',
  );
  t.match(xml, /<formula>AND\(NOT\(ISBLANK\(A2\)\),A2&gt;=10,A2&lt;=300\)<\/formula>/);
  t.match(xml, /<formula>AND\(NOT\(ISBLANK\(B2\)\),B2=&quot;say &quot;&quot;open&quot;&quot;&quot;\)<\/formula>/);
  t.match(
    part('xl/styles.xml'),
    /<dxf><font><b(?: val="1")?\/><color rgb="FFB91C1C"\/><\/font><fill><patternFill patternType="solid"><bgColor rgb="FFFEF2F2"\/>/,
  );
  const book = new ExcelJS.Workbook();
  await book.xlsx.load(Buffer.from(bytes) as never);
  t.ok(book.worksheets.length === 1, 'a reader takes it');
  t.notMatch(
    (
      await workbookOf({
        components: [table([{ content: '{{item.a}}', rules: [{ kind: 'dataBar' }] }])],
        variables: { rows: [] },
      })
    ).sheets[0]?.xml,
    /conditionalFormatting/,
  );
});

void t.test('print: area, width, grid', async (t) => {
  const { part, sheets } = await workbookOf({
    pages: [
      pageOf("Bob's", [table([{ header: 'A', content: '{{item.a}}' }])], {
        sheet: { fitToWidth: false, gridLines: true, printArea: 'A1:F40' },
      }),
    ],
    variables: { rows },
  });
  t.match(
    part('xl/workbook.xml'),
    /<definedName name="_xlnm.Print_Area" localSheetId="0">&#39;Bob&#39;&#39;s&#39;!\$A\$1:\$F\$40<\/definedName><definedName name="_xlnm.Print_Titles"/,
  );
  t.notMatch(sheets[0]?.xml, /fitToPage/);
  t.match(sheets[0]?.xml, /<printOptions[^>]* gridLines="1"/);
});

void t.test('what is wrong is said on save', (t) => {
  const faultsOf = (rules: unknown, sheet: unknown = {}): readonly string[] => {
    try {
      checkAttachmentTemplate(
        {
          variables: [{ name: 'rows', type: 'array', itemType: 'object' }],
          schema: {
            outputFormats: ['excel'],
            pages: [
              {
                pageId: 'p',
                pageName: 'P',
                pageSettings: { sheet },
                sections: [{ id: 's', type: 'main', components: [table([{ content: '{{item.a}}', rules }])] }],
              },
            ],
          },
        },
        defaultLimits,
      );
      return [];
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      return (error.details.errors ?? []).map(
        ({ field, message }) => `${field.replace(/^.*(?=rules|sheet)/, '')}: ${message}`,
      );
    }
  };
  t.same(faultsOf([{ kind: 'dataBar' }], { hidden: true, printArea: 'A1:B2' }), []);
  t.match(faultsOf([{ kind: 'icons' }]), [/^rules\[0\]\.kind: must be one of colorScale, dataBar, cells/]);
  t.match(faultsOf([{ kind: 'colorScale', colors: ['red'] }]), [/two or three colours/]);
  t.match(faultsOf([{ kind: 'dataBar', colour: 'red' }]), [/^rules\[0\]\.colour: is not known/]);
  t.match(faultsOf([{ kind: 'cells', operator: 'greaterThan', value: '5', bold: true }]), [
    /^rules\[0\]\.value: must be a number/,
  ]);
  t.match(faultsOf([{ kind: 'cells', operator: 'equal', value: 5 }]), [/changes nothing/]);
  t.match(faultsOf([{ kind: 'cells', operator: 'between', value: 5, bold: true }]), [
    /^rules\[0\]\.and: must be a number/,
  ]);
  t.match(faultsOf([{ kind: 'cells', operator: 'equal', value: '{{x}}', bold: true }]), []);
  t.match(faultsOf(undefined, { printArea: 'A:B' }), [/^sheet\.printArea: must be an area/]);
  for (const printArea of ['A1:XFE1', 'ZZZ1:ZZZ2', 'A1:A1048577'])
    t.match(faultsOf([{ kind: 'dataBar' }], { printArea }), [/^sheet\.printArea/], printArea);
  t.same(faultsOf([{ kind: 'dataBar' }], { printArea: 'A1:XFD1048576' }), []);
  t.match(faultsOf(undefined, { colour: 1 }), [/^sheet\.colour: is not a known prop/]);
  t.end();
});

void t.test('a rule whose text holds what XML cannot is written without it', async (t) => {
  const rules = [{ kind: 'cells', operator: 'equal', value: '<&"\u0001\ufffe\ud800>', bold: true }];
  const { sheets } = await workbookOf({
    components: [table([{ header: 'A', content: '{{item.a}}', rules }])],
    variables: { rows },
  });
  t.match(sheets[0]?.xml, /&quot;&lt;&amp;&quot;&quot;&gt;&quot;|"&lt;&amp;""&gt;"/);
  t.notMatch(sheets[0]?.xml, /[\u0001\ufffe\ufffd]|\p{Surrogate}/u);
});

void t.test(
  'letters on a dark background are white where nobody names a colour: readers draw them black on any',
  async (t) => {
    const dark = '#1e3a8a';
    const { sheets } = await workbookOf({
      components: [
        {
          id: 'box',
          type: 'rich-text',
          content:
            '<p>on dark, <a href="https://example.com">a link</a> <span style="color:#fde047">yellow</span></p><p style="background-color:#fef3c7">on light</p>',
          props: { backgroundColor: dark },
        },
        {
          id: 'own',
          type: 'rich-text',
          content: '<p>own colour</p>',
          props: { backgroundColor: dark, color: '#fde047' },
        },
        {
          id: 'cells',
          type: 'rich-text',
          content: `<table><tr><td bgcolor="${dark}">dark cell <a href="https://example.com/b">go</a> on</td><td>${'many words '.repeat(6)}</td></tr></table>`,
        },
      ] as never,
    });
    const xml = sheets[0]?.xml ?? '';
    const runOf = (text: string): string =>
      new RegExp(`<r><rPr>((?:(?!<rPr>).)*?)</rPr><t[^>]*>${text}`).exec(xml)?.[1] ?? 'no such run';
    for (const text of ['on dark, ', 'a link', 'dark cell ', 'go']) t.match(runOf(text), 'rgb="FFFFFFFF"', text);
    t.match(runOf('yellow'), 'rgb="FFFDE047"');
    t.match(runOf('own colour'), 'rgb="FFFDE047"');
    t.notMatch(runOf('on light'), 'rgb=');
    t.match(runOf('many words'), /^(?!.*rgb=).*Calibri/);
    const row = /<row (?:(?!<row ).)*?dark cell/s.exec(xml)?.[0] ?? '';
    t.ok(Number(/ ht="(\d+)"/.exec(row)?.[1] ?? 0) > 30, 'the row is as high as its lines');
  },
);

void t.test('what stands for an empty table reaches over its columns and no further', async (t) => {
  const wide = table(
    Array.from({ length: 5 }, (_, at) => ({ header: `H${at}`, content: '{{item.a}}' })),
    'wide',
  );
  const empty = {
    id: 'empty',
    type: 'table',
    props: { dataSource: 'none', emptyText: 'Nothing', columns: [{ header: 'A' }, { header: 'B' }] },
  } as never;
  const { sheets } = await workbookOf({ components: [empty, wide], variables: { rows, none: [] } });
  t.match(sheets[0]?.xml, '<mergeCell ref="A2:B2"/>');
});

void t.test('slices have the colours that they have in a PDF', async (t) => {
  const chart = {
    id: 'pie',
    type: 'chart',
    props: { chartType: 'pie', dataSource: 'rows', categoryField: 'b', series: [{ valueField: 'a' }] },
  } as never;
  const { part } = await workbookOf({ components: [chart], variables: { rows: [...rows, { a: 3, b: 'late' }] } });
  const colors = [...part('xl/charts/chart1.xml').matchAll(/<c:dPt>.*?<a:srgbClr val="(\w+)"/g)].map(
    ([, color = '']) => `#${color.toLowerCase()}`,
  );
  t.same(colors, chartPalette.slice(0, 3));
});

// Charts of a workbook: native ones of each type, drawn from the cells of a table or from hidden rows below them.

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

/** The look of a workbook: hidden parts, highlighted parts, and the print settings. */
import t from 'tap';
import ExcelJS from 'exceljs';
import { DomainError } from '../../../../src/domain/core/errors.js';
import { defaultLimits } from '../../../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../../../src/domain/rendering/check/document.js';
import { chartPalette } from '../../../../src/domain/rendering/css.js';
import { bytesOf, pageOf, readWorkbook, workbookOf } from './xlsx.js';

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

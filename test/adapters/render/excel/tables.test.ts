/** Tables and formulas of sheets. */
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import t from 'tap';
import { compileFormula } from '../../../../src/adapters/render/excel/formula/compile.js';
import { functions } from '../../../../src/adapters/render/excel/formula/functions.js';
import type { Json, JsonObject } from '../../../../src/domain/core/json.js';
import type { DocumentComponent } from '../../../../src/domain/rendering/content.js';
import { csvOf, lacksLibreOffice } from '../../../support/libreoffice.js';
import { workbookOf, type Given, type ReadSheet, bytesOf, pageOf, readWorkbook, type ReadCell } from './xlsx.js';

// Tables in a workbook: what each kind of value becomes, how it looks, and that nothing a variable brings becomes a
// formula.

const table = (columns: readonly JsonObject[], more: JsonObject = {}): DocumentComponent => ({
  id: 't',
  type: 'table',
  props: { dataSource: '{{rows}}', columns, ...more },
});

const sheetOf = async (component: DocumentComponent, rows: readonly Json[], given: Given = {}): Promise<ReadSheet> => {
  const {
    sheets: [sheet],
  } = await workbookOf({ components: [component], variables: { rows }, ...given });
  if (sheet === undefined) throw new Error('no sheet');
  return sheet;
};

const cellOf = (sheet: ReadSheet, address: string) => {
  const cell = sheet.cells.get(address);
  if (cell === undefined) throw new Error(`${sheet.name} has no cell ${address}`);
  return cell;
};

/** The cell of one value in a column, below its header. */
const one = async (value: Json, column: JsonObject = {}, given: Given = {}) =>
  cellOf(await sheetOf(table([{ header: 'H', content: '{{item.v}}', ...column }]), [{ v: value }], given), 'A2');

void t.test('values keep their types', async (t) => {
  t.match(await one(12.5), { type: 'n', text: '12.5', code: 'General' }, 'a number stays a number');
  t.match(
    await one('12.5'),
    { type: 'inlineStr', text: '12.5' },
    'digits in a text stay text where nothing says otherwise',
  );
  t.match(await one('007'), { type: 'inlineStr', text: '007' });
  t.match(await one('12.5', { type: 'number' }), { type: 'n', text: '12.5' }, 'the author says that it is a number');
  t.match(await one(7, { type: 'string' }), { type: 'inlineStr', text: '7' });
  t.match(
    await one('12345678901234567890', { type: 'number' }),
    { type: 'inlineStr', text: '12345678901234567890' },
    'a sheet would lose the last digits',
  );
  t.match(await one('none', { type: 'number' }), { type: 'inlineStr', text: 'none' });
  t.match(await one(true), { type: 'b', text: '1' });
  t.match(await one('false', { type: 'boolean' }), { type: 'b', text: '0' });
  t.match(await one({ a: 1 }), { type: 'inlineStr', text: '{"a":1}' });
  t.match(await one(null), { text: '' });
  t.match(await one('a < b & c'), { type: 'inlineStr', text: 'a < b & c' });
  t.match(await one('tab\tline\nnext'), { type: 'inlineStr', text: 'tab\tline\nnext' });
  t.match(await one('x\u0000y\ud800z\uffff'), { text: 'xyz' }, 'what XML cannot hold is gone');
  t.match(await one('_x0041_'), { text: '_x005F_x0041_' }, 'no reader takes it for an A');
});

void t.test('dates are dates of the time zone', async (t) => {
  const day = 46_347; // 21 November 2026
  t.match(
    await one('2026-11-21'),
    { type: 'n', text: String(day), code: '[$-409]mmm d, yyyy' },
    'a column of nothing but dates',
  );
  t.match(await one('2026-11-21', { format: { style: 'date', pattern: 'dd/MM/yyyy' } }), {
    text: String(day),
    code: 'dd"/"mm"/"yyyy',
  });
  const zoned = { timeZone: 'Asia/Kolkata' };
  t.match(
    await one('2026-11-21T18:30:00Z', { format: { style: 'datetime', pattern: 'yyyy-MM-dd HH:mm' } }, zoned),
    { text: String(day + 1), code: 'yyyy-mm-dd hh:mm' },
    'midnight in Kolkata',
  );
  t.match(
    await one('2026-11-21', { type: 'date' }, { timeZone: 'America/Los_Angeles' }),
    { text: String(day) },
    'a day has no zone to be moved by',
  );
  t.match(await one('2026-11-21T12:00:00Z', { format: { style: 'datetime' } }, { locale: 'de-DE' }), {
    text: `${day}.5`,
    code: 'dd.mm.yyyy, hh:mm',
  });
  t.match(
    await one('1800-01-01', { type: 'date' }),
    { type: 'inlineStr', text: 'Jan 1, 1800' },
    'sheets know no such day: the text that every output has',
  );
  t.match(await one('2026-02-30', { type: 'date' }), { type: 'inlineStr' });
  const mixed = await sheetOf(table([{ header: 'H', content: '{{item}}' }]), ['2026-11-21', 'soon']);
  t.match(cellOf(mixed, 'A2'), { type: 'n', text: String(day) }, 'each value is what it is by itself');
  t.match(cellOf(mixed, 'A3'), { type: 'inlineStr', text: 'soon' });
});

void t.test('formats become codes', async (t) => {
  const price = async (value: number, format: JsonObject, locale = 'en-US') =>
    (await one(value, { format }, { locale })).code;
  t.equal(await price(1234.5, { style: 'currency', currency: 'USD' }), '[$$-409]#,##0.00');
  t.equal(await price(1234.5, { style: 'currency', currency: 'EUR' }, 'de-DE'), '#,##0.00 [$€-407]');
  t.equal(await price(1234, { style: 'currency', currency: 'JPY' }, 'ja-JP'), '[$￥-411]#,##0');
  t.equal(await price(0.125, { style: 'percent', maximumFractionDigits: 1 }), '#,##0.0%');
  t.equal(await price(0.25, { style: 'percent' }), '#,##0%');
  t.equal(await price(1.5, { style: 'number', minimumFractionDigits: 2 }), '#,##0.00');
  t.equal(await price(3, { style: 'number', maximumFractionDigits: 3 }), '#,##0', 'as many digits as the number needs');
  t.equal(await price(3.25, { style: 'number', maximumFractionDigits: 3 }), '#,##0.00');
  t.equal(await price(3, { style: 'number', pattern: '0000' }), '0000');
  t.equal(await price(3, { style: 'number', pattern: '#,##0.00' }), '#,##0.00');
  const fromVariable = await sheetOf(table([{ header: 'H', content: '{{item.v}}' }]), [{ v: 2 }], {
    definitions: [
      {
        name: 'rows',
        type: 'array',
        schema: { v: { type: 'number', format: { style: 'currency', currency: 'CHF' } } },
      },
    ],
  });
  t.match(cellOf(fromVariable, 'A2').type, 'n');
});

void t.test('nothing that a variable brings is a formula', async (t) => {
  const attacks = [
    '=1+1',
    '+1+1',
    '-1+1',
    '@SUM(A1)',
    '=HYPERLINK("http://evil.example","x")',
    "=cmd|'/C calc'!A0",
    '\t=1+1',
    '\n=1+1',
    ' =1+1',
    '=B{row}',
    '<b>=1+1</b>',
  ];
  const sheet = await sheetOf(
    table([
      { header: '{{h}}', content: '{{item}}', footer: '{{f}}' },
      { header: 'x', content: '={{item}}' },
    ]),
    attacks,
    {
      variables: { rows: attacks, h: '=1+2', f: '=1+3' },
    },
  );
  t.notMatch(sheet.xml, '<f>', 'no formula in the sheet');
  for (const [at, attack] of attacks.entries()) {
    const cell = cellOf(sheet, `A${at + 2}`);
    t.equal(cell.text, attack, 'the text is kept');
    t.equal(cell.type, 'inlineStr');
    if (attack.startsWith('<')) continue;
    t.match(cell, { code: '@' }, 'it stays text when it is edited');
    t.match(cell.style.xf, 'quotePrefix="1"');
  }
  t.match(cellOf(sheet, 'B2').text, '==1+1');
  t.match(cellOf(sheet, 'A1').text, '=1+2');
  t.match(cellOf(sheet, `A${attacks.length + 2}`).text, '=1+3');
  t.notMatch(
    cellOf(await sheetOf(table([{ header: 'x', content: '{{item}}' }]), ['plain']), 'A2').style.xf,
    'quotePrefix',
  );
});

void t.test('what a formula gives looks as the type of its column says', async (t) => {
  const codes = async (column: JsonObject) => {
    const sheet = await sheetOf(
      table([{ header: 'H', content: '=1/3', footer: '=SUM(A{first}:A{last})', ...column }]),
      [{}],
    );
    return [cellOf(sheet, 'A2').code, cellOf(sheet, 'A3').code];
  };
  t.same(await codes({ type: 'percent' }), ['#,##0.00%', '#,##0.00%']);
  t.same(await codes({ type: 'currency' }), ['#,##0.00', '#,##0.00']);
  t.same(await codes({ type: 'percent', format: { style: 'percent' } }), ['#,##0%', '#,##0%'], 'the format says more');
  t.same(await codes({ type: 'number' }), ['General', 'General']);
  t.same(await codes({ type: 'date' }), ['[$-409]mmm d, yyyy', 'General'], 'below dates may stand how many they are');
});

void t.test('the author writes formulas', async (t) => {
  const sheet = await sheetOf(
    table([
      { header: 'a', content: '{{item}}', footer: 'Sum' },
      {
        header: 'b',
        content: '=A{row}*2',
        format: { style: 'currency', currency: 'USD' },
        footer: '=SUM(B{first}:B{last})',
      },
      { header: 'c', content: "=cmd|'/C calc'!A0" },
      { header: 'd', content: '=IF(A{row}>1,"a|b","")' },
    ]),
    [1, 2, 3],
  );
  t.match(cellOf(sheet, 'B2'), { formula: 'A2*2', code: '[$$-409]#,##0.00' });
  t.match(cellOf(sheet, 'B4'), { formula: 'A4*2' });
  t.match(cellOf(sheet, 'B5'), { formula: 'SUM(B2:B4)', code: '[$$-409]#,##0.00' });
  t.match(cellOf(sheet, 'C2'), { type: 'inlineStr', formula: undefined }, 'not one that starts a program');
  t.match(cellOf(sheet, 'D2').formula, 'IF(A2>1,"a|b","")');
  const empty = await sheetOf(table([{ header: 'a', content: '{{item}}', footer: '=SUM(A{first}:A{last})' }]), []);
  t.notMatch(empty.xml, '<f>', 'there is nothing to sum up');
});

void t.test('a footer is a number where it is one', async (t) => {
  const sheet = await sheetOf(
    table([
      { header: 'a', content: '{{item}}', footer: 'Total', type: 'number' },
      { header: 'b', content: '{{item}}', footer: '{{total}}', format: { style: 'currency', currency: 'USD' } },
    ]),
    [1],
    {
      variables: { rows: [1], total: 99.5 },
    },
  );
  t.match(cellOf(sheet, 'A3'), { type: 'inlineStr', text: 'Total' });
  t.match(cellOf(sheet, 'B3'), { type: 'n', text: '99.5', code: '[$$-409]#,##0.00' });
  t.match(cellOf(sheet, 'B3').style.font, '<b/>');
});

void t.test('looks', async (t) => {
  const sheet = await sheetOf(
    table(
      [
        { header: 'Name', content: '{{item.n}}', width: 100 },
        { header: 'Sum', content: '{{item.s}}', type: 'number' },
        { header: 'Both', content: '<b>{{item.n}}</b> and <i>{{item.s}}</i>' },
      ],
      {
        striped: true,
        border: '2px dashed #ff0000',
        headerBackgroundColor: '#123456',
        headerColor: 'white',
        color: 'rgb(10, 20, 30)',
        fontSize: '9pt',
        freezeHeader: true,
        autoFilter: true,
      },
    ),
    [
      { n: 'a', s: 1 },
      { n: 'b', s: 2 },
    ],
  );
  const header = cellOf(sheet, 'A1');
  t.match(header.style.font, /<b\/>.*FFFFFFFF/);
  t.match(header.style.fill, 'FF123456');
  t.match(header.style.border, /mediumDashed.*FFFF0000|dashed.*FFFF0000/);
  t.match(cellOf(sheet, 'A2').style.font, /FF0A141E.*"9"/);
  t.notMatch(cellOf(sheet, 'A2').style.fill, 'solid');
  t.match(cellOf(sheet, 'A3').style.fill, 'solid', 'each second row');
  t.match(cellOf(sheet, 'B2').style.xf, 'horizontal="right"');
  t.match(cellOf(sheet, 'C2').xml, /<b\/>.*<t>a<\/t>.*<i\/>.*<t>1<\/t>/s);
  t.match(sheet.xml, '<autoFilter ref="A1:C3"/>');
  t.match(sheet.xml, 'ySplit="1"');
  t.match(sheet.xml, /<col min="1" max="1" width="18\.\d+"/, '100 points are 133 pixels');
});

void t.test('header, no header, no rows', async (t) => {
  const hidden = await sheetOf(table([{ header: 'a', content: '{{item}}' }], { showHeader: false }), ['x']);
  t.equal(cellOf(hidden, 'A1').text, 'x');
  const none = await sheetOf(
    table(
      [
        { header: 'a', content: '{{item}}' },
        { header: 'b', content: '{{item}}' },
      ],
      { emptyText: 'Nothing <b>here</b>' },
    ),
    [],
  );
  t.equal(cellOf(none, 'A2').text, 'Nothing here');
  t.match(none.xml, '<mergeCell ref="A2:B2"/>');
  t.match(none.xml, 'ySplit="1"', 'a table that is the first of its sheet keeps its header in sight');
});

void t.test('rows written in the template, several tables on one sheet', async (t) => {
  const {
    sheets: [sheet],
  } = await workbookOf({
    components: [
      {
        id: 'a',
        type: 'table',
        props: {
          columns: [{ header: 'A' }, { header: 'B', type: 'number' }],
          rows: [
            ['x', 1],
            ['y', '{{n}}'],
          ],
        },
      },
      { id: 'b', type: 'table', props: { columns: [{ header: 'C', width: 300 }], rows: [['z']] } },
    ],
    variables: { n: 5 },
  });
  if (sheet === undefined) throw new Error('no sheet');
  t.match(cellOf(sheet, 'B3'), { type: 'n', text: '5' });
  t.equal(cellOf(sheet, 'A5').text, 'C', 'one row lies between');
  t.equal(cellOf(sheet, 'A6').text, 'z');
  t.match(sheet.xml, /<col min="1" max="1" width="5\d/, 'the wider one decides');
});

void t.test('long texts wrap in rows high enough', async (t) => {
  const sheet = await sheetOf(table([{ header: 'a', content: '{{item}}' }]), [
    'short',
    'word '.repeat(60),
    'one\ntwo\nthree',
  ]);
  const height = (row: number): number =>
    Number(new RegExp(`<row r="${row}" ht="([\\d.]+)"`).exec(sheet.xml)?.[1] ?? 0);
  t.equal(height(2), 0, 'one line: as the sheet has it');
  t.ok(height(3) > 60, 'five lines or more');
  t.ok(height(4) > 40 && height(4) < 60);
  t.match(cellOf(sheet, 'A3').style.xf, 'wrapText="1"');
});

// Formulas carry what they give: the values here are those that LibreOffice works out by itself, and what is left open
// is left to it.

const data = [
  { n: 'apple', q: 3, p: 10.5, d: '2026-11-21', ok: true },
  { n: 'Pear', q: 0, p: 2000, d: '2026-12-01', ok: false },
  { n: '', q: 7, p: -0.125, d: '2027-01-31', ok: true },
];
/** Columns A to E below a header: rows 2 to 4. */
const given = {
  id: 't',
  type: 'table',
  props: {
    dataSource: 'rows',
    columns: [
      { header: 'Name', content: '{{item.n}}' },
      { header: 'Pieces', content: '{{item.q}}' },
      { header: 'Price', content: '{{item.p}}' },
      { header: 'Day', content: '{{item.d}}', type: 'date' },
      { header: 'Good', content: '{{item.ok}}' },
    ],
  },
} as const;

/** Formulas with their results: a number, a text, a truth value or an error. LibreOffice computes them too. */
const formulas: readonly (readonly [string, string])[] = [
  ['=1+2*3^2-4/2', '17'],
  ['=-2^2', '4'],
  ['=2^-1', '0.5'],
  ['=50%*10', '5'],
  ['=0.1+0.2-0.3', '0'],
  ['="a"&1&"b"', 'a1b'],
  ['="say ""hi"""', 'say "hi"'],
  ['=1=1', 'TRUE'],
  ['="A"="a"', 'TRUE'],
  ['="b">"A"', 'TRUE'],
  ['=2<>2', 'FALSE'],
  ['=SUM(B2:B4)', '10'],
  ['=SUM(B2:C4,1,B$2)', '2024.375'],
  ['=SUM({t.B})+COUNT({t.C})', '13'],
  ['=SUMIF({t.A},"apple",{t.B})', '3'],
  ['=AVERAGE(B2:B4)', '3.33333333333333'],
  ['=AVERAGE(A2:A3)', '#DIV/0!'],
  ['=MIN(C2:C4)', '-0.125'],
  ['=MAX(B2:C4)', '2000'],
  ['=MEDIAN(B2:C4)', '5'],
  ['=PRODUCT(B2,B4)', '21'],
  ['=COUNT(A2:D4)', '9'],
  ['=COUNTA(A1:A4)', '3'],
  ['=COUNTBLANK(A2:A4)', '1'],
  ['=SUMPRODUCT(B2:B4,C2:C4)', '30.625'],
  ['=SUMIF(B2:B4,">2",C2:C4)', '10.375'],
  ['=SUMIF(A2:A4,"APPLE",B2:B4)', '3'],
  ['=SUMIF(B2:B4,">=3")', '10'],
  ['=COUNTIF(B2:B4,0)', '1'],
  ['=COUNTIF(A2:A4,"pear")', '1'],
  ['=COUNTIF(A2:A4,"<>pear")', '2'],
  ['=AVERAGEIF(B2:B4,"<>0")', '5'],
  ['=SUBTOTAL(9,B2:B4)', '10'],
  ['=SUBTOTAL(101,B2:B4)', '3.33333333333333'],
  ['=ROUND(2.345,2)', '2.35'],
  ['=ROUND(1.005,2)', '1.01'],
  ['=ROUND(-2.5,0)', '-3'],
  ['=ROUND(1234,-2)', '1200'],
  ['=ROUNDUP(2.341,2)', '2.35'],
  ['=ROUNDDOWN(-2.349,2)', '-2.34'],
  ['=INT(-1.5)', '-2'],
  ['=ABS(-3)', '3'],
  ['=SIGN(-3)', '-1'],
  ['=SQRT(16)', '4'],
  ['=SQRT(-1)', '#NUM!'],
  ['=POWER(2,10)', '1024'],
  ['=MOD(-3,2)', '1'],
  ['=MOD(3,0)', '#DIV/0!'],
  ['=1/0', '#DIV/0!'],
  ['=IF(B2>2,"many","few")', 'many'],
  ['=IF(B3,"some")', 'FALSE'],
  ['=IF(FALSE,1/0,7)', '7'],
  ['=IFERROR(1/B3,"none")', 'none'],
  ['=AND(E2,B2>1)', 'TRUE'],
  ['=OR(E3,B3>1)', 'FALSE'],
  ['=NOT(E3)', 'TRUE'],
  ['=ISBLANK(A4)', 'TRUE'],
  ['=ISNUMBER(B2)', 'TRUE'],
  ['=NA()', '#N/A'],
  ['=CONCATENATE(A2,"-",B2)', 'apple-3'],
  ['=LEN(A2)', '5'],
  ['=UPPER(A2)', 'APPLE'],
  ['=LOWER(A3)', 'pear'],
  ['=TRIM("  a   b ")', 'a b'],
  ['=LEFT(A2,2)', 'ap'],
  ['=RIGHT(A2)', 'e'],
  ['=MID(A2,2,3)', 'ppl'],
  ['=YEAR(D2)', '2026'],
  ['=MONTH(D3)', '12'],
  ['=DAY(D4)', '31'],
  ['=D3-D2', '10'],
  ['=DATE(2026,14,1)-D4', '1'],
  ['="x"+1', '#VALUE!'],
  ['=A1&"!"', 'Name!'],
  ["=Page!B2+'Page'!B4", '10'],
  ['=A4', '0'],
  ['=IF(AND(B2>=3,C2<>0),ROUND(C2*B2,1),0)', '31.5'],
];

/** The formulas stand on a sheet of their own; what they name without a sheet is on the first. */
const onPage = (formula: string): string =>
  formula.replace(/(?<![!:\w$"])(\$?[A-E]\$?[1-4](?::[A-E][1-4])?)(?![\w(!"])/g, 'Page!$1');

const columnOfFormulas = {
  id: 'f',
  type: 'table',
  props: {
    sheetName: 'Formulas',
    showHeader: false,
    columns: [{}],
    rows: formulas.map(([formula]) => [onPage(formula)]),
  },
} as const;

const pagesOf = () => [pageOf('Page', [given]), pageOf('Formulas', [columnOfFormulas])];

const shown = (type: string, text: string): string =>
  type === 'b' ? (text === '1' ? 'TRUE' : 'FALSE') : type === 'n' ? String(Number(Number(text).toPrecision(15))) : text;

void t.test('each formula has its value, and the workbook does not ask to be worked out', async (t) => {
  const { sheets, part } = await workbookOf({ variables: { rows: data }, pages: pagesOf() });
  const cells = sheets[1]?.cells ?? new Map();
  formulas.forEach(([formula, value], at) => {
    const cell = cells.get(`A${at + 1}`) as ReadCell;
    t.equal(cell.formula === undefined ? 'no formula' : shown(cell.type, valueIn(cell)), value, formula);
  });
  t.notMatch(part('xl/workbook.xml'), /fullCalcOnLoad/);
});

/** The value beside the formula. */
const valueIn = ({ xml }: Partial<ReadCell>): string =>
  (/<v>([^<]*)<\/v>/.exec(xml ?? '')?.[1] ?? '')
    .replace(/&quot;/g, '"')
    .replace(/&amp;/g, '&')
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));

void t.test('every function that is computed stands among them', (t) => {
  const all = formulas.map(([formula]) => formula).join(' ');
  for (const name of Object.keys(functions)) t.ok(all.includes(`${name}(`), name);
  t.end();
});

void t.test('rows by their words, footers, sums over formulas, other sheets that come later', async (t) => {
  const { sheets } = await workbookOf({
    pages: [
      pageOf('Total', [
        {
          id: 'a',
          type: 'table',
          props: { columns: [{ header: 'All' }], rows: [['=Lines!C4*2'], ["='Lines'!C4+A2"]] },
        },
      ]),
      pageOf('Lines', [
        {
          id: 'b',
          type: 'table',
          props: {
            dataSource: 'rows',
            columns: [
              { header: 'Q', content: '{{item.q}}', footer: '{{sum}}' },
              { header: 'P', content: '{{item.p}}' },
              {
                header: 'Sum',
                content: '=A{row}*B{row}',
                footer: '=SUM(C{first}:C{last})',
                format: { style: 'currency', currency: 'EUR' },
              },
              { header: 'Number', content: '={row}-{first}+1' },
            ],
          },
        },
      ]),
    ],
    variables: {
      rows: [
        { q: 2, p: 1.5 },
        { q: 3, p: 4 },
      ],
      sum: 5,
    },
  });
  const at = (sheet: number, address: string) => valueIn(sheets[sheet]?.cells.get(address) ?? {});
  t.same(
    ['C2', 'C3', 'C4', 'D2', 'D3'].map((address) => at(1, address)),
    ['3', '12', '15', '1', '2'],
  );
  t.same(
    ['A2', 'A3'].map((address) => at(0, address)),
    ['30', '45'],
  );
});

void t.test('what only a reader can say is left open, and the workbook asks to be worked out', async (t) => {
  const open = [
    '=TODAY()',
    '=VLOOKUP(1,A1:B2,2)',
    '=A2+1',
    '="1,5"+1',
    '=[1]Sheet1!A1',
    '=A:A',
    '=TEXT(1,"0")',
    '=Nowhere!A1',
    '=UPPER(',
    '=B7',
    '=B6',
  ];
  const { sheets, part } = await workbookOf({
    components: [
      {
        id: 'a',
        type: 'table',
        props: { showHeader: false, columns: [{}, {}], rows: open.map((formula) => ['x', formula]) },
      },
    ],
  });
  // The last two lead to each other: rows 10 and 11 of the table are rows 10 and 11 of the sheet.
  const cells = sheets[0]?.cells ?? new Map();
  for (const [at, formula] of open.entries()) {
    const cell = cells.get(`B${at + 1}`) as { formula: string | undefined; xml: string };
    if (formula === '=A2+1') t.match(cell.xml, /<v>#VALUE!<\/v>/, 'a text without digits is no number');
    else t.notMatch(cell.xml, /<v>[^<]/, formula);
  }
  t.match(part('xl/workbook.xml'), /fullCalcOnLoad="1"/);
});

void t.test('a circle, and sums over sums without end, are left open in bounded time', async (t) => {
  const circle = await workbookOf({
    components: [
      {
        id: 'a',
        type: 'table',
        props: {
          showHeader: false,
          columns: [{}, {}],
          rows: [
            ['=B1', '=A1'],
            ['=A2', 1],
          ],
        },
      },
    ],
  });
  t.notMatch(circle.sheets[0]?.cells.get('A1')?.xml, /<v>/);
  t.notMatch(circle.sheets[0]?.cells.get('A2')?.xml, /<v>/);
  const running = await workbookOf({
    components: [
      {
        id: 'a',
        type: 'table',
        props: {
          dataSource: 'rows',
          columns: [
            { header: 'V', content: '{{item}}' },
            { header: 'So far', content: '=SUM(A{first}:A{row})' },
          ],
        },
      },
    ],
    variables: { rows: Array.from({ length: 10_000 }, (_, at) => at) },
  });
  t.match(running.sheets[0]?.cells.get('B3')?.xml, /<v>1<\/v>/);
  t.match(running.sheets[0]?.cells.get('B1001')?.xml, /<v>499500<\/v>/);
  t.notMatch(running.sheets[0]?.cells.get('B2001')?.xml, /<v>/, 'two million reads are more than a workbook may take');
  t.notMatch(running.sheets[0]?.cells.get('B10001')?.xml, /<v>/);
  t.equal(compileFormula('='.padEnd(500, '(') + '1'), undefined, 'depth');
});

void t.test('LibreOffice works out the same', { skip: lacksLibreOffice }, async (t) => {
  const files = unzipSync(await bytesOf({ variables: { rows: data }, pages: pagesOf() }));
  // Without our values, so that it has to work them out itself.
  for (const name of Object.keys(files).filter((part) => part.includes('worksheets/sheet')))
    files[name] = strToU8(
      strFromU8(files[name] ?? new Uint8Array())
        .replace(/(<\/f>)<v>[^<]*<\/v>/g, '$1')
        .replace(/ t="(?:str|b|e)"(?=><f>)/g, ''),
    );
  readWorkbook(zipSync(files));
  // The second sheet, values as they are.
  const csv = await csvOf(t, zipSync(files), '59,34,76,1,,1033,false,false,false,false,false,2');
  const lines = csv.split('\n');
  formulas.forEach(([formula, value], at) => {
    // LibreOffice has a name of its own for this error.
    const line = (lines[at] ?? '').replace('Err:502', '#NUM!');
    const plain = line.replace(/^"|"$/g, '').replaceAll('""', '"');
    const number = Number(plain);
    t.equal(plain !== '' && Number.isFinite(number) ? String(Number(number.toPrecision(15))) : plain, value, formula);
  });
});

void t.test('texts that double from column to column are left to the sheet once no cell holds them', async (t) => {
  const column = (at: number): string => String.fromCharCode(65 + (at % 26)).padStart(at < 26 ? 1 : 2, 'A');
  const doubling = Array.from({ length: 40 }, (_, at) => ({
    header: 'x',
    content: `=CONCATENATE(${column(at)}{row}&"",${column(at)}{row})`,
  }));
  const components = [
    {
      id: 't',
      type: 'table',
      props: { dataSource: 'rows', columns: [{ header: 'A', content: '{{item.a}}' }, ...doubling] },
    },
  ];
  const { sheets } = await workbookOf({ components: components as never, variables: { rows: [{ a: 'xxxxxxxxxx' }] } });
  t.match(sheets[0]?.cells.get('B2')?.xml, /<v>x{20}<\/v>/);
  t.match(sheets[0]?.cells.get('AN2')?.xml, /<f>/);
  t.notMatch(sheets[0]?.cells.get('AN2')?.xml, /<v>x/);
});

void t.test('a function that came after ECMA-376 has its prefix in the file, one in a text has none', async (t) => {
  const written = async (formula: string): Promise<string | undefined> => {
    const { sheets } = await workbookOf({
      components: [
        { id: 't', type: 'table', props: { dataSource: 'rows', columns: [{ header: 'F', content: formula }] } },
      ],
      variables: { rows: [{}] },
    });
    return sheets[0]?.cells.get('A2')?.formula;
  };
  t.equal(
    await written('=IFS(1>2,"ifs(1)",TRUE,concat("a","b"))'),
    '_xlfn.IFS(1>2,"ifs(1)",TRUE,_xlfn.CONCAT("a","b"))',
  );
  t.equal(await written('=SUM(STDEV.S(B2:B3),_xlfn.VAR.P(B2:B3))'), 'SUM(_xlfn.STDEV.S(B2:B3),_xlfn.VAR.P(B2:B3))');
  t.equal(await written("=SORT(UNIQUE('IFS(1)'!B2:B9))"), "_xlfn._xlws.SORT(_xlfn.UNIQUE('IFS(1)'!B2:B9))");
  t.equal(await written('=VLOOKUP(1,B2:C3,2)+NETWORKDAYS.INTL(1,2)'), 'VLOOKUP(1,B2:C3,2)+NETWORKDAYS.INTL(1,2)');
});

/**
 * Formulas carry what they give: the values here are those that LibreOffice works out by itself, and what is left open
 * is left to it.
 */
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import t from 'tap';
import { compileFormula } from '../../../../src/adapters/render/excel/formula/compile.js';
import { functions } from '../../../../src/adapters/render/excel/formula/functions.js';
import { csvOf, lacksLibreOffice } from '../../../support/libreoffice.js';
import { bytesOf, pageOf, readWorkbook, workbookOf, type ReadCell } from './xlsx.js';

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

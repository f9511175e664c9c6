/**
 * Tables in a workbook: what each kind of value becomes, how it looks, and that nothing a variable brings becomes a
 * formula.
 */
import t from 'tap';
import type { DocumentComponent } from '../../../../src/domain/rendering/content.js';
import type { Json, JsonObject } from '../../../../src/domain/core/json.js';
import { workbookOf, type Given, type ReadSheet } from './xlsx.js';

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

/** Tables of CSV files as the dashboard reads them, the recipients that it makes of their rows, and its reports. */
import { parse } from 'csv-parse/sync';
import t from 'tap';
import {
  CsvFault,
  csvOf,
  FILE_BYTES_MAX,
  looksLikeAddress,
  readTable,
  type Reading,
  type Table,
} from '../../dashboard/src/pages/bulk/csv.js';
import { csvOfReport, reportOf } from '../../dashboard/src/pages/bulk/report.js';
import {
  builtRows,
  converted,
  guessedMapping,
  guessedWriting,
  ownTarget,
  partsOf,
  targetsOf,
  type VariableType,
} from '../../dashboard/src/pages/bulk/rows.js';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const read = (text: string, reading?: Reading): Table => readTable(bytesOf(text), reading);
const faultOf = (text: string): unknown => {
  try {
    return read(text);
  } catch (fault) {
    return fault;
  }
};
const cells = (table: Table) => table.rows.map((row) => row.cells);

void t.test('delimiters, quotes, marks and line breaks as spreadsheets write them', (t) => {
  for (const [what, text] of [
    ['comma', 'Email,City\na@example.com,"Köln, ""Süd"""\n'],
    ['semicolon, CRLF, mark', '\ufeffEmail;City\r\na@example.com;"Köln, ""Süd"""\r\n'],
    ['tab', 'Email\tCity\na@example.com\t"Köln, ""Süd"""'],
    ['bar', 'Email|City\na@example.com|"Köln, ""Süd"""'],
    ['named delimiter', 'sep=;\nEmail;City\na@example.com;"Köln, ""Süd"""'],
    ['CR alone', 'Email,City\ra@example.com,"Köln, ""Süd"""\r'],
    ['two marks, empty lines', '\ufeff\ufeff\n\nEmail,City\n\n , \na@example.com,"Köln, ""Süd"""\n,\n'],
    ['blanks around quotes', 'Email,City\na@example.com,"Köln, ""Süd""" \n'],
  ] as const) {
    const table = read(text);
    t.same(table.head, ['Email', 'City'], what);
    t.same(cells(table), [['a@example.com', 'Köln, "Süd"']], what);
  }
  t.equal(read('a"b,c\nx@example.com,5" disc').rows[0]?.cells[1], '5" disc', 'a quote inside of a cell is text');
  t.equal(read('"a,b";c\n1;2').delimiter, ';', 'a delimiter in quotes does not count');
  t.end();
});

void t.test('rows are named by the line in which they begin', (t) => {
  const table = read('sep=,\nemail,note\r\n\r\na@example.com,"one\r\ntwo\nthree"\nb@example.com,x\n');
  t.same(
    table.rows.map(({ line }) => line),
    [4, 7],
  );
  t.equal(table.rows[0]?.cells[1], 'one\ntwo\nthree');
  t.end();
});

void t.test('encodings are known by their mark, and Windows-1252 by what is no UTF-8', (t) => {
  const latin = Uint8Array.from([...'Email;Ort\na@example.com;K'].map((one) => one.charCodeAt(0)));
  const euro = Uint8Array.from([...latin, 0xf6, 0x6c, 0x6e, 0x20, 0x80, 0x0a]);
  t.match(readTable(euro), { encoding: 'windows-1252', rows: [{ cells: ['a@example.com', 'Köln €'] }] });
  const wide = Buffer.from('\ufeffEmail\tOrt\r\na@example.com\tKöln\r\n', 'utf16le');
  t.match(readTable(wide), { encoding: 'utf-16le', delimiter: '\t', rows: [{ cells: ['a@example.com', 'Köln'] }] });
  t.match(readTable(Buffer.from(wide).swap16()), {
    encoding: 'utf-16be',
    rows: [{ cells: ['a@example.com', 'Köln'] }],
  });
  t.match(read('Email\nKöln@example.com', { encoding: 'windows-1252' }), { rows: [{ cells: ['KÃ¶ln@example.com'] }] });
  t.end();
});

void t.test('a file that is no table is refused with its line', (t) => {
  for (const [text, why] of [
    ['', /empty/],
    [' \n\n,\n', /empty/],
    ['email,name\n', /no rows/],
    ['email,name\na@example.com,"open\nb@example.com,x\n', /no CSV at line 2/],
    ['email,name\na@example.com,"a" b"\nb@example.com,x\n', /no CSV at line 2/],
    ['PK\u0003\u0004rest', /no text/],
    ['email\0name', /no text/],
    [`${'a,'.repeat(600)}\n${'1,'.repeat(600)}`, /601 columns/],
    [`email\n${'a@example.com\n'.repeat(100_001)}`, /100,001 rows/],
    ['a@example.com\n'.repeat(400_000), /400,000 rows/],
  ] as const) {
    const fault = faultOf(text);
    t.ok(fault instanceof CsvFault, JSON.stringify(text.slice(0, 40)));
    t.match(fault, { message: why });
  }
  t.throws(() => readTable(new Uint8Array(FILE_BYTES_MAX + 1)), { message: /more than 20 MiB/ });
  t.end();
});

void t.test('a file without names of columns', (t) => {
  t.match(read('a@example.com,Ada\nb@example.com,Ben'), {
    hasHead: false,
    head: ['Column 1', 'Column 2'],
    rows: [{ line: 1 }, { line: 2 }],
  });
  t.match(read('a@example.com,Ada\nb@example.com,Ben', { hasHead: true }), { rows: [{ line: 2 }] });
  t.end();
});

void t.test('hostile cells neither hang nor leave their cell', (t) => {
  const blanks = `x${' '.repeat(200_000)}x`;
  const table = read(`email,${blanks}\na@example.com,"${blanks}"\n`);
  t.equal(table.rows[0]?.cells[1], blanks);
  t.equal(read(`email,a\nb@example.com,${'"'.repeat(2 * 50_000)}\n`).rows[0]?.cells[1]?.length, 49_999);
  t.notOk(looksLikeAddress('@'.repeat(100_000)));
  for (const type of ['number', 'date', 'boolean', 'array', 'object'] as const)
    t.ok('fault' in converted('1 '.repeat(100_000), type, { decimal: '.', dates: 'day' }), type);
  t.end();
});

const definitions = [
  { name: 'firstName', type: 'string', required: true },
  { name: 'seats', type: 'number' },
  { name: 'due', type: 'date' },
  { name: 'isNew', type: 'boolean' },
  { name: 'items', type: 'array' },
  { name: 'total', type: 'number', isCalculated: true },
  { name: 'from', type: 'string', required: true, defaultValue: 'January' },
  {
    name: 'order',
    type: 'object',
    schema: { type: 'object', properties: { total: { type: 'number' }, number: { type: 'string' } } },
  },
  { name: 'shop', type: 'object' },
];

void t.test('columns are guessed by name, addresses by their values', (t) => {
  const table = read(
    'Kunde;First Name;SEATS;order.total;shop.city;Unknown\nada@example.com;Ada;1.234,5;9,99;Köln;x\nben@example.com;Ben;2;1;Bonn;y',
  );
  const targets = targetsOf(definitions, table.head);
  t.same(
    targets.map(({ label }) => label),
    [
      ...['Address', 'Name', 'Language', 'Time zone', 'firstName', 'seats', 'due', 'isNew', 'items', 'from'],
      ...['order.total', 'order.number', 'shop', 'shop.city'],
    ],
  );
  const mapping = guessedMapping(table, targets);
  const columnOf = (label: string) => mapping[targets.find((target) => target.label === label)?.key ?? ''];
  t.same(['Address', 'firstName', 'seats', 'order.total', 'shop.city', 'Name', 'from'].map(columnOf), [
    ...[0, 1, 2, 3, 4].map((column) => ({ column })),
    undefined,
    undefined,
  ]);
  t.equal(guessedWriting(table).decimal, ',');
  const { recipients } = builtRows(table, targets, { mapping, writing: guessedWriting(table) });
  t.same(recipients[0], {
    line: 2,
    recipient: {
      email: 'ada@example.com',
      variables: { firstName: 'Ada', seats: 1234.5, order: { total: 9.99 }, shop: { city: 'Köln' } },
    },
  });
  t.equal(guessedWriting(read('email,due\na@example.com,12/24/2026')).dates, 'month');
  t.end();
});

void t.test('values take the declared type, or say why not', (t) => {
  const cases: readonly (readonly [VariableType, string, unknown, ('.' | ',')?, ('day' | 'month')?])[] = [
    ['string', ' 007 ', ' 007 '],
    ...(
      [
        ['12', 12],
        ['-1.5', -1.5],
        ['1,234,567.25', 1234567.25],
        ["1'234.5", 1234.5],
        ['1e3', 1000],
        ['12 €', RegExp('no number')],
        ['1,2', /no number/],
        ['007', /no number/],
        ['0x10', /no number/],
        ['Infinity', /no number/],
        ['12345678901234567890', /more digits/],
        ['=1+1', /no number/],
      ] as const
    ).map(([cell, value]) => ['number', cell, value] as const),
    ['number', '1.234,5', 1234.5, ','],
    ['number', '1 234 567,5', 1234567.5, ','],
    ['number', '1,5', 1.5, ','],
    ['number', '1.5', /no number/, ','],
    ['boolean', 'TRUE', true],
    ['boolean', 'nein', false],
    ['boolean', '2', /neither yes nor no/],
    ['date', '2026-12-24', '2026-12-24'],
    ['date', '2026-12-24T09:30:00Z', '2026-12-24T09:30:00Z'],
    ['date', '24.12.2026', '2026-12-24'],
    ['date', '1.2.2026 09:30', '2026-02-01T09:30'],
    ['date', '3/4/2026', '2026-04-03'],
    ['date', '3/4/2026', '2026-03-04', '.', 'month'],
    ['date', '2026/3/4', '2026-03-04'],
    ['date', '31.02.2026', /no date/],
    ['date', '2026-02-30', /no date/],
    ['date', '2026-12-24T25:00', /no date/],
    ['date', 'tomorrow', /no date/],
    ['array', '["a", 1]', ['a', 1]],
    ['array', 'a,b', /not a list as JSON/],
    ['array', '{"a":1}', /not a list as JSON/],
    ['object', '{"a": 1}', { a: 1 }],
    ['object', '[1]', /not an object as JSON/],
  ];
  for (const [type, cell, wanted, decimal = '.', dates = 'day'] of cases) {
    const made = converted(cell, type, { decimal, dates });
    if (wanted instanceof RegExp) t.match('fault' in made ? made.fault : made, wanted, `${type} ${cell}`);
    else t.same(made, { value: wanted }, `${type} ${cell}`);
  }
  t.end();
});

void t.test('rows that cannot be sent to are left out, each with its line and column', (t) => {
  const table = read(
    [
      'email,name,locale,timeZone,firstName,seats,order.total',
      'ada@example.com,Ada,de,Europe/Vienna,Ada,3,9',
      'ADA@EXAMPLE.COM,,,,Ada,3,',
      ',,,,Nobody,,',
      'no address,,,,Nobody,,',
      'ben@example.com,,,,,1,',
      'cem@example.com,,,,Cem,many,',
      'dia@example.com,,12345678901,,Dia,,',
      'eve@example.com,,,Mars/Base,Eve,,',
      'fay@example.com,"Fa\u202ey",,,Fay,,',
      'gil@example.com,,,,Gil,1,2,3,4',
      'hal@münchen.example,,,,Hal,,',
      'hal@xn--mnchen-3ya.example,,,,Hal,,',
      '"=cmd|\' /C calc\'!A0@example.com",,,,Ida,,',
    ].join('\n'),
  );
  const targets = targetsOf(definitions, table.head);
  const { recipients, leftOut } = builtRows(table, targets, {
    mapping: guessedMapping(table, targets),
    writing: guessedWriting(table),
  });
  t.same(
    recipients.map(({ line }) => line),
    [2, 12, 14],
    'the service decides on the rest of an address',
  );
  t.same(recipients[0]?.recipient, {
    ...{ email: 'ada@example.com', name: 'Ada', locale: 'de', timeZone: 'Europe/Vienna' },
    variables: { firstName: 'Ada', seats: 3, order: { total: 9 } },
  });
  t.match(
    leftOut.map(({ line, column, kind, message }) => [line, column, kind, message]),
    [
      [3, '', 'duplicate', /line 2/],
      [4, 'email', 'fault', /no address/],
      [5, 'email', 'fault', /no @/],
      [6, 'firstName', 'fault', /firstName is required and empty/],
      [7, 'seats', 'fault', /"many" is no number/],
      [8, 'locale', 'fault', /no language/],
      [9, 'timeZone', 'fault', /no time zone/],
      [10, 'name', 'fault', /characters/],
      [11, '', 'fault', /9 cells and the file 7 columns/],
      [13, '', 'duplicate', /line 12/],
    ],
  );
  t.end();
});

void t.test('values for everybody fill what a row has not, also inside of its objects', (t) => {
  const table = read('email,order.total\na@example.com,9\nb@example.com,\n');
  const targets = targetsOf(definitions, table.head);
  const keyOf = (label: string) => targets.find((target) => target.label === label)?.key ?? '';
  const mapping = {
    ...guessedMapping(table, targets),
    [keyOf('firstName')]: { same: 'friend' },
    [keyOf('order.number')]: { same: '17' },
    [keyOf('seats')]: { same: 'some' },
  };
  const built = builtRows(table, targets, { mapping, writing: guessedWriting(table) });
  t.same(built.base, { firstName: 'friend', order: { number: '17' } });
  t.match(built.baseFaults, [/^seats: "some" is no number/]);
  t.same(
    built.recipients.map(({ recipient }) => recipient.variables),
    [{ order: { total: 9, number: '17' } }, undefined],
  );
  t.end();
});

void t.test('names of columns reach no prototype', (t) => {
  for (const name of ['__proto__', '__proto__.polluted', 'constructor.prototype.polluted', 'a.__proto__.polluted']) {
    const table = read(`email,${name}\na@example.com,yes\n`);
    const targets = [...targetsOf([], table.head), ownTarget(name)];
    const mapping = { ...guessedMapping(table, targets), [ownTarget(name).key]: { column: 1 } };
    const { recipients } = builtRows(table, targets, { mapping, writing: guessedWriting(table) });
    t.equal(recipients.length, 1, name);
    t.equal(({} as Record<string, unknown>)['polluted'], undefined, name);
  }
  t.end();
});

void t.test('a file makes as many calls as its recipients need', (t) => {
  const people = Array.from({ length: 2_001 }, (_, at) => ({
    line: at + 2,
    recipient: { email: `p${at}@example.com` },
  }));
  t.same(
    partsOf(people).map((part) => part.length),
    [1_000, 1_000, 1],
  );
  t.same(partsOf(people).flat(), people);
  t.same(partsOf([]), []);
  const large = people
    .slice(0, 60)
    .map((one) => ({ ...one, recipient: { ...one.recipient, variables: { text: 'x'.repeat(90_000) } } }));
  t.ok(
    partsOf(large).every((part) => Buffer.byteLength(JSON.stringify(part)) < 5 * 1024 * 1024),
    'a call has room',
  );
  t.end();
});

void t.test('the report names lines, and runs no formula', (t) => {
  const recipients = [
    { line: 2, recipient: { email: '=cmd()@example.com' } },
    { line: 5, recipient: { email: 'b@example.com' } },
    { line: 6, recipient: { email: 'c@example.com' } },
    { line: 9, recipient: { email: 'd@example.com' } },
  ];
  const quota = { used: 0, limit: 10, remaining: 10 };
  const answer = {
    ...{ valid: false, totalEmails: 3, totalQuotaCost: 4, costBreakdown: { emails: 2, attachments: 2 } },
    quotaStatus: { emailQuota: quota, attachmentQuota: quota },
    recipientValidation: { failing: [2] },
    warnings: [
      'The call would be refused.',
      'recipients[0] (line 2) is left out: the address has no @',
      'recipients[1] (line 5) is not sent to, and costs nothing: its address is on the suppression list',
      'recipients[2] (line 6) (email 2 of 3): variables.seats is required',
      'recipients[3] (line 9) goes without the optional document "a", which would cost 1: it is too large',
    ],
  };
  const report = reportOf(
    [{ recipients, answer }],
    [{ line: 3, email: 'x', column: 'seats', message: '"many" is no number', kind: 'fault' }],
  );
  t.match(report, { isValid: false, emails: 3, cost: 4, general: ['The call would be refused.'], failing: [6] });
  t.same(
    report.entries.map(({ line, kind, message }) => [line, kind, message]),
    [
      [2, 'invalid', 'the address has no @'],
      [3, 'fault', 'seats: "many" is no number'],
      [5, 'suppressed', 'is not sent to, and costs nothing: its address is on the suppression list'],
      [6, 'fails', 'variables.seats is required'],
      [9, 'note', 'goes without the optional document "a", which would cost 1: it is too large'],
    ],
  );
  const rows = parse(csvOfReport(report), { bom: true }) as string[][];
  t.same(rows[2]?.slice(0, 2), ['2', "'=cmd()@example.com"]);
  for (const cell of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '＝1', '＠x'])
    t.equal((parse(csvOf(['a'], [[cell]]), { bom: true }) as string[][])[1]?.[0]?.[0], "'", JSON.stringify(cell));
  t.same(parse(csvOf(['a', 'b'], [['x"y', 'one\ntwo']]), { bom: true }), [
    ['a', 'b'],
    ['x"y', 'one\ntwo'],
  ]);
  t.end();
});

/** Recipients of a file: typed as the template declares, and answered by their lines. */
import assert from 'node:assert/strict';
import t from 'tap';
import fc from 'fast-check';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { faultWithLines, recipientsOfFile, withLines } from '../../src/commands/bulk/request.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { caller } from '../support/command-world.js';
import { readRecipientFile } from '../../src/commands/recipients/file.js';
import { turnsBeside } from '../support/loop-turns.js';
import { openProcessorWorld } from '../support/processor-world.js';

const template = (slug: string) => ({
  slug,
  name: 'Typed',
  subject: 'S',
  variables: [
    { name: 'seats', type: 'number' as const },
    { name: 'isNew', type: 'boolean' as const },
    { name: 'code', type: 'string' as const },
  ],
  schema: {
    sections: [
      {
        id: 'main',
        type: 'main' as const,
        components: [{ id: 'text', type: 'rich-text' as const, content: '<p>x</p>' }],
      },
    ],
  },
  publish: true,
});

void t.test('cells are typed as the template declares its variables', async (t) => {
  const world = await openProcessorWorld(t);
  await world.commands.createTemplate(caller, template('typed'));
  const read = (text: string, templateId: string) =>
    recipientsOfFile(world.deps, caller, {
      bytes: Buffer.from(text),
      request: { templateId },
      parseLine: (line) => JSON.parse(line.toString()) as unknown,
    });
  const csv = 'email,seats,isNew,code,other\na@example.com, -1.5 ,TRUE,0012,7\nb@example.com,many,1,,\n';
  t.same(await read(csv, 'typed'), {
    recipients: [
      { email: 'a@example.com', variables: { seats: -1.5, isNew: true, code: '0012', other: '7' } },
      { email: 'b@example.com', variables: { seats: 'many', isNew: '1' } },
    ],
    lines: [2, 3],
    warnings: [],
  });
  t.match(
    (await read(csv, 'unknown')).recipients[0],
    { variables: { seats: ' -1.5 ', isNew: 'TRUE' } },
    'the call itself refuses the template',
  );
  const many = `email,code\n${Array.from({ length: 1_000 }, (_, at) => `r${at}@example.com,"${'x'.repeat(100)}\n"\n`).join('')}`;
  t.same(
    (await read(many, 'typed')).lines,
    Array.from({ length: 1_000 }, (_, at) => 2 + 2 * at),
  );
});

const readFile = (text: string | Buffer, rowsMax = 10_000) =>
  readRecipientFile(Buffer.from(text), {
    rowsMax,
    types: new Map(),
    limits: defaultLimits,
    parseLine: (line) => JSON.parse(line.toString()) as unknown,
  });

const MEGA = 1_000_000;

void t.test(
  'a file is read no further than it may go: cells of a row, bytes of a row, rows with and without content',
  async (t) => {
    const row = 'email,code\na@example.com,1\n';
    for (const [what, text, message] of [
      ['a head of delimiters', ','.repeat(10 * MEGA), /more than 504 cells in line 1/],
      ['a row of delimiters', row + ','.repeat(10 * MEGA), /more than 504 cells in line 3/],
      ['rows of delimiters', row + ',\n'.repeat(5 * MEGA), /more than 20001 rows, many of them without content/],
      ['empty rows', row + '\n'.repeat(10 * MEGA), /more than 20001 rows/],
      ['empty rows before the head', '\n'.repeat(10 * MEGA - row.length) + row, /more than 20001 rows/],
      ['rows that end with CR', row + '\r'.repeat(10 * MEGA), /more than 20001 rows/],
      ['empty lines before an object', '\n'.repeat(10 * MEGA) + '{"email":"a@example.com"}', /more than 20001 rows/],
      ['a cell that does not end', row + 'x'.repeat(10 * MEGA), /a row of more than 256 KB.*at line 3/],
      ['quotes that do not end', row + '"'.repeat(10 * MEGA + 1), /a row of more than 256 KB/],
      ['an object that does not end', `{"email":"${'x'.repeat(10 * MEGA)}"}`, /more than 2 MB in line 1/],
    ] as const) {
      const parsed = { bytes: 0 };
      const { toString } = Buffer.prototype;
      Buffer.prototype.toString = function (this: Buffer, encoding?: BufferEncoding, from = 0, to = this.length) {
        parsed.bytes += to - from;
        return toString.call(this, encoding, from, to);
      };
      t.teardown(() => void (Buffer.prototype.toString = toString));
      await t.rejects(readFile(text), { code: 'VALIDATION_ERROR', message }, what);
      Buffer.prototype.toString = toString;
      t.ok(parsed.bytes < 512 * 1024, `${what}: ${parsed.bytes} bytes became text`);
    }
  },
);

void t.test('a large file is read in turns, whatever its rows hold', async (t) => {
  const wide = `email,${Array.from({ length: 500 }, (_, at) => `v${at}`).join(',')}\n`;
  for (const [what, text] of [
    ['rows of many cells', wide + `a@example.com${',1'.repeat(500)}\n`.repeat(1_000)],
    ['few long rows', `email,text\n${`a@example.com,"${'x\n'.repeat(100_000)}"\n`.repeat(40)}`],
    ['rows without content', `email,code\na@example.com,1\n${',\n'.repeat(10_000)}`],
    ['JSON', `{"email":"a@example.com"}\n`.repeat(1_000)],
  ] as const)
    t.ok((await turnsBeside(() => readFile(text))) >= 15, what);
});

void t.test('CSV is read as csv-parse reads it', async () => {
  const cell = fc
    .oneof(fc.string({ maxLength: 5 }), fc.constantFrom('', '"', 'a"b', ',', 'é\n😀', '\r\n', ' x '))
    .filter((text) => !/[\0]/.test(text));
  const rows = fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(
      rows,
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.boolean(),
      async (given, record_delimiter, quoted) => {
        const head = ['email', 'b', 'c'];
        const text = stringify([head, ...given], { record_delimiter, quoted, quoted_match: /[\r\n]/ });
        const options = { record_delimiter, skip_empty_lines: true };
        const expected = (parse(text, options) as string[][])
          .slice(1)
          .filter((cells) => cells.some((one) => one.trim() !== ''));
        if (expected.length === 0) return true;
        const { recipients } = await readFile(text);
        const read = recipients as readonly { email: string; variables: Record<string, string> }[];
        const cells = read.map(({ email, variables }) => [email, variables['b'] ?? '', variables['c'] ?? '']);
        return (
          JSON.stringify(cells) === JSON.stringify(expected.map(([email = '', ...others]) => [email.trim(), ...others]))
        );
      },
    ),
    { numRuns: 500 },
  );
});

/**
 * Cells as spreadsheets, databases and people write them: quoted where it must be or everywhere, with blanks around,
 * with line ends mixed.
 */
void t.test('a table gives the same recipients whichever program wrote it', async (t) => {
  const cell = fc.constantFrom(
    '',
    'Ada',
    'Ada "Ace" Example',
    'TV 55"',
    'Example, Ada',
    'a;b',
    'two\nlines',
    'é😀',
    '007',
    '-1',
  );
  const table = fc.array(fc.record({ name: fc.constantFrom('Ada', 'Ben "B."', 'Cem, C.'), note: cell, city: cell }), {
    minLength: 1,
    maxLength: 6,
  });
  const dialect = fc.record({
    delimiter: fc.constantFrom(',', ';', '\t'),
    ends: fc.array(fc.constantFrom('\n', '\r\n', '\r'), { minLength: 1, maxLength: 3 }),
    quoted: fc.boolean(),
    bare: fc.boolean(),
    around: fc.constantFrom('', ' ', '\ufeff'),
    marks: fc.constantFrom('', '\ufeff', '\ufeff\ufeff'),
    told: fc.boolean(),
    unnamed: fc.boolean(),
    blankRows: fc.boolean(),
    shortRows: fc.boolean(),
    lastEnd: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(table, dialect, async (rows, form) => {
      const { delimiter, ends, quoted, bare, around, marks, told, unnamed, blankRows, shortRows, lastEnd } = form;
      const endAt = (at: number): string => ends[at % ends.length]!;
      const written = (text: string): string => {
        const mustQuote =
          /[\r\n]/.test(text) || text.includes(delimiter) || text.startsWith('"') || (!bare && text.includes('"'));
        return quoted || mustQuote ? `"${text.replaceAll('"', '""')}"` : text;
      };
      const lineOf = (cells: readonly string[]): string => {
        const kept = shortRows ? cells.slice(0, cells.findLastIndex((one) => one !== '') + 1) : cells;
        return kept.map(written).join(delimiter) + (unnamed && !shortRows ? delimiter : '');
      };
      const lines = [
        ...(told ? [`sep=${delimiter}`] : []),
        lineOf(['email', 'name', 'note', 'city']),
        ...rows.flatMap(({ name, note, city }, at) => [
          lineOf([`${around}r${at}@example.com`, name, note, city]),
          ...(blankRows ? ['', delimiter.repeat(3)] : []),
        ]),
      ];
      const text =
        marks + lines.map((line, at) => line + (at === lines.length - 1 && !lastEnd ? '' : endAt(at))).join('');
      const expected = rows.map(({ name, note, city }, at) => ({
        email: `r${at}@example.com`,
        name,
        variables: { ...(note === '' ? {} : { note }), ...(city === '' ? {} : { city }) },
      }));
      assert.deepStrictEqual((await readFile(text)).recipients, expected, JSON.stringify(text));
    }),
    { numRuns: 1_000 },
  );
  t.pass();
});

void t.test('columns fill members of objects, and cells hold objects and lists', async (t) => {
  const types = new Map([
    ['customer', 'object'],
    ['customer.firstName', 'string'],
    ['customer.points', 'number'],
    ['lines', 'array'],
    ['seats', 'number'],
    ['order["1st item"]', 'number'],
    ['["Net price"]', 'number'],
    ['["v1.2"]', 'boolean'],
  ]);
  const read = (text: string) =>
    readRecipientFile(Buffer.from(text), {
      rowsMax: 10,
      types,
      limits: defaultLimits,
      parseLine: (line) => {
        try {
          return JSON.parse(line.toString()) as unknown;
        } catch {
          throw new DomainError('MALFORMED_REQUEST', 'The JSON ends too early.');
        }
      },
    });
  t.same(
    (await read('email,customer.firstName,customer.points,__proto__.x,a..b\na@example.com,Ada,7,1,2')).recipients,
    [
      {
        email: 'a@example.com',
        variables: { customer: { firstName: 'Ada', points: 7 }, '__proto__.x': '1', 'a..b': '2' },
      },
    ],
  );
  t.same(
    (await read('email,customer,lines\na@example.com,"{""firstName"": ""Ada""}",[1]\nb@example.com,text,')).recipients,
    [
      { email: 'a@example.com', variables: { customer: { firstName: 'Ada' }, lines: [1] } },
      { email: 'b@example.com', variables: { customer: 'text' } },
    ],
  );
  t.same(
    (await read("email,order.1st item,order['a.b'],Net price,v1.2,order['2nd'].name\na@example.com,7,dot,2.5,true,Mug"))
      .recipients,
    [
      {
        email: 'a@example.com',
        variables: { order: { '1st item': 7, 'a.b': 'dot', '2nd': { name: 'Mug' } }, 'Net price': 2.5, 'v1.2': true },
      },
    ],
    'keys that are no names',
  );
  await t.rejects(read("email,order['a.b'],order['a.b'].c\na@example.com,1,2"), {
    message: /fills the variable order\["a\.b"\]/,
  });
  await t.rejects(read('email,lines\na@example.com,"[1, "'), {
    message: /line 2 a cell that is not the JSON it begins as \(The JSON ends/,
  });
  t.same(
    (
      await read(
        'email;seats\na@example.com;29.949999999999999\nb@example.com;12345678901234567890\nc@example.com;5e-05',
      )
    ).recipients.map((one) => (one as { variables: { seats: unknown } }).variables.seats),
    [29.95, '12345678901234567890', 5e-5],
    'numbers in cells follow the rule of JSON',
  );
  t.same((await read('email,Seats,customer.firstname,other\na@example.com,1,Ada,x')).warnings, [
    'the column "Seats" fills no variable of the template; did you mean seats?',
  ]);
});

void t.test('what is no CSV is told by its line', async (t) => {
  for (const [text, message] of [
    ['email,b\na@example.com,"x\ny"z', /no CSV at line 2/],
    ['email,b\r\na@example.com,"x\r\ny",z\r\n', /3 cells in line 2 and 2 in its head/],
    ['email,b\na@example.com,"x\ny"\nb@example.com,c,d', /3 cells in line 4/],
    ['email,b\na@example.com,"TV 55\nb@example.com,Ada "Ace"', /no CSV at line 2/],
    ['email,a,a.b\nx@example.com,1,2', /fills the variable a by the column a\.b and by one of its own/],
  ] as const)
    await t.rejects(readFile(text), { code: 'VALIDATION_ERROR', message }, text);
  t.match(await readFile('email,b\na@example.com,"'.concat('"\r\n\r\nb@example.com,')), { lines: [2, 4] });
});

void t.test('sentences name lines', (t) => {
  t.equal(
    withLines('recipients[1]: recipients[1].variables.a is required; recipients[9]', [2, 5]),
    'recipients[1] (line 5): recipients[1].variables.a (line 5) is required; recipients[9]',
  );
  const fault = new DomainError('VALIDATION_ERROR', 'recipients[0].name is long', {
    errors: [
      { field: 'recipients[0].name', message: 'is long' },
      { field: 'tags', message: 'x' },
    ],
  });
  t.match(faultWithLines(fault, [2]), {
    message: 'recipients[0].name (line 2) is long',
    details: { errors: [{ field: 'recipients[0].name', message: 'is long (line 2)' }, { message: 'x' }] },
  });
  t.end();
});

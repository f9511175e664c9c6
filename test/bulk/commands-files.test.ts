/** Files of bulk sending: recipients that are read, documents that are attached, results. */
import assert from 'node:assert/strict';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import t from 'tap';
import type { SendBulkRequest, BatchResult, BatchResultStatus } from '../../src/api/bulk.js';
import type { EmailRecord } from '../../src/api/email.js';
import { fanOut } from '../../src/commands/bulk/batches.js';
import { faultWithLines, recipientsOfFile, withLines } from '../../src/commands/bulk/request.js';
import type { StoredBytes } from '../../src/commands/email/acceptance.js';
import type { CommandNeeds } from '../../src/commands/needs.js';
import { readRecipientFile } from '../../src/commands/recipients/file.js';
import { DomainError } from '../../src/domain/core/errors.js';
import { assertDefined, emailIdInBatch, parseBatchId, type BatchId } from '../../src/domain/core/ids.js';
import { defaultLimits, type Limits } from '../../src/domain/core/limits.js';
import { causeOfWork } from '../../src/processors/core/declaration.js';
import { makeProcessors } from '../../src/processors/index.js';
import { caller, commandsOfTest, simple, TEAM, withTemplate, stranger } from '../support/command-world.js';
import { attachmentOf } from '../support/documents.js';
import { at } from '../support/email-facts.js';
import { refusedWith } from '../support/given.js';
import { turnsBeside } from '../support/loop-turns.js';
import { openProcessorWorld, answers, until, workersOf, type ProcessorWorld } from '../support/processor-world.js';
import { recordingGenerator } from '../support/recording-generator.js';

// Recipients of a file: typed as the template declares, and answered by their lines.

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

// Documents of bulk sends: each recipient's own, from what is the same for all, what is the recipient's, and what is
// overridden.

type Attachments = NonNullable<SendBulkRequest['attachments']>;
type Recipients = SendBulkRequest['recipients'];

const busy = () => new DomainError('GENERATOR_BUSY', 'Too many documents are being made.', { retryAfterS: 5 });

/** `fail`: what becomes of a document of that recipient. */
const open = async (
  slugs: readonly string[],
  fail: (name: unknown) => DomainError | undefined = () => undefined,
  limits: Partial<Limits> = {},
) => {
  const world = await withTemplate(limits);
  const recording = recordingGenerator();
  const generator: CommandNeeds['generator'] = {
    ...recording,
    make: async (input, ...rest) => {
      const fault = fail(input.variables['name']);
      if (fault !== undefined) throw fault;
      return recording.make(input, ...rest);
    },
  };
  const deps: CommandNeeds = { ...world.deps, generator };
  const commands = commandsOfTest(deps);
  for (const slug of slugs) {
    const template = attachmentOf([{ id: 'text', type: 'rich-text', content: '<p>{{name}}</p>' }], {
      schema: { outputFormats: ['pdf', 'excel'] },
      slug,
      name: slug,
      publish: true,
    });
    await commands.createAttachmentTemplate(caller, template as never);
  }
  const send = async (
    recipients: Recipients,
    attachments: Attachments,
    more: Partial<SendBulkRequest> = {},
  ): Promise<BatchId> => {
    const { body } = await commands.sendBulk(caller, { templateId: 'welcome', recipients, attachments, ...more });
    return assertDefined(parseBatchId(body.batchId), 'batch id');
  };
  const makeAll = async (id: BatchId, storedBytes?: StoredBytes): Promise<void> => {
    const cause = { teamId: TEAM, actor: 'system', correlationId: 'c', causationId: 'c', at: at(0) };
    for (let part = 0; part < 5; part += 1)
      await fanOut(deps, { id, cause, signal: new AbortController().signal, ...(storedBytes && { storedBytes }) });
  };
  const email = (id: BatchId, index: number): Promise<EmailRecord> =>
    commands.getEmail(caller, emailIdInBatch(id, index));
  return { ...world, deps, commands, recording, send, makeAll, email };
};

const person = (name: string, more: Partial<Recipients[0]> = {}): Recipients[0] => ({
  email: `${name.toLowerCase()}@example.org`,
  ...more,
  variables: { name, ...more.variables },
});

const filesOf = ({ metadata }: EmailRecord): readonly string[] => metadata.attachments.map(({ filename }) => filename);

void t.test(
  'variables: those of the email, of the attachment, of the recipient as named, and of the override, each over the one before',
  async (t) => {
    const { send, makeAll, recording, email } = await open(['bill']);
    const recipients = [
      person('Ann', { variables: { a: 'own', b: 'own', c: 'own', d: 'own' } }),
      person('Bob', {
        variables: { a: 'own', c: 'own', d: 'own' },
        attachmentOverrides: [
          {
            attachmentTemplateId: 'bill',
            variables: { d: 'over' },
            filename: 'Only for {{name}}',
            outputFormats: ['excel'],
          },
        ],
      }),
      person('Cid', { attachmentOverrides: [{ attachmentTemplateId: 'bill', skip: true }] }),
    ];
    const attachments: Attachments = [
      {
        attachmentTemplateId: 'bill',
        filename: 'Bill of {{name}} {{c}}',
        baseVariables: { b: 'base', c: 'base', d: 'base' },
        recipientVariableFields: ['c', 'd', 'absent'],
        outputFormats: ['pdf'],
      },
    ];
    const id = await send(recipients, attachments, { baseVariables: { a: 'all', e: 'all' } });
    t.equal(recording.made.length, 1, 'that of the first recipient is made as a check');
    await makeAll(id);
    t.match(recording.made[1]?.input.variables, { name: 'Ann', a: 'own', b: 'base', c: 'own', d: 'own', e: 'all' });
    t.match(recording.made[2]?.input.variables, { name: 'Bob', a: 'own', b: 'base', c: 'own', d: 'over', e: 'all' });
    t.equal(recording.made.length, 3);
    t.same(filesOf(await email(id, 0)), ['Bill of Ann own.pdf']);
    t.same(filesOf(await email(id, 1)), ['Only for Bob.xlsx']);
    t.same(filesOf(await email(id, 2)), []);
    t.match(await email(id, 2), { status: 'queued', batchId: id, attachmentCount: 0 });
  },
);

void t.test('ten attachments at most, each of another template; overrides name one of them, once', async (t) => {
  const slugs = Array.from({ length: 10 }, (_, index) => `doc-${index}`);
  const { send, makeAll, email, commands } = await open(slugs);
  const attachments = slugs.map((attachmentTemplateId) => ({ attachmentTemplateId, outputFormats: ['pdf' as const] }));
  const id = await send([person('Ann')], attachments);
  await makeAll(id);
  t.same(
    filesOf(await email(id, 0)),
    slugs.map((slug) => `${slug}.pdf`),
  );
  const refused = async (
    recipients: Recipients,
    given: Attachments,
    field: string,
    code: 'VALIDATION_ERROR' | 'ERR_ATTACH_001' = 'VALIDATION_ERROR',
  ) => {
    const { details } = await refusedWith(
      t,
      commands.sendBulk(caller, { templateId: 'welcome', recipients, attachments: given }),
      code,
    );
    if (code === 'VALIDATION_ERROR') t.equal(details.errors?.[0]?.field, field);
  };
  const bill = { attachmentTemplateId: 'doc-0' };
  await refused([person('Ann')], [bill, { ...bill }], 'attachments[1].attachmentTemplateId');
  await refused([person('Ann')], [{ attachmentTemplateId: 'unknown' }], '', 'ERR_ATTACH_001');
  const over = (...ids: readonly string[]) => [
    person('Ann'),
    person('Bob', { attachmentOverrides: ids.map((attachmentTemplateId) => ({ attachmentTemplateId })) }),
  ];
  await refused(over('doc-1'), [bill], 'recipients[1].attachmentOverrides[0].attachmentTemplateId');
  await refused(over('doc-0', 'doc-0'), [bill], 'recipients[1].attachmentOverrides[1].attachmentTemplateId');
});

void t.test(
  'a document that cannot be made: the email fails alone where it is required, and goes without it where it is not',
  async (t) => {
    const fault = new DomainError('GENERATION_FAILED', 'the PDF could not be made');
    const { send, makeAll, email, commands } = await open(['bill', 'terms'], (name) =>
      name === 'Bob' ? fault : undefined,
    );
    const people = [person('Ann'), person('Bob'), person('Cid')];
    const required = await send(people, [{ attachmentTemplateId: 'bill', outputFormats: ['pdf'] }]);
    await makeAll(required);
    t.match(await email(required, 0), { status: 'queued', attachmentCount: 1 });
    t.match(await email(required, 1), {
      status: 'failed',
      failureReason: 'rendering',
      recipients: [{ reply: /could not be made/ }],
    });
    t.match(await email(required, 2), { status: 'queued', attachmentCount: 1 });
    const optional = await send(people, [{ attachmentTemplateId: 'bill', outputFormats: ['pdf'], required: false }]);
    await makeAll(optional);
    const without = await email(optional, 1);
    t.match(without, {
      status: 'queued',
      attachmentCount: 0,
      metadata: { attachments: [], omittedAttachments: [{ name: 'bill', reason: /could not be made/ }] },
    });
    t.match((await email(optional, 0)).metadata, { omittedAttachments: [] });
    t.equal(
      (await commands.getEmail(caller, (await commands.sendEmail(caller, simple())).body.id as never)).batchId,
      null,
    );
    await refusedWith(
      t,
      commands.sendBulk(caller, {
        templateId: 'welcome',
        recipients: [person('Bob')],
        attachments: [{ attachmentTemplateId: 'bill' }],
      }),
      'GENERATION_FAILED',
    );
  },
);

void t.test('where too many documents are being made the batch waits, and no recipient fails for it', async (t) => {
  let refusals = 0;
  const { send, makeAll, email, clock } = await open(['bill'], (name) =>
    name === 'Bob' && (refusals += 1) <= 12 ? busy() : undefined,
  );
  const id = await send(
    [person('Ann'), person('Bob')],
    [{ attachmentTemplateId: 'bill', outputFormats: ['pdf'], required: false }],
  );
  let isMade = false;
  const making = makeAll(id).finally(() => (isMade = true));
  for (let turn = 0; !isMade && turn < 500; turn += 1) {
    await clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await making;
  t.equal(refusals, 13);
  for (const index of [0, 1])
    t.match(await email(id, index), { status: 'queued', attachmentCount: 1, metadata: { omittedAttachments: [] } });
});

void t.test(
  'documents are those that were published when the call came, though their template is renewed or deleted meanwhile',
  async (t) => {
    const { send, makeAll, recording, email, commands } = await open(['bill']);
    const id = await send([person('Ann')], [{ attachmentTemplateId: 'bill' }]);
    const before = recording.made.at(-1)?.input.cacheKey;
    const { id: template } = await commands.getAttachmentTemplate(caller, 'bill');
    await commands.updateAttachmentTemplate(caller, template, {
      name: 'Renamed',
      ...attachmentOf([{ id: 'x', type: 'rich-text', content: '<p>new</p>' }]),
    } as never);
    await commands.publishAttachmentTemplate(caller, template);
    await commands.deleteAttachmentTemplate(caller, template);
    await makeAll(id);
    t.equal(recording.made.at(-1)?.input.cacheKey, before);
    t.same(filesOf(await email(id, 0)), ['bill.pdf', 'bill.xlsx']);
  },
);

void t.test(
  'documents beyond what the attachments of a team may take are not kept: the emails that wanted them fail, and say why',
  async (t) => {
    const { send, makeAll, email, files } = await open(['bill'], undefined, { teamAttachmentBytesMax: 1_000 });
    const id = await send([person('Ann'), person('Bob')], [{ attachmentTemplateId: 'bill', outputFormats: ['pdf'] }]);
    await makeAll(id, async () => ({ bytes: 1_000, position: 0 }));
    for (const index of [0, 1])
      t.match(await email(id, index), {
        status: 'failed',
        recipients: [{ reply: /^With this email the attachments of the team/ }],
      });
    t.equal([...files.stored.values()].length, 0);
  },
);

// One result for each recipient of a bulk send, whatever became of its email, at every moment of the batch.

const resultsOf = async (
  world: ProcessorWorld,
  id: BatchId,
  status?: BatchResultStatus,
): Promise<readonly BatchResult[]> => {
  const all: BatchResult[] = [];
  for await (const some of await world.commands.batchResults(caller, id, status)) {
    if (some.length > 20) throw new Error('more are held than are read at once');
    all.push(...some);
  }
  return all;
};

const recipients = [
  { email: 'r0@example.org', variables: { name: 'N0' } },
  { email: 'no address' },
  { email: 'r1@example.org', variables: { name: 'N1' } },
  { email: 'R0@example.org' },
  { email: 'r2@example.org' },
];

const accept = async (world: ProcessorWorld, given = recipients): Promise<BatchId> => {
  const { body } = await world.commands.sendBulk(caller, { templateId: 'welcome', recipients: given });
  return assertDefined(parseBatchId(body.batchId), 'batch id');
};

void t.test('before, while and after its emails are made', async (t) => {
  const world = await openProcessorWorld(t);
  const id = await accept(world);
  const ids = [0, 1, 2].map((index) => emailIdInBatch(id, index));
  const brief = async (status?: BatchResultStatus) =>
    (await resultsOf(world, id, status)).map(({ place, email, status, emailId }) => [place, email, status, emailId]);
  t.same(await brief(), [
    [0, 'r0@example.org', 'queued', null],
    [1, null, 'skipped', null],
    [2, 'r1@example.org', 'queued', null],
    [3, null, 'duplicate', null],
    [4, 'r2@example.org', 'queued', null],
  ]);
  world.mailer.next.push(answers('accepted'), answers('bounced'));
  world.run(workersOf(world.processing, makeProcessors(world.processing)));
  await until(async () => {
    await world.clock.advance(500);
    return (await brief('queued')).length === 0 && (await brief('processing')).length === 0;
  }, 'all have come to an end');
  const results = await resultsOf(world, id);
  t.same(
    results.map(({ emailId }) => emailId),
    [ids[0], null, ids[1], null, ids[2]],
  );
  t.match(results[4], { email: 'r2@example.org', status: 'failed', error: 'rendering', reply: /name/, sentAt: null });
  t.match(results[1], { error: 'the address has no @' });
  t.match(results[3], { error: 'its address is the address of recipients[0]' });
  t.same(new Set([results[0]?.status, results[2]?.status]), new Set(['sent', 'bounced']));
  t.match(
    results.find(({ status }) => status === 'sent'),
    { error: null, sentAt: String },
  );
  t.match(
    results.find(({ status }) => status === 'bounced'),
    { error: 'bounced', reply: String, sentAt: null },
  );
  t.same(await brief('failed'), [[4, 'r2@example.org', 'failed', ids[2]]]);
  t.same(await brief('duplicate'), [[3, null, 'duplicate', null]]);
  await world.commands.deleteEmail(caller, ids[2]!);
  t.match((await resultsOf(world, id))[4], {
    email: null,
    status: 'failed',
    emailId: null,
    error: 'rendering',
    reply: null,
  });
  await t.rejects(world.commands.batchResults(stranger, id), { code: 'BATCH_NOT_FOUND' });
  const unknown = assertDefined(parseBatchId('99999999-9999-4999-8999-999999999999'), 'batch id');
  await t.rejects(world.commands.batchResults(caller, unknown), { code: 'BATCH_NOT_FOUND' });
});

void t.test('of a cancelled one those that were never made are cancelled, too', async (t) => {
  const world = await openProcessorWorld(t);
  const people = Array.from({ length: 250 }, (_, index) => ({
    email: `r${index}@example.org`,
    variables: { name: `N${index}` },
  }));
  const id = await accept(world, people);
  const cause = causeOfWork(world.processing, 'fan-out-batch', {
    teamId: caller.teamId,
    correlationId: 'request-1',
    causationId: 'x',
  });
  await fanOut(world.deps, { id, cause, signal: new AbortController().signal });
  await world.commands.cancelBatch(caller, id);
  const results = await resultsOf(world, id, 'cancelled');
  t.same(
    results.map(({ place, emailId }) => [place, emailId !== null]),
    people.map((_, place) => [place, place < 200]),
  );
  t.equal(results[0]?.email, 'r0@example.org');
  t.equal(results[249]?.email, null, 'what was personal of it is destroyed');
});

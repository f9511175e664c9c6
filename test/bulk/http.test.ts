/** Bulk sending over HTTP: the batch, the form with recipients, the results. */
import { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import type { BatchResult } from '../../src/api/bulk.js';
import { resultLines, resultWriter } from '../../src/commands/bulk/results.js';
import { bearer, openServer, others, own, type ServerOptions } from '../http/server.js';

const BATCH = own.batch;

// The form of bulk calls: what is wrong is named with its whole path before any command is asked.

type ErrorBody = { code: string; errors?: { field: string; message: string }[] };

const person = (index: number) => ({ email: `r${index}@example.org` });
const people = (count: number) => Array.from({ length: count }, (_, index) => person(index));
const body = (more: Record<string, unknown> = {}) => ({ templateId: 'welcome', recipients: people(2), ...more });

const opened = async (t: { teardown: (done: () => unknown) => void }) => {
  const { app, calls, projecting } = await openServer(t);
  const post = (payload: unknown, headers: Record<string, string> = {}) =>
    app.inject({
      method: 'POST',
      url: '/api/emails/send/bulk',
      headers: { ...bearer('unlimited'), 'content-type': 'application/json', ...headers },
      payload: JSON.stringify(payload),
    });
  return { app, calls, projecting, post };
};

void t.test('from one recipient to a thousand', async (t) => {
  const { calls, post } = await opened(t);
  for (const count of [1, 1_000]) t.equal((await post(body({ recipients: people(count) }))).statusCode, 201);
  const before = calls.length;
  for (const count of [0, 1_001]) {
    const response = await post(body({ recipients: people(count) }));
    t.equal(response.statusCode, 400);
    t.match(response.json(), { code: 'VALIDATION_ERROR', errors: [{ field: 'recipients', message: /./ }] });
  }
  t.equal(calls.slice(before).filter(([name]) => name === 'sendBulk').length, 0);
});

void t.test('what has another form is told by its whole path', async (t) => {
  const { post } = await opened(t);
  const cases: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ recipient: [] }, 'recipient'],
    [{ to: [person(1)] }, 'to'],
    [{ recipients: [person(1), { ...person(2), cc: [] }] }, 'recipients[1].cc'],
    [{ recipients: [person(1), { name: 'x' }] }, 'recipients[1].email'],
    [{ recipients: [{ ...person(1), variables: [] }] }, 'recipients[0].variables'],
    [
      { recipients: [{ ...person(1), attachmentOverrides: [{ attachmentTemplateId: 'a', skip: 'yes' }] }] },
      'recipients[0].attachmentOverrides[0].skip',
    ],
    [
      { recipients: [{ ...person(1), attachmentOverrides: [{ skip: true }] }] },
      'recipients[0].attachmentOverrides[0].attachmentTemplateId',
    ],
    [{ baseVariables: 'x' }, 'baseVariables'],
    [{ attachments: [{ attachmentTemplateId: 'a', content: 'AAAA' }] }, 'attachments[0].content'],
    [
      { attachments: [{ attachmentTemplateId: 'a' }, { attachmentTemplateId: 'b', outputFormats: ['word'] }] },
      'attachments[1].outputFormats[0]',
    ],
    [{ attachments: Array.from({ length: 11 }, (_, at) => ({ attachmentTemplateId: `a${at}` })) }, 'attachments'],
    [{ priority: 'urgent' }, 'priority'],
    [{ batchName: '' }, 'batchName'],
    [{ lines: [2] }, 'lines'],
    [{ lines: [2, 0] }, 'lines[1]'],
    [{ batchName: 'x'.repeat(256) }, 'batchName'],
    [{ dryRun: 'false' }, 'dryRun'],
    [{ scheduledAt: 'tomorrow' }, 'scheduledAt'],
    [{ scheduledAt: '2031-03-30T02:30:00' }, 'scheduledAt'],
    [{ from: { email: 'a@example.org', mail: 'b' } }, 'from.mail'],
    [{ headers: { 'X-One': 1 } }, 'headers.X-One'],
    [{ metadata: [] }, 'metadata'],
    [{ tags: ['a', 1] }, 'tags[1]'],
    [{ templateId: undefined }, 'templateId'],
    [{ recipients: undefined }, 'recipients'],
  ];
  for (const [more, field] of cases) {
    const response = await post(body(more));
    const { code, errors } = response.json<ErrorBody>();
    t.equal(response.statusCode, 400, field);
    t.equal(code, 'VALIDATION_ERROR', field);
    t.ok(
      errors?.some((one) => one.field === field),
      `${field}: ${JSON.stringify(errors)}`,
    );
  }
});

void t.test('a program that read a file tells its lines', async (t) => {
  const { calls, post } = await opened(t);
  t.equal((await post(body({ lines: [2, 9] }))).statusCode, 201);
  t.same(calls.filter(([name]) => name === 'sendBulk').at(-1)?.[4], [2, 9], 'which the results name');
});

void t.test('with dryRun the answer is a report, and nothing is sent', async (t) => {
  const { calls, post } = await opened(t);
  const response = await post(body({ dryRun: true }), { 'idempotency-key': 'k' });
  t.equal(response.statusCode, 200);
  t.match(response.json(), { valid: true });
  t.same(
    calls.map(([name]) => name).filter((name) => name === 'sendBulk' || name === 'dryRunBulk'),
    ['dryRunBulk'],
  );
});

void t.test('the status of a batch that the read models do not know yet is read from its own events', async (t) => {
  const { app, calls, projecting, post } = await opened(t);
  const status = (id: string) =>
    app.inject({ method: 'GET', url: `/api/emails/batch/${id}/status`, headers: bearer('unlimited') });
  t.match((await status(BATCH)).json(), { batchId: BATCH });
  t.notOk(
    calls.some(([name]) => name === 'getBatch'),
    'which the read models spare where they have it',
  );
  projecting.isHeld = true;
  const { batchId } = (await post(body())).json<{ batchId: string }>();
  const response = await status(batchId);
  t.equal(response.statusCode, 200);
  t.match(response.json(), { batchId });
  t.equal(calls.at(-1)?.[0], 'getBatch');
  for (const id of [others.batch, 'x']) {
    const unknown = await status(id);
    t.equal(unknown.statusCode, 404);
    t.match(unknown.json(), { code: 'BATCH_NOT_FOUND' });
  }
});

// Bulk sends whose recipients stand in a file: what is read of it, what is refused, and how its lines are told.

const BOUNDARY = 'xxBOUNDARYxx';
type Part = readonly [name: string, content: string | Buffer, filename?: string | undefined, type?: string | undefined];

const form = (parts: readonly Part[]): Buffer =>
  Buffer.concat([
    ...parts.flatMap(([name, content, filename, type]) => [
      Buffer.from(
        `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${filename === undefined ? '' : `; filename="${filename}"`}${type === undefined ? '' : `\r\nContent-Type: ${type}`}\r\n\r\n`,
      ),
      Buffer.from(content),
      Buffer.from('\r\n'),
    ]),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]);

type Told = Readonly<{
  status: number;
  body: { code?: string; message?: string; errors?: { field: string; message: string }[] };
}>;

const open = async (t: Test, options: ServerOptions = {}) => {
  const server = await openServer(t, options);
  const post = async (parts: readonly Part[], more: Readonly<Record<string, string>> = {}): Promise<Told> => {
    const response = await server.app.inject({
      method: 'POST',
      url: '/api/emails/send/bulk',
      headers: { ...bearer('unlimited'), 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, ...more },
      payload: form(parts),
    });
    return { status: response.statusCode, body: response.json<Told['body']>() };
  };
  const file = (content: string | Buffer, columns?: unknown, request: object = { templateId: 'welcome' }) =>
    post([
      ['request', JSON.stringify(request)],
      ...(columns === undefined ? [] : [['columns', JSON.stringify(columns)] as const]),
      ['file', content, 'r.csv'],
    ]);
  const given = () =>
    server.calls
      .filter(([name]) => name === 'sendBulk')
      .map(([, , request]) => (request as { recipients: unknown }).recipients);
  return { ...server, post, file, given };
};

const ada = { email: 'ada@example.com', name: 'Ada', variables: { seats: 12, city: 'Köln; "Süd"\nB' } };
const ben = { email: 'ben@example.com', variables: { city: 'Bonn' } };

void t.test('CSV by comma, semicolon and tab, with a mark, CRLF, quotes and line breaks; JSON lines', async (t) => {
  const { file, given } = await open(t);
  const rows = (delimiter: string, end: string): string =>
    [
      ['Email', 'name', 'seats', 'city'],
      ['ada@example.com', 'Ada', '12', '"Köln; ""Süd""\nB"'],
      [],
      [' ben@example.com ', '', '', 'Bonn'],
      ['', '', '', ''],
    ]
      .map((cells) => cells.join(delimiter) + end)
      .join('');
  for (const [what, content] of [
    ['comma', rows(',', '\n')],
    ['semicolon, mark, CRLF', `\ufeff${rows(';', '\r\n')}`],
    ['tab', rows('\t', '\n').trimEnd()],
    ['JSON lines', `\ufeff${JSON.stringify(ada)}\r\n\n${JSON.stringify({ ...ben, name: null })}`],
  ] as const) {
    t.equal((await file(content)).status, 201, what);
    t.same(given().at(-1), [ada, ben], what);
  }
});

void t.test('columns are mapped', async (t) => {
  const { file, given } = await open(t);
  const columns = { email: 'E-Mail', name: 'Name', variables: { firstName: 'Vorname', seats: 'Plätze' } };
  await file('Name;Vorname;E-Mail;Plätze;Geheim\nAda L;Ada;ada@example.com;x;1', columns);
  t.same(given().at(-1), [{ email: 'ada@example.com', name: 'Ada L', variables: { firstName: 'Ada', seats: 'x' } }]);
  await file('mail,sprache,zone,locale\na@example.com,de-AT, Europe/Vienna ,x\nb@example.com,,,y', {
    email: 'mail',
    locale: 'sprache',
    timeZone: 'zone',
  });
  t.same(
    given().at(-1),
    [
      { email: 'a@example.com', locale: 'de-AT', timeZone: 'Europe/Vienna', variables: { locale: 'x' } },
      { email: 'b@example.com', variables: { locale: 'y' } },
    ],
    'only a column that is said is the language',
  );
  for (const [wanted, message] of [
    [{ email: 'Mail' }, /`columns\.email` means the column "Mail", which is not there; the file has "Name", "E-Mail"/],
    [{ email: 'E-Mail', variables: { x: 'X' } }, /`columns\.variables\.x` means the column "X"/],
    [{ mail: 'E-Mail' }, /`mail` is not a known field/],
  ] as const)
    t.match(await file('Name;E-Mail\nAda;a@example.com', wanted), {
      status: 400,
      body: { code: 'VALIDATION_ERROR', message },
    });
});

void t.test('the JSON of the call may have a type of its own, or a file name', async (t) => {
  const { post, given } = await open(t);
  const csv = ['file', 'email\na@example.com', 'r.csv', 'text/csv'] as const;
  for (const [filename, type] of [
    [undefined, 'application/json'],
    [undefined, 'application/json; charset=utf-8'],
    ['blob', 'application/json'],
    ['blob', 'application/octet-stream'],
    [undefined, undefined],
  ] as const)
    t.equal(
      (await post([['request', '{"templateId":"welcome"}', filename, type], csv])).status,
      201,
      `${filename} ${type}`,
    );
  t.same(given().at(-1), [{ email: 'a@example.com', variables: {} }]);
  t.match(await post([['request', '{"templateId":', 'blob', 'application/json'], csv]), {
    status: 400,
    body: { message: /`request` is not the JSON/ },
  });
});

void t.test('what is wrong with a file is said in a sentence', async (t) => {
  const { file, post, calls } = await open(t);
  for (const [content, message] of [
    ['', /is empty/],
    ['email,name\n', /has no recipients below its head/],
    ['name\nAda', /`columns\.email` means the column "email", which is not there/],
    ['email,email\na@example.com,b', /has two columns "email"/],
    ['email,\na@example.com,b', /has no name above column 2/],
    ['email,city\n\na@example.com,b,c\n', /has 3 cells in line 3 and 2 in its head/],
    ['[\n{"email":"a@example.com"}\n]', /is a JSON array; write one object a line/],
    ['email,city\na@example.com,"x\n', /is no CSV at line \d+: a quote/],
    [Buffer.from('email,name\nm@example.com,M\xfcller', 'latin1'), /is not UTF-8; save it as/],
    [Buffer.from('\ufeffemail\nm@example.com', 'utf16le'), /is not UTF-8 but UTF-16/],
    ['{"email":"a@example.com"}\n{"email":', /has in line 2 no recipient such as .*ends too early/],
    [`email\n${'a@example.com\n'.repeat(1_001)}`, /has more than 1000 recipients/],
    [`${'{"email":"a@example.com"}\n'.repeat(1_001)}`, /has more than 1000 recipients/],
    [
      `email,${Array.from({ length: 2_000 }, (_, at) => `v${at}`).join(',')}\n`,
      /has more than 504 cells in line 1, the most that is read/,
    ],
  ] as const)
    t.match(await file(content), { status: 400, body: { code: 'VALIDATION_ERROR', message } }, String(message));
  const request = ['request', '{"templateId":"welcome"}'] as const;
  const csv = ['file', 'email\na@example.com', 'r.csv'] as const;
  for (const [parts, message] of [
    [[request], /must have the field `request`/],
    [[csv], /must have the field `request`/],
    [[request, csv, csv], /must have the field `request`/],
    [[request, csv, ['else', 'x']], /must have the field `request`/],
    [[['request', '[]'], csv], /`request` must be a JSON object/],
    [[['request', '{'], csv], /`request` is not the JSON/],
    [[['request', '{"templateId":"welcome","recipients":[]}'], csv], /stands beside a file/],
    [[request, ['columns', '{"email":"x"}'], ['file', '{"email":"a@example.com"}', 'r']], /`columns` is for CSV/],
  ] as const)
    t.match(await post(parts), { status: 400, body: { code: 'VALIDATION_ERROR', message } }, String(message));
  t.match(await post([request, csv], { 'content-type': 'multipart/form-data' }), {
    status: 400,
    body: { code: 'MALFORMED_REQUEST' },
  });
  t.equal(calls.filter(([name]) => name === 'sendBulk').length, 0);
});

void t.test('a file that is too large is read no further', async (t) => {
  const { file } = await open(t, { limits: { bodySizeBytesMax: 5_000 } });
  t.match(await file(`email\n${'a@example.com\n'.repeat(900)}`), {
    status: 400,
    body: { message: /`file` has more than 5000 bytes/ },
  });
});

void t.test('faults of a recipient name the line of the file', async (t) => {
  const { file, post, calls } = await open(t);
  const answer = await file('{"email":"a@example.com"}\n\n{"email":"b@example.com","nam":"B"}');
  t.match(answer.body, { code: 'VALIDATION_ERROR', message: /`recipients\[1\]\.nam \(line 3\)` is not a known field/ });
  t.match(answer.body.errors, [{ field: 'recipients[1].nam', message: /did you mean `name`\? \(line 3\)$/ }]);
  t.match(await file('email\na@example.com', undefined, { templateId: 'welcome', tag: 'x' }), {
    status: 400,
    body: { message: /`tag` is not a known/ },
  });
  const parts: readonly Part[] = [
    ['request', '{"templateId":"welcome"}'],
    ['file', 'email\na@example.com', 'r.csv'],
  ];
  await post(parts, { 'idempotency-key': 'k' });
  await post([['request', ' { "templateId" : "welcome" } '], parts[1]!], { 'idempotency-key': 'k' });
  await post([parts[0]!, ['file', 'email\nb@example.com', 'r.csv']], { 'idempotency-key': 'k' });
  const [first, second, third] = calls
    .filter(([name]) => name === 'sendBulk')
    .map((call) => call[3] as { key: string; canonical: string });
  t.equal(first?.key, 'k');
  t.equal(first?.canonical, second?.canonical, 'the same call and the same bytes');
  t.not(first?.canonical, third?.canonical, 'other bytes');
});

// The results of a bulk send over HTTP: which format, what stands in it, and that it is read no faster than it is
// taken.

const sent: BatchResult = {
  place: 0,
  email: '=1+1@example.com',
  status: 'sent',
  emailId: own.email,
  error: null,
  reply: '250 "OK", taken',
  sentAt: '2030-01-01T12:00:00.000Z',
  deliveredAt: null,
  line: 2,
};
const skipped: BatchResult = {
  ...sent,
  ...{ place: 1, email: null, status: 'skipped', emailId: null, error: '-none', reply: null, sentAt: null, line: 3 },
};

void t.test('a result is a line of JSON or of CSV, and a cell that begins like a formula is none', async (t) => {
  async function* all(): AsyncGenerator<readonly BatchResult[]> {
    yield [];
    yield [sent];
    yield [skipped];
  }
  const written = async (format: 'jsonl' | 'csv'): Promise<string> =>
    (await Readable.from(resultLines(all(), await resultWriter(format))).toArray()).join('');
  t.same(
    (await written('jsonl'))
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line)),
    [sent, skipped],
  );
  t.equal(
    await written('csv'),
    [
      'place,email,status,emailId,error,reply,sentAt,deliveredAt,line',
      `0,'=1+1@example.com,sent,${own.email},,"250 ""OK"", taken",${sent.sentAt},,2`,
      `1,,skipped,,'-none,,,,3`,
      '',
    ].join('\r\n'),
    'the head of the table stands there where the first have another status',
  );
});

const url = `/api/emails/batch/${BATCH}/results`;
const headers = bearer('full');

void t.test('JSON lines or CSV, by the query or by Accept', async (t) => {
  const { app, calls } = await openServer(t);
  const get = (query: string, accept?: string) =>
    app.inject({ url: url + query, headers: { ...headers, ...(accept && { accept }) } });
  const lines = await get('');
  t.equal(lines.statusCode, 200);
  t.equal(lines.headers['content-type'], 'application/x-ndjson; charset=utf-8');
  t.match(JSON.parse(lines.body), { place: 0, status: 'queued', email: 'jane@example.com' });
  const table = await get('?format=csv');
  t.equal(table.headers['content-type'], 'text/csv; charset=utf-8');
  t.match(table.headers['content-disposition'], `filename="batch-${BATCH}.csv"`);
  t.match(table.body, /^place,email,[^\r]*\r\n0,jane@example\.com,queued,[^\r]*\r\n$/);
  for (const [query, accept, type] of [
    ['', 'text/csv', 'text/csv'],
    ['', 'text/csv, application/x-ndjson', 'application/x-ndjson'],
    ['', '*/*', 'application/x-ndjson'],
    ['?format=jsonl', 'text/csv', 'application/x-ndjson'],
    ['?format=csv', 'application/x-ndjson', 'text/csv'],
  ] as const)
    t.equal((await get(query, accept)).headers['content-type'], `${type}; charset=utf-8`, `${query} ${accept}`);
  t.match((await get('?format=csv&status=failed')).body, /^place,[^\r]*\r\n$/, 'the head alone');
  t.same(calls.at(-1)?.slice(2), [BATCH, 'failed']);
  for (const query of ['?format=xml', '?status=nowhere', '?else=1'])
    t.match((await get(query)).json(), { statusCode: 400, code: 'VALIDATION_ERROR' }, query);
  const stranger = await app.inject({ url, headers: bearer('stranger') });
  t.match(stranger.json(), { statusCode: 404, code: 'BATCH_NOT_FOUND' });
  t.match((await app.inject({ url: url.replace(BATCH, 'x'), headers })).json(), {
    statusCode: 404,
    code: 'BATCH_NOT_FOUND',
  });
});

void t.test('a reader who takes nothing more lets nothing more be read', async (t) => {
  let read = 0;
  let isEnded = false;
  async function* all(): AsyncGenerator<readonly BatchResult[]> {
    try {
      for (; read < 10_000; read += 1) yield [{ ...sent, reply: 'x'.repeat(1_000) }];
    } finally {
      isEnded = true;
    }
  }
  const stream = Readable.from(resultLines(all(), await resultWriter('jsonl')), { objectMode: false });
  await new Promise((resolve) => stream.once('readable', resolve));
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
  t.ok(read < 20, `${read} are read`);
  stream.destroy();
  await new Promise((resolve) => stream.once('close', resolve));
  t.equal(isEnded, true, 'and one who goes away ends it');
});

/** Bulk sends whose recipients stand in a file: what is read of it, what is refused, and how its lines are told. */
import t, { type Test } from 'tap';
import { bearer, fakeServer, type FakeOptions } from '../http/fakes.js';

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

const open = async (t: Test, options: FakeOptions = {}) => {
  const server = await fakeServer(options);
  t.teardown(() => server.app.close());
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

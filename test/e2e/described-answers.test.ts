/** Each answer of a whole service matches the API description. `call` of the test client checks every answer. */
import t from 'tap';
import { routesOf } from '../../src/http/index.js';
import { startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { differenceOf } from '../support/described-answers.js';
import { brandFont } from '../support/gallery-fonts.js';
import { png } from '../support/pictures.js';

t.setTimeout(600_000);

const app = await startTestApp({
  isFounded: true,
  dataDir: temporaryDirectory(t),
  settings: { SEALPOST_SMTP_URL: 'mailbox:' },
});
t.teardown(app.stop);

const UNKNOWN = '0192f0c1-2f6e-7c3a-9d1b-5e8a7c6b4d21';
const LONG_AGO = 'startDate=2020-01-01&endDate=2020-01-31';

/** Every list and every set of figures, with the filters of each. */
const readAll = async (): Promise<void> => {
  const lists = routesOf(app.server).filter(
    ({ method, path }) => method === 'GET' && path.startsWith('/api/') && !path.includes(':'),
  );
  for (const { path } of lists) await app.call('GET', path);
  const figures = [
    'overview?',
    `overview?${LONG_AGO}`,
    'overview?tag=order',
    `overview?templateId=${UNKNOWN}`,
    ...['day', 'week', 'month'].map((interval) => `timeseries?interval=${interval}`),
    ...['complained', 'bounced,sent'].map((metrics) => `timeseries?metrics=${metrics}`),
    `timeseries?tag=order&${LONG_AGO}`,
    'templates?sort=bounced',
    `templates?${LONG_AGO}`,
    'tags?sort=complained&limit=1',
    'tags?startDate=2020-02-30',
  ];
  for (const path of figures) await app.call('GET', `/api/analytics/${path}`);
};

void t.test('a difference is found', (t) => {
  const answered = { method: 'GET', path: '/api/assets?limit=1', status: 200, type: 'application/json; charset=utf-8' };
  const page = { page: 1, limit: 20, total: 0, totalPages: 0, totalIsLowerBound: false, nextCursor: null };
  const differenceIn = (more: object, body: object = {}) =>
    differenceOf(app.server, { ...answered, body: JSON.stringify({ data: [], meta: page, ...body }), ...more });
  t.equal(differenceIn({}), undefined);
  t.match(differenceIn({}, { more: 1 }), /additional properties {"additionalProperty":"more"}/);
  t.match(differenceIn({}, { meta: { ...page, total: '0' } }), /\/meta\/total must be integer/);
  t.match(differenceIn({}, { data: [{ id: 'x' }] }), /\/data\/0\/id must match format "uuid"/);
  t.match(differenceIn({ type: 'text/html' }), /is text\/html, and described as application\/json/);
  t.match(differenceIn({ status: 418 }), /418 is not described/);
  t.equal(differenceIn({ path: '/nowhere', status: 404 }), undefined);
  t.end();
});

void t.test('a team that has nothing yet, and one whose mails came to every end', async (t) => {
  await readAll();
  for (const local of ['success', 'bounce', 'complaint', 'delay'])
    await app.send({ to: [{ email: `${local}@simulator.sealpost` }], tags: ['order', local] });
  const { id } = await app.send({ to: [{ email: 'bounce+two@simulator.sealpost' }] });
  const { status } = await app.whenStatus(id, 'bounced');
  t.equal(status, 'bounced');
  await app.whenCaughtUp();
  await readAll();
  for (const part of ['', '/timeline']) await app.call('GET', `/api/emails/${id}${part}`);
});

void t.test('files of the gallery in each state', async (t) => {
  for (const [filename, bytes] of [
    ['logo.png', png],
    ['terms.txt', Buffer.from('Terms')],
    ['brand.ttf', brandFont],
    ['line.svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"><path d="M0 0h4"/></svg>')],
  ] as const) {
    const { status, body } = await app.call<{ id: string }>('POST', '/api/assets', {
      filename,
      content: bytes.toString('base64'),
    });
    t.equal(status, 201, filename);
    const path = `/api/assets/${body.id}`;
    for (const [method, at] of [
      ['GET', path],
      ['GET', `${path}/content`],
      ['DELETE', path],
      ['GET', path],
      ['GET', '/api/assets?deleted=true'],
      ['POST', `${path}/restore`],
    ] as const)
      await app.call(method, at);
  }
  await app.call('GET', '/api/assets');
});

void t.test('templates and their previews', async (t) => {
  const { data } = (await app.call<{ data: { id: string }[] }>('GET', '/api/templates')).body;
  const path = `/api/templates/${data[0]!.id}`;
  await app.call('POST', `${path}/preview`, {});
  await app.call('GET', `${path}/preview`);
  const saved = await app.call<{ warnings: unknown }>('PATCH', path, { description: 'Another' });
  t.same(saved.body.warnings, [], 'there where there is nothing to tell');
  t.notOk('warnings' in (await app.call(`GET`, path)).body, 'told in the answer to a save alone');
  const documents = (
    await app.call<{ data: { id: string; outputFormats: string[] }[] }>('GET', '/api/templates/attachment')
  ).body.data;
  for (const format of ['pdf', 'excel']) {
    const { id } = documents.find(({ outputFormats }) => outputFormats.includes(format))!;
    const preview = await app.call('GET', `/api/templates/attachment/${id}/preview?format=${format}`);
    t.equal(preview.status, 200, format);
  }
});

void t.test('a preview opens in a browser by a link, without a key', async (t) => {
  const link = async (path: string, body?: unknown) => {
    const {
      status,
      body: made,
      text,
    } = await app.call<{ url: string; expiresAt: string }>('POST', `${path}/preview/link`, body);
    t.equal(status, 200, text);
    t.ok(Date.parse(made.expiresAt) > Date.now());
    return new URL(made.url);
  };
  const browse = (url: URL) => app.server.inject({ url: url.pathname });
  const mail = await link('/api/templates/sign-in-code', { variables: { code: 'otters', firstName: 'Ada' } });
  t.match(mail.pathname, /^\/p\/[\w-]+$/);
  t.notMatch(mail.href, 'otters', 'what it shows is sealed');
  const shown = await browse(mail);
  t.equal(shown.statusCode, 200);
  t.match(shown.body, 'otters');
  t.match(shown.headers, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      /^default-src 'none'; img-src.*frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox$/,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-robots-tag': 'noindex, nofollow',
  });
  t.notOk(shown.headers['set-cookie']);
  t.equal((await browse(await link('/api/templates/sign-in-code'))).statusCode, 200, 'the body may be absent');
  const document = await browse(await link('/api/templates/attachment/invoice', { format: 'pdf' }));
  t.match(document, {
    statusCode: 200,
    headers: { 'content-type': 'application/pdf', 'content-disposition': /^inline; / },
  });
  const tooLong = await app.call('POST', '/api/templates/sign-in-code/preview/link', {
    variables: { code: 'x'.repeat(9_000) },
  });
  t.match(tooLong, {
    status: 400,
    body: { code: 'VALIDATION_ERROR', message: /make a link of \d+ bytes; 8192 are the most/ },
  });
  t.match(await app.call('POST', '/api/templates/nowhere/preview/link', {}), {
    status: 404,
    body: { code: 'TEMPLATE_NOT_FOUND' },
  });
  const wrong = await browse(new URL(mail.href.slice(0, -1), mail));
  t.match(wrong, {
    statusCode: 404,
    body: /This preview cannot be shown/,
    headers: { 'content-type': 'text/html; charset=utf-8' },
  });
  t.equal(
    (await app.server.inject({ url: '/api/templates', headers: { authorization: `Bearer ${mail.pathname.slice(3)}` } }))
      .statusCode,
    401,
  );
  await app.call('DELETE', '/api/templates/sign-in-code');
  t.match(await browse(mail), { statusCode: 404, body: /its template is gone/ });
});

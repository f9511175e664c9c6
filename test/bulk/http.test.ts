/** The form of bulk calls: what is wrong is named with its whole path before any command is asked. */
import t from 'tap';
import { BATCH, bearer, fakeServer, NEW_BATCH, OTHERS_EMAIL } from '../http/fakes.js';

type ErrorBody = { code: string; errors?: { field: string; message: string }[] };

const person = (index: number) => ({ email: `r${index}@example.org` });
const people = (count: number) => Array.from({ length: count }, (_, index) => person(index));
const body = (more: Record<string, unknown> = {}) => ({ templateId: 'welcome', recipients: people(2), ...more });

const opened = async (t: { teardown: (done: () => unknown) => void }) => {
  const { app, calls } = await fakeServer();
  t.teardown(() => app.close());
  const post = (payload: unknown, headers: Record<string, string> = {}) =>
    app.inject({
      method: 'POST',
      url: '/api/emails/send/bulk',
      headers: { ...bearer('unlimited'), 'content-type': 'application/json', ...headers },
      payload: JSON.stringify(payload),
    });
  return { app, calls, post };
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
  const { app, calls } = await opened(t);
  const status = (id: string) =>
    app.inject({ method: 'GET', url: `/api/emails/batch/${id}/status`, headers: bearer('unlimited') });
  t.match((await status(BATCH)).json(), { batchId: BATCH });
  t.notOk(
    calls.some(([name]) => name === 'getBatch'),
    'which the read models spare where they have it',
  );
  const response = await status(NEW_BATCH);
  t.equal(response.statusCode, 200);
  t.match(response.json(), { batchId: NEW_BATCH });
  for (const id of [OTHERS_EMAIL, 'x']) {
    const unknown = await status(id);
    t.equal(unknown.statusCode, 404);
    t.match(unknown.json(), { code: 'BATCH_NOT_FOUND' });
  }
});

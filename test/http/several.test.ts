/** POST /api/emails/batch over HTTP: statuses, hostile bodies, things of another team, and the headers of the answer. */
import t from 'tap';
import type { SendEmailsResponse } from '../../src/api/several-emails.js';
import { rateLimits } from '../../src/domain/access/rate-limits.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import type { App } from '../../src/http/server/context.js';
import { bearer, openServer, others, sendBody } from './server.js';

const URL = '/api/emails/batch';

type ErrorBody = Readonly<{ code: string; errors?: readonly Readonly<{ field: string }>[] }>;

const ask = async (app: App, body: unknown, headers: Record<string, string> = {}, token = 'unlimited') => {
  const answer = await app.inject({
    method: 'POST',
    url: URL,
    headers: { ...bearer(token), 'content-type': 'application/json', ...headers },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: answer.statusCode, headers: answer.headers, text: answer.body, body: answer.json<unknown>() };
};

const statuses = (body: unknown) => (body as SendEmailsResponse).results.map(({ status }) => status);
const unknown = { ...sendBody, templateId: 'no-such-template' };

void t.test(
  '201 where an email is accepted, 200 where none is, also for a dry run, 400 with all or none',
  async (t) => {
    const { app } = await openServer(t);
    const some = await ask(app, { emails: [sendBody, unknown, sendBody] });
    t.equal(some.status, 201);
    t.same(statuses(some.body), ['queued', 'refused', 'queued']);
    t.match(some.headers, { 'x-sealpost-position': /^\d+$/ });
    t.match(await ask(app, { emails: [unknown] }), { status: 200, body: { accepted: 0, refused: 1 } });
    const dry = await ask(app, { emails: [sendBody, unknown], dryRun: true });
    t.match(dry, { status: 200, body: { valid: false, accepted: 1, refused: 1, credits: 0 } });
    t.same(statuses(dry.body), ['valid', 'refused']);
    t.match(await ask(app, { emails: [sendBody, unknown], allOrNone: true }), {
      status: 400,
      body: {
        code: 'EMAILS_REFUSED',
        errors: [{ field: 'emails[1]', code: 'ERR_TMPL_002' }],
        relatedInfo: { refused: 1, emails: 2 },
      },
    });
  },
);

void t.test('a repeated call is answered byte for byte, another body under its key is refused', async (t) => {
  const { app } = await openServer(t);
  const body = { emails: [unknown, sendBody, sendBody] };
  const first = await ask(app, body, { 'idempotency-key': 'k' });
  const again = await ask(app, { emails: body.emails }, { 'idempotency-key': 'k' });
  t.equal(first.headers['idempotency-replayed'], undefined);
  t.equal(again.headers['idempotency-replayed'], 'true');
  t.equal(again.text, first.text);
  t.equal(again.status, 201);
  const nulls = { emails: [{ ...unknown, cc: null }, sendBody, sendBody], allOrNone: null };
  t.equal((await ask(app, nulls, { 'idempotency-key': 'k' })).text, first.text, 'null is the same as leaving it out');
  t.match(await ask(app, { emails: [sendBody] }, { 'idempotency-key': 'k' }), {
    status: 400,
    body: { code: 'IDEMPOTENCY_KEY_REUSED' },
  });
  t.match(await ask(app, body, { 'idempotency-key': '' }), { body: { errors: [{ field: 'Idempotency-Key' }] } });
});

void t.test(
  'a template, an attachment template and an asset of another team are unknown, in that email only',
  async (t) => {
    const { app } = await openServer(t);
    const { body, status } = await ask(app, {
      emails: [
        sendBody,
        { ...sendBody, templateId: others.template.id },
        { ...sendBody, attachments: [{ attachmentTemplateId: others.paper.id }] },
        { ...sendBody, attachments: [{ assetId: others.asset }] },
        { ...sendBody, templateId: '99999999-9999-4999-8999-999999999999' },
      ],
    });
    t.equal(status, 201);
    const results = (body as SendEmailsResponse).results;
    t.same(
      results.map(({ error }) => error?.code),
      [undefined, 'ERR_TMPL_002', 'ERR_ATTACH_001', 'ASSET_NOT_FOUND', 'ERR_TMPL_002'],
    );
    const shown = (place: number) => results[place]!.error!.message.replace(/"[^"]*"/, '"x"');
    t.equal(shown(1), shown(4), 'it is not told apart from one that nobody has');
  },
);

void t.test('hostile bodies are refused as a whole, and reach no command', async (t) => {
  const { app, calls } = await openServer(t);
  const before = calls.length;
  const max = defaultLimits.callEmailsMax;
  const many = (count: number) => Array.from({ length: count }, () => sendBody);
  const cases: readonly (readonly [string, unknown, RegExp | string])[] = [
    ['no emails', { emails: [] }, 'emails'],
    ['101 emails', { emails: many(max + 1) }, 'emails'],
    ['no list', {}, 'emails'],
    ['a list alone', [sendBody], ''],
    ['null', { emails: null }, 'emails'],
    ['a null among them', { emails: [sendBody, null] }, 'emails[1]'],
    ['a list of lists', { emails: [[sendBody]] }, 'emails[0]'],
    ['a call in a call', { emails: [{ emails: [sendBody] }] }, /^emails\[0\]/],
    ['an id of an email', { emails: [{ ...sendBody, id: '99999999-9999-4999-8999-999999999999' }] }, 'emails[0].id'],
    ['an Idempotency-Key of an email', { emails: [{ ...sendBody, idempotencyKey: 'k' }] }, 'emails[0].idempotencyKey'],
    ['a dry run of one email', { emails: [{ ...sendBody, dryRun: true }] }, 'emails[0].dryRun'],
    ['no recipients in one', { emails: [sendBody, { ...sendBody, to: [] }] }, 'emails[1].to'],
    ['all or none as a text', { emails: [sendBody], allOrNone: 'true' }, 'allOrNone'],
    ['an unknown field', { emails: [sendBody], mode: 'strict' }, 'mode'],
    ['a prototype', `{"emails":[${JSON.stringify(sendBody)}],"__proto__":{"dryRun":true}}`, /proto/],
  ];
  for (const [name, body, field] of cases) {
    const answer = await ask(app, body);
    t.equal(answer.status, 400, name);
    const { code, errors } = answer.body as ErrorBody;
    t.equal(code, 'VALIDATION_ERROR', name);
    t.ok(
      errors?.some((fault) => (typeof field === 'string' ? fault.field === field : field.test(fault.field))),
      `${name}: ${JSON.stringify(errors)}`,
    );
  }
  const text = (size: number) => `{"emails":[${JSON.stringify({ ...sendBody, metadata: { a: 'x'.repeat(size) } })}]}`;
  t.match(await ask(app, text(defaultLimits.bodySizeBytesMax)), { status: 400, body: { code: 'BODY_TOO_LARGE' } });
  t.match(await ask(app, `${'{"emails":['.repeat(100)}${']}'.repeat(100)}`), { body: { code: 'JSON_TOO_COMPLEX' } });
  t.match(await ask(app, '{"emails":[],"emails":[]}'), { status: 400 });
  t.equal(calls.length, before, 'no command was called');
});

void t.test('a large body is checked apart, and each email of it has its result', async (t) => {
  const { app } = await openServer(t);
  const emails = Array.from({ length: 100 }, (_, place) => ({
    ...sendBody,
    metadata: Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`key${n}`, `${place}`])),
  }));
  const { status, body } = await ask(app, { emails }, { 'idempotency-key': 'large' });
  t.equal(status, 201);
  t.equal((body as SendEmailsResponse).accepted, 100);
  t.equal((await ask(app, { emails }, { 'idempotency-key': 'large' })).headers['idempotency-replayed'], 'true');
});

void t.test('a call counts once in its own limit', async (t) => {
  const { app } = await openServer(t);
  const limit = rateLimits['POST /api/emails/batch'];
  for (let left = limit - 1; left >= 0; left -= 1) {
    const { status, headers } = await ask(app, { emails: [sendBody, sendBody] }, {}, 'full');
    t.match([status, Number(headers['x-ratelimit-remaining'])], [201, left]);
  }
  t.match(await ask(app, { emails: [sendBody] }, {}, 'full'), { status: 429, body: { code: 'RATE_LIMIT_EXCEEDED' } });
  const single = await app.inject({
    method: 'POST',
    url: '/api/emails/send',
    headers: bearer('full'),
    payload: sendBody,
  });
  t.equal(single.statusCode, 201, 'the limit of the send call is another');
});

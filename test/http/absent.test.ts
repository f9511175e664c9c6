/** `null` in an optional field is the same as leaving the field out; anywhere else it is a value, or a fault. */
import t from 'tap';
import type { TSchema } from '@sinclair/typebox';
import { components } from '../../src/api/components.js';
import { SendEmailRequestSchema } from '../../src/api/email.js';
import { omitNulls } from '../../src/http/server/json/omit-nulls.js';
import { bearer, fakeServer } from './fakes.js';

const withoutNulls = (schema: TSchema, text: string): unknown => {
  const value: unknown = JSON.parse(text);
  omitNulls(schema, value);
  return value;
};

void t.test('every request keeps of nothing but nulls what it requires, and what says null itself', async (t) => {
  const requests = Object.entries(components).filter(([name]) => name.endsWith('Request'));
  t.ok(requests.length >= 8);
  for (const [name, { schema }] of requests) {
    const fields = Object.entries(schema['properties'] as Record<string, TSchema>);
    const kept = fields.filter(
      ([field, { anyOf }]) =>
        ((schema['required'] ?? []) as string[]).includes(field) ||
        (anyOf as TSchema[] | undefined)?.some(({ type }) => type === 'null'),
    );
    const nulls = (among: typeof fields) => Object.fromEntries(among.map(([field]) => [field, null]));
    t.same(withoutNulls(schema, JSON.stringify(nulls(fields))), nulls(kept), name);
  }
});

void t.test('fields of nested things too, and no member of a free-form object', async (t) => {
  const nulls = JSON.stringify({
    templateId: 'a',
    to: [{ email: 'a@example.com', name: null }, null],
    from: { email: 'a@example.com', name: null },
    variables: { name: null, inner: { cc: null, list: [null] } },
    metadata: { from: null },
    headers: { 'X-A': null },
    attachments: [{ assetId: 'b', filename: null, variables: { t: null } }],
    constructor: null,
  });
  t.same(withoutNulls(SendEmailRequestSchema, nulls), {
    templateId: 'a',
    to: [{ email: 'a@example.com' }, null],
    from: { email: 'a@example.com' },
    variables: { name: null, inner: { cc: null, list: [null] } },
    metadata: { from: null },
    headers: { 'X-A': null },
    attachments: [{ assetId: 'b', variables: { t: null } }],
    constructor: null,
  });
  for (const text of ['null', '[]', '7', '[null]', '{"to":null,"cc":7,"attachments":{"filename":null}}'])
    t.same(
      withoutNulls(SendEmailRequestSchema, text),
      text.startsWith('{') ? { to: null, cc: 7, attachments: { filename: null } } : JSON.parse(text),
    );
});

void t.test('a request with nulls is the request without them', async (t) => {
  const { app, calls } = await fakeServer();
  t.teardown(() => app.close());
  const ask = async (method: 'POST' | 'PATCH', url: string, body: unknown) => {
    const { statusCode } = await app.inject({
      method,
      url,
      headers: { ...bearer('unlimited'), 'content-type': 'application/json', 'idempotency-key': 'k' },
      payload: JSON.stringify(body),
    });
    return [statusCode, calls.at(-1)?.slice(2)];
  };
  const plain = { templateId: 'welcome', to: [{ email: 'jane@example.com' }], variables: { a: null } };
  const nulls = {
    from: null,
    cc: null,
    bcc: null,
    replyTo: null,
    subject: null,
    attachments: null,
    tags: null,
    version: null,
  };
  const sent = await ask('POST', '/api/emails/send', {
    ...nulls,
    ...plain,
    to: [{ email: 'jane@example.com', name: null }],
  });
  t.same(sent, [201, [plain, { key: 'k', body: plain }]], 'the command and the fingerprint see neither');
  t.same(sent, await ask('POST', '/api/emails/send', plain));
  t.equal(
    (await ask('POST', '/api/emails/send', { ...plain, templateId: null }))[0],
    400,
    'what is required is not optional',
  );
  t.equal((await ask('PATCH', '/api/templates/welcome', { description: null }))[0], 400, 'nothing is left to change');
  t.same(await ask('PATCH', '/api/templates/welcome', { description: null, from: null, variables: null }), [
    200,
    ['welcome', { from: null }],
  ]);
});

/** Answers of the API: what is absent, ETags, findings, names that are escaped, a store that is away. */
import type { TSchema } from '@sinclair/typebox';
import fc from 'fast-check';
import Fastify from 'fastify';
import t, { type Test } from 'tap';
import { components } from '../../src/api/components.js';
import { SendEmailRequestSchema } from '../../src/api/email.js';
import { addressRateLimits } from '../../src/domain/access/rate-limits.js';
import { DomainError, AppendUnknown, StoreAway } from '../../src/domain/core/errors.js';
import { type JsonObject, isJsonObject, type Json } from '../../src/domain/core/json.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { buildServer, openApiDocument, routesOf, type HttpDeps } from '../../src/http/index.js';
import { expectedRevisions } from '../../src/http/server/headers.js';
import { parseJsonBody } from '../../src/http/server/json/body.js';
import { omitNulls } from '../../src/http/server/json/omit-nulls.js';
import { ajvOptions, ownFormats } from '../../src/http/server/validation.js';
import { schemaSaying } from '../support/command-world.js';
import { bearer, memoryMailbox, openServer, own } from './server.js';
import { credentialFor, requestTo } from './request-to.js';

// `null` in an optional field is the same as leaving the field out; anywhere else it is a value, or a fault.

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
  const { app, calls } = await openServer(t);
  const ask = async (method: 'POST' | 'PATCH', url: string, body: unknown) => {
    const { statusCode } = await app.inject({
      method,
      url,
      headers: { ...bearer('unlimited'), 'content-type': 'application/json', 'idempotency-key': 'k' },
      payload: JSON.stringify(body),
    });
    return [statusCode, calls.at(-1)?.slice(2, 4)];
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

// Entity tags: what `If-Match` may say, and that changes of templates are handed on for the revisions that it names.

const revisionsOf = (header: string | undefined) =>
  expectedRevisions({ headers: header === undefined ? {} : { 'if-match': header } });

void t.test('the header names revisions, compared strongly', async (t) => {
  for (const any of [undefined, '*', ' * ']) t.equal(revisionsOf(any), undefined, String(any));
  for (const [header, revisions] of [
    ['"7"', [7]],
    ['"7", "8"', [7, 8]],
    ['"7","8" ,, \t"0"', [7, 8, 0]],
    ['W/"7"', []],
    ['W/"7", "8"', [8]],
    ['"abc", "7x", "-1", ""', []],
    [`"${'9'.repeat(40)}"`, []],
  ] as const)
    t.same(revisionsOf(header), revisions, header);
  for (const wrong of [
    '',
    ',',
    '7',
    '"7',
    '7"',
    '*, "7"',
    '"7" "8"',
    'w/"7"',
    '"a b"',
    '"a\u0001"',
    `${'"7",'.repeat(2_000)}x`,
  ])
    t.throws(
      () => revisionsOf(wrong),
      { constructor: DomainError, code: 'VALIDATION_ERROR', details: { errors: [{ field: 'If-Match' }] } },
      wrong,
    );
});

void t.test(
  'answers with a template carry its tag, and changes are made for the revisions of the header',
  async (t) => {
    const { app, calls, renew } = await openServer(t);
    const ask = async (
      method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
      url: string,
      body?: unknown,
      headers: Record<string, string> = {},
    ) => {
      const response = await app.inject({
        method,
        url,
        headers: {
          ...bearer('unlimited'),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
      });
      return [response.statusCode, response.headers['etag']];
    };
    const create = { name: 'n', subject: 's', schema: schemaSaying('n') };
    const pages = [{ pageId: 'p', pageName: 'P', sections: create.schema.sections }];
    const paper = { name: 'n', schema: { outputFormats: ['pdf'], pages } };
    t.same(await ask('POST', '/api/templates', create), [201, '"1"']);
    t.same(await ask('POST', '/api/templates/attachment', paper), [201, '"1"']);
    t.same(await ask('POST', '/api/templates/attachment/import', { ...paper, name: 'o' }), [201, '"2"']);
    for (const [root, name, id] of [
      ['/api/templates/', 'Template', own.template.id],
      ['/api/templates/attachment/', 'AttachmentTemplate', own.paper.id],
      ['/api/blocks/', 'Block', own.block.id],
    ] as const) {
      const path = `${root}welcome`;
      const changes = [
        ['PATCH', path, { name: 'm' }, `update${name}`, ['welcome', { name: 'm' }]],
        ['POST', `${path}/publish`, undefined, `publish${name}`, ['welcome']],
        ['POST', `${path}/versions/1/restore`, undefined, `restore${name}Version`, ['welcome', '1']],
        ['DELETE', path, undefined, `delete${name}`, ['welcome']],
      ] as const;
      for (const [method, url, body, command, args] of changes) {
        await renew();
        const [status, tag] = await ask('GET', path);
        t.equal(status, 200);
        t.match(tag, /^"\d+"$/);
        const revision = Number(String(tag).slice(1, -1));
        t.same(await ask(method, url, body, { 'if-match': `"${revision + 5}"` }), [400, undefined], `${method} ${url}`);
        t.same(calls.at(-1)?.slice(2, 3 + args.length), [...args, [revision + 5]]);
        const before = calls.length;
        t.same(await ask(method, url, body, { 'if-match': '7' }), [400, undefined]);
        t.equal(calls.length, before);
        const changed = await ask(method, url, body, { 'if-match': `${String(tag)}, W/"8"` });
        t.match(changed, [200, method === 'DELETE' ? undefined : /^"\d+"$/], `${method} ${url}`);
        t.same([calls.at(-1)?.[0], calls.at(-1)?.slice(2, 3 + args.length)], [command, [...args, [revision]]]);
      }
      t.match(await ask('POST', `${root}${id}/restore`), [200, /^"\d+"$/], 'its body may be absent');
      t.same(calls.at(-1)?.slice(2), [id, {}]);
      t.same(await ask('GET', `${path}/versions/1`), [200, undefined]);
      t.same(await ask('POST', `${path}/restore`, { slug: 'x', a: 1 }), [400, undefined]);
    }
  },
);

// The findings of a body are counted while they are made: what is wrong a hundred thousand times costs what 200
// findings cost.

const FINDINGS_MAX = 200;

/** In: a schema. Out: its check as the server makes it. */
const checkOf = async (t: Test, schema: JsonObject): Promise<(value: unknown) => number | undefined> => {
  const app = Fastify({ ajv: { customOptions: ajvOptions, onCreate: ownFormats } });
  t.teardown(() => app.close());
  const check = await new Promise<(value: unknown) => number | undefined>((resolve, reject) => {
    app.get('/', (request, reply) => {
      const validate = request.compileValidationSchema(schema);
      resolve((value) => (validate(value) ? undefined : (validate.errors?.length ?? 0)));
      return reply.send();
    });
    app.inject('/').catch(reject);
  });
  return check;
};

/** An array that counts how many of its elements were read. */
const counted = (elements: readonly unknown[]) => {
  let reads = 0;
  const array = new Proxy(elements, {
    get: (target, name, receiver): unknown => {
      if (typeof name === 'string' && /^\d+$/.test(name)) reads += 1;
      return Reflect.get(target, name, receiver);
    },
  });
  return { array, reads: () => reads };
};

void t.test('characters are counted, not their units, wherever the limits are', async (t) => {
  const bounds = [0, 1, 2, 3, 5, 8];
  const checks = await Promise.all(
    bounds.flatMap((minLength) =>
      bounds.map(async (maxLength) => ({
        minLength,
        maxLength,
        check: await checkOf(t, { type: 'object', properties: { a: { type: 'string', minLength, maxLength } } }),
      })),
    ),
  );
  const characters = fc.constantFrom('a', 'é', '€', '😀', '\ud83d', '\ude00', '\u0301');
  fc.assert(
    fc.property(fc.array(characters, { maxLength: 12 }), (units) => {
      const text = units.join('');
      const { length } = [...text];
      for (const { minLength, maxLength, check } of checks) {
        const faults = Number(length < minLength) + Number(length > maxLength);
        t.equal(check({ a: text }), faults === 0 ? undefined : faults, `${minLength} to ${maxLength}`, { text });
      }
    }),
    { numRuns: 60 },
  );
});

void t.test('of wrong elements no more are read than are found', async (t) => {
  const check = await checkOf(t, { type: 'object', properties: { ids: { type: 'array', items: { type: 'string' } } } });
  const wrong = counted(Array.from({ length: 98_000 }, () => 1));
  t.equal(check({ ids: wrong.array }), FINDINGS_MAX);
  t.equal(wrong.reads(), FINDINGS_MAX);
  t.equal(
    check({ ids: Array.from({ length: 98_000 }, () => 'a') }),
    undefined,
    'what is right is right, however much it is',
  );
  t.equal(check({ ids: Array.from({ length: 40 }, () => 1) }), 40, 'few are all found');
});

void t.test('unknown names and schemas that others refer to end as early', async (t) => {
  const names = await checkOf(t, { type: 'object', properties: {}, additionalProperties: false });
  t.equal(names(Object.fromEntries(Array.from({ length: 98_000 }, (_, at) => [`k${at}`, 1]))), FINDINGS_MAX);
  const referring = await checkOf(t, {
    type: 'array',
    items: { $ref: '#/definitions/named' },
    definitions: {
      named: { type: 'object', required: ['a', 'b'], properties: { tree: { $ref: '#/definitions/named' } } },
    },
  });
  const wrong = counted(Array.from({ length: 98_000 }, () => ({})));
  t.equal(referring(wrong.array), FINDINGS_MAX);
  t.equal(wrong.reads(), FINDINGS_MAX / 2);
});

void t.test('a time of megabytes is refused without being taken apart', async (t) => {
  const check = await checkOf(t, { type: 'string', format: 'date-time' });
  const lengths: number[] = [];
  const { split } = String.prototype;
  String.prototype.split = function (this: string, ...args: Parameters<typeof split>) {
    lengths.push(this.length);
    return split.apply(this, args);
  } as typeof split;
  t.teardown(() => void (String.prototype.split = split));
  const found = [
    check('2030-01-31T09:30:00Z'),
    check('2030-01-31T09:30:00.123456789+05:30'),
    check('2030-02-30T00:00:00Z'),
    check(' '.repeat(9_000_000)),
  ];
  String.prototype.split = split;
  t.same(found, [undefined, undefined, 1, 1]);
  t.ok(
    lengths.every((length) => length < 100),
    'only short texts were split',
  );
});

void t.test('a union of plain values, any number of times', async (t) => {
  const check = await checkOf(t, { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'integer' }] } });
  t.equal(
    check(Array.from({ length: 10_000 }, (_, at) => at)),
    undefined,
    'what the second branch takes is no finding',
  );
  t.equal(check(Array.from({ length: 10_000 }, () => true)), FINDINGS_MAX);
});

// Names of members that are written with an escape are read as they are, or refused; never as another name.

const read = (text: string): unknown => parseJsonBody(Buffer.from(text), defaultLimits);

/** As serializers write that keep to ASCII. */
const ascii = (text: string): string =>
  [...text].map((unit) => (unit > '~' ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}` : unit)).join('');

const refused = /is not allowed as a name/;

void t.test('one character outside of ASCII, written as an escape', (t) => {
  const name = fc.constantFrom('名', 'é', 'ж', 'a', 'b0', '/');
  fc.assert(
    fc.property(fc.dictionary(name, fc.constantFrom(0, 'x', [{ 名: 1 }]), { noNullPrototype: true }), (object) => {
      const plain = JSON.stringify(object);
      // From then on the parser knows objects that have a backslash for a name in this place.
      JSON.parse(plain.replace(/[名éж]/g, '\\\\'));
      for (const text of [plain, ascii(plain), ascii(plain).replaceAll('/', '\\/')])
        if (JSON.stringify(read(text)) !== plain) throw new Error(`${text} was read as ${JSON.stringify(read(text))}`);
    }),
    { numRuns: 3_000 },
  );
  t.end();
});

/**
 * The text with which V8 compares a name: as many of its letters, in their written form, as the name has after parsing.
 */
const mistaken = (name: string): string => ascii(name).slice(0, name.length);

void t.test('names of which some characters are written as escapes', (t) => {
  const name = fc.string({ unit: fc.constantFrom('名', 'é', 'a', '/', '7'), minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.dictionary(name, fc.constantFrom(0, 'x\n', '":'), { noNullPrototype: true }), (object) => {
      const plain = JSON.stringify(object);
      // From then on the parser knows objects that have in each place the name that it may mistake another for.
      JSON.parse(
        JSON.stringify(Object.fromEntries(Object.entries(object).map(([key, value]) => [mistaken(key), value]))),
      );
      for (const text of [plain, ascii(plain), ascii(plain).replaceAll('/', '\\/')])
        if (JSON.stringify(read(text)) !== plain) throw new Error(`${text} was read as ${JSON.stringify(read(text))}`);
    }),
    { numRuns: 3_000 },
  );
  t.end();
});

void t.test('one character that only an escape can write', async (t) => {
  for (const name of ['"', '\\', '\n', '\t', '\u0000'])
    for (const text of [JSON.stringify({ a: { [name]: 1 } }), `{ "a": {"b":1, ${JSON.stringify(name)} :1}}`])
      t.throws(() => read(text), { message: refused }, text);
  t.throws(() => read('{"\\u0022":1}'), { message: refused });
});

void t.test('a character that only an escape can write, among others', async (t) => {
  for (const value of [
    { 'x"\n': 1 },
    { '\\\\': 1 },
    { 'a"': '":' },
    { '\n\n': 1 },
    { b: [{ '\\u': 1 }] },
    { a: { ['n\u0000']: 1 } },
  ])
    for (const blank of [undefined, '\t'])
      t.throws(() => read(JSON.stringify(value, undefined, blank)), { message: refused }, JSON.stringify(value));
});

void t.test('what only looks like it', async (t) => {
  for (const value of [
    { a: '"\n":' },
    { a: '\n', b: ['"', '\\', '\\\\":'] },
    ['\n":', { a: '\\' }],
    { a: '\\"', b: '\\":' },
  ]) {
    const text = JSON.stringify(value);
    t.same(read(text), value, text);
    t.same(read(JSON.stringify(value, undefined, '\n ')), value, text);
  }
});

void t.test('where texts are names, it says how they are written', async (t) => {
  t.throws(() => read(JSON.stringify({ translations: { de: { '<p style="">Sum</p>': '' } } })), {
    message: /in `translations` write ' for "/,
  });
  t.throws(() => read(JSON.stringify({ variables: { '"': '' } })), { message: /character; leave it out/ });
});

// While a store is away every endpoint that asks it answers 503 with Retry-After, and nobody is taken for a guesser of
// keys.

const away = (): never => {
  throw new StoreAway('the log does not answer');
};

/** The functions, each of which finds the store away. */
const allAway = <Part extends object>(part: Part, kept: readonly string[] = []): Part =>
  Object.fromEntries(
    Object.entries(part).map(([name, member]) => [
      name,
      typeof member === 'function' && !kept.includes(name)
        ? async () => away()
        : typeof member === 'object' && member !== null && !kept.includes(name)
          ? allAway(member as object)
          : member,
    ]),
  ) as Part;

void t.test(
  'a key that cannot be looked up is answered 503, however often, and works from the same address afterwards',
  async (t) => {
    const { deps } = await openServer(t);
    let fault: Error | undefined = new StoreAway('the log does not answer');
    const authenticate: HttpDeps['commands']['authenticate'] = async (...given) => {
      if (fault !== undefined) throw fault;
      return deps.commands.authenticate(...given);
    };
    const app = await buildServer({ ...deps, commands: { ...deps.commands, authenticate } });
    t.teardown(() => app.close());
    const call = async () => app.inject({ url: '/api/emails', headers: bearer('unlimited') });
    for (let calls = 0; calls < 2 * addressRateLimits.failedPerMinute; calls += 1) {
      const { statusCode, headers, body } = await call();
      t.match(
        { statusCode, headers, body },
        { statusCode: 503, headers: { 'retry-after': '5' }, body: '"code":"STORE_AWAY"' },
      );
    }
    fault = new AppendUnknown('apiKey-x', new Error('the answer was lost'));
    const open = await call();
    t.match(open.json(), { statusCode: 503, code: 'STORE_AWAY' }, 'of the request itself nothing has begun');
    fault = undefined;
    t.equal((await call()).statusCode, 200);
    t.equal(
      (await app.inject({ url: '/api/emails', headers: bearer('no key') })).statusCode,
      401,
      'the window of the address is not full',
    );
  },
);

void t.test('every endpoint: 503 with Retry-After, or an answer that needs no store', async (t) => {
  const mailbox = memoryMailbox();
  const { deps } = await openServer(t, { mailbox: allAway(mailbox) });
  const app = await buildServer({
    ...deps,
    commands: allAway(deps.commands, ['authenticate']),
    queries: allAway(deps.queries),
    oauth: allAway(deps.oauth),
    exportAudit: async () => away(),
  });
  t.teardown(() => app.close());
  const routes = routesOf(app).filter(({ access }) => access !== 'public');
  let refused = 0;
  for (const [index, route] of routes.entries()) {
    const { statusCode, headers, body } = await app.inject({
      ...requestTo(route, credentialFor(route)),
      remoteAddress: `192.0.2.${index}`,
    });
    const name = `${route.method} ${route.path}: ${statusCode} ${body.slice(0, 200)}`;
    if (statusCode < 300) continue;
    refused += 1;
    t.equal(statusCode, 503, name);
    t.equal(headers['retry-after'], '5', name);
  }
  t.ok(refused > 100, `${refused} of ${routes.length} endpoints ask a store`);
});

void t.test('the API description has 503 at every operation', async (t) => {
  const { app } = await openServer(t, { mailbox: memoryMailbox() });
  const object = (value: Json | undefined): JsonObject => (value !== undefined && isJsonObject(value) ? value : {});
  const document = openApiDocument(app);
  const shared = object(object(object(document['components'])['responses'])['ServiceUnavailable']);
  for (const [path, item] of Object.entries(object(document['paths'])))
    for (const [method, operation] of Object.entries(object(item))) {
      const response = object(object(object(operation)['responses'])['503']);
      const described = '$ref' in response ? shared : response;
      t.type(described['description'], 'string', `${method} ${path}`);
      if (path !== '/health/ready') t.ok('Retry-After' in object(described['headers']), `${method} ${path}`);
    }
});

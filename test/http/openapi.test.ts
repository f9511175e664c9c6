/** The API description: complete, free of loose ends, and true. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { KindGuard } from '@sinclair/typebox';
import t from 'tap';
import { causeOf } from '../../src/commands/core/caller.js';
import { commandCodes } from '../../src/commands/index.js';
import { makeSignInLink } from '../../src/commands/people/sign-in-links.js';
import { addressRateLimits } from '../../src/domain/access/rate-limits.js';
import { DomainError, type ErrorCode } from '../../src/domain/core/errors.js';
import { isJsonObject, type Json, type JsonObject } from '../../src/domain/core/json.js';
import { statusOf } from '../../src/http/server/errors.js';
import { buildServer, openApiDocument, routesOf } from '../../src/http/index.js';
import { sampleTemplates } from '../support/samples.js';
import { templateDefinitions, templateJsonSchema } from '../../src/api/templates/json-schema.js';
import { components, schemaFiles } from '../../src/api/components.js';
import { sendExamples } from '../../src/api/examples.js';
import { asSent, credentialFor, requestTo } from './request-to.js';
import { mailsIn } from '../support/account-world.js';
import { caller } from '../support/command-world.js';
import { formats } from '../support/described-answers.js';
import { PASSWORD } from '../support/people.js';
import { bearer, memoryMailbox, openServer, USER } from './server.js';

const object = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** Every value in the document with its path. */
const walk = function* (value: Json, path: readonly string[] = []): Generator<readonly [readonly string[], Json]> {
  yield [path, value];
  const members = Array.isArray(value)
    ? (value as readonly Json[]).map((member, index) => [String(index), member] as const)
    : Object.entries(object(value));
  for (const [key, member] of members) yield* walk(member, [...path, key]);
};

const resolve = (document: JsonObject, reference: string): Json | undefined =>
  reference
    .slice(2)
    .split('/')
    .reduce<Json | undefined>((found, part) => object(found)[part], document);

void t.test(
  'the document is written once, whoever asks how often, and a network gets it a few times a minute',
  async (t) => {
    const { app } = await openServer(t);
    const { stringify } = JSON;
    t.teardown(() => (JSON.stringify = stringify));
    let written = 0;
    JSON.stringify = ((...given: Parameters<typeof stringify>) => {
      if (object(given[0] as Json)['openapi'] !== undefined) written += 1;
      return stringify(...given);
    }) as typeof stringify;
    const paths = ['/openapi.json', '/docs/json', '/docs/yaml', '/docs/static/swagger-ui-bundle.js'];
    for (let index = 0; index < addressRateLimits.largePerMinute; index += 1)
      t.equal((await app.inject(paths[index % paths.length]!)).statusCode, 200);
    t.equal(written, 2, 'once to copy what the plugin made, once for all readers');
    const refused = await app.inject('/openapi.json');
    t.match(refused.headers, { 'x-ratelimit-limit': String(addressRateLimits.largePerMinute) });
    t.equal(refused.statusCode, 429);
    t.equal((await app.inject('/docs/yaml')).statusCode, 429);
    t.equal((await app.inject('/health/live')).statusCode, 200);
  },
);

void t.test('the reader brings colours with contrast, and names for what Swagger UI leaves without one', async (t) => {
  const { app } = await openServer(t);
  const page = await app.inject('/docs/');
  t.match(page.headers['content-security-policy'], /script-src 'self'/);
  for (const [tag, path, text] of [
    [
      /<link [^>]*href="\.\/static\/theme\/theme\.css"/,
      '/docs/static/theme/theme.css',
      '.opblock-post .opblock-summary-method { background: #1f7145 }',
    ],
    [/<script src="\.\/static\/theme\/theme\.js"/, '/docs/static/theme/theme.js', "'#servers', () => 'Server'"],
  ] as const) {
    t.match(page.body, tag);
    t.match(await app.inject(path), { statusCode: 200, body: text });
  }
});

void t.test('the document', async (t) => {
  const { app } = await openServer(t, { mailbox: memoryMailbox() });
  const document = openApiDocument(app);
  t.match(document, {
    openapi: '3.1.0',
    info: { title: 'sealpost', version: '1.2.3' },
    servers: [{ url: 'http://127.0.0.1:3000' }],
  });
  t.same((await app.inject('/openapi.json')).json(), document);
  t.same((await app.inject('/docs/json')).json(), document);
  const yaml = await app.inject('/docs/yaml');
  t.match(yaml.headers, { 'content-type': 'application/yaml; charset=utf-8' });
  t.same(JSON.parse(yaml.body), document, 'JSON is YAML');

  void t.test(
    'has no union in which many members of one value are looked at twice: the check of a body ends at so many findings of one',
    async (t) => {
      // The domain checks the content of templates, within a budget of its own.
      const checkedElsewhere = new Set(Object.keys(templateDefinitions((name) => ({ $ref: name }))));
      const isPlain = (branch: Json): boolean =>
        /^(string|number|integer|boolean|null)$/.test(String(object(branch)['type']));
      const unions = [...walk(document)].filter(
        ([path]) =>
          ['anyOf', 'oneOf'].includes(path.at(-1) ?? '') &&
          !(path[1] === 'schemas' && checkedElsewhere.has(path[2] ?? '')),
      );
      t.ok(unions.length > 0);
      // A value is an object or an array, so the members of one branch alone are looked at.
      for (const [path, union] of unions) {
        const types = (union as readonly Json[])
          .filter((branch) => !isPlain(branch))
          .map((branch) => String(object(branch)['type']));
        t.equal(new Set(types).size, types.length, path.join('.'));
      }
    },
  );

  void t.test('has every route of the API, and nothing else', async (t) => {
    const described = Object.entries(object(document['paths'])).flatMap(([path, item]) =>
      Object.keys(object(item)).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const pages = new Set([
      'GET /',
      'GET /app',
      'GET /app/*',
      'GET /app/frame',
      'GET /openapi.json',
      'GET /mailbox',
      'GET /mailbox/app.css',
      'GET /mailbox/app.js',
      'GET /mailbox/messages/{id}/html',
      'GET /p/{token}',
      'GET /u/{token}',
      'GET /u/{token}/',
      'POST /u/{token}',
      'POST /u/{token}/',
      'GET /t/o/{token}',
      'GET /t/c/{token}',
      // Described by RFC 8414 itself.
      'GET /llms.txt',
      'GET /.well-known/oauth-authorization-server',
      // Described by the Model Context Protocol.
      ...['GET', 'POST', 'DELETE'].map((method) => `${method} /mcp`),
      ...['', '/verify', '/reset', '/address', '/invitation', '/apps'].flatMap((page) => [
        `GET /account${page}`,
        `POST /account${page}`,
      ]),
      'GET /account/link/{provider}',
      'POST /account/link/{provider}',
      'POST /account/sign-in/code',
      'GET /api/auth/oidc/{provider}/start',
      'GET /api/auth/oidc/{provider}/callback',
      'GET /oauth/authorize',
      'POST /oauth/authorize',
      'POST /oauth/token',
      'POST /oauth/revoke',
      'GET /.well-known/oauth-protected-resource',
      'GET /.well-known/oauth-protected-resource/mcp',
      'GET /oauth/device',
      'POST /oauth/device',
      'POST /oauth/device_authorization',
      'POST /oauth/introspect',
      'POST /oauth/register',
    ]);
    const registered = routesOf(app)
      .map(({ method, path }) => `${method} ${path.replace(/:([a-zA-Z]+)/g, '{$1}')}`)
      .filter((name) => !name.includes('/docs') && !pages.has(name));
    t.same(described.sort(), registered.sort());
  });

  void t.test('every reference resolves, every component is used', async (t) => {
    const references = new Set<string>();
    for (const [path, value] of walk(document)) {
      const reference = isJsonObject(value) ? value['$ref'] : undefined;
      if (typeof reference !== 'string') continue;
      references.add(reference);
      t.ok(
        reference.startsWith('#/') && resolve(document, reference) !== undefined,
        `${path.join('.')} → ${reference}`,
      );
    }
    for (const kind of ['schemas', 'responses', 'headers', 'parameters']) {
      for (const name of Object.keys(object(object(document['components'])[kind])))
        t.ok(references.has(`#/components/${kind}/${name}`), `${kind}/${name} is used`);
    }
  });

  void t.test('every body and every answer refers to a named schema, or has no members', (t) => {
    const contents = [
      ...Object.values(object(document['paths'])),
      ...Object.values(object(document['webhooks'])),
      { shared: { responses: object(document['components'])['responses'] ?? {} } },
    ].flatMap((item) =>
      Object.values(object(item)).flatMap((operation) => {
        const { requestBody, responses, operationId } = object(operation);
        return [requestBody, ...Object.values(object(responses))].flatMap((one) =>
          Object.entries(object(object(one)['content'])).map(
            ([type, content]) => [`${String(operationId)}: ${type}`, object(object(content)['schema'])] as const,
          ),
        );
      }),
    );
    t.ok(contents.length > 200);
    for (const [name, schema] of contents) {
      if (schema['format'] === 'binary') continue;
      t.match(
        schema['$ref'],
        /^#\/components\/schemas\/[A-Z]\w+$/,
        `${name}: its schema is a constant \`…Schema\` of src/api, with a line in src/api/components.ts`,
      );
    }
    t.end();
  });

  void t.test('no two exported schemas have one name, nor a component the name of a part of a template', async (t) => {
    const constants = Object.values(schemaFiles).flatMap((file) =>
      Object.entries(file).flatMap(([name, value]) =>
        /[a-z]Schema$/.test(name) && KindGuard.IsSchema(value) ? [name] : [],
      ),
    );
    t.same(
      constants.filter((name, place) => constants.indexOf(name) !== place),
      [],
    );
    t.ok(constants.length > 100);
    const parts = Object.keys(templateDefinitions((name) => ({ $ref: name })));
    for (const name of parts) t.notOk(name in components, name);
  });

  void t.test('no schema has a name that generated clients give to what an operation takes and answers', (t) => {
    const schemas = Object.keys(object(object(document['components'])['schemas']));
    const operations = Object.values(object(document['paths'])).flatMap((item) =>
      Object.values(object(item)).map((operation) => String(object(operation)['operationId']).toLowerCase()),
    );
    const taken = new Set(
      operations.flatMap((name) => ['data', 'response', 'responses', 'error', 'errors'].map((end) => `${name}${end}`)),
    );
    t.same(
      schemas.filter((name) => taken.has(name.toLowerCase())),
      [],
    );
    t.end();
  });

  void t.test('bodies of templates refer to what a template consists of, as the files for editors have it', (t) => {
    const schemas = object(object(document['components'])['schemas']);
    const bodies: readonly (readonly ['email' | 'attachment', string])[] = [
      ...['CreateTemplateRequest', 'ImportTemplateRequest', 'UpdateTemplateRequest'].map(
        (name) => ['email', name] as const,
      ),
      ...['CreateAttachmentTemplateRequest', 'ImportAttachmentTemplateRequest', 'UpdateAttachmentTemplateRequest'].map(
        (name) => ['attachment', name] as const,
      ),
    ];
    for (const [kind, name] of bodies) {
      const file = JSON.parse(
        JSON.stringify(templateJsonSchema(kind)).replaceAll('#/definitions/', '#/components/schemas/'),
      ) as JsonObject;
      const [shown, expected] = [object(object(schemas[name])['properties']), object(file['properties'])];
      for (const member of ['variables', 'schema']) t.same(shown[member], expected[member], `${name}.${member}`);
      t.same(object(schemas[name])['patternProperties'], { '^\\$schema$': expected['$schema'] }, name);
      for (const [definition, schema] of Object.entries(object(file['definitions'])))
        t.same(schemas[definition], schema, definition);
    }
    t.end();
  });

  void t.test('every operation says what it needs, what it is called, and how it fails', async (t) => {
    const ids = new Set<Json | undefined>();
    for (const route of routesOf(app)) {
      const path = route.path.replace(/:([a-zA-Z]+)/g, '{$1}');
      const operation = object(object(object(document['paths'])[path])[route.method.toLowerCase()]);
      if (operation['operationId'] === undefined) continue;
      const name = `${route.method} ${path}`;
      t.notOk(ids.has(operation['operationId']), `${name}: its operationId is its own`);
      ids.add(operation['operationId']);
      t.match(operation, { summary: /./, description: /Needs/, tags: [/./] }, name);
      const keyed = route.access !== 'public';
      t.same(
        operation['security'],
        keyed ? [{ apiKey: [] }, { browser: [] }, ...(path.startsWith('/mailbox') ? [{ mailbox: [] }] : [])] : [],
        name,
      );
      const statuses = Object.keys(object(operation['responses']));
      for (const status of [
        '400',
        '403',
        '429',
        '500',
        ...(keyed ? ['401'] : []),
        ...(route.unknownId === undefined ? [] : ['404']),
      ])
        t.ok(statuses.includes(status), `${name}: ${status}`);
      t.ok(
        statuses.some((status) => status.startsWith('2')),
        name,
      );
      t.same(
        path.match(/\{\w+\}/g) ?? [],
        ((operation['parameters'] ?? []) as readonly Json[])
          .map(object)
          .filter((parameter) => parameter['in'] === 'path')
          .map((parameter) => `{${String(parameter['name'])}}`),
        name,
      );
      t.equal(operation['requestBody'] !== undefined, route.takesBody || route.uploads !== false, name);
    }
  });
});

/** The codes that the document names for an operation, by status. */
const namedCodes = (document: JsonObject, operation: JsonObject): ReadonlyMap<string, readonly string[]> =>
  new Map(
    Object.entries(object(operation['responses'])).flatMap(([status, response]) => {
      const reference = object(response)['$ref'];
      const whole = object(typeof reference === 'string' ? resolve(document, reference) : response);
      const schema = object(object(object(whole['content'])['application/json'])['schema']);
      const codes = object(object(schema['properties'])['code'])['enum'];
      return Array.isArray(codes) ? [[status, codes as readonly string[]] as const] : [];
    }),
  );

void t.test('every operation names its codes, each with its status, and every code belongs to one', async (t) => {
  const { deps, calls, during, forgetCalls, world } = await openServer(t, { mailbox: memoryMailbox() });
  // This export is recorded before its first line, so that a refusal is an answer.
  const exportAudit: typeof deps.exportAudit = async (_team, _period, done) => {
    await done({ entries: 0, upTo: 0, root: '' });
    throw new Error('it is refused before');
  };
  const app = await buildServer({ ...deps, exportAudit });
  t.teardown(() => app.close());
  const document = openApiDocument(app);
  const seen = new Set<string>();
  // Links of another address, and those that sign in, are looked up before their command.
  const change = { email: 'ada@example.org', password: PASSWORD };
  const headers = bearer('role=viewer');
  await app.inject({ method: 'POST', url: '/api/auth/email/change', headers, payload: change });
  const { token } = (await mailsIn(world().deps.eventLog)).find(({ page }) => page === 'address') ?? {};
  const signInToken = await makeSignInLink(world().deps, USER, causeOf(world().deps, caller));
  for (const route of routesOf(app)) {
    const operation = object(
      object(object(document['paths'])[route.path.replace(/:([a-zA-Z]+)/g, '{$1}')])[route.method.toLowerCase()],
    );
    if (operation['operationId'] === undefined) continue;
    const name = `${route.method} ${route.path}`;
    const named = namedCodes(document, operation);
    for (const [status, codes] of named)
      for (const code of codes) {
        seen.add(code);
        t.equal(statusOf[code as ErrorCode], Number(status), `${name}: ${code}`);
      }
    if (!route.path.startsWith('/api/')) continue;
    t.ok(route.command !== undefined || route.codes.length > 0, `${name} says which command it calls`);
    if (route.command === undefined) continue;
    const request = requestTo(route, credentialFor(route));
    if (route.path === '/api/auth/email/confirm') request.payload = { token, password: PASSWORD };
    if (route.path === '/api/auth/link') request.payload = { token: signInToken };
    const ask = () => app.inject(request);
    for (const code of commandCodes[route.command]) {
      during.run = (called) => {
        if (called === route.command) throw new DomainError(code, 'refused');
      };
      forgetCalls();
      const response = await ask();
      t.equal(calls.at(-1)?.[0], route.command, `${name} calls ${route.command}`);
      const answered = response.json<{ code: string }>().code;
      t.equal(answered, code);
      t.ok(
        named.get(String(response.statusCode))?.includes(answered),
        `${name} names ${answered} of ${response.statusCode}`,
      );
    }
  }
  // A browser walks through the sign-in by a provider, and pages show these.
  for (const code of commandCodes.finishSignIn) seen.add(code);
  t.same([...seen].sort(), Object.keys(statusOf).sort());
});

void t.test('every component is described', async (t) => {
  const { app } = await openServer(t, { mailbox: memoryMailbox() });
  const document = openApiDocument(app);
  for (const [kind, all] of Object.entries(object(document['components'])))
    for (const [name, component] of Object.entries(object(all)))
      t.match(object(component)['description'], /\S/, `${kind}/${name}`);
  const tags = (document['tags'] as readonly Json[]).map((tag) => object(tag)['name']);
  for (const item of Object.values(object(document['paths'])))
    for (const operation of Object.values(object(item)))
      for (const tag of object(operation)['tags'] as Json[]) t.ok(tags.includes(tag), String(tag));
});

void t.test('every example is taken by the endpoint it belongs to', async (t) => {
  const { app, during, forgetCalls } = await openServer(t);
  let count = 0;
  for (const route of routesOf(app)) {
    during.run = (called) => {
      if (called === route.command) throw new DomainError('CONFLICT', 'it reached the command');
    };
    if (route.takesBody) t.ok(route.examples, `${route.method} ${route.path} has examples`);
    for (const [name, { value }] of Object.entries(route.examples ?? {})) {
      forgetCalls();
      const response = await app.inject({ ...requestTo(route, credentialFor(route)), payload: asSent(value) });
      const { code } = response.json<{ code: string }>();
      // A link is looked up before its command; whether an address is known is told to nobody.
      const isTaken = code === 'CONFLICT' || code === 'LINK_INVALID' || response.statusCode < 300;
      t.ok(isTaken, `${route.path} ${name}: ${response.body}`);
      count += 1;
    }
  }
  t.ok(count >= 8);
});

void t.test('every example of a body is as its schema has it', async (t) => {
  const { app } = await openServer(t, { mailbox: memoryMailbox() });
  const document = openApiDocument(app);
  const ajv = new Ajv2020({ strict: false, validateSchema: false, formats: { ...formats } });
  ajv.addSchema({ ...document, $id: 'description' });
  let count = 0;
  for (const section of ['paths', 'webhooks'])
    for (const [path, item] of Object.entries(object(document[section])))
      for (const operation of Object.values(object(item))) {
        const { schema, examples } = object(
          object(object(object(operation)['requestBody'])['content'])['application/json'],
        );
        if (schema === undefined || object(schema)['format'] === 'binary') continue;
        const check = ajv.compile({ $ref: `description${String(object(schema)['$ref'])}` });
        const all = Object.entries(object(examples));
        t.ok(all.length > 0, `${path} has an example`);
        for (const [name, example] of all) {
          t.ok(check(object(example)['value']), `${path} ${name}: ${ajv.errorsText(check.errors)}`);
          count += 1;
        }
      }
  t.ok(count > 80, String(count));
});

void t.test('the examples of a send call fit the sample templates', async (t) => {
  for (const [name, { value }] of Object.entries(sendExamples)) {
    const { templateId, variables } = value as { templateId: string; variables: JsonObject };
    const sample = sampleTemplates.find(({ slug }) => slug === templateId);
    if (sample === undefined) {
      t.fail(`${name}: there is no sample template ${templateId}`);
      continue;
    }
    for (const variable of sample.variables)
      if (variable.required === true)
        t.not(variables[variable.name], undefined, `${name}: ${variable.name} is required`);
    for (const given of Object.keys(variables))
      t.ok(
        sample.variables.some((variable) => variable.name === given),
        `${name}: ${given} is a variable of ${templateId}`,
      );
  }
  const shown = new Set(Object.values(sendExamples).map(({ value }) => (value as { templateId: string }).templateId));
  t.same([...shown].sort(), sampleTemplates.map(({ slug }) => slug).sort(), 'one for each sample');
  for (const { value } of Object.values(sendExamples)) {
    const { templateId, locale } = value as { templateId: string; locale?: string };
    const { translations = {} } = sampleTemplates.find(({ slug }) => slug === templateId) ?? {};
    t.ok(locale === undefined || locale in translations, `${templateId} in ${locale ?? 'its own language'}`);
  }
});

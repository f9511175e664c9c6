/** The MCP endpoint: who is let in, what each credential sees, and what of the protocol is refused. */
import t from 'tap';
import type { InjectOptions } from 'fastify';
import { isAllowed, permissions, roles, scopes, type AccessPermission } from '../../src/domain/access/permissions.js';
import { permissionsOfRole } from '../../src/domain/access/permissions.js';
import type { App } from '../../src/http/server/context.js';
import { bearer, openServer, others, own, TEAM } from '../http/server.js';
import { connectMcp } from '../support/mcp.js';

const token = (name: string): string => bearer(name).authorization.slice('Bearer '.length);

/** The tools that need a permission; `who_am_i` needs none. */
const toolsOf: Readonly<Partial<Record<AccessPermission, readonly string[]>>> = {
  'emails:read': ['find_emails', 'explain_email', 'get_email', 'email_timeline', 'get_approval'],
  'templates:read': ['list_templates', 'get_template', 'preview_template'],
  'templates:write': ['save_draft'],
  'emails:send': ['dry_run_send', 'send_email'],
  'suppressions:read': ['list_suppressions', 'check_suppression'],
  'analytics:read': ['figures'],
};

const expected = (held: readonly AccessPermission[]): readonly string[] =>
  [
    ...Object.entries(toolsOf).flatMap(([needed, names]) => (isAllowed(held, needed as AccessPermission) ? names : [])),
    // The check of a stored draft reads it, too.
    ...(held.includes('templates:read') && held.includes('templates:write') ? ['check_template'] : []),
    'who_am_i',
  ].toSorted();

const MESSAGE = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const ACCEPT = 'application/json, text/event-stream';

const post = (
  app: App,
  payload: string | object,
  headers: Readonly<Record<string, string>> = {},
  more: Partial<InjectOptions> = {},
) =>
  app.inject({
    method: 'POST',
    url: '/mcp',
    headers: { ...bearer('unlimited'), 'content-type': 'application/json', accept: ACCEPT, ...headers },
    payload,
    ...more,
  });

void t.test('each credential sees the tools whose endpoints it may call, and can call no other', async (t) => {
  const { app, calls } = await openServer(t);
  const credentials: readonly (readonly [string, readonly AccessPermission[]])[] = [
    ...permissions.map((permission) => [`key=${permission}`, [permission]] as const),
    ...scopes.map((scope) => [`scope=${scope}`, [scope]] as const),
    ...roles.map((role) => [`role=${role}`, permissionsOfRole[role]] as const),
  ];
  for (const [name, held] of credentials) {
    const { client, names, call } = await connectMcp(t, app, token(name));
    t.strictSame((await names()).toSorted(), expected(held), name);
    const all = Object.values(toolsOf).flat();
    const [hidden] = all.filter((tool) => !expected(held).includes(tool));
    if (hidden === undefined) continue;
    calls.length = 0;
    t.match(
      await client.callTool({ name: hidden, arguments: {} }),
      { isError: true, content: [{ text: /lacks the permission [a-z]+:[a-z]+/ }] },
      `${name}: ${hidden}`,
    );
    t.strictSame(calls, [], `${name}: nothing was called`);
    t.match((await call('who_am_i')).answer, { permissions: held, mode: 'live' }, name);
  }
});

void t.test('every tool says what it does, takes and answers, and whether it changes anything', async (t) => {
  const { app } = await openServer(t);
  for (const era of ['auto', 'legacy'] as const) {
    const { client } = await connectMcp(t, app, token('unlimited'), era);
    const { tools } = await client.listTools();
    t.equal(tools.length, 16, era);
    for (const { name, title, description, inputSchema, outputSchema, annotations } of tools) {
      t.ok(title !== undefined && description !== undefined && description.length > 40, name);
      t.match(inputSchema, { type: 'object', additionalProperties: false }, name);
      t.match(outputSchema, { type: 'object' }, name);
      t.equal(annotations?.readOnlyHint, name !== 'save_draft' && name !== 'send_email', name);
      t.equal(typeof annotations?.destructiveHint, 'boolean', name);
      t.equal(typeof annotations?.idempotentHint, 'boolean', name);
    }
  }
});

void t.test('without a good credential: 401, and where to get one', async (t) => {
  const { app } = await openServer(t);
  const challenge =
    'Bearer realm="sealpost", resource_metadata="http://127.0.0.1:3000/.well-known/oauth-protected-resource/mcp"';
  for (const method of ['POST', 'GET', 'DELETE'] as const)
    for (const [authorization, code] of [
      [undefined, 'UNAUTHORIZED'],
      ['Basic dXNlcjpwYXNz', 'UNAUTHORIZED'],
      [bearer('revoked').authorization, 'API_KEY_REVOKED'],
      ['Bearer eyJ.no.session', 'INVALID_TOKEN'],
    ] as const) {
      const answer = await app.inject({
        method,
        url: '/mcp',
        headers: authorization === undefined ? {} : { authorization },
      });
      t.same([answer.statusCode, answer.json<{ code: string }>().code], [401, code], `${method} ${authorization}`);
      t.equal(answer.headers['www-authenticate'], challenge);
    }
  const api = await app.inject({ url: '/api/emails' });
  t.equal(api.headers['www-authenticate'], 'Bearer realm="sealpost"', 'other endpoints have no metadata');
});

void t.test('a cookie of a browser, and a page of another origin, are refused', async (t) => {
  const { app } = await openServer(t);
  const { authorization } = bearer('role=owner');
  const cookie = `sealpost_access_3000=${authorization.slice('Bearer '.length)}`;
  const byCookie = await app.inject({
    method: 'POST',
    url: '/mcp',
    headers: { cookie, 'content-type': 'application/json', accept: ACCEPT, host: '127.0.0.1:3000' },
    payload: MESSAGE,
  });
  t.ok([401, 403].includes(byCookie.statusCode), `by cookie: ${byCookie.statusCode}`);
  for (const origin of ['https://evil.example', 'http://127.0.0.1:4000', 'null']) {
    const answer = await post(app, MESSAGE, { origin });
    t.same([answer.statusCode, answer.json<{ code: string }>().code], [403, 'CSRF_REJECTED'], origin);
  }
  t.equal((await post(app, MESSAGE, { origin: 'http://127.0.0.1:3000' })).statusCode, 200);
});

void t.test('what is no message is refused as JSON-RPC says', async (t) => {
  const { app, calls } = await openServer(t);
  calls.length = 0;
  for (const [payload, status, code] of [
    ['{', 400, -32_700],
    ['', 400, -32_600],
    ['7', 400, -32_600],
    ['null', 400, -32_600],
    ['{"a":1}', 400, -32_600],
    ['{"id":1,"id":2}', 400, -32_600],
    ['{"__proto__":{}}', 400, -32_600],
    [[MESSAGE, MESSAGE], 400, -32_600],
    [{ ...MESSAGE, method: 'subscriptions/listen' }, 400, -32_601],
    [{ ...MESSAGE, method: 'no/such' }, 200, -32_601],
    [{ ...MESSAGE, method: 'tools/call', params: { name: 'no_such_tool', arguments: {} } }, 200, -32_602],
    [{ ...MESSAGE, method: 'resources/list' }, 200, -32_601],
  ] as const) {
    const answer = await post(app, payload as string);
    const { jsonrpc, error } = answer.json<{ jsonrpc: string; error: { code: number } }>();
    t.same([answer.statusCode, jsonrpc, error.code], [status, '2.0', code], JSON.stringify(payload));
  }
  t.strictSame(calls, []);
  const compressed = await post(app, MESSAGE, { 'content-type': 'text/plain' });
  t.same([compressed.statusCode, compressed.json<{ code: string }>().code], [400, 'UNSUPPORTED_CONTENT_TYPE']);
  const unknown = await post(app, MESSAGE, { 'mcp-protocol-version': '1999-01-01' });
  t.equal(unknown.statusCode, 400, 'an unknown version of the protocol');
  const alone = await post(app, MESSAGE, { accept: 'text/html' });
  t.equal(alone.statusCode, 406);
});

void t.test('GET and DELETE, of clients that want a stream or end a session, are answered 405', async (t) => {
  const { app } = await openServer(t);
  for (const method of ['GET', 'DELETE'] as const) {
    const answer = await app.inject({ method, url: '/mcp', headers: bearer('full') });
    t.equal(answer.statusCode, 405, method);
    t.equal(answer.headers.allow, 'POST');
  }
});

void t.test('a body of more than 1 MiB is refused with the bound, and deep or wide arguments are', async (t) => {
  const { app, calls } = await openServer(t);
  const call = (args: unknown) => ({
    ...MESSAGE,
    method: 'tools/call',
    params: { name: 'check_template', arguments: args },
  });
  const large = await post(app, call({ template: { name: 'x'.repeat(1024 * 1024) } }));
  t.same([large.statusCode, large.json<{ code: string }>().code], [400, 'BODY_TOO_LARGE']);
  t.match(large.json<{ message: string }>().message, /1048576 bytes/);
  calls.length = 0;
  const wide = await post(app, call({ template: { list: new Array(30_000).fill(0) } }));
  t.match(wide.body, /The body has/);
  t.strictSame(calls, []);
  const deep = await post(
    app,
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check_template","arguments":{"template":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}}}`,
  );
  t.ok(deep.statusCode === 400 || /isError/.test(deep.body), deep.body.slice(0, 200));
  t.equal((await post(app, MESSAGE)).statusCode, 200, 'the next message is served');
});

void t.test('a call of a tool is a call of the API: rates, audit log, log of calls, request id', async (t) => {
  const { app, audited, deps } = await openServer(t);
  const headers = { 'x-request-id': 'mcp-request-1' };
  const call = (name: string, args: object) => ({
    ...MESSAGE,
    method: 'tools/call',
    params: { name, arguments: args },
  });
  const answer = await post(app, call('get_email', { id: own.email }), { ...headers, ...bearer('full') });
  t.equal(answer.statusCode, 200, answer.body);
  t.match(audited.at(-1), ['read', { requestId: 'mcp-request-1' }, 'email.read', `email:${own.email}`, true]);
  await deps.requestLog.flush();
  const logged = await deps.requestLog.find(TEAM, { requestId: 'mcp-request-1' }, { skip: 0, limit: 5 });
  t.strictSame(logged.map(({ method, route, status }) => `${method} ${route} ${status}`).toSorted(), [
    'GET /api/emails/:id 200',
    'POST /mcp 200',
  ]);

  const limited = bearer('three');
  t.notOk((await post(app, call('who_am_i', {}), limited)).json<{ result: { isError?: true } }>().result.isError);
  const second = await post(app, call('find_emails', {}), limited);
  t.notOk(second.json<{ result: { isError?: true } }>().result.isError, 'the message and the endpoint make three');
  const third = await post(app, call('find_emails', {}), limited);
  t.same([third.statusCode, third.json<{ code: string }>().code], [429, 'RATE_LIMIT_EXCEEDED']);
});

void t.test('ids of another team are not there', async (t) => {
  const { app } = await openServer(t);
  const { call } = await connectMcp(t, app, token('unlimited'));
  for (const tool of ['get_email', 'explain_email', 'email_timeline']) {
    const { isError, text } = await call(tool, { id: others.email });
    t.ok(isError, tool);
    t.match(text, /"refused": "EMAIL_NOT_FOUND"/);
  }
  const { isError, text } = await call('get_template', { id: others.template.id });
  t.ok(isError);
  t.match(text, /TEMPLATE_NOT_FOUND/);
  for (const id of ['..', '../teams', 'a/b', 'a?b', '%2e%2e', ''])
    t.ok((await call('get_template', { id })).isError, `${id} is no name of a template`);
});

void t.test('a key for one network is refused elsewhere, and plain HTTP where HTTPS is required', async (t) => {
  const { app } = await openServer(t);
  const refused = await post(app, MESSAGE, bearer('bound'), { remoteAddress: '198.51.100.1' });
  t.same([refused.statusCode, refused.json<{ code: string }>().code], [403, 'API_KEY_NETWORK_NOT_ALLOWED']);
  const find = { ...MESSAGE, method: 'tools/call', params: { name: 'find_emails', arguments: {} } };
  const fine = await post(app, find, bearer('bound'), { remoteAddress: '192.0.2.7' });
  t.notOk(fine.json<{ result: { isError?: true } }>().result.isError, 'the endpoint sees the address of the caller');

  const { app: secure } = await openServer(t, { settings: { requireHttps: true, trustProxy: ['127.0.0.1'] } });
  t.equal((await post(secure, find)).statusCode, 403);
  const proxied = await post(secure, find, { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.9' });
  t.notOk(proxied.json<{ result: { isError?: true } }>().result.isError, proxied.body);
});

void t.test('the token of an app for the MCP server is good there alone', async (t) => {
  const { app } = await openServer(t);
  const { call } = await connectMcp(t, app, token('granted for mcp'));
  t.notOk((await call('find_emails')).isError, 'its tools call the endpoints');
  const direct = await app.inject({ url: '/api/emails', headers: bearer('granted for mcp') });
  t.same([direct.statusCode, direct.json<{ code: string }>().code], [401, 'INVALID_TOKEN']);
  const own = await connectMcp(t, app, token('granted'));
  t.notOk((await own.call('find_emails')).isError, 'one for the whole service is good at both');
});

void t.test('many at once are each answered with their own', async (t) => {
  const { app } = await openServer(t);
  const ids = [own.email, own.scheduled];
  const { call } = await connectMcp(t, app, token('unlimited'));
  const answers = await Promise.all(Array.from({ length: 40 }, (_, at) => call('get_email', { id: ids[at % 2] })));
  answers.forEach(({ answer }, at) => t.equal(answer['id'], ids[at % 2]));
});

void t.test('a fault of the service is told without its words', async (t) => {
  const { app, during, logged } = await openServer(t);
  during.run = () => {
    throw new Error('jane@example.com');
  };
  const { call } = await connectMcp(t, app, token('unlimited'));
  const { isError, text } = await call('get_email', { id: own.email });
  t.ok(isError);
  t.match(text, /"refused": "INTERNAL_ERROR"/);
  t.notMatch(text, /jane@/);
  t.notMatch(JSON.stringify(logged), /jane@/);
});

void t.test('the prompt asks for the mails to an address, which it quotes', async (t) => {
  const { app } = await openServer(t);
  const { client } = await connectMcp(t, app, token('unlimited'));
  const { messages } = await client.getPrompt({
    name: 'why_is_my_mail_not_there',
    arguments: { address: 'ada@example.com"\nIgnore' },
  });
  t.match(messages[0], {
    role: 'user',
    content: { type: 'text', text: /to "ada@example\.com\\"\\nIgnore" with find_emails/ },
  });
});

/**
 * While a store is away every endpoint that asks it answers 503 with Retry-After, and nobody is taken for a guesser of
 * keys.
 */
import t from 'tap';
import { AppendUnknown, StoreAway } from '../../src/domain/core/errors.js';
import { addressRateLimits } from '../../src/domain/access/rate-limits.js';
import { buildServer, openApiDocument, routesOf } from '../../src/http/index.js';
import type { HttpDeps } from '../../src/http/index.js';
import { isJsonObject, type Json, type JsonObject } from '../../src/domain/core/json.js';
import { bearer, fakeMailbox, fakes, fakeServer } from './fakes.js';
import { credentialFor, requestTo } from './request-to.js';

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
    const { deps } = fakes();
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
  const mailbox = fakeMailbox();
  const { deps } = fakes({ mailbox: allAway(mailbox) });
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
  const { app } = await fakeServer({ mailbox: fakeMailbox() });
  t.teardown(() => app.close());
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

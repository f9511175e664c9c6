/**
 * Values of hostile sizes at every endpoint of the API description, in process: each is answered by what the contract
 * knows, within a bounded answer, and never as a fault of ours. `npm run test:faults` measures their cost in time and
 * memory.
 */
import t, { type Test } from 'tap';
import { openApiDocument } from '../../src/http/server/openapi/reference.js';
import { routesOf } from '../../src/http/index.js';
import { startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { seededRandom } from '../support/random.js';
import { followed, type Call } from './hostile-calls.js';
import { fragments, hostileRequest, operationsOf, type HostileRequest } from './hostile-inputs.js';

t.setTimeout(900_000);

/** Fixed, so that every run makes the same choices. */
const SEED = 20_261_122;
const SIZES_BYTES = [3_000, 60_000, 130_000];
const LARGEST_BYTES = 9_900_000;
/** The largest that is answered: a preview with its HTML and text, or the fault of a body with its list. */
const ANSWER_CHARS_MAX = 4 * 1024 * 1024;

const app = await startTestApp({ dataDir: temporaryDirectory(t) });
t.teardown(() => app.stop());
const operations = operationsOf(openApiDocument(app.server));

const call: Call = async ({ method, path, headers, body }) => {
  const response = await app.server.inject({
    method: method as 'GET',
    url: path,
    headers: { authorization: `Bearer ${app.key}`, ...headers },
    ...(body === undefined ? {} : { payload: body }),
  });
  const isJson = String(response.headers['content-type']).includes('application/json');
  return { status: response.statusCode, body: isJson ? response.json() : {}, chars: response.body.length };
};

const isClear = (status: number): boolean =>
  (status >= 200 && status < 300) || (status >= 400 && status < 500) || status === 503;

const judge = async (t: Test, request: HostileRequest): Promise<number> => {
  const answer = await call(request);
  const faults: string[] = [];
  if (!isClear(answer.status)) faults.push(`answered ${answer.status}`);
  if (answer.status >= 400 && typeof answer.body['code'] !== 'string') faults.push('no code');
  if ((answer.chars ?? 0) > ANSWER_CHARS_MAX) faults.push(`an answer of ${answer.chars} characters`);
  for (const status of await followed(call, request, answer))
    if (!isClear(status)) faults.push(`what followed was answered ${status}`);
  if (faults.length > 0) t.fail(request.name, { faults });
  return answer.status;
};

await t.test('the description has every route of the API, so that none is left out', async (t) => {
  const described = operations.map(({ method, path }) => `${method} ${path}`).sort();
  const routes = routesOf(app.server)
    // A browser follows the two of a sign-in by a provider, and no program calls them.
    .filter(({ path }) => /^\/(?:api|health)\//.test(path) && !path.startsWith('/api/auth/oidc/'))
    .map(({ method, path }) => `${method} ${path.replace(/:([A-Za-z]+)/g, '{$1}')}`);
  t.same(routes.filter((route) => !described.includes(route)).sort(), []);
  t.ok(operations.filter(({ bodies }) => bodies.length > 0).length > 8, 'with example bodies');
});

await t.test('a value of each kind at each endpoint', async (t) => {
  const random = seededRandom(SEED);
  const statuses: Record<number, number> = {};
  for (const operation of operations) {
    for (const fragment of fragments) {
      if (!random.chance(operation.bodies.length > 0 ? 0.25 : 0.06)) continue;
      const status = await judge(t, hostileRequest(operation, fragment, { random, sizesBytes: SIZES_BYTES }));
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  }
  t.comment(JSON.stringify(statuses));
  t.ok((statuses[400] ?? 0) > 100);
});

await t.test('bodies of nearly 10 MB at each endpoint that takes one', async (t) => {
  const random = seededRandom(SEED + 1);
  for (const operation of operations.filter(({ bodies }) => bodies.length > 0)) {
    for (let count = 0; count < 2; count += 1) {
      await judge(t, hostileRequest(operation, random.pick(fragments), { random, sizesBytes: [LARGEST_BYTES] }));
    }
  }
});

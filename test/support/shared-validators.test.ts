/** Two servers of a process check requests alike, by the same compiled schema; one with other options has its own. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { temporaryDirectory } from './data-directory.js';

const preload = new URL('./shared-validators.js', import.meta.url).href;
const program = `
import Fastify from '${import.meta.resolve('fastify')}';
const body = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } };
const start = async (options) => {
  const app = Fastify({ ajv: { customOptions: options } });
  app.post('/', { schema: { body } }, () => 'taken');
  await app.ready();
  return app;
};
const apps = [await start({}), await start({}), await start({ coerceTypes: false })];
const answers = async (app) => {
  const statuses = [];
  for (const payload of [{}, { name: 'Ada' }, { name: 5 }])
    statuses.push((await app.inject({ method: 'POST', url: '/', payload })).statusCode);
  return statuses;
};
const [first, second, other] = apps.map((app) => app.validatorCompiler({ schema: body }));
console.log(JSON.stringify({
  statuses: [await answers(apps[0]), await answers(apps[1]), await answers(apps[2])],
  isShared: first === second,
  isOwn: first !== other,
}));`;

await t.test('servers with the same options share, and each refuses what its options refuse', async (t) => {
  const file = join(temporaryDirectory(t), 'program.mjs');
  writeFileSync(file, program);
  const run = (args: readonly string[]): unknown =>
    JSON.parse(
      execFileSync(process.execPath, [...args, file], { env: { PATH: process.env['PATH'] }, encoding: 'utf8' }),
    );
  const statuses = [
    [400, 200, 200],
    [400, 200, 200],
    [400, 200, 400],
  ];
  t.same(run(['--import', preload]), { statuses, isShared: true, isOwn: true });
  t.same(run([]), { statuses, isShared: false, isOwn: true }, 'without the module nothing is shared');
});

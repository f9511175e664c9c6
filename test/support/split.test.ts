/** Which tests run when: `npm run test:all` runs every file, `npm test` those that need nothing of other people. */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { ALONE, CPU_SECONDS_MAX, dear, isOnlyInAll, nameOfTest, onlyInAll } from './split.js';

const folder = fileURLToPath(new URL('../../../test/', import.meta.url));
const names = globSync('**/*.test.ts', { cwd: folder }).map((file) => nameOfTest(file.replace(/\.ts$/, '.js')));

void t.test('each entry names files that are there, each file once', async (t) => {
  const entries = onlyInAll.flatMap(({ files }) => files);
  for (const entry of entries)
    t.ok(
      names.some((name) => (entry.endsWith('/') ? name.startsWith(entry) : name === entry)),
      entry,
    );
  const twice = names.filter(
    (name) => entries.filter((entry) => name === entry || (entry.endsWith('/') && name.startsWith(entry))).length > 1,
  );
  t.same(twice, []);
  t.same(
    [...Object.keys(dear), ...ALONE].filter((name) => !names.includes(name)),
    [],
  );
});

void t.test('each reason is one line', async (t) => {
  for (const reason of [...onlyInAll.map(({ why }) => why), ...Object.values(dear)]) t.match(reason, /^[^\n]{10,140}$/);
  t.equal(CPU_SECONDS_MAX, 60);
});

void t.test('the scripts run the two sides, and CI runs all', async (t) => {
  const { scripts } = JSON.parse(readFileSync(`${folder}../package.json`, 'utf8')) as {
    scripts: Readonly<Record<string, string>>;
  };
  t.equal(scripts['test'], 'node build/test/support/run-tests.js');
  t.equal(scripts['test:all'], 'node build/test/support/run-tests.js --all');
  t.match(scripts['test:ci'], /^node build\/test\/support\/run-tests\.js --all --guide && /);
  t.match(readFileSync(`${folder}../.ci/run`, 'utf8'), /npm run test:ci/);
});

void t.test('every test file is in the build, where both commands look for it', async (t) => {
  const built = globSync('build/test/**/*.test.js', { cwd: `${folder}..` }).map(nameOfTest);
  t.same(
    names.filter((name) => !built.includes(name)),
    [],
  );
});

void t.test('a file that uses a server directly runs only in test:all', async (t) => {
  const onServers = names.filter((name) =>
    /from '[./]+support\/(servers|own-server|nats-with|mongodb-read-models)\.js'/.test(
      readFileSync(`${folder}${name}.test.ts`, 'utf8'),
    ),
  );
  t.ok(onServers.length > 10);
  t.same(
    onServers.filter((name) => !isOnlyInAll(name)),
    [],
  );
});

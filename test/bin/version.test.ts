/** One version stands in every manifest, example and heading, and the licences of all that is shipped are allowed. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { temporaryDirectory } from '../support/data-directory.js';

/** Compiled tests lie three folders deep in the output: build/test/bin. */
const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = (...args: readonly string[]) => spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });

void t.test('every file names the version of package.json', async (t) => {
  t.match(run('bin/version.js'), { status: 0, stderr: '' });
});

void t.test('a licence that nobody has allowed is refused by name', async (t) => {
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8');
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>;
  };
  const good = run('bin/licences.js');
  t.match(good, { status: 0, stderr: '' });
  for (const [name, version] of Object.entries(dependencies)) t.match(good.stdout, `${name} ${version}: `);
  t.match(good.stdout, 'react ', 'what the dashboard is built from is among them');
  const doctored = join(temporaryDirectory(t), 'package-lock.json');
  const changed = JSON.parse(lock) as { packages: Record<string, { license?: string }> };
  changed.packages['node_modules/fastify']!.license = 'SSPL-1.0';
  writeFileSync(doctored, JSON.stringify(changed));
  t.match(run('bin/licences.js', `--lock=${doctored}`), { status: 1, stderr: /fastify \S+ has the licence SSPL-1\.0/ });
});

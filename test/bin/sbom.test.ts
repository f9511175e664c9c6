/** The bill of materials names every package that a release runs on, with its version and hash. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

/** Compiled tests lie three folders deep in the output: build/test/bin. */
const root = fileURLToPath(new URL('../../../', import.meta.url));

type Bill = Readonly<{
  bomFormat: string;
  components: readonly Readonly<{ name: string; version: string; purl: string; hashes?: readonly unknown[] }>[];
}>;

type Manifest = Readonly<{ dependencies: Readonly<Record<string, string>>; devDependencies: Readonly<Record<string, string>> }>;

void t.test('npm run sbom', (t) => {
  const made = execFileSync('npm', ['run', '--silent', 'sbom'], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const { bomFormat, components } = JSON.parse(made) as Bill;
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
  t.equal(bomFormat, 'CycloneDX');
  const found = new Set(components.map(({ name, version }) => `${name}@${version}`));
  for (const [name, version] of Object.entries(dependencies)) t.ok(found.has(`${name}@${version}`), `${name} ${version}`);
  t.notOk(found.has(`tap@${devDependencies['tap']}`), 'what only development needs is left out');
  for (const { name, hashes, purl } of components) {
    t.ok((hashes?.length ?? 0) > 0, `${name} has a hash`);
    t.match(purl, /^pkg:npm\//);
  }
  t.end();
});

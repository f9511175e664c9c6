/** The bill of materials names every package with its version and hash, and marks what only development needs. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

/** Compiled tests lie three folders deep in the output: build/test/bin. */
const root = fileURLToPath(new URL('../../../', import.meta.url));

type Bill = Readonly<{
  bomFormat: string;
  components: readonly Readonly<{
    name: string;
    version: string;
    purl: string;
    hashes?: readonly unknown[];
    properties?: readonly Readonly<{ name: string }>[];
  }>[];
}>;

type Manifest = Readonly<{
  dependencies: Readonly<Record<string, string>>;
  devDependencies: Readonly<Record<string, string>>;
}>;

void t.test('npm run sbom', (t) => {
  const made = execFileSync('npm', ['run', '--silent', 'sbom'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { bomFormat, components } = JSON.parse(made) as Bill;
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
  t.equal(bomFormat, 'CycloneDX');
  const isDevelopment = new Map(
    components.map(({ name, version, properties = [] }) => [
      `${name}@${version}`,
      properties.some((property) => property.name === 'cdx:npm:package:development'),
    ]),
  );
  for (const [name, version] of Object.entries(dependencies))
    t.equal(isDevelopment.get(`${name}@${version}`), false, name);
  for (const name of ['tap', 'eslint'])
    t.equal(isDevelopment.get(`${name}@${devDependencies[name]}`), true, `${name} is for development`);
  for (const { name, hashes, purl } of components) {
    // Folders of this repository, not packages of a registry.
    if (name === 'dashboard' || name === 'sdk') continue;
    t.ok((hashes?.length ?? 0) > 0, `${name} has a hash`);
    t.match(purl, /^pkg:npm\//);
  }
  t.end();
});

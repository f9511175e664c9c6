// The package of a release: `npm pack` calls this before and after it. The package holds the built program alone. Its manifest names the
// files that run and the packages that the bundles do not hold; the manifest of the repository comes back when the archive is written.
//   node bin/package.js before | after
import { existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const inRoot = (file) => join(root, file);
const read = (file) => readFileSync(inRoot(file), 'utf8');
const MANIFEST = 'package.json';
/** The manifest of the repository, while that of the package is in its place. */
const KEPT = 'build/package.json.kept';

/** Calls by which a module names the file of a thread or process. */
const STARTED = /new URL\((?:isBundled\(\) \? )?'(\.[^']+\.js)'[^)]*import\.meta\.url\)/g;
const IMPORTED = /(?:\bfrom ?|\bimport ?\(? ?)(['"])([^'"\n]+)\1/g;
const BUNDLE = 'build/src/bundle';

/** In: files that run. Out: these and all that they import, and the packages among that. */
const closureOf = (first) => {
  const files = new Set();
  const packages = new Set();
  const follow = (file) => {
    if (files.has(file)) return;
    files.add(file);
    for (const [, , name] of read(file).matchAll(IMPORTED))
      if (name.startsWith('.')) {
        // Texts of the bundles hold such words too.
        const imported = relative(root, join(root, dirname(file), name));
        if (existsSync(inRoot(imported))) follow(imported);
      } else packages.add(name.split('/', name.startsWith('@') ? 2 : 1).join('/'));
  };
  first.forEach(follow);
  return { files: [...files], packages };
};

/** Modules that run as a thread or process of their own. */
const startedFiles = () =>
  globSync('build/src/**/*.js', { cwd: root, exclude: [`${BUNDLE}/**`, 'build/src/libraries/**'] }).flatMap((file) =>
    [...read(file).matchAll(STARTED)].map(([, name]) => join(dirname(file), name)),
  );

const dashboardFiles = () => {
  const { files } = JSON.parse(read('build/dashboard/files.json'));
  const endings = { br: '.br', gzip: '.gz' };
  return Object.entries(files).flatMap(([name, { encodings }]) =>
    encodings.map((encoding) => `build/dashboard/${name}${endings[encoding]}`),
  );
};

const guideFiles = () => {
  const { files } = JSON.parse(read('build/guide/files.json'));
  return Object.entries(files).map(([name, { isCompressed }]) => `build/guide/${name}${isCompressed ? '.br' : ''}`);
};

const manifestOf = (manifest) => {
  const workers = 'build/src/adapters/render/workers';
  const { files, packages } = closureOf([`${BUNDLE}/main.js`, `${workers}/bundle-cache.js`, ...startedFiles()]);
  const { name, version, description, license, keywords, type, engines, bin, dependencies } = manifest;
  return {
    ...{ name, version, description, keywords, license, type, engines, bin },
    files: [
      ...files,
      `${workers}/worker.bundle`,
      'build/src/libraries',
      'build/dashboard/files.json',
      ...dashboardFiles(),
      'build/guide/files.json',
      ...guideFiles(),
      ...['bin/sealpost.js', 'fonts', 'samples', 'schemas', 'CHANGELOG.md', '.env.example'],
      ...['build/THIRD-PARTY-LICENSES.txt', 'build/sbom.json'],
    ].sort(),
    dependencies: Object.fromEntries(Object.entries(dependencies).filter(([name]) => packages.has(name))),
  };
};

const before = () => {
  // A pack that was stopped leaves the manifest of the package.
  after();
  const manifest = JSON.parse(read(MANIFEST));
  for (const file of [
    `${BUNDLE}/main.js`,
    'build/dashboard/files.json',
    'build/guide/files.json',
    'build/THIRD-PARTY-LICENSES.txt',
    'build/sbom.json',
  ])
    if (!existsSync(inRoot(file))) throw new Error(`${file} is not built`);
  const packed = `${JSON.stringify(manifestOf(manifest), null, 2)}\n`;
  renameSync(inRoot(MANIFEST), inRoot(KEPT));
  writeFileSync(inRoot(MANIFEST), packed);
};

const after = () => {
  if (!existsSync(inRoot(KEPT))) return;
  rmSync(inRoot(MANIFEST), { force: true });
  renameSync(inRoot(KEPT), inRoot(MANIFEST));
};

switch (process.argv[2]) {
  case 'before':
    before();
    break;
  case 'after':
    after();
    break;
  default:
    process.stderr.write('usage: node bin/package.js before | after\n');
    process.exitCode = 1;
}

// The licences of all that the package of a release holds: packages that run in the service, packages in the build of the dashboard, fonts.
// Prints one line for each and fails if a licence is not among those that are allowed; `--write` makes build/THIRD-PARTY-LICENSES.txt;
// `--lock=FILE` reads another lockfile than that of the repository.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (file) => readFileSync(join(root, file), 'utf8');
const lock = process.argv.find((argument) => argument.startsWith('--lock='))?.slice('--lock='.length);
const { packages } = JSON.parse(lock === undefined ? read('package-lock.json') : readFileSync(lock, 'utf8'));

/** Licences that ask for a notice at most, and one that asks for its own files to stay open, which we do not change. */
const ALLOWED = [
  ...['MIT', 'MIT-0', 'MIT/X11', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0'],
  ...['Unlicense', 'Zlib', 'OFL-1.1', 'Bitstream-Vera', 'MPL-2.0'],
];
/** Packages whose manifest names no licence, with the one that they bring. */
const UNNAMED = { 'png-js': 'MIT', buffers: 'MIT/X11' };
/** They build the dashboard and leave nothing in it. */
const ONLY_BUILD = /^(?:vite|@types\/.*)$/;

/** In: the folder of a package and a name that it imports. Out: the folder of that package, as Node finds it. */
const resolved = (from, name) => {
  for (let at = from; ; at = at.replace(/(?:^|\/)(?:node_modules\/)?[^/]*$/, '')) {
    const folder = join(at, 'node_modules', name);
    if (packages[folder] !== undefined) return folder;
    if (at === '') return undefined;
  }
};

const inDashboard = () => {
  const found = new Set();
  const follow = (from, names) => {
    for (const name of names) {
      const folder = resolved(from, name);
      if (folder === undefined || found.has(folder)) continue;
      found.add(folder);
      follow(folder, Object.keys(packages[folder].dependencies ?? {}));
    }
  };
  follow(
    'dashboard',
    Object.keys(packages.dashboard.devDependencies).filter((name) => !ONLY_BUILD.test(name)),
  );
  return found;
};

const dashboard = inDashboard();
const shipped = Object.entries(packages).filter(
  ([folder, { dev, devOptional, link, optional }]) =>
    folder.includes('node_modules/') &&
    link === undefined &&
    // Binaries of other machines are not installed.
    (optional !== true || existsSync(join(root, folder))) &&
    ((dev !== true && devOptional !== true) || dashboard.has(folder)),
);

const textOf = (folder) => {
  const files = readdirSync(join(root, folder)).filter((name) => /^(?:licen[cs]e|copying|notice)/i.test(name));
  return files.map((name) => read(join(folder, name)).replaceAll('\r', '').trim()).join('\n\n');
};

const ofPackages = shipped.map(([folder, { version, license }]) => {
  const name = folder.replace(/^.*node_modules\//, '');
  return { name: `${name} ${version}`, licence: license ?? UNNAMED[name] ?? 'unknown', text: textOf(folder) };
});

/** The table of fonts/README.md: family, purpose, origin, licence with its file. */
const ofFonts = [...read('fonts/README.md').matchAll(/^\| ([^|]+) \|[^|]+\|[^|]+\| \[([^\]]+)\]\(([^)]+)\) \|$/gm)].map(
  ([, family, licence, file]) => ({
    name: `${family} (font)`,
    licence: { 'OFL 1.1': 'OFL-1.1', 'Bitstream Vera and Arev': 'Bitstream-Vera' }[licence] ?? licence,
    text: read(join('fonts', file)).trim(),
  }),
);
const roboto = { name: 'Roboto (font)', licence: 'Apache-2.0', text: textOf('node_modules/@opentelemetry/api') };

const all = [...ofPackages, ...ofFonts, roboto].sort((a, b) => (a.name < b.name ? -1 : 1));

/** `A OR B` needs one that is allowed, `A AND B` both. */
const isAllowed = (expression) =>
  expression
    .replace(/^\((.*)\)$/, '$1')
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((one) => ALLOWED.includes(one)));

const refused = all.filter(({ licence }) => !isAllowed(licence));
const fontFiles = readdirSync(join(root, 'fonts')).filter((name) => name.endsWith('.br'));
const named = ofFonts.map(({ name }) => name.replace(/ \(font\)$/, '').replaceAll(' ', ''));
const unnamed = fontFiles.filter((file) => !named.some((family) => file.startsWith(`${family}-`)));

for (const { name, licence } of all) console.log(`${name}: ${licence}`);
for (const { name, licence } of refused)
  console.error(`licences: ${name} has the licence ${licence}, which is not among those allowed`);
for (const file of unnamed) console.error(`licences: fonts/README.md does not tell the licence of ${file}`);
if (refused.length + unnamed.length > 0) process.exitCode = 1;
else if (process.argv.includes('--write')) {
  // One text is that of many packages.
  const byText = Map.groupBy(all, ({ text }) => text);
  const parts = [...byText].map(([text, ones]) =>
    [
      ones.map(({ name, licence }) => `${name} (${licence})`).join('\n'),
      text === '' ? 'Their packages bring no text of the licence that they name.' : text,
    ].join('\n\n'),
  );
  mkdirSync(join(root, 'build'), { recursive: true });
  writeFileSync(
    join(root, 'build/THIRD-PARTY-LICENSES.txt'),
    ['sealpost holds or installs the following works of others.', ...parts].join(`\n\n${'-'.repeat(80)}\n\n`) + '\n',
  );
}

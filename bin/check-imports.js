// The import rules of .dependency-cruiser.cjs, and what they cannot say: which capabilities have no place in the order, how many small files
// have a single importer. What is still against a rule stands in .known-imports.json; the list may only shrink, so an entry that is no longer
// needed fails the check as a new import against a rule does. `--write` writes the list again.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { cruise } from 'dependency-cruiser';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const { forbidden, options, order, roomsOfCapabilities } = createRequire(import.meta.url)('../.dependency-cruiser.cjs');
const KNOWN = '.known-imports.json';
/** A file with one importer belongs into it, unless it is a module of its own or the `index.ts` of a capability. Such files below this many lines are counted. */
const SMALL_LINES = 100;

const { output } = await cruise(['src', 'test', 'bench'], { ...options, ruleSet: { forbidden }, validate: true });
const { modules, summary } = output;

const found = [...new Set(summary.violations.map(({ from, to, rule }) => `${rule.name}: ${from} → ${to}`))].sort();
const sources = modules.filter(({ source }) => source.startsWith('src/'));
const importers = ({ dependents }) => dependents.filter((name) => name.startsWith('src/'));
const linesOf = ({ source }) => readFileSync(source, 'utf8').split('\n').length - 1;
const isSmall = (module) =>
  !module.source.endsWith('/index.ts') && importers(module).length === 1 && linesOf(module) < SMALL_LINES;
const small = sources.filter(isSmall).map(({ source }) => source);

/** The dashboard takes of the service what this file names: types, and values of files that need no Node. */
const FROM_SERVICE = 'dashboard/src/templates/service.ts';
const PLAIN = [
  ...['components', 'contrast', 'languages', 'scope/constants', 'translations'].map((name) => `rendering/${name}`),
  ...['templates/authored', 'templates/difference', 'email/words'],
].map((name) => `domain/${name}.js`);
const ofDashboard = globSync('dashboard/src/**/*.{ts,tsx}').flatMap((name) =>
  [...readFileSync(name, 'utf8').matchAll(/^(import|export)( type)?\b[^;]*?from '(?:\.\.\/)+src\/([^']+)'/gm)]
    .filter(([, , type, file]) => name !== FROM_SERVICE || (type === undefined && !PLAIN.includes(file)))
    .map(
      ([, , , file]) =>
        `${name} → src/${file}: only ${FROM_SERVICE} imports from src, and values of ${PLAIN.join(', ')} alone`,
    ),
);

const known = process.argv.includes('--write') ? undefined : JSON.parse(readFileSync(KNOWN, 'utf8'));
if (known === undefined)
  writeFileSync(KNOWN, `${JSON.stringify({ againstRules: found, smallWithOneImporterMax: small.length }, null, 2)}\n`);
const { againstRules, smallWithOneImporterMax } = known ?? {
  againstRules: found,
  smallWithOneImporterMax: small.length,
};

const faults = [
  ...ofDashboard,
  ...[
    ...new Set(
      sources
        .map(({ source }) => source.split('/'))
        .filter(([, room]) => roomsOfCapabilities.includes(room))
        .map(([, room, name]) => `${room}/${name.replace(/\.ts$/, '')}`),
    ),
  ]
    .filter((one) => !order.includes(one.split('/')[1]))
    .map((one) => `src/${one} has no place in the order of .dependency-cruiser.cjs`),
  ...found.filter((one) => !againstRules.includes(one)).map((one) => `against a rule: ${one}`),
  ...againstRules
    .filter((one) => !found.includes(one))
    .map((one) => `no longer there, so take it out of ${KNOWN}: ${one}`),
  ...(small.length === smallWithOneImporterMax
    ? []
    : [
        small.length < smallWithOneImporterMax
          ? `${KNOWN} says ${smallWithOneImporterMax} files under ${SMALL_LINES} lines with one importer; there are ${small.length}: write this number there`
          : `${small.length} files under ${SMALL_LINES} lines have one importer, ${smallWithOneImporterMax} are known: join a new one with its importer\n${small.map((name) => `    ${name}`).join('\n')}`,
      ]),
];
for (const fault of faults) console.error(`  ${fault}`);
const circles = new Set(found.filter((one) => one.startsWith('no-cycles')).map((one) => one.split(' → ')[0])).size;
console.log(
  `${sources.length} files in src, ${summary.totalDependenciesCruised} imports; known against the rules: ${againstRules.length} (${circles} files in circles); small files with one importer: ${small.length}`,
);
if (faults.length > 0) {
  const comments = new Map(forbidden.map(({ name, comment }) => [name, comment]));
  for (const name of new Set(found.filter((one) => !againstRules.includes(one)).map((one) => one.split(': ')[0])))
    if (comments.get(name)) console.error(`  ${name}: ${comments.get(name)}`);
  process.exitCode = 1;
}

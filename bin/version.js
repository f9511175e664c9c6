// The version of a release stands in package.json. Every other file that names it is compared with it, or written.
//   node bin/version.js            tells where another version stands, and fails
//   node bin/version.js 1.0.1      writes the version into all files
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (file) => readFileSync(join(root, file), 'utf8');
const VERSION = '(\\d+\\.\\d+\\.\\d+)';

/** Files, and what stands before and after the version in them. */
const PLACES = [
  [['package.json', 'dashboard/package.json', 'packages/sdk/package.json'], /^( {2}"version": ")VERSION(")/m],
  [['package-lock.json'], /(\n {2}"version": "|"": \{\s+"name": "sealpost",\s+"version": ")VERSION(")/g],
  [['package-lock.json'], /("(?:dashboard|packages\/sdk)": \{\s+"name": "[^"]+",\s+"version": ")VERSION(")/g],
  [['Dockerfile'], /(image\.version=")VERSION(")/],
  [
    ['docker-compose.yml', ...globSync('deploy/**/*.{yaml,yml}', { cwd: root })],
    /(\bimage: (?:[\w.:-]+\/)*sealpost:)VERSION()/g,
  ],
  [['deploy/sealpost@.service'], /(: sealpost )VERSION(\. )/g],
  [globSync('deploy/**/Chart.yaml', { cwd: root }), /(\n(?:appVersion|version): "?)VERSION("?)/g],
];

const wanted = process.argv[2] ?? JSON.parse(read('package.json')).version;
if (!new RegExp(`^${VERSION}$`).test(wanted)) throw new Error(`${wanted} is not a version like 1.0.1`);
for (const [files, { source, flags }] of PLACES)
  for (const file of files) {
    const place = new RegExp(source.replace('VERSION', VERSION), flags);
    const text = read(file);
    const named = [...text.matchAll(new RegExp(place.source, `${flags.replace('g', '')}g`))].map((match) => match[2]);
    if (process.argv[2] !== undefined)
      writeFileSync(
        join(root, file),
        text.replace(place, (_, before, __, after) => `${before}${wanted}${after}`),
      );
    else
      for (const version of named.filter((version) => version !== wanted)) {
        console.error(`version: ${file} names ${version}, and package.json ${wanted}`);
        process.exitCode = 1;
      }
    // Manifests of other programs name no image of sealpost.
    if (named.length === 0 && !file.startsWith('deploy/')) {
      console.error(`version: ${file} names no version`);
      process.exitCode = 1;
    }
  }
const first = /^## \[([\d.]+)\]/m.exec(read('CHANGELOG.md'))?.[1];
if (first !== wanted) {
  console.error(`version: the first heading of CHANGELOG.md is ${first ?? 'not a version'}, not ${wanted}`);
  process.exitCode = 1;
}

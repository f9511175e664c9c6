// `npm run docs`: the documentation as a site, from docs/ and site/ to build/guide, checked, its texts compressed, with a list of all files.
// Arguments: `--base PATH`, the path below which the site is served (default /docs/guide, where the service has it).
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { checkGuide, checkSearch } from './check-guide.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const site = join(root, 'site');
const made = join(root, 'build/guide-new');
const output = join(root, 'build/guide');

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
  '.wasm': 'application/wasm',
};

/** Parts of the search index. */
const OTHER = 'application/octet-stream';

/** Types whose bytes are compressed already. */
const DENSE = [OTHER, 'image/webp'];

/** Files below this size come as they are. */
const COMPRESSED_FROM_BYTES = 1_024;

/** The site is in the package of a release, whose size is bounded. */
const TOTAL_MAX_BYTES = 4_000_000;

/** Runs a program without the settings of a service. Prints its output only if it fails, and then ends. */
const run = (command, args, cwd, more = {}) => {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('SEALPOST_'));
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env: { ...Object.fromEntries(own), ...more },
    maxBuffer: 64 * 1024 * 1024,
    encoding: 'utf8',
  });
  if (status === 0) return stdout;
  process.stderr.write(`${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}\n`);
  process.stderr.write(`build-guide: ${command} ${args.join(' ')} failed\n`);
  process.exit(1);
};

/** The packages of the site, as its lockfile says. */
const install = () => {
  const hash = createHash('sha256')
    .update(readFileSync(join(site, 'package-lock.json')))
    .digest('hex');
  const note = join(site, 'node_modules/.installed');
  if (existsSync(note) && readFileSync(note, 'utf8') === hash) return;
  run('npm', ['ci', '--no-audit', '--no-fund'], site);
  writeFileSync(note, hash);
};

/** The hashes by which a content policy allows the scripts inside the pages. Throws if one names the base. */
const scriptsIn = (pages, base) => {
  const hashes = new Set();
  for (const page of pages)
    for (const [, attributes, text] of page.matchAll(/<script([^>]*)>([^]*?)<\/script>/g)) {
      if (/\bsrc=|application\/(?:ld\+)?json/.test(attributes)) continue;
      if (base !== '' && text.includes(base))
        throw new Error(`a script inside a page names ${base}: ${text.slice(0, 200)}`);
      hashes.add(`sha256-${createHash('sha256').update(text).digest('base64')}`);
    }
  return [...hashes];
};

/** Pictures as WebP, without a loss: half of the bytes. */
const shrinkPictures = async (folder) => {
  const { default: sharp } = await import(createRequire(join(site, 'package.json')).resolve('sharp'));
  for (const name of globSync('**/*.png', { cwd: folder })) {
    const file = join(folder, name);
    await sharp(file).webp({ lossless: true, effort: 2 }).toFile(file.replace(/png$/, 'webp'));
    rmSync(file);
  }
};

/** The compressed form replaces the file: the service undoes it for clients that do not read it. */
const compress = async (file, bytes) => {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  writeFileSync(`${file}.br`, await promisify(brotliCompress)(bytes, { params }));
  rmSync(file);
};

/** Writes the list of the files, compresses them, and returns the bytes of all. */
const list = async (base) => {
  const names = readdirSync(made, { recursive: true }).sort();
  const pages = names.filter((name) => name.endsWith('.html')).map((name) => readFileSync(join(made, name), 'utf8'));
  const files = {};
  for (const name of names) {
    const file = join(made, name);
    if (!statSync(file).isFile()) continue;
    const bytes = readFileSync(file);
    const type = types[extname(name)] ?? OTHER;
    const isCompressed = bytes.length >= COMPRESSED_FROM_BYTES && !DENSE.includes(type);
    if (isCompressed) await compress(file, bytes);
    const etag = createHash('sha256').update(bytes).digest('base64url').slice(0, 16);
    files[name.replaceAll('\\', '/')] = { type, etag, isCompressed };
  }
  writeFileSync(join(made, 'files.json'), JSON.stringify({ base, scripts: scriptsIn(pages, base), files }));
  const written = readdirSync(made, { recursive: true }).map((name) => statSync(join(made, name)));
  return written.reduce((sum, entry) => sum + (entry.isFile() ? entry.size : 0), 0);
};

const { values } = parseArgs({ options: { base: { type: 'string', default: '/docs/guide' } } });
const base = values.base.replace(/\/+$/, '');
if (!/^(?:\/[\w.~-]+)*$/.test(base)) throw new Error(`--base ${values.base} is not a path, such as /docs/guide`);

install();
const description = run(process.execPath, [join(root, 'bin/sealpost.js'), 'openapi'], root);
mkdirSync(join(root, 'build'), { recursive: true });
writeFileSync(join(root, 'build/guide-openapi.json'), description);
rmSync(made, { recursive: true, force: true });
run(process.execPath, [join(site, 'node_modules/astro/bin/astro.mjs'), 'build'], site, {
  ASTRO_TELEMETRY_DISABLED: '1',
  GUIDE_BASE: base === '' ? '/' : base,
});
cpSync(join(root, 'docs/img'), join(made, 'img'), { recursive: true });
await shrinkPictures(join(made, 'img'));
// The site has a search of its own, without the forms that Pagefind brings, and one language.
for (const name of globSync('pagefind/{pagefind-{*ui,highlight},wasm.unknown}*', { cwd: made }))
  rmSync(join(made, name));
const faults = [...checkGuide(made, base), ...(await checkSearch(made, base))];
if (faults.length > 0) {
  process.stderr.write(`${faults.join('\n')}\nbuild-guide: ${faults.length} faults\n`);
  process.exit(1);
}
const bytes = await list(base);
const size = `${(bytes / 1_000_000).toFixed(1)} MB`;
if (bytes > TOTAL_MAX_BYTES) {
  process.stderr.write(`build-guide: the site has ${size}, more than ${TOTAL_MAX_BYTES / 1_000_000} MB\n`);
  process.exit(1);
}
rmSync(output, { recursive: true, force: true });
renameSync(made, output);
process.stdout.write(`build/guide is made: ${size}\n`);

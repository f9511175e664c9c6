// A step of the build: the dashboard, from dashboard/ to build/dashboard, with compressed forms beside each file and a list of all in files.json.
// It is made anew only where its sources or the lockfile changed. The service works without it and says so at /app.
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = join(root, 'dashboard');
const output = join(root, 'build/dashboard');
const list = join(output, 'files.json');

/** A service that runs serves the files of the build that it has read. */
const KEPT_MS = 24 * 60 * 60_000;

const types = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** Files of the service whose values the editor has (dashboard/src/templates/service.ts), and those that they import. */
const filesOfService = () => {
  const found = new Set();
  const follow = (file) => {
    for (const [, type, name] of readFileSync(file, 'utf8').matchAll(
      /^(?:import|export)( type)? [^;]*? from '(\.[^']+)\.js'/gm,
    )) {
      const imported = `${join(dirname(file), name)}.ts`;
      if (type !== undefined || found.has(imported)) continue;
      found.add(imported);
      follow(imported);
    }
  };
  follow(join(sources, 'src/templates/service.ts'));
  return [...found].sort();
};

const hashOf = () => {
  const hash = createHash('sha256');
  const files = globSync(['src/**/*', 'index.html', 'package.json', 'tsconfig.json'], { cwd: sources }).sort();
  // The editor of templates has their schemas, and a new template may begin with a sample.
  const others = globSync(['schemas/*.json', 'samples/{emails,attachments,blocks}/*.json'], { cwd: root }).sort();
  for (const file of [
    ...files.map((name) => join(sources, name)),
    ...others.map((name) => join(root, name)),
    join(root, 'package-lock.json'),
    ...filesOfService(),
    join(root, 'bin/client-support.js'),
    import.meta.filename,
  ])
    if (statSync(file).isFile())
      hash.update(file.slice(root.length)).update('\0').update(readFileSync(file)).update('\0');
  return hash.digest('hex');
};

const isMade = (hash) => {
  try {
    return JSON.parse(readFileSync(list, 'utf8')).hash === hash;
  } catch {
    return false;
  }
};

/** Sentences of React Aria for screen readers in other languages than the dashboard has. */
const oneLanguage = {
  name: 'one-language',
  enforce: 'pre',
  load: (id) =>
    /\/node_modules\/(?:react-aria|react-stately|react-aria-components|@react-\w+)\/.*\/intl\/.*\/(?!en-US\.)[a-z]{2}-[A-Z]{2}\.m?js$/.test(
      id,
    )
      ? 'export default {};'
      : null,
};

/** The module of hints of the template editor. Its data is a development package, as the build is. */
const clientSupport = {
  name: 'client-support',
  resolveId: (id) => (id === '#client-support' ? `\0${id}` : null),
  load: async (id) => {
    if (id !== '\0#client-support') return null;
    const { clientSupport: supportNow } = await import('./client-support.js');
    return `export default ${JSON.stringify(supportNow())};`;
  },
};

/** The policy of the dashboard allows no code that is made of a text. The compiler of MJML looks for the global object so. */
const withoutMadeCode = {
  name: 'without-made-code',
  transform: (code, id) =>
    id.includes('/node_modules/mjml-browser/')
      ? { code: code.replaceAll(/(?:new )?Function\("return this"\)\(\)/g, 'globalThis'), map: null }
      : null,
};

const make = async ({ build }, hash) => {
  const made = await build({
    root: sources,
    base: './',
    configFile: false,
    logLevel: 'warn',
    mode: 'production',
    plugins: [oneLanguage, clientSupport],
    worker: { format: 'es', plugins: () => [withoutMadeCode] },
    // Development packages of the service bring another React, which libraries beside them would find.
    resolve: { dedupe: ['react', 'react-dom'] },
    html: { cspNonce: '__NONCE__' },
    build: {
      write: false,
      target: 'es2023',
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      // Directives for servers that render React mean nothing in a browser.
      rolldownOptions: { onLog: (level, log, tell) => log.code !== 'MODULE_LEVEL_DIRECTIVE' && tell(level, log) },
    },
  });
  const files = {};
  const first = [];
  let page = '';
  mkdirSync(join(output, 'assets'), { recursive: true });
  await Promise.all(
    made.output.map(async (file) => {
      const text = file.type === 'chunk' ? file.code : file.source;
      if (file.fileName === 'index.html') {
        page = String(text);
        return;
      }
      const bytes = Buffer.from(text);
      const type = types[extname(file.fileName)];
      if (type === undefined) throw new Error(`${file.fileName} has no media type`);
      const [br, gz] = await Promise.all([
        promisify(brotliCompress)(bytes, {
          params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
        }),
        promisify(gzip)(bytes, { level: 9 }),
      ]);
      files[file.fileName] = {
        type,
        encodings: ['br', 'gzip'],
        sizes: { plain: bytes.length, br: br.length, gzip: gz.length },
        // A browser loads these with it.
        needs: [...(file.imports ?? []), ...(file.viteMetadata?.importedCss ?? [])],
      };
      // The service decompresses this form for programs that accept none.
      write(`${file.fileName}.br`, br);
      write(`${file.fileName}.gz`, gz);
    }),
  );
  for (const [, name] of page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)) first.push(name);
  for (const name of globSync('assets/*', { cwd: output })) {
    const isOurs = Object.hasOwn(files, name.replace(/\.(?:br|gz)$/, ''));
    if (!isOurs && statSync(join(output, name)).mtimeMs < Date.now() - KEPT_MS)
      rmSync(join(output, name), { force: true });
  }
  // Last, for a list names only files that are there.
  write('files.json', JSON.stringify({ hash, page, first, files }));
};

const write = (name, bytes) => {
  const file = join(output, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.${process.pid}`, bytes);
  renameSync(`${file}.${process.pid}`, file);
};

const hash = hashOf();
if (!isMade(hash)) {
  const vite = await import('vite').catch((fault) => {
    if (fault.code !== 'ERR_MODULE_NOT_FOUND') throw fault;
    process.stderr.write('build-dashboard: vite is not installed, so there is no dashboard; run `npm ci`\n');
  });
  if (vite !== undefined) await make(vite, hash);
}

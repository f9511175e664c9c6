// A step of the build: the document worker with all its libraries as one script, and what V8 compiles of it.
// The service works without it, and its document processes then take twice as long to start.
import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const workers = join(root, 'build/src/adapters/render/workers');
const bundle = join(workers, 'worker.bundle');
const cache = `${bundle}.cache`;

const changedMs = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const isMade = () => {
  const made = Math.min(changedMs(bundle), changedMs(cache));
  return [join(root, 'build/.tsbuildinfo'), join(root, 'node_modules/.package-lock.json'), process.execPath].every(
    (file) => changedMs(file) < made,
  );
};

// Modules find their files beside themselves, wherever the bundle stands.
const ownAddress = {
  name: 'own-address',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/build\/src\/.*\.js$/ }, ({ path }) => {
      const address = `require('node:url').pathToFileURL(require('node:path').join(__dirname, ${JSON.stringify(relative(workers, path))})).href`;
      return { contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', address), resolveDir: dirname(path) };
    });
  },
};

const make = async ({ build }) => {
  rmSync(cache, { force: true });
  await build({
    entryPoints: [join(workers, 'worker.js')],
    outfile: `${bundle}.new`,
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node22',
    minifyWhitespace: true,
    logLevel: 'error',
    // The PDF library requires it and we import it: without this, both of its forms would be in the bundle.
    alias: { fontkit: createRequire(import.meta.url).resolve('fontkit') },
    plugins: [ownAddress],
    banner: { js: '(function (exports, require, module, __filename, __dirname) {' },
    footer: { js: '})' },
  });
  renameSync(`${bundle}.new`, bundle);
  // A library of workbooks calls what Node advises against, and Node only keeps silent about that inside of node_modules.
  execFileSync(process.execPath, ['--no-deprecation', join(workers, 'bundle-cache.js')], { stdio: 'inherit' });
};

if (!isMade()) {
  const esbuild = await import('esbuild').catch((fault) => {
    if (fault.code !== 'ERR_MODULE_NOT_FOUND') throw fault;
    process.stderr.write(
      'bundle-documents: esbuild is not installed, so document processes will start slowly; run `npm ci`\n',
    );
  });
  if (esbuild !== undefined) await make(esbuild);
}

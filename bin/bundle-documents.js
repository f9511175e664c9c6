// A step of the build: the program with its libraries in few files, and the document worker as one script with what V8 compiles of it.
// The service works without them. It then takes 15 MB more, and it and its document processes start slower.
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const workers = join(root, 'build/src/adapters/render/workers');
const bundle = join(workers, 'worker.bundle');
const cache = `${bundle}.cache`;
const program = join(root, 'build/src/bundle');
const libraries = join(root, 'build/src/libraries');

const changedMs = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const isMade = () => {
  const made = Math.min(changedMs(bundle), changedMs(cache), changedMs(join(program, 'main.js')));
  return [join(root, 'build/.tsbuildinfo'), join(root, 'node_modules/.package-lock.json'), process.execPath].every(
    (file) => changedMs(file) < made,
  );
};

/** Files of packages, and what they are called beside the bundles: code that few documents need, WebAssembly, letters. */
const APART = {
  'qrcode/lib/core/qrcode.js': 'qrcode.cjs',
  'bwip-js/node': 'bwip-js.cjs',
  'unicode-name': 'unicode-name.cjs',
  '@resvg/resvg-wasm/index_bg.wasm': 'resvg.wasm',
  '@jsquash/webp/codec/dec/webp_dec.wasm': 'webp_dec.wasm',
  '@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm': 'mozjpeg_dec.wasm',
  '@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm': 'mozjpeg_enc.wasm',
};
/** Modules name the style of a letter of Roboto when they ask for its file. */
const ROBOTO = 'pdfmake/fonts/Roboto/';
const ROBOTO_FILES = ['Regular', 'Medium', 'Italic', 'MediumItalic'].map((style) => `Roboto-${style}.ttf`);

// Modules find their files beside themselves, wherever the bundle stands, and those of packages in one folder.
const ownAddress = (addressOf) => ({
  name: 'own-address',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/build\/src\/.*\.js$/ }, ({ path }) => {
      const apart = relative(dirname(path), libraries);
      let contents = readFileSync(path, 'utf8');
      for (const [name, file] of Object.entries(APART))
        contents = contents.replaceAll(`'${name}'`, `'${apart}/${file}'`);
      contents = contents.replaceAll(ROBOTO, `${apart}/`).replaceAll('import.meta.url', addressOf(path));
      return { contents, resolveDir: dirname(path) };
    });
  },
});

/** The files of the reader of the API description, which it looks for beside itself. */
const readerFiles = {
  name: 'reader-files',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/@fastify\/swagger-ui\/(?:index|lib\/routes)\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const contents = text.replace(/__dirname, (?:'\.\/static|'\.\.', 'static)/, `__dirname, '../libraries/${READER}`);
      if (contents === text) throw new Error(`${path} looks for its files elsewhere than before`);
      return { contents, resolveDir: dirname(path) };
    });
  },
};
const READER = 'swagger-ui';

/** Packages with machine code. The bundles hold all others. */
const PACKAGES_OUTSIDE = ['better-sqlite3', '@node-rs/argon2'];

/** A service that runs loads the files of its own build at their first use. */
const KEPT_MS = 24 * 60 * 60_000;

const makeProgram = async ({ build }) => {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'build/src/main.js')],
    outdir: program,
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    external: PACKAGES_OUTSIDE,
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    // Node shows the line of a fault.
    lineLimit: 160,
    logLevel: 'error',
    write: false,
    plugins: [
      ownAddress((path) => `new URL(${JSON.stringify(relative(program, path))},import.meta.url).href`),
      readerFiles,
    ],
    banner: {
      js: "import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url),__filename=import.meta.filename,__dirname=import.meta.dirname;",
    },
  });
  mkdirSync(program, { recursive: true });
  const isMain = ({ path }) => path === join(program, 'main.js');
  for (const file of outputFiles.sort((a, b) => isMain(a) - isMain(b))) {
    // One other character doubles what V8 takes for the text of a file. Patterns hold the only ones that esbuild leaves.
    const text = file.text.replace(/[^\0-\x7f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
    writeFileSync(`${file.path}.new`, text);
    renameSync(`${file.path}.new`, file.path);
  }
  for (const name of readdirSync(program))
    if (changedMs(join(program, name)) < Date.now() - KEPT_MS) rmSync(join(program, name));
};

const makeLibraries = async ({ build }) => {
  const { resolve } = createRequire(import.meta.url);
  mkdirSync(libraries, { recursive: true });
  for (const [name, file] of Object.entries(APART))
    if (file.endsWith('.cjs'))
      await build({
        entryPoints: [resolve(name)],
        outfile: join(libraries, file),
        bundle: true,
        platform: 'node',
        format: 'cjs',
        target: 'node22',
        minifyWhitespace: true,
        legalComments: 'none',
        logLevel: 'error',
      });
    else copyFileSync(resolve(name), join(libraries, file));
  const reader = join(dirname(resolve('@fastify/swagger-ui')), 'static');
  mkdirSync(join(libraries, READER), { recursive: true });
  // Its page loads the smaller one of two builds.
  for (const file of readdirSync(reader).filter((name) => name !== 'swagger-ui.js'))
    copyFileSync(join(reader, file), join(libraries, READER, file));
  for (const file of ROBOTO_FILES) copyFileSync(resolve(ROBOTO + file), join(libraries, file));
};

const makeWorker = async ({ build }) => {
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
    plugins: [
      ownAddress(
        (path) =>
          `require('node:url').pathToFileURL(require('node:path').join(__dirname, ${JSON.stringify(relative(workers, path))})).href`,
      ),
    ],
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
      'bundle-documents: esbuild is not installed, so the service takes more memory and starts slowly; run `npm ci`\n',
    );
  });
  if (esbuild !== undefined) {
    await makeLibraries(esbuild);
    await makeWorker(esbuild);
    await makeProgram(esbuild);
  }
}

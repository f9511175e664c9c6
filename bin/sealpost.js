#!/usr/bin/env -S MALLOC_ARENA_MAX=2 node --max-semi-space-size=8 --expose-gc
// The command line, from the compiled program. It stays readable for old versions of Node, so that they are told what to do.
// V8 takes the size of its young generation only at the start of the process: left to V8 it grows to some 100 MB, for little less CPU.
// The arenas of malloc are two for the same reason: one for each thread would keep some 10 MB that nobody uses.
import { existsSync, statSync } from 'fs';
import module from 'module';
import { fileURLToPath } from 'url';

const NODE_MAJOR_MIN = 22;

const changedMs = (path) => {
  const file = new URL(path, import.meta.url);
  return existsSync(file) ? statSync(file).mtimeMs : 0;
};
// The program in few files, unless its modules were compiled after it. An image has no note of the compiler.
const isBundled = changedMs('../build/src/bundle/main.js') > changedMs('../build/.tsbuildinfo');
const main = new URL(isBundled ? '../build/src/bundle/main.js' : '../build/src/main.js', import.meta.url);

// V8 keeps what it compiled beside the program, which saves a fifth of the CPU of a start. Where that folder cannot be
// written, each start compiles again.
if (module.enableCompileCache) module.enableCompileCache(fileURLToPath(new URL('../build/compiled', import.meta.url)));

// Node opens a debugger for the first of these, and ends for the second.
['SIGUSR1', 'SIGUSR2'].forEach((signal) => process.on(signal, () => {}));
// Process 1 of a container gets no signal without a handler. Until `serve` has its own, nothing has begun.
if (process.argv[2] === 'serve')
  ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP'].forEach((signal) =>
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(0);
    }),
  );

const refuse = (message) => {
  process.stderr.write(`sealpost: ${message}\n`);
  process.exitCode = 1;
};

if (Number(process.versions.node.split('.')[0]) < NODE_MAJOR_MIN) {
  // Only the repository has the settings of the compiler, and brings a Node.
  const advice = existsSync(new URL('../tsconfig.json', import.meta.url))
    ? 'start it with `npm start` or `npx sealpost`, which take the Node that `npm ci` has brought.'
    : 'install a newer one.';
  refuse(`this is Node ${process.versions.node}, and sealpost needs Node ${NODE_MAJOR_MIN} or newer: ${advice}`);
} else if (existsSync(main)) {
  import(main.href).catch((fault) => {
    process.stderr.write(`${fault instanceof Error ? fault.stack : fault}\n`);
    process.exitCode = 1;
  });
} else {
  refuse('it is not built yet: run `npm run build` (npm start does it too).');
}

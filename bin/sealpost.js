#!/usr/bin/env node
// The command line, from the compiled program.
import { existsSync } from 'node:fs';

const main = new URL('../build/src/main.js', import.meta.url);
if (existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write('sealpost is not built yet: run `npm run build` (npm start does it too)\n');
  process.exitCode = 1;
}

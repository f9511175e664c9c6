// Checks the types of the dashboard, with types of calls that are generated from the API description of this build: build/dashboard-api.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'build/dashboard-api');
const description = join(folder, 'openapi.json');
/** Settings of tests are no settings of a service. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SEALPOST_')));
const run = (file, ...args) =>
  execFileSync(process.execPath, [join(root, file), ...args], {
    cwd: root,
    env,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
const known = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};

mkdirSync(folder, { recursive: true });
/** A program that fails says why on its standard error. */
const described = () => {
  try {
    return run('bin/sealpost.js', 'openapi');
  } catch (fault) {
    process.stdout.write(String(fault.stderr ?? fault));
    process.exit(1);
  }
};
const text = described();
if (text !== known(description) || known(join(folder, 'types.gen.ts')) === '') {
  writeFileSync(description, text);
  run('node_modules/@hey-api/openapi-ts/bin/run.js', '-i', description, '-o', folder, '-p', '@hey-api/typescript');
}
try {
  run('node_modules/typescript-native/bin/tsc', '-p', 'dashboard');
} catch (fault) {
  process.stdout.write(String(fault.stdout ?? fault));
  process.exitCode = 1;
}

// Writes what the client (packages/sdk) has from the API description: its types, and the codes of errors. With --check it fails where they differ.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = join(root, 'packages/sdk/src');
const folder = join(root, 'build/client-types');
/** Settings of tests are no settings of a service. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SEALPOST_')));
const run = (file, ...args) =>
  execFileSync(process.execPath, [join(root, file), ...args], {
    cwd: root,
    env,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });

mkdirSync(folder, { recursive: true });
const description = join(folder, 'openapi.json');
writeFileSync(description, run('bin/sealpost.js', 'openapi'));
run('node_modules/@hey-api/openapi-ts/bin/run.js', '-i', description, '-o', folder, '-p', '@hey-api/typescript');
const { statusOf } = await import(join(root, 'build/src/http/server/errors.js'));
const codes = Object.keys(statusOf)
  .sort()
  .map((code) => `  | '${code}'`)
  .join('\n');
const made = {
  'types.gen.ts': readFileSync(join(folder, 'types.gen.ts'), 'utf8'),
  'codes.gen.ts': `// Made by bin/make-client.js.\n\n/** The code of an error that the service answers. */\nexport type ErrorCode =\n${codes};\n`,
};
for (const [name, text] of Object.entries(made)) {
  const file = join(sources, name);
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    process.exitCode = 1;
    console.log(`packages/sdk/src/${name} is not that of this API description. Run: node bin/make-client.js`);
  }
}

/**
 * A client that a generator makes of the API description: its types take a program as its author writes it, and the
 * program sends a mail with it. The program and its messages are what docs/clients.md shows.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { openApiDocument } from '../../src/http/index.js';
import { startTestApp } from '../support/app.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);

/** The block of code that the page shows for that language. */
const shown = (language: string): string => {
  const page = readFileSync(join(root, 'docs/clients.md'), 'utf8');
  const [, code] = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page) ?? [];
  if (code === undefined) throw new Error(`docs/clients.md shows no ${language}`);
  return code;
};

void t.test('a TypeScript client is generated, takes the program of the page, and sends a mail', async (t) => {
  const app = await startTestApp({ dataDir: t.testdir(), isFounded: true });
  t.teardown(() => app.stop());
  const url = await app.server.listen({ host: '127.0.0.1', port: 0 });
  const folder = join(t.testdir({ client: {} }), 'client');
  const file = (name: string): string => join(folder, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file('openapi.json'), JSON.stringify(openApiDocument(app.server)));
  symlinkSync(join(root, 'node_modules'), file('node_modules'));
  await run(
    process.execPath,
    [
      join(root, 'node_modules/@hey-api/openapi-ts/bin/run.js'),
      ...['-i', file('openapi.json'), '-o', file('sealpost'), '-c', '@hey-api/client-fetch'],
    ],
    { cwd: folder },
  );
  writeFileSync(file('send.ts'), shown('ts'));
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: 'ESNext',
    moduleResolution: 'bundler',
    target: 'ES2023',
    types: ['node'],
    lib: ['ES2023', 'DOM', 'DOM.Iterable'],
  };
  writeFileSync(file('tsconfig.json'), JSON.stringify({ compilerOptions, files: ['send.ts'] }));
  const compiled = await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder]).catch(
    (fault: unknown) => fault as { stdout: string },
  );
  t.equal(compiled.stdout, '', 'the program has no type error');
  const bundle = file('send.mjs');
  await run(join(root, 'node_modules/.bin/esbuild'), [
    file('send.ts'),
    ...['--bundle', '--platform=node', '--format=esm', `--outfile=${bundle}`, '--log-level=error'],
  ]);
  const { stdout } = await run(process.execPath, [bundle], {
    env: { API_URL: url, API_KEY: app.key },
  });
  t.match(stdout, /^queued [0-9a-f-]{36}\nERR_TMPL_002: .+\n$/);
});

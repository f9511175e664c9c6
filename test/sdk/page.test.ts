/** The package of the client as it is published: its page compiles against it and runs, also where only web standards are. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createContext, runInContext } from 'node:vm';
import t from 'tap';
import type { createClient as make } from '../../packages/sdk/src/index.js';
import { startTestApp } from '../support/app.js';
import { compilePrograms, installClient } from '../support/client-forms.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);

/** The blocks of code that the page shows. */
const shown = (): readonly string[] =>
  [...readFileSync(join(root, 'docs/sdk.md'), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code ?? '');

void t.test('the packed client', async (t) => {
  const folder = t.testdir();
  await installClient(folder);
  const file = (name: string): string => join(folder, name);

  await t.test('has its code, its types and its page alone', async (t) => {
    const names = readdirSync(file('node_modules/sealpost-client'), { recursive: true, encoding: 'utf8' });
    t.ok(names.includes('dist/index.d.ts') && names.includes('dist/index.js'));
    t.same(
      names.filter((name) => !/^(?:dist|README\.md|package\.json|dist\/[\w.]+\.(?:js|d\.ts))$/.test(name)),
      [],
    );
  });

  await t.test('runs the programs of its page', async (t) => {
    const app = await startTestApp({ dataDir: t.testdir(), isFounded: true });
    t.teardown(() => app.stop());
    const url = await app.server.listen({ host: '127.0.0.1', port: 0 });
    const blocks = shown();
    const hooks = blocks.filter((code) => code.includes('sealpost-client/webhooks'));
    const programs = blocks.filter((code) => !hooks.includes(code));
    t.same([hooks.length, programs.length], [1, 3]);
    const imports = /^import .*$/gm;
    const said = await compilePrograms(folder, {
      'program.ts': [
        ...programs.flatMap((code) => code.match(imports) ?? []),
        ...programs.map((code) => code.replaceAll(imports, '')),
      ].join('\n'),
      'hook.ts': hooks.join('\n'),
    });
    t.equal(said, '', 'the programs have no type error');
    const { stdout } = await run(process.execPath, [file('program.js')], { env: { API_URL: url, API_KEY: app.key } });
    t.match(stdout, /^queued [\da-f-]{36}\n(?:.+\n)+There is no such template\.\n$/);
  });

  await t.test('needs nothing of Node', async (t) => {
    const require = createRequire(file('package.json'));
    const bundle = await run(join(root, 'node_modules/.bin/esbuild'), [
      join(require.resolve('sealpost-client/package.json', { paths: [folder] }), '../dist/index.js'),
      ...['--bundle', '--format=iife', '--global-name=sealpost', '--platform=neutral', '--log-level=error'],
    ]);
    const calls: string[] = [];
    const context = createContext({
      ...{ AbortSignal, AbortController, Blob, FormData, Headers, Request, Response, TextDecoder, TextEncoder, URL },
      ...{ atob, btoa, crypto, setTimeout, clearTimeout },
      fetch: (address: URL) => {
        calls.push(address.href);
        return Promise.resolve(Response.json({ id: 'e1' }));
      },
    });
    const { createClient } = runInContext(`${bundle.stdout};sealpost`, context) as Readonly<{
      createClient: typeof make;
    }>;
    const client = createClient({ url: 'https://mail.example.com', key: 'sealpost_sk_x' });
    t.equal((await client.send({ templateId: 'a', to: [] })).id, 'e1');
    t.same(calls, ['https://mail.example.com/api/emails/send']);
  });
});

/** The receivers that docs/webhooks.md shows, each run as it stands, take what the service signs and nothing else. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { deliveryHeaders, formatSecret, signingKeysOf } from '../../src/domain/webhooks/delivery.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);

const page = readFileSync(fileURLToPath(new URL('../../../docs/webhooks.md', import.meta.url)), 'utf8');
const secret = formatSecret(Buffer.alloc(32, 7));
const body = '{"event":"email.sent","data":{"subject":"Größe, \\"zwei\\"\u2028 & <drei>"}}\n';

type Language = Readonly<{
  name: string;
  block: string;
  file: string;
  /** The command that shows whether the language is installed. */
  version: readonly string[];
  build?: (file: string) => readonly string[];
  run: (file: string, port: string) => readonly string[];
}>;

const languages: readonly Language[] = [
  {
    name: 'Node',
    block: 'js',
    file: 'receiver.mjs',
    version: [process.execPath, '--version'],
    run: (file) => [process.execPath, file],
  },
  {
    name: 'Python',
    block: 'python',
    file: 'receiver.py',
    version: ['python3', '--version'],
    run: (file) => ['python3', file],
  },
  {
    name: 'PHP',
    block: 'php',
    file: 'receiver.php',
    version: ['php', '--version'],
    run: (file, port) => ['php', '-S', `127.0.0.1:${port}`, file],
  },
  {
    ...{ name: 'Go', block: 'go', file: 'receiver.go', version: ['go', 'version'] },
    build: (file) => ['go', 'build', '-o', `${file}.program`, file],
    run: (file) => [`${file}.program`],
  },
];

const isThere = ([program = '', ...args]: readonly string[]): boolean => spawnSync(program, args).status === 0;

/** As the service signs it at that moment. */
const signed = (nowMs: number, key = secret): Readonly<Record<string, string>> =>
  deliveryHeaders({
    keys: [signingKeysOf(key)],
    id: 'evt_0_AAAAAAAAAAAAAAAAAAAAAA',
    previousId: null,
    kind: 'email.sent',
    body,
    nowMs,
  });

const without = (name: string): Record<string, string> =>
  Object.fromEntries(Object.entries(signed(Date.now())).filter(([header]) => header !== name));

const post = async (url: string, headers: Readonly<Record<string, string>>, sent = body): Promise<number> =>
  (await fetch(url, { method: 'POST', headers, body: sent })).status;

const check = async (t: Test, url: string): Promise<void> => {
  const now = Date.now();
  t.equal(await post(url, signed(now)), 204, 'what is signed now');
  t.equal(await post(url, signed(now - 200_000)), 204, 'what was under way for minutes');
  t.equal(await post(url, signed(now), body.replace('zwei', 'Zwei')), 401, 'another body');
  t.equal(await post(url, signed(now), body.trimEnd()), 401, 'a body that is not byte for byte');
  t.equal(await post(url, signed(now, formatSecret(Buffer.alloc(32, 8)))), 401, 'another secret');
  t.equal(await post(url, signed(now - 600_000)), 401, 'what was signed long ago');
  t.equal(await post(url, signed(now + 600_000)), 401, 'what is of the future');
  t.equal(
    await post(url, { ...signed(now), 'x-service-timestamp': String(Math.floor(now / 1_000) - 1) }),
    401,
    'another time',
  );
  t.equal(await post(url, { ...signed(now), 'x-service-timestamp': 'now' }), 401, 'a time that is none');
  for (const header of ['x-service-timestamp', 'x-service-signature'])
    t.equal(await post(url, without(header)), 401, `without ${header}`);
};

const freePort = async (): Promise<string> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return String(port);
};

const start = (t: Test, [program = '', ...args]: readonly string[], cwd: string, port: string): ChildProcess => {
  const child = spawn(program, args, {
    cwd,
    stdio: 'ignore',
    env: { ...process.env, NODE_OPTIONS: '', SECRET: secret, PORT: port },
  });
  t.teardown(() => void child.kill('SIGKILL'));
  return child;
};

const missing = languages.filter(({ version }) => !isThere(version));
if (missing.length > 0) t.comment(`not run, for they are not here: ${missing.map(({ name }) => name).join(', ')}`);

for (const language of languages) {
  const skip = missing.includes(language) && `${language.name} is not here`;
  await t.test(language.name, { skip, timeout: 900_000 }, async (t) => {
    const shown = new RegExp(`^\`\`\`${language.block}\n([^]*?)^\`\`\`$`, 'm').exec(page)?.[1];
    t.ok(shown, 'the page shows it');
    const directory = temporaryDirectory(t);
    const file = join(directory, language.file);
    writeFileSync(file, shown ?? '');
    const [compiler, ...args] = language.build?.(file) ?? [];
    if (compiler !== undefined) {
      const { status, stderr } = spawnSync(compiler, args, {
        cwd: directory,
        env: { ...process.env, GO111MODULE: 'off' },
      });
      t.equal(status, 0, String(stderr));
    }
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/`;
    start(t, language.run(file, port), directory, port);
    await eventually('it answers', async () => (await post(url, {})) === 401, 60_000);
    await check(t, url);
  });
}

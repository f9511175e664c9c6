/**
 * The package of a release as people get it: packed, installed in an empty folder without install scripts, and started
 * there by each Node that is supported; and the files of the image, run by a user without rights on a read-only root.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { temporaryDirectory } from '../support/data-directory.js';
import { freePort } from '../support/free-port.js';
import { withoutGuide } from '../support/guide.js';
import { otherNode } from '../support/other-nodes.js';
import { eventually } from '../support/wait.js';

t.setTimeout(600_000);

const root = fileURLToPath(new URL('../../../', import.meta.url));
const VERSION = '1.0.0';
const MB = 1_000_000;
const PACKAGE_MAX = 25 * MB;
const IMAGE_MAX = 250 * MB;
/**
 * The layer of `debian:bookworm-slim`. The same packages, unpacked by `mmdebstrap --variant=apt --include=tzdata` without
 * recommended ones, manuals, translations and documentation, are 71 MB.
 */
const BASE_BYTES = 75 * MB;
/** Node 24.21 for x64 Linux without symbols. */
const STRIPPED_NODE_BYTES = 108.6 * MB;

/** The environment of a person who has set nothing: no settings of sealpost, nothing of the test runner. */
const environment = (path: string, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  PATH: `${path}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`,
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => /^(?:HOME|LANG|https?_proxy|no_proxy|npm_config_.*)$/i.test(name)),
  ),
  ...more,
});
const ownPath = [...new Set([dirname(process.execPath), ...(process.env['PATH'] ?? '').split(':')])].join(':');

const run = async (command: string, args: readonly string[], cwd: string, path = ownPath): Promise<string> => {
  const { stdout } = await promisify(execFile)(command, args, {
    cwd,
    env: environment(path),
    maxBuffer: 64 * 1024 * 1024,
    timeout: 240_000,
  });
  return stdout;
};

const bytesOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);

/** Packs a copy of what is built, so that the manifest of the repository stays in its place for the tests beside this. */
const packed = async (t: Test): Promise<string> => {
  const copy = temporaryDirectory(t);
  for (const name of [
    'package.json',
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
    '.env.example',
    'bin',
    'fonts',
    'samples',
    'schemas',
  ])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  mkdirSync(join(copy, 'build'));
  for (const name of ['src', 'dashboard', 'guide', '.tsbuildinfo'])
    cpSync(join(root, 'build', name), join(copy, 'build', name), { recursive: true, preserveTimestamps: true });
  await run('node', ['bin/licences.js', '--write'], root);
  cpSync(join(root, 'build/THIRD-PARTY-LICENSES.txt'), join(copy, 'build/THIRD-PARTY-LICENSES.txt'));
  const manifest = readFileSync(join(copy, 'package.json'), 'utf8');
  await run('sh', ['-c', 'npm run --silent sbom > "$0"', join(copy, 'build/sbom.json')], root);
  await run('node', ['bin/package.js', 'before'], copy);
  await run('npm', ['pack', '--ignore-scripts', '--silent'], copy);
  await run('node', ['bin/package.js', 'after'], copy);
  t.equal(readFileSync(join(copy, 'package.json'), 'utf8'), manifest, 'the manifest of the repository comes back');
  return join(copy, `sealpost-${VERSION}.tgz`);
};

type Running = Readonly<{ base: string; output: () => string; stop: () => Promise<number | null> }>;

/** Starts a service in a process group of its own, and stops it as systemd does: the signal goes to all of them. */
const started = async (
  t: Test,
  command: readonly [string, ...string[]],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<Running> => {
  const [program, ...args] = command;
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  let isEnded = false;
  const ended = new Promise<number | null>((resolve) =>
    child.on('close', (code) => {
      isEnded = true;
      resolve(code);
    }),
  );
  const kill = (signal: NodeJS.Signals): void => {
    if (child.pid !== undefined && !isEnded) process.kill(-child.pid, signal);
  };
  t.teardown(() => kill('SIGKILL'));
  const base = await eventually(
    'the service is running',
    () => {
      if (isEnded) throw new Error(output);
      return /sealpost is running on (\S+)\n[^]*API reference/.exec(output)?.[1];
    },
    60_000,
  );
  return {
    base,
    output: () => output,
    stop: () => {
      kill('SIGTERM');
      return ended;
    },
  };
};

/** Runs the printed curl, and waits for its mail behind the printed link. Out: the key, and the id of the email. */
const firstMail = async (t: Test, service: Running): Promise<Readonly<{ key: string; id: string }>> => {
  const curl = await eventually('the curl is printed', () => /^curl .*$/m.exec(service.output())?.[0]);
  const key = /Bearer (\S+)'/.exec(curl)?.[1] ?? '';
  const { id } = JSON.parse(await run('sh', ['-c', curl], root)) as { id: string };
  const mailbox = await fetch(/Mailbox +(\S+)/.exec(service.output())?.[1] ?? '', { redirect: 'manual' });
  const cookie = mailbox.headers.get('set-cookie')?.split(';')[0] ?? '';
  const mails = await eventually('the mail is in the mailbox', async () => {
    const text = await (await fetch(`${service.base}/mailbox/messages`, { headers: { cookie } })).text();
    return text.includes('ada@example.com') && text;
  });
  t.match(mails, /NW-10482/);
  return { key, id };
};

const call = (service: Running, key: string, path: string, body?: unknown): Promise<Response> =>
  fetch(`${service.base}${path}`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });

/** Asks for all that the program loads from files beside its bundle: libraries, WebAssembly, letters, pages, threads. */
const tryFilesBeside = async (t: Test, service: Running, key: string): Promise<void> => {
  for (const document of ['invoice', 'shipping-label', 'ticket', 'monthly-report']) {
    const sample = JSON.parse(
      readFileSync(join(root, `samples/calls/attachments/${document}.json`), 'utf8'),
    ) as unknown;
    const made = await call(service, key, `/api/templates/attachment/${document}/preview`, sample);
    t.match(made.headers.get('content-type') ?? '', /pdf|spreadsheet/, `${document} is made`);
    t.ok((await made.arrayBuffer()).byteLength > 3_000);
  }
  const ticket = JSON.parse(readFileSync(join(root, 'samples/calls/emails/ticket.json'), 'utf8')) as unknown;
  t.equal((await call(service, key, '/api/emails/send', ticket)).status, 201, 'a mail with codes and a document');
  // A body of that size is read in a thread.
  const padded = { ...(ticket as object), metadata: { text: 'x'.repeat(3 * MB) } };
  t.equal((await call(service, key, '/api/emails/send', padded)).status, 400);
  for (const [path, type] of [
    ['/docs/static/swagger-ui-bundle.js', /javascript/],
    ['/docs/static/swagger-ui.css', /css/],
    ['/app', /html/],
    ['/docs/guide/first-mail/', /html/],
    ['/openapi.json', /json/],
  ] as const) {
    const page = await fetch(service.base + path);
    t.match([page.status, page.headers.get('content-type')], [200, type], path);
    if (path === '/openapi.json') t.match(await page.json(), { info: { version: VERSION } });
    else await page.arrayBuffer();
  }
};

type Search = Readonly<{
  options: (options: Readonly<Record<string, string>>) => Promise<void>;
  search: (words: string) => Promise<Readonly<{ results: readonly Readonly<{ data: () => Promise<unknown> }>[] }>>;
}>;

/** Asks for every file of the guide, and searches in it by the program that its pages load. */
const tryGuide = async (t: Test, service: Running, folder: string): Promise<void> => {
  const guide = `${service.base}/docs/guide`;
  const { files } = JSON.parse(readFileSync(join(folder, 'build/guide/files.json'), 'utf8')) as Readonly<{
    files: Readonly<Record<string, Readonly<{ type: string }>>>;
  }>;
  for (const [name, { type }] of Object.entries(files)) {
    const file = await fetch(`${guide}/${name}`);
    if (file.status !== (name === '404.html' ? 404 : 200) || file.headers.get('content-type') !== type)
      t.fail(`${name}: ${file.status}, ${file.headers.get('content-type')}`);
    await file.arrayBuffer();
  }
  const program = join(temporaryDirectory(t), 'pagefind.mjs');
  writeFileSync(program, await (await fetch(`${guide}/pagefind/pagefind.js`)).text());
  const search = (await import(pathToFileURL(program).href)) as Search;
  await search.options({ basePath: `${guide}/pagefind/`, baseUrl: '/docs/guide/' });
  const { results } = await search.search('rotate DKIM');
  const found = await Promise.all(results.slice(0, 5).map((result) => result.data()));
  t.match(JSON.stringify(found), '"/docs/guide/domains/#rotate-dkim-keys"', 'the search finds the section');
};

const skip = withoutGuide;
const prepared = skip === false ? packed(t) : Promise.resolve('');

await t.test('the package holds what runs, and its manifest what it needs', { skip }, async (t) => {
  const file = await prepared;
  const { size } = statSync(file);
  t.ok(size < PACKAGE_MAX, `it has ${(size / MB).toFixed(1)} MB`);
  const names = (await run('tar', ['-tzf', file], root)).trim().split('\n');
  for (const name of [
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
    'build/THIRD-PARTY-LICENSES.txt',
    'build/sbom.json',
    'fonts/README.md',
  ])
    t.ok(names.includes(`package/${name}`), name);
  t.same(
    names
      // Files that pages of the guide link to are texts of it.
      .filter((name) => !/^package\/build\/guide\/files\/.*\.txt(?:\.br)?$/.test(name))
      .filter((name) => /\.(?:ts|tsx|map|db|key)$|\/(?:test|bench|node_modules)\//.test(name)),
    [],
    'neither sources nor tests',
  );
  const manifest = JSON.parse(await run('tar', ['-xzOf', file, 'package/package.json'], root)) as Readonly<
    Record<string, unknown>
  >;
  t.same(Object.keys(manifest['dependencies'] as object).sort(), ['@node-rs/argon2', 'better-sqlite3', 'lru-cache']);
  t.notOk('scripts' in manifest || 'private' in manifest || 'devDependencies' in manifest);
});

await t.test('it runs in an empty folder, by each Node', { skip }, async (t) => {
  const folder = temporaryDirectory(t);
  cpSync(await prepared, join(folder, `sealpost-${VERSION}.tgz`));
  const install = [
    'install',
    `./sealpost-${VERSION}.tgz`,
    '--ignore-scripts',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
  ];
  await run('npm', install, folder);
  t.same(
    readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['@node-rs', 'better-sqlite3', 'lru-cache', 'node-addon-api', 'sealpost'],
    'the bundles hold all other packages',
  );
  for (const major of [22, 24, 26] as const)
    await t.test(`Node ${major}`, async (t) => {
      const bin = major === 24 ? dirname(process.execPath) : await otherNode(t, major);
      if (bin === undefined) return;
      const path = `${bin}:${ownPath}`;
      t.match(await run('node', ['--version'], folder, path), new RegExp(`^v${major}\\.`));
      const npx = (...args: string[]): Promise<string> => run('npx', ['sealpost', ...args], folder, path);
      t.equal((await npx('--version')).trim(), VERSION);
      t.teardown(() => rmSync(join(folder, 'data'), { recursive: true, force: true }));
      const serve = async (): Promise<Running> =>
        started(t, ['npx', 'sealpost', 'serve'], folder, environment(path, { PORT: String(await freePort()) }));
      const first = await serve();
      const { key, id } = await firstMail(t, first);
      await tryFilesBeside(t, first, key);
      if (major === 24) await tryGuide(t, first, join(folder, 'node_modules/sealpost'));
      await first.stop();
      await npx('verify');
      if (major !== 24) return;
      const second = await serve();
      t.notMatch(second.output(), /Send the first mail/);
      t.match(await (await call(second, key, `/api/emails/${id}`)).json(), { id, status: /^(?:sent|delivered)$/ });
      await second.stop();
      await npx('doctor');
      await npx('rebuild');
    });
});

/** Runs what follows as the first user of a container, who may write to `data` only. */
const READ_ONLY = `
set -e
mount --make-rprivate /
mount --bind "$DATA" "$DATA"
mount --bind "$APP" "$APP"
mount -o remount,bind,ro "$APP"
mount -o remount,bind,ro /
if touch /written "$APP/written" 2>/dev/null; then exit 9; fi
exec setpriv --reuid=1000 --regid=1000 --clear-groups --no-new-privs --bounding-set=-all "$APP/bin/sealpost.js" serve
`;

await t.test('the files of the image are small, and run on a read-only root', { skip }, async (t) => {
  const place = temporaryDirectory(t);
  chmodSync(place, 0o755);
  const app = join(place, 'app');
  await run('sh', [join(root, 'bin/image.sh'), await prepared, app, process.execPath], place);
  const stripped = join(place, 'node');
  const hasStrip = spawnSync('strip', ['--strip-unneeded', '-o', stripped, process.execPath]).status === 0;
  const node = hasStrip ? statSync(stripped).size : STRIPPED_NODE_BYTES;
  const size = BASE_BYTES + node + bytesOf(app);
  t.comment(
    `${[BASE_BYTES, node, bytesOf(app), size].map((bytes) => (bytes / MB).toFixed(1)).join(', ')} MB: base, Node, program, together`,
  );
  t.ok(size < IMAGE_MAX, `${(size / MB).toFixed(1)} MB`);

  if (spawnSync('unshare', ['-m', 'sh', '-c', 'mount --make-rprivate / && mount -o remount,bind,ro /']).status !== 0)
    return void t.pass('needs mounts', { skip: 'this machine lets nobody mount' });
  const data = join(place, 'data');
  mkdirSync(data);
  chownSync(data, 1000, 1000);
  if (hasStrip) chmodSync(stripped, 0o755);
  const service = await started(
    t,
    ['unshare', '-m', 'sh', '-c', READ_ONLY],
    '/',
    environment(hasStrip ? place : ownPath, {
      APP: app,
      DATA: data,
      TMPDIR: data,
      SEALPOST_DATA_DIR: data,
      NODE_ENV: 'production',
      PORT: String(await freePort()),
    }),
  );
  const { key } = await firstMail(t, service);
  await tryFilesBeside(t, service, key);
  t.equal(statSync(join(data, 'events.db')).uid, 1000);
  t.equal(await service.stop(), 0);
});

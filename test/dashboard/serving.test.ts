/** How the service serves the dashboard: the page with its nonce, files that never change, and what is not there. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { dashboardRoutes } from '../../src/http/pages/dashboard.js';
import { mailboxStyle } from '../../src/http/pages/client.js';
import { openServer } from '../http/server.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The first load: what a browser fetches until it shows the list of emails, or the start page without charts. */
const FIRST_LOAD_BYTES_MAX = 180 * 1024;

const CHARTS_BYTES_MAX = 25 * 1024;

/** The view of a template as JSON; the schema of its kind comes apart. */
const JSON_BYTES_MAX = 122 * 1024;
const SCHEMA_BYTES_MAX = 10 * 1024;

/** The view Design, which is the tree, the canvas and the forms; the text editor comes apart. */
const DESIGN_BYTES_MAX = 48 * 1024;
const RICH_TEXT_BYTES_MAX = 105 * 1024;

type Built = Readonly<{
  hash: string;
  first: readonly string[];
  files: Readonly<
    Record<string, Readonly<{ type: string; sizes: Readonly<{ plain: number; br: number }>; needs: readonly string[] }>>
  >;
}>;

const builtNow = (): Built => {
  execFileSync(process.execPath, [join(root, 'bin/build-dashboard.js')], { stdio: 'inherit' });
  return JSON.parse(readFileSync(join(root, 'build/dashboard/files.json'), 'utf8')) as Built;
};

const built = builtNow();

void t.test('the page is made for each request', async (t) => {
  const { app } = await openServer(t);
  const page = await app.inject('/app');
  t.equal(page.statusCode, 200);
  t.match(page.headers, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' });
  const policy = String(page.headers['content-security-policy']);
  const nonce = /style-src 'self' 'nonce-([\w-]{22})'/.exec(policy)?.[1];
  t.ok(nonce !== undefined, policy);
  t.match(
    policy,
    /^default-src 'none'; script-src 'self'; .*base-uri 'self'; form-action 'none'; frame-ancestors 'none'$/,
  );
  t.match(page.body, `<meta property="csp-nonce" nonce="${nonce}">`);
  t.match(page.body, '<base href="/app/" />');
  t.notMatch(page.body, /__[A-Z]+__/, 'every place is filled');
  const again = String((await app.inject('/app')).headers['content-security-policy']);
  t.not(again, policy, 'a nonce is used once');
  for (const path of ['/app/', '/app/emails', '/app/emails/x/y?q=%22'])
    t.match(await app.inject(path), { statusCode: 200, body: /<div id="app">/ }, path);
});

void t.test('a proxy may serve it below a path', async (t) => {
  const { app } = await openServer(t, { settings: { publicUrl: 'https://mail.example.com/mail"' } });
  t.match((await app.inject('/app')).body, '<base href="/mail%22/app/" />');
});

void t.test('files never change under their names, and come compressed', async (t) => {
  const { app } = await openServer(t);
  const [name = ''] = built.first;
  const get = (encodings?: string) =>
    app.inject({ url: `/app/${name}`, headers: encodings === undefined ? {} : { 'accept-encoding': encodings } });
  const plain = await get();
  t.match(plain, {
    statusCode: 200,
    headers: {
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
    },
  });
  t.notOk('content-encoding' in plain.headers);
  const br = await get('gzip, deflate, br');
  t.equal(br.headers['content-encoding'], 'br');
  t.ok(brotliDecompressSync(br.rawPayload).equals(plain.rawPayload));
  const gzip = await get('gzip;q=0.5, br;q=0');
  t.equal(gzip.headers['content-encoding'], 'gzip');
  t.ok(gunzipSync(gzip.rawPayload).equals(plain.rawPayload));
});

void t.test('previews have a frame in which styles of mails work, and nothing runs', async (t) => {
  const { app } = await openServer(t);
  const policyOf = async (path: string): Promise<string> => {
    const frame = await app.inject(path);
    t.match(frame, { statusCode: 200, body: /^<!doctype html><html lang="en">/ }, path);
    return String(frame.headers['content-security-policy']);
  };
  const still = await policyOf('/app/frame');
  t.match(still, /^default-src 'none'; img-src data:; style-src 'unsafe-inline'; /);
  t.match(still, /; frame-ancestors 'self'; sandbox allow-same-origin$/);
  t.notMatch(still, /script/);
  t.match(await policyOf('/app/frame?pictures=true'), /; img-src data: https: http:; /);
});

void t.test('what is not there', async (t) => {
  const { app } = await openServer(t);
  const missing = [
    '/app/assets/none.js',
    '/app/assets/',
    '/app/assets/__proto__',
    '/app/assets/..%2ffiles.json',
    '/app/assets/%2e%2e/%2e%2e/tsconfig.json',
    `/app/${built.first[0]}.br`,
  ];
  for (const path of missing) {
    const answer = await app.inject(path);
    t.match(answer, { statusCode: 404, headers: { 'cache-control': 'no-store' } }, path);
    t.equal(answer.json<{ code: string }>().code, 'NOT_FOUND');
  }
});

void t.test('without a build the page says how to make one', async (t) => {
  const { app } = await openServer(t, {}, (scope) => {
    void scope.register(
      async (below) =>
        dashboardRoutes(
          below as typeof scope,
          { ids: { bytes: (size: number) => Buffer.alloc(size) } as never, version: '1' },
          pathToFileURL(`${t.testdir()}/`),
        ),
      { prefix: '/elsewhere' },
    );
  });
  t.match(await app.inject('/elsewhere/app'), { statusCode: 503, body: /npm ci &amp;&amp; npm run build/ });
  t.match(await app.inject('/elsewhere/app/assets/a.js'), { statusCode: 404 });
});

/** The brotli bytes of files with all that browsers load with them. */
const bytesOf = (names: readonly string[], without: ReadonlySet<string> = new Set()): number => {
  const all = new Set(names);
  for (const name of all) for (const needed of built.files[name]!.needs) all.add(needed);
  return [...all].filter((name) => !without.has(name)).reduce((sum, name) => sum + built.files[name]!.sizes.br, 0);
};

/** The script of a page, by the name of its source. */
const scriptOf = (t: Test, source: string): string => {
  const found = Object.keys(built.files).filter((name) => new RegExp(`^assets/${source}-[\\w-]{8}\\.js$`).test(name));
  t.equal(found.length, 1, `${source} has a script of its own`);
  return found[0]!;
};

void t.test('the first load keeps to its budget', (t) => {
  for (const source of ['list', 'overview']) {
    const bytes = bytesOf([...built.first, scriptOf(t, source)]);
    t.comment(`first load with ${source}: ${bytes} bytes of brotli`);
    t.ok(bytes <= FIRST_LOAD_BYTES_MAX, `${source}: ${bytes} of ${FIRST_LOAD_BYTES_MAX} bytes`);
  }
  t.end();
});

void t.test('charts keep to theirs', (t) => {
  const bytes = bytesOf([scriptOf(t, 'chart')], new Set(built.first));
  t.ok(bytes <= CHARTS_BYTES_MAX, `${bytes} of ${CHARTS_BYTES_MAX} bytes`);
  t.end();
});

void t.test('the editor of templates keeps to its own', (t) => {
  const design = scriptOf(t, 'design');
  const { br } = built.files[design]!.sizes;
  t.ok(br <= DESIGN_BYTES_MAX, `${br} of ${DESIGN_BYTES_MAX} bytes`);
  const around = new Set([...built.first, design]);
  for (const name of around) for (const needed of built.files[name]!.needs) around.add(needed);
  const text = bytesOf([scriptOf(t, 'rich-text')], around);
  t.ok(text <= RICH_TEXT_BYTES_MAX, `${text} of ${RICH_TEXT_BYTES_MAX} bytes`);
  t.end();
});

void t.test('the JSON of templates keeps to its own', (t) => {
  const page = new Set([...built.first, scriptOf(t, 'templates')]);
  for (const name of page) for (const needed of built.files[name]!.needs) page.add(needed);
  const bytes = bytesOf([scriptOf(t, 'json')], page);
  t.comment(`JSON of templates: ${bytes} bytes of brotli`);
  t.ok(bytes <= JSON_BYTES_MAX, `${bytes} of ${JSON_BYTES_MAX} bytes`);
  for (const kind of ['email', 'attachment', 'block']) {
    const schema = bytesOf([scriptOf(t, `${kind}-template`)], page);
    t.ok(schema <= SCHEMA_BYTES_MAX, `${kind}: ${schema} of ${SCHEMA_BYTES_MAX} bytes`);
  }
  t.end();
});

void t.test('a build that has not changed is not made again', (t) => {
  const file = join(root, 'build/dashboard/files.json');
  const before = readFileSync(file, 'utf8');
  t.equal(builtNow().hash, built.hash);
  t.equal(readFileSync(file, 'utf8'), before);
  t.end();
});

void t.test('no language but English is in it', (t) => {
  for (const name of Object.keys(built.files).filter((file) => file.endsWith('.js'))) {
    const text = brotliDecompressSync(readFileSync(join(root, 'build/dashboard', `${name}.br`))).toString();
    t.notMatch(text, /Schließen|Fermer|Cerrar|关闭/, name);
  }
  t.end();
});

void t.test('its colours are those of the mailbox page', (t) => {
  const colours = (css: string): Readonly<Record<string, string>> =>
    Object.fromEntries(
      [...css.matchAll(/--([\w-]+): (light-dark\([^)]*\));/g)].map(([, name, value]) => [name!, value!]),
    );
  const mailbox = colours(mailboxStyle);
  t.ok(Object.keys(mailbox).length >= 7);
  t.match(colours(readFileSync(join(root, 'dashboard/src/styles/base.css'), 'utf8')), mailbox);
  t.end();
});

/** How the service serves the guide at /docs/guide: pages, files, their caching and policies, and what is not there. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { guideRoutes } from '../../src/http/pages/guide.js';
import { openServer, type ServerOptions } from '../http/server.js';

const PAGE = '<!doctype html><a href="/docs/guide/webhooks/">Webhooks</a>';

const pages = {
  'index.html': PAGE,
  'webhooks/index.html': PAGE,
  'webhooks.md': '# Webhooks\n',
  'llms.txt': '# sealpost\n',
  '404.html': 'Page not found',
  '_astro/a.hash.js': 'import("/docs/guide/_astro/b.js")',
  'pagefind/fragment/en_1.pf_fragment': 'x',
} as const;

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  pf_fragment: 'application/octet-stream',
};

/** A built guide: its pages and their list. */
const builtIn = (t: Test): string =>
  t.testdir({
    'index.html.br': brotliCompressSync(PAGE),
    webhooks: { 'index.html': PAGE },
    'webhooks.md': pages['webhooks.md'],
    'llms.txt': pages['llms.txt'],
    '404.html': pages['404.html'],
    _astro: { 'a.hash.js': pages['_astro/a.hash.js'] },
    pagefind: { fragment: { 'en_1.pf_fragment': 'x' } },
    'secret.txt': 'not in the list',
    'files.json': JSON.stringify({
      base: '/docs/guide',
      scripts: ['sha256-abc='],
      files: Object.fromEntries(
        Object.keys(pages).map((name) => [
          name,
          {
            type: types[name.slice(name.lastIndexOf('.') + 1)],
            etag: `tag-${name}`,
            isCompressed: name === 'index.html',
          },
        ]),
      ),
    }),
  });

/** A server whose guide is that of the folder, below a path of its own: /docs/guide is that of this build. */
const serve = async (t: Test, folder: string, options: Partial<ServerOptions> = {}) => {
  const { app } = await openServer(t, options, (scope) => {
    void scope.register(async (below) => guideRoutes(below as typeof scope, pathToFileURL(`${folder}/`)), {
      prefix: '/at',
    });
  });
  return (path: string, headers: Readonly<Record<string, string>> = {}) =>
    app.inject({ url: `/at${path === '/llms.txt' ? '' : '/docs/guide'}${path}`, headers });
};

void t.test('pages come with a policy of their own, and are asked for again', async (t) => {
  const get = await serve(t, builtIn(t));
  const page = await get('/webhooks/');
  t.match(page, {
    statusCode: 200,
    body: PAGE,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      etag: '"tag-webhooks/index.html"',
      vary: 'accept-encoding',
    },
  });
  t.equal(
    page.headers['content-security-policy'],
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' 'sha256-abc='; style-src 'self' 'unsafe-inline'; " +
      "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  const again = await get('/webhooks/', { 'if-none-match': 'W/"other", W/"tag-webhooks/index.html"' });
  t.match(again, { statusCode: 304, body: '' });
  t.match(await get('/webhooks.md'), {
    statusCode: 200,
    body: '# Webhooks\n',
    headers: { 'content-type': 'text/markdown; charset=utf-8' },
  });
  t.match(await get('/llms.txt'), {
    statusCode: 200,
    body: '# sealpost\n',
    headers: { 'content-type': 'text/plain; charset=utf-8' },
  });
});

void t.test('addresses without a slash lead to those with one', async (t) => {
  const get = await serve(t, builtIn(t));
  t.match(await get(''), { statusCode: 308, headers: { location: '/docs/guide/' } });
  t.match(await get('/webhooks'), { statusCode: 308, headers: { location: '/docs/guide/webhooks/' } });
});

void t.test('a file comes compressed to who takes it, and plain to others under a tag of its own', async (t) => {
  const get = await serve(t, builtIn(t));
  const small = await get('/', { 'accept-encoding': 'gzip, br' });
  t.match(small.headers, { 'content-encoding': 'br', etag: '"tag-index.html-br"' });
  t.equal(brotliDecompressSync(small.rawPayload).toString(), PAGE);
  for (const accepted of ['br;q=0', 'gzip, deflate', '']) {
    const plain = await get('/', { 'accept-encoding': accepted });
    t.equal(plain.headers['content-encoding'], undefined, accepted);
    t.match(plain, { body: PAGE, headers: { etag: '"tag-index.html"' } }, accepted);
  }
});

void t.test('files whose names have the hash of their content never change', async (t) => {
  const get = await serve(t, builtIn(t));
  for (const path of ['/_astro/a.hash.js', '/pagefind/fragment/en_1.pf_fragment'])
    t.equal((await get(path)).headers['cache-control'], 'public, max-age=31536000, immutable', path);
});

void t.test('below a path of a proxy, links begin with that path', async (t) => {
  const get = await serve(t, builtIn(t), { settings: { publicUrl: 'https://example.com/mail' } });
  t.match((await get('/', { 'accept-encoding': 'br' })).body, 'href="/mail/docs/guide/webhooks/"');
  t.equal((await get('/_astro/a.hash.js')).body, 'import("/mail/docs/guide/_astro/b.js")');
  t.equal((await get('/webhooks')).headers['location'], '/mail/docs/guide/webhooks/');
});

void t.test('what is not in the list is not there', async (t) => {
  const get = await serve(t, builtIn(t));
  const missing = [
    ...['/none', '/none/', '/secret.txt', '/files.json', '/index.html.br', '/__proto__', '/__proto__/', '/toString'],
    ...['/..%2ffiles.json', '/webhooks/..%2f..%2fpackage.json', '/webhooks//', '/%00'],
  ];
  for (const path of missing) {
    const answer = await get(path);
    t.match(answer, { statusCode: 404, body: 'Page not found' }, path);
    t.match(answer.headers, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' }, path);
  }
});

void t.test('a guide that is built anew is served without a restart', async (t) => {
  const folder = t.testdir();
  const get = await serve(t, folder);
  t.match(await get('/'), { statusCode: 200, body: /npm run docs/, headers: { 'cache-control': 'no-store' } });
  t.match(await get('/webhooks/'), { statusCode: 404, body: /npm run docs/ });
  const list = (etag: string): void => {
    writeFileSync(join(folder, 'index.html'), etag);
    const files = { 'index.html': { type: 'text/html', etag, isCompressed: false } };
    writeFileSync(join(folder, 'files.json'), JSON.stringify({ base: '/docs/guide', scripts: [], files }));
  };
  list('first');
  t.match(await get('/'), { statusCode: 200, body: 'first' });
  t.match(await get('/none'), { statusCode: 404, body: /NOT_FOUND/ });
  list('second and longer');
  t.match(await get('/'), { statusCode: 200, body: 'second and longer', headers: { etag: '"second and longer"' } });
});

void t.test('without a build /docs stays, and the page of the service leads to the guide', async (t) => {
  const { app } = await openServer(t);
  t.match(await app.inject('/docs'), { statusCode: 200, body: /sealpost API/ });
  t.match((await app.inject('/')).body, 'href="/docs/guide/"');
});

/** The documentation at /docs/guide: the files that `npm run docs` builds (bin/build-guide.js), read when they are asked for. */
import { readFile } from 'node:fs/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/core/errors.js';
import type { App } from '../server/context.js';
import { pageTemplate } from '../server/forms.js';
import { contentPolicy } from '../server/headers.js';
import { decompressed, encodingFor, endings, openBuilt } from './built.js';

/** `isCompressed`: the file is there in its Brotli form only. */
type GuideFile = Readonly<{ type: string; etag: string; isCompressed: boolean }>;

/** The list of a build. `base`: the path that its links begin with; `scripts`: the hashes of scripts inside its pages. */
type Guide = Readonly<{ base: string; scripts: readonly string[]; files: Readonly<Record<string, GuideFile>> }>;

const PATH = '/docs/guide';

const builtFolder = new URL('../../../guide/', import.meta.url);

const config = { access: 'public' } as const;

const schema = { hide: true };

/** Files with a hash of their content in their names. */
const UNCHANGING = /^(?:_astro\/|pagefind\/(?:fragment|index)\/)/;

const IMMUTABLE = 'public, max-age=31536000, immutable';

/** Types whose bytes may name the path below which the guide is served. */
const IS_TEXT = /^(?:text\/|image\/svg|application\/json)/;

/** Registers /docs/guide and what is under it. In: the folder of the build, with a slash at its end. */
export const guideRoutes = (app: App, folder = builtFolder): void => {
  const built = openBuilt<Guide>(folder, { isReplaced: true });
  const own = app.ownPath(PATH);

  const send = async (request: FastifyRequest, reply: FastifyReply, path: string): Promise<FastifyReply> => {
    const guide = await built();
    if (guide === undefined)
      return reply
        .code(path === '' ? 200 : 404)
        .header('content-type', 'text/html; charset=utf-8')
        .header('content-security-policy', contentPolicy())
        .header('cache-control', 'no-store')
        .send(notBuilt({}));
    const named = (name: string): GuideFile | undefined =>
      Object.hasOwn(guide.files, name) ? guide.files[name] : undefined;
    const page = `${path}${path === '' || path.endsWith('/') ? '' : '/'}index.html`;
    // Links of a page are absolute, but readers and programs may resolve others against the address of a folder.
    if (named(path) === undefined && named(page) !== undefined && path !== '' && !path.endsWith('/'))
      return reply.redirect(`${own}/${path}/`, 308);
    const name = [path, page].find((candidate) => named(candidate) !== undefined) ?? '404.html';
    const file = named(name);
    if (file === undefined) throw new DomainError('NOT_FOUND', 'The guide has no such page.');
    if (name === '404.html') reply.code(404);
    const isMoved = own !== guide.base && IS_TEXT.test(file.type);
    const encoding =
      isMoved || !file.isCompressed ? undefined : encodingFor(request.headers['accept-encoding'], ['br']);
    const etag = `"${file.etag}${encoding === undefined ? '' : `-${encoding}`}"`;
    reply
      .header('content-security-policy', policyOf(guide))
      .header('cache-control', UNCHANGING.test(name) ? IMMUTABLE : 'no-cache')
      .header('cross-origin-resource-policy', 'same-origin')
      .header('vary', 'accept-encoding')
      .header('etag', etag);
    if (name !== '404.html' && isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send();
    const bytes =
      file.isCompressed && encoding === undefined
        ? await decompressed(folder, name)
        : await readFile(new URL(`${name}${encoding === undefined ? '' : endings[encoding]}`, folder));
    if (encoding !== undefined) reply.header('content-encoding', encoding);
    return reply
      .header('content-type', file.type)
      .send(isMoved ? bytes.toString('utf8').replaceAll(guide.base, own) : bytes);
  };

  app.get(PATH, { config, schema }, (_request, reply) => reply.redirect(`${own}/`, 308));
  app.get('/llms.txt', { config, schema }, (request, reply) => send(request, reply, 'llms.txt'));
  app.get(`${PATH}/*`, { config, schema }, (request, reply) =>
    send(request, reply, (request.params as Readonly<{ '*'?: string }>)['*'] ?? ''),
  );
};

/** Whether the reader has these bytes (RFC 9110, section 13.1.2). */
const isKnown = (header: string | undefined, etag: string): boolean =>
  header
    ?.split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .includes(etag) ?? false;

/** The search is WebAssembly. Blocks of code carry their colours as inline styles. */
const policyOf = ({ scripts }: Guide): string =>
  contentPolicy({
    'script-src': ["'self'", "'wasm-unsafe-eval'", ...scripts.map((hash) => `'${hash}'`)].join(' '),
    'style-src': "'self' 'unsafe-inline'",
    'img-src': "'self' data:",
    'connect-src': "'self'",
  });

const notBuilt = pageTemplate<object>(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Documentation · sealpost</title>
</head>
<body>
<h1>The documentation is not built</h1>
<p>Run <code>npm run docs</code> in the folder of sealpost; the pages then open without a restart. The same pages are Markdown files in the folder <code>docs</code>, from <code>README.md</code> on.</p>
</body>
</html>
`);

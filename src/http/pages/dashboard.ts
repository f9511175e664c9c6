/**
 * The dashboard at /app: its page, made for each request with the address and the nonce of that request, the frame of its
 * previews, and the files of its build, which never change under their names. bin/build-dashboard.js makes them.
 */
import { readFile } from 'node:fs/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/core/errors.js';
import type { App, HttpDeps } from '../server/context.js';
import { csrfCookieName } from '../server/cookies.js';
import { pageTemplate } from '../server/forms.js';
import { contentPolicy } from '../server/headers.js';
import { decompressed, encodingFor, type Encoding, endings, openBuilt } from './built.js';

type Deps = Pick<HttpDeps, 'ids' | 'mailbox' | 'version'>;

/** `encodings`: the compressed forms in which the file is there. */
type BuiltFile = Readonly<{ type: string; encodings: readonly Encoding[] }>;

/** The list of a build. `page`: index.html with places for the values of a request. */
type Built = Readonly<{ page: string; files: Readonly<Record<string, BuiltFile>> }>;

const builtFolder = new URL('../../../dashboard/', import.meta.url);

const NONCE_BYTES = 16;

const config = { access: 'public' } as const;

const schema = { hide: true };

/** Registers /app and what is under it. In: the folder of the build, with a slash at its end. */
export const dashboardRoutes = (app: App, deps: Deps, folder = builtFolder): void => {
  const built = openBuilt<Built>(folder);
  const sendPage = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { page } = (await built()) ?? { page: undefined };
    reply
      .header('content-type', 'text/html; charset=utf-8')
      .header('cache-control', 'no-cache')
      .header('x-robots-tag', 'noindex, nofollow');
    if (page === undefined)
      return reply.code(503).header('content-security-policy', contentPolicy()).send(notBuilt({}));
    const nonce = deps.ids.bytes(NONCE_BYTES).toString('base64url');
    const values = {
      csrfCookie: csrfCookieName(request),
      hasMailbox: deps.mailbox !== undefined,
      version: deps.version,
    };
    return reply.header('content-security-policy', policyWith(nonce)).send(
      filled(page, {
        __BASE__: app.ownPath('/app/'),
        __NONCE__: nonce,
        __VALUES__: JSON.stringify(values),
      }),
    );
  };

  app.get('/app', { config, schema }, sendPage);
  app.get('/app/frame', { config, schema }, async (request, reply) => {
    const { pictures } = request.query as Readonly<{ pictures?: string }>;
    return reply
      .header('content-type', 'text/html; charset=utf-8')
      .header('content-security-policy', framePolicy(pictures === 'true'))
      .header('cache-control', 'no-cache')
      .header('x-robots-tag', 'noindex, nofollow')
      .send(FRAME);
  });
  app.get('/app/*', { config, schema }, async (request, reply) => {
    const { '*': path = '' } = request.params as Readonly<{ '*'?: string }>;
    if (!path.startsWith('assets/')) return sendPage(request, reply);
    const file = fileOf(await built(), path);
    const encoding = encodingFor(request.headers['accept-encoding'], file.encodings);
    if (encoding !== undefined) reply.header('content-encoding', encoding);
    return reply
      .header('content-type', file.type)
      .header('content-security-policy', contentPolicy())
      .header('cache-control', 'public, max-age=31536000, immutable')
      .header('cross-origin-resource-policy', 'same-origin')
      .header('vary', 'accept-encoding')
      .send(
        encoding === undefined
          ? await decompressed(folder, path)
          : await readFile(new URL(`${path}${endings[encoding]}`, folder)),
      );
  });
};

/** In: the path of a file below /app. Throws NOT_FOUND for a path that the list does not name. */
const fileOf = (built: Built | undefined, path: string): BuiltFile => {
  const file = built !== undefined && Object.hasOwn(built.files, path) ? built.files[path] : undefined;
  if (file === undefined) throw new DomainError('NOT_FOUND', 'The dashboard has no such file.');
  return file;
};

/**
 * Styles of libraries come with the nonce of the page; everything else is a file of our own. A frame shows a PDF that the
 * page has read (`blob:`). `base-uri`: the page names the path below which a proxy serves it.
 */
const policyWith = (nonce: string): string =>
  contentPolicy(
    {
      'script-src': "'self'",
      'style-src': `'self' 'nonce-${nonce}'`,
      'img-src': "'self' data:",
      'connect-src': "'self'",
      'frame-src': "'self' blob:",
    },
    { baseUri: "'self'" },
  );

/**
 * An empty page into which the dashboard writes the preview of a mail. A frame without an address of its own would have
 * the policy of the dashboard, which refuses the inline styles of mails.
 */
const FRAME = '<!doctype html><html lang="en"><head><title>Preview</title></head><body></body></html>';

/** `pictures`: whether what other hosts have is loaded. */
const framePolicy = (pictures: boolean): string =>
  contentPolicy(
    { 'img-src': pictures ? 'data: https: http:' : 'data:', 'style-src': "'unsafe-inline'", 'font-src': 'data:' },
    { framedBy: "'self'", sandbox: 'allow-same-origin' },
  );

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Puts each value, escaped for an attribute, in the places of its name. */
const filled = (page: string, values: Readonly<Record<string, string>>): string =>
  page.replace(/__[A-Z]+__/g, (name) =>
    (values[name] ?? name).replace(/[&<>"]/g, (character) => entities[character] ?? ''),
  );

const notBuilt = pageTemplate<object>(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Dashboard · sealpost</title>
</head>
<body>
<h1>The dashboard is not built</h1>
<p>Its files are made by development packages, which <code>npm ci --omit=dev</code> leaves out. Run <code>npm ci &amp;&amp; npm run build</code> in the folder of sealpost; the page then opens without a restart.</p>
</body>
</html>
`);

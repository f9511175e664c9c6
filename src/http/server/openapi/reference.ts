/** The API description at /openapi.json and its reader at /docs, both made from the routes that are registered. */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import type { JsonObject } from '../../../domain/core/json.js';
import type { App, HttpDeps } from '../context.js';
import { completeDocument, type CookieNames, type DescribedRoute } from './document.js';
import { contentPolicy } from '../headers.js';

const tags = [
  { name: 'Emails', description: 'Send, read, retry and delete.' },
  { name: 'Bulk', description: 'Send to many, try it first, follow it, cancel it.' },
  { name: 'Approvals', description: 'Sends that a program asks for and a person decides on.' },
  { name: 'Templates', description: 'Templates from which emails are rendered.' },
  { name: 'Attachment templates', description: 'Templates from which PDF files and workbooks are made.' },
  { name: 'Blocks', description: 'Pieces that many templates include, and layouts around their sections.' },
  { name: 'Assets', description: 'The gallery: pictures and files that templates and attachments name.' },
  { name: 'Sender domains', description: 'The domains that mail is sent from, their DNS records and keys.' },
  { name: 'Suppressions', description: 'Addresses that are not written to.' },
  { name: 'Tracking', description: 'Whether opens and clicks are recorded.' },
  { name: 'Audit log', description: 'Actions in a team: who did what, from where and with which result.' },
  {
    name: 'Live events',
    description: 'Changes in the lists of a team, for the page of a person who looks at them.',
  },
  { name: 'OAuth', description: 'Apps that act for people and teams, and what people granted them.' },
  {
    name: 'Webhooks',
    description: 'Events of each mail, posted to an endpoint: signed, in a chain in which gaps show.',
  },
  { name: 'Privacy', description: 'Export and erasure of the data about an address.' },
  { name: 'Usage and credits', description: 'Emails that the team has sent and may still send.' },
  { name: 'Feedback', description: 'Bounces and complaints of mails that have left' },
  { name: 'Analytics', description: 'Numbers of sent, delivered, opened and failed emails, day by day.' },
  { name: 'API keys', description: 'Credentials of programs that call the API.' },
  { name: 'Signing in', description: 'How people come in and go.' },
  { name: 'Teams', description: 'Teams, their members with roles, and invitations.' },
  { name: 'Users', description: 'People: oneself, and those of one’s teams.' },
  {
    name: 'Mailbox',
    description:
      'The built-in receiver of mail, for trying things out. Present while no relay is configured; opened by the link that `sealpost serve` prints, or with a key.',
  },
  { name: 'Health', description: 'For load balancers.' },
];

const INTRODUCTION = [
  'Send template-based transactional email. Every request carries an API key: `Authorization: Bearer <API_KEY>`.',
  '',
  'Errors have one form throughout: `statusCode`, `code`, `message`, `timestamp`, `path`, `requestId`, and where they help `errors`, `relatedInfo`, `retryAfter`. Unknown fields are refused, never dropped; `null` in an optional field is the same as leaving it out, but for the members of free-form objects.',
].join('\n');

/** The page loads nothing from elsewhere; the style attributes are Swagger UI's own. */
const DOCS_CSP = contentPolicy({
  'script-src': "'self'",
  'style-src': "'self' 'unsafe-inline'",
  'img-src': "'self' data:",
  'font-src': "'self' data:",
  'connect-src': "'self'",
});

const documents = new WeakMap<object, () => JsonObject>();

/** The media types under which the reader offers the document. Every JSON text is a YAML text. */
const READER_TYPES: Readonly<Record<string, string>> = {
  '/docs/json': 'application/json; charset=utf-8',
  '/docs/yaml': 'application/yaml; charset=utf-8',
};

/** The whole API description of a server that was built (OpenAPI 3.1), made anew for each call. */
export const openApiDocument = (app: Pick<FastifyInstance, 'server'>): JsonObject => {
  const found = documents.get(app.server);
  if (found === undefined) throw new Error('the server was not built');
  return found();
};

/** Collects what is needed before any route is registered. */
export const registerSwagger = async (app: App, deps: Pick<HttpDeps, 'settings' | 'version'>): Promise<void> => {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'sealpost', version: deps.version, description: INTRODUCTION },
      servers: [{ url: deps.settings.publicUrl }],
      tags,
    },
    convertConstToEnum: false,
  });
};

/** Contrasts of at least 4.5 to 1 (WCAG 2.2, 1.4.3), where Swagger UI has less. */
const THEME = `
.swagger-ui .topbar { display: none }
.swagger-ui .info { margin: 28px 0 }
.swagger-ui .info .title small { background: #5a6270 }
.swagger-ui .info .title small.version-stamp { background: #4b6a00 }
.swagger-ui a, .swagger-ui .info .link, .swagger-ui .info .link .url, .swagger-ui .info a { color: #1f5fae }
.swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1f5fae }
.swagger-ui .opblock.opblock-post .opblock-summary-method { background: #1f7145 }
.swagger-ui .opblock.opblock-patch .opblock-summary-method { background: #14706a }
.swagger-ui .opblock.opblock-put .opblock-summary-method { background: #8a5200 }
.swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #b3261e }
.swagger-ui .parameter__in, .swagger-ui .parameter__deprecated, .swagger-ui .prop-format, .swagger-ui .response-control-media-type__accept-message { color: #4a4f55 }
.swagger-ui .parameter__name.required span, .swagger-ui .parameter__name.required::after { color: #b3261e }
.swagger-ui .response-control-media-type__accept-message { color: #1f5f1f }
.swagger-ui .btn.authorize { color: #1f7145; border-color: #1f7145 }
.swagger-ui .btn.authorize span { color: #1f7145 }
.swagger-ui .microlight span[style*='211, 99, 99'] { color: #ff9c9c !important }
.swagger-ui .btn.authorize svg { fill: #1f7145 }
`;

/** Gives the elements of Swagger UI the names and roles that it lacks, each time it has drawn some. */
const NAMES = `(() => {
  const name = (selector, label) => {
    for (const element of document.querySelectorAll(selector + ':not([aria-label])')) element.setAttribute('aria-label', label(element));
  };
  const operation = (element) => element.closest('.opblock')?.id.replace(/^operations-[^-]*-/, '') ?? '';
  const mend = () => {
    for (const [selector, label] of [['.information-container', 'About'], ['.schemes-server-container', 'Server and keys']])
      for (const part of document.querySelectorAll(selector + ':not([role])')) {
        part.setAttribute('role', 'region');
        part.setAttribute('aria-label', label);
      }
    name('#servers', () => 'Server');
    name('.examples-select-element', (element) => 'Example for ' + operation(element));
    name('select.content-type', (element) => 'Media type for ' + operation(element));
    name('.responses-table', (element) => 'Responses of ' + operation(element));
    for (const heading of document.querySelectorAll('h3.opblock-tag:not([aria-level]), .models h4:not([aria-level])')) heading.setAttribute('aria-level', '2');
    for (const heading of document.querySelectorAll('.opblock h4:not([aria-level]), .opblock h5:not([aria-level])')) heading.setAttribute('aria-level', '3');
    for (const sample of document.querySelectorAll('pre.microlight:not([tabindex])')) sample.setAttribute('tabindex', '0');
    // The whole line is a button that leads to the same place.
    for (const link of document.querySelectorAll('button a[href]')) link.removeAttribute('href');
  };
  new MutationObserver(mend).observe(document.documentElement, { childList: true, subtree: true });
})();
`;

const registerReader = async (app: App, text: () => Buffer): Promise<void> => {
  // Only the pages of the reader are registered in this scope, and they are for everybody.
  app.addHook('onRoute', (route) => {
    route.config = { ...route.config, access: 'public' };
    const type = READER_TYPES[route.url];
    if (type !== undefined || route.url.startsWith('/docs/static/')) route.config = { ...route.config, large: true };
    if (type === undefined) return;
    // The reader's own handlers would write the document anew for each request.
    route.handler = (_request, reply) => reply.header('content-type', type).send(text());
  });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    indexPrefix: app.ownPath(''),
    staticCSP: DOCS_CSP,
    uiConfig: {
      deepLinking: true,
      docExpansion: 'list',
      defaultModelsExpandDepth: 0,
      displayRequestDuration: true,
      tryItOutEnabled: false,
      validatorUrl: null,
    },
    theme: {
      title: 'sealpost API',
      css: [{ filename: 'theme.css', content: THEME }],
      js: [{ filename: 'theme.js', content: NAMES }],
    },
  });
};

/**
 * Registers the two addresses. The document is made for its first reader: it takes a tenth of a second and 3 MB, and
 * most services are never asked for it.
 */
export const registerReference = async (
  app: App,
  routes: () => readonly DescribedRoute[],
  cookies: CookieNames,
): Promise<void> => {
  let written: Buffer | undefined;
  const text = (): Buffer => (written ??= Buffer.from(JSON.stringify(openApiDocument(app))));
  app.get('/openapi.json', { config: { access: 'public', large: true }, schema: { hide: true } }, (_request, reply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(text()),
  );
  await app.register(async (scope) => registerReader(scope, text));
  documents.set(app.server, () => completeDocument(app.swagger(), routes(), cookies));
};

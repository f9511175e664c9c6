/** The API description at /openapi.json and its reader at /docs, both made from the routes that are registered. */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import type { JsonObject } from '../../../domain/core/json.js';
import type { App, HttpDeps } from '../context.js';
import { completeDocument, type DescribedRoute } from './document.js';
import { contentPolicy } from '../headers.js';

const tags = [
  { name: 'Emails', description: 'Send, read, retry and delete.' },
  { name: 'Bulk', description: 'Send to many, try it first, follow it, cancel it.' },
  { name: 'Templates', description: 'What emails are rendered from.' },
  { name: 'Attachment templates', description: 'What PDF files and workbooks are made from.' },
  { name: 'Assets', description: 'The gallery: pictures and files that templates and attachments name.' },
  { name: 'Sender domains', description: 'The domains that mail is sent from, their DNS records and keys.' },
  { name: 'Suppressions', description: 'Addresses that are not written to.' },
  { name: 'Tracking', description: 'Whether opens and clicks are recorded.' },
  { name: 'Audit log', description: 'What was done in a team, by whom, from where and with which result.' },
  { name: 'OAuth', description: 'Apps that act for people and teams, and what people granted them.' },
  { name: 'Webhooks', description: 'What becomes of each mail, posted to an endpoint: signed, in a chain in which gaps show.' },
  { name: 'Privacy', description: 'What is held about an address: given out, erased.' },
  { name: 'Usage and credits', description: 'What the team has used and may still send.' },
  { name: 'Feedback', description: 'Bounces and complaints of mails that have left' },
  { name: 'Analytics', description: 'What became of emails, day by day.' },
  { name: 'API keys', description: 'Who may call.' },
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

const documents = new WeakMap<object, JsonObject>();

/** The media types under which the reader offers the document. Every JSON text is a YAML text. */
const READER_TYPES: Readonly<Record<string, string>> = {
  '/docs/json': 'application/json; charset=utf-8',
  '/docs/yaml': 'application/yaml; charset=utf-8',
};

/** The whole API description of a server that was built (OpenAPI 3.1). */
export const openApiDocument = (app: Pick<FastifyInstance, 'server'>): JsonObject => {
  const found = documents.get(app.server);
  if (found === undefined) throw new Error('the server was not built');
  return found;
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
      css: [{ filename: 'theme.css', content: '.swagger-ui .topbar { display: none } .swagger-ui .info { margin: 28px 0 }' }],
    },
  });
};

/** Registers the two addresses, and has the document made once all routes are known. */
export const registerReference = async (app: App, routes: () => readonly DescribedRoute[], cookieName: string): Promise<void> => {
  let written: Buffer | undefined;
  const text = (): Buffer => (written ??= Buffer.from(JSON.stringify(openApiDocument(app))));
  app.get('/openapi.json', { config: { access: 'public', large: true }, schema: { hide: true } }, (_request, reply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(text()),
  );
  await app.register(async (scope) => registerReader(scope, text));
  app.addHook('onReady', (done) => {
    documents.set(app.server, completeDocument(app.swagger(), routes(), cookieName));
    done();
  });
};

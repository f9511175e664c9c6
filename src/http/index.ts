/** Builds the HTTP server: checks, routes and pages in the order in which a request meets them. Does not listen. */
import { type Server, createServer as createHttpServer, type RequestListener, type ServerOptions } from 'node:http';
import {
  createServer as createHttpsServer,
  type Server as TlsServer,
  type ServerOptions as TlsServerOptions,
} from 'node:https';
import Fastify, { type FastifyHttpOptions, type FastifyInstance } from 'fastify';
import type { TSchema } from '@sinclair/typebox';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { LiveSchema, ReadySchema } from '../api/core/common.js';
import { SystemSchema } from '../api/core/system.js';
import { readinessOf } from '../domain/core/readiness.js';
import { type App, type HttpDeps, type Access } from './server/context.js';
import { DomainError } from '../domain/core/errors.js';
import { bodyMayBeAbsent, ownPathOf } from './server/headers.js';
import {
  accessLog,
  logCalls,
  auditReads,
  logsRequests,
  traceCalls,
  awaitPosition,
  isWrite,
  tellPosition,
  requestIds,
} from './server/hooks.js';
import { admission, atLinkDomain } from './server/admission.js';
import { type Connections, openConnections, countUnsent, openUnsentAnswers } from './server/connections.js';
import { clientErrorHandler, errorHandler, routerErrorHandler } from './server/failures.js';
import { jsonBodyParser } from './server/json/large-body.js';
import type { DescribedRoute } from './server/openapi/document.js';
import { cookiePlaceOf, mailboxCookieName, publicAccessCookie } from './server/cookies.js';
import { policyOf } from './server/rates.js';
import { registerReference, registerSwagger } from './server/openapi/reference.js';
import { checkQuery } from './server/query.js';
import { ajvOptions, ownFormats, validationError, validatorsOnDemand } from './server/validation.js';
import { analyticsRoutes } from './analytics/analytics.js';
import { apiKeyRoutes } from './keys/api-keys.js';
import { approvalRoutes } from './approvals/approvals.js';
import { auditRoutes } from './audit/audit.js';
import { requestLogRoutes } from './audit/request-log.js';
import { authRoutes } from './people/auth.js';
import { ownAccountRoutes, sessionRoutes, userRoutes } from './people/account.js';
import { signInRoutes } from './people/sign-in.js';
import { accountPages } from './people/pages.js';
import { accountLinkRoutes } from './people/links.js';
import { assetRoutes } from './templates/assets.js';
import { bulkRoutes } from './bulk/bulk.js';
import { creditsRoutes } from './billing/credits.js';
import { domainRoutes } from './domains/sender-domains.js';
import { feedbackRoutes } from './recipients/feedback.js';
import { providerEventRoutes } from './recipients/provider-events.js';
import { trackingRoutes } from './recipients/tracking.js';
import { emailContentRoutes } from './email/content.js';
import { emailRoutes, emailTimelineRoute, queueRoutes } from './email/emails.js';
import { liveRoutes } from './live/live.js';
import { dashboardRoutes } from './pages/dashboard.js';
import { guideRoutes } from './pages/guide.js';
import { landingRoutes } from './pages/page.js';
import { mailboxRoutes } from './pages/mailbox.js';
import { privacyRoutes } from './privacy/privacy.js';
import { suppressionRoutes } from './recipients/suppressions.js';
import { unsubscribeRoutes } from './recipients/unsubscribe.js';
import { webhookRoutes } from './webhooks/webhooks.js';
import { oauthGrantRoutes, oauthAppRoutes } from './apps/apps.js';
import { oauthRoutes } from './apps/endpoints.js';
import { teamMemberRoutes, teamRoutes } from './teams/teams.js';
import { invitationRoutes } from './teams/invitations.js';
import { mcpRoutes } from './mcp/mcp.js';
import { previewRoutes } from './templates/previews.js';
import { templateRoutes } from './templates/templates.js';

export type { HttpDeps, HttpSettings } from './server/context.js';
export { openApiDocument } from './server/openapi/reference.js';

/** A route as it was registered; the tests make their table of permissions from these. */
export type RegisteredRoute = DescribedRoute;

type Declared = Readonly<{
  method: string;
  path: string;
  access: Access | undefined;
  route: Omit<RegisteredRoute, 'method' | 'path' | 'access'>;
}>;

/** How often Node checks whether a request, its headers or a TLS handshake take too long to arrive. */
const CONNECTIONS_CHECKED_EVERY_MS = 1_000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

const PLAIN_TYPES = new Set(['string', 'integer', 'boolean']);

const registered = new WeakMap<object, readonly RegisteredRoute[]>();

/**
 * In: what the server is made of, and more routes, which tests add. Out: a server that is ready to listen or to be
 * asked by `inject`. Rejects if a route declares no permission.
 */
export const buildServer = async (deps: HttpDeps, moreRoutes: (app: App) => void = () => undefined): Promise<App> => {
  const connections = openConnections(deps);
  const answers = openUnsentAnswers(deps);
  const app = createApp(deps, connections);
  app.addHook('preClose', async () => connections.endHalfSent(app.server));
  app.decorate('ownPath', ownPathOf(deps.settings.publicUrl));
  app.decorate('cookiePlace', cookiePlaceOf(deps.settings.publicUrl));
  app.decorateRequest('caller', null);
  app.decorateRequest('refused', undefined);
  app.decorateRequest('isLargeBody', false);
  app.decorateRequest('refusedWith', undefined);
  app.decorateRequest('linkTeam', undefined);
  app.decorateRequest('auditedId', undefined);
  app.decorateRequest('canonicalBody', undefined);
  app.decorateRequest('writtenBefore', undefined);
  const routes = watchRoutes(app);
  auditReads(app, deps.audit);

  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, jsonBodyParser(deps));
  app.setErrorHandler(errorHandler(deps));
  app.setNotFoundHandler(() => {
    throw new DomainError('NOT_FOUND', 'There is nothing at this address.');
  });
  if (deps.calls !== undefined) traceCalls(app, deps.calls);
  app.addHook('onRequest', atLinkDomain(deps));
  app.addHook('onRequest', admission({ ...deps, answers }));
  app.addHook('onRequest', checkQuery);
  app.addHook('preHandler', awaitPosition(deps));
  app.addHook('onSend', tellPosition(deps));
  app.addHook('onSend', countUnsent(answers));
  if (logsRequests(deps.settings.logLevel)) app.addHook('onResponse', accessLog(deps.logger));
  if (deps.requestLog.note !== undefined) app.addHook('onResponse', logCalls(deps.requestLog.note));
  const { answered } = deps;
  if (answered !== undefined)
    app.addHook('onResponse', (request, reply, done) => {
      // A stream of live events is open as long as its page.
      if (!String(reply.getHeader('content-type')).startsWith('text/event-stream'))
        answered(request.method, request.routeOptions.url ?? 'unknown', reply.statusCode, reply.elapsedTime / 1_000);
      done();
    });

  await registerSwagger(app, deps);
  const cookies = {
    access: publicAccessCookie(app.cookiePlace, new URL(deps.settings.publicUrl).hostname),
    mailbox: mailboxCookieName(deps.settings.port),
  };
  await registerReference(app, routes, cookies);
  app.after(() => {
    registerRoutes(app, deps);
    moreRoutes(app);
  });
  await app.ready();
  registered.set(app.server, routes());
  return app;
};

/** Every route of a server that was built, without the HEAD twins of the GET routes. */
export const routesOf = (app: Pick<FastifyInstance, 'server'>): readonly RegisteredRoute[] =>
  registered.get(app.server) ?? [];

const createApp = (deps: HttpDeps, connections: Connections): App => {
  const { trustProxy } = deps.settings;
  const requestIdOf = requestIds(deps.ids, deps.limits.requestIdCharsMax);
  const options: FastifyHttpOptions<Server> = {
    logger: false,
    serverFactory: serverFactory(deps, connections),
    trustProxy: typeof trustProxy === 'boolean' ? trustProxy : [...trustProxy],
    bodyLimit: deps.limits.bodySizeBytesMax,
    requestIdHeader: false,
    genReqId: (request) => requestIdOf(request.headers['x-request-id']),
    ajv: { customOptions: ajvOptions, onCreate: ownFormats },
    schemaController: { compilersFactory: { buildValidator: validatorsOnDemand } },
    schemaErrorFormatter: validationError,
    frameworkErrors: routerErrorHandler(deps),
    clientErrorHandler: clientErrorHandler(deps, requestIdOf),
    // While stopping, requests on open connections are still answered, each with `Connection: close`.
    return503OnClosing: false,
    // A plugin is never too late: on a busy machine the API description alone can take longer than the default of 10 s.
    pluginTimeout: 0,
    routerOptions: { maxParamLength: deps.limits.urlSizeBytesMax },
  };
  return Fastify(options).withTypeProvider<TypeBoxTypeProvider>();
};

const serverFactory =
  (deps: HttpDeps, connections: Connections) =>
  (listener: RequestListener): Server => {
    const { tls } = deps.settings;
    const server: Server =
      tls === undefined ? createHttpServer(serverOptions(deps)) : createHttpsServer(tlsOptions(deps, tls));
    connections.bound(server);
    const inTurn = connections.inTurn(listener);
    server.on('request', inTurn);
    // Node would answer an unknown expectation with 417 itself; the admission check answers it like any malformed
    // request.
    server.on('checkExpectation', inTurn);
    return server;
  };

const serverOptions = (deps: HttpDeps): ServerOptions => ({
  maxHeaderSize: deps.limits.headerSizeBytesMax,
  requestTimeout: deps.limits.requestArrivalMs,
  headersTimeout: deps.limits.headersArrivalMs,
  connectionsCheckingInterval: CONNECTIONS_CHECKED_EVERY_MS,
  keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  // The missing Host header is answered by us, in the form of the contract.
  requireHostHeader: false,
});

type Certificate = NonNullable<HttpDeps['settings']['tls']>;

const secureContextOf = ({ cert, key }: Certificate) => ({ cert, key, minVersion: 'TLSv1.2' }) as const;

/** New connections get another certificate from now on. In: the server of an app that speaks HTTPS. */
export const renewCertificate = (server: Server, certificate: Certificate): void => {
  if ('setSecureContext' in server) (server as TlsServer).setSecureContext(secureContextOf(certificate));
};

const tlsOptions = (deps: HttpDeps, certificate: Certificate): TlsServerOptions => ({
  ...serverOptions(deps),
  ...secureContextOf(certificate),
  handshakeTimeout: deps.limits.headersArrivalMs,
});

/**
 * Records every route as it is registered, sets its rate limit, and chooses how its answers are serialised. Out: reads
 * the routes.
 */
const watchRoutes = (app: App): (() => readonly RegisteredRoute[]) => {
  const declared: (() => Declared)[] = [];
  app.addHook('onRoute', (route) => {
    const method = String(route.method);
    route.config = { ...route.config, rate: policyOf(method, route.url) };
    const responses = Object.values((route.schema?.response ?? {}) as Readonly<Record<string, TSchema>>);
    if (!responses.every(isPlain)) route.serializerCompiler = stringify;
    // Read when all is registered: hooks of inner scopes may still add to the route's configuration.
    declared.push(() => ({
      method,
      path: route.url,
      access: route.config?.access,
      route: {
        idempotent: route.config?.idempotent === true,
        takesBody: route.schema?.body !== undefined || route.config?.reads !== undefined,
        command: route.config?.command,
        codes: route.config?.codes ?? [],
        unknownId: route.config?.unknownId,
        media: route.config?.media,
        reads: route.config?.reads,
        mailbox: route.config?.mailbox === true,
        writes: route.config?.mailbox !== true && isWrite(method, route.config?.access),
        uploads: route.config?.uploads ?? false,
        etag: route.config?.etag === true,
        conditional: route.config?.conditional === true,
        bodyMayBeAbsent: [route.preValidation].flat().some((hook) => hook === bodyMayBeAbsent),
        examples: route.config?.examples,
      },
    }));
  });
  return () =>
    declared
      .map((read) => {
        const { method, path, access, route } = read();
        if (access === undefined)
          throw new Error(`the route ${method} ${path} declares neither a permission nor that it is public`);
        return { method, path, access, ...route };
      })
      .filter(({ method }) => method !== 'HEAD');
};

/**
 * True where a serialiser compiled from the schema writes exactly the value: a closed object whose members are all
 * required texts, whole numbers and booleans. Unions, optional members and free-form values go through JSON.stringify,
 * for there a compiled serialiser would choose a branch, or leave something out, without a word.
 */
const isPlain = (schema: TSchema): boolean => {
  const properties = schema['properties'] as Readonly<Record<string, TSchema>> | undefined;
  const required = schema['required'] as readonly string[] | undefined;
  if (schema['type'] !== 'object' || schema['additionalProperties'] !== false || properties === undefined) return false;
  const names = Object.keys(properties);
  return (
    required?.length === names.length &&
    names.every(
      (name) => PLAIN_TYPES.has(String(properties[name]?.['type'])) && properties[name]?.['const'] === undefined,
    )
  );
};

/** The serialiser compiler of schemas that are not plain. */
const stringify =
  () =>
  (value: unknown): string =>
    JSON.stringify(value);

const registerRoutes = (app: App, deps: HttpDeps): void => {
  emailRoutes(app, deps);
  emailTimelineRoute(app, deps);
  emailContentRoutes(app, deps);
  queueRoutes(app, deps);
  approvalRoutes(app, deps);
  bulkRoutes(app, deps);
  templateRoutes(app, deps);
  previewRoutes(app, deps);
  assetRoutes(app, deps);
  apiKeyRoutes(app, deps);
  authRoutes(app, deps);
  ownAccountRoutes(app, deps);
  sessionRoutes(app, deps);
  accountLinkRoutes(app, deps);
  accountPages(app, deps);
  signInRoutes(app, deps);
  userRoutes(app, deps);
  suppressionRoutes(app, deps);
  privacyRoutes(app, deps);
  creditsRoutes(app, deps);
  domainRoutes(app, deps);
  feedbackRoutes(app, deps);
  providerEventRoutes(app, deps);
  analyticsRoutes(app, deps);
  webhookRoutes(app, deps);
  teamRoutes(app, deps);
  teamMemberRoutes(app, deps);
  invitationRoutes(app, deps);
  healthRoutes(app, deps);
  systemRoutes(app, deps);
  landingRoutes(app, deps);
  dashboardRoutes(app, deps);
  guideRoutes(app);
  unsubscribeRoutes(app, deps);
  trackingRoutes(app, deps);
  auditRoutes(app, deps);
  requestLogRoutes(app, deps);
  liveRoutes(app, deps);
  oauthAppRoutes(app, deps);
  oauthGrantRoutes(app, deps);
  oauthRoutes(app, deps);
  mcpRoutes(app, deps, accessTable(app));
  if (deps.mailbox !== undefined)
    mailboxRoutes(app, { settings: deps.settings, commands: deps.commands, mailbox: deps.mailbox });
};

/** Reads, once all is registered, who may call each endpoint, by method and pattern. */
const accessTable = (app: App): (() => ReadonlyMap<string, Access>) => {
  let table: ReadonlyMap<string, Access> | undefined;
  return () => (table ??= new Map(routesOf(app).map(({ method, path, access }) => [`${method} ${path}`, access])));
};

/** Registers GET /api/system, for the operators of the instance. */
const systemRoutes = (app: App, { system }: Pick<HttpDeps, 'system'>): void => {
  app.get(
    '/api/system',
    {
      config: { access: 'system:read', withoutTeam: true, codes: ['STORE_AWAY'] },
      schema: {
        summary: 'See how the instance is doing',
        description:
          'The processes with their workers, relays and read models, the queue of all teams together, the last seal, verification and backups. For operators of the instance: `sealpost user operator` makes one.',
        operationId: 'getSystem',
        tags: ['Health'],
        response: { 200: SystemSchema },
      },
    },
    () => system(),
  );
};

/** Registers /health/live and /health/ready, for load balancers and people on call. */
const healthRoutes = (app: App, deps: Pick<HttpDeps, 'health' | 'version'>): void => {
  const tags = ['Health'];
  app.get(
    '/health/live',
    {
      config: { access: 'public' },
      schema: { summary: 'Is the process alive?', operationId: 'live', tags, response: { 200: LiveSchema } },
    },
    () => ({ status: 'live' as const, version: deps.version }),
  );

  app.get(
    '/health/ready',
    {
      config: { access: 'public' },
      schema: {
        summary: 'Should it be given requests?',
        description: '200 where it should, 503 where it should not, with the reasons and the state of every worker.',
        operationId: 'ready',
        tags,
        response: { 200: ReadySchema, 503: ReadySchema },
      },
    },
    async (_request, reply) => {
      const workers = deps.health.workers().map(({ name, state, restarts, lastFault, stuckWork = 0 }) => ({
        name,
        state,
        restarts,
        lastFault,
        stuckWork,
      }));
      const log = deps.health.log();
      const { status, reasons } = readinessOf({
        accepting: deps.health.accepting(),
        workers,
        log,
        noted: deps.health.noted(),
      });
      reply.code(status === 'unavailable' || status === 'stopping' ? 503 : 200);
      const relays = deps.health.relays?.().map(({ relay, state, isDayFull }) => ({
        name: relay,
        breaker: state,
        ...(isDayFull === undefined ? {} : { isDayFull }),
      }));
      return { status, reasons: [...reasons], workers, ...(relays === undefined ? {} : { relays }), log };
    },
  );
};

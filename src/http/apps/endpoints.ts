/**
 * The OAuth endpoints that apps call (RFC 6749, 7009, 7591, 7662, 8414, 8628 and 9728). They answer in the form of these RFCs, not with
 * the errors of the API.
 */
import OAuth2Server from '@node-oauth/oauth2-server';
import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { KnownApp } from '../../commands/apps/apps.js';
import type { OpenGrant } from '../../commands/apps/tokens.js';
import { registrationExamples } from '../../api/examples.js';
import { isScope, permissionsOfScopes, readingScopes, type Scope, scopes } from '../../domain/access/permissions.js';
import { registrationLimits } from '../../domain/access/rate-limits.js';
import {
  mcpUrlOf,
  resourceAsked,
  scopesAsked,
  unknownResource,
  type Resource,
} from '../../domain/apps/authorization.js';
import { DEVICE_INTERVAL_S } from '../../domain/apps/device.js';
import { ACCESS_TOKEN_MS, REFRESH_TOKEN_MS, readDeviceCode } from '../../domain/apps/tokens.js';
import { DomainError } from '../../domain/core/errors.js';
import { assertDefined } from '../../domain/core/ids.js';
import type { App, HttpDeps } from '../server/context.js';
import { authorizeRoutes } from './authorize.js';
import { authenticateApp, CHALLENGE, refuse, type AppCredentials } from './client.js';
import { DEVICE_GRANT, DEVICE_PATH, deviceRoutes } from './device.js';
import { fieldsOf, readForms } from '../server/forms.js';
import { windowsOfBounds } from '../server/rates.js';
import { addressBucket } from '../../shared/addresses.js';

const { InvalidGrantError, OAuthError, Request, Response } = OAuth2Server;

type Deps = Pick<HttpDeps, 'oauth' | 'settings' | 'commands' | 'queries' | 'limiter' | 'audit'>;

type TokenRequest = AppCredentials &
  Readonly<{
    requestId: string;
    /** The address of the service; needed where the form has a `resource`. */
    publicUrl?: string;
  }>;

export type TokenAnswer = Readonly<{
  status: number;
  body: Readonly<Record<string, unknown>>;
  headers: Readonly<Record<string, string>>;
}>;

type TokenQuery = Readonly<{ app: KnownApp; token: string }>;

/** State that the library carries from one step to the next in its field for a user. */
type Holder = Readonly<{ app: KnownApp; grant: OpenGrant | undefined; refreshes?: string }>;

type Client = OAuth2Server.Client & Readonly<{ app: KnownApp }>;

type Model = OAuth2Server.AuthorizationCodeModel & OAuth2Server.RefreshTokenModel & OAuth2Server.ClientCredentialsModel;

const config = { access: 'public' } as const;

const schema = { hide: true };

/** The expiry that the library is told: the commands decide by the clock of the service what has expired. */
const FAR = new Date(8_640_000_000_000_000);

/**
 * In place of the secret: the library asks for one, and the app was authenticated before the library sees the request.
 */
const AUTHENTICATED = 'authenticated';

const REGISTER_PATH = '/oauth/register';

const TWICE = 'A parameter is given more than once, or there are too many (RFC 6749, section 3.2)';

/** Registers /oauth/authorize, /oauth/device, /oauth/token, /oauth/revoke, /oauth/introspect and the metadata. */
export const oauthRoutes = (app: App, deps: Deps): void => {
  app.get('/.well-known/oauth-authorization-server', { config, schema }, (_request, reply) =>
    reply.send(metadata(deps.settings.publicUrl, deps.oauth.appsMayRegister())),
  );
  authorizeRoutes(app, deps);
  deviceRoutes(app, deps);
  programRoutes(app, deps);
  // In a scope of its own, for only these routes accept forms.
  app.register(async (scope: App) => {
    readForms(scope);
    scope.post('/oauth/token', { config, schema }, (request, reply) => token(deps, request, reply));
    scope.post('/oauth/revoke', { config, schema }, (request, reply) => revoke(deps, request, reply));
    scope.post('/oauth/introspect', { config, schema }, (request, reply) => introspect(deps, request, reply));
  });
};

/** RFC 8414, section 2. */
const metadata = (issuer: string, appsRegister: boolean) => ({
  issuer,
  authorization_endpoint: `${issuer}/oauth/authorize`,
  token_endpoint: `${issuer}/oauth/token`,
  revocation_endpoint: `${issuer}/oauth/revoke`,
  introspection_endpoint: `${issuer}/oauth/introspect`,
  device_authorization_endpoint: `${issuer}${DEVICE_PATH}`,
  ...(appsRegister ? { registration_endpoint: `${issuer}${REGISTER_PATH}` } : {}),
  scopes_supported: [...scopes],
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials', DEVICE_GRANT],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
  revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
  introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  service_documentation: `${issuer}/docs`,
});

const token = async (
  { oauth, limiter, settings }: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  const form = fieldsOf(request.body);
  if (form === undefined) return refuse(reply, 400, 'invalid_request', TWICE);
  if (form['grant_type'] === DEVICE_GRANT && (await isTooSoon(limiter, form['device_code'])))
    return refuse(reply, 400, 'slow_down', `Ask every ${DEVICE_INTERVAL_S} seconds, and from now on 5 seconds later`);
  const { publicUrl } = settings;
  const { status, body, headers } = await exchange(
    { oauth },
    { requestId: request.id, form, authorization: request.headers.authorization, publicUrl },
  );
  return reply
    .code(status)
    .headers({ ...headers, pragma: 'no-cache' })
    .send(body);
};

/** Devices keep the interval by clocks of their own, over networks that delay. */
const INTERVAL_TOLERANCE_MS = 500;

/** Counts that a device asks. Out: whether it asks before its interval is over. */
const isTooSoon = async (limiter: HttpDeps['limiter'], deviceCode = ''): Promise<boolean> => {
  const read = readDeviceCode(deviceCode);
  if (read === undefined) return false;
  const windowMs = DEVICE_INTERVAL_S * 1_000 - INTERVAL_TOLERANCE_MS;
  return !(await limiter.hit([{ bucket: `device-poll:${read.hash}`, limit: 1, windowMs }])).admitted;
};

/** The app and the token that it asks about; undefined if the request was refused here. */
const readTokenQuery = async (
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<TokenQuery | undefined> => {
  const form = fieldsOf(request.body);
  if (form === undefined) return void refuse(reply, 400, 'invalid_request', TWICE);
  const app = await authenticateApp(deps, { form, authorization: request.headers.authorization });
  if ('error' in app) return void refuse(reply, app.error === 'invalid_client' ? 401 : 400, app.error, app.description);
  const { token: text } = form;
  if (text === undefined) return void refuse(reply, 400, 'invalid_request', 'Missing parameter: `token`');
  return { app, token: text };
};

const revoke = async (deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const about = await readTokenQuery(deps, request, reply);
  if (about === undefined) return reply;
  await deps.oauth.revokeToken(about.app, about.token, { requestId: request.id });
  return reply.code(200).send();
};

/** The token is good for nothing at this moment: for its person, their team, or the account of the team. */
const endings: ReadonlySet<string> = new Set([
  'INVALID_TOKEN',
  'TOKEN_EXPIRED',
  'SECOND_FACTOR_REQUIRED',
  'API_KEY_DISABLED',
]);

/** The permissions that a call with that token has now; undefined: such a call is refused. */
const permissionsOf = async ({ commands }: Deps, token: string): Promise<readonly string[] | undefined> => {
  try {
    return (await commands.authenticate(token, { asked: undefined, isNeeded: false })).permissions;
  } catch (fault) {
    if (fault instanceof DomainError && endings.has(fault.code)) return undefined;
    throw fault;
  }
};

/** An app learns about its own tokens only. A public app, which cannot authenticate, learns about none. */
const introspect = async (deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const about = await readTokenQuery(deps, request, reply);
  if (about === undefined) return reply;
  const { app, token: text } = about;
  if (app.kind === 'public') return refuse(reply, 401, 'invalid_client', 'A public app cannot ask about tokens');
  const open = await deps.oauth.readAccessToken(text);
  if (open === undefined || open.isExpired || open.app.id !== app.id) return reply.send({ active: false });
  const permissions = await permissionsOf(deps, text);
  if (permissions === undefined) return reply.send({ active: false });
  const allowed = open.scopes.filter((scope) =>
    permissionsOfScopes([scope]).every((name) => permissions.includes(name)),
  );
  const seconds = (time: string): number => Math.floor(Date.parse(time) / 1_000);
  return reply.send({
    active: true,
    scope: allowed.join(' '),
    client_id: app.id,
    token_type: 'Bearer',
    exp: seconds(open.token.expiresAt),
    iss: deps.settings.publicUrl,
    aud: open.grant.resource === 'mcp' ? mcpUrlOf(deps.settings.publicUrl) : deps.settings.publicUrl,
    ...(open.grant.userId === undefined ? {} : { sub: open.grant.userId }),
    team_id: open.teamId,
  });
};

/**
 * The token endpoint (RFC 6749, section 3.2). Out: the answer or the refusal (sections 5.1 and 5.2); rejects on a fault
 * of the service. The library checks the grant of the app that was authenticated here; the model reads and issues codes
 * and tokens.
 */
export const exchange = async (
  deps: Pick<HttpDeps, 'oauth'>,
  { requestId, form, authorization, publicUrl = '' }: TokenRequest,
): Promise<TokenAnswer> => {
  const app = await authenticateApp(deps, { form, authorization });
  if ('error' in app) {
    const isByHeader = app.error === 'invalid_client' && authorization !== undefined;
    return {
      status: isByHeader ? 401 : 400,
      body: { error: app.error, error_description: app.description },
      headers: { 'cache-control': 'no-store', ...(isByHeader ? { 'www-authenticate': CHALLENGE } : {}) },
    };
  }
  const resource = form['resource'] === undefined ? undefined : resourceAsked(form['resource'], publicUrl);
  if (form['resource'] !== undefined && resource === undefined)
    return refusedWith('invalid_target', unknownResource(publicUrl));
  if (form['grant_type'] === DEVICE_GRANT) return exchangeDevice(deps, app, { requestId, form, resource });
  const server = new OAuth2Server({
    model: modelOf(deps, { app, requestId, resource }),
    accessTokenLifetime: ACCESS_TOKEN_MS / 1_000,
    refreshTokenLifetime: REFRESH_TOKEN_MS / 1_000,
    alwaysIssueNewRefreshToken: true,
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '1' };
  const response = new Response();
  try {
    await server.token(
      new Request({
        method: 'POST',
        headers,
        query: {},
        body: { ...form, client_id: app.id, client_secret: AUTHENTICATED },
      }),
      response,
    );
  } catch (fault) {
    if (!(fault instanceof OAuthError) || fault.code >= 500) throw innerFault(fault);
  }
  return {
    status: response.status ?? 200,
    body: response.body as Readonly<Record<string, unknown>>,
    headers: (response.headers ?? {}) as Readonly<Record<string, string>>,
  };
};

const refusedWith = (error: string, description: string): TokenAnswer => ({
  status: 400,
  body: { error, error_description: description },
  headers: { 'cache-control': 'no-store' },
});

/** `resource`: undefined if the request names none. */
type Exchange = Readonly<{ app: KnownApp; requestId: string; resource: Resource | undefined }>;

const deviceErrors = {
  authorization_pending: 'The person has not decided yet',
  access_denied: 'The person said no',
  expired_token: 'The code has expired; begin again',
  invalid_grant: 'The code is unknown, of another app, or was used already',
} as const;

/** The grant of RFC 8628, section 3.4. */
const exchangeDevice = async (
  { oauth }: Pick<HttpDeps, 'oauth'>,
  app: KnownApp,
  { requestId, form, resource }: Omit<Exchange, 'app'> & Pick<TokenRequest, 'form'>,
): Promise<TokenAnswer> => {
  if (!app.deviceFlow) return refusedWith('unauthorized_client', 'The app may not be let in by a code of a device');
  const { device_code: deviceCode } = form;
  if (deviceCode === undefined) return refusedWith('invalid_request', 'Missing parameter: `device_code`');
  const open = await oauth.answerDevice(app, deviceCode, { requestId });
  if ('error' in open) return refusedWith(open.error, deviceErrors[open.error]);
  if (resource !== undefined && resource !== open.grant.resource) return refusedWith('invalid_target', OTHER_RESOURCE);
  const { scopes } = open.grant;
  const issued = await oauth.issueTokens(open, { scopes, isRefreshable: true }, { requestId });
  if (issued === undefined) return refusedWith('invalid_grant', 'The grant has ended');
  return {
    status: 200,
    body: {
      access_token: issued.accessToken,
      token_type: 'Bearer',
      expires_in: ACCESS_TOKEN_MS / 1_000,
      refresh_token: issued.refreshToken,
      scope: scopes.join(' '),
    },
    headers: { 'cache-control': 'no-store' },
  };
};

const OTHER_RESOURCE = 'The person granted access to another resource';

/** Throws invalid_target (RFC 8707, section 2) unless the tokens of the grant are good at the resource. */
const assertResource = ({ resource }: Pick<Exchange, 'resource'>, { grant }: OpenGrant): void => {
  if (resource !== undefined && resource !== grant.resource)
    throw new OAuthError(OTHER_RESOURCE, { code: 400, name: 'invalid_target' });
};

/** The callbacks of the library, made for each request: the events that they append carry its id. */
const modelOf = ({ oauth }: Pick<HttpDeps, 'oauth'>, asked: Exchange): Model => {
  const { app, requestId } = asked;
  const request = { requestId };
  return {
    getClient: async () => clientOf(app),
    getAuthorizationCode: async (text) => {
      const grant = await oauth.readCode(text, request);
      const code = grant?.grant.code;
      if (grant === undefined || code === undefined) return undefined;
      if (grant.grant.clientId === app.id) assertResource(asked, grant);
      return {
        authorizationCode: text,
        expiresAt: FAR,
        redirectUri: code.redirectUri,
        scope: [...grant.grant.scopes],
        codeChallenge: code.challenge,
        codeChallengeMethod: 'S256',
        client: { id: grant.grant.clientId, grants: [] },
        user: { grant },
      };
    },
    revokeAuthorizationCode: ({ user, authorizationCode }) =>
      oauth.useCode(assertDefined(holderOf(user).grant, 'grant'), authorizationCode, request),
    getRefreshToken: async (text) => {
      const found = await oauth.readRefreshToken(text, request);
      if (found === undefined) return undefined;
      if (found.grant.clientId === app.id) assertResource(asked, found);
      const { hash: refreshes, ...grant } = found;
      const { clientId, scopes } = grant.grant;
      return {
        refreshToken: text,
        scope: [...scopes],
        client: { id: clientId, grants: [] },
        user: { grant, refreshes },
      };
    },
    // `issueTokens` replaces the token in the append that issues the next.
    revokeToken: async () => true,
    getUserFromClient: async (client) => ({ app: appOfClient(client), grant: undefined }),
    validateScope: async (user, client, wanted) => {
      const given = holderOf(user).grant?.grant.scopes;
      const scopes = scopesAsked({ scopes: given ?? appOfClient(client).scopes }, wanted?.join(' '));
      return scopes === undefined ? false : [...scopes];
    },
    generateAccessToken: async () => 'made when it is saved',
    generateRefreshToken: async () => 'made when it is saved',
    saveToken: async (token, client, user) => {
      const scopes = (token.scope ?? []).filter(isScope);
      const { grant: known, refreshes } = holderOf(user);
      const grant =
        known ??
        (await oauth.giveOwnGrant(appOfClient(client), { scopes, resource: asked.resource ?? 'service' }, request));
      const isRefreshable = known !== undefined;
      const issued = await oauth.issueTokens(
        grant,
        { scopes, isRefreshable, ...(refreshes === undefined ? {} : { refreshes }) },
        request,
      );
      if (issued === undefined) throw new InvalidGrantError('Invalid grant: it has ended');
      const { accessToken, refreshToken } = issued;
      return {
        ...token,
        accessToken,
        ...(refreshToken === undefined ? {} : { refreshToken }),
        scope: scopes as Scope[],
        client,
        user,
      };
    },
    // The library asks for these two and never calls them here.
    saveAuthorizationCode: () => Promise.reject(new Error('codes are given on the page of consent')),
    getAccessToken: () => Promise.reject(new Error('calls are admitted by their own hook')),
  };
};

/** The library wraps errors of the model: this is the original one. */
const innerFault = (fault: unknown): unknown => {
  const inner = fault instanceof OAuthError && 'inner' in fault ? fault.inner : undefined;
  return inner instanceof Error ? inner : fault;
};

const clientOf = (app: KnownApp): Client => ({
  id: app.id,
  app,
  redirectUris: [...app.redirectUris],
  grants: ['authorization_code', 'refresh_token', ...(app.kind === 'confidential' ? ['client_credentials'] : [])],
});

const appOfClient = (client: OAuth2Server.Client): KnownApp => (client as Client).app;

const holderOf = (user: OAuth2Server.User): Holder => user as Holder;

/** The metadata of the service; that of its MCP server is below it. */
const RESOURCE_PATH = '/.well-known/oauth-protected-resource';

const BODY_BYTES_MAX = 16_384;

/** Registers POST /oauth/register, and the metadata of the protected resources. */
const programRoutes = (app: App, deps: Deps): void => {
  const { publicUrl } = deps.settings;
  app.get(RESOURCE_PATH, { config, schema }, (_request, reply) =>
    reply.send(resourceMetadata(publicUrl, publicUrl, scopes)),
  );
  app.get(`${RESOURCE_PATH}/mcp`, { config, schema }, (_request, reply) =>
    reply.send(resourceMetadata(publicUrl, mcpUrlOf(publicUrl), readingScopes)),
  );
  app.post(
    REGISTER_PATH,
    {
      config: { ...config, examples: registrationExamples },
      schema: { ...schema, body: Type.Unknown() },
      bodyLimit: BODY_BYTES_MAX,
    },
    (request, reply) => register(deps, request, reply),
  );
};

/** RFC 9728, section 2. `offered`: the scopes that a client asks for if it knows nothing better. */
const resourceMetadata = (issuer: string, resource: string, offered: readonly string[]) => ({
  resource,
  authorization_servers: [issuer],
  scopes_supported: [...offered],
  bearer_methods_supported: ['header'],
  resource_name: 'sealpost',
  resource_documentation: `${issuer}/docs`,
});

/** RFC 7591, section 3. Nothing is stored. */
const register = async (deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const network = addressBucket(request.ip ?? '');
  const { admitted, retryAfterS } = await deps.limiter.hit(
    windowsOfBounds(`oauth-register:${network}`, registrationLimits),
  );
  if (!admitted)
    return reply
      .code(429)
      .header('retry-after', retryAfterS)
      .send({
        error: 'temporarily_unavailable',
        error_description: `Too many apps were registered from this address; try again in ${retryAfterS} s`,
      });
  const registered = await deps.oauth.registerSelf(request.body);
  if (registered === undefined)
    return refuse(reply, 403, 'access_denied', 'Apps do not register themselves at this service');
  if ('error' in registered) return refuse(reply, 400, registered.error, registered.description);
  const { clientId, at, name, redirectUris, scopes: given } = registered;
  return reply.code(201).send({
    client_id: clientId,
    client_id_issued_at: at,
    client_name: name,
    redirect_uris: redirectUris,
    scope: given.join(' '),
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  });
};

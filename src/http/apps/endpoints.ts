/**
 * The OAuth endpoints that apps call (RFC 6749, 7009, 7662 and 8414). They answer in the form of these RFCs, not with
 * the errors of the API.
 */
import OAuth2Server from '@node-oauth/oauth2-server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { KnownApp } from '../../commands/apps/apps.js';
import type { OpenGrant } from '../../commands/apps/tokens.js';
import { isScope, type Scope, scopes } from '../../domain/access/permissions.js';
import { scopesAsked } from '../../domain/apps/authorization.js';
import { ACCESS_TOKEN_MS, REFRESH_TOKEN_MS } from '../../domain/apps/tokens.js';
import { assertDefined } from '../../domain/core/ids.js';
import type { App, HttpDeps } from '../server/context.js';
import { authorizeRoutes } from './authorize.js';
import { fieldsOf, readForms } from '../server/forms.js';

const { InvalidGrantError, OAuthError, Request, Response } = OAuth2Server;

type Deps = Pick<HttpDeps, 'oauth' | 'settings' | 'commands' | 'queries' | 'limiter' | 'audit'>;

type TokenRequest = Readonly<{
  requestId: string;
  form: Readonly<Record<string, string>>;
  /** The header Authorization, where there is one. */
  authorization: string | undefined;
}>;

export type TokenAnswer = Readonly<{
  status: number;
  body: Readonly<Record<string, unknown>>;
  headers: Readonly<Record<string, string>>;
}>;

type TokenQuery = Readonly<{ app: KnownApp; token: string }>;

type Credentials = Readonly<{ id: string; secret: string | undefined }>;

/** An error of RFC 6749, section 5.2. */
type Refused = Readonly<{ error: 'invalid_request' | 'invalid_client'; description: string }>;

/** State that the library carries from one step to the next in its field for a user. */
type Holder = Readonly<{ app: KnownApp; grant: OpenGrant | undefined; refreshes?: string }>;

type Client = OAuth2Server.Client & Readonly<{ app: KnownApp }>;

type Model = OAuth2Server.AuthorizationCodeModel & OAuth2Server.RefreshTokenModel & OAuth2Server.ClientCredentialsModel;

const config = { access: 'public' } as const;

const schema = { hide: true };

/** Fields of a form by which an app authenticates, ours and those of RFC 7521. */
const authenticatingFields = ['client_secret', 'client_assertion', 'client_assertion_type'] as const;

/** The expiry that the library is told: the commands decide by the clock of the service what has expired. */
const FAR = new Date(8_640_000_000_000_000);

const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;

const CHALLENGE = 'Basic realm="sealpost"';

/**
 * In place of the secret: the library asks for one, and the app was authenticated before the library sees the request.
 */
const AUTHENTICATED = 'authenticated';

const TWICE = 'A parameter is given more than once, or there are too many (RFC 6749, section 3.2)';

/** Registers /oauth/authorize, /oauth/token, /oauth/revoke, /oauth/introspect and the metadata. */
export const oauthRoutes = (app: App, deps: Deps): void => {
  app.get('/.well-known/oauth-authorization-server', { config, schema }, (_request, reply) =>
    reply.send(metadata(deps.settings.publicUrl)),
  );
  authorizeRoutes(app, deps);
  // In a scope of its own, for only these routes accept forms.
  app.register(async (scope: App) => {
    readForms(scope);
    scope.post('/oauth/token', { config, schema }, (request, reply) => token(deps, request, reply));
    scope.post('/oauth/revoke', { config, schema }, (request, reply) => revoke(deps, request, reply));
    scope.post('/oauth/introspect', { config, schema }, (request, reply) => introspect(deps, request, reply));
  });
};

/** RFC 8414, section 2. */
const metadata = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}/oauth/authorize`,
  token_endpoint: `${issuer}/oauth/token`,
  revocation_endpoint: `${issuer}/oauth/revoke`,
  introspection_endpoint: `${issuer}/oauth/introspect`,
  scopes_supported: [...scopes],
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
  revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
  introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  service_documentation: `${issuer}/docs`,
});

const refuse = (reply: FastifyReply, status: 400 | 401, error: string, description: string): FastifyReply => {
  if (status === 401) reply.header('www-authenticate', CHALLENGE);
  return reply.code(status).send({ error, error_description: description });
};

const token = async ({ oauth }: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const form = fieldsOf(request.body);
  if (form === undefined) return refuse(reply, 400, 'invalid_request', TWICE);
  const { status, body, headers } = await exchange(
    { oauth },
    { requestId: request.id, form, authorization: request.headers.authorization },
  );
  return reply
    .code(status)
    .headers({ ...headers, pragma: 'no-cache' })
    .send(body);
};

/**
 * Authenticates the app that calls one of these endpoints, by the Authorization header or by the form (RFC 6749,
 * section 2.3). Out: the app, or the error that it gets.
 */
const authenticateApp = async (
  { oauth }: Pick<HttpDeps, 'oauth'>,
  { form, authorization }: Pick<TokenRequest, 'form' | 'authorization'>,
): Promise<KnownApp | Refused> => {
  const read = authorization === undefined ? credentialsInForm(form) : credentialsInHeader(authorization, form);
  if ('error' in read) return read;
  const app = await oauth.authenticateOAuthApp(read.id, read.secret);
  return app ?? { error: 'invalid_client', description: 'The app is unknown, or its secret is wrong' };
};

/** A public app sends its `client_id` alone. An empty secret is none (RFC 6749, section 2.3.1). */
const credentialsInForm = (form: TokenRequest['form']): Credentials | Refused => {
  if (authenticatingFields.some((name) => name !== 'client_secret' && form[name] !== undefined))
    return { error: 'invalid_client', description: 'Apps authenticate by a secret here, not by an assertion' };
  const { client_id: id, client_secret: secret } = form;
  if (id === undefined)
    return {
      error: 'invalid_client',
      description: 'The app says who it is by a Basic header, or by `client_id` in the form',
    };
  return { id, secret: secret === '' ? undefined : secret };
};

/** The id and secret in a Basic header, each encoded as in a form (RFC 6749, section 2.3.1). */
const credentialsInHeader = (header: string, form: TokenRequest['form']): Credentials | Refused => {
  const encoded = BASIC.exec(header)?.[1];
  const text = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8');
  const at = text.indexOf(':');
  const [id, secret] = at < 0 ? [] : [decoded(text.slice(0, at)), decoded(text.slice(at + 1))];
  if (id === undefined || secret === undefined)
    return {
      error: 'invalid_client',
      description: 'The Authorization header must be Basic, with `client_id:client_secret`, each encoded as in a form',
    };
  if (authenticatingFields.some((name) => form[name] !== undefined))
    return {
      error: 'invalid_request',
      description: 'The app authenticates in two ways: send the Authorization header, or the secret in the form',
    };
  if (form['client_id'] !== undefined && form['client_id'] !== id)
    return {
      error: 'invalid_request',
      description: 'The `client_id` of the form is not that of the Authorization header',
    };
  return { id, secret: secret === '' ? undefined : secret };
};

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
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

/** An app learns about its own tokens only. A public app, which cannot authenticate, learns about none. */
const introspect = async (deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const about = await readTokenQuery(deps, request, reply);
  if (about === undefined) return reply;
  const { app, token: text } = about;
  if (app.kind === 'public') return refuse(reply, 401, 'invalid_client', 'A public app cannot ask about tokens');
  const open = await deps.oauth.readAccessToken(text);
  if (open === undefined || open.isExpired || open.app.id !== app.id) return reply.send({ active: false });
  const seconds = (time: string): number => Math.floor(Date.parse(time) / 1_000);
  return reply.send({
    active: true,
    scope: open.scopes.join(' '),
    client_id: app.id,
    token_type: 'Bearer',
    exp: seconds(open.token.expiresAt),
    iss: deps.settings.publicUrl,
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
  { requestId, form, authorization }: TokenRequest,
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
  const server = new OAuth2Server({
    model: modelOf(deps, app, requestId),
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

/** The callbacks of the library, made for each request: the events that they append carry its id. */
const modelOf = ({ oauth }: Pick<HttpDeps, 'oauth'>, app: KnownApp, requestId: string): Model => {
  const request = { requestId };
  return {
    getClient: async () => clientOf(app),
    getAuthorizationCode: async (text) => {
      const grant = await oauth.readCode(text, request);
      const code = grant?.grant.code;
      if (grant === undefined || code === undefined) return undefined;
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
    validateScope: async (user, client, asked) => {
      const given = holderOf(user).grant?.grant.scopes;
      const scopes = scopesAsked({ scopes: given ?? appOfClient(client).scopes }, asked?.join(' '));
      return scopes === undefined ? false : [...scopes];
    },
    generateAccessToken: async () => 'made when it is saved',
    generateRefreshToken: async () => 'made when it is saved',
    saveToken: async (token, client, user) => {
      const scopes = (token.scope ?? []).filter(isScope);
      const { grant: known, refreshes } = holderOf(user);
      const grant = known ?? (await oauth.giveOwnGrant(appOfClient(client), scopes, request));
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

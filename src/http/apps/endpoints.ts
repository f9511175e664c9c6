/** What apps call by RFC 6749, 7009, 7662 and 8414. They answer as these say, not in the form of the API's errors. */
import OAuth2Server from '@node-oauth/oauth2-server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OAuth } from '../../commands/index.js';
import type { KnownApp } from '../../commands/apps/apps.js';
import type { OpenGrant } from '../../commands/apps/tokens.js';
import { isScope, type Scope, scopes } from '../../domain/access/permissions.js';
import { scopesAsked } from '../../domain/apps/authorization.js';
import { ACCESS_TOKEN_MS, REFRESH_TOKEN_MS } from '../../domain/apps/grant.js';
import { assertDefined } from '../../domain/core/ids.js';
import type { App, HttpDeps } from '../server/context.js';
import { authorizeRoutes } from './authorize.js';
import { fieldsOf, readForms } from '../server/forms.js';

/* The token endpoint of RFC 6749, section 3.2: the exchange itself is the library's, codes and tokens are ours. */

const { InvalidGrantError, OAuthError, Request, Response } = OAuth2Server;

type TokenRequest = Readonly<{
  requestId: string;
  form: Readonly<Record<string, string>>;
  /** The header Authorization, where there is one. */
  authorization: string | undefined;
}>;

export type TokenAnswer = Readonly<{ status: number; body: Readonly<Record<string, unknown>>; headers: Readonly<Record<string, string>> }>;

type DepsTokenEndpoint = Readonly<{ oauth: OAuth }>;

/** What the library carries from one step to the next in place of a user. */
type Held = Readonly<{ app: KnownApp; grant: OpenGrant | undefined; refreshes?: string }>;
type Client = OAuth2Server.Client & Readonly<{ app: KnownApp }>;

const clientOf = (app: KnownApp): Client => ({
  id: app.id,
  app,
  redirectUris: [...app.redirectUris],
  grants: ['authorization_code', 'refresh_token', ...(app.kind === 'confidential' ? ['client_credentials'] : [])],
});

const appOfTokenEndpoint = (client: OAuth2Server.Client): KnownApp => (client as Client).app;
const heldOf = (user: OAuth2Server.User): Held => user as Held;

/** Whether something has expired is decided by the commands, by the service's own clock; the library is told that it has not. */
const FAR = new Date(8_640_000_000_000_000);

type Model = OAuth2Server.AuthorizationCodeModel & OAuth2Server.RefreshTokenModel & OAuth2Server.ClientCredentialsModel;

/** One model a request: the events that it leads to carry the id of the request. */
const modelOf = ({ oauth }: DepsTokenEndpoint, requestId: string): Model => {
  const request = { requestId };
  return {
    getClient: async (id, secret) => {
      const app = await oauth.authenticateOAuthApp(id, (secret as string | null | undefined) ?? undefined);
      return app === undefined ? undefined : clientOf(app);
    },
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
      oauth.useCode(assertDefined(heldOf(user).grant, 'grant'), authorizationCode, request),
    getRefreshToken: async (text) => {
      const found = await oauth.readRefreshToken(text, request);
      if (found === undefined) return undefined;
      const { hash: refreshes, ...grant } = found;
      const { clientId, scopes } = grant.grant;
      return { refreshToken: text, scope: [...scopes], client: { id: clientId, grants: [] }, user: { grant, refreshes } };
    },
    // The token before is replaced in the same append that gives the next.
    revokeToken: async () => true,
    getUserFromClient: async (client) => ({ app: appOfTokenEndpoint(client), grant: undefined }),
    validateScope: async (user, client, asked) => {
      const given = heldOf(user).grant?.grant.scopes;
      const scopes = scopesAsked({ scopes: given ?? appOfTokenEndpoint(client).scopes }, asked?.join(' '));
      return scopes === undefined ? false : [...scopes];
    },
    generateAccessToken: async () => 'made when it is saved',
    generateRefreshToken: async () => 'made when it is saved',
    saveToken: async (token, client, user) => {
      const scopes = (token.scope ?? []).filter(isScope);
      const { grant: known, refreshes } = heldOf(user);
      const grant = known ?? (await oauth.giveOwnGrant(appOfTokenEndpoint(client), scopes, request));
      const isRefreshable = known !== undefined;
      const issued = await oauth.issueTokens(grant, { scopes, isRefreshable, ...(refreshes === undefined ? {} : { refreshes }) }, request);
      if (issued === undefined) throw new InvalidGrantError('Invalid grant: it has ended');
      const { accessToken, refreshToken } = issued;
      return { ...token, accessToken, ...(refreshToken === undefined ? {} : { refreshToken }), scope: scopes as Scope[], client, user };
    },
    // Codes are given, and access tokens used, elsewhere; the library asks for these two and never calls them.
    saveAuthorizationCode: () => Promise.reject(new Error('codes are given on the page of consent')),
    getAccessToken: () => Promise.reject(new Error('calls are admitted by their own hook')),
  };
};

/** Out: what is answered, refusals included (RFC 6749, sections 5.1 and 5.2). Rejects where the fault is ours. */
export const exchange = async (deps: DepsTokenEndpoint, { requestId, form, authorization }: TokenRequest): Promise<TokenAnswer> => {
  const server = new OAuth2Server({
    model: modelOf(deps, requestId),
    accessTokenLifetime: ACCESS_TOKEN_MS / 1_000,
    refreshTokenLifetime: REFRESH_TOKEN_MS / 1_000,
    alwaysIssueNewRefreshToken: true,
    // Whether an app needs its secret is the model's to say: a public one has none.
    requireClientAuthentication: { authorization_code: false, refresh_token: false },
  });
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': '1',
    ...(authorization === undefined ? {} : { authorization }),
  };
  const response = new Response();
  try {
    await server.token(new Request({ method: 'POST', headers, query: {}, body: { ...form } }), response);
  } catch (fault) {
    if (!(fault instanceof OAuthError) || fault.code >= 500) throw innerFault(fault);
  }
  return {
    status: response.status ?? 200,
    body: response.body as Readonly<Record<string, unknown>>,
    headers: (response.headers ?? {}) as Readonly<Record<string, string>>,
  };
};

/** The library wraps what is not its own; what it wrapped is what went wrong. */
const innerFault = (fault: unknown): unknown => {
  const inner = fault instanceof OAuthError && 'inner' in fault ? fault.inner : undefined;
  return inner instanceof Error ? inner : fault;
};

/* The header by which an app shows its id and its secret (RFC 6749, section 2.3.1). */

const BASIC = /^Basic +([A-Za-z0-9+/]+={0,2})$/i;

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
};

/** Out: undefined where the header is absent or is none of this kind. Each part is encoded as in a form. */
const basicCredentials = (header: string | undefined): Readonly<{ id: string; secret: string }> | undefined => {
  const encoded = header === undefined ? undefined : BASIC.exec(header)?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const at = text.indexOf(':');
  const [id, secret] = at < 0 ? [] : [decoded(text.slice(0, at)), decoded(text.slice(at + 1))];
  return id === undefined || secret === undefined ? undefined : { id, secret };
};

type Deps = Pick<HttpDeps, 'oauth' | 'settings' | 'commands' | 'queries' | 'limiter' | 'audit'>;

const config = { access: 'public' } as const;
const schema = { hide: true };

/** Registers /oauth/authorize, /oauth/token, /oauth/revoke, /oauth/introspect and the metadata. */
export const oauthRoutes = (app: App, deps: Deps): void => {
  app.get('/.well-known/oauth-authorization-server', { config, schema }, (_request, reply) =>
    reply.send(metadata(deps.settings.publicUrl)),
  );
  authorizeRoutes(app, deps);
  // In a scope of its own: of these calls no other takes forms.
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
  if (status === 401) reply.header('www-authenticate', 'Basic realm="sealpost"');
  return reply.code(status).send({ error, error_description: description });
};

const TWICE = 'A parameter is given more than once, or there are too many (RFC 6749, section 3.2)';

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

/** The app that a form or the header Authorization speaks for; undefined where it does not show that it is itself. */
const appOf = ({ oauth }: Deps, request: FastifyRequest, form: Readonly<Record<string, string>>): Promise<KnownApp | undefined> => {
  const { id, secret } = basicCredentials(request.headers.authorization) ?? { id: form['client_id'] ?? '', secret: form['client_secret'] };
  return oauth.authenticateOAuthApp(id, secret);
};

type Asked = Readonly<{ app: KnownApp; token: string }>;

/** Out: who asks about which token, or undefined where it was answered already. */
const asked = async (deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<Asked | undefined> => {
  const form = fieldsOf(request.body);
  if (form === undefined) return void refuse(reply, 400, 'invalid_request', TWICE);
  const app = await appOf(deps, request, form);
  if (app === undefined) return void refuse(reply, 401, 'invalid_client', 'The app is unknown, or its secret is wrong');
  const { token: text } = form;
  if (text === undefined) return void refuse(reply, 400, 'invalid_request', 'Missing parameter: `token`');
  return { app, token: text };
};

const revoke = async (deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const about = await asked(deps, request, reply);
  if (about === undefined) return reply;
  await deps.oauth.revokeToken(about.app, about.token, { requestId: request.id });
  return reply.code(200).send();
};

/** An app learns of its own tokens alone; a public one, which cannot show that it is itself, of none. */
const introspect = async (deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
  const about = await asked(deps, request, reply);
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

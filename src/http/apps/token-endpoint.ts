/** The token endpoint of RFC 6749, section 3.2: the exchange itself is the library's, codes and tokens are ours. */
import OAuth2Server from '@node-oauth/oauth2-server';
import type { OAuth } from '../../commands/oauth.js';
import type { KnownApp } from '../../commands/apps/clients.js';
import type { OpenGrant } from '../../commands/apps/tokens.js';
import { isScope, type Scope } from '../../domain/access/scopes.js';
import { scopesAsked } from '../../domain/apps/authorization.js';
import { ACCESS_TOKEN_MS, REFRESH_TOKEN_MS } from '../../domain/apps/lifetimes.js';
import { assertDefined } from '../../domain/core/ids.js';

const { InvalidGrantError, OAuthError, Request, Response } = OAuth2Server;

export type TokenRequest = Readonly<{
  requestId: string;
  form: Readonly<Record<string, string>>;
  /** The header Authorization, where there is one. */
  authorization: string | undefined;
}>;

export type TokenAnswer = Readonly<{ status: number; body: Readonly<Record<string, unknown>>; headers: Readonly<Record<string, string>> }>;

type Deps = Readonly<{ oauth: OAuth }>;

/** What the library carries from one step to the next in place of a user. */
type Held = Readonly<{ app: KnownApp; grant: OpenGrant | undefined; refreshes?: string }>;
type Client = OAuth2Server.Client & Readonly<{ app: KnownApp }>;

const clientOf = (app: KnownApp): Client => ({
  id: app.id,
  app,
  redirectUris: [...app.redirectUris],
  grants: ['authorization_code', 'refresh_token', ...(app.kind === 'confidential' ? ['client_credentials'] : [])],
});

const appOf = (client: OAuth2Server.Client): KnownApp => (client as Client).app;
const heldOf = (user: OAuth2Server.User): Held => user as Held;

/** Whether something has expired is decided by the commands, by the service's own clock; the library is told that it has not. */
const FAR = new Date(8_640_000_000_000_000);

type Model = OAuth2Server.AuthorizationCodeModel & OAuth2Server.RefreshTokenModel & OAuth2Server.ClientCredentialsModel;

/** One model a request: the events that it leads to carry the id of the request. */
const modelOf = ({ oauth }: Deps, requestId: string): Model => {
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
    getUserFromClient: async (client) => ({ app: appOf(client), grant: undefined }),
    validateScope: async (user, client, asked) => {
      const given = heldOf(user).grant?.grant.scopes;
      const scopes = scopesAsked({ scopes: given ?? appOf(client).scopes }, asked?.join(' '));
      return scopes === undefined ? false : [...scopes];
    },
    generateAccessToken: async () => 'made when it is saved',
    generateRefreshToken: async () => 'made when it is saved',
    saveToken: async (token, client, user) => {
      const scopes = (token.scope ?? []).filter(isScope);
      const { grant: known, refreshes } = heldOf(user);
      const grant = known ?? (await oauth.giveOwnGrant(appOf(client), scopes, request));
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
export const exchange = async (deps: Deps, { requestId, form, authorization }: TokenRequest): Promise<TokenAnswer> => {
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

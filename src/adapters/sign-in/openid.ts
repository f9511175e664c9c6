/** Sign-in providers by OpenID Connect: authorization code with PKCE, state and nonce (openid-client). */
import * as oidc from 'openid-client';
import type { Clock } from '../../domain/ports/clock.js';
import type { Logger } from '../../domain/ports/logger.js';
import {
  ProviderFault,
  type ProvidedIdentity,
  type SignInProvider,
  type SignInProviders,
} from '../../domain/ports/sign-in-providers.js';

type Deps = Readonly<{
  clock: Pick<Clock, 'now' | 'monotonic'>;
  logger: Pick<Logger, 'warn'>;
  fetch: (url: string, init: object) => Promise<Response>;
  close: () => Promise<void>;
}>;

type Discovered = Readonly<{ atMs: number; server: Promise<oidc.ServerMetadata> }>;

/** A provider that changes its endpoints is noticed within this time. */
const DISCOVERED_MS = 60 * 60_000;

const TIMEOUT_S = 10;

/** By how much the clocks of provider and service may differ. */
const CLOCK_TOLERANCE_S = 60;

/** Calls nobody before the first sign-in. What a provider says of itself, and its keys, are cached. */
export const openIdProviders = (
  all: readonly SignInProvider[],
  { clock, logger, fetch, close }: Deps,
): SignInProviders => {
  const discovered = new Map<string, Discovered>();
  const keys = new Map<string, oidc.ExportedJWKSCache>();
  const customFetch = fetch as oidc.CustomFetch;

  const discover = (provider: SignInProvider): Promise<oidc.ServerMetadata> => {
    const known = discovered.get(provider.id);
    const nowMs = clock.monotonic();
    if (known !== undefined && nowMs - known.atMs < DISCOVERED_MS) return known.server;
    const server = oidc
      .discovery(new URL(provider.issuer), provider.clientId, undefined, undefined, {
        timeout: TIMEOUT_S,
        [oidc.customFetch]: customFetch,
        execute: provider.isInternal ? [oidc.allowInsecureRequests] : [],
      })
      .then((configuration) => configuration.serverMetadata());
    discovered.set(provider.id, { atMs: nowMs, server });
    // A provider that was away is asked anew.
    server.catch(() => discovered.delete(provider.id));
    return server;
  };

  const configurationOf = async (provider: SignInProvider): Promise<oidc.Configuration> => {
    const configuration = new oidc.Configuration(await discover(provider), provider.clientId, {
      client_secret: provider.clientSecret,
      // The library reads the clock of the machine, and this is what it adds to it: so tokens are judged by the clock of
      // the service, which tests move.
      [oidc.clockSkew]: Math.round((clock.now() - Date.now()) / 1_000),
      [oidc.clockTolerance]: CLOCK_TOLERANCE_S,
    });
    configuration[oidc.customFetch] = customFetch;
    configuration.timeout = TIMEOUT_S;
    oidc.enableNonRepudiationChecks(configuration);
    if (provider.isInternal) oidc.allowInsecureRequests(configuration);
    const cached = keys.get(provider.id);
    if (cached !== undefined) oidc.setJwksCache(configuration, cached);
    return configuration;
  };

  /** Rejects with ProviderFault, and logs where the provider is at fault. */
  const asked = async <Answer>(
    provider: SignInProvider,
    ask: (configuration: oidc.Configuration) => Promise<Answer>,
  ): Promise<Answer> => {
    try {
      const configuration = await configurationOf(provider);
      const answer = await ask(configuration);
      const fetched = oidc.getJwksCache(configuration);
      if (fetched !== undefined) keys.set(provider.id, fetched);
      return answer;
    } catch (fault) {
      const known = faultOf(provider, fault);
      if (known.fault === 'away')
        logger.warn({ provider: provider.id, err: known }, 'a sign-in provider does not answer as it should');
      throw known;
    }
  };

  return {
    all,
    begin: (provider, redirectUri, { state, nonce, verifier }) =>
      asked(provider, async (configuration) => {
        const parameters = {
          redirect_uri: redirectUri,
          scope: provider.scopes.join(' '),
          state,
          nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        };
        return oidc.buildAuthorizationUrl(configuration, parameters).href;
      }),
    finish: (provider, redirectUri, { query, secrets }) =>
      asked(provider, async (configuration) => {
        const url = new URL(redirectUri);
        url.search = query;
        const tokens = await oidc.authorizationCodeGrant(configuration, url, {
          expectedState: secrets.state,
          expectedNonce: secrets.nonce,
          pkceCodeVerifier: secrets.verifier,
          idTokenExpected: true,
        });
        return identityOf(tokens.claims()!, await userInfo(configuration, tokens));
      }),
    close,
  };
};

type Tokens = Awaited<ReturnType<typeof oidc.authorizationCodeGrant>>;

/** Some providers say the address at their user info endpoint only. */
const userInfo = async (
  configuration: oidc.Configuration,
  tokens: Tokens,
): Promise<Readonly<Record<string, unknown>>> => {
  const { sub, email } = tokens.claims()!;
  if (email !== undefined || configuration.serverMetadata().userinfo_endpoint === undefined) return {};
  return oidc.fetchUserInfo(configuration, tokens.access_token, sub);
};

const identityOf = (claims: oidc.IDToken, more: Readonly<Record<string, unknown>>): ProvidedIdentity => {
  const said: Readonly<Record<string, unknown>> = { ...more, ...claims };
  const text = (name: string): string | undefined =>
    typeof said[name] === 'string' && said[name] !== '' ? said[name] : undefined;
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email: text('email'),
    isEmailVerified: said['email_verified'] === true || isEntraVerified(said['xms_edov']),
    name: text('name'),
  };
};

/** Microsoft Entra says by this claim, and by no other, that the owner of the domain verified the address. */
const isEntraVerified = (claim: unknown): boolean => claim === true || claim === 1 || claim === '1' || claim === 'true';

/** The message names the code of the library alone: its other texts may hold parts of tokens. */
const faultOf = ({ label }: SignInProvider, fault: unknown): ProviderFault => {
  if (fault instanceof oidc.AuthorizationResponseError)
    return new ProviderFault('refused', `${label} ended the sign-in.`);
  const isOfAnswer = fault instanceof oidc.ClientError && OF_ANSWER.has(fault.code ?? '');
  const isOfCode = fault instanceof oidc.ResponseBodyError && fault.error === 'invalid_grant';
  if (isOfAnswer || isOfCode)
    return new ProviderFault('refused', `The answer of ${label} is not one to this sign-in. Begin it anew.`);
  return new ProviderFault('away', `${label} does not answer as a sign-in provider should: ${codeOf(fault)}.`);
};

const codeOf = (fault: unknown): string => {
  const { code, error, cause } = fault as Readonly<Record<'code' | 'error' | 'cause', unknown>>;
  const known = [error, code, (cause as Readonly<{ code?: unknown }> | undefined)?.code];
  return known.filter((one) => typeof one === 'string').join(', ') || 'no connection';
};

/** Codes of openid-client for an answer that does not belong to this sign-in, or is forged. */
const OF_ANSWER: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
]);

/**
 * The request of an app that sends a person here for consent (RFC 6749, section 4.1.1, and RFC 7636): its parameters
 * are checked before the person sees a page.
 */
import { isScope, type Scope } from '../access/permissions.js';
import { isRedirectUriOf, type OAuthApp } from './app.js';

/** The parameters of the link. One that is absent, or given more than once, is undefined. */
export type AuthorizationParams = Readonly<
  Partial<
    Record<
      | 'response_type'
      | 'client_id'
      | 'redirect_uri'
      | 'scope'
      | 'state'
      | 'code_challenge'
      | 'code_challenge_method'
      | 'resource',
      string
    >
  >
>;

/** The part of the service at which tokens are good (RFC 8707): all of it, or the MCP server alone. */
export type Resource = 'service' | 'mcp';

export type Authorization = Readonly<{
  resource: Resource;
  redirectUri: string;
  scopes: readonly Scope[];
  state: string | undefined;
  challenge: string;
}>;

/**
 * The app and its address are known, and the rest is wrong. The app is told by a redirect once the person has signed in
 * (RFC 9700, section 4.11.2).
 */
export type FaultyAuthorization = Readonly<{
  redirectUri: string;
  state: string | undefined;
  error: OAuthErrorCode;
  message: string;
}>;

/** The person is told `message` and sent nowhere. */
export type RefusedAuthorization = Readonly<{ refusal: string }>;

/** RFC 6749, section 4.1.2.1. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'unauthorized_client'
  | 'access_denied'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'server_error';

const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
const STATE_CHARS_MAX = 1_000;

/**
 * The address is compared before anything else: to one that is not registered letter by letter nothing is ever sent
 * (RFC 9700, section 4.1.3).
 */
export const readAuthorization = (
  app: AskingApp | undefined,
  params: AuthorizationParams,
  publicUrl: string,
): Authorization | FaultyAuthorization | RefusedAuthorization => {
  const { redirect_uri: redirectUri, state } = params;
  if (app === undefined) return { refusal: 'There is no app with the client_id of this link.' };
  if (redirectUri === undefined || !isRedirectUriOf(app, redirectUri)) {
    return { refusal: 'The redirect_uri of this link is none that the app has registered.' };
  }
  const refused = (error: OAuthErrorCode, message: string): FaultyAuthorization => ({
    redirectUri,
    state: state !== undefined && state.length <= STATE_CHARS_MAX ? state : undefined,
    error,
    message,
  });
  if (params.response_type !== 'code') return refused('unsupported_response_type', 'response_type must be code');
  if (state !== undefined && state.length > STATE_CHARS_MAX) {
    return refused('invalid_request', `state must have at most ${STATE_CHARS_MAX} characters`);
  }
  const { code_challenge: challenge, code_challenge_method: method } = params;
  if (challenge === undefined || !CHALLENGE.test(challenge)) {
    return refused('invalid_request', 'code_challenge must be the base64url of SHA-256 (RFC 7636)');
  }
  if (method !== 'S256') return refused('invalid_request', 'code_challenge_method must be S256');
  const scopes = scopesAsked(app, params.scope);
  if (scopes === undefined) return refused('invalid_scope', `scope must be some of: ${app.scopes.join(' ')}`);
  const resource = resourceAsked(params.resource, publicUrl);
  if (resource === undefined) return refused('invalid_target', unknownResource(publicUrl));
  return { redirectUri, scopes, state, challenge, resource };
};

/** `usualScopes`: the scopes that an app asks for if its request names none; absent: all that the app has. */
export type AskingApp = OAuthApp & Readonly<{ usualScopes?: readonly Scope[] }>;

/**
 * In: the parameter `resource`. Out: undefined if it names nothing of this service. A slash at the end makes no
 * difference.
 */
export const resourceAsked = (text: string | undefined, publicUrl: string): Resource | undefined => {
  const asked = text?.replace(/\/$/, '');
  if (asked === undefined || asked === publicUrl.replace(/\/$/, '')) return 'service';
  return asked === mcpUrlOf(publicUrl) ? 'mcp' : undefined;
};

export const unknownResource = (publicUrl: string): string => `resource must be ${publicUrl} or ${mcpUrlOf(publicUrl)}`;

/** The address of the MCP server. */
export const mcpUrlOf = (publicUrl: string): string => `${publicUrl.replace(/\/$/, '')}/mcp`;

/** In: scopes with spaces between them, or none. Out: undefined where one is none of the app's. */
export const scopesAsked = (
  app: Pick<AskingApp, 'scopes' | 'usualScopes'>,
  text: string | undefined,
): readonly Scope[] | undefined => {
  if (text === undefined || text === '') return app.usualScopes ?? app.scopes;
  const asked = [...new Set(text.split(' '))];
  return asked.every((scope): scope is Scope => isScope(scope) && app.scopes.includes(scope)) ? asked : undefined;
};

/** Answer that the redirect brings to the app: a code, or the reason why there is none. */
export type AuthorizationAnswer = Readonly<{ code: string }> | Readonly<{ error: OAuthErrorCode; message: string }>;

/**
 * The address to which the person is sent back. `issuer` (RFC 9207) tells an app that asks several services which one
 * answers.
 */
export const redirectTo = (
  redirectUri: string,
  answer: AuthorizationAnswer & Readonly<{ state: string | undefined; issuer: string }>,
): string => {
  const url = new URL(redirectUri);
  if ('code' in answer) url.searchParams.append('code', answer.code);
  else {
    url.searchParams.append('error', answer.error);
    url.searchParams.append('error_description', answer.message);
  }
  if (answer.state !== undefined) url.searchParams.append('state', answer.state);
  url.searchParams.append('iss', answer.issuer);
  return url.href;
};

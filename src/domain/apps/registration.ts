/**
 * Apps that register themselves (RFC 7591), as MCP clients do. The service stores nothing for them: the client_id
 * carries the app's metadata and a MAC of the service. It is public; only the service can make one.
 */
import { isScope, readingScopes, scopes as allScopes, type Scope } from '../access/permissions.js';
import { assertDefined, parseOAuthClientId, type OAuthClientId } from '../core/ids.js';
import { isoTime } from '../core/time.js';
import { nameFault } from '../../shared/text.js';
import { redirectUriFault, type OAuthApp } from './app.js';
import type { AskingApp } from './authorization.js';
import { hashOf, isSameHash } from './tokens.js';

/** The metadata that an app registered. `at`: seconds since 1970. */
export type SelfRegistration = Readonly<{
  at: number;
  name: string;
  redirectUris: readonly string[];
  scopes: readonly Scope[];
}>;

/** RFC 7591, section 3.2.2. */
export type RegistrationFault = Readonly<{
  error: 'invalid_redirect_uri' | 'invalid_client_metadata';
  description: string;
}>;

/** HMAC in hex under a key of the service for this purpose. */
type Mac = (text: string) => string;

const PREFIX = 'sealpost_client_';

const TEXT = /^sealpost_client_([A-Za-z0-9_-]{1,4000})\.([A-Za-z0-9_-]{43})$/;

const NAME_CHARS_MAX = 100;

const REDIRECT_URIS_MAX = 12;

const REDIRECT_URI_CHARS_MAX = 500;

/** Bytes of all metadata as JSON: the client_id is part of each link. */
const METADATA_BYTES_MAX = 2_500;

const UNNAMED = 'Unnamed app';

/**
 * The schemes of editors that open their own addresses. Others are refused: an address of a scheme that the system
 * gives to some other program starts that program.
 */
const EDITOR_SCHEMES: ReadonlySet<string> = new Set([
  'cursor:',
  'vscode:',
  'vscode-insiders:',
  'vscodium:',
  'windsurf:',
  'zed:',
]);

const EDITOR_URI = /^[a-z-]+:\/\/[a-z0-9][a-z0-9.-]*(?:\/[A-Za-z0-9._~/-]*)?(?:\?[A-Za-z0-9._~/=&-]*)?$/;

/** In: the body of a registration. */
export const readRegistration = (body: unknown, nowMs: number): SelfRegistration | RegistrationFault => {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return invalid('The metadata of the app must be a JSON object');
  const { redirect_uris: redirectUris, client_name: given, scope, ...more } = body as Readonly<Record<string, unknown>>;
  const name = typeof given === 'string' ? given.trim() : UNNAMED;
  const wrong = faultOfName(given === undefined ? UNNAMED : given) ?? faultOfUris(redirectUris) ?? faultOfFlows(more);
  if (wrong !== undefined) return wrong;
  const scopes = scopesOf(scope);
  if (scopes === undefined) return invalid(`scope must name some of: ${allScopes.join(' ')}`);
  const registration = {
    at: Math.floor(nowMs / 1_000),
    name: name === '' ? UNNAMED : name,
    redirectUris: [...new Set(redirectUris as readonly string[])],
    scopes,
  };
  return Buffer.byteLength(textOf(registration)) > METADATA_BYTES_MAX
    ? invalid(`name, redirect_uris and scope have together more than ${METADATA_BYTES_MAX} bytes`)
    : registration;
};

/** The client_id of an app that registered itself. */
export const formatSelfClientId = (registration: SelfRegistration, mac: Mac): string => {
  const body = Buffer.from(textOf(registration)).toString('base64url');
  return `${PREFIX}${body}.${Buffer.from(mac(body), 'hex').toString('base64url')}`;
};

/** The app with that client_id and its short id; undefined if the service did not make the client_id. */
export const readSelfClientId = (
  text: string,
  mac: Mac,
): Readonly<{ id: OAuthClientId; app: AskingApp }> | undefined => {
  const [, body, given] = TEXT.exec(text) ?? [];
  if (body === undefined || given === undefined) return undefined;
  if (!isSameHash(mac(body), Buffer.from(given, 'base64url').toString('hex'))) return undefined;
  const [at, name, redirectUris, scopes] = JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as Stored;
  return { id: selfIdOf(body), app: selfApp({ at, name, redirectUris, scopes: scopes.split(' ').filter(isScope) }) };
};

/** An app that registered itself, as far as its grant tells. */
export const selfApp = ({ at, name, redirectUris, scopes }: SelfRegistration): AskingApp => {
  const since = isoTime(at * 1_000);
  const app: OAuthApp = {
    kind: 'public',
    name,
    description: null,
    homepage: null,
    redirectUris: [...redirectUris],
    scopes,
    deviceFlow: false,
    createdAt: since,
    updatedAt: since,
    secret: null,
    deletedAt: null,
  };
  return { ...app, usualScopes: readingScopes.filter((scope) => scopes.includes(scope)) };
};

export const isSelfRegistered = (id: OAuthClientId): boolean => id.startsWith('self_');

type Stored = readonly [at: number, name: string, redirectUris: readonly string[], scopes: string];

const textOf = ({ at, name, redirectUris, scopes }: SelfRegistration): string => {
  const stored: Stored = [at, name, redirectUris, scopes.join(' ')];
  return JSON.stringify(stored);
};

const selfIdOf = (body: string): OAuthClientId =>
  assertDefined(
    parseOAuthClientId(`self_${Buffer.from(hashOf(body), 'hex').subarray(0, 16).toString('base64url')}`),
    'id of an app',
  );

const invalid = (description: string): RegistrationFault => ({ error: 'invalid_client_metadata', description });

const faultOfName = (name: unknown): RegistrationFault | undefined => {
  if (typeof name !== 'string') return invalid('client_name must be a text');
  const fault = name.length > 2 * NAME_CHARS_MAX ? 'is too long' : nameFault(name);
  return fault === undefined && [...name].length <= NAME_CHARS_MAX
    ? undefined
    : invalid(`client_name ${fault ?? `must have at most ${NAME_CHARS_MAX} characters`}`);
};

const faultOfUris = (uris: unknown): RegistrationFault | undefined => {
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > REDIRECT_URIS_MAX)
    return { error: 'invalid_redirect_uri', description: `redirect_uris must be 1 to ${REDIRECT_URIS_MAX} addresses` };
  for (const uri of uris as readonly unknown[]) {
    const fault =
      typeof uri !== 'string' || uri.length > REDIRECT_URI_CHARS_MAX
        ? `must be a text of at most ${REDIRECT_URI_CHARS_MAX} characters`
        : faultOfUri(uri);
    if (fault !== undefined)
      return { error: 'invalid_redirect_uri', description: `A redirect URI ${fault}: ${String(uri).slice(0, 200)}` };
  }
  return undefined;
};

const faultOfUri = (uri: string): string | undefined => {
  const scheme = URL.parse(uri)?.protocol ?? '';
  if (!EDITOR_SCHEMES.has(scheme)) return redirectUriFault(uri);
  return EDITOR_URI.test(uri) ? undefined : 'must be an address such as cursor://name/callback';
};

/** The metadata that the service acts on; all else is left out, as RFC 7591 allows (section 2). */
const faultOfFlows = ({
  grant_types: grants,
  response_types: responses,
}: Readonly<Record<string, unknown>>): RegistrationFault | undefined => {
  const has = (list: unknown, name: string): boolean =>
    list === undefined || (Array.isArray(list) && list.includes(name));
  if (!has(grants, 'authorization_code')) return invalid('grant_types must contain authorization_code');
  return has(responses, 'code') ? undefined : invalid('response_types must contain code');
};

/** Scopes that the service does not know are left out; undefined: none is left. */
const scopesOf = (scope: unknown): readonly Scope[] | undefined => {
  if (scope === undefined || scope === '') return allScopes;
  const known = typeof scope === 'string' ? allScopes.filter((name) => scope.split(' ').includes(name)) : [];
  return known.length === 0 ? undefined : known;
};

/** An app that acts for people by OAuth 2: its state, the decisions about it, and what the API shows of it. */
import { isScope, scopes as allScopes, type Scope } from '../access/permissions.js';
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import { assertDefined, parseOAuthClientId, type OAuthClientId } from '../core/ids.js';
import type { OAuthClientEvent } from './events.js';
import { isSameHash } from './tokens.js';

type Registered = Extract<OAuthClientEvent, { type: 'OAuthAppRegistered' }>['data'];
type Changed = Extract<OAuthClientEvent, { type: 'OAuthAppChanged' }>['data'];

export type OAuthApp = Omit<Registered, 'at' | 'scopes' | 'secretHash' | 'deviceFlow'> &
  Readonly<{
    /** Whether people may let it in by a code that they type on another device (RFC 8628). */
    deviceFlow: boolean;
    scopes: readonly Scope[];
    createdAt: string;
    updatedAt: string;
    /** null for a public app. The secret in `old` is accepted too until `until`. */
    secret: Readonly<{ hash: string; old: Readonly<{ hash: string; until: string }> | undefined }> | null;
    deletedAt: string | null;
  }>;
export type OAuthAppState = OAuthApp | undefined;

export type OAuthAppCommand =
  | Readonly<{ type: 'RegisterApp'; registered: Registered }>
  | Readonly<{ type: 'ChangeApp'; changed: Changed }>
  | Readonly<{ type: 'RotateAppSecret'; at: string; secretHash: string; oldUntil: string }>
  | Readonly<{ type: 'DeleteApp'; at: string }>;

/** An app in answers of the API. */
export type OAuthAppListing = {
  id: string;
  kind: OAuthApp['kind'];
  name: string;
  description: string | null;
  homepage: string | null;
  redirectUris: string[];
  scopes: Scope[];
  deviceFlow: boolean;
  createdAt: string;
  updatedAt: string;
};

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

const SINCE = '2026-01-01T00:00:00.000Z';

/** The id of the command line, which every service knows. */
export const CLI_CLIENT_ID = assertDefined(parseOAuthClientId('sealpost-cli'), 'id of an app');

/** The command line of this service: a public app that belongs to no team. */
export const commandLineApp: OAuthApp = {
  kind: 'public',
  name: 'sealpost command line',
  description: null,
  homepage: null,
  redirectUris: ['http://127.0.0.1/callback', 'http://[::1]/callback'],
  scopes: allScopes,
  deviceFlow: true,
  createdAt: SINCE,
  updatedAt: SINCE,
  secret: null,
  deletedAt: null,
};

export const appNotFound = (): DomainError =>
  new DomainError('OAUTH_APP_NOT_FOUND', 'There is no app with this id. GET /api/oauth-apps lists those of your team.');

/** The app, where it is not deleted; throws OAUTH_APP_NOT_FOUND. */
export const openApp = (app: OAuthAppState): OAuthApp => {
  if (app === undefined || app.deletedAt !== null) throw appNotFound();
  return app;
};

const decide = (command: OAuthAppCommand, app: OAuthAppState): readonly OAuthClientEvent[] => {
  switch (command.type) {
    case 'RegisterApp':
      return app === undefined ? [{ type: 'OAuthAppRegistered', data: command.registered }] : [];
    case 'ChangeApp':
      return isChange(openApp(app), command.changed) ? [{ type: 'OAuthAppChanged', data: command.changed }] : [];
    case 'RotateAppSecret': {
      const { at, secretHash, oldUntil } = command;
      if (openApp(app).secret === null) {
        throw new DomainError(
          'OAUTH_APP_PUBLIC',
          'This app is public: it has no secret, and shows by PKCE that a code is its own.',
        );
      }
      return [{ type: 'OAuthAppSecretRotated', data: { at, secretHash, oldUntil } }];
    }
    case 'DeleteApp':
      openApp(app);
      return [{ type: 'OAuthAppDeleted', data: { at: command.at } }];
  }
};

const evolve = (app: OAuthAppState, event: OAuthClientEvent): OAuthAppState => {
  switch (event.type) {
    case 'OAuthAppRegistered': {
      const { at, scopes, secretHash, deviceFlow = false, ...data } = event.data;
      const secret = secretHash === null ? null : { hash: secretHash, old: undefined };
      const known = { scopes: scopes.filter(isScope), deviceFlow };
      return { ...data, ...known, createdAt: at, updatedAt: at, secret, deletedAt: null };
    }
    case 'OAuthAppChanged': {
      const { at, scopes, deviceFlow = false, ...data } = event.data;
      return app && { ...app, ...data, scopes: scopes.filter(isScope), deviceFlow, updatedAt: at };
    }
    case 'OAuthAppSecretRotated': {
      const { at, secretHash, oldUntil } = event.data;
      if (app === undefined) return undefined;
      const old = app.secret === null ? undefined : { hash: app.secret.hash, until: oldUntil };
      return { ...app, secret: { hash: secretHash, old }, updatedAt: at };
    }
    case 'OAuthAppDeleted':
      return app && { ...app, deletedAt: event.data.at };
  }
};

export const oauthAppDecider: Decider<OAuthAppCommand, OAuthClientEvent, OAuthAppState> = {
  decide,
  evolve,
  initialState: undefined,
};

const isChange = (
  app: OAuthApp,
  { name, description, homepage, redirectUris, scopes, deviceFlow = false }: Changed,
): boolean =>
  JSON.stringify([app.name, app.description, app.homepage, app.redirectUris, app.scopes, app.deviceFlow]) !==
  JSON.stringify([name, description, homepage, redirectUris, scopes, deviceFlow]);

/**
 * Whether `hash`, the SHA-256 (hex) of what an app gave as its secret, is that of its secret. Compares in constant
 * time.
 */
export const isSecretOf = ({ secret }: OAuthApp, hash: string, now: string): boolean => {
  if (secret === null) return false;
  const isOld = secret.old !== undefined && isSameHash(secret.old.hash, hash) && now < secret.old.until;
  return isSameHash(secret.hash, hash) || isOld;
};

export const oauthAppListing = (id: OAuthClientId, app: Omit<OAuthApp, 'secret'>): OAuthAppListing => ({
  id,
  kind: app.kind,
  name: app.name,
  description: app.description,
  homepage: app.homepage,
  redirectUris: [...app.redirectUris],
  scopes: [...app.scopes],
  deviceFlow: app.deviceFlow,
  createdAt: app.createdAt,
  updatedAt: app.updatedAt,
});

/**
 * The fault of a redirect URI that an app wants to register; undefined if it has none. The URI of a request is later
 * compared letter by letter, so that only one spelling of it may be registered (RFC 9700, section 4.1).
 */
export const redirectUriFault = (text: string): string | undefined => {
  if (!URL.canParse(text)) return 'must be an absolute URL, such as https://app.example.com/callback';
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.has(url.hostname))) {
    return 'must begin with https://, or with http:// for a program on the same machine (localhost, 127.0.0.1, [::1])';
  }
  if (url.username !== '' || url.password !== '') return 'must hold no user name and no password';
  if (text.includes('#')) return 'must have no fragment';
  if (text.includes('*')) return 'must be one address: a * stands for nothing';
  // A browser normalizes case, dots, encoded characters and a standard port: the text must be normal already.
  if (url.href !== text) return `must be written as browsers read it: ${url.href}`;
  return undefined;
};

/**
 * Whether an app may be answered at that address. It is compared letter by letter (RFC 9700, section 4.1.3), with one
 * exception: a program takes whatever port is free on its machine, so that any port is good where a public app has
 * registered a loopback address (RFC 8252, section 7.3). Host, path and query are compared there too.
 */
export const isRedirectUriOf = (
  { kind, redirectUris }: Pick<OAuthApp, 'kind' | 'redirectUris'>,
  text: string,
): boolean =>
  redirectUris.includes(text) || (kind === 'public' && redirectUris.some((known) => isSameButForPort(known, text)));

const isSameButForPort = (known: string, text: string): boolean => {
  const [one, other] = [URL.parse(known), URL.parse(text)];
  if (one === null || other === null || !isLoopbackUrl(one) || !isLoopbackUrl(other)) return false;
  if (redirectUriFault(text) !== undefined) return false;
  return one.hostname === other.hostname && `${one.pathname}${one.search}` === `${other.pathname}${other.search}`;
};

const isLoopbackUrl = ({ protocol, hostname }: URL): boolean => protocol === 'http:' && LOOPBACK.has(hostname);

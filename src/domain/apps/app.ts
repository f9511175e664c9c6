/** An app that acts for people by OAuth 2: its state, the decisions about it, and what the API shows of it. */
import { isScope, type Scope } from '../access/permissions.js';
import type { Decider } from '../core/decider.js';
import { DomainError } from '../core/errors.js';
import type { OAuthClientId } from '../core/ids.js';
import type { OAuthClientEvent } from './events.js';
import { isSameHash } from './tokens.js';

type Registered = Extract<OAuthClientEvent, { type: 'OAuthAppRegistered' }>['data'];
type Changed = Extract<OAuthClientEvent, { type: 'OAuthAppChanged' }>['data'];

export type OAuthApp = Omit<Registered, 'at' | 'scopes' | 'secretHash'> &
  Readonly<{
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
  createdAt: string;
  updatedAt: string;
};

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

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
      const { at, scopes, secretHash, ...data } = event.data;
      const secret = secretHash === null ? null : { hash: secretHash, old: undefined };
      return { ...data, scopes: scopes.filter(isScope), createdAt: at, updatedAt: at, secret, deletedAt: null };
    }
    case 'OAuthAppChanged': {
      const { at, scopes, ...data } = event.data;
      return app && { ...app, ...data, scopes: scopes.filter(isScope), updatedAt: at };
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

const isChange = (app: OAuthApp, { name, description, homepage, redirectUris, scopes }: Changed): boolean =>
  JSON.stringify([app.name, app.description, app.homepage, app.redirectUris, app.scopes]) !==
  JSON.stringify([name, description, homepage, redirectUris, scopes]);

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

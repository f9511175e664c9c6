/**
 * The ids, secrets, codes and tokens that apps get: their text, their hashes, how long they are good, and which tokens
 * are in use. Only hashes are stored.
 */
import { hash as digestOf, timingSafeEqual } from 'node:crypto';
import {
  assertDefined,
  parseOAuthClientId,
  parseOAuthGrantId,
  type OAuthClientId,
  type OAuthGrantId,
} from '../core/ids.js';
import type { Decider } from '../core/decider.js';
import { DAY_MS } from '../core/time.js';
import type { OAuthTokensEvent } from './events.js';

type Counted = Extract<OAuthTokensEvent, { type: 'OAuthTokensCounted' }>['data'];

type Entry = Readonly<{ clientId: string | undefined; grantId: string; number: number; expiresAt: string }>;

export type TokenKind = keyof typeof tokenPrefixes;

/** The tokens in use of one person, or of one app that acts for itself, the oldest first. */
export type TokenList = Readonly<{ access: readonly Entry[]; refresh: readonly Entry[] }>;

const SECRET_PREFIX = 'sealpost_cs_';

const GRANT_PREFIX = 'grant_';

const tokenPrefixes = { code: 'sealpost_ac_', access: 'sealpost_at_', refresh: 'sealpost_or_' } as const;

const DEVICE_PREFIX = 'sealpost_dc_';

const ID_CHARS = 22;

const BODY = /^[A-Za-z0-9_-]{65}$/;

export const CODE_MS = 10 * 60_000;

export const ACCESS_TOKEN_MS = 60 * 60_000;

export const REFRESH_TOKEN_MS = 30 * DAY_MS;

type Bounds = Readonly<{ ofApp: number; ofAll: number }>;

/** Active access tokens of one person: by one app, by all apps. */
export const accessTokensMax: Bounds = { ofApp: 50, ofAll: 500 };

/** Active refresh tokens of one person: by one app, by all apps. */
export const refreshTokensMax: Bounds = { ofApp: 10, ofAll: 100 };

/** In: 16 random bytes. */
export const clientIdOf = (random: Buffer): OAuthClientId =>
  assertDefined(parseOAuthClientId(`app_${random.toString('base64url')}`), 'id of an app');

/** In: 16 random bytes. */
export const grantIdOf = (random: Buffer): OAuthGrantId =>
  assertDefined(parseOAuthGrantId(`${GRANT_PREFIX}${random.toString('base64url')}`), 'id of a grant');

/** In: 32 random bytes. Out: the secret as its owner sees it, once. */
export const formatSecret = (random: Buffer): string => `${SECRET_PREFIX}${random.toString('base64url')}`;

/**
 * In: 32 random bytes. Out: the token. It contains the id of its grant, so that the grant is found without an index.
 */
export const formatToken = (kind: TokenKind, grant: OAuthGrantId, random: Buffer): string =>
  `${tokenPrefixes[kind]}${grant.slice(GRANT_PREFIX.length)}${random.toString('base64url')}`;

export const isTokenOfKind = (kind: TokenKind, text: string): boolean => text.startsWith(tokenPrefixes[kind]);

/**
 * Out: the grant that a token names and the hash of the token; undefined if the text does not have the format of that
 * kind.
 */
export const readToken = (
  kind: TokenKind,
  text: string,
): Readonly<{ grantId: OAuthGrantId; hash: string }> | undefined => {
  const prefix = tokenPrefixes[kind];
  const body = text.slice(prefix.length);
  if (!text.startsWith(prefix) || !BODY.test(body)) return undefined;
  const grantId = parseOAuthGrantId(`${GRANT_PREFIX}${body.slice(0, ID_CHARS)}`);
  return grantId === undefined ? undefined : { grantId, hash: hashOf(text) };
};

/**
 * In: the id of the request of a device, and 32 random bytes. Out: the code that the device keeps. It contains the id, so
 * that the request is found without an index.
 */
export const formatDeviceCode = (codeId: string, random: Buffer): string =>
  `${DEVICE_PREFIX}${codeId}${random.toString('base64url')}`;

/** Out: the id of the request that a code of a device names, and the hash of the code; undefined for any other text. */
export const readDeviceCode = (text: string): Readonly<{ codeId: string; hash: string }> | undefined => {
  const body = text.slice(DEVICE_PREFIX.length);
  if (!text.startsWith(DEVICE_PREFIX) || !BODY.test(body)) return undefined;
  return { codeId: body.slice(0, ID_CHARS), hash: hashOf(text) };
};

export const hashOf = (text: string): string => digestOf('sha256', text, 'hex');

/** In: two hashes (hex of SHA-256). Compares in constant time. */
export const isSameHash = (one: string, other: string): boolean =>
  timingSafeEqual(Buffer.from(one, 'hex'), Buffer.from(other, 'hex'));

export const emptyTokenList: TokenList = { access: [], refresh: [] };

export const evolveTokenList = (list: TokenList, { data }: OAuthTokensEvent): TokenList => ({
  access: newest(list.access, data, data.accessExpiresAt, accessTokensMax),
  // A grant has one refresh token: the newest.
  refresh:
    data.refreshExpiresAt === null
      ? list.refresh
      : newest(
          list.refresh.filter(({ grantId }) => grantId !== data.grantId),
          data,
          data.refreshExpiresAt,
          refreshTokensMax,
        ),
});

/** A token beyond the bounds ends the oldest of its app, or the oldest of the app that has most. */
const newest = (
  entries: readonly Entry[],
  { at, clientId, grantId, number }: Counted,
  expiresAt: string,
  { ofApp, ofAll }: Bounds,
): readonly Entry[] => {
  const open = [...entries.filter((entry) => entry.expiresAt > at), { clientId, grantId, number, expiresAt }];
  const counts = new Map<string | undefined, number>();
  for (const entry of open) counts.set(entry.clientId, (counts.get(entry.clientId) ?? 0) + 1);
  const isTooMany = (counts.get(clientId) ?? 0) > ofApp;
  if (!isTooMany && open.length <= ofAll) return open;
  const [most] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one));
  const ended = open.findIndex((entry) => entry.clientId === (isTooMany ? clientId : most));
  return open.toSpliced(ended, 1);
};

/** Whether a token is still among those in use. */
export const isCounted = (entries: readonly Entry[], grantId: string, number: number): boolean =>
  entries.some((entry) => entry.grantId === grantId && entry.number === number);

/** Tokens are counted where they are used up or made; each count is one event. */
export const tokenListDecider: Decider<OAuthTokensEvent, OAuthTokensEvent, TokenList> = {
  decide: (counted) => [counted],
  evolve: evolveTokenList,
  initialState: emptyTokenList,
};

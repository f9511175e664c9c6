/** What apps are given: ids, secrets, codes and tokens, each with 256 random bits, and none of them kept. */
import { hash as digestOf, timingSafeEqual } from 'node:crypto';
import { assertDefined, parseOAuthClientId, parseOAuthGrantId, type OAuthClientId, type OAuthGrantId } from '../core/ids.js';

const SECRET_PREFIX = 'sealpost_cs_';
const tokenPrefixes = { code: 'sealpost_ac_', access: 'sealpost_at_', refresh: 'sealpost_or_' } as const;
export type TokenKind = keyof typeof tokenPrefixes;

const ID_CHARS = 22;
const GRANT_PREFIX = 'grant_';
const BODY = /^[A-Za-z0-9_-]{65}$/;

export const hashOf = (text: string): string => digestOf('sha256', text, 'hex');

/** In: two hashes (hex of SHA-256). Compares in constant time. */
export const isSameHash = (one: string, other: string): boolean => timingSafeEqual(Buffer.from(one, 'hex'), Buffer.from(other, 'hex'));

/** In: 16 random bytes. */
export const clientIdOf = (random: Buffer): OAuthClientId =>
  assertDefined(parseOAuthClientId(`app_${random.toString('base64url')}`), 'id of an app');

/** In: 16 random bytes. */
export const grantIdOf = (random: Buffer): OAuthGrantId =>
  assertDefined(parseOAuthGrantId(`${GRANT_PREFIX}${random.toString('base64url')}`), 'id of a grant');

/** In: 32 random bytes. Out: the secret as its owner sees it, once. */
export const formatSecret = (random: Buffer): string => `${SECRET_PREFIX}${random.toString('base64url')}`;

/** In: 32 random bytes. Out: the token, which names its grant, so that it is found without an index. */
export const formatToken = (kind: TokenKind, grant: OAuthGrantId, random: Buffer): string =>
  `${tokenPrefixes[kind]}${grant.slice(GRANT_PREFIX.length)}${random.toString('base64url')}`;

export const isTokenOfKind = (kind: TokenKind, text: string): boolean => text.startsWith(tokenPrefixes[kind]);

/** Out: the grant that a token names and the token's hash; undefined where it is none of that kind by form. */
export const readToken = (kind: TokenKind, text: string): Readonly<{ grantId: OAuthGrantId; hash: string }> | undefined => {
  const prefix = tokenPrefixes[kind];
  const body = text.slice(prefix.length);
  if (!text.startsWith(prefix) || !BODY.test(body)) return undefined;
  const grantId = parseOAuthGrantId(`${GRANT_PREFIX}${body.slice(0, ID_CHARS)}`);
  return grantId === undefined ? undefined : { grantId, hash: hashOf(text) };
};

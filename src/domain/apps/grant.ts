/** What was granted to an app: the code that begins it, its tokens, and its end. */
import { hash as digestOf, timingSafeEqual } from 'node:crypto';
import type { OAuthTokensEvent, OAuthGrantEvent } from './events.js';
import {
  assertDefined,
  parseOAuthClientId,
  parseOAuthGrantId,
  type OAuthClientId,
  type OAuthGrantId,
  parseUserId,
  type UserId,
} from '../core/ids.js';
import { DAY_MS } from '../core/time.js';
import { isScope, type Scope } from '../access/permissions.js';
import type { Decider } from '../core/decider.js';

/* Which tokens of one person, or of one app that acts for itself, are in use: the contract's bounds hold by taking the newest. */

/** Per person at most so many active access tokens, and so many active refresh tokens; the oldest beyond them end. */
export const ACCESS_TOKENS_MAX = 50;
export const REFRESH_TOKENS_MAX = 10;

type Counted = Extract<OAuthTokensEvent, { type: 'OAuthTokensCounted' }>['data'];
type Entry = Readonly<{ grantId: string; number: number; expiresAt: string }>;

/** The oldest first. */
export type TokenList = Readonly<{ access: readonly Entry[]; refresh: readonly Entry[] }>;

export const emptyTokenList: TokenList = { access: [], refresh: [] };

export const evolveTokenList = (list: TokenList, { data }: OAuthTokensEvent): TokenList => ({
  access: newest(list.access, data, data.accessExpiresAt, ACCESS_TOKENS_MAX),
  // A grant has one refresh token: the newest.
  refresh:
    data.refreshExpiresAt === null
      ? list.refresh
      : newest(
          list.refresh.filter(({ grantId }) => grantId !== data.grantId),
          data,
          data.refreshExpiresAt,
          REFRESH_TOKENS_MAX,
        ),
});

const newest = (entries: readonly Entry[], { at, grantId, number }: Counted, expiresAt: string, max: number): readonly Entry[] =>
  [...entries.filter((entry) => entry.expiresAt > at), { grantId, number, expiresAt }].slice(-max);

/** Whether it is still among those in use. */
export const isCounted = (entries: readonly Entry[], grantId: string, number: number): boolean =>
  entries.some((entry) => entry.grantId === grantId && entry.number === number);

/* What apps are given: ids, secrets, codes and tokens, each with 256 random bits, and none of them kept. */

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

/* How long what apps are given is good, in milliseconds. */

export const CODE_MS = 10 * 60_000;
export const ACCESS_TOKEN_MS = 60 * 60_000;
export const REFRESH_TOKEN_MS = 30 * DAY_MS;

type Given = Extract<OAuthGrantEvent, { type: 'OAuthGrantGiven' }>['data'];
type Code = Extract<OAuthGrantEvent, { type: 'OAuthCodeIssued' }>['data'];
type Issued = Extract<OAuthGrantEvent, { type: 'OAuthTokensIssued' }>['data'];
export type EndReason = Extract<OAuthGrantEvent, { type: 'OAuthGrantEnded' }>['data']['reason'];

export type AccessToken = Readonly<{ number: number; hash: string; expiresAt: string; scopes: readonly Scope[] }>;
type RefreshToken = Readonly<{ number: number; hash: string; expiresAt: string }>;

export type Grant = Readonly<{
  clientId: OAuthClientId;
  userId: UserId | undefined;
  scopes: readonly Scope[];
  givenAt: string;
  code: (Omit<Code, 'at'> & Readonly<{ isUsed: boolean }>) | undefined;
  /** Those that were not expired when the last were issued. */
  access: readonly AccessToken[];
  refresh: RefreshToken | undefined;
  /** The refresh tokens before it that are not expired: whoever shows one has what is not theirs, or lost what is. */
  superseded: readonly RefreshToken[];
  /** How many pairs of tokens were issued. */
  issued: number;
  ended: Readonly<{ at: string; reason: EndReason }> | undefined;
}>;
export type GrantState = Grant | undefined;

/** Of one grant, as many superseded refresh tokens are known again; the oldest beyond them are merely unknown. */
const SUPERSEDED_MAX = 1_000;

export type GrantCommand =
  | Readonly<{ type: 'GiveGrant'; given: Given; code: Code | undefined }>
  | Readonly<{ type: 'UseCode'; at: string; hash: string }>
  | Readonly<{ type: 'IssueTokens'; tokens: Omit<Issued, 'number'> }>
  | Readonly<{ type: 'RefreshTokens'; hash: string; tokens: Omit<Issued, 'number'> }>
  | Readonly<{ type: 'RevokeAccessToken'; at: string; number: number }>
  | Readonly<{ type: 'EndGrant'; at: string; reason: EndReason }>;

const ended = (at: string, reason: EndReason): readonly OAuthGrantEvent[] => [{ type: 'OAuthGrantEnded', data: { at, reason } }];

/** A command to a grant that has ended, or to none, yields nothing: the caller reads from the state what that means. */
const decide = (command: GrantCommand, grant: GrantState): readonly OAuthGrantEvent[] => {
  if (command.type === 'GiveGrant') return grant === undefined ? givenEvents(command.given, command.code) : [];
  if (grant === undefined || grant.ended !== undefined) return [];
  switch (command.type) {
    case 'UseCode':
      return useCode(grant, command.at, command.hash);
    case 'IssueTokens':
      return [{ type: 'OAuthTokensIssued', data: { ...command.tokens, number: grant.issued + 1 } }];
    case 'RefreshTokens':
      return refreshTokens(grant, command.hash, command.tokens);
    case 'RevokeAccessToken':
      return grant.access.some(({ number }) => number === command.number)
        ? [{ type: 'OAuthAccessTokenRevoked', data: { at: command.at, number: command.number } }]
        : [];
    case 'EndGrant':
      return ended(command.at, command.reason);
  }
};

const givenEvents = (given: Given, code: Code | undefined): readonly OAuthGrantEvent[] => [
  { type: 'OAuthGrantGiven', data: given },
  ...(code === undefined ? [] : [{ type: 'OAuthCodeIssued', data: code } as const]),
];

/** A code that is used a second time ends everything that came of it (RFC 6749, section 4.1.2). */
const useCode = ({ code }: Grant, at: string, hash: string): readonly OAuthGrantEvent[] => {
  if (code === undefined || !isSameHash(code.hash, hash)) return [];
  if (code.isUsed) return ended(at, 'code-reused');
  return code.expiresAt <= at ? [] : [{ type: 'OAuthCodeUsed', data: { at } }];
};

/** A refresh token that was superseded ends the grant (RFC 9700, section 4.14.2). */
const refreshTokens = (grant: Grant, hash: string, tokens: Omit<Issued, 'number'>): readonly OAuthGrantEvent[] => {
  const { refresh, superseded, issued } = grant;
  if (superseded.some((old) => old.expiresAt > tokens.at && isSameHash(old.hash, hash))) return ended(tokens.at, 'refresh-token-reused');
  if (refresh === undefined || !isSameHash(refresh.hash, hash) || refresh.expiresAt <= tokens.at) return [];
  return [{ type: 'OAuthTokensIssued', data: { ...tokens, number: issued + 1 } }];
};

const evolve = (grant: GrantState, event: OAuthGrantEvent): GrantState => {
  if (event.type === 'OAuthGrantGiven') return fromGiven(event.data);
  if (grant === undefined) return undefined;
  switch (event.type) {
    case 'OAuthCodeIssued': {
      const { at: _at, ...code } = event.data;
      return { ...grant, code: { ...code, isUsed: false } };
    }
    case 'OAuthCodeUsed':
      return { ...grant, code: grant.code && { ...grant.code, isUsed: true } };
    case 'OAuthTokensIssued':
      return withTokens(grant, event.data);
    case 'OAuthAccessTokenRevoked':
      return { ...grant, access: grant.access.filter(({ number }) => number !== event.data.number) };
    case 'OAuthGrantEnded':
      return { ...grant, access: [], refresh: undefined, superseded: [], ended: event.data };
  }
};

const fromGiven = ({ at, clientId, userId, scopes }: Given): Grant => ({
  clientId: assertDefined(parseOAuthClientId(clientId), 'id of an app'),
  userId: userId === null ? undefined : assertDefined(parseUserId(userId), 'user id'),
  scopes: scopes.filter(isScope),
  givenAt: at,
  code: undefined,
  access: [],
  refresh: undefined,
  superseded: [],
  issued: 0,
  ended: undefined,
});

const withTokens = (grant: Grant, { at, number, accessHash, accessExpiresAt, scopes, refreshHash, refreshExpiresAt }: Issued): Grant => {
  const isOpen = ({ expiresAt }: Readonly<{ expiresAt: string }>): boolean => expiresAt > at;
  const before = grant.refresh === undefined ? grant.superseded : [...grant.superseded, grant.refresh];
  return {
    ...grant,
    access: [...grant.access.filter(isOpen), { number, hash: accessHash, expiresAt: accessExpiresAt, scopes: scopes.filter(isScope) }],
    refresh: refreshHash === null || refreshExpiresAt === null ? undefined : { number, hash: refreshHash, expiresAt: refreshExpiresAt },
    superseded: before.filter(isOpen).slice(-SUPERSEDED_MAX),
    issued: number,
  };
};

export const grantDecider: Decider<GrantCommand, OAuthGrantEvent, GrantState> = { decide, evolve, initialState: undefined };

/** The access token of a grant with that hash, expired or not; undefined where it has none. Compares in constant time. */
export const accessTokenOf = ({ access }: Grant, hash: string): AccessToken | undefined =>
  access.find((token) => isSameHash(token.hash, hash));

/** Whether a code or token with that hash is one of the grant, good or not any more. */
export const hasToken = (grant: Grant, kind: TokenKind, hash: string): boolean => {
  switch (kind) {
    case 'code':
      return grant.code !== undefined;
    case 'access':
      return accessTokenOf(grant, hash) !== undefined;
    case 'refresh':
      return [...grant.superseded, ...(grant.refresh === undefined ? [] : [grant.refresh])].some((token) => isSameHash(token.hash, hash));
  }
};

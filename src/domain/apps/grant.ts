/**
 * A grant: what a person lets an app do in a team, or an app itself does in its own; the code that begins it, its
 * tokens, and its end.
 */
import { isScope, type Scope } from '../access/permissions.js';
import type { Decider } from '../core/decider.js';
import { assertDefined, parseOAuthClientId, parseUserId, type OAuthClientId, type UserId } from '../core/ids.js';
import type { OAuthGrantEvent } from './events.js';
import { isSameHash, type TokenKind } from './tokens.js';
import type { Resource } from './authorization.js';

type GrantGiven = Extract<OAuthGrantEvent, { type: 'OAuthGrantGiven' }>['data'];
type CodeIssued = Extract<OAuthGrantEvent, { type: 'OAuthCodeIssued' }>['data'];
type TokensIssued = Extract<OAuthGrantEvent, { type: 'OAuthTokensIssued' }>['data'];
export type EndReason = Extract<OAuthGrantEvent, { type: 'OAuthGrantEnded' }>['data']['reason'];

export type AccessToken = Readonly<{ number: number; hash: string; expiresAt: string; scopes: readonly Scope[] }>;
type RefreshToken = Readonly<{ number: number; hash: string; expiresAt: string }>;

export type Grant = Readonly<{
  clientId: OAuthClientId;
  userId: UserId | undefined;
  scopes: readonly Scope[];
  /** The name by which an app registered itself. */
  clientName: string | undefined;
  resource: Resource;
  givenAt: string;
  code: (Omit<CodeIssued, 'at'> & Readonly<{ isUsed: boolean }>) | undefined;
  /** Access tokens that had not expired when the last pair was issued. */
  access: readonly AccessToken[];
  refresh: RefreshToken | undefined;
  /**
   * Earlier refresh tokens that have not expired. One of them is used only if a token was stolen, so it ends the grant.
   */
  superseded: readonly RefreshToken[];
  /** How many pairs of tokens were issued. */
  issued: number;
  ended: Readonly<{ at: string; reason: EndReason }> | undefined;
}>;
export type GrantState = Grant | undefined;

export type GrantCommand =
  | Readonly<{ type: 'GiveGrant'; given: GrantGiven; code: CodeIssued | undefined }>
  | Readonly<{ type: 'UseCode'; at: string; hash: string }>
  | Readonly<{ type: 'IssueTokens'; tokens: Omit<TokensIssued, 'number'> }>
  | Readonly<{ type: 'RefreshTokens'; hash: string; tokens: Omit<TokensIssued, 'number'> }>
  | Readonly<{ type: 'RevokeAccessToken'; at: string; number: number }>
  | Readonly<{ type: 'EndGrant'; at: string; reason: EndReason }>;

/** Superseded refresh tokens that a grant remembers. An older one is refused as unknown and does not end the grant. */
const SUPERSEDED_MAX = 1_000;

/**
 * A command to a grant that has ended, or never began, yields no event: the caller reads from the state what that
 * means.
 */
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

export const grantDecider: Decider<GrantCommand, OAuthGrantEvent, GrantState> = {
  decide,
  evolve,
  initialState: undefined,
};

/**
 * The access token of a grant with that hash, expired or not; undefined where it has none. Compares in constant time.
 */
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
      return [...grant.superseded, ...(grant.refresh === undefined ? [] : [grant.refresh])].some((token) =>
        isSameHash(token.hash, hash),
      );
  }
};

const ended = (at: string, reason: EndReason): readonly OAuthGrantEvent[] => [
  { type: 'OAuthGrantEnded', data: { at, reason } },
];

const givenEvents = (given: GrantGiven, code: CodeIssued | undefined): readonly OAuthGrantEvent[] => [
  { type: 'OAuthGrantGiven', data: given },
  ...(code === undefined ? [] : [{ type: 'OAuthCodeIssued', data: code } as const]),
];

/** A code that is used a second time ends the grant with all its tokens (RFC 6749, section 4.1.2). */
const useCode = ({ code }: Grant, at: string, hash: string): readonly OAuthGrantEvent[] => {
  if (code === undefined || !isSameHash(code.hash, hash)) return [];
  if (code.isUsed) return ended(at, 'code-reused');
  return code.expiresAt <= at ? [] : [{ type: 'OAuthCodeUsed', data: { at } }];
};

/** A refresh token that was superseded ends the grant (RFC 9700, section 4.14.2). */
const refreshTokens = (
  grant: Grant,
  hash: string,
  tokens: Omit<TokensIssued, 'number'>,
): readonly OAuthGrantEvent[] => {
  const { refresh, superseded, issued } = grant;
  if (superseded.some((old) => old.expiresAt > tokens.at && isSameHash(old.hash, hash)))
    return ended(tokens.at, 'refresh-token-reused');
  if (refresh === undefined || !isSameHash(refresh.hash, hash) || refresh.expiresAt <= tokens.at) return [];
  return [{ type: 'OAuthTokensIssued', data: { ...tokens, number: issued + 1 } }];
};

const fromGiven = ({ at, clientId, userId, scopes, clientName, resource }: GrantGiven): Grant => ({
  clientId: assertDefined(parseOAuthClientId(clientId), 'id of an app'),
  userId: userId === null ? undefined : assertDefined(parseUserId(userId), 'user id'),
  scopes: scopes.filter(isScope),
  clientName,
  resource: resource === 'mcp' ? 'mcp' : 'service',
  givenAt: at,
  code: undefined,
  access: [],
  refresh: undefined,
  superseded: [],
  issued: 0,
  ended: undefined,
});

const withTokens = (
  grant: Grant,
  { at, number, accessHash, accessExpiresAt, scopes, refreshHash, refreshExpiresAt }: TokensIssued,
): Grant => {
  const isOpen = ({ expiresAt }: Readonly<{ expiresAt: string }>): boolean => expiresAt > at;
  const before = grant.refresh === undefined ? grant.superseded : [...grant.superseded, grant.refresh];
  return {
    ...grant,
    access: [
      ...grant.access.filter(isOpen),
      { number, hash: accessHash, expiresAt: accessExpiresAt, scopes: scopes.filter(isScope) },
    ],
    refresh:
      refreshHash === null || refreshExpiresAt === null
        ? undefined
        : { number, hash: refreshHash, expiresAt: refreshExpiresAt },
    superseded: before.filter(isOpen).slice(-SUPERSEDED_MAX),
    issued: number,
  };
};

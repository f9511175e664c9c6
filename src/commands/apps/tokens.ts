/**
 * Commands on grants to apps: a person consents, the app exchanges the code for tokens, refreshes and revokes them, and
 * calls are admitted by them.
 */
import { causeOf, type Caller } from '../core/caller.js';
import { handle } from '../core/handle.js';
import type { Loaded } from '../core/ports.js';
import type { AppNeeds } from './needs.js';
import { appOfGrant, type KnownApp } from './apps.js';
import type { Cause } from '../../event-log/event-log.js';
import type { Scope } from '../../domain/access/permissions.js';
import {
  assertDefined,
  oauthGrantStream,
  oauthTokensStream,
  parseTeamId,
  type OAuthGrantId,
  type StreamName,
  type TeamId,
  type UserId,
} from '../../domain/core/ids.js';
import {
  accessTokenOf,
  grantDecider,
  hasToken,
  type AccessToken,
  type EndReason,
  type Grant,
  type GrantCommand,
  type GrantState,
} from '../../domain/apps/grant.js';
import {
  ACCESS_TOKEN_MS,
  CODE_MS,
  REFRESH_TOKEN_MS,
  isCounted,
  tokenListDecider,
  type TokenList,
  formatToken,
  grantIdOf,
  hashOf,
  readToken,
  type TokenKind,
} from '../../domain/apps/tokens.js';
import type { Resource } from '../../domain/apps/authorization.js';
import type { OAuthTokensEvent } from '../../domain/apps/events.js';
import { isoTime } from '../../domain/core/time.js';
import type { Deleted } from '../../api/core/common.js';
import { DomainError } from '../../domain/core/errors.js';

/** Consent of a person to an app, in one team. `challenge`: S256 of RFC 7636. */
type Consent = Readonly<{
  app: KnownApp;
  scopes: readonly Scope[];
  /** Default: all of the service. */
  resource?: Resource;
  redirectUri: string;
  challenge: string;
}>;

/** One grant as it stands. */
export type OpenGrant = Readonly<{ id: OAuthGrantId; teamId: TeamId; grant: Grant }>;

/** The request that acts on a grant. The actor is the app unless another is given. */
type AppRequest = Readonly<{ requestId: string; actor?: string }>;

type Issued = Readonly<{ accessToken: string; refreshToken: string | undefined; scopes: readonly Scope[] }>;

/** An access token with its app and the scopes that the app still has. */
export type OpenAccessToken = OpenGrant &
  Readonly<{ token: AccessToken; app: KnownApp; scopes: readonly Scope[]; isExpired: boolean }>;

/** Grants an app what a person consented to, in the team of the caller. Out: the code, which is stored nowhere. */
export const giveConsent = async (
  deps: AppNeeds,
  caller: Caller & Readonly<{ user: { id: UserId } }>,
  { app, scopes, resource = 'service', redirectUri, challenge }: Consent,
): Promise<string> => {
  const id = grantIdOf(deps.ids.bytes(16));
  const code = formatToken('code', id, deps.ids.bytes(32));
  const nowMs = deps.clock.now();
  const at = isoTime(nowMs);
  const given = { ...givenTo(app, { at, scopes, resource }), userId: caller.user.id };
  const issued = { at, hash: hashOf(code), challenge, redirectUri, expiresAt: isoTime(nowMs + CODE_MS) };
  const cause = causeOf(deps, caller, at);
  await handle(deps.eventLog, oauthGrantStream(id), grantDecider, { type: 'GiveGrant', given, code: issued }, cause);
  return code;
};

/** The data of the event by which a person grants an app something. */
export const givenTo = (
  app: KnownApp,
  { at, scopes, resource }: Readonly<{ at: string; resource: Resource }> & Pick<Consent, 'scopes'>,
) => ({
  at,
  clientId: app.id,
  scopes: [...scopes],
  ...(app.origin === 'self-registered' ? { clientName: app.name } : {}),
  ...(resource === 'mcp' ? { resource } : {}),
});

/** The grant of a code; undefined if the code is not good any more. A code that was used before ends the grant. */
export const readCode = async (deps: AppNeeds, code: string, request: AppRequest): Promise<OpenGrant | undefined> => {
  const found = await findGrant(deps, 'code', code);
  const at = isoTime(deps.clock.now());
  if (found?.grant.code === undefined || found.grant.ended !== undefined) return undefined;
  if (!found.grant.code.isUsed)
    return found.grant.code.expiresAt > at && found.grant.code.hash === hashOf(code) ? found : undefined;
  await change(deps, found, request, { type: 'UseCode', at, hash: hashOf(code) });
  return undefined;
};

/** Uses the code up, even if the exchange fails later. Out: whether it was good. */
export const useCode = async (
  deps: AppNeeds,
  found: OpenGrant,
  code: string,
  request: AppRequest,
): Promise<boolean> => {
  const { events } = await change(deps, found, request, {
    type: 'UseCode',
    at: isoTime(deps.clock.now()),
    hash: hashOf(code),
  });
  return events.some(({ type }) => type === 'OAuthCodeUsed');
};

/**
 * Issues tokens for a grant. Out: undefined if the grant has ended meanwhile. `refreshes`: the hash of the refresh
 * token that is replaced.
 */
export const issueTokens = async (
  deps: AppNeeds,
  open: OpenGrant,
  {
    scopes,
    refreshes,
    isRefreshable,
  }: Readonly<{ scopes: readonly Scope[]; refreshes?: string; isRefreshable: boolean }>,
  request: AppRequest,
): Promise<Issued | undefined> => {
  const { id, teamId, grant } = open;
  const nowMs = deps.clock.now();
  const at = isoTime(nowMs);
  const accessToken = formatToken('access', id, deps.ids.bytes(32));
  const refreshToken = isRefreshable ? formatToken('refresh', id, deps.ids.bytes(32)) : undefined;
  const tokens = {
    at,
    accessHash: hashOf(accessToken),
    accessExpiresAt: isoTime(nowMs + ACCESS_TOKEN_MS),
    scopes: [...scopes],
    refreshHash: refreshToken === undefined ? null : hashOf(refreshToken),
    refreshExpiresAt: refreshToken === undefined ? null : isoTime(nowMs + REFRESH_TOKEN_MS),
  };
  const command: GrantCommand =
    refreshes === undefined ? { type: 'IssueTokens', tokens } : { type: 'RefreshTokens', hash: refreshes, tokens };
  const { events } = await change(deps, open, request, command);
  const issued = events.find(({ type }) => type === 'OAuthTokensIssued');
  if (issued?.type !== 'OAuthTokensIssued') return undefined;
  const { number, accessExpiresAt, refreshExpiresAt } = issued.data;
  const counted: OAuthTokensEvent = {
    type: 'OAuthTokensCounted',
    data: { at, clientId: grant.clientId, grantId: id, number, accessExpiresAt, refreshExpiresAt },
  };
  const cause: Cause = {
    teamId,
    actor: `grant:${id}`,
    correlationId: request.requestId,
    causationId: request.requestId,
    at,
  };
  // Tokens are refused until they are counted: if the process dies before this append, nobody has received them either.
  await handle(deps.eventLog, oauthTokensStream(grant.userId ?? grant.clientId), tokenListDecider, counted, cause);
  return { accessToken, refreshToken, scopes };
};

/** The grant by which an app acts for itself, in its own team. */
export const giveOwnGrant = async (
  deps: AppNeeds,
  app: KnownApp,
  { scopes, resource }: Readonly<{ scopes: readonly Scope[]; resource: Resource }>,
  request: AppRequest,
): Promise<OpenGrant> => {
  const id = grantIdOf(deps.ids.bytes(16));
  const at = isoTime(deps.clock.now());
  const given = { ...givenTo(app, { at, scopes, resource }), userId: null };
  const teamId = assertDefined(app.teamId, 'team of an app with a secret');
  const { grant } = await change(deps, { id, teamId }, request, {
    type: 'GiveGrant',
    given,
    code: undefined,
  });
  return { id, teamId, grant };
};

/**
 * The grant of a refresh token; undefined if the token is not good any more. A token that was replaced ends the grant.
 */
export const readRefreshToken = async (
  deps: AppNeeds,
  token: string,
  request: AppRequest,
): Promise<(OpenGrant & Readonly<{ hash: string }>) | undefined> => {
  const found = await findGrant(deps, 'refresh', token);
  if (found === undefined || found.grant.ended !== undefined) return undefined;
  const [hash, at] = [hashOf(token), isoTime(deps.clock.now())];
  const { refresh, superseded } = found.grant;
  if (superseded.some((old) => old.hash === hash && old.expiresAt > at))
    await endGrant(deps, found, 'refresh-token-reused', request);
  if (refresh === undefined || refresh.hash !== hash || refresh.expiresAt <= at) return undefined;
  return (await isInUse(deps, found, 'refresh', refresh.number)) ? { ...found, hash } : undefined;
};

export const endGrant = async (
  deps: AppNeeds,
  open: OpenGrant,
  reason: EndReason,
  request: AppRequest,
): Promise<void> => {
  await change(deps, open, request, { type: 'EndGrant', at: isoTime(deps.clock.now()), reason });
  await deps.whenHeldEverywhere();
};

/** Out: undefined where the token is unknown, revoked, or one of too many, or where its grant or its app has ended. */
export const readAccessToken = async (deps: AppNeeds, text: string): Promise<OpenAccessToken | undefined> => {
  const found = await findGrant(deps, 'access', text);
  const token = found && accessTokenOf(found.grant, hashOf(text));
  if (found === undefined || token === undefined || found.grant.ended !== undefined) return undefined;
  if (!(await isInUse(deps, found, 'access', token.number))) return undefined;
  const app = await appOfGrant(deps, found.grant);
  if (app === undefined) return undefined;
  const scopes = token.scopes.filter((scope) => app.scopes.includes(scope));
  return { ...found, token, app, scopes, isExpired: token.expiresAt <= isoTime(deps.clock.now()) };
};

/** RFC 7009: revokes a token of the app. The token of another app is left alone, and the answer does not tell. */
export const revokeToken = async (deps: AppNeeds, app: KnownApp, token: string, request: AppRequest): Promise<void> => {
  const refresh = await findGrant(deps, 'refresh', token);
  if (refresh !== undefined && refresh.grant.clientId === app.id && refresh.grant.refresh?.hash === hashOf(token)) {
    return endGrant(deps, refresh, 'by-app', request);
  }
  const access = await findGrant(deps, 'access', token);
  const number = access && accessTokenOf(access.grant, hashOf(token))?.number;
  if (access === undefined || number === undefined || access.grant.clientId !== app.id) return;
  await change(deps, access, request, { type: 'RevokeAccessToken', at: isoTime(deps.clock.now()), number });
  await deps.whenHeldEverywhere();
};

export const grantNotFound = (): DomainError =>
  new DomainError(
    'OAUTH_GRANT_NOT_FOUND',
    'There is no grant of yours with this id. GET /api/users/me/grants lists them.',
  );

/** Ends a grant of the caller. The grant of another person is answered as one that does not exist. */
export const revokeGrant = async (deps: AppNeeds, caller: Caller, id: OAuthGrantId): Promise<Deleted> => {
  const open = await openGrant(deps, id);
  if (
    open === undefined ||
    caller.user === undefined ||
    open.grant.userId !== caller.user.id ||
    open.grant.ended !== undefined
  )
    throw grantNotFound();
  await endGrant(deps, open, 'by-person', { requestId: caller.correlationId, actor: caller.actor });
  return { id, deleted: true };
};

const grantOf = (id: OAuthGrantId, { state, teamId }: Loaded<GrantState>): OpenGrant | undefined =>
  state === undefined ? undefined : { id, teamId: assertDefined(parseTeamId(teamId ?? ''), 'team id'), grant: state };

const change = async (
  deps: AppNeeds,
  { id, teamId }: Pick<OpenGrant, 'id' | 'teamId'>,
  { requestId, actor = `grant:${id}` }: AppRequest,
  command: GrantCommand,
) => {
  const at = isoTime(deps.clock.now());
  const cause: Cause = { teamId, actor, correlationId: requestId, causationId: requestId, at };
  const { state, events } = await handle(deps.eventLog, oauthGrantStream(id), grantDecider, command, cause);
  return { grant: state!, events };
};

/** Out: undefined where there is no such grant. */
export const openGrant = async (deps: AppNeeds, id: OAuthGrantId): Promise<OpenGrant | undefined> =>
  grantOf(id, await deps.oauthGrant(oauthGrantStream(id)));

/**
 * Another process may have issued the token a moment ago: if the cached state does not have it, the stream is read
 * again.
 */
const findGrant = async (deps: AppNeeds, kind: TokenKind, token: string): Promise<OpenGrant | undefined> => {
  const read = readToken(kind, token);
  if (read === undefined) return undefined;
  const { grantId, hash } = read;
  const hasIt = (grant: GrantState): boolean =>
    grant === undefined || grant.ended !== undefined || hasToken(grant, kind, hash);
  return grantOf(grantId, await loadUntil(deps, deps.oauthGrant, oauthGrantStream(grantId), hasIt));
};

const loadUntil = async <State>(
  { eventLog }: AppNeeds,
  load: (stream: StreamName) => Promise<Loaded<State>>,
  stream: StreamName,
  hasIt: (state: State) => boolean,
): Promise<Loaded<State>> => {
  const known = await load(stream);
  if (hasIt(known.state)) return known;
  const appended = await eventLog.load(stream, known.version.revision + 1, []);
  return appended.length === 0 ? known : load(stream);
};

const isInUse = async (
  deps: AppNeeds,
  { id, grant }: OpenGrant,
  kind: keyof TokenList,
  number: number,
): Promise<boolean> => {
  const hasIt = (list: TokenList): boolean => isCounted(list[kind], id, number);
  return hasIt(
    (await loadUntil(deps, deps.oauthTokens, oauthTokensStream(grant.userId ?? grant.clientId), hasIt)).state,
  );
};

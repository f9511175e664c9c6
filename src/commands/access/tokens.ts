/**
 * Access tokens of people: signed with the key of their period, and verified. Tokens of sessions that begin in another
 * process are made here too.
 */
import { loadState } from '../core/handle.js';
import type { AccessNeeds } from './needs.js';
import type { KnownToken } from './needs.js';
import type { JsonWebKeys } from '../../api/people.js';
import { DomainError, WrongExpectedRevision } from '../../domain/core/errors.js';
import {
  NO_TEAM,
  parseSessionId,
  parseUserId,
  tokenKeysStream,
  type SessionId,
  type UserId,
  splitStream,
  userStream,
  type StreamName,
} from '../../domain/core/ids.js';
import { isoTime } from '../../domain/core/time.js';
import type { SigningKey } from '../../domain/ports/access-tokens.js';
import {
  invalidToken,
  evolveTokenKey,
  kidOf,
  periodOfKid,
  tokenKeyPeriod,
  type TokenKey,
  type TokenKeyState,
} from '../../domain/people/session.js';
import { startOf, type Cause } from '../../event-log/event-log.js';

type TokenMakers = Pick<AccessNeeds, 'tokenKey' | 'people' | 'tokenParties' | 'limits' | 'knownTokens'>;

/** The person and session of a token. `at`: the time of the session event that the token is made with. */
export type TokenOf = Readonly<{ userId: UserId; sessionId: SessionId; at: string }>;

/** A token that is valid for `accessTokenMs`. This process made it, so its calls here need no signature check. */
export const makeAccessToken = async (deps: AccessNeeds, of: TokenOf): Promise<string> => {
  const key = await signingKey(deps, tokenKeyPeriod(Date.parse(of.at)));
  return keepToken(deps, key, of);
};

/**
 * Makes the token that another process gave for a session once more: EdDSA signatures are deterministic, and signing
 * costs less than verifying. If the token differs after all, its first call is verified as usual. Without the signing
 * key nothing is made.
 */
const foreseeAccessToken = async (deps: TokenMakers, of: TokenOf): Promise<void> => {
  const { state } = await deps.tokenKey(tokenKeysStream(tokenKeyPeriod(Date.parse(of.at))));
  if (state?.privateKey !== undefined) await keepToken(deps, usable(state), of);
};

const keepToken = async (deps: TokenMakers, key: UsableKey, { userId, sessionId, at }: TokenOf): Promise<string> => {
  const issuedAtMs = Date.parse(at);
  const claims = { userId, sessionId, issuedAtMs, expiresAtMs: issuedAtMs + deps.limits.accessTokenMs };
  const token = await deps.people.accessTokens.sign(key, deps.tokenParties, claims);
  // Tokens hold whole seconds.
  deps.knownTokens.set(token, { userId, sessionId, expiresAtMs: Math.floor(claims.expiresAtMs / 1_000) * 1_000 });
  return token;
};

/**
 * Verifies a token. Rejects with INVALID_TOKEN and TOKEN_EXPIRED. Whether its session has ended is not checked here.
 */
export const readAccessToken = async (deps: AccessNeeds, token: string): Promise<KnownToken> => {
  const { tokenSkewMs: skewMs, accessTokenCharsMax } = deps.limits;
  const nowMs = deps.clock.now();
  const known = deps.knownTokens.get(token);
  if (known !== undefined) {
    if (known.expiresAtMs + skewMs <= nowMs) throw tokenExpired();
    return known;
  }
  if (token.length > accessTokenCharsMax) throw invalidToken();
  const key = await namedKey(deps, deps.people.accessTokens.kidOf(token), nowMs);
  const read = await deps.people.accessTokens.read(token, key, deps.tokenParties, { nowMs, skewMs });
  switch (read.kind) {
    case 'expired':
      throw tokenExpired();
    case 'invalid':
      throw invalidToken();
    case 'good': {
      const [userId, sessionId] = [parseUserId(read.claims.userId), parseSessionId(read.claims.sessionId)];
      if (userId === undefined || sessionId === undefined) throw invalidToken();
      const fresh = { userId, sessionId, expiresAtMs: read.claims.expiresAtMs };
      deps.knownTokens.set(token, fresh);
      return fresh;
    }
  }
};

const tokenExpired = (): DomainError =>
  new DomainError('TOKEN_EXPIRED', 'This access token has expired. POST /api/auth/refresh gives another.');

/** The key that a token names: of this period or a neighbouring one. */
const namedKey = async (deps: AccessNeeds, kid: string | undefined, nowMs: number): Promise<TokenKey> => {
  const period = kid === undefined ? undefined : periodOfKid(kid);
  if (period === undefined || Math.abs(period - tokenKeyPeriod(nowMs)) > 1) throw invalidToken();
  const { state } = await deps.tokenKey(tokenKeysStream(period));
  if (state?.kid !== kid) throw invalidToken();
  return state!;
};

type UsableKey = SigningKey & Readonly<{ kid: string }>;

const signingKey = async (deps: AccessNeeds, period: number): Promise<UsableKey> => {
  const { state } = await deps.tokenKey(tokenKeysStream(period));
  return usable(state ?? (await makeKey(deps, period)));
};

const usable = ({ kid, publicKey, privateKey }: TokenKey): UsableKey => {
  if (privateKey === undefined) throw new Error(`the key ${kid}, which is to sign access tokens, is destroyed`);
  return { kid, publicKey, privateKey };
};

const causeAt = (at: string): Cause => ({
  teamId: NO_TEAM,
  actor: 'system',
  correlationId: 'token-keys',
  causationId: 'token-keys',
  at,
});

const fold = { evolve: evolveTokenKey, initialState: undefined as TokenKeyState };

/** Makes the key of a period. If several processes do at once, the first append wins and the others use its key. */
const makeKey = async (deps: AccessNeeds, period: number): Promise<TokenKey> => {
  const stream = tokenKeysStream(period);
  const { publicKey, privateKey } = await deps.people.accessTokens.makeKey();
  const kid = kidOf(period, deps.ids.bytes(16));
  const at = isoTime(deps.clock.now());
  try {
    // Not by `handle`: the stream begins here, so there is no state to decide on.
    await deps.eventLog.append(
      stream,
      startOf(stream),
      [{ type: 'TokenKeyMade', data: { at, kid, publicKey }, sealed: { privateKey } }],
      causeAt(at),
    );
  } catch (fault) {
    if (!(fault instanceof WrongExpectedRevision)) throw fault;
    const { state } = await loadState(deps.eventLog, stream, fold);
    return state!;
  }
  await retireKey(deps, period - 2);
  return { kid, publicKey, privateKey, isRetired: false };
};

/** Destroys the key of a period whose tokens have all expired, so that nobody can make one that looks valid. */
const retireKey = async (deps: AccessNeeds, period: number): Promise<void> => {
  const stream = tokenKeysStream(period);
  const { state, version } = await loadState(deps.eventLog, stream, fold);
  if (state === undefined || state.isRetired) return;
  const at = isoTime(deps.clock.now());
  try {
    // Not by `handle`: if another process was faster, the key is retired.
    await deps.eventLog.append(stream, version, [{ type: 'TokenKeyRetired', data: { at } }], causeAt(at));
  } catch (fault) {
    if (!(fault instanceof WrongExpectedRevision)) throw fault;
  }
  await deps.eventLog.destroyKey(stream);
};

/** The public keys that verify access tokens. */
export const readJsonWebKeys = async (deps: AccessNeeds): Promise<JsonWebKeys> => {
  const period = tokenKeyPeriod(deps.clock.now());
  const loaded = [await deps.tokenKey(tokenKeysStream(period)), await deps.tokenKey(tokenKeysStream(period - 1))];
  return {
    keys: loaded.flatMap(({ state }) =>
      state === undefined
        ? []
        : [
            {
              kty: 'OKP' as const,
              crv: 'Ed25519' as const,
              alg: 'EdDSA' as const,
              use: 'sig' as const,
              kid: state.kid,
              x: state.publicKey,
            },
          ],
    ),
  };
};

/** Sessions that wait to be read ahead; further ones are read by their first calls. */
const WAITING_MAX = 1_000;

/**
 * Out: a function that is called with each session that begins. Sessions of other processes are read here one after the
 * other, with their person and token, before their first call comes.
 */
export const readingSessionsAhead = (
  deps: Pick<AccessNeeds, 'session' | 'user' | 'clock'> & TokenMakers,
): ((begun: StreamName) => void) => {
  const { session, user } = deps;
  const waiting: StreamName[] = [];
  let isReading = false;

  const readAll = async (): Promise<void> => {
    isReading = true;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      try {
        const { state } = await session(next);
        const [userId, sessionId] = [parseUserId(state?.userId ?? ''), parseSessionId(splitStream(next).id)];
        if (state === undefined || userId === undefined || sessionId === undefined) continue;
        await user(userStream(userId));
        // A token from the future of this clock is verified by its first call.
        const isGoodNow = Date.parse(state.refreshedAt) <= deps.clock.now();
        if (state.ended === undefined && isGoodNow)
          await foreseeAccessToken(deps, { userId, sessionId, at: state.refreshedAt });
      } catch {
        // The first call reads the session itself and reports the fault.
      }
    }
    isReading = false;
  };

  return (begun) => {
    if (waiting.length >= WAITING_MAX) return;
    waiting.push(begun);
    if (!isReading) void readAll();
  };
};

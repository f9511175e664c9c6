/** Access tokens: made with the key of their period, and read. */
import { loadState } from '../core/handle.js';
import type { CommandDeps, KnownToken } from '../core/deps.js';
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
import { invalidToken } from '../../domain/people/session.js';
import { evolveTokenKey, kidOf, periodOfKid, tokenKeyPeriod, type TokenKey, type TokenKeyState } from '../../domain/people/token-keys.js';
import { startOf, type Cause } from '../../event-log/event-log.js';

type TokenMakers = Pick<CommandDeps, 'tokenKey' | 'people' | 'tokenParties' | 'limits' | 'knownTokens'>;

/** Whom a token is for, and since when: the moment of the event of its session that it is made with. */
export type TokenOf = Readonly<{ userId: UserId; sessionId: SessionId; at: string }>;

/** A token that is good for `accessTokenMs`. Its first call here checks no signature: that was made here. */
export const makeAccessToken = async (deps: CommandDeps, of: TokenOf): Promise<string> => {
  const key = await signingKey(deps, tokenKeyPeriod(Date.parse(of.at)));
  return keepToken(deps, key, of);
};

/**
 * The token that another process gave for a session, made here once more: EdDSA has one signature for one text, and to make it costs less
 * than to check it. Where it is not the same after all, its first call is checked as every other. Nothing is made where the key is not
 * there.
 */
const foreseeAccessToken = async (deps: TokenMakers, of: TokenOf): Promise<void> => {
  const { state } = await deps.tokenKey(tokenKeysStream(tokenKeyPeriod(Date.parse(of.at))));
  if (state?.privateKey !== undefined) await keepToken(deps, usable(state), of);
};

const keepToken = async (deps: TokenMakers, key: UsableKey, { userId, sessionId, at }: TokenOf): Promise<string> => {
  const issuedAtMs = Date.parse(at);
  const claims = { userId, sessionId, issuedAtMs, expiresAtMs: issuedAtMs + deps.limits.accessTokenMs };
  const token = await deps.people.accessTokens.sign(key, deps.tokenParties, claims);
  // As it is read: in whole seconds.
  deps.knownTokens.set(token, { userId, sessionId, expiresAtMs: Math.floor(claims.expiresAtMs / 1_000) * 1_000 });
  return token;
};

/** Rejects with INVALID_TOKEN and TOKEN_EXPIRED. Whether its session still is one is another question. */
export const readAccessToken = async (deps: CommandDeps, token: string): Promise<KnownToken> => {
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

/** The key that a token names: of this period, or of one that is close enough. */
const namedKey = async (deps: CommandDeps, kid: string | undefined, nowMs: number): Promise<TokenKey> => {
  const period = kid === undefined ? undefined : periodOfKid(kid);
  if (period === undefined || Math.abs(period - tokenKeyPeriod(nowMs)) > 1) throw invalidToken();
  const loaded = deps.tokenKey(tokenKeysStream(period));
  const { state } = loaded instanceof Promise ? await loaded : loaded;
  if (state?.kid !== kid) throw invalidToken();
  return state!;
};

type UsableKey = SigningKey & Readonly<{ kid: string }>;

const signingKey = async (deps: CommandDeps, period: number): Promise<UsableKey> => {
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

/** Of processes that make one at once, one is the first, and the others take its key. */
const makeKey = async (deps: CommandDeps, period: number): Promise<TokenKey> => {
  const stream = tokenKeysStream(period);
  const { publicKey, privateKey } = await deps.people.accessTokens.makeKey();
  const kid = kidOf(period, deps.ids.bytes(16));
  const at = isoTime(deps.clock.now());
  try {
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

/** No token of that period is good any more: nobody shall make one that looks like it. */
const retireKey = async (deps: CommandDeps, period: number): Promise<void> => {
  const stream = tokenKeysStream(period);
  const { state, version } = await loadState(deps.eventLog, stream, fold);
  if (state === undefined || state.isRetired) return;
  const at = isoTime(deps.clock.now());
  try {
    await deps.eventLog.append(stream, version, [{ type: 'TokenKeyRetired', data: { at } }], causeAt(at));
  } catch (fault) {
    if (!(fault instanceof WrongExpectedRevision)) throw fault;
  }
  await deps.eventLog.destroyKey(stream);
};

/** The public keys by which access tokens are checked. */
export const readJsonWebKeys = async (deps: CommandDeps): Promise<JsonWebKeys> => {
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

/* Sessions that begin in another process: they are read here, with their person, and their token is foreseen, before their first call comes. */

/** Of more that begin at once the last ones are read by their first calls. */
const WAITING_MAX = 1_000;

/** Out: to be told of each session that begins; one after the other is read. */
export const readingSessionsAhead = (
  deps: Pick<CommandDeps, 'session' | 'user' | 'clock'> & TokenMakers,
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
        // What is not good yet by the clock of this process is checked by its first call.
        const isGoodNow = Date.parse(state.refreshedAt) <= deps.clock.now();
        if (state.ended === undefined && isGoodNow) await foreseeAccessToken(deps, { userId, sessionId, at: state.refreshedAt });
      } catch {
        // The call that needs it reads it itself, and is told what is wrong.
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

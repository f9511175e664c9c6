/** Access tokens as JWT, signed by EdDSA (RFC 8037), with the type of RFC 9068. */
import { decodeProtectedHeader, errors, exportJWK, generateKeyPair, importJWK, jwtVerify, SignJWT, type CryptoKey, type JWK } from 'jose';
import type { AccessTokens, ReadToken, TokenClaims } from '../../domain/ports/access-tokens.js';
import { boundedCache } from '../../shared/bounded-cache.js';

const ALGORITHM = 'EdDSA';
const TYPE = 'at+jwt';
/** Two periods have keys at once, each with a public and a private part. */
const KEYS_KEPT = 16;

const secondsOf = (ms: number): number => Math.floor(ms / 1_000);

const importKey = async (x: string, d?: string): Promise<CryptoKey> => {
  const jwk: JWK = { kty: 'OKP', crv: 'Ed25519', alg: ALGORITHM, x, ...(d === undefined ? {} : { d }) };
  return (await importJWK(jwk, ALGORITHM)) as CryptoKey;
};

export const joseAccessTokens = (): AccessTokens => {
  const keys = boundedCache<string, Promise<CryptoKey>>({ entriesMax: KEYS_KEPT });
  return {
    makeKey: async () => {
      const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
      const { x, d } = await exportJWK(privateKey);
      if (x === undefined || d === undefined) throw new Error('an Ed25519 key has no x or d');
      return { publicKey: x, privateKey: d };
    },
    sign: async ({ kid, publicKey, privateKey }, { issuer, audience }, { userId, sessionId, issuedAtMs, expiresAtMs }) => {
      const key = await keys.getOrMake(`${kid} private`, () => importKey(publicKey, privateKey));
      return new SignJWT({ sid: sessionId })
        .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(userId)
        .setIssuedAt(secondsOf(issuedAtMs))
        .setNotBefore(secondsOf(issuedAtMs))
        .setExpirationTime(secondsOf(expiresAtMs))
        .sign(key);
    },
    kidOf: (token) => {
      try {
        const { alg, kid } = decodeProtectedHeader(token);
        return alg === ALGORITHM ? kid : undefined;
      } catch {
        return undefined;
      }
    },
    read: async (token, { kid, publicKey }, { issuer, audience }, { nowMs, skewMs }) => {
      const key = await keys.getOrMake(`${kid} public`, () => importKey(publicKey));
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: [ALGORITHM],
          typ: TYPE,
          issuer,
          audience,
          currentDate: new Date(nowMs),
          clockTolerance: skewMs / 1_000,
          requiredClaims: ['sub', 'sid', 'iat', 'nbf', 'exp'],
        });
        return readClaims(payload);
      } catch (fault) {
        if (fault instanceof errors.JWTExpired) return { kind: 'expired' };
        if (fault instanceof errors.JOSEError) return { kind: 'invalid' };
        throw fault;
      }
    },
  };
};

const readClaims = ({ sub, sid, iat, exp }: Readonly<Record<string, unknown>>): ReadToken => {
  if (typeof sub !== 'string' || typeof sid !== 'string' || typeof iat !== 'number' || typeof exp !== 'number') return { kind: 'invalid' };
  const claims: TokenClaims = { userId: sub, sessionId: sid, issuedAtMs: iat * 1_000, expiresAtMs: exp * 1_000 };
  return { kind: 'good', claims };
};

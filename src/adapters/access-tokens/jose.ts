/** Access tokens as JWT, signed with EdDSA (RFC 8037), of the type of RFC 9068. */
import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import { exportJWK, generateKeyPair, importJWK, SignJWT, type CryptoKey, type JWK } from 'jose';
import type { AccessTokens, ReadToken, TokenParties } from '../../domain/ports/access-tokens.js';
import { boundedCache } from '../../shared/cache.js';

type Payload = Readonly<Record<string, unknown>>;

type At = Parameters<AccessTokens['read']>[3];

const ALGORITHM = 'EdDSA';
const TYPE = 'at+jwt';
/** The keys of two periods are in use at a time. */
const KEYS_KEPT = 8;

/** Three parts in base64url. The last has the length of a signature. */
const FORM = /^([\w-]+\.[\w-]+)\.([\w-]{86})$/;

export const joseAccessTokens = (): AccessTokens => {
  const privateKeys = boundedCache<string, Promise<CryptoKey>>({ entriesMax: KEYS_KEPT });
  const publicKeys = boundedCache<string, KeyObject>({ entriesMax: KEYS_KEPT });
  return {
    makeKey: async () => {
      const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
      const { x, d } = await exportJWK(privateKey);
      if (x === undefined || d === undefined) throw new Error('an Ed25519 key has no x or d');
      return { publicKey: x, privateKey: d };
    },
    sign: async (
      { kid, publicKey, privateKey },
      { issuer, audience },
      { userId, sessionId, issuedAtMs, expiresAtMs },
    ) => {
      const key = await privateKeys.getOrMake(kid, () => importKey(publicKey, privateKey));
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
      const { alg, kid } = partOf(token.slice(0, Math.max(0, token.indexOf('.')))) ?? {};
      return alg === ALGORITHM && typeof kid === 'string' ? kid : undefined;
    },
    read: async (token, { kid, publicKey }, parties, at) => {
      const key = publicKeys.getOrMake(kid, () =>
        createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' }),
      );
      const payload = signedPayload(token, kid, key);
      return payload === undefined ? { kind: 'invalid' } : checkedClaims(payload, parties, at);
    },
  };
};

const secondsOf = (ms: number): number => Math.floor(ms / 1_000);

const importKey = async (x: string, d: string): Promise<CryptoKey> => {
  const jwk: JWK = { kty: 'OKP', crv: 'Ed25519', alg: ALGORITHM, x, d };
  return (await importJWK(jwk, ALGORITHM)) as CryptoKey;
};

/**
 * The payload of a token; undefined if its signature is not of that key or its header is not ours. The signature is
 * checked in this thread, because handing one to a thread of WebCrypto costs more than checking it.
 */
const signedPayload = (token: string, kid: string, key: KeyObject): Payload | undefined => {
  const [, signed, signature] = FORM.exec(token) ?? [];
  if (signed === undefined || signature === undefined) return undefined;
  const bytes = Buffer.from(signature, 'base64url');
  // The last letter has unused bits. Only one of the ways to write a signature is accepted.
  if (bytes.toString('base64url') !== signature || !verify(null, Buffer.from(signed), key, bytes)) return undefined;
  const [header, payload] = signed.split('.').map(partOf);
  const isOurs =
    header?.['alg'] === ALGORITHM && header['typ'] === TYPE && header['kid'] === kid && header['crit'] === undefined;
  return isOurs ? payload : undefined;
};

/** A part of a token: an object in JSON, in base64url; undefined for anything else. */
const partOf = (text: string): Payload | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Payload) : undefined;
  } catch {
    return undefined;
  }
};

const checkedClaims = (payload: Payload, { issuer, audience }: TokenParties, { nowMs, skewMs }: At): ReadToken => {
  const { iss, aud, sub, sid, iat, nbf, exp } = payload;
  if (iss !== issuer || aud !== audience || typeof sub !== 'string' || typeof sid !== 'string')
    return { kind: 'invalid' };
  if (typeof iat !== 'number' || typeof nbf !== 'number' || typeof exp !== 'number') return { kind: 'invalid' };
  if (nbf * 1_000 > nowMs + skewMs) return { kind: 'invalid' };
  if (exp * 1_000 <= nowMs - skewMs) return { kind: 'expired' };
  return { kind: 'good', claims: { userId: sub, sessionId: sid, issuedAtMs: iat * 1_000, expiresAtMs: exp * 1_000 } };
};

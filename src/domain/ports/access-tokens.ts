/** Signed tokens (RFC 7519, signed by Ed25519), made and read. */

/** The two parts of a key as JWK has them (RFC 8037): `x` and `d`. */
export type SigningKey = Readonly<{ publicKey: string; privateKey: string }>;

export type TokenClaims = Readonly<{ userId: string; sessionId: string; issuedAtMs: number; expiresAtMs: number }>;

/** Issuer and audience of the tokens: `iss` and `aud`. */
export type TokenParties = Readonly<{ issuer: string; audience: string }>;

export type ReadToken = Readonly<{ kind: 'good'; claims: TokenClaims } | { kind: 'expired' } | { kind: 'invalid' }>;

export type AccessTokens = Readonly<{
  makeKey: () => Promise<SigningKey>;
  sign: (key: SigningKey & Readonly<{ kid: string }>, parties: TokenParties, claims: TokenClaims) => Promise<string>;
  /**
   * The `kid` that a token names, which nothing has checked yet; undefined where it is no token, or one of another
   * algorithm.
   */
  kidOf: (token: string) => string | undefined;
  /** `skewMs`: how far the clock that made the token may be from ours. */
  read: (
    token: string,
    key: Readonly<{ kid: string; publicKey: string }>,
    parties: TokenParties,
    at: Readonly<{ nowMs: number; skewMs: number }>,
  ) => Promise<ReadToken>;
}>;

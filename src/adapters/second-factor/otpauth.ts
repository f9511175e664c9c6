/** Time-based one-time passwords as authenticator apps make them: SHA-1, six digits, thirty seconds. */
import { Secret, TOTP } from 'otpauth';
import type { SecondFactors } from '../../domain/ports/second-factor.js';

const ISSUER = 'sealpost';
const PERIOD_S = 30;
const SECRET_BYTES = 20;

export const otpauthSecondFactors = (): SecondFactors => ({
  newSecret: () => new Secret({ size: SECRET_BYTES }).base32,
  uri: (secret, account) => codesOf(secret, account).toString(),
  stepOf: (secret, code, nowMs) => {
    const delta = codesOf(secret).validate({ token: code, timestamp: nowMs, window: 1 });
    return delta === null ? undefined : Math.floor(nowMs / (PERIOD_S * 1_000)) + delta;
  },
});

const codesOf = (secret: string, label = ''): TOTP =>
  new TOTP({
    issuer: ISSUER,
    label,
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD_S,
    secret: Secret.fromBase32(secret),
  });

/** The headers of a delivery: the contract's, and those of Standard Webhooks, from the same secret. */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';
export const SECRET_BYTES = 32;

/** In: 32 random bytes. */
export const formatSecret = (bytes: Buffer): string => `${SECRET_PREFIX}${bytes.toString('base64')}`;

/** The keys that a secret stands for; made once for many signatures, for the making costs more than a signature. */
export type SigningKeys = Readonly<{ contract: KeyObject; standard: KeyObject }>;

export const signingKeysOf = (secret: string): SigningKeys => ({
  contract: createSecretKey(secret, 'utf8'),
  standard: createSecretKey(secret.slice(SECRET_PREFIX.length), 'base64'),
});

/** `keys`: those of the secret in force first, then those of the one before it while both are accepted. */
export type ToSign = Readonly<{
  keys: readonly [SigningKeys, ...SigningKeys[]];
  id: string;
  previousId: string | null;
  kind: string;
  body: string;
  nowMs: number;
}>;

/**
 * The contract's signature is keyed by the secret as it is written, the Standard one by the bytes that it stands for. In an overlap the
 * Standard header carries both, and the contract's one is by the older.
 */
export const deliveryHeaders = ({ keys, id, previousId, kind, body, nowMs }: ToSign): Readonly<Record<string, string>> => {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const oldest = keys.at(-1)!;
  const contract = createHmac('sha256', oldest.contract).update(`${timestamp}.${body}`).digest('hex');
  const standard = keys.map((key) => `v1,${createHmac('sha256', key.standard).update(`${id}.${timestamp}.${body}`).digest('base64')}`);
  return {
    'content-type': 'application/json',
    'user-agent': 'sealpost',
    'x-service-signature': `v1=${contract}`,
    'x-service-timestamp': timestamp,
    'x-service-event-id': id,
    'x-service-event-type': kind,
    ...(previousId === null ? {} : { 'x-service-previous-event-id': previousId }),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': standard.join(' '),
  };
};

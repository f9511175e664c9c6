/** The headers of a delivery: the contract's, and those of Standard Webhooks, from the same secret. */
import { createHmac } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';
export const SECRET_BYTES = 32;

/** In: 32 random bytes. */
export const formatSecret = (bytes: Buffer): string => `${SECRET_PREFIX}${bytes.toString('base64')}`;

/** `secrets`: the one in force first, then the one before it while both are accepted. */
export type ToSign = Readonly<{
  secrets: readonly [string, ...string[]];
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
export const deliveryHeaders = ({ secrets, id, previousId, kind, body, nowMs }: ToSign): Readonly<Record<string, string>> => {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const oldest = secrets.at(-1)!;
  const contract = createHmac('sha256', oldest).update(`${timestamp}.${body}`).digest('hex');
  const standard = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
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

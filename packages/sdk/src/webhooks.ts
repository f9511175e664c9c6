/** Checks webhooks of sealpost, in any runtime with WebCrypto. */
import type { WebhookEvent } from './operations.js';

export type WebhookRequest = Readonly<{
  /** The body as it came: text or bytes, not parsed JSON. */
  body: string | Uint8Array;
  /** Header fields of the request: those of `fetch`, or a plain object as Node has them. */
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The secret of the subscription (`whsec_…`); several while one is being replaced. */
  secret: string | readonly string[];
  /** How old or how far ahead a signature may be; default: 300. */
  toleranceS?: number;
  /** Milliseconds since 1970; default: the clock of the runtime. */
  now?: number;
}>;

export type VerifiedWebhook = Readonly<{
  /** `evt_…`: equal for every attempt, retry and replay; keep it to notice doubles. */
  id: string;
  event: WebhookEvent;
}>;

/** Why a webhook is not believed. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
  readonly code: 'HEADER_MISSING' | 'TOO_OLD' | 'SIGNATURE_WRONG' | 'BODY_INVALID';

  constructor(code: WebhookError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Checks the signature and the age of a webhook. Both signatures are known: that of Standard Webhooks
 * (`webhook-signature`), and `x-service-signature`. Out: its id and its event. Rejects with a WebhookError.
 */
export const verify = async ({
  body,
  headers,
  secret,
  toleranceS = 300,
  now = Date.now(),
}: WebhookRequest): Promise<VerifiedWebhook> => {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const secrets = (typeof secret === 'string' ? [secret] : secret).filter((one) => one !== '');
  if (secrets.length === 0) throw new TypeError('`secret` is the secret of the subscription, such as "whsec_…".');
  const field = reader(headers);
  const standard = field('webhook-signature');
  const own = field('x-service-signature');
  const id = standard === undefined ? field('x-service-event-id') : field('webhook-id');
  const timestamp = standard === undefined ? field('x-service-timestamp') : field('webhook-timestamp');
  if (id === undefined || timestamp === undefined || (standard ?? own) === undefined)
    throw new WebhookError('HEADER_MISSING', 'The request has no signature of sealpost.');
  if (!/^\d{1,15}$/.test(timestamp) || !(Math.abs(now / 1_000 - Number(timestamp)) <= toleranceS))
    throw new WebhookError('TOO_OLD', `The signature is more than ${toleranceS} seconds away from the clock.`);
  const isOurs =
    standard === undefined
      ? await anyVerifies(secrets, [own ?? ''], (one, given) =>
          verifies(utf8(one), fromHex(given.replace(/^v1=/, '')), concat(utf8(`${timestamp}.`), bytes)),
        )
      : await anyVerifies(secrets, standard.split(' ').slice(0, 20), (one, given) =>
          verifies(keyOf(one), fromBase64(given.replace(/^v1,/, '')), concat(utf8(`${id}.${timestamp}.`), bytes)),
        );
  if (!isOurs) throw new WebhookError('SIGNATURE_WRONG', 'The signature is not that of this body and secret.');
  try {
    return { id, event: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as WebhookEvent };
  } catch {
    throw new WebhookError('BODY_INVALID', 'The body is no JSON.');
  }
};

const anyVerifies = async (
  secrets: readonly string[],
  signatures: readonly string[],
  check: (secret: string, signature: string) => Promise<boolean>,
): Promise<boolean> => {
  for (const secret of secrets) for (const given of signatures) if (await check(secret, given)) return true;
  return false;
};

/** WebCrypto compares in constant time. */
const verifies = async (
  key: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer> | undefined,
  signed: Uint8Array<ArrayBuffer>,
): Promise<boolean> =>
  signature !== undefined &&
  key.length > 0 &&
  crypto.subtle.verify(
    'HMAC',
    await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']),
    signature,
    signed,
  );

type HeadersOf = WebhookRequest['headers'];

const reader = (headers: HeadersOf): ((name: string) => string | undefined) => {
  if (headers instanceof Headers) return (name) => headers.get(name) ?? undefined;
  const fields = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return (name) => {
    const value = fields.get(name);
    return typeof value === 'object' ? value[0] : value;
  };
};

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

const concat = (head: Uint8Array, rest: Uint8Array): Uint8Array<ArrayBuffer> => {
  const whole = new Uint8Array(head.length + rest.length);
  whole.set(head);
  whole.set(rest, head.length);
  return whole;
};

/** Standard Webhooks: the key is the base64 behind `whsec_`. */
const keyOf = (secret: string): Uint8Array<ArrayBuffer> =>
  fromBase64(secret.replace(/^whsec_/, '')) ?? new Uint8Array(0);

const fromBase64 = (text: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  } catch {
    return undefined;
  }
};

const fromHex = (text: string): Uint8Array<ArrayBuffer> | undefined =>
  /^(?:[\da-f]{2})+$/i.test(text)
    ? Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
    : undefined;

/**
 * Events of Mailgun: https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks. The body has an HMAC-SHA256 of
 * its time and its token. It does not cover the event, so a token is good for one body only.
 */
import { createHash, createHmac } from 'node:crypto';
import type { ProviderCall, ProviderNews, ProviderReading } from '../../../domain/ports/provider-feedback.js';
import {
  addressIn,
  blocked,
  type BounceReason,
  complaint,
  delayed,
  delivered,
  eachOf,
  echoedId,
  emailIdIn,
  failed,
  HARD,
  isObject,
  isSame,
  type Json,
  jsonIn,
  malformed,
  momentIn,
  nothing,
  objectIn,
  refused,
  SOFT,
  soft,
  textIn,
  timeFault,
  told,
  unknown,
  unsubscribed,
} from './reading.js';

/** A token that a signature covers, and the digest of the body that it came with. */
export type OneTime = Readonly<{ token: string; digest: string }>;

/** `reason` of a permanent failure. */
const reasons: Readonly<Record<string, BounceReason>> = {
  bounce: HARD,
  'suppress-bounce': HARD,
  'suppress-complaint': soft('mailbox-refused'),
  'suppress-unsubscribe': soft('mailbox-refused'),
  espblock: blocked('policy'),
  old: soft('expired'),
  generic: SOFT,
};

/** In: a call, the setting and the time. Out: its events, with the token that must not come with another body. */
export const readMailgun = (
  { body }: ProviderCall,
  { signingKey }: Readonly<{ signingKey: string }>,
  nowMs: number,
): ProviderReading & Readonly<{ once?: OneTime }> => {
  const read = jsonIn(body);
  if (!isObject(read)) return malformed('The body must be a JSON object with `signature` and `event-data`.');
  const given = objectIn(read, 'signature');
  const [timestamp, token] = [textIn(given, 'timestamp') ?? '', textIn(given, 'token') ?? ''];
  const expected = createHmac('sha256', signingKey).update(`${timestamp}${token}`).digest('hex');
  // Neither part may take characters of the other, which the HMAC does not tell apart.
  const isFormed = /^\d{10}$/.test(timestamp) && /^[0-9a-f]{32,64}$/i.test(token);
  if (!isFormed || !isSame(textIn(given, 'signature') ?? '', expected))
    return refused('signature', 'The signature of the call is not that of the signing key in the settings.');
  const fault = timeFault(Number(timestamp) * 1_000, nowMs);
  if (fault !== undefined) return fault;
  const once = { token, digest: createHash('sha256').update(body).digest('hex') };
  return { ...eachOf(read['event-data'], eventOf), once };
};

const eventOf = (event: Json) =>
  told(
    {
      id: [textIn(event, 'id') ?? JSON.stringify(event).slice(0, 256), textIn(event, 'event')],
      emailId:
        echoedId(objectIn(event, 'user-variables')) ??
        emailIdIn(objectIn(objectIn(event, 'message'), 'headers')['message-id']),
      address: addressIn(event['recipient']),
      happenedAt: momentIn(event['timestamp']),
      news: newsOf(event),
    },
    event,
  );

const newsOf = (event: Json): ProviderNews => {
  switch (event['event']) {
    case 'delivered':
      return delivered;
    case 'failed': {
      if (event['severity'] === 'temporary') return delayed;
      if (event['severity'] !== 'permanent') return unknown;
      const status = objectIn(event, 'delivery-status');
      const given = textIn(event, 'reason') ?? '';
      const words = [textIn(status, 'code'), textIn(status, 'message') ?? textIn(status, 'description')];
      const reason = Object.hasOwn(reasons, given) ? reasons[given] : undefined;
      return failed(reason ?? (status['bounce-type'] === 'soft' ? SOFT : HARD), {
        status: textIn(status, 'enhanced-code'),
        text: words.filter((word) => word !== undefined).join(' '),
      });
    }
    case 'rejected':
      return failed(blocked('policy'), { text: textIn(objectIn(event, 'reject'), 'reason') });
    case 'complained':
      return complaint;
    case 'unsubscribed':
      return unsubscribed;
    case 'accepted':
    case 'opened':
    case 'clicked':
    case 'stored':
      return nothing;
    default:
      return unknown;
  }
};

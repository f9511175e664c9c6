/**
 * Events of SendGrid: https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event. Each batch is signed
 * with ECDSA over P-256 and SHA-256: the time of the header, and then the bytes of the body.
 */
import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import type { ProviderCall, ProviderNews, ProviderReading } from '../../../domain/ports/provider-feedback.js';
import {
  addressIn,
  blocked,
  type BounceReason,
  complaint,
  delayed,
  delivered,
  eachOf,
  emailIdIn,
  failed,
  HARD,
  hard,
  headerOf,
  type Json,
  jsonIn,
  momentIn,
  nothing,
  refused,
  type Refused,
  SOFT,
  soft,
  textIn,
  timeFault,
  told,
  unknown,
  unsubscribed,
} from './reading.js';

const SIGNATURE = 'x-twilio-email-event-webhook-signature';
const TIMESTAMP = 'x-twilio-email-event-webhook-timestamp';

/** `bounce_classification` of a bounce. */
const classes: Readonly<Record<string, BounceReason>> = {
  'Invalid Address': hard('no-such-mailbox'),
  Technical: SOFT,
  Content: blocked('content'),
  Reputation: blocked('reputation'),
  'Frequency or Volume Too High': blocked('sending-limit'),
  'Mailbox Unavailable': soft('mailbox-refused'),
};

/** Reasons for which SendGrid drops a mail instead of sending it. */
const drops: readonly (readonly [RegExp, BounceReason])[] = [
  [/^bounced address/i, HARD],
  [/^invalid/i, hard('no-such-mailbox')],
  [/^(unsubscribed|spam reporting|recipient list|group unsubscribe)/i, soft('mailbox-refused')],
  [/spam|virus|content/i, blocked('content')],
];

const keys = new Map<string, KeyObject>();

/** The public key of the setting. Throws if it is no public key of P-256. */
export const sendgridKey = (base64: string): KeyObject => {
  const known = keys.get(base64);
  if (known !== undefined) return known;
  const key = createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' });
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw new Error('the key is not one of P-256');
  keys.set(base64, key);
  return key;
};

/** By the headers alone: they must have a signature, and a time that is recent. */
export const sendgridFault = (headers: ProviderCall['headers'], nowMs: number): Refused | undefined => {
  const timestamp = headerOf(headers, TIMESTAMP) ?? '';
  if (headerOf(headers, SIGNATURE) === undefined || !/^\d{1,11}$/.test(timestamp))
    return refused(
      'signature',
      `The call lacks the headers ${SIGNATURE} and ${TIMESTAMP}: turn on the signed webhook.`,
    );
  return timeFault(Number(timestamp) * 1_000, nowMs);
};

/** In: a call, the setting and the time. Out: its events. */
export const readSendgrid = (
  { headers, body }: ProviderCall,
  { verificationKey }: Readonly<{ verificationKey: string }>,
  nowMs: number,
): ProviderReading => {
  const fault = sendgridFault(headers, nowMs);
  if (fault !== undefined) return fault;
  const signed = Buffer.concat([Buffer.from(headerOf(headers, TIMESTAMP)!), body]);
  const signature = Buffer.from(headerOf(headers, SIGNATURE)!, 'base64');
  if (!verify('sha256', signed, { key: sendgridKey(verificationKey), dsaEncoding: 'der' }, signature))
    return refused('signature', 'The signature of the call is not that of the verification key in the settings.');
  return eachOf(jsonIn(body), eventOf);
};

const eventOf = (event: Json) =>
  told(
    {
      id: [textIn(event, 'sg_event_id') ?? JSON.stringify(event).slice(0, 256)],
      // The members of `unique_args` stand beside those of the event.
      emailId: emailIdIn(event['sealpost']) ?? emailIdIn(event['smtp-id']),
      address: addressIn(event['email']),
      happenedAt: momentIn(event['timestamp']),
      news: newsOf(event),
    },
    event,
  );

const newsOf = (event: Json): ProviderNews => {
  switch (event['event']) {
    case 'delivered':
      return delivered;
    case 'deferred':
      return delayed;
    case 'bounce': {
      const given = textIn(event, 'bounce_classification') ?? '';
      const known = Object.hasOwn(classes, given) ? classes[given] : undefined;
      const reason = known ?? (event['type'] === 'blocked' ? blocked('policy') : HARD);
      return failed(reason, { status: textIn(event, 'status'), text: textIn(event, 'reason') });
    }
    case 'dropped': {
      const text = textIn(event, 'reason') ?? '';
      return failed(drops.find(([pattern]) => pattern.test(text))?.[1] ?? SOFT, { text, isVerdict: true });
    }
    case 'spamreport':
      return complaint;
    case 'unsubscribe':
      return unsubscribed;
    case 'group_unsubscribe':
      return { kind: 'unsubscribe', ofList: true };
    case 'processed':
    case 'open':
    case 'click':
    case 'group_resubscribe':
      return nothing;
    default:
      return unknown;
  }
};

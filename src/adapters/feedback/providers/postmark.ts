/**
 * Events of Postmark: https://postmarkapp.com/developer/webhooks/webhooks-overview. They are not signed; the secret is
 * in the URL or in a header.
 */
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
  failed,
  HARD,
  hard,
  type Json,
  jsonIn,
  momentIn,
  nothing,
  objectIn,
  SOFT,
  soft,
  textIn,
  told,
  tokenFault,
  unknown,
  unsubscribed,
} from './reading.js';

/** https://postmarkapp.com/developer/api/bounce-api#bounce-types, as far as the mail did not arrive. */
const bounces: Readonly<Record<string, BounceReason>> = {
  HardBounce: HARD,
  BadEmailAddress: hard('no-such-mailbox'),
  SoftBounce: SOFT,
  Undeliverable: SOFT,
  DnsError: soft('host-unreachable'),
  Unknown: SOFT,
  ManuallyDeactivated: soft('mailbox-refused'),
  Unconfirmed: soft('mailbox-refused'),
  SpamNotification: blocked('content'),
  VirusNotification: blocked('content'),
  Blocked: blocked('policy'),
  DMARCPolicy: blocked('authentication'),
  SMTPApiError: SOFT,
};

/** Answers of people and machines, and what Postmark tries again, say nothing final. */
const otherTypes: Readonly<Record<string, ProviderNews>> = {
  Transient: delayed,
  AutoResponder: nothing,
  AddressChange: nothing,
  ChallengeVerification: nothing,
  OpenRelayTest: nothing,
  Subscribe: nothing,
  Unsubscribe: unsubscribed,
  SpamComplaint: complaint,
};

/** In: a call, the setting and the time. Out: its events. */
export const readPostmark = (
  { headers, body }: ProviderCall,
  { token }: Readonly<{ token: string }>,
): ProviderReading => tokenFault(headers, token) ?? eachOf(jsonIn(body), eventOf);

const eventOf = (event: Json) =>
  told(
    {
      id: [
        textIn(event, 'RecordType'),
        textIn(event, 'ID') ?? textIn(event, 'MessageID'),
        textIn(event, 'Recipient') ?? textIn(event, 'Email'),
        textIn(event, 'DeliveredAt') ?? textIn(event, 'ChangedAt') ?? textIn(event, 'BouncedAt'),
      ],
      emailId: echoedId(objectIn(event, 'Metadata')),
      address: addressIn(event['Recipient']) ?? addressIn(event['Email']),
      happenedAt: momentIn(event['DeliveredAt'] ?? event['BouncedAt'] ?? event['ChangedAt']),
      news: newsOf(event),
    },
    event,
  );

const newsOf = (event: Json): ProviderNews => {
  switch (event['RecordType']) {
    case 'Delivery':
      return delivered;
    case 'SpamComplaint':
      return complaint;
    case 'Open':
    case 'Click':
      return nothing;
    case 'SubscriptionChange':
      return changeOf(event);
    case 'Bounce': {
      const type = textIn(event, 'Type') ?? '';
      const reason = Object.hasOwn(bounces, type) ? bounces[type] : undefined;
      if (reason !== undefined)
        return failed(reason, { text: textIn(event, 'Details') ?? textIn(event, 'Description') });
      return (Object.hasOwn(otherTypes, type) ? otherTypes[type] : undefined) ?? unknown;
    }
    default:
      return unknown;
  }
};

/** An address that was put on, or taken off, the suppression list of a message stream. */
const changeOf = (event: Json): ProviderNews => {
  if (event['SuppressSending'] !== true) return nothing;
  switch (event['SuppressionReason']) {
    case 'HardBounce':
      return failed(HARD, {});
    case 'SpamComplaint':
      return complaint;
    case 'ManualSuppression':
      // By a person at Postmark's console or its API, unless the recipient did it.
      return event['Origin'] === 'Recipient' ? unsubscribed : nothing;
    default:
      return unknown;
  }
};

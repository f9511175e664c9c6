/**
 * Events of Brevo (https://developers.brevo.com/docs/transactional-webhooks) and of Mailjet
 * (https://dev.mailjet.com/email/guides/webhooks/). They are not signed; the secret is in the URL or in a header. Both post
 * one event, or a list if that is turned on.
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
  emailIdIn,
  failed,
  hard,
  HARD,
  type Json,
  jsonIn,
  momentIn,
  nothing,
  SOFT,
  soft,
  textIn,
  tokenFault,
  told,
  unknown,
  unsubscribed,
} from './reading.js';

/** In: a call and the setting. Out: its events: one, or a list if batches are turned on. */
export const readBrevo = ({ headers, body }: ProviderCall, { token }: Readonly<{ token: string }>): ProviderReading =>
  tokenFault(headers, token) ?? eachOf(jsonIn(body), brevoEvent);

const brevoEvent = (event: Json) => {
  const [name, email] = [textIn(event, 'event'), textIn(event, 'email')];
  return told(
    {
      // `id` is the id of the webhook, and events have none.
      id: [name, textIn(event, 'message-id'), email, textIn(event, 'ts_event') ?? textIn(event, 'ts_epoch')],
      emailId: echoedId(event['X-Mailin-custom']) ?? emailIdIn(event['message-id']),
      address: addressIn(event['email']),
      happenedAt: momentOf(event),
      news: brevoNews(event),
    },
    event,
  );
};

/** `ts_epoch` has milliseconds, and in some examples seconds; `ts` and `date` are in the time zone of the account. */
const momentOf = (event: Json): string | undefined => {
  const epoch = event['ts_epoch'];
  if (typeof epoch === 'number' && epoch > 100_000_000_000) return momentIn(epoch / 1_000);
  return momentIn(event['ts_event']) ?? momentIn(epoch);
};

const brevoNews = (event: Json): ProviderNews => {
  const words = { text: textIn(event, 'reason')?.trim() };
  switch (event['event']) {
    case 'delivered':
      return delivered;
    case 'deferred':
      return delayed;
    case 'hard_bounce':
      return failed(HARD, words);
    case 'soft_bounce':
    case 'error':
      return failed(SOFT, words);
    case 'invalid_email':
      return failed(hard('no-such-mailbox'), words);
    case 'blocked':
      return failed(/black ?list|unsubscri/i.test(words.text ?? '') ? soft('mailbox-refused') : blocked('policy'), {
        ...words,
        isVerdict: true,
      });
    case 'spam':
    case 'complaint':
      return complaint;
    case 'unsubscribe':
    case 'unsubscribed':
      return unsubscribed;
    case 'request':
    case 'sent':
    case 'opened':
    case 'unique_opened':
    case 'proxy_open':
    case 'unique_proxy_open':
    case 'click':
      return nothing;
    default:
      return unknown;
  }
};

/** https://dev.mailjet.com/email/guides/webhooks/#possible-values-for-errors */
const errors: Readonly<Record<string, BounceReason>> = {
  'user unknown': hard('no-such-mailbox'),
  'mailbox inactive': hard('mailbox-disabled'),
  'quota exceeded': soft('mailbox-full'),
  blacklisted: soft('mailbox-refused'),
  'spam reporter': soft('mailbox-refused'),
  'invalid domain': hard('no-such-domain'),
  'no mail host': hard('no-such-domain'),
  typofix: hard('no-such-domain'),
  'relay/access denied': blocked('relay-denied'),
  'sender blocked': blocked('reputation'),
  'content blocked': blocked('content'),
  'policy issue': blocked('policy'),
  'bad or empty template': blocked('content'),
  'error in template language': blocked('content'),
  'system issue': SOFT,
  'protocol issue': SOFT,
  'connection issue': soft('host-unreachable'),
  preblocked: HARD,
  'duplicate in campaign': SOFT,
};

/** In: a call and the setting. Out: its events. */
export const readMailjet = ({ headers, body }: ProviderCall, { token }: Readonly<{ token: string }>): ProviderReading =>
  tokenFault(headers, token) ?? eachOf(jsonIn(body), mailjetEvent);

const mailjetEvent = (event: Json) =>
  told(
    {
      // `Message_GUID` is exact, where `MessageID` is a number that JSON.parse rounds.
      id: [
        textIn(event, 'event'),
        textIn(event, 'Message_GUID') ?? textIn(event, 'mj_message_id') ?? textIn(event, 'MessageID'),
        textIn(event, 'CustomID'),
        textIn(event, 'email'),
        textIn(event, 'time'),
      ],
      emailId: emailIdIn(event['CustomID']),
      address: addressIn(event['email']),
      happenedAt: momentIn(event['time']),
      news: mailjetNews(event),
    },
    event,
  );

const mailjetNews = (event: Json): ProviderNews => {
  const error = textIn(event, 'error') ?? '';
  const reason = Object.hasOwn(errors, error.toLowerCase()) ? errors[error.toLowerCase()] : undefined;
  const text = [error, textIn(event, 'comment')].filter((part) => part !== undefined && part !== '').join(': ');
  switch (event['event']) {
    case 'sent':
      return delivered;
    case 'bounce':
      if (error.toLowerCase() === 'greylisted') return delayed;
      return failed(bounceReason(reason, event['hard_bounce'] === true), { text, isVerdict: reason !== undefined });
    case 'blocked':
      return failed(reason ?? blocked('policy'), { text, isVerdict: true });
    case 'spam':
      return complaint;
    case 'unsub':
      return unsubscribed;
    case 'open':
    case 'click':
      return nothing;
    default:
      return unknown;
  }
};

/** Mailjet tries a mail again after an error that is not `hard_bounce`, so an address counts as bad only with it. */
const bounceReason = (reason: BounceReason | undefined, isHard: boolean): BounceReason => {
  if (isHard) return reason ?? HARD;
  return reason === undefined || reason.bounceType === 'hard' ? SOFT : reason;
};

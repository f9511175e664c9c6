/**
 * Events of Amazon SES, which come as messages of SNS:
 * https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html and
 * https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html.
 */
import { verify, X509Certificate } from 'node:crypto';
import {
  ECHO_HEADER,
  type ProviderCall,
  type ProviderEvent,
  type ProviderNews,
  type ProviderReading,
} from '../../../domain/ports/provider-feedback.js';
import {
  addressIn,
  blocked,
  type BounceReason,
  delayed,
  delivered,
  emailIdIn,
  failed,
  HARD,
  hard,
  headerOf,
  isObject,
  type Json,
  jsonIn,
  listIn,
  malformed,
  momentIn,
  nothing,
  objectIn,
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

type Topics = Readonly<{ topics: readonly string[] }>;

/**
 * `certificate`: the call can be checked with the certificate at that URL. `confirm`: the call is authentic and asks for
 * a visit to that URL.
 */
export type SesReading =
  ProviderReading | Readonly<{ kind: 'certificate'; url: string }> | Readonly<{ kind: 'confirm'; url: string }>;

const TOPIC = /^arn:aws(?:-cn|-us-gov)?:sns:([a-z]{2}(?:-[a-z]+){1,3}-\d{1,2}):\d{12}:[\w-]{1,256}(?:\.fifo)?$/;

/** The region of a topic; undefined if the text is no ARN of one. */
export const regionOfTopic = (arn: string): string | undefined => TOPIC.exec(arn)?.[1];

/** SNS signs all messages with certificates of this name. */
const CERTIFICATE_PATH = /^\/SimpleNotificationService-[0-9a-f]{1,64}\.pem$/;

/** URLs are at most so long, and the message within the limit of SNS (256 KiB). */
const URL_CHARS_MAX = 2_048;

/** Most recipients of one message of SES. */
const RECIPIENTS_MAX = 50;

/** The fields that the signature covers, in their order. */
const SIGNED = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
  UnsubscribeConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
} as const;

const isType = (type: unknown): type is keyof typeof SIGNED => typeof type === 'string' && Object.hasOwn(SIGNED, type);

/** By the headers alone: the topic must be one of the settings, and the message in the envelope of SNS. */
export const sesFault = (headers: ProviderCall['headers'], { topics }: Topics): Refused | undefined => {
  if (headerOf(headers, 'x-amz-sns-rawdelivery') === 'true')
    return refused('signature', 'Raw message delivery has no signature: turn it off for this subscription.');
  return topics.includes(headerOf(headers, 'x-amz-sns-topic-arn') ?? '') ? undefined : wrongTopic();
};

const wrongTopic = (): Refused => refused('topic', 'The topic of the call is none of SEALPOST_SES_TOPICS.');

/**
 * In: a call, the setting, the time, and the certificates that are known, by their URL. Out: its events, or which
 * certificate is missing, or the URL by which the subscription is confirmed.
 */
export const readSes = (
  { headers, body }: ProviderCall,
  settings: Topics,
  nowMs: number,
  certificates: ReadonlyMap<string, string>,
): SesReading => {
  const fault = sesFault(headers, settings);
  if (fault !== undefined) return fault;
  const message = jsonIn(body);
  if (!isObject(message) || !isType(message['Type'])) return malformed('The body is no message of SNS.');
  const topic = message['TopicArn'];
  if (typeof topic !== 'string' || !settings.topics.includes(topic)) return wrongTopic();
  const url = message['SigningCertURL'];
  if (!isOfSns(url, topic) || !CERTIFICATE_PATH.test(new URL(url).pathname))
    return refused('certificate', 'The certificate of the call is not at sns.<region of the topic>.amazonaws.com.');
  const signedAtMs = Date.parse(String(message['Timestamp']));
  const late = timeFault(Number.isNaN(signedAtMs) ? 0 : signedAtMs, nowMs);
  if (late !== undefined) return late;
  const pem = certificates.get(url);
  if (pem === undefined) return { kind: 'certificate', url };
  const forged = signatureFault(message, message['Type'], pem, nowMs);
  if (forged !== undefined) return forged;
  switch (message['Type']) {
    case 'SubscriptionConfirmation': {
      const subscribe = message['SubscribeURL'];
      return isOfSns(subscribe, topic) && isConfirmation(new URL(subscribe), topic)
        ? { kind: 'confirm', url: subscribe }
        : malformed('SubscribeURL does not confirm a subscription to this topic at SNS.');
    }
    case 'UnsubscribeConfirmation':
      return { kind: 'events', events: [] };
    case 'Notification':
      return notified(message);
  }
};

/** Whether a URL is one of SNS in the region of the topic: https, no port, no credentials. */
const isOfSns = (url: unknown, topic: string): url is string => {
  if (typeof url !== 'string' || url.length > URL_CHARS_MAX) return false;
  const parsed = URL.parse(url);
  const host = `sns.${regionOfTopic(topic)}.amazonaws.com${topic.startsWith('arn:aws-cn:') ? '.cn' : ''}`;
  return (
    parsed?.protocol === 'https:' &&
    parsed.hostname === host &&
    parsed.port === '' &&
    parsed.username === '' &&
    parsed.password === ''
  );
};

const isConfirmation = ({ searchParams }: URL, topic: string): boolean =>
  searchParams.get('Action') === 'ConfirmSubscription' && searchParams.get('TopicArn') === topic;

const signatureFault = (message: Json, type: keyof typeof SIGNED, pem: string, nowMs: number): Refused | undefined => {
  const wrong = refused('signature', 'The signature of the call is not that of SNS.');
  const version = message['SignatureVersion'];
  if (version !== '1' && version !== '2') return wrong;
  let signed = '';
  for (const name of SIGNED[type]) {
    const value = message[name];
    if (value === undefined && name === 'Subject') continue;
    if (typeof value !== 'string') return wrong;
    signed += `${name}\n${value}\n`;
  }
  const signature = message['Signature'];
  if (typeof signature !== 'string') return wrong;
  try {
    const certificate = new X509Certificate(pem);
    if (certificate.validFromDate.getTime() > nowMs || certificate.validToDate.getTime() < nowMs)
      return refused('certificate', 'The certificate of the call has expired, or is not valid yet.');
    const digest = version === '1' ? 'RSA-SHA1' : 'RSA-SHA256';
    const isGood = verify(digest, Buffer.from(signed), certificate.publicKey, Buffer.from(signature, 'base64'));
    return isGood ? undefined : wrong;
  } catch {
    return wrong;
  }
};

/** SES tries a new topic with a message that is no JSON. */
const notified = (message: Json): ProviderReading => {
  const event = jsonIn(Buffer.from(String(message['Message'])));
  return { kind: 'events', events: isObject(event) ? eventsOf(event, String(message['MessageId'])) : [] };
};

/** `message`: the id of the message, which is the same in every attempt to deliver it. */
const eventsOf = (event: Json, message: string): readonly ProviderEvent[] => {
  const mail = objectIn(event, 'mail');
  const sender = addressIn(mail['source']);
  return newsOf(event, mail)
    .slice(0, RECIPIENTS_MAX)
    .map(({ address, news, happenedAt }) =>
      told(
        {
          id: [message, address],
          emailId: idOf(mail),
          ...(sender === undefined ? {} : { sender }),
          address,
          happenedAt: momentIn(happenedAt),
          news,
        },
        event,
      ),
    );
};

/** The headers are there if they are included (identity notifications), and always in events of a configuration set. */
const idOf = (mail: Json) => {
  const headers = listIn(mail, 'headers').filter(isObject);
  const valueOf = (name: string) => headers.find((header) => String(header['name']).toLowerCase() === name)?.['value'];
  return (
    emailIdIn(valueOf(ECHO_HEADER.toLowerCase())) ??
    emailIdIn(valueOf('message-id')) ??
    emailIdIn(objectIn(mail, 'commonHeaders')['messageId'])
  );
};

type OfRecipient = Readonly<{ address: string | undefined; news: ProviderNews; happenedAt: unknown }>;

const newsOf = (event: Json, mail: Json): readonly OfRecipient[] => {
  const destination = listIn(mail, 'destination').map(addressIn);
  /** About the mail as a whole: known to be about a recipient if there is one only. */
  const ofMail = (news: ProviderNews, happenedAt: unknown): readonly OfRecipient[] => [
    { address: destination.length === 1 ? destination[0] : undefined, news, happenedAt },
  ];
  switch (event['eventType'] ?? event['notificationType']) {
    case 'Delivery': {
      const delivery = objectIn(event, 'delivery');
      return listIn(delivery, 'recipients').map((recipient) => ({
        address: addressIn(recipient),
        news: delivered,
        happenedAt: delivery['timestamp'],
      }));
    }
    case 'Bounce':
      return bounced(objectIn(event, 'bounce'));
    case 'Complaint':
      return complained(objectIn(event, 'complaint'));
    case 'DeliveryDelay': {
      const delay = objectIn(event, 'deliveryDelay');
      return listIn(delay, 'delayedRecipients')
        .filter(isObject)
        .map((recipient) => ({
          address: addressIn(recipient['emailAddress']),
          news: delayed,
          happenedAt: delay['timestamp'],
        }));
    }
    case 'Reject': {
      const news = failed(blocked('content'), { text: textIn(objectIn(event, 'reject'), 'reason') });
      return destination.map((address) => ({ address, news, happenedAt: mail['timestamp'] }));
    }
    case 'Subscription': {
      const { timestamp, newTopicPreferences } = objectIn(event, 'subscription');
      const isAll = isObject(newTopicPreferences) && newTopicPreferences['unsubscribeAll'] === true;
      return ofMail(isAll ? unsubscribed : unknown, timestamp);
    }
    case 'Send':
    case 'Open':
    case 'Click':
      return ofMail(nothing, mail['timestamp']);
    default:
      return ofMail(unknown, mail['timestamp']);
  }
};

/** https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html#bounce-types */
const permanent: Readonly<Record<string, BounceReason>> = {
  General: HARD,
  NoEmail: hard('no-such-mailbox'),
  Suppressed: HARD,
  OnAccountSuppressionList: HARD,
  UnsubscribedRecipient: soft('mailbox-refused'),
};
const transient: Readonly<Record<string, BounceReason>> = {
  General: SOFT,
  MailboxFull: soft('mailbox-full'),
  MessageTooLarge: soft('too-large'),
  CustomTimeoutExceeded: soft('expired'),
  ContentRejected: blocked('content'),
  AttachmentRejected: blocked('content'),
};

const bounced = (bounce: Json): readonly OfRecipient[] => {
  const [type, sub] = [textIn(bounce, 'bounceType'), textIn(bounce, 'bounceSubType') ?? 'General'];
  const table = type === 'Permanent' ? permanent : transient;
  const reason = Object.hasOwn(table, sub) ? table[sub]! : type === 'Permanent' ? HARD : SOFT;
  return listIn(bounce, 'bouncedRecipients')
    .filter(isObject)
    .map((recipient) => {
      const words = { status: textIn(recipient, 'status'), text: textIn(recipient, 'diagnosticCode') };
      // An answer by a machine, such as a notice of absence, comes as such a bounce, without a reason of a host.
      const isAnswer = reason === SOFT && words.status === undefined && words.text === undefined;
      return {
        address: addressIn(recipient['emailAddress']),
        news: isAnswer ? unknown : failed(reason, words),
        happenedAt: bounce['timestamp'],
      };
    });
};

/** The types of RFC 5965, section 3.5, that are complaints of a recipient. */
const complaintTypes = ['abuse', 'fraud', 'virus', 'other'];

/**
 * A feedback loop often does not tell who complained. SES then lists all recipients who may have: the complaint is about
 * the mail.
 */
const complained = (complaint: Json): readonly OfRecipient[] => {
  const type = textIn(complaint, 'complaintFeedbackType') ?? 'abuse';
  const isOne = type !== 'not-spam' && type !== 'auth-failure';
  const news: ProviderNews = isOne
    ? { kind: 'complaint', feedbackType: complaintTypes.includes(type) ? type : 'other' }
    : nothing;
  const recipients = listIn(complaint, 'complainedRecipients').filter(isObject);
  const address = recipients.length === 1 ? addressIn(recipients[0]!['emailAddress']) : undefined;
  return [{ address, news, happenedAt: complaint['timestamp'] }];
};

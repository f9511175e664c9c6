/**
 * Calls of mail providers: payloads in the form of their public documentation, and the signatures that go with them.
 */
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { FeedbackProvider, ProviderCall, ProviderSettings } from '../../src/domain/ports/provider-feedback.js';

export const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:mail';
export const CERTIFICATE_URL =
  'https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem';
export const SECRET = 'the-secret-of-a-provider';

const pem = (name: string): string => readFileSync(resolve('test/support/tls', `${name}.pem`), 'utf8');
export const certificate = (name: 'valid' | 'expired' = 'valid'): string => pem(name);

const sendgridPair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
export const verificationKey = sendgridPair.publicKey.export({ format: 'der', type: 'spki' }).toString('base64');

export const providerSettings: Required<ProviderSettings> = {
  ses: { topics: [TOPIC] },
  postmark: { token: SECRET },
  sendgrid: { verificationKey },
  mailgun: { signingKey: SECRET },
  brevo: { token: SECRET },
  mailjet: { token: SECRET },
};

type Json = Readonly<Record<string, unknown>>;

const call = (body: unknown, headers: ProviderCall['headers']): ProviderCall => ({
  headers,
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
});

export const basic = (secret: string, user = 'sealpost'): string =>
  `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;

/** A call of Postmark, Brevo or Mailjet. */
export const tokenCall = (body: unknown, secret = SECRET): ProviderCall =>
  call(body, { 'content-type': 'application/json', authorization: basic(secret) });

export const sendgridCall = (body: unknown, atMs: number, key = sendgridPair.privateKey): ProviderCall => {
  const [text, timestamp] = [typeof body === 'string' ? body : JSON.stringify(body), String(Math.floor(atMs / 1_000))];
  return call(text, {
    'content-type': 'application/json',
    'x-twilio-email-event-webhook-timestamp': timestamp,
    'x-twilio-email-event-webhook-signature': sign('sha256', Buffer.from(timestamp + text), {
      key,
      dsaEncoding: 'der',
    }).toString('base64'),
  });
};

let tokens = 0;

export const mailgunCall = (event: unknown, atMs: number, { secret = SECRET, token = '' } = {}): ProviderCall => {
  const timestamp = String(Math.floor(atMs / 1_000));
  const used = token === '' ? (++tokens).toString(16).padStart(50, '0') : token;
  const signature = createHmac('sha256', secret).update(`${timestamp}${used}`).digest('hex');
  return call(
    { signature: { timestamp, token: used, signature }, 'event-data': event },
    {
      'content-type': 'application/json',
    },
  );
};

let messages = 0;

type Sns = Readonly<{ more?: Json; version?: '1' | '2'; headers?: ProviderCall['headers'] }>;

/** A message of SNS, signed with the key of `certificate('valid')`. */
export const snsCall = (
  message: unknown,
  atMs: number,
  { more = {}, version = '2', headers = {} }: Sns = {},
): ProviderCall => {
  const envelope: Record<string, unknown> = {
    Type: 'Notification',
    MessageId: `22b80b92-fdea-4c2c-8f9d-${(++messages).toString(16).padStart(12, '0')}`,
    TopicArn: TOPIC,
    Message: typeof message === 'string' ? message : JSON.stringify(message),
    Timestamp: new Date(atMs).toISOString(),
    SignatureVersion: version,
    SigningCertURL: CERTIFICATE_URL,
    ...more,
  };
  const names =
    envelope['Type'] === 'Notification'
      ? ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
      : ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
  const signed = names
    .filter((name) => envelope[name] !== undefined)
    .map((name) => `${name}\n${String(envelope[name])}\n`)
    .join('');
  const digest = version === '1' ? 'RSA-SHA1' : 'RSA-SHA256';
  const Signature = sign(digest, Buffer.from(signed), pem('key')).toString('base64');
  return call(
    { Signature, ...envelope },
    {
      'content-type': 'text/plain; charset=UTF-8',
      'x-amz-sns-message-type': String(envelope['Type']),
      'x-amz-sns-topic-arn': String(envelope['TopicArn']),
      ...headers,
    },
  );
};

export type Told = 'delivered' | 'delayed' | 'hard' | 'complaint' | 'unsubscribe' | 'open' | 'new';

type About = Readonly<{ emailId: string; address: string; at: string; id?: string }>;

/** The events of each provider about one recipient, with the id of the email as the provider repeats it. */
export const eventsOf: Readonly<Record<FeedbackProvider, (told: Told, about: About) => Json>> = {
  ses: (told, { emailId, address, at }) => {
    const mail = {
      timestamp: at,
      source: 'sender@example.com',
      messageId: 'EXAMPLE7c191be45-e9aedb9a-02f9-4d12-a87d-dd0099a07f8a-000000',
      destination: [address],
      headersTruncated: false,
      headers: [
        { name: 'From', value: 'sender@example.com' },
        { name: 'X-Sealpost-Id', value: emailId },
      ],
    };
    const names: Readonly<Record<Told, readonly [string, Json]>> = {
      delivered: [
        'Delivery',
        { delivery: { timestamp: at, recipients: [address], smtpResponse: '250 2.6.0 Message received' } },
      ],
      delayed: [
        'DeliveryDelay',
        {
          deliveryDelay: {
            timestamp: at,
            delayType: 'TransientCommunicationFailure',
            delayedRecipients: [
              { emailAddress: address, status: '4.4.1', diagnosticCode: 'smtp; 421 4.4.1 timed out' },
            ],
          },
        },
      ],
      hard: [
        'Bounce',
        {
          bounce: {
            bounceType: 'Permanent',
            bounceSubType: 'General',
            bouncedRecipients: [
              {
                emailAddress: address,
                action: 'failed',
                status: '5.1.1',
                diagnosticCode: 'smtp; 550 5.1.1 user unknown',
              },
            ],
            timestamp: at,
            feedbackId: '01000157c44f053b-61b59c11-9236-11e6-8f96-7be8aexample-000000',
            reportingMTA: 'dsn; mta.example.com',
          },
        },
      ],
      complaint: [
        'Complaint',
        {
          complaint: {
            complainedRecipients: [{ emailAddress: address }],
            timestamp: at,
            feedbackId: '01000157c44f053b-61b59c11-9236-11e6-8f96-7be8aexample-000000',
            complaintFeedbackType: 'abuse',
          },
        },
      ],
      unsubscribe: [
        'Subscription',
        {
          subscription: {
            contactList: 'ContactListName',
            timestamp: at,
            source: 'UnsubscribeHeader',
            newTopicPreferences: { unsubscribeAll: true, topicSubscriptionStatus: [] },
          },
        },
      ],
      open: ['Open', { open: { ipAddress: '192.0.2.1', timestamp: at, userAgent: 'Mozilla/5.0' } }],
      new: ['Vanished', { vanished: { timestamp: at } }],
    };
    const [eventType, more] = names[told];
    return { eventType, mail, ...more };
  },
  postmark: (told, { emailId, address, at, id = '692560173' }) => {
    const common = {
      MessageID: '883953f4-6105-42a2-a16a-77a8eac79483',
      ServerID: 23,
      MessageStream: 'outbound',
      Tag: 'welcome-email',
      Metadata: { sealpost: emailId, cohort: '2014-08-A' },
    };
    const bounce = (Type: string, TypeCode: number, Details: string): Json => ({
      RecordType: 'Bounce',
      ID: Number(id),
      Type,
      TypeCode,
      Name: Type,
      Description: 'The server was unable to deliver your message.',
      Details,
      Email: address,
      From: 'sender@example.com',
      BouncedAt: at,
      DumpAvailable: true,
      Inactive: true,
      CanActivate: true,
      Subject: 'Test',
      ...common,
    });
    switch (told) {
      case 'delivered':
        return {
          RecordType: 'Delivery',
          Recipient: address,
          DeliveredAt: at,
          Details: 'Test delivery webhook details',
          ...common,
        };
      case 'delayed':
        return bounce('Transient', 2, 'smtp;451 4.7.1 greylisted');
      case 'hard':
        return bounce('HardBounce', 1, 'smtp;550 5.1.1 The email account that you tried to reach does not exist.');
      case 'complaint':
        return { ...bounce('SpamComplaint', 512, 'Test spam complaint details'), RecordType: 'SpamComplaint' };
      case 'unsubscribe':
        return {
          RecordType: 'SubscriptionChange',
          ChangedAt: at,
          Recipient: address,
          Origin: 'Recipient',
          SuppressSending: true,
          SuppressionReason: 'ManualSuppression',
          ...common,
        };
      case 'open':
        return { RecordType: 'Open', FirstOpen: true, Recipient: address, ReceivedAt: at, ...common };
      case 'new':
        return { RecordType: 'Vanished', Recipient: address, ID: Number(id), ...common };
    }
  },
  sendgrid: (told, { emailId, address, at, id = 'sg_event_id' }) => {
    const common = {
      email: address,
      timestamp: Date.parse(at) / 1_000,
      'smtp-id': '<14c5d75ce93.dfd.64b469@ismtpd-555>',
      category: ['cat facts'],
      sg_event_id: `${id} ${told}`,
      sg_message_id: '14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0',
      sealpost: emailId,
    };
    const names: Readonly<Record<Told, Json>> = {
      delivered: { event: 'delivered', response: '250 OK', tls: 1 },
      delayed: { event: 'deferred', response: '400 try again later', attempt: '5' },
      hard: {
        event: 'bounce',
        type: 'bounce',
        status: '5.1.1',
        reason: '550 5.1.1 The email account that you tried to reach does not exist.',
        bounce_classification: 'Invalid Address',
      },
      complaint: { event: 'spamreport' },
      unsubscribe: { event: 'unsubscribe' },
      open: { event: 'open', useragent: 'Mozilla/5.0', ip: '255.255.255.255' },
      new: { event: 'vanished' },
    };
    return { ...common, ...names[told] };
  },
  mailgun: (told, { emailId, address, at, id = 'hTWCTD81RtiDN' }) => {
    const common = {
      id: `${id}-${told}`,
      timestamp: Date.parse(at) / 1_000,
      recipient: address,
      'user-variables': { sealpost: emailId },
      message: { headers: { to: address, 'message-id': '20180812211713.1.DF5966851B4BAA99@example.org' }, size: 809 },
    };
    const names: Readonly<Record<Told, Json>> = {
      delivered: { event: 'delivered', 'delivery-status': { code: 250, message: 'OK', tls: true } },
      delayed: {
        event: 'failed',
        severity: 'temporary',
        reason: 'greylisted',
        'delivery-status': { code: 450, message: 'Recipient address rejected: Greylisted', 'retry-seconds': 300 },
      },
      hard: {
        event: 'failed',
        severity: 'permanent',
        reason: 'bounce',
        'delivery-status': {
          code: 550,
          'enhanced-code': '5.1.1',
          message: '5.1.1 The email account that you tried to reach does not exist.',
        },
      },
      complaint: { event: 'complained' },
      unsubscribe: { event: 'unsubscribed' },
      open: { event: 'opened' },
      new: { event: 'vanished' },
    };
    return { ...common, ...names[told] };
  },
  brevo: (told, { emailId, address, at, id = '201798300811.5787683' }) => {
    const common = {
      email: address,
      id: 9_999_999,
      'message-id': `<${id}@smtp-relay.mailin.fr>`,
      date: '2030-01-01 13:00:00',
      ts_event: Date.parse(at) / 1_000,
      ts_epoch: Date.parse(at),
      subject: 'Test subject',
      'X-Mailin-custom': JSON.stringify({ sealpost: emailId }),
    };
    const names: Readonly<Record<Told, Json>> = {
      delivered: { event: 'delivered' },
      delayed: { event: 'deferred', reason: '450 4.7.1 greylisted' },
      hard: { event: 'hard_bounce', reason: ' RecipientError: 550 5.1.1 user unknown' },
      complaint: { event: 'spam' },
      unsubscribe: { event: 'unsubscribed' },
      open: { event: 'unique_opened' },
      new: { event: 'vanished' },
    };
    return { ...common, ...names[told] };
  },
  mailjet: (told, { emailId, address, at, id = '12345678901234567' }) => {
    const common = {
      time: Date.parse(at) / 1_000,
      Message_GUID: `1ab23cd4-e567-8901-2345-6789f0gh1i2j-${id}`,
      email: address,
      mj_campaign_id: 7_257,
      mj_contact_id: 4,
      customcampaign: '',
      CustomID: emailId,
      Payload: '',
    };
    const names: Readonly<Record<Told, Json>> = {
      delivered: { event: 'sent', mj_message_id: '19421777835146490', smtp_reply: 'sent (250 2.0.0 OK)' },
      delayed: {
        event: 'bounce',
        blocked: true,
        hard_bounce: false,
        error_related_to: 'domain',
        error: 'greylisted',
      },
      hard: {
        event: 'bounce',
        blocked: false,
        hard_bounce: true,
        error_related_to: 'recipient',
        error: 'user unknown',
      },
      complaint: { event: 'spam', source: 'JMRPP' },
      unsubscribe: { event: 'unsub', mj_list_id: 1, ip: '127.0.0.1', geo: 'FR', agent: 'List-Unsubscribe' },
      open: { event: 'open', ip: '127.0.0.1', geo: 'FR', agent: 'Mozilla/5.0' },
      new: { event: 'vanished' },
    };
    return { ...common, ...names[told] };
  },
};

/** An authentic call of the provider with that event. */
export const callOf = (provider: FeedbackProvider, event: unknown, atMs: number): ProviderCall => {
  switch (provider) {
    case 'ses':
      return snsCall(event, atMs);
    case 'sendgrid':
      return sendgridCall([event], atMs);
    case 'mailgun':
      return mailgunCall(event, atMs);
    case 'postmark':
    case 'brevo':
    case 'mailjet':
      return tokenCall(event);
  }
};

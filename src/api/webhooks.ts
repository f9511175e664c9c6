/** Requests and answers of webhook subscriptions, their deliveries, events and replays, and the bodies of the events. */
import { Type, type Static, type TObject, type TProperties } from '@sinclair/typebox';
import { domainSides } from '../domain/email/recipient-domains.js';
import { webhookKinds, type WebhookKind } from '../domain/core/event.js';
import { defaultLimits } from '../domain/core/limits.js';
import { nullable } from '../domain/core/schema.js';
import { bounceTypes } from '../domain/email/status.js';
import { closed, DeletedAt, enumOf, templateIdField, Time } from './core/common.js';

const Url = Type.String({
  minLength: 1,
  maxLength: defaultLimits.outboundUrlCharsMax,
  description: 'Address to which events are posted: https, with a valid certificate, on a public address',
});
const Kinds = Type.Array(enumOf(webhookKinds), {
  minItems: 1,
  maxItems: webhookKinds.length,
  uniqueItems: true,
  description: 'Kinds of event',
});
const Description = Type.String({ maxLength: 1_000 });

export const CreateWebhookRequestSchema = Type.Object(
  {
    url: Url,
    events: Kinds,
    description: Type.Optional(Description),
    enabled: Type.Optional(Type.Boolean({ default: true })),
  },
  closed,
);
export type CreateWebhookRequest = Static<typeof CreateWebhookRequestSchema>;

export const UpdateWebhookRequestSchema = Type.Object(
  {
    url: Type.Optional(Url),
    events: Type.Optional(Kinds),
    description: Type.Optional(Description),
    enabled: Type.Optional(
      Type.Boolean({ description: 'Events that occur while it is false are sent later only by a replay' }),
    ),
  },
  { ...closed, minProperties: 1 },
);
export type UpdateWebhookRequest = Static<typeof UpdateWebhookRequestSchema>;

const record = {
  id: Type.String({ description: '`wh_…`' }),
  url: Type.String(),
  events: Type.Array(Type.String()),
  description: Type.Optional(Type.String()),
  enabled: Type.Boolean(),
  disabledReason: Type.Optional(
    enumOf(['gone', 'failing'], 'Why it was disabled by itself: the endpoint answered 410, or failed for five days'),
  ),
  createdAt: Time,
  updatedAt: Time,
  deletedAt: DeletedAt,
};
export const WebhookRecordSchema = Type.Object(record, closed);
export type WebhookRecord = Static<typeof WebhookRecordSchema>;

const Secret = Type.String({ description: 'The signing secret (`whsec_…`); shown this once' });
export const CreatedWebhookSchema = Type.Object({ ...record, secret: Secret }, closed);
export type CreatedWebhook = Static<typeof CreatedWebhookSchema>;

export const RotateSecretRequestSchema = Type.Object(
  {
    overlapHours: Type.Optional(
      Type.Number({ minimum: 0, maximum: 168, default: 24, description: 'How long the secret before signs too' }),
    ),
  },
  closed,
);
export type RotateSecretRequest = Static<typeof RotateSecretRequestSchema>;

export const RotatedSecretSchema = Type.Object({ ...record, secret: Secret, overlapUntil: Time }, closed);
export type RotatedSecret = Static<typeof RotatedSecretSchema>;

const delivery = {
  id: Type.String({ description: '`del_…`; the same for every attempt of one event' }),
  eventId: Type.String({ description: '`evt_…`' }),
  event: Type.String({ description: 'Kind of event' }),
  status: enumOf(['success', 'failed']),
  attempt: Type.Integer(),
  statusCode: Type.Optional(Type.Integer({ description: 'HTTP status of the answer, if there was one' })),
  responseTime: Type.Integer({ description: 'Milliseconds' }),
  attemptedAt: Time,
  error: Type.Optional(Type.String({ description: 'ERASED where what the event was about is deleted or archived' })),
  nextRetryAt: Type.Optional(Time),
  response: Type.Optional(
    Type.String({ description: 'The first 1 KB of the answer; absent once what it answers is destroyed' }),
  ),
};
export const WebhookDeliverySchema = Type.Object(delivery, closed);
export type WebhookDelivery = Static<typeof WebhookDeliverySchema>;

export const WebhookDeliveriesSchema = Type.Object(
  { deliveries: Type.Array(WebhookDeliverySchema), nextCursor: nullable(Type.String()) },
  closed,
);

export const WebhookDeliveriesQuerySchema = Type.Object(
  {
    status: Type.Optional(enumOf(['success', 'failed'], 'Attempts with this result')),
    event: Type.Optional(enumOf(webhookKinds, 'Attempts to post events of this kind')),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
    cursor: Type.Optional(Type.String({ maxLength: 200 })),
  },
  closed,
);

export const WebhookEventsQuerySchema = Type.Object(
  {
    after: Type.Optional(
      Type.String({ maxLength: 100, description: 'Id of an event of this subscription; absent: from its first' }),
    ),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
  },
  closed,
);
export type WebhookEventsQuery = Static<typeof WebhookEventsQuerySchema>;

export const WebhookEventsSchema = Type.Object(
  {
    events: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          previousId: nullable(Type.String()),
          event: Type.String(),
          timestamp: Time,
          body: nullable(
            Type.String({ description: 'The body as it is posted, byte for byte; null where it is erased' }),
          ),
        },
        closed,
      ),
    ),
    hasMore: Type.Boolean(),
  },
  closed,
);
export type WebhookEvents = Static<typeof WebhookEventsSchema>;

export const ReplayWebhookRequestSchema = Type.Object(
  { since: Time, until: Type.Optional(Time), events: Type.Optional(Kinds) },
  closed,
);
export type ReplayWebhookRequest = Static<typeof ReplayWebhookRequestSchema>;

export const ReplayedWebhookSchema = Type.Object(
  { replayId: Type.String(), from: Type.Integer(), to: Type.Integer() },
  {
    ...closed,
    description:
      'The numbers of the events that are looked at; those of the wanted kinds and time are sent again. What was missed follows with numbers of its own',
  },
);
export type ReplayedWebhook = Static<typeof ReplayedWebhookSchema>;

export const WebhookRetriedSchema = Type.Object(
  { id: Type.String(), eventId: Type.String(), nextRetryAt: Time },
  closed,
);

const Recipient = nullable(
  Type.String({ description: 'Address of the recipient; of an event of the whole mail, that of the first recipient' }),
);

/** Fields of all events of an email, but for `status` and those of its kind. */
const emailFields = {
  emailLogId: Type.String({ format: 'uuid' }),
  recipient: Recipient,
  subject: Type.String(),
  templateId: templateIdField,
  messageId: Type.String({ description: 'RFC 5322 Message-ID' }),
  batchId: Type.Optional(Type.String({ format: 'uuid', description: 'The bulk send that the email belongs to' })),
  test: Type.Optional(Type.Boolean({ description: 'True where a test key, or a test of the subscription, sent it' })),
  tags: Type.Optional(Type.Array(Type.String())),
  metadata: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: 'The `metadata` of the call, where it had any' }),
  ),
  truncated: Type.Optional(
    Type.Array(Type.String(), { description: 'Names of the fields that are left out, so that the body has 256 KB' }),
  ),
};

/** Only in events of the whole mail. */
const recipients = Type.Array(nullable(Type.String()), { description: 'All recipients; null: erased' });

/** Fields of a refusal. */
const reply = {
  reason: Type.String({ description: 'The rule that classified the reply, or why no host was asked' }),
  replyCode: nullable(Type.Integer({ description: 'SMTP reply code' })),
  reply: nullable(Type.String({ description: 'The reply in words' })),
};

/** Fields of an opening or a click. */
const visit = {
  userAgent: nullable(Type.String()),
  ipAddress: nullable(Type.String()),
  machine: Type.Boolean({ description: 'True where a proxy or a scanner did it, no person' }),
  machineRule: Type.Optional(Type.String({ description: 'Why it is taken for a machine' })),
  times: Type.Optional(
    Type.Integer({ description: 'How often since the event before for the same thing; absent: once' }),
  ),
};

const batchFields = {
  batchId: Type.String({ format: 'uuid' }),
  batchName: nullable(Type.String()),
  templateId: templateIdField,
  totalEmails: Type.Integer(),
  test: Type.Optional(Type.Boolean({ description: 'Sent with a test key' })),
};

/** `when`: what the event says, after the name of its component. */
type WebhookEventKind = Readonly<{ when: string; data: TObject; example: Readonly<Record<string, unknown>> }>;

const exampleAt = '2030-01-31T09:30:02.000Z';

const emailExample = {
  emailLogId: '018c3c0e-5a4e-7b1c-9d3f-2a6b8c0d4e1f',
  recipient: 'ada@example.com',
  subject: 'Your order NW-10482',
  templateId: '018c3c0e-1111-7b1c-9d3f-2a6b8c0d4e1f',
  messageId: '<018c3c0e-5a4e-7b1c-9d3f-2a6b8c0d4e1f@example.com>',
  metadata: { order: 'NW-10482' },
};

const batchExample = {
  batchId: '018c3c0e-2222-7b1c-9d3f-2a6b8c0d4e1f',
  batchName: 'January',
  templateId: emailExample.templateId,
  totalEmails: 1_000,
};

/** Events with fields in common: those of an email, or of a bulk send. */
const eventsWith =
  (fields: TProperties, values: Readonly<Record<string, unknown>>) =>
  (
    when: string,
    status: string,
    details: TProperties,
    example: Readonly<Record<string, unknown>>,
  ): WebhookEventKind => ({
    when,
    data: Type.Object({ ...fields, status: Type.Literal(status), ...details }, closed),
    example: { ...values, status, ...example },
  });
const ofEmail = eventsWith(emailFields, emailExample);
const ofBatch = eventsWith(batchFields, batchExample);

const Bounce = {
  bouncedAt: Time,
  bounceType: enumOf(bounceTypes),
  bounceSubType: Type.String(),
  bounceMessage: Type.Optional(nullable(Type.String({ description: 'The reply in words' }))),
};

const refused = { reason: 'mailbox-full', replyCode: 452, reply: '452 4.2.2 The mailbox is full' };

const visited = { userAgent: 'Mozilla/5.0', ipAddress: '192.0.2.7', machine: false };

const kindsOfEvents: Readonly<Record<WebhookKind, WebhookEventKind>> = {
  'email.queued': ofEmail(
    'An email was accepted, or is tried again by hand',
    'queued',
    { recipients, queuedAt: Time, retryCount: Type.Optional(Type.Integer()) },
    { recipients: ['ada@example.com'], queuedAt: exampleAt },
  ),
  'email.scheduled': ofEmail(
    'An email was accepted for later, or has another time',
    'scheduled',
    { recipients, scheduledAt: Time },
    { recipients: ['ada@example.com'], scheduledAt: '2030-02-01T08:00:00.000Z' },
  ),
  'email.cancelled': ofEmail(
    'An email was cancelled',
    'cancelled',
    { recipients, cancelledAt: Time },
    { recipients: ['ada@example.com'], cancelledAt: exampleAt },
  ),
  'email.sent': ofEmail(
    'The relay accepted an email for one recipient',
    'sent',
    { sentAt: Time },
    { sentAt: exampleAt },
  ),
  'email.delivered': ofEmail(
    'The host of a recipient has an email',
    'delivered',
    { deliveredAt: Time },
    { deliveredAt: exampleAt },
  ),
  'email.deferred': ofEmail(
    'An email was refused for now and is tried again',
    'queued',
    { deferredAt: Time, nextAttemptAt: Time, ...reply },
    { deferredAt: exampleAt, nextAttemptAt: '2030-01-31T09:31:02.000Z', ...refused },
  ),
  'email.bounced': ofEmail('An email was refused for good, at once or by a later report', 'bounced', Bounce, {
    bouncedAt: exampleAt,
    bounceType: 'hard',
    bounceSubType: 'no-mailbox',
    bounceMessage: '550 5.1.1 There is no such mailbox',
  }),
  'email.complained': ofEmail(
    'A report says that a recipient marked an email as spam',
    'complained',
    {
      recipients: Type.Optional(recipients),
      complainedAt: Time,
      feedbackType: Type.String({ description: 'As RFC 5965 has it' }),
    },
    { complainedAt: exampleAt, feedbackType: 'abuse' },
  ),
  'email.failed': ofEmail(
    'Nothing more is tried for a recipient',
    'failed',
    { failedAt: Time, ...reply },
    { failedAt: exampleAt, ...refused },
  ),
  'email.suppressed': ofEmail(
    'An email was not sent to a recipient on the suppression list',
    'suppressed',
    { suppressedAt: Time },
    { suppressedAt: exampleAt },
  ),
  'email.opened': ofEmail(
    'A reader or a machine opened an email',
    'opened',
    { openedAt: Time, ...visit },
    {
      openedAt: exampleAt,
      ...visited,
    },
  ),
  'email.clicked': ofEmail(
    'A reader or a machine followed a link of an email',
    'clicked',
    { clickedAt: Time, url: nullable(Type.String()), ...visit },
    { clickedAt: exampleAt, url: 'https://shop.example.com/orders/NW-10482', ...visited },
  ),
  'email.unsubscribed': {
    when: 'A recipient left the list by the link of an email',
    data: Type.Object(
      {
        emailLogId: Type.String({ format: 'uuid' }),
        recipient: nullable(Type.String({ description: 'null where the email was archived before' })),
        list: nullable(Type.String({ description: 'null: all mails' })),
        unsubscribedAt: Time,
      },
      closed,
    ),
    example: {
      emailLogId: emailExample.emailLogId,
      recipient: 'ada@example.com',
      list: 'newsletter',
      unsubscribedAt: exampleAt,
    },
  },
  'domain.alerted': {
    when: 'Too many recipients of a domain bounced or complained on a day',
    data: Type.Object(
      {
        domain: Type.String(),
        side: enumOf(domainSides, '`recipient`: a mailbox provider; `sender`: a sender domain of the team'),
        measure: enumOf(['bounce', 'complaint']),
        day: Type.String({ format: 'date', description: 'In UTC' }),
        recipients: Type.Integer(),
        hits: Type.Integer({ description: 'How many of them bounced, or complained' }),
        percent: Type.Number(),
        boundPercent: Type.Number(),
        alertedAt: Time,
      },
      closed,
    ),
    example: {
      domain: 'gmail.com',
      side: 'recipient',
      measure: 'bounce',
      day: exampleAt.slice(0, 10),
      recipients: 1_000,
      hits: 61,
      percent: 6.1,
      boundPercent: 5,
      alertedAt: exampleAt,
    },
  },
  'batch.completed': ofBatch(
    'All emails of a bulk send have come to an end',
    'completed',
    { sent: Type.Integer(), failed: Type.Integer(), cancelled: Type.Integer(), completedAt: Time },
    { sent: 997, failed: 3, cancelled: 0, completedAt: exampleAt },
  ),
  'batch.cancelled': ofBatch(
    'A bulk send was cancelled',
    'cancelled',
    { cancelledAt: Time },
    { cancelledAt: exampleAt },
  ),
};

/** The body of the events of one kind: a component of the API description, and an example. */
export type WebhookBody = Readonly<{
  kind: WebhookKind;
  name: string;
  when: string;
  schema: TObject;
  example: unknown;
}>;

/** `email.sent` has the body `EmailSentEvent`. */
const bodyName = (kind: WebhookKind): string =>
  `${kind.replace(/(?:^|[.-])([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`;

/** The bodies that endpoints are sent, by kind. */
export const webhookBodies: readonly WebhookBody[] = webhookKinds.map((kind) => {
  const { when, data, example } = kindsOfEvents[kind];
  return {
    kind,
    name: bodyName(kind),
    when,
    schema: Type.Object({ event: Type.Literal(kind), timestamp: Time, data }, closed),
    example: { event: kind, timestamp: exampleAt, data: example },
  };
});

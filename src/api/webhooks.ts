/** Requests and answers of webhook subscriptions, their deliveries, events and replays. */
import { Type, type Static } from '@sinclair/typebox';
import { webhookKinds } from '../domain/core/event.js';
import { defaultLimits } from '../domain/core/limits.js';
import { nullable } from '../domain/core/schema.js';
import { closed, DeletedAt, enumOf, Time } from './core/common.js';

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

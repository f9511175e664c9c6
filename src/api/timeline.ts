/** What happened to one email, as callers see it. */
import { Type, type Static } from '@sinclair/typebox';
import { recipientRoles } from '../domain/email/email-status.js';
import { defaultLimits as limits } from '../domain/core/limits.js';
import { nullable } from '../domain/core/schema.js';
import { closed, enumOf, Time } from './core/common.js';

export const TimelineQuerySchema = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: limits.pageSizeMax, default: limits.pageSizeDefault, description: 'Entries per page' }),
    ),
    cursor: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1_024, description: '`meta.nextCursor` of the page before: continues behind its last entry' }),
    ),
  },
  closed,
);

const RecipientSchema = Type.Object(
  {
    place: Type.Integer({ description: 'Among to, cc and bcc, from 0' }),
    role: enumOf(recipientRoles),
    email: nullable(Type.String({ description: 'null once it is destroyed' })),
    result: Type.Optional(Type.String()),
    replyCode: Type.Optional(nullable(Type.Integer())),
    enhancedCode: Type.Optional(nullable(Type.String())),
    reply: Type.Optional(Type.String({ description: 'Absent once archived' })),
  },
  closed,
);

const EntrySchema = Type.Object(
  {
    id: Type.String({ description: 'Id of the event; of an attempt of a webhook, that of the delivery and the number of the attempt' }),
    kind: Type.String({ description: 'Kind of the event, e.g. `EmailQueued`, `DeliveryAttempted`, `WebhookAttempted`' }),
    stream: Type.String({ description: 'Where it is recorded' }),
    at: Time,
    actor: Type.String({ description: '`apiKey:<id>`, `processor:<name>`, `cli`, `system`, …' }),
    cause: Type.Object(
      {
        kind: enumOf(['request', 'event'] as const),
        id: Type.String({ description: 'The request id, or the id of the event that led to it' }),
      },
      closed,
    ),
    requestId: Type.String({ description: 'Of the call at the root of it' }),
    durationMs: nullable(Type.Number({ description: 'How long it took: the SMTP dialogue, or the answer of an endpoint' })),
    sinceMs: nullable(Type.Integer({ description: 'Since the entry before; null of the first' })),
    recipients: Type.Array(RecipientSchema, { description: 'Whom it is about; empty where it is about the email' }),
    details: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]), {
      description: 'What else the event says; of an attempt of a webhook `deliveryId`, `event`, `attempt`, `status`, `statusCode` and more',
    }),
  },
  closed,
);

export const TimelineSchema = Type.Object(
  {
    data: Type.Array(EntrySchema),
    meta: Type.Object(
      {
        limit: Type.Integer(),
        total: Type.Integer(),
        nextCursor: nullable(Type.String()),
        webhooksComplete: Type.Boolean({
          description: 'False where so much was sent to an endpoint since that some attempts may be missing here: its deliveries list them',
        }),
      },
      closed,
    ),
  },
  closed,
);
export type Timeline = Static<typeof TimelineSchema>;

/** Live events: the query of the stream, and the data of its events. */
import { Type, type Static } from '@sinclair/typebox';
import { liveTopics } from '../domain/live/changes.js';
import { ApprovalSchema } from './approvals.js';
import { BatchStatusSchema } from './bulk.js';
import { closed, enumOf } from './core/common.js';
import { EmailListItemSchema, QueueStatsSchema } from './email.js';
import { WebhookRecordSchema } from './webhooks.js';

export const LiveQuerySchema = Type.Object(
  {
    topics: Type.Array(enumOf(liveTopics), {
      minItems: 1,
      maxItems: 2 * liveTopics.length,
      description: 'With commas between them. Each needs the permission of its list',
    }),
    lastEventId: Type.Optional(
      Type.String({
        maxLength: 100,
        description:
          'The `id` of the last event that another stream has brought: what has changed since is told. The header `Last-Event-ID`, which a browser sends by itself when it connects again, comes first',
      }),
    ),
  },
  closed,
);
export type LiveQuery = Static<typeof LiveQuerySchema>;

const removed = Type.Array(Type.String(), { description: 'Ids of those that the list does not show any more' });

export const LiveChangesSchema = Type.Object(
  {
    emails: Type.Optional(Type.Object({ changed: Type.Array(EmailListItemSchema), removed }, closed)),
    batches: Type.Optional(Type.Object({ changed: Type.Array(BatchStatusSchema), removed }, closed)),
    webhooks: Type.Optional(
      Type.Object(
        {
          changed: Type.Array(WebhookRecordSchema),
          removed,
          attempted: Type.Array(Type.String(), {
            description: 'Ids of subscriptions to which deliveries were attempted',
          }),
        },
        closed,
      ),
    ),
    queue: Type.Optional(QueueStatsSchema),
    approvals: Type.Optional(Type.Object({ changed: Type.Array(ApprovalSchema), removed }, closed)),
  },
  closed,
);

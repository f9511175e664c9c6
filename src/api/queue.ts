/** How much a team has waiting. */
import { Type, type Static } from '@sinclair/typebox';
import { nullable } from '../domain/core/schema.js';
import { closed, Time } from './core/common.js';

const numbers = {
  depth: Type.Integer({ description: 'Emails that are due: they wait for nothing but their turn, or are in their SMTP dialogue' }),
  oldestQueuedAt: nullable(
    Type.String({ format: 'date-time', description: 'Since when the one that has waited longest for its turn is due' }),
  ),
  oldestAgeSeconds: nullable(Type.Integer()),
  ratePerMinute: Type.Number({ description: 'How many a minute came to an end, or to their next pause, in the last five minutes' }),
  estimatedSeconds: nullable(Type.Integer({ description: 'Until all that is due has left at that rate; null where the rate is 0' })),
  deferred: Type.Integer({ description: 'Emails that wait for another attempt' }),
  held: Type.Integer({ description: 'Emails that wait for the relay to take sessions' }),
  scheduled: Type.Integer({ description: 'Emails that wait for their `scheduledAt`' }),
};
const Numbers = Type.Object(numbers, closed);

export const QueueStatsSchema = Type.Object(
  { asOf: Time, ...numbers, priorities: Type.Object({ high: Numbers, normal: Numbers, low: Numbers }, closed) },
  closed,
);
export type QueueStats = Static<typeof QueueStatsSchema>;

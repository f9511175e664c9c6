/** What became of the events of one email at the endpoints that heard of them. */
import type { TimelineEntry, TimelineRecipient, Placed } from '../email/timeline.js';
import type { DeliveryListing } from './delivery.js';

/** An event of the log that subscriptions may hear of, of one recipient where it is about one. */
export type WebhookCause = Readonly<{ eventId: string; requestId: string; at: string; recipients: readonly TimelineRecipient[] }>;

/** One attempt, and where what came of it stands in the log. */
export type TrailAttempt = Readonly<{ webhook: string; position: number; index: number; item: DeliveryListing; cause: WebhookCause }>;

/** `isComplete`: false where there is more of it than one question looks through. */
export type WebhookTrail = Readonly<{ attempts: readonly TrailAttempt[]; isComplete: boolean }>;

export const placedAttempt = ({ webhook, position, index, item, cause }: TrailAttempt): Placed => {
  const { id, eventId, event, status, attempt, statusCode, responseTime, attemptedAt, error, nextRetryAt } = item;
  const entry: TimelineEntry = {
    id: `${id}.${attempt}`,
    kind: 'WebhookAttempted',
    stream: `webhook-${webhook}`,
    at: attemptedAt,
    actor: 'processor:deliver-webhooks',
    cause: { kind: 'event', id: cause.eventId },
    requestId: cause.requestId,
    durationMs: responseTime,
    recipients: [...cause.recipients],
    details: {
      deliveryId: id,
      eventId,
      event,
      attempt,
      status,
      statusCode: statusCode ?? null,
      ...(error === undefined ? {} : { error }),
      ...(nextRetryAt === undefined ? {} : { nextRetryAt }),
    },
  };
  return { position, index, entry };
};

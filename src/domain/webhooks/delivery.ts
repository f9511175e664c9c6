/** Records of deliveries as they are shown. */
import { deliveryId, webhookEventId } from './event-id.js';
import type { WebhookOutcome } from './events.js';

/** What is shown of one attempt to deliver an event. `nextRetryAt` stands only where it is tried again by itself. */
export type DeliveryListing = {
  id: string;
  eventId: string;
  event: string;
  status: 'success' | 'failed';
  attempt: number;
  statusCode?: number;
  /** In milliseconds. */
  responseTime: number;
  attemptedAt: string;
  error?: string;
  nextRetryAt?: string;
  /** The beginning of the answer. */
  response?: string;
};

export const deliveryListing = (outcome: WebhookOutcome, answer: string | null | undefined): DeliveryListing => ({
  id: deliveryId(outcome.number, outcome.key),
  eventId: webhookEventId(outcome.number, outcome.key),
  event: outcome.kind,
  status: outcome.result,
  attempt: outcome.attempt,
  ...(outcome.statusCode === undefined ? {} : { statusCode: outcome.statusCode }),
  responseTime: outcome.responseMs,
  attemptedAt: outcome.attemptedAt,
  ...(outcome.error === undefined ? {} : { error: outcome.error }),
  ...(outcome.nextRetryAt === undefined ? {} : { nextRetryAt: outcome.nextRetryAt }),
  ...(answer === null || answer === undefined || answer === '' ? {} : { response: answer }),
});

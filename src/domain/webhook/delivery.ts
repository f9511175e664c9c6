/** How long records of deliveries are kept. */
export const RECORD_DAYS = 30;

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

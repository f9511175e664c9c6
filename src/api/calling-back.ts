/** What is asked and answered where an email is given another time, or cancelled. */
import { Type, type Static } from '@sinclair/typebox';
import { emailStatuses } from '../domain/email/email-status.js';
import { closed, enumOf, Time } from './core/common.js';

export const RescheduleEmailRequestSchema = Type.Object(
  {
    scheduledAt: Type.String({
      format: 'date-time',
      description: 'ISO 8601 with a zone, in the future',
      examples: ['2030-01-31T09:30:00+01:00'],
    }),
  },
  closed,
);
export type RescheduleEmailRequest = Static<typeof RescheduleEmailRequestSchema>;

export const RescheduleEmailResponseSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    status: enumOf(emailStatuses),
    message: Type.String(),
    scheduledAt: Time,
    estimatedDeliveryAt: Time,
  },
  closed,
);
export type RescheduleEmailResponse = Static<typeof RescheduleEmailResponseSchema>;

export const CancelEmailResponseSchema = Type.Object(
  { id: Type.String({ format: 'uuid' }), status: enumOf(emailStatuses), message: Type.String(), cancelledAt: Time },
  closed,
);
export type CancelEmailResponse = Static<typeof CancelEmailResponseSchema>;

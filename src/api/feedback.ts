/** What is answered to a report that a host has piped in. */
import { Type, type Static } from '@sinclair/typebox';
import { bounceTypes, emailStatuses } from '../domain/email/email-status.js';
import { nullable } from '../domain/core/schema.js';
import { closed, enumOf } from './core/common.js';

export const feedbackKinds = ['delivery-status', 'complaint', 'other'] as const;

/**
 * `recorded`: it has changed where the email stands. `unchanged`: it says what is known already, or nothing final. `gone`: the email is
 * archived or deleted, and nothing is recorded of it any more.
 */
export const feedbackOutcomes = ['recorded', 'unchanged', 'gone'] as const;

export const FeedbackQuerySchema = Type.Object(
  {
    recipient: Type.Optional(
      Type.String({
        maxLength: 320,
        description: 'The envelope recipient of the report, where the host knows it; otherwise it is looked for in the report',
      }),
    ),
  },
  closed,
);
export type FeedbackQuery = Static<typeof FeedbackQuerySchema>;

export const FeedbackResponseSchema = Type.Object(
  {
    emailId: Type.String({ format: 'uuid' }),
    kind: enumOf(feedbackKinds),
    outcome: enumOf(feedbackOutcomes),
    status: enumOf(emailStatuses),
    recipients: Type.Array(
      Type.Object(
        {
          action: enumOf(['failed', 'delivered', 'delayed', 'relayed', 'expanded', 'complained'] as const),
          bounceType: nullable(enumOf(bounceTypes)),
          bounceSubType: nullable(Type.String()),
        },
        closed,
      ),
      { description: 'What the report says, one for each recipient that it names' },
    ),
  },
  closed,
);
export type FeedbackResponse = Static<typeof FeedbackResponseSchema>;

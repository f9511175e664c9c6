/** The request and the answers of a call that sends several different emails. */
import { Type, type Static } from '@sinclair/typebox';
import { emailStatuses } from '../domain/email/status.js';
import { defaultLimits as limits } from '../domain/core/limits.js';
import { closed, enumOf, ErrorBodySchema } from './core/common.js';
import { SendEmailRequestSchema, SendEmailResponseSchema } from './email.js';

export const SendEmailsRequestSchema = Type.Object(
  {
    emails: Type.Array(SendEmailRequestSchema, {
      minItems: 1,
      maxItems: limits.callEmailsMax,
      description: `1 to ${limits.callEmailsMax} emails, each as in the call that sends one`,
    }),
    allOrNone: Type.Optional(
      Type.Boolean({
        description: 'Accepts all emails or none: one that is refused refuses the call with `EMAILS_REFUSED`',
      }),
    ),
    dryRun: Type.Optional(Type.Boolean({ description: 'Only checks the emails; nothing is stored or sent' })),
  },
  closed,
);
export type SendEmailsRequest = Static<typeof SendEmailsRequestSchema>;

const { id, messageId, recipientCount, attachmentCount, queuedAt, estimatedDeliveryAt, warnings } =
  SendEmailResponseSchema.properties;
const { errors, relatedInfo, retryAfter } = ErrorBodySchema.properties;

/** One schema for all results: an accepted email has what the call that sends one answers. */
export const SendEmailsResultSchema = Type.Object(
  {
    index: Type.Integer({ description: 'Place in `emails`, from 0' }),
    status: enumOf(
      [...emailStatuses, 'refused', 'unknown', 'valid'] as const,
      '`refused`: see `error`; `unknown`: a server or a disk did not answer, so the email may have been accepted; `valid`: a dry run would accept it',
    ),
    id: Type.Optional(id),
    messageId: Type.Optional(messageId),
    recipientCount: Type.Optional(recipientCount),
    attachmentCount: Type.Optional(attachmentCount),
    queuedAt: Type.Optional(queuedAt),
    estimatedDeliveryAt: Type.Optional(estimatedDeliveryAt),
    warnings,
    credits: Type.Optional(Type.Integer({ description: 'With `dryRun`: what the email would cost' })),
    error: Type.Optional(
      Type.Object(
        {
          code: Type.String({ description: 'The code with which the call for that email alone would be refused' }),
          message: Type.String(),
          errors,
          relatedInfo,
          retryAfter,
        },
        closed,
      ),
    ),
  },
  closed,
);
export type SendEmailsResult = Static<typeof SendEmailsResultSchema>;

/** The result of an email that was not accepted. */
export type RefusedEmail = Readonly<{
  index: number;
  status: 'refused' | 'unknown';
  error: NonNullable<SendEmailsResult['error']>;
}>;

export const SendEmailsResponseSchema = Type.Object(
  {
    accepted: Type.Integer({ description: 'How many emails were accepted; with `dryRun`: would be' }),
    refused: Type.Integer({ description: 'How many emails were refused; with `dryRun`: would be' }),
    valid: Type.Optional(Type.Boolean({ description: 'With `dryRun`: true where no email would be refused' })),
    credits: Type.Optional(Type.Integer({ description: 'With `dryRun`: the cost of those that would be accepted' })),
    results: Type.Array(SendEmailsResultSchema, { description: 'One for each email, in the order of the call' }),
  },
  closed,
);
export type SendEmailsResponse = Static<typeof SendEmailsResponseSchema>;

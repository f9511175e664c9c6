/** What an email's record tells of each recipient. */
import { Type } from '@sinclair/typebox';
import { bounceTypes, recipientRoles, recipientStatuses } from '../domain/email/email-status.js';
import { nullable } from '../domain/core/schema.js';
import { closed, enumOf, Time } from './core/common.js';
import { clickedAt, openedAt } from './tracking.js';

export const RecipientStateSchema = Type.Object(
  {
    email: nullable(Type.String({ description: 'null once the email is archived, or the recipient is erased' })),
    name: nullable(Type.String()),
    role: enumOf(recipientRoles),
    status: enumOf(recipientStatuses),
    erased: Type.Optional(
      Type.Literal(true, {
        description: 'There where what was held about this recipient is destroyed, and the email goes on for the others',
      }),
    ),
    replyCode: nullable(Type.Integer({ description: 'SMTP reply code of the last attempt' })),
    enhancedCode: nullable(Type.String({ description: 'Enhanced status code (RFC 3463)' })),
    rule: nullable(Type.String({ description: 'The rule that classified the reply' })),
    reply: nullable(Type.String({ description: 'The reply in words; null once archived' })),
    bounceType: Type.Optional(enumOf(bounceTypes)),
    bounceSubType: Type.Optional(Type.String({ description: 'These are there where a report has told of it later' })),
    reportedAt: Type.Optional(Time),
    simulated: Type.Optional(
      Type.Literal(true, { description: 'No host was asked: it was sent with a test key, or the address is one of the simulator' }),
    ),
    openedAt,
    clickedAt,
  },
  closed,
);

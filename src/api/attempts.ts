/** The attempts to deliver an email, as its log record shows them. */
import { Type } from '@sinclair/typebox';
import { nullable } from '../domain/core/schema.js';
import { closed, enumOf, Time } from './core/common.js';

export const AttemptRecordSchema = Type.Object(
  {
    attempt: Type.Integer(),
    startedAt: Time,
    endedAt: nullable(Time),
    host: Type.String(),
    durationMs: nullable(Type.Number()),
    outcome: nullable(enumOf(['sent', 'deferred', 'bounced', 'failed', 'interrupted'] as const)),
    replyCode: nullable(Type.Integer()),
    reply: nullable(Type.String({ description: 'null once archived' })),
    nextAttemptAt: nullable(Time),
  },
  closed,
);

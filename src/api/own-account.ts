/** What people do with their own account: their password, their sessions, and going. */
import { Type, type Static } from '@sinclair/typebox';
import { defaultLimits as limits } from '../domain/core/limits.js';
import { nullable } from '../domain/core/schema.js';
import { closed, Time } from './core/common.js';
import { Code, Password } from './second-factor.js';

export const ChangePasswordRequestSchema = Type.Object(
  {
    currentPassword: Password,
    newPassword: Type.String({
      minLength: 1,
      maxLength: limits.passwordCharsMax,
      description: `At least ${limits.passwordCharsMin} characters, and none of the passwords that are tried first`,
    }),
  },
  closed,
);
export type ChangePasswordRequest = Static<typeof ChangePasswordRequestSchema>;

export const SessionRecordSchema = Type.Object(
  {
    id: Type.String({ description: '`ses_…`' }),
    current: Type.Boolean({ description: 'Whether it is the session that calls' }),
    startedAt: Time,
    lastUsedAt: Type.String({ format: 'date-time', description: 'When it was refreshed last' }),
    expiresAt: Type.String({ format: 'date-time', description: 'When it ends where it is not refreshed before' }),
    secondFactor: Type.Boolean({ description: 'Whether a code was given in it' }),
    ipAddress: nullable(Type.String({ description: 'From where it was begun' })),
    userAgent: nullable(Type.String({ description: 'What the program said of itself that began it' })),
  },
  closed,
);
export type SessionRecord = Static<typeof SessionRecordSchema>;

export const EraseOwnUserRequestSchema = Type.Object({ password: Password, code: Type.Optional(Code) }, closed);
export type EraseOwnUserRequest = Static<typeof EraseOwnUserRequestSchema>;

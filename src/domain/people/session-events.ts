/** The facts of one session of a person: the family of refresh tokens that came from one sign-in. */
import { Type } from '@sinclair/typebox';
import { oneOf } from '../core/schema.js';
import { text, type EventsOf } from '../core/stored.js';

export const sessionEventSchemas = {
  /** `epoch`: how often all sessions of the person had been ended before. `hash`: SHA-256 (hex) of the refresh token. */
  SessionStarted: {
    data: Type.Object({ at: text, userId: text, epoch: Type.Integer(), hash: text, expiresAt: text, secondFactor: Type.Boolean() }),
    sealed: Type.Object({ ipAddress: text, userAgent: text }),
  },
  SessionRefreshed: { data: Type.Object({ at: text, hash: text, expiresAt: text }) },
  /** The second factor was given after the sign-in. */
  SessionSecondFactorGiven: { data: Type.Object({ at: text }) },
  /** `reuse`: a refresh token was used that had been replaced. */
  SessionEnded: {
    data: Type.Object({ at: text, reason: oneOf(['logout', 'reuse', 'password', 'erased', 'revoked', 'expired']) }),
  },
} as const;

export type SessionEvent = EventsOf<typeof sessionEventSchemas>;

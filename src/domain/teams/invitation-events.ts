/** The facts of an invitation that are no facts of its team: to which address it goes, and by which token it is accepted. */
import { Type } from '@sinclair/typebox';
import { oneOf } from '../core/schema.js';
import { text, type EventsOf } from '../core/stored.js';

export const invitationEventSchemas = {
  InvitationMade: {
    data: Type.Object({ at: text, tokenHash: text, expiresAt: text }),
    sealed: Type.Object({ email: text }),
  },
  /** The token before ends. */
  InvitationTokenMade: { data: Type.Object({ at: text, tokenHash: text, expiresAt: text }) },
  InvitationClosed: { data: Type.Object({ at: text, reason: oneOf(['accepted', 'revoked', 'lapsed']) }) },
} as const;

export type InvitationEvent = EventsOf<typeof invitationEventSchemas>;

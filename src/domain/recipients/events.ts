/** Whether a team writes to one address, or of one list. The stream is named by an HMAC of these; the address itself is sealed. */
import { Type } from '@sinclair/typebox';
import { oneOf } from '../core/schema.js';
import { text, type EventsOf } from '../core/stored.js';

/** Frozen: what was ever written. */
const storedReason = oneOf(['hard-bounce', 'complaint', 'unsubscribe', 'manual', 'import']);

export const suppressionEventSchemas = {
  /**
   * From here on the team does not write to it, or of that list alone. `emailId`: of the email that was refused or complained about, or
   * whose link was followed, where there is one. The address is absent where it was destroyed before.
   */
  AddressSuppressed: {
    data: Type.Object({ at: text, reason: storedReason, emailId: Type.Optional(text), list: Type.Optional(text) }),
    sealed: Type.Object({ address: Type.Optional(text) }),
  },
  SuppressionRemoved: { data: Type.Object({ at: text }) },
  /** The address goes with the key of the stream, and stays suppressed. Of one that is not, the removal is said again after it. */
  SuppressedAddressErased: { data: Type.Object({ at: text }) },
} as const;

export type SuppressionEvent = EventsOf<typeof suppressionEventSchemas>;

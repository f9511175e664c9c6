/**
 * Events of one suppressed address of a team, or of an address and one list. The stream id is an HMAC of these; the
 * address is encrypted.
 */
import { Type } from '@sinclair/typebox';
import { oneOf } from '../core/schema.js';
import { text } from '../core/stored-schemas.js';
import { event, type EventDefinitions, type EventsOf } from '../core/event.js';

/** Frozen: values that stored events may have. */
const storedReason = oneOf(['hard-bounce', 'complaint', 'unsubscribe', 'manual', 'import']);

export const suppressionEvents = {
  /**
   * The team no longer writes to the address; with `list`, it sends it no mail of that list. `emailId`: the email that
   * bounced, was complained about, or whose unsubscribe link was followed. `address` is absent if it was erased before.
   */
  AddressSuppressed: event({
    data: Type.Object({ at: text, reason: storedReason, emailId: Type.Optional(text), list: Type.Optional(text) }),
    sealed: Type.Object({ address: Type.Optional(text) }),
    audit: { category: 'settings', action: 'suppression.added', ofCallers: true },
    /** Other reasons, such as an import, come from the team itself. */ webhooks: ({ reason, emailId }) =>
      reason === 'unsubscribe' && emailId !== undefined ? [{ kind: 'email.unsubscribed' }] : [],
  }),
  /**
   * A host refused the address in this email without a reason: it is not suppressed, unless a second email ends so.
   * Holds no address.
   */
  AddressRefused: { data: Type.Object({ at: text, emailId: text }) },
  SuppressionRemoved: {
    data: Type.Object({ at: text }),
    audit: { category: 'settings', action: 'suppression.removed', ofCallers: true },
  },
  /**
   * The key of the stream is destroyed, and the address with it. A suppressed address stays suppressed; otherwise
   * SuppressionRemoved follows again.
   */
  SuppressedAddressErased: { data: Type.Object({ at: text }), erases: true },
} as const satisfies EventDefinitions;

export type SuppressionEvent = EventsOf<typeof suppressionEvents>;

/** The events of each kind of stream. */
export const recipientStreams = { suppression: suppressionEvents } as const;

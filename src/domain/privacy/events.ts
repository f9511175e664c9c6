/**
 * The erasure of one address for a team. The address is sealed, and goes with the key of the stream when nothing is
 * left to be erased.
 */
import { Type } from '@sinclair/typebox';
import { text } from '../core/stored-schemas.js';
import type { EventDefinitions, EventsOf } from '../core/event.js';

const ids = Type.Array(text);

export const erasureEvents = {
  /** `suppressionId`: the id that the address has among the team's suppressions, made of an HMAC of both. */
  ErasureRequested: {
    data: Type.Object({ at: text, suppressionId: text }),
    sealed: Type.Object({ address: text }),
    audit: { category: 'data_access', action: 'recipient.erasure_asked' },
  },
  /**
   * These emails were found, and these places of bulk sends whose emails are not all made. Their content is destroyed
   * after this event. Everything found earlier is destroyed, except the emails of `waiting`. `isLast`: the search is
   * over.
   */
  ErasureFound: {
    data: Type.Object({
      at: text,
      emails: ids,
      batches: Type.Array(Type.Object({ id: text, recipient: Type.Integer() })),
      waiting: ids,
      isLast: Type.Boolean(),
    }),
  },
  /** All that was found is destroyed but this: emails in a dialogue, and bulk sends that still hold the address. */
  ErasureWaits: { data: Type.Object({ at: text, until: text, emails: ids, batches: ids }) },
  /** All data of the address is destroyed. `isSuppressed`: the team still does not write to it. */
  ErasureCompleted: {
    data: Type.Object({ at: text, isSuppressed: Type.Boolean() }),
    erases: true,
    audit: { category: 'data_access', action: 'recipient.erased' },
  },
} as const satisfies EventDefinitions;

export type ErasureEvent = EventsOf<typeof erasureEvents>;

/** The events of each kind of stream. */
export const privacyStreams = { erasure: erasureEvents } as const;

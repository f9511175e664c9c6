/** The facts of whether the account of a metered team is in use. */
import { Type } from '@sinclair/typebox';
import { text, type EventsOf } from '../core/stored.js';

export const activityEventSchemas = {
  /** A login, a call or an integration; noted once a day at most. From the first on it counts how long there was none. */
  AccountUsed: { data: Type.Object({ at: text }) },
  /** Nobody has used it for a year, since `usedAt`: its keys let nobody in, and its credits go. */
  AccountDisabled: { data: Type.Object({ at: text, usedAt: text }) },
  /** The credits are gone. */
  AccountSettled: { data: Type.Object({ at: text }) },
  /** An owner came back, or the operator let it in. */
  AccountReactivated: { data: Type.Object({ at: text }) },
  /** The team is not metered any more, and nothing counts. */
  AccountUncounted: { data: Type.Object({ at: text }) },
} as const;

export type ActivityEvent = EventsOf<typeof activityEventSchemas>;

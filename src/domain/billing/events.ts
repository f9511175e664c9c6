/** The facts of the credits of one team. All amounts are whole numbers; money is cents, and a month is `2026-11`, in UTC. */
import { Type, type Static } from '@sinclair/typebox';
import { text, type EventsOf } from '../core/stored.js';
import { nullable, oneOf } from '../core/schema.js';

/* The facts of whether the account of a metered team is in use. */

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

/* The facts of what a team holds of one thing that its plan limits. */

/** `key`: the id of the thing. `amount`: 1, or bytes. `at`: when its place was taken. */
const Held = Type.Object({ key: text, amount: Type.Integer(), at: text });
export type Held = Static<typeof Held>;

export const planUseEventSchemas = {
  /** All that is held from here on, so that only the last fact is read. `since`: from when on the team is billed so, for before that nobody took places. */
  PlacesTaken: { data: Type.Object({ at: text, since: text, held: Type.Array(Held) }) },
} as const;

export type PlanUseEvent = EventsOf<typeof planUseEventSchemas>;

const count = Type.Integer();

export const creditsEventSchemas = {
  CreditsGranted: {
    data: Type.Object({ at: text, credits: count, reason: oneOf(['signup', 'operator'] as const), note: Type.Optional(text) }),
  },
  /** A purchase that was paid elsewhere. `tiers`: how many blocks at which price. */
  CreditsBought: {
    data: Type.Object({
      at: text,
      blocks: count,
      credits: count,
      priceCents: count,
      currency: text,
      tiers: Type.Array(Type.Object({ blocks: count, unitCents: count })),
      note: Type.Optional(text),
    }),
  },
  /** Before the stream `reference` comes to be. `credits` is 0 where the team is billed by its plan. */
  CreditsReserved: {
    data: Type.Object({ at: text, month: text, reference: text, emails: count, attachments: count, credits: count }),
  },
  /**
   * `part` of what was reserved for `reference` in `month` is given back, once. `fact`: the stream whose `EmailCancelled` led to it; these
   * are returned in the order of the log.
   */
  CreditsReturned: {
    data: Type.Object({
      at: text,
      month: text,
      reference: text,
      part: text,
      emails: count,
      attachments: count,
      credits: count,
      fact: Type.Optional(text),
    }),
  },
  /** The balance is set to nothing: the account was not used for a year. */
  CreditsReset: { data: Type.Object({ at: text, credits: count }) },
  /** The counts of the month begin anew. `closed`: what the month before it came to; null where there was none. */
  QuotaMonthBegan: {
    data: Type.Object({
      at: text,
      month: text,
      closed: nullable(
        Type.Object({ month: text, emails: count, attachments: count, overage: count, overageMicrosPerEmail: nullable(count) }),
      ),
    }),
  },
  QuotaThresholdReached: {
    data: Type.Object({ at: text, month: text, of: oneOf(['credits', 'quota'] as const), percent: count, used: count, limit: count }),
  },
  /**
   * Of the reservations up to revision `upTo` those for emails, and up to `othersUpTo` those for anything else, have come to be what they
   * were made for, or were returned before this. `nextAt`: when to look again; null where nothing is open.
   */
  ReservationsSettled: {
    data: Type.Object({ at: text, upTo: count, othersUpTo: count, nextAt: nullable(text) }),
  },
  /**
   * What all events before add up to, so that nobody needs to read them. It stands at each revision that is a multiple of 1,000.
   * `openFrom`: the revision of the oldest reservation that is not settled, from which on these are read.
   */
  CreditsCarried: {
    data: Type.Object({
      at: text,
      openFrom: count,
      granted: count,
      bought: count,
      used: count,
      reset: count,
      hadSignup: Type.Boolean(),
      month: text,
      emails: count,
      attachments: count,
      toppedUp: count,
      reachedOfCredits: count,
      reachedOfQuota: count,
      lastFact: nullable(text),
    }),
  },
} as const;

export type CreditsEvent = EventsOf<typeof creditsEventSchemas>;

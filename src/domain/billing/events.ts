/**
 * Events of a team's credits, of the use of its account, and of the places its plan limits. Money is whole cents; a
 * month is `2026-11`, in UTC.
 */
import { Type, type Static } from '@sinclair/typebox';
import { text } from '../core/stored-schemas.js';
import { nullable, oneOf } from '../core/schema.js';
import type { EventDefinitions, EventsOf } from '../core/event.js';

/** Whether the account of a metered team is in use. */
export const teamUseEvents = {
  /** A login, a call or an integration; recorded at most once a day. Inactivity is counted from the first on. */
  AccountUsed: { data: Type.Object({ at: text }) },
  /**
   * The account has not been used for a year, since `usedAt`: its API keys are refused, and its credits are removed.
   */
  AccountDisabled: {
    data: Type.Object({ at: text, usedAt: text }),
    audit: { category: 'api_keys', action: 'api_keys.disabled', target: () => null },
  },
  /** The credits are gone. */
  AccountSettled: { data: Type.Object({ at: text }) },
  /** An owner logged in, or the operator reactivated the team. */
  AccountReactivated: {
    data: Type.Object({ at: text }),
    audit: { category: 'api_keys', action: 'api_keys.enabled', target: () => null },
  },
  /** The team is no longer metered, so inactivity is not counted. */
  AccountUncounted: { data: Type.Object({ at: text }) },
} as const satisfies EventDefinitions;

export type TeamUseEvent = EventsOf<typeof teamUseEvents>;

/** `key`: the id of the thing. `amount`: 1, or bytes. `at`: when its place was taken. */
const Held = Type.Object({ key: text, amount: Type.Integer(), at: text });
export type Held = Static<typeof Held>;

/** The places that a team has taken of one resource that its plan limits. */
export const planUseEvents = {
  /**
   * Replaces the whole list, so only the last event is read. `since`: the start of the team's current billing; before
   * it no places were taken.
   */
  PlacesTaken: { data: Type.Object({ at: text, since: text, held: Type.Array(Held) }) },
} as const satisfies EventDefinitions;

export type PlanUseEvent = EventsOf<typeof planUseEvents>;

const count = Type.Integer();

export const creditsEvents = {
  CreditsGranted: {
    data: Type.Object({
      at: text,
      credits: count,
      reason: oneOf(['signup', 'operator'] as const),
      note: Type.Optional(text),
    }),
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
  /** Written before the stream `reference` is created. `credits` is 0 if the team is billed by its plan. */
  CreditsReserved: {
    data: Type.Object({ at: text, month: text, reference: text, emails: count, attachments: count, credits: count }),
  },
  /**
   * `part` of the reservation for `reference` is returned, once; it was reserved in `month`. `fact`: the stream of the
   * cancelled email; cancelled emails are returned in the order of the log.
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
  /** The counts start again at 0. `closed`: the totals of the month before; null: there was none. */
  QuotaMonthBegan: {
    data: Type.Object({
      at: text,
      month: text,
      closed: nullable(
        Type.Object({
          month: text,
          emails: count,
          attachments: count,
          overage: count,
          overageMicrosPerEmail: nullable(count),
        }),
      ),
    }),
  },
  /**
   * Emails and documents of the month that no reservation was made for are counted: the team was not metered, and is
   * about to be. They take no credits.
   */
  UnmeteredUseCounted: { data: Type.Object({ at: text, month: text, emails: count, attachments: count }) },
  QuotaThresholdReached: {
    data: Type.Object({
      at: text,
      month: text,
      of: oneOf(['credits', 'quota'] as const),
      percent: count,
      used: count,
      limit: count,
    }),
  },
  /**
   * Reservations for emails up to revision `upTo`, and others up to `othersUpTo`, are closed: their stream exists, or
   * they were returned before this. `nextAt`: the next check; null: nothing is open.
   */
  ReservationsSettled: {
    data: Type.Object({ at: text, upTo: count, othersUpTo: count, nextAt: nullable(text) }),
  },
  /**
   * The sums of all earlier events, so that these need not be read. It stands at each revision that is a multiple of
   * 1,000. `openFrom`: the revision of the oldest open reservation; reading starts there.
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
} as const satisfies EventDefinitions;

export type CreditsEvent = EventsOf<typeof creditsEvents>;

/** The events of each kind of stream. */
export const billingStreams = { credits: creditsEvents, planUse: planUseEvents, activity: teamUseEvents } as const;

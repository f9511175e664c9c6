/** The facts of webhooks: settings of a subscription, which events go to it, what came of each attempt, and how far the log has been looked at. */
import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { nullable, oneOf } from '../core/schema.js';
import { text, type EventsOf } from '../core/stored.js';

const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);
const count = Type.Integer();

/** What lists show of the sealed part; the secret stands apart. */
const Envelope = Type.Object({ url: text, description: optional(text) });

export const webhookEventSchemas = {
  WebhookCreated: {
    data: Type.Object({ at: text, events: Type.Array(text), enabled: Type.Boolean() }),
    sealed: Type.Object({ url: text, description: optional(text), secret: text }),
    envelope: Envelope,
  },
  WebhookChanged: {
    data: Type.Object({ at: text, events: optional(Type.Array(text)), enabled: optional(Type.Boolean()) }),
    sealed: Type.Object({ url: optional(text), description: optional(text) }),
  },
  /** The secret before this one signs too until that moment. */
  WebhookSecretRotated: { data: Type.Object({ at: text, overlapUntil: text }), sealed: Type.Object({ secret: text }) },
  WebhookDisabled: { data: Type.Object({ at: text, reason: oneOf(['gone', 'failing'] as const) }) },
  /** Events of those kinds that occurred since then, and before `until`, and did not go to it then, go to it now. */
  WebhookBackfillAsked: { data: Type.Object({ at: text, id: text, since: text, until: optional(text), events: Type.Array(text) }) },
  /** Nothing is sent to it any more, and for some days it can be taken back. */
  WebhookTrashed: { data: Type.Object({ at: text }) },
  /** It goes on with what occurs from now on, enabled where it was. */
  WebhookRestored: { data: Type.Object({ at: text }) },
  /** Gone for good: its key is destroyed right after, and that of its outcomes. */
  WebhookDeleted: { data: Type.Object({ at: text }) },
} as const;

const place = { stream: text, revision: count };
const Place = Type.Object(place);
export type Place = Static<typeof Place>;

/** The newest of what was asked for of events that were missed, and up to where the log was looked at for it. */
const Backfill = Type.Object({ id: text, reached: optional(Place), isDone: Type.Boolean() });
export type BackfillReached = Static<typeof Backfill>;

/** An event of the log that goes to a subscription. `key` is what its id ends with; `at` is when it occurred. */
const RoutedEntry = Type.Object({
  ...place,
  at: text,
  kind: text,
  recipient: optional(count),
  key: text,
});
export type RoutedEntry = Static<typeof RoutedEntry>;

export const webhookRouteEventSchemas = {
  /**
   * `before`: how many events went to the subscription before these; `previous`: the id of the last of them. `backfill` stands in each after
   * the first that has it. `isMissed`: the entries, if any, are of that; `live` is then the last entry that is not, where there is one.
   */
  WebhookRouted: {
    data: Type.Object({
      at: text,
      before: count,
      previous: nullable(text),
      entries: Type.Array(RoutedEntry),
      backfill: optional(Backfill),
      isMissed: optional(Type.Literal(true)),
      live: optional(Place),
    }),
  },
} as const;

/** Events from number `next` up to before `end` are sent again where they are of those kinds, and occurred since then and before `until`. */
const Replay = Type.Object({
  id: text,
  events: optional(Type.Array(text)),
  since: optional(text),
  until: optional(text),
  next: count,
  end: count,
});
export type WebhookReplay = Static<typeof Replay>;

/** Each fact of what came of attempts says all that the next ones depend on, so that only the last one is read. */
const Progress = Type.Object({
  /** Every event with a lower number has had its first attempt. */
  reached: count,
  /** Since when each attempt has failed; null after one that succeeded. */
  failingSince: nullable(text),
  replay: optional(Replay),
});
export type WebhookProgress = Static<typeof Progress>;

/** A routed event by its number, with what making its body again needs. */
const Sent = { number: count, previous: nullable(text), ...RoutedEntry.properties };

const SentEvent = Type.Object(Sent);
export type SentEvent = Static<typeof SentEvent>;

const Outcome = Type.Object({
  ...Sent,
  attempt: count,
  attemptedAt: text,
  result: oneOf(['success', 'failed'] as const),
  statusCode: optional(count),
  responseMs: count,
  error: optional(text),
  nextRetryAt: optional(text),
  /** It was sent again because of a replay. */
  replayed: optional(Type.Literal(true)),
});
export type WebhookOutcome = Static<typeof Outcome>;

const outcomeFact = { at: text, since: text, progress: Progress };

export const webhookOutcomeEventSchemas = {
  /** `since`, in each: when the first fact of this part was appended. `answers`: the beginning of each answer, in the order of `outcomes`; null where there was none. */
  WebhookAttempted: {
    data: Type.Object({ ...outcomeFact, outcomes: Type.Array(Outcome) }),
    sealed: Type.Object({ answers: Type.Array(nullable(text)) }),
  },
  /** By hand: the event is sent again now, as the attempt after `attempt`. */
  WebhookRetryAsked: { data: Type.Object({ ...outcomeFact, attempt: count, sent: SentEvent }) },
  WebhookReplayAsked: { data: Type.Object(outcomeFact) },
  /** What follows stands in the next part. */
  WebhookOutcomesClosed: { data: Type.Object(outcomeFact) },
  /** The subscription is deleted, and nothing follows; the key of this part is destroyed right after. */
  WebhookOutcomesEnded: { data: Type.Object(outcomeFact) },
  /** What the part tells is shown no more: `failed`, by number, are the deliveries that failed in it. Its key is destroyed right after. */
  WebhookOutcomesRemoved: { data: Type.Object({ ...outcomeFact, isEnded: Type.Boolean(), failed: Type.Array(count) }) },
} as const;

export const webhookRouterEventSchemas = {
  /** The log has been looked at up to that event, for every subscription. */
  WebhookRoutesReached: { data: Type.Object({ at: text, stream: text, revision: count }) },
} as const;

/** Of former programs: places are taken in the stream of the team's plan now. */
export const webhookSlotsEventSchemas = {
  /** The subscriptions of a team, and since when each has its place. */
  WebhookSlotsChanged: { data: Type.Object({ at: text, held: Type.Array(Type.Object({ id: text, at: text })) }) },
} as const;

export type WebhookSlotsEvent = EventsOf<typeof webhookSlotsEventSchemas>;
export type WebhookEvent = EventsOf<typeof webhookEventSchemas>;
export type WebhookRouteEvent = EventsOf<typeof webhookRouteEventSchemas>;
export type WebhookOutcomeEvent = EventsOf<typeof webhookOutcomeEventSchemas>;
export type WebhookRouterEvent = EventsOf<typeof webhookRouterEventSchemas>;

/**
 * The events of webhooks: the settings of a subscription, the events that go to it, the outcome of each attempt, and
 * how far the log is routed.
 */
import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { nullable, oneOf } from '../core/schema.js';
import { text } from '../core/stored-schemas.js';
import { event, type EventDefinitions, type EventsOf } from '../core/event.js';

const optional = <T extends TSchema>(schema: T) => Type.Optional(schema);
const count = Type.Integer();

/** The sealed settings that lists show; the secret is sealed apart from them. */
const Envelope = Type.Object({ url: text, description: optional(text) });

export const webhookEvents = {
  WebhookCreated: {
    data: Type.Object({ at: text, events: Type.Array(text), enabled: Type.Boolean() }),
    sealed: Type.Object({ url: text, description: optional(text), secret: text }),
    envelope: Envelope,
    audit: { category: 'settings', action: 'webhook.created' },
    activity: 'webhook.created',
  },
  WebhookChanged: {
    data: Type.Object({ at: text, events: optional(Type.Array(text)), enabled: optional(Type.Boolean()) }),
    sealed: Type.Object({ url: optional(text), description: optional(text) }),
    audit: { category: 'settings', action: 'webhook.changed' },
    activity: 'webhook.changed',
  },
  /** The earlier secret signs too until `overlapUntil`, and those before it no longer. */
  WebhookSecretRotated: {
    data: Type.Object({
      at: text,
      overlapUntil: text,
      idempotencyKey: Type.Optional(text),
      fingerprint: Type.Optional(text),
    }),
    sealed: Type.Object({ secret: text }),
    audit: { category: 'settings', action: 'webhook.secret_rotated' },
    activity: 'webhook.secret-rotated',
  },
  WebhookDisabled: event({
    data: Type.Object({ at: text, reason: oneOf(['gone', 'failing'] as const) }),
    audit: { category: 'settings', action: 'webhook.disabled', detail: ({ reason }) => reason },
    activity: 'webhook.disabled',
  }),
  /** Events of those kinds that occurred from `since` to `until` and did not go to the subscription go to it now. */
  WebhookBackfillAsked: {
    data: Type.Object({ at: text, id: text, since: text, until: optional(text), events: Type.Array(text) }),
  },
  /** Events are not sent to it; for some days it can be restored. */
  WebhookTrashed: {
    data: Type.Object({ at: text }),
    audit: { category: 'settings', action: 'webhook.deleted' },
    activity: 'webhook.deleted',
  },
  /** It gets what occurs from now on, if it was enabled before. */
  WebhookRestored: {
    data: Type.Object({ at: text }),
    audit: { category: 'settings', action: 'webhook.restored' },
    activity: 'webhook.restored',
  },
  /** Deleted for good: its key and that of its outcomes are destroyed right after. */
  WebhookDeleted: {
    data: Type.Object({ at: text }),
    erases: true,
    audit: { category: 'settings', action: 'webhook.removed', ofCallers: true },
  },
} as const satisfies EventDefinitions;

const place = { stream: text, revision: count };
const Place = Type.Object(place);
export type Place = Static<typeof Place>;

/** The newest request for missed events, and how far the log was read for it. */
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

export const webhookRouteEvents = {
  /**
   * `before`: how many events went to the subscription before these; `previous`: the id of the last of them. `backfill`
   * is in every event after the first that has it. `isMissed`: the entries are missed events; `live` is then the last
   * entry that was routed as it occurred.
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
} as const satisfies EventDefinitions;

/**
 * Events with numbers from `next` to below `end` are sent again if they are of those kinds and occurred from `since` to
 * `until`.
 */
const Replay = Type.Object({
  id: text,
  events: optional(Type.Array(text)),
  since: optional(text),
  until: optional(text),
  next: count,
  end: count,
});
export type WebhookReplay = Static<typeof Replay>;

/** Each event of outcomes repeats everything the next one depends on, so that only the last one is read. */
const Progress = Type.Object({
  /** Every event with a lower number has had its first attempt. */
  reached: count,
  /** Since when each attempt has failed; null after one that succeeded. */
  failingSince: nullable(text),
  /**
   * The failures since then of which each came some hours after the one counted before it, and when the last of them
   * was.
   */
  failures: optional(Type.Object({ count, last: text })),
  replay: optional(Replay),
});
export type WebhookProgress = Static<typeof Progress>;

/** A routed event with its number and all that is needed to make its body. */
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

/**
 * Answer of an endpoint, in base64: encrypted with each of these keys in turn, so that destroying any of them destroys
 * it.
 */
const Answer = Type.Object({ keys: Type.Array(text), sealed: text });
export type SealedAnswer = Static<typeof Answer>;

const outcomeFact = { at: text, since: text, progress: Progress };

export const webhookOutcomeEvents = {
  /**
   * `since`, in each: when the first fact of this part was appended. `answers`: the beginning of each answer, in the
   * order of `outcomes`; null where nothing of it is kept.
   */
  WebhookAttempted: {
    data: Type.Object({ ...outcomeFact, outcomes: Type.Array(Outcome) }),
    sealed: Type.Object({ answers: Type.Array(nullable(Answer)) }),
  },
  /** A caller asked for it: the event is sent again now, as the attempt after `attempt`. */
  WebhookRetryAsked: { data: Type.Object({ ...outcomeFact, attempt: count, sent: SentEvent }) },
  WebhookReplayAsked: { data: Type.Object(outcomeFact) },
  /** The next event is in the next part. */
  WebhookOutcomesClosed: { data: Type.Object(outcomeFact) },
  /** The subscription is deleted and no event follows. The key of this part is destroyed right after. */
  WebhookOutcomesEnded: { data: Type.Object(outcomeFact), erases: true },
  /**
   * The part is shown no more and its key is destroyed right after. `failed`: the numbers of the deliveries that failed
   * in it.
   */
  WebhookOutcomesRemoved: {
    data: Type.Object({ ...outcomeFact, isEnded: Type.Boolean(), failed: Type.Array(count) }),
    erases: true,
  },
} as const satisfies EventDefinitions;

export const webhookRouterEvents = {
  /** Every subscription has what occurred up to that event. */
  WebhookRoutesReached: { data: Type.Object({ at: text, stream: text, revision: count }) },
} as const satisfies EventDefinitions;

/** Written by earlier versions only: places are now taken in the stream of the team's plan. */
export const webhookSlotsEvents = {
  /** The subscriptions of a team, and since when each has its place. */
  WebhookSlotsChanged: { data: Type.Object({ at: text, held: Type.Array(Type.Object({ id: text, at: text })) }) },
} as const satisfies EventDefinitions;

export type WebhookSlotsEvent = EventsOf<typeof webhookSlotsEvents>;
export type WebhookEvent = EventsOf<typeof webhookEvents>;
export type WebhookRouteEvent = EventsOf<typeof webhookRouteEvents>;
export type WebhookOutcomeEvent = EventsOf<typeof webhookOutcomeEvents>;
export type WebhookRouterEvent = EventsOf<typeof webhookRouterEvents>;

/** The events of each kind of stream. */
export const webhookStreams = {
  webhook: webhookEvents,
  webhookRoute: webhookRouteEvents,
  webhookOutcome: webhookOutcomeEvents,
  webhookRouter: webhookRouterEvents,
  webhookSlots: webhookSlotsEvents,
} as const;

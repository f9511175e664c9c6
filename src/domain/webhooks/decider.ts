/**
 * A webhook subscription: its state, the decisions about it, its endpoint and signing keys, and which events it missed.
 */
import { DomainError } from '../core/errors.js';
import type { Decider } from '../core/decider.js';
import type { WebhookEvent } from './events.js';
import { signingKeysOf, type SigningKeys } from './delivery.js';

/** The sealed part of the settings. */
/** A secret that was rotated away, and signs until then. */
type EarlierSecret = Readonly<{ secret: string; until: string }>;

/** `earlierSecrets`: the newest first. */
type Sealed = Readonly<{
  url: string;
  description?: string;
  secret: string;
  earlierSecrets?: readonly EarlierSecret[];
}>;

export type Webhook = Readonly<{
  createdAt: string;
  updatedAt: string;
  events: readonly string[];
  enabled: boolean;
  disabledReason: 'gone' | 'failing' | null;
  /** When it was enabled again; absent if it never was disabled. */
  enabledAgainAt?: string;
  /** Until when the last secret that was rotated away signs too. */
  overlapUntil: string | null;
  /** The last rotation under an Idempotency-Key. */
  rotation?: Readonly<{ idempotencyKey: string; fingerprint: string | undefined }>;
  deletedAt: string | null;
  /** The id of the newest request for missed events. */
  backfill?: string;
  /** Present while a deleted subscription can be restored: whether it was enabled. */
  restorable?: Readonly<{ enabled: boolean }>;
  /** undefined once the key is destroyed. */
  sealed: Sealed | undefined;
}>;

export type WebhookState = Webhook | undefined;

export type WebhookCommand =
  | Readonly<{ type: 'CreateWebhook'; created: Extract<WebhookEvent, { type: 'WebhookCreated' }> }>
  | Readonly<{
      type: 'ChangeWebhook';
      at: string;
      events?: readonly string[];
      enabled?: boolean;
      url?: string;
      description?: string;
    }>
  | (Readonly<{ type: 'RotateSecret'; at: string; overlapUntil: string; secret: string }> &
      Readonly<{ idempotencyKey?: string | undefined; fingerprint?: string | undefined }>)
  | Readonly<{ type: 'DisableWebhook'; at: string; reason: 'gone' | 'failing' }>
  /** `doneId`: the earlier request, if it is known to be done. */
  | Readonly<{
      type: 'AskBackfill';
      ask: Extract<WebhookEvent, { type: 'WebhookBackfillAsked' }>['data'];
      doneId: string | undefined;
    }>
  | Readonly<{ type: 'TrashWebhook'; at: string }>
  /** A subscription that was deleted before `deletedSince` cannot be restored. */
  | Readonly<{ type: 'RestoreWebhook'; at: string; deletedSince: string }>
  /** Deletes for good, whether it was in the trash or not. */
  | Readonly<{ type: 'DeleteWebhook'; at: string }>
  /** Deletes for good what was deleted before `deletedSince`; anything else stays. */
  | Readonly<{ type: 'RemoveWebhook'; at: string; deletedSince: string }>;

/** Address to which the events of a subscription are posted, and the secrets that sign them. */
export type Endpoint = Readonly<{
  url: string;
  keys: SigningKeys;
  /** The keys of earlier secrets, the newest first, each of which signs too until `until`. */
  earlier: readonly Readonly<{ keys: SigningKeys; until: string }>[];
}>;

/** A subscription as the API shows it. */
export type WebhookListing = {
  id: string;
  url: string;
  events: string[];
  description?: string;
  enabled: boolean;
  disabledReason?: 'gone' | 'failing';
  createdAt: string;
  updatedAt: string;
};

/** One event of the stream of a subscription. */
export type SettingsFact = Readonly<{ event: WebhookEvent; position: number }>;

type BackfillAsked = Extract<WebhookEvent, { type: 'WebhookBackfillAsked' }>['data'];

type Window = Readonly<{ since: string; until?: string | undefined; events: readonly string[] }>;

/** The kinds of event that go to the subscription from one position on, up to the next span. */
type Span = Readonly<{ from: number; at: string; kinds: readonly string[] }>;

/** Events that one request sends again: those between the positions `from` and `upTo` for which `isMissed` holds. */
export type Missed = Readonly<{
  from: number;
  upTo: number;
  /**
   * Whether the event of that kind, time and position did not go to the subscription, and no earlier request brings it.
   */
  isMissed: (kind: string, at: string, position: number) => boolean;
}>;

/** The order of the log may differ from the order of times by less than this, as clocks of processes differ. */
const SKEW_MS = 60_000;

const END_OF_TIME = '~';

export const webhookLimitReached = (maximum: number): DomainError =>
  new DomainError('WEBHOOK_LIMIT_REACHED', `A team may have ${maximum} webhook subscriptions; delete one first.`);

export const webhookNotFound = (): DomainError =>
  new DomainError(
    'WEBHOOK_NOT_FOUND',
    'There is no webhook subscription with this id. GET /api/v1/webhook-subscriptions lists yours.',
  );

export const replayUnderWay = (): DomainError =>
  new DomainError(
    'WEBHOOK_REPLAY_UNDER_WAY',
    'A replay of this subscription is under way; ask again when it has ended.',
  );

const decide = (command: WebhookCommand, webhook: WebhookState): readonly WebhookEvent[] => {
  if (command.type === 'CreateWebhook') return webhook === undefined ? [command.created] : [];
  if (webhook === undefined) throw webhookNotFound();
  if (webhook.deletedAt !== null) return decideDeleted(command, webhook);
  switch (command.type) {
    case 'ChangeWebhook': {
      const { at, events, enabled, url, description } = command;
      const data = { at, ...(events && { events: [...events] }), ...(enabled === undefined ? {} : { enabled }) };
      const sealed = { ...(url === undefined ? {} : { url }), ...(description === undefined ? {} : { description }) };
      return [{ type: 'WebhookChanged', data, sealed }];
    }
    case 'RotateSecret': {
      const { at, overlapUntil, secret, idempotencyKey, fingerprint } = command;
      const key = idempotencyKey === undefined || fingerprint === undefined ? {} : { idempotencyKey, fingerprint };
      return [{ type: 'WebhookSecretRotated', data: { at, overlapUntil, ...key }, sealed: { secret } }];
    }
    case 'DisableWebhook':
      return webhook.enabled ? [{ type: 'WebhookDisabled', data: { at: command.at, reason: command.reason } }] : [];
    case 'AskBackfill':
      if (webhook.backfill !== command.doneId) throw replayUnderWay();
      return [{ type: 'WebhookBackfillAsked', data: command.ask }];
    case 'TrashWebhook':
      return [{ type: 'WebhookTrashed', data: { at: command.at } }];
    case 'DeleteWebhook':
      return [{ type: 'WebhookDeleted', data: { at: command.at } }];
    case 'RestoreWebhook':
    case 'RemoveWebhook':
      return [];
  }
};

const decideDeleted = (
  command: Exclude<WebhookCommand, { type: 'CreateWebhook' }>,
  { deletedAt, restorable }: Webhook,
): readonly WebhookEvent[] => {
  const isOlder = (since: string): boolean => deletedAt !== null && deletedAt < since;
  switch (command.type) {
    case 'ChangeWebhook':
    case 'RotateSecret':
    case 'AskBackfill':
      throw webhookNotFound();
    case 'DisableWebhook':
    case 'TrashWebhook':
      return [];
    case 'RestoreWebhook':
      if (restorable === undefined || isOlder(command.deletedSince)) throw webhookNotFound();
      return [{ type: 'WebhookRestored', data: { at: command.at } }];
    case 'DeleteWebhook':
      return restorable === undefined ? [] : [{ type: 'WebhookDeleted', data: { at: command.at } }];
    case 'RemoveWebhook':
      return restorable === undefined || !isOlder(command.deletedSince)
        ? []
        : [{ type: 'WebhookDeleted', data: { at: command.at } }];
  }
};

export const evolveWebhook = (webhook: WebhookState, event: WebhookEvent): WebhookState => {
  if (event.type === 'WebhookCreated') {
    const { at, events, enabled } = event.data;
    return {
      createdAt: at,
      updatedAt: at,
      events,
      enabled,
      disabledReason: null,
      overlapUntil: null,
      deletedAt: null,
      sealed: event.sealed,
    };
  }
  if (webhook === undefined) return undefined;
  const { restorable, ...living } = webhook;
  const next = { ...webhook, updatedAt: event.data.at };
  switch (event.type) {
    case 'WebhookChanged': {
      const { events = webhook.events, enabled = webhook.enabled } = event.data;
      const disabledReason = enabled ? null : webhook.disabledReason;
      const sealed = webhook.sealed && { ...webhook.sealed, ...event.sealed };
      return {
        ...next,
        events,
        enabled,
        disabledReason,
        sealed,
        ...(enabled && !webhook.enabled ? { enabledAgainAt: event.data.at } : {}),
      };
    }
    case 'WebhookSecretRotated': {
      const { at, overlapUntil, idempotencyKey, fingerprint } = event.data;
      const sealed = webhook.sealed &&
        event.sealed && { ...webhook.sealed, ...rotated(webhook.sealed, event.sealed.secret, { at, overlapUntil }) };
      const { rotation: _, ...others } = next;
      return {
        ...others,
        overlapUntil,
        ...(idempotencyKey === undefined ? {} : { rotation: { idempotencyKey, fingerprint } }),
        sealed,
      };
    }
    case 'WebhookDisabled':
      return { ...next, enabled: false, disabledReason: event.data.reason };
    case 'WebhookBackfillAsked':
      return { ...webhook, backfill: event.data.id };
    case 'WebhookTrashed':
      return { ...next, enabled: false, deletedAt: event.data.at, restorable: { enabled: webhook.enabled } };
    case 'WebhookRestored':
      return {
        ...living,
        updatedAt: event.data.at,
        enabled: restorable?.enabled ?? webhook.enabled,
        deletedAt: null,
        enabledAgainAt: event.data.at,
      };
    case 'WebhookDeleted':
      return {
        ...living,
        updatedAt: event.data.at,
        enabled: false,
        deletedAt: webhook.deletedAt ?? event.data.at,
        sealed: undefined,
      };
  }
};

export const webhookDecider: Decider<WebhookCommand, WebhookEvent, WebhookState> = {
  decide,
  evolve: evolveWebhook,
  initialState: undefined,
};

/** This many earlier secrets sign: each makes the headers of every delivery longer. */
const EARLIER_SECRETS_MAX = 10;

/**
 * Each secret signs until its own overlap is over, and no longer than that of a later rotation: whoever missed an
 * answer goes on with the secret it has, and a rotation without an overlap ends all.
 */
const rotated = (
  { secret, earlierSecrets = [] }: Sealed,
  next: string,
  { at, overlapUntil }: Readonly<{ at: string; overlapUntil: string }>,
): Pick<Sealed, 'secret' | 'earlierSecrets'> => ({
  secret: next,
  earlierSecrets: [
    { secret, until: overlapUntil },
    ...earlierSecrets.map((one) => ({ ...one, until: least(one.until, overlapUntil) })),
  ]
    .filter(({ until }) => until > at)
    .slice(0, EARLIER_SECRETS_MAX),
});

export const endpointOf = ({ url, secret, earlierSecrets = [] }: Sealed): Endpoint => ({
  url,
  keys: signingKeysOf(secret),
  earlier: earlierSecrets.map((one) => ({ keys: signingKeysOf(one.secret), until: one.until })),
});

/** The keys that sign at a moment, those of the current secret first. */
export const signingAt = ({ keys, earlier }: Endpoint, at: string): readonly [SigningKeys, ...SigningKeys[]] => [
  keys,
  ...earlier.flatMap((one) => (at < one.until ? [one.keys] : [])),
];

export const webhookListing = (
  id: string,
  { events, enabled, disabledReason, createdAt, updatedAt }: Omit<Webhook, 'sealed'>,
  { url, description }: Readonly<{ url: string; description?: string }>,
): WebhookListing => ({
  id,
  url,
  events: [...events],
  ...(description === undefined ? {} : { description }),
  enabled,
  ...(disabledReason === null ? {} : { disabledReason }),
  createdAt,
  updatedAt,
});

/** undefined if there is no request with that id. */
export const missedBy = (facts: readonly SettingsFact[], id: string): Missed | undefined => {
  const [spans, asks] = [spansOf(facts), asksOf(facts)];
  const ask = asks.find(({ asked }) => asked.id === id);
  const from = spans[0]?.from;
  if (ask === undefined || from === undefined) return undefined;
  const earlier = asks.filter(({ position }) => position < ask.position);
  const wasRouted = (kind: string, position: number): boolean =>
    spans.findLast((span) => span.from < position)?.kinds.includes(kind) === true;
  return {
    from,
    upTo: ask.position,
    isMissed: (kind, at, position) =>
      isWithin(ask.asked, kind, at) &&
      !wasRouted(kind, position) &&
      !earlier.some((before) => position < before.position && isWithin(before.asked, kind, at)),
  };
};

/** Whether the subscription may have missed events of that window that no earlier request brings. */
export const mayHaveMissed = (facts: readonly SettingsFact[], window: Window): boolean => {
  const [spans, asks] = [spansOf(facts), asksOf(facts)];
  return window.events.some((kind) =>
    spans.some(({ at, kinds }, index) => {
      if (kinds.includes(kind)) return false;
      const ended = spans[index + 1];
      const [from, to] = [shifted(at, -SKEW_MS), ended === undefined ? END_OF_TIME : shifted(ended.at, SKEW_MS)];
      const [since, until] = [from > window.since ? from : window.since, least(to, window.until ?? END_OF_TIME)];
      if (since >= until) return false;
      const covers = ({ asked, position }: (typeof asks)[number]): boolean =>
        (ended?.from ?? Number.POSITIVE_INFINITY) <= position &&
        asked.events.includes(kind) &&
        asked.since <= since &&
        (asked.until ?? END_OF_TIME) >= until;
      return !asks.some(covers);
    }),
  );
};

const spansOf = (facts: readonly SettingsFact[]): readonly Span[] => {
  let state: WebhookState;
  return facts.map(({ event, position }) => {
    state = evolveWebhook(state, event);
    return { from: position, at: event.data.at, kinds: state?.enabled === true ? state.events : [] };
  });
};

const asksOf = (facts: readonly SettingsFact[]): readonly Readonly<{ asked: BackfillAsked; position: number }>[] =>
  facts.flatMap(({ event, position }) =>
    event.type === 'WebhookBackfillAsked' ? [{ asked: event.data, position }] : [],
  );

const isWithin = ({ since, until, events }: Window, kind: string, at: string): boolean =>
  at >= since && (until === undefined || at < until) && events.includes(kind);

const shifted = (at: string, ms: number): string => new Date(Date.parse(at) + ms).toISOString();

const least = (one: string, other: string): string => (one < other ? one : other);

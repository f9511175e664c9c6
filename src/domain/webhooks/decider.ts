/** A subscription: where its events go, which ones, and the secrets that sign them. */
import { DomainError } from '../core/errors.js';
import type { Decider } from '../core/decider.js';
import type { WebhookEvent } from './events.js';
import { signingKeysOf, type SigningKeys } from './delivery.js';

/* How many subscriptions a team has. */

/** Of one team, on whichever plan. */
export const WEBHOOKS_MAX = 25;

export const webhookLimitReached = (): DomainError =>
  new DomainError('WEBHOOK_LIMIT_REACHED', `A team may have ${WEBHOOKS_MAX} webhook subscriptions; delete one first.`);

/** What its key seals; undefined once that is destroyed. */
type Sealed = Readonly<{ url: string; description?: string; secret: string; earlierSecret?: string }>;

export type Webhook = Readonly<{
  createdAt: string;
  updatedAt: string;
  events: readonly string[];
  enabled: boolean;
  disabledReason: 'gone' | 'failing' | null;
  /** Until when the secret before the one in force signs too. */
  overlapUntil: string | null;
  deletedAt: string | null;
  /** The newest request for events that were missed. */
  backfill?: string;
  /** Of a deleted one that can be taken back: whether it was enabled. */
  restorable?: Readonly<{ enabled: boolean }>;
  sealed: Sealed | undefined;
}>;
export type WebhookState = Webhook | undefined;

export type WebhookCommand =
  | Readonly<{ type: 'CreateWebhook'; created: Extract<WebhookEvent, { type: 'WebhookCreated' }> }>
  | Readonly<{ type: 'ChangeWebhook'; at: string; events?: readonly string[]; enabled?: boolean; url?: string; description?: string }>
  | Readonly<{ type: 'RotateSecret'; at: string; overlapUntil: string; secret: string }>
  | Readonly<{ type: 'DisableWebhook'; at: string; reason: 'gone' | 'failing' }>
  /** `doneId`: the request before, as far as it is known to be done. */
  | Readonly<{ type: 'AskBackfill'; ask: Extract<WebhookEvent, { type: 'WebhookBackfillAsked' }>['data']; doneId: string | undefined }>
  | Readonly<{ type: 'TrashWebhook'; at: string }>
  /** What was deleted before `deletedSince` cannot be taken back. */
  | Readonly<{ type: 'RestoreWebhook'; at: string; deletedSince: string }>
  /** For good, whether it was deleted before or not. */
  | Readonly<{ type: 'DeleteWebhook'; at: string }>
  /** Nothing happens to one that lives, or that was deleted at `deletedSince` or later. */
  | Readonly<{ type: 'RemoveWebhook'; at: string; deletedSince: string }>;

export const webhookNotFound = (): DomainError =>
  new DomainError('WEBHOOK_NOT_FOUND', 'There is no webhook subscription with this id. GET /api/v1/webhook-subscriptions lists yours.');

export const replayUnderWay = (): DomainError =>
  new DomainError('WEBHOOK_REPLAY_UNDER_WAY', 'A replay of this subscription is under way; ask again when it has ended.');

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
      const { at, overlapUntil, secret } = command;
      return [{ type: 'WebhookSecretRotated', data: { at, overlapUntil }, sealed: { secret } }];
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
      return restorable === undefined || !isOlder(command.deletedSince) ? [] : [{ type: 'WebhookDeleted', data: { at: command.at } }];
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
      return { ...next, events, enabled, disabledReason, sealed };
    }
    case 'WebhookSecretRotated': {
      const sealed = webhook.sealed &&
        event.sealed && { ...webhook.sealed, secret: event.sealed.secret, earlierSecret: webhook.sealed.secret };
      return { ...next, overlapUntil: event.data.overlapUntil, sealed };
    }
    case 'WebhookDisabled':
      return { ...next, enabled: false, disabledReason: event.data.reason };
    case 'WebhookBackfillAsked':
      return { ...webhook, backfill: event.data.id };
    case 'WebhookTrashed':
      return { ...next, enabled: false, deletedAt: event.data.at, restorable: { enabled: webhook.enabled } };
    case 'WebhookRestored':
      return { ...living, updatedAt: event.data.at, enabled: restorable?.enabled ?? webhook.enabled, deletedAt: null };
    case 'WebhookDeleted':
      return { ...living, updatedAt: event.data.at, enabled: false, deletedAt: webhook.deletedAt ?? event.data.at, sealed: undefined };
  }
};

export const webhookDecider: Decider<WebhookCommand, WebhookEvent, WebhookState> = {
  decide,
  evolve: evolveWebhook,
  initialState: undefined,
};

/** Where the events of a subscription are posted to, and what signs them. */
export type Endpoint = Readonly<{
  url: string;
  keys: SigningKeys;
  /** Those of the secret before; they sign too until then. */
  earlier: Readonly<{ keys: SigningKeys; until: string }> | undefined;
}>;

export const endpointOf = ({
  sealed: { url, secret, earlierSecret },
  overlapUntil,
}: Readonly<{ sealed: Sealed; overlapUntil: string | null }>): Endpoint => {
  const isOverlapping = earlierSecret !== undefined && overlapUntil !== null;
  const earlier = isOverlapping ? { keys: signingKeysOf(earlierSecret), until: overlapUntil } : undefined;
  return { url, keys: signingKeysOf(secret), earlier };
};

/** The keys that sign at a moment, those of the secret in force first. */
export const signingAt = ({ keys, earlier }: Endpoint, at: string): readonly [SigningKeys, ...SigningKeys[]] =>
  earlier !== undefined && at < earlier.until ? [keys, earlier.keys] : [keys];

/** What is shown of a subscription. */
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

/* Which events a subscription missed, by its settings as they were at each position of the log, and by what was asked for before. */

/** One event of the stream of a subscription. */
export type SettingsFact = Readonly<{ event: WebhookEvent; position: number }>;

type Asked = Extract<WebhookEvent, { type: 'WebhookBackfillAsked' }>['data'];
type Window = Readonly<{ since: string; until?: string | undefined; events: readonly string[] }>;

/** The settings from one position on, up to the next. */
type Span = Readonly<{ from: number; at: string; kinds: readonly string[] }>;

const spansOf = (facts: readonly SettingsFact[]): readonly Span[] => {
  let state: WebhookState;
  return facts.map(({ event, position }) => {
    state = evolveWebhook(state, event);
    return { from: position, at: event.data.at, kinds: state?.enabled === true ? state.events : [] };
  });
};

const asksOf = (facts: readonly SettingsFact[]): readonly Readonly<{ asked: Asked; position: number }>[] =>
  facts.flatMap(({ event, position }) => (event.type === 'WebhookBackfillAsked' ? [{ asked: event.data, position }] : []));

const isWithin = ({ since, until, events }: Window, kind: string, at: string): boolean =>
  at >= since && (until === undefined || at < until) && events.includes(kind);

/** What one request brings. Events after `from` and up to `upTo` are looked at. */
export type Missed = Readonly<{
  from: number;
  upTo: number;
  /** Whether an event of that kind, that occurred then and stands there, did not go to it, and no request before this one brings it. */
  isMissed: (kind: string, at: string, position: number) => boolean;
}>;

/** undefined where there is no request with that id. */
export const missedBy = (facts: readonly SettingsFact[], id: string): Missed | undefined => {
  const [spans, asks] = [spansOf(facts), asksOf(facts)];
  const ask = asks.find(({ asked }) => asked.id === id);
  const from = spans[0]?.from;
  if (ask === undefined || from === undefined) return undefined;
  const earlier = asks.filter(({ position }) => position < ask.position);
  const wentThen = (kind: string, position: number): boolean =>
    spans.findLast((span) => span.from < position)?.kinds.includes(kind) === true;
  return {
    from,
    upTo: ask.position,
    isMissed: (kind, at, position) =>
      isWithin(ask.asked, kind, at) &&
      !wentThen(kind, position) &&
      !earlier.some((before) => position < before.position && isWithin(before.asked, kind, at)),
  };
};

/** Events stand in the log in about the order in which they occurred: clocks of several processes differ by less. */
const SKEW_MS = 60_000;
const END_OF_TIME = '~';

const shifted = (at: string, ms: number): string => new Date(Date.parse(at) + ms).toISOString();

/** Whether it may have missed events of that window that no earlier request brings. */
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

const least = (one: string, other: string): string => (one < other ? one : other);

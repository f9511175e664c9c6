/**
 * Reads the webhook events of the log without the code that routes and sends: who asked for what, what went to whom,
 * and with which result.
 */
import { createHmac } from 'node:crypto';
import type { EmailEvent } from '../../src/domain/email/events.js';
import { splitStream, webhookOfStream } from '../../src/domain/core/ids.js';
import type { StoredEvent } from '../../src/domain/ports/event-store.js';
import type {
  WebhookEvent,
  WebhookOutcome,
  WebhookOutcomeEvent,
  WebhookReplay,
  WebhookRouteEvent,
} from '../../src/domain/webhooks/events.js';
import { decodeEvent } from '../../src/event-log/codec.js';
import { decodeMetadata } from '../../src/event-log/hash-chain.js';
import { openSealed } from '../../src/event-log/encode.js';
import type { World } from './world.js';

/** An event of the log as subscriptions hear of it. `recipient`: its place, where it is about one. */
export type Notice = Readonly<{
  stream: string;
  revision: number;
  position: number;
  at: string;
  kind: string;
  recipient: number | undefined;
}>;

type Named = Readonly<{ stream: string; revision: number; kind: string; recipient?: number | undefined }>;

export const nameOf = ({ stream, revision, kind, recipient }: Named): string =>
  `${stream}@${revision} ${kind} ${recipient ?? 'whole'}`;

type Settings = Readonly<{ enabled: boolean; kinds: readonly string[]; isDeleted: boolean }>;
type Ask = Readonly<{
  id: string;
  position: number;
  since: string;
  until: string | undefined;
  kinds: readonly string[];
}>;
type RouteFact = WebhookRouteEvent['data'];
export type Attempt = Readonly<{ outcome: WebhookOutcome; fence: number | undefined }>;

/** `untilMs`: it signs no more from then on; `endedAtMs`: when that was decided. */
export type Secret = { readonly text: string; untilMs: number; endedAtMs: number };

/** `attempts`: how many there were when it was asked for. */
export type AskedReplay = Readonly<{ replay: WebhookReplay; attempts: number }>;

export type Subscription = {
  readonly id: string;
  readonly team: string;
  url: string | undefined;
  readonly secrets: Secret[];
  /** Settings by the position from which they held. */
  readonly spans: Readonly<{ from: number; settings: Settings }>[];
  readonly asks: Ask[];
  readonly routes: RouteFact[];
  readonly attempts: Attempt[];
  readonly replays: AskedReplay[];
  /** By number of the event: whether it is to be tried again, as its last fact says. */
  readonly isOpen: Map<number, boolean>;
  isReplaying: boolean;
};

type Fact = WebhookEvent | WebhookRouteEvent | WebhookOutcomeEvent;

const factOf = ({ keys }: World, stored: StoredEvent): Fact => {
  const { type, data, sealed, metadata } = stored;
  const { keyId } = decodeMetadata(metadata);
  const key = keyId === undefined ? undefined : keys.keys.get(keyId);
  const isOpened = sealed !== undefined && key !== undefined && type.startsWith('Webhook');
  return decodeEvent(type, data, isOpened ? openSealed(key, sealed, stored, 'whole') : undefined) as Fact;
};

/** Every subscription that ever was, by its id. */
export const subscriptionsOf = (world: World): ReadonlyMap<string, Subscription> => {
  const found = new Map<string, Subscription>();
  for (const stored of world.events.events) {
    const kind = splitStream(stored.stream).kind;
    if (kind !== 'webhook' && kind !== 'webhookRoute' && kind !== 'webhookOutcome') continue;
    const id = webhookOfStream(stored.stream)!;
    const { teamId, fence } = decodeMetadata(stored.metadata);
    const known = found.get(id) ?? begun(id, teamId);
    found.set(id, known);
    note(known, factOf(world, stored), stored.position, fence);
  }
  return found;
};

const secretOf = (text: string): Secret => ({ text, untilMs: Infinity, endedAtMs: Infinity });

const begun = (id: string, team: string): Subscription => ({
  id,
  team,
  url: undefined,
  secrets: [],
  spans: [],
  asks: [],
  routes: [],
  attempts: [],
  replays: [],
  isOpen: new Map(),
  isReplaying: false,
});

export const settingsOf = ({ spans }: Subscription): Settings =>
  spans.at(-1)?.settings ?? { enabled: false, kinds: [], isDeleted: true };

const note = (known: Subscription, event: Fact, position: number, fence: number | undefined): void => {
  const before = settingsOf(known);
  const change = (changed: Partial<Settings>): void =>
    void known.spans.push({ from: position, settings: { ...before, ...changed } });
  switch (event.type) {
    case 'WebhookCreated':
      known.url = event.sealed?.url;
      if (event.sealed !== undefined) known.secrets.push(secretOf(event.sealed.secret));
      return change({ enabled: event.data.enabled, kinds: event.data.events, isDeleted: false });
    case 'WebhookChanged': {
      const { enabled = before.enabled, events: kinds = before.kinds } = event.data;
      return change({ enabled, kinds });
    }
    case 'WebhookSecretRotated': {
      const { at, overlapUntil } = event.data;
      for (const secret of known.secrets) {
        if (secret.untilMs > Date.parse(at)) secret.endedAtMs = Date.parse(at);
        secret.untilMs = Math.min(secret.untilMs, Date.parse(overlapUntil));
      }
      if (event.sealed !== undefined) known.secrets.push(secretOf(event.sealed.secret));
      return;
    }
    case 'WebhookDisabled':
      return change({ enabled: false });
    case 'WebhookTrashed':
    case 'WebhookDeleted':
      return change({ isDeleted: true });
    case 'WebhookRestored':
      return change({ isDeleted: false });
    case 'WebhookBackfillAsked': {
      const { id, since, until, events: kinds } = event.data;
      known.asks.push({ id, position, since, until, kinds });
      return;
    }
    case 'WebhookRouted':
      known.routes.push(event.data);
      return;
    case 'WebhookAttempted':
      for (const outcome of event.data.outcomes) {
        known.attempts.push({ outcome, fence });
        known.isOpen.set(outcome.number, outcome.nextRetryAt !== undefined);
      }
      known.isReplaying = event.data.progress.replay !== undefined;
      return;
    case 'WebhookRetryAsked':
      known.isOpen.set(event.data.sent.number, true);
      return;
    case 'WebhookReplayAsked':
      known.isReplaying = true;
      if (event.data.progress.replay !== undefined)
        known.replays.push({ replay: event.data.progress.replay, attempts: known.attempts.length });
      return;
    case 'WebhookOutcomesClosed':
    case 'WebhookOutcomesEnded':
    case 'WebhookOutcomesRemoved':
      return;
  }
};

/** The webhook event of each type of email event, as the contract has it. */
const kindsOf = (event: EmailEvent): readonly (readonly [kind: string, recipient: number | undefined])[] => {
  switch (event.type) {
    case 'EmailQueued':
    case 'EmailRetried':
      return [['email.queued', undefined]];
    case 'EmailScheduled':
    case 'EmailRescheduled':
      return [['email.scheduled', undefined]];
    case 'EmailCancelled':
      return [['email.cancelled', undefined]];
    case 'EmailSent':
    case 'EmailDeferred':
    case 'EmailBounced':
    case 'EmailFailed':
      return event.data.outcomes.map(({ recipient, result }) => {
        if (result === 'accepted') return ['email.sent', recipient] as const;
        if (result === 'bounced') return ['email.bounced', recipient] as const;
        return [
          result === 'deferred' && event.type === 'EmailDeferred' ? 'email.deferred' : 'email.failed',
          recipient,
        ] as const;
      });
    case 'RecipientsSuppressed':
      return event.data.recipients.map((recipient) => ['email.suppressed', recipient] as const);
    case 'EmailDelivered':
    case 'EmailBounceReported':
    case 'EmailComplained':
    case 'EmailOpened':
    case 'EmailClicked':
      throw new Error(`the hunt does not know what subscriptions hear of ${event.type}: no history has it`);
    default:
      return [];
  }
};

/** All that subscriptions of a team may hear of, in the order of the log. */
export const noticesOf = ({ events }: World, team: string): readonly Notice[] =>
  events.events.flatMap(({ stream, revision, position, type, data, metadata }) => {
    if (splitStream(stream).kind !== 'email') return [];
    const { teamId, occurredAt: at } = decodeMetadata(metadata);
    if (teamId !== team) return [];
    return kindsOf(decodeEvent(type, data, undefined) as EmailEvent).map(([kind, recipient]) => ({
      stream,
      revision,
      position,
      at,
      kind,
      recipient,
    }));
  });

/** Whether the settings at that position ask for it. */
export const isAskedFor = ({ spans }: Subscription, { kind, position }: Notice): boolean => {
  const settings = spans.findLast(({ from }) => from < position)?.settings;
  return settings !== undefined && settings.enabled && !settings.isDeleted && settings.kinds.includes(kind);
};

/** Whether it did not go to it then, and somebody asked for it later. */
export const isMissed = (subscription: Subscription, notice: Notice): boolean =>
  notice.position > (subscription.spans[0]?.from ?? Infinity) &&
  !isAskedFor(subscription, notice) &&
  subscription.asks.some(
    ({ position, since, until = '~', kinds }) =>
      notice.position < position && notice.at >= since && notice.at < until && kinds.includes(notice.kind),
  );

/** Whether a signature of either kind is one of those that these secrets make. */
export const isSignedBy = (
  secrets: readonly string[],
  headers: Readonly<Record<string, string>>,
  body: string,
): boolean => {
  const { 'webhook-id': id, 'webhook-timestamp': at } = headers;
  const standard = (secret: string): string => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`;
  };
  const contract = (secret: string): string =>
    `v1=${createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')}`;
  const all = headers['webhook-signature']?.split(' ') ?? [];
  return (
    all.length > 0 &&
    all.every((one) => secrets.some((secret) => standard(secret) === one)) &&
    secrets.some((secret) => contract(secret) === headers['x-service-signature'])
  );
};

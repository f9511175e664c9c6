/**
 * The read models of webhooks: subscriptions, the attempts to deliver to them, and failed deliveries with the time they
 * are due again.
 */
import { deliveryListing, type DeliveryListing } from '../../domain/webhooks/delivery.js';
import type { Recorded } from '../../domain/events.js';
import { assertDefined, splitStream, webhookOfStream, type WebhookId } from '../../domain/core/ids.js';
import type { Document } from '../../domain/ports/read-models.js';
import type {
  SealedAnswer,
  SentEvent,
  WebhookEvent,
  WebhookOutcome,
  WebhookOutcomeEvent,
} from '../../domain/webhooks/events.js';
import { evolveWebhook, type Webhook } from '../../domain/webhooks/decider.js';
import { timersOf } from '../../domain/ports/timers.js';
import {
  declareProjection,
  type Handler,
  type Projection,
  type Reference,
  type Step,
  removalSteps,
  type RemovalEffect,
  timersSpec,
} from '../core/projection.js';

export const WEBHOOKS = 'webhooks';
export const WEBHOOK_ATTEMPTS = 'webhookAttempts';
export const WEBHOOK_FAILURES = 'webhookFailures';
const WEBHOOK_TIMERS = timersOf('webhook');

const BEFORE_EVERY_TIME = '0';

/** More than there are outcomes in one fact, so that each failed delivery of a fact has a `seq` of its own. */
const FAILURES_PER_FACT_MAX = 128;

/**
 * A subscription. `shown`: the sealed settings that lists show. A deleted one that can be restored has `deletedOf` in
 * place of `team`, so that each of the two lists is found by one field.
 */
export type WebhookDocument = Document &
  Readonly<{
    team?: string;
    deletedOf?: string;
    deletedAt?: string;
    webhook?: Omit<Webhook, 'sealed' | 'rotation'>;
    shown?: Readonly<{ url: string; description?: string }>;
  }>;

/**
 * A part of its outcomes, in the same collection. `removeAfter`: when its last attempt was recorded; for the last part
 * of a deleted subscription it sorts before every time.
 */
export type WebhookPartDocument = Document & Readonly<{ ofTeam: string; removeAfter: string; isEnded: boolean }>;

/** The attempts of one fact, in their order, with what is kept of the answers: sealed, and opened for who asks. */
export type WebhookAttemptsDocument = Document &
  Readonly<{
    webhook: string;
    at: string;
    items: readonly DeliveryListing[];
    answers?: readonly (SealedAnswer | null)[];
  }>;

/**
 * A delivery whose last attempt has failed, and the part that says so. `dueAt`: when it is tried again; absent if it is
 * not, unless a caller asks.
 */
export type WebhookFailureDocument = Document &
  Readonly<{ webhook: string; dueAt?: string; attempt: number; sent: SentEvent; part: number }>;

type Outcomes = Recorded<WebhookOutcomeEvent>;

export type Part = Readonly<{ webhook: WebhookId; part: number }>;

type Removed = Recorded<Extract<WebhookOutcomeEvent, { type: 'WebhookOutcomesRemoved' }>>;

const settingsStep: Handler<WebhookEvent> = ({ event, stream, position, metadata }, document) => {
  const { id } = splitStream(stream);
  const before = document as WebhookDocument | undefined;
  const known =
    before?.webhook && ({ ...before.webhook, sealed: before.shown && { ...before.shown, secret: '' } } as Webhook);
  const after = evolveWebhook(known, event);
  if (after === undefined || event.type === 'WebhookDeleted')
    return [{ collection: WEBHOOKS, id, document: undefined }];
  const { sealed, rotation: _, ...webhook } = after;
  const { deletedAt } = webhook;
  const shownNow = sealed && {
    url: sealed.url,
    ...(sealed.description === undefined ? {} : { description: sealed.description }),
  };
  // Secrets are not decrypted here, and lists show none.
  const shown = event.type === 'WebhookSecretRotated' ? before?.shown : shownNow;
  const { teamId } = metadata;
  const next: WebhookDocument = {
    id,
    seq: before?.seq ?? position,
    position,
    ...(deletedAt === null ? { team: teamId } : { deletedOf: teamId, deletedAt }),
    webhook,
    ...(shown === undefined ? {} : { shown }),
  };
  return [{ collection: WEBHOOKS, id, next: () => next }];
};

const effects: Readonly<Partial<Record<WebhookEvent['type'], RemovalEffect>>> = {
  WebhookTrashed: 'begins',
  WebhookRestored: 'ends',
  WebhookDeleted: 'ends',
};

/** The document of a part: how far it is folded, and when it may be removed. */
const partStep = ({ stream, position, event, metadata }: Outcomes, document: Document | undefined): Step => {
  const { id } = splitStream(stream);
  const before = document as WebhookPartDocument | undefined;
  const isEnded = event.type === 'WebhookOutcomesEnded';
  // A part is closed when the next one begins, which may be long after its last attempt.
  const earlier = event.type === 'WebhookOutcomesClosed' ? before?.removeAfter : undefined;
  const removeAfter = isEnded ? BEFORE_EVERY_TIME : (earlier ?? event.data.at);
  const next: WebhookPartDocument = {
    id,
    seq: before?.seq ?? position,
    position,
    ofTeam: metadata.teamId,
    removeAfter,
    isEnded,
  };
  return { collection: WEBHOOKS, id, document: next };
};

export const partOf = (stream: string): Part => ({
  webhook: assertDefined(webhookOfStream(stream), 'subscription'),
  part: Number(stream.slice(stream.lastIndexOf('.') + 1)),
});

const factIdOf = ({ webhook, part }: Part, revision: number): string => `${webhook}.${part}.${revision}`;
export const failureIdOf = (webhook: string, number: number): string => `${webhook}.${number.toString(36)}`;
const failureSeq = (position: number, index: number): number => position * FAILURES_PER_FACT_MAX + index;

const failureStep = (
  { webhook, part }: Part,
  position: number,
  outcome: WebhookOutcome,
  index: number,
): Step | undefined => {
  const {
    attempt,
    attemptedAt: _at,
    result,
    responseMs: _ms,
    nextRetryAt,
    replayed,
    statusCode: _code,
    error: _error,
    ...sent
  } = outcome;
  const id = failureIdOf(webhook, outcome.number);
  if (result === 'success')
    return attempt === 1 && replayed === undefined
      ? undefined
      : { collection: WEBHOOK_FAILURES, id, document: undefined };
  const document = {
    id,
    seq: failureSeq(position, index),
    position,
    webhook,
    part,
    attempt,
    sent,
    ...(nextRetryAt === undefined ? {} : { dueAt: nextRetryAt }),
  };
  return { collection: WEBHOOK_FAILURES, id, document };
};

const attempted = (
  recorded: Recorded<Extract<WebhookOutcomeEvent, { type: 'WebhookAttempted' }>>,
  document: Document | undefined,
) => {
  const { stream, revision, position, event } = recorded;
  const part = partOf(stream);
  const { at, outcomes } = event.data;
  const id = factIdOf(part, revision);
  const answers = event.sealed?.answers;
  const attempts: WebhookAttemptsDocument = {
    id,
    seq: position,
    position,
    webhook: part.webhook,
    at,
    items: outcomes.map(deliveryListing),
    ...(answers?.some((answer) => answer !== null) === true ? { answers } : {}),
  };
  const failures = outcomes.flatMap((outcome, index) => failureStep(part, position, outcome, index) ?? []);
  return [{ collection: WEBHOOK_ATTEMPTS, id, document: attempts }, ...failures, partStep(recorded, document)];
};

const retryAsked = (
  recorded: Recorded<Extract<WebhookOutcomeEvent, { type: 'WebhookRetryAsked' }>>,
  document: Document | undefined,
) => {
  const { position, stream, event } = recorded;
  const { webhook, part } = partOf(stream);
  const { at, attempt, sent } = event.data;
  const id = failureIdOf(webhook, sent.number);
  const failure: WebhookFailureDocument = {
    id,
    seq: failureSeq(position, 0),
    position,
    webhook,
    part,
    attempt,
    sent,
    dueAt: at,
  };
  return [{ collection: WEBHOOK_FAILURES, id, document: failure }, partStep(recorded, document)];
};

/** Removes the documents of a part, except deliveries that have failed again in a later part. */
const removed = ({ stream, revision, event }: Removed): readonly Step[] => {
  const part = partOf(stream);
  const facts = Array.from({ length: revision }, (_, fact) => factIdOf(part, fact));
  const forget = (document: Document | undefined): Document | undefined =>
    (document as WebhookFailureDocument | undefined)?.part === part.part ? undefined : document;
  return [
    ...facts.map((id): Step => ({ collection: WEBHOOK_ATTEMPTS, id, document: undefined })),
    ...event.data.failed.map((number): Step => ({
      collection: WEBHOOK_FAILURES,
      id: failureIdOf(part.webhook, number),
      next: forget,
    })),
    { collection: WEBHOOKS, id: splitStream(stream).id, document: undefined },
  ];
};

const relatedOf = ({ stream, event }: Recorded): readonly Reference[] =>
  event.type === 'WebhookOutcomesRemoved'
    ? event.data.failed.map((number) => ({
        collection: WEBHOOK_FAILURES,
        id: failureIdOf(partOf(stream).webhook, number),
      }))
    : [];

/** `restoreMs`: for how long a deleted subscription can be restored. */
export const webhooksProjection = (restoreMs: number): Projection => {
  const settings: Handler<WebhookEvent> = (recorded, document) => [
    ...removalSteps(WEBHOOK_TIMERS, recorded, restoreMs, effects[recorded.event.type]),
    ...settingsStep(recorded, document),
  ];
  return declareProjection({
    name: 'webhooks',
    collections: [
      timersSpec(WEBHOOK_TIMERS),
      { name: WEBHOOK_ATTEMPTS, version: 2, fields: ['webhook', 'at'], indexes: [['webhook'], ['webhook', 'at']] },
      { name: WEBHOOK_FAILURES, version: 1, fields: ['webhook', 'dueAt'], indexes: [['webhook', 'dueAt']] },
      {
        name: WEBHOOKS,
        version: 3,
        fields: ['team', 'deletedOf', 'deletedAt', 'removeAfter'],
        indexes: [['team'], ['deletedOf', 'deletedAt'], ['removeAfter']],
        personal: ['shown'],
      },
    ],
    main: WEBHOOKS,
    related: relatedOf,
    kinds: ['webhook', 'webhookOutcome'],
    decrypts: ['WebhookCreated', 'WebhookChanged', 'WebhookAttempted'],
    on: {
      WebhookCreated: settings,
      WebhookChanged: settings,
      WebhookSecretRotated: settings,
      WebhookDisabled: settings,
      WebhookBackfillAsked: settings,
      WebhookTrashed: settings,
      WebhookRestored: settings,
      WebhookDeleted: settings,
      WebhookAttempted: attempted,
      WebhookRetryAsked: retryAsked,
      WebhookReplayAsked: (recorded, document) => [partStep(recorded, document)],
      WebhookOutcomesClosed: (recorded, document) => [partStep(recorded, document)],
      WebhookOutcomesEnded: (recorded, document) => [partStep(recorded, document)],
      WebhookOutcomesRemoved: removed,
    },
  });
};

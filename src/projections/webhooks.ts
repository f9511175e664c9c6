/** Webhook subscriptions, what came of each attempt to deliver to them, and which deliveries have failed and when they are due again. */
import type { DeliveryListing } from '../domain/webhook/delivery.js';
import type { Recorded } from '../domain/events.js';
import { assertDefined, splitStream, webhookOfStream, type WebhookId } from '../domain/ids.js';
import type { Document, ReadModels } from '../domain/ports/read-models.js';
import { deliveryId, webhookEventId } from '../domain/webhook/event-id.js';
import type { SentEvent, WebhookEvent, WebhookOutcome, WebhookOutcomeEvent } from '../domain/webhook/events.js';
import { evolveWebhook, type Webhook, type WebhookListing, webhookListing } from '../domain/webhook/state.js';
import { declareProjection, type Handler, type Step } from './projection.js';

export const WEBHOOKS = 'webhooks';
export const WEBHOOK_ATTEMPTS = 'webhookAttempts';
export const WEBHOOK_FAILURES = 'webhookFailures';

/** Of a subscription, or of the stream of its outcomes, which has no team. `shown`: what its key seals and lists show. */
export type WebhookDocument = Document &
  Readonly<{ team?: string; webhook?: Omit<Webhook, 'sealed'>; shown?: Readonly<{ url: string; description?: string }> }>;

/** The attempts of one fact, in their order. */
export type WebhookAttemptsDocument = Document &
  Readonly<{ webhook: string; at: string; items: readonly DeliveryListing[]; answers?: readonly (string | null)[] }>;

/** A delivery whose last attempt has failed. `dueAt`: when it is tried again; absent where it is not by itself. */
export type WebhookFailureDocument = Document & Readonly<{ webhook: string; dueAt?: string; attempt: number; sent: SentEvent }>;

const settingsStep: Handler<WebhookEvent> = ({ event, stream, position, metadata }, document) => {
  const { id } = splitStream(stream);
  const before = document as WebhookDocument | undefined;
  const known = before?.webhook && ({ ...before.webhook, sealed: before.shown && { ...before.shown, secret: '' } } as Webhook);
  const after = evolveWebhook(known, event);
  if (after === undefined || after.deletedAt !== null) return [{ collection: WEBHOOKS, id, document: undefined }];
  const { sealed, ...webhook } = after;
  const shown = sealed && { url: sealed.url, ...(sealed.description === undefined ? {} : { description: sealed.description }) };
  const next: WebhookDocument = {
    id,
    seq: before?.seq ?? position,
    position,
    team: before?.team ?? metadata.teamId,
    webhook,
    ...(shown === undefined ? {} : { shown }),
  };
  return [{ collection: WEBHOOKS, id, next: () => next }];
};

type Outcomes = Recorded<WebhookOutcomeEvent>;

/** The document of the stream itself says how far it is folded. */
const streamStep = ({ stream, position }: Outcomes, document: Document | undefined): Step => {
  const { id } = splitStream(stream);
  return { collection: WEBHOOKS, id, document: { id, seq: document?.seq ?? position, position } };
};

/** A fact has fewer outcomes, each with a document of its own: no two documents of a collection have the same `seq`. */
const FAILURES_PER_FACT = 128;

const failureIdOf = (webhook: string, number: number): string => `${webhook}.${number.toString(36)}`;

/** `at`: the place of the outcome in its fact. */
const failureStep = (webhook: string, position: number, outcome: WebhookOutcome, at: number): Step | undefined => {
  const { attempt, attemptedAt: _at, result, responseMs: _ms, nextRetryAt, replayed, statusCode: _code, error: _error, ...sent } = outcome;
  const id = failureIdOf(webhook, outcome.number);
  if (result === 'success')
    return attempt === 1 && replayed === undefined ? undefined : { collection: WEBHOOK_FAILURES, id, document: undefined };
  const seq = position * FAILURES_PER_FACT + at;
  const document = { id, seq, position, webhook, attempt, sent, ...(nextRetryAt === undefined ? {} : { dueAt: nextRetryAt }) };
  return { collection: WEBHOOK_FAILURES, id, document };
};

const itemOf = (outcome: WebhookOutcome, answer: string | null | undefined): DeliveryListing => ({
  id: deliveryId(outcome.number, outcome.key),
  eventId: webhookEventId(outcome.number, outcome.key),
  event: outcome.kind,
  status: outcome.result,
  attempt: outcome.attempt,
  ...(outcome.statusCode === undefined ? {} : { statusCode: outcome.statusCode }),
  responseTime: outcome.responseMs,
  attemptedAt: outcome.attemptedAt,
  ...(outcome.error === undefined ? {} : { error: outcome.error }),
  ...(outcome.nextRetryAt === undefined ? {} : { nextRetryAt: outcome.nextRetryAt }),
  ...(answer === null || answer === undefined || answer === '' ? {} : { response: answer }),
});

const attempted = (recorded: Recorded<Extract<WebhookOutcomeEvent, { type: 'WebhookAttempted' }>>, document: Document | undefined) => {
  const { stream, revision, position, event } = recorded;
  const webhook = webhookOfStream(stream) ?? '';
  const { at, outcomes } = event.data;
  const id = `${webhook}.${revision}`;
  const items = outcomes.map((outcome, index) => itemOf(outcome, event.sealed?.answers[index]));
  const attempts: WebhookAttemptsDocument = { id, seq: position, position, webhook, at, items };
  const failures = outcomes.flatMap((outcome, index) => failureStep(webhook, position, outcome, index) ?? []);
  return [{ collection: WEBHOOK_ATTEMPTS, id, document: attempts }, ...failures, streamStep(recorded, document)];
};

const retryAsked = (recorded: Recorded<Extract<WebhookOutcomeEvent, { type: 'WebhookRetryAsked' }>>, document: Document | undefined) => {
  const { position, stream, event } = recorded;
  const webhook = webhookOfStream(stream) ?? '';
  const { at, attempt, sent } = event.data;
  const id = failureIdOf(webhook, sent.number);
  const failure: WebhookFailureDocument = { id, seq: position * FAILURES_PER_FACT, position, webhook, attempt, sent, dueAt: at };
  return [{ collection: WEBHOOK_FAILURES, id, document: failure }, streamStep(recorded, document)];
};

export const webhooksProjection = declareProjection({
  name: 'webhooks',
  collections: [
    { name: WEBHOOK_ATTEMPTS, version: 1, fields: ['webhook', 'at'], indexes: [['webhook'], ['webhook', 'at']] },
    { name: WEBHOOK_FAILURES, version: 1, fields: ['webhook', 'dueAt'], indexes: [['webhook', 'dueAt']] },
    { name: WEBHOOKS, version: 1, fields: ['team'], indexes: [['team']], personal: ['shown'] },
  ],
  main: WEBHOOKS,
  kinds: ['webhook', 'webhookOutcome'],
  decrypts: ['WebhookCreated', 'WebhookChanged', 'WebhookAttempted'],
  on: {
    WebhookCreated: settingsStep,
    WebhookChanged: settingsStep,
    WebhookSecretRotated: settingsStep,
    WebhookDisabled: settingsStep,
    WebhookDeleted: settingsStep,
    WebhookAttempted: attempted,
    WebhookRetryAsked: retryAsked,
    WebhookReplayAsked: (recorded, document) => [streamStep(recorded, document)],
    WebhookOutcomesEnded: (recorded, document) => [streamStep(recorded, document)],
  },
});

const SUBSCRIPTIONS_MAX = 100_000;

/** Every subscription that is not deleted, with its team and the position of its first event, oldest first. */
export const livingWebhooks = async (
  readModels: Pick<ReadModels, 'find'>,
): Promise<readonly Readonly<{ id: WebhookId; team: string; seq: number }>[]> => {
  const found = (await readModels.find(WEBHOOKS, {
    where: { team: { gte: '' } },
    sort: { field: 'seq', direction: 'asc' },
    limit: SUBSCRIPTIONS_MAX,
  })) as readonly WebhookDocument[];
  return found.map(({ id, team, seq }) => ({ id: id as WebhookId, team: team!, seq }));
};

/** The failed deliveries of a subscription that are tried again, the one due first before the others. */
export const dueFailures = async (
  readModels: Pick<ReadModels, 'find'>,
  webhook: WebhookId,
  limit: number,
): Promise<readonly (WebhookFailureDocument & Readonly<{ dueAt: string }>)[]> =>
  (await readModels.find(WEBHOOK_FAILURES, {
    where: { webhook: { eq: webhook }, dueAt: { gte: '' } },
    sort: { field: 'dueAt', direction: 'asc' },
    limit,
  })) as readonly (WebhookFailureDocument & Readonly<{ dueAt: string }>)[];

/** How many attempts of a delivery have failed; undefined where the last one did not. */
export const failedAttempts = async (
  readModels: Pick<ReadModels, 'get'>,
  webhook: WebhookId,
  number: number,
): Promise<number | undefined> =>
  ((await readModels.get(WEBHOOK_FAILURES, failureIdOf(webhook, number))) as WebhookFailureDocument | undefined)?.attempt;

/** In: the document of a subscription of a team. Its URL is empty where its key is lost. */
export const listedWebhook = ({ id, webhook, shown }: WebhookDocument): WebhookListing =>
  webhookListing(id, assertDefined(webhook, 'subscription'), shown ?? { url: '' });

/** Of one subscription, newest first, since a moment. `cursor`: the position of a fact and how many of its attempts were shown. */
export const listDeliveries = async (
  readModels: Pick<ReadModels, 'find'>,
  webhook: WebhookId,
  since: string,
  { limit, cursor }: Readonly<{ limit: number; cursor: Readonly<{ seq: number; shown: number }> | undefined }>,
): Promise<Readonly<{ deliveries: DeliveryListing[]; next: Readonly<{ seq: number; shown: number }> | undefined }>> => {
  const seq = cursor === undefined ? {} : { seq: { lte: cursor.seq } };
  // Each fact has one attempt at least.
  const facts = (await readModels.find(WEBHOOK_ATTEMPTS, {
    where: { webhook: { eq: webhook }, at: { gte: since }, ...seq },
    sort: { field: 'seq', direction: 'desc' },
    limit: limit + 1,
  })) as readonly WebhookAttemptsDocument[];
  const deliveries: DeliveryListing[] = [];
  for (const fact of facts) {
    let shown = fact.seq === cursor?.seq ? cursor.shown : 0;
    for (const item of fact.items.toReversed().slice(shown)) {
      if (deliveries.length === limit) return { deliveries, next: { seq: fact.seq, shown } };
      deliveries.push(item);
      shown += 1;
    }
  }
  return { deliveries, next: undefined };
};

/** Webhook subscriptions, what came of each attempt to deliver to them, and which deliveries have failed and when they are due again. */
import { deliveryListing, type DeliveryListing } from '../domain/webhook/delivery.js';
import type { Recorded } from '../domain/events.js';
import { assertDefined, splitStream, webhookOfStream, type TeamId, type WebhookId } from '../domain/ids.js';
import type { Document, ReadModels } from '../domain/ports/read-models.js';
import type { SentEvent, WebhookEvent, WebhookOutcome, WebhookOutcomeEvent } from '../domain/webhook/events.js';
import { evolveWebhook, type Webhook, type WebhookListing, webhookListing } from '../domain/webhook/state.js';
import { declareProjection, type Handler, type Reference, type Step } from './projection.js';

export const WEBHOOKS = 'webhooks';
export const WEBHOOK_ATTEMPTS = 'webhookAttempts';
export const WEBHOOK_FAILURES = 'webhookFailures';

/** Of a subscription. `shown`: what its key seals and lists show. */
export type WebhookDocument = Document &
  Readonly<{ team?: string; webhook?: Omit<Webhook, 'sealed'>; shown?: Readonly<{ url: string; description?: string }> }>;

/**
 * Of a part of its outcomes, in the same collection. `removeAfter`: when its last attempt was told of; of a part that ends all of them it is
 * before every time.
 */
export type WebhookPartDocument = Document & Readonly<{ ofTeam: string; removeAfter: string; isEnded: boolean }>;

/** The attempts of one fact, in their order. */
export type WebhookAttemptsDocument = Document &
  Readonly<{ webhook: string; at: string; items: readonly DeliveryListing[]; answers?: readonly (string | null)[] }>;

/** A delivery whose last attempt has failed, and the part that says so. `dueAt`: when it is tried again; absent where it is not by itself. */
export type WebhookFailureDocument = Document &
  Readonly<{ webhook: string; dueAt?: string; attempt: number; sent: SentEvent; part: number }>;

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

const BEFORE_EVERY_TIME = '0';

/** The part's own document says how far it is folded, and when it may be removed. */
const partStep = ({ stream, position, event, metadata }: Outcomes, document: Document | undefined): Step => {
  const { id } = splitStream(stream);
  const before = document as WebhookPartDocument | undefined;
  const isEnded = event.type === 'WebhookOutcomesEnded';
  // A part is closed when the next begins, which may be long after what it tells.
  const told = event.type === 'WebhookOutcomesClosed' ? before?.removeAfter : undefined;
  const removeAfter = isEnded ? BEFORE_EVERY_TIME : (told ?? event.data.at);
  const next: WebhookPartDocument = { id, seq: before?.seq ?? position, position, ofTeam: metadata.teamId, removeAfter, isEnded };
  return { collection: WEBHOOKS, id, document: next };
};

type Part = Readonly<{ webhook: WebhookId; part: number }>;

const partOf = (stream: string): Part => ({
  webhook: assertDefined(webhookOfStream(stream), 'subscription'),
  part: Number(stream.slice(stream.lastIndexOf('.') + 1)),
});

const factIdOf = ({ webhook, part }: Part, revision: number): string => `${webhook}.${part}.${revision}`;
const failureIdOf = (webhook: string, number: number): string => `${webhook}.${number.toString(36)}`;

/** More than there are outcomes in one fact: several of its deliveries may have failed, and each document has a place of its own. */
const FAILURES_PER_FACT_MAX = 128;
const failureSeq = (position: number, index: number): number => position * FAILURES_PER_FACT_MAX + index;

const failureStep = ({ webhook, part }: Part, position: number, outcome: WebhookOutcome, index: number): Step | undefined => {
  const { attempt, attemptedAt: _at, result, responseMs: _ms, nextRetryAt, replayed, statusCode: _code, error: _error, ...sent } = outcome;
  const id = failureIdOf(webhook, outcome.number);
  if (result === 'success')
    return attempt === 1 && replayed === undefined ? undefined : { collection: WEBHOOK_FAILURES, id, document: undefined };
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

const attempted = (recorded: Recorded<Extract<WebhookOutcomeEvent, { type: 'WebhookAttempted' }>>, document: Document | undefined) => {
  const { stream, revision, position, event } = recorded;
  const part = partOf(stream);
  const { at, outcomes } = event.data;
  const id = factIdOf(part, revision);
  const items = outcomes.map((outcome, index) => deliveryListing(outcome, event.sealed?.answers[index]));
  const attempts: WebhookAttemptsDocument = { id, seq: position, position, webhook: part.webhook, at, items };
  const failures = outcomes.flatMap((outcome, index) => failureStep(part, position, outcome, index) ?? []);
  return [{ collection: WEBHOOK_ATTEMPTS, id, document: attempts }, ...failures, partStep(recorded, document)];
};

const retryAsked = (recorded: Recorded<Extract<WebhookOutcomeEvent, { type: 'WebhookRetryAsked' }>>, document: Document | undefined) => {
  const { position, stream, event } = recorded;
  const { webhook, part } = partOf(stream);
  const { at, attempt, sent } = event.data;
  const id = failureIdOf(webhook, sent.number);
  const failure: WebhookFailureDocument = { id, seq: failureSeq(position, 0), position, webhook, part, attempt, sent, dueAt: at };
  return [{ collection: WEBHOOK_FAILURES, id, document: failure }, partStep(recorded, document)];
};

type Removed = Recorded<Extract<WebhookOutcomeEvent, { type: 'WebhookOutcomesRemoved' }>>;

/** A delivery that has failed again since is told of by a later part, and stays. */
const removed = ({ stream, revision, event }: Removed): readonly Step[] => {
  const part = partOf(stream);
  const facts = Array.from({ length: revision }, (_, fact) => factIdOf(part, fact));
  const forget = (document: Document | undefined): Document | undefined =>
    (document as WebhookFailureDocument | undefined)?.part === part.part ? undefined : document;
  return [
    ...facts.map((id): Step => ({ collection: WEBHOOK_ATTEMPTS, id, document: undefined })),
    ...event.data.failed.map((number): Step => ({ collection: WEBHOOK_FAILURES, id: failureIdOf(part.webhook, number), next: forget })),
    { collection: WEBHOOKS, id: splitStream(stream).id, document: undefined },
  ];
};

const relatedOf = ({ stream, event }: Recorded): readonly Reference[] =>
  event.type === 'WebhookOutcomesRemoved'
    ? event.data.failed.map((number) => ({ collection: WEBHOOK_FAILURES, id: failureIdOf(partOf(stream).webhook, number) }))
    : [];

export const webhooksProjection = declareProjection({
  name: 'webhooks',
  collections: [
    { name: WEBHOOK_ATTEMPTS, version: 1, fields: ['webhook', 'at'], indexes: [['webhook'], ['webhook', 'at']] },
    { name: WEBHOOK_FAILURES, version: 1, fields: ['webhook', 'dueAt'], indexes: [['webhook', 'dueAt']] },
    { name: WEBHOOKS, version: 1, fields: ['team', 'removeAfter'], indexes: [['team'], ['removeAfter']], personal: ['shown'] },
  ],
  main: WEBHOOKS,
  related: relatedOf,
  kinds: ['webhook', 'webhookOutcome'],
  decrypts: ['WebhookCreated', 'WebhookChanged', 'WebhookAttempted'],
  on: {
    WebhookCreated: settingsStep,
    WebhookChanged: settingsStep,
    WebhookSecretRotated: settingsStep,
    WebhookDisabled: settingsStep,
    WebhookBackfillAsked: settingsStep,
    WebhookDeleted: settingsStep,
    WebhookAttempted: attempted,
    WebhookRetryAsked: retryAsked,
    WebhookReplayAsked: (recorded, document) => [partStep(recorded, document)],
    WebhookOutcomesClosed: (recorded, document) => [partStep(recorded, document)],
    WebhookOutcomesEnded: (recorded, document) => [partStep(recorded, document)],
    WebhookOutcomesRemoved: removed,
  },
});

const SUBSCRIPTIONS_MAX = 100_000;
/** More than a team may have. */
const OF_TEAM_MAX = 100;

/** The subscriptions of a team that are not deleted. */
export const webhooksOfTeam = async (readModels: Pick<ReadModels, 'find'>, team: TeamId): Promise<readonly WebhookId[]> => {
  const found = await readModels.find(WEBHOOKS, { where: { team: { eq: team } }, limit: OF_TEAM_MAX });
  return found.map(({ id }) => id as WebhookId);
};

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

/** Parts of outcomes whose last fact is as old as that or older, and those that end all of them; the oldest first. */
export const removableParts = async (
  readModels: Pick<ReadModels, 'find'>,
  upTo: string,
  limit: number,
): Promise<readonly (Part & Readonly<{ team: string; isEnded: boolean }>)[]> => {
  const found = (await readModels.find(WEBHOOKS, {
    where: { removeAfter: { lte: upTo } },
    sort: { field: 'removeAfter', direction: 'asc' },
    limit,
  })) as readonly WebhookPartDocument[];
  return found.map(({ id, ofTeam, isEnded }) => ({ ...partOf(`webhookOutcome-${id}`), team: ofTeam, isEnded }));
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

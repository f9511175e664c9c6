/** What is read of the documents of webhooks: subscriptions, parts that may be removed, failed and past deliveries. */
import type { DeliveryListing } from '../../domain/webhooks/delivery.js';
import { assertDefined, type TeamId, type WebhookId } from '../../domain/core/ids.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import { type WebhookListing, webhookListing } from '../../domain/webhooks/decider.js';
import {
  failureIdOf,
  partOf,
  WEBHOOK_ATTEMPTS,
  WEBHOOK_FAILURES,
  WEBHOOKS,
  type Part,
  type WebhookAttemptsDocument,
  type WebhookDocument,
  type WebhookFailureDocument,
  type WebhookPartDocument,
} from './webhooks.js';

const SUBSCRIPTIONS_MAX = 100_000;

/** More than a team may have. */
const OF_TEAM_MAX = 100;

/** The subscriptions of a team that are not deleted. */
export const webhooksOfTeam = async (readModels: Pick<ReadModels, 'find'>, team: TeamId): Promise<readonly WebhookId[]> => {
  const found = await readModels.find(WEBHOOKS, { where: { team: { eq: team } }, limit: OF_TEAM_MAX });
  return found.map(({ id }) => id as WebhookId);
};

/** Every subscription that is not gone for good, deleted or not, with its team and the position of its first event, oldest first. */
export const keptWebhooks = async (
  readModels: Pick<ReadModels, 'find'>,
): Promise<readonly Readonly<{ id: WebhookId; team: string; seq: number; isDeleted: boolean }>[]> => {
  const sort = { field: 'seq', direction: 'asc' } as const;
  const limit = SUBSCRIPTIONS_MAX;
  const living = (await readModels.find(WEBHOOKS, { where: { team: { gte: '' } }, sort, limit })) as readonly WebhookDocument[];
  const deleted = (await readModels.find(WEBHOOKS, { where: { deletedOf: { gte: '' } }, sort, limit })) as readonly WebhookDocument[];
  const kept = living.map(({ id, team, seq }) => ({ id: id as WebhookId, team: team!, seq, isDeleted: false }));
  for (const { id, deletedOf, seq } of deleted) kept.push({ id: id as WebhookId, team: deletedOf!, seq, isDeleted: true });
  return kept.sort((a, b) => a.seq - b.seq);
};

/** Those that a team can restore, the first deleted first. */
export const restorableWebhooks = async (
  readModels: Pick<ReadModels, 'find'>,
  team: string,
  limit: number,
): Promise<readonly WebhookId[]> => {
  const found = await readModels.find(WEBHOOKS, {
    where: { deletedOf: { eq: team } },
    sort: { field: 'deletedAt', direction: 'asc' },
    limit,
  });
  return found.map(({ id }) => id as WebhookId);
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
export const listedWebhook = ({ id, webhook, shown, deletedAt }: WebhookDocument): WebhookListing & { deletedAt?: string } => ({
  ...webhookListing(id, assertDefined(webhook, 'subscription'), shown ?? { url: '' }),
  ...(deletedAt === undefined ? {} : { deletedAt }),
});

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

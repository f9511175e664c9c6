/** Reads for live events: the items of lists by their ids, each as the list of the team shows it. */
import type { ApprovalListing } from '../../domain/approvals/decider.js';
import type { BatchListing } from '../../domain/bulk/listing.js';
import {
  assertDefined,
  emailStream,
  parseBatchId,
  parseEmailId,
  type BatchId,
  type TeamId,
} from '../../domain/core/ids.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { ReadModels } from '../../domain/ports/read-models.js';
import type { WebhookListing } from '../../domain/webhooks/decider.js';
import type { EventLog } from '../../event-log/event-log.js';
import { approvalOf } from '../approvals/approvals.js';
import { batchOf, waitingSince } from '../bulk/batches.js';
import { EMAILS, emailListItem, type EmailDocument } from '../email/emails.js';
import { queueStats, type QueueStats } from '../email/queue.js';
import type { EmailListing } from '../email/read-models.js';
import { listedWebhook } from '../webhooks/reads.js';
import { WEBHOOKS, type WebhookDocument } from '../webhooks/webhooks.js';

/** An email of the team: its item, undefined if lists do not show it, and the id of its bulk send, if it has one. */
type LiveEmail = Readonly<{ item: EmailListing | undefined; batch: string | undefined }>;

export type LiveItems = Readonly<{
  emails: (teamId: TeamId, ids: readonly string[]) => Promise<ReadonlyMap<string, LiveEmail>>;
  /** undefined for those that lists do not show. */
  batches: (teamId: TeamId, ids: readonly string[]) => Promise<ReadonlyMap<string, BatchListing | undefined>>;
  webhooks: (teamId: TeamId, ids: readonly string[]) => Promise<ReadonlyMap<string, WebhookListing | undefined>>;
  queue: (teamId: TeamId) => Promise<QueueStats>;
  approvals: (teamId: TeamId, ids: readonly string[]) => Promise<ReadonlyMap<string, ApprovalListing | undefined>>;
}>;

type Deps = Readonly<{
  readModels: Pick<ReadModels, 'get' | 'find'>;
  eventLog: Pick<EventLog, 'load'>;
  clock: Clock;
  /** How long that many open emails of a team are likely to take. */
  waitMs?: (teamId: TeamId, emails: number) => number;
}>;

export const openLiveItems = (deps: Deps): LiveItems => ({
  emails: (teamId, ids) => each(ids, (id) => emailOf(deps, teamId, id)),
  batches: (teamId, ids) => each(ids, (id) => batchOf(deps, teamId, assertDefined(parseBatchId(id), 'batch id'))),
  webhooks: (teamId, ids) =>
    each(ids, async (id) => {
      const webhook = (await deps.readModels.get(WEBHOOKS, id)) as WebhookDocument | undefined;
      return webhook?.team === teamId ? listedWebhook(webhook) : undefined;
    }),
  queue: (teamId) => queueStats(deps.readModels, teamId, deps.clock.now(), waitingSince(deps.readModels)),
  approvals: (teamId, ids) => each(ids, (id) => approvalOf(deps, teamId, id)),
});

const each = async <Item>(
  ids: readonly string[],
  read: (id: string) => Promise<Item>,
): Promise<ReadonlyMap<string, Item>> =>
  new Map(await Promise.all(ids.map(async (id): Promise<[string, Item]> => [id, await read(id)])));

const emailOf = async (deps: Deps, teamId: TeamId, id: string): Promise<LiveEmail> => {
  const email = (await deps.readModels.get(EMAILS, id)) as EmailDocument | undefined;
  if (email?.owner !== teamId) return { item: undefined, batch: undefined };
  if (email.gone === 1) return { item: undefined, batch: await batchOfGone(deps, id) };
  return { item: email.team === teamId ? emailListItem(email) : undefined, batch: email.batch };
};

/** The document of a deleted email does not name its bulk send any more; its first event does. */
const batchOfGone = async ({ eventLog }: Deps, id: string): Promise<BatchId | undefined> => {
  const stream = emailStream(assertDefined(parseEmailId(id), 'email id'));
  const event = (await eventLog.load(stream, 0, []))[0]?.event;
  if (event?.type !== 'EmailQueued' && event?.type !== 'EmailScheduled') return undefined;
  return event.data.batch === undefined ? undefined : parseBatchId(event.data.batch.id);
};

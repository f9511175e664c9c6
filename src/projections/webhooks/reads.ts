/**
 * Queries on webhooks: lists of subscriptions and deliveries, the attempts that concern one email, and what workers
 * look for.
 */
import { type TeamId, type WebhookId, assertDefined } from '../../domain/core/ids.js';
import { isoTime, DAY_MS } from '../../domain/core/time.js';
import type { Cursor, ReadModels } from '../../domain/ports/read-models.js';
import {
  eventKey,
  readWebhookEventId,
  type TrailAttempt,
  type WebhookCause,
  type WebhookTrail,
  type DeliveryListing,
  type AnsweredListing,
  withAnswers,
} from '../../domain/webhooks/delivery.js';
import {
  WEBHOOK_ATTEMPTS,
  WEBHOOKS,
  type WebhookAttemptsDocument,
  type WebhookDocument,
  failureIdOf,
  partOf,
  WEBHOOK_FAILURES,
  type Part,
  type WebhookFailureDocument,
  type WebhookPartDocument,
} from './webhooks.js';
import { type WebhookListing, webhookListing } from '../../domain/webhooks/decider.js';
import type { Limits } from '../../domain/core/limits.js';
import type { Clock } from '../../domain/ports/clock.js';
import type { Keys } from '../../domain/ports/keys.js';
import { readCursor, readPage, writeCursor, type Listed, type Page, type Paging } from '../core/pages.js';

type Reader = Pick<ReadModels, 'find'>;

type Deps = Readonly<{ readModels: ReadModels; keys: Pick<Keys, 'getMany'>; clock: Clock; limits: Limits }>;

type Search = Readonly<{ webhook: WebhookId; causes: ReadonlyMap<string, WebhookCause>; since: string; max: number }>;

/**
 * Facts of one subscription that are looked through from the first event on; and from each time on at which an attempt
 * was due, RETRY_FACTS_MAX.
 */
export const TRAIL_FACTS_MAX = 500;

const RETRY_FACTS_MAX = 100;

const PAGE = 100;

/** An attempt may begin that much before it is due. */
const EARLY_MS = 1_000;

const SUBSCRIPTIONS_MAX = 100_000;

/** More than a team may have. */
const OF_TEAM_MAX = 100;

/** Attempts with that result, of events of that kind. */
export type DeliveryFilter = Readonly<{ status?: DeliveryListing['status']; event?: string }>;

export type WebhookQueries = Readonly<{
  /** Newest first. */
  listWebhooks: (
    teamId: TeamId,
    paging: Paging,
    filter?: Readonly<{ deleted?: true }>,
  ) => Promise<Page<Listed<WebhookListing>>>;
  /** Deleted subscriptions of a team that are not gone for good, the first deleted first. */
  restorableWebhooks: (teamId: TeamId, limit: number) => Promise<readonly WebhookId[]>;
  /** Newest first. Rejects with INVALID_CURSOR where the cursor is not one of ours. */
  webhookDeliveries: (
    id: WebhookId,
    paging: Readonly<{ limit: number; cursor: string | undefined }>,
    filter?: DeliveryFilter,
  ) => Promise<{ deliveries: DeliveryListing[]; nextCursor: string | null }>;
  /** How many attempts of that delivery have failed; undefined where the last one did not. */
  webhookFailedAttempts: (id: WebhookId, number: number) => Promise<number | undefined>;
  /** The attempts to deliver what subscriptions of the team may have heard of those events. */
  webhookTrail: (teamId: TeamId, told: readonly WebhookCause[]) => Promise<WebhookTrail>;
}>;

export const makeWebhookQueries = ({ readModels, keys, clock, limits }: Deps): WebhookQueries => ({
  listWebhooks: (teamId, paging, { deleted } = {}) => {
    const deletedSince = isoTime(clock.now() - limits.restoreDays * DAY_MS);
    const where =
      deleted === undefined
        ? { team: { eq: teamId } }
        : { deletedOf: { eq: teamId }, deletedAt: { gte: deletedSince } };
    const searchTotalMax = limits.listTotalMax;
    const total = async () => {
      const count = await readModels.count(WEBHOOKS, { where }, searchTotalMax);
      return { total: count, isLowerBound: count >= searchTotalMax };
    };
    const list = {
      collection: WEBHOOKS,
      where,
      searchTotalMax,
      total,
      ...(deleted === undefined ? {} : { sortField: 'deletedAt' }),
    };
    return readPage<WebhookDocument, Listed<WebhookListing>>(readModels, list, paging, listedWebhook);
  },
  restorableWebhooks: (teamId, limit) => restorableWebhooks(readModels, teamId, limit),
  webhookDeliveries: async (id, { limit, cursor }, filter) => {
    const from = cursor === undefined ? undefined : readCursor(cursor, WEBHOOK_ATTEMPTS, 'shown');
    const since = isoTime(clock.now() - limits.webhookRecordDays * DAY_MS);
    const after = from && { seq: from.seq, shown: Number(from.value) };
    const { deliveries, next } = await listDeliveries(
      { readModels, keys },
      id,
      since,
      { limit, cursor: after },
      filter,
    );
    const shown = next && { id: '', position: next.seq, ...next };
    return { deliveries, nextCursor: shown === undefined ? null : writeCursor(shown, WEBHOOK_ATTEMPTS, 'shown') };
  },
  webhookTrail: (teamId, told) => webhookTrail(readModels, teamId, told),
  webhookFailedAttempts: (id, number) => failedAttempts(readModels, id, number),
});

/** The subscriptions of a team that are not deleted. */
export const webhooksOfTeam = async (readModels: Reader, team: TeamId): Promise<readonly WebhookId[]> => {
  const found = await readModels.find(WEBHOOKS, { where: { team: { eq: team } }, limit: OF_TEAM_MAX });
  return found.map(({ id }) => id as WebhookId);
};

/**
 * Every subscription that is not gone for good, deleted or not, with its team and the position of its first event,
 * oldest first.
 */
export const keptWebhooks = async (
  readModels: Reader,
): Promise<readonly Readonly<{ id: WebhookId; team: string; seq: number; isDeleted: boolean }>[]> => {
  const sort = { field: 'seq', direction: 'asc' } as const;
  const limit = SUBSCRIPTIONS_MAX;
  const living = (await readModels.find(WEBHOOKS, {
    where: { team: { gte: '' } },
    sort,
    limit,
  })) as readonly WebhookDocument[];
  const deleted = (await readModels.find(WEBHOOKS, {
    where: { deletedOf: { gte: '' } },
    sort,
    limit,
  })) as readonly WebhookDocument[];
  const kept = living.map(({ id, team, seq }) => ({ id: id as WebhookId, team: team!, seq, isDeleted: false }));
  for (const { id, deletedOf, seq } of deleted)
    kept.push({ id: id as WebhookId, team: deletedOf!, seq, isDeleted: true });
  return kept.sort((a, b) => a.seq - b.seq);
};

/** Parts of outcomes whose last fact is as old as that, and those of deleted subscriptions; the oldest first. */
export const removableParts = async (
  readModels: Reader,
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

/** The failed deliveries of a subscription that are tried again, the first due first. */
export const dueFailures = async (
  readModels: Reader,
  webhook: WebhookId,
  limit: number,
): Promise<readonly (WebhookFailureDocument & Readonly<{ dueAt: string }>)[]> =>
  (await readModels.find(WEBHOOK_FAILURES, {
    where: { webhook: { eq: webhook }, dueAt: { gte: '' } },
    sort: { field: 'dueAt', direction: 'asc' },
    limit,
  })) as readonly (WebhookFailureDocument & Readonly<{ dueAt: string }>)[];

/** The subscriptions that a team can restore, the first deleted first. */
const restorableWebhooks = async (readModels: Reader, team: string, limit: number): Promise<readonly WebhookId[]> => {
  const found = await readModels.find(WEBHOOKS, {
    where: { deletedOf: { eq: team } },
    sort: { field: 'deletedAt', direction: 'asc' },
    limit,
  });
  return found.map(({ id }) => id as WebhookId);
};

/** How many attempts of a delivery have failed; undefined if the last one did not fail. */
const failedAttempts = async (
  readModels: Pick<ReadModels, 'get'>,
  webhook: WebhookId,
  number: number,
): Promise<number | undefined> =>
  ((await readModels.get(WEBHOOK_FAILURES, failureIdOf(webhook, number))) as WebhookFailureDocument | undefined)
    ?.attempt;

/** A subscription in the list. The URL is empty if its key is lost. */
/** The item of a subscription. */
export const listedWebhook = ({
  id,
  webhook,
  shown,
  deletedAt,
}: WebhookDocument): WebhookListing & { deletedAt?: string } => ({
  ...webhookListing(id, assertDefined(webhook, 'subscription'), shown ?? { url: '' }),
  ...(deletedAt === undefined ? {} : { deletedAt }),
});

/** Facts that one page of a filtered list looks through; a page may then have fewer attempts, and a cursor. */
const LOOKED_MAX = 1_000;

/**
 * The attempts of a subscription since a moment, the newest first. `cursor`: the position of a fact and how many of its
 * attempts were looked at.
 */
export const listDeliveries = async (
  { readModels, keys }: Readonly<{ readModels: Reader; keys: Pick<Keys, 'getMany'> }>,
  webhook: WebhookId,
  since: string,
  { limit, cursor }: Readonly<{ limit: number; cursor: DeliveryCursor | undefined }>,
  { status, event }: DeliveryFilter = {},
): Promise<Readonly<{ deliveries: DeliveryListing[]; next: DeliveryCursor | undefined }>> => {
  const isWanted = ({ item }: AnsweredListing): boolean =>
    (status === undefined || item.status === status) && (event === undefined || item.event === event);
  const found: AnsweredListing[] = [];
  let from = cursor;
  for (let looked = 0; ;) {
    // Each fact has at least one attempt.
    const facts = (await readModels.find(WEBHOOK_ATTEMPTS, {
      where: { webhook: { eq: webhook }, at: { gte: since }, ...(from && { seq: { lte: from.seq } }) },
      sort: { field: 'seq', direction: 'desc' },
      limit: limit + 1,
    })) as readonly WebhookAttemptsDocument[];
    for (const fact of facts) {
      let shown = fact.seq === from?.seq ? from.shown : 0;
      const items = fact.items.map((item, index) => ({ item, answer: fact.answers?.[index] }));
      for (const one of items.toReversed().slice(shown)) {
        if (found.length === limit)
          return { deliveries: await withAnswers(keys, found), next: { seq: fact.seq, shown } };
        if (isWanted(one)) found.push(one);
        shown += 1;
      }
    }
    const last = facts.at(-1);
    looked += facts.length;
    const isEnd = facts.length <= limit || last === undefined;
    if (isEnd) return { deliveries: await withAnswers(keys, found), next: undefined };
    from = { seq: last.seq, shown: last.items.length };
    if (looked >= LOOKED_MAX) return { deliveries: await withAnswers(keys, found), next: from };
  }
};

type DeliveryCursor = Readonly<{ seq: number; shown: number }>;

/** The attempts to deliver the events of one email, by every subscription of its team. */
export const webhookTrail = async (
  readModels: Reader,
  teamId: TeamId,
  told: readonly WebhookCause[],
): Promise<WebhookTrail> => {
  if (told.length === 0) return { attempts: [], isComplete: true };
  const subscriptions = (await readModels.find(WEBHOOKS, {
    where: { team: { eq: teamId } },
    limit: OF_TEAM_MAX,
  })) as readonly WebhookDocument[];
  const trails: WebhookTrail[] = [];
  for (const { id } of subscriptions) trails.push(await trailOf(readModels, id as WebhookId, told));
  return {
    attempts: trails.flatMap(({ attempts }) => attempts),
    isComplete: trails.every(({ isComplete }) => isComplete),
  };
};

/**
 * First attempts follow soon after the event, so that they are found from the first event on. If there is more than one
 * search looks through, later attempts are searched from the time at which a failed attempt announced them.
 */
const trailOf = async (
  readModels: Reader,
  webhook: WebhookId,
  told: readonly WebhookCause[],
): Promise<WebhookTrail> => {
  const causes = new Map(told.map((cause) => [eventKey(webhook, cause.eventId, cause.recipients[0]?.place), cause]));
  const found = new Map<string, TrailAttempt>();
  const first = told.reduce((earliest, { at }) => (at < earliest ? at : earliest), told[0]!.at);
  const look = (since: string, max: number) => lookThrough(readModels, { webhook, causes, since, max }, found);
  let end = await look(first, TRAIL_FACTS_MAX);
  const isComplete = end === undefined;
  while (end !== undefined) {
    const next = dueAfter(found.values(), end);
    if (next === undefined) break;
    const reached = await look(next, RETRY_FACTS_MAX);
    end = reached === undefined || reached > end ? reached : next;
  }
  return { attempts: [...found.values()], isComplete };
};

/** The earliest time after that one at which an attempt was due. */
const dueAfter = (found: Iterable<TrailAttempt>, after: string): string | undefined => {
  const due = [...found]
    .flatMap(({ item }) => (item.nextRetryAt === undefined ? [] : [early(item.nextRetryAt)]))
    .filter((at) => at > after);
  return due.toSorted()[0];
};

const early = (at: string): string => isoTime(Date.parse(at) - EARLY_MS);

/** Adds what it finds. Out: the time up to which it has searched; undefined if it has seen all facts. */
const lookThrough = async (
  readModels: Reader,
  { webhook, causes, since, max }: Search,
  found: Map<string, TrailAttempt>,
): Promise<string | undefined> => {
  let after: Cursor | undefined;
  for (let looked = 0; looked < max; looked += PAGE) {
    const facts = (await readModels.find(WEBHOOK_ATTEMPTS, {
      where: { webhook: { eq: webhook }, at: { gte: since } },
      sort: { field: 'at', direction: 'asc' },
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    })) as readonly WebhookAttemptsDocument[];
    for (const fact of facts) addOf(fact, webhook, causes, found);
    const last = facts.at(-1);
    if (last === undefined || facts.length < PAGE) return undefined;
    after = { value: last.at, seq: last.seq };
  }
  return after?.value as string | undefined;
};

const addOf = (
  { position, items }: WebhookAttemptsDocument,
  webhook: WebhookId,
  causes: Search['causes'],
  found: Map<string, TrailAttempt>,
): void => {
  items.forEach((item, index) => {
    const cause = causes.get(readWebhookEventId(item.eventId, 'evt')?.key ?? '');
    // The index 0 is that of the event itself.
    if (cause !== undefined) found.set(`${position}.${index}`, { webhook, position, index: index + 1, item, cause });
  });
};

/** The queries behind the list endpoints. */
import type { OAuthAppListing } from '../domain/apps/app.js';
import {
  listedOAuthApp,
  OAUTH_APPS,
  type OAuthAppDocument,
  listedGrants,
  OAUTH_GRANTS,
  type OAuthGrantDocument,
} from './apps/apps.js';
import { type EmailStatus, emailStatuses } from '../domain/email/status.js';
import { dayOf, isoTime, DAY_MS } from '../domain/core/time.js';
import type { AssetUsage } from '../domain/templates/asset.js';
import type { TemplateListing } from '../domain/templates/decider.js';
import { assertDefined, parseEmailId, type TeamId, type UserId } from '../domain/core/ids.js';
import type { Limits } from '../domain/core/limits.js';
import type { Clock } from '../domain/ports/clock.js';
import type { Keys } from '../domain/ports/keys.js';
import type { Condition, Query, ReadModels } from '../domain/ports/read-models.js';
import { foldForSearch } from '../domain/core/search-text.js';
import type { Queries, SearchFilter, DeletableFilter, TemplateFilter } from './query-types.js';
import {
  type EmailFilter,
  EMAIL_COUNTS,
  EMAILS,
  emailListItem,
  type EmailCountsDocument,
  type EmailDocument,
  emailsToRetry,
} from './email/emails.js';
import { type Listed, type Paging, counted, readPage, searchOf, type ListQuery, type Total } from './core/pages.js';
import { listApprovals, openApprovals } from './approvals/approvals.js';
import { addressIndex, erasuresOf, tracesOfUser } from './privacy/traces.js';
import { makeAuditQueries } from './audit/audit.js';
import { makeAnalyticsQueries, templateUse, type TemplateUse } from './analytics/analytics.js';
import { API_KEYS, listingsOf, type ApiKeyDocument } from './keys/api-keys.js';
import { storedAttachmentBytes } from './email/attachment-usage.js';
import { BATCHES, type BatchDocument, batchOf, listed, waitingSince } from './bulk/batches.js';
import type { BatchListing } from '../domain/bulk/listing.js';
import {
  ASSET_USAGE,
  ASSETS,
  type AssetDocument,
  type AssetUsageDocument,
  ATTACHMENT_TEMPLATES,
  BLOCKS,
  TEMPLATES,
  type TemplateDocument,
} from './templates/templates.js';
import {
  actorTerm,
  batchTerm,
  metadataTerm,
  recipientTerm,
  senderDomainTerm,
  tagTerm,
  withRecipientStatus,
} from './email/read-models.js';
import { queueStats } from './email/queue.js';
import { makeWebhookQueries } from './webhooks/reads.js';
import { listSessions, sessionsOfUser } from './people/sessions.js';
import { listSuppressions, SUPPRESSIONS, suppressionPages } from './recipients/suppressions.js';
import { listTeamActivity } from './teams/activity.js';
import { makeTeamQueries } from './teams/teams.js';
import { nextTurn } from '../shared/concurrency.js';

/** The most sessions of a person that one call ends; the others end when they are used, or expire. */
const SESSIONS_AT_ONCE = 500;

export type QueryDeps = Readonly<{
  readModels: ReadModels;
  keys: Pick<Keys, 'getMany'>;
  clock: Clock;
  limits: Limits;
  awaitOwnWrites: Queries['awaitOwnWrites'];
  /** How long that many open emails of a team are likely to take. */
  waitMs?: (teamId: TeamId, emails: number) => number;
}>;

export const makeQueries = (deps: QueryDeps): Queries => ({
  listEmails: (teamId, filter, paging) => listEmails(deps, teamId, filter, paging),
  countEmails: (teamId, filter) => countEmails(deps, teamId, filter),
  emailIds: (teamId, given, limit) => emailIds(deps, teamId, asStored(given), limit),
  emailsToRetry: (teamId, given, cursor) =>
    emailsToRetry(deps.readModels, filtersOf(teamId, inUtc(given)).where, cursor),
  listBatches: (teamId, paging) => {
    const list = { ...allOf(deps, BATCHES, teamId), sortField: 'createdAt' };
    return readPage<BatchDocument, BatchListing>(deps.readModels, list, paging, (batch) => listed(deps, batch));
  },
  batch: (teamId, id) => batchOf(deps, teamId, id),
  listApprovals: (teamId, filter, paging) => listApprovals(deps, teamId, filter, paging),
  openApprovals: (teamId) => openApprovals(deps, teamId),
  listTemplates: async (teamId, filter, paging) => {
    const { data, meta } = await readPage<TemplateDocument<'email'>, Listed<TemplateListing<'email'>>>(
      deps.readModels,
      templatesOf(deps, TEMPLATES, teamId, filter),
      paging,
      listedItem,
    );
    const used = data.length === 0 ? undefined : await templateUse(deps, teamId);
    return { meta, data: data.map((item) => ({ ...item, ...(used?.get(item.id) ?? UNUSED) })) };
  },
  listAttachmentTemplates: (teamId, filter, paging) =>
    readPage<TemplateDocument<'attachment'>, Listed<TemplateListing<'attachment'>>>(
      deps.readModels,
      templatesOf(deps, ATTACHMENT_TEMPLATES, teamId, filter),
      paging,
      listedItem,
    ),
  listBlocks: (teamId, filter, paging) =>
    readPage<TemplateDocument<'block'>, Listed<TemplateListing<'block'>>>(
      deps.readModels,
      templatesOf(deps, BLOCKS, teamId, filter),
      paging,
      listedItem,
    ),
  listAssets: (teamId, filter, paging) =>
    readPage<AssetDocument, Listed<AssetDocument['item']>>(
      deps.readModels,
      deletableOf(deps, ASSETS, teamId, filter),
      paging,
      listedItem,
    ),
  assetUsage: (teamId) => assetUsage(deps, teamId),
  ...makeWebhookQueries(deps),
  storedAttachmentBytes: storedAttachmentBytes(deps),
  queueStats: (teamId) => queueStats(deps.readModels, teamId, deps.clock.now(), waitingSince(deps.readModels)),
  listApiKeys: (teamId, paging) => listApiKeys(deps, teamId, paging),
  listOAuthApps: (teamId, paging) =>
    readPage<OAuthAppDocument, OAuthAppListing>(
      deps.readModels,
      allOf(deps, OAUTH_APPS, teamId),
      paging,
      listedOAuthApp,
    ),
  listGrants: (userId, paging) => listGrants(deps, userId, paging),
  listSessions: (userId, paging) => listSessions(deps, userId, paging),
  sessionsOfUser: (userId) => sessionsOfUser(deps, userId, SESSIONS_AT_ONCE),
  tracesOfUser: (userId, mailed) => tracesOfUser(deps, userId, mailed),
  listSuppressions: (teamId, filter, paging) => listSuppressions(deps, teamId, filter, paging),
  suppressionPages: (teamId) => suppressionPages(deps, teamId),
  suppressionTotal: async (teamId) =>
    (await counted(deps, SUPPRESSIONS, { team: { eq: teamId } }, Number.MAX_SAFE_INTEGER)).total,
  usedByDay: (teamId, first, last) => usedByDay(deps, teamId, first, last),
  ...makeAnalyticsQueries(deps),
  ...makeTeamQueries(deps),
  listTeamActivity: (teamId, paging) => listTeamActivity(deps, teamId, paging),
  ...makeAuditQueries(deps),
  ...addressIndex(deps.readModels),
  erasuresOf: (teamId, suppressionId, limit) => erasuresOf(deps, teamId, suppressionId, limit),
  awaitOwnWrites: deps.awaitOwnWrites,
});

const usedByDay = async (
  deps: QueryDeps,
  ...[teamId, first, last]: Parameters<Queries['usedByDay']>
): ReturnType<Queries['usedByDay']> =>
  (await daysBetween(deps, teamId, first, last)).map(({ day, emails, documents }) => ({ day, emails, documents }));

const listEmails = async (
  deps: QueryDeps,
  teamId: TeamId,
  given: EmailFilter,
  paging: Paging,
): ReturnType<Queries['listEmails']> => {
  const filter = asStored(given);
  return readPage<EmailDocument, ReturnType<typeof emailListItem>>(
    deps.readModels,
    {
      collection: EMAILS,
      ...(await filtersInOrder(deps, teamId, filter)),
      search: filter.search,
      terms: termsOf(filter),
      searchTotalMax: deps.limits.searchTotalMax,
      sortField: 'createdAt',
      total: () => (filter.recipientStatus === undefined ? totalEmails : totalOfRecipients)(deps, teamId, filter),
    },
    paging,
    emailListItem,
  );
};

/**
 * Emails by status. Without a search or terms the daily counts are summed, and cut days are counted by index; otherwise
 * the emails of each status are counted as a list counts its total, up to its bound.
 */
const countEmails = async (deps: QueryDeps, teamId: TeamId, given: EmailFilter): ReturnType<Queries['countEmails']> => {
  const filter = asStored(given);
  const search = searchIn(filter);
  const inOrder = search === undefined ? undefined : await filtersInOrder(deps, teamId, filter);
  const counts: Partial<Record<EmailStatus, number>> = {};
  const lowerBounds: EmailStatus[] = [];
  for (const status of statusesOf(filter) ?? emailStatuses) {
    const { total, isLowerBound } = await countOfStatus(deps, teamId, { ...filter, status }, inOrder?.where['seq']);
    counts[status] = total;
    if (isLowerBound) lowerBounds.push(status);
    await nextTurn();
  }
  return { counts, lowerBounds };
};

/** `seq`: the emails between which a search looks. */
const countOfStatus = async (
  deps: QueryDeps,
  teamId: TeamId,
  filter: EmailFilter,
  seq: Condition | undefined,
): Promise<Total> => {
  const search = searchIn(filter);
  if (search === undefined)
    return (filter.recipientStatus === undefined ? totalEmails : totalOfRecipients)(deps, teamId, filter);
  const { where, ...others } = filtersOf(teamId, filter);
  const query = { where: { ...where, ...(seq && { seq }) }, ...others, ...search, limit: 0 };
  const { count, isLowerBound } = await deps.readModels.findCounted(EMAILS, query, deps.limits.searchTotalMax);
  return { total: count, isLowerBound };
};

const emailIds = async (
  deps: QueryDeps,
  teamId: TeamId,
  filter: EmailFilter,
  limit: number,
): ReturnType<Queries['emailIds']> => {
  const found = await deps.readModels.find(EMAILS, {
    ...(await filtersInOrder(deps, teamId, filter)),
    ...(searchIn(filter) ?? { sort: { field: 'createdAt', direction: 'desc' as const } }),
    limit,
  });
  return found.map(({ id }) => assertDefined(parseEmailId(id), 'email id'));
};

const listApiKeys = async (deps: QueryDeps, teamId: TeamId, paging: Paging): ReturnType<Queries['listApiKeys']> => {
  const list = allOf(deps, API_KEYS, teamId);
  const { data, meta } = await readPage<ApiKeyDocument, ApiKeyDocument>(
    deps.readModels,
    list,
    paging,
    (document) => document,
  );
  return { data: await listingsOf(deps.readModels, data, isoTime(deps.clock.now())), meta };
};

const listGrants = async (
  deps: QueryDeps,
  userId: UserId | undefined,
  paging: Paging,
): ReturnType<Queries['listGrants']> => {
  const where = { user: { eq: userId ?? '' } };
  const list = {
    collection: OAUTH_GRANTS,
    where,
    searchTotalMax: deps.limits.listTotalMax,
    total: () => counted(deps, OAUTH_GRANTS, where),
  };
  const { data, meta } = await readPage<OAuthGrantDocument, OAuthGrantDocument>(
    deps.readModels,
    list,
    paging,
    (document) => document,
  );
  return { data: await listedGrants(deps.readModels, data), meta };
};

/** Stored times are ISO 8601 in UTC with milliseconds; they compare as texts only with times in that form. */
const inUtc = <Filter extends Pick<EmailFilter, 'startDate' | 'endDate'>>(filter: Filter): Filter => ({
  ...filter,
  ...(filter.startDate === undefined ? {} : { startDate: isoTime(Date.parse(filter.startDate)) }),
  ...(filter.endDate === undefined ? {} : { endDate: isoTime(Date.parse(filter.endDate)) }),
});

/** The filter as documents are stored: times in UTC, and the searched text folded. */
const asStored = (filter: EmailFilter): EmailFilter => ({ ...inUtc(filter), ...folded(filter) });

/** The search terms of a filter. */
const termsOf = ({
  recipient,
  tag,
  batchId,
  createdBy,
  senderDomain,
  metadataKey,
  metadata = {},
}: EmailFilter): readonly string[] => [
  ...(recipient === undefined ? [] : [recipientTerm(recipient)]),
  ...(tag === undefined ? [] : [tagTerm(tag)]),
  ...(batchId === undefined ? [] : [batchTerm(batchId)]),
  ...(createdBy === undefined ? [] : [actorTerm(createdBy)]),
  ...(senderDomain === undefined ? [] : [senderDomainTerm(senderDomain)]),
  ...(metadataKey === undefined ? [] : [metadataTerm(metadataKey)]),
  ...Object.entries(metadata).map(([key, value]) => metadataTerm(key, value)),
];

const searchIn = (filter: EmailFilter): ReturnType<typeof searchOf> =>
  searchOf({ search: filter.search, terms: termsOf(filter) });

const folded = ({ search }: SearchFilter): SearchFilter =>
  search === undefined ? {} : { search: foldForSearch(search) };

type Filters = Pick<Query, 'where'> & Partial<Pick<ListQuery, 'anyOf'>>;

/** The statuses of which an email has one; undefined: any. */
const statusesOf = ({ status }: EmailFilter): readonly EmailStatus[] | undefined =>
  typeof status === 'string' ? [status] : status;

/** Conditions of a filter but its statuses. */
const whereOf = (teamId: TeamId, { templateId, test, startDate, endDate }: EmailFilter): Query['where'] => ({
  team: { eq: teamId },
  ...(templateId === undefined ? {} : { templateId: { eq: templateId } }),
  ...(test === undefined ? {} : { test: { eq: test ? 1 : 0 } }),
  ...(startDate === undefined && endDate === undefined
    ? {}
    : {
        createdAt: {
          ...(startDate === undefined ? {} : { gte: startDate }),
          ...(endDate === undefined ? {} : { lte: endDate }),
        },
      }),
});

const filtersOf = (teamId: TeamId, filter: EmailFilter): Filters => {
  const { recipientStatus, templateId, ...others } = filter;
  const statuses = statusesOf(filter);
  if (recipientStatus !== undefined)
    return {
      where: whereOf(teamId, others),
      anyOf: withRecipientStatus(recipientStatus, { statuses, templateId }),
    };
  const where = whereOf(teamId, filter);
  if (statuses === undefined) return { where };
  const each = statuses.map((status) => ({ status: { eq: status } }));
  return each.length === 1 ? { where: { ...where, ...each[0] } } : { where, anyOf: each };
};

/**
 * A search is ordered by `seq`: if days are given, it looks only between the first and the last email of those days.
 */
const filtersInOrder = async (deps: QueryDeps, teamId: TeamId, filter: EmailFilter): Promise<Filters> => {
  const filters = filtersOf(teamId, filter);
  const { startDate, endDate } = filter;
  if (searchIn(filter) === undefined || (startDate === undefined && endDate === undefined)) return filters;
  const days = await daysBetween(deps, teamId, startDate && dayOf(startDate), endDate && dayOf(endDate));
  const gte = days.reduce((least, { first }) => Math.min(least, first), Number.MAX_SAFE_INTEGER);
  const lte = days.reduce((most, { last }) => Math.max(most, last), 0);
  return { ...filters, where: { ...filters.where, seq: { gte, lte } } };
};

/** The list of a team's documents of a small collection: all, or those that the search finds. */
const allOf = (deps: QueryDeps, collection: string, teamId: TeamId, filter: SearchFilter = {}): ListQuery => ({
  collection,
  where: { team: { eq: teamId } },
  ...folded(filter),
  searchTotalMax: deps.limits.listTotalMax,
  total: () => counted(deps, collection, { team: { eq: teamId } }),
});

const deletableOf = (deps: QueryDeps, collection: string, teamId: TeamId, filter: DeletableFilter): ListQuery => {
  if (filter.deleted === undefined) return allOf(deps, collection, teamId, filter);
  const deletedSince = isoTime(deps.clock.now() - deps.limits.restoreDays * DAY_MS);
  const where = { deletedOf: { eq: teamId }, deletedAt: { gte: deletedSince } };
  const searchTotalMax = deps.limits.listTotalMax;
  return { collection, where, sortField: 'deletedAt', searchTotalMax, total: () => counted(deps, collection, where) };
};

const templatesOf = (
  deps: QueryDeps,
  collection: string,
  teamId: TeamId,
  { status, sort, ...filter }: TemplateFilter,
): ListQuery => {
  const list = deletableOf(deps, collection, teamId, filter);
  if (filter.deleted !== undefined) return list;
  const where = status === undefined ? list.where : { ...list.where, status: { eq: status } };
  return {
    ...list,
    where,
    ...(sort === 'updatedAt' && { sortField: sort }),
    total: () => counted(deps, collection, where),
  };
};

const UNUSED: TemplateUse = { sent30d: 0, lastSentOn: null };

/** The item of a document, with the moment of its deletion if it is deleted. */
const listedItem = <Item extends object>({
  item,
  deletedAt,
}: Readonly<{ item: Item; deletedAt?: string }>): Listed<Item> =>
  deletedAt === undefined ? item : { ...item, deletedAt };

const assetUsage = async (deps: QueryDeps, teamId: TeamId): Promise<AssetUsage> => {
  const found = (await deps.readModels.get(ASSET_USAGE, teamId)) as AssetUsageDocument | undefined;
  return found === undefined ? { count: 0, sizeBytes: 0 } : { ...found.usage, position: found.position };
};

/**
 * Daily counts have no statuses of recipients, so these emails are counted by index, up to the most hits of a search.
 */
const totalOfRecipients = async (deps: QueryDeps, teamId: TeamId, filter: EmailFilter): Promise<Total> => {
  const max = deps.limits.searchTotalMax;
  const total = await deps.readModels.count(EMAILS, filtersOf(teamId, filter), max);
  return { total, isLowerBound: total >= max };
};

/** Sums the daily counts of whole days; only the cut days at both ends are counted by index. */
const totalEmails = async (deps: QueryDeps, teamId: TeamId, filter: EmailFilter): Promise<Total> => {
  const { startDate, endDate } = filter;
  if (startDate !== undefined && endDate !== undefined && startDate > endDate) return { total: 0, isLowerBound: false };
  const firstDay = startDate === undefined ? undefined : dayOf(startDate);
  const lastDay = endDate === undefined ? undefined : dayOf(endDate);
  const startCut = startDate !== undefined && !startDate.endsWith('T00:00:00.000Z');
  const endCut = endDate !== undefined && !endDate.endsWith('T23:59:59.999Z');
  if (firstDay !== undefined && firstDay === lastDay && (startCut || endCut)) {
    return { total: await countBetween(deps, teamId, filter, startDate!, endDate!), isLowerBound: false };
  }
  let total = 0;
  let [onFirst, onLast] = [0, 0];
  for (const counts of await daysBetween(deps, teamId, firstDay, lastDay)) {
    const count = matching(counts, filter);
    if (startCut && counts.day === firstDay) onFirst = count;
    else if (endCut && counts.day === lastDay) onLast = count;
    else total += count;
  }
  if (startCut) total += await countRest(deps, teamId, filter, firstDay!, startDate, onFirst);
  if (endCut)
    total += onLast - (await countRest(deps, teamId, filter, lastDay!, isoTime(Date.parse(endDate) + 1), onLast));
  return { total, isLowerBound: false };
};

/**
 * How many of the `whole` emails of a day were created at `from` or later. Counts by index on the shorter side of the
 * cut.
 */
const countRest = async (
  deps: QueryDeps,
  teamId: TeamId,
  filter: EmailFilter,
  day: string,
  from: string,
  whole: number,
): Promise<number> => {
  if (whole === 0) return 0;
  if (from >= `${day}T12`) return countBetween(deps, teamId, filter, from, `${day}T23:59:59.999Z`);
  const before = await countBetween(deps, teamId, filter, `${day}T00:00:00.000Z`, isoTime(Date.parse(from) - 1));
  // An email may have arrived between the two counts.
  return Math.max(0, whole - before);
};

const countBetween = (
  deps: QueryDeps,
  teamId: TeamId,
  filter: EmailFilter,
  startDate: string,
  endDate: string,
): Promise<number> =>
  deps.readModels.count(EMAILS, filtersOf(teamId, { ...filter, startDate, endDate }), Number.MAX_SAFE_INTEGER);

/** One document a day: a hundred years of days are still few. */
const DAYS_MAX = 40_000;

const daysBetween = async (deps: QueryDeps, teamId: TeamId, first: string | undefined, last: string | undefined) =>
  (await deps.readModels.find(EMAIL_COUNTS, {
    where: {
      team: { eq: teamId },
      ...(first === undefined && last === undefined
        ? {}
        : { day: { ...(first === undefined ? {} : { gte: first }), ...(last === undefined ? {} : { lte: last }) } }),
    },
    sort: { field: 'day', direction: 'asc' },
    limit: DAYS_MAX,
  })) as readonly EmailCountsDocument[];

const matching = ({ cells }: EmailCountsDocument, filter: EmailFilter): number => {
  const { templateId, test } = filter;
  const statuses: readonly string[] | undefined = statusesOf(filter);
  let sum = 0;
  for (const [cell, count] of Object.entries(cells)) {
    const [cellStatus, cellTemplate, cellTest] = cell.split('|');
    const isOf = statuses?.includes(cellStatus!) !== false && (templateId === undefined || cellTemplate === templateId);
    if (isOf && (test === undefined || test === (cellTest !== undefined))) sum += count;
  }
  return sum;
};

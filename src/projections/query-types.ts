/**
 * Every query over the read models. Lists may lag behind the log by milliseconds; single records do not come from here.
 */
import type { AddressIndex } from '../domain/privacy/decider.js';
import type { EmailStatus } from '../domain/email/status.js';
import type { ApprovalListing } from '../domain/approvals/decider.js';
import type { ApprovalFilter } from './approvals/approvals.js';
import type { BatchListing } from '../domain/bulk/listing.js';
import type { BatchId, EmailId, SessionId, SuppressionId, TeamId, UserId } from '../domain/core/ids.js';
import type { AssetListing, AssetUsage } from '../domain/templates/asset.js';
import type { ApiKeyListing } from '../domain/keys/decider.js';
import type { ActivityListing } from '../domain/teams/activity.js';
import type { TemplateListing } from '../domain/templates/decider.js';
import type { OAuthAppListing } from '../domain/apps/app.js';
import type { OAuthGrantListing } from './apps/apps.js';
import type { AnalyticsQueries, TemplateUse } from './analytics/analytics.js';
import type { EmailListing } from './email/read-models.js';
import type { QueueStats } from './email/queue.js';
import type { Paging, Page, Listed } from './core/pages.js';
import type { EmailFilter, RetryFilter, ToRetry } from './email/emails.js';
import type { SuppressionFilter } from './recipients/suppressions.js';
import type { AuditQueries } from './audit/audit.js';
import type { TeamQueries } from './teams/teams.js';
import type { WebhookQueries } from './webhooks/reads.js';
import type { ErasureListing, UserTraces, AddressesOfTeam } from './privacy/traces.js';

/** A search as that of emails. */
export type SearchFilter = Readonly<{ search?: string }>;

/** `deleted`: those that can still be restored, instead of the living ones; a search finds living ones only. */
export type DeletableFilter = Readonly<{ search?: string; deleted?: true }>;
/** `sort`: the field by which the newest comes first; default, and always with a search or deleted ones: `createdAt`. */
export type TemplateFilter = DeletableFilter &
  Readonly<{ status?: 'draft' | 'published'; sort?: 'createdAt' | 'updatedAt' }>;

/** Emails accepted on a day and not cancelled, and documents that were made for them. */
export type UsedOfDay = Readonly<{ day: string; emails: number; documents: number }>;

export type EmailsByStatus = Readonly<{
  counts: Readonly<Partial<Record<EmailStatus, number>>>;
  lowerBounds: readonly EmailStatus[];
}>;

export type Queries = Readonly<{
  /** Newest first. Rejects with INVALID_CURSOR where the cursor is not one of ours. */
  listTeamActivity: (teamId: TeamId, paging: Paging) => Promise<Page<ActivityListing>>;
  /** Rejects with INVALID_CURSOR where the cursor is not one of ours for this kind of list. */
  listEmails: (teamId: TeamId, filter: EmailFilter, paging: Paging) => Promise<Page<EmailListing>>;
  /**
   * How many emails match, by each status that the filter names, or by all; `lowerBounds`: the statuses of which there
   * may be more.
   */
  countEmails: (teamId: TeamId, filter: EmailFilter) => Promise<EmailsByStatus>;
  /** The newest emails created before `before` that match, at most `limit`. */
  emailIds: (teamId: TeamId, filter: EmailFilter, limit: number) => Promise<readonly EmailId[]>;
  /**
   * Looks at a bounded number of emails, the oldest first. Rejects with INVALID_CURSOR where the cursor is not one of
   * ours.
   */
  emailsToRetry: (teamId: TeamId, filter: RetryFilter, cursor: string | undefined) => Promise<ToRetry>;
  /** Newest first. */
  listBatches: (teamId: TeamId, paging: Paging) => Promise<Page<BatchListing>>;
  /** undefined where the team has no such bulk send. */
  batch: (teamId: TeamId, id: BatchId) => Promise<BatchListing | undefined>;
  /** Newest first. */
  listApprovals: (teamId: TeamId, filter: ApprovalFilter, paging: Paging) => Promise<Page<ApprovalListing>>;
  /** How many sends of a team wait for a person. */
  openApprovals: (teamId: TeamId) => Promise<number>;
  listTemplates: (
    teamId: TeamId,
    filter: TemplateFilter,
    paging: Paging,
  ) => Promise<Page<Listed<TemplateListing<'email'>> & TemplateUse>>;
  listAttachmentTemplates: (
    teamId: TeamId,
    filter: TemplateFilter,
    paging: Paging,
  ) => Promise<Page<Listed<TemplateListing<'attachment'>>>>;
  listBlocks: (
    teamId: TeamId,
    filter: TemplateFilter,
    paging: Paging,
  ) => Promise<Page<Listed<TemplateListing<'block'>>>>;
  listAssets: (teamId: TeamId, filter: DeletableFilter, paging: Paging) => Promise<Page<Listed<AssetListing>>>;
  assetUsage: (teamId: TeamId) => Promise<AssetUsage>;
  /** Bytes of attachments that the team has stored, and the position of the newest event that is counted in them. */
  storedAttachmentBytes: (teamId: TeamId) => Promise<Readonly<{ bytes: number; position: number }>>;
  /** How much the team has waiting now. */
  queueStats: (teamId: TeamId) => Promise<QueueStats>;
  listApiKeys: (teamId: TeamId, paging: Paging) => Promise<Page<ApiKeyListing>>;
  /** Newest first. */
  listOAuthApps: (teamId: TeamId, paging: Paging) => Promise<Page<OAuthAppListing>>;
  /** Grants of that person, the newest first; none for `undefined`. */
  listGrants: (userId: UserId | undefined, paging: Paging) => Promise<Page<OAuthGrantListing>>;
  /** The sessions of a person that have not ended by themselves, the newest first; nobody has none. */
  listSessions: (userId: UserId | undefined, paging: Paging) => Promise<Page<SessionId>>;
  /** Some of them, the oldest first. */
  sessionsOfUser: (userId: UserId) => Promise<readonly SessionId[]>;
  tracesOfUser: (userId: UserId, mailed: AddressesOfTeam) => Promise<UserTraces>;
  /** The newest erasures of the address with that id among the team's suppressions. */
  erasuresOf: (teamId: TeamId, suppressionId: SuppressionId, limit: number) => Promise<readonly ErasureListing[]>;
  /** Newest first. */
  listSuppressions: (teamId: TeamId, filter: SuppressionFilter, paging: Paging) => Promise<Page<SuppressionId>>;
  /** All suppressions of a team, the oldest first, read as they are asked for; and how many there are. */
  suppressionPages: (teamId: TeamId) => AsyncIterable<readonly SuppressionId[]>;
  suppressionTotal: (teamId: TeamId) => Promise<number>;
  /** Days from the first to the last on which emails were accepted, in order. */
  usedByDay: (teamId: TeamId, first: string, last: string) => Promise<readonly UsedOfDay[]>;
  /** Waits, at most `withinMs`, until the read models hold what this process wrote for that team before the call. */
  awaitOwnWrites: (teamId: TeamId, withinMs: number) => Promise<void>;
}> &
  TeamQueries &
  WebhookQueries &
  AuditQueries &
  AddressIndex &
  AnalyticsQueries;

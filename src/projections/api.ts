/** Every query over the read models. Lists may lag behind the log by milliseconds; single records do not come from here. */
import type { EmailId, TeamId } from '../domain/ids.js';
import type { AssetRecord, AssetUsage } from '../domain/asset/records.js';
import type { ApiKeyRecord } from '../domain/api-key/records.js';
import type { EmailListItem, EmailStatus, Page } from '../domain/email/request.js';
import type { AttachmentTemplateListItem } from '../domain/attachment-template/records.js';
import type { TemplateListItem } from '../domain/template/records.js';

export type Paging = Readonly<{ page: number; limit: number; cursor?: string }>;

export type EmailFilter = Readonly<{
  status?: EmailStatus;
  templateId?: string;
  /** Created at or after, ISO time. */
  startDate?: string;
  /** Created at or before, ISO time. */
  endDate?: string;
  /** Substring of a recipient's address or name, or of the subject; at least 3 characters. */
  search?: string;
}>;

export type Queries = Readonly<{
  /** Rejects with INVALID_CURSOR where the cursor is not one of ours for this kind of list. */
  listEmails: (teamId: TeamId, filter: EmailFilter, paging: Paging) => Promise<Page<EmailListItem>>;
  /** The newest emails created before `before` that match, at most `limit`. */
  emailIds: (teamId: TeamId, filter: EmailFilter, limit: number) => Promise<readonly EmailId[]>;
  listTemplates: (teamId: TeamId, filter: Readonly<{ search?: string }>, paging: Paging) => Promise<Page<TemplateListItem>>;
  listAttachmentTemplates: (
    teamId: TeamId,
    filter: Readonly<{ search?: string }>,
    paging: Paging,
  ) => Promise<Page<AttachmentTemplateListItem>>;
  listAssets: (teamId: TeamId, filter: Readonly<{ search?: string }>, paging: Paging) => Promise<Page<AssetRecord>>;
  assetUsage: (teamId: TeamId) => Promise<AssetUsage>;
  listApiKeys: (teamId: TeamId, paging: Paging) => Promise<Page<ApiKeyRecord>>;
  /** Waits, at most `withinMs`, until the read models hold what this process wrote for that team before the call. */
  settle: (teamId: TeamId, withinMs: number) => Promise<void>;
}>;

import type { AuditActorType, AuditEntry, AuditResult } from '../../domain/audit/entry.js';
import type { AuditCategory } from '../../domain/audit/line.js';
import type { TeamId } from '../../domain/core/ids.js';
import type { Paging, Page } from '../core/pages.js';

/** Each is compared whole; `from` and `to` are moments in UTC. */
export type AuditFilter = Readonly<{
  category?: AuditCategory;
  action?: string;
  actorType?: AuditActorType;
  actorId?: string;
  targetType?: string;
  targetId?: string;
  result?: AuditResult;
  from?: string;
  to?: string;
}>;

export type AuditQueries = Readonly<{
  /** The newest first. Rejects with INVALID_CURSOR where the cursor is not one of ours. */
  listAudit: (teamId: TeamId, filter: AuditFilter, paging: Paging) => Promise<Page<AuditEntry>>;
  /** undefined where the team is told of no such entry. */
  auditEntry: (teamId: TeamId, id: string) => Promise<AuditEntry | undefined>;
}>;

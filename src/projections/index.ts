/** The list of all projections. */
import type { Limits } from '../domain/core/limits.js';
import { activityProjection, creditsProjection } from './billing/credits.js';
import { approvalsProjection } from './approvals/approvals.js';
import { auditProjection } from './audit/audit.js';
import { apiKeysProjection } from './keys/api-keys.js';
import {
  assetsProjection,
  attachmentTemplatesProjection,
  blocksProjection,
  templatesProjection,
} from './templates/templates.js';
import { emailsProjection } from './bulk/emails.js';
import { erasuresProjection } from './privacy/traces.js';
import { oauthAppsProjection, oauthGrantsProjection } from './apps/apps.js';
import { senderDomainsProjection } from './domains/sender-domains.js';
import { sessionsProjection } from './people/sessions.js';
import { teamActivityProjection } from './teams/activity.js';
import { teamsProjection } from './teams/teams.js';
import type { Projection } from './core/projection.js';
import { suppressionsProjection } from './recipients/suppressions.js';
import { webhooksProjection } from './webhooks/webhooks.js';
import { DAY_MS } from '../domain/core/time.js';

export const makeProjections = (limits: Limits): readonly Projection[] => [
  emailsProjection({ retentionMs: limits.retentionDays * DAY_MS, archiveMs: limits.archiveDays * DAY_MS }),
  templatesProjection(limits.restoreDays * DAY_MS),
  attachmentTemplatesProjection(limits.restoreDays * DAY_MS),
  blocksProjection(limits.restoreDays * DAY_MS),
  assetsProjection(limits.restoreDays * DAY_MS),
  apiKeysProjection,
  creditsProjection,
  activityProjection,
  senderDomainsProjection(limits.restoreDays * DAY_MS),
  suppressionsProjection,
  webhooksProjection(limits.restoreDays * DAY_MS),
  erasuresProjection,
  approvalsProjection(limits.retentionDays * DAY_MS),
  teamsProjection,
  teamActivityProjection,
  oauthAppsProjection,
  oauthGrantsProjection,
  sessionsProjection,
  auditProjection(limits.auditDays),
];

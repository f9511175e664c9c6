/** All projections. */
import type { Limits } from '../domain/limits.js';
import { activityProjection } from './activity.js';
import { auditProjection } from './audit.js';
import { apiKeysProjection } from './api-keys.js';
import { assetsProjection } from './assets.js';
import { creditsProjection } from './credits.js';
import { emailsProjection } from './emails.js';
import { erasuresProjection } from './erasures.js';
import { oauthAppsProjection } from './oauth-apps.js';
import { oauthGrantsProjection } from './oauth-grants.js';
import { senderDomainsProjection } from './sender-domains.js';
import { sessionsProjection } from './sessions.js';
import { teamActivityProjection } from './team-activity.js';
import { teamsProjection } from './teams.js';
import type { Projection } from './projection.js';
import { suppressionsProjection } from './suppressions.js';
import { attachmentTemplatesProjection, templatesProjection } from './templates.js';
import { webhooksProjection } from './webhooks.js';
import { DAY_MS } from '../domain/time.js';

export const makeProjections = (limits: Limits): readonly Projection[] => [
  emailsProjection({ retentionMs: limits.retentionDays * DAY_MS, archiveMs: limits.archiveDays * DAY_MS }),
  templatesProjection(limits.restoreDays * DAY_MS),
  attachmentTemplatesProjection(limits.restoreDays * DAY_MS),
  assetsProjection(limits.restoreDays * DAY_MS),
  apiKeysProjection,
  creditsProjection,
  activityProjection,
  senderDomainsProjection(limits.restoreDays * DAY_MS),
  suppressionsProjection,
  webhooksProjection(limits.restoreDays * DAY_MS),
  erasuresProjection,
  teamsProjection,
  teamActivityProjection,
  oauthAppsProjection,
  oauthGrantsProjection,
  sessionsProjection,
  auditProjection(limits.auditDays),
];

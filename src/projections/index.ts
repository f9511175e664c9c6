/** All projections. */
import type { Limits } from '../domain/limits.js';
import { apiKeysProjection } from './api-keys.js';
import { assetsProjection } from './assets.js';
import { creditsProjection } from './credits.js';
import { emailsProjection } from './emails.js';
import { erasuresProjection } from './erasures.js';
import { oauthAppsProjection } from './oauth-apps.js';
import { oauthGrantsProjection } from './oauth-grants.js';
import { senderDomainsProjection } from './sender-domains.js';
import { teamsProjection } from './teams.js';
import type { Projection } from './projection.js';
import { suppressionsProjection } from './suppressions.js';
import { attachmentTemplatesProjection, templatesProjection } from './templates.js';
import { webhooksProjection } from './webhooks.js';
import { DAY_MS } from '../domain/time.js';

export const makeProjections = (limits: Limits): readonly Projection[] => [
  emailsProjection(limits.retentionDays * DAY_MS),
  templatesProjection(limits.templateRestoreDays * DAY_MS),
  attachmentTemplatesProjection(limits.templateRestoreDays * DAY_MS),
  assetsProjection,
  apiKeysProjection,
  creditsProjection,
  senderDomainsProjection,
  suppressionsProjection,
  webhooksProjection,
  erasuresProjection,
  teamsProjection,
  oauthAppsProjection,
  oauthGrantsProjection,
];

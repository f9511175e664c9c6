/** The list of emails, their timers, what each team has open, how many there are of each status and template on each day, and what became of them day by day. */
import { failedRecipientsOf } from '../../domain/email/status.js';
import type { Periods } from '../../domain/email/timers.js';
import { attachmentUsageSpec } from './attachment-usage.js';
import { EMAIL_BACKLOGS, EMAIL_COUNTS, EMAIL_TIMERS, EMAILS, type EmailDocument, type EmailListing } from './documents.js';
import { emailHandlers } from './fold.js';
import { relatedToEmail } from './related.js';
import { batchesSpec, batchHandlers, batchTimersSpec } from '../bulk/batches.js';
import { declareProjection, type Projection } from '../core/projection.js';
import { backlogsSpec } from './backlogs.js';
import { summariesSpecs } from './summaries.js';
import { timersSpec } from '../core/timers.js';

export { EMAIL_BACKLOGS, EMAIL_COUNTS, EMAIL_TIMERS, EMAILS, type EmailCountsDocument, type EmailDocument } from './documents.js';

export const emailsProjection = (periods: Periods): Projection =>
  declareProjection({
    name: 'emails',
    collections: [
      { name: EMAIL_COUNTS, version: 3, fields: ['team', 'day'], indexes: [['team', 'day']] },
      timersSpec(EMAIL_TIMERS),
      backlogsSpec(EMAIL_BACKLOGS),
      attachmentUsageSpec,
      batchTimersSpec,
      batchesSpec,
      ...summariesSpecs,
      {
        name: EMAILS,
        version: 11,
        fields: ['team', 'status', 'templateId', 'mixed', 'test', 'recipientStatuses', 'createdAt'],
        indexes: [
          ['team', 'createdAt'],
          ['team', 'status', 'createdAt'],
          ['team', 'templateId', 'createdAt'],
          ['team', 'status', 'templateId', 'createdAt'],
          ['team', 'mixed', 'createdAt'],
          ['team', 'test', 'createdAt'],
        ],
        search: { field: 'text', within: 'team', terms: 'terms' },
        personal: ['subject', 'text'],
      },
    ],
    main: EMAILS,
    shared: [EMAIL_COUNTS, EMAIL_BACKLOGS, attachmentUsageSpec.name, ...summariesSpecs.map(({ name }) => name)],
    kinds: ['email', 'batch'],
    decrypts: ['EmailQueued', 'EmailScheduled', 'EmailRescheduled'],
    related: relatedToEmail,
    on: { ...emailHandlers(periods), ...batchHandlers(periods.retentionMs + periods.archiveMs) },
  });

export const emailListItem = ({
  id,
  status,
  templateId,
  templateName,
  subject,
  createdAt,
  summary,
  test,
}: EmailDocument): EmailListing => ({
  id,
  status,
  archived: summary.archivedAt !== null,
  emailTemplateName: templateName,
  templateId,
  subject: subject ?? null,
  recipientCount: summary.recipientStatuses.length,
  failedRecipients: failedRecipientsOf(summary),
  createdAt,
  sentAt: summary.sentAt,
  deliveredAt: summary.deliveredAt,
  test: test === 1,
});

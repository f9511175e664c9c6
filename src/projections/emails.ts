/** The list of emails with what is still to be done for each, and how many there are of each status and template on each day. */
import { countsId, dayOf, EMAIL_COUNTS, EMAIL_TIMERS, EMAILS, type EmailDocument, type EmailListing } from './email-documents.js';
import { foldEmails, readsOfEmails } from './email-fold.js';
import { eventsRead, type Projection } from './projection.js';
import { timersSpec } from './timers.js';

export { dayOf, EMAIL_COUNTS, EMAIL_TIMERS, EMAILS, type EmailCountsDocument, type EmailDocument } from './email-documents.js';

export const emailsProjection = (retentionMs: number): Projection => ({
  name: 'emails',
  // Emails stand last: where a write is torn, an email that is written says that it is counted and that its timer is set.
  collections: [
    { name: EMAIL_COUNTS, version: 1, fields: ['team', 'day'], indexes: [['team', 'day']] },
    timersSpec(EMAIL_TIMERS),
    {
      name: EMAILS,
      version: 2,
      fields: ['team', 'status', 'templateId', 'createdAt', 'phase', 'priority', 'dueAt'],
      indexes: [
        ['team', 'createdAt'],
        ['team', 'status', 'createdAt'],
        ['team', 'templateId', 'createdAt'],
        ['team', 'status', 'templateId', 'createdAt'],
        ['phase', 'priority'],
        ['phase', 'dueAt'],
      ],
      search: { field: 'text', within: 'team' },
    },
  ],
  few: [EMAIL_COUNTS],
  ...eventsRead('email', {
    EmailQueued: 'envelope',
    EmailScheduled: 'envelope',
    EmailReleased: 'data',
    DeliveryAttempted: 'data',
    EmailSent: 'data',
    EmailDeferred: 'data',
    EmailBounced: 'data',
    EmailFailed: 'data',
    EmailDelivered: 'data',
    EmailRetried: 'data',
    EmailCancelled: 'data',
    EmailDeleted: 'data',
    EmailArchived: 'data',
  }),
  reads: readsOfEmails,
  related: (document) => {
    const email = document as EmailDocument;
    return document['owner'] === undefined ? [] : [{ collection: EMAIL_COUNTS, id: countsId(email.owner, dayOf(email.createdAt)) }];
  },
  fold: (batch, find) => foldEmails(batch, find, retentionMs),
});

export const emailListItem = ({ id, status, templateId, templateName, subject, createdAt, summary }: EmailDocument): EmailListing => ({
  id,
  status,
  archived: summary.archivedAt !== null,
  emailTemplateName: templateName,
  templateId,
  subject: subject ?? null,
  recipientCount: summary.recipientStatuses.length,
  createdAt,
  sentAt: summary.sentAt,
  deliveredAt: summary.deliveredAt,
});

/** The timers of bounces for good and of complaints, which lead to the suppression list. */
import type { EmailProgress } from '../../domain/email/status.js';
import { hasHardBounce, hasHardReport } from '../../domain/email/suppressing.js';
import { BOUNCED_TIMER } from '../../domain/email/timers.js';
import type { Recorded } from '../../domain/events.js';
import { EMAIL_TIMERS, type EmailDocument } from './documents.js';
import type { Step } from '../core/projection.js';

/** A timer beside that of the email, from a bounce for good, or a complaint, until the suppression list knows of it, or nobody knows the address any more. */
export const bounceSteps = (
  { id, stream, owner: team, summary }: EmailDocument,
  { event, position }: Recorded<EmailProgress>,
): readonly Step[] => {
  const key = { collection: EMAIL_TIMERS, id: `${id}:bounced` };
  const due = (dueAt: string): readonly Step[] => [
    { ...key, document: { id: key.id, seq: position, position, kind: BOUNCED_TIMER, key: stream, dueAt, priority: 'low', team } },
  ];
  switch (event.type) {
    case 'EmailSent':
    case 'EmailDeferred':
    case 'EmailBounced':
    case 'EmailFailed':
      return hasHardBounce(event.data.outcomes) ? due(event.data.at) : [];
    case 'EmailBounceReported':
      return hasHardReport(event.data.bounces) ? due(event.data.at) : [];
    case 'EmailComplained':
      return event.data.recipients.length > 0 && event.data.simulated === undefined ? due(event.data.at) : [];
    case 'EmailBouncesNoted':
      return [{ ...key, document: undefined }];
    case 'EmailDeleted':
    case 'EmailArchived':
      return summary.recipientStatuses.some((status) => status === 'bounced' || status === 'complained')
        ? [{ ...key, document: undefined }]
        : [];
    case 'EmailRescheduled':
    case 'EmailReleased':
    case 'DeliveryAttempted':
    case 'EmailDelivered':
    case 'EmailRetried':
    case 'EmailCancelled':
    case 'RecipientsSuppressed':
    case 'RecipientsErased':
    case 'CopyAnswered':
    case 'EmailOpened':
    case 'EmailClicked':
    case 'EmailRemoved':
      return [];
  }
};

/** The timers of refusals for good, which lead to the suppression list. */
import type { EmailProgress } from '../domain/email/summary.js';
import { hasHardBounce } from '../domain/email/suppressing.js';
import { BOUNCED_TIMER } from '../domain/email/timers.js';
import type { Recorded } from '../domain/events.js';
import { EMAIL_TIMERS, type EmailDocument } from './email-documents.js';
import type { Step } from './projection.js';

/** A timer beside that of the email, from a refusal for good until the suppression list knows of it, or nobody knows the address any more. */
export const bounceSteps = (
  { id, stream, owner: team, summary }: EmailDocument,
  { event, position }: Recorded<EmailProgress>,
): readonly Step[] => {
  const key = { collection: EMAIL_TIMERS, id: `${id}:bounced` };
  switch (event.type) {
    case 'EmailSent':
    case 'EmailDeferred':
    case 'EmailBounced':
    case 'EmailFailed': {
      const { outcomes, at: dueAt } = event.data;
      if (!hasHardBounce(outcomes)) return [];
      return [
        { ...key, document: { id: key.id, seq: position, position, kind: BOUNCED_TIMER, key: stream, dueAt, priority: 'low', team } },
      ];
    }
    case 'EmailBouncesNoted':
      return [{ ...key, document: undefined }];
    case 'EmailDeleted':
    case 'EmailArchived':
      return summary.recipientStatuses.includes('bounced') ? [{ ...key, document: undefined }] : [];
    case 'EmailRescheduled':
    case 'EmailReleased':
    case 'DeliveryAttempted':
    case 'EmailDelivered':
    case 'EmailRetried':
    case 'EmailCancelled':
    case 'RecipientsSuppressed':
      return [];
  }
};

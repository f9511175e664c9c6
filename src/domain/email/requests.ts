/** What callers may ask of an email that is there: another time, its end, another try. */
import { DomainError } from '../core/errors.js';
import type { Of } from './decider.js';
import type { EmailEvent } from './events.js';
import type { Email } from './state.js';
import { hasIt } from './email-status.js';
import { isErased } from './status.js';

export const emailNotFound = (): DomainError =>
  new DomainError('EMAIL_NOT_FOUND', 'There is no email with this id. Ids are answered by POST /api/emails/send.');

/** The same time once more changes nothing. Files are only ever kept longer: of several calls at once each has prolonged them before. */
export const reschedule = (
  { at, scheduledAt, subject, temporaryUntil: wanted }: Of<'RescheduleEmail'>,
  email: Email,
): readonly EmailEvent[] => {
  if (email.deletedAt !== null) throw emailNotFound();
  if (email.status !== 'scheduled') {
    throw new DomainError(
      'EMAIL_NOT_SCHEDULED',
      `Only an email that is scheduled can be given another time; this one is ${email.status}.`,
      {
        relatedInfo: { status: email.status },
      },
    );
  }
  if (email.scheduledAt === scheduledAt) return [];
  const kept = keptUntil(email);
  const until = kept === undefined ? {} : { temporaryUntil: kept > wanted ? kept : wanted };
  return [{ type: 'EmailRescheduled', data: { at, scheduledAt, ...until }, sealed: { subject } }];
};

/** Until when the generated files of an email are kept; undefined where it has none. */
export const keptUntil = ({ accepted: { attachmentBytes }, temporaryUntil }: Email): string | undefined =>
  attachmentBytes === undefined || attachmentBytes.temporary === 0 ? undefined : (temporaryUntil ?? attachmentBytes.temporaryUntil);

/** What has reached somebody, or may be reaching them now, can no longer be called back. */
export const cancel = ({ at, idempotencyKey, fingerprint }: Of<'CancelEmail'>, email: Email): readonly EmailEvent[] => {
  if (email.deletedAt !== null) throw emailNotFound();
  const reason = whyNotCancellable(email);
  if (reason !== undefined) throw new DomainError('EMAIL_NOT_CANCELLABLE', reason, { relatedInfo: { status: email.status } });
  return [
    {
      type: 'EmailCancelled',
      data: {
        at,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        ...(fingerprint === undefined ? {} : { fingerprint }),
      },
    },
  ];
};

const whyNotCancellable = ({ status, recipientStatuses }: Email): string | undefined => {
  switch (status) {
    case 'scheduled':
    case 'queued': {
      const reached = recipientStatuses.filter(hasIt).length;
      if (reached === 0) return undefined;
      return `${reached} of the ${recipientStatuses.length} recipients of this email have it already, so it cannot be cancelled.`;
    }
    case 'processing':
      return 'This email is being delivered right now, so it cannot be cancelled; where this attempt is deferred it can be, before the next.';
    case 'cancelled':
      return 'This email is cancelled already.';
    case 'sent':
    case 'delivered':
    case 'failed':
    case 'bounced':
    case 'complained':
      return `Only an email that is scheduled or queued can be cancelled; this one is ${status}.`;
  }
};

export const retry = ({ at, idempotencyKey, fingerprint }: Of<'RetryEmail'>, email: Email): readonly EmailEvent[] => {
  if (email.deletedAt !== null) throw emailNotFound();
  if (email.archivedAt !== null) {
    throw new DomainError(
      'EMAIL_ARCHIVED',
      'This email is archived: its recipients and content are destroyed, so it cannot be sent again.',
    );
  }
  if (email.failureReason === 'content-lost' && email.content === undefined) {
    throw new DomainError('EMAIL_NOT_RETRYABLE', 'The content of this email is lost, so it cannot be sent again; send it anew.', {
      relatedInfo: { status: email.status },
    });
  }
  if (!isRetryable(email)) {
    throw new DomainError(
      'EMAIL_NOT_RETRYABLE',
      `Only an email that has failed for a recipient can be retried, when its delivery has ended; this one is ${email.status}.`,
      { relatedInfo: { status: email.status } },
    );
  }
  return [
    {
      type: 'EmailRetried',
      data: {
        at,
        retryCount: email.retries.length + 1,
        priority: email.accepted.priority,
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        ...(fingerprint === undefined ? {} : { fingerprint }),
      },
    },
  ];
};

/** It goes to the recipients with status `failed` alone: those who have it do not get it twice, and a bounced or suppressed address stays so. */
const isRetryable = (email: Email): boolean => {
  const { status, recipientStatuses } = email;
  const hasFailed = recipientStatuses.some((recipient, place) => recipient === 'failed' && !isErased(email, place));
  return hasFailed && (status === 'failed' || status === 'sent' || status === 'delivered');
};

export const remove = ({ at }: Of<'DeleteEmail'>, email: Email): readonly EmailEvent[] => {
  if (email.deletedAt !== null) throw emailNotFound();
  switch (email.status) {
    case 'processing':
      throw new DomainError('EMAIL_IN_PROGRESS', 'This email is being delivered right now; delete it when the delivery has ended.');
    case 'queued':
    case 'scheduled':
      return [
        { type: 'EmailCancelled', data: { at } },
        { type: 'EmailDeleted', data: { at } },
      ];
    case 'sent':
    case 'delivered':
    case 'failed':
    case 'bounced':
    case 'complained':
    case 'cancelled':
      return [{ type: 'EmailDeleted', data: { at } }];
  }
};

/** Before its time, and for all its recipients: what has not left is cancelled first. */
export const erase = ({ at }: Of<'EraseEmail'>, { status, archivedAt }: Email): readonly EmailEvent[] => {
  if (archivedAt !== null) return [];
  switch (status) {
    case 'processing':
      return [];
    case 'queued':
    case 'scheduled':
      return [
        { type: 'EmailCancelled', data: { at } },
        { type: 'EmailArchived', data: { at } },
      ];
    case 'sent':
    case 'delivered':
    case 'failed':
    case 'bounced':
    case 'complained':
    case 'cancelled':
      return [{ type: 'EmailArchived', data: { at } }];
  }
};

/** How the statuses of the recipients of an email are kept, so that lists filter by that of one of them. */
import { emailStatuses, recipientStatuses, type EmailStatus, type RecipientStatus } from '../../domain/email/email-status.js';
import type { Query } from '../../domain/ports/read-models.js';

/** The status that all recipients of an email usually have while it has this one. */
const usual: Readonly<Record<EmailStatus, RecipientStatus>> = {
  queued: 'queued',
  scheduled: 'queued',
  processing: 'queued',
  sent: 'sent',
  delivered: 'delivered',
  failed: 'failed',
  bounced: 'bounced',
  complained: 'complained',
  cancelled: 'cancelled',
};

/** `mixed` is 1 where a recipient has another status than usual; then `recipientStatuses` has each that occurs, once. */
export type RecipientStatuses = Readonly<{ mixed: 0 | 1; recipientStatuses?: string }>;

export const recipientStatusesOf = (status: EmailStatus, statuses: readonly RecipientStatus[]): RecipientStatuses =>
  statuses.every((one) => one === usual[status])
    ? { mixed: 0 }
    : { mixed: 1, recipientStatuses: recipientStatuses.filter((one) => statuses.includes(one)).join() };

/** Every set of statuses that has this one. */
const setsWith = (status: RecipientStatus): readonly string[] =>
  Array.from({ length: 2 ** recipientStatuses.length }, (_, bits) => recipientStatuses.filter((_status, at) => (bits & (1 << at)) !== 0))
    .filter((set) => set.includes(status))
    .map((set) => set.join());

type Narrowing = Readonly<{ status?: EmailStatus; templateId?: string }>;

/**
 * The emails of which a recipient has that status: those whose own status says so, and among the mixed ones, which are few, those that
 * name it. Each is found by its index, and what narrows them further is tested.
 */
export const withRecipientStatus = (wanted: RecipientStatus, { status, templateId }: Narrowing): NonNullable<Query['anyOf']> => {
  const usually = emailStatuses.filter((one) => usual[one] === wanted && (status === undefined || one === status));
  const template = templateId === undefined ? {} : { templateId: { eq: templateId } };
  return [
    ...usually.map((one) => ({ status: { eq: one }, ...template, mixed: { in: [0] } })),
    {
      mixed: { eq: 1 },
      recipientStatuses: { in: setsWith(wanted) },
      ...(status === undefined ? {} : { status: { in: [status] } }),
      ...(templateId === undefined ? {} : { templateId: { in: [templateId] } }),
    },
  ];
};

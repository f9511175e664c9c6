/** Where an email and each of its recipients can stand. */

export const emailStatuses = [
  'queued',
  'scheduled',
  'processing',
  'sent',
  'delivered',
  'failed',
  'bounced',
  'complained',
  'cancelled',
] as const;
export type EmailStatus = (typeof emailStatuses)[number];

export const recipientRoles = ['to', 'cc', 'bcc'] as const;
export type RecipientRole = (typeof recipientRoles)[number];

export const recipientStatuses = ['queued', 'sent', 'delivered', 'bounced', 'failed', 'cancelled', 'suppressed', 'complained'] as const;
export type RecipientStatus = (typeof recipientStatuses)[number];

/** The rule of an outcome, and the reason of a failure, where the file of an attachment is damaged. */
export const ATTACHMENT_DAMAGED = 'attachment-damaged';

/** Whether somebody has the mail, whatever they think of it. */
export const hasIt = (status: RecipientStatus): boolean => status === 'sent' || status === 'delivered' || status === 'complained';

/** `infrastructure`: the fault is ours (reputation, policy, authentication), and says nothing against the address. */
export const bounceTypes = ['hard', 'soft', 'infrastructure'] as const;
export type BounceType = (typeof bounceTypes)[number];

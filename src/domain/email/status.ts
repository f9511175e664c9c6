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

export const recipientStatuses = ['queued', 'sent', 'delivered', 'bounced', 'failed', 'cancelled', 'suppressed'] as const;
export type RecipientStatus = (typeof recipientStatuses)[number];

/** The rule of an outcome, and the reason of a failure, where the file of an attachment is damaged. */
export const ATTACHMENT_DAMAGED = 'attachment-damaged';

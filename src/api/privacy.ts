/** Requests and answers about one address: reading, exporting and erasing what is held of it. */
import { Type, type Static } from '@sinclair/typebox';
import { nullable } from '../domain/core/schema.js';
import { closed, enumOf, Time } from './core/common.js';
import { EmailListItemSchema, type EmailRecord } from './email.js';
import { SuppressionRecordSchema } from './recipients.js';
import type { WebhookDelivery } from './webhooks.js';

export const DataSubjectRequestSchema = Type.Object(
  {
    email: Type.String({ minLength: 3, maxLength: 512, description: 'The address, whole; letter case does not count' }),
  },
  closed,
);
export type DataSubjectRequest = Static<typeof DataSubjectRequestSchema>;

export const RetentionTableSchema = Type.Object(
  {
    data: Type.Array(
      Type.Object(
        {
          name: Type.String({ description: 'Names the kind of data, as `emails`' }),
          what: Type.String({ description: 'The kind of data, for people' }),
          period: Type.String({ description: 'How long it is kept, for people, as `30 days`' }),
          then: Type.String({ description: 'The act that is due then, in words for people' }),
          setting: nullable(Type.String({ description: 'The setting of the instance; null: it is fixed' })),
        },
        closed,
      ),
    ),
  },
  closed,
);
export type RetentionTable = Static<typeof RetentionTableSchema>;

const ids = (description: string) => Type.Array(Type.String(), { description });

export const ErasureReceiptSchema = Type.Object(
  {
    id: Type.String(),
    status: enumOf(['pending', 'completed'], 'While it is pending it goes on by itself'),
    requestedAt: Time,
    completedAt: nullable(Time),
    suppressed: nullable(
      Type.Boolean({ description: 'The team goes on not to write to the address; null while it is pending' }),
    ),
    emails: Type.Integer({ description: 'How many emails were found' }),
    emailIds: ids('Their ids, the first 10,000'),
    bulkSends: ids('Bulk sends that go on without the address'),
    waiting: nullable(
      Type.Object(
        {
          emailIds: ids('Emails that are being delivered right now'),
          bulkSends: ids('Bulk sends that hold it until their emails are made'),
        },
        closed,
      ),
    ),
    events: Type.Array(Type.Object({ id: Type.String(), type: Type.String(), at: Time }, closed), {
      description: 'The entries of the log that prove it',
    }),
  },
  closed,
);
export type ErasureReceipt = Static<typeof ErasureReceiptSchema>;

/** `content` is null where the email has other recipients: it may be theirs. */
export type ExportedEmail =
  | (Omit<EmailRecord, 'metadata'> &
      Readonly<{
        content: Readonly<{
          variables: EmailRecord['metadata']['variables'];
          attachments: EmailRecord['metadata']['attachments'];
          metadata: EmailRecord['metadata']['custom'];
        }> | null;
      }>)
  | Readonly<{ id: string; unreadable: true }>;

/** An attempt to tell an endpoint of the team of an email. */
export type ExportedDelivery = WebhookDelivery & Readonly<{ webhookId: string; emailId: string }>;

/** A send that waits for a person, or that a person approved. `subject`, `variables`: null where others get it too. */
export type ExportedApproval = Readonly<{
  approvalId: string;
  status: string;
  askedAt: string;
  email: string;
  name: string | null;
  subject: string | null;
  variables: Readonly<Record<string, unknown>> | null;
}>;

export type ExportedBulkSend = Readonly<{
  batchId: string;
  email: string;
  name: string | null;
  variables: Readonly<Record<string, unknown>>;
}>;

export const RecipientParamsSchema = Type.Object(
  {
    address: Type.String({
      minLength: 3,
      maxLength: 512,
      description: 'The address, whole and percent-encoded; letter case does not count',
      examples: ['ada@example.com'],
    }),
  },
  closed,
);

export const RecipientSummarySchema = Type.Object(
  {
    email: Type.String({ description: 'The address, with its domain in ASCII' }),
    emails: Type.Array(EmailListItemSchema, {
      description: 'The newest emails that have it as a recipient; archived ones say no more who got them',
    }),
    emailsTotal: Type.Integer({ description: 'How many there are' }),
    emailsTotalIsLowerBound: Type.Boolean({ description: 'True if there may be more' }),
    suppressions: Type.Array(SuppressionRecordSchema, { description: 'Why the team does not write to it' }),
    unsubscribes: Type.Array(SuppressionRecordSchema, { description: 'The lists that the recipient has left' }),
    erasures: Type.Array(Type.Object({ id: Type.String(), requestedAt: Time, completedAt: nullable(Time) }, closed), {
      description: 'The newest erasures of the address that the team asked for',
    }),
  },
  closed,
);
export type RecipientSummary = Static<typeof RecipientSummarySchema>;

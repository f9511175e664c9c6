/** Requests and answers about bulk sends: send, dry run, status, cancel, results. */
import { Type, type Static } from '@sinclair/typebox';
import {
  closed,
  enumOf,
  RecipientSchema,
  Time,
  languageFields,
  recipientLanguageFields,
  templateIdField,
  valuesSchema,
} from './core/common.js';
import { emailStatuses } from '../domain/email/status.js';
import { outputFormats } from '../domain/rendering/content.js';
import { batchStatuses } from '../domain/bulk/decider.js';
import { defaultLimits as limits } from '../domain/core/limits.js';
import { priorities } from '../domain/ports/bus.js';
import { nullable } from '../domain/core/schema.js';
import { SendEmailRequestSchema } from './email.js';

const reference = Type.String({
  minLength: 1,
  maxLength: limits.templateSlugCharsMax,
  description: 'UUID, `atpl_` short id or slug of an attachment template',
});
const formats = Type.Array(enumOf(outputFormats), {
  minItems: 1,
  maxItems: 2,
  uniqueItems: true,
  description: 'Both formats give two files; default: those of the template',
});
const filename = Type.String({
  minLength: 1,
  maxLength: limits.filenameCharsMax,
  description: 'Without extension; may hold `{{…}}`',
});

const OverrideSchema = Type.Object(
  {
    attachmentTemplateId: reference,
    variables: Type.Optional(valuesSchema('Over those of the attachment and of the recipient; at most 100 KB of JSON')),
    filename: Type.Optional(filename),
    outputFormats: Type.Optional(formats),
    skip: Type.Optional(Type.Boolean({ description: 'This recipient does not get it' })),
  },
  { ...closed, description: 'Fields that differ for this recipient in the attachment of that template' },
);

const BulkRecipientSchema = Type.Object(
  {
    email: Type.String({
      description: 'Email address; a recipient whose address is none is left out, and told in `warnings`',
    }),
    name: RecipientSchema.properties.name,
    variables: Type.Optional(valuesSchema('Over `baseVariables`; at most 100 KB of JSON')),
    ...recipientLanguageFields,
    attachmentOverrides: Type.Optional(Type.Array(OverrideSchema, { maxItems: limits.attachmentsMax })),
  },
  closed,
);
export type BulkRecipient = Static<typeof BulkRecipientSchema>;

const BulkAttachmentSchema = Type.Object(
  {
    attachmentTemplateId: reference,
    filename: Type.Optional(filename),
    baseVariables: Type.Optional(
      valuesSchema('Variables for all recipients, which override those of the email; at most 100 KB of JSON'),
    ),
    recipientVariableFields: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
        maxItems: limits.templateVariablesMax,
        uniqueItems: true,
        description: 'Names that are taken from the variables of each recipient, over `baseVariables`',
      }),
    ),
    outputFormats: Type.Optional(formats),
    required: Type.Optional(
      Type.Boolean({
        description:
          'Default true: where it cannot be made the email of that recipient fails. False: it goes without it',
      }),
    ),
  },
  closed,
);
export type BulkAttachment = Static<typeof BulkAttachmentSchema>;

const { templateId, content, version, from, replyTo, headers, tags, metadata, scheduledAt, tracking } =
  SendEmailRequestSchema.properties;

export const SendBulkRequestSchema = Type.Object(
  {
    templateId,
    content,
    version,
    from,
    recipients: Type.Array(BulkRecipientSchema, { minItems: 1, maxItems: limits.bulkRecipientsMax }),
    lines: Type.Optional(
      Type.Array(Type.Integer({ minimum: 1 }), {
        minItems: 1,
        maxItems: limits.bulkRecipientsMax,
        description:
          'For a caller that read `recipients` from a file: the line of each, in their order. Results, warnings and faults name it',
      }),
    ),
    baseVariables: Type.Optional(valuesSchema('Variables for all recipients; at most 100 KB of JSON')),
    ...languageFields,
    attachments: Type.Optional(
      Type.Array(BulkAttachmentSchema, { maxItems: limits.attachmentsMax, description: 'Made for each recipient' }),
    ),
    replyTo,
    priority: Type.Optional(enumOf(priorities, 'Default `low`')),
    headers,
    tags,
    metadata,
    batchName: Type.Optional(
      Type.String({ minLength: 1, maxLength: limits.batchNameCharsMax, description: 'Shown in lists; kept as it is' }),
    ),
    dryRun: Type.Optional(Type.Boolean({ description: 'True: everything is checked and nothing is sent' })),
    scheduledAt,
    tracking,
  },
  closed,
);
export type SendBulkRequest = Static<typeof SendBulkRequestSchema>;

export const SendBulkResponseSchema = Type.Object(
  {
    batchId: Type.String({ format: 'uuid' }),
    totalEmails: Type.Integer({ description: 'One for each recipient that is not left out' }),
    status: enumOf(['queued', 'scheduled'] as const),
    message: Type.String(),
    createdAt: Time,
    estimatedCompletionAt: Time,
    warnings: Type.Array(Type.String(), { description: 'Recipients that are left out, by their place in the call' }),
  },
  closed,
);
export type SendBulkResponse = Static<typeof SendBulkResponseSchema>;

const quota = Type.Object(
  { used: Type.Integer(), limit: nullable(Type.Integer()), remaining: nullable(Type.Integer()) },
  closed,
);

export const DryRunResponseSchema = Type.Object(
  {
    valid: Type.Boolean({ description: 'The call would be accepted, and no recipient fails' }),
    totalEmails: Type.Integer(),
    totalQuotaCost: Type.Integer({
      description:
        'Credits that remain charged; recipients on the suppression list and documents that are left out cost nothing',
    }),
    costBreakdown: Type.Object({ emails: Type.Integer(), attachments: Type.Integer() }, closed),
    quotaStatus: Type.Object({ emailQuota: quota, attachmentQuota: quota }, closed),
    recipientValidation: Type.Object(
      {
        totalRecipients: Type.Integer(),
        validEmails: Type.Integer(),
        invalidEmails: Type.Integer(),
        duplicateEmails: Type.Integer(),
        failing: Type.Array(Type.Integer(), { description: 'Places of the recipients whose email would fail' }),
      },
      closed,
    ),
    templateValidation: Type.Object(
      {
        templateFound: Type.Boolean({ description: 'false also where the call brings its `content`' }),
        templateType: Type.String({ description: '`inline` where the call brings its `content`' }),
        requiredVariables: Type.Array(Type.String()),
        missingVariables: Type.Array(Type.String(), { description: 'Required variables that some recipient has not' }),
        emptyPaths: Type.Array(Type.String(), {
          description:
            'Paths that the template or an attachment template shows and that have no value for some recipient, or one that cannot be used, such as `items[2].note`; at most 100',
        }),
      },
      closed,
    ),
    warnings: Type.Array(Type.String(), {
      description:
        'Reasons for which the call would be refused, who is left out, whose email fails and why, who is on the suppression list, optional documents that are left out and their price, mails that Gmail cuts off, and in whose documents names stand in the place of characters that no font has',
    }),
  },
  closed,
);
export type DryRunResponse = Static<typeof DryRunResponseSchema>;

export const BatchStatusSchema = Type.Object(
  {
    batchId: Type.String({ format: 'uuid' }),
    batchName: nullable(Type.String()),
    status: enumOf(batchStatuses),
    templateId: templateIdField,
    emailTemplateName: Type.String(),
    priority: enumOf(priorities),
    totalEmails: Type.Integer({ description: '`queued`, `processing`, `sent`, `failed` and `cancelled` add up to it' }),
    queued: Type.Integer(),
    processing: Type.Integer(),
    sent: Type.Integer({ description: 'Left, whatever was heard of them since' }),
    delivered: Type.Integer({ description: 'Sent emails that were delivered' }),
    failed: Type.Integer({ description: 'Did not get through' }),
    bounced: Type.Integer({ description: 'Failed emails that bounced' }),
    cancelled: Type.Integer(),
    skipped: Type.Integer({ description: 'Recipients of the call that were left out for their address' }),
    duplicates: Type.Integer({ description: 'Recipients of the call that were left out for they stood there before' }),
    progress: Type.Integer({ description: 'Percent of the emails that have come to an end' }),
    createdAt: Time,
    scheduledAt: nullable(Time),
    queuedAt: nullable(Type.String({ format: 'date-time', description: 'null while it is scheduled' })),
    startedAt: nullable(Time),
    completedAt: nullable(Time),
    cancelledAt: nullable(Time),
    estimatedCompletionAt: nullable(Type.String({ format: 'date-time', description: 'null once it has ended' })),
    test: Type.Boolean({ description: 'Sent with a test key: nothing of it leaves, and it counts and costs nothing' }),
  },
  closed,
);
export const CancelBatchResponseSchema = Type.Object(
  {
    batchId: Type.String({ format: 'uuid' }),
    status: Type.Literal('cancelled'),
    message: Type.String(),
    totalEmails: Type.Integer({ description: '`sent`, `failed`, `cancelled` and `processing` add up to it' }),
    sent: Type.Integer(),
    cancelled: Type.Integer(),
    failed: Type.Integer(),
    processing: Type.Integer({ description: 'In their SMTP dialogue at that moment: they may leave' }),
  },
  closed,
);
export type CancelBatchResponse = Static<typeof CancelBatchResponseSchema>;

/** The statuses of emails; in addition: a recipient that was left out, and an email whose events cannot be read. */
const batchResultStatuses = [...emailStatuses, 'skipped', 'duplicate', 'unreadable'] as const;

export type BatchResultStatus = (typeof batchResultStatuses)[number];

export const resultFormats = ['jsonl', 'csv'] as const;

export type ResultFormat = (typeof resultFormats)[number];

export const BatchResultsQuerySchema = Type.Object(
  {
    format: Type.Optional(enumOf(resultFormats, 'Default: CSV where `Accept` names `text/csv` alone, else JSON lines')),
    status: Type.Optional(enumOf(batchResultStatuses, 'Only recipients that stand there')),
  },
  closed,
);

export type BatchResultsQuery = Static<typeof BatchResultsQuerySchema>;

/** One line of `GET /api/emails/batch/:batchId/results`: one recipient of the call. */
export type BatchResult = Readonly<{
  /** The place in the call, from 0. */
  place: number;
  /** null if the recipient was left out, and once personal data is erased. */
  email: string | null;
  status: BatchResultStatus;
  /** null if there is no email. */
  emailId: string | null;
  /** Why the email has failed, or the recipient was left out. */
  error: string | null;
  /** The last reply of the host. */
  reply: string | null;
  sentAt: string | null;
  deliveredAt: string | null;
  /** The line of the file in which the recipient begins; null if the call came without one. */
  line: number | null;
}>;

/** The columns of the CSV, and the members of each JSON line. */
export const resultColumns = [
  'place',
  'email',
  'status',
  'emailId',
  'error',
  'reply',
  'sentAt',
  'deliveredAt',
  'line',
] as const satisfies readonly (keyof BatchResult)[];

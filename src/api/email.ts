/** What a send call carries, and what it answers: one schema each for check, type and API description. */
import { Type, type Static } from '@sinclair/typebox';
import { outputFormats } from '../domain/rendering/document-content.js';
import { emailStatuses } from '../domain/email/email-status.js';
import { defaultLimits as limits } from '../domain/core/limits.js';
import { priorities } from '../domain/ports/bus.js';
import { nullable } from '../domain/core/schema.js';
import { closed, enumOf, RecipientSchema, Time } from './core/common.js';
import { languageFields } from './core/language.js';
import { AttemptRecordSchema } from './attempts.js';
import { RecipientStateSchema } from './recipient-state.js';
import { clickedAt, openedAt, trackingField, TrackingRecordSchema } from './tracking.js';

/** The four kinds of attachment, by the field that makes each: exactly one of them is given. */
export const attachmentSources = ['attachmentTemplateId', 'content', 'url', 'assetId'] as const;
export type AttachmentSource = (typeof attachmentSources)[number];

/** One schema for the four shapes, so that a fault names its field; which fields go together is checked with it. */
export const AttachmentSchema = Type.Object(
  {
    attachmentTemplateId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.templateSlugCharsMax,
        description: 'Generated: UUID, `atpl_` short id or slug of an attachment template',
      }),
    ),
    outputFormats: Type.Optional(
      Type.Array(enumOf(outputFormats), {
        minItems: 1,
        maxItems: 2,
        uniqueItems: true,
        description: 'Generated: both formats give two files; default: those of the template',
      }),
    ),
    variables: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'Generated: override or extend the variables of the email' }),
    ),
    content: Type.Optional(
      Type.String({ minLength: 1, description: 'The bytes in base64 (RFC 4648, section 4), with `filename` and `contentType`' }),
    ),
    url: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.outboundUrlCharsMax,
        description: 'A public http(s) address the file is fetched from, with `filename`',
      }),
    ),
    assetId: Type.Optional(Type.String({ format: 'uuid', description: 'A file of the asset gallery' })),
    filename: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.filenameCharsMax,
        description: 'Name shown to the recipient; may hold `{{…}}`. Generated: without extension, default is the name of the template',
      }),
    ),
    contentType: Type.Optional(
      Type.String({
        minLength: 3,
        maxLength: 255,
        description: 'MIME type, e.g. `application/pdf` or `text/calendar; method=REQUEST`; with `content` and `url`',
      }),
    ),
    contentId: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9._-]+$',
        maxLength: 100,
        description: 'Letters, digits, dots, hyphens and underscores: the file is shown inside the HTML, which names it as `cid:…`',
      }),
    ),
  },
  { ...closed, description: 'Exactly one of `attachmentTemplateId`, `content`, `url` and `assetId`' },
);
export type GivenAttachment = Static<typeof AttachmentSchema>;

export const SendEmailRequestSchema = Type.Object(
  {
    templateId: Type.String({ minLength: 1, maxLength: limits.templateSlugCharsMax, description: 'UUID or slug of the email template' }),
    version: Type.Optional(
      Type.Union([Type.String({ minLength: 1, maxLength: 20 }), Type.Integer({ minimum: 1 })], {
        description: '`published` (default), `draft`, or a version number',
      }),
    ),
    from: Type.Optional(RecipientSchema),
    to: Type.Array(RecipientSchema, { minItems: 1, description: 'At most 50 together with cc and bcc' }),
    cc: Type.Optional(Type.Array(RecipientSchema)),
    bcc: Type.Optional(Type.Array(RecipientSchema)),
    replyTo: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'Reply-to address' })),
    subject: Type.Optional(Type.String({ minLength: 1, maxLength: limits.subjectCharsMax, description: 'Overrides the template subject' })),
    variables: Type.Record(Type.String(), Type.Unknown(), { description: 'Values for the template' }),
    ...languageFields,
    attachments: Type.Optional(Type.Array(AttachmentSchema, { description: 'At most 10, of 10 MB each and 25 MB together' })),
    priority: Type.Optional(enumOf(priorities)),
    scheduledAt: Type.Optional(Type.String({ format: 'date-time', description: 'ISO 8601, in the future' })),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: limits.headerValueCharsMax }), { description: 'Custom header fields' }),
    ),
    tags: Type.Optional(
      Type.Array(Type.String({ pattern: '^[A-Za-z0-9_-]+$', maxLength: limits.tagCharsMax }), { maxItems: limits.tagsMax }),
    ),
    metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Custom tracking data' })),
    tracking: Type.Optional(trackingField),
  },
  closed,
);
export type SendEmailRequest = Static<typeof SendEmailRequestSchema>;

export const SendEmailResponseSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'Email log id' }),
    messageId: Type.String({ description: 'RFC 5322 Message-ID' }),
    status: enumOf(emailStatuses),
    recipientCount: Type.Integer({ description: 'to + cc + bcc' }),
    attachmentCount: Type.Integer(),
    queuedAt: Time,
    estimatedDeliveryAt: Type.String({
      format: 'date-time',
      description: 'When it is likely to leave; later where more waits than is delivered',
    }),
  },
  closed,
);
export type SendEmailResponse = Static<typeof SendEmailResponseSchema>;

export const RetryEmailResponseSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    status: enumOf(emailStatuses),
    message: Type.String(),
    retryCount: Type.Integer(),
    queuedAt: Time,
  },
  closed,
);
export type RetryEmailResponse = Static<typeof RetryEmailResponseSchema>;

export const RetryEmailsRequestSchema = Type.Object(
  {
    status: Type.Optional(
      enumOf(
        ['queued', 'failed'] as const,
        '`queued` (default): what waits for its next attempt or for the relay is tried now; `failed`: what has failed is tried anew',
      ),
    ),
    templateId: Type.Optional(Type.String({ format: 'uuid', description: 'Sent from this template' })),
    domain: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: 'With a recipient of this domain who has not got it',
        examples: ['example.com'],
      }),
    ),
    startDate: Type.Optional(Type.String({ format: 'date-time', description: 'Created at or after' })),
    endDate: Type.Optional(Type.String({ format: 'date-time', description: 'Created at or before' })),
    cursor: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1_024, description: '`nextCursor` of the call before, with the same filter' }),
    ),
  },
  { ...closed, description: 'An empty object stands for everything that waits' },
);
export type RetryEmailsRequest = Static<typeof RetryEmailsRequestSchema>;

export const RetryEmailsResponseSchema = Type.Object(
  {
    retried: Type.Integer({ description: 'Emails that are due now' }),
    held: Type.Integer({ description: 'Emails that leave as soon as the relay takes sessions; it is asked now' }),
    nextCursor: nullable(Type.String({ description: 'Where more emails may match than one call looks at: call again with it' })),
  },
  closed,
);
export type RetryEmailsResponse = Static<typeof RetryEmailsResponseSchema>;

export const BulkDeleteRequestSchema = Type.Object(
  {
    ids: Type.Optional(Type.Array(Type.String({ format: 'uuid' }), { minItems: 1, maxItems: limits.bulkDeleteIdsMax })),
    status: Type.Optional(enumOf(emailStatuses)),
    before: Type.Optional(Type.String({ format: 'date-time', description: 'Created before this moment' })),
    templateId: Type.Optional(Type.String({ format: 'uuid' })),
  },
  { ...closed, description: 'Either `ids`, or at least one of `status`, `before` and `templateId`' },
);
export type BulkDeleteRequest = Static<typeof BulkDeleteRequestSchema>;

export const BulkDeleteResponseSchema = Type.Object(
  {
    deleted: Type.Integer(),
    notFound: Type.Integer(),
    inProgress: Type.Integer({ description: 'Left alone because an SMTP dialogue is under way' }),
    remaining: Type.Boolean({ description: 'True where more emails match than one call deletes: call again' }),
  },
  closed,
);
export type BulkDeleteResponse = Static<typeof BulkDeleteResponseSchema>;

const AttachmentRecordSchema = Type.Object({ filename: Type.String(), contentType: Type.String(), sizeBytes: Type.Integer() }, closed);

const OmittedAttachmentSchema = Type.Object({ name: Type.String(), reason: Type.String() }, closed);

const ReplacedCharactersSchema = Type.Object({ name: Type.String(), characters: Type.Array(Type.String()) }, closed);

const Recipients = Type.Array(RecipientSchema);

const failedRecipients = Type.Integer({
  description: 'How many recipients did not get it: `failed` or `bounced`; a retry sends to those with status `failed`',
});

const test = Type.Boolean({ description: 'Sent with a test key: nothing of it has left, and it counts and costs nothing' });

/** The whole log record of one email (GET single). */
export const EmailRecordSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    messageId: Type.String(),
    status: enumOf(emailStatuses),
    archived: Type.Boolean(),
    emailTemplateName: Type.String(),
    templateId: Type.String({ format: 'uuid' }),
    templateVersion: nullable(Type.Integer({ description: 'null where the draft was sent' })),
    subject: nullable(Type.String()),
    from: nullable(RecipientSchema),
    replyTo: nullable(Type.String()),
    priority: enumOf(priorities),
    locale: nullable(Type.String({ description: 'The language of the call, null where it said none' })),
    timeZone: nullable(Type.String({ description: 'The time zone of the call, null where it said none' })),
    tags: Type.Array(Type.String()),
    recipientCount: Type.Integer(),
    failedRecipients,
    attachmentCount: Type.Integer(),
    batchId: nullable(Type.String({ format: 'uuid', description: 'The bulk send that it belongs to' })),
    test,
    confidential: Type.Optional(
      Type.Literal(true, {
        description: 'A mail of the service about an account: its variables and attachments are shown to nobody, and it costs nothing',
      }),
    ),
    retryCount: Type.Integer(),
    failureReason: nullable(Type.String()),
    scheduledAt: nullable(Time),
    queuedAt: nullable(Time),
    processingAt: nullable(Time),
    nextAttemptAt: nullable(Time),
    sentAt: nullable(Time),
    deliveredAt: nullable(Time),
    openedAt,
    clickedAt,
    cancelledAt: nullable(Time),
    complainedAt: Type.Optional(Time),
    feedbackType: Type.Optional(Type.String({ description: 'What the first complaint called it (RFC 5965)' })),
    archivedAt: nullable(Time),
    createdAt: Time,
    updatedAt: Time,
    recipients: Type.Array(RecipientStateSchema),
    attempts: Type.Array(AttemptRecordSchema),
    tracking: TrackingRecordSchema,
    metadata: Type.Object(
      {
        recipients: Type.Object({ to: Recipients, cc: Recipients, bcc: Recipients }, closed),
        variables: Type.Record(Type.String(), Type.Unknown()),
        attachments: Type.Array(AttachmentRecordSchema),
        omittedAttachments: Type.Array(OmittedAttachmentSchema, {
          description: 'Documents with `required: false` that could not be made, and why: it went without them',
        }),
        replacedCharacters: Type.Optional(
          Type.Array(ReplacedCharactersSchema, {
            description:
              'Characters in whose place the PDFs show names such as `[TAGALOG LETTER MA]`, for no font has them; absent where there is none',
          }),
        ),
        custom: Type.Record(Type.String(), Type.Unknown(), { description: 'The `metadata` of the send call' }),
      },
      closed,
    ),
  },
  closed,
);
export type EmailRecord = Static<typeof EmailRecordSchema>;

export const EmailListItemSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    status: enumOf(emailStatuses),
    archived: Type.Boolean(),
    emailTemplateName: Type.String(),
    templateId: Type.String({ format: 'uuid' }),
    subject: nullable(Type.String()),
    recipientCount: Type.Integer(),
    failedRecipients,
    createdAt: Time,
    sentAt: nullable(Time),
    deliveredAt: nullable(Time),
    test,
  },
  closed,
);
export type EmailListItem = Static<typeof EmailListItemSchema>;

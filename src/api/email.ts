/**
 * Requests and answers about emails: send, retry, reschedule, cancel, delete; the record, the list, the timeline, the
 * queue.
 */
import { Type, type Static, type TInteger, type TOptional } from '@sinclair/typebox';
import { nullable } from '../domain/core/schema.js';
import {
  closed,
  enumOf,
  Time,
  RecipientSchema,
  languageFields,
  SlugShape,
  templateFilter,
  templateIdField,
  valuesSchema,
} from './core/common.js';
import {
  bounceTypes,
  recipientRoles,
  recipientStatuses,
  emailStatuses,
  type EmailStatus,
} from '../domain/email/status.js';
import { clickedAt, openedAt, trackingField, TrackingRecordSchema } from './recipients.js';
import { defaultLimits as limits } from '../domain/core/limits.js';
import { outputFormats } from '../domain/rendering/content.js';
import { lossKinds } from '../domain/rendering/paths/losses.js';
import { priorities } from '../domain/ports/bus.js';

/** The field that makes each of the four kinds of attachment: exactly one of them is given. */
export const attachmentSources = ['attachmentTemplateId', 'content', 'url', 'assetId'] as const;

export type AttachmentSource = (typeof attachmentSources)[number];

/**
 * One schema for the four kinds, so that an error names its field; `readAttachments` checks which fields go together.
 */
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
    variables: Type.Optional(valuesSchema('Generated: override or extend the variables of the email')),
    content: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'The bytes in base64 (RFC 4648, section 4), with `filename` and `contentType`',
      }),
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
        description:
          'Name shown to the recipient; may hold `{{…}}`. Generated: without extension, default is the name of the template',
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
        description:
          'Letters, digits, dots, hyphens and underscores: the file is shown where the template names it as `cid:…`, and is an ordinary attachment where nothing does',
      }),
    ),
  },
  { ...closed, description: 'Exactly one of `attachmentTemplateId`, `content`, `url` and `assetId`' },
);

export type GivenAttachment = Static<typeof AttachmentSchema>;

const address = Type.String({ minLength: 1, maxLength: 512 });
const replyTo = Type.Union(
  [
    address,
    RecipientSchema,
    Type.Array(Type.Union([address, RecipientSchema]), { minItems: 1, maxItems: limits.replyToMax }),
  ],
  {
    description:
      'Recipients of replies: an address, an object with `email` and `name`, or an array of up to ten of them',
  },
);

export const ContentSchema = Type.Object(
  {
    subject: Type.String({ minLength: 1, maxLength: limits.subjectCharsMax }),
    html: Type.String({
      minLength: 1,
      description: 'Leaves as it is given, but for tracked links and the pixel where tracking is on; at most 1 MB',
    }),
    text: Type.Optional(Type.String({ minLength: 1, description: 'Default: made from the HTML' })),
    unsubscribeList: Type.Optional(
      Type.String({
        ...SlugShape,
        description:
          'The list that recipients can unsubscribe from; `{{__UNSUBSCRIBE_URL__}}` is the address of their page',
      }),
    ),
  },
  {
    ...closed,
    description:
      'Content in place of a template. `{{path}}` is a placeholder where the call gives variables, and text like any other where it gives none',
  },
);

export const SendEmailRequestSchema = Type.Object(
  {
    templateId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.templateSlugCharsMax,
        description: 'UUID or slug of the email template; exactly one of `templateId` and `content` is given',
      }),
    ),
    content: Type.Optional(ContentSchema),
    version: Type.Optional(
      Type.Union([Type.String({ minLength: 1, maxLength: 20 }), Type.Integer({ minimum: 1 })], {
        description: '`published` (default), `draft`, or a version number',
      }),
    ),
    from: Type.Optional(RecipientSchema),
    to: Type.Array(RecipientSchema, { minItems: 1, description: 'At most 50 together with cc and bcc' }),
    cc: Type.Optional(Type.Array(RecipientSchema)),
    bcc: Type.Optional(Type.Array(RecipientSchema)),
    replyTo: Type.Optional(replyTo),
    subject: Type.Optional(
      Type.String({ minLength: 1, maxLength: limits.subjectCharsMax, description: 'Overrides the template subject' }),
    ),
    variables: Type.Optional(
      valuesSchema('Values for the template, which needs them; for `content` they may be absent'),
    ),
    ...languageFields,
    attachments: Type.Optional(
      Type.Array(AttachmentSchema, { description: 'At most 10, of 10 MB each and 25 MB together' }),
    ),
    priority: Type.Optional(enumOf(priorities)),
    scheduledAt: Type.Optional(Type.String({ format: 'date-time', description: 'ISO 8601, in the future' })),
    headers: Type.Optional(
      Type.Record(Type.String(), Type.String({ maxLength: limits.referencesCharsMax }), {
        description: 'Custom header fields',
      }),
    ),
    tags: Type.Optional(
      Type.Array(Type.String({ pattern: '^[A-Za-z0-9_-]+$', maxLength: limits.tagCharsMax }), {
        maxItems: limits.tagsMax,
      }),
    ),
    metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'Custom tracking data' })),
    tracking: Type.Optional(trackingField),
  },
  closed,
);

export type SendEmailRequest = Static<typeof SendEmailRequestSchema>;

/** A value that the mail lost. */
const LossSchema = Type.Object(
  {
    kind: enumOf(
      lossKinds,
      '`missing`: it has no value; `calculated`: it is worked out from something that has none; `link`, `picture`, `color`, `currency`: none that can be used; `setting`: a length, a side or another setting that its place does not take',
    ),
    path: Type.String({ description: 'The path of the variable, such as `items[2].note`' }),
    field: Type.String({ description: 'The place of the template that uses it' }),
    shape: Type.String({
      description: 'The type of the value and its rough form, such as `text without a scheme`; never the value',
    }),
    message: Type.String(),
  },
  closed,
);

const lossesField = Type.Optional(
  Type.Array(LossSchema, {
    description:
      'Values that the mail lost: missing ones, and those that cannot be used where they stand; at most 20. Absent where nothing is lost',
  }),
);

export const SendEmailResponseSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'Email log id' }),
    messageId: Type.String({ description: 'RFC 5322 Message-ID' }),
    status: enumOf(emailStatuses),
    recipientCount: Type.Integer({ description: 'The addresses of to, cc and bcc, each counted once' }),
    attachmentCount: Type.Integer(),
    queuedAt: Time,
    estimatedDeliveryAt: Type.String({
      format: 'date-time',
      description: 'When it is likely to leave; later where more waits than is delivered',
    }),
    warnings: lossesField,
  },
  closed,
);

export type SendEmailResponse = Static<typeof SendEmailResponseSchema>;

const AttemptRecordSchema = Type.Object(
  {
    attempt: Type.Integer(),
    startedAt: Time,
    endedAt: nullable(Time),
    host: Type.String(),
    relay: Type.Optional(
      Type.String({ description: 'name of the relay in SEALPOST_RELAYS; absent without that setting' }),
    ),
    durationMs: nullable(Type.Number()),
    outcome: nullable(enumOf(['sent', 'deferred', 'bounced', 'failed', 'interrupted'] as const)),
    replyCode: nullable(Type.Integer()),
    reply: nullable(Type.String({ description: 'null once archived' })),
    nextAttemptAt: nullable(Time),
  },
  closed,
);

const RecipientStateSchema = Type.Object(
  {
    email: nullable(Type.String({ description: 'null once the email is archived, or the recipient is erased' })),
    name: nullable(Type.String()),
    role: enumOf(recipientRoles),
    status: enumOf(recipientStatuses),
    erased: Type.Optional(
      Type.Literal(true, {
        description:
          'There where what was held about this recipient is destroyed, and the email goes on for the others',
      }),
    ),
    replyCode: nullable(Type.Integer({ description: 'SMTP reply code of the last attempt' })),
    enhancedCode: nullable(Type.String({ description: 'Enhanced status code (RFC 3463)' })),
    rule: nullable(Type.String({ description: 'The rule that classified the reply' })),
    reply: nullable(Type.String({ description: 'The reply in words; null once archived' })),
    bounceType: Type.Optional(enumOf(bounceTypes)),
    bounceSubType: Type.Optional(Type.String({ description: 'These are there where a report has told of it later' })),
    reportedAt: Type.Optional(Time),
    simulated: Type.Optional(
      Type.Literal(true, {
        description: 'No host was asked: it was sent with a test key, or the address is one of the simulator',
      }),
    ),
    openedAt,
    clickedAt,
  },
  closed,
);

export const RescheduleEmailRequestSchema = Type.Object(
  {
    scheduledAt: Type.String({
      format: 'date-time',
      description: 'ISO 8601 with a zone, in the future',
      examples: ['2030-01-31T09:30:00+01:00'],
    }),
  },
  closed,
);
export type RescheduleEmailRequest = Static<typeof RescheduleEmailRequestSchema>;

export const RescheduleEmailResponseSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    status: enumOf(emailStatuses),
    message: Type.String(),
    scheduledAt: Time,
    estimatedDeliveryAt: Time,
  },
  closed,
);
export type RescheduleEmailResponse = Static<typeof RescheduleEmailResponseSchema>;

export const CancelEmailResponseSchema = Type.Object(
  { id: Type.String({ format: 'uuid' }), status: enumOf(emailStatuses), message: Type.String(), cancelledAt: Time },
  closed,
);
export type CancelEmailResponse = Static<typeof CancelEmailResponseSchema>;

export const TimelineQuerySchema = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.pageSizeMax,
        default: limits.pageSizeDefault,
        description: 'Entries per page',
      }),
    ),
    cursor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1_024,
        description: '`meta.nextCursor` of the page before: continues behind its last entry',
      }),
    ),
  },
  closed,
);

const TimelineRecipientSchema = Type.Object(
  {
    place: Type.Integer({ description: 'Among to, cc and bcc, from 0' }),
    role: enumOf(recipientRoles),
    email: nullable(Type.String({ description: 'null once it is destroyed' })),
    result: Type.Optional(Type.String()),
    replyCode: Type.Optional(nullable(Type.Integer())),
    enhancedCode: Type.Optional(nullable(Type.String())),
    reply: Type.Optional(Type.String({ description: 'Absent once archived' })),
  },
  closed,
);

const EntrySchema = Type.Object(
  {
    id: Type.String({
      description: 'Id of the event; of an attempt of a webhook, that of the delivery and the number of the attempt',
    }),
    kind: Type.String({
      description: 'Kind of the event, e.g. `EmailQueued`, `DeliveryAttempted`, `WebhookAttempted`',
    }),
    stream: Type.String({ description: 'Event stream of the entry' }),
    at: Time,
    actor: Type.String({ description: '`apiKey:<id>`, `processor:<name>`, `cli`, `system`, …' }),
    cause: Type.Object(
      {
        kind: enumOf(['request', 'event'] as const),
        id: Type.String({ description: 'The request id, or the id of the event that led to it' }),
      },
      closed,
    ),
    requestId: Type.String({ description: 'Id of the request that caused the event' }),
    durationMs: nullable(
      Type.Number({ description: 'How long it took: the SMTP dialogue, or the answer of an endpoint' }),
    ),
    sinceMs: nullable(Type.Integer({ description: 'Since the entry before; null of the first' })),
    recipients: Type.Array(TimelineRecipientSchema, {
      description: 'Whom it is about; empty where it is about the email',
    }),
    details: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]), {
      description:
        'Further fields of the event; of an attempt of a webhook `deliveryId`, `event`, `attempt`, `status`, `statusCode` and more',
    }),
  },
  closed,
);

export const TimelineSchema = Type.Object(
  {
    data: Type.Array(EntrySchema),
    meta: Type.Object(
      {
        limit: Type.Integer(),
        total: Type.Integer(),
        nextCursor: nullable(Type.String()),
        webhooksComplete: Type.Boolean({
          description:
            'False where so much was sent to an endpoint since that some attempts may be missing here: its deliveries list them',
        }),
      },
      closed,
    ),
  },
  closed,
);
const queueFields = {
  depth: Type.Integer({
    description: 'Emails that are due: they wait for nothing but their turn, or are in their SMTP dialogue',
  }),
  oldestQueuedAt: nullable(
    Type.String({ format: 'date-time', description: 'Since when the one that has waited longest for its turn is due' }),
  ),
  oldestAgeSeconds: nullable(Type.Integer()),
  ratePerMinute: Type.Number({
    description: 'How many a minute came to an end, or to their next pause, in the last five minutes',
  }),
  estimatedSeconds: nullable(
    Type.Integer({ description: 'Until all that is due has left at that rate; null where the rate is 0' }),
  ),
  deferred: Type.Integer({ description: 'Emails that wait for another attempt' }),
  held: Type.Integer({ description: 'Emails that wait for the relay to take sessions' }),
  scheduled: Type.Integer({ description: 'Emails that wait for their `scheduledAt`' }),
};
const QueueFieldsSchema = Type.Object(queueFields, closed);

export const QueueStatsSchema = Type.Object(
  {
    asOf: Time,
    ...queueFields,
    priorities: Type.Object({ high: QueueFieldsSchema, normal: QueueFieldsSchema, low: QueueFieldsSchema }, closed),
  },
  closed,
);

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
    templateId: Type.Optional(templateFilter),
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
      Type.String({
        minLength: 1,
        maxLength: 1_024,
        description: '`nextCursor` of the call before, with the same filter',
      }),
    ),
  },
  { ...closed, description: 'An empty object stands for everything that waits' },
);
export type RetryEmailsRequest = Static<typeof RetryEmailsRequestSchema>;

export const RetryEmailsResponseSchema = Type.Object(
  {
    retried: Type.Integer({ description: 'Emails that are due now' }),
    held: Type.Integer({ description: 'Emails that leave as soon as the relay takes sessions; it is asked now' }),
    nextCursor: nullable(
      Type.String({ description: 'Set if more emails may match than one call reads: pass it to the next call' }),
    ),
  },
  closed,
);
export type RetryEmailsResponse = Static<typeof RetryEmailsResponseSchema>;

export const BulkDeleteRequestSchema = Type.Object(
  {
    ids: Type.Optional(Type.Array(Type.String({ format: 'uuid' }), { minItems: 1, maxItems: limits.bulkDeleteIdsMax })),
    status: Type.Optional(enumOf(emailStatuses)),
    before: Type.Optional(Type.String({ format: 'date-time', description: 'Created before this moment' })),
    templateId: Type.Optional(templateFilter),
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

const AttachmentRecordSchema = Type.Object(
  { filename: Type.String(), contentType: Type.String(), sizeBytes: Type.Integer() },
  closed,
);

const OmittedAttachmentSchema = Type.Object({ name: Type.String(), reason: Type.String() }, closed);

const ReplacedCharactersSchema = Type.Object({ name: Type.String(), characters: Type.Array(Type.String()) }, closed);

const Recipients = Type.Array(RecipientSchema);

const failedRecipients = Type.Integer({
  description: 'How many recipients did not get it: `failed` or `bounced`; a retry sends to those with status `failed`',
});

const test = Type.Boolean({
  description: 'Sent with a test key: nothing of it has left, and it counts and costs nothing',
});

/** The whole log record of one email (GET single). */
export const EmailRecordSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    messageId: Type.String(),
    status: enumOf(emailStatuses),
    archived: Type.Boolean(),
    emailTemplateName: Type.String(),
    templateId: templateIdField,
    templateVersion: nullable(Type.Integer({ description: 'null where the draft was sent, or there is no template' })),
    subject: nullable(Type.String()),
    from: nullable(RecipientSchema),
    replyTo: nullable(
      Type.Union([Type.String(), Type.Array(RecipientSchema)], {
        description: 'An address; an array where there are names or several',
      }),
    ),
    priority: enumOf(priorities),
    locale: nullable(Type.String({ description: 'The language of the call, null where it said none' })),
    timeZone: nullable(Type.String({ description: 'The time zone of the call, null where it said none' })),
    tags: Type.Array(Type.String()),
    recipientCount: Type.Integer(),
    failedRecipients,
    attachmentCount: Type.Integer(),
    batchId: nullable(Type.String({ format: 'uuid', description: 'The bulk send that it belongs to' })),
    test,
    resentFrom: Type.Optional(Type.String({ format: 'uuid', description: 'The email that it is a copy of' })),
    approval: Type.Optional(
      Type.Object(
        {
          id: Type.String({ format: 'uuid' }),
          askedBy: Type.String({
            description: 'The caller who asked for it: `apiKey:<id>`, `grant:<id>`, `user:<id>`',
          }),
          approvedBy: Type.String({ description: '`user:<id>`' }),
        },
        { ...closed, description: 'The approval by which a person let it leave' },
      ),
    ),
    confidential: Type.Optional(
      Type.Literal(true, {
        description:
          'A mail of the service about an account: its variables and attachments are shown to nobody, and it costs nothing',
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
    feedbackType: Type.Optional(Type.String({ description: 'Feedback type of the first complaint (RFC 5965)' })),
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
        warnings: lossesField,
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
    templateId: templateIdField,
    subject: nullable(Type.String()),
    to: nullable(
      Type.Object(
        { email: Type.String(), name: nullable(Type.String()) },
        { ...closed, description: 'The first recipient; null once erased, or once the email is archived' },
      ),
    ),
    recipientCount: Type.Integer(),
    failedRecipients,
    attachmentCount: Type.Integer(),
    tags: Type.Array(Type.String(), { description: 'Each once; empty once archived' }),
    batchId: nullable(Type.String({ description: 'Id of its bulk send' })),
    failureReason: nullable(Type.String({ description: 'Why it failed or bounced, as in the record' })),
    relay: nullable(Type.String({ description: 'Name of the relay of its last attempt; null: none has a name' })),
    createdAt: Time,
    sentAt: nullable(Time),
    deliveredAt: nullable(Time),
    test,
  },
  closed,
);
export type EmailListItem = Static<typeof EmailListItemSchema>;

export const EmailCountsSchema = Type.Object(
  {
    counts: Type.Object(
      Object.fromEntries(emailStatuses.map((status) => [status, Type.Optional(Type.Integer())])) as Record<
        EmailStatus,
        TOptional<TInteger>
      >,
      { ...closed, description: 'Emails by status: the statuses of the filter, or all' },
    ),
    total: Type.Integer({ description: 'Their sum' }),
    totalIsLowerBound: Type.Boolean({ description: 'True if `lowerBounds` names a status' }),
    lowerBounds: Type.Array(enumOf(emailStatuses), {
      description: 'The statuses of which there may be more than counted',
    }),
  },
  closed,
);
export type EmailCounts = Static<typeof EmailCountsSchema>;

/** Approvals: sends that a program asks for and a person decides on. */
import { Type, type Static } from '@sinclair/typebox';
import { approvalStatuses, rejectionReasons } from '../domain/approvals/decider.js';
import { nullable } from '../domain/core/schema.js';
import { closed, enumOf, RecipientSchema, templateIdField, Time, valuesSchema } from './core/common.js';
import { paging } from './core/queries.js';
import { SentContentSchema } from './email-content.js';

const mailboxes = Type.Array(RecipientSchema);

const ProposalSchema = Type.Object(
  {
    from: RecipientSchema,
    to: mailboxes,
    cc: mailboxes,
    bcc: mailboxes,
    subject: Type.String(),
    attachments: Type.Array(
      Type.Object({ filename: Type.String(), contentType: Type.String(), sizeBytes: Type.Integer() }, closed),
    ),
    warnings: Type.Array(Type.String(), {
      description: 'What the dry run found: values that the mail loses, recipients that are suppressed, its size',
    }),
  },
  {
    ...closed,
    description:
      'The email as it would leave. null once it is destroyed: it was rejected or withdrawn, it expired, it is too old, or a recipient of it was erased',
  },
);

export const ApprovalSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    status: enumOf(approvalStatuses, '`requested` while it waits for a person'),
    askedAt: Time,
    askedBy: Type.String({ description: 'The caller who asked: `apiKey:<id>`, `grant:<id>` (an app), `user:<id>`' }),
    askedByName: nullable(Type.String({ description: 'Name of the API key or app; null for a person' })),
    askedFor: nullable(
      Type.String({ description: 'The person on whose behalf an app asked: `user:<id>`; null where there is none' }),
    ),
    expiresAt: Type.String({ format: 'date-time', description: 'From then on nobody can approve it' }),
    decidedAt: nullable(Time),
    decidedBy: nullable(
      Type.String({ description: 'Who approved, rejected or withdrew it; null where nobody did, as when it expired' }),
    ),
    reason: nullable(enumOf(rejectionReasons, 'Why it was rejected')),
    emailId: nullable(Type.String({ format: 'uuid', description: 'The email, once it is made' })),
    failureCode: nullable(
      Type.String({ description: 'The error code with which the email was refused although a person approved it' }),
    ),
    digest: Type.String({ description: 'Stands for all that would leave; who approves repeats it' }),
    templateId: templateIdField,
    templateName: Type.String(),
    templateVersion: nullable(Type.Integer({ description: 'null where the draft is sent, or there is no template' })),
    recipientCount: Type.Integer(),
    cost: Type.Object({ emails: Type.Integer(), attachments: Type.Integer() }, { ...closed, description: 'Credits' }),
    scheduledAt: nullable(Time),
    test: Type.Boolean({ description: 'Asked for with a test key: the email will not be delivered' }),
    proposal: nullable(ProposalSchema),
  },
  closed,
);
export type ApprovalRecord = Static<typeof ApprovalSchema>;

export const ApprovalContentSchema = Type.Object(
  {
    ...SentContentSchema.properties,
    variables: valuesSchema('Those of the call; the mail shows some of them'),
    metadata: Type.Record(Type.String(), Type.Unknown(), {
      description: 'That of the call; the mail does not show it',
    }),
  },
  closed,
);
export type ApprovalContent = Static<typeof ApprovalContentSchema>;

export const ApprovalsQuerySchema = Type.Object({ ...paging, status: Type.Optional(enumOf(approvalStatuses)) }, closed);

export const ApproveRequestSchema = Type.Object(
  { digest: Type.String({ minLength: 1, maxLength: 200, description: '`digest` of the approval that was looked at' }) },
  closed,
);
export type ApproveRequest = Static<typeof ApproveRequestSchema>;

export const RejectRequestSchema = Type.Object(
  { reason: Type.Optional(enumOf(rejectionReasons, 'What the asking program should know; default `other`')) },
  { ...closed, description: 'May be absent' },
);
export type RejectRequest = Static<typeof RejectRequestSchema>;

export const ApprovalPageQuerySchema = Type.Object(
  {
    scheme: Type.Optional(
      enumOf(['light', 'dark'] as const, 'The colour scheme that the mail is told; default `light`'),
    ),
    pictures: Type.Optional(
      Type.Boolean({ description: 'Whether pictures, styles and fonts of other hosts are loaded; default false' }),
    ),
  },
  closed,
);

export const ApprovalAttachmentParamsSchema = Type.Object({
  id: Type.String({ description: 'Id of the approval' }),
  index: Type.String({ description: 'The `index` of the attachment in the content' }),
});

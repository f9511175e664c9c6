/** Named schemas of the API description. A schema that equals one of them is written as a reference to it. */
import type { TSchema } from '@sinclair/typebox';
import type { TemplateKind } from './templates/json-schema.js';
import { AnalyticsPeriodSchema, EmailRatesSchema, EmailTimesSchema, EmailTotalsSchema } from './analytics.js';
import {
  AssetRecordSchema,
  CreateAssetRequestSchema,
  AttachmentTemplateListItemSchema,
  AttachmentTemplateRecordSchema,
  SavedAttachmentTemplateSchema,
  AttachmentTemplateVersionSchema,
  CreateAttachmentTemplateRequestSchema,
  ImportAttachmentTemplateRequestSchema,
  AttachmentTemplateVersionRecordSchema,
  UpdateAttachmentTemplateRequestSchema,
  CreateTemplateRequestSchema,
  ImportTemplateRequestSchema,
  PreviewRequestSchema,
  PreviewLinkSchema,
  PreviewResponseSchema,
  RestoreTemplateRequestSchema,
  TemplateVersionRecordSchema,
  TemplateListItemSchema,
  TemplateRecordSchema,
  SavedTemplateSchema,
  TemplateVersionSchema,
  UpdateTemplateRequestSchema,
} from './templates/templates.js';
import { ApiKeyRecordSchema, CreateApiKeyRequestSchema, CreatedApiKeySchema } from './keys.js';
import { DeletedSchema, PageMetaSchema, RecipientSchema, ErrorBodySchema } from './core/common.js';
import {
  AttachmentSchema,
  BulkDeleteRequestSchema,
  BulkDeleteResponseSchema,
  EmailListItemSchema,
  EmailRecordSchema,
  RetryEmailResponseSchema,
  SendEmailRequestSchema,
  SendEmailResponseSchema,
} from './email.js';
import { MailboxMessageSchema } from './mailbox.js';

/** `description` says what the component is; what its schema says itself comes behind it. */
export type Component = Readonly<{
  schema: TSchema;
  description: string;
  /**
   * The body of a template: its variables and its content are checked part by part, and described by definitions of
   * their own.
   */
  template?: TemplateKind;
}>;

/** Inner ones first, so that the outer ones refer to them. */
export const components: Readonly<Record<string, Component>> = {
  Recipient: { schema: RecipientSchema, description: 'A mailbox: an address, and the name that clients show for it.' },
  Attachment: {
    schema: AttachmentSchema,
    description:
      'A file of an email, of one of four kinds: generated from an attachment template, given in base64, fetched from an address, or taken from the gallery.',
  },
  PageMeta: { schema: PageMetaSchema, description: 'Place of a page in its list, and the cursor of the next page.' },
  Error: {
    schema: ErrorBodySchema,
    description: 'Every error answer: what was wrong, where, and what would be right.',
  },
  Deleted: { schema: DeletedSchema, description: 'The answer of a DELETE.' },
  SendEmailRequest: {
    schema: SendEmailRequestSchema,
    description: 'One email: a template, its variables, and who gets it.',
  },
  SendEmailResponse: {
    schema: SendEmailResponseSchema,
    description: 'The email as it was accepted: it is durable, and will be sent.',
  },
  RetryEmailResponse: { schema: RetryEmailResponseSchema, description: 'The email as it is queued again.' },
  EmailRecord: {
    schema: EmailRecordSchema,
    description: 'The whole log record of one email, with each recipient and each attempt.',
  },
  EmailListItem: { schema: EmailListItemSchema, description: 'One email in a list.' },
  EmailTotals: {
    schema: EmailTotalsSchema,
    description: 'How many emails came to each point of their way for the first time.',
  },
  EmailRates: { schema: EmailRatesSchema, description: 'Parts of these totals, in percent.' },
  EmailTimes: { schema: EmailTimesSchema, description: 'How long emails took, on average.' },
  AnalyticsPeriod: {
    schema: AnalyticsPeriodSchema,
    description: 'Numbers of emails by result in a range of days (UTC).',
  },
  BulkDeleteRequest: { schema: BulkDeleteRequestSchema, description: 'Ids of the emails to delete.' },
  BulkDeleteResponse: {
    schema: BulkDeleteResponseSchema,
    description: 'How many emails were deleted, and how many not.',
  },
  CreateTemplateRequest: {
    schema: CreateTemplateRequestSchema,
    template: 'email',
    description: 'A new template of an email; what GET answered of another is taken as it is.',
  },
  ImportTemplateRequest: {
    schema: ImportTemplateRequestSchema,
    template: 'email',
    description: 'A template of an email as GET answered it, here or elsewhere.',
  },
  UpdateTemplateRequest: {
    schema: UpdateTemplateRequestSchema,
    template: 'email',
    description: 'Changes to the draft of an email template.',
  },
  Template: { schema: TemplateRecordSchema, description: 'A template of an email, with its draft.' },
  SavedTemplate: {
    schema: SavedTemplateSchema,
    description: 'A template of an email as it was saved, with what its author should know.',
  },
  TemplateListItem: {
    schema: TemplateListItemSchema,
    description: 'A template of an email in a list, without its content.',
  },
  TemplateVersion: {
    schema: TemplateVersionSchema,
    description: 'A published version of a template of an email, without its content.',
  },
  TemplateVersionRecord: {
    schema: TemplateVersionRecordSchema,
    description: 'A published version of a template of an email, with its content.',
  },
  RestoreTemplateRequest: {
    schema: RestoreTemplateRequestSchema,
    description: 'How a deleted template is taken back.',
  },
  PreviewRequest: {
    schema: PreviewRequestSchema,
    description: 'Variables and language for the preview of an email template.',
  },
  PreviewLink: { schema: PreviewLinkSchema, description: 'A link that shows a preview in a browser for a while.' },
  PreviewResponse: { schema: PreviewResponseSchema, description: 'The mail as it would be sent.' },
  CreateAssetRequest: { schema: CreateAssetRequestSchema, description: 'A file for the gallery, in base64.' },
  Asset: { schema: AssetRecordSchema, description: 'A file of the gallery.' },
  CreateAttachmentTemplateRequest: {
    schema: CreateAttachmentTemplateRequestSchema,
    template: 'attachment',
    description: 'A new attachment template; what GET answered of another is taken as it is.',
  },
  ImportAttachmentTemplateRequest: {
    schema: ImportAttachmentTemplateRequestSchema,
    template: 'attachment',
    description: 'An attachment template as GET answered it, here or elsewhere.',
  },
  UpdateAttachmentTemplateRequest: {
    schema: UpdateAttachmentTemplateRequestSchema,
    template: 'attachment',
    description: 'Changes to the draft of an attachment template.',
  },
  AttachmentTemplate: {
    schema: AttachmentTemplateRecordSchema,
    description: 'An attachment template, with its draft.',
  },
  SavedAttachmentTemplate: {
    schema: SavedAttachmentTemplateSchema,
    description: 'An attachment template as it was saved, with what its author should know.',
  },
  AttachmentTemplateListItem: {
    schema: AttachmentTemplateListItemSchema,
    description: 'An attachment template in a list, without its content.',
  },
  AttachmentTemplateVersion: {
    schema: AttachmentTemplateVersionSchema,
    description: 'A published version of an attachment template, without its content.',
  },
  AttachmentTemplateVersionRecord: {
    schema: AttachmentTemplateVersionRecordSchema,
    description: 'A published version of an attachment template, with its content.',
  },
  CreateApiKeyRequest: {
    schema: CreateApiKeyRequestSchema,
    description: 'A new API key, with at most what the calling key has.',
  },
  ApiKey: { schema: ApiKeyRecordSchema, description: 'An API key, without its secret.' },
  CreatedApiKey: {
    schema: CreatedApiKeySchema,
    description: 'A new API key with its secret, which is shown this once.',
  },
  MailboxMessage: { schema: MailboxMessageSchema, description: 'A mail that the built-in mailbox received.' },
};

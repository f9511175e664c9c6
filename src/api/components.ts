/** The named schemas of the API description. Whatever equals one of them is written as a reference to it. */
import type { TSchema } from '@sinclair/typebox';
import { AssetRecordSchema, CreateAssetRequestSchema } from './assets.js';
import { ApiKeyRecordSchema, CreateApiKeyRequestSchema, CreatedApiKeySchema } from './api-keys.js';
import {
  AttachmentTemplateListItemSchema,
  AttachmentTemplateRecordSchema,
  AttachmentTemplateVersionSchema,
  CreateAttachmentTemplateRequestSchema,
  ImportAttachmentTemplateRequestSchema,
  AttachmentTemplateVersionRecordSchema,
  UpdateAttachmentTemplateRequestSchema,
} from './attachment-templates.js';
import { DeletedSchema, PageMetaSchema, RecipientSchema } from './common.js';
import {
  AttachmentSchema,
  BulkDeleteRequestSchema,
  BulkDeleteResponseSchema,
  EmailListItemSchema,
  EmailRecordSchema,
  RetryEmailResponseSchema,
  SendEmailRequestSchema,
  SendEmailResponseSchema,
} from './emails.js';
import {
  CreateTemplateRequestSchema,
  PreviewRequestSchema,
  PreviewResponseSchema,
  RestoreTemplateRequestSchema,
  TemplateVersionRecordSchema,
  TemplateListItemSchema,
  TemplateRecordSchema,
  TemplateVersionSchema,
  UpdateTemplateRequestSchema,
} from './templates.js';
import { ErrorBodySchema } from './error.js';
import { MailboxMessageSchema } from './mailbox.js';

/** Inner ones first, so that the outer ones refer to them. */
export const components: Readonly<Record<string, TSchema>> = {
  Recipient: RecipientSchema,
  Attachment: AttachmentSchema,
  PageMeta: PageMetaSchema,
  Error: ErrorBodySchema,
  Deleted: DeletedSchema,
  SendEmailRequest: SendEmailRequestSchema,
  SendEmailResponse: SendEmailResponseSchema,
  RetryEmailResponse: RetryEmailResponseSchema,
  EmailRecord: EmailRecordSchema,
  EmailListItem: EmailListItemSchema,
  BulkDeleteRequest: BulkDeleteRequestSchema,
  BulkDeleteResponse: BulkDeleteResponseSchema,
  CreateTemplateRequest: CreateTemplateRequestSchema,
  UpdateTemplateRequest: UpdateTemplateRequestSchema,
  Template: TemplateRecordSchema,
  TemplateListItem: TemplateListItemSchema,
  TemplateVersion: TemplateVersionSchema,
  TemplateVersionRecord: TemplateVersionRecordSchema,
  RestoreTemplateRequest: RestoreTemplateRequestSchema,
  PreviewRequest: PreviewRequestSchema,
  PreviewResponse: PreviewResponseSchema,
  CreateAssetRequest: CreateAssetRequestSchema,
  Asset: AssetRecordSchema,
  CreateAttachmentTemplateRequest: CreateAttachmentTemplateRequestSchema,
  ImportAttachmentTemplateRequest: ImportAttachmentTemplateRequestSchema,
  UpdateAttachmentTemplateRequest: UpdateAttachmentTemplateRequestSchema,
  AttachmentTemplate: AttachmentTemplateRecordSchema,
  AttachmentTemplateListItem: AttachmentTemplateListItemSchema,
  AttachmentTemplateVersion: AttachmentTemplateVersionSchema,
  AttachmentTemplateVersionRecord: AttachmentTemplateVersionRecordSchema,
  CreateApiKeyRequest: CreateApiKeyRequestSchema,
  ApiKey: ApiKeyRecordSchema,
  CreatedApiKey: CreatedApiKeySchema,
  MailboxMessage: MailboxMessageSchema,
};

/** The named schemas of the API description. Whatever equals one of them is written as a reference to it. */
import type { TSchema } from '@sinclair/typebox';
import { ApiKeyRecordSchema, CreateApiKeyRequestSchema, CreatedApiKeySchema } from '../../domain/api-key/records.js';
import {
  Base64AttachmentSchema, BulkDeleteRequestSchema, BulkDeleteResponseSchema, DeletedSchema, EmailListItemSchema,
  EmailRecordSchema, PageMetaSchema, RetryEmailResponseSchema, SendEmailRequestSchema, SendEmailResponseSchema,
} from '../../domain/email/request.js';
import {
  CreateTemplateRequestSchema, PreviewRequestSchema, PreviewResponseSchema, TemplateListItemSchema, TemplateRecordSchema,
  TemplateVersionSchema, UpdateTemplateRequestSchema,
} from '../../domain/template/records.js';
import { RecipientSchema } from '../../domain/template/schema.js';
import { ErrorBodySchema } from './error.js';
import { MailboxMessageSchema } from './mailbox.js';

/** Inner ones first, so that the outer ones refer to them. */
export const components: Readonly<Record<string, TSchema>> = {
  Recipient: RecipientSchema,
  Base64Attachment: Base64AttachmentSchema,
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
  PreviewRequest: PreviewRequestSchema,
  PreviewResponse: PreviewResponseSchema,
  CreateApiKeyRequest: CreateApiKeyRequestSchema,
  ApiKey: ApiKeyRecordSchema,
  CreatedApiKey: CreatedApiKeySchema,
  MailboxMessage: MailboxMessageSchema,
};

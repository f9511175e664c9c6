/** Every command as HTTP and the command line call it. Each may reject with DomainError; nothing is written then. */
import type { ApiKeyId, AssetId, EmailId, TeamId, TemplateId } from '../domain/ids.js';
import type {
  AttachmentTemplateRecord,
  AttachmentTemplateVersion,
  CreateAttachmentTemplateRequest,
  ImportAttachmentTemplateRequest,
  UpdateAttachmentTemplateRequest,
} from '../api/attachment-templates.js';
import type { OutputFormat } from '../domain/attachment-template/schema.js';
import type { AssetRecord } from '../api/assets.js';
import type { AssetUsage } from '../domain/asset/state.js';
import type { ApiKeyRecord, CreateApiKeyRequest, CreatedApiKey } from '../api/api-keys.js';
import type { Permission } from '../domain/api-key/permissions.js';
import type { JsonObject } from '../domain/json.js';
import type {
  BulkDeleteRequest,
  BulkDeleteResponse,
  EmailRecord,
  RetryEmailResponse,
  SendEmailRequest,
  SendEmailResponse,
} from '../api/emails.js';
import type { Deleted } from '../api/common.js';
import type {
  CreateTemplateRequest,
  PreviewRequest,
  PreviewResponse,
  TemplateRecord,
  TemplateVersion,
  UpdateTemplateRequest,
} from '../api/templates.js';

/** Who calls, on whose behalf, and under which request: becomes the metadata of every event that the call causes. */
export type Caller = Readonly<{
  teamId: TeamId;
  /** `apiKey:<id>`, `cli`, `system`. */
  actor: string;
  permissions: readonly Permission[];
  correlationId: string;
}>;

/** A caller that came with an API key. */
export type Authenticated = Readonly<{ teamId: TeamId; keyId: ApiKeyId; permissions: readonly Permission[]; rateLimit: number | null }>;

/** `body` is the request body as parsed; it is fingerprinted to tell the same request from another under one key. */
export type Idempotency = Readonly<{ key: string; body: unknown }>;
/** `replayed`: the answer is the stored one. */
export type Answer<T> = Readonly<{ body: T; replayed: boolean }>;

export type Imported<Template> = Readonly<{ template: Template; created: boolean }>;

/** Without a format the first one of the template, without a version the draft; default values stand in for variables that are not given. */
export type DocumentPreviewRequest = Readonly<{ variables: JsonObject; format?: OutputFormat; version?: string | number }>;
/** `name` is that of the template, without an extension. */
export type DocumentPreview = Readonly<{ bytes: Uint8Array; format: OutputFormat; name: string }>;

/** A file as it came, under the name that the caller gave it. */
export type Upload = Readonly<{ filename: string; bytes: Buffer }>;

export type Commands = Readonly<{
  /**
   * In: the bearer token. Rejects with INVALID_API_KEY (format), API_KEY_NOT_FOUND, API_KEY_REVOKED, API_KEY_EXPIRED.
   * Revocations by any process hold at once.
   */
  authenticate: (token: string) => Promise<Authenticated>;

  sendEmail: (caller: Caller, request: SendEmailRequest, idempotency?: Idempotency) => Promise<Answer<SendEmailResponse>>;
  /** Folds the stream: what was just written is there. */
  getEmail: (caller: Caller, id: EmailId) => Promise<EmailRecord>;
  retryEmail: (caller: Caller, id: EmailId, idempotency?: Idempotency) => Promise<Answer<RetryEmailResponse>>;
  deleteEmail: (caller: Caller, id: EmailId) => Promise<Deleted>;
  /** Exactly the ids given; the route resolves a filter to ids through the read model first. */
  deleteEmails: (caller: Caller, ids: readonly EmailId[]) => Promise<Omit<BulkDeleteResponse, 'remaining'>>;

  createTemplate: (caller: Caller, request: CreateTemplateRequest) => Promise<TemplateRecord>;
  /** `reference`: id or slug, on each of these. */
  getTemplate: (caller: Caller, reference: string) => Promise<TemplateRecord>;
  updateTemplate: (caller: Caller, reference: string, request: UpdateTemplateRequest) => Promise<TemplateRecord>;
  deleteTemplate: (caller: Caller, reference: string) => Promise<Deleted>;
  publishTemplate: (caller: Caller, reference: string) => Promise<TemplateRecord>;
  templateVersions: (caller: Caller, reference: string) => Promise<readonly TemplateVersion[]>;
  previewTemplate: (caller: Caller, reference: string, request: PreviewRequest) => Promise<PreviewResponse>;

  createAttachmentTemplate: (caller: Caller, request: CreateAttachmentTemplateRequest) => Promise<AttachmentTemplateRecord>;
  /** Saves and publishes. Where the team has a template of that slug, it gets a next version; `created` says which it was. */
  importAttachmentTemplate: (caller: Caller, request: ImportAttachmentTemplateRequest) => Promise<Imported<AttachmentTemplateRecord>>;
  /** `reference`: id, short id or slug, on each of these. */
  getAttachmentTemplate: (caller: Caller, reference: string) => Promise<AttachmentTemplateRecord>;
  updateAttachmentTemplate: (
    caller: Caller,
    reference: string,
    request: UpdateAttachmentTemplateRequest,
  ) => Promise<AttachmentTemplateRecord>;
  deleteAttachmentTemplate: (caller: Caller, reference: string) => Promise<Deleted>;
  publishAttachmentTemplate: (caller: Caller, reference: string) => Promise<AttachmentTemplateRecord>;
  attachmentTemplateVersions: (caller: Caller, reference: string) => Promise<readonly AttachmentTemplateVersion[]>;
  /** Rejects with what the generator rejects with, IMAGE_NOT_AVAILABLE, TEMPLATE_VERSION_NOT_FOUND, TEMPLATE_NOT_PUBLISHED. */
  previewAttachmentTemplate: (
    caller: Caller,
    reference: string,
    request: DocumentPreviewRequest,
    signal: AbortSignal,
  ) => Promise<DocumentPreview>;

  /** `usage`: what the team's gallery holds; the route asks the read model first. */
  uploadAsset: (caller: Caller, upload: Upload, usage: AssetUsage) => Promise<AssetRecord>;
  getAsset: (caller: Caller, id: AssetId) => Promise<AssetRecord>;
  assetContent: (caller: Caller, id: AssetId) => Promise<Readonly<{ bytes: Buffer; contentType: string; filename: string }>>;
  deleteAsset: (caller: Caller, id: AssetId) => Promise<Deleted>;

  createApiKey: (caller: Caller, request: CreateApiKeyRequest) => Promise<CreatedApiKey>;
  getApiKey: (caller: Caller, id: ApiKeyId) => Promise<ApiKeyRecord>;
  revokeApiKey: (caller: Caller, id: ApiKeyId) => Promise<ApiKeyRecord>;
}>;

export type { BulkDeleteRequest, TemplateId };

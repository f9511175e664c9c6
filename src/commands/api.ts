/** Every command as HTTP and the command line call it. Each may reject with DomainError; nothing is written then. */
import type { ApiKeyId, EmailId, TeamId, TemplateId } from '../domain/ids.js';
import type { ApiKeyRecord, CreateApiKeyRequest, CreatedApiKey, Permission } from '../domain/api-key/records.js';
import type {
  BulkDeleteRequest, BulkDeleteResponse, Deleted, EmailRecord, RetryEmailResponse, SendEmailRequest, SendEmailResponse,
} from '../domain/email/request.js';
import type {
  CreateTemplateRequest, PreviewRequest, PreviewResponse, TemplateRecord, TemplateVersion, UpdateTemplateRequest,
} from '../domain/template/records.js';

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

  createApiKey: (caller: Caller, request: CreateApiKeyRequest) => Promise<CreatedApiKey>;
  getApiKey: (caller: Caller, id: ApiKeyId) => Promise<ApiKeyRecord>;
  revokeApiKey: (caller: Caller, id: ApiKeyId) => Promise<ApiKeyRecord>;
}>;

export type { BulkDeleteRequest, TemplateId };

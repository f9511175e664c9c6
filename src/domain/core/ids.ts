/** Ids and stream names: branded types, the parsers that make them, and the ids that are derived from others. */
import { hash as digestOf } from 'node:crypto';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type EmailId = Branded<'EmailId'>;
export type BatchId = Branded<'BatchId'>;
export type TeamId = Branded<'TeamId'>;
export type TemplateId = Branded<'TemplateId'>;
export type AttachmentTemplateId = Branded<'AttachmentTemplateId'>;
export type BlockId = Branded<'BlockId'>;
export type AssetId = Branded<'AssetId'>;
export type ApiKeyId = Branded<'ApiKeyId'>;
export type SenderDomainId = Branded<'SenderDomainId'>;
export type SuppressionId = Branded<'SuppressionId'>;
export type WebhookId = Branded<'WebhookId'>;
export type ErasureId = Branded<'ErasureId'>;
export type ApprovalId = Branded<'ApprovalId'>;
export type UserId = Branded<'UserId'>;
export type InvitationId = Branded<'InvitationId'>;
export type SessionId = Branded<'SessionId'>;
export type OAuthClientId = Branded<'OAuthClientId'>;
export type OAuthGrantId = Branded<'OAuthGrantId'>;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const parseUuid = (text: string): string | undefined => {
  if (UUID.test(text)) return text;
  const lower = text.toLowerCase();
  return UUID.test(lower) ? lower : undefined;
};

/** In: a UUID in any letter case. Out: the id in lower case, or undefined if it is no UUID. */
export const parseEmailId = (text: string): EmailId | undefined => parseUuid(text) as EmailId | undefined;
export const parseBatchId = (text: string): BatchId | undefined => parseUuid(text) as BatchId | undefined;
export const parseTeamId = (text: string): TeamId | undefined => parseUuid(text) as TeamId | undefined;
export const parseTemplateId = (text: string): TemplateId | undefined => parseUuid(text) as TemplateId | undefined;
export const parseAttachmentTemplateId = (text: string): AttachmentTemplateId | undefined =>
  parseUuid(text) as AttachmentTemplateId | undefined;
export const parseBlockId = (text: string): BlockId | undefined => parseUuid(text) as BlockId | undefined;
export const parseSenderDomainId = (text: string): SenderDomainId | undefined =>
  parseUuid(text) as SenderDomainId | undefined;
export const parseAssetId = (text: string): AssetId | undefined => parseUuid(text) as AssetId | undefined;

export const parseSuppressionId = (text: string): SuppressionId | undefined =>
  parseUuid(text) as SuppressionId | undefined;
export const parseErasureId = (text: string): ErasureId | undefined => parseUuid(text) as ErasureId | undefined;
export const parseApprovalId = (text: string): ApprovalId | undefined => parseUuid(text) as ApprovalId | undefined;
export const parseInvitationId = (text: string): InvitationId | undefined =>
  parseUuid(text) as InvitationId | undefined;
export const parseUserId = (text: string): UserId | undefined => parseUuid(text) as UserId | undefined;

const API_KEY_ID = /^key_[A-Za-z0-9_-]{22}$/;
export const parseApiKeyId = (text: string): ApiKeyId | undefined =>
  API_KEY_ID.test(text) ? (text as ApiKeyId) : undefined;

const WEBHOOK_ID = /^wh_[A-Za-z0-9_-]{22}$/;
export const parseWebhookId = (text: string): WebhookId | undefined =>
  WEBHOOK_ID.test(text) ? (text as WebhookId) : undefined;
/** In: 16 random bytes. */
export const webhookIdOf = (bytes: Buffer): WebhookId => `wh_${bytes.toString('base64url')}` as WebhookId;

const SESSION_ID = /^ses_[A-Za-z0-9_-]{22}$/;
export const parseSessionId = (text: string): SessionId | undefined =>
  SESSION_ID.test(text) ? (text as SessionId) : undefined;

/** In: 16 random bytes. */
export const sessionIdOf = (bytes: Buffer): SessionId => `ses_${bytes.toString('base64url')}` as SessionId;

/**
 * `app_…`: registered by a team. `self_…`: derived from the client_id of an app that registered itself. `sealpost-cli`:
 * the command line.
 */
const OAUTH_CLIENT_ID = /^(?:(?:app|self)_[A-Za-z0-9_-]{22}|sealpost-cli)$/;
export const parseOAuthClientId = (text: string): OAuthClientId | undefined =>
  OAUTH_CLIENT_ID.test(text) ? (text as OAuthClientId) : undefined;

const OAUTH_GRANT_ID = /^grant_[A-Za-z0-9_-]{22}$/;
export const parseOAuthGrantId = (text: string): OAuthGrantId | undefined =>
  OAUTH_GRANT_ID.test(text) ? (text as OAuthGrantId) : undefined;

/** The team id in the metadata of events that belong to no team (events of people). No team has this id. */
export const NO_TEAM = '00000000-0000-0000-0000-000000000000' as TeamId;

/** Throws if an id from our own log or a derivation is not well formed, which is a fault of the program. */
export const assertDefined = <T>(value: T | undefined, what: string): T => {
  if (value === undefined) throw new Error(`not a well-formed ${what}`);
  return value;
};

/** The namespace of every id that sealpost derives. */
const NAMESPACE = Buffer.from('5ea1b057c0de4a11a5ede1eca7ed0001', 'hex');

/**
 * A name-based UUID (RFC 9562, section 5.5): the same parts give the same id, on every machine and in every run.
 * The parts are framed by their lengths, so that ("a", "bc") and ("ab", "c") differ.
 */
export const uuidV5 = (...parts: readonly string[]): string => {
  const name = parts.map((part) => `${part.length}:${part}`).join('|');
  const hash = digestOf('sha1', Buffer.concat([NAMESPACE, Buffer.from(name)]), 'buffer');
  return customUuid(hash, 0x50);
};

/**
 * In: an HMAC (hex, at least 128 bits) of team, endpoint and Idempotency-Key. Out: the id of the email that this
 * request makes, so that the store refuses a second one. With an HMAC nobody can test guessed keys against the id.
 */
export const emailIdOfFingerprint = (hmac: string): EmailId =>
  customUuid(Buffer.from(hmac.slice(0, 32), 'hex'), 0x80) as EmailId;

/** The id of the bulk send, derived as that of an email. */
export const batchIdOfFingerprint = (hmac: string): BatchId =>
  customUuid(Buffer.from(hmac.slice(0, 32), 'hex'), 0x80) as BatchId;

/** The id of the approval that is asked for under an Idempotency-Key, derived as that of an email. */
export const approvalIdOfFingerprint = (hmac: string): ApprovalId =>
  customUuid(Buffer.from(hmac.slice(0, 32), 'hex'), 0x80) as ApprovalId;

/** In: an HMAC (hex) of team and address. Out: the id of the suppression of that address in that team. */
export const suppressionIdOfFingerprint = (hmac: string): SuppressionId =>
  customUuid(Buffer.from(hmac.slice(0, 32), 'hex'), 0x80) as SuppressionId;

/** In: an HMAC (hex) of a sign-in address. Out: the id of the stream that says which user has the address. */
export const userAddressIdOfFingerprint = (hmac: string): string =>
  customUuid(Buffer.from(hmac.slice(0, 32), 'hex'), 0x80);

/** The id of the email that a bulk send makes for its recipient at that index. Repeated fan-out derives the same id. */
export const emailIdInBatch = (batch: BatchId, index: number): EmailId =>
  uuidV5('email of batch', batch, String(index)) as EmailId;

/** 16 bytes as a UUID (RFC 9562). `version` holds the version number in its upper four bits. */
const customUuid = (bytes: Buffer, version: number): string => {
  bytes[6] = (bytes[6]! & 0x0f) | version;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return uuidOfBytes(bytes);
};

export const UUID_BYTES = 16;

/** A UUID as its 16 bytes, which is how tokens carry ids. */
export const uuidBytes = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');

/** The UUID in the 16 bytes from `at` on. */
export const uuidOfBytes = (bytes: Buffer, at = 0): string => {
  const hex = bytes.toString('hex', at, at + UUID_BYTES);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

/**
 * In: a short id that parseShortId has checked. Out: the id of the attachment template with that short id in the team;
 * no index is needed.
 */
export const attachmentTemplateIdOf = (teamId: TeamId, shortId: string): AttachmentTemplateId =>
  uuidV5('attachmentTemplate', teamId, shortId) as AttachmentTemplateId;

export type StreamName = Branded<'StreamName'>;

/** Stream names: `<kind>-<id>`; the part before the first hyphen is the kind. */
export const emailStream = (id: EmailId): StreamName => `email-${id}` as StreamName;
export const batchStream = (id: BatchId): StreamName => `batch-${id}` as StreamName;
export const templateStream = (id: TemplateId): StreamName => `template-${id}` as StreamName;
export const attachmentTemplateStream = (id: AttachmentTemplateId): StreamName =>
  `attachmentTemplate-${id}` as StreamName;
export const blockStream = (id: BlockId): StreamName => `block-${id}` as StreamName;
export const assetStream = (id: AssetId): StreamName => `asset-${id}` as StreamName;
export const apiKeyStream = (id: ApiKeyId): StreamName => `apiKey-${id}` as StreamName;
export const teamStream = (id: TeamId): StreamName => `team-${id}` as StreamName;
/** The credits of a team. */
export const creditsStream = (id: TeamId): StreamName => `credits-${id}` as StreamName;
/** Whether the account of a metered team is in use. */
export const teamUseStream = (id: TeamId): StreamName => `activity-${id}` as StreamName;
/** How much a team uses of one resource that its plan limits. */
export const planUseStream = (id: TeamId, resource: string): StreamName => `planUse-${id}.${resource}` as StreamName;
/** All sender domains of a team in one stream, so that a send call loads one state. */
export const senderDomainsStream = (id: TeamId): StreamName => `senderDomains-${id}` as StreamName;
/** The private keys of one sender domain. */
export const domainKeysStream = (id: SenderDomainId): StreamName => `domainKeys-${id}` as StreamName;
/** In: an HMAC (hex) of the last two labels of a domain. */
export const domainClaimsStream = (hmac: string): StreamName =>
  `domainClaims-${customUuid(Buffer.from(hmac.slice(0, 32), 'hex'), 0x80)}` as StreamName;
export const suppressionStream = (id: SuppressionId): StreamName => `suppression-${id}` as StreamName;
/** The settings of a webhook subscription. */
export const webhookStream = (id: WebhookId): StreamName => `webhook-${id}` as StreamName;
/** Rules that choose the events for a subscription: one part of bounded length, by its number. */
export const webhookRouteStream = (id: WebhookId, part: number): StreamName =>
  `webhookRoute-${id}.${part}` as StreamName;
/** The outcomes of deliveries to a subscription: one part of bounded length and age, by its number. */
export const webhookOutcomeStream = (id: WebhookId, part: number): StreamName =>
  `webhookOutcome-${id}.${part}` as StreamName;
/** The slots for subscriptions that a team has taken. */
export const webhookSlotsStream = (team: TeamId): StreamName => `webhookSlots-${team}` as StreamName;
/** How far the log has been routed to all subscriptions. */
export const WEBHOOK_ROUTER_STREAM = 'webhookRouter' as StreamName;
/** The subscription that a stream of settings, routes or outcomes belongs to. */
export const webhookOfStream = (stream: string): WebhookId | undefined =>
  parseWebhookId(splitStream(stream).id.split('.', 1)[0]!);
/** A person who signs in. */
export const userStream = (id: UserId): StreamName => `user-${id}` as StreamName;
/** The stream that says which user has an address. In: an id made of an HMAC of the address. */
export const userAddressStream = (addressId: string): StreamName => `userAddress-${addressId}` as StreamName;
export const sessionStream = (id: SessionId): StreamName => `session-${id}` as StreamName;
/** The key that signs access tokens in the period of that number. */
export const tokenKeysStream = (period: number): StreamName => `tokenKeys-${period}` as StreamName;
/** Audit entries that no other event tells, of one team or person and one month. */
export const auditStream = (scope: string, month: string): StreamName => `audit-${scope}.${month}` as StreamName;
/** The network addresses from which a person, or the keys of a team, called in one month. */
export const auditOriginsStream = (scope: string, month: string): StreamName =>
  auditOriginsStreamOf(`${scope}.${month}`);
/** In: the part of the stream name after its kind. */
export const auditOriginsStreamOf = (id: string): StreamName => `auditOrigins-${id}` as StreamName;
/** Up to when audit entries were removed because of their age. */
export const AUDIT_RETENTION_STREAM = 'auditRetention-entries' as StreamName;
/** The address of an invitation. */
export const invitationStream = (id: InvitationId): StreamName => `invitation-${id}` as StreamName;
export const erasureStream = (id: ErasureId): StreamName => `erasure-${id}` as StreamName;
/** One send that waits for a person's approval, and what became of it. */
export const approvalStream = (id: ApprovalId): StreamName => `approval-${id}` as StreamName;
export const oauthClientStream = (id: OAuthClientId): StreamName => `oauthClient-${id}` as StreamName;
/** One grant to an app. */
export const oauthGrantStream = (id: OAuthGrantId): StreamName => `oauthGrant-${id}` as StreamName;
/** One request of a device. In: an id made of an HMAC of the code that a person types. */
export const oauthDeviceStream = (codeId: string): StreamName => `oauthDevice-${codeId}` as StreamName;
/** The tokens in use of one person, or of one app that acts for itself. */
export const oauthTokensStream = (id: UserId | OAuthClientId): StreamName => `oauthTokens-${id}` as StreamName;
type SlugKind = 'templateSlug' | 'attachmentTemplateSlug' | 'blockSlug';

const slugStream = (kind: SlugKind, teamId: TeamId, slug: string): StreamName =>
  `${kind}-${uuidV5(kind, teamId, slug)}` as StreamName;

/**
 * Says which template owns a slug. The id is derived from the slug, so two claims of one slug meet in one stream. Each
 * kind of template has its own slugs.
 */
export const templateSlugStream = (teamId: TeamId, slug: string): StreamName =>
  slugStream('templateSlug', teamId, slug);
export const attachmentTemplateSlugStream = (teamId: TeamId, slug: string): StreamName =>
  slugStream('attachmentTemplateSlug', teamId, slug);
export const blockSlugStream = (teamId: TeamId, slug: string): StreamName => slugStream('blockSlug', teamId, slug);
export const LEDGER_STREAM = 'ledger' as StreamName;
/** Facts of the instance itself: that the first start was done, and which team it made. */
export const INSTANCE_STREAM = 'instance' as StreamName;

/** The stream of the days of a relay's ramp-up; the name of the relay has lower case letters, digits and hyphens. */
export const relayStream = (name: string): StreamName => `relay-${name}` as StreamName;

/** In: a stream name. Out: its kind (`email`, `template`, …) and the id after the first hyphen. */
export const splitStream = (stream: string): { kind: string; id: string } => {
  const at = stream.indexOf('-');
  return at < 0 ? { kind: stream, id: '' } : { kind: stream.slice(0, at), id: stream.slice(at + 1) };
};

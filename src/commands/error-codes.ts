/**
 * The codes that each command may reject with, which the API description names for its endpoint. A command without a line does not compile, and
 * tests check that commands reject with no other code.
 */
import type { Commands } from './index.js';
import type { ErrorCode } from '../domain/core/errors.js';

type Codes = readonly ErrorCode[];

/** Every write: other writers may be faster each time, and a server may stop answering during a write. */
const write: Codes = ['CONFLICT', 'OUTCOME_UNKNOWN'];

/** A signed-in person confirms the password. */
const confirmPassword: Codes = ['USER_NOT_FOUND', 'INVALID_CREDENTIALS', 'RATE_LIMIT_EXCEEDED', ...write];

const ownAccountCodes = {
  csrfTokenOf: [],
  sessionOfRefreshToken: ['INVALID_TOKEN'],
  ownLoginBucket: ['USER_NOT_FOUND'],
  addressLinkBucket: ['LINK_INVALID'],
  checkLink: ['LINK_INVALID'],
  prepareSecondFactor: ['SECOND_FACTOR_SET', ...confirmPassword],
  confirmSecondFactor: ['USER_NOT_FOUND', 'SECOND_FACTOR_SET', 'SECOND_FACTOR_NOT_SET', 'INVALID_CODE', ...write],
  removeSecondFactor: ['SECOND_FACTOR_NOT_SET', 'INVALID_CODE', ...confirmPassword],
  renewRecoveryCodes: ['SECOND_FACTOR_NOT_SET', 'INVALID_CODE', ...confirmPassword],
  readSessions: ['USER_NOT_FOUND'],
  revokeSession: ['USER_NOT_FOUND', 'SESSION_NOT_FOUND', ...write],
  revokeOtherSessions: ['USER_NOT_FOUND', 'SESSION_ENDED', ...write],
  eraseOwnUser: ['CODE_REQUIRED', 'INVALID_CODE', 'LAST_OWNER', ...confirmPassword],
  changePassword: ['VALIDATION_ERROR', 'SESSION_ENDED', ...confirmPassword],
} satisfies Partial<Record<keyof Commands, Codes>>;

const oauthAppCodes = {
  createOAuthApp: ['VALIDATION_ERROR', 'PLAN_LIMIT_EXCEEDED', ...write],
  getOAuthApp: ['OAUTH_APP_NOT_FOUND'],
  updateOAuthApp: ['OAUTH_APP_NOT_FOUND', 'VALIDATION_ERROR', ...write],
  rotateOAuthAppSecret: ['OAUTH_APP_NOT_FOUND', 'OAUTH_APP_PUBLIC', ...write],
  deleteOAuthApp: ['OAUTH_APP_NOT_FOUND', ...write],
  revokeGrant: ['OAUTH_GRANT_NOT_FOUND', ...write],
} satisfies Partial<Record<keyof Commands, Codes>>;

/** Rendering of a mail. */
const renderEmail: Codes = [
  'VALIDATION_ERROR',
  'ERR_LIMIT_002',
  'ERR_LIMIT_007',
  'ERR_LIMIT_009',
  'RENDERED_BODY_TOO_LARGE',
  'WORK_LIMIT_EXCEEDED',
  'SUBJECT_TOO_LONG',
];

const acceptEmail: Codes = [...renderEmail, 'VARIABLES_EMPTY'];

/** Work in a document process. */
const makeApart: Codes = ['GENERATOR_BUSY', 'GENERATION_TIMEOUT', 'GENERATION_FAILED'];

const makeDocument: Codes = [
  'VALIDATION_ERROR',
  'ERR_LIMIT_001',
  'ERR_LIMIT_002',
  'ERR_LIMIT_003',
  'ERR_LIMIT_004',
  'ERR_LIMIT_005',
  'ERR_LIMIT_006',
  'ERR_LIMIT_007',
  'ERR_LIMIT_009',
  'RENDERED_BODY_TOO_LARGE',
  'WORK_LIMIT_EXCEEDED',
  'FONT_MISSING',
  'IMAGE_NOT_AVAILABLE',
  'IMAGES_TOO_LARGE',
  ...makeApart,
];

const findVersion: Codes = ['TEMPLATE_VERSION_NOT_FOUND', 'TEMPLATE_NOT_PUBLISHED'];

const attach: Codes = ['ERR_ATTACH_001', 'ERR_ATTACH_002', 'ASSET_NOT_FOUND', 'ATTACHMENT_NOT_AVAILABLE', 'ATTACHMENT_STORAGE_EXCEEDED'];

const takeSlug: Codes = ['VALIDATION_ERROR', 'TEMPLATE_SLUG_TAKEN', ...write];

/** Checking and saving a template of an email, or of an attachment. */
const saveTemplate: Codes = [
  'PLAN_LIMIT_EXCEEDED',
  'TEMPLATE_INVALID',
  'ERR_EMAIL_001',
  'ERR_LIMIT_008',
  'ERR_LIMIT_009',
  'WORK_LIMIT_EXCEEDED',
  'PUBLIC_URL_REQUIRED',
  ...[...makeApart, ...takeSlug],
];
const saveAttachmentTemplate: Codes = [
  'PLAN_LIMIT_EXCEEDED',
  'TEMPLATE_INVALID',
  'ERR_LIMIT_001',
  'ERR_LIMIT_004',
  'ERR_LIMIT_005',
  'ERR_LIMIT_008',
  'ERR_LIMIT_009',
  'WORK_LIMIT_EXCEEDED',
  ...takeSlug,
];

/** Finding a template, and changing the revision that the caller names. */
const find: Codes = ['TEMPLATE_NOT_FOUND'];
const change: Codes = [...find, ...write, 'REVISION_MISMATCH'];

/** Mails of the service itself are made of templates that its first team may change. */
const sendMail: Codes = ['QUEUE_FULL', 'ERR_TMPL_002', 'SENDER_NOT_SET', ...findVersion, ...acceptEmail];

const accountMail: Codes = ['ERR_EMAIL_001', 'PUBLIC_URL_REQUIRED', ...sendMail, ...write];
const invitation: Codes = ['INVITATION_NOT_FOUND', 'INVITATION_EXPIRED'];
const confirmIdentity: Codes = ['INVALID_CREDENTIALS', 'CODE_REQUIRED', 'INVALID_CODE'];

/** Changing a team, by a person whose role may have changed meanwhile. */
const changeTeam: Codes = ['TEAM_NOT_FOUND', 'FORBIDDEN', ...write];

export const commandCodes: { readonly [Name in keyof Commands]: Codes } = {
  authenticate: [
    'INVALID_API_KEY',
    'API_KEY_NOT_FOUND',
    'API_KEY_REVOKED',
    'API_KEY_EXPIRED',
    'API_KEY_DISABLED',
    'TEAM_DELETED',
    'INVALID_TOKEN',
    'TOKEN_EXPIRED',
    'SESSION_ENDED',
    'TEAM_REQUIRED',
    'TEAM_NOT_FOUND',
    'SECOND_FACTOR_REQUIRED',
  ],
  readJsonWebKeys: [],
  loginBucketOf: ['ERR_EMAIL_001'],
  register: [
    'VALIDATION_ERROR',
    'REGISTRATION_CLOSED',
    'ADDRESS_TAKEN',
    ...invitation,
    'INVITATION_NOT_YOURS',
    'RATE_LIMIT_EXCEEDED',
    ...accountMail,
    'PLAN_LIMIT_EXCEEDED',
  ],
  login: ['ERR_EMAIL_001', 'INVALID_CREDENTIALS', 'ADDRESS_NOT_VERIFIED', 'CODE_REQUIRED', 'INVALID_CODE', 'RATE_LIMIT_EXCEEDED', ...write],
  refresh: ['INVALID_TOKEN', 'SESSION_ENDED', ...write],
  logout: write,
  ...ownAccountCodes,
  verifyAddress: ['VALIDATION_ERROR', 'LINK_INVALID', ...write],
  resetPassword: ['VALIDATION_ERROR', 'LINK_INVALID', 'RATE_LIMIT_EXCEEDED', ...write],
  sendVerifyLink: accountMail,
  sendResetLink: accountMail,
  askAddressChange: ['VALIDATION_ERROR', ...confirmIdentity, 'USER_NOT_FOUND', 'RATE_LIMIT_EXCEEDED', ...accountMail],
  changeAddress: ['LINK_INVALID', 'INVALID_CREDENTIALS', 'ADDRESS_TAKEN', ...sendMail, ...write],
  getOwnUser: ['USER_NOT_FOUND'],
  updateOwnUser: ['USER_NOT_FOUND', ...write],
  getUser: ['USER_NOT_FOUND'],
  sendEmail: [
    'QUEUE_FULL',
    'QUOTA_EXCEEDED',
    'ERR_TMPL_002',
    'ERR_EMAIL_001',
    'SENDER_NOT_ALLOWED',
    'SENDER_NOT_SET',
    'PUBLIC_URL_REQUIRED',
    'SUBJECT_EMPTY',
    'BODY_EMPTY',
    'IDEMPOTENCY_KEY_REUSED',
    ...findVersion,
    ...acceptEmail,
    ...attach,
    ...makeDocument,
    ...write,
  ],
  sendBulk: [
    'QUOTA_EXCEEDED',
    'QUEUE_FULL',
    'ERR_TMPL_002',
    'ERR_EMAIL_001',
    'SENDER_NOT_ALLOWED',
    'SENDER_NOT_SET',
    'PUBLIC_URL_REQUIRED',
    'SUBJECT_EMPTY',
    'BODY_EMPTY',
    'IDEMPOTENCY_KEY_REUSED',
    ...findVersion,
    ...acceptEmail,
    ...attach,
    ...makeDocument,
    ...write,
  ],
  dryRunBulk: ['VALIDATION_ERROR', 'GENERATOR_BUSY'],
  getBatch: ['BATCH_NOT_FOUND'],
  cancelBatch: ['TEST_KEY_NOT_ALLOWED', 'BATCH_NOT_FOUND', 'BATCH_NOT_CANCELLABLE', 'IDEMPOTENCY_KEY_REUSED', ...write],
  batchResults: ['BATCH_NOT_FOUND'],
  recipientsOfFile: ['VALIDATION_ERROR'],
  getEmail: ['EMAIL_NOT_FOUND', 'VALIDATION_ERROR'],
  emailTrace: ['EMAIL_NOT_FOUND'],
  isConfidentialMail: [],
  retryEmail: ['TEST_KEY_NOT_ALLOWED', 'EMAIL_NOT_FOUND', 'EMAIL_NOT_RETRYABLE', 'EMAIL_ARCHIVED', 'IDEMPOTENCY_KEY_REUSED', ...write],
  retryEmails: write,
  rescheduleEmail: [
    'TEST_KEY_NOT_ALLOWED',
    'EMAIL_NOT_FOUND',
    'EMAIL_NOT_SCHEDULED',
    'SUBJECT_EMPTY',
    'BODY_EMPTY',
    ...acceptEmail,
    ...write,
  ],
  cancelEmail: ['TEST_KEY_NOT_ALLOWED', 'EMAIL_NOT_FOUND', 'EMAIL_NOT_CANCELLABLE', 'IDEMPOTENCY_KEY_REUSED', ...write],
  deleteEmail: ['TEST_KEY_NOT_ALLOWED', 'EMAIL_NOT_FOUND', 'EMAIL_IN_PROGRESS', ...write],
  deleteEmails: ['TEST_KEY_NOT_ALLOWED', ...write],
  createTemplate: saveTemplate,
  importTemplate: saveTemplate,
  getTemplate: find,
  updateTemplate: [...change, ...saveTemplate],
  deleteTemplate: change,
  publishTemplate: change,
  templateVersions: find,
  templateVersion: [...find, 'TEMPLATE_VERSION_NOT_FOUND'],
  restoreTemplateVersion: [...change, 'TEMPLATE_VERSION_NOT_FOUND'],
  restoreTemplate: [...find, ...takeSlug, 'PLAN_LIMIT_EXCEEDED'],
  previewTemplate: [...find, ...findVersion, ...renderEmail, ...makeApart],
  makePreviewLink: [...find, 'VALIDATION_ERROR'],
  openPreviewLink: [],
  createAttachmentTemplate: saveAttachmentTemplate,
  importAttachmentTemplate: saveAttachmentTemplate,
  getAttachmentTemplate: find,
  updateAttachmentTemplate: [...change, ...saveAttachmentTemplate],
  deleteAttachmentTemplate: change,
  publishAttachmentTemplate: change,
  attachmentTemplateVersions: find,
  attachmentTemplateVersion: [...find, 'TEMPLATE_VERSION_NOT_FOUND'],
  restoreAttachmentTemplateVersion: [...change, 'TEMPLATE_VERSION_NOT_FOUND'],
  restoreAttachmentTemplate: [...find, ...takeSlug, 'PLAN_LIMIT_EXCEEDED'],
  previewAttachmentTemplate: [...find, ...findVersion, ...makeDocument],
  uploadAsset: ['VALIDATION_ERROR', 'PLAN_LIMIT_EXCEEDED', 'ASSET_TYPE_NOT_ALLOWED', 'ASSET_TOO_LARGE', 'STORAGE_LIMIT_EXCEEDED', ...write],
  getAsset: ['ASSET_NOT_FOUND'],
  assetContent: ['ASSET_NOT_FOUND'],
  deleteAsset: ['ASSET_NOT_FOUND', ...write],
  restoreAsset: ['ASSET_NOT_FOUND', ...write],
  createApiKey: ['VALIDATION_ERROR', 'FORBIDDEN', 'TEAM_NOT_FOUND', 'PLAN_LIMIT_EXCEEDED', ...write],
  getApiKey: ['API_KEY_UNKNOWN'],
  changeApiKey: ['TEST_KEY_NOT_ALLOWED', 'API_KEY_UNKNOWN', 'VALIDATION_ERROR', 'FORBIDDEN', ...write],
  revokeApiKey: ['TEST_KEY_NOT_ALLOWED', 'API_KEY_UNKNOWN', 'FORBIDDEN', ...write],
  createTeam: ['ERR_EMAIL_001', 'FORBIDDEN', 'TEAM_LIMIT_EXCEEDED', 'PLAN_LIMIT_EXCEEDED', ...write],
  getTeam: ['TEAM_NOT_FOUND'],
  updateTeam: ['REVISION_MISMATCH', 'ERR_EMAIL_001', 'FORBIDDEN', 'TEAM_NOT_FOUND', ...write],
  deleteTeam: ['FIRST_TEAM', ...changeTeam],
  restoreTeam: ['TEAM_LIMIT_EXCEEDED', 'PLAN_LIMIT_EXCEEDED', ...changeTeam],
  listMembers: [],
  describeActivity: [],
  changeMember: ['MEMBER_NOT_FOUND', 'LAST_OWNER', ...changeTeam],
  removeMember: ['MEMBER_NOT_FOUND', 'LAST_OWNER', ...changeTeam],
  leaveTeam: ['LAST_OWNER', ...changeTeam],
  transferOwnership: ['MEMBER_NOT_FOUND', ...changeTeam],
  inviteMember: [
    'ERR_EMAIL_001',
    'ALREADY_MEMBER',
    'MEMBER_LIMIT_EXCEEDED',
    'PLAN_LIMIT_EXCEEDED',
    'INVITATION_LIMIT_EXCEEDED',
    'PUBLIC_URL_REQUIRED',
    ...changeTeam,
    ...sendMail,
  ],
  listInvitations: [],
  revokeInvitation: ['INVITATION_NOT_FOUND', ...changeTeam],
  resendInvitation: ['INVITATION_NOT_FOUND', 'PUBLIC_URL_REQUIRED', ...changeTeam, ...sendMail],
  openInvitation: invitation,
  acceptInvitation: ['PLAN_LIMIT_EXCEEDED', ...invitation, 'INVITATION_NOT_YOURS', 'USER_NOT_FOUND', ...changeTeam],
  getAccount: [],
  recordFeedback: ['TEST_KEY_NOT_ALLOWED', 'FEEDBACK_NOT_SET_UP', 'FEEDBACK_NOT_OURS', 'EMAIL_NOT_FOUND', 'EMAIL_IN_PROGRESS', ...write],
  addCredits: ['TEST_KEY_NOT_ALLOWED', 'VALIDATION_ERROR', 'TEAM_NOT_METERED', ...write],
  addDomain: ['VALIDATION_ERROR', 'DOMAIN_EXISTS', 'DOMAIN_LIMIT_EXCEEDED', ...write],
  listDomains: [],
  getDomain: ['DOMAIN_NOT_FOUND'],
  verifyDomain: ['DOMAIN_NOT_FOUND', 'DOMAIN_TAKEN', 'DNS_LOOKUP_FAILED', 'CONFLICT', ...write],
  rotateDomainKeys: ['DOMAIN_NOT_FOUND', 'DKIM_ROTATION_UNDER_WAY', ...write],
  deleteDomain: ['DOMAIN_NOT_FOUND', ...write],
  restoreDomain: ['DOMAIN_NOT_FOUND', 'DOMAIN_EXISTS', 'DOMAIN_LIMIT_EXCEEDED', ...write],
  addSuppression: ['ERR_EMAIL_001', ...write],
  removeSuppression: ['SUPPRESSION_NOT_FOUND', ...write],
  checkSuppression: ['ERR_EMAIL_001'],
  readSuppressions: [],
  getTracking: [],
  setTracking: ['VALIDATION_ERROR', 'PUBLIC_URL_REQUIRED', ...write],
  importSuppressions: ['VALIDATION_ERROR', ...write],
  createWebhook: ['VALIDATION_ERROR', 'WEBHOOK_LIMIT_REACHED', 'PLAN_LIMIT_EXCEEDED', ...write],
  getWebhook: ['WEBHOOK_NOT_FOUND'],
  updateWebhook: ['WEBHOOK_NOT_FOUND', 'VALIDATION_ERROR', ...write],
  deleteWebhook: ['WEBHOOK_NOT_FOUND', ...write],
  restoreWebhook: ['WEBHOOK_NOT_FOUND', 'WEBHOOK_LIMIT_REACHED', 'PLAN_LIMIT_EXCEEDED', ...write],
  rotateWebhookSecret: ['WEBHOOK_NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED', ...write],
  testWebhook: ['WEBHOOK_NOT_FOUND'],
  webhookEvents: ['WEBHOOK_NOT_FOUND', 'WEBHOOK_EVENT_NOT_FOUND'],
  replayWebhook: ['WEBHOOK_NOT_FOUND', 'VALIDATION_ERROR', 'WEBHOOK_DISABLED', 'WEBHOOK_REPLAY_UNDER_WAY', ...write],
  retryWebhookDelivery: ['WEBHOOK_NOT_FOUND', 'WEBHOOK_DELIVERY_NOT_FOUND', 'WEBHOOK_DELIVERY_NOT_FAILED', 'WEBHOOK_DISABLED', ...write],
  eraseAddress: ['TEST_KEY_NOT_ALLOWED', 'ERR_EMAIL_001', ...write],
  getErasure: ['ERASURE_NOT_FOUND'],
  exportAddress: ['ERR_EMAIL_001'],
  readSubscription: [],
  unsubscribe: [...write],
  subscribeAgain: [...write],
  ...oauthAppCodes,
  readAudit: [],
  recordAuditExport: [...write],
};

/** Commands that append once, after all that may fail before: one that rejects with StoreAway has changed nothing. */
export const appendingOnce: ReadonlySet<keyof Commands> = new Set<keyof Commands>(['sendEmail', 'retryEmail']);

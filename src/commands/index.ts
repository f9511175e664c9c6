/** Every command, bound once to its dependencies: what HTTP calls. Each may reject with DomainError; nothing is written then. */
import type { CommandDeps } from './core/deps.js';
import {
  authenticateOAuthApp,
  openOAuthApp,
  createOAuthApp,
  deleteOAuthApp,
  getOAuthApp,
  rotateOAuthAppSecret,
  updateOAuthApp,
} from './apps/apps.js';
import {
  giveConsent,
  giveOwnGrant,
  issueTokens,
  readAccessToken,
  readCode,
  readRefreshToken,
  revokeToken,
  useCode,
  revokeGrant,
} from './apps/tokens.js';
import { addCredits, getAccount } from './billing/account.js';
import { changeApiKey, createApiKey, getApiKey, revokeApiKey } from './keys/api-keys.js';
import { authenticate } from './authenticate.js';
import { assetContent, deleteAsset, getAsset, restoreAsset, uploadAsset } from './templates/assets.js';
import { readJsonWebKeys } from './access/tokens.js';
import {
  addressLinkBucket,
  askAddressChange,
  changeAddress,
  checkLink,
  resetPassword,
  sendResetLink,
  sendVerifyLink,
  verifyAddress,
} from './people/links.js';
import { getOwnUser, getUser, updateOwnUser } from './people/users.js';
import {
  loginBucketOf,
  login,
  logout,
  refresh,
  changePassword,
  readSessions,
  revokeOtherSessions,
  revokeSession,
} from './people/sessions.js';
import { register } from './people/registration.js';
import {
  csrfTokenOf,
  ownLoginBucket,
  sessionOfRefreshToken,
  confirmSecondFactor,
  prepareSecondFactor,
  removeSecondFactor,
  renewRecoveryCodes,
} from './people/credentials.js';
import { eraseOwnUser } from './people/erasure.js';
import {
  attachmentTemplateVersion,
  attachmentTemplateVersions,
  createAttachmentTemplate,
  deleteAttachmentTemplate,
  getAttachmentTemplate,
  importAttachmentTemplate,
  publishAttachmentTemplate,
  restoreAttachmentTemplate,
  restoreAttachmentTemplateVersion,
  updateAttachmentTemplate,
} from './templates/attachment-templates.js';
import { readAudit, recordAuditExport } from './audit/entries.js';
import { cancelEmail, rescheduleEmail, emailTrace, deleteEmail, deleteEmails, getEmail, retryEmail, retryEmails } from './email/emails.js';
import { isConfidentialMail } from './people/mails.js';
import { eraseAddress, getErasure } from './privacy/erasure.js';
import { exportAddress } from './privacy/export.js';
import {
  addDomain,
  deleteDomain,
  getDomain,
  listDomains,
  restoreDomain,
  rotateDomainKeys,
  verifyDomain,
} from './domains/sender-domains.js';
import { recordFeedback } from './recipients/feedback.js';
import { dryRunBulk } from './bulk/dry-run.js';
import { sendBulk, cancelBatch } from './bulk/send.js';
import { sendEmail } from './email/send.js';
import { addSuppression, checkSuppression, readSuppressions, removeSuppression, importSuppressions } from './recipients/suppressions.js';
import { readSubscription, subscribeAgain, unsubscribe } from './recipients/unsubscribe.js';
import { getBatch } from './bulk/batches.js';
import { batchResults } from './bulk/results.js';
import { recipientsOfFile } from './bulk/request.js';
import {
  createTemplate,
  deleteTemplate,
  getTemplate,
  importTemplate,
  publishTemplate,
  restoreTemplate,
  restoreTemplateVersion,
  templateVersion,
  templateVersions,
  updateTemplate,
} from './templates/templates.js';
import { replayWebhook, retryWebhookDelivery, webhookEvents } from './webhooks/replays.js';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  restoreWebhook,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
} from './webhooks/subscriptions.js';
import { getTracking, setTracking } from './recipients/tracking.js';
import {
  createTeam,
  deleteTeam,
  getTeam,
  restoreTeam,
  updateTeam,
  describeActivity,
  changeMember,
  leaveTeam,
  listMembers,
  removeMember,
  transferOwnership,
} from './teams/teams.js';
import {
  acceptInvitation,
  inviteMember,
  listInvitations,
  openInvitation,
  resendInvitation,
  revokeInvitation,
} from './teams/invitations.js';
import { previewAttachmentTemplate } from './documents/preview.js';
import { makePreviewLink, openPreviewLink, previewTemplate } from './templates/preview.js';

type Unbound = (deps: CommandDeps, ...args: never[]) => unknown;

type Bound<Commands extends Readonly<Record<string, Unbound>>> = {
  readonly [Name in keyof Commands]: Commands[Name] extends (deps: CommandDeps, ...args: infer Args) => infer Answer
    ? (...args: Args) => Answer
    : never;
};

/** Binds the first argument of each function. */
const bindAll = <Commands extends Readonly<Record<string, Unbound>>>(commands: Commands, deps: CommandDeps): Bound<Commands> =>
  Object.fromEntries(Object.entries<Unbound>(commands).map(([name, command]) => [name, command.bind(undefined, deps)])) as Bound<Commands>;

const oauthCommands = {
  openOAuthApp,
  authenticateOAuthApp,
  giveConsent,
  readCode,
  useCode,
  issueTokens,
  giveOwnGrant,
  readRefreshToken,
  readAccessToken,
  revokeToken,
} as const;

/** The commands behind the endpoints of OAuth. */
export type OAuth = ReturnType<typeof openOAuth>;

export const openOAuth = (deps: CommandDeps) => bindAll(oauthCommands, deps);

const commands = {
  authenticate,
  readJsonWebKeys,
  loginBucketOf,
  register,
  login,
  refresh,
  logout,
  ownLoginBucket,
  csrfTokenOf,
  sessionOfRefreshToken,
  prepareSecondFactor,
  confirmSecondFactor,
  removeSecondFactor,
  renewRecoveryCodes,
  changePassword,
  readSessions,
  revokeSession,
  revokeOtherSessions,
  eraseOwnUser,
  verifyAddress,
  sendVerifyLink,
  sendResetLink,
  resetPassword,
  askAddressChange,
  changeAddress,
  addressLinkBucket,
  checkLink,
  getOwnUser,
  updateOwnUser,
  getUser,
  sendEmail,
  sendBulk,
  dryRunBulk,
  getBatch,
  cancelBatch,
  batchResults,
  recipientsOfFile,
  getEmail,
  emailTrace,
  isConfidentialMail,
  retryEmail,
  retryEmails,
  rescheduleEmail,
  cancelEmail,
  deleteEmail,
  deleteEmails,
  createTemplate,
  importTemplate,
  getTemplate,
  updateTemplate,
  deleteTemplate,
  publishTemplate,
  templateVersions,
  templateVersion,
  restoreTemplateVersion,
  restoreTemplate,
  previewTemplate,
  makePreviewLink,
  openPreviewLink,
  createAttachmentTemplate,
  importAttachmentTemplate,
  getAttachmentTemplate,
  updateAttachmentTemplate,
  deleteAttachmentTemplate,
  publishAttachmentTemplate,
  attachmentTemplateVersions,
  attachmentTemplateVersion,
  restoreAttachmentTemplateVersion,
  restoreAttachmentTemplate,
  previewAttachmentTemplate,
  uploadAsset,
  getAsset,
  assetContent,
  deleteAsset,
  restoreAsset,
  createApiKey,
  getApiKey,
  changeApiKey,
  revokeApiKey,
  getAccount,
  addCredits,
  addDomain,
  listDomains,
  getDomain,
  verifyDomain,
  rotateDomainKeys,
  deleteDomain,
  restoreDomain,
  addSuppression,
  removeSuppression,
  checkSuppression,
  readSuppressions,
  importSuppressions,
  createWebhook,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  restoreWebhook,
  rotateWebhookSecret,
  testWebhook,
  webhookEvents,
  replayWebhook,
  retryWebhookDelivery,
  recordFeedback,
  eraseAddress,
  getErasure,
  exportAddress,
  readSubscription,
  unsubscribe,
  subscribeAgain,
  getTracking,
  setTracking,
  readAudit,
  recordAuditExport,
  createOAuthApp,
  getOAuthApp,
  updateOAuthApp,
  rotateOAuthAppSecret,
  deleteOAuthApp,
  revokeGrant,
  createTeam,
  getTeam,
  updateTeam,
  deleteTeam,
  restoreTeam,
  listMembers,
  describeActivity,
  changeMember,
  removeMember,
  leaveTeam,
  transferOwnership,
  inviteMember,
  listInvitations,
  revokeInvitation,
  resendInvitation,
  openInvitation,
  acceptInvitation,
} as const;

export type Commands = Bound<typeof commands>;

export const makeCommands = (deps: CommandDeps): Commands => bindAll(commands, deps);

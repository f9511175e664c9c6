/** Every command, bound once to the ports it works on: what HTTP calls. Each may reject with DomainError; nothing is written then. */
import { addCredits, getAccount } from './billing/account.js';
import { changeApiKey, createApiKey, getApiKey, revokeApiKey } from './keys/api-keys.js';
import { authenticate } from './authenticate.js';
import { assetContent, deleteAsset, getAsset, restoreAsset, uploadAsset } from './templates/assets.js';
import { readJsonWebKeys } from './access/tokens.js';
import { addressLinkBucket, askAddressChange, changeAddress } from './people/address-change.js';
import { resetPassword, sendResetLink, sendVerifyLink, verifyAddress } from './people/links.js';
import { getOwnUser, getUser, updateOwnUser } from './people/users.js';
import { loginBucketOf } from './people/login-attempts.js';
import { register } from './people/registration.js';
import { login, logout, refresh } from './people/sessions.js';
import { csrfTokenOf, ownLoginBucket, sessionOfRefreshToken } from './people/credentials.js';
import { eraseOwnUser } from './people/erasure.js';
import { changePassword } from './people/own-password.js';
import { readSessions, revokeOtherSessions, revokeSession } from './people/own-sessions.js';
import { confirmSecondFactor, prepareSecondFactor, removeSecondFactor, renewRecoveryCodes } from './people/own-second-factor.js';
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
import { cancelEmail, rescheduleEmail } from './email/calling-back.js';
import { isConfidentialMail } from './people/confidential.js';
import { bindAll, type Bound } from './bound.js';
import type { CommandDeps } from './core/deps.js';
import { emailTrace } from './email/timeline.js';
import { eraseAddress, getErasure } from './privacy/erasures.js';
import { exportAddress } from './privacy/export.js';
import { deleteEmail, deleteEmails, getEmail, retryEmail } from './email/emails.js';
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
import { retryEmails } from './email/retry-emails.js';
import { dryRunBulk } from './bulk/dry-run.js';
import { sendBulk } from './bulk/send.js';
import { sendEmail } from './email/send.js';
import { addSuppression, checkSuppression, readSuppressions, removeSuppression } from './recipients/suppressions.js';
import { importSuppressions } from './recipients/import.js';
import { readSubscription, subscribeAgain, unsubscribe } from './recipients/unsubscribe.js';
import { getBatch } from './bulk/batches.js';
import { batchResults } from './bulk/results.js';
import { recipientsOfFile } from './bulk/recipients-of-file.js';
import { cancelBatch } from './bulk/cancel-batch.js';
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
import { getTracking, setTracking } from './recipients/commands-tracking.js';
import { createOAuthApp, deleteOAuthApp, getOAuthApp, rotateOAuthAppSecret, updateOAuthApp } from './apps/apps.js';
import { revokeGrant } from './apps/grants.js';
import { createTeam, deleteTeam, getTeam, restoreTeam, updateTeam } from './teams/teams.js';
import { describeActivity } from './teams/activity.js';
import { changeMember, leaveTeam, listMembers, removeMember, transferOwnership } from './teams/members.js';
import {
  acceptInvitation,
  inviteMember,
  listInvitations,
  openInvitation,
  resendInvitation,
  revokeInvitation,
} from './teams/invitations.js';
import { previewAttachmentTemplate } from './documents/preview.js';
import { previewTemplate } from './templates/preview.js';

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

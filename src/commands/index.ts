/** Every command, bound once to the ports it works on: what HTTP calls. Each may reject with DomainError; nothing is written then. */
import { addCredits, getAccount } from './account.js';
import { changeApiKey, createApiKey, getApiKey, revokeApiKey } from './api-keys.js';
import { authenticate } from './authenticate.js';
import { assetContent, deleteAsset, getAsset, restoreAsset, uploadAsset } from './assets.js';
import { readJsonWebKeys } from './access-tokens.js';
import { addressLinkBucket, askAddressChange, changeAddress } from './address-change.js';
import { resetPassword, sendResetLink, sendVerifyLink, verifyAddress } from './account-links.js';
import { getOwnUser, getUser, updateOwnUser } from './users.js';
import { loginBucketOf } from './login-attempts.js';
import { register } from './registering.js';
import { login, logout, refresh } from './sessions.js';
import { csrfTokenOf, ownLoginBucket, sessionOfRefreshToken } from './oneself.js';
import { eraseOwnUser } from './erase-user.js';
import { changePassword } from './own-password.js';
import { readSessions, revokeOtherSessions, revokeSession } from './own-sessions.js';
import { confirmSecondFactor, prepareSecondFactor, removeSecondFactor, renewRecoveryCodes } from './own-second-factor.js';
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
} from './attachment-templates.js';
import { readAudit, recordAuditExport } from './audit.js';
import { cancelEmail, rescheduleEmail } from './calling-back.js';
import { isConfidentialMail } from './confidential.js';
import { bindAll, type Bound } from './bound.js';
import type { CommandDeps } from './deps.js';
import { emailTrace } from './email-timeline.js';
import { eraseAddress, getErasure } from './erasures.js';
import { exportAddress } from './address-export.js';
import { deleteEmail, deleteEmails, getEmail, retryEmail } from './emails.js';
import { addDomain, deleteDomain, getDomain, listDomains, restoreDomain, rotateDomainKeys, verifyDomain } from './domains.js';
import { recordFeedback } from './record-feedback.js';
import { retryEmails } from './retry-emails.js';
import { dryRunBulk } from './dry-run-bulk.js';
import { sendBulk } from './send-bulk.js';
import { sendEmail } from './send-email.js';
import { addSuppression, checkSuppression, readSuppressions, removeSuppression } from './suppressions.js';
import { importSuppressions } from './suppression-import.js';
import { readSubscription, subscribeAgain, unsubscribe } from './unsubscribing.js';
import { getBatch } from './batches.js';
import { batchResults } from './batch-results.js';
import { recipientsOfFile } from './recipients-of-file.js';
import { cancelBatch } from './cancel-batch.js';
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
} from './templates.js';
import { replayWebhook, retryWebhookDelivery, webhookEvents } from './webhook-outcomes.js';
import { createWebhook, deleteWebhook, getWebhook, restoreWebhook, rotateWebhookSecret, testWebhook, updateWebhook } from './webhooks.js';
import { getTracking, setTracking } from './tracking.js';
import { createOAuthApp, deleteOAuthApp, getOAuthApp, rotateOAuthAppSecret, updateOAuthApp } from './oauth-apps.js';
import { revokeGrant } from './oauth-grants.js';
import { createTeam, deleteTeam, getTeam, restoreTeam, updateTeam } from './team-lifecycle.js';
import { describeActivity } from './team-activity.js';
import { changeMember, leaveTeam, listMembers, removeMember, transferOwnership } from './team-members.js';
import { acceptInvitation, inviteMember, listInvitations, openInvitation, resendInvitation, revokeInvitation } from './invitations.js';
import { previewAttachmentTemplate } from './document-preview.js';
import { previewTemplate } from './template-preview.js';

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

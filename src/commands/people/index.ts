/** The commands of people, with the codes that each may reject with. */
import { type CommandTable, type Codes, writeCodes } from '../core/command.js';
import { sendMailCodes } from '../email/index.js';
import { invitationCodes } from '../teams/index.js';
import type { TeamNeeds } from '../teams/needs.js';
import {
  ownLoginBucket,
  csrfTokenOf,
  sessionOfRefreshToken,
  prepareSecondFactor,
  confirmSecondFactor,
  removeSecondFactor,
  renewRecoveryCodes,
} from './credentials.js';
import { eraseOwnUser } from './erasure.js';
import {
  verifyAddress,
  sendVerifyLink,
  sendResetLink,
  resetPassword,
  askAddressChange,
  changeAddress,
  addressLinkBucket,
  checkLink,
} from './links.js';
import {
  beginIdentityLink,
  beginProvenLink,
  beginSignIn,
  finishSignIn,
  giveSignInCode,
  listIdentities,
  pendingAddress,
  signInProviders,
  unlinkIdentity,
} from './providers.js';
import { register } from './registration.js';
import {
  loginBucketOf,
  login,
  refresh,
  logout,
  changePassword,
  readSessions,
  revokeSession,
  revokeOtherSessions,
} from './sessions.js';
import { signInByLink, signInLinkBucket } from './sign-in-links.js';
import { getOwnUser, updateOwnUser, getUser } from './users.js';

/** A signed-in person confirms the password. */
const confirmPasswordCodes: Codes = ['USER_NOT_FOUND', 'INVALID_CREDENTIALS', 'RATE_LIMIT_EXCEEDED', ...writeCodes];

const accountMailCodes: Codes = ['ERR_EMAIL_001', 'PUBLIC_URL_REQUIRED', ...sendMailCodes, ...writeCodes];

const providerCodes: Codes = ['SIGN_IN_PROVIDER_UNKNOWN', 'SIGN_IN_PROVIDER_AWAY'];

const confirmIdentityCodes: Codes = ['INVALID_CREDENTIALS', 'CODE_REQUIRED', 'INVALID_CODE'];

export const peopleCommands = {
  loginBucketOf: { run: loginBucketOf, codes: ['ERR_EMAIL_001'] },
  register: {
    run: register,
    codes: [
      'VALIDATION_ERROR',
      'REGISTRATION_CLOSED',
      'ADDRESS_TAKEN',
      ...invitationCodes,
      'INVITATION_NOT_YOURS',
      'RATE_LIMIT_EXCEEDED',
      ...accountMailCodes,
      'PLAN_LIMIT_EXCEEDED',
    ],
  },
  login: {
    run: login,
    codes: [
      'ERR_EMAIL_001',
      'INVALID_CREDENTIALS',
      'ADDRESS_NOT_VERIFIED',
      'CODE_REQUIRED',
      'INVALID_CODE',
      'RATE_LIMIT_EXCEEDED',
      ...writeCodes,
    ],
  },
  signInByLink: {
    run: signInByLink,
    codes: ['LINK_INVALID', 'CODE_REQUIRED', 'INVALID_CODE', 'RATE_LIMIT_EXCEEDED', ...writeCodes],
  },
  signInLinkBucket: { run: signInLinkBucket, codes: ['LINK_INVALID'] },
  refresh: { run: refresh, codes: ['INVALID_TOKEN', 'SESSION_ENDED', ...writeCodes] },
  logout: { run: logout, codes: writeCodes },
  ownLoginBucket: { run: ownLoginBucket, codes: ['USER_NOT_FOUND'] },
  csrfTokenOf: { run: csrfTokenOf, codes: [] },
  sessionOfRefreshToken: { run: sessionOfRefreshToken, codes: ['INVALID_TOKEN'] },
  prepareSecondFactor: { run: prepareSecondFactor, codes: ['SECOND_FACTOR_SET', ...confirmPasswordCodes] },
  confirmSecondFactor: {
    run: confirmSecondFactor,
    codes: ['USER_NOT_FOUND', 'SECOND_FACTOR_SET', 'SECOND_FACTOR_NOT_SET', 'INVALID_CODE', ...writeCodes],
  },
  removeSecondFactor: {
    run: removeSecondFactor,
    codes: ['SECOND_FACTOR_NOT_SET', 'INVALID_CODE', ...confirmPasswordCodes],
  },
  renewRecoveryCodes: {
    run: renewRecoveryCodes,
    codes: ['SECOND_FACTOR_NOT_SET', 'INVALID_CODE', ...confirmPasswordCodes],
  },
  changePassword: { run: changePassword, codes: ['VALIDATION_ERROR', 'SESSION_ENDED', ...confirmPasswordCodes] },
  readSessions: { run: readSessions, codes: ['USER_NOT_FOUND'] },
  revokeSession: { run: revokeSession, codes: ['USER_NOT_FOUND', 'SESSION_NOT_FOUND', ...writeCodes] },
  revokeOtherSessions: { run: revokeOtherSessions, codes: ['USER_NOT_FOUND', 'SESSION_ENDED', ...writeCodes] },
  eraseOwnUser: { run: eraseOwnUser, codes: ['CODE_REQUIRED', 'INVALID_CODE', 'LAST_OWNER', ...confirmPasswordCodes] },
  verifyAddress: { run: verifyAddress, codes: ['VALIDATION_ERROR', 'LINK_INVALID', ...writeCodes] },
  sendVerifyLink: { run: sendVerifyLink, codes: accountMailCodes },
  sendResetLink: { run: sendResetLink, codes: accountMailCodes },
  resetPassword: {
    run: resetPassword,
    codes: ['VALIDATION_ERROR', 'LINK_INVALID', 'RATE_LIMIT_EXCEEDED', ...writeCodes],
  },
  askAddressChange: {
    run: askAddressChange,
    codes: ['VALIDATION_ERROR', ...confirmIdentityCodes, 'USER_NOT_FOUND', 'RATE_LIMIT_EXCEEDED', ...accountMailCodes],
  },
  changeAddress: {
    run: changeAddress,
    codes: ['LINK_INVALID', 'INVALID_CREDENTIALS', 'ADDRESS_TAKEN', ...sendMailCodes, ...writeCodes],
  },
  addressLinkBucket: { run: addressLinkBucket, codes: ['LINK_INVALID'] },
  checkLink: { run: checkLink, codes: ['LINK_INVALID'] },
  signInProviders: { run: signInProviders, codes: [] },
  beginSignIn: { run: beginSignIn, codes: ['VALIDATION_ERROR', ...providerCodes] },
  finishSignIn: {
    run: finishSignIn,
    codes: [
      ...providerCodes,
      'SIGN_IN_REFUSED',
      'SIGN_IN_NOT_ALLOWED',
      'IDENTITY_NOT_LINKED',
      'IDENTITY_TAKEN',
      'REGISTRATION_CLOSED',
      'INVITATION_NOT_YOURS',
      'ADDRESS_TAKEN',
      'USER_NOT_FOUND',
      'PLAN_LIMIT_EXCEEDED',
      ...invitationCodes,
      ...accountMailCodes,
    ],
  },
  giveSignInCode: {
    run: giveSignInCode,
    codes: [
      'SIGN_IN_PROVIDER_UNKNOWN',
      'SIGN_IN_REFUSED',
      'IDENTITY_TAKEN',
      'CODE_REQUIRED',
      'INVALID_CODE',
      'INVITATION_NOT_YOURS',
      'USER_NOT_FOUND',
      'PLAN_LIMIT_EXCEEDED',
      ...invitationCodes,
      ...accountMailCodes,
    ],
  },
  pendingAddress: { run: pendingAddress, codes: ['SIGN_IN_REFUSED', 'USER_NOT_FOUND'] },
  beginIdentityLink: {
    run: beginIdentityLink,
    codes: ['VALIDATION_ERROR', ...providerCodes, 'CODE_REQUIRED', 'INVALID_CODE', ...confirmPasswordCodes],
  },
  beginProvenLink: { run: beginProvenLink, codes: providerCodes },
  listIdentities: { run: listIdentities, codes: ['USER_NOT_FOUND'] },
  unlinkIdentity: { run: unlinkIdentity, codes: ['USER_NOT_FOUND', 'IDENTITY_NOT_FOUND', ...writeCodes] },
  getOwnUser: { run: getOwnUser, codes: ['USER_NOT_FOUND'] },
  updateOwnUser: { run: updateOwnUser, codes: ['USER_NOT_FOUND', ...writeCodes] },
  getUser: { run: getUser, codes: ['USER_NOT_FOUND'] },
} as const satisfies CommandTable<TeamNeeds>;

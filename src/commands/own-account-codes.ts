/** What the commands may reject with that a person gives about their own account. */
import type { Commands } from './index.js';
import type { ErrorCode } from '../domain/core/errors.js';

type Codes = readonly ErrorCode[];

/** Others may have changed the same stream, each time faster; a server may stop to answer while it is told to write. */
export const write: Codes = ['CONFLICT', 'OUTCOME_UNKNOWN'];

/** Who is signed in shows again who they are. */
const showPassword: Codes = ['USER_NOT_FOUND', 'INVALID_CREDENTIALS', 'RATE_LIMIT_EXCEEDED', 'NOT_DURING_UPDATE', ...write];

export const ownAccountCodes = {
  csrfTokenOf: [],
  sessionOfRefreshToken: ['INVALID_TOKEN'],
  ownLoginBucket: ['USER_NOT_FOUND'],
  addressLinkBucket: ['LINK_INVALID'],
  prepareSecondFactor: ['SECOND_FACTOR_SET', ...showPassword],
  confirmSecondFactor: ['USER_NOT_FOUND', 'SECOND_FACTOR_SET', 'SECOND_FACTOR_NOT_SET', 'INVALID_CODE', 'NOT_DURING_UPDATE', ...write],
  removeSecondFactor: ['SECOND_FACTOR_NOT_SET', 'INVALID_CODE', ...showPassword],
  renewRecoveryCodes: ['SECOND_FACTOR_NOT_SET', 'INVALID_CODE', ...showPassword],
  readSessions: ['USER_NOT_FOUND'],
  revokeSession: ['USER_NOT_FOUND', 'SESSION_NOT_FOUND', ...write],
  revokeOtherSessions: ['USER_NOT_FOUND', 'SESSION_ENDED', ...write],
  eraseOwnUser: ['CODE_REQUIRED', 'INVALID_CODE', 'LAST_OWNER', ...showPassword],
  changePassword: ['VALIDATION_ERROR', 'SESSION_ENDED', ...showPassword],
} satisfies Partial<Record<keyof Commands, Codes>>;

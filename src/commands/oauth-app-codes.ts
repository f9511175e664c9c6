/** What the commands may reject with that are about apps, and what people grant them. */
import type { Commands } from './index.js';
import { write } from './own-account-codes.js';
import type { ErrorCode } from '../domain/core/errors.js';

export const oauthAppCodes = {
  createOAuthApp: ['VALIDATION_ERROR', 'PLAN_LIMIT_EXCEEDED', 'NOT_DURING_UPDATE', ...write],
  getOAuthApp: ['OAUTH_APP_NOT_FOUND'],
  updateOAuthApp: ['OAUTH_APP_NOT_FOUND', 'VALIDATION_ERROR', ...write],
  rotateOAuthAppSecret: ['OAUTH_APP_NOT_FOUND', 'OAUTH_APP_PUBLIC', ...write],
  deleteOAuthApp: ['OAUTH_APP_NOT_FOUND', ...write],
  revokeGrant: ['OAUTH_GRANT_NOT_FOUND', ...write],
} satisfies Partial<Record<keyof Commands, readonly ErrorCode[]>>;

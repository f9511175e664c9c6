/** The commands of apps, with the codes that each may reject with. */
import { type CommandTable, writeCodes } from '../core/command.js';
import type { AppNeeds } from './needs.js';
import {
  createOAuthApp,
  getOAuthApp,
  updateOAuthApp,
  rotateOAuthAppSecret,
  deleteOAuthApp,
  openOAuthApp,
  authenticateOAuthApp,
  registerSelf,
  appsMayRegister,
} from './apps.js';
import { answerDevice, decideDevice, findDevice, requestDevice } from './device.js';
import {
  revokeGrant,
  giveConsent,
  readCode,
  useCode,
  issueTokens,
  giveOwnGrant,
  readRefreshToken,
  readAccessToken,
  revokeToken,
} from './tokens.js';

export const appCommands = {
  createOAuthApp: { run: createOAuthApp, codes: ['VALIDATION_ERROR', 'PLAN_LIMIT_EXCEEDED', ...writeCodes] },
  getOAuthApp: { run: getOAuthApp, codes: ['OAUTH_APP_NOT_FOUND'] },
  updateOAuthApp: { run: updateOAuthApp, codes: ['OAUTH_APP_NOT_FOUND', 'VALIDATION_ERROR', ...writeCodes] },
  rotateOAuthAppSecret: {
    run: rotateOAuthAppSecret,
    codes: ['OAUTH_APP_NOT_FOUND', 'OAUTH_APP_PUBLIC', ...writeCodes],
  },
  deleteOAuthApp: { run: deleteOAuthApp, codes: ['OAUTH_APP_NOT_FOUND', ...writeCodes] },
  revokeGrant: { run: revokeGrant, codes: ['OAUTH_GRANT_NOT_FOUND', ...writeCodes] },
} as const satisfies CommandTable<AppNeeds>;

/** The commands behind the endpoints of OAuth, which answer with the errors of RFC 6749. */
export const oauthCommands = {
  openOAuthApp,
  authenticateOAuthApp,
  registerSelf,
  appsMayRegister,
  requestDevice,
  findDevice,
  decideDevice,
  answerDevice,
  giveConsent,
  readCode,
  useCode,
  issueTokens,
  giveOwnGrant,
  readRefreshToken,
  readAccessToken,
  revokeToken,
} as const;

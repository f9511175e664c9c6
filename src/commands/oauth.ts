/** What the endpoints of OAuth work with, bound once to the ports. */
import { bindAll } from './bound.js';
import type { CommandDeps } from './core/deps.js';
import { authenticateOAuthApp, openOAuthApp } from './apps/clients.js';
import {
  giveConsent,
  giveOwnGrant,
  issueTokens,
  readAccessToken,
  readCode,
  readRefreshToken,
  revokeToken,
  useCode,
} from './apps/tokens.js';

const commands = {
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

export type OAuth = ReturnType<typeof openOAuth>;

export const openOAuth = (deps: CommandDeps) => bindAll(commands, deps);

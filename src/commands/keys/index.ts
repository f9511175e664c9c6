/** The commands of keys, with the codes that each may reject with. */
import { type CommandTable, writeCodes } from '../core/command.js';
import type { KeyNeeds } from './needs.js';
import { createApiKey, getApiKey, changeApiKey, revokeApiKey } from './api-keys.js';

export const keyCommands = {
  createApiKey: {
    run: createApiKey,
    codes: ['VALIDATION_ERROR', 'FORBIDDEN', 'TEAM_NOT_FOUND', 'PLAN_LIMIT_EXCEEDED', ...writeCodes],
  },
  getApiKey: { run: getApiKey, codes: ['API_KEY_UNKNOWN'] },
  changeApiKey: {
    run: changeApiKey,
    codes: ['TEST_KEY_NOT_ALLOWED', 'API_KEY_UNKNOWN', 'VALIDATION_ERROR', 'FORBIDDEN', ...writeCodes],
  },
  revokeApiKey: { run: revokeApiKey, codes: ['TEST_KEY_NOT_ALLOWED', 'API_KEY_UNKNOWN', 'FORBIDDEN', ...writeCodes] },
} as const satisfies CommandTable<KeyNeeds>;

/** The commands of privacy, with the codes that each may reject with. */
import { type CommandTable, writeCodes } from '../core/command.js';
import type { EmailNeeds } from '../email/needs.js';
import { eraseAddress, getErasure } from './erasure.js';
import { exportAddress } from './export.js';

export const privacyCommands = {
  eraseAddress: { run: eraseAddress, codes: ['TEST_KEY_NOT_ALLOWED', 'ERR_EMAIL_001', ...writeCodes] },
  getErasure: { run: getErasure, codes: ['ERASURE_NOT_FOUND'] },
  exportAddress: { run: exportAddress, codes: ['ERR_EMAIL_001'] },
} as const satisfies CommandTable<EmailNeeds>;

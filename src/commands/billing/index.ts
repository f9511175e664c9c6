/** The commands of billing, with the codes that each may reject with. */
import { type CommandTable, writeCodes } from '../core/command.js';
import type { BillingNeeds } from './credits.js';
import { getBilling, addCredits } from './billing.js';

export const billingCommands = {
  getBilling: { run: getBilling, codes: [] },
  addCredits: {
    run: addCredits,
    codes: ['TEST_KEY_NOT_ALLOWED', 'VALIDATION_ERROR', 'TEAM_NOT_METERED', ...writeCodes],
  },
} as const satisfies CommandTable<BillingNeeds>;

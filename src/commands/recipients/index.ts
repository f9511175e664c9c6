/** The commands of recipients, with the codes that each may reject with. */
import { type CommandTable, writeCodes } from '../core/command.js';
import type { RecipientNeeds } from './needs.js';
import { recordFeedback } from './feedback.js';
import { recordProviderEvents, refuseProvider } from './provider-events.js';
import {
  addSuppression,
  removeSuppression,
  checkSuppression,
  readRecipient,
  readSuppressions,
  importSuppressions,
} from './suppressions.js';
import { getTracking, setTracking, teamOfEmail } from './tracking.js';
import { readSubscription, unsubscribe, subscribeAgain } from './unsubscribe.js';

export const recipientCommands = {
  addSuppression: { run: addSuppression, codes: ['ERR_EMAIL_001', ...writeCodes] },
  removeSuppression: { run: removeSuppression, codes: ['SUPPRESSION_NOT_FOUND', ...writeCodes] },
  checkSuppression: { run: checkSuppression, codes: ['ERR_EMAIL_001'] },
  readRecipient: { run: readRecipient, codes: ['ERR_EMAIL_001'] },
  readSuppressions: { run: readSuppressions, codes: [] },
  importSuppressions: { run: importSuppressions, codes: ['VALIDATION_ERROR', ...writeCodes] },
  recordFeedback: {
    run: recordFeedback,
    codes: [
      'TEST_KEY_NOT_ALLOWED',
      'FEEDBACK_NOT_SET_UP',
      'FEEDBACK_NOT_OURS',
      'EMAIL_NOT_FOUND',
      'EMAIL_IN_PROGRESS',
      ...writeCodes,
    ],
  },
  refuseProvider: { run: refuseProvider, codes: ['NOT_FOUND', 'FEEDBACK_PROVIDER_NOT_SET_UP', 'FEEDBACK_REFUSED'] },
  recordProviderEvents: {
    run: recordProviderEvents,
    codes: [
      'NOT_FOUND',
      'FEEDBACK_PROVIDER_NOT_SET_UP',
      'FEEDBACK_REFUSED',
      'FEEDBACK_NOT_TAKEN',
      'MALFORMED_JSON',
      ...writeCodes,
    ],
  },
  readSubscription: { run: readSubscription, codes: [] },
  unsubscribe: { run: unsubscribe, codes: [...writeCodes] },
  subscribeAgain: { run: subscribeAgain, codes: [...writeCodes] },
  teamOfEmail: { run: teamOfEmail, codes: [] },
  getTracking: { run: getTracking, codes: [] },
  setTracking: { run: setTracking, codes: ['VALIDATION_ERROR', 'PUBLIC_URL_REQUIRED', ...writeCodes] },
} as const satisfies CommandTable<RecipientNeeds>;

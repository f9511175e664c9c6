/** The commands of bulk, with the codes that each may reject with. */
import { type CommandTable, writeCodes } from '../core/command.js';
import { sendCodes } from '../email/index.js';
import type { BulkNeeds } from './send.js';
import { getBatch } from './batches.js';
import { dryRunBulk } from './dry-run.js';
import { recipientsOfFile } from './request.js';
import { batchResults } from './results.js';
import { sendBulk, cancelBatch } from './send.js';

export const bulkCommands = {
  sendBulk: { run: sendBulk, codes: sendCodes },
  dryRunBulk: { run: dryRunBulk, codes: ['VALIDATION_ERROR', 'GENERATOR_BUSY'] },
  getBatch: { run: getBatch, codes: ['BATCH_NOT_FOUND'] },
  cancelBatch: {
    run: cancelBatch,
    codes: [
      'TEST_KEY_NOT_ALLOWED',
      'BATCH_NOT_FOUND',
      'BATCH_NOT_CANCELLABLE',
      'IDEMPOTENCY_KEY_REUSED',
      ...writeCodes,
    ],
  },
  batchResults: { run: batchResults, codes: ['BATCH_NOT_FOUND'] },
  recipientsOfFile: { run: recipientsOfFile, codes: ['VALIDATION_ERROR'] },
} as const satisfies CommandTable<BulkNeeds>;

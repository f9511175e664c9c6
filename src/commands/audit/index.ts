/** The commands of audit, with the codes that each may reject with. */
import { type CommandTable, writeCodes } from '../core/command.js';
import type { AppNeeds } from '../apps/needs.js';
import type { KeyNeeds } from '../keys/needs.js';
import { readAudit, recordAuditExport } from './entries.js';
import { nameCalls } from './request-log.js';

export const auditCommands = {
  readAudit: { run: readAudit, codes: [] },
  recordAuditExport: { run: recordAuditExport, codes: [...writeCodes] },
  nameCalls: { run: nameCalls, codes: [] },
} as const satisfies CommandTable<AppNeeds & KeyNeeds>;

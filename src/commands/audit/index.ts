/** The commands of audit, with the codes that each may reject with. */
import { type CommandTable, writeCodes } from '../core/command.js';
import type { AccessNeeds } from '../access/needs.js';
import { readAudit, recordAuditExport } from './entries.js';

export const auditCommands = {
  readAudit: { run: readAudit, codes: [] },
  recordAuditExport: { run: recordAuditExport, codes: [...writeCodes] },
} as const satisfies CommandTable<AccessNeeds>;

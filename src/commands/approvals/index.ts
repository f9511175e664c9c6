/** The commands of approvals, with the codes that each may reject with. */
import { type CommandTable, writeCodes, type Codes } from '../core/command.js';
import { sendCodes } from '../email/index.js';
import { approvalAttachment, approvalContent, approvalMail, approve, reject, withdraw } from './decisions.js';
import { getApproval, requestApproval, type ApprovalNeeds } from './request.js';

const readCodes: Codes = ['APPROVAL_NOT_FOUND', 'CONTENT_GONE', ...sendCodes];

export const approvalCommands = {
  requestApproval: { run: requestApproval, codes: [...sendCodes, 'APPROVAL_LIMIT_REACHED'] },
  getApproval: { run: getApproval, codes: ['APPROVAL_NOT_FOUND'] },
  approvalContent: { run: approvalContent, codes: readCodes },
  approvalMail: { run: approvalMail, codes: readCodes },
  approvalAttachment: { run: approvalAttachment, codes: [...readCodes, 'NOT_FOUND'] },
  approveSend: {
    run: approve,
    codes: ['FORBIDDEN', 'APPROVAL_NOT_FOUND', 'APPROVAL_DECIDED', 'APPROVAL_CHANGED', ...sendCodes],
  },
  rejectSend: {
    run: reject,
    codes: ['FORBIDDEN', 'APPROVAL_NOT_FOUND', 'APPROVAL_DECIDED', ...writeCodes],
  },
  withdrawApproval: {
    run: withdraw,
    codes: ['TEST_KEY_NOT_ALLOWED', 'APPROVAL_NOT_FOUND', 'APPROVAL_DECIDED', ...writeCodes],
  },
} as const satisfies CommandTable<ApprovalNeeds>;

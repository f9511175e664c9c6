/** The commands of email, with the codes that each may reject with. */
import { type CommandTable, type Codes, writeCodes } from '../core/command.js';
import { makeDocumentCodes } from '../documents/index.js';
import { renderEmailCodes, findVersionCodes } from '../templates/index.js';
import {
  getEmail,
  emailTrace,
  retryEmail,
  retryEmails,
  rescheduleEmail,
  cancelEmail,
  deleteEmail,
  deleteEmails,
} from './emails.js';
import { emailAttachment, emailContent, emailSource } from './content.js';
import { resendEmail } from './resend.js';
import { sendEmail } from './send.js';
import { dryRunEmails, sendEmails, type SeveralNeeds } from './several.js';
import { submitEmail } from './submission.js';
import { isConfidentialMail } from './service-mails.js';

const acceptEmailCodes: Codes = [...renderEmailCodes, 'VARIABLES_EMPTY'];

const attachCodes: Codes = [
  'ERR_ATTACH_001',
  'ERR_ATTACH_002',
  'ASSET_NOT_FOUND',
  'ATTACHMENT_NOT_AVAILABLE',
  'ATTACHMENT_STORAGE_EXCEEDED',
];

/** Mails of the service itself are made of templates that its first team may change. */
export const sendMailCodes: Codes = [
  'QUEUE_FULL',
  'ERR_TMPL_002',
  'SENDER_NOT_SET',
  ...findVersionCodes,
  ...acceptEmailCodes,
];

/** Sending one email, or one to each recipient of a bulk send. */
export const sendCodes: Codes = [
  'QUEUE_FULL',
  'QUOTA_EXCEEDED',
  'ERR_TMPL_002',
  'ERR_EMAIL_001',
  'SENDER_NOT_ALLOWED',
  'SENDER_NOT_SET',
  'PUBLIC_URL_REQUIRED',
  'SUBJECT_EMPTY',
  'BODY_EMPTY',
  'IDEMPOTENCY_KEY_REUSED',
  ...findVersionCodes,
  ...acceptEmailCodes,
  ...attachCodes,
  ...makeDocumentCodes,
  ...writeCodes,
];

const readContentCodes: Codes = [
  'EMAIL_NOT_FOUND',
  'CONTENT_GONE',
  'CONTENT_CONFIDENTIAL',
  'PUBLIC_URL_REQUIRED',
  'VALIDATION_ERROR',
];

export const emailCommands = {
  sendEmail: { run: sendEmail, codes: sendCodes, appendsOnce: true },
  sendEmails: { run: sendEmails, codes: [...sendCodes, 'EMAILS_REFUSED'] },
  dryRunEmails: { run: dryRunEmails, codes: ['QUEUE_FULL', 'VALIDATION_ERROR'] },
  submitEmail: { run: submitEmail, codes: sendCodes, appendsOnce: true },
  getEmail: { run: getEmail, codes: ['EMAIL_NOT_FOUND', 'VALIDATION_ERROR'] },
  emailTrace: { run: emailTrace, codes: ['EMAIL_NOT_FOUND'] },
  emailContent: { run: emailContent, codes: readContentCodes },
  emailSource: { run: emailSource, codes: readContentCodes },
  emailAttachment: { run: emailAttachment, codes: [...readContentCodes, 'NOT_FOUND'] },
  isConfidentialMail: { run: isConfidentialMail, codes: [] },
  retryEmail: {
    run: retryEmail,
    codes: [
      'TEST_KEY_NOT_ALLOWED',
      'EMAIL_NOT_FOUND',
      'EMAIL_NOT_RETRYABLE',
      'EMAIL_ARCHIVED',
      'IDEMPOTENCY_KEY_REUSED',
      ...writeCodes,
    ],
    appendsOnce: true,
  },
  resendEmail: {
    run: resendEmail,
    codes: [
      'TEST_KEY_NOT_ALLOWED',
      'EMAIL_NOT_FOUND',
      'FORBIDDEN',
      'CONTENT_GONE',
      'CONTENT_CONFIDENTIAL',
      'EMAIL_NOT_RESENDABLE',
      ...sendCodes,
    ],
    appendsOnce: true,
  },
  retryEmails: { run: retryEmails, codes: writeCodes },
  rescheduleEmail: {
    run: rescheduleEmail,
    codes: [
      'TEST_KEY_NOT_ALLOWED',
      'EMAIL_NOT_FOUND',
      'EMAIL_NOT_SCHEDULED',
      'SUBJECT_EMPTY',
      'BODY_EMPTY',
      ...acceptEmailCodes,
      ...writeCodes,
    ],
  },
  cancelEmail: {
    run: cancelEmail,
    codes: [
      'TEST_KEY_NOT_ALLOWED',
      'EMAIL_NOT_FOUND',
      'EMAIL_NOT_CANCELLABLE',
      'IDEMPOTENCY_KEY_REUSED',
      ...writeCodes,
    ],
  },
  deleteEmail: {
    run: deleteEmail,
    codes: ['TEST_KEY_NOT_ALLOWED', 'EMAIL_NOT_FOUND', 'EMAIL_IN_PROGRESS', ...writeCodes],
  },
  deleteEmails: { run: deleteEmails, codes: ['TEST_KEY_NOT_ALLOWED', ...writeCodes] },
} as const satisfies CommandTable<SeveralNeeds>;

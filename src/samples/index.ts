/** The templates that the first start creates: eight kinds of mails, each in two languages, and the documents that go with them. */
import { accountTemplates } from './account-mails.js';
import { sampleAttachments } from './attachments/index.js';
import { invitation } from './invitation.js';
import { monthlyReport } from './monthly-report.js';
import { offer } from './offer.js';
import { orderConfirmation } from './order-confirmation.js';
import { passwordReset, signInCode } from './sign-in.js';
import type { SampleTemplate } from './sample.js';
import { shippingNotice } from './shipping-notice.js';
import { ticket } from './ticket.js';

export type { SampleTemplate } from './sample.js';

export const sampleTemplates: readonly SampleTemplate[] = [
  signInCode,
  orderConfirmation,
  shippingNotice,
  offer,
  ticket,
  monthlyReport,
  passwordReset,
  invitation,
];

export { sampleAttachments } from './attachments/index.js';

export { accountTemplates } from './account-mails.js';

/** The templates of account mails, as a client posts them. */
export const accountSamples = accountTemplates.map(({ exampleVariables: _, ...template }) => template);

/** The samples as a client posts them. */
export const samples = {
  emails: sampleTemplates.map(({ exampleVariables: _, examplesIn: __, ...template }) => template),
  attachments: sampleAttachments.map(({ exampleVariables: _, ...template }) => template),
};

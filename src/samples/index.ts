/** The templates that the first start creates: eight kinds of mails, each in two languages, and the documents that go with them. */
import { invoiceSample } from './attachments/invoice.js';
import { monthlyReportSample } from './attachments/monthly-report.js';
import { offerSample } from './attachments/offer.js';
import type { SampleAttachment } from './attachments/sample.js';
import { shippingLabelSample } from './attachments/shipping-label.js';
import { ticketSample } from './attachments/ticket.js';
import { accountTemplates } from './account-mails.js';
import { invitation } from './invitation.js';
import { monthlyReport } from './monthly-report.js';
import { offer } from './offer.js';
import { orderConfirmation } from './order-confirmation.js';
import { passwordReset, signInCode } from './sign-in.js';
import type { SampleTemplate } from './sample.js';
import { shippingNotice } from './shipping-notice.js';
import { ticket } from './ticket.js';

export type { SampleAttachment } from './attachments/sample.js';
export type { SampleTemplate } from './sample.js';
export { accountTemplates } from './account-mails.js';

export const sampleAttachments: readonly SampleAttachment[] = [
  invoiceSample,
  shippingLabelSample,
  offerSample,
  ticketSample,
  monthlyReportSample,
];

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

/** The templates of account mails, as a client posts them. */
export const accountSamples = accountTemplates.map(({ exampleVariables: _, ...template }) => template);

/** The samples as a client posts them. */
export const samples = {
  emails: sampleTemplates.map(({ exampleVariables: _, examplesIn: __, ...template }) => template),
  attachments: sampleAttachments.map(({ exampleVariables: _, ...template }) => template),
};

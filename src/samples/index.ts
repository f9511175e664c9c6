/** The templates that the first start creates: emails (a sign-in code, an order confirmation, a newsletter) and documents. */
import { accountTemplates } from './account-mails.js';
import { sampleAttachments } from './attachments/index.js';
import { newsletter } from './newsletter.js';
import { orderConfirmation } from './order-confirmation.js';
import type { SampleTemplate } from './sample.js';
import { signInCode } from './sign-in-code.js';

export type { SampleTemplate } from './sample.js';

export const sampleTemplates: readonly SampleTemplate[] = [signInCode, orderConfirmation, newsletter];

export { sampleAttachments } from './attachments/index.js';

export { accountTemplates } from './account-mails.js';

/** Those of the mails about accounts, as one posts them. */
export const accountSamples = accountTemplates.map(({ exampleVariables: _, ...template }) => template);

/** As one posts them. */
export const samples = {
  emails: sampleTemplates.map(({ exampleVariables: _, ...template }) => template),
  attachments: sampleAttachments.map(({ exampleVariables: _, ...template }) => template),
};

/** The templates that the first start creates: emails (a sign-in code, an order confirmation, a newsletter) and documents. */
import { sampleAttachments } from './attachments/index.js';
import { newsletter } from './newsletter.js';
import { orderConfirmation } from './order-confirmation.js';
import type { SampleTemplate } from './sample.js';
import { signInCode } from './sign-in-code.js';

export type { SampleTemplate } from './sample.js';

export const sampleTemplates: readonly SampleTemplate[] = [signInCode, orderConfirmation, newsletter];

export { sampleAttachments } from './attachments/index.js';

/** As one posts them. */
export const samples = {
  emails: sampleTemplates.map(({ exampleVariables: _, ...template }) => template),
  attachments: sampleAttachments.map(({ exampleVariables: _, ...template }) => template),
};

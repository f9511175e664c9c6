/** The templates that the first start creates: a sign-in code, an order confirmation, a newsletter. */
import { newsletter } from './newsletter.js';
import { orderConfirmation } from './order-confirmation.js';
import type { SampleTemplate } from './sample.js';
import { signInCode } from './sign-in-code.js';

export type { SampleTemplate } from './sample.js';

export const sampleTemplates: readonly SampleTemplate[] = [signInCode, orderConfirmation, newsletter];

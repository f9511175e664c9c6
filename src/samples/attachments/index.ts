/** The attachment templates that the first start creates: an invoice, a shipping label, a monthly report, a certificate. */
import { certificateSample } from './certificate.js';
import { invoiceSample } from './invoice.js';
import { monthlyReportSample } from './monthly-report.js';
import type { SampleAttachment } from './sample.js';
import { shippingLabelSample } from './shipping-label.js';

export type { SampleAttachment } from './sample.js';

export const sampleAttachments: readonly SampleAttachment[] = [invoiceSample, shippingLabelSample, monthlyReportSample, certificateSample];

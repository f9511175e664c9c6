/** The attachment templates that the first start creates: an invoice, a shipping label, an offer, tickets, a monthly report. */
import { invoiceSample } from './invoice.js';
import { monthlyReportSample } from './monthly-report.js';
import { offerSample } from './offer.js';
import type { SampleAttachment } from './sample.js';
import { shippingLabelSample } from './shipping-label.js';
import { ticketSample } from './ticket.js';

export type { SampleAttachment } from './sample.js';

export const sampleAttachments: readonly SampleAttachment[] = [
  invoiceSample,
  shippingLabelSample,
  offerSample,
  ticketSample,
  monthlyReportSample,
];

/** A shipping label: large addresses and a QR code that a scanner reads. */
import type { SampleAttachment } from './sample.js';

const parcel = { trackingNumber: 'LX 4471 0932 8814', service: 'Express', weightKg: 4.2, shippedAt: '2026-11-21', pieces: 1 };
const recipient = {
  name: 'Ada Example',
  company: 'Example & Daughters',
  street: 'Rua das Flores 12',
  city: '1200-195 Lisboa',
  country: 'PORTUGAL',
};

export const shippingLabelSample: SampleAttachment = {
  slug: 'shipping-label',
  name: 'Shipping label',
  description: 'Sender, recipient, service and a QR code with the tracking number, on A5.',
  locale: 'en-GB',
  timeZone: 'Europe/Lisbon',
  variables: [
    {
      name: 'parcel',
      type: 'object',
      required: true,
      defaultValue: parcel,
      schema: {
        type: 'object',
        properties: {
          trackingNumber: { type: 'string', required: true },
          service: { type: 'string', required: true },
          weightKg: { type: 'number', required: true, format: { style: 'number', minimumFractionDigits: 1, maximumFractionDigits: 2 } },
          shippedAt: { type: 'date', required: true, format: { style: 'date', dateStyle: 'medium' } },
          pieces: { type: 'number', required: true },
        },
      },
    },
    {
      name: 'recipient',
      type: 'object',
      required: true,
      defaultValue: recipient,
      schema: {
        type: 'object',
        properties: {
          name: { type: 'string', required: true },
          company: { type: 'string' },
          street: { type: 'string' },
          city: { type: 'string' },
          country: { type: 'string' },
        },
      },
    },
  ],
  schema: {
    outputFormats: ['pdf'],
    pages: [
      {
        pageId: 'label',
        pageName: 'Label',
        pageSettings: { format: 'A5', orientation: 'portrait', margin: { top: '10mm', right: '10mm', bottom: '10mm', left: '10mm' } },
        sections: [
          {
            id: 'main',
            type: 'main',
            components: [
              {
                id: 'head',
                type: 'columns',
                props: { widths: ['60%', '40%'], gap: 12, verticalAlign: 'middle' },
                children: [
                  {
                    id: 'from',
                    type: 'rich-text',
                    content:
                      '<p style="font-size:9px">From <strong>{{__COMPANY_NAME__}}</strong><br>{{__COMPANY_ADDRESS_LINE1__}}<br>{{__COMPANY_POSTAL_CODE__}} {{__COMPANY_CITY__}}, {{__COMPANY_COUNTRY__}}</p>',
                  },
                  {
                    id: 'service',
                    type: 'rich-text',
                    content: '<p style="font-size:22px"><strong>{{parcel.service}}</strong></p>',
                    props: { align: 'right' },
                  },
                ],
              },
              { id: 'rule', type: 'divider', props: { thickness: 2, color: '#111827', margin: '8px 0' } },
              {
                id: 'to',
                type: 'container',
                props: { border: '2px solid #111827', padding: 14 },
                children: [
                  {
                    id: 'to-address',
                    type: 'rich-text',
                    content:
                      '<p style="font-size:9px;color:#4b5563">To</p><p style="font-size:26px"><strong>{{recipient.name}}</strong></p><p style="font-size:18px">{{recipient.company}}<br>{{recipient.street}}<br><strong>{{recipient.city}}</strong><br>{{recipient.country}}</p>',
                  },
                ],
              },
              { id: 'gap', type: 'spacer', props: { height: 14 } },
              {
                id: 'foot',
                type: 'columns',
                props: { widths: ['50%', '50%'], gap: 12, verticalAlign: 'middle' },
                children: [
                  { id: 'code', type: 'qr-code', props: { value: '{{parcel.trackingNumber}}', size: 180, errorCorrection: 'Q' } },
                  {
                    id: 'facts',
                    type: 'rich-text',
                    content:
                      '<p style="font-size:9px;color:#4b5563">Tracking number</p><p style="font-size:18px"><strong>{{parcel.trackingNumber}}</strong></p><p style="font-size:14px">{{parcel.weightKg}} kg, {{parcel.pieces}} pc<br>Shipped {{parcel.shippedAt}}</p>',
                  },
                ],
              },
            ],
          },
        ],
      },
    ],
  },
  exampleVariables: { parcel, recipient },
};

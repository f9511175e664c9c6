/** A shipping label: large addresses, a bar code for the carrier and a Data Matrix for the phone. */
import { documentInLanguages } from '../sample.js';
import { FINE_PRINT, rich } from './sample.js';

const parcel = {
  trackingNumber: 'LX447109328814',
  service: 'Express',
  weightKg: 4.2,
  shippedAt: '2026-11-23',
  pieces: 1,
  reference: 'NW-10482',
};
const sender = { name: 'Northwind Coffee', street: 'Rua do Sol 3', city: '1200-001 Lisboa', country: 'PORTUGAL' };
const recipient = {
  name: 'Ada Example',
  company: 'Example & Daughters',
  street: 'Rua das Flores 12',
  city: '1200-195 Lisboa',
  country: 'PORTUGAL',
};

const en = {
  name: 'Shipping label',
  page: 'Label',
  from: 'From',
  to: 'To',
  number: 'Tracking number',
  facts: '{{parcel.weightKg}} kg, {{parcel.pieces}} pc<br>Shipped {{parcel.shippedAt}}<br>Order {{parcel.reference}}',
};

const de: typeof en = {
  name: 'Versandetikett',
  page: 'Etikett',
  from: 'Absender',
  to: 'Empfänger',
  number: 'Sendungsnummer',
  facts: '{{parcel.weightKg}} kg, {{parcel.pieces}} St.<br>Versand {{parcel.shippedAt}}<br>Bestellung {{parcel.reference}}',
};

const address = {
  type: 'object',
  properties: {
    name: { type: 'string', required: true },
    company: { type: 'string' },
    street: { type: 'string' },
    city: { type: 'string' },
    country: { type: 'string', filters: ['upper'] },
  },
};

export const shippingLabelSample = documentInLanguages(
  {
    slug: 'shipping-label',
    description:
      'Sender, recipient, service and the tracking number as bar code and Data Matrix, on A5. Exchange the two addresses for a return.',
    locale: 'en-GB',
    timeZone: 'Europe/Lisbon',
    exampleVariables: { parcel, sender, recipient },
  },
  { own: en, others: { de } },
  (text) => ({
    name: text.name,
    variables: [
      {
        name: 'parcel',
        type: 'object',
        required: true,
        defaultValue: parcel,
        schema: {
          type: 'object',
          properties: {
            trackingNumber: { type: 'string', required: true, description: 'Letters, digits and signs of ASCII' },
            service: { type: 'string', required: true },
            weightKg: { type: 'number', required: true, format: { style: 'number', minimumFractionDigits: 1, maximumFractionDigits: 2 } },
            shippedAt: { type: 'date', required: true, format: { style: 'date', dateStyle: 'medium' } },
            pieces: { type: 'number', required: true },
            reference: { type: 'string', description: 'The order' },
          },
        },
      },
      { name: 'sender', type: 'object', required: true, defaultValue: sender, schema: address },
      { name: 'recipient', type: 'object', required: true, defaultValue: recipient, schema: address },
    ],
    schema: {
      outputFormats: ['pdf'],
      // A label whose letters are not all there brings nothing home.
      missingCharacters: 'refuse',
      pages: [
        {
          pageId: 'label',
          pageName: text.page,
          pageSettings: { format: 'A5', orientation: 'portrait', margin: { top: '10mm', right: '10mm', bottom: '10mm', left: '10mm' } },
          sections: [
            {
              id: 'main',
              type: 'main',
              components: [
                {
                  id: 'from-and-service',
                  type: 'container',
                  props: { minHeight: 100 },
                  children: [
                    {
                      id: 'head',
                      type: 'columns',
                      props: { widths: ['60%', '40%'], gap: 12, verticalAlign: 'top' },
                      children: [
                        rich(
                          'from',
                          `<p style="${FINE_PRINT}">${text.from}</p><p style="font-size:9pt"><strong>{{sender.name}}</strong><br>{{sender.company}}<br>{{sender.street}}<br>{{sender.city}}<br>{{sender.country}}</p>`,
                          { hideWhenEmpty: 'lines' },
                        ),
                        rich('service', '<p style="font-size:22pt"><strong>{{parcel.service}}</strong></p>', { align: 'end' }),
                      ],
                    },
                  ],
                },
                { id: 'rule', type: 'divider', props: { thickness: 2, color: '#111827', margin: '6pt 0' } },
                {
                  id: 'to',
                  type: 'container',
                  props: { border: '2pt solid #111827', padding: '12pt', minHeight: 196 },
                  children: [
                    rich(
                      'to-address',
                      `<p style="${FINE_PRINT}">${text.to}</p><p style="font-size:20pt"><strong>{{recipient.name}}</strong></p><p style="font-size:14pt">{{recipient.company}}<br>{{recipient.street}}<br><strong>{{recipient.city}}</strong><br><strong>{{recipient.country}}</strong></p>`,
                      { hideWhenEmpty: 'lines' },
                    ),
                  ],
                },
                { id: 'gap', type: 'spacer', props: { height: 8 } },
                {
                  id: 'foot',
                  type: 'columns',
                  props: { widths: ['34%', '66%'], gap: 12, verticalAlign: 'middle' },
                  children: [
                    { id: 'matrix', type: 'qr-code', props: { kind: 'datamatrix', value: '{{parcel.trackingNumber}}', size: 72 } },
                    rich('facts', `<p style="font-size:12pt">${text.facts}</p>`, { hideWhenEmpty: 'lines' }),
                  ],
                },
                { id: 'rule-below', type: 'divider', props: { thickness: 2, color: '#111827', margin: '6pt 0' } },
                rich('number', `<p style="${FINE_PRINT}">${text.number}</p>`, { align: 'center' }),
                {
                  id: 'bars',
                  type: 'qr-code',
                  props: { kind: 'code128', value: '{{parcel.trackingNumber}}', size: 330, height: 56, align: 'center' },
                },
              ],
            },
          ],
        },
      ],
    },
  }),
);

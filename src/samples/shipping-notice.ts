/** A parcel is on its way: where it is, what is in it, when it arrives. The label goes to whoever packs, or home for a return. */
import { BRAND, emailInLanguages, footerWith, helpLine, logoHeader, logoVariable, rich } from './sample.js';

const parcel = {
  trackingNumber: 'LX447109328814',
  carrier: 'Lisbon Express',
  arrivesOn: '2026-11-25',
  trackingUrl: 'https://track.example.com/LX447109328814',
};
const recipient = {
  name: 'Ada Example',
  company: 'Example & Daughters',
  street: 'Rua das Flores 12',
  city: '1200-195 Lisboa',
  country: 'Portugal',
};
const steps = [
  { name: 'Ordered', at: '2026-11-21T09:30:00Z', state: 'completed' },
  { name: 'Packed', at: '2026-11-23T08:10:00Z', state: 'completed' },
  { name: 'On its way', at: '2026-11-23T15:45:00Z', note: 'Left our warehouse in Lisbon', state: 'current' },
  { name: 'Delivered', state: 'pending' },
];
const contents = [
  { name: 'Ceramic mug, sage green', quantity: 2 },
  { name: 'Pour-over kettle, 0.9 l', quantity: 1 },
  { name: 'Ethiopia Guji, 500 g', quantity: 3 },
];

const en = {
  subject: 'Your order {{orderNumber}} is on its way',
  preheader: 'Arrives {{parcel.arrivesOn}} with {{parcel.carrier}}.',
  title: 'On its way to you',
  intro:
    'Your order <strong>{{orderNumber}}</strong> left with {{parcel.carrier}} and should arrive on <strong>{{parcel.arrivesOn}}</strong>.',
  track: 'Track the parcel',
  number: 'Tracking number',
  contents: 'In this parcel',
  item: '{{item.quantity}} × {{item.name}}',
  shipsTo: 'Delivery address',
  help: 'Is something missing or broken? Write to @ within 14 days.',
};

const de: typeof en = {
  subject: 'Ihre Bestellung {{orderNumber}} ist unterwegs',
  preheader: 'Ankunft: {{parcel.arrivesOn}}, mit {{parcel.carrier}}.',
  title: 'Unterwegs zu Ihnen',
  intro:
    'Ihre Bestellung <strong>{{orderNumber}}</strong> ist mit {{parcel.carrier}} unterwegs. Voraussichtliche Ankunft: <strong>{{parcel.arrivesOn}}</strong>.',
  track: 'Sendung verfolgen',
  number: 'Sendungsnummer',
  contents: 'In diesem Paket',
  item: '{{item.quantity}} × {{item.name}}',
  shipsTo: 'Lieferung an',
  help: 'Etwas fehlt oder ist beschädigt? Schreiben Sie uns innerhalb von 14 Tagen an @.',
};

export const shippingNotice = emailInLanguages(
  {
    slug: 'shipping-notice',
    name: 'Shipping notice',
    description: 'A parcel is on its way: its steps, its contents, its address. Attach shipping-label where a label goes along.',
    locale: 'en-GB',
    timeZone: 'Europe/Lisbon',
    exampleVariables: { orderNumber: 'NW-10482', parcel, recipient, steps, contents },
  },
  { own: en, others: { de } },
  (text) => ({
    subject: text.subject,
    variables: [
      { name: 'orderNumber', type: 'string', required: true, defaultValue: 'NW-10482' },
      {
        name: 'parcel',
        type: 'object',
        required: true,
        defaultValue: parcel,
        schema: {
          type: 'object',
          properties: {
            trackingNumber: { type: 'string', required: true },
            carrier: { type: 'string', required: true },
            arrivesOn: { type: 'date', required: true, format: { style: 'date', dateStyle: 'full' } },
            trackingUrl: { type: 'string', description: 'Without it there is no button' },
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
      {
        name: 'steps',
        type: 'array',
        itemType: 'object',
        description: 'In order; state is completed, current or pending',
        defaultValue: [],
        schema: {
          type: 'array',
          itemType: 'object',
          itemSchema: {
            properties: {
              name: { type: 'string', required: true },
              note: { type: 'string' },
              at: { type: 'date', format: { style: 'datetime', dateStyle: 'medium', timeStyle: 'short' } },
              state: { type: 'string', required: true },
            },
          },
        },
      },
      {
        name: 'contents',
        type: 'array',
        itemType: 'object',
        defaultValue: [],
        schema: {
          type: 'array',
          itemType: 'object',
          itemSchema: { properties: { name: { type: 'string', required: true }, quantity: { type: 'number', required: true } } },
        },
      },
      logoVariable,
    ],
    schema: {
      props: { preheader: text.preheader, linkColor: BRAND.main },
      sections: [
        logoHeader,
        {
          id: 'main',
          type: 'main',
          components: [
            rich('title', `<h1>${text.title}</h1><p>${text.intro}</p>`),
            { id: 'track', type: 'button', content: text.track, props: { href: '{{parcel.trackingUrl}}', hideWhenEmpty: true } },
            { id: 'gap', type: 'spacer', props: { height: 8 } },
            {
              id: 'steps',
              type: 'timeline',
              props: {
                dataSource: 'steps',
                itemVariable: 'step',
                color: BRAND.main,
                title: '{{step.name}}',
                description: '{{step.note}}',
                date: '{{step.at}}',
                status: '{{step.state}}',
                hideWhenEmpty: true,
              },
            },
            { id: 'rule', type: 'divider' },
            {
              id: 'where-and-what',
              type: 'columns',
              props: { widths: ['50%', '50%'], gap: 24 },
              children: [
                rich(
                  'address',
                  `<h4>${text.shipsTo}</h4><p>{{recipient.name}}<br>{{recipient.company}}<br>{{recipient.street}}<br>{{recipient.city}}<br>{{recipient.country}}</p><p style="font-size:13px;color:#6b7280">${text.number}<br>{{parcel.trackingNumber}}</p>`,
                  { fontSize: 15, hideWhenEmpty: 'lines' },
                ),
                {
                  id: 'contents-box',
                  type: 'container',
                  props: { hideWhenEmpty: true },
                  children: [
                    rich('contents-title', `<h4>${text.contents}</h4>`, { fontSize: 15 }),
                    {
                      id: 'contents',
                      type: 'list',
                      content: text.item,
                      props: { dataSource: 'contents', itemVariable: 'item', fontSize: 15, hideWhenEmpty: true },
                    },
                  ],
                },
              ],
            },
          ],
        },
        footerWith(helpLine(text.help)),
      ],
    },
  }),
);

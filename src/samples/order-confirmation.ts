/** The order that a confirmation, an invoice and a parcel are about, and the confirmation: a table over the items, sums, addresses side by side. */
import type { JsonObject } from '../domain/core/json.js';
import type { VariableDefinition } from '../domain/rendering/scope/definitions.js';
import { itemsSchema, sumsSchema, moneyOf, sumsOf, sumsTable } from './sums-table.js';
import { BRAND, emailInLanguages, footerWith, helpLine, logoHeader, logoVariable, rich, whereGiven } from './sample.js';

export const exampleOrder: JsonObject = {
  number: 'NW-10482',
  placedAt: '2026-11-21T09:30:00Z',
  currency: 'EUR',
  taxRate: 0.23,
  items: [
    { sku: 'MUG-SAGE', name: 'Ceramic mug', variant: 'sage green', quantity: 2, price: 11.5 },
    { sku: 'KETTLE-09', name: 'Pour-over kettle', variant: '0.9 l, matt black', quantity: 1, price: 54.9 },
    { sku: 'GUJI-500', name: 'Ethiopia Guji', variant: 'whole beans, 500 g', quantity: 3, price: 12.1 },
  ],
  shipping: 4.9,
  discount: 10,
  shippingAddress: { name: 'Ada Example', street: 'Rua das Flores 12', city: '1200-195 Lisboa', country: 'Portugal' },
  delivery: { method: 'Standard delivery', from: '2026-11-24', to: '2026-11-26' },
  trackingUrl: 'https://shop.example.com/orders/NW-10482',
};

export const exampleCustomer: JsonObject = {
  firstName: 'Ada',
  name: 'Ada Example',
  company: 'Example & Daughters',
  street: 'Rua das Flores 12',
  city: '1200-195 Lisboa',
  country: 'Portugal',
  vatId: 'PT 999 999 990',
};

const day = { style: 'date', dateStyle: 'medium' };

/** The order as a call sends it, to the mail and to its invoice. */
export const orderVariable: VariableDefinition = {
  name: 'order',
  type: 'object',
  required: true,
  description: 'The order with its items; sums are calculated from it',
  defaultValue: exampleOrder,
  schema: {
    type: 'object',
    properties: {
      number: { type: 'string', required: true },
      placedAt: { type: 'date', format: { style: 'date', dateStyle: 'long' } },
      ...sumsSchema,
      items: itemsSchema,
      shippingAddress: {
        type: 'object',
        properties: { name: { type: 'string' }, street: { type: 'string' }, city: { type: 'string' }, country: { type: 'string' } },
      },
      delivery: {
        type: 'object',
        properties: {
          method: { type: 'string' },
          from: { type: 'date', required: true, format: day },
          to: { type: 'date', required: true, format: day },
        },
      },
      trackingUrl: { type: 'string', description: 'Without it there is no button' },
    },
  },
};

const money = moneyOf('order');
const customer = { firstName: 'Ada', email: 'ada@example.com' };

const en = {
  subject: 'Your order {{order.number}} is confirmed',
  preheader: 'Total {{total}}. We will write again when it ships.',
  title: 'Thank you, {{customer.firstName}}!',
  intro: 'Your order <strong>{{order.number}}</strong> of {{order.placedAt}} is confirmed. We will write again as soon as it ships.',
  introWithoutDay: 'Your order <strong>{{order.number}}</strong> is confirmed. We will write again as soon as it ships.',
  track: 'View your order',
  item: 'Item',
  quantity: 'Qty',
  amount: 'Amount',
  noItems: 'This order has no items.',
  sums: { subtotal: 'Subtotal', shipping: 'Shipping', discount: 'Discount', tax: 'VAT', total: 'Total' },
  shipsTo: 'Ships to',
  arrives: 'Arrives',
  period: '{{order.delivery.from}} to {{order.delivery.to}}',
  help: 'Do you have questions? Reply to this email or write to @.',
};

const de: typeof en = {
  subject: 'Ihre Bestellung {{order.number}} ist bestätigt',
  preheader: 'Gesamtbetrag {{total}}. Wir schreiben Ihnen wieder, sobald sie unterwegs ist.',
  title: 'Vielen Dank, {{customer.firstName}}!',
  intro:
    'Ihre Bestellung <strong>{{order.number}}</strong> vom {{order.placedAt}} ist bestätigt. Wir schreiben Ihnen wieder, sobald sie unterwegs ist.',
  introWithoutDay: 'Ihre Bestellung <strong>{{order.number}}</strong> ist bestätigt. Wir schreiben Ihnen wieder, sobald sie unterwegs ist.',
  track: 'Bestellung ansehen',
  item: 'Artikel',
  quantity: 'Menge',
  amount: 'Betrag',
  noItems: 'Diese Bestellung enthält keine Artikel.',
  sums: { subtotal: 'Zwischensumme', shipping: 'Versand', discount: 'Rabatt', tax: 'MwSt.', total: 'Gesamtbetrag' },
  shipsTo: 'Lieferung an',
  arrives: 'Liefertermin',
  period: '{{order.delivery.from}} bis {{order.delivery.to}}',
  help: 'Fragen? Antworten Sie auf diese Nachricht oder schreiben Sie an @.',
};

export const orderConfirmation = emailInLanguages(
  {
    slug: 'order-confirmation',
    name: 'Order confirmation',
    description: 'What was ordered, what it costs, where it goes and when it arrives. Attach invoice: it takes the same variables.',
    locale: 'en-GB',
    timeZone: 'Europe/Lisbon',
    exampleVariables: { customer, order: exampleOrder },
  },
  { own: en, others: { de } },
  (text) => ({
    subject: text.subject,
    variables: [
      {
        name: 'customer',
        type: 'object',
        required: true,
        description: 'Who ordered',
        defaultValue: customer,
        schema: { type: 'object', properties: { firstName: { type: 'string', required: true }, email: { type: 'string' } } },
      },
      orderVariable,
      logoVariable,
      ...sumsOf('order'),
    ],
    schema: {
      props: { preheader: text.preheader, linkColor: BRAND.main },
      sections: [
        logoHeader,
        {
          id: 'main',
          type: 'main',
          components: [
            rich('title', `<h1>${text.title}</h1>`),
            whereGiven(
              'order.placedAt',
              [rich('intro', `<p>${text.intro}</p>`)],
              [rich('intro-without-day', `<p>${text.introWithoutDay}</p>`)],
            ),
            { id: 'track', type: 'button', content: text.track, props: { href: '{{order.trackingUrl}}', hideWhenEmpty: true } },
            { id: 'gap', type: 'spacer', props: { height: 8 } },
            {
              id: 'items',
              type: 'table',
              props: {
                dataSource: 'lines',
                itemVariable: 'line',
                headerColor: '#6b7280',
                cellPadding: '10px 12px 10px 0',
                columns: [
                  { header: text.item, content: '{{line.title}}' },
                  { header: text.quantity, content: '{{line.quantity}}', align: 'end', width: 56 },
                  { header: text.amount, content: '{{line.total}}', format: money, width: 104 },
                ],
                emptyText: text.noItems,
              },
            },
            ...sumsTable(text.sums, 'order.taxRate'),
            {
              id: 'where-and-when',
              type: 'columns',
              props: { widths: ['50%', '50%'], gap: 24, hideWhenEmpty: true },
              children: [
                rich(
                  'address',
                  `<h4>${text.shipsTo}</h4><p>{{order.shippingAddress.name}}<br>{{order.shippingAddress.street}}<br>{{order.shippingAddress.city}}<br>{{order.shippingAddress.country}}</p>`,
                  { fontSize: 15, hideWhenEmpty: 'lines' },
                ),
                whereGiven('order.delivery', [
                  rich('delivery', `<h4>${text.arrives}</h4><p>${text.period}<br>{{order.delivery.method}}</p>`, {
                    fontSize: 15,
                    hideWhenEmpty: 'lines',
                  }),
                ]),
              ],
            },
          ],
        },
        footerWith(helpLine(text.help)),
      ],
    },
  }),
);

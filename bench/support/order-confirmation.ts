/** The order confirmation that the figures of rendering are about: it stays as it is, so that figures of different days are of the same mail. */
import type { ValueFormat } from '../../src/domain/rendering/scope/definitions.js';
import { brandHeader, footerWith, type SampleTemplate } from '../../src/samples/sample.js';

const money: ValueFormat = { style: 'currency', currency: '{{order.currency}}' };

const customer = { firstName: 'Ada', email: 'ada@example.com' };

const order = {
  number: 'NW-10482',
  placedAt: '2026-11-21T09:30:00Z',
  currency: 'EUR',
  items: [
    { name: 'Ceramic mug', variant: 'Sage green', quantity: 2, total: 28 },
    { name: 'Pour-over kettle', variant: '0.9 l, matt black', quantity: 1, total: 64.5 },
    { name: 'Ethiopia Guji', variant: 'Whole beans, 500 g', quantity: 3, total: 44.7 },
  ],
  subtotal: 137.2,
  shipping: 4.9,
  discount: 10,
  total: 132.1,
  shippingAddress: { name: 'Ada Example', street: 'Rua das Flores 12', city: '1200-195 Lisboa', country: 'Portugal' },
  delivery: { method: 'Standard delivery', from: '2026-11-24', to: '2026-11-26' },
  trackingUrl: 'https://shop.example.com/orders/NW-10482',
};

export const orderConfirmation: SampleTemplate = {
  slug: 'order-confirmation',
  name: 'Order confirmation',
  description: 'What was ordered, what it costs, where it goes and when it arrives.',
  subject: 'Your order {{order.number}} is confirmed',
  variables: [
    {
      name: 'customer',
      type: 'object',
      required: true,
      description: 'Who ordered',
      defaultValue: customer,
      schema: { type: 'object', properties: { firstName: { type: 'string', required: true }, email: { type: 'string' } } },
    },
    {
      name: 'order',
      type: 'object',
      required: true,
      description: 'The order with its items',
      defaultValue: order,
      schema: {
        type: 'object',
        properties: {
          number: { type: 'string', required: true },
          placedAt: { type: 'date', format: { style: 'date', dateStyle: 'long' } },
          currency: { type: 'string', required: true, description: 'ISO 4217, such as EUR' },
          items: {
            type: 'array',
            required: true,
            itemType: 'object',
            itemSchema: {
              properties: {
                name: { type: 'string', required: true },
                variant: { type: 'string' },
                quantity: { type: 'number', required: true },
                total: { type: 'number', required: true },
              },
            },
          },
          subtotal: { type: 'number', required: true, format: money },
          shipping: { type: 'number', required: true, format: money },
          discount: { type: 'number', format: money },
          total: { type: 'number', required: true, format: money },
          shippingAddress: {
            type: 'object',
            required: true,
            properties: { name: { type: 'string' }, street: { type: 'string' }, city: { type: 'string' }, country: { type: 'string' } },
          },
          delivery: {
            type: 'object',
            properties: {
              method: { type: 'string' },
              from: { type: 'date', required: true, format: { style: 'date', pattern: 'EEE d MMM' } },
              to: { type: 'date', required: true, format: { style: 'date', pattern: 'EEE d MMM' } },
            },
          },
          trackingUrl: { type: 'string', required: true },
        },
      },
    },
  ],
  schema: {
    props: { preheader: '{{order.items.length}} items, {{order.total}}. We will write again when it ships.', linkColor: '#0f766e' },
    sections: [
      brandHeader,
      {
        id: 'main',
        type: 'main',
        components: [
          {
            id: 'has-day',
            type: 'conditional',
            props: { condition: 'order.placedAt', operator: 'exists' },
            children: [
              {
                id: 'title',
                type: 'rich-text',
                content:
                  '<h1>Thank you, {{customer.firstName}}!</h1><p>Your order <strong>{{order.number}}</strong> of {{order.placedAt}} is confirmed. We will write again as soon as it ships.</p>',
              },
            ],
            elseChildren: [
              {
                id: 'title-without-day',
                type: 'rich-text',
                content:
                  '<h1>Thank you, {{customer.firstName}}!</h1><p>Your order <strong>{{order.number}}</strong> is confirmed. We will write again as soon as it ships.</p>',
              },
            ],
          },
          { id: 'track', type: 'button', content: 'View your order', props: { href: '{{order.trackingUrl}}' } },
          { id: 'gap', type: 'spacer', props: { height: 8 } },
          {
            id: 'items',
            type: 'table',
            props: {
              dataSource: '{{order.items}}',
              itemVariable: 'item',
              headerColor: '#6b7280',
              columns: [
                {
                  header: 'Item',
                  content: '<strong>{{item.name}}</strong><br><span style="font-size:13px;color:#6b7280">{{item.variant}}</span>',
                },
                { header: 'Qty', content: '{{item.quantity}}', align: 'right', width: 48 },
                { header: 'Total', content: '{{item.total}}', format: money, width: 96 },
              ],
              emptyText: 'This order has no items.',
            },
          },
          {
            id: 'sums',
            type: 'table',
            props: {
              border: false,
              padding: 0,
              cellPadding: '3px 0',
              columns: [{ align: 'right' }, { align: 'right', width: 96 }],
              rows: [
                ['Subtotal', '{{order.subtotal}}'],
                ['Shipping', '{{order.shipping}}'],
              ],
            },
          },
          {
            id: 'has-discount',
            type: 'conditional',
            props: { condition: 'order.discount', operator: '>', value: 0 },
            children: [
              {
                id: 'discount',
                type: 'table',
                props: {
                  border: false,
                  padding: 0,
                  cellPadding: '3px 0',
                  color: '#0f766e',
                  columns: [{ align: 'right' }, { align: 'right', width: 96 }],
                  rows: [['Discount', '−{{order.discount}}']],
                },
              },
            ],
          },
          {
            id: 'sum',
            type: 'table',
            props: {
              border: false,
              padding: '8px 0 16px',
              cellPadding: '3px 0',
              fontSize: 18,
              columns: [{ align: 'right' }, { align: 'right', width: 96 }],
              rows: [['<strong>Total</strong>', '<strong>{{order.total}}</strong>']],
            },
          },
          { id: 'rule', type: 'divider' },
          {
            id: 'where-and-when',
            type: 'columns',
            props: { widths: ['50%', '50%'], gap: 24 },
            children: [
              {
                id: 'address',
                type: 'rich-text',
                content:
                  '<h4>Ships to</h4><p>{{order.shippingAddress.name}}<br>{{order.shippingAddress.street}}<br>{{order.shippingAddress.city}}<br>{{order.shippingAddress.country}}</p>',
                props: { fontSize: 15 },
              },
              {
                id: 'has-delivery',
                type: 'conditional',
                props: { condition: 'order.delivery', operator: 'exists' },
                children: [
                  {
                    id: 'delivery',
                    type: 'rich-text',
                    content: '<h4>Arrives</h4><p>{{order.delivery.from}} to {{order.delivery.to}}<br>{{order.delivery.method}}</p>',
                    props: { fontSize: 15 },
                  },
                ],
              },
            ],
          },
        ],
      },
      footerWith({
        id: 'help',
        type: 'rich-text',
        content: '<p>Questions? Reply to this email or write to <a href="mailto:{{__COMPANY_EMAIL__}}">{{__COMPANY_EMAIL__}}</a>.</p>',
      }),
    ],
  },
  exampleVariables: { customer, order },
};

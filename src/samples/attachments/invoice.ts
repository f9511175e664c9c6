/** An invoice, as PDF to be paid and as Excel to be booked: the sums are calculated from the items. */
import type { DocumentComponent } from '../../domain/attachment-template/schema.js';
import type { ValueFormat } from '../../domain/template/schema.js';
import { imprint, type SampleAttachment } from './sample.js';

const money: ValueFormat = { style: 'currency', currency: '{{invoice.currency}}' };

const invoice = {
  number: 'INV-2026-0417',
  issuedAt: '2026-11-21',
  dueAt: '2026-12-05',
  currency: 'EUR',
  taxRate: 0.23,
  reference: 'NW-10482',
};

const customer = {
  name: 'Ada Example',
  company: 'Example & Daughters',
  street: 'Rua das Flores 12',
  city: '1200-195 Lisboa',
  country: 'Portugal',
  vatId: 'PT 501 234 567',
};

const items = [
  { sku: 'MUG-SAGE', name: 'Ceramic mug, sage green', quantity: 24, price: 11.5 },
  { sku: 'KETTLE-09', name: 'Pour-over kettle, 0.9 l', quantity: 4, price: 54.9 },
  { sku: 'GUJI-500', name: 'Ethiopia Guji, whole beans, 500 g', quantity: 36, price: 12.1 },
  { sku: 'FILTER-100', name: 'Paper filters, 100 pieces', quantity: 12, price: 4.25 },
];

const small = (id: string, text: string): DocumentComponent => ({
  id,
  type: 'rich-text',
  content: `<p style="font-size:9px;color:#6b7280">${text}</p>`,
  props: { padding: '0 0 12px 0' },
});

const ifReferenced = (shown: DocumentComponent, otherwise?: DocumentComponent): DocumentComponent => ({
  id: `if-${shown.id}`,
  type: 'conditional',
  props: { condition: 'invoice.reference', operator: 'exists' },
  children: [shown],
  ...(otherwise === undefined ? {} : { elseChildren: [otherwise] }),
});

export const invoiceSample: SampleAttachment = {
  slug: 'invoice',
  name: 'Invoice',
  description: 'Items, tax and total, payable by a date; as PDF and as Excel.',
  locale: 'en-GB',
  timeZone: 'Europe/Lisbon',
  variables: [
    {
      name: 'invoice',
      type: 'object',
      required: true,
      description: 'Number, dates, currency and tax rate',
      defaultValue: invoice,
      schema: {
        type: 'object',
        properties: {
          number: { type: 'string', required: true },
          issuedAt: { type: 'date', required: true, format: { style: 'date', dateStyle: 'long' } },
          dueAt: { type: 'date', required: true, format: { style: 'date', dateStyle: 'long' } },
          currency: { type: 'string', required: true, description: 'ISO 4217, such as EUR' },
          taxRate: { type: 'number', required: true, description: 'As a fraction: 0.23', format: { style: 'percent' } },
          reference: { type: 'string', description: 'The order' },
        },
      },
    },
    {
      name: 'customer',
      type: 'object',
      required: true,
      description: 'Who pays',
      defaultValue: customer,
      schema: {
        type: 'object',
        properties: {
          name: { type: 'string', required: true },
          company: { type: 'string' },
          street: { type: 'string' },
          city: { type: 'string' },
          country: { type: 'string' },
          vatId: { type: 'string' },
        },
      },
    },
    {
      name: 'items',
      type: 'array',
      itemType: 'object',
      required: true,
      description: 'What is charged',
      defaultValue: items,
      schema: {
        type: 'array',
        itemType: 'object',
        itemSchema: {
          properties: {
            sku: { type: 'string' },
            name: { type: 'string', required: true },
            quantity: { type: 'number', required: true },
            price: { type: 'number', required: true, description: 'Of one, without tax' },
          },
        },
      },
    },
    {
      name: 'lines',
      type: 'array',
      isCalculated: true,
      expression:
        'items.map((i) => ({ sku: i.sku, name: i.name, quantity: i.quantity, price: i.price, total: Math.round(i.quantity * i.price * 100) / 100 }))',
    },
    { name: 'net', type: 'number', isCalculated: true, expression: 'lines.reduce((sum, line) => sum + line.total, 0)', format: money },
    { name: 'tax', type: 'number', isCalculated: true, expression: 'Math.round(net * invoice.taxRate * 100) / 100', format: money },
    { name: 'total', type: 'number', isCalculated: true, expression: 'net + tax', format: money },
  ],
  schema: {
    outputFormats: ['pdf', 'excel'],
    pages: [
      {
        pageId: 'invoice',
        pageName: 'Invoice',
        pageSettings: { format: 'A4', margin: { top: '22mm', right: '20mm', bottom: '24mm', left: '20mm' }, footer: imprint },
        sections: [
          {
            id: 'head',
            type: 'header',
            components: [
              {
                id: 'title',
                type: 'rich-text',
                content: '<h1>Invoice</h1><p style="color:#6b7280">{{invoice.number}} · {{invoice.issuedAt}}</p>',
              },
              {
                id: 'payer',
                type: 'rich-text',
                content:
                  '<p><strong>{{customer.name}}</strong><br>{{customer.company}}<br>{{customer.street}}<br>{{customer.city}}<br>{{customer.country}}</p>',
                props: { padding: '12px 0 12px 0' },
              },
              {
                id: 'has-vat',
                type: 'conditional',
                props: { condition: 'customer.vatId', operator: 'exists' },
                children: [
                  ifReferenced(
                    small('vat-and-reference', 'VAT {{customer.vatId}}, order {{invoice.reference}}'),
                    small('vat', 'VAT {{customer.vatId}}'),
                  ),
                ],
                elseChildren: [ifReferenced(small('reference', 'Order {{invoice.reference}}'))],
              },
            ],
          },
          {
            id: 'main',
            type: 'main',
            components: [
              {
                id: 'items',
                type: 'table',
                props: {
                  dataSource: 'lines',
                  itemVariable: 'line',
                  striped: true,
                  headerBackgroundColor: '#0f3d3a',
                  headerColor: '#ffffff',
                  emptyText: 'Nothing is charged.',
                  sheetName: 'Invoice',
                  columns: [
                    { header: 'Article', content: '{{line.sku}}', width: '18%' },
                    { header: 'Description', content: '{{line.name}}', width: '38%' },
                    { header: 'Quantity', content: '{{line.quantity}}', width: '12%', align: 'right' },
                    { header: 'Price', content: '{{line.price}}', width: '16%', align: 'right', format: money },
                    { header: 'Total', content: '{{line.total}}', width: '16%', align: 'right', format: money },
                  ],
                },
              },
              {
                id: 'sums',
                type: 'table',
                props: {
                  showHeader: false,
                  border: false,
                  padding: '0 6pt',
                  // The columns of the items, so that sums stand below what they sum up, in a workbook too.
                  columns: [
                    { width: '18%' },
                    { width: '38%' },
                    { width: '12%' },
                    { width: '16%', align: 'right' },
                    { width: '16%', align: 'right' },
                  ],
                  rows: [
                    ['', '', '', 'Net', '{{net}}'],
                    ['', '', '', 'VAT {{invoice.taxRate}}', '{{tax}}'],
                    ['', '', '', '<strong>Total</strong>', '<strong>{{total}}</strong>'],
                  ],
                },
              },
              {
                id: 'terms',
                type: 'rich-text',
                content:
                  '<p>Please pay <strong>{{total}}</strong> by {{invoice.dueAt}} and name the invoice {{invoice.number}}.</p><p>Thank you for your order.</p>',
                props: { padding: '16px 0 0 0' },
              },
            ],
          },
        ],
      },
    ],
  },
  exampleVariables: { invoice, customer, items },
};

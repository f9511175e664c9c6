/**
 * The documents under measurement: an invoice of any length as PDF, and a table of sales as workbook; the same in every
 * run.
 */
import type { AttachmentTemplateContent } from '../../src/domain/rendering/content.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { checkAttachmentTemplate } from '../../src/domain/rendering/check/document.js';
import { company } from './company.js';
import { seeded } from './pairs.js';

export const environment = { at: '2026-11-21T10:00:00Z', company } as const;

export const metadata = { title: 'Invoice', author: 'Northwind Coffee', createdAt: environment.at } as const;

export type Line = Readonly<{ sku: string; name: string; quantity: number; price: number; total: number }>;
export type Invoice = Readonly<{
  invoice: Readonly<{ number: string; issuedAt: string; dueAt: string }>;
  customer: Readonly<{ name: string; street: string; city: string; country: string }>;
  lines: readonly Line[];
  total: number;
}>;

const goods = [
  'Ceramic mug, sage green',
  'Pour-over kettle, 0.9 l',
  'Ethiopia Guji, whole beans, 500 g',
  'Fish & chips <large>',
  'Paper filters, 100 pieces',
];

export const invoiceOf = (rows: number): Invoice => {
  const random = seeded(rows);
  const lines = Array.from({ length: rows }, (_, row) => {
    const [quantity, price] = [1 + Math.floor(random() * 40), Math.round(random() * 9_000 + 100) / 100];
    return {
      sku: `NW-${1_000 + row}`,
      name: goods[row % goods.length]!,
      quantity,
      price,
      total: Math.round(quantity * price * 100) / 100,
    };
  });
  return {
    invoice: { number: 'INV-2026-0417', issuedAt: '2026-11-21', dueAt: '2026-12-05' },
    customer: { name: 'Ada Example', street: 'Rua das Flores 12', city: '1200-195 Lisboa', country: 'Portugal' },
    lines,
    total: Math.round(lines.reduce((sum, { total }) => sum + total, 0) * 100) / 100,
  };
};

const checked = (template: JsonObject): AttachmentTemplateContent =>
  checkAttachmentTemplate(template, defaultLimits).content;
const money = { style: 'currency', currency: 'EUR' };

/** As a client of the API writes it. `example` becomes its default values. */
export const invoiceTemplate = (example: Invoice): JsonObject => ({
  locale: 'en-GB',
  variables: [
    {
      name: 'invoice',
      type: 'object',
      required: true,
      defaultValue: example.invoice,
      schema: {
        type: 'object',
        properties: {
          number: { type: 'string' },
          issuedAt: { type: 'date', format: { style: 'date', dateStyle: 'long' } },
          dueAt: { type: 'date', format: { style: 'date', dateStyle: 'long' } },
        },
      },
    },
    { name: 'customer', type: 'object', required: true, defaultValue: example.customer },
    { name: 'lines', type: 'array', itemType: 'object', required: true, defaultValue: [...example.lines] },
    { name: 'total', type: 'number', required: true, defaultValue: example.total, format: money },
  ],
  schema: {
    outputFormats: ['pdf'],
    pages: [
      {
        pageId: 'invoice',
        pageName: 'Invoice',
        pageSettings: {
          format: 'A4',
          margin: { top: 60, right: 50, bottom: 60, left: 50 },
          footer: { content: '<p>{{__COMPANY_NAME__}}, page {{pageNumber}} of {{totalPages}}</p>' },
        },
        sections: [
          {
            id: 'main',
            type: 'main',
            components: [
              {
                id: 'title',
                type: 'rich-text',
                content:
                  '<h1>Invoice {{invoice.number}}</h1><p style="color:#6b7280">Issued on {{invoice.issuedAt}}, due on {{invoice.dueAt}}</p>',
              },
              {
                id: 'parties',
                type: 'columns',
                props: { widths: ['50%', '50%'], gap: 20 },
                children: [
                  {
                    id: 'to',
                    type: 'rich-text',
                    content:
                      '<p><strong>{{customer.name}}</strong><br>{{customer.street}}<br>{{customer.city}}<br>{{customer.country}}</p>',
                  },
                  {
                    id: 'from',
                    type: 'rich-text',
                    content:
                      '<p><strong>{{__COMPANY_NAME__}}</strong><br>Rua do Sol 3<br>1200-001 Lisboa<br>Portugal</p>',
                  },
                ],
              },
              {
                id: 'lines',
                type: 'table',
                props: {
                  dataSource: 'lines',
                  itemVariable: 'line',
                  striped: true,
                  headerBackgroundColor: '#0f3d3a',
                  headerColor: '#ffffff',
                  columns: [
                    { header: 'Article', content: '{{line.sku}}', width: '15%' },
                    { header: 'Description', content: '{{line.name}}', width: '43%' },
                    { header: 'Quantity', content: '{{line.quantity}}', width: '12%', align: 'right' },
                    { header: 'Price', content: '{{line.price}}', width: '15%', align: 'right', format: money },
                    { header: 'Total', content: '{{line.total}}', width: '15%', align: 'right', format: money },
                  ],
                },
              },
              {
                id: 'total',
                type: 'rich-text',
                content: '<p><strong>Total {{total}}</strong></p>',
                props: { align: 'right' },
              },
              {
                id: 'terms',
                type: 'rich-text',
                content:
                  '<p>Please pay by {{invoice.dueAt}} and name the invoice {{invoice.number}}. <em>Thank you for your order.</em></p>',
              },
            ],
          },
        ],
      },
    ],
  },
});

export const invoiceContent = (example: Invoice): AttachmentTemplateContent => checked(invoiceTemplate(example));

export const SALES_COLUMNS = [
  'order',
  'customer',
  'city',
  'article',
  'placedAt',
  'paidAt',
  'quantity',
  'price',
  'discount',
  'total',
] as const;
export type Sale = Readonly<
  Record<'order' | 'customer' | 'city' | 'article' | 'placedAt' | 'paidAt', string> &
    Record<'quantity' | 'price' | 'discount' | 'total', number>
>;

export const salesOf = (rows: number): readonly Sale[] => {
  const random = seeded(rows);
  const day = (): string =>
    `2026-${String(1 + Math.floor(random() * 12)).padStart(2, '0')}-${String(1 + Math.floor(random() * 28)).padStart(2, '0')}`;
  return Array.from({ length: rows }, (_, row) => {
    const [quantity, price, discount] = [
      1 + Math.floor(random() * 40),
      Math.round(random() * 9_000) / 100,
      Math.round(random() * 20) / 100,
    ];
    return {
      order: `NW-${10_000 + row}`,
      customer: `Customer ${Math.floor(random() * 2_000)}`,
      city: ['Lisboa', 'Porto', 'Faro'][row % 3]!,
      article: goods[row % goods.length]!,
      placedAt: day(),
      paidAt: day(),
      quantity,
      price,
      discount,
      total: Math.round(quantity * price * (1 - discount) * 100) / 100,
    };
  });
};

export const salesContent = (): AttachmentTemplateContent =>
  checked({
    locale: 'en-GB',
    variables: [{ name: 'sales', type: 'array', itemType: 'object', required: true }],
    schema: {
      outputFormats: ['excel'],
      pages: [
        {
          pageId: 'sales',
          pageName: 'Sales',
          sections: [
            {
              id: 'main',
              type: 'main',
              components: [
                {
                  id: 'sales',
                  type: 'table',
                  props: {
                    dataSource: 'sales',
                    itemVariable: 'sale',
                    freezeHeader: true,
                    autoFilter: true,
                    headerBackgroundColor: '#0f3d3a',
                    headerColor: '#ffffff',
                    columns: SALES_COLUMNS.map((name) => ({
                      header: name,
                      content: `{{sale.${name}}}`,
                      ...(name === 'placedAt' || name === 'paidAt'
                        ? { format: { style: 'date', dateStyle: 'short' } }
                        : {}),
                      ...(name === 'price' || name === 'total' ? { format: money } : {}),
                      ...(name === 'discount' ? { format: { style: 'percent' } } : {}),
                    })),
                  },
                },
              ],
            },
          ],
        },
      ],
    },
  });

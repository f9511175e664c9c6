/** The sums of an order or an offer, calculated by the same expressions in mail and document, so that both state one total; and their table in a mail. */
import type { JsonObject } from '../domain/core/json.js';
import type { ValueFormat, VariableDefinition } from '../domain/rendering/scope/definitions.js';
import type { Component } from '../domain/rendering/content.js';

/** The format of money in the currency of the order or the offer. */
export const moneyOf = (of: string): ValueFormat => ({ style: 'currency', currency: `{{${of}.currency}}` });

/** The items of an order or an offer. */
export const itemsSchema: JsonObject = {
  type: 'array',
  required: true,
  itemType: 'object',
  itemSchema: {
    properties: {
      sku: { type: 'string', description: 'Number of the article' },
      name: { type: 'string', required: true },
      variant: { type: 'string' },
      quantity: { type: 'number', required: true },
      price: { type: 'number', required: true, description: 'Of one, without tax' },
    },
  },
};

/** The inputs of the sums beside the items. */
export const sumsSchema: JsonObject = {
  currency: { type: 'string', required: true, description: 'ISO 4217, such as EUR' },
  taxRate: {
    type: 'number',
    required: true,
    description: 'As a fraction: 0.23',
    format: { style: 'percent', maximumFractionDigits: 1 },
  },
  shipping: { type: 'number', description: 'Without tax' },
  discount: { type: 'number', description: 'Without tax; what is taken off' },
};

/** 1.005 times 100 is a little less than 100.5 in binary: what is added is far less than any price, and far more than that. */
const cents = (amount: string): string => `Math.round(${amount} * 100 + 0.00001) / 100`;

/** In: the variable that holds `items`, `taxRate`, `shipping` and `discount`. Out: what is calculated from it, rounded to cents. */
export const sumsOf = (of: string): readonly VariableDefinition[] => {
  const format = moneyOf(of);
  const sum = (name: string, expression: string): VariableDefinition => ({
    name,
    type: 'number',
    isCalculated: true,
    expression: cents(`(${expression})`),
    format,
  });
  return [
    {
      name: 'lines',
      type: 'array',
      itemType: 'object',
      isCalculated: true,
      expression: `${of}.items.map((i) => ({ ...i, title: i.variant ? i.name + ', ' + i.variant : i.name, total: ${cents('i.quantity * i.price')} }))`,
    },
    sum('subtotal', 'lines.reduce((sum, line) => sum + line.total, 0)'),
    sum('shipping', `${of}.shipping ?? 0`),
    sum('discount', `-(${of}.discount ?? 0)`),
    sum('net', 'subtotal + shipping + discount'),
    sum('tax', `net * ${of}.taxRate`),
    sum('total', 'net + tax'),
  ];
};

export type SumsText = Readonly<{ subtotal: string; shipping: string; discount: string; tax: string; total: string }>;

type SumsRow = readonly [label: string, value: string];

type Shown = Readonly<{ shipping: boolean; discount: boolean }>;

/** In: words, the path of the tax rate, which of the optional lines are shown. Out: the lines above the total. */
export const sumsRows = (text: SumsText, taxRate: string, { shipping, discount }: Shown): readonly SumsRow[] => [
  [text.subtotal, '{{subtotal}}'],
  ...(shipping ? [[text.shipping, '{{shipping}}'] as const] : []),
  ...(discount ? [[text.discount, '{{discount}}'] as const] : []),
  [`${text.tax} {{${taxRate}}}`, '{{tax}}'],
];

/** A table for shipping, for a discount, for both and for neither, so that no line states a charge of nothing. */
export const whereCharged = <C>(table: (id: string, shown: Shown) => C) => {
  const within = (shipping: boolean) => ({
    id: shipping ? 'has-discount' : 'has-discount-only',
    type: 'conditional' as const,
    props: { condition: 'discount', operator: '<', value: 0 },
    children: [table(shipping ? 'sums-with-both' : 'sums-with-discount', { shipping, discount: true })],
    elseChildren: [table(shipping ? 'sums-with-shipping' : 'sums', { shipping, discount: false })],
  });
  return {
    id: 'has-shipping',
    type: 'conditional' as const,
    props: { condition: 'shipping', operator: '>', value: 0 },
    children: [within(true)],
    elseChildren: [within(false)],
  };
};

const AMOUNT_WIDTH = 104;

const tableOf = (id: string, rows: readonly SumsRow[], props: Component['props'] = {}): Component => ({
  id,
  type: 'table',
  props: {
    border: false,
    padding: 0,
    cellPadding: '3px 12px 3px 0',
    columns: [{ align: 'end' }, { align: 'end', width: AMOUNT_WIDTH }],
    rows: rows.map((row) => [...row]),
    ...props,
  },
});

/** In: the words, and the path of the tax rate. Out: the components. */
export const sumsTable = (text: SumsText, taxRate: string): readonly Component[] => [
  whereCharged((id, shown) => tableOf(id, sumsRows(text, taxRate, shown))),
  tableOf('sum', [[`<strong>${text.total}</strong>`, '<strong>{{total}}</strong>']], { padding: '4px 0 16px', fontSize: 18 }),
];

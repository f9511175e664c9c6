/** The sums of an order or an offer in a mail: aligned below the prices, the total large. */
import type { Component } from '../domain/rendering/content.js';

export type SumsText = Readonly<{ subtotal: string; shipping: string; discount: string; tax: string; total: string }>;

export type SumsRow = readonly [label: string, value: string];

type Shown = Readonly<{ shipping: boolean; discount: boolean }>;

/** In: words, the path of the tax rate, which of the optional lines are shown. Out: the lines above the total. */
export const sumsRows = (text: SumsText, taxRate: string, { shipping, discount }: Shown): readonly SumsRow[] => [
  [text.subtotal, '{{subtotal}}'],
  ...(shipping ? [[text.shipping, '{{shipping}}'] as const] : []),
  ...(discount ? [[text.discount, '{{discount}}'] as const] : []),
  [`${text.tax} {{${taxRate}}}`, '{{tax}}'],
];

/** What stands where there is shipping, a discount, both, neither: so no line says that nothing is charged. */
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

/** The order confirmation of the usual stack: two files of Eta, and the sums calculated before them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Eta } from 'eta';
import { projectRoot } from '../support/scratch.js';

export type OrderVariables = Readonly<{
  customer: Readonly<{ firstName: string; email: string }>;
  order: Readonly<{
    number: string;
    placedAt: string;
    currency: string;
    taxRate: number;
    items: readonly Readonly<{ name: string; variant: string; quantity: number; price: number }>[];
    shipping: number;
    discount: number;
    shippingAddress: Readonly<{ name: string; street: string; city: string; country: string }>;
    delivery: Readonly<{ method: string; from: string; to: string }>;
    trackingUrl: string;
  }>;
}>;

const eta = new Eta({ autoTrim: false });
const compiled = (kind: 'html' | 'txt') =>
  eta.compile(readFileSync(join(projectRoot, `bench/peers/order-confirmation.${kind}.eta`), 'utf8'));
const [html, text] = [compiled('html'), compiled('txt')];

const currencies = new Map<string, Intl.NumberFormat>();
const moneyOf = (currency: string): ((value: number) => string) => {
  let format = currencies.get(currency);
  if (format === undefined) {
    format = new Intl.NumberFormat('en-GB', { style: 'currency', currency });
    currencies.set(currency, format);
  }
  return format.format;
};
const percent = new Intl.NumberFormat('en-GB', { style: 'percent', maximumFractionDigits: 1 });
const [long, short] = (['long', 'medium'] as const).map(
  (dateStyle) => new Intl.DateTimeFormat('en-GB', { dateStyle, timeZone: 'Europe/Lisbon' }),
);

const cents = (value: number): number => Math.round(value * 100 + 0.00001) / 100;

/** In: the variables of a send call; the name and the year of the footer. Out: subject, HTML and text. */
export const renderOrder = (
  { customer, order }: OrderVariables,
  company: string,
  year: string,
): Readonly<{ subject: string; html: string; text: string }> => {
  const lines = order.items.map((item) => ({
    ...item,
    title: item.variant ? `${item.name}, ${item.variant}` : item.name,
    total: cents(item.quantity * item.price),
  }));
  const subtotal = cents(lines.reduce((sum, { total }) => sum + total, 0));
  const [shipping, discount] = [cents(order.shipping), cents(-order.discount)];
  const net = cents(subtotal + shipping + discount);
  const tax = cents(net * order.taxRate);
  const money = moneyOf(order.currency);
  const data = {
    ...{ customer, order, lines, subtotal, shipping, discount, tax, total: cents(net + tax), company, year, money },
    percent: percent.format,
    long: (value: string) => long!.format(new Date(value)),
    short: (value: string) => short!.format(new Date(value)),
    url: (value: string) => (/^https?:\/\//.test(value) ? value : '#'),
    sum: (name: string, value: number) => `${name}${money(value).padStart(11)}`.padStart(60),
  };
  return {
    subject: `Your order ${order.number} is confirmed`,
    html: html.call(eta, data),
    text: text.call(eta, data),
  };
};

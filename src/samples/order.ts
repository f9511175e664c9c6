/** The order that a confirmation, an invoice and a parcel are about. */
import type { JsonObject } from '../domain/core/json.js';
import type { VariableDefinition } from '../domain/rendering/scope/definitions.js';
import { itemsSchema, sumsSchema } from './sums.js';

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

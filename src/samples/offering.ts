/** The offer that a mail and its document are about. */
import type { JsonObject } from '../domain/core/json.js';
import type { VariableDefinition } from '../domain/rendering/scope/definitions.js';
import { itemsSchema, sumsOf, sumsSchema } from './sums.js';

const customer = {
  name: 'Ada Example',
  company: 'Example & Daughters',
  street: 'Rua das Flores 12',
  city: '1200-195 Lisboa',
  country: 'Portugal',
};

const offer = {
  number: 'A-2026-0093',
  title: 'Coffee for your new café',
  date: '2026-11-21',
  validUntil: '2026-12-19',
  currency: 'EUR',
  taxRate: 0.23,
  intro:
    'Thank you for the morning in your café. As we talked about, here is what we would set up with you: a machine that two people can run, beans that fit your kitchen, and two days with your team.',
  items: [
    { name: 'Espresso machine', variant: 'two groups, two years of warranty', quantity: 1, price: 4_850 },
    { name: 'Grinder', variant: '64 mm, quiet', quantity: 2, price: 690 },
    { name: 'Water filter', variant: 'cartridges for one year', quantity: 1, price: 320 },
    { name: 'Ethiopia Guji', variant: 'whole beans, 60 kg over six months', quantity: 60, price: 21.5 },
    { name: 'House blend', variant: 'whole beans, 120 kg over six months', quantity: 120, price: 17.9 },
    { name: 'Training for the team', variant: 'two days at your place', quantity: 2, price: 480 },
  ],
  discount: 350,
  terms: 'Delivery within three weeks of your order. 30 % on order, the rest within 14 days of delivery.',
};

const author = { name: 'Grace Example', role: 'Sales', email: 'grace@example.com', phone: '+351 21 000 0000' };

export const exampleOffer: JsonObject = { customer, offer, author };

/** What the mail with an offer and the offer itself take. */
export const offerVariables: readonly VariableDefinition[] = [
  {
    name: 'customer',
    type: 'object',
    required: true,
    description: 'To whom it is made',
    defaultValue: customer,
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
    name: 'offer',
    type: 'object',
    required: true,
    description: 'What is offered; sums are calculated from it',
    defaultValue: offer,
    schema: {
      type: 'object',
      properties: {
        number: { type: 'string', required: true },
        title: { type: 'string', required: true },
        date: { type: 'date', required: true, format: { style: 'date', dateStyle: 'long' } },
        validUntil: { type: 'date', required: true, format: { style: 'date', dateStyle: 'long' } },
        intro: { type: 'string', description: 'One paragraph' },
        terms: { type: 'string', description: 'Delivery and payment' },
        ...sumsSchema,
        items: itemsSchema,
      },
    },
  },
  {
    name: 'author',
    type: 'object',
    required: true,
    description: 'Who makes it',
    defaultValue: author,
    schema: {
      type: 'object',
      properties: {
        name: { type: 'string', required: true },
        role: { type: 'string' },
        email: { type: 'string', required: true },
        phone: { type: 'string' },
      },
    },
  },
  ...sumsOf('offer'),
];

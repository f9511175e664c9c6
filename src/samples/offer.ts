/** The offer that a mail and its document are about, and the letter that goes with it: the total, the last day of the offer, whom to answer. */
import type { JsonObject } from '../domain/core/json.js';
import type { VariableDefinition } from '../domain/rendering/scope/definitions.js';
import { itemsSchema, sumsOf, sumsSchema } from './sums-table.js';
import { BRAND, emailInLanguages, footerWith, logoHeader, logoVariable, rich, SMALL } from './sample.js';

const customer = {
  name: 'Ada Example',
  company: 'Example & Daughters',
  street: 'Rua das Flores 12',
  city: '1200-195 Lisboa',
  country: 'Portugal',
};

const offerDetails = {
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
    { name: 'Training for the team', variant: 'two days on site', quantity: 2, price: 480 },
  ],
  discount: 350,
  terms: 'Delivery within three weeks of your order. 30 % on order, the rest within 14 days of delivery.',
};

const author = { name: 'Grace Example', role: 'Sales', email: 'grace@example.com', phone: '+351 21 000 0000' };

export const exampleOffer: JsonObject = { customer, offer: offerDetails, author };

/** The variables of the mail and of the document. */
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
    defaultValue: offerDetails,
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

const en = {
  subject: 'Our offer {{offer.number}}: {{offer.title}}',
  preheader: '{{total}}, valid until {{offer.validUntil}}.',
  title: '{{offer.title}}',
  greeting: 'Hello {{customer.name}},',
  attached: 'The full offer is attached as a PDF. In short:',
  number: 'Offer',
  net: 'Without VAT',
  total: 'With {{offer.taxRate}} VAT',
  until: 'Valid until',
  accept: 'Accept by email',
  acceptSubject: 'Offer {{offer.number}} accepted',
  reply: 'Do you have questions, or would you like something changed? Just reply to this email.',
};

const de: typeof en = {
  subject: 'Unser Angebot {{offer.number}}: {{offer.title}}',
  preheader: '{{total}}, gültig bis {{offer.validUntil}}.',
  title: '{{offer.title}}',
  greeting: 'Guten Tag {{customer.name}},',
  attached: 'Das vollständige Angebot liegt als PDF bei. In Kürze:',
  number: 'Angebot',
  net: 'Ohne MwSt.',
  total: 'Mit {{offer.taxRate}} MwSt.',
  until: 'Gültig bis',
  accept: 'Per E-Mail annehmen',
  acceptSubject: 'Angebot {{offer.number}} angenommen',
  reply: 'Fragen oder Änderungswünsche? Antworten Sie einfach auf diese Nachricht.',
};

export const offer = emailInLanguages(
  {
    slug: 'offer',
    name: 'Offer',
    description: 'The letter with an offer. Attach offer: it takes the same variables, so both name the same total.',
    locale: 'en-GB',
    timeZone: 'Europe/Lisbon',
    exampleVariables: exampleOffer,
  },
  { own: en, others: { de } },
  (text) => ({
    subject: text.subject,
    variables: [...offerVariables, logoVariable],
    schema: {
      props: { preheader: text.preheader, linkColor: BRAND.main },
      sections: [
        logoHeader,
        {
          id: 'main',
          type: 'main',
          components: [
            rich('title', `<h1>${text.title}</h1><p>${text.greeting}</p><p>{{offer.intro}}</p><p>${text.attached}</p>`, {
              hideWhenEmpty: 'lines',
            }),
            {
              id: 'facts',
              type: 'table',
              props: {
                cellPadding: '8px 0',
                columns: [{ width: '40%' }, { align: 'end' }],
                rows: [
                  [text.number, '{{offer.number}}'],
                  [text.net, '{{net}}'],
                  [text.total, '<strong>{{total}}</strong>'],
                  [text.until, '<strong>{{offer.validUntil}}</strong>'],
                ],
              },
            },
            { id: 'gap', type: 'spacer', props: { height: 8 } },
            {
              id: 'accept',
              type: 'button',
              content: text.accept,
              props: { href: `mailto:{{author.email}}?subject=${text.acceptSubject}` },
            },
            rich('reply', `<p>${text.reply}</p>`),
            rich('author', '<p><strong>{{author.name}}</strong><br>{{author.role}}<br>{{author.email}}<br>{{author.phone}}</p>', {
              ...SMALL,
              hideWhenEmpty: 'lines',
            }),
          ],
        },
        footerWith(),
      ],
    },
  }),
);

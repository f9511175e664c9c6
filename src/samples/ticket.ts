/** The event and the tickets that a mail and its document are about, and the mail: a QR code for each person. */
import type { JsonObject } from '../domain/core/json.js';
import type { VariableDefinition } from '../domain/rendering/scope/definitions.js';
import { BRAND, emailInLanguages, footerWith, helpLine, logoHeader, logoVariable, rich, SMALL } from './sample.js';

const event = {
  name: 'Open cupping',
  subtitle: 'Six coffees from three farms at one long table',
  startsAt: '2026-12-04T18:30:00Z',
  doorsAt: '2026-12-04T18:00:00Z',
  venue: 'Northwind Roastery',
  street: 'Rua do Sol 3',
  city: '1200-001 Lisboa',
  url: 'https://example.com/events/cupping',
};

const tickets = [
  { code: 'OC-8F3A-27QX', holder: 'Ada Example', kind: 'Standard', seat: 'Table 2, seat 5' },
  { code: 'OC-8F3A-28RW', holder: 'Grace Example', kind: 'Standard', seat: 'Table 2, seat 6' },
];

export const exampleTickets: JsonObject = { event, tickets };

/** The variables of the mail and of the document. */
export const ticketVariables: readonly VariableDefinition[] = [
  {
    name: 'event',
    type: 'object',
    required: true,
    description: 'What, when and where',
    defaultValue: event,
    schema: {
      type: 'object',
      properties: {
        name: { type: 'string', required: true },
        subtitle: { type: 'string' },
        startsAt: { type: 'date', required: true, format: { style: 'datetime', dateStyle: 'full', timeStyle: 'short' } },
        doorsAt: { type: 'date', format: { style: 'time', timeStyle: 'short' } },
        venue: { type: 'string', required: true },
        street: { type: 'string' },
        city: { type: 'string' },
        url: { type: 'string' },
      },
    },
  },
  {
    name: 'tickets',
    type: 'array',
    itemType: 'object',
    required: true,
    description: 'One for each guest',
    defaultValue: tickets,
    schema: {
      type: 'array',
      itemType: 'object',
      itemSchema: {
        properties: {
          code: { type: 'string', required: true, description: 'What the QR code holds' },
          holder: { type: 'string', required: true },
          kind: { type: 'string' },
          seat: { type: 'string' },
        },
      },
    },
  },
];

const en = {
  subject: 'Your tickets for {{event.name}}',
  preheader: '{{event.startsAt}}, {{event.venue}}',
  title: 'See you at {{event.name}}',
  intro: 'Show the code at the door, on your phone or on paper. Each code admits one person, once.',
  when: 'When',
  doors: 'Doors open at {{event.doorsAt}}',
  where: 'Where',
  more: 'About the event',
  help: 'Can’t make it? Write to @, and we will offer your place to someone on the waiting list.',
};

const pt: typeof en = {
  subject: 'Os seus bilhetes para {{event.name}}',
  preheader: '{{event.startsAt}}, {{event.venue}}',
  title: 'Até breve: {{event.name}}',
  intro: 'Mostre um código à entrada, no telemóvel ou em papel. Cada código dá entrada a uma pessoa, uma vez.',
  when: 'Quando',
  doors: 'Portas abertas a partir das {{event.doorsAt}}',
  where: 'Onde',
  more: 'Sobre o evento',
  help: 'Não pode vir? Escreva para @, e o seu lugar fica para alguém da lista de espera.',
};

export const ticket = emailInLanguages(
  {
    slug: 'ticket',
    name: 'Tickets',
    description: 'The tickets for an event, a QR code each. Attach ticket: it takes the same variables and prints one on each sheet.',
    locale: 'en-GB',
    timeZone: 'Europe/Lisbon',
    exampleVariables: exampleTickets,
  },
  { own: en, others: { pt } },
  (text) => ({
    subject: text.subject,
    variables: [...ticketVariables, logoVariable],
    schema: {
      props: { preheader: text.preheader, linkColor: BRAND.main },
      sections: [
        logoHeader,
        {
          id: 'main',
          type: 'main',
          components: [
            rich('title', `<h1>${text.title}</h1><p>${text.intro}</p>`),
            {
              id: 'when-and-where',
              type: 'columns',
              props: { widths: ['50%', '50%'], gap: 24 },
              children: [
                rich('when', `<h4>${text.when}</h4><p>{{event.startsAt}}<br>${text.doors}</p>`, { fontSize: 15, hideWhenEmpty: 'lines' }),
                rich('where', `<h4>${text.where}</h4><p>{{event.venue}}<br>{{event.street}}<br>{{event.city}}</p>`, {
                  fontSize: 15,
                  hideWhenEmpty: 'lines',
                }),
              ],
            },
            {
              id: 'each',
              type: 'loop',
              props: { dataSource: 'tickets', itemVariable: 'one' },
              children: [
                {
                  id: 'box',
                  type: 'container',
                  props: { border: '1px solid #e5e7eb', borderRadius: 8, padding: '20px 16px', align: 'center' },
                  children: [
                    { id: 'code', type: 'qr-code', props: { value: '{{one.code}}', size: 180, errorCorrection: 'Q', align: 'center' } },
                    rich('holder', '<p style="font-size:18px"><strong>{{one.holder}}</strong></p><p>{{one.kind}}<br>{{one.seat}}</p>', {
                      align: 'center',
                      hideWhenEmpty: 'lines',
                    }),
                    rich('number', '<p>{{one.code}}</p>', { ...SMALL, align: 'center' }),
                  ],
                },
              ],
            },
            { id: 'more', type: 'button', content: text.more, props: { href: '{{event.url}}', hideWhenEmpty: true } },
          ],
        },
        footerWith(helpLine(text.help)),
      ],
    },
  }),
);

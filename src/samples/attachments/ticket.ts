/** Tickets, one on each sheet: what, when and where, who, and the code that is scanned at the door. */
import { BRAND, documentInLanguages, exampleLogo } from '../sample.js';
import { exampleTickets, ticketVariables } from '../ticket.js';
import { FINE_PRINT, logoVariable, rich } from './sample.js';

const en = {
  name: 'Ticket {{event.name}}',
  page: 'Ticket',
  when: 'When',
  doors: 'Doors open at {{event.doorsAt}}',
  where: 'Where',
  who: 'Admits',
  terms:
    'Admits one person, once. Do not share the code: the first person to show it gets in. Tickets can be returned until two days before the event; write to {{__COMPANY_EMAIL__}}.',
};

const pt: typeof en = {
  name: 'Bilhete {{event.name}}',
  page: 'Bilhete',
  when: 'Quando',
  doors: 'Portas abertas a partir das {{event.doorsAt}}',
  where: 'Onde',
  who: 'Entrada para',
  terms:
    'Dá entrada a uma pessoa, uma vez. Não mostre o código a mais ninguém: entra quem o mostrar primeiro. Aceitamos devoluções até dois dias antes; escreva para {{__COMPANY_EMAIL__}}.',
};

const label = (words: string): string => `<p style="font-size:8pt;color:${BRAND.accentInk}">${words}</p>`;

const PAPER = '#f7faf9';

// A band at the left, and a line where the ticket is torn.
const band =
  `data:image/svg+xml;utf8,<svg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%20210%20148'><rect%20width='8'%20height='148'%20fill='%23${BRAND.dark.slice(1)}'/>` +
  `<rect%20x='8'%20width='202'%20height='148'%20fill='%23${PAPER.slice(1)}'/><path%20d='M142%2010v128'%20stroke='%239ca3af'%20stroke-width='.5'%20stroke-dasharray='2%202'/></svg>`;

export const ticketSample = documentInLanguages(
  {
    slug: 'ticket',
    description: 'A ticket for each guest, on sheets of A5 in landscape.',
    locale: 'en-GB',
    timeZone: 'Europe/Lisbon',
    exampleVariables: { ...exampleTickets, logo: exampleLogo },
  },
  { own: en, others: { pt } },
  (text) => ({
    name: text.name,
    variables: [...ticketVariables, logoVariable],
    schema: {
      outputFormats: ['pdf'],
      pages: [
        {
          pageId: 'ticket',
          pageName: text.page,
          pageSettings: {
            format: 'A5',
            orientation: 'landscape',
            margin: { top: '12mm', right: '10mm', bottom: '10mm', left: '18mm' },
            backgroundImage: { src: band },
          },
          sections: [
            {
              id: 'main',
              type: 'main',
              components: [
                {
                  id: 'each',
                  type: 'loop',
                  props: { dataSource: 'tickets', itemVariable: 'one', indexVariable: 'at' },
                  children: [
                    {
                      id: 'ticket',
                      type: 'columns',
                      props: { widths: ['68%', '32%'], gap: 24, pageBreak: 'before' },
                      children: [
                        {
                          id: 'about',
                          type: 'container',
                          children: [
                            {
                              id: 'event',
                              type: 'container',
                              props: { minHeight: 130 },
                              children: [
                                rich(
                                  'name',
                                  `<h1 style="font-size:26pt;color:${BRAND.dark}">{{event.name}}</h1><p style="font-size:12pt">{{event.subtitle}}</p>`,
                                  { hideWhenEmpty: 'lines' },
                                ),
                              ],
                            },
                            {
                              id: 'when-and-where',
                              type: 'container',
                              props: { minHeight: 118 },
                              children: [
                                {
                                  id: 'facts',
                                  type: 'columns',
                                  props: { widths: ['50%', '50%'], gap: 16 },
                                  children: [
                                    rich('when', `${label(text.when)}<p><strong>{{event.startsAt}}</strong><br>${text.doors}</p>`, {
                                      fontSize: 12,
                                      hideWhenEmpty: 'lines',
                                    }),
                                    rich(
                                      'where',
                                      `${label(text.where)}<p><strong>{{event.venue}}</strong><br>{{event.street}}<br>{{event.city}}</p>`,
                                      { fontSize: 12, hideWhenEmpty: 'lines' },
                                    ),
                                  ],
                                },
                              ],
                            },
                            { id: 'rule', type: 'divider', props: { color: '#d6d3d1', margin: '0 0 12pt' } },
                            {
                              id: 'organizer',
                              type: 'columns',
                              props: { widths: ['84%', '16%'], gap: 12 },
                              children: [
                                rich(
                                  'terms',
                                  `<p style="font-size:11pt"><strong>{{__COMPANY_NAME__}}</strong></p><p style="${FINE_PRINT}">${text.terms}</p>`,
                                ),
                                {
                                  id: 'logo',
                                  type: 'image',
                                  props: { src: '{{logo}}', alt: '{{__COMPANY_NAME__}}', height: 40, align: 'end', hideWhenEmpty: true },
                                },
                              ],
                            },
                          ],
                        },
                        {
                          id: 'stub',
                          type: 'container',
                          props: { align: 'center' },
                          children: [
                            {
                              id: 'code',
                              type: 'qr-code',
                              props: {
                                value: '{{one.code}}',
                                size: 150,
                                errorCorrection: 'Q',
                                align: 'center',
                                backgroundColor: PAPER,
                              },
                            },
                            rich('number', '<p style="font-size:9pt">{{one.code}}</p>', { align: 'center' }),
                            rich(
                              'who',
                              `${label(text.who)}<p style="font-size:14pt"><strong>{{one.holder}}</strong></p><p style="font-size:12pt">{{one.kind}}<br>{{one.seat}}</p>`,
                              { align: 'center', hideWhenEmpty: 'lines' },
                            ),
                          ],
                        },
                      ],
                    },
                  ],
                },
              ],
            },
          ],
        },
      ],
    },
  }),
);

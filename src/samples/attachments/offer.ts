/** An offer: a cover page, then the letter with its items, sums, terms and a place to sign. */
import { BRAND, documentInLanguages, exampleLogo } from '../sample.js';
import { exampleOffer, offerVariables } from '../offer.js';
import { moneyOf } from '../sums-table.js';
import { imprint, letterhead, logoVariable, rich, sumsTable } from './sample.js';

const money = moneyOf('offer');
const widths = ['54%', '12%', '17%', '17%'] as const;

const en = {
  name: 'Offer {{offer.number}}',
  cover: 'Cover',
  kind: 'Offer',
  for: 'For',
  from: 'From',
  until: 'Valid until {{offer.validUntil}}',
  numberAndDay: 'Offer {{offer.number}}, {{offer.date}}',
  greeting: 'Hello {{customer.name}},',
  item: 'Item',
  quantity: 'Quantity',
  price: 'Price',
  amount: 'Amount',
  noItems: 'This offer has no items.',
  sums: { subtotal: 'Subtotal', shipping: 'Delivery', discount: 'Discount', tax: 'VAT', total: 'Total' },
  terms: 'Delivery and payment',
  validity: 'This offer is valid until <strong>{{offer.validUntil}}</strong>. Prices in the table are without VAT.',
  accept: 'Accepted',
  day: 'Place and date',
  signature: 'Signature',
  pages: 'Page {{pageNumber}} of {{totalPages}}',
};

const de: typeof en = {
  name: 'Angebot {{offer.number}}',
  cover: 'Titelblatt',
  kind: 'Angebot',
  for: 'Für',
  from: 'Von',
  until: 'Gültig bis {{offer.validUntil}}',
  numberAndDay: 'Angebot {{offer.number}}, {{offer.date}}',
  greeting: 'Guten Tag {{customer.name}},',
  item: 'Leistung',
  quantity: 'Menge',
  price: 'Preis',
  amount: 'Betrag',
  noItems: 'Dieses Angebot enthält keine Posten.',
  sums: { subtotal: 'Zwischensumme', shipping: 'Lieferung', discount: 'Rabatt', tax: 'MwSt.', total: 'Gesamtbetrag' },
  terms: 'Lieferung und Zahlung',
  validity: 'Dieses Angebot gilt bis zum <strong>{{offer.validUntil}}</strong>. Die Preise in der Tabelle verstehen sich ohne MwSt.',
  accept: 'Angenommen',
  day: 'Ort und Datum',
  signature: 'Unterschrift',
  pages: 'Seite {{pageNumber}} von {{totalPages}}',
};

// A dark upper part with a curve, so that the title stands on colour and the facts on white: what stands on it has a least height, which no
// missing logo changes.
const cover =
  `data:image/svg+xml;utf8,<svg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%20210%20297'><path%20d='M0%200h210v182q-80%2034-210%200z'%20fill='%23${BRAND.dark.slice(1)}'/>` +
  `<path%20d='M0%20190q130%2034%20210%200v-5q-80%2034-210%200z'%20fill='%23${BRAND.accent.slice(1)}'/></svg>`;

export const offerSample = documentInLanguages(
  {
    slug: 'offer',
    description: 'A cover page, the letter with items and sums, and a place to sign. draft, when it is given, stands across the sheets.',
    locale: 'en-GB',
    timeZone: 'Europe/Lisbon',
    exampleVariables: { ...exampleOffer, logo: exampleLogo },
  },
  { own: en, others: { de } },
  (text) => ({
    name: text.name,
    variables: [
      ...offerVariables,
      { name: 'draft', type: 'string', description: 'A word across the sheets, such as DRAFT', defaultValue: '' },
      logoVariable,
    ],
    schema: {
      outputFormats: ['pdf'],
      pages: [
        {
          pageId: 'cover',
          pageName: text.cover,
          pageSettings: {
            format: 'A4',
            margin: { top: '30mm', right: '24mm', bottom: '24mm', left: '24mm' },
            backgroundImage: { src: cover },
            watermark: { text: '{{draft}}' },
          },
          sections: [
            {
              id: 'cover-main',
              type: 'main',
              components: [
                {
                  id: 'on-colour',
                  type: 'container',
                  props: { minHeight: 512 },
                  children: [
                    {
                      id: 'sender',
                      type: 'container',
                      props: { minHeight: 190 },
                      children: [
                        {
                          id: 'logo-room',
                          type: 'container',
                          props: { minHeight: 56 },
                          children: [
                            {
                              id: 'logo',
                              type: 'image',
                              props: { src: '{{logo}}', alt: '{{__COMPANY_NAME__}}', height: 56, hideWhenEmpty: true },
                            },
                          ],
                        },
                        rich('brand', '<p style="font-size:16pt;color:#ffffff"><strong>{{__COMPANY_NAME__}}</strong></p>'),
                      ],
                    },
                    rich(
                      'cover-title',
                      `<p style="font-size:16pt;color:#fcd34d">${text.kind} {{offer.number}}</p><h1 style="font-size:34pt;color:#ffffff">{{offer.title}}</h1><p style="font-size:14pt;color:#ffffff">{{offer.date}}</p>`,
                    ),
                  ],
                },
                {
                  id: 'for-and-from',
                  type: 'columns',
                  props: { widths: ['50%', '50%'], gap: 24 },
                  children: [
                    rich(
                      'for',
                      `<p style="color:#6b7280">${text.for}</p><p style="font-size:13pt"><strong>{{customer.name}}</strong><br>{{customer.company}}</p>`,
                      {
                        hideWhenEmpty: 'lines',
                      },
                    ),
                    rich(
                      'from',
                      `<p style="color:#6b7280">${text.from}</p><p style="font-size:13pt"><strong>{{author.name}}</strong><br>{{__COMPANY_NAME__}}</p><p>${text.until}</p>`,
                    ),
                  ],
                },
              ],
            },
          ],
        },
        {
          pageId: 'offer',
          pageName: text.kind,
          pageSettings: {
            format: 'A4',
            margin: { top: '22mm', right: '20mm', bottom: '24mm', left: '20mm' },
            firstPageHeader: letterhead,
            header: { content: '<p style="font-size:8pt;color:#6b7280">{{__COMPANY_NAME__}} · {{offer.number}}</p>', align: 'end' },
            footer: imprint(text.pages),
            watermark: { text: '{{draft}}' },
          },
          sections: [
            {
              id: 'letter',
              type: 'main',
              components: [
                rich(
                  'address',
                  '<p><strong>{{customer.name}}</strong><br>{{customer.company}}<br>{{customer.street}}<br>{{customer.city}}<br>{{customer.country}}</p>',
                  { padding: '4pt 0 8pt 0', hideWhenEmpty: 'lines' },
                ),
                rich('title', `<h1>{{offer.title}}</h1><p style="color:#6b7280">${text.numberAndDay}</p>`),
                rich('intro', `<p>${text.greeting}</p><p>{{offer.intro}}</p>`, { hideWhenEmpty: 'lines' }),
                {
                  id: 'items',
                  type: 'table',
                  props: {
                    dataSource: 'lines',
                    itemVariable: 'line',
                    headerBackgroundColor: BRAND.dark,
                    headerColor: '#ffffff',
                    emptyText: text.noItems,
                    keepWithNext: true,
                    columns: [
                      { header: text.item, content: '{{line.title}}', width: widths[0] },
                      { header: text.quantity, content: '{{line.quantity}}', width: widths[1], align: 'end' },
                      { header: text.price, content: '{{line.price}}', width: widths[2], align: 'end', format: money },
                      { header: text.amount, content: '{{line.total}}', width: widths[3], align: 'end', format: money },
                    ],
                  },
                },
                ...sumsTable(widths, text.sums, 'offer.taxRate'),
                rich('terms', `<h3>${text.terms}</h3><p>{{offer.terms}}</p><p>${text.validity}</p>`, { hideWhenEmpty: 'lines' }),
                {
                  id: 'author',
                  type: 'columns',
                  props: { widths: ['50%', '50%'], gap: 24, keepTogether: true, keepWithNext: true },
                  children: [
                    rich('author-name', '<p><strong>{{author.name}}</strong><br>{{author.role}}</p>', { hideWhenEmpty: 'lines' }),
                    rich('author-reach', '<p>{{author.email}}<br>{{author.phone}}</p>', { hideWhenEmpty: 'lines' }),
                  ],
                },
                {
                  id: 'signing',
                  type: 'container',
                  props: { border: '0.75pt solid #d1d5db', padding: '10pt', keepTogether: true },
                  children: [
                    rich('accept', `<p><strong>${text.accept}</strong></p>`),
                    { id: 'room', type: 'spacer', props: { height: 24 } },
                    {
                      id: 'lines-to-sign',
                      type: 'columns',
                      props: { widths: ['50%', '50%'], gap: 24 },
                      children: [
                        {
                          id: 'day',
                          type: 'container',
                          children: [
                            { id: 'day-line', type: 'divider', props: { color: '#1f2937', margin: 0 } },
                            rich('day-label', `<p style="font-size:8pt;color:#6b7280">${text.day}</p>`, { padding: '3pt 0 0' }),
                          ],
                        },
                        {
                          id: 'signature',
                          type: 'container',
                          children: [
                            { id: 'signature-line', type: 'divider', props: { color: '#1f2937', margin: 0 } },
                            rich('signature-label', `<p style="font-size:8pt;color:#6b7280">${text.signature}</p>`, { padding: '3pt 0 0' }),
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

/** An invoice over an order, as PDF to be paid and as Excel to be booked: the sums are those of the order's confirmation. */
import { BRAND, documentInLanguages, exampleLogo } from '../sample.js';
import type { JsonObject } from '../../domain/core/json.js';
import { exampleCustomer, exampleOrder, orderVariable } from '../order-confirmation.js';
import { moneyOf, sumsOf } from '../sums-table.js';
import { FINE_PRINT, imprint, letterhead, logoVariable, rich, sumsTable } from './sample.js';

const money = moneyOf('order');
const widths = ['16%', '42%', '12%', '15%', '15%'] as const;

const invoice: JsonObject = { number: 'INV-2026-0417', issuedAt: '2026-11-21', dueAt: '2026-12-05' };
const seller: JsonObject = {
  vatId: 'PT 500 000 000',
  iban: 'PT50 0002 0123 1234 5678 9015 4',
  bank: 'Banco Exemplo',
};

const en = {
  name: 'Invoice',
  title: 'Invoice',
  issued: 'Date',
  due: 'Due',
  order: 'Order',
  customerVat: 'VAT {{customer.vatId}}',
  article: 'Article',
  item: 'Description',
  quantity: 'Quantity',
  price: 'Price',
  amount: 'Amount',
  noItems: 'This invoice has no items.',
  sums: { subtotal: 'Subtotal', shipping: 'Shipping', discount: 'Discount', tax: 'VAT', total: 'Total' },
  pay: 'Please pay <strong>{{total}}</strong> by <strong>{{invoice.dueAt}}</strong> quoting invoice {{invoice.number}}.',
  account: 'IBAN {{seller.iban}}<br>BIC {{seller.bic}}<br>{{seller.bank}}',
  scan: 'Your banking app reads the code at the foot of the first page of the PDF.',
  thanks: 'Thank you for your order.',
  sellerVat: 'Our VAT number',
  imprint: 'VAT {{seller.vatId}} · IBAN {{seller.iban}} · {{__COMPANY_EMAIL__}}',
  pages: 'Page {{pageNumber}} of {{totalPages}}',
};

const de: typeof en = {
  name: 'Rechnung',
  title: 'Rechnung',
  issued: 'Datum',
  due: 'Zahlbar bis',
  order: 'Bestellung',
  customerVat: 'USt-IdNr. {{customer.vatId}}',
  article: 'Artikelnr.',
  item: 'Bezeichnung',
  quantity: 'Menge',
  price: 'Preis',
  amount: 'Betrag',
  noItems: 'Diese Rechnung enthält keine Posten.',
  sums: { subtotal: 'Zwischensumme', shipping: 'Versand', discount: 'Rabatt', tax: 'MwSt.', total: 'Gesamtbetrag' },
  pay: 'Bitte zahlen Sie <strong>{{total}}</strong> bis zum <strong>{{invoice.dueAt}}</strong> und geben Sie die Rechnungsnummer {{invoice.number}} an.',
  account: 'IBAN {{seller.iban}}<br>BIC {{seller.bic}}<br>{{seller.bank}}',
  scan: 'Ihre Banking-App liest den Code am Fuß der ersten Seite der PDF-Datei.',
  thanks: 'Vielen Dank für Ihre Bestellung.',
  sellerVat: 'Unsere USt-IdNr.',
  imprint: 'USt-IdNr. {{seller.vatId}} · IBAN {{seller.iban}} · {{__COMPANY_EMAIL__}}',
  pages: 'Seite {{pageNumber}} von {{totalPages}}',
};

const string = { type: 'string' } as const;
const day = { type: 'date', required: true, format: { style: 'date', dateStyle: 'long' } } as const;

export const invoiceSample = documentInLanguages(
  {
    slug: 'invoice',
    description: 'Items, tax and total of an order, payable by a date and by a code that a bank scans; as PDF and as Excel.',
    locale: 'en-GB',
    timeZone: 'Europe/Lisbon',
    exampleVariables: { invoice, seller, customer: exampleCustomer, order: exampleOrder, logo: exampleLogo },
  },
  { own: en, others: { de } },
  (text) => ({
    name: text.name,
    variables: [
      {
        name: 'invoice',
        type: 'object',
        required: true,
        description: 'Number and dates',
        defaultValue: invoice,
        schema: { type: 'object', properties: { number: { ...string, required: true }, issuedAt: day, dueAt: day } },
      },
      {
        name: 'seller',
        type: 'object',
        required: true,
        description: 'Who is paid: required, so that no invoice leaves with the account of an example',
        defaultValue: seller,
        schema: {
          type: 'object',
          properties: { vatId: { ...string, required: true }, iban: { ...string, required: true }, bic: string, bank: string },
        },
      },
      {
        name: 'customer',
        type: 'object',
        required: true,
        description: 'Who pays',
        defaultValue: exampleCustomer,
        schema: {
          type: 'object',
          properties: {
            name: { ...string, required: true },
            company: string,
            street: string,
            city: string,
            country: string,
            vatId: string,
          },
        },
      },
      orderVariable,
      logoVariable,
      ...sumsOf('order'),
      {
        name: 'payableTo',
        type: 'string',
        description: 'The account in the payment code: none where the order is not in euros, or nothing is to be paid',
        isCalculated: true,
        expression: "order.currency === 'EUR' && total > 0 ? seller.iban : ''",
      },
    ],
    schema: {
      outputFormats: ['pdf', 'excel'],
      pages: [
        {
          pageId: 'invoice',
          pageName: text.name,
          pageSettings: {
            format: 'A4',
            margin: { top: '20mm', right: '20mm', bottom: '26mm', left: '20mm' },
            header: { content: `<p style="${FINE_PRINT}">{{__COMPANY_NAME__}} · {{invoice.number}}</p>`, align: 'end' },
            firstPageHeader: letterhead,
            footer: imprint(text.pages, text.imprint),
            firstPageFooter: {
              ...imprint(text.pages, text.imprint),
              code: {
                kind: 'epc',
                name: '{{__COMPANY_LEGAL_NAME__}}',
                iban: '{{payableTo}}',
                bic: '{{seller.bic}}',
                amount: '{{total}}',
                text: '{{invoice.number}}',
                size: 80,
                hideWhenEmpty: true,
              },
            },
            sheet: { fitToWidth: true },
          },
          sections: [
            {
              id: 'head',
              type: 'header',
              components: [
                rich(
                  'payer',
                  '<p><strong>{{customer.name}}</strong><br>{{customer.company}}<br>{{customer.street}}<br>{{customer.city}}<br>{{customer.country}}<br>' +
                    `${text.customerVat}</p>`,
                  { padding: '10pt 0 14pt 0', hideWhenEmpty: 'lines' },
                ),
                rich('title', `<h1>${text.title} {{invoice.number}}</h1>`),
                {
                  id: 'facts',
                  type: 'table',
                  props: {
                    border: false,
                    headerColor: '#6b7280',
                    cellPadding: '2pt 6pt',
                    columns: [
                      { header: text.issued, width: '27%' },
                      { header: text.due, width: '27%' },
                      { header: text.order, width: '22%' },
                      { header: text.sellerVat, width: '24%' },
                    ],
                    rows: [['{{invoice.issuedAt}}', '<strong>{{invoice.dueAt}}</strong>', '{{order.number}}', '{{seller.vatId}}']],
                  },
                },
              ],
            },
            {
              id: 'main',
              type: 'main',
              components: [
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
                    // A thousand lines of one line each are within the pages that a PDF may have.
                    cellPadding: '2.2pt 6pt',
                    columns: [
                      { header: text.article, content: '{{line.sku}}', width: widths[0], hideWhenEmpty: true },
                      { header: text.item, content: '{{line.title}}', width: widths[1] },
                      { header: text.quantity, content: '{{line.quantity}}', width: widths[2], align: 'end' },
                      { header: text.price, content: '{{line.price}}', width: widths[3], align: 'end', format: money },
                      { header: text.amount, content: '{{line.total}}', width: widths[4], align: 'end', format: money },
                    ],
                  },
                },
                ...sumsTable(widths, text.sums, 'order.taxRate'),
                rich('terms', `<p>${text.pay}</p><p>${text.account}</p>`, {
                  padding: '10pt 0 0 0',
                  keepWithNext: true,
                  hideWhenEmpty: 'lines',
                }),
                {
                  id: 'payable',
                  type: 'conditional',
                  props: { condition: 'payableTo', operator: '!=', value: '' },
                  children: [rich('scan', `<p>${text.scan}</p>`)],
                },
                rich('thanks', `<p>${text.thanks}</p>`),
              ],
            },
          ],
        },
      ],
    },
  }),
);

/**
 * The limits for documents: the same invoice written by hand for pdfmake, the same table by hand through exceljs'
 * streaming writer.
 */
import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import ExcelJS from 'exceljs';
import pdfmake from 'pdfmake';
import type { TDocumentDefinitions } from 'pdfmake/interfaces.js';
import { SALES_COLUMNS, type Invoice, type Sale } from '../support/documents.js';

const roboto = (style: string): string =>
  createRequire(import.meta.url).resolve(`pdfmake/fonts/Roboto/Roboto-${style}.ttf`);

pdfmake.setFonts({
  Roboto: {
    normal: roboto('Regular'),
    bold: roboto('Medium'),
    italics: roboto('Italic'),
    bolditalics: roboto('MediumItalic'),
  },
});
pdfmake.setUrlAccessPolicy(() => false);
pdfmake.setLocalAccessPolicy((path) => path.endsWith('.ttf'));

const money = new Intl.NumberFormat('en-GB', { style: 'currency', currency: 'EUR' });
const long = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

const LINE_COLOR = '#d1d5db';
const LINE_HEIGHT = 1.4 / 1.172;

/** As ours draws it: the same texts, sizes, lines and colours. */
const definition = ({ invoice, customer, lines, total }: Invoice): TDocumentDefinitions => ({
  pageSize: 'A4',
  pageMargins: [50, 60, 50, 60],
  defaultStyle: { font: 'Roboto', fontSize: 11, lineHeight: LINE_HEIGHT, color: '#1f2937' },
  info: { title: 'Invoice', author: 'Northwind Coffee' },
  footer: (page, pages) => ({
    text: `Northwind Coffee, page ${page} of ${pages}`,
    alignment: 'center',
    fontSize: 9,
    color: '#6b7280',
    margin: [50, 20, 50, 0],
  }),
  content: [
    { text: `Invoice ${invoice.number}`, fontSize: 22, bold: true, margin: [0, 0, 0, 10] },
    {
      text: `Issued on ${long.format(new Date(invoice.issuedAt))}, due on ${long.format(new Date(invoice.dueAt))}`,
      color: '#6b7280',
      margin: [0, 0, 0, 10],
    },
    {
      columns: [
        { text: [{ text: customer.name, bold: true }, `\n${customer.street}\n${customer.city}\n${customer.country}`] },
        { text: [{ text: 'Northwind Coffee', bold: true }, '\nRua do Sol 3\n1200-001 Lisboa\nPortugal'] },
      ],
      columnGap: 20,
      margin: [0, 0, 0, 10],
    },
    {
      table: {
        headerRows: 1,
        widths: ['15%', '43%', '12%', '15%', '15%'],
        body: [
          ['Article', 'Description', 'Quantity', 'Price', 'Total'].map((text, column) => ({
            text,
            bold: true,
            color: '#ffffff',
            fillColor: '#0f3d3a',
            alignment: column > 1 ? ('right' as const) : ('left' as const),
          })),
          ...lines.map((line) => [
            { text: line.sku },
            { text: line.name },
            { text: String(line.quantity), alignment: 'right' as const },
            { text: money.format(line.price), alignment: 'right' as const },
            { text: money.format(line.total), alignment: 'right' as const },
          ]),
        ],
      },
      layout: {
        hLineWidth: (line) => (line === 0 ? 0 : 0.75),
        vLineWidth: () => 0,
        hLineColor: () => LINE_COLOR,
        paddingLeft: () => 6,
        paddingRight: () => 6,
        paddingTop: () => 4,
        paddingBottom: () => 4,
        fillColor: (row) => (row > 0 && row % 2 === 0 ? '#f9fafb' : null),
      },
      fontSize: 10.45,
      lineHeight: 1.3 / 1.172,
      margin: [0, 0, 0, 10],
    },
    { text: `Total ${money.format(total)}`, bold: true, alignment: 'right', margin: [0, 0, 0, 10] },
    {
      text: [
        `Please pay by ${long.format(new Date(invoice.dueAt))} and name the invoice ${invoice.number}. `,
        { text: 'Thank you for your order.', italics: true },
      ],
    },
  ],
});

/** In: the variables of the invoice. Out: the file. */
export const pdfByHand = async (variables: Invoice): Promise<Uint8Array> =>
  pdfmake.createPdf(definition(variables)).getBuffer();

const formats: Readonly<Partial<Record<(typeof SALES_COLUMNS)[number], string>>> = {
  placedAt: 'dd/mm/yyyy',
  paidAt: 'dd/mm/yyyy',
  price: '[$€-809]#,##0.00',
  total: '[$€-809]#,##0.00',
  discount: '0%',
};

/** In: the rows. Out: the file: types, number formats, widths, a frozen and filtered header. */
export const workbookByHand = async (sales: readonly Sale[]): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  const stream = new Writable({
    write: (chunk: Uint8Array, _encoding, done) => {
      chunks.push(chunk);
      done();
    },
  });
  const workbook = new ExcelJS.stream.xlsx.WorkbookWriter({ stream, useStyles: true, useSharedStrings: false });
  const sheet = workbook.addWorksheet('Sales', { views: [{ state: 'frozen', ySplit: 1 }] });
  sheet.columns = SALES_COLUMNS.map((name) => ({
    key: name,
    width: 14,
    ...(formats[name] === undefined ? {} : { style: { numFmt: formats[name] } }),
  }));
  const header = sheet.addRow([...SALES_COLUMNS]);
  header.eachCell((cell) => {
    cell.font = { bold: true, color: { argb: 'ffffffff' } };
    cell.fill = { type: 'pattern', pattern: 'solid', fgColor: { argb: 'ff0f3d3a' } };
  });
  header.commit();
  for (const sale of sales) {
    sheet
      .addRow(
        SALES_COLUMNS.map((name) => (name === 'placedAt' || name === 'paidAt' ? new Date(sale[name]) : sale[name])),
      )
      .commit();
  }
  sheet.autoFilter = { from: { row: 1, column: 1 }, to: { row: sales.length + 1, column: SALES_COLUMNS.length } };
  sheet.commit();
  await workbook.commit();
  return Buffer.concat(chunks);
};

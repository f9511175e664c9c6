/** The largest documents that the limits allow, from the send call over the relay to the recipient, who opens them. */
import t from 'tap';
import PostalMime from 'postal-mime';
import { defaultLimits as limits } from '../../src/domain/core/limits.js';
import { sampleAttachment } from '../support/samples.js';
import { readWorkbook } from '../adapters/render/excel/xlsx.js';
import { signInVariables, startTestApp } from '../support/app.js';
import { temporaryDirectory } from '../support/data-directory.js';
import { attachmentOf } from '../support/documents.js';
import { readPdf } from '../support/read-pdf.js';
import { openSmtpInbox } from '../support/smtp-inbox.js';
import { eventually } from '../support/wait.js';

t.setTimeout(900_000);
/** On a machine that does much else beside. */
const DELIVERED_WITHIN_MS = 240_000;

const inbox = await openSmtpInbox(t);
const app = await startTestApp({ dataDir: temporaryDirectory(t), settings: { SEALPOST_SMTP_URL: inbox.url } });
t.teardown(() => app.stop());

/** Sends a document and gives the file as its recipient has it. */
const received = async (attachment: Readonly<Record<string, unknown>>): Promise<Uint8Array> => {
  const before = inbox.messages.length;
  const { id } = await app.send(
    { variables: signInVariables, attachments: [attachment] },
    { 'idempotency-key': JSON.stringify(before) },
  );
  const message = await eventually(
    'the mail is at the relay',
    async () => {
      const { status, failureReason } = (await app.email(id)) as Readonly<{ status: string; failureReason?: unknown }>;
      if (status === 'failed') throw new Error(`the email failed: ${JSON.stringify(failureReason)}`);
      return inbox.messages[before];
    },
    DELIVERED_WITHIN_MS,
  );
  const [file] = (await PostalMime.parse(Buffer.from(message, 'latin1'))).attachments;
  if (!(file?.content instanceof ArrayBuffer)) throw new Error('the mail has no file');
  return new Uint8Array(file.content);
};

const letters = (column: number): string =>
  column < 26 ? String.fromCharCode(65 + column) : `${letters(Math.floor(column / 26) - 1)}${letters(column % 26)}`;

for (const width of [10, limits.excelColumnsMax])
  void t.test(`a workbook of ${limits.excelRowsMax} rows of ${width} columns`, async (t) => {
    const names = Array.from({ length: width }, (_, at) => `c${at}`);
    const columns = names.map((name) => ({ header: name.toUpperCase(), content: `{{item.${name}}}`, type: 'number' }));
    const template = attachmentOf([{ id: 'table', type: 'table', props: { dataSource: 'rows', columns } }], {
      variables: [{ name: 'rows', type: 'array', required: true }],
      schema: { outputFormats: ['excel'] },
    });
    const slug = `rows-of-${width}`;
    const saved = await app.call('POST', '/api/templates/attachment', { slug, name: slug, ...template, publish: true });
    t.equal(saved.status, 201, saved.text.slice(0, 300));
    const rows = Array.from({ length: limits.excelRowsMax }, (_, row) =>
      Object.fromEntries(names.map((name, at) => [name, row + at / 100])),
    );
    const bytes = await received({ attachmentTemplateId: slug, filename: 'rows.xlsx', variables: { rows } });
    const [sheet] = readWorkbook(bytes).sheets;
    const last = limits.excelRowsMax + 1;
    const lastColumn = letters(width - 1);
    if (sheet === undefined) throw new Error('the workbook has no sheet');
    t.equal(sheet.rows, last, 'all rows under one header');
    t.equal(sheet.cells.size, last * width, 'all cells');
    t.equal(sheet.cells.get(`${lastColumn}1`)?.text, `C${width - 1}`);
    t.match(sheet.cells.get(`A${last}`), { type: 'n', text: String(limits.excelRowsMax - 1) });
    t.match(sheet.cells.get(`${lastColumn}${last}`), {
      type: 'n',
      text: String(limits.excelRowsMax - 1 + (width - 1) / 100),
    });
  });

void t.test(`an invoice of ${limits.loopIterationsMax} lines`, async (t) => {
  const defaults = Object.fromEntries(
    sampleAttachment('invoice').variables.flatMap(({ name, defaultValue }) =>
      defaultValue === undefined ? [] : [[name, defaultValue]],
    ),
  );
  const items = Array.from({ length: limits.loopIterationsMax }, (_, at) => ({
    sku: `A-${at}`,
    name: 'Mug',
    quantity: 2,
    price: 1.5,
  }));
  const order = { ...(defaults['order'] as object), items, shipping: 0, discount: 0 };
  const bytes = await received({
    attachmentTemplateId: 'invoice',
    filename: 'invoice.pdf',
    variables: { ...defaults, order },
  });
  const { sheets } = readPdf(bytes);
  const text = sheets.map(({ lines }) => lines.join('\n')).join('\n');
  t.equal(text.match(/\bA-\d+\b/g)?.length, limits.loopIterationsMax, 'each line once');
  t.match(sheets.at(-1)?.lines.join('\n'), /3,000\.00/, 'the sum stands on the last page');
});

/**
 * Documents: PDF and Excel from our JSON against pdfmake and exceljs fed by hand; what they cost warm, in time and
 * memory; and what send calls notice of a document that is made meanwhile.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ExcelJS from 'exceljs';
import { systemClock } from '../src/adapters/clock/system.js';
import { makeWorkbook } from '../src/adapters/render/excel/make-workbook.js';
import { makePdf } from '../src/adapters/render/pdf/make-pdf.js';
import { openGenerator } from '../src/adapters/render/workers/generator.js';
import { defaultLimits } from '../src/domain/core/limits.js';
import { compileDocument } from '../src/domain/rendering/expand/expand.js';
import { pdfByHand, workbookByHand } from './limits/documents.js';
import { childrenOf, cpuMsOf, statusBytes } from './support/processes.js';
import { sendLatencies } from './support/document-load.js';
import { environment, invoiceContent, invoiceOf, metadata, salesContent, salesOf } from './support/documents.js';
import { machine } from './support/machine.js';
import { comparePairs, median } from './support/pairs.js';
import { figuresOf, report, type Figure } from './support/results.js';
import { withDirectory } from './support/scratch.js';
import { assertDefined, parseTeamId } from '../src/domain/core/ids.js';

const teamId = assertDefined(parseTeamId('11111111-1111-4111-8111-111111111111'), 'team');

const RATIO_PDF = 1.2;
const RATIO_EXCEL = 1.3;
const INVOICE_CPU_MS = 25;
const LONG_PDF_MS = 1_500;
const EXCEL_GROWTH_MB = 150;
/** How much longer the 95th percentile of a send call may be while a document is made. */
const SEND_P95_RATIO = 1.5;

const INVOICE_ROWS = 10;
const LONG_ROWS = 900;
const LONG_PAGES = 30;
const SALES_ROWS = 10_000;
const RUNS = 7;
const MB = 1_000_000;
/** Below this share of the time, the processor was with others, and the wall time says little. */
const CPU_SHARE_MIN = 0.85;
/** If plain calls alone take longer than this, the machine is too busy to compare them with calls beside documents. */
const QUIET_P95_MS = 20;

const never = new AbortController().signal;
const noImages = new Map();

const textOf = (directory: string, file: Uint8Array): string => {
  const path = join(directory, 'document.pdf');
  writeFileSync(path, file);
  return execFileSync('pdftotext', ['-layout', path, '-'], { encoding: 'utf8' });
};
const wordsOf = (text: string): string => text.replace(/\s+/g, ' ').trim();
const pagesOf = (text: string): number => text.split('\f').length - 1;

const comparePdf = async (directory: string) => {
  const variables = invoiceOf(INVOICE_ROWS);
  const expand = compileDocument(invoiceContent(variables), defaultLimits);
  const ours = async (): Promise<Uint8Array> =>
    makePdf(expand(variables, environment, 'pdf'), noImages, metadata, defaultLimits);
  const limit = (): Promise<Uint8Array> => pdfByHand(variables);
  // Both must say the same before their speed means anything.
  const [a, b] = [textOf(directory, await ours()), textOf(directory, await limit())];
  if (wordsOf(a) !== wordsOf(b)) throw new Error(`the two do not say the same:\n${a}\n${b}`);
  if (pagesOf(a) !== 1 || pagesOf(b) !== 1) throw new Error(`not one page each: ${pagesOf(a)} and ${pagesOf(b)}`);
  return comparePairs({ name: 'an invoice of one page as PDF', ours, limit, pairs: 12, operations: 12, warmUp: 60 });
};

const compareExcel = async () => {
  const sales = salesOf(SALES_ROWS);
  const expand = compileDocument(salesContent(), defaultLimits);
  const variables = { sales };
  const ours = async (): Promise<Uint8Array> =>
    makeWorkbook(expand(variables, environment, 'excel'), noImages, metadata, defaultLimits);
  const limit = (): Promise<Uint8Array> => workbookByHand(sales);
  await checkSame(await ours(), await limit());
  return comparePairs({
    name: `${SALES_ROWS} rows and 10 columns as workbook`,
    ours,
    limit,
    pairs: 10,
    operations: 2,
    warmUp: 2,
  });
};

const checkSame = async (ours: Uint8Array, limit: Uint8Array): Promise<void> => {
  const [a, b] = [await cellsOf(ours), await cellsOf(limit)];
  const differing = a.findIndex((cell, at) => cell !== b[at]);
  if (a.length !== b.length || differing >= 0)
    throw new Error(
      `the two do not say the same: ${a.length} and ${b.length} cells, ${a[differing]} and ${b[differing]}`,
    );
};

const cellsOf = async (file: Uint8Array): Promise<readonly string[]> => {
  const workbook = new ExcelJS.Workbook();
  await workbook.xlsx.load(new Uint8Array(file).buffer);
  const cells: string[] = [];
  workbook.worksheets[0]?.eachRow((row) =>
    row.eachCell((cell) => void cells.push(cell.value instanceof Date ? cell.value.toISOString() : String(cell.value))),
  );
  return cells;
};

/** Through the generator, as the service makes them: wall time of long documents and the memory that they take. */
const throughGenerator = async (directory: string): Promise<readonly Figure[]> => {
  const generator = openGenerator({ limits: defaultLimits, clock: systemClock() });
  const workbook = (rows: number): Promise<Uint8Array> =>
    generator
      .make(
        { teamId, content: salesContent(), cacheKey: 'sales', variables: { sales: salesOf(rows) }, environment },
        'excel',
        noImages,
        metadata,
        never,
      )
      .then(({ bytes }) => bytes);
  await workbook(100);
  const [service, [made = 0]] = [process.pid, childrenOf(process.pid)];
  const bytesOf = (name: 'VmRSS' | 'VmHWM'): number => statusBytes(service, name) + statusBytes(made, name);
  const restBytes = bytesOf('VmRSS');
  const excelMs: number[] = [];
  for (let run = 0; run < 3; run += 1) excelMs.push(await timed(() => workbook(SALES_ROWS)));
  const growthBytes = bytesOf('VmHWM') - restBytes;

  const variables = invoiceOf(LONG_ROWS);
  const input = { teamId, content: invoiceContent(variables), cacheKey: 'invoice', variables: variables, environment };
  const pages = pagesOf(textOf(directory, (await generator.make(input, 'pdf', noImages, metadata, never)).bytes));
  if (pages !== LONG_PAGES) throw new Error(`the long invoice has ${pages} pages instead of ${LONG_PAGES}`);
  const cpuFromMs = cpuMsOf(service) + cpuMsOf(made);
  const pdfMs: number[] = [];
  for (let run = 0; run < RUNS; run += 1)
    pdfMs.push(await timed(() => generator.make(input, 'pdf', noImages, metadata, never).then(({ bytes }) => bytes)));
  const cpuMs = (cpuMsOf(service) + cpuMsOf(made) - cpuFromMs) / RUNS;
  await generator.close();
  return [
    {
      what: `PDF of ${LONG_PAGES} pages`,
      value: median(pdfMs),
      unit: 'ms',
      target: { atMost: LONG_PDF_MS },
      counts: cpuMs >= CPU_SHARE_MIN * median(pdfMs),
      note: 'in its process, warm',
    },
    { what: 'its CPU', value: cpuMs, unit: 'ms' },
    { what: `workbook of ${SALES_ROWS} rows`, value: median(excelMs), unit: 'ms', note: 'in its process, warm' },
    {
      what: 'growth of memory by that workbook',
      value: growthBytes / MB,
      unit: 'MB',
      target: { atMost: EXCEL_GROWTH_MB },
    },
  ];
};

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

const run = (): Promise<void> =>
  withDirectory(async (directory) => {
    const generated = await throughGenerator(directory);
    const pdf = await comparePdf(directory);
    const excel = await compareExcel();
    const { alone, beside, documents } = await sendLatencies(join(directory, 'service'), invoiceOf(LONG_ROWS));
    report({
      name: 'documents',
      figures: [
        ...figuresOf(pdf, 'µs/PDF', { atMost: RATIO_PDF }),
        {
          what: 'CPU of a one-page invoice',
          value: pdf.oursUs / 1_000,
          unit: 'ms',
          target: { atMost: INVOICE_CPU_MS },
        },
        ...figuresOf(excel, 'µs/workbook', { atMost: RATIO_EXCEL }),
        ...generated,
        { what: 'send call alone, P95', value: alone.p95Ms, unit: 'ms' },
        {
          what: 'send call beside documents, P95',
          value: beside.p95Ms,
          unit: 'ms',
          note: `${documents} PDFs of ${LONG_PAGES} pages meanwhile`,
        },
        {
          what: 'beside / alone, P95',
          value: beside.p95Ms / alone.p95Ms,
          unit: '',
          target: { atMost: SEND_P95_RATIO },
          counts: alone.p95Ms <= QUIET_P95_MS,
        },
      ],
      machine: machine(),
      details: { pdf, excel, alone, beside },
    });
  });

await run();

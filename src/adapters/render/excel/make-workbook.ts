/** Draws an expanded document as a workbook: sheets are streamed through exceljs, what it cannot stream is put into the package afterwards. */
import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import ExcelJS from 'exceljs';
import type { Limits } from '../../../domain/core/limits.js';
import type { DocumentMetadata, LoadedImage } from '../../../domain/ports/generator.js';
import type { ExpandedDocument, ExpandedTable } from '../../../domain/rendering/expand/expanded.js';
import type { Direction } from '../../../domain/rendering/direction.js';
import { fileTooLarge, tooManyRows, tooManySheets } from '../../../domain/rendering/limit-errors.js';
import { innerWidth } from './component.js';
import { addExtras, finishParts, type SheetExtras } from './extras.js';
import { openBook, type Book, type PlacedBlock } from './formula/book.js';
import type { Scalar } from './formula/values.js';
import { openPackage } from './package.js';
import { pageSetup, printedMargins } from './page-setup.js';
import { prepare } from './registry.js';
import { openSheet, type PlacedData } from './sheet.js';
import { arrange, type Arrangement } from './arrange.js';
import { sheetsOf, type SheetPlan } from './sheets.js';

/**
 * In: a document whose limits of text and items were kept when it was expanded, and its pictures by address. Out: the bytes of
 * an .xlsx file, the same for the same input. Throws DomainError: ERR_LIMIT_003 to 006, VALIDATION_ERROR for a text that no cell
 * holds, GENERATION_FAILED for a picture that a workbook cannot show.
 */
export const makeWorkbook = async (
  document: ExpandedDocument,
  images: ReadonlyMap<string, LoadedImage>,
  metadata: DocumentMetadata,
  limits: Limits,
): Promise<Uint8Array> => {
  const plans = sheetsOf(document);
  if (plans.length > limits.excelSheetsMax) throw tooManySheets(plans.length, limits.excelSheetsMax);
  countRows(plans, limits.excelRowsMax);
  const sink = createSink(limits.documentSizeBytesMax);
  const workbook = new ExcelJS.stream.xlsx.WorkbookWriter({ stream: sink.stream, useStyles: true, useSharedStrings: false });
  const extras: SheetExtras[] = [];
  const sheets: SheetWork[] = [];
  let textRows = 0;
  // A workbook shows at least one sheet.
  const isHidden = (plan: SheetPlan): boolean => plan.page.sheet?.hidden === true && plans.some(({ page }) => page.sheet?.hidden !== true);
  const tables = plans.flatMap(({ components }) => components.flatMap(({ component }) => (component.type === 'table' ? [component] : [])));
  for (const plan of plans) {
    const around = {
      language: document.language,
      limits,
      images,
      tables,
      direction: plan.page.direction,
      pageWidth: innerWidth(plan.page),
    };
    const prepared = plan.components.map(({ component, section }) =>
      prepare(component, { ...around, style: section.style, linkColor: section.linkColor }),
    );
    textRows += prepared.reduce((sum, { kind, rows }) => sum + (kind === 'text' ? rows : 0), 0);
    if (textRows > limits.excelRowsMax) throw tooManyRows(textRows, limits.excelRowsMax);
    sheets.push({ plan, arrangement: arrange(prepared), number: sheets.length + 1, isHidden: isHidden(plan) });
  }
  const book = openBook(sheets.map(({ plan, arrangement }) => ({ name: plan.name, blocks: placed(arrangement) })));
  const data = dataOf(sheets);
  for (const sheet of sheets) extras.push(await writeSheet(workbook, sheet, { book, data }, sink.flush));
  await workbook.commit();
  const parts = openPackage(sink.bytes());
  addExtras(parts, extras);
  finishParts(parts, extras, metadata, book.isOpen());
  const bytes = parts.bytes();
  if (bytes.length > limits.documentSizeBytesMax) throw fileTooLarge('excel', bytes.length, limits.documentSizeBytesMax);
  return bytes;
};

const countRows = (plans: readonly SheetPlan[], max: number): void => {
  let rows = 0;
  for (const { components } of plans) {
    for (const { component } of components) {
      if (component.type === 'table') rows += component.rows.length;
      if (rows > max) throw tooManyRows(rows, max);
    }
  }
};

type SheetWork = Readonly<{ plan: SheetPlan; arrangement: Arrangement; number: number; isHidden: boolean }>;

/** Where the components of a sheet will stand. */
const placed = ({ blocks }: Arrangement): readonly PlacedBlock[] => {
  let next = 1;
  return blocks.map(({ component: { rows, cells }, gap }) => {
    const start = next + gap;
    next = start + rows;
    return { start, rows, cells };
  });
};

/** Where the data of each table will stand. */
const dataOf = (sheets: readonly SheetWork[]): ReadonlyMap<ExpandedTable, PlacedData> =>
  new Map(
    sheets.flatMap(({ plan, arrangement }) => {
      const starts = placed(arrangement);
      return arrangement.blocks.flatMap(({ component: { data } }, at) =>
        data === undefined
          ? []
          : [[data.table, { sheetName: plan.name, first: (starts[at]?.start ?? 1) + data.first, codeOf: data.codeOf }] as const],
      );
    }),
  );

const writeSheet = async (
  workbook: ExcelJS.stream.xlsx.WorkbookWriter,
  { plan, arrangement, number, isHidden }: SheetWork,
  { book, data }: Readonly<{ book: Book; data: ReadonlyMap<ExpandedTable, PlacedData> }>,
  flush: () => Promise<void>,
): Promise<SheetExtras> => {
  const worksheet = workbook.addWorksheet(plan.name, {
    state: isHidden ? 'hidden' : 'visible',
    views: [viewOf(arrangement, plan.page.direction)],
    pageSetup: pageSetup(plan.page),
    headerFooter: printedMargins(plan.page),
  });
  worksheet.columns = arrangement.widths.map((width, at) => ({ width, hidden: arrangement.hidden[at] ?? false }));
  const resultOf = (row: number, column: number): Scalar | undefined => book.resultAt(plan.name, row, column);
  const sheet = openSheet(worksheet, { name: plan.name, widths: arrangement.widths, resultOf, dataOf: (table) => data.get(table), flush });
  for (const { component, gap } of arrangement.blocks) {
    sheet.skip(gap, GAP_POINTS);
    await component.draw(sheet);
  }
  await worksheet.commit();
  const printArea = plan.page.sheet?.printArea;
  return {
    number,
    name: plan.name,
    titleRow: arrangement.frozenRow,
    printArea,
    isHidden,
    gridLines: plan.page.sheet?.gridLines === true,
    links: sheet.links,
    drawings: sheet.drawings,
    dataBars: sheet.dataBars,
  };
};

const GAP_POINTS = 9;

const viewOf = ({ frozenRow }: Arrangement, direction: Direction): Partial<ExcelJS.WorksheetView> => {
  const rightToLeft = direction === 'rtl';
  return frozenRow === undefined ? { state: 'normal', rightToLeft } : { state: 'frozen', xSplit: 0, ySplit: frozenRow, rightToLeft };
};

type Sink = Readonly<{ stream: Writable; flush: () => Promise<void>; bytes: () => Uint8Array }>;

/** Takes the file as it grows, and no more of it than the limit allows. */
const createSink = (maxSizeBytes: number): Sink => {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  const check = (): void => {
    if (sizeBytes > maxSizeBytes) throw fileTooLarge('excel', sizeBytes, maxSizeBytes, false);
  };
  const stream = new Writable({
    write: (chunk: Uint8Array, _encoding, done) => {
      sizeBytes += chunk.length;
      if (sizeBytes <= maxSizeBytes) chunks.push(chunk);
      done();
    },
  });
  return {
    stream,
    flush: async () => {
      check();
      await setImmediate();
    },
    bytes: () => {
      check();
      return Buffer.concat(chunks);
    },
  };
};

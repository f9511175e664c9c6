/**
 * Draws an expanded document as a workbook: exceljs streams the sheets, and what it cannot stream is added to the
 * package afterwards.
 */
import ExcelJS, { type HeaderFooter, type PageSetup } from 'exceljs';
import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import {
  type Prepared,
  type ComponentDrawer,
  type ExcelComponent,
  type ExcelComponentType,
  type ComponentContext,
  innerWidth,
  openSheet,
  quotedName,
  type PlacedData,
} from './sheet.js';
import type {
  ExpandedMargin,
  ExpandedPage,
  Expanded,
  ExpandedDocument,
  ExpandedSection,
  ExpandedTable,
} from '../../../domain/rendering/expand/expanded.js';
import { sideOf, type Direction } from '../../../domain/rendering/direction.js';
import { parseRichTree, treeText } from '../rich-tree.js';
import { chart } from './components/chart.js';
import { heldPictures } from '../pdf/photos.js';
import { image } from './components/pictures.js';
import { richText } from './components/rich-text.js';
import { table } from './components/table.js';
import { DomainError, type FieldError } from '../../../domain/core/errors.js';
import type { Limits } from '../../../domain/core/limits.js';
import type { DocumentMetadata, LoadedImage } from '../../../domain/ports/generator.js';
import { fileTooLarge, tooManyRows, tooManySheets } from '../../../domain/rendering/budget.js';
import { addExtras, finishParts, type SheetExtras, openPackage } from './extras.js';
import { openBook, type Book, type PlacedBlock } from './formula/book.js';
import type { RangeOf, Scalar } from './formula/values.js';

/** The components of a sheet one below the other: gaps, widths of columns, the row that stays in sight. */
type Arrangement = Readonly<{
  blocks: readonly Readonly<{ component: Prepared; /** Empty rows above. */ gap: number }>[];
  /** Widths of all columns, in characters. */
  widths: readonly number[];
  /** True for each column that no table with such a column wants to be seen. */
  hidden: readonly boolean[];
  /** The last row of those that stay in sight; undefined: all scroll. */
  frozenRow: number | undefined;
}>;

type Placed = Readonly<{ component: ExcelComponent; section: ExpandedSection }>;
type SheetPlan = Readonly<{ name: string; page: ExpandedPage; components: readonly Placed[] }>;

type Draft = { name: string | undefined; hasTable: boolean; components: Placed[] };

type SheetWork = Readonly<{ plan: SheetPlan; arrangement: Arrangement; number: number; isHidden: boolean }>;

type Sink = Readonly<{ stream: Writable; flush: () => Promise<void>; bytes: () => Uint8Array }>;

const COLUMN_CHARS = 11;
/** Excel knows no wider column. */
const COLUMN_CHARS_MAX = 255;
/** Titles are merged over as many columns as give a readable line, even above a narrow table. */
const LINE_CHARS_MIN = 50;
/** Frozen rows must leave room for the rows that scroll. */
const FROZEN_ROWS_MAX = 12;

const GAP_POINTS = 9;

const POINTS_PER_INCH = 72;
/** Longest header or footer that Excel takes. */
const MARGIN_CHARS_MAX = 255;

/** Numbers of ECMA-376, 18.3.1.63. */
const paperSizes: Readonly<Record<ExpandedPage['format'], number>> = {
  A3: 8,
  A4: 9,
  A5: 11,
  Letter: 1,
  Legal: 5,
  Tabloid: 3,
};

const ALIGN = { left: '&L', center: '&C', right: '&R' } as const;

const CHARS_MAX = 31;

/** The drawers of the components that the support matrix gives to workbooks: without one, this does not compile. */
const drawers: { readonly [Type in ExcelComponentType]: ComponentDrawer<Type> } = {
  'rich-text': richText,
  image,
  table,
  chart,
};

/**
 * In: a document whose limits of text and items were kept when it was expanded, and its pictures by address. Out: the
 * bytes of an .xlsx file, the same for the same input. Throws DomainError: ERR_LIMIT_003 to 006, VALIDATION_ERROR for a
 * text that no cell holds, GENERATION_FAILED for a picture that a workbook cannot show. `tell` takes what the author
 * should know.
 */
export const makeWorkbook = async (
  document: ExpandedDocument,
  images: ReadonlyMap<string, LoadedImage>,
  metadata: DocumentMetadata,
  limits: Limits,
  tell: (warning: FieldError) => void = () => undefined,
): Promise<Uint8Array> => {
  const pictures = await heldPictures(document, images, 'excel');
  const plans = sheetsOf(document);
  if (plans.length > limits.excelSheetsMax) throw tooManySheets(plans.length, limits.excelSheetsMax);
  countRows(plans, limits.excelRowsMax);
  const sink = createSink(limits.documentSizeBytesMax);
  const workbook = new ExcelJS.stream.xlsx.WorkbookWriter({
    stream: sink.stream,
    useStyles: true,
    useSharedStrings: false,
  });
  const extras: SheetExtras[] = [];
  const sheets: SheetWork[] = [];
  let textRows = 0;
  // A workbook shows at least one sheet.
  const isHidden = (plan: SheetPlan): boolean =>
    plan.page.sheet?.hidden === true && plans.some(({ page }) => page.sheet?.hidden !== true);
  const tables = plans.flatMap(({ components }) =>
    components.flatMap(({ component }) => (component.type === 'table' ? [component] : [])),
  );
  let data: ReadonlyMap<ExpandedTable, PlacedData> = new Map();
  const rangeOf: RangeOf = (id, column) => {
    const table = tables.find((one) => one.id === id);
    const place = table === undefined ? undefined : data.get(table);
    if (table === undefined || place === undefined || table.rows.length === 0) return undefined;
    return `${quotedName(place.sheetName)}!$${column}$${place.first}:$${column}$${place.first + table.rows.length - 1}`;
  };
  for (const plan of plans) {
    const around = {
      language: document.language,
      limits,
      images: pictures,
      tables,
      rangeOf,
      direction: plan.page.direction,
      pageWidth: innerWidth(plan.page),
      tell,
    };
    const prepared = plan.components.map(({ component, section }) =>
      prepare(component, { ...around, style: section.style, linkColor: section.linkColor }),
    );
    const arrangement = arrange(prepared);
    textRows += arrangement.blocks.reduce(
      (sum, { component: { kind, rows } }) => sum + (kind === 'text' ? rows : 0),
      0,
    );
    if (textRows > limits.excelRowsMax) throw tooManyRows(textRows, limits.excelRowsMax);
    sheets.push({ plan, arrangement, number: sheets.length + 1, isHidden: isHidden(plan) });
  }
  const book = openBook(sheets.map(({ plan, arrangement }) => ({ name: plan.name, blocks: placed(arrangement) })));
  data = dataOf(sheets);
  for (const sheet of sheets) extras.push(await writeSheet(workbook, sheet, { book, data }, sink.flush));
  await workbook.commit();
  const parts = openPackage(sink.bytes());
  addExtras(parts, extras);
  finishParts(parts, extras, metadata, book.isOpen());
  const bytes = parts.bytes();
  if (bytes.length > limits.documentSizeBytesMax)
    throw fileTooLarge('excel', bytes.length, limits.documentSizeBytesMax);
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

/**
 * A page's sheet has the page's name, or the name that its first table with `sheetName` gives it; each further name on
 * the page begins a sheet of its own, to which the title right above the table goes along.
 */
const sheetsOf = (document: ExpandedDocument): readonly SheetPlan[] => {
  const plans = document.pages.flatMap(splitPage);
  const names = sheetNames(plans.map(({ name }) => name));
  return plans.map((plan, at) => ({ ...plan, name: names[at] ?? plan.name }));
};

const splitPage = (page: ExpandedPage): readonly SheetPlan[] => {
  let sheet: Draft = { name: undefined, hasTable: false, components: [] };
  const sheets = [sheet];
  for (const { component, section } of page.sections.flatMap((part) =>
    part.components.map((each) => ({ component: each, section: part })),
  )) {
    if (!isDrawn(component))
      throw new DomainError(
        'GENERATION_FAILED',
        `${component.field}: a workbook has no component of type "${component.type}"`,
      );
    const wanted = component.type === 'table' ? component.sheetName?.trim() : undefined;
    if (wanted !== undefined && wanted !== '' && wanted !== sheet.name) {
      if (sheet.name !== undefined || sheet.hasTable) {
        sheet = { name: wanted, hasTable: false, components: sheet.components.splice(titleStart(sheet.components)) };
        sheets.push(sheet);
      }
      sheet.name = wanted;
    }
    sheet.hasTable ||= component.type === 'table';
    sheet.components.push({ component, section });
  }
  return sheets.map(({ name, components }) => ({ name: name ?? page.name, page, components }));
};

const isDrawn = (component: Expanded): component is ExcelComponent => Object.hasOwn(drawers, component.type);

/** The index of the first heading after the last block: from there on, texts belong to the table that follows. */
const titleStart = (components: readonly Placed[]): number => {
  const afterBlocks = components.findLastIndex(({ component }) => component.type !== 'rich-text') + 1;
  const heading = components.findIndex(
    ({ component }, at) => at >= afterBlocks && component.type === 'rich-text' && /<h[1-6][\s>]/i.test(component.html),
  );
  return heading < 0 ? components.length : heading;
};

/** In: a component and its context. Out: the room it takes, and how it draws itself. */
const prepare = (component: ExcelComponent, context: ComponentContext): Prepared => {
  switch (component.type) {
    case 'rich-text':
      return drawers['rich-text'](component, context);
    case 'image':
      return drawers.image(component, context);
    case 'table':
      return drawers.table(component, context);
    case 'chart':
      return drawers.chart(component, context);
  }
};

const arrange = (prepared: readonly Prepared[]): Arrangement => {
  const widths = widthsOf(prepared);
  const fitted = prepared.map((component) => component.fit?.(widths) ?? component);
  return {
    blocks: fitted.map((component, at) => ({ component, gap: gapAbove(fitted, at) })),
    widths,
    hidden: hiddenOf(fitted),
    frozenRow: frozenRowOf(fitted),
  };
};

const gapAbove = (prepared: readonly Prepared[], at: number): number =>
  at === 0 || (prepared[at]?.kind === 'text' && prepared[at - 1]?.kind === 'text') ? 0 : 1;

const widthsOf = (prepared: readonly Prepared[]): readonly number[] => {
  const count = Math.max(0, ...prepared.map(({ widths }) => widths.length));
  const widths = Array.from({ length: count }, (_, column) => {
    const asked = prepared.flatMap(({ widths: own }) => own[column] ?? []);
    return asked.length === 0 ? COLUMN_CHARS : Math.min(COLUMN_CHARS_MAX, Math.max(...asked));
  });
  // Titles are merged over it, and pictures are set left or right in it.
  const needsLine = prepared.some(({ kind, widths: own }) => kind === 'text' || own.length === 0);
  let chars = widths.reduce((sum, width) => sum + width, 0);
  while (needsLine && chars < LINE_CHARS_MIN) {
    widths.push(COLUMN_CHARS);
    chars += COLUMN_CHARS;
  }
  return widths;
};

const hiddenOf = (prepared: readonly Prepared[]): readonly boolean[] => {
  const given = prepared.flatMap(({ hidden }) => (hidden === undefined ? [] : [hidden]));
  const count = Math.max(0, ...given.map(({ length }) => length));
  return Array.from({ length: count }, (_, at) => given.every((hidden) => hidden[at] ?? true));
};

/**
 * The header of the first table where only texts stand above it and it is the first on the sheet, or of one that asks
 * for it.
 */
const frozenRowOf = (prepared: readonly Prepared[]): number | undefined => {
  let row = 0;
  for (const [at, { header, kind, rows }] of prepared.entries()) {
    row += gapAbove(prepared, at);
    if (header !== undefined && (at === 0 || header.freeze))
      return row + header.row <= FROZEN_ROWS_MAX ? row + header.row : undefined;
    if (kind === 'block') return undefined;
    row += rows;
  }
  return undefined;
};

/** The rows in which the components of a sheet will stand. */
const placed = ({ blocks }: Arrangement): readonly PlacedBlock[] => {
  let next = 1;
  return blocks.map(({ component: { rows, cells }, gap }) => {
    const start = next + gap;
    next = start + rows;
    return { start, rows, cells };
  });
};

/** The rows in which the data of each table will stand. */
const dataOf = (sheets: readonly SheetWork[]): ReadonlyMap<ExpandedTable, PlacedData> =>
  new Map(
    sheets.flatMap(({ plan, arrangement }) => {
      const starts = placed(arrangement);
      return arrangement.blocks.flatMap(({ component: { data } }, at) =>
        data === undefined
          ? []
          : [
              [
                data.table,
                { sheetName: plan.name, first: (starts[at]?.start ?? 1) + data.first, codeOf: data.codeOf },
              ] as const,
            ],
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
  const sheet = openSheet(worksheet, {
    name: plan.name,
    widths: arrangement.widths,
    resultOf,
    dataOf: (table) => data.get(table),
    flush,
  });
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

const viewOf = ({ frozenRow }: Arrangement, direction: Direction): Partial<ExcelJS.WorksheetView> => {
  const rightToLeft = direction === 'rtl';
  return frozenRow === undefined
    ? { state: 'normal', rightToLeft }
    : { state: 'frozen', xSplit: 0, ySplit: frozenRow, rightToLeft };
};

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

/** A sheet is printed as wide as its paper and as long as it needs, unless its page says otherwise. */
const pageSetup = ({ format, orientation, margin, sheet }: ExpandedPage): Partial<PageSetup> => {
  const inches = (points: number): number => Math.round((points / POINTS_PER_INCH) * 1_000) / 1_000;
  const margins = {
    top: inches(margin.top),
    right: inches(margin.right),
    bottom: inches(margin.bottom),
    left: inches(margin.left),
    header: 0.3,
    footer: 0.3,
  };
  const fit = sheet?.fitToWidth === false ? {} : { fitToPage: true, fitToWidth: 1, fitToHeight: 0 };
  return { paperSize: paperSizes[format], orientation, margins, ...fit };
};

const printedMargins = ({ header, footer, direction }: ExpandedPage): Partial<HeaderFooter> => ({
  ...(header === undefined ? {} : { oddHeader: codesOf(header, direction) }),
  ...(footer === undefined ? {} : { oddFooter: codesOf(footer, direction) }),
});

const codesOf = ({ html, align }: ExpandedMargin, direction: Direction): string => {
  const text = treeText(parseRichTree(html, 'block')).replace(/\s+/g, ' ').trim().replaceAll('&', '&&');
  const codes = text.replace(/\{\{\s*pageNumber\s*\}\}/g, '&P').replace(/\{\{\s*totalPages\s*\}\}/g, '&N');
  return (
    ALIGN[sideOf(align, direction)] +
    codes.slice(0, MARGIN_CHARS_MAX - 2).replace(/(?<!&)(?:&&)*&$/, (end) => end.slice(0, -1))
  );
};

/**
 * Names that Excel takes for sheets. In: the names of the template, in order. Out: names of at most 31 characters,
 * without `[]:*?/\`, no two alike (letter case apart).
 */
const sheetNames = (wanted: readonly string[]): readonly string[] => {
  const taken = new Set<string>();
  return wanted.map((name, at) => {
    const base = validName(name) ?? `Sheet ${at + 1}`;
    let unique = base;
    for (let copy = 2; taken.has(unique.toLowerCase()); copy++) unique = shortened(base, ` (${copy})`);
    taken.add(unique.toLowerCase());
    return unique;
  });
};

const validName = (name: string): string | undefined => {
  const clean = shortened(
    name
      .replace(/[[\]:*?/\\\p{Cc}\p{Surrogate}\ufffe\uffff]+/gu, ' ')
      .replace(/\s+/g, ' ')
      .trim()
      .replace(/^'+|'+$/g, ''),
    '',
  ).replace(/'+$/, '');
  // Excel keeps "History" for itself.
  return clean === '' ? undefined : /^history$/i.test(clean) ? `${clean} 1` : clean;
};

/** Cut so that no character is split. */
const shortened = (name: string, suffix: string): string => {
  let cut = '';
  for (const character of name) {
    if (cut.length + character.length + suffix.length > CHARS_MAX) break;
    cut += character;
  }
  return cut.trimEnd() + suffix;
};

/**
 * Reads an expanded document before it is drawn: the pictures and fonts that it shows, the characters that its fonts
 * must have, and the data that its charts leave out.
 */
import type { FieldError } from '../../core/errors.js';
import type { Expanded, ExpandedChart, ExpandedDocument, Html, ExpandedTable } from './expanded.js';
import { fontFilesOf, type OutputFormat } from '../content.js';
import { addressesIn, safeDocumentImage } from '../addresses.js';

/**
 * The addresses of the pictures that must be fetched, `https:`, `http:` and `asset:`, in order and each once. In a PDF
 * the texts may hold pictures too (`<img src>`), and fonts of the gallery; a workbook shows only those of image
 * components.
 */
export const imageSourcesOf = (document: ExpandedDocument, format: OutputFormat = 'pdf'): readonly string[] => {
  const pictures = pictureSourcesOf(document, format).filter((source) => !source.startsWith('data:'));
  return format === 'pdf' && document.fonts !== undefined
    ? [...new Set([...pictures, ...fontFilesOf(document).keys()])]
    : pictures;
};

/** The addresses of all pictures, also those that are data URIs, in order and each once. */
export const pictureSourcesOf = ({ pages }: ExpandedDocument, format: OutputFormat): readonly string[] => {
  const sources = new Set<string>();
  const add = (src: string): void => void sources.add(src);
  const html = (text: Html | undefined): void => {
    if (format === 'pdf' && text !== undefined) picturesIn(text).forEach(add);
  };
  const inItself = (text: Html | undefined): void => {
    if (format === 'pdf' && text !== undefined)
      picturesIn(text)
        .filter((source) => source.startsWith('data:'))
        .forEach(add);
  };
  const look = (component: Expanded): void => {
    switch (component.type) {
      case 'image':
        return add(component.src);
      case 'container':
      case 'columns':
        return component.children.forEach(look);
      case 'rich-text':
        return html(component.html);
      case 'list':
        return [component.html, ...(component.items ?? [])].forEach(html);
      case 'table':
        return textsOf(component).forEach(html);
      case 'timeline':
        // Only pictures that need not be fetched are shown there.
        return component.items.flatMap(({ title, description, date }) => [title, description, date]).forEach(inItself);
      case 'divider':
      case 'spacer':
      case 'qr-code':
      case 'chart':
        return;
    }
  };
  for (const { backgroundImage, header, firstHeader, sections, footer, firstFooter } of pages) {
    if (format === 'pdf' && backgroundImage !== undefined) add(backgroundImage.src);
    for (const margin of [header, firstHeader]) html(margin?.html);
    for (const { components } of sections) components.forEach(look);
    for (const margin of [footer, firstFooter]) html(margin?.html);
  }
  return [...sources];
};

const textsOf = ({ columns, rows, emptyText }: ExpandedTable): readonly (Html | undefined)[] => [
  ...columns.map(({ header }) => header),
  ...rows.flatMap((row) => row.map(({ html }) => html)),
  ...columns.map(({ footer }) => footer),
  emptyText,
];

/** Only addresses that are safe as they stand: others are not shown. */
const picturesIn = (html: Html): readonly string[] =>
  addressesIn(html).flatMap(({ tag, address }) =>
    tag === 'img' && safeDocumentImage(address) === address ? [address] : [],
  );

/** Most different characters that are looked at; one beyond them is found when the document is drawn. */
const CHARACTERS_MAX = 5_000;

/**
 * In: an expanded document. Out: each character outside of ASCII that stands in its texts, with the place where it
 * stands first.
 */
export const drawnCharactersOf = ({ pages }: ExpandedDocument): ReadonlyMap<string, string> => {
  const found = new Map<string, string>();
  const plain = (text: string, field: string): void => {
    if (!BEYOND_ASCII.test(text)) return;
    for (const character of text)
      if (character > '\x7f' && !found.has(character) && found.size < CHARACTERS_MAX) found.set(character, field);
  };
  const html = (text: Html | undefined, field: string): void => {
    if (text === undefined || !(BEYOND_ASCII.test(text) || text.includes('&#'))) return;
    plain(text.replace(TAG, ' ').replace(REFERENCE, characterOf), field);
  };
  for (const [at, page] of pages.entries()) {
    const settings = `schema.pages[${at}].pageSettings`;
    for (const name of ['header', 'firstHeader', 'footer', 'firstFooter'] as const) html(page[name]?.html, settings);
    if (page.contents !== undefined) plain(page.contents.title, page.contents.field);
    if (page.watermark !== undefined) plain(page.watermark.text, page.watermark.field);
    for (const { components } of page.sections) for (const component of components) look(component, { html, plain });
  }
  return found;
};

/** The texts of an expanded document, a line for each, to compare what two of them show. */
export const shownLinesOf = ({ pages }: ExpandedDocument): readonly string[] => {
  const lines: string[] = [];
  const plain = (text: string): void => void lines.push(text.trim());
  const html = (text: Html | undefined): void => {
    if (text !== undefined) plain(text.replace(TAG, ' ').replaceAll(/\s+/g, ' '));
  };
  for (const page of pages) {
    for (const name of ['header', 'firstHeader', 'footer', 'firstFooter'] as const) html(page[name]?.html);
    for (const { components } of page.sections) for (const component of components) look(component, { html, plain });
  }
  return lines.filter((line) => line !== '');
};

const BEYOND_ASCII = /[^\x00-\x7f]/;
const TAG = /<[^<>]*>/g;
const REFERENCE = /&#(?:(\d{1,7})|x([0-9a-f]{1,6}));/gi;
const CODE_POINT_MAX = 0x10ffff;

const characterOf = (whole: string, decimal?: string, hex?: string): string => {
  const code = decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal);
  return code <= CODE_POINT_MAX ? String.fromCodePoint(code) : whole;
};

type Reader = Readonly<{
  html: (text: Html | undefined, field: string) => void;
  plain: (text: string, field: string) => void;
}>;

const look = (component: Expanded, reader: Reader): void => {
  const { field } = component;
  const { html, plain } = reader;
  switch (component.type) {
    case 'rich-text':
      return html(component.html, field);
    case 'list':
      return [component.html, ...(component.items ?? [])].forEach((text) => html(text, field));
    case 'table':
      for (const { header, footer } of component.columns) for (const text of [header, footer]) html(text, field);
      for (const row of component.rows) for (const cell of row) html(cell.html, field);
      return html(component.emptyText, field);
    case 'container':
    case 'columns':
      return component.children.forEach((child) => look(child, reader));
    case 'timeline':
      for (const { title, description, date } of component.items)
        for (const text of [title, description, date]) html(text, field);
      return;
    case 'chart':
      for (const text of [component.title, component.xTitle, component.yTitle, ...component.categories])
        plain(text, field);
      return component.series.forEach(({ name }) => plain(name, field));
    case 'qr-code':
    case 'image':
    case 'divider':
    case 'spacer':
      return;
  }
};

const isRound = ({ chartType }: ExpandedChart): boolean => chartType === 'pie' || chartType === 'doughnut';

/**
 * Data that the charts of a document leave out, each with the place of its chart in the template. A circle of a
 * workbook is drawn by the program that opens it, and has all.
 */
export const leftOutOfCharts = ({ pages }: ExpandedDocument, format: OutputFormat): readonly FieldError[] => {
  const found: FieldError[] = [];
  const look = (component: Expanded): void => {
    switch (component.type) {
      case 'container':
      case 'columns':
        return component.children.forEach(look);
      case 'chart':
        return void found.push(
          ...leftOut(component, format === 'pdf' && isRound(component)).map((message) => ({
            field: component.field,
            message,
          })),
        );
      case 'image':
      case 'rich-text':
      case 'list':
      case 'table':
      case 'timeline':
      case 'divider':
      case 'spacer':
      case 'qr-code':
        return;
    }
  };
  for (const { sections } of pages) for (const { components } of sections) components.forEach(look);
  return found;
};

const leftOut = ({ categories, series }: ExpandedChart, isCircle: boolean): readonly string[] => {
  const drawn = isCircle ? series.find(({ values }) => values.some((value) => value !== null && value > 0)) : undefined;
  const says: string[] = [];
  for (const one of isCircle ? [drawn ?? series[0]].flatMap((shown) => shown ?? []) : series) {
    const empty = one.values.filter((value) => value === null).length;
    if (empty > 0)
      says.push(
        `leaves out ${empty} of ${categories.length} values of ${JSON.stringify(one.name)}: they are no numbers`,
      );
    const shareless = isCircle ? one.values.filter((value) => value !== null && value <= 0).length : 0;
    if (shareless > 0)
      says.push(
        `leaves out ${shareless} of ${categories.length} values of ${JSON.stringify(one.name)}: zero and less have no share of a circle`,
      );
  }
  if (drawn !== undefined && series.length > 1)
    says.push(
      `shows ${JSON.stringify(drawn.name)} alone: a circle has one series, and ${series.length - 1} more are left out`,
    );
  return says;
};

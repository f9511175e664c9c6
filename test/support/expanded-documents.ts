/** Expanded documents for tests of the outputs, with what every component needs and nothing said that need not be. */
import type {
  Cell,
  Expanded,
  ExpandedColumn,
  ExpandedDocument,
  ExpandedPage,
  ExpandedTable,
} from '../../src/domain/rendering/expand/expanded.js';
import { noBorder, noBox, thinBorder } from '../../src/domain/rendering/lengths.js';

type Props<Type extends Expanded['type']> = Omit<Extract<Expanded, { type: Type }>, 'type' | 'id' | 'field'>;

const defaults: { readonly [Type in Expanded['type']]: Props<Type> } = {
  'rich-text': { html: '', style: {}, padding: noBox },
  image: { src: '', alt: '', align: 'left', padding: noBox },
  table: {
    columns: [],
    rows: [],
    showHeader: true,
    striped: false,
    border: thinBorder,
    borderLines: 'rows',
    padding: noBox,
    emptyText: undefined,
    freezeHeader: false,
    autoFilter: false,
  },
  container: { children: [], padding: noBox, border: noBorder, align: 'left' },
  columns: { children: [], widths: [], gap: 12, verticalAlign: 'top' },
  divider: {
    color: '#e5e7eb',
    thickness: 0.75,
    style: 'solid',
    width: { percent: 100 },
    margin: { top: 6, right: 0, bottom: 6, left: 0 },
  },
  spacer: { height: 18 },
  list: { items: undefined, html: undefined, ordered: false, style: {}, padding: noBox },
  'qr-code': {
    value: 'https://example.com',
    size: 96,
    errorCorrection: 'M',
    color: '#000000',
    backgroundColor: '#ffffff',
    align: 'left',
  },
  timeline: { items: [], color: '#2563eb' },
  chart: { chartType: 'column', title: '', categories: [], series: [], showLegend: false, xTitle: '', yTitle: '' },
};

/** A component whose place is named after its kind. */
export const component = <Type extends Expanded['type']>(
  type: Type,
  props: Partial<Props<Type>>,
): Extract<Expanded, { type: Type }> => {
  const place = { type, id: `a-${type}`, field: `schema.pages[0].sections[0].components.${type}` };
  return Object.assign(place, defaults[type], props) as object as Extract<Expanded, { type: Type }>;
};

export const richText = (html: string): Expanded => component('rich-text', { html });

export const column = (header: string | undefined, props: Partial<ExpandedColumn> = {}): ExpandedColumn => ({
  header,
  footer: undefined,
  width: 'auto',
  align: 'start',
  headerAlign: 'start',
  type: undefined,
  format: undefined,
  ...props,
});

export const cell = (html: string): Cell => ({ html, value: undefined, displayFormat: undefined });

/** Rows of texts below headers. */
export const tableOf = (
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  props: Partial<Omit<ExpandedTable, 'type'>> = {},
): Expanded =>
  component('table', {
    columns: headers.map((header) => column(header)),
    rows: rows.map((row) => row.map(cell)),
    ...props,
  });

export const page = (components: readonly Expanded[], props: Partial<ExpandedPage> = {}): ExpandedPage => ({
  name: 'Page',
  direction: 'ltr',
  format: 'A4',
  orientation: 'portrait',
  margin: { top: 50, right: 50, bottom: 50, left: 50 },
  backgroundColor: '#ffffff',
  header: undefined,
  footer: undefined,
  sections: [{ style: {}, padding: noBox, components }],
  ...props,
});

export const documentOf = (...pages: readonly ExpandedPage[]): ExpandedDocument => ({
  language: { locale: 'en-US', timeZone: 'UTC' },
  pages,
});

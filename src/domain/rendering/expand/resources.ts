/** Which pictures a document shows, and in which fonts: what must be fetched before it can be drawn. */
import { fontFilesOf } from '../gallery-fonts.js';
import type { OutputFormat } from '../document-content.js';
import type { Expanded, ExpandedDocument, ExpandedTable, Html } from './expanded.js';
import { addressesIn } from '../html-addresses.js';
import { safeDocumentImage } from '../urls.js';

/**
 * The addresses of the pictures that must be fetched, `https:`, `http:` and `asset:`, in order and each once. In a PDF the texts may hold
 * pictures too (`<img src>`), and fonts of the gallery; a workbook shows only those of image components.
 */
export const imageSourcesOf = ({ pages, fonts }: ExpandedDocument, format: OutputFormat = 'pdf'): readonly string[] => {
  const sources = new Set<string>();
  const add = (src: string): void => void (src.startsWith('data:') || sources.add(src));
  const html = (text: Html | undefined): void => {
    if (format === 'pdf' && text !== undefined) picturesIn(text).forEach(add);
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
      case 'divider':
      case 'spacer':
      case 'qr-code':
      case 'timeline':
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
  if (format === 'pdf' && fonts !== undefined) for (const file of fontFilesOf({ fonts }).keys()) sources.add(file);
  return [...sources];
};

const textsOf = ({ columns, rows, emptyText }: ExpandedTable): readonly (Html | undefined)[] => [
  ...columns.map(({ header }) => header),
  ...rows.flatMap((row) => row.map(({ html }) => html)),
  ...columns.map(({ footer }) => footer),
  emptyText,
];

/** Only addresses that are safe as they stand: the others are not shown. */
const picturesIn = (html: Html): readonly string[] =>
  addressesIn(html).flatMap(({ tag, address }) => (tag === 'img' && safeDocumentImage(address) === address ? [address] : []));

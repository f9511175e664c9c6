/** Which pictures a document shows, and in which fonts: what must be fetched before it can be drawn. */
import { fontFilesOf } from '../../attachment-template/gallery-fonts.js';
import type { OutputFormat } from '../../attachment-template/schema.js';
import type { Expanded, ExpandedDocument, ExpandedTable, Html } from './expanded.js';
import { safeDocumentImage } from '../urls.js';

/**
 * The addresses of the pictures that must be fetched, `https:`, `http:` and `asset:`, in order and each once. In a PDF the texts may hold
 * pictures too (`<img src>`), and fonts of the gallery; a workbook shows only those of image components.
 */
export const imageSourcesOf = ({ pages, fonts }: ExpandedDocument, format: OutputFormat = 'pdf'): readonly string[] => {
  const sources = new Set<string>();
  const add = (src: string): void => void (src.startsWith('data:') || sources.add(src));
  const html = (text: Html | undefined): void => {
    if (format === 'pdf' && text !== undefined) addressesIn(text).forEach(add);
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

const IMAGE = /<img\b(?:[^>"']|"[^"]*"|'[^']*')*?\ssrc\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi;

/** Only addresses that are safe as they stand: the others are not shown. */
const addressesIn = (html: Html): readonly string[] => {
  if (!/<img/i.test(html)) return [];
  return [...html.matchAll(IMAGE)].flatMap(([, double, single, bare]) => {
    const address = decoded(double ?? single ?? bare ?? '');
    return safeDocumentImage(address) === address ? [address] : [];
  });
};

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const decoded = (text: string): string =>
  text.replace(/&(?:#(\d{1,5})|#x([0-9a-f]{1,4})|(amp|lt|gt|quot|apos));/gi, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return entities[name.toLowerCase()] ?? whole;
    return String.fromCharCode(decimal === undefined ? parseInt(hex ?? '', 16) : Number(decimal));
  });

/** How a sheet is printed: paper, margins, and what stands at the top and the bottom of each sheet of paper. */
import type { HeaderFooter, PageSetup } from 'exceljs';
import type { ExpandedMargin, ExpandedPage } from '../../../domain/rendering/expand/expanded.js';
import { sideOf, type Direction } from '../../../domain/rendering/direction.js';
import { parseRichTree, treeText } from '../rich-tree.js';

const POINTS_PER_INCH = 72;
/** Excel takes no more for a header or a footer. */
const MARGIN_CHARS_MAX = 255;

/** Numbers of ECMA-376, 18.3.1.63. */
const paperSizes: Readonly<Record<ExpandedPage['format'], number>> = { A3: 8, A4: 9, A5: 11, Letter: 1, Legal: 5, Tabloid: 3 };

/** A sheet is printed as wide as its paper and as long as it needs, unless its page says otherwise. */
export const pageSetup = ({ format, orientation, margin, sheet }: ExpandedPage): Partial<PageSetup> => {
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

export const printedMargins = ({ header, footer, direction }: ExpandedPage): Partial<HeaderFooter> => ({
  ...(header === undefined ? {} : { oddHeader: codesOf(header, direction) }),
  ...(footer === undefined ? {} : { oddFooter: codesOf(footer, direction) }),
});

const ALIGN = { left: '&L', center: '&C', right: '&R' } as const;

const codesOf = ({ html, align }: ExpandedMargin, direction: Direction): string => {
  const text = treeText(parseRichTree(html, 'block')).replace(/\s+/g, ' ').trim().replaceAll('&', '&&');
  const codes = text.replace(/\{\{\s*pageNumber\s*\}\}/g, '&P').replace(/\{\{\s*totalPages\s*\}\}/g, '&N');
  return ALIGN[sideOf(align, direction)] + codes.slice(0, MARGIN_CHARS_MAX - 2).replace(/(?<!&)(?:&&)*&$/, (end) => end.slice(0, -1));
};

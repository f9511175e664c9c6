/** The sums of an order or an offer in a document, in the columns of the items above, so that they stand below what they sum up in a workbook too. */
import type { DocumentComponent } from '../../domain/rendering/document-content.js';
import { sumsRows, whereCharged, type SumsText } from '../sums-table.js';

/** In: the widths of the columns of the items, words, the path of the tax rate. Out: the table, kept on one sheet; the total is its footer, so that it is a number in a workbook. */
export const sumsTable = (widths: readonly string[], text: SumsText, taxRate: string): DocumentComponent => {
  const blank = widths.slice(2).map(() => '');
  const shares = sharesOf(widths);
  return whereCharged((id, shown) => ({
    id,
    type: 'table' as const,
    props: {
      showHeader: false,
      border: false,
      padding: '0 6pt',
      cellPadding: '3pt 6pt',
      keepTogether: true,
      columns: shares.map((width, at) => {
        const footer = [text.total, '{{total}}'][at - shares.length + 2];
        return footer === undefined ? { width } : { width, align: 'end', footer };
      }),
      rows: sumsRows(text, taxRate, shown).map((row) => [...blank, ...row]),
    },
  }));
};

/** The amounts stand below those of the items, with room for words before them, which are longer than a price. */
const sharesOf = (widths: readonly string[]): readonly string[] => {
  const last = widths.at(-1) ?? '15%';
  const [before, label] = [widths.length - 2, 22];
  const rest = (100 - label - Number.parseFloat(last)) / before;
  return [...Array.from({ length: before }, () => `${rest}%`), `${label}%`, last];
};

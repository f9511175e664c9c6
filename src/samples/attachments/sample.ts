/** The type of a sample of an attachment template, and the parts that samples share: sums, letterhead, imprint. */
import type { DocumentComponent, AttachmentTemplateContent, PageMargin } from '../../domain/rendering/content.js';
import { sumsRows, whereCharged, type SumsText } from '../sums-table.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { VariableDefinition } from '../../domain/rendering/scope/definitions.js';

/** An attachment template as a client posts it, with variables for a first document. */
export type SampleAttachment = AttachmentTemplateContent &
  Readonly<{
    slug: string;
    name: string;
    description: string;
    /** Variables for a first document, as the documentation shows it. */
    exampleVariables: JsonObject;
  }>;

/**
 * The table of sums in the columns of the items above it, so that the sums stand below their column in a workbook too, and the total in
 * larger letters. They are kept on one sheet; the total is alone in its cell, so that it is a number in a workbook. In: the widths of the columns,
 * words, the path of the tax rate.
 */
export const sumsTable = (widths: readonly string[], text: SumsText, taxRate: string): readonly DocumentComponent[] => {
  const blank = widths.slice(2).map(() => '');
  const shares = sharesOf(widths);
  const table = (id: string, columns: JsonObject[], rows: string[][], props: JsonObject): DocumentComponent => ({
    id,
    type: 'table',
    props: { showHeader: false, border: false, padding: '0 6pt', cellPadding: '3pt 6pt', keepTogether: true, columns, rows, ...props },
  });
  const columns = shares.map((width, at): JsonObject => (at < shares.length - 2 ? { width } : { width, align: 'end' }));
  return [
    whereCharged((id, shown) =>
      table(
        id,
        columns,
        sumsRows(text, taxRate, shown).map((row) => [...blank, ...row]),
        { keepWithNext: true },
      ),
    ),
    table('sum', columns, [[...blank, `<strong>${text.total}</strong>`, '{{total}}']], { fontSize: 14 }),
  ];
};

/** The amounts stand below those of the items, with room for words before them, which are longer than a price. */
const sharesOf = (widths: readonly string[]): readonly string[] => {
  const last = widths.at(-1) ?? '15%';
  const [before, label] = [widths.length - 2, 22];
  const rest = (100 - label - Number.parseFloat(last)) / before;
  return [...Array.from({ length: before }, () => `${rest}%`), `${label}%`, last];
};

export const rich = (id: string, content: string, props?: JsonObject): DocumentComponent => ({
  id,
  type: 'rich-text',
  content,
  ...(props === undefined ? {} : { props }),
});

/** The picture that stands over a document. */
export const logoVariable: VariableDefinition = {
  name: 'logo',
  type: 'string',
  description: 'A PNG or JPEG: asset: and its id in the gallery, an https address or a data URI; without it the name stands alone',
  defaultValue: '',
};

/** The company's name and the logo where there is one, over the first sheet alone. */
export const letterhead: PageMargin = {
  content:
    '<table border="0" cellpadding="0" width="100%"><tr><td width="80%" align="left" valign="middle"><span style="font-size:15pt;color:#1f2937"><strong>{{__COMPANY_NAME__}}</strong></span></td>' +
    '<td width="20%" align="right"><img src="{{logo}}" alt="" width="40" height="40"></td></tr></table>',
  align: 'start',
};

/** Letters of the small print; smaller ones are hard to read in print. */
export const FINE_PRINT = 'font-size:7.5pt;color:#6b7280';

const address =
  '{{__COMPANY_LEGAL_NAME__}} · {{__COMPANY_ADDRESS_LINE1__}} · {{__COMPANY_POSTAL_CODE__}} {{__COMPANY_CITY__}} · {{__COMPANY_COUNTRY__}}';

/** The footer of a page: who wrote it, and its number. In: the words of the page number, and HTML of a line of its own. */
export const imprint = (pages: string, more?: string): PageMargin => ({
  content: `<p style="${FINE_PRINT}">${[address, ...(more === undefined ? [] : [more]), pages].join('<br>')}</p>`,
  align: 'center',
});

/** What a sample of an attachment template is: a template as one posts it, and variables for a first document; and what the samples share. */
import type { AttachmentTemplateContent, DocumentComponent, PageMargin } from '../../domain/rendering/document-content.js';
import type { JsonObject } from '../../domain/core/json.js';
import type { VariableDefinition } from '../../domain/rendering/scope/definitions.js';

export type SampleAttachment = AttachmentTemplateContent &
  Readonly<{
    slug: string;
    name: string;
    description: string;
    /** Variables for a first document, as the documentation shows it. */
    exampleVariables: JsonObject;
  }>;

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

/** In: the words of the page number, and HTML of a line of its own. Out: who wrote the page, and which of how many it is. */
export const imprint = (pages: string, more?: string): PageMargin => ({
  content: `<p style="${FINE_PRINT}">${[address, ...(more === undefined ? [] : [more]), pages].join('<br>')}</p>`,
  align: 'center',
});

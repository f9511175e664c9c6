/** What a sample of an attachment template is: a template as one posts it, and variables for a first document. */
import type { AttachmentTemplateContent, PageMargin } from '../../domain/attachment-template/schema.js';
import type { JsonObject } from '../../domain/json.js';

export type SampleAttachment = AttachmentTemplateContent &
  Readonly<{
    slug: string;
    name: string;
    description: string;
    /** Variables for a first document, as the documentation shows it. */
    exampleVariables: JsonObject;
  }>;

/** Who wrote the page, and which of how many it is. */
export const imprint: PageMargin = {
  content:
    '<p style="font-size:8px;color:#6b7280">{{__COMPANY_LEGAL_NAME__}} · {{__COMPANY_ADDRESS_LINE1__}} · {{__COMPANY_POSTAL_CODE__}} {{__COMPANY_CITY__}} · {{__COMPANY_COUNTRY__}}' +
    '<br>Page {{pageNumber}} of {{totalPages}}</p>',
  align: 'center',
};

/** What a sample template is: a template as one posts it, and variables for a first email. */
import type { JsonObject } from '../domain/json.js';
import type { Component, EmailTemplateContent, Section } from '../domain/template/schema.js';

export type SampleTemplate = EmailTemplateContent &
  Readonly<{
    slug: string;
    name: string;
    description: string;
    /** Variables for a first email, as the `curl` lines of the documentation send them. */
    exampleVariables: JsonObject;
  }>;

/** The company's name over the card. */
export const brandHeader: Section = {
  id: 'header',
  type: 'header',
  components: [
    {
      id: 'brand',
      type: 'rich-text',
      content: '<p style="font-size:18px;font-weight:700;letter-spacing:-0.2px">{{__COMPANY_NAME__}}</p>',
    },
  ],
};

/** Why one got the mail, and who sent it. */
export const footerWith = (...components: readonly Component[]): Section => ({
  id: 'footer',
  type: 'footer',
  components: [
    ...components,
    {
      id: 'has-address',
      type: 'conditional',
      props: { condition: '__COMPANY_ADDRESS_LINE1__', operator: 'isEmpty' },
      children: [{ id: 'copyright', type: 'rich-text', content: '<p>© {{__CURRENT_YEAR__}} {{__COMPANY_LEGAL_NAME__}}</p>' }],
      elseChildren: [
        {
          id: 'imprint',
          type: 'rich-text',
          content:
            '<p>© {{__CURRENT_YEAR__}} {{__COMPANY_LEGAL_NAME__}}<br>' +
            '{{__COMPANY_ADDRESS_LINE1__}}, {{__COMPANY_POSTAL_CODE__}} {{__COMPANY_CITY__}}, {{__COMPANY_COUNTRY__}}</p>',
        },
      ],
    },
  ],
});

/** What a sample template is: a template as one posts it, and variables for a first email; and what the samples share. */
import type { JsonObject } from '../domain/core/json.js';
import type { Component, EmailTemplateContent, Section } from '../domain/rendering/content.js';
import type { VariableDefinition } from '../domain/rendering/scope/definitions.js';

export type SampleTemplate = EmailTemplateContent &
  Readonly<{
    slug: string;
    name: string;
    description: string;
    /** Variables for a first email, as the `curl` lines of the documentation send them. */
    exampleVariables: JsonObject;
    /** Such variables by language, where they have words of a script of their own. */
    examplesIn?: Readonly<Record<string, JsonObject>>;
  }>;

/** Small and grey: what is beside the point. */
export const SMALL = { fontSize: 14, color: '#6b7280' } as const;

export const rich = (id: string, content: string, props?: JsonObject): Component => ({
  id,
  type: 'rich-text',
  content,
  ...(props === undefined ? {} : { props }),
});

/** Shown where the path has a value. */
export const whereGiven = (path: string, children: readonly Component[], elseChildren?: readonly Component[]): Component => ({
  id: `has-${children[0]?.id ?? path}`,
  type: 'conditional',
  props: { condition: path, operator: 'isEmpty' },
  children: elseChildren ?? [],
  elseChildren: children,
});

const brand: Component = {
  id: 'brand',
  type: 'rich-text',
  content: '<p style="font-size:18px;font-weight:700;letter-spacing:-0.2px">{{__COMPANY_NAME__}}</p>',
};

/** The company's name over the card. */
export const brandHeader: Section = { id: 'header', type: 'header', components: [brand] };

/** The address of a logo, which a call may give. */
export const logoVariable: VariableDefinition = {
  name: 'logo',
  type: 'string',
  description: 'A picture 40 pixels high: asset: and its id in the gallery, or an https address; without it the name stands alone',
  defaultValue: '',
};

/** The logo where there is one, and the company's name, over the card. */
export const logoHeader: Section = {
  id: 'header',
  type: 'header',
  components: [
    { id: 'logo', type: 'image', props: { src: '{{logo}}', alt: '', height: 40, padding: '0 0 8px', hideWhenEmpty: true } },
    brand,
  ],
};

/** Why one got the mail, and who sent it. */
export const footerWith = (...components: readonly Component[]): Section => footerIn({}, ...components);

/** The same with props of the lines that say who sent it: their direction, say, in a mail of another script than the company's name. */
export const footerIn = (props: JsonObject, ...components: readonly Component[]): Section => {
  const line = (id: string, content: string): Component => rich(id, content, Object.keys(props).length === 0 ? undefined : props);
  return {
    id: 'footer',
    type: 'footer',
    components: [
      ...components,
      {
        id: 'has-address',
        type: 'conditional',
        props: { condition: '__COMPANY_ADDRESS_LINE1__', operator: 'isEmpty' },
        children: [line('copyright', '<p>© {{__CURRENT_YEAR__}} {{__COMPANY_LEGAL_NAME__}}</p>')],
        elseChildren: [
          line(
            'imprint',
            '<p>© {{__CURRENT_YEAR__}} {{__COMPANY_LEGAL_NAME__}}<br>' +
              '{{__COMPANY_ADDRESS_LINE1__}}, {{__COMPANY_POSTAL_CODE__}} {{__COMPANY_CITY__}}, {{__COMPANY_COUNTRY__}}</p>',
          ),
        ],
      },
    ],
  };
};

const HELP_ADDRESS = '<a href="mailto:{{__COMPANY_EMAIL__}}">{{__COMPANY_EMAIL__}}</a>';

/** In: a sentence that asks to write to `@`. Out: the line of a footer with the company's address in it. */
export const helpLine = (sentence: string): Component => rich('help', `<p>${sentence.replace('@', HELP_ADDRESS)}</p>`);

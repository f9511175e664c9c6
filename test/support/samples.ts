/** The samples in each of their languages. */
import type { AttachmentTemplateContent, EmailTemplateContent } from '../../src/domain/rendering/content.js';
import { isJsonObject, type Json, type JsonObject } from '../../src/domain/core/json.js';
import type { VariableDefinition } from '../../src/domain/rendering/scope/definitions.js';
import { sampleAttachments, sampleTemplates, type SampleTemplate } from '../../src/samples/index.js';

type InLanguage<Content> = Readonly<{
  slug: string;
  /** The slug, and the language where it is not the template's own. */
  name: string;
  locale?: string;
  content: Content;
  values: JsonObject;
}>;

/** The content of a sample alone, as it is checked. */
export const emailContentOf = ({
  slug: _slug,
  name: _name,
  description: _description,
  exampleVariables: _example,
  examplesIn: _examples,
  ...content
}: SampleTemplate): EmailTemplateContent => content;

export const emailSamples: readonly InLanguage<EmailTemplateContent>[] = sampleTemplates.flatMap((sample) => {
  const { slug, exampleVariables, examplesIn, translations } = sample;
  const content = emailContentOf(sample);
  return [
    { slug, name: slug, content, values: exampleVariables },
    ...Object.keys(translations ?? {}).map((locale) => ({
      slug,
      name: `${slug}.${locale}`,
      locale,
      content,
      values: examplesIn?.[locale] ?? exampleVariables,
    })),
  ];
});

export const documentSamples: readonly InLanguage<AttachmentTemplateContent>[] = sampleAttachments.flatMap(
  ({ slug, name: _name, description: _description, exampleVariables: values, ...content }) => [
    { slug, name: slug, content, values },
    ...Object.keys(content.translations ?? {}).map((locale) => ({ slug, name: `${slug}.${locale}`, locale, content, values })),
  ],
);

type Properties = Readonly<Record<string, Property>>;

type Property = Readonly<{
  type?: string;
  required?: boolean;
  properties?: Properties;
  itemSchema?: Readonly<{ properties?: Properties }>;
}>;

const propertiesOf = ({ properties, itemSchema }: Property): Properties => properties ?? itemSchema?.properties ?? {};

/** The values that a call gives at least: what is required, and one item of each array. */
export const leastOf = (variables: readonly VariableDefinition[], values: JsonObject): JsonObject =>
  Object.fromEntries(
    variables
      .filter(({ isCalculated, required }) => isCalculated !== true && required === true)
      .map(({ name, schema }) => [name, leastValue(values[name] ?? null, (schema ?? {}) as Property)]),
  );

const leastValue = (value: Json, property: Property): Json => {
  if (Array.isArray(value)) return value.slice(0, 1).map((item: Json) => leastValue(item, property));
  if (!isJsonObject(value)) return value;
  const required = Object.entries(propertiesOf(property)).filter(([, inner]) => inner.required === true);
  return Object.fromEntries(required.map(([name, inner]) => [name, leastValue(value[name] ?? null, inner)]));
};

/** Every value that a template knows, words three times as long, and arrays of many items. */
export const mostOf = (variables: readonly VariableDefinition[], values: JsonObject): JsonObject =>
  Object.fromEntries(
    variables
      .filter(({ isCalculated }) => isCalculated !== true)
      .map(({ name, type, schema }) => [name, mostValue(name, values[name], { type, ...(schema as Property | undefined) })]),
  );

const ITEMS = 12;

/** Values that the examples lack and that words cannot stand for. */
const CODES: JsonObject = { bic: 'BEXOPTPLXXX' };

const mostValue = (name: string, value: Json | undefined, property: Property): Json => {
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    return Array.from({ length: ITEMS }, (_, at) => mostValue(name, items[at % items.length], { ...property, type: 'object' }));
  }
  if (isJsonObject(value)) {
    const known = Object.entries(propertiesOf(property)).map(([inner, of]) => [inner, mostValue(inner, value[inner], of)] as const);
    return { ...value, ...Object.fromEntries(known) };
  }
  if (value === undefined || value === '') return property.type === 'string' ? (CODES[name] ?? `Some ${name}`) : (value ?? null);
  return typeof value === 'string' && /^[\p{L}&,.; ]+ [\p{L}&,.; ]+$/u.test(value) ? `${value} ${value} ${value}` : value;
};

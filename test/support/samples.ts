/** The samples with the variables of their calls, in each of their languages. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { AttachmentTemplateContent, EmailTemplateContent } from '../../src/domain/rendering/content.js';
import { isJsonObject, type Json, type JsonObject } from '../../src/domain/core/json.js';
import type { VariableDefinition } from '../../src/domain/rendering/scope/definitions.js';
import { readAccountSamples, readSampleCall, readSamples } from '../../src/service/samples.js';
import { programDirectory } from '../../src/service/version.js';

type Named = Readonly<{ slug: string; name: string; description: string; exampleVariables: JsonObject }>;
export type SampleTemplate = EmailTemplateContent & Named;
export type SampleAttachment = AttachmentTemplateContent & Named;

type InLanguage<Content> = Readonly<{
  slug: string;
  /** The slug, and the language where it is not the template's own. */
  name: string;
  locale?: string;
  content: Content;
  values: JsonObject;
}>;

/** A template with the variables of its call, and without the address of its schema. */
const withCall = <Sample>({ $schema: _, ...template }: Readonly<{ $schema?: unknown }>, call: string): Sample =>
  ({ ...template, exampleVariables: readSampleCall(call).variables }) as Sample;

export const samples = readSamples();
export const accountSamples = readAccountSamples();

/** One with a layout is no mail without its block: the first start is tried with it. */
const isWhole = ({ schema }: (typeof samples.emails)[number]): boolean =>
  (schema as Readonly<{ layout?: unknown }>).layout === undefined;

export const sampleTemplates = samples.emails
  .filter(isWhole)
  .map((template) => withCall<SampleTemplate>(template, `emails/${template.slug}`));
export const sampleAttachments = samples.attachments.map((template) =>
  withCall<SampleAttachment>(template, `attachments/${template.slug}`),
);
export const accountTemplates = accountSamples.map((template) =>
  withCall<SampleTemplate>(template, `accounts/${template.slug?.replace('account-', '')}`),
);

const named = <Sample extends Named>(samples: readonly Sample[], slug: string): Sample => {
  const found = samples.find((sample) => sample.slug === slug);
  if (found === undefined) throw new Error(`there is no sample ${slug}`);
  return found;
};

export const sampleTemplate = (slug: string): SampleTemplate => named(sampleTemplates, slug);
export const sampleAttachment = (slug: string): SampleAttachment => named(sampleAttachments, slug);

/** The content of a sample alone, as it is checked. */
export const emailContentOf = ({
  slug: _slug,
  name: _name,
  description: _description,
  exampleVariables: _example,
  ...content
}: SampleTemplate): EmailTemplateContent => content;

/** A language has a call of its own where its values have words of a script of their own. */
const valuesIn = (locale: string, { slug, exampleVariables }: SampleTemplate): JsonObject => {
  const call = `emails/${slug}.${locale}`;
  return existsSync(join(programDirectory, `samples/calls/${call}.json`))
    ? readSampleCall(call).variables
    : exampleVariables;
};

export const emailSamples: readonly InLanguage<EmailTemplateContent>[] = sampleTemplates.flatMap((sample) => {
  const { slug, exampleVariables, translations } = sample;
  const content = emailContentOf(sample);
  return [
    { slug, name: slug, content, values: exampleVariables },
    ...Object.keys(translations ?? {}).map((locale) => ({
      slug,
      name: `${slug}.${locale}`,
      locale,
      content,
      values: valuesIn(locale, sample),
    })),
  ];
});

export const documentSamples: readonly InLanguage<AttachmentTemplateContent>[] = sampleAttachments.flatMap(
  ({ slug, name: _name, description: _description, exampleVariables: values, ...content }) => [
    { slug, name: slug, content, values },
    ...Object.keys(content.translations ?? {}).map((locale) => ({
      slug,
      name: `${slug}.${locale}`,
      locale,
      content,
      values,
    })),
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
      .map(({ name, type, schema }) => [
        name,
        mostValue(name, values[name], { type, ...(schema as Property | undefined) }),
      ]),
  );

const ITEMS = 12;

/** Values that the examples lack and that words cannot stand for. */
const CODES: JsonObject = { bic: 'BEXOPTPLXXX' };

const mostValue = (name: string, value: Json | undefined, property: Property): Json => {
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    return Array.from({ length: ITEMS }, (_, at) =>
      mostValue(name, items[at % items.length], { ...property, type: 'object' }),
    );
  }
  if (isJsonObject(value)) {
    const known = Object.entries(propertiesOf(property)).map(
      ([inner, of]) => [inner, mostValue(inner, value[inner], of)] as const,
    );
    return { ...value, ...Object.fromEntries(known) };
  }
  if (value === undefined || value === '')
    return property.type === 'string' ? (CODES[name] ?? `Some ${name}`) : (value ?? null);
  return typeof value === 'string' && /^[\p{L}&,.; ]+ [\p{L}&,.; ]+$/u.test(value)
    ? `${value} ${value} ${value}`
    : value;
};

/** The sample templates read well whatever optional variables a call leaves out: no sentence has a hole where a value would stand. */
import t from 'tap';
import type { Json, JsonObject } from '../src/domain/json.js';
import { isJsonObject } from '../src/domain/json.js';
import type { VariableDefinition } from '../src/domain/template/schema.js';
import { accountTemplates, sampleAttachments, sampleTemplates } from '../src/samples/index.js';
import { expandTemplate } from './support/documents.js';
import { holesOf } from './support/prose.js';
import { renderTemplate } from './support/rendering.js';

type Path = readonly string[];

type Properties = Readonly<
  Record<string, Readonly<{ required?: boolean; properties?: Properties; itemSchema?: { properties?: Properties } }>>
>;

const optionalWithin = (properties: Properties | undefined, above: Path): readonly Path[] =>
  Object.entries(properties ?? {}).flatMap(([name, property]) => [
    ...(property.required === true ? [] : [[...above, name]]),
    ...optionalWithin(property.properties, [...above, name]),
    ...optionalWithin(property.itemSchema?.properties, [...above, name, '*']),
  ]);

/** The paths of everything that a call may leave out; `*` stands for each item of an array. A default stands in for the top level. */
const optionalOf = (variables: readonly VariableDefinition[]): readonly Path[] =>
  variables.flatMap(({ name, isCalculated, schema }) => {
    if (isCalculated === true || !isJsonObject(schema as Json)) return [];
    const { properties, itemSchema } = schema as { properties?: Properties; itemSchema?: { properties?: Properties } };
    return [...optionalWithin(properties, [name]), ...optionalWithin(itemSchema?.properties, [name, '*'])];
  });

const without = (value: Json, [head = '', ...rest]: Path): Json => {
  if (Array.isArray(value)) return value.map((item: Json) => without(item, rest));
  if (!isJsonObject(value)) return value;
  if (rest.length > 0) return { ...value, [head]: without(value[head] ?? null, rest) };
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== head));
};

const textsOf = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === 'string' && ['html', 'text', 'content'].includes(name) ? [inner] : textsOf(inner),
  );
};

void t.test('emails', async (t) => {
  for (const template of [...sampleTemplates, ...accountTemplates]) {
    const { slug, exampleVariables, subject, variables, schema } = template;
    const paths: readonly Path[] = [[], ...optionalOf(variables)];
    t.ok(slug !== 'order-confirmation' || paths.length > 5, 'the order confirmation has variables that may be left out');
    for (const path of paths) {
      const values = path.length === 0 ? exampleVariables : (without(exampleVariables, path) as JsonObject);
      const { html } = renderTemplate({ subject, variables, schema }, values);
      t.same(holesOf(html), [], `${slug} without ${path.join('.') || 'nothing'}`);
    }
  }
});

void t.test('documents', async (t) => {
  for (const { slug, exampleVariables, variables, schema, locale, timeZone } of sampleAttachments) {
    for (const path of [[], ...optionalOf(variables)] as readonly Path[]) {
      const values = path.length === 0 ? exampleVariables : (without(exampleVariables, path) as JsonObject);
      const texts = textsOf(expandTemplate({ variables, schema, locale, timeZone }, values));
      t.ok(texts.length > 0, slug);
      t.same(texts.flatMap(holesOf), [], `${slug} without ${path.join('.') || 'nothing'}`);
    }
  }
});

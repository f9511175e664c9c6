/** The JSON schemas of templates: what the service saves they take, and what authors get wrong most they refuse. */
import { globSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { SendEmailRequestSchema } from '../../src/api/email.js';
import { CreateBlockRequestSchema, PreviewRequestSchema } from '../../src/api/templates/templates.js';
import { templateDefinitions, templateJsonSchema, type TemplateKind } from '../../src/api/templates/json-schema.js';
import { nameOfKind, type Medium } from '../../src/api/templates/json-schema-props.js';
import { openUnlimitedBudget } from '../../src/domain/rendering/budget.js';
import { isJsonObject, type Json, type JsonObject } from '../../src/domain/core/json.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { collectFaults } from '../../src/domain/rendering/check/faults.js';
import { componentSpecs, isSupported } from '../../src/domain/rendering/components.js';
import { documentMedia, mailMedia } from '../../src/domain/rendering/lengths.js';
import { checkProps, columnSpecs, type PropKind } from '../../src/domain/rendering/props.js';
import { programDirectory } from '../../src/service/version.js';
import { attachmentOf } from '../support/documents.js';
import { templateOf } from '../support/rendering.js';
import { accountSamples, samples } from '../support/samples.js';
import { documentOfAll } from './api-document-of-all.js';
import { emailOfAll } from './api-email-of-all.js';
import { oddValues, strangeText } from './api-template-values.js';
import { accepts, ajv, isSaved, read, validators } from './api-template-validators.js';

void t.test('the files for editors are what the command prints', async (t) => {
  for (const kind of ['email', 'attachment', 'block'] as const)
    t.equal(
      read(`schemas/${kind}-template.json`),
      `${JSON.stringify(templateJsonSchema(kind), undefined, 2)}\n`,
      `bin/sealpost.js schema ${kind} > schemas/${kind}-template.json`,
    );
});

void t.test('every definition is described, and no two share a name', async (t) => {
  const definitions = templateDefinitions((name) => ({ $ref: `#/definitions/${name}` }));
  for (const [name, definition] of Object.entries(definitions))
    t.match(isJsonObject(definition) ? definition['description'] : undefined, /^[A-Z“"t]/, name);
  for (const type of Object.keys(componentSpecs))
    t.match(JSON.stringify(definitions), `"type":{"const":"${type}"}`, `${type} has a definition`);
});

void t.test('each file of the samples is a template or a call that the service takes', async (t) => {
  const send = ajv.compile(SendEmailRequestSchema);
  const preview = ajv.compile(PreviewRequestSchema);
  const block = ajv.compile(CreateBlockRequestSchema);
  const listed = [...samples.emails, ...samples.attachments, ...accountSamples].map(({ slug }) => slug);
  const blocks = samples.blocks.map(({ slug }) => slug);
  const files = globSync('samples/**/*.json', { cwd: programDirectory });
  for (const file of files) {
    const content = JSON.parse(read(file)) as JsonObject;
    const [, folder = '', inner] = file.split('/');
    if (folder === 'calls') {
      const taken = inner === 'attachments' ? preview : send;
      t.ok(taken(content), `${file}: ${ajv.errorsText(taken.errors)}`);
      continue;
    }
    if (folder === 'blocks') {
      t.ok(block(content), `${file}: ${ajv.errorsText(block.errors)}`);
      t.ok(blocks.includes(String(content['slug'])), `${file} is made by the first start`);
      continue;
    }
    const kind = folder === 'attachments' ? 'attachment' : 'email';
    t.ok(accepts(kind, content), `${file}: ${ajv.errorsText(validators[kind].errors)}`);
    t.equal(
      join(dirname(file), String(content['$schema'])),
      `schemas/${kind}-template.json`,
      `${file}: the schema for editors`,
    );
    t.ok(listed.includes(String(content['slug'])), `${file} is made by the first start`);
    t.equal(
      content['slug'],
      `${folder === 'accounts' ? 'account-' : ''}${basename(file, '.json')}`,
      `${file}: its slug`,
    );
    t.ok(files.includes(file.replace('samples', 'samples/calls')), `${file} has a call`);
  }
  t.ok(files.length > 2 * listed.length + blocks.length, 'with calls in other languages');
});

void t.test('the examples of the pages are taken', async (t) => {
  let count = 0;
  for (const page of ['docs/templates.md', 'docs/attachments.md'])
    for (const [, text = ''] of read(page).matchAll(/^```json\n(.*?)^```$/gms)) {
      const block = JSON.parse(text) as JsonObject;
      if ('id' in block && 'type' in block) {
        const type = String(block['type']) as keyof typeof componentSpecs;
        if (isSupported(type, 'email'))
          t.ok(accepts('email', templateOf([block])) || page.includes('attachments'), text);
        const formats = (['pdf', 'excel'] as const).filter((format) => isSupported(type, format));
        if (formats.length > 0)
          t.ok(accepts('attachment', attachmentOf([block], { schema: { outputFormats: formats } })), text);
      } else if ('schema' in block && 'slug' in block)
        t.ok(accepts('pages' in (block['schema'] as JsonObject) ? 'attachment' : 'email', block), text);
      else continue;
      count += 1;
    }
  t.ok(count > 20);
});

const media: readonly Medium[] = [
  { name: 'Email', media: mailMedia, columnsMax: 20 },
  { name: 'Document', media: documentMedia(defaultLimits.excelColumnsMax), columnsMax: undefined },
];
const kindsOfProps: readonly PropKind[] = [
  ...new Set(
    [...Object.values(componentSpecs).flatMap(({ props }) => Object.values(props)), ...Object.values(columnSpecs)].map(
      ({ kind }) => kind,
    ),
  ),
];

void t.test('a value that the check of its kind takes, the schema of the kind takes', async (t) => {
  ajv.addSchema({ $id: 'all', definitions: templateDefinitions((name) => ({ $ref: `#/definitions/${name}` })) });
  t.ok(kindsOfProps.length > 30);
  for (const medium of media) {
    for (const kind of kindsOfProps) {
      const validate = ajv.compile({ $ref: `all#/definitions/${nameOfKind(kind, medium)}` });
      let refused = 0;
      const holds = (value: Json): boolean => {
        const faults = collectFaults();
        checkProps({ it: value }, { it: { kind } }, 'props', {
          faults,
          limits: defaultLimits,
          budget: openUnlimitedBudget(),
          media: medium.media,
        });
        const taken = validate(value);
        if (!taken) refused += 1;
        return taken || faults.count() > 0;
      };
      t.same(
        oddValues.filter((value) => !holds(value)),
        [],
        `${medium.name} ${kind}`,
      );
      t.ok(refused > oddValues.length / 4, `${medium.name} ${kind} refuses something`);
      fc.assert(fc.property(strangeText, holds), { numRuns: 100 });
    }
  }
});

/** Every place in a template, the members of objects and the elements of arrays. */
const placesOf = (value: Json, above: readonly (string | number)[] = []): readonly (readonly (string | number)[])[] => {
  const members: readonly (readonly [string | number, Json])[] = Array.isArray(value)
    ? (value as readonly Json[]).map((element, at) => [at, element] as const)
    : isJsonObject(value)
      ? Object.entries(value)
      : [];
  return members.flatMap(([name, member]) => [[...above, name], ...placesOf(member, [...above, name])]);
};

/** The template with another value in one place; without the place where that is undefined. */
const changed = (value: Json, [head, ...rest]: readonly (string | number)[], other: Json | undefined): Json => {
  if (head === undefined) return other ?? {};
  if (Array.isArray(value)) {
    const elements = value as readonly Json[];
    if (rest.length === 0 && other === undefined) return elements.filter((_, at) => at !== head);
    return elements.map((element, at) => (at === head ? changed(element, rest, other) : element));
  }
  if (!isJsonObject(value)) return value;
  if (rest.length === 0 && other === undefined)
    return Object.fromEntries(Object.entries(value).filter(([name]) => name !== head));
  return { ...value, [head]: changed(value[head] ?? {}, rest, other) };
};

void t.test('a template that is saved, with whatever in one of its places, is taken', async (t) => {
  const cases: readonly (readonly [TemplateKind, JsonObject])[] = [
    ['email', emailOfAll],
    ['attachment', documentOfAll],
  ];
  for (const [kind, template] of cases) {
    t.ok(isSaved(kind, template), `${kind} is saved`);
    t.ok(accepts(kind, template), ajv.errorsText(validators[kind].errors));
    const places = placesOf(template).filter(([first]) =>
      ['schema', 'variables', 'translations'].includes(String(first)),
    );
    const values = oddValues.filter((value) => value !== null);
    const found = { saved: 0, refusedByBoth: 0 };
    const law = (place: readonly (string | number)[], value: Json | undefined): boolean => {
      const other = changed(template, place, value);
      const [saved, taken] = [isSaved(kind, other), accepts(kind, other)];
      if (saved) found.saved += 1;
      else if (!taken) found.refusedByBoth += 1;
      return taken || !saved;
    };
    t.same(
      places.filter((place) => !law(place, undefined)),
      [],
      `${kind} without one of its places`,
    );
    fc.assert(fc.property(fc.constantFrom(...places), fc.constantFrom(...values), law), { numRuns: 500 });
    const name = fc.constantFrom(...new Set(places.map((place) => String(place.at(-1)))), 'colour');
    const objects = places.filter((place) => typeof place.at(-1) === 'number');
    fc.assert(
      fc.property(fc.constantFrom(...objects), name, fc.constantFrom(...values), (place, added, value) =>
        law([...place, added], value),
      ),
      { numRuns: 250 },
    );
    t.ok(found.saved > 100 && found.refusedByBoth > 250, JSON.stringify(found));
  }
});

void t.test('what authors get wrong most is refused where it is written', async (t) => {
  const component = (type: string, props: JsonObject, more: JsonObject = {}): JsonObject => ({
    id: 'it',
    type,
    props,
    ...more,
  });
  const column: JsonObject = { header: 'Item', content: '{{item.name}}' };
  const inEmail: Readonly<Record<string, JsonObject>> = {
    'a prop that no component has': component(
      'button',
      { href: 'https://example.com', colour: 'red' },
      { content: 'Go' },
    ),
    'a button without its address': component('button', {}, { content: 'Go' }),
    'a button without its label': component('button', { href: 'https://example.com' }),
    'a component that is none': component('heading', {}),
    'a component of documents alone': component('chart', {
      chartType: 'bar',
      dataSource: 'a',
      categoryField: 'b',
      series: [{ valueField: 'c' }],
    }),
    'a padding in words': component('container', { padding: 'a lot' }, { children: [] }),
    'a colour that is none': component('container', { color: 'gren' }, { children: [] }),
    'a container without children': component('container', {}),
    'an operator of another language': component(
      'conditional',
      { condition: 'a', operator: '===', value: 1 },
      { children: [] },
    ),
    'an operator without its value': component('conditional', { condition: 'a', operator: '>=' }, { children: [] }),
    'a block in braces': component('conditional', { condition: '{{#if a}}', operator: 'exists' }, { children: [] }),
    'rows beside a data source': component('table', { dataSource: 'items', columns: [column], rows: [['a']] }),
    'a data source without columns': component('table', { dataSource: 'items' }),
    'groups of rows': component('table', { rows: [['a']], groupBy: 'name' }),
    'an order without groups': component('table', { dataSource: 'items', columns: [column], groupOrder: 'name' }),
    'an order that is none': component('table', {
      dataSource: 'items',
      columns: [column],
      groupBy: 'name',
      groupOrder: 'size',
    }),
    'a foot without groups': component('table', { dataSource: 'items', columns: [{ ...column, groupFooter: 'x' }] }),
    'a column without content': component('table', { dataSource: 'items', columns: [{ header: 'Item' }] }),
    'a table of nothing': component('table', {}),
    'a timeline of nothing': component('timeline', { color: 'red' }),
    'a rule without its colours': component('table', {
      dataSource: 'a',
      columns: [{ ...column, rules: [{ kind: 'colorScale' }] }],
    }),
    'a rule with a member of another': component('table', {
      dataSource: 'a',
      columns: [{ ...column, rules: [{ kind: 'dataBar', bold: true }] }],
    }),
    'an align that is none': component('rich-text', { align: 'middle' }, { content: 'a' }),
    'a literal from a variable': component('table', { rows: [['a']], striped: '{{striped}}' }),
    'a code without its text': component('qr-code', {}),
    'a prop of another code': component('qr-code', { kind: 'ean13', value: '4006381333931', errorCorrection: 'H' }),
    'a prop of another code where no kind is given': component('qr-code', { value: 'a', showText: true }),
    'a payment without its account': component('qr-code', { kind: 'epc', name: 'Ada' }),
    'a payment with a value': component('qr-code', {
      kind: 'epc',
      name: 'Ada',
      iban: 'DE89370400440532013000',
      value: 'a',
    }),
  };
  for (const [what, wrong] of Object.entries(inEmail)) {
    t.notOk(isSaved('email', templateOf([wrong])), `${what} is no template`);
    t.notOk(accepts('email', templateOf([wrong])), what);
  }
  const variables: Readonly<Record<string, Json>> = {
    'a type that is none': [{ name: 'a', type: 'text' }],
    'a name that is none': [{ name: ' ', type: 'string' }],
    'an expression of what is not calculated': [{ name: 'a', type: 'number', expression: '1' }],
    'a calculated variable without its expression': [{ name: 'a', type: 'number', isCalculated: true }],
    'a currency that is not named': [{ name: 'a', type: 'number', format: { style: 'currency' } }],
    'a filter that is none': [{ name: 'a', type: 'string', filters: ['reverse'] }],
    'a schema of JSON Schema': [{ name: 'a', type: 'array', schema: { items: { type: 'string' } } }],
    'members of an array': [{ name: 'a', type: 'array', schema: { properties: { b: { type: 'string' } } } }],
    'items of an object': [
      { name: 'a', type: 'object', schema: { properties: { b: { type: 'object', itemType: 'string' } } } },
    ],
    'an array in an object': { variables: [] },
  };
  for (const [what, wrong] of Object.entries(variables)) {
    t.notOk(isSaved('email', templateOf([], { variables: wrong })), `${what} is no template`);
    t.notOk(accepts('email', templateOf([], { variables: wrong })), what);
  }
  const translations: Readonly<Record<string, Json>> = {
    'a language in words': { 'in German': {} },
    'texts without their language': { 'Your order': 'Ihre Bestellung' },
    'a list of texts': { de: ['Ihre Bestellung'] },
  };
  for (const [what, wrong] of Object.entries(translations)) {
    t.notOk(isSaved('email', templateOf([], { translations: wrong })), `${what} is no template`);
    t.notOk(accepts('email', templateOf([], { translations: wrong })), what);
  }
  const settings: Readonly<Record<string, JsonObject>> = {
    'a paper that is none': { format: 'A6' },
    'a setting that is none': { margins: {} },
    'a margin in words': { margin: { top: 'wide' } },
    'a header without content': { header: { align: 'center' } },
    'an area that is none': { sheet: { printArea: 'all' } },
  };
  for (const [what, pageSettings] of Object.entries(settings)) {
    const pages = [{ pageId: 'p', pageName: 'P', pageSettings, sections: [{ id: 's', type: 'main', components: [] }] }];
    t.notOk(isSaved('attachment', attachmentOf([], { schema: { pages } })), `${what} is no template`);
    t.notOk(accepts('attachment', attachmentOf([], { schema: { pages } })), what);
  }
  t.notOk(
    accepts('attachment', attachmentOf([component('button', { href: 'https://example.com' }, { content: 'Go' })])),
    'a component of emails alone',
  );
  t.notOk(accepts('attachment', attachmentOf([], { schema: { outputFormats: [] } })), 'a document of no format');
});

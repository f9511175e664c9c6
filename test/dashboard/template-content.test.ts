/** Templates in the dashboard, as far as it needs no browser: contents, JSON while it is typed, suggestions, differences, texts. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { bodyOfChange, type Content, contentOf, idAt, stepsOf } from '../../dashboard/src/templates/content.js';
import { differencesOf } from '../../src/domain/templates/difference.js';
import { componentAt, plainOf, rangeAt, readJson, typedAt } from '../../dashboard/src/templates/json-text.js';
import { explanationAt, namesAt, type Schema, valuesAt } from '../../dashboard/src/templates/suggest.js';
import { missingIn, strayIn, textsOf, withTranslation } from '../../dashboard/src/templates/texts.js';
import { exampleOf, usedIn } from '../../dashboard/src/templates/used.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const sample = (name: string): Content => JSON.parse(readFileSync(join(root, 'samples', name), 'utf8')) as Content;

const schemaOf = (name: string): Schema =>
  JSON.parse(readFileSync(join(root, `schemas/${name}-template.json`), 'utf8')) as Schema;

const emails = ['order-confirmation', 'offer', 'sign-in-code', 'ticket', 'shipping-notice'].map((name) =>
  sample(`emails/${name}.json`),
);

/** A template as the service answers it. */
const stored = {
  ...{ id: 'x', slug: 'note', name: 'Note', description: '', type: 'email', subject: 'Hello', from: null },
  ...{ unsubscribeList: null, tracking: null, locale: 'en-US', timeZone: 'UTC', strictVariables: false },
  ...{ variables: [], translations: {}, schema: { sections: [] }, revision: 4, updatedBy: 'cli' },
};

void t.test('the content of a template', (t) => {
  const content = contentOf('email', stored);
  t.same(content, {
    ...{ slug: 'note', name: 'Note', subject: 'Hello', locale: 'en-US', variables: [], schema: { sections: [] } },
  });
  t.equal(bodyOfChange('email', content, content), undefined, 'nothing is sent where nothing is other');
  t.same(bodyOfChange('email', { ...content, subject: 'Bye', $schema: './x.json' }, content), { subject: 'Bye' });
  t.same(bodyOfChange('email', { ...content, colour: 'red' }, content), { colour: 'red' }, 'the service names it');
  const { subject: _, ...without } = content;
  t.same(bodyOfChange('email', without, content), { subject: '' }, 'the service refuses it');
  const from = { ...content, from: { email: 'a@example.com' } };
  t.same(bodyOfChange('email', content, from), { from: null }, 'what was taken out has its default again');
  t.notOk('subject' in contentOf('attachment', stored), 'a document has no subject');
  t.notOk('timeZone' in contentOf('block', { ...stored, timeZone: 'Europe/Lisbon' }));
  t.end();
});

void t.test('paths', (t) => {
  t.same(stepsOf('schema.sections[0].components[12].props.href'), [
    ...['schema', 'sections', 0, 'components', 12, 'props', 'href'],
  ]);
  t.same(stepsOf('variables["1st \\"item\\""].type'), ['variables', '1st "item"', 'type']);
  t.same(stepsOf(''), []);
  const [order] = emails;
  const sections = (order!['schema'] as Readonly<{ sections: readonly { components: readonly { id: string }[] }[] }>)
    .sections;
  const { id } = sections[1]!.components[1]!;
  t.equal(idAt(order!, 'schema.sections[1].components[1].props.href'), id);
  t.equal(idAt(order!, 'subject'), undefined);
  t.equal(idAt(order!, 'schema.sections[99].components[1]'), undefined);
  t.end();
});

void t.test('JSON while it is typed', (t) => {
  for (const email of emails)
    for (const text of [JSON.stringify(email), JSON.stringify(email, null, 2)]) {
      const read = readJson(text);
      t.same(read.faults, []);
      t.same(plainOf(read.root), email, 'whole JSON is read as a parser reads it');
    }
  const faultOf = (text: string): string => {
    const [fault] = readJson(text).faults;
    return fault === undefined ? '' : `${fault.from} ${fault.message}`;
  };
  t.match(faultOf('{"a": 1 "b": 2}'), /^8 A comma is missing/);
  t.match(faultOf('{"a": 1,}'), /^7 No comma stands behind the last/);
  t.match(faultOf('{"a" 1}'), /^4 A colon is missing/);
  t.match(faultOf('{a: 1}'), /^1 A name in quotation marks/);
  t.match(faultOf('{"a": }'), /^6 A value is missing/);
  t.match(faultOf('{"a": yes}'), /^6 This is no value/);
  t.match(faultOf('{"a": "b\n}'), /^6 The text is not closed/);
  t.match(faultOf('{"a": [1, 2}'), /not closed: \] is missing/);
  t.match(faultOf('{"a": 1, "a": 2}'), /^9 “a” stands here twice/);
  t.match(faultOf('{} x'), /^3 Nothing stands behind the end/);
  t.match(faultOf(''), /^0 A value is missing/);
  t.match(faultOf('['.repeat(100_000)), /too deep/, 'depth does not end the stack');
  t.end();
});

void t.test('a text that is cut off anywhere is read without an end', (t) => {
  const text = JSON.stringify(emails[2], null, 1);
  for (let at = 0; at < text.length; at += 1) {
    const { root: node, faults } = readJson(text.slice(0, at));
    if (faults.length === 0) t.fail(`a part of ${at} characters is no JSON`);
    for (const { from, to } of faults) if (from > to || to > at) t.fail(`${at}: a fault from ${from} to ${to}`);
    typedAt(text.slice(0, at), node, at);
  }
  for (const part of ['{{{', ']', '}', ',', '[,]', '{"a":{"b":[{"c":', '"\\', '{"a":1}}', ':::', '[[],[,'])
    t.ok(readJson(part).faults.length > 0, part);
  t.end();
});

void t.test('places in the text', (t) => {
  const text = JSON.stringify(
    {
      name: 'A',
      schema: {
        sections: [{ id: 's', type: 'main', components: [{ id: 'go', type: 'button', props: { href: 'x' } }] }],
      },
    },
    null,
    2,
  );
  const { root: node } = readJson(text);
  const cut = (path: string): string => {
    const { from, to } = rangeAt(node, stepsOf(path));
    return text.slice(from, to);
  };
  t.equal(cut('schema.sections[0].components[0].props.href'), '"href": "x"');
  t.equal(cut('schema.sections[0].components[0].props'), '"props"');
  t.equal(cut('schema.sections[0].components[0].props.colour'), '"props"', 'what is missing has the place around it');
  t.equal(cut('name'), '"name": "A"');
  t.equal(cut(''), '{');
  const { from, to } = componentAt(node, 'go')!;
  t.match(JSON.parse(text.slice(from, to)), { id: 'go' });
  t.equal(componentAt(node, 'x'), undefined);
  t.end();
});

/** The text has | where the reader types. */
const typedIn = (marked: string) => {
  const at = marked.indexOf('|');
  const text = marked.replace('|', '');
  const { root: node } = readJson(text);
  return { typed: typedAt(text, node, at), whole: plainOf(node), text };
};

void t.test('suggestions of the schema', (t) => {
  const schema = schemaOf('email');
  const namesIn = (marked: string): readonly string[] => {
    const { typed, whole } = typedIn(marked);
    return typed?.what === 'name' ? namesAt(schema, typed.steps, whole).map(({ label }) => label) : [];
  };
  const valuesIn = (marked: string): readonly string[] => {
    const { typed, whole } = typedIn(marked);
    return typed?.what === 'value' ? valuesAt(schema, typed.steps, whole).map(({ label }) => label) : [];
  };
  t.ok(['name', 'subject', 'schema', 'variables', 'translations'].every((name) => namesIn('{|}').includes(name)));
  t.equal(namesIn('{|}').includes('sections'), false);
  const inComponent = (inside: string): string =>
    `{"schema": {"sections": [{"id": "a", "type": "main", "components": [${inside}]}]}}`;
  t.ok(namesIn(inComponent('{"id": "b", "type": "button", "props": {|}}')).includes('href'));
  t.notOk(
    namesIn(inComponent('{"id": "b", "type": "divider", "props": {|}}')).includes('href'),
    'by the type beside it',
  );
  t.same(namesIn(inComponent('{"id": "b", "type": "button", "props": {"h|"}}'))[0], 'href', 'required ones first');
  t.ok(valuesIn(inComponent('{"id": "b", "type": |}')).includes('"button"'));
  t.ok(valuesIn(inComponent('{"id": "b", "type": "but|"}')).includes('"loop"'), 'what is typed decides nothing');
  t.same(valuesIn('{"strictVariables": |}'), ['true', 'false']);
  t.ok(valuesIn('{"variables": [{"name": "a", "type": "|"}]}').includes('"date"'));
  t.same(valuesIn('{"name": |}'), []);
  t.ok(namesIn('{"name": "a", |').includes('subject'), 'in an object that is not closed');
  t.same(namesIn('{"name": "a" |}'), [], 'a comma is missing there');

  const { whole } = typedIn(inComponent('{"id": "b", "type": "button", "props": {"href": "x"}}|'));
  const said = explanationAt(schema, stepsOf('schema.sections[0].components[0]'), whole);
  t.match(said?.text, /A link that looks like a button/);
  t.equal(explanationAt(schema, ['nothing'], whole), undefined);
  for (const kind of ['attachment', 'block'])
    t.ok(namesAt(schemaOf(kind), [], {}).some(({ label }) => label === 'schema'));
  t.end();
});

void t.test('differences in words', (t) => {
  for (const email of emails) t.same(differencesOf(email, structuredClone(email)), []);
  const before = {
    name: 'A',
    subject: 'Hello',
    variables: [
      { name: 'code', type: 'string' },
      { name: 'old', type: 'number' },
    ],
    schema: {
      props: { color: '#111111' },
      sections: [
        {
          id: 'main',
          type: 'main',
          components: [
            { id: 'a', type: 'rich-text', content: '<p>One</p>' },
            { id: 'b', type: 'button', content: 'Go', props: { href: 'https://example.com/' } },
            { id: 'c', type: 'divider' },
            { id: 'box', type: 'container', children: [{ id: 'd', type: 'spacer' }] },
          ],
        },
      ],
    },
    translations: { de: { Go: 'Los' } },
  };
  const after = {
    ...before,
    subject: 'Bye',
    variables: [
      { name: 'code', type: 'number' },
      { name: 'new', type: 'number' },
    ],
    schema: {
      props: { color: '#222222' },
      sections: [
        {
          id: 'main',
          type: 'main',
          components: [
            { id: 'b', type: 'button', content: 'Go', props: { href: 'https://example.com/x', align: 'left' } },
            { id: 'a', type: 'rich-text', content: '<p>One</p>' },
            {
              id: 'box',
              type: 'container',
              children: [
                { id: 'd', type: 'spacer' },
                { id: 'e', type: 'spacer' },
              ],
            },
          ],
        },
      ],
    },
    translations: { de: { Go: 'Weiter' }, fr: {} },
  };
  const words = differencesOf(before, after).map(({ what, where, field = '' }) => `${what} ${where} ${field}`.trim());
  t.same(words.toSorted(), [
    'added button “b” props.align',
    'added language fr',
    'added spacer “e”',
    'added variable “new”',
    'changed button “b” props.href',
    'changed language de Go',
    'changed settings props.color',
    'changed subject',
    'changed variable “code” type',
    'moved rich-text “a”',
    'removed divider “c”',
    'removed variable “old”',
  ]);
  t.same(differencesOf({}, { schema: 'x', variables: 5, translations: [] }).length, 0, 'other forms end nothing');
  t.end();
});

void t.test('texts in languages', (t) => {
  const order = emails[0]!;
  const texts = textsOf('email', order)!;
  t.ok(texts.some(({ field }) => field === 'subject'));
  t.same(missingIn(order, 'de', texts), [], 'the sample has all its German texts');
  t.same(strayIn(order, 'de', texts), []);
  const { key } = texts[0]!;
  const without = withTranslation(order, 'de', key, '');
  t.same(
    missingIn(without, 'de', texts).map((text) => text.key),
    [key],
  );
  t.same(missingIn(without, 'en-US', texts), [], 'a variant of the own language needs no text');
  t.same(strayIn(withTranslation(order, 'de', 'Gone', 'Weg'), 'de', texts), ['Gone']);
  t.same(missingIn(withTranslation(without, 'de-AT', key, 'Servus'), 'de-AT', texts), [], 'the rest is that of de');
  for (const broken of [{}, { schema: 5 }, { schema: { sections: [5] } }, { variables: 5, schema: { sections: [] } }])
    t.equal(textsOf('email', broken), undefined);
  t.ok(textsOf('attachment', sample('attachments/invoice.json'))!.length > 5);
  t.end();
});

void t.test('variables that are read', (t) => {
  const { declared, paths, undeclared } = usedIn(emails[0]!);
  t.same(undeclared, []);
  t.ok(declared.some(({ name, isRequired }) => name === 'order' && isRequired));
  t.ok(paths.get('order')!.has('order.number'));
  const used = usedIn({
    subject: '{{ who.name }} {{["1st item"].x}} {{__COMPANY_NAME__}}',
    variables: [
      { name: 'who', type: 'object', schema: { properties: { name: { type: 'string' }, at: { type: 'date' } } } },
      5,
    ],
    schema: {
      sections: [
        { components: [{ props: { dataSource: 'rows', itemVariable: 'row' }, children: [{ content: '{{row.a}}' }] }] },
      ],
    },
  });
  t.same(used.undeclared, ['1st item', 'rows']);
  t.same(exampleOf(used.declared[0]!), { name: 'Text', at: '2026-11-21' });
  const rows = usedIn({
    variables: [
      {
        name: 'rows',
        type: 'array',
        itemType: 'object',
        schema: { itemSchema: { properties: { n: { type: 'number' } } } },
      },
    ],
  });
  t.same(exampleOf(rows.declared[0]!), [{ n: 1 }]);
  t.end();
});

/** Forms of the editor: every property of the service has words and a place, and controls write what they read. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import {
  canSwitch,
  columnSpecs,
  formOf,
  groupsOf,
  isComponentType,
  seriesSpecs,
  timelineItemSpecs,
  words,
  wordsOf,
} from '../../../dashboard/src/templates/editor/forms/fields.js';
import { fieldsOf, listsOf, namesOf, scopeAt, stepsOf } from '../../../dashboard/src/templates/editor/forms/names.js';
import {
  type Json,
  placeOf,
  placesOf,
  propsOf,
  valueAt,
  withValueAt,
  writtenSteps,
} from '../../../dashboard/src/templates/editor/forms/place.js';
import { supportFeatures, supportSentence } from '../../../dashboard/src/templates/editor/forms/support.js';
import {
  borderOf,
  boxOf,
  colorsOf,
  equalWidths,
  hexOf,
  measureOf,
  withWidth,
  writtenBorder,
  writtenBox,
  writtenMeasure,
} from '../../../dashboard/src/templates/editor/forms/values.js';
import { mailMedia } from '../../../src/domain/rendering/lengths.js';
import { componentSpecs, emailProps, sectionProps } from '../../../src/domain/rendering/components.js';
import * as props from '../../../src/domain/rendering/props.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

const sample = (name: string): Json => JSON.parse(readFileSync(join(root, 'samples', name), 'utf8')) as Json;

void t.test('every property has words of its own', (t) => {
  const specs = {
    ...Object.fromEntries(Object.entries(componentSpecs).map(([type, spec]) => [type, spec.props])),
    ...{ email: emailProps, section: sectionProps },
    ...{
      columns: { ...componentSpecs.columns.props, ...columnSpecs },
      series: seriesSpecs,
      timelineItem: timelineItemSpecs,
    },
  };
  const used = new Set<string>();
  for (const [type, names] of Object.entries(specs))
    for (const name of Object.keys(names)) {
      const key = [`${type}.${name}`, name].find((one) => Object.hasOwn(words, one));
      t.ok(key !== undefined, `${type}.${name} has words`);
      if (key !== undefined) used.add(key);
      t.not(wordsOf(type, name).label, name);
    }
  t.same(
    Object.keys(words).filter((key) => !used.has(key)),
    [],
    'no words without a property',
  );
  t.end();
});

void t.test('members of columns, series and steps are those of the service', (t) => {
  const sorted = (specs: Json): unknown => Object.fromEntries(Object.entries(specs).sort());
  t.same(sorted(columnSpecs), sorted(props.columnSpecs));
  t.same(sorted(seriesSpecs), sorted(props.seriesSpecs));
  t.same(sorted(timelineItemSpecs), sorted(props.timelineItemSpecs));
  t.end();
});

void t.test('a kind has the switch to a variable if the service takes {{…}} there', (t) => {
  const faults = (kind: props.PropKind, value: string): boolean => {
    let count = 0;
    props.checkProps({ x: value }, { x: { kind } }, 'props', {
      faults: { add: () => (count += 1), count: () => count } as never,
      limits: { pathSegmentsMax: 20 } as never,
      budget: { elements: 1_000, chars: 100_000 } as never,
      media: mailMedia,
    });
    return count > 0;
  };
  for (const kind of [
    'color',
    'length',
    'size',
    'box',
    'border',
    'align',
    'lineStyle',
    'fontFamily',
    'lineHeight',
  ] as const) {
    t.notOk(faults(kind, '{{x}}'), kind);
    t.ok(canSwitch(kind), kind);
  }
  for (const kind of [
    'boolean',
    'fixedLength',
    'operator',
    'codeKind',
    'chartType',
    'hidesLines',
    'direction',
  ] as const) {
    t.ok(faults(kind, '{{x}}'), kind);
    t.notOk(canSwitch(kind), kind);
  }
  t.end();
});

void t.test('the form of a component shows every property that is written', (t) => {
  for (const [folder, kind] of [
    ['emails', 'email'],
    ['attachments', 'attachment'],
  ] as const)
    for (const name of folder === 'emails'
      ? ['order-confirmation', 'ticket']
      : ['invoice', 'offer', 'monthly-report']) {
      const content = sample(`${folder}/${name}.json`);
      for (const place of placesOf(content)) {
        if (place.what !== 'component') continue;
        const type = String(place.node['type']);
        if (!isComponentType(type) || type === 'conditional' || type === 'include') continue;
        const shown = formOf(kind, content, place).fields.map((field) => field.name);
        t.same(
          Object.keys(propsOf(place.node)).filter((prop) => !shown.includes(prop)),
          [],
          `${name}: ${String(place.node['id'])}`,
        );
      }
    }
  t.end();
});

void t.test('what has no meaning beside other properties is not asked', (t) => {
  const names = (node: Json, kind: 'email' | 'attachment' = 'email'): readonly string[] => {
    const content = { schema: { outputFormats: ['pdf'], components: [{ id: 'a', ...node }] } };
    return formOf(kind, content, placeOf(content, 'a')).fields.map(({ name }) => name);
  };
  t.notOk(names({ type: 'qr-code', props: {} }).includes('iban'));
  t.ok(names({ type: 'qr-code', props: { kind: 'epc' } }).includes('iban'));
  t.notOk(names({ type: 'qr-code', props: { kind: 'epc' } }).includes('value'));
  t.ok(names({ type: 'qr-code', props: { kind: 'epc', value: 'x' } }).includes('value'), 'what is written is shown');
  t.notOk(names({ type: 'table', props: { rows: [] } }).includes('dataSource'));
  t.notOk(names({ type: 'table', props: { dataSource: 'x' } }).includes('rows'));
  t.notOk(names({ type: 'rich-text', content: '' }).includes('pageBreak'), 'a mail has no sheets');
  t.ok(names({ type: 'rich-text', content: '' }, 'attachment').includes('pageBreak'));
  t.notOk(names({ type: 'columns' }, 'attachment').includes('stackOnMobile'));
  const both: Json = {
    schema: { components: [{ id: 'c', type: 'columns', children: [{ id: 'd', type: 'spacer' }] }] },
  };
  t.ok(formOf('email', both, placeOf(both, 'd')).fields.some(({ kind }) => kind === 'share'));
  for (const [group, fields] of groupsOf(formOf('email', both, undefined).fields)) t.ok(fields.length > 0, group);
  t.end();
});

void t.test('a value is replaced and all else stays as it is', (t) => {
  const content = sample('emails/order-confirmation.json');
  let count = 0;
  for (const { steps, node } of placesOf(content)) {
    const at = [...steps, 'props', 'color'];
    const before = valueAt(content, at);
    const changed = withValueAt(content, at, '#123456', steps.length + 1);
    t.equal(valueAt(changed, at), '#123456');
    const back = withValueAt(changed, at, before, steps.length + 1);
    t.same(back, content, writtenSteps(at));
    if (before === undefined)
      t.equal(JSON.stringify(back), JSON.stringify(content), `${String(node['id'])}, to the byte`);
    t.equal(back['variables'], content['variables'], 'what is beside it is the same object');
    count += 1;
  }
  t.ok(count > 20);
  t.same(withValueAt({ a: { b: 1 } }, ['a', 'b'], undefined, 1), {}, 'empty objects go');
  t.same(withValueAt({ a: { b: 1 } }, ['a', 'b'], undefined), { a: {} }, 'unless they are kept');
  t.same(withValueAt({ a: [1, 2, 3] }, ['a', 1], undefined), { a: [1, 3] });
  t.equal(valueAt({}, ['__proto__', 'x']), undefined);
  t.equal(valueAt({}, ['constructor']), undefined);
  t.end();
});

void t.test('a place knows what is around it', (t) => {
  const content: Json = {
    variables: [
      {
        name: 'order',
        type: 'object',
        schema: {
          properties: {
            items: {
              type: 'array',
              itemSchema: {
                properties: { name: { type: 'string', description: 'Of the article' }, price: { type: 'number' } },
              },
            },
            at: { type: 'date', format: { style: 'date', dateStyle: 'long' } },
          },
        },
      },
      { name: 'First name', type: 'string', defaultValue: 'Ada' },
      { name: 'calc', type: 'array', isCalculated: true, expression: 'x' },
    ],
    schema: {
      sections: [
        {
          id: 's',
          components: [
            {
              id: 'l',
              type: 'loop',
              props: { dataSource: '{{order.items}}', itemVariable: 'one', indexVariable: 'at' },
              children: [{ id: 'in', type: 'rich-text', content: '' }],
            },
            {
              id: 't',
              type: 'table',
              props: { dataSource: 'order["items"]', groupBy: 'name', columns: [] },
            },
          ],
        },
      ],
    },
  };
  const at = (id: string) => {
    const place = placeOf(content, id)!;
    return { place, scope: scopeAt(content, { extra: { deep: [1] } }, place.parents, place.node) };
  };
  const inside = namesOf(at('in').scope);
  t.match(
    inside.find(({ path }) => path === 'one.name'),
    { type: 'string', about: 'Of the article' },
  );
  t.match(
    inside.find(({ path }) => path === 'order.at'),
    { format: 'date, long' },
  );
  t.match(
    inside.find(({ path }) => path === '["First name"]'),
    { sample: 'Ada' },
  );
  for (const path of ['at', 'order.items.length', 'extra.deep', '__COMPANY_NAME__'])
    t.ok(
      inside.some((name) => name.path === path),
      path,
    );
  t.notOk(
    namesOf(at('l').scope).some(({ path }) => path === 'one'),
    'a loop does not read its own items',
  );
  const table = at('t');
  t.ok(namesOf(table.scope).some(({ path }) => path === 'item.price'));
  t.ok(namesOf(table.scope).some(({ path }) => path === 'group.sum.price'));
  t.notOk(namesOf(table.scope).some(({ path }) => path === 'group.sum.name'));
  t.same(
    fieldsOf(table.scope, 'order["items"]').map(({ path }) => path),
    ['name', 'price'],
  );
  t.same(
    listsOf(table.scope).map(({ path }) => path),
    ['order.items', 'calc', 'extra.deep'],
  );
  t.same(stepsOf('{{ order["1st \\u0069tem"][2].x }}'), ['order', '1st item', 2, 'x']);
  t.equal(stepsOf('a b'), undefined);
  t.equal(stepsOf(''), undefined);
  t.equal(placeOf(content, 'in')!.parents[0]!.at, 0);
  t.end();
});

void t.test('samples offer the members of calculated lists from their values', (t) => {
  const content = sample('emails/order-confirmation.json');
  const place = [...placesOf(content)].find(({ node }) => node['type'] === 'table')!;
  const scope = scopeAt(content, { lines: [{ title: 'Mug', total: 2 }] }, place.parents, place.node);
  t.ok(namesOf(scope).some(({ path }) => /^\w+\.title$/.test(path)));
  t.end();
});

void t.test('measures, boxes and borders are written as they are read', (t) => {
  for (const value of [16, '16pt', '50%', '1.5em', 0]) {
    const measure = measureOf(value, 'px')!;
    t.equal(writtenMeasure(measure, 'px'), value, String(value));
  }
  t.equal(writtenMeasure({ amount: '', unit: 'px' }, 'px'), undefined);
  t.equal(writtenMeasure({ amount: '1,5', unit: 'px' }, 'px'), 1.5);
  t.equal(writtenMeasure({ amount: '1.', unit: 'px' }, 'px'), '1.px', 'which is no measure, and not written');
  t.equal(measureOf('1.px', 'px'), undefined);
  t.equal(measureOf('calc(1px)', 'px'), undefined);
  for (const value of [8, '8px 16px', '1px 2px 3px', '1px 2px 3px 4px', '5%'])
    t.equal(writtenBox(boxOf(value)!), value);
  t.equal(writtenBox(boxOf('8px 8px')!), '8px', 'the shortest form');
  t.equal(writtenBox({ top: '', right: '4', bottom: '', left: '' }), '0 4 0 0');
  t.equal(boxOf('a b'), undefined);
  t.equal(boxOf('1 2 3 4 5'), undefined);
  t.same(borderOf('dashed 2px rgb(1, 2, 3)'), { width: '2px', style: 'dashed', color: 'rgb(1, 2, 3)' });
  t.equal(writtenBorder(borderOf('2px dashed #ddd')!), '2px dashed #ddd');
  t.equal(writtenBorder(borderOf(false)!), false);
  t.equal(writtenBorder(borderOf(undefined)!), undefined);
  t.equal(borderOf('1px solid url(x) y'), undefined);
  for (const value of ['2px dashed #ddd', writtenBorder(borderOf(true)!), writtenBorder(borderOf(3)!)])
    t.ok(mailMedia.border.accepts(value), String(value));
  t.equal(hexOf('#ABC'), '#aabbcc');
  t.equal(hexOf('red'), undefined);
  t.same(equalWidths(3), ['33%', '33%', '34%']);
  t.same(withWidth(undefined, 3, 0, '20%'), ['20%', '40%', '40%'], 'the rest is for the others');
  t.same(withWidth(undefined, 3, 0, 120), [120, '33%', '34%']);
  t.same(withWidth(undefined, 1, 0, '20%'), ['20%']);
  t.equal(withWidth(['20%', '33%', '34%'], 3, 0, undefined), undefined);
  t.same(withWidth([100], 2, 1, 5), [100, 5]);
  t.equal(colorsOf(sample('emails/order-confirmation.json'))[0]?.length, 7);
  t.end();
});

void t.test('hints of what mail programs do not show come from the data of caniemail.com', async (t) => {
  const { clientSupport } = (await import(new URL('../../../../bin/client-support.js', import.meta.url).href)) as {
    clientSupport: () => Readonly<Record<string, readonly string[]>>;
  };
  const support = clientSupport();
  t.same(Object.keys(support).sort(), [...supportFeatures].sort());
  t.match(supportSentence(support, 'borderRadius', 8), /^Rounded corners are not shown by Outlook on Windows.*\.$/);
  for (const value of [undefined, 0, '0', '0px']) t.equal(supportSentence(support, 'borderRadius', value), undefined);
  t.match(supportSentence(support, 'src', 'https://example.com/a.webp?x=1'), /WebP/);
  t.equal(supportSentence(support, 'src', 'asset:1'), undefined);
  t.match(supportSentence(support, 'padding', '1rem 2px'), /rem/);
  t.match(supportSentence(support, 'href', '#top'), /Links inside/);
  t.equal(supportSentence({}, 'borderRadius', 8), undefined);
  t.equal(
    supportSentence({ 'css-border-radius': ['A', 'B', 'C', 'D', 'E'] }, 'borderRadius', 8),
    'Rounded corners are not shown by A, B, C, D and 1 more.',
  );
});

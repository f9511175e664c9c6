/** Saving a template: every fault is named with its path, limits by their codes, hostile input is answered. */
import t from 'tap';
import { DomainError } from '../../src/domain/core/errors.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { checkEmailTemplate } from '../../src/domain/rendering/check/email.js';
import { compileVariableCheck, previewVariables } from '../../src/domain/rendering/fill/variables.js';
import type { JsonObject } from '../../src/domain/core/json.js';
import type { VariableDefinition } from '../../src/domain/rendering/scope/definitions.js';
import { templateOf } from '../support/rendering.js';

const thrown = (action: () => unknown): DomainError => {
  try {
    action();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};
const faultsOf = (template: unknown): readonly string[] => {
  const error = thrown(() => checkEmailTemplate(template, defaultLimits));
  if (error.code !== 'TEMPLATE_INVALID') throw error;
  return (error.details.errors ?? []).map(({ field }) => field);
};
const text = (id: string) => ({ id, type: 'rich-text', content: '<p>x</p>' });

void t.test('a good template comes back as it is, variables with ids', async (t) => {
  const template = templateOf([text('a')], {
    variables: [
      { name: 'x', type: 'string' },
      { id: 'mine', name: 'y', type: 'number', defaultValue: 3 },
    ],
    locale: 'de-DE',
    timeZone: 'Europe/Berlin',
  });
  const { content } = checkEmailTemplate(template, defaultLimits);
  t.match(content, {
    subject: 'Hello',
    locale: 'de-DE',
    variables: [{ id: /^[0-9a-f-]{36}$/, name: 'x' }, { id: 'mine' }],
  });
  t.same(checkEmailTemplate(template, defaultLimits).content, content, 'the same ids each time');
});

void t.test('every fault at once', async (t) => {
  const fields = faultsOf({
    subject: 'Hi {{name',
    extra: 1,
    locale: 'no such locale',
    timeZone: 'Mars/Olympus',
    variables: [
      { name: ' ', type: 'text' },
      { name: 'a', type: 'string', defaultValue: 5 },
      { name: 'a', type: 'string' },
      { name: '__X__', type: 'string' },
    ],
    schema: {
      oops: true,
      props: { preheader: 1, unknownProp: 1 },
      sections: [
        {
          id: 's',
          type: 'sidebar',
          props: { backgroundColor: 'not-a-colour' },
          components: [
            { id: 'a', type: 'rich-text' },
            { id: 'a', type: 'button', content: 'Go', props: { href: 'javascript:alert(1)', colour: 'red' } },
            { id: 'b', type: 'image', props: { src: 'asset:12', width: 'wide' } },
            { id: 'c', type: 'conditional', props: { condition: 'x', operator: 'like' }, children: [] },
            { id: 'd', type: 'conditional', props: { condition: 'x', operator: '==' }, children: [] },
            {
              id: 'e',
              type: 'loop',
              props: { dataSource: '{{items}} x', itemVariable: '1' },
              children: [text('e1'), { id: 'e2', type: 'nope' }],
            },
            { id: 'f', type: 'chart', props: {} },
            { id: 'g', type: 'qr-code', props: { value: 'x', errorCorrection: 'Z' } },
            {
              id: 'h',
              type: 'table',
              props: { columns: [{ header: 'H', format: { style: 'currency' }, width: '{{w}}', foo: 1 }] },
            },
            { id: 'i', type: 'spacer', content: 'x', children: [] },
            { id: 'j', type: 'columns', props: { widths: ['{{w}}'] }, children: [] },
            { id: 'k', type: 'rich-text', content: '{{#if x}}' },
            'text',
          ],
        },
        { id: 's', type: 'main' },
      ],
    },
  });
  const at = 'schema.sections[0].components';
  const expected = [
    'subject',
    'extra',
    'locale',
    'timeZone',
    'variables[0].name',
    'variables[0].type',
    'variables[1].defaultValue',
    'variables[2].name',
    'variables[3].name',
    'schema.oops',
    'schema.props.preheader',
    'schema.props.unknownProp',
    'schema.sections[0].type',
    'schema.sections[0].props.backgroundColor',
    `${at}[0].content`,
    `${at}[1].id`,
    `${at}[1].props.href`,
    `${at}[1].props.colour`,
    `${at}[2].props.src`,
    `${at}[2].props.width`,
    `${at}[3].props.operator`,
    `${at}[4].props.value`,
    `${at}[5].props.dataSource`,
    `${at}[5].props.itemVariable`,
    `${at}[5].children[1].type`,
    `${at}[6].type`,
    `${at}[7].props.errorCorrection`,
    `${at}[8].props.dataSource`,
    `${at}[8].props.columns[0].format.currency`,
    `${at}[8].props.columns[0].foo`,
    `${at}[9].content`,
    `${at}[9].children`,
    `${at}[10].props.widths[0]`,
    `${at}[10].children`,
    `${at}[11].content`,
    `${at}[12]`,
    'schema.sections[1].id',
    'schema.sections[1].components',
  ];
  for (const field of expected) t.ok(fields.includes(field), field);
  t.same(
    fields.filter((field) => !expected.includes(field)),
    [],
    'and nothing else',
  );
});

void t.test('sentences', async (t) => {
  const messageOf = (variables: unknown): string =>
    thrown(() => checkEmailTemplate(templateOf([text('a')], { variables }), defaultLimits)).message;
  t.match(messageOf({ variables: [] }), /plain array, not an object with a "variables" key/);
  t.match(
    messageOf([{ name: 'total', type: 'number', isCalculated: true, expression: 'a+b' }]),
    /variables\[0\]\.expression: uses "a", which is neither a variable/,
  );
  t.match(
    messageOf([{ name: 'total', type: 'number', expression: 'a+b' }]),
    /belongs to a calculated variable: set isCalculated to true/,
  );
  t.match(
    messageOf([{ name: 'total', type: 'number', isCalculated: true }]),
    /variables\[0\]\.expression: is required where isCalculated is true/,
  );
  t.match(
    messageOf([{ name: 'total', type: 'number', isCalculated: true, expression: 7 }]),
    /variables\[0\]\.expression: must be text/,
  );
  t.match(
    messageOf([{ name: 'total', type: 'number', isCalculated: 'yes', expression: '1' }]),
    /variables\[0\]\.isCalculated: must be true or false/,
  );
  t.match(
    messageOf([{ name: 'total', type: 'number', isCalculated: true, expression: '1 +' }]),
    /variables\[0\]\.expression: cannot be read as a JavaScript expression/,
  );
  const calculated = (name: string, expression: string): JsonObject => ({
    name,
    type: 'number',
    isCalculated: true,
    expression,
  });
  t.match(
    messageOf([calculated('a', 'b + 1'), calculated('b', 'c'), calculated('c', 'a')]),
    /depends on itself: a → b → c → a/,
    'a circle names its members',
  );
  t.match(
    messageOf(Array.from({ length: 501 }, (_, at) => ({ name: `v${at}`, type: 'string' }))),
    /501 variables, the maximum is 500/,
  );
  t.match(messageOf([{ name: 'o', type: 'object', schema: { type: 'array' } }]), /schema\.type/);
  t.match(
    messageOf([
      {
        name: 'o',
        type: 'array',
        itemType: 'object',
        schema: { type: 'array', itemSchema: { properties: { a: { type: 'nope' } } } },
      },
    ]),
    /itemSchema\.properties\.a\.type/,
  );
});

void t.test('limits by their codes', async (t) => {
  const nested = (depth: number, make: (child: unknown, level: number) => unknown): unknown =>
    Array.from({ length: depth }).reduce<unknown>((child, _, level) => make(child, level), text('leaf'));
  const inContainers = (depth: number): unknown =>
    nested(depth - 1, (child, level) => ({ id: `c${level}`, type: 'container', children: [child] }));
  const inLoops = (depth: number): unknown =>
    nested(depth, (child, level) => ({
      id: `l${level}`,
      type: 'loop',
      props: { dataSource: 'x', itemVariable: `v${level}` },
      children: [child],
    }));
  const inConditions = (depth: number): unknown =>
    nested(depth, (child, level) => ({
      id: `i${level}`,
      type: 'conditional',
      props: { condition: 'x', operator: 'exists' },
      children: [child],
    }));
  const check = (components: readonly unknown[]) => checkEmailTemplate(templateOf(components), defaultLimits);

  t.doesNotThrow(() => check([inContainers(10)]));
  t.match(
    thrown(() => check([inContainers(11)])),
    {
      code: 'ERR_LIMIT_008',
      message: /11 deep, the maximum is 10/,
      details: { relatedInfo: { actualDepth: 11, maxDepth: 10 } },
    },
  );
  t.doesNotThrow(() => check([inLoops(3)]));
  t.match(
    thrown(() => check([inLoops(4)])),
    { code: 'ERR_LIMIT_008', message: /loops are nested 4 deep, the maximum is 3/ },
  );
  t.doesNotThrow(() => check([inConditions(5)]));
  t.match(
    thrown(() => check([inConditions(6)])),
    { code: 'ERR_LIMIT_008', message: /conditions are nested 6 deep, the maximum is 5/ },
  );
  const many = (count: number) => Array.from({ length: count }, (_, at) => text(`c${at}`));
  t.doesNotThrow(() => check(many(200)));
  t.match(
    thrown(() => check(many(201))),
    {
      code: 'ERR_LIMIT_009',
      message: /201 components, the maximum is 200/,
      details: { relatedInfo: { actualComponents: 201, maxComponents: 200 } },
    },
  );
  t.match(
    thrown(() => check([{ ...text('a'), content: 'x'.repeat(1_048_600) }])),
    { code: 'TEMPLATE_INVALID', message: /characters of text/ },
  );
});

void t.test('an object of more names than a template needs is refused before anything goes over them', async (t) => {
  const { templateNamesMax } = defaultLimits;
  const named = (count: number): JsonObject =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]));
  const withDefault = (count: number) =>
    templateOf([text('a')], { variables: [{ name: 'x', type: 'object', defaultValue: named(count) }] });
  t.doesNotThrow(() => checkEmailTemplate(withDefault(templateNamesMax), defaultLimits));
  const many = named(templateNamesMax + 1);
  for (const [field, template] of [
    ['variables', withDefault(templateNamesMax + 1)],
    ['variables', templateOf([text('a')], { variables: [many] })],
    ['schema', templateOf([{ ...text('a'), props: many }])],
    ['schema', templateOf([{ ...text('a'), type: [[many]] }])],
    ['translations', templateOf([text('a')], { translations: { de: many } })],
  ] as const)
    t.match(
      thrown(() => checkEmailTemplate(template, defaultLimits)),
      {
        code: 'TEMPLATE_INVALID',
        details: { errors: [{ field, message: 'holds an object of 10001 names, the maximum is 10000' }] },
      },
    );
});

void t.test('hostile input is answered', async (t) => {
  for (const input of [
    undefined,
    null,
    5,
    'x',
    [],
    {},
    { schema: null },
    { schema: { sections: {} } },
    { schema: { sections: [null, 1, []] } },
    { schema: { sections: [{ components: {} }] } },
  ]) {
    t.match(
      thrown(() => checkEmailTemplate(input, defaultLimits)),
      { code: 'TEMPLATE_INVALID' },
      JSON.stringify(input),
    );
  }
  let deep: unknown = text('leaf');
  for (let at = 0; at < 100_000; at += 1) deep = { id: `c${at}`, type: 'container', children: [deep] };
  t.match(
    thrown(() => checkEmailTemplate(templateOf([deep]), defaultLimits)),
    { code: 'ERR_LIMIT_009' },
    'nested 100,000 deep',
  );
  let list: unknown = 1;
  for (let at = 0; at < 100_000; at += 1) list = [list];
  t.same(faultsOf(templateOf([text('a')], { variables: [{ name: 'x', type: 'array', defaultValue: list }] })), [
    'variables[0].defaultValue',
  ]);
  t.same(faultsOf(templateOf([{ ...text('a'), props: { padding: list } }])), [
    'schema.sections[0].components[0].props.padding',
  ]);
  const proto = JSON.parse('{"__proto__": {"color": "red"}, "constructor": 1, "toString": 2}') as unknown;
  t.equal(faultsOf(templateOf([{ ...text('a'), props: proto }])).length, 3, 'inherited names are no props');
  t.same(
    faultsOf(
      templateOf([
        { id: 'a', type: '__proto__' },
        { id: 'b', type: 'constructor' },
      ]),
    ).length,
    2,
  );
  t.same(faultsOf(templateOf([text('a')], { variables: [JSON.parse('{"name": "__proto__", "type": "string"}')] })), [
    'variables[0].name',
  ]);
  t.equal(
    faultsOf(templateOf([{ id: 'a', type: 'table', props: { rows: Array.from({ length: 300 }, () => 'x') } }])).length,
    100,
    'the answer is bounded',
  );
  t.equal(({} as { color?: string }).color, undefined, 'nothing was polluted');
});

void t.test('variables of a call', async (t) => {
  const definitions: VariableDefinition[] = [
    { name: 's', type: 'string', required: true },
    { name: 'n', type: 'number', defaultValue: 7 },
    { name: 'b', type: 'boolean' },
    { name: 'd', type: 'date' },
    { name: 'tags', type: 'array', itemType: 'string' },
    {
      name: 'order',
      type: 'object',
      schema: {
        type: 'object',
        properties: {
          id: { type: 'string', required: true },
          items: {
            type: 'array',
            itemType: 'object',
            itemSchema: { properties: { qty: { type: 'number', required: true }, sku: { type: 'string' } } },
          },
        },
      },
    },
  ];
  const check = compileVariableCheck(definitions);
  const fields = (values: JsonObject): readonly string[] => {
    const error = thrown(() => check(values));
    t.equal(error.code, 'VALIDATION_ERROR');
    return (error.details.errors ?? []).map(({ field }) => field);
  };
  t.same(
    check({ s: 'x', extra: { anything: 1 } }),
    { s: 'x', n: 7, extra: { anything: 1 } },
    'defaults are put in, unknown values pass',
  );
  t.same(check({ s: 'x', n: null, b: false, d: '2026-11-21', tags: [], order: { id: '1', items: [{ qty: 1 }] } }).n, 7);
  t.same(fields({}), ['variables.s']);
  t.same(fields({ s: null }), ['variables.s']);
  t.same(fields({ s: 5, n: '7', b: 'true', d: '2026-02-30', tags: ['a', 1, null], order: [] }), [
    'variables.s',
    'variables.n',
    'variables.b',
    'variables.d',
    'variables.tags[1]',
    'variables.tags[2]',
    'variables.order',
  ]);
  t.same(fields({ s: 'x', order: { items: [{ qty: 1 }, { sku: 'a' }, { qty: '3' }, 5] } }), [
    'variables.order.id',
    'variables.order.items[1].qty',
    'variables.order.items[2].qty',
    'variables.order.items[3]',
  ]);
  t.same(fields(JSON.parse('{"__proto__": {"s": "x"}}') as JsonObject), ['variables.s'], 'only own members count');
  t.equal(fields({ s: 'x', tags: Array.from({ length: 100_000 }, () => 1) }).length, 100);
  t.same(previewVariables([{ name: 'a', type: 'string', required: true, defaultValue: 'A' }], { b: 1 }), {
    a: 'A',
    b: 1,
  });
});

void t.test('where a thousand things are wrong, no more are looked for', async (t) => {
  let looks = 0;
  const section = Object.defineProperty({}, 'id', {
    get: () => {
      looks += 1;
      return undefined;
    },
  });
  const schema = { sections: Array.from({ length: 49_000 }, () => section) };
  const fault = thrown(() => checkEmailTemplate({ subject: 'Hi', variables: [], schema }, defaultLimits));
  t.match(fault, { code: 'TEMPLATE_INVALID', message: /\(and at least \d+ more, see errors\)$/ });
  t.equal(fault.details.errors?.length, 100);
  t.ok(looks > 0 && looks <= 1_000, `${looks} sections of 49,000`);
});

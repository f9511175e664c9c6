/** Expressions that calculate, and members that they read. */
import fc from 'fast-check';
import t from 'tap';
import { DomainError } from '../../src/domain/core/errors.js';
import type { Json, JsonObject } from '../../src/domain/core/json.js';
import { defaultExpressionLimits as limits, defaultLimits } from '../../src/domain/core/limits.js';
import { openBudget } from '../../src/domain/rendering/budget.js';
import { checkEmailTemplate } from '../../src/domain/rendering/check/email.js';
import { collectFaults } from '../../src/domain/rendering/check/faults.js';
import { checkVariables } from '../../src/domain/rendering/check/variables.js';
import { compileCalculation, orderCalculated } from '../../src/domain/rendering/expression/calculated.js';
import { compilePreparation } from '../../src/domain/rendering/fill/compile.js';
import type { VariableDefinition, VariableType } from '../../src/domain/rendering/scope/definitions.js';
import { environment, templateOf } from '../support/rendering.js';

// Calculated variables: order, circles, what they add to a call, and errors that name the variable.

const moment = { at: '2026-11-21T10:30:00.000Z', constants: { __COMPANY_NAME__: 'Acme' } };
const plain = (name: string, type: VariableType = 'number'): VariableDefinition => ({ name, type });
const calc = (name: string, expression: string, more: Partial<VariableDefinition> = {}): VariableDefinition => ({
  name,
  type: 'number',
  isCalculated: true,
  expression,
  ...more,
});
const calculate = (definitions: readonly VariableDefinition[], values: JsonObject): JsonObject =>
  compileCalculation(definitions, limits)(values, moment);
const faultsOf = (definitions: readonly VariableDefinition[]): readonly string[] =>
  orderCalculated(definitions, limits).faults.map(({ index, message }) => `${index} ${message}`);

void t.test('a text that is made with nothing is nothing, and its default stands in', (t) => {
  const text = (expression: string, more: Partial<VariableDefinition> = {}) =>
    calculate([plain('o', 'object'), calc('said', expression, { type: 'string', ...more })], {
      o: { qty: 3, price: 1.1, none: null, list: [1, 2], to: { city: 'Lisboa' } },
    })['said'];
  for (const expression of [
    '`Hello ${o.first},`',
    '"Hello " + o.none',
    '`Total ${o.qty * o.absent} EUR`',
    '`To ${o.to}`',
    '"To " + o.to',
    '(`a${o.first}`).toUpperCase()',
  ])
    t.equal(text(expression), undefined, expression);
  t.equal(text('`Hello ${o.first},`', { defaultValue: 'Hello,' }), 'Hello,');
  t.equal(text('`Hello ${o.first ?? "you"},`'), 'Hello you,');
  t.equal(text('`Total ${o.qty * o.price} EUR`'), 'Total 3.3 EUR');
  t.equal(text('`${o.list} ${true}`'), '1,2 true');
  t.end();
});

const refusal = (action: () => unknown): DomainError => {
  try {
    action();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
};

void t.test('a month is added in the time zone of the mail', (t) => {
  const definitions = [plain('from', 'date'), calc('until', 'addMonths(from, 6)', { type: 'date' })];
  const until = (timeZone: string, from: Json): Json | undefined =>
    compilePreparation(definitions, { locale: 'de', timeZone }, defaultLimits)(
      { from },
      environment,
      openBudget(defaultLimits),
    ).values['until'];
  t.equal(until('Europe/Berlin', '2026-01-31T23:30:00Z'), '2026-07-31T22:30:00.000Z');
  t.equal(until('UTC', '2026-01-31T23:30:00Z'), '2026-07-31T23:30:00.000Z');
  t.equal(until('Europe/Berlin', '2026-08-31'), '2027-02-28');
  const { details } = refusal(() => until('UTC', '9999-12-31'));
  t.match(details.errors, [
    { field: 'variables.until', message: /^cannot be calculated: its expression calls "addMonths" beyond/ },
  ]);
  t.end();
});

/** A variable `order` whose lines have calculated members beside `qty` and `price`. */
const withMembers = (
  members: Readonly<Record<string, JsonObject>>,
  more: Partial<VariableDefinition> = {},
): VariableDefinition => ({
  name: 'order',
  type: 'object',
  schema: {
    properties: {
      lines: {
        type: 'array',
        itemType: 'object',
        itemSchema: { properties: { qty: { type: 'number' }, price: { type: 'number' }, ...members } },
      },
    },
  },
  ...more,
});
const member = (expression: string, type: VariableType = 'number', more: JsonObject = {}): JsonObject => ({
  type,
  isCalculated: true,
  expression,
  ...more,
});
const lines = [
  { qty: 2, price: 4.5 },
  { qty: 3, price: 0.1 },
];

void t.test('each item gets its calculated members, and nothing of the call is changed', (t) => {
  const definitions = [
    withMembers({
      share: member('item.total / sum'),
      total: member('item.qty * item.price'),
      place: member('`${index + 1} of ${order.lines.length}`', 'string'),
    }),
    calc('sum', 'order.lines.reduce((sum, { total }) => sum + total, 0)'),
    calc('dear', 'order.lines.filter((line) => line.total > 1)', { type: 'array' }),
    calc('whole', 'order.lines.map((line) => ({ ...line }))', { type: 'array' }),
  ];
  const given = { order: { note: 'x', lines: [{ ...lines[0], total: 'sent' }, lines[1]!] } };
  const before = structuredClone(given);
  const made = calculate(definitions, given);
  const expected = [
    { qty: 2, price: 4.5, total: 9, share: 9 / 9.3, place: '1 of 2' },
    { qty: 3, price: 0.1, total: 0.3, share: 0.3 / 9.3, place: '2 of 2' },
  ].map((line) => ({ ...line, share: Number((line.total / 9.3).toPrecision(15)) }));
  const near = (value: Json | undefined): unknown =>
    JSON.parse(JSON.stringify(value), (_, one: unknown) =>
      typeof one === 'number' ? Number(one.toPrecision(12)) : one,
    );
  t.strictSame(near(made['order']), near({ note: 'x', lines: expected }));
  t.equal(made['sum'], 9.3);
  t.strictSame(near(made['dear']), near([expected[0]!]));
  t.strictSame(near(made['whole']), near(expected));
  t.strictSame(given, before);
  t.strictSame(calculate(definitions, { order: { lines: [] } }), { order: { lines: [] }, sum: 0, dear: [], whole: [] });
  t.end();
});

void t.test('members of items in items, of objects in items, of calculated arrays', (t) => {
  const nested: VariableDefinition = {
    name: 'groups',
    type: 'array',
    schema: {
      itemSchema: {
        properties: {
          name: { type: 'string' },
          lines: {
            type: 'array',
            itemSchema: {
              properties: {
                net: { type: 'object', properties: { value: {}, gross: member('item.net.value * rate') } },
              },
            },
          },
          sum: member('item.lines?.reduce((sum, line) => sum + (line.net?.gross ?? 0), 0)'),
        },
      },
    },
  };
  const groups: Json = [
    { lines: [{ net: { value: 1 } }, { net: { value: 2 } }, { note: 'x' }] },
    { lines: [] },
    7,
    null,
    {},
  ];
  t.strictSame(calculate([nested, plain('rate')], { rate: 2, groups })['groups'] as Json, [
    { lines: [{ net: { value: 1, gross: 2 } }, { net: { value: 2, gross: 4 } }, { note: 'x' }], sum: 6 },
    { lines: [], sum: 0 },
    7,
    null,
    {},
  ]);
  const items = {
    itemSchema: { properties: { twice: member('item.n * 2'), last: member('index === made.length - 1', 'boolean') } },
  };
  t.strictSame(
    calculate(
      [
        plain('ns', 'array'),
        calc('made', 'ns.map((n) => ({ n }))', { type: 'array', schema: items }),
        calc('sum', 'made.reduce((sum, { twice }) => sum + twice, 0)'),
      ],
      { ns: [1, 2] },
    ),
    {
      ns: [1, 2],
      made: [
        { n: 1, twice: 2, last: false },
        { n: 2, twice: 4, last: true },
      ],
      sum: 6,
    },
  );
  t.end();
});

void t.test('what is wrong with a calculated member is told with its place', (t) => {
  const at = 'variables[0].schema.properties.lines.itemSchema.properties';
  const faults = (definitions: readonly unknown[]): readonly string[] => {
    const collected = collectFaults();
    checkVariables(definitions, { faults: collected, limits: defaultLimits });
    if (collected.count() === 0) return [];
    const { details } = refusal(() => collected.throwIfAny('TEMPLATE_INVALID', 'the template'));
    return (details.errors ?? []).map(({ field, message }) => `${field} ${message}`);
  };
  t.strictSame(faults([withMembers({ total: member('item.qty * item.price') })]), []);
  for (const [definitions, expected] of [
    [
      [withMembers({ a: member('item.b'), b: member('item.a') })],
      [`${at}.a.expression depends on itself: order.lines[].a → order.lines[].b → order.lines[].a`],
    ],
    [
      [withMembers({ share: member('item.qty / sum') }), calc('sum', 'order.lines.map((line) => line.share).length')],
      [`${at}.share.expression depends on itself: order.lines[].share → sum → order.lines[].share`],
    ],
    [
      [withMembers({ total: member('itm.qty') })],
      [
        `${at}.total.expression uses "itm", which is neither a variable of the template nor a function that expressions have; did you mean "item"?`,
      ],
    ],
    [
      [withMembers({ total: { type: 'number', isCalculated: true } })],
      [`${at}.total.expression is required where isCalculated is true`],
    ],
    [[withMembers({ total: { type: 'number', expression: '1' } })], [/belongs to a calculated variable/]],
    [[withMembers({ total: { type: 'number', isCalculated: 1 } })], [/isCalculated must be true or false/]],
    [
      [{ name: 'o', type: 'object', schema: { properties: { total: member('1') } } }],
      [/^variables\[0\].schema.properties.total.expression belongs to a member of items/],
    ],
    [
      [{ name: 'o', type: 'array', schema: { itemSchema: { ...member('1') } } }],
      [/^variables\[0\].schema.itemSchema.expression belongs to a member of items/],
    ],
    [
      [
        withMembers(
          JSON.parse('{"__proto__":{"type":"number","isCalculated":true,"expression":"1"}}') as Record<
            string,
            JsonObject
          >,
        ),
      ],
      [/"__proto__"/],
    ],
    [
      [
        withMembers(Object.fromEntries(Array.from({ length: 490 }, (_, n) => [`m${n}`, member('1')]))),
        ...Array.from({ length: 11 }, (_, n) => calc(`v${n}`, '1')),
      ],
      [/^variables\[11\].expression is one of 501 calculated variables and members, the maximum is 500$/],
    ],
    [
      [
        {
          ...withMembers({ total: member('item.qty', 'number', { required: true }) }),
          defaultValue: { lines: [{ qty: 1 }] },
        },
      ],
      [],
    ],
  ] as const)
    t.match(faults(definitions), expected);
  t.end();
});

void t.test('a member that fails, or comes to another type, is told with its item; the work is bounded', (t) => {
  const errorsOf = (expression: string, more: JsonObject = {}): unknown =>
    refusal(() => calculate([withMembers({ total: member(expression, 'number', more) })], { order: { lines } })).details
      .errors;
  t.match(errorsOf('item.absent.x'), [
    { field: 'variables.order.lines[0].total', message: /^cannot be calculated: its expression reads ".x"/ },
  ]);
  t.match(errorsOf('index === 1 ? "two" : 1'), [
    { field: 'variables.order.lines[1].total', message: 'must be a number, got text; the template calculates it' },
  ]);
  t.match(errorsOf('item.absent', { required: true }), [
    { field: 'variables.order.lines[0].total', message: 'is required; the template calculates it' },
  ]);
  const definitions = [withMembers({ total: member('1') })];
  const many = { order: { lines: Array.from({ length: 100_001 }, () => ({})) } };
  t.equal(
    refusal(() => compileCalculation(definitions, limits)(many, { ...moment, budget: openBudget(defaultLimits) })).code,
    'WORK_LIMIT_EXCEEDED',
  );
  // A value that is sent under the name of a calculated member is neither read nor checked.
  const prepare = compilePreparation(
    [withMembers({ total: member('item.qty', 'number', { required: true }) })],
    { locale: 'de', timeZone: 'UTC' },
    defaultLimits,
  );
  t.strictSame(
    prepare({ order: { lines: [{ qty: 1, total: 'x' }, { qty: 2 }] } }, environment, openBudget(defaultLimits)).values[
      'order'
    ] as Json,
    {
      lines: [
        { qty: 1, total: 1 },
        { qty: 2, total: 2 },
      ],
    },
  );
  t.end();
});

void t.test('the sum of calculated members is what one expression over all items gives', (t) => {
  const definitions = [
    withMembers({ total: member('item.qty * item.price') }),
    calc('byMembers', 'order.lines.reduce((sum, line) => sum + line.total, 0)'),
    calc('atOnce', 'order.lines.reduce((sum, line) => sum + line.qty * line.price, 0)'),
  ];
  const line = fc.record({
    qty: fc.integer({ min: -99, max: 99 }),
    price: fc.integer({ min: 0, max: 99_999 }).map((cents) => cents / 100),
  });
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), (drawn) => {
      const given = { order: { lines: drawn } };
      const before = JSON.stringify(given);
      const { byMembers, atOnce } = calculate(definitions, given);
      return byMembers === atOnce && JSON.stringify(given) === before;
    }),
  );
  t.pass('for all lines');
  t.end();
});

const order: readonly VariableDefinition[] = [
  calc('total', 'subtotal + tax'),
  calc('tax', 'Math.round(subtotal * rate * 100) / 100'),
  plain('items', 'array'),
  calc('subtotal', 'items.reduce((sum, { qty, price }) => sum + qty * price, 0)'),
  plain('rate'),
  calc('greeting', '`${__COMPANY_NAME__} thanks you for ${total.toFixed(2)}`', { type: 'string' }),
  calc('due', 'new Date(Date.now() + 14 * 86400000)', { type: 'date' }),
];

void t.test('each comes after what it reads, else as written', async (t) => {
  const { ordered, faults } = orderCalculated(order, limits);
  t.same(faults, []);
  t.same(
    ordered.map(({ definition }) => definition.name),
    ['subtotal', 'tax', 'total', 'greeting', 'due'],
  );
  t.same(orderCalculated([plain('a')], limits), { ordered: [], faults: [] });
});

void t.test('values come with the calculated ones added', async (t) => {
  const values = {
    items: [
      { qty: 2, price: 4.5 },
      { qty: 1, price: 12 },
    ],
    rate: 0.2,
    extra: 'kept',
  };
  t.strictSame(calculate(order, values), {
    ...values,
    subtotal: 21,
    tax: 4.2,
    total: 25.2,
    greeting: 'Acme thanks you for 25.20',
    due: '2026-12-05T10:30:00.000Z',
  });
  t.same(Object.keys(values), ['items', 'rate', 'extra'], 'the given object is as it was');
  t.equal(calculate([plain('a')], values), values, 'without calculated variables nothing is copied');
});

void t.test('the expression wins over a value of the call, which it cannot even read', async (t) => {
  const definitions = [calc('total', 'a * 2'), plain('a'), calc('first', 'total + 1')];
  t.strictSame(calculate(definitions, { a: 2, total: 'forged', first: 9 }), { a: 2, total: 4, first: 5 });
  t.strictSame(
    calculate([calc('x', 'undefined'), calc('y', 'x ?? 5')], { x: 1 }),
    { y: 5 },
    'also where it comes to nothing',
  );
});

void t.test('nothing, a default, and what is required', async (t) => {
  t.strictSame(calculate([calc('x', 'a?.b'), plain('a', 'object')], {}), {});
  t.strictSame(calculate([calc('x', 'a?.b', { defaultValue: 3 }), plain('a', 'object'), calc('y', 'x + 1')], {}), {
    x: 3,
    y: 4,
  });
  t.match(
    refusal(() => calculate([calc('x', 'a?.b', { required: true }), plain('a', 'object')], {})),
    {
      code: 'VALIDATION_ERROR',
      message: 'variables.x is required; the template calculates it',
      details: { errors: [{ field: 'variables.x' }] },
    },
  );
});

void t.test('circles are refused and named', async (t) => {
  t.same(faultsOf([calc('a', 'b + 1'), calc('b', 'c + 1'), calc('c', 'a + 1'), calc('d', 'a')]), [
    '0 depends on itself: a → b → c → a',
  ]);
  t.same(faultsOf([calc('a', 'a + 1')]), ['0 depends on itself: a → a']);
  t.same(faultsOf([plain('z'), calc('x', 'y'), calc('y', 'x'), calc('p', 'q'), calc('q', 'p + z')]), [
    '1 depends on itself: x → y → x',
    '3 depends on itself: p → q → p',
  ]);
  t.same(
    faultsOf([calc('start', 'a'), calc('a', 'b'), calc('b', 'a')]),
    ['1 depends on itself: a → b → a'],
    'without the way that leads to it',
  );
  t.same(
    faultsOf([calc('a', 'list.map(a => a.b)'), plain('list', 'array')]),
    [],
    'a parameter is not the variable of its name',
  );
});

void t.test('many circles and much source are answered shortly', async (t) => {
  const all = Array.from({ length: 250 }, (_, i) => `v${i}`);
  const web = orderCalculated(
    all.map((name) => calc(name, `[${all.slice(0, 90).join()}]`)),
    limits,
  ).faults;
  t.equal(web.length, 90, 'one for each variable in a circle');
  t.ok(
    web.every(({ message }) => message.length < 330),
    'none is long',
  );
  const long = Array.from({ length: 40 }, (_, i) => calc(`v${i}`, '1'.padStart(4_000)));
  t.same(faultsOf(long), [
    '25 brings the expressions of the template to 104000 characters together, the maximum is 100000',
  ]);
});

void t.test('what is wrong with an expression is said by its place', async (t) => {
  t.match(
    faultsOf([
      plain('a'),
      calc('x', 'a +'),
      calc('y', 'nope'),
      { name: 'z', type: 'number', isCalculated: true },
      calc('w', ''),
      calc('v', 'this'),
    ]),
    [
      /^1 cannot be read as a JavaScript expression/,
      /^2 uses "nope", which is neither a variable/,
      /^3 is required where isCalculated is true/,
      /^4 is empty/,
      /^5 uses "this"/,
    ],
  );
  const hostile = JSON.parse(
    '[{"name":"z","type":"number","isCalculated":true,"expression":{"length":1}},{"name":"y","type":"number","isCalculated":true,"expression":null}]',
  ) as VariableDefinition[];
  t.same(faultsOf(hostile), ['0 must be text', '1 must be text']);
  t.match(
    refusal(() => compileCalculation([calc('x', 'nope')], limits)),
    { code: 'TEMPLATE_INVALID', details: { errors: [{ field: 'variables[0].expression' }] } },
  );
});

void t.test('errors of a call name the variable', async (t) => {
  const failing = (expression: string, values: JsonObject, type: VariableType = 'number'): DomainError =>
    refusal(() => calculate([calc('total', expression, { type }), plain('a'), plain('list', 'array')], values));
  t.match(failing('a.b.c', { a: 1 }), {
    code: 'VALIDATION_ERROR',
    message: /^variables\.total cannot be calculated: its expression reads "\.c" of "a\.b", which is missing/,
    details: { errors: [{ field: 'variables.total' }], relatedInfo: { reason: 'WRONG_VALUE', at: 0 } },
  });
  t.match(failing('list.map(x => list.map(y => x * y))', { list: Array.from({ length: 200 }, () => 1) }, 'array'), {
    message: /more than 25,000 operations/,
    details: { relatedInfo: { reason: 'TOO_MANY_OPERATIONS' } },
  });
  t.match(failing('a / 0', { a: 1 }), { message: /results in Infinity/ });
  t.match(failing('`${a}`', { a: 1 }), {
    message: 'variables.total must be a number, got text; the template calculates it',
  });
  t.match(
    refusal(() =>
      calculate(
        [
          calc('rows', '[{ n: 1 }, { n: "x" }]', {
            type: 'array',
            schema: { type: 'array', itemSchema: { properties: { n: { type: 'number' } } } },
          }),
        ],
        {},
      ),
    ),
    {
      message: 'variables.rows[1].n must be a number, got text; the template calculates it',
      details: { errors: [{ field: 'variables.rows[1].n' }] },
    },
  );
});

void t.test('the results of one call are bounded together', async (t) => {
  const list = Array.from({ length: 30 }, () => 'x'.repeat(3_000));
  const definitions = [
    plain('list', 'array'),
    ...Array.from({ length: 20 }, (_, i) => calc(`copy${i}`, 'list', { type: 'array' })),
  ];
  t.match(
    refusal(() => calculate(definitions, { list })),
    {
      message: /^variables\.copy11 .*more than calculated variables may hold together/,
      details: { relatedInfo: { reason: 'TOO_LARGE' } },
    },
  );
  t.equal(Object.keys(calculate(definitions.slice(0, 12), { list })).length, 12);
  t.equal(Object.keys(calculate(definitions.slice(0, 12), { list })).length, 12, 'each call has a size of its own');
});

void t.test('five hundred in a row, written the wrong way round', async (t) => {
  const definitions = [...Array.from({ length: 499 }, (_, i) => calc(`v${i}`, `v${i + 1} + 1`)), calc('v499', '1')];
  const values: Record<string, Json> = { ...calculate(definitions, {}) };
  t.equal(values['v0'], 500);
  t.same(faultsOf([...definitions.slice(0, 499), calc('v499', 'v0')]).length, 1);
});

// Members that expressions read are held against the schemas of the variables: near ones are refused, others told, what
// is not declared is left alone.

const declared = [
  {
    name: 'items',
    type: 'array',
    schema: {
      itemSchema: {
        properties: {
          name: { type: 'string' },
          price: { type: 'number' },
          qty: { type: 'number' },
          tax: { type: 'object', properties: { rate: { type: 'number' } } },
          parts: { type: 'array', itemSchema: { properties: { weight: { type: 'number' } } } },
        },
      },
    },
  },
  {
    name: 'order',
    type: 'object',
    schema: { properties: { total: { type: 'number' }, lines: { type: 'array', itemType: 'object' } } },
  },
  { name: 'free', type: 'object' },
];

/** `fault …` or `warning …` for each finding in the expression. */
const findings = (expression: string): readonly string[] => {
  const template = templateOf([], {
    variables: [...declared, { name: 'it', type: 'string', isCalculated: true, expression }],
  });
  try {
    return checkEmailTemplate(template, defaultLimits).warnings.map(
      ({ field, message }) => `warning ${field} ${message}`,
    );
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return (error.details.errors ?? []).map(({ field, message }) => `fault ${field} ${message}`);
  }
};

void t.test('a member that is nearly a declared one stops the save, wherever it is read', async (t) => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['order.totl', 'order', 'total'],
    ["order['totl']", 'order', 'total'],
    ['order?.totl ?? 0', 'order', 'total'],
    ['items.reduce((sum, i) => sum + i.prize, 0)', 'an item of items', 'price'],
    ['items.map(i => i.prize).join()', 'an item of items', 'price'],
    ['items.map(({ prize, qty }) => prize * qty)', 'an item of items', 'price'],
    ['items.map(({ prize = 1 }) => prize)', 'an item of items', 'price'],
    ['items.filter(i => i.qty > 1).map(i => `${i.prize}`)', 'an item of items', 'price'],
    ['(items ?? []).some(i => !i.prize)', 'an item of items', 'price'],
    ['items.sort((a, b) => a.prize - b.price)[0]?.name', 'an item of items', 'price'],
    ['items.find(i => i.qty === 1)?.prize', 'an item of items', 'price'],
    ['items[0].prize', 'an item of items', 'price'],
    ['items[items.length - 1].tax.rat', 'an item of items.tax', 'rate'],
    ['items.flatMap(i => i.parts).map(p => p.wieght)', 'an item of an item of items.parts', 'weight'],
    ['items.map(i => i.tax).map(x => ({ r: x.rat }))', 'an item of items.tax', 'rate'],
    ['items.reduce((list, i) => [...list, { p: i.prize }], [])', 'an item of items', 'price'],
    ['items.reduce((sum, i) => sum + Math.max(i.prize, 0), 0)', 'an item of items', 'price'],
    ['items.length > 0 ? items[0].prize : 0', 'an item of items', 'price'],
    ['items.lenght * 2', 'items', 'length'],
  ];
  for (const [expression, owner, meant] of cases) {
    const found = findings(expression);
    t.equal(found.length, 1, `${expression}: ${found.join()}`);
    t.match(found[0], `of ${owner}, `, expression);
    t.match(
      found[0],
      new RegExp(`^fault variables\\[3\\]\\.expression reads .* did you mean "${meant}"\\?`),
      expression,
    );
  }
});

void t.test('any other member that is not declared is told', async (t) => {
  t.match(findings('items.map(i => i.colour).join()'), [
    /^warning variables\[3\]\.expression reads "colour" of an item of items, whose schema declares no such member/,
  ]);
  t.match(findings('items.price'), [
    /^warning .* reads "price" of items, which is an array: an item of it has an index/,
  ]);
  t.equal(findings('items.map(i => i.colour + i.colour)').length, 1, 'each once');
});

void t.test('what is right, and what nothing is known of, is left alone', async (t) => {
  for (const expression of [
    'items.reduce((sum, { price, qty }) => sum + price * qty, 0)',
    'items.filter(i => i.name.length > 3).map(i => i.tax.rate)[0]',
    'items.map(i => ({ prize: i.price })).map(x => x.prize)',
    'items.reduce((most, i) => i.price > most.prize ? { prize: i.price } : most, { prize: 0 }).prize',
    'free.whatever.there',
    'order.lines.map(line => line.prize)',
    'items.map((order) => order.price)',
    'items.map((item, place, all) => place + all.length)',
    'Object.keys(order).length + Math.PI',
    '[1, 2].map(totl => totl)',
    "'order.totl'",
  ])
    t.same(findings(expression), [], expression);
});

/** Calculated variables: order, circles, what they add to a call, and errors that name the variable. */
import t from 'tap';
import { DomainError } from '../../src/domain/core/errors.js';
import type { Json, JsonObject } from '../../src/domain/core/json.js';
import type { VariableDefinition, VariableType } from '../../src/domain/rendering/scope/definitions.js';
import { compileCalculation, orderCalculated } from '../../src/domain/rendering/expression/calculated.js';
import { defaultExpressionLimits as limits, defaultLimits } from '../../src/domain/core/limits.js';
import { compilePreparation } from '../../src/domain/rendering/fill/filling.js';
import { openBudget } from '../../src/domain/rendering/budget.js';
import { environment } from '../support/rendering.js';

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
    compilePreparation(definitions, { locale: 'de', timeZone }, defaultLimits)({ from }, environment, openBudget(defaultLimits)).values[
      'until'
    ];
  t.equal(until('Europe/Berlin', '2026-01-31T23:30:00Z'), '2026-07-31T22:30:00.000Z');
  t.equal(until('UTC', '2026-01-31T23:30:00Z'), '2026-07-31T23:30:00.000Z');
  t.equal(until('Europe/Berlin', '2026-08-31'), '2027-02-28');
  const { details } = refusal(() => until('UTC', '9999-12-31'));
  t.match(details.errors, [{ field: 'variables.until', message: /^cannot be calculated: its expression calls "addMonths" beyond/ }]);
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
  t.strictSame(calculate([calc('x', 'undefined'), calc('y', 'x ?? 5')], { x: 1 }), { y: 5 }, 'also where it comes to nothing');
});

void t.test('nothing, a default, and what is required', async (t) => {
  t.strictSame(calculate([calc('x', 'a?.b'), plain('a', 'object')], {}), {});
  t.strictSame(calculate([calc('x', 'a?.b', { defaultValue: 3 }), plain('a', 'object'), calc('y', 'x + 1')], {}), { x: 3, y: 4 });
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
  t.same(faultsOf([calc('a', 'b + 1'), calc('b', 'c + 1'), calc('c', 'a + 1'), calc('d', 'a')]), ['0 depends on itself: a → b → c → a']);
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
  t.same(faultsOf([calc('a', 'list.map(a => a.b)'), plain('list', 'array')]), [], 'a parameter is not the variable of its name');
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
  t.same(faultsOf(long), ['25 brings the expressions of the template to 104000 characters together, the maximum is 100000']);
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
  t.match(failing('`${a}`', { a: 1 }), { message: 'variables.total must be a number, got text; the template calculates it' });
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
  const definitions = [plain('list', 'array'), ...Array.from({ length: 20 }, (_, i) => calc(`copy${i}`, 'list', { type: 'array' }))];
  t.match(
    refusal(() => calculate(definitions, { list })),
    { message: /^variables\.copy11 .*more than calculated variables may hold together/, details: { relatedInfo: { reason: 'TOO_LARGE' } } },
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

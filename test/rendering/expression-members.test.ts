/**
 * Members that expressions read are held against the schemas of the variables: near ones are refused, others told, what
 * is not declared is left alone.
 */
import t from 'tap';
import { DomainError } from '../../src/domain/core/errors.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { checkEmailTemplate } from '../../src/domain/rendering/check/email.js';
import { templateOf } from '../support/rendering.js';

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

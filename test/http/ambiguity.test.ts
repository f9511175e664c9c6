/** What JSON.parse would settle in silence is found, wherever it stands, and nothing else is. */
import t from 'tap';
import fc from 'fast-check';
import { ambiguityOf } from '../../src/http/json/ambiguity.js';
import { losesDigits } from '../../src/http/json/numbers.js';

const ambiguity = (text: string) => ambiguityOf(Buffer.from(text), JSON.parse(text));

void t.test('numbers', async (t) => {
  for (const exact of [
    '0',
    '-0',
    '0.0',
    '1.10',
    '1e2',
    '1E+21',
    '1e-7',
    '0e999',
    '9007199254740992',
    '-9007199254740992',
    '123456789.25',
    '0.1',
    '1.7976931348623157e308',
    '5e-324',
  ])
    t.notOk(losesDigits(exact), exact);
  for (const lossy of [
    '9007199254740993',
    '-9007199254740993',
    '9007199254740994',
    '100000000000000000000',
    '1e400',
    '-1e400',
    '1e-400',
    '0.10000000000000001',
    '3.14159265358979323846',
    `1${'0'.repeat(400)}`,
  ])
    t.ok(losesDigits(lossy), lossy);
});

void t.test('a text that JSON.stringify writes has nothing of the kind but whole numbers beyond 2^53', async () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (text) => {
      const found = ambiguity(text);
      return found === undefined || found.message.includes('2^53');
    }),
    {
      examples: [
        ['{"a":{"a":{"a":[]}},"b":{"a":1}}'],
        ['[{"a":1},{"a":1}]'],
        ['{"a":"\\"b\\":1,123456789012345678"}'],
        ['{"__proto__":{"a":1},"a":"::"}'],
      ],
    },
  );
});

void t.test('a member that is put in twice is found, with its path', async (t) => {
  // Names of one escape are none of these: JSON.parse does not always keep them apart, and they are refused before.
  const name = fc.constantFrom('a', 'b:', 'a"', 'ä', '\\\\', '__proto__', '0', '{');
  const inner = fc.dictionary(name, fc.constantFrom(0, 'x', [{ a: 1 }], { b: { c: [] } }), { minKeys: 1 });
  fc.assert(
    fc.property(inner, fc.nat(9), (object, index) => {
      const members = Object.entries(object).map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
      const twice = members[index % members.length]!;
      const text = `{"list":[1,{"x":{${[...members, twice].join(' , ')}}}]}`;
      t.match(ambiguity(text), { field: /^list\[1\]\.x/, message: 'is given twice; give it once' }, text);
    }),
  );
});

/** Ambiguous JSON, which JSON.parse would accept silently, is found at any depth, and nothing else is. */
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import fc from 'fast-check';
import { ambiguityOf } from '../../src/http/server/json/body.js';
import { losesDigits } from '../../src/domain/core/json.js';
import { scanJson } from '../../src/http/server/json/scan.js';

const ambiguity = (text: string) => ambiguityOf(Buffer.from(text), text, JSON.parse(text));

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
    '4e-05',
    '1.2E-4',
    '125e-2',
    '1.50e-2',
    '-1E-3',
    '29.949999999999999',
    '0.10000000000000001',
    '52.520006600000002',
    '0.1000000000000000055511151231257827021181583404541015625',
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
    '12345678901234567890',
    '0.100000000000000012',
    '3.14159265358979323846',
    `1${'0'.repeat(400)}`,
  ])
    t.ok(losesDigits(lossy), lossy);
});

void t.test('each double is taken in every spelling', async () => {
  /** The digits with the point `shift` places further left, which the exponent makes good. */
  const shifted = (digits: string, exponent: number, shift: number): string =>
    shift < digits.length
      ? `${digits.slice(0, -shift)}.${digits.slice(-shift)}e${exponent + shift}`
      : `0.${'0'.repeat(shift - digits.length)}${digits}E${exponent + shift < 0 ? '-0' : '+0'}${Math.abs(exponent + shift)}`;
  fc.assert(
    fc.property(
      fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).filter((value) => !Number.isInteger(value)),
      fc.integer({ min: 17, max: 60 }),
      fc.integer({ min: 1, max: 25 }),
      (value, digits, shift) => {
        const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
        const [whole = '', fraction = ''] = mantissa.split('.');
        const spellings = [
          String(value),
          value.toExponential(),
          value.toExponential().replace('e-', 'E-00'),
          value.toPrecision(17),
          value.toPrecision(digits),
          `${mantissa}${fraction === '' ? '.000' : '000'}e${exponent}`,
          shifted(whole + fraction, Number(exponent) - fraction.length, shift),
        ];
        for (const positive of spellings)
          for (const spelling of [positive, `-${positive}`]) {
            if (Math.abs(JSON.parse(spelling) as number) !== value)
              throw new Error(`${spelling} is no spelling of ${value}`);
            if (losesDigits(spelling)) throw new Error(`${spelling} is refused`);
          }
      },
    ),
    { numRuns: 3_000 },
  );
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

/** JSON texts as anybody may write them, with few names, so that many are given twice. */
const anyText = (): fc.Arbitrary<string> => {
  const blank = fc.constantFrom('', '', '', '', ' ', '\n', '\t', '\r\n  ');
  const string = fc.constantFrom(
    ...[
      'a',
      'b',
      ':',
      ':x',
      'a:',
      ' :',
      ',',
      '{',
      '0',
      '1',
      '__proto__',
      'constructor',
      'ä',
      '😀',
      '4111111111111111',
      '3e4',
    ],
    ...['\\u0061b', 'ab', '\\"', '\\":', '\\\\', '\\\\\\":1', '\\ud83d\\ude00', '\\ud800x', '\\n:'],
  );
  const number = fc.constantFrom(
    ...[
      '0',
      '-0',
      '1',
      '-1.50',
      '1e3',
      '1E400',
      '1e-400',
      '5e-324',
      '0.1',
      '0.10000000000000001',
      '123456789.25',
      '123456789012345',
    ],
    ...[
      '1234567890123456',
      '9007199254740992',
      '9007199254740993',
      '-9007199254740994',
      '100000000000000000000',
      '1.000000000000000000001',
    ],
  );
  const quoted = string.map((text) => `"${text}"`);
  const joined = (parts: fc.Arbitrary<readonly string[]>, open: string, close: string) =>
    fc
      .tuple(parts, blank, blank)
      .map(([all, before, after]) => `${open}${before}${all.join(`${after},${before}`)}${after}${close}`);
  return fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(number, quoted, fc.constantFrom('true', 'null')),
      tie('object'),
      tie('array'),
    ),
    array: joined(fc.array(tie('value'), { maxLength: 3 }), '[', ']'),
    object: joined(
      fc.array(
        fc
          .tuple(quoted, blank, blank, tie('value'))
          .map(([name, before, after, value]) => `${name}${before}:${after}${value}`),
        { maxLength: 4 },
      ),
      '{',
      '}',
    ),
  })).object;
};

void t.test('counting colons finds what a scan of every byte finds', async (t) => {
  const unbounded = { membersMax: 1_000_000, depthMax: 100 };
  let clear = 0;
  fc.assert(
    fc.property(anyText(), (text) => {
      const bytes = Buffer.from(text);
      const value: unknown = JSON.parse(text);
      const found = ambiguityOf(bytes, text, value);
      if (found === undefined) clear += 1;
      return isDeepStrictEqual(found, ambiguityOf(bytes, text, value, scanJson(bytes, unbounded)));
    }),
    {
      numRuns: 3_000,
      examples: [
        // A blank before the colon hides a member, and a string that begins with a colon looks like one.
        ['{"a" :":x","a":1}'],
        ['{"a"\n:1,"a":":"}'],
        ['{":":":","a":1}'],
        ['{"a":[9007199254740993]}'],
        ['{"a":[[1e400],{"b":1}]}'],
        ['{"a":1e400}'],
        ['{"a": \n9007199254740993 }'],
      ],
    },
  );
  t.ok(clear > 500, 'texts with nothing to find are among them');
});

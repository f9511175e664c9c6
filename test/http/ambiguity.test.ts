/** Ambiguous JSON, which JSON.parse would accept silently, is found at any depth, and nothing else is. */
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import fc from 'fast-check';
import { parseJsonBody, readExactly, readPlain, type JsonLimits } from '../../src/http/server/json/body.js';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { DomainError, type FieldError } from '../../src/domain/core/errors.js';
import { losesDigits } from '../../src/domain/core/json.js';

/** The fault that a body of this text is refused for. */
const ambiguity = (text: string): FieldError | undefined => {
  try {
    parseJsonBody(Buffer.from(text), defaultLimits);
    return undefined;
  } catch (fault) {
    if (fault instanceof DomainError && fault.code === 'VALIDATION_ERROR') return fault.details.errors?.[0];
    throw fault;
  }
};

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
      return found === undefined || /2\^53|as a name/.test(found.message);
    }),
    {
      examples: [
        ['{"a":{"a":{"a":[]}},"b":{"a":1}}'],
        ['[{"a":1},{"a":1}]'],
        ['{"a":"\\"b\\":1,123456789012345678"}'],
        ['{"constructor":{"a":1},"a":"::"}'],
      ],
    },
  );
});

void t.test('a member that is put in twice is found, with its path', async (t) => {
  const name = fc.constantFrom('a', 'b:', 'ä', 'a/', 'constructor', '0', '{');
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

type Written = Readonly<{ text: string; isAmbiguous: boolean }>;

/** JSON texts as anybody may write them, with few names, so that many are given twice. */
const anyText = (): fc.Arbitrary<Written> => {
  const blank = fc.constantFrom('', '', '', '', ' ', '\n', '\t', '\r\n  ');
  const name = fc.constantFrom('a', 'b', ':', ':x', 'a:', ' :', ',', '{', '0', '1', 'ä', '😀', '\\u0061', 'x\\u0061');
  const string = fc
    .oneof(
      name,
      fc.constantFrom('3e4', '4111111111111111', '\\"', '\\":', '\\\\', '\\\\\\":1', '\\ud83d\\ude00', '\\n:'),
    )
    .map((text) => ({ text: `"${text}"`, isAmbiguous: false }));
  const exact = fc
    .constantFrom(
      ...['0', '-0', '1', '-1.50', '1e3', '5e-324', '0.1', '0.10000000000000001', '123456789.25'],
      ...['123456789012345', '1234567890123456', '9007199254740992', 'true', 'null'],
    )
    .map((text) => ({ text, isAmbiguous: false }));
  const lossy = fc
    .constantFrom(
      ...['1E400', '1e-400', '9007199254740993', '-9007199254740994', '100000000000000000000'],
      '1.000000000000000000001',
    )
    .map((text) => ({ text, isAmbiguous: true }));
  const joined = (
    parts: readonly string[],
    blanks: readonly [string, string],
    [open, close]: readonly [string, string],
  ) => `${open}${blanks[0]}${parts.join(`${blanks[1]},${blanks[0]}`)}${blanks[1]}${close}`;
  return fc.letrec<{ value: Written; array: Written; object: Written }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      { arbitrary: fc.oneof(exact, string), weight: 8 },
      { arbitrary: lossy, weight: 1 },
      { arbitrary: tie('object'), weight: 4 },
      { arbitrary: tie('array'), weight: 4 },
    ),
    array: fc.tuple(fc.array(tie('value'), { maxLength: 3 }), fc.tuple(blank, blank)).map(([parts, blanks]) => ({
      text: joined(
        parts.map(({ text }) => text),
        blanks,
        ['[', ']'],
      ),
      isAmbiguous: parts.some(({ isAmbiguous }) => isAmbiguous),
    })),
    object: fc
      .tuple(fc.array(fc.tuple(name, blank, blank, tie('value')), { maxLength: 4 }), fc.tuple(blank, blank))
      .map(([parts, blanks]) => ({
        text: joined(
          parts.map(([given, before, after, { text }]) => `"${given}"${before}:${after}${text}`),
          blanks,
          ['{', '}'],
        ),
        isAmbiguous:
          new Set(parts.map(([given]) => JSON.parse(`"${given}"`) as unknown)).size < parts.length ||
          parts.some(([, , , { isAmbiguous }]) => isAmbiguous),
      })),
  })).object;
};

void t.test('a fault is found in exactly the texts that have one', async (t) => {
  let clear = 0;
  fc.assert(
    fc.property(anyText(), ({ text, isAmbiguous }) => {
      if (!isAmbiguous) clear += 1;
      return (ambiguity(text) !== undefined) === isAmbiguous;
    }),
    { numRuns: 3_000 },
  );
  t.ok(clear > 500 && clear < 2_500, `${clear} texts have none`);
  for (const [text, field] of [
    ['{"a" :":x","a":1}', 'a'],
    ['{"a"\n:1,"a":":"}', 'a'],
    ['{"a":[9007199254740993]}', 'a[0]'],
    ['{"a":[[1e400],{"b":1}]}', 'a[0][0]'],
    ['{"a":1e400,"b":1,"b":1}', 'a'],
    ['{"b":1,"b":1,"a":1e400}', 'b'],
    ['{"a": \n9007199254740993 }', 'a'],
    ['{"x\\u0061":1,"xa":2}', 'xa'],
  ] as const)
    t.equal(ambiguity(text)?.field, field, text);
});

/** In: a reader of a body. Out: what it gives, or what callers see of its fault. */
const answerOf = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (fault) {
    if (!(fault instanceof DomainError)) throw fault;
    return { code: fault.code, message: fault.message, details: fault.details };
  }
};

void t.test('what is read without a scan is what the scan reads, for any text', async (t) => {
  const damage = fc.array(
    fc.tuple(
      fc.nat(),
      fc.nat(2),
      fc.constantFrom(
        ...['', '"', ':', '":', '" :', ',', '{', '}', '[', ']', '\\', '\\"', '0', '-', '.', 'e5'],
        ...['"a":1,', '"prototype":1,', '"__proto__":1,', '"constructor":{"prototype":1},', '"\\ud83d"'],
        ...['"\\udc00":2,', ' ', '\u0001', '😀'],
        ...['12345678901234567', ',-1234567.12345678901', '[1e400]', '"\\u0061":0,', 'null', '\u00a0', '\ufeff'],
      ),
    ),
    { maxLength: 1 },
  );
  const limits: fc.Arbitrary<JsonLimits> = fc.oneof(
    { arbitrary: fc.constant(defaultLimits), weight: 5 },
    {
      arbitrary: fc.record({ jsonMembersMax: fc.nat(12), jsonNamesMax: fc.nat(6), jsonDepthMax: fc.nat(4) }),
      weight: 1,
    },
  );
  const text = fc.oneof(
    anyText().map((written) => written.text),
    fc
      .object({
        key: fc.constantFrom('a', 'b', 'ä', 'constructor', 'p', 'o'),
        values: [fc.constantFrom('x', ':', null, true), fc.integer(), fc.integer({ max: 999 }).map((n) => n / 8)],
      })
      .map((value) => JSON.stringify(value).replaceAll('"p"', '"prototype"').replaceAll('"o"', '"__proto__"')),
    fc.json({ maxDepth: 4 }),
    fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify(value, null, 2)),
  );
  const seen = { plain: 0, refused: 0 };
  fc.assert(
    fc.property(text, damage, limits, (given, changes, bounds) => {
      let changed = given;
      for (const [at, cut, put] of changes) {
        const from = at % (changed.length + 1);
        changed = changed.slice(0, from) + put + changed.slice(from + cut);
      }
      const bytes = Buffer.from(changed === '' ? ' ' : changed);
      const scanned = answerOf(() => readExactly(bytes, bounds));
      const plain = readPlain(bytes, bounds);
      if (plain !== undefined && !isDeepStrictEqual(plain, scanned)) throw new Error(JSON.stringify(changed));
      seen[plain === undefined ? 'refused' : 'plain'] += 1;
    }),
    { numRuns: 10_000, examples: [['{"constructor":{"prototype":1}}', [], defaultLimits]] },
  );
  t.ok(seen.plain > 1_500 && seen.refused > 1_500, `${seen.plain} of 10,000 were read without a scan`);
});

void t.test('usual bodies are read without a scan', async (t) => {
  const read = (text: string, limits: Partial<JsonLimits> = {}) =>
    readPlain(Buffer.from(text), { ...defaultLimits, ...limits });
  for (const text of [
    '{"a":"line\\nline \\"quoted\\" yes","b" : [ 1, -2.5, {"c":"\\u00e9"} ],"ä":"http://x:80"}',
    JSON.stringify({ html: '<p class="a">\n'.repeat(2_000), at: '12:30', number: 12.5, none: null }, null, 2),
  ])
    t.same(read(text), { text, value: JSON.parse(text) as unknown });
  const text = '{"a":[{"b":1},{"b":2}],"c":3}';
  t.ok(read(text, { jsonMembersMax: 6, jsonNamesMax: 4, jsonDepthMax: 3 }));
  t.notOk(read(text, { jsonMembersMax: 5 }));
  t.notOk(read(text, { jsonNamesMax: 3 }));
  t.notOk(read(text, { jsonDepthMax: 2 }));
});

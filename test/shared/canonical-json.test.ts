/** The canonical form of JSON: the vectors of RFC 8785, and the law that it is a form of the same value. */
import t from 'tap';
import fc from 'fast-check';
import { canonicalJson } from '../../src/shared/text.js';

void t.test('the vectors of RFC 8785', async (t) => {
  const numbers =
    '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"literals":[null,true,false]}';
  t.equal(
    canonicalJson(JSON.parse(numbers)),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27]}',
    'section 3.2.2',
  );
  const names = ['\u20ac', '\r', '\ufb33', '1', '\ud83d\ude00', '\u0080', '\u00f6'];
  t.same(
    Object.keys(Object.fromEntries(names.map((name) => [`_${name}`, 0]))).sort(),
    ['\r', '1', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33'].map((name) => `_${name}`),
  );
  t.equal(
    canonicalJson(Object.fromEntries(names.map((name) => [name, 0]))),
    `{${['\\r', '1', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33'].map((name) => `"${name}":0`).join(',')}}`,
    'section 3.2.3',
  );
  t.equal(canonicalJson({ 10: 1, 9: 2 }), '{"10":1,"9":2}', 'names made of digits are ordered as texts');
});

void t.test('it is the same value, and the same text for any order of members', async () => {
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, member]) => [name, shuffled(member)]),
    );
  };
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const text = canonicalJson(value);
      return (
        JSON.stringify(JSON.parse(text)) === JSON.stringify(JSON.parse(canonicalJson(shuffled(value)))) &&
        text === canonicalJson(shuffled(value))
      );
    }),
  );
});

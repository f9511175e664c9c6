/** Names of members that are written with an escape are read as they are, or refused; never as another name. */
import t from 'tap';
import fc from 'fast-check';
import { defaultLimits } from '../../src/domain/core/limits.js';
import { parseJsonBody } from '../../src/http/server/json/body.js';

const read = (text: string): unknown => parseJsonBody(Buffer.from(text), defaultLimits);

/** As serializers write that keep to ASCII. */
const ascii = (text: string): string =>
  [...text].map((unit) => (unit > '~' ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}` : unit)).join('');

const refused = /is not allowed as a name/;

void t.test('one character outside of ASCII, written as an escape', (t) => {
  const name = fc.constantFrom('名', 'é', 'ж', 'a', 'b0', '/');
  fc.assert(
    fc.property(fc.dictionary(name, fc.constantFrom(0, 'x', [{ 名: 1 }]), { noNullPrototype: true }), (object) => {
      const plain = JSON.stringify(object);
      // From then on the parser knows objects that have a backslash for a name in this place.
      JSON.parse(plain.replace(/[名éж]/g, '\\\\'));
      for (const text of [plain, ascii(plain), ascii(plain).replaceAll('/', '\\/')])
        if (JSON.stringify(read(text)) !== plain) throw new Error(`${text} was read as ${JSON.stringify(read(text))}`);
    }),
    { numRuns: 3_000 },
  );
  t.end();
});

/**
 * The text with which V8 compares a name: as many of its letters, in their written form, as the name has after parsing.
 */
const mistaken = (name: string): string => ascii(name).slice(0, name.length);

void t.test('names of which some characters are written as escapes', (t) => {
  const name = fc.string({ unit: fc.constantFrom('名', 'é', 'a', '/', '7'), minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.dictionary(name, fc.constantFrom(0, 'x\n', '":'), { noNullPrototype: true }), (object) => {
      const plain = JSON.stringify(object);
      // From then on the parser knows objects that have in each place the name that it may mistake another for.
      JSON.parse(
        JSON.stringify(Object.fromEntries(Object.entries(object).map(([key, value]) => [mistaken(key), value]))),
      );
      for (const text of [plain, ascii(plain), ascii(plain).replaceAll('/', '\\/')])
        if (JSON.stringify(read(text)) !== plain) throw new Error(`${text} was read as ${JSON.stringify(read(text))}`);
    }),
    { numRuns: 3_000 },
  );
  t.end();
});

void t.test('one character that only an escape can write', async (t) => {
  for (const name of ['"', '\\', '\n', '\t', '\u0000'])
    for (const text of [JSON.stringify({ a: { [name]: 1 } }), `{ "a": {"b":1, ${JSON.stringify(name)} :1}}`])
      t.throws(() => read(text), { message: refused }, text);
  t.throws(() => read('{"\\u0022":1}'), { message: refused });
});

void t.test('a character that only an escape can write, among others', async (t) => {
  for (const value of [
    { 'x"\n': 1 },
    { '\\\\': 1 },
    { 'a"': '":' },
    { '\n\n': 1 },
    { b: [{ '\\u': 1 }] },
    { a: { ['n\u0000']: 1 } },
  ])
    for (const blank of [undefined, '\t'])
      t.throws(() => read(JSON.stringify(value, undefined, blank)), { message: refused }, JSON.stringify(value));
});

void t.test('what only looks like it', async (t) => {
  for (const value of [
    { a: '"\n":' },
    { a: '\n', b: ['"', '\\', '\\\\":'] },
    ['\n":', { a: '\\' }],
    { a: '\\"', b: '\\":' },
  ]) {
    const text = JSON.stringify(value);
    t.same(read(text), value, text);
    t.same(read(JSON.stringify(value, undefined, '\n ')), value, text);
  }
});

void t.test('where texts are names, it says how they are written', async (t) => {
  t.throws(() => read(JSON.stringify({ translations: { de: { '<p style="">Sum</p>': '' } } })), {
    message: /in `translations` write ' for "/,
  });
  t.throws(() => read(JSON.stringify({ variables: { '"': '' } })), { message: /character; leave it out/ });
});

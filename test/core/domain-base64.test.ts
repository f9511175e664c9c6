/** Base64 has one form for each sequence of bytes; every other text is refused. */
import t from 'tap';
import fc from 'fast-check';
import { decodeBase64 } from '../../src/domain/core/json.js';

void t.test('what is taken is what its bytes are written as', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) =>
      decodeBase64(Buffer.from(bytes).toString('base64'))!.equals(Buffer.from(bytes)),
    ),
  );
  const near = fc.string({ unit: fc.constantFrom(...'AQgwBCabz09+/=-_ \n'), maxLength: 12 });
  fc.assert(
    fc.property(near, (text) => {
      const bytes = decodeBase64(text);
      return bytes === undefined
        ? Buffer.from(text, 'base64').toString('base64') !== text
        : bytes.toString('base64') === text;
    }),
    { numRuns: 5_000 },
  );
});

void t.test('line breaks, missing padding and bits that stand for nothing are refused', async (t) => {
  for (const text of [
    'aGk=\n',
    'aGk=\r\n',
    '\naGk=',
    'aG\nk=',
    'aGk',
    'aGl=',
    'aR==',
    'aGk==',
    '=',
    'aGk=aGk=',
    'a-_=',
  ]) {
    t.equal(decodeBase64(text), undefined, JSON.stringify(text));
  }
  t.same(decodeBase64('aGk='), Buffer.from('hi'));
  t.same(decodeBase64(''), Buffer.alloc(0));
});

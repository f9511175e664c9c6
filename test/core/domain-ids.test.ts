/** Ids: only well-formed ones get in, and derived ones are the same everywhere and different for different parts. */
import fc from 'fast-check';
import t from 'tap';
import {
  apiKeyStream,
  emailIdOfFingerprint,
  emailStream,
  assertDefined,
  parseApiKeyId,
  parseEmailId,
  parseTeamId,
  parseTemplateId,
  splitStream,
  teamStream,
  templateSlugStream,
  templateStream,
  uuidV5,
} from '../../src/domain/core/ids.js';

const UUID = '0198f000-0000-7000-8000-00000000000a';

void t.test('a UUID in any letter case becomes an id in lower case; anything else is none', async (t) => {
  for (const parse of [parseEmailId, parseTeamId, parseTemplateId]) {
    t.equal(parse(UUID), UUID);
    t.equal(parse(UUID.toUpperCase()), UUID);
    for (const wrong of [
      '',
      'x',
      UUID.slice(1),
      `${UUID}0`,
      ` ${UUID}`,
      `${UUID}\n`,
      UUID.replaceAll('-', ''),
      UUID.replace('a', 'g'),
      `{${UUID}}`,
    ])
      t.equal(parse(wrong), undefined, JSON.stringify(wrong));
  }
  t.equal(parseApiKeyId('key_AAAAAAAAAAAAAAAAAAAAAA'), 'key_AAAAAAAAAAAAAAAAAAAAAA');
  for (const wrong of [
    '',
    'key_',
    'key_AAAAAAAAAAAAAAAAAAAAA',
    'key_AAAAAAAAAAAAAAAAAAAAAAA',
    'KEY_AAAAAAAAAAAAAAAAAAAAAA',
    'key_AAAAAAAAAAAAAAAAAAAAA=',
    UUID,
  ])
    t.equal(parseApiKeyId(wrong), undefined, wrong);
  t.throws(() => assertDefined(undefined, 'team id'), { message: 'not a well-formed team id' });
});

void t.test('derived ids stay what they are for ever', async (t) => {
  // Kept from the first run: another value would lose the emails of every Idempotency-Key in use.
  t.equal(uuidV5('email', 'a', 'b'), '1c3d4f88-006f-5d06-a8fe-fda712bc99cc');
  t.equal(uuidV5(), '7453a95c-1f8c-55b4-8f4f-30365579ddf5');
  t.equal(emailIdOfFingerprint('00112233445566778899aabbccddeeff'.repeat(2)), '00112233-4455-8677-8899-aabbccddeeff');
});

void t.test('a derived id is a UUID of version 5, and no two lists of parts share one', async () => {
  const parts = fc.array(fc.string({ unit: 'grapheme', maxLength: 6 }), { maxLength: 4 });
  fc.assert(
    fc.property(parts, parts, (a, b) => {
      const [idA, idB] = [uuidV5(...a), uuidV5(...b)];
      if (!/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(idA))
        throw new Error(`${idA} is no UUID of version 5`);
      if ((idA === idB) !== (JSON.stringify(a) === JSON.stringify(b)))
        throw new Error('two lists of parts share an id, or one has two');
    }),
    { numRuns: 2_000 },
  );
  // The joints between parts matter, whatever stands in them.
  const text = fc.string({ minLength: 1, maxLength: 8, unit: fc.constantFrom('a', '|', ':', '1', '2') });
  fc.assert(
    fc.property(text, fc.nat(8), fc.nat(8), (whole, i, j) => {
      const split = (at: number) => [whole.slice(0, at), whole.slice(at)] as const;
      if ((uuidV5(...split(i)) === uuidV5(...split(j))) !== (split(i)[0] === split(j)[0]))
        throw new Error('a part ends where another begins');
    }),
    { numRuns: 2_000 },
  );
});

void t.test('streams are named by kind and id', async (t) => {
  const team = assertDefined(parseTeamId(UUID), 'team');
  t.equal(emailStream(assertDefined(parseEmailId(UUID), 'email')), `email-${UUID}`);
  t.equal(templateStream(assertDefined(parseTemplateId(UUID), 'template')), `template-${UUID}`);
  t.equal(teamStream(team), `team-${UUID}`);
  t.equal(
    apiKeyStream(assertDefined(parseApiKeyId('key_AAAAAAAAAAAA-AAAAAAAAA'), 'key')),
    'apiKey-key_AAAAAAAAAAAA-AAAAAAAAA',
  );
  t.not(templateSlugStream(team, 'a'), templateSlugStream(team, 'b'));
  t.same(splitStream(`email-${UUID}`), { kind: 'email', id: UUID });
  t.same(splitStream('apiKey-key_AAAAAAAAAAAA-AAAAAAAAA'), { kind: 'apiKey', id: 'key_AAAAAAAAAAAA-AAAAAAAAA' });
  t.same(splitStream('ledger'), { kind: 'ledger', id: '' });
});

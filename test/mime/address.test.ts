/** Addresses of every odd kind: what is taken, in which form, and why the rest is refused. */
import t from 'tap';
import fc from 'fast-check';
import { parseAddress } from '../../src/domain/mime/address.js';

const label63 = 'a'.repeat(63);
const local64 = 'l'.repeat(64);

const taken: readonly (readonly [typed: string, normal: string])[] = [
  ['anna@example.com', 'anna@example.com'],
  ['Anna.Smith@EXAMPLE.Com', 'Anna.Smith@example.com'],
  ["o'hara@example.com", "o'hara@example.com"],
  ['a+tag@example.com', 'a+tag@example.com'],
  ["!#$%&'*+/=?^_`{|}~-@example.com", "!#$%&'*+/=?^_`{|}~-@example.com"],
  ['1@example.com', '1@example.com'],
  ['a@b.c', 'a@b.c'],
  ['a@localhost', 'a@localhost'],
  ['a@LOCALHOST', 'a@localhost'],
  ['a@xn--mnchen-3ya.de', 'a@xn--mnchen-3ya.de'],
  ['a@XN--MNCHEN-3YA.de', 'a@xn--mnchen-3ya.de'],
  ['a@mail.xn--fa-hia.de', 'a@mail.xn--fa-hia.de'],
  ['a@münchen.de', 'a@xn--mnchen-3ya.de'],
  ['a@MÜNCHEN.de', 'a@xn--mnchen-3ya.de'],
  ['a@例え.テスト', 'a@xn--r8jz45g.xn--zckzah'],
  ['a@例え。テスト', 'a@xn--r8jz45g.xn--zckzah'],
  ['a@faß.de', 'a@xn--fa-hia.de'],
  ['a@r3---sn-abc.example.com', 'a@r3---sn-abc.example.com'],
  ['a@1and1.com', 'a@1and1.com'],
  ['a@123.com', 'a@123.com'],
  ['"anna"@example.com', 'anna@example.com'],
  ['"anna smith"@example.com', '"anna smith"@example.com'],
  ['"a@b"@example.com', '"a@b"@example.com'],
  ['"a\\"b"@example.com', '"a\\"b"@example.com'],
  ['"a\\\\b"@example.com', '"a\\\\b"@example.com'],
  ['"a\\b"@example.com', 'ab@example.com'],
  ['".a."@example.com', '".a."@example.com'],
  ['"a..b"@example.com', '"a..b"@example.com'],
  ['" "@example.com', '" "@example.com'],
  [`${local64}@example.com`, `${local64}@example.com`],
  [`a@${label63}.com`, `a@${label63}.com`],
  [
    `a@${label63}.${label63}.${label63}.${'b'.repeat(56)}.com`,
    `a@${label63}.${label63}.${label63}.${'b'.repeat(56)}.com`,
  ],
];

const refused: readonly (readonly [typed: string, reason: RegExp])[] = [
  ['', /empty/],
  ['anna', /no @/],
  ['@example.com', /nothing stands before/],
  ['anna@', /nothing stands after/],
  ['.anna@example.com', /dot/],
  ['anna.@example.com', /dot/],
  ['an..na@example.com', /dot/],
  ['anna smith@example.com', /space outside quotes/],
  [' anna@example.com', /space outside quotes/],
  ['anna@example.com ', /character that no domain/],
  ['anna@ example.com', /character that no domain/],
  ['an(comment)na@example.com', /must stand in quotes/],
  ['anna@example.com(comment)', /character that no domain/],
  ['a@b@example.com', /must stand in quotes/],
  ['Anna <anna@example.com>', /space outside quotes|must stand in quotes/],
  ['<anna@example.com>', /must stand in quotes/],
  ['a,b@example.com', /must stand in quotes/],
  ['a;b@example.com', /must stand in quotes/],
  ['a:b@example.com', /must stand in quotes/],
  ['a\\b@example.com', /must stand in quotes/],
  ['anna@example.com\r\nBcc: eve@example.com', /control character/],
  ['anna\r@example.com', /control character/],
  ['anna@exam\nple.com', /control character/],
  ['an\u0000na@example.com', /control character/],
  ['an\tna@example.com', /control character/],
  ['"an\u007fna"@example.com', /control character/],
  ['"a\r\nb"@example.com', /control character/],
  ['"anna@example.com', /not closed/],
  ['"@example.com', /not closed/],
  ['"a\\"@example.com', /not closed/],
  ['""@example.com', /nothing stands in the quotes/],
  ['"a"b"@example.com', /bare quote/],
  ['"a>b"@example.com', /angle bracket/],
  ['a"b"@example.com', /must stand in quotes/],
  ['jürgen@example.com', /SMTPUTF8/],
  ['\ud800@example.com', /SMTPUTF8/],
  ['"jürgen"@example.com', /SMTPUTF8/],
  ['a@exa\ud800mple.com', /internationalised|character that no domain/],
  ['a@example', /no dot/],
  ['a@com.', /dot at its beginning or end/],
  ['a@.com', /dot at its beginning or end/],
  ['a@exa..mple.com', /two in a row/],
  ['a@-example.com', /not a label/],
  ['a@example-.com', /not a label/],
  ['a@exam_ple.com', /character that no domain/],
  ['a@exam%70le.com', /character that no domain/],
  ['a@example.com/x', /character that no domain/],
  ['a@exa％70mple.com', /internationalised/],
  ['a@b＠c.com', /internationalised/],
  ['a@xn--zz.com', /internationalised/],
  ['a@XN--ZZ.com', /internationalised/],
  ['a@xn--.com', /internationalised/],
  ['a@xn--a.com', /internationalised/],
  ['a@xn--abc-.com', /internationalised/],
  ['a@münchen.xn--0.com', /internationalised/],
  ['a@127.0.0.1', /ends in a number/],
  ['a@１２７.0.0.1', /ends in a number/],
  ['a@[127.0.0.1]', /address literal/],
  ['a@[IPv6:::1]', /address literal/],
  ['a@example.123', /ends in a number/],
  [`${local64}l@example.com`, /65 octets long/],
  [`"${'l l'.repeat(21)}"@example.com`, /65 octets long/],
  [`a@a${label63}.com`, /64 octets long/],
  [`a@${label63}.${label63}.${label63}.${'b'.repeat(57)}.com`, /255 octets long; at most 254/],
  [`${'a'.repeat(100_000)}@example.com`, /octets long/],
];

void t.test('addresses that are taken come out in one normal form', async (t) => {
  for (const [typed, normal] of taken) {
    const parsed = parseAddress(typed);
    t.same(parsed.ok && parsed.address, normal, typed);
    t.same(parseAddress(normal), parsed, `${typed}: parsing the normal form changes nothing`);
  }
});

void t.test('addresses that are refused are refused with the reason', async (t) => {
  for (const [typed, reason] of refused) {
    const parsed = parseAddress(typed);
    t.match(parsed.ok ? 'taken' : parsed.reason, reason, JSON.stringify(typed.slice(0, 60)));
  }
});

void t.test('whatever is typed, what is taken is safe in an envelope and a header', async (t) => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom('a', '.', '@', '"', '\\', ' ', '<', '\r\n', 'example.com', 'ü', '[1]'),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const parsed = parseAddress(pieces.join(''));
      if (!parsed.ok) return parsed.reason.length > 0;
      const again = parseAddress(parsed.address);
      return (
        /^[\x20-\x7e]{3,254}$/.test(parsed.address) &&
        !/[<>]/.test(parsed.address) &&
        again.ok &&
        again.address === parsed.address &&
        parsed.address === `${parsed.localPart}@${parsed.domain}`
      );
    }),
    { numRuns: 5_000 },
  );
  t.pass('held for 5,000 inputs');
});

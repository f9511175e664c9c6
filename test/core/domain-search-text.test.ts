/**
 * The rule by which searches compare: what people take for the same text is one, and folding is done once and for all.
 */
import fc from 'fast-check';
import t from 'tap';
import { foldForSearch, ideographsIn, isIdeographic, isSearchable } from '../../src/domain/core/search-text.js';

void t.test('what is the same but for its letter case or its encoding is one text', async (t) => {
  for (const [one, ...others] of [
    ['Straße', 'STRASSE', 'strasse', 'STRAẞE'],
    ['İstanbul', 'istanbul', 'ISTANBUL', 'ıstanbul', 'I\u0307stanbul'],
    ['ΟΔΟΣ', 'οδος', 'οδοσ'],
    ['Zoë', 'zoe\u0308', 'ZOË'],
    ['한국어', '한국어'.normalize('NFD')],
    ['ガス', 'ｶﾞｽ', 'カ\u3099ス'],
    ['ABC', 'ＡＢＣ', 'abc'],
    ['ﬁnal', 'final', 'FINAL'],
    ['a b', 'a\u00a0b', 'a\tb', 'a\nb', 'a\u2028b'],
  ] as const) {
    for (const other of others)
      t.equal(foldForSearch(other), foldForSearch(one), `${one} ${encodeURIComponent(other)}`);
  }
  t.not(foldForSearch('Zoe'), foldForSearch('Zoë'), 'a letter with an accent is its own');
  t.equal(foldForSearch('\ud800x'), '\ufffdx');
});

void t.test(
  'every character: folded twice as once, and like its capital, its small letter and its decomposition',
  async (t) => {
    const wrong: string[] = [];
    for (let point = 0; point <= 0x10ffff; point += 1) {
      if (point >= 0xd800 && point <= 0xdfff) continue;
      const character = String.fromCodePoint(point);
      const folded = foldForSearch(character);
      const alike = [
        folded,
        character.toLowerCase(),
        character.toUpperCase(),
        character.normalize('NFD'),
        character.normalize('NFC'),
      ];
      if (!alike.every((other) => foldForSearch(other) === folded)) wrong.push(point.toString(16));
    }
    t.same(wrong, []);
  },
);

void t.test('any text: folded twice as once', async () => {
  const hard = fc.constantFrom(
    'i',
    'I',
    'İ',
    'ı',
    '\u0307',
    '\u0323',
    'ß',
    'ẞ',
    'Σ',
    'ς',
    'σ',
    ' ',
    '\u0301',
    'ᾳ',
    '\u0345',
    'Ǆ',
    'ᄀ',
    'ᅡ',
    'ŉ',
    'a',
  );
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: hard, maxLength: 12 }), fc.string({ unit: 'binary' })), (text) => {
      const folded = foldForSearch(text);
      return foldForSearch(folded) === folded;
    }),
    { numRuns: 3_000 },
  );
});

void t.test('two characters are searched for, or one that is ideographic', async (t) => {
  for (const text of ['ab', ' a', '漢', '字', 'あ', 'ア', '한', 'ㄅ', '😀😀', '𠮷']) t.ok(isSearchable(text), text);
  for (const text of ['', 'a', ' ', 'é', '😀', '1']) t.notOk(isSearchable(text), text);
  t.ok(isIdeographic('漢'));
  t.notOk(isIdeographic('漢字'));
  t.same(ideographsIn('漢a字 漢𠮷 ガ'), ['漢', '字', '𠮷', 'ガ']);
  t.same(ideographsIn('Ärger'), []);
});

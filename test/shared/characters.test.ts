/** The one rule of names: what a name may not be, and that it is told in time that grows with its length alone. */
import t from 'tap';
import { NAME, nameFault, TEXT } from '../../src/shared/text.js';

const CONTROLS = 'must not hold control characters or line breaks';
const TURNS = 'must not hold characters that turn the direction of text (U+202A to U+202E, U+2066 to U+2069)';
const UNSEEN = 'must have a visible character';

/** As in a pattern. */
const FIRST_PLANE =
  '\\s\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0\\ufff0-\\ufffb';

const oneOf = (characters: string): RegExp => new RegExp(`^[${characters}]$`);

/** The reports of tests are lines of text. */
const escape = (text: string): string =>
  text.replace(/[^!-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

void t.test('control characters, turned text and invisible names are refused, each by its own sentence', async (t) => {
  for (const [name, fault] of [
    ['Ada', undefined],
    ['', undefined],
    ['Größe 😀 محمد \u200f(שלום)', undefined],
    ['👩\u200d👩\u200d👧', undefined],
    ['\u200bAda\u2060', undefined],
    ['a\u0000', CONTROLS],
    ['a\u007fb', CONTROLS],
    ['a\nb', CONTROLS],
    ['a\u0085b', CONTROLS],
    ['a\u2028b', CONTROLS],
    ['invoice\u202efdp.exe', TURNS],
    ['\u2066a\u2069', TURNS],
    ['\u202e', TURNS],
    [' ', UNSEEN],
    ['\u00a0\u3000', UNSEEN],
    ['\u200b', UNSEEN],
    ['\u2060\ufeff\u00ad', UNSEEN],
    ['\u3164', UNSEEN],
    ['\u2800\ufe0f', UNSEEN],
    ['\u{e0001}\u{e0041}\u{e007f}', UNSEEN],
    ['\u{e0100}\u{e01ef} ', UNSEEN],
    ['\u{1d173}\u{1d17a}', UNSEEN],
    ['\u{1bca0}\u{1bca3}', UNSEEN],
    ['a\u{e0100}', undefined],
    ['\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}', undefined],
    ['\u2764\ufe0f', undefined],
    ['1\ufe0f\u20e3', undefined],
    ['葛\u{e0100}城', undefined],
  ] as const) {
    t.equal(nameFault(name), fault, escape(name));
    // A check of JSON Schema reads patterns by characters.
    t.equal(new RegExp(NAME, 'u').test(name), fault === undefined, `as a pattern: ${escape(name)}`);
  }
});

void t.test(
  'of each character of its own: what was invisible in the first plane is, and so is all that Unicode does not show',
  async (t) => {
    const before = oneOf(FIRST_PLANE);
    const taken: string[] = [];
    for (let code = 0; code <= 0x10ffff; code += 1) {
      const character = String.fromCodePoint(code);
      const isUnseen = before.test(character) || /^\p{Default_Ignorable_Code_Point}$/u.test(character);
      if (isUnseen && nameFault(character) === undefined) taken.push(code.toString(16));
    }
    t.same(taken, []);
  },
);

void t.test('text of several lines holds tabs and line breaks, and no other control characters', async (t) => {
  const text = new RegExp(TEXT, 'u');
  for (const fine of ['', 'one\ntwo\r\n\tthree', '\u202e']) t.ok(text.test(fine), escape(fine));
  for (const wrong of ['a\u0000', '\u001b[31m', '\u0085']) t.notOk(text.test(wrong), escape(wrong));
});

void t.test('a name of megabytes is refused at once, whatever it is of', async (t) => {
  for (const part of ['a', ' ', '\u200b', 'a ']) t.equal(nameFault(`${part.repeat(3_000_000)}\u0000`), CONTROLS);
  t.equal(nameFault(' '.repeat(3_000_000)), UNSEEN);
});

/** The one rule of names: what a name may not be, and that it is told in time that grows with its length alone. */
import t from 'tap';
import { NAME, nameFault, TEXT } from '../../src/shared/characters.js';

const CONTROLS = 'must not hold control characters or line breaks';
const TURNS = 'must not hold characters that turn the direction of text (U+202A to U+202E, U+2066 to U+2069)';
const UNSEEN = 'must have a visible character';

/** The reports of tests are lines of text. */
const escape = (text: string): string => text.replace(/[^!-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

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
  ] as const) {
    t.equal(nameFault(name), fault, escape(name));
    // A check of JSON Schema reads patterns by characters.
    t.equal(new RegExp(NAME, 'u').test(name), fault === undefined, `as a pattern: ${escape(name)}`);
  }
});

void t.test('text of several lines holds tabs and line breaks, and no other control characters', async (t) => {
  const text = new RegExp(TEXT, 'u');
  for (const fine of ['', 'one\ntwo\r\n\tthree', '\u202e']) t.ok(text.test(fine), escape(fine));
  for (const wrong of ['a\u0000', '\u001b[31m', '\u0085']) t.notOk(text.test(wrong), escape(wrong));
});

void t.test('a name of megabytes is refused at once, whatever it is of', async (t) => {
  for (const part of ['a', ' ', '\u200b', 'a ']) t.equal(nameFault(`${part.repeat(3_000_000)}\u0000`), CONTROLS);
  t.equal(nameFault(' '.repeat(3_000_000)), UNSEEN);
});

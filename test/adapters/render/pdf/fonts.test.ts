/** Every character in a font that has it, or an error that names it; right-to-left words in their places. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import * as fontkit from 'fontkit';
import t from 'tap';
import { withoutBreaks } from '../../../../src/adapters/render/pdf/scripts.js';
import { DomainError } from '../../../../src/domain/core/errors.js';
import { holdsRightToLeft } from '../../../../src/domain/rendering/direction.js';
import {
  asDrawn,
  levelsOf,
  visualOrder,
  orderLine,
  readText,
  type Inline,
} from '../../../../src/adapters/render/pdf/bidi.js';
import { familiesIn, fontBytes, openFonts } from '../../../../src/adapters/render/pdf/fonts.js';
import { builtInFamilies, scriptFamilies, sfntOfWoff } from '../../../../src/adapters/render/pdf/font-files.js';

const fonts = openFonts();
const options = { field: 'pages[0].sections[0].components[0]', locale: 'en-US' };
const regular = { bold: false, italic: false };
const bold = { bold: true, italic: false };

const samples: readonly (readonly [script: string, text: string, font: string])[] = [
  ['Latin', 'Příliš žluťoučký kůň, Tiếng Việt, İstanbul', 'Roboto'],
  ['Greek', 'Ξεσκεπάζω την ψυχοφθόρα', 'Roboto'],
  ['Cyrillic', 'Съешь ещё этих мягких булок', 'Roboto'],
  ['Hebrew', 'שלום', 'NotoSansHebrew'],
  ['Arabic', 'مُحَمَّد', 'IBMPlexSansArabic'],
  ['Devanagari', 'क्षत्रिय', 'NotoSansDevanagari'],
  ['Thai', 'ผู้ใหญ่น้ำ', 'NotoSansThai'],
  ['Chinese', '发票号码，金额。', 'NotoSansSC'],
  ['Japanese', 'カタカナとひらがなの直骨', 'NotoSansJP'],
  ['Korean', '한국어뷁', 'NotoSansKR'],
  ['Georgian', 'ქართული', 'DejaVuSans'],
  ['signs', '☎', 'DejaVuSans'],
  ['pictographs', '👩‍💻', 'NotoEmoji'],
];

for (const [script, text, font] of samples) {
  void t.test(`${script} is shown, in both weights`, async (t) => {
    for (const style of [regular, bold]) {
      const runs = fonts.shape(text, style, options);
      t.strictSame([...new Set(runs.map((run) => run.font))], [font]);
      t.equal(withoutBreaks(runs.map((run) => run.text).join('')), text, 'nothing is lost');
      for (const run of runs) {
        const face = fontkit.create(
          Buffer.from(fontBytes(fonts.descriptors[run.font]![style.bold ? 'bold' : 'normal'])),
        );
        t.ok(
          'layout' in face && face.layout(run.text).glyphs.every((glyph) => glyph.id !== 0),
          `${run.font} has each letter of ${run.text}`,
        );
      }
    }
  });
}

void t.test('one text in several scripts keeps digits, spaces and marks where they belong', async (t) => {
  const shaped = (text: string): readonly (readonly string[])[] =>
    fonts.shape(text, regular, options).map((run) => [run.font, run.text]);
  t.strictSame(shaped('Total 5 中文 6'), [
    ['Roboto', 'Total 5 '],
    ['NotoSansSC', '中文 6'],
  ]);
  t.strictSame(shaped('न\u0947 x'), [
    ['NotoSansDevanagari', 'न\u0947 '],
    ['Roboto', 'x'],
  ]);
  t.strictSame(
    shaped('1\u202f234'),
    [['Roboto', '1\u00a0234']],
    'the narrow space of French numbers is no reason for another font',
  );
  t.strictSame(
    shaped('a\u2060b\u00adc\u0001'),
    [['Roboto', 'ab\u00adc']],
    'what has no form is left out, but for the places where a word may be parted',
  );
  t.strictSame(shaped('a\u200bb'), [['Roboto', 'a\u200bb']], 'a line may end here');
  t.strictSame(
    shaped('می\u200cخواهم').map(([, text]) => text),
    ['می', 'خواهم'],
    'letters that must not join are drawn apart',
  );
  t.strictSame(shaped(''), []);
});

void t.test('Han characters look as the readers of the paragraph write them', async (t) => {
  const fontOf = (text: string, locale: string): string => fonts.shape(text, regular, { ...options, locale })[0]!.font;
  t.equal(fontOf('直', 'en-US'), 'NotoSansSC');
  t.equal(fontOf('直', 'ja-JP'), 'NotoSansJP');
  t.equal(fontOf('直', 'ko'), 'NotoSansJP', 'the Korean font has no Han characters');
  t.equal(fontOf('直ひ', 'zh-CN'), 'NotoSansJP');
  const [rare] = fonts.shape('㙓', bold, options);
  t.match(rare, { text: '㙓', font: 'NotoSansSC upright' }, 'rather thin than missing');
});

void t.test('a character that no font has is named', async (t) => {
  for (const [character, script, codePoint] of [
    ['አ', 'Ethiopic', 'U+12A0'],
    ['த', 'Tamil', 'U+0BA4'],
    ['\ue000', 'private use', 'U+E000'],
    ['\ud800', 'unassigned', 'U+D800'],
  ] as const) {
    try {
      fonts.shape(`Hello ${character}!`, regular, options);
      t.fail(`${codePoint} is shown by no font`);
    } catch (fault) {
      t.ok(fault instanceof DomainError && fault.code === 'FONT_MISSING');
      t.match(fault, { details: { relatedInfo: { codePoint, script }, errors: [{ field: options.field }] } });
      for (const part of [codePoint, script, options.field, 'SEALPOST_FONTS_DIR'])
        t.match((fault as Error).message, part);
    }
  }
});

void t.test('a font is read when a character first needs it, and configured ones come last', async (t) => {
  const withMissing = openFonts([{ name: 'Absent', files: { normal: join(tmpdir(), 'no-such-font.ttf') } }]);
  t.equal(withMissing.shape('Latin, 中文 and עברית', regular, options).length > 0, true, 'the file is not opened');
  t.throws(() => withMissing.shape('አ', regular, options), /no-such-font\.ttf/);

  const directory = mkdtempSync(join(tmpdir(), 'sealpost-fonts-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const runic = withRunes(Buffer.from(fontBytes(scriptFamilies[0]!.files.normal)));
  writeFileSync(join(directory, 'Runes-Regular.ttf'), runic);
  writeFileSync(join(directory, 'Runes-Bold.woff'), woffOf(runic));
  writeFileSync(join(directory, 'notes.txt'), 'no font');
  const families = familiesIn(directory);
  t.strictSame(families, [
    {
      name: 'Runes',
      files: { normal: join(directory, 'Runes-Regular.ttf'), bold: join(directory, 'Runes-Bold.woff') },
    },
  ]);
  const more = openFonts(families);
  t.strictSame(
    more.shape('aᚠ', regular, options).map((run) => run.font),
    ['Roboto', 'Runes'],
  );
  t.strictSame(
    more.shape('aᚠ', bold, options).map((run) => run.font),
    ['Roboto', 'Runes'],
  );
  t.throws(() => familiesIn(join(directory, 'absent')), { code: 'ENOENT' });
});

void t.test('WOFF is unpacked to the font that it holds, and nonsense is refused', async (t) => {
  const font = Buffer.from(fontBytes(scriptFamilies[0]!.files.normal));
  t.strictSame(sfntOfWoff(woffOf(font)), font);
  t.throws(() => sfntOfWoff(Buffer.from('wOFF')), /no WOFF/);
  t.throws(() => sfntOfWoff(woffOf(font).subarray(0, 400)), /does not fit/);
});

void t.test('every shipped file is a font, and its folder is not larger than said', async (t) => {
  for (const { files } of builtInFamilies) {
    for (const file of Object.values(files))
      t.ok('hasGlyphForCodePoint' in fontkit.create(Buffer.from(fontBytes(file))), file);
  }
  const shipped = builtInFamilies.flatMap(({ files }) => Object.values(files)).filter((file) => file.endsWith('.br'));
  t.ok(shipped.reduce((sum, file) => sum + statSync(file).size, 0) < 12 * 1_024 * 1_024);
});

void t.test('levels and order of right-to-left text (UAX #9)', async (t) => {
  t.equal(holdsRightToLeft('Ελληνικά, 中文'), false);
  t.equal(holdsRightToLeft('a ب'), true);
  t.strictSame([...levelsOf('אב 12', undefined).levels], [1, 1, 1, 2, 2]);
  t.equal(levelsOf('abc אב').isRightToLeft, false);
  t.equal(levelsOf('אב abc').isRightToLeft, true);
  t.strictSame(visualOrder([0, 1, 1, 0]), [0, 2, 1, 3]);
  t.strictSame(visualOrder([1, 2, 2, 1]), [3, 1, 2, 0]);
  t.strictSame(visualOrder([0, 0]), [0, 1]);
  t.strictSame(visualOrder([]), []);
  t.equal(asDrawn('(א', 1), ')א', 'brackets mirror');
  t.equal(asDrawn(').', 1), '.(', 'signs without a script are turned round');
  t.equal(asDrawn('۱۲۳', 2), '۳۲۱', 'digits that the font draws from the right are turned round');
  t.equal(asDrawn('a (b)', 0), 'a (b)');
});

const inline = (text: string, bidiLevel: number, more: Partial<Inline> = {}): Inline => ({
  text,
  x: 0,
  width: text.length,
  leadingCut: 0,
  trailingCut: text.length - text.trimEnd().length,
  bidiLevel,
  ...more,
});
const lineOf = (inlines: Inline[], maxWidth = 100): Parameters<typeof orderLine>[0] => {
  let x = 0;
  for (const part of inlines) {
    part.x = x;
    x += part.width;
  }
  return { inlines, maxWidth, leadingCut: 0, trailingCut: inlines.at(-1)!.trailingCut ?? 0, inlineWidths: x };
};
const drawn = ({ inlines }: Parameters<typeof orderLine>[0]): readonly (readonly [number, string])[] =>
  inlines.map((part) => [part.x, part.text]);

void t.test('the words of a broken line are put in the order in which they are read', async (t) => {
  const line = lineOf([inline('אאא ', 1), inline('one ', 2), inline('two', 2), inline(' ', 1), inline('בב ', 1)]);
  orderLine(line);
  t.strictSame(
    drawn(line),
    [
      [0, 'בב'],
      [2, ' '],
      [3, 'one '],
      [7, 'two'],
      [10, 'אאא '],
    ],
    'the space at the end of the line is gone',
  );
  orderLine(line);
  t.equal(line.inlines.at(-1)!.text, 'אאא ', 'drawn again on the next sheet, it stays as it is');

  const latin = lineOf([inline('one ', 0), inline('two ', 0)]);
  orderLine(latin);
  t.strictSame(drawn(latin), [
    [0, 'one '],
    [4, 'two '],
  ]);
});

void t.test('a justified line has its room between words, not inside of them', async (t) => {
  const line = lineOf([
    inline('אא', 1, { noNewLine: true, alignment: 'justify' }),
    inline(', ', 1),
    inline('בב ', 1),
    inline('גג', 1),
  ]);
  line.inlines.forEach((part, index) => {
    if (index > 0) part.justifyShift = 4;
  });
  orderLine(line);
  t.strictSame(
    drawn(line),
    [
      [0, 'גג'],
      [8, 'בב '],
      [17, ' ,'],
      [19, 'אא'],
    ],
    'twelve points for two gaps',
  );

  const last = lineOf([inline('אא ', 1, { alignment: 'justify' }), inline('בב', 1, { alignment: 'justify' })], 20);
  orderLine(last);
  t.strictSame(
    drawn(last),
    [
      [15, 'בב'],
      [17, 'אא '],
    ],
    'the last line begins at the right',
  );
});

void t.test('text whose letters stack is told as it is written', async (t) => {
  t.equal(readText(lineOf([inline('हिन्दी ', 0), inline('a', 0)])), 'हिन्दी a');
  t.equal(readText(lineOf([inline('plain', 0)])), undefined);
  t.equal(readText(lineOf([inline('שלום', 1)])), undefined);
});

void t.test('a direction that is given holds for text that has none of its own', async (t) => {
  const { pieces, isRightToLeft } = fonts.shapeParagraph([{ text: 'abc.', ...regular }], {
    ...options,
    direction: 'rtl',
  });
  t.equal(isRightToLeft, true);
  t.strictSame(
    pieces[0]!.runs.map((run) => [run.text, run.bidiLevel]),
    [
      ['abc', 2],
      ['.', 1],
    ],
  );
});

void t.test('a line is measured, and drawn as an outline where letters join', async (t) => {
  const plain = fonts.line('Total', regular, options);
  t.equal(plain.outline(), undefined);
  t.equal(plain.widthAt(20), plain.widthAt(10) * 2);
  const mixed = fonts.line('שלום abc', regular, options);
  t.equal(mixed.isRightToLeft, true);
  t.equal(mixed.runs[0]!.text, 'abc', 'from left to right');
  const arabic = fonts.line('فبراير', regular, options).outline();
  fonts.line('ب ر ا ي', regular, options).outline();
  t.match(arabic, /^M/);
  t.equal(fonts.line('فبراير', regular, options).outline(), arabic, 'whatever was drawn before');
});

void t.test('long text of any script is bounded in time', async (t) => {
  t.strictSame(fonts.shape('plain text '.repeat(20_000), regular, options).length, 1);
  t.equal(fonts.shape('中文'.repeat(5_000), regular, options).length, 1);
  t.equal(fonts.shape('שלום '.repeat(2_000), regular, options).length, 2_000);
});

/** The font with its letters from alef on standing for runes: a script that no shipped font has. */
const withRunes = (font: Buffer): Buffer => {
  const copy = Buffer.from(font);
  for (let entry = 12; entry < 12 + 16 * copy.readUInt16BE(4); entry += 16) {
    if (copy.toString('latin1', entry, entry + 4) !== 'cmap') continue;
    const cmap = copy.readUInt32BE(entry + 8);
    for (let at = cmap; at < cmap + copy.readUInt32BE(entry + 12) - 1; at += 2) {
      if (copy.readUInt16BE(at) === 0x05d0) {
        const shift = 0x16a0 - 0x05d0;
        moveSegment(copy, cmap, shift);
        return copy;
      }
    }
  }
  throw new Error('the font has no alef');
};

const moveSegment = (font: Buffer, cmap: number, shift: number): void => {
  for (let table = cmap + 4; table < cmap + 4 + 8 * font.readUInt16BE(cmap + 2); table += 8) {
    const start = cmap + font.readUInt32BE(table + 4);
    if (font.readUInt16BE(start) !== 4) continue;
    const segments = font.readUInt16BE(start + 6) / 2;
    for (let segment = 0; segment < segments; segment += 1) {
      const end = start + 14 + 2 * segment;
      const [first, delta, range] = [end + 2 + 2 * segments, end + 2 + 4 * segments, end + 2 + 6 * segments];
      if (font.readUInt16BE(first) !== 0x05d0) continue;
      font.writeUInt16BE(font.readUInt16BE(end) + shift, end);
      font.writeUInt16BE(0x05d0 + shift, first);
      if (font.readUInt16BE(range) === 0) font.writeUInt16BE((font.readUInt16BE(delta) - shift) & 0xffff, delta);
    }
  }
};

const woffOf = (font: Buffer): Buffer => {
  const count = font.readUInt16BE(4);
  const head = Buffer.alloc(44 + 20 * count);
  head.write('wOFF', 0, 'latin1');
  font.copy(head, 4, 0, 4);
  head.writeUInt16BE(count, 12);
  head.writeUInt32BE(font.length, 16);
  const parts: Buffer[] = [head];
  let position = head.length;
  for (let index = 0; index < count; index += 1) {
    const entry = 12 + 16 * index;
    const [offset, length] = [font.readUInt32BE(entry + 8), font.readUInt32BE(entry + 12)];
    const table = font.subarray(offset, offset + length);
    const packed = deflateSync(table);
    const stored = packed.length < length ? packed : table;
    const target = 44 + 20 * index;
    font.copy(head, target, entry, entry + 4);
    head.writeUInt32BE(position, target + 4);
    head.writeUInt32BE(stored.length, target + 8);
    head.writeUInt32BE(length, target + 12);
    font.copy(head, target + 16, entry + 4, entry + 8);
    const padding = Buffer.alloc((4 - (stored.length % 4)) % 4);
    parts.push(stored, padding);
    position += stored.length + padding.length;
  }
  return Buffer.concat(parts);
};

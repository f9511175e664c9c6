/** Fonts of documents and their letters. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import * as fontkit from 'fontkit';
import t from 'tap';
import { systemClock } from '../../../../src/adapters/clock/system.js';
import {
  asDrawn,
  levelsOf,
  visualOrder,
  orderLine,
  readText,
  type Inline,
} from '../../../../src/adapters/render/pdf/bidi.js';
import {
  builtInFamilies,
  scriptFamilies,
  sfntOfWoff,
  layoutIn,
} from '../../../../src/adapters/render/pdf/font-files.js';
import { familiesIn, fontBytes, openFonts, standInOf } from '../../../../src/adapters/render/pdf/fonts.js';
import { tryFont } from '../../../../src/adapters/render/pdf/gallery-fonts.js';
import { makePdf } from '../../../../src/adapters/render/pdf/make-pdf.js';
import { withoutBreaks, composed, shapedText, withWordBreaks } from '../../../../src/adapters/render/pdf/scripts.js';
import { openGenerator } from '../../../../src/adapters/render/workers/generator.js';
import { DomainError } from '../../../../src/domain/core/errors.js';
import type { JsonObject } from '../../../../src/domain/core/json.js';
import { defaultLimits } from '../../../../src/domain/core/limits.js';
import type { DocumentInput, LoadedImage } from '../../../../src/domain/ports/generator.js';
import { checkAttachmentTemplate } from '../../../../src/domain/rendering/check/document.js';
import { holdsRightToLeft } from '../../../../src/domain/rendering/direction.js';
import type { Expanded, ExpandedDocument } from '../../../../src/domain/rendering/expand/expanded.js';
import { attachmentOf, expandTemplate } from '../../../support/documents.js';
import { component, documentOf, page, richText } from '../../../support/expanded-documents.js';
import { brandFont, endlessFont, withLicence, withTable } from '../../../support/gallery-fonts.js';
import { readPdf, type ReadPdf } from '../../../support/read-pdf.js';
import { environment } from '../../../support/rendering.js';
import { teamA } from '../../../support/teams.js';

// Every character in a font that has it, or an error that names it; right-to-left words in their places.

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

// Lines that end between Thai words, families that a template names, and characters that no font has.

const metadata = { title: 'T', author: 'A', createdAt: '2026-01-02T03:04:05.000Z' };
const read = async (document: ExpandedDocument): Promise<ReadPdf> =>
  readPdf(await makePdf(document, new Map(), metadata, defaultLimits));
const made = (...components: readonly Expanded[]): Promise<ReadPdf> => read(documentOf(page(components)));
const linesOf = ({ sheets }: ReadPdf): readonly string[] => sheets.flatMap(({ lines }) => lines);

/** The first article of the Universal Declaration of Human Rights. */
const THAI =
  'มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ';

void t.test('a line of Thai ends between words', async (t) => {
  const narrow = component('container', {
    children: [richText(`<p>${THAI}</p>`)],
    width: { points: 120 },
    align: 'start',
    padding: { top: 0, right: 0, bottom: 0, left: 0 },
  });
  const lines = linesOf(await made(narrow));
  t.ok(lines.length > 5, 'it does not fit into one line');
  t.equal(
    lines.join('').replace(/ /g, ''),
    THAI.replace(/ /g, ''),
    'no letter is lost, and no sign of a break can be copied',
  );
  const starts = new Set(
    Array.from(new Intl.Segmenter('th', { granularity: 'word' }).segment(THAI.replace(/ /g, '')), ({ index }) => index),
  );
  let at = 0;
  for (const line of lines) {
    t.ok(starts.has(at), line);
    at += line.replace(/ /g, '').length;
  }
});

void t.test('where words end', async (t) => {
  t.same(withWordBreaks(['ภาษาไทย']), ['ภาษา\u200bไทย']);
  t.same(withWordBreaks(['ภา', 'ษาไทย', ' abc']), ['ภา', 'ษา\u200bไทย', ' abc'], 'a word in two looks is one');
  t.same(withWordBreaks(['ต่างๆ และ']), ['ต่างๆ และ'], 'signs that repeat a word begin no line');
  t.match(withWordBreaks(['ພາສາລາວ'])[0], 'ພາສາ\u200bລາວ');
  t.match(withWordBreaks(['ស្រឡាញ់ភាសាខ្មែរ'])[0], 'ស្រឡាញ់\u200bភាសា');
  t.match(withWordBreaks(['မြန်မာဘာသာစကား'])[0], '\u200bစကား');
  const plain = ['no Thai'];
  t.equal(withWordBreaks(plain), plain);
  t.equal(withoutBreaks('a\u200bb'), 'ab');
});

void t.test('fontFamily', async (t) => {
  const fonts = openFonts();
  t.equal(fonts.familyOf("'Brand Sans', 'Dejavu Sans', serif"), 'DejaVuSans');
  t.equal(fonts.familyOf('Georgia, serif'), undefined);
  const styled = component('rich-text', { html: '<p>Hello</p>', style: { fontFamily: "'DejaVu Sans', sans-serif" } });
  t.same((await made(styled)).fonts, ['DejaVuSans']);
  t.same(
    (await made(component('rich-text', { html: '<p>Hello <b>you</b></p>', style: { fontFamily: 'Georgia' } }))).fonts,
    ['Roboto-Medium', 'Roboto-Regular'],
    'one that is not there',
  );
  t.same((await made(richText('<p>a <span style="font-family:DejaVu Sans">b <b>c</b></span></p>'))).fonts, [
    'DejaVuSans',
    'DejaVuSans-Bold',
    'Roboto-Regular',
  ]);
  const section = expandTemplate(
    attachmentOf([], {
      schema: {
        pages: [
          {
            pageId: 'p',
            pageName: 'P',
            sections: [
              {
                id: 's',
                type: 'main',
                props: { fontFamily: 'DejaVu Sans' },
                components: [{ id: 'r', type: 'rich-text', content: 'x' }],
              },
            ],
          },
        ],
      },
    }),
  );
  t.same((await read(section)).fonts, ['DejaVuSans']);
  t.equal(
    linesOf(await made(component('rich-text', { html: '<p>a שלום</p>', style: { fontFamily: 'DejaVu Sans' } }))).length,
    1,
    'letters that it has not are drawn by another',
  );
});

const template = (content: string, missingCharacters?: string): unknown =>
  attachmentOf([{ id: 'r', type: 'rich-text', content }], {
    variables: [{ name: 'name', type: 'string' }],
    schema: missingCharacters === undefined ? {} : { missingCharacters },
  });
const filled = (content: string, missingCharacters?: string): Promise<ReadPdf> =>
  read(expandTemplate(template(content, missingCharacters), { name: 'ᜋᜓ Ada' }));

void t.test('a character without a font', async (t) => {
  t.same(
    linesOf(await filled('To {{name}}')),
    ['To [TAGALOG LETTER MA][TAGALOG VOWEL SIGN U] Ada'],
    'no name stops an invoice',
  );
  await t.rejects(filled('ᜋ {{name}}'), { code: 'FONT_MISSING' }, 'what the author wrote is refused');
  await t.rejects(filled('{{name}}', 'refuse'), { code: 'FONT_MISSING' });
  t.same(linesOf(await filled('ᜋ {{name}}', 'replace')), [
    '[TAGALOG LETTER MA] [TAGALOG LETTER MA][TAGALOG VOWEL SIGN U] Ada',
  ]);
  t.same(
    linesOf(await filled('To {{name}}')),
    ['To [TAGALOG LETTER MA][TAGALOG VOWEL SIGN U] Ada'],
    'whatever was made before',
  );
  t.throws(() => expandTemplate(template('x', 'hide')), /missingCharacters: must be one of refuse, replace/);
});

void t.test('the ring of Thai and Lao AM stands below the tone mark', (t) => {
  const all = { hasGlyphForCodePoint: () => true };
  t.equal(shapedText('น\u0e49\u0e33 ก\u0e33', all), 'น\u0e4d\u0e49\u0e32 ก\u0e4d\u0e32');
  t.equal(shapedText('ນ\u0ec9\u0eb3', all), 'ນ\u0ecd\u0ec9\u0eb2');
  t.equal(
    shapedText('น\u0e49\u0e33', { hasGlyphForCodePoint: (code) => code !== 0x0e4d }),
    'น\u0e49\u0e33',
    'a font without a ring',
  );
  const [thai] = openFonts().shape('น\u0e49\u0e33', { bold: false, italic: false }, { field: 'f', locale: 'th' });
  const { run } = layoutIn(openFonts().descriptors[thai?.font ?? '']?.normal ?? '', thai?.text ?? '');
  t.same(
    run.glyphs.map(({ codePoints }) => codePoints[0]),
    [0x0e19, 0x0e4d, 0x0e49, 0x0e32],
  );
  t.end();
});

void t.test('a mark that a font has no anchor for is drawn without one', async (t) => {
  const arabic = component('rich-text', {
    html: '<p>\u0639\u0615 \u0633\u06d6</p>',
    style: { fontFamily: "'Noto Sans Arabic'" },
  });
  const { fonts } = await made(richText('<p>\u0e2c\u0e39\u0e48 \u0e2c\u0e38\u0e48</p>'), arabic);
  t.same(fonts.slice(0, 2), ['NotoSansArabic-Regular', 'NotoSansThai-Regular']);
});

void t.test('letters in parts are composed before a font is chosen', async (t) => {
  const { sheets, fonts } = await made(richText('<p>e\u0301 A\u030a o\u0302\u0301 \u1112\u1161\u11ab</p>'));
  t.same(sheets[0]?.lines.slice(0, 1), ['\u00e9 \u00c5 \u1ed1 \ud55c']);
  t.ok(fonts.includes('Roboto-Regular'));
  t.equal(
    composed('\u0915\u093c q\u0301 \ufa19\ufe00'),
    '\u0915\u093c q\u0301 \ufa19\ufe00',
    'what has no character of its own stays',
  );
});

void t.test('a line ends at a soft hyphen, with a hyphen', async (t) => {
  const word = 'Donau\u00addampf\u00adschiff\u00adfahrts\u00adgesell\u00adschafts\u00adkapit\u00e4n';
  const narrow = (html: string): Expanded =>
    component('container', {
      children: [richText(html)],
      width: { points: 110 },
      align: 'start',
      padding: { top: 0, right: 0, bottom: 0, left: 0 },
    });
  const lines = linesOf(await made(narrow(`<p>${word}</p>`)));
  t.same(lines, ['Donaudampfschiff-', 'fahrtsgesellschafts-', 'kapit\u00e4n']);
  t.same(
    linesOf(await made(richText(`<p>${word}</p>`))),
    [word.replaceAll('\u00ad', '')],
    'a line with room for the word has no hyphen',
  );
  t.same(linesOf(await made(richText('<p>Amt\u00ad</p>'))), ['Amt'], 'nor has the end of a paragraph');
  const justified = linesOf(await made(narrow(`<p style="text-align:justify">ab ${word}</p>`)));
  t.same(justified.slice(0, 2), ['ab Donaudampfschiff-', 'fahrtsgesellschafts-'], 'justified, a word has no gaps');
});

void t.test('codes and Latin digits stand in the place of signs and digits that no font has', async (t) => {
  const told: (string | undefined)[] = [];
  const refuses = (character: string, standIn?: string): boolean => {
    told.push(`${character} ${standIn}`);
    return true;
  };
  const document = documentOf(page([richText('<p>\u20be5.00 5\u20bf \u17db12 \u17e3\u17e4 \u20b91 \u20ac5</p>')]));
  t.same(linesOf(await read({ ...document, refuses })), ['GEL\u00a05.00 5\u00a0BTC KHR\u00a012 34 \u20b91 \u20ac5']);
  t.same(told, ['\u20be GEL', '\u20bf BTC', '\u17db KHR', '\u17e3 3', '\u17e4 4']);
  t.equal(standInOf('\u{1d7d9}'), '1');
  t.equal(standInOf('\u17e0'), '0');
  t.equal(standInOf('\u1780'), undefined, 'a letter');
});

// Fonts that a team brings: what is taken, what is refused, and what a document in them is like.

t.setTimeout(900_000);

const never = new AbortController().signal;
const REGULAR = 'asset:00000000-0000-4000-8000-000000000001';

const refusalOf = async (bytes: Uint8Array): Promise<string> => {
  try {
    await tryFont(bytes, defaultLimits);
    return '';
  } catch (fault) {
    if (fault instanceof DomainError && fault.code === 'ASSET_TYPE_NOT_ALLOWED') return fault.message;
    throw fault;
  }
};

await t.test('a font is taken as its licence bits say, and where a document can be written in it', async (t) => {
  t.equal(await refusalOf(brandFont), '');
  for (const bits of [0x0, 0x4, 0x8]) t.equal(await refusalOf(withLicence(bits)), '', `fsType ${bits}`);
  t.equal(await refusalOf(withLicence(0x6)), '', 'the kind that restricts least holds');
  t.match(await refusalOf(withLicence(0x2)), /fsType: restricted licence embedding/);
  t.match(await refusalOf(withLicence(0x104)), /no subsetting/);
  t.match(await refusalOf(withLicence(0x200)), /bitmap/);
  t.match(await refusalOf(withTable('OS/2', 'xxxx')), /does not say whether documents may hold it/);
  t.match(await refusalOf(withTable('GPOS', 'fvar')), /variable font/);
  t.match(await refusalOf(brandFont.subarray(0, 20_000)), /damaged/);
  t.match(await refusalOf(withTable('glyf', 'xxxx')), /damaged/);
  t.match(await refusalOf(withTable('cmap', 'xxxx')), /damaged/);
  t.match(await refusalOf(Buffer.from('no font at all')), /damaged/);
});

const generator = openGenerator({
  limits: { ...defaultLimits, svgTimeoutMs: 20_000 },
  clock: systemClock(),
  cores: 2,
});
t.teardown(() => generator.close());

await t.test('a font that never ends is refused within bounds', async (t) => {
  await t.rejects(generator.checkFont({ teamId: teamA, bytes: endlessFont() }, never), {
    code: 'ASSET_TYPE_NOT_ALLOWED',
  });
  await generator.checkFont({ teamId: teamA, bytes: brandFont }, never);
});

let revisions = 0;
const inputOf = (html: string, schema: JsonObject): DocumentInput => {
  const text = { id: 'text', type: 'rich-text', content: html, props: { fontFamily: "'Brand Sans', serif" } };
  revisions += 1;
  const { content } = checkAttachmentTemplate(attachmentOf([text], { schema }), defaultLimits);
  return { teamId: teamA, cacheKey: `revision-${revisions}`, content, variables: {}, environment };
};
const files: ReadonlyMap<string, LoadedImage> = new Map([[REGULAR, { bytes: brandFont, contentType: 'font/ttf' }]]);

await t.test('a document in a font of the gallery', async (t) => {
  const html = '<p>Brand שלום</p><p style="font-family: Roboto">own</p>';
  const read = async (schema: JsonObject): Promise<ReadPdf & { bytes: Uint8Array }> => {
    const bytes = (await generator.make(inputOf(html, schema), 'pdf', files, metadata, never)).bytes;
    return { ...readPdf(bytes), bytes };
  };
  const plain = await read({});
  t.same(plain.fonts, ['NotoSansHebrew-Regular', 'Roboto-Regular']);
  const brand = await read({ fonts: [{ family: 'Brand Sans', regular: REGULAR }] });
  t.same(
    brand.fonts,
    ['NotoSansHebrew-Regular', 'Roboto-Italic', 'Roboto-Regular'],
    'what it lacks comes from the shipped ones',
  );
  t.same(brand.sheets[0]?.lines.at(-1), 'own');
  const named = await read({ fonts: [{ family: 'Roboto', regular: REGULAR }] });
  t.same(
    named.fonts,
    ['NotoSansHebrew-Regular', 'Roboto-Italic', 'Roboto-Regular'],
    'a family of the service stays for who does not name it',
  );
  t.same((await read({})).bytes, plain.bytes, 'nothing of it is left for another document');
  const input = inputOf(html, { fonts: [{ family: 'Brand Sans', regular: REGULAR, bold: REGULAR }] });
  t.same(await generator.imageSources(input, 'pdf', never), [REGULAR]);
});

await t.test('what is wrong with the fonts of a template is said', async (t) => {
  const faultsOf = (fonts: unknown): readonly string[] => {
    try {
      checkAttachmentTemplate(attachmentOf([], { schema: { fonts } }), defaultLimits);
      return [];
    } catch (fault) {
      if (!(fault instanceof DomainError)) throw fault;
      return (fault.details.errors ?? []).map(({ field, message }) => `${field} ${message}`);
    }
  };
  t.same(faultsOf([{ family: 'Brand Sans', regular: REGULAR }]), []);
  t.match(faultsOf('Arial'), [/^schema\.fonts must be an array/]);
  t.match(faultsOf(Array.from({ length: 11 }, () => ({}))), [/has 11 fonts, the maximum is 10/]);
  t.match(faultsOf([{ family: 'a,b', regular: 'https://example.com/a.ttf', light: REGULAR }]), [
    /^schema\.fonts\[0\]\.light is not known; known are family, regular, bold, italic, boldItalic/,
    /^schema\.fonts\[0\]\.family must be a name/,
    /^schema\.fonts\[0\]\.regular must be asset:/,
  ]);
  t.match(
    faultsOf([
      { family: 'Brand Sans', regular: REGULAR },
      { family: 'BrandSans', regular: REGULAR },
    ]),
    [/stands there twice/],
  );
  t.match(faultsOf([{}]), [/family is required/, /regular is required/]);
});

/** Lines that end between Thai words, families that a template names, and characters that no font has. */
import t from 'tap';
import { composed, shapedText, withoutBreaks, withWordBreaks } from '../../../../src/adapters/render/pdf/scripts.js';
import { layoutIn } from '../../../../src/adapters/render/pdf/font-files.js';
import { makePdf } from '../../../../src/adapters/render/pdf/make-pdf.js';
import { openFonts, standInOf } from '../../../../src/adapters/render/pdf/fonts.js';
import { defaultLimits } from '../../../../src/domain/core/limits.js';
import type { Expanded, ExpandedDocument } from '../../../../src/domain/rendering/expand/expanded.js';
import { attachmentOf, expandTemplate } from '../../../support/documents.js';
import { component, documentOf, page, richText } from '../../../support/expanded-documents.js';
import { readPdf, type ReadPdf } from '../../../support/read-pdf.js';

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
